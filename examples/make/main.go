// Command make writes examples/session.jsonl: a session of the coding agent pi in which every stage of a compaction finds
// its work. What the person and the model say is written here; every tool result is real, made by running the tools in a
// copy of a small program, shop.txtar, in a temporary folder.
//
// Run it in the root of the repository:
//
//	go run ./examples/make
//
// Times and ids are fixed, and the temporary folder is called /home/dev/shop in the output, so that the output depends on
// nothing but this program and the versions of go and git.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	_ "embed"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/token"
)

//go:embed shop.txtar
var shop []byte

func main() {
	log.SetFlags(0)
	if err := run("examples/session.jsonl"); err != nil {
		log.Fatal("make: ", err)
	}
}

func run(out string) error {
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	s := newSession(dir)
	if err := s.lay(); err != nil {
		return err
	}
	story(s)
	if s.err != nil {
		return s.err
	}
	return os.WriteFile(out, s.out.Bytes(), 0o644) //nolint:gosec // an example is for everybody
}

// home is what the temporary folder is called in the session.
const home = "/home/dev/shop"

// session writes a session file of pi, version 3.
type session struct {
	dir    string
	out    bytes.Buffer
	now    time.Time
	parent string
	lines  int
	calls  int
	tokens int // of the context so far, as a provider would report them
	err    error
}

type object map[string]any

func newSession(dir string) *session {
	return &session{dir: dir, now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}
}

// write writes one line, behind the one before it.
func (s *session) write(kind string, rest object) {
	s.now = s.now.Add(7 * time.Second)
	s.lines++
	id := fmt.Sprintf("%08x", 0x5e000000+s.lines)
	head := fmt.Sprintf(`{"type":%q,"id":%q,"parentId":null,"timestamp":%q`, kind, id, s.stamp())
	if s.parent != "" {
		head = strings.Replace(head, "null", fmt.Sprintf("%q", s.parent), 1)
	}
	s.parent = id
	s.out.WriteString(head)
	s.out.WriteString("," + strings.TrimPrefix(s.json(rest), "{") + "\n")
}

func (s *session) stamp() string { return s.now.Format("2006-01-02T15:04:05.000Z") }

func (s *session) json(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		s.fail(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (s *session) fail(err error) { s.err = errors.Join(s.err, err) }

// count counts a block into the context.
func (s *session) count(b pemmican.Block) { s.tokens += token.Estimator{}.Count(&b) }

// message writes a message.
func (s *session) message(role string, content any, rest object) {
	m := object{"role": role, "content": content, "timestamp": s.now.UnixMilli()}
	maps.Copy(m, rest)
	s.write("message", object{"message": m})
}

// system writes the first line and the system text.
func (s *session) system(text string, tools []object) {
	fmt.Fprintf(&s.out, `{"type":"session","version":3,"id":"019cad00-5e00-7000-8000-000000000001","timestamp":%q,"cwd":%q}`+"\n", s.stamp(), home)
	s.write("model_change", object{"provider": "example", "modelId": "example-large"})
	s.count(pemmican.Block{Text: text})
	s.count(pemmican.Block{Text: s.json(tools)})
	s.message("system", "", object{"sections": object{"prompt": text}, "toolsAdded": tools})
}

// user writes what the person says.
func (s *session) user(text string) {
	s.count(pemmican.Block{Text: text})
	s.message("user", []object{{"type": "text", "text": text}}, nil)
}

// call is a tool call, and run makes its result.
type call struct {
	tool string
	args object
	run  func() result
}

type result struct {
	text   string
	image  []byte
	failed bool
}

// assistant writes what the model thinks and says, runs its calls, and writes their results.
func (s *session) assistant(thinking, text string, calls ...call) {
	var content []object
	if thinking != "" {
		s.count(pemmican.Block{Kind: pemmican.Reasoning, Text: thinking})
		content = append(content, object{"type": "thinking", "thinking": thinking, "thinkingSignature": "reasoning_content"})
	}
	if text != "" {
		s.count(pemmican.Block{Text: text})
		content = append(content, object{"type": "text", "text": text})
	}
	ids := make([]string, len(calls))
	stop := "stop"
	for i, c := range calls {
		s.calls++
		ids[i] = fmt.Sprintf("call_%03d", s.calls)
		args := s.json(c.args)
		s.count(pemmican.Block{Kind: pemmican.ToolCall, Tool: c.tool, Args: args})
		content = append(content, object{"type": "toolCall", "id": ids[i], "name": c.tool, "arguments": json.RawMessage(args)})
		stop = "toolUse"
	}
	s.message("assistant", content, object{
		"api": "openai-completions", "provider": "example", "model": "example-large",
		"usage": object{
			"input": s.tokens, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": s.tokens, "cost": object{"total": 0},
		},
		"stopReason": stop, "durationMs": 4200, "thinkingLevel": "medium",
	})
	for i, c := range calls {
		r := c.run()
		s.count(pemmican.Block{Kind: pemmican.ToolResult, Text: r.text})
		parts := []object{{"type": "text", "text": r.text}}
		if r.image != nil {
			s.count(pemmican.Block{Kind: pemmican.Media, Media: pemmican.MediaInfo{Width: 900, Height: 1200}})
			parts = append(parts, object{"type": "image", "data": r.image, "mimeType": "image/png"})
		}
		s.message("toolResult", parts, object{"toolCallId": ids[i], "toolName": c.tool, "isError": r.failed})
	}
}

// bash runs a command in the folder.
func (s *session) bash(command string) call {
	return call{"bash", object{"command": command}, func() result {
		out, err := s.exec(command)
		text := s.clean(out)
		if text == "" {
			text = "(no output)"
		}
		var exit *exec.ExitError
		switch {
		case errors.As(err, &exit):
			return result{text: fmt.Sprintf("%s\n\nCommand exited with code %d", text, exit.ExitCode()), failed: true}
		case err != nil:
			s.fail(err)
		}
		return result{text: text}
	}}
}

func (s *session) exec(command string) (string, error) {
	cmd := exec.Command("sh", "-c", command) //nolint:gosec,noctx // the commands stand in this program
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(),
		"GOFLAGS=-count=1", "GOWORK=off", "GOTOOLCHAIN=local", "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_PAGER=cat",
		"GIT_AUTHOR_NAME=Dev", "GIT_AUTHOR_EMAIL=dev@shop.example", "GIT_AUTHOR_DATE="+s.gitDate(),
		"GIT_COMMITTER_NAME=Dev", "GIT_COMMITTER_EMAIL=dev@shop.example", "GIT_COMMITTER_DATE="+s.gitDate())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *session) gitDate() string { return s.now.Format("2006-01-02T15:04:05Z") }

var seconds = regexp.MustCompile(`\b\d+\.\d+s\b`)

// clean takes the machine out of an output: its folder, and how fast it is.
func (s *session) clean(out string) string {
	out = strings.ReplaceAll(out, s.dir, home)
	return strings.TrimRight(seconds.ReplaceAllString(out, "0.01s"), "\n")
}

// read reads a file as pi's tool does.
func (s *session) read(path string) call {
	return call{"read", object{"path": path}, func() result {
		data, err := os.ReadFile(filepath.Join(s.dir, path))
		if err != nil {
			return result{text: s.clean(err.Error()), failed: true}
		}
		if strings.HasSuffix(path, ".png") {
			return result{text: "Read image file [image/png]", image: data}
		}
		return result{text: string(data)}
	}}
}

// edit replaces a text that stands once in a file.
func (s *session) edit(path, from, to string) call {
	return call{"edit", object{"path": path, "oldText": from, "newText": to}, func() result {
		name := filepath.Join(s.dir, path)
		data, err := os.ReadFile(name)
		if err != nil {
			return result{text: s.clean(err.Error()), failed: true}
		}
		if n := strings.Count(string(data), from); n != 1 {
			return result{text: fmt.Sprintf("The text to replace stands %d times in %s; it must stand there once, with all its whitespace.", n, path), failed: true}
		}
		s.fail(os.WriteFile(name, []byte(strings.Replace(string(data), from, to, 1)), 0o600)) //nolint:gosec // the names stand in this program
		return result{text: "Replaced text in " + path + "."}
	}}
}

// put writes a file.
func (s *session) put(path, content string) call {
	return call{"write", object{"path": path, "content": content}, func() result {
		name := filepath.Join(s.dir, path)
		s.fail(errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(content), 0o600)))
		return result{text: fmt.Sprintf("Wrote %d bytes to %s.", len(content), path)}
	}}
}

var fileLine = regexp.MustCompile(`(?m)^-- (\S+) --\n`)

// lay writes the shop and its history.
func (s *session) lay() error {
	if _, err := s.exec("git init -q -b main"); err != nil {
		return fmt.Errorf("git: %w", err)
	}
	s.now = s.now.Add(-30 * 24 * time.Hour)
	// shop.txtar is a list of files, each below a line with its name.
	parts := fileLine.Split(string(shop), -1)[1:]
	for i, name := range fileLine.FindAllStringSubmatch(string(shop), -1) {
		path := filepath.Join(s.dir, name[1])
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(parts[i]), 0o600)); err != nil {
			return err
		}
		if err := s.commit("Add " + name[1]); err != nil {
			return err
		}
	}
	receipt, err := drawReceipt()
	if err != nil {
		return err
	}
	data := map[string][]byte{"testdata/catalog.json": catalog(), "testdata/receipt.png": receipt}
	for n := range suppliers {
		data[supplierFile(n)] = supplierList(n)
	}
	for name, data := range data {
		path := filepath.Join(s.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			return err
		}
	}
	if err := s.commit("Add test data"); err != nil {
		return err
	}
	s.now = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	return nil
}

func (s *session) commit(message string) error {
	s.now = s.now.Add(26 * time.Hour)
	if out, err := s.exec("git add -A && git commit -q -m '" + message + "'"); err != nil {
		return fmt.Errorf("git: %w: %s", err, out)
	}
	return nil
}

// catalog is the shop's catalog, 160 items.
func catalog() []byte {
	kinds := []struct{ name, class, tag string }{
		{"Green tea", "reduced", "drink"}, {"Mug", "normal", "kitchen"}, {"Notebook", "normal", "paper"},
		{"Novel", "reduced", "paper"}, {"Gift card", "free", "gift"},
	}
	var items []object
	for i := range 160 {
		k := kinds[i%len(kinds)]
		items = append(items, object{
			"id": fmt.Sprintf("%s-%03d", strings.ToLower(strings.Fields(k.name)[0]), i), "name": fmt.Sprintf("%s no. %d", k.name, i),
			"price": 95 + i*37%2400, "class": k.class, "tags": []string{k.tag},
		})
	}
	out, err := json.MarshalIndent(items, "", " ")
	if err != nil {
		panic(err) // there is nothing in it that JSON lacks
	}
	return append(out, '\n')
}

// drawReceipt draws what a photo of a receipt looks like from afar.
func drawReceipt() ([]byte, error) {
	img := image.NewGray(image.Rect(0, 0, 900, 1200))
	for y := range 1200 {
		for x := range 900 {
			c := color.Gray{Y: 0xf2}
			if y%40 < 14 && x > 80 && x < 820-(y*7)%300 && (x/9+y/40*5)%4 != 0 {
				c.Y = 0x30
			}
			img.SetGray(x, y, c)
		}
	}
	var b bytes.Buffer
	err := png.Encode(&b, img)
	return b.Bytes(), err
}
