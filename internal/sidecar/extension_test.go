package sidecar

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pemmican-dev/pemmican/internal/config"
	"github.com/pemmican-dev/pemmican/session"
)

// patience is how long a test waits for what must come. No test waits so long if all is well.
const patience = 60 * time.Second

// programDir is the folder of the program, "" if no test has used it.
var programDir string

// program is the built program.
var program = sync.OnceValues(func() (string, error) {
	var err error
	if programDir, err = os.MkdirTemp("", "pemmican-sidecar"); err != nil {
		return "", err
	}
	path := filepath.Join(programDir, "pemmican")
	out, err := exec.Command("go", "build", "-o", path, "../../cmd/pemmican").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// extension plays the extension of an agent, beside a sidecar.
type extension struct {
	t     testing.TB
	in    io.WriteCloser // of the sidecar
	lines chan Line      // what it says, but asks that are answered
	done  chan struct{}  // closed when its output has ended

	// model answers asks; nil leaves them to the test, as lines.
	model func(Ask) AskReply

	writing sync.Mutex // a sidecar that waits to be read must not keep its reader from reading
	next    int

	mu     sync.Mutex
	asked  []Ask
	early  []Line // lines that came before the test asked for them
	wait   func() error
	stderr bytes.Buffer
	cmd    *exec.Cmd
}

// home is a person's home with the settings in it, as environment variables.
type home struct{ dir, settings string }

func newHome(t testing.TB, settings string) home {
	t.Helper()
	h := home{dir: t.TempDir()}
	h.settings = filepath.Join(h.dir, "pemmican.toml")
	h.write(t, settings)
	return h
}

// write puts other settings in place, at once as an editor does.
func (h home) write(t testing.TB, settings string) {
	t.Helper()
	temporary := h.settings + ".new"
	if err := errors.Join(os.WriteFile(temporary, []byte(settings), 0o600), os.Rename(temporary, h.settings)); err != nil {
		t.Fatal(err)
	}
}

func (h home) env() []string {
	return []string{
		"HOME=" + h.dir, "XDG_CACHE_HOME=" + filepath.Join(h.dir, "cache"), "XDG_CONFIG_HOME=" + filepath.Join(h.dir, "config"),
		"XDG_RUNTIME_DIR=" + h.dir, "PEMMICAN_CONFIG=" + h.settings, "PATH=" + os.Getenv("PATH"), "LANG=en_US.UTF-8", "PEMMICAN_DEBUG=1",
	}
}

// log is the debug log of the program.
func (h home) log(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(h.dir, "cache", "pemmican", "debug.log"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// start starts the real program.
func (h home) start(t testing.TB, model func(Ask) AskReply) *extension {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	x := &extension{t: t, model: model}
	x.cmd = exec.Command(path, "agent", "--stdio")
	x.cmd.Env, x.cmd.Dir = h.env(), h.dir
	x.cmd.Stderr = &x.stderr
	if x.in, err = x.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := x.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	x.listen(out)
	x.wait = sync.OnceValue(func() error {
		<-x.done // Wait closes the pipe
		return x.cmd.Wait()
	})
	t.Cleanup(func() {
		_ = x.in.Close()
		select {
		case <-x.done:
		case <-time.After(patience):
			t.Errorf("the program does not end")
			_ = x.cmd.Process.Kill()
		}
		_ = x.wait()
		if t.Failed() && x.stderr.Len() > 0 {
			t.Logf("standard error: %s", x.stderr.String())
		}
	})
	return x
}

// fixed are settings that do not change.
type fixed session.Settings

func (f fixed) File() string { return "/home/pemmican.toml" }

func (f fixed) Origin(string) string { return f.File() }

func (f fixed) Load() (session.Settings, []config.Notice) { return session.Settings(f), nil }

// serve starts a sidecar in this process. Stop closes its input and waits.
func serve(t testing.TB, c Config, model func(Ask) AskReply) (x *extension, stop func() error) {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	c.In, c.Out = inRead, outWrite
	if c.Settings == nil {
		c.Settings = func(string) Loader { return fixed(session.DefaultSettings()) }
	}
	x = &extension{t: t, in: inWrite, model: model}
	x.listen(outRead)
	result := make(chan error, 1)
	go func() {
		err := Serve(context.Background(), c)
		_ = outWrite.Close()
		result <- err
	}()
	return x, sync.OnceValue(func() error {
		_ = inWrite.Close()
		err := <-result
		<-x.done
		return err
	})
}

func (x *extension) listen(out io.Reader) {
	x.lines, x.done = make(chan Line, 1000), make(chan struct{})
	go func() {
		defer close(x.done)
		defer close(x.lines)
		r := bufio.NewReaderSize(out, 1<<16)
		for {
			data, err := r.ReadBytes('\n')
			if err != nil {
				if len(data) > 0 {
					x.t.Errorf("half a line: %.200q", data)
				}
				return
			}
			var l Line
			d := json.NewDecoder(bytes.NewReader(data))
			d.DisallowUnknownFields()
			if err := d.Decode(&l); err != nil {
				x.t.Errorf("the line %.200q: %v", data, err)
				continue
			}
			if l.Ask != nil {
				x.mu.Lock()
				x.asked = append(x.asked, *l.Ask)
				x.mu.Unlock()
				if x.model != nil {
					reply := x.model(*l.Ask)
					reply.N = l.Ask.N
					go x.send(Event{Reply: &reply})
					continue
				}
			}
			x.lines <- l
		}
	}()
}

// raw writes bytes.
func (x *extension) raw(data string) {
	if _, err := io.WriteString(x.in, data); err != nil {
		x.t.Logf("writing: %v", err)
	}
}

// send sends an event and returns its id.
func (x *extension) send(e Event) int {
	x.writing.Lock()
	defer x.writing.Unlock()
	x.next++
	e.ID = x.next
	data, err := json.Marshal(e)
	if err != nil {
		x.t.Errorf("%v", err)
	}
	if _, err := x.in.Write(append(data, '\n')); err != nil {
		x.t.Logf("writing: %v", err)
	}
	return e.ID
}

// until returns the first line that is wanted. Others wait for their turn.
func (x *extension) until(what string, want func(Line) bool) Line {
	x.t.Helper()
	for i, l := range x.early {
		if want(l) {
			x.early = append(x.early[:i:i], x.early[i+1:]...)
			return l
		}
	}
	deadline := time.After(patience)
	for {
		select {
		case l, ok := <-x.lines:
			switch {
			case !ok:
				x.t.Fatalf("the program has ended before %s\n%s", what, x.stderr.String())
			case want(l):
				return l
			}
			x.early = append(x.early, l)
		case <-deadline:
			x.t.Fatalf("no %s", what)
		}
	}
}

// call sends an event and waits for its answer.
func (x *extension) call(e Event) Line {
	x.t.Helper()
	id := x.send(e)
	return x.answerTo(id, e.Name)
}

func (x *extension) answerTo(id int, name string) Line {
	x.t.Helper()
	return x.until(fmt.Sprintf("answer to %s (%d)", name, id), func(l Line) bool { return l.ID == id })
}

// ask waits for a question.
func (x *extension) ask() Ask {
	x.t.Helper()
	return *x.until("question", func(l Line) bool { return l.Ask != nil }).Ask
}

// asks are the questions until now.
func (x *extension) asks() []Ask {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append([]Ask(nil), x.asked...)
}

// rest closes the sidecar's input, waits for its end, and returns what else it said.
func (x *extension) rest() []Line {
	x.t.Helper()
	_ = x.in.Close()
	out := x.early
	x.early = nil
	deadline := time.After(patience)
	for {
		select {
		case l, ok := <-x.lines:
			if !ok {
				return out
			}
			out = append(out, l)
		case <-deadline:
			x.t.Fatal("the program does not end")
		}
	}
}

const window = 1_000_000

func glm() *Model {
	return &Model{Provider: "zai", ID: "glm", ContextWindow: window, MaxTokens: 8_000}
}

func usage(tokens int) *Usage { return &Usage{Tokens: &tokens, Window: window} }

// hello begins the session of a folder.
func hello(dir string) Event {
	return Event{
		Name: "hello", Protocol: Protocol, Agent: "pi", Version: "1.6.0", AgentDir: filepath.Join(dir, "agent"), Model: glm(), Usage: usage(0),
		Session: &Session{ID: "0199c0de-0000-7000-8000-000000000001", File: filepath.Join(dir, "session.jsonl"), Dir: dir},
	}
}

// entries are those of a session of pi: in each turn the person asks, the assistant reads a file, edits another one, runs
// the tests, which fail, and answers.
func entries(turns int) []json.RawMessage {
	var out []json.RawMessage
	parent := "null"
	add := func(message string) {
		id := fmt.Sprintf("%08x", len(out)+1)
		out = append(out, json.RawMessage(fmt.Sprintf(
			`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-05-01T10:00:00.000Z","message":%s}`, id, parent, message)))
		parent = fmt.Sprintf("%q", id)
	}
	assistant := func(content, stop string) {
		add(`{"role":"assistant","provider":"zai","model":"glm","stopReason":"` + stop + `","content":[` + content + `]}`)
	}
	call := func(n int, what, name, args, result string) {
		assistant(fmt.Sprintf(`{"type":"toolCall","id":"%s%d","name":%q,"arguments":%s}`, what, n, name, args), "toolUse")
		text, _ := json.Marshal(result)
		add(fmt.Sprintf(`{"role":"toolResult","toolCallId":"%s%d","toolName":%q,"isError":false,"content":[{"type":"text","text":%s}]}`, what, n, name, text))
	}
	for n := 1; n <= turns; n++ {
		add(fmt.Sprintf(`{"role":"user","content":"Please mend the parser in parse%d.go: it loses the last line of every file."}`, n))
		call(n, "r", "read", fmt.Sprintf(`{"path":"parse%d.go"}`, n), strings.Repeat(fmt.Sprintf("func parse%d(lines []string) error {\n\treturn scan(lines)\n}\n", n), 40))
		call(n, "e", "edit", fmt.Sprintf(`{"path":"scan%d.go","oldText":"i < len(lines)-1","newText":"i < len(lines)"}`, n), "edited")
		call(n, "t", "bash", `{"command":"go test ./..."}`, fmt.Sprintf("--- FAIL: TestLast%d\n    parse%d_test.go:12: got 3 lines, want 4\nFAIL", n, n))
		assistant(fmt.Sprintf(`{"type":"text","text":"I have changed the bound in scan%d.go; TestLast%d still fails at parse%d_test.go:12."}`, n, n, n), "stop")
	}
	return out
}

// goodReply is a summary that passes the gate.
const goodReply = `## Goal
Mend the parsers: each of them loses the last line of every file.

## Files and Code
- parse1.go was read; scan1.go was edited, so that the bound is i < len(lines).

## Errors and Fixes
- go test ./... fails: TestLast1 at parse1_test.go:12, got 3 lines, want 4.

## Next Steps
- Mend TestLast1.`

// good is a model that answers well, and reads what it is asked from its cache.
func good(Ask) AskReply {
	return AskReply{Text: goodReply, Stop: "stop", Model: "glm", Usage: &AskUsage{Input: 2_000, Output: 150, CacheRead: 40_000}}
}

// compactEvent is the event of a session of so many turns, of which pi would keep the last ones.
func compactEvent(turns int) Event {
	return Event{Name: "compact", Reason: "manual", Entries: entries(turns), KeepRecent: 1_000, TokensBefore: 300_000, Model: glm(), Usage: usage(300_000)}
}
