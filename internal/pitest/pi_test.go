package pitest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican/internal/modeltest"
)

func TestPiContinues(t *testing.T) {
	for _, version := range []string{BeforeEdits, Latest} {
		t.Run(version, func(t *testing.T) {
			pi := Install(t, version)
			home, dir := t.TempDir(), t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("alpha\nbeta\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			server := modeltest.Start(t,
				modeltest.Reply{Text: "Looking.", Calls: []modeltest.Call{{Name: "read", Args: object{"path": "notes.txt"}}}},
				modeltest.Reply{Calls: []modeltest.Call{
					{Name: "bash", Args: object{"command": "echo one"}},
					{Name: "bash", Args: `{"command":"echo two"}`},
				}},
				modeltest.Reply{Text: "It says alpha."},
			)

			first := pi.Run(t, home, dir, server, "What is in notes.txt?")
			if first.ExitCode != 0 {
				t.Fatalf("exit code %d\n%s", first.ExitCode, first.Stderr)
			}
			files := SessionFiles(home)
			if len(files) != 1 {
				t.Fatalf("session files: %q", files)
			}
			if b, err := os.ReadFile(files[0]); err != nil || !bytes.HasPrefix(b, []byte(`{"type":"session","version":3,`)) {
				t.Fatalf("session file: %v %.100q", err, b)
			}
			if n := len(server.Requests()); n != 3 {
				t.Fatalf("%d requests, want 3", n)
			}

			server.Reset()
			if again := pi.Run(t, home, dir, server, "Thanks", "--continue"); again.ExitCode != 0 {
				t.Fatalf("exit code %d\n%s", again.ExitCode, again.Stderr)
			}
			requests := server.Requests()
			if len(requests) != 1 {
				t.Fatalf("%d requests, want 1", len(requests))
			}
			var got []string
			for _, m := range requests[0].Messages()[1:] { // the first is the system prompt
				got = append(got, m.String())
			}
			want := []string{
				`user "What is in notes.txt?"`,
				`assistant "Looking." [call_1 read {"path":"notes.txt"}]`,
				`tool call_1 "alpha\nbeta\n"`,
				`assistant "" [call_2 bash {"command":"echo one"}] [call_3 bash {"command":"echo two"}]`,
				`tool call_2 "one\n"`,
				`tool call_3 "two\n"`,
				`assistant "It says alpha."`,
				`user "Thanks"`,
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("messages\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if files := SessionFiles(home); len(files) != 1 {
				t.Errorf("session files after --continue: %q", files)
			}
		})
	}
}

// Pi talks to the server by all three APIs: it runs the tools, sends reasoning back as it was signed, and nothing in its
// requests is refused. The conversation is the same by each.
func TestPiSpeaks(t *testing.T) {
	for _, api := range []modeltest.API{modeltest.Anthropic, modeltest.Chat, modeltest.Responses} {
		t.Run(string(api), func(t *testing.T) {
			pi := Install(t, Latest)
			pi.API, pi.Reasoning = api, true
			home, dir := t.TempDir(), t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("alpha\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			server := modeltest.Start(t,
				modeltest.Reply{
					Reasoning: "The file — where is it?",
					Text:      "I look.",
					Calls: []modeltest.Call{
						{ID: "c_1", Name: "read", Args: object{"path": "notes.txt"}},
						{ID: "c_2", Name: "bash", Args: object{"command": "echo 'é'"}},
					},
				},
				modeltest.Reply{Text: "It says alpha.", Framing: modeltest.CRLF | modeltest.Torn | modeltest.Escaped, KeepAlives: 2},
			)
			server.Configure(modeltest.Config{Newer: true, Cache: true, Key: "dummy", Window: 100_000})
			if out := pi.Run(t, home, dir, server, "What is in notes.txt?"); out.ExitCode != 0 {
				t.Fatalf("exit code %d\n%s", out.ExitCode, out.Stderr)
			}
			requests := server.Requests()
			if len(requests) != 2 {
				t.Fatalf("%d requests, want 2", len(requests))
			}
			for _, r := range requests {
				if r.API != api || !r.Stream || r.Refused != "" || r.MaxTokens == 0 {
					t.Errorf("a request by %s, stream %t, for at most %d tokens, refused: %q", r.API, r.Stream, r.MaxTokens, r.Refused)
				}
			}
			var got []string
			for _, m := range requests[1].Messages()[1:] { // behind the system text
				got = append(got, m.String())
			}
			want := []string{
				`user "What is in notes.txt?"`,
				`assistant ("The file — where is it?") "I look." [c_1 read {"path":"notes.txt"}] [c_2 bash {"command":"echo 'é'"}]`,
				`tool c_1 "alpha\n"`,
				`tool c_2 "é\n"`,
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("messages\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			session, err := os.ReadFile(SessionFiles(home)[0])
			if err != nil {
				t.Fatal(err)
			}
			var last struct {
				Message struct {
					Content []struct{ Text string }
					Usage   struct{ Input, CacheRead, CacheWrite int }
				}
			}
			if err := json.Unmarshal(session[bytes.LastIndexByte(bytes.TrimSpace(session), '\n')+1:], &last); err != nil {
				t.Fatal(err)
			}
			if c := last.Message.Content; len(c) != 1 || c[0].Text != "It says alpha." {
				t.Errorf("the session ends with %v", c)
			}
			if u := last.Message.Usage; u.CacheRead < u.CacheWrite || u.CacheWrite == 0 || u.Input+u.CacheRead+u.CacheWrite != requests[1].Tokens {
				t.Errorf("pi takes the usage for %+v, and the request had %d tokens", u, requests[1].Tokens)
			}
		})
	}
}
