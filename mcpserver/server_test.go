package mcpserver_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/internal/live"
	"github.com/pemmican-dev/pemmican/mcpserver"
	"github.com/pemmican-dev/pemmican/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a home with sessions, a working folder, and a folder for running sessions.
type world struct {
	home, work, live string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	root := t.TempDir()
	sockets, err := os.MkdirTemp("", "mcp") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	w := &world{home: filepath.Join(root, "home"), work: filepath.Join(root, "work"), live: sockets}
	for _, dir := range []string{w.home, w.work} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", w.home)
	for _, name := range []string{"PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	return w
}

// write writes a file below the home, so many minutes old.
func (w *world) write(t testing.TB, name string, data []byte, minutes int) string {
	t.Helper()
	path := filepath.Join(w.home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-time.Duration(minutes) * time.Minute)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	return path
}

// pi writes a session of pi, with the example as its content, whose folder is dir.
func (w *world) pi(t *testing.T, id, dir string, minutes int) string {
	t.Helper()
	return w.write(t, ".pi/agent/sessions/--x--/2026-03-02T09-00-00-000Z_"+id+".jsonl", example(t, id, dir), minutes)
}

// example is the example session under another id and folder.
func example(t *testing.T, id, dir string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "examples", "session.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.Replace(data, []byte("019cad00-5e00-7000-8000-000000000001"), []byte(id), 1)
	return bytes.Replace(data, []byte(`"/home/dev/shop"`), []byte(fmt.Sprintf("%q", dir)), 1)
}

// claude writes a session of Claude Code whose folder is dir, of one short turn.
func (w *world) claude(t *testing.T, id, dir string, minutes int) string {
	t.Helper()
	return w.write(t, ".claude/projects/-x/"+id+".jsonl", claude(id, dir, "Done."), minutes)
}

// claude is a session of Claude Code with these answers, a turn for each.
func claude(id, dir string, answers ...string) []byte {
	var b bytes.Buffer
	n := 0
	line := func(kind, message string) {
		parent := "null"
		if n++; n > 1 {
			parent = fmt.Sprintf(`"00000000-0000-4000-8000-%012d"`, n-1)
		}
		fmt.Fprintf(&b, `{"parentUuid":%s,"isSidechain":false,"userType":"external","cwd":%q,"sessionId":%q,"version":"2.1.332","type":%q,"message":%s,`+
			`"uuid":"00000000-0000-4000-8000-%012d","timestamp":"2026-03-01T11:00:%02d.000Z"}`+"\n", parent, dir, id, kind, message, n, n)
	}
	tokens := 300
	for i, answer := range answers {
		line("user", `{"role":"user","content":"The ticket is PEM-4711. Rename check to verify."}`)
		line("assistant", fmt.Sprintf(`{"id":"msg_%d","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":%q}],`+
			`"stop_reason":"end_turn","usage":{"input_tokens":%d,"output_tokens":%d,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}`,
			i, answer, tokens, len(answer)/4))
		tokens += len(answer) / 4
	}
	return b.Bytes()
}

// config is a server in this world.
func (w *world) config() mcpserver.Config {
	return mcpserver.Config{Dir: w.work, Live: w.live, Version: "1.2.3"}
}

// serve serves a running session.
func (w *world) serve(t *testing.T, s live.Session, handle func(context.Context, live.Request) live.Reply) (stop func()) {
	t.Helper()
	stop, err := live.Serve(w.live, s, handle)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return stop
}

// connect connects a client of the SDK that calls itself name.
func connect(t testing.TB, c mcpserver.Config, name string) *mcp.ClientSession {
	t.Helper()
	near, far := mcp.NewInMemoryTransports()
	server, err := mcpserver.New(c).Connect(t.Context(), far, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, nil).Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Wait()
	})
	return client
}

type args map[string]any

// call calls a tool that must answer, and decodes what it answered.
func call[Out any](t testing.TB, c *mcp.ClientSession, tool string, a args) (out Out, text string) {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any(a)})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	text = textOf(r)
	if r.IsError {
		t.Fatalf("%s: %s", tool, text)
	}
	data, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return out, text
}

// refused calls a tool that must answer with an error of one line.
func refused(t *testing.T, c *mcp.ClientSession, tool string, a args) string {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any(a)})
	if err != nil {
		t.Fatalf("%s: a protocol error, which no agent gets to see: %v", tool, err)
	}
	if !r.IsError {
		t.Fatalf("%s: no error: %s", tool, textOf(r))
	}
	text := textOf(r)
	if strings.Contains(text, "\n") || text == "" || len(text) > 2000 {
		t.Errorf("%s: not one line: %q", tool, text)
	}
	return text
}

func textOf(r *mcp.CallToolResult) string {
	var out []string
	for _, c := range r.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			out = append(out, c.Text)
		}
	}
	return strings.Join(out, "\n")
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

const (
	idA = "019cad00-5e00-7000-8000-00000000000a"
	idB = "019cad00-5e00-7000-8000-00000000000b"
	idC = "33333333-cccc-4000-8000-000000000003"
)

func TestWhatAClientIsTold(t *testing.T) {
	c := connect(t, newWorld(t).config(), "test")
	about := c.InitializeResult()
	if about.ServerInfo.Name != "pemmican" || about.ServerInfo.Version != "1.2.3" || !strings.Contains(about.Instructions, "context window") {
		t.Errorf("%+v", about)
	}
	listed, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]*mcp.Tool{}
	for _, tool := range listed.Tools {
		names[tool.Name] = tool
		if len(tool.Description) < 100 || tool.InputSchema == nil || tool.OutputSchema == nil || tool.Annotations == nil {
			t.Errorf("%s: %+v", tool.Name, tool)
		}
		if reads := tool.Name != "compact_context"; tool.Annotations.ReadOnlyHint != reads {
			t.Errorf("%s: reads only: %v", tool.Name, !reads)
		}
	}
	for _, want := range []string{"context_status", "compact_context", "inspect_transcript", "check_transcript", "keep"} {
		if names[want] == nil {
			t.Errorf("there is no %s", want)
		}
	}
	// T22: the description states all three conditions.
	for _, want := range []string{"1.", "2.", "3.", "after the agent has ended"} {
		if !strings.Contains(names["compact_context"].Description, want) {
			t.Errorf("compact_context does not say %q", want)
		}
	}
}

// A transcript that a stage cannot cope with costs the call, not the server.
func TestAPanicIsAnErrorOfTheCall(t *testing.T) {
	w := newWorld(t)
	w.pi(t, idA, w.work, 10)
	var told error
	config := w.config()
	config.Settings = func() session.Settings { panic("oh dear") }
	config.Failed = func(err error) { told = err }
	c := connect(t, config, "test")
	if got := refused(t, c, "context_status", nil); !strings.Contains(got, "oh dear") || !strings.Contains(got, "report it") {
		t.Error(got)
	}
	if told == nil || !strings.Contains(told.Error(), "server_test.go") {
		t.Errorf("the log has got %v", told)
	}
	call[mcpserver.Checked](t, c, "check_transcript", nil)
}

func TestArgumentsThatMakeNoSense(t *testing.T) {
	w := newWorld(t)
	w.pi(t, idA, w.work, 10)
	c := connect(t, w.config(), "test")
	for _, x := range []struct {
		tool string
		args args
		want string
	}{
		{"context_status", args{"session": 7}, "session"},
		{"context_status", args{"sesion": "latest"}, "sesion"},
		{"inspect_transcript", args{"format": "toml"}, "toml"},
		{"inspect_transcript", args{"format": "anthropic"}, ".jsonl"},
		{"inspect_transcript", args{"top": -1}, "give 1 to 100"},
		{"inspect_transcript", args{"top": 101}, "give 1 to 100"},
		{"check_transcript", args{"format": "toml"}, "toml"},
		{"compact_context", args{"instructions": strings.Repeat("x", 10_001)}, "at most 10,000"},
		{"keep", args{}, "fact"},
		{"keep", args{"fact": " \n "}, "empty"},
		{"keep", args{"fact": strings.Repeat("文", 2001)}, "2,001 characters; give at most 2,000"},
	} {
		if got := refused(t, c, x.tool, x.args); !strings.Contains(got, x.want) {
			t.Errorf("%s %v: %s", x.tool, x.args, got)
		}
	}
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "compact"}); err == nil {
		t.Error("there is no tool of that name")
	}
}

// CONCUR: many calls at once, while the agent writes to its session. What it has written is seen whole lines at a time.
func TestManyCallsWhileTheAgentWrites(t *testing.T) {
	w := newWorld(t)
	path := w.pi(t, idA, w.work, 10)
	c := connect(t, w.config(), "test")
	whole := example(t, idA, w.work)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	begin := len(lines) / 2
	if err := os.WriteFile(path, bytes.Join(lines[:begin], nil), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			switch i % 4 {
			case 0:
				if st, _ := call[mcpserver.Status](t, c, "context_status", nil); st.Tokens < 20_000 || st.ID != idA {
					t.Errorf("%+v", st)
				}
			case 1:
				if in, _ := call[mcpserver.Inspection](t, c, "inspect_transcript", nil); in.Tokens < 20_000 {
					t.Errorf("%+v", in)
				}
			case 2:
				checked, _ := call[mcpserver.Checked](t, c, "check_transcript", nil)
				for _, f := range checked.Findings {
					if f.Rule == format.RuleBadLine {
						t.Errorf("half a line is seen: %+v", f)
					}
				}
			case 3:
				call[mcpserver.Kept](t, c, "keep", args{"fact": fmt.Sprint("fact ", i)})
			}
		})
	}
	written := make(chan error, 1)
	go func() {
		var err error
		for _, line := range lines[begin:] {
			if half := len(line) / 2; err == nil && half > 0 { // as large writes come about
				_, err = f.Write(line[:half])
				line = line[half:]
			}
			if err == nil {
				_, err = f.Write(line)
			}
		}
		written <- err
	}()
	all.Wait()
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(read(t, path), whole) {
		t.Error("the file is another one than the agent wrote")
	}
}

// It never appends to a file, whatever is asked of it: neither to the session nor beside it.
func TestNoFileIsWritten(t *testing.T) {
	w := newWorld(t)
	pi, claude := w.pi(t, idA, w.work, 10), w.claude(t, idC, w.work, 5)
	body := w.write(t, "request.json", []byte(`{"model":"claude-x","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`), 1)
	before := w.tree(t)
	for _, name := range []string{"test", "claude-code", "pi"} {
		c := connect(t, w.config(), name)
		for _, session := range []string{"", "latest", pi, claude, body, idA, idC, "nothing"} {
			for tool, a := range map[string]args{
				"context_status": {"session": session}, "compact_context": {"session": session, "instructions": "all"},
				"inspect_transcript": {"path": session}, "check_transcript": {"path": session}, "keep": {"fact": session + "!"},
			} {
				if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any(a)}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if diff := cmp.Diff(before, w.tree(t)); diff != "" {
		t.Error(diff)
	}
}

// tree are all files below the home, with their contents and times.
func (w *world) tree(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(filepath.Dir(w.home), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			out[path] = fmt.Sprintf("%v %x", info.ModTime().UnixNano(), sha256.Sum256(read(t, path)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
