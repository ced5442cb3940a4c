package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pemmican-dev/pemmican/internal/modeltest"
	"github.com/pemmican-dev/pemmican/internal/pitest"
	"github.com/pemmican-dev/pemmican/mcpserver"
)

// mcpProgram is "pemmican mcp" in a working folder that has the example as a session of pi.
func mcpProgram(t *testing.T, args ...string) (cmd *exec.Cmd, session string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no signal to send")
	}
	program, err := exec.LookPath("pemmican")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	home, work, sockets := filepath.Join(root, "home"), filepath.Join(root, "work"), filepath.Join(root, "run")
	session = filepath.Join(home, ".pi", "agent", "sessions", "--x--", "2026-03-02T09-00-00-000Z_019cad00-5e00-7000-8000-000000000001.jsonl")
	for _, dir := range []string{filepath.Dir(session), work, sockets} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(filepath.Join("..", "..", "examples", "session.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.Replace(data, []byte(`"/home/dev/shop"`), fmt.Appendf(nil, "%q", work), 1)
	old := time.Now().Add(-time.Hour)
	if err := os.WriteFile(session, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(session, old, old); err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(program, append([]string{"mcp"}, args...)...)
	cmd.Dir = work
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "XDG_RUNTIME_DIR=" + sockets, "XDG_CACHE_HOME=" + filepath.Join(root, "cache")}
	return cmd, session
}

func mcpClient(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// mcpCall calls a tool that must answer.
func mcpCall(t *testing.T, c *mcp.ClientSession, tool string, args map[string]any, out any) string {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(r.StructuredContent)
	if err == nil && !r.IsError {
		err = json.Unmarshal(data, out)
	}
	if err != nil || r.IsError || len(r.Content) == 0 {
		t.Fatalf("%s: %v %+v", tool, err, r)
	}
	return r.Content[0].(*mcp.TextContent).Text
}

// The program over its standard input and output, with the client of the SDK: all five tools, many calls at once, the file
// of the session unchanged, and an end without a word.
func TestMCPOverStdio(t *testing.T) {
	cmd, session := mcpProgram(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	before, err := os.ReadFile(session)
	if err != nil {
		t.Fatal(err)
	}
	c := mcpClient(t, &mcp.CommandTransport{Command: cmd})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			var st mcpserver.Status
			if text := mcpCall(t, c, "context_status", nil, &st); st.File != session || st.Live || !strings.Contains(text, "would free") {
				t.Errorf("%s %+v", text, st)
			}
		})
	}
	all.Wait()
	var inspection mcpserver.Inspection
	if mcpCall(t, c, "inspect_transcript", map[string]any{"path": session}, &inspection); inspection.Tokens < 50_000 {
		t.Errorf("%+v", inspection)
	}
	var checked mcpserver.Checked
	if mcpCall(t, c, "check_transcript", nil, &checked); !checked.Sound {
		t.Errorf("%+v", checked)
	}
	var kept mcpserver.Kept
	if mcpCall(t, c, "keep", map[string]any{"fact": "PEM-4711"}, &kept); !kept.Pinned {
		t.Errorf("%+v", kept)
	}
	var out mcpserver.Compaction
	mcpCall(t, c, "compact_context", nil, &out)
	if after, err := os.ReadFile(session); err != nil || !bytes.Equal(before, after) {
		t.Fatalf("the session has changed: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 || stderr.Len() > 0 {
		t.Errorf("exit status %d, and on stderr: %s", code, &stderr)
	}

	// The command that it names does what it says, and resumes.
	shell := exec.Command("sh", "-c", `pi() { pwd; echo "$@"; }; `+out.Command)
	shell.Env, shell.Stderr = cmd.Env, &stderr
	resumed, err := shell.Output()
	if want := cmd.Dir + "\n--session " + session + "\n"; err != nil || string(resumed) != want {
		t.Errorf("%v: %q, want %q\n%s", err, resumed, want, &stderr)
	}
	if freed := fmt.Sprintf("after   %d,%03d", out.Would.After/1000, out.Would.After%1000); !strings.Contains(stderr.String(), freed) {
		t.Errorf("no %q in:\n%s", freed, &stderr)
	}
	if after, err := os.ReadFile(session); err != nil || !bytes.HasPrefix(after, before) || len(after) == len(before) {
		t.Errorf("the command has not appended: %v", err)
	}
}

// What is no request gets an error, and what comes behind it is heard. Nothing but protocol is written.
func TestMCPRequestsThatAreNone(t *testing.T) {
	cmd, _ := mcpProgram(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	for _, x := range []struct{ send, want string }{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, `"serverInfo"`},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
		{`{"jsonrpc":"2.0","id":2,"method":"no/such/method"}`, `"code":-32601`},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"no_such_tool"}}`, `"code":-32602`},
		{`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"keep","arguments":[1]}}`, `"id":4,`},
		{`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":7}`, `"id":5,"error"`},
		{`{"jsonrpc":"2.0","id":77,"result":{}}`, ""},
		{`{"jsonrpc":"2.0","method":"notifications/unheard-of"}`, ""},
		{`{"jsonrpc":"2.0","id":6,"method":"ping"}`, `"id":6,"result"`},
	} {
		if _, err := io.WriteString(stdin, x.send+"\n"); err != nil {
			t.Fatalf("%s: %v", x.send, err)
		}
		if x.want == "" {
			continue
		}
		line, err := lines.ReadString('\n')
		if err != nil || !json.Valid([]byte(line)) || !strings.Contains(line, x.want) {
			t.Fatalf("%s: %v: %s\n%s", x.send, err, line, &stderr)
		}
	}
	_ = stdin.Close()
	rest, _ := io.ReadAll(lines)
	if err := cmd.Wait(); err != nil || len(rest) > 0 || stderr.Len() > 0 {
		t.Errorf("%v %s %s", err, rest, &stderr)
	}
}

// bearer adds the token to each request.
type bearer struct{ http.RoundTripper }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer sesame")
	return b.RoundTripper.RoundTrip(r)
}

// A signal is how a server ends: in order, with 0 and without a word, over both transports, with clients that wait.
func TestMCPEndsInOrder(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run("stdio "+signal.String(), func(t *testing.T) {
			cmd, _ := mcpProgram(t)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(stdin, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
			if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil { // it serves
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
				t.Errorf("%v: %s", err, &stderr)
			}
		})
		t.Run("http "+signal.String(), func(t *testing.T) {
			cmd, session := mcpProgram(t, "--listen", "127.0.0.1:0")
			cmd.Env = append(cmd.Env, "PEMMICAN_MCP_TOKEN=sesame")
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(stderr)
			line, err := lines.ReadString('\n')
			url, _, ok := strings.Cut(strings.TrimPrefix(line, "pemmican: serving MCP at "), ";")
			if err != nil || !ok {
				t.Fatalf("%v: %s", err, line)
			}
			reply, err := http.Post(url, "application/json", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if _ = reply.Body.Close(); reply.StatusCode != http.StatusUnauthorized {
				t.Errorf("without the token: %s", reply.Status)
			}
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			c := mcpClient(t, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer{transport}}})
			var st mcpserver.Status
			if mcpCall(t, c, "context_status", nil, &st); st.File != session {
				t.Errorf("%+v", st)
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			rest, _ := io.ReadAll(lines)
			if err := cmd.Wait(); err != nil || len(rest) > 0 {
				t.Errorf("%v: %s", err, rest)
			}
			_ = c.Close()
		})
	}
}

// Real pi calls the tools in its own session: the server finds that session, though nobody names it, and a newer one of
// another folder lies beside it. The call of keep stands in the session file under the name that pi gives it.
func TestMCPInRealPi(t *testing.T) {
	program, err := exec.LookPath("pemmican")
	if err != nil {
		t.Fatal(err)
	}
	p := pitest.Install(t, pitest.Latest)
	home, dir := t.TempDir(), t.TempDir()
	config := fmt.Sprintf(`{"mcpServers": {"pemmican": {"command": %q, "args": ["mcp"], "exposure": "direct"}}}`, program)
	for path, text := range map[string]string{
		filepath.Join(home, ".pi", "agent", "mcp.json"):                 config,
		filepath.Join(home, ".claude", "projects", "-x", "other.jsonl"): "{}\n",
		filepath.Join(dir, "notes.txt"):                                 strings.Repeat("The invoices are in May. ", 500),
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	server := modeltest.Start(t,
		modeltest.Reply{Calls: []modeltest.Call{read("notes.txt")}},
		modeltest.Reply{Calls: []modeltest.Call{{Name: "mcp__pemmican__context_status", Args: "{}"}}},
		modeltest.Reply{Calls: []modeltest.Call{{Name: "mcp__pemmican__keep", Args: `{"fact":"The ticket is PEM-4711."}`}}},
		modeltest.Reply{Calls: []modeltest.Call{{Name: "mcp__pemmican__compact_context", Args: `{}`}}},
		modeltest.Reply{Text: "Done."},
	)
	out := p.Run(t, home, dir, server, "How full are you?")
	files := pitest.SessionFiles(home)
	if len(files) != 1 {
		t.Fatalf("%v\n%s", files, out.Stderr)
	}
	requests := server.Requests()
	if len(requests) != 5 {
		t.Fatalf("%d requests\n%s", len(requests), out.Stderr)
	}
	for i, want := range map[int]string{2: "not live", 3: "Pinned.", 4: "pemmican compact " + files[0]} {
		messages := requests[i].Messages()
		last := messages[len(messages)-1]
		if !strings.Contains(last.Text, want) || i != 3 && !strings.Contains(last.Text, files[0]) {
			t.Errorf("request %d: %s", i, last.Text)
		}
	}
	data, err := os.ReadFile(files[0])
	if err != nil || !bytes.Contains(data, []byte(`"mcp__pemmican__keep"`)) {
		t.Errorf("%v", err)
	}
}
