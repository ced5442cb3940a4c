package pitest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestPiContinues(t *testing.T) {
	for _, version := range []string{BeforeEdits, Latest} {
		t.Run(version, func(t *testing.T) {
			pi := Install(t, version)
			home, dir := t.TempDir(), t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("alpha\nbeta\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			server := NewServer(
				Reply{Text: "Looking.", Calls: []Call{{Name: "read", Args: object{"path": "notes.txt"}}}},
				Reply{Calls: []Call{
					{Name: "bash", Args: object{"command": "echo one"}},
					{Name: "bash", Args: `{"command":"echo two"}`},
				}},
				Reply{Text: "It says alpha."},
			)
			defer server.Close()

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
			for _, m := range Messages(t, requests[0])[1:] { // the first is the system prompt
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

func TestServer(t *testing.T) {
	server := NewServer(
		Reply{Text: "hello", Usage: Usage{Prompt: 7, Completion: 2, Cached: 5}},
		Reply{Status: http.StatusBadRequest, Text: "prompt is too long"},
	)
	defer server.Close()
	post := func(body string) (int, string) {
		t.Helper()
		r, err := http.Post(server.URL()+"/v1/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(b)
	}

	code, body := post(`{"model":"m","messages":[]}`)
	var plain struct {
		Choices []struct {
			Message      struct{ Content string }
			FinishReason string `json:"finish_reason"`
		}
		Usage struct {
			PromptTokens int `json:"prompt_tokens"`
			TotalTokens  int `json:"total_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(body), &plain); err != nil {
		t.Fatal(err)
	}
	if code != 200 || plain.Choices[0].Message.Content != "hello" || plain.Choices[0].FinishReason != "stop" ||
		plain.Usage.PromptTokens != 7 || plain.Usage.TotalTokens != 9 {
		t.Errorf("plain: %d %s", code, body)
	}
	if code, body := post(`{"model":"m"}`); code != 400 || !strings.Contains(body, "prompt is too long") {
		t.Errorf("error: %d %s", code, body)
	}
	if code, body := post(`{"model":"m","stream":true}`); code != 200 || !strings.Contains(body, `"content":"do"`) ||
		!strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Errorf("stream after the script: %d %s", code, body)
	}
	server.CountBytes(4)
	if code, body := post(`{"model":"m","messages":[]}`); code != 200 || !strings.Contains(body, `"prompt_tokens":6`) {
		t.Errorf("counted: %d %s", code, body)
	}
	if got := server.Requests(); len(got) != 4 || string(got[1]) != `{"model":"m"}` {
		t.Errorf("requests: %q", got)
	}
}
