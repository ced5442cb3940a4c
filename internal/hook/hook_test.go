//go:build unix

package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func sh(script string) Command { return Command{Args: []string{"sh", "-c", script}} }

// TestAnswers runs real commands: rows HOOK-01, whatever goes wrong means go on, and HOOK-04.
func TestAnswers(t *testing.T) {
	for _, row := range []struct {
		name, script string
		want         Answer
		fails        string // of the error
	}{
		{"nothing", "true", Answer{}, ""},
		{"blank", "echo", Answer{}, ""},
		{"empty object", "echo '{}'", Answer{}, ""},
		{"focus", `printf %s '{"focus": " the parser\n"}'`, Answer{Focus: "the parser"}, ""},
		{"veto", `echo '{"veto": "tests run", "focus": null}'`, Answer{Veto: "tests run"}, ""},
		{"an empty veto is none", `echo '{"veto": ""}'`, Answer{}, ""},
		{"HOOK-04 unknown key", `echo '{"veto": "no", "decision": "block"}'`, Answer{}, `there is no "decision"`},
		{"HOOK-04 another case", `echo '{"Veto": "no"}'`, Answer{}, `there is no "Veto"`},
		{"HOOK-04 no text", `echo '{"veto": true}'`, Answer{}, `"veto" is no text`},
		{"HOOK-04 no JSON", "echo saved 3 notes", Answer{}, "no JSON object: saved 3 notes"},
		{"null", "echo null", Answer{}, "no JSON object"},
		{"two objects", "echo '{}{}'", Answer{}, "no JSON object"},
		{"HOOK-01 exit status", "echo one >&2; echo 'the disk is full' >&2; echo '{\"veto\": \"no\"}'; exit 3", Answer{}, "exit status 3: the disk is full"},
		{"HOOK-01 exit status without a word", "exit 1", Answer{}, "failed: exit status 1;"},
		{"HOOK-01 killed", "kill -9 $$", Answer{}, "signal: killed"},
		{"its own error has no secret", "echo 'password=hunter2hunter2!X' >&2; exit 1", Answer{}, "[redacted"},
		{"does not read", "exec <&-; echo '{\"focus\": \"x\"}'", Answer{Focus: "x"}, ""},
		{"leaves something running", "(trap '' HUP; read x <" + filepath.Join("$DIR", "never") + ") & echo '{\"focus\": \"x\"}'", Answer{Focus: "x"}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("DIR", dir)
			never := filepath.Join(dir, "never")
			if err := syscall.Mkfifo(never, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := sh(row.script).Run(t.Context(), Input{Event: Before, Reason: strings.Repeat("a long reason ", 10_000)})
			if got != row.want {
				t.Errorf("%+v, want %+v", got, row.want)
			}
			if (err == nil) != (row.fails == "") || err != nil && (!strings.Contains(err.Error(), row.fails) || strings.ContainsAny(err.Error(), "\n")) {
				t.Errorf("%v, want %s", err, row.fails)
			}
			// What was left running reads its end, and ends; where nothing was there is no reader.
			if f, err := os.OpenFile(never, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
				_ = f.Close()
			}
		})
	}
}

func TestNoHook(t *testing.T) {
	if a, err := (Command{}).Run(t.Context(), Input{Event: Before}); a != (Answer{}) || err != nil {
		t.Errorf("%v, %v", a, err)
	}
	for _, c := range []Command{
		{Args: []string{"no-such-program-anywhere"}},
		{Args: []string{filepath.Join(t.TempDir(), "none")}},
		{Args: []string{t.TempDir()}},
		{Args: []string{"true"}, Dir: filepath.Join(t.TempDir(), "none")},
	} {
		if a, err := c.Run(t.Context(), Input{Event: After}); a != (Answer{}) || err == nil || !strings.Contains(err.Error(), "the hook after (") {
			t.Errorf("%v, %v", a, err)
		}
	}
}

// TestInput: the hook gets everything, in its folder, with the environment of the process.
func TestInput(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("OF_THE_PARENT", "there")
	cost := 0.25
	in := Input{
		Event: After, Occasion: "tool", Reason: "asked for", Session: "s1", Model: "zai/glm", Tokens: 215_000, Window: 1_000_000,
		Report: &Report{Compacted: true, Mode: "same", Model: "zai/glm", TokensBefore: 215_000, TokensAfter: 38_000, Cost: &cost, FellBack: "x"},
	}
	c := sh("cat >input; echo $OF_THE_PARENT >>input")
	c.Dir = dir
	if _, err := c.Run(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "input"))
	if err != nil {
		t.Fatal(err)
	}
	object, rest, _ := strings.Cut(string(data), "}}")
	var got Input
	if err := json.Unmarshal([]byte(object+"}}"), &got); err != nil || rest != "there\n" {
		t.Fatalf("%v in %s", err, data)
	}
	if d := cmp.Diff(in, got); d != "" {
		t.Error(d)
	}
	var members map[string]any
	if err := json.Unmarshal([]byte(object+"}}"), &members); err != nil || len(members) != 8 {
		t.Errorf("%v, %v", err, members)
	}
	if _, err := sh(`echo '{"veto": "too late"}'`).Run(t.Context(), in); err == nil || !strings.Contains(err.Error(), `"veto" means something before`) {
		t.Errorf("HOOK-04: %v", err)
	}
}

// stopped runs a script that puts something behind itself which holds a pipe open, and demands that this has ended too when
// Run has returned: else reading the pipe would not end.
func stopped(ctx context.Context, t *testing.T, script string, timeout time.Duration) error {
	t.Helper()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	c := sh("sleep 600 >'" + pipe + "' & " + script)
	c.Timeout = timeout
	ended := make(chan error, 1)
	go func() {
		f, err := os.Open(pipe)
		if err == nil {
			_, err = io.Copy(io.Discard, f)
			_ = f.Close()
		}
		ended <- err
	}()
	a, err := c.Run(ctx, Input{Event: Before})
	if a != (Answer{}) {
		t.Errorf("%+v", a)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return err
}

// TestStopped: what takes too long, writes too much, or is called off, is stopped with all that it has started.
func TestStopped(t *testing.T) {
	if err := stopped(t.Context(), t, "wait", 300*time.Millisecond); err == nil || !strings.Contains(err.Error(), "took longer than 300ms") {
		t.Error(err)
	}
	if err := stopped(t.Context(), t, "echo '{\"veto\": \"no\"}'; trap '' TERM; wait", 300*time.Millisecond); err == nil || !strings.Contains(err.Error(), "took longer") {
		t.Error(err)
	}
	if err := stopped(t.Context(), t, "while :; do echo 0123456789; done", time.Minute); err == nil || !strings.Contains(err.Error(), "more than 64 KiB") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	if err := stopped(ctx, t, "wait", time.Minute); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestDocs: the hook of docs/settings.md does what is said of it.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "settings.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, script, _ := strings.Cut(string(text), "```sh\n")
	script, _, _ = strings.Cut(script, "```")
	c := sh(script)
	c.Dir = t.TempDir()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(c.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := func(want Answer) {
		t.Helper()
		if got, err := c.Run(t.Context(), Input{Event: Before}); got != want || err != nil {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	put("a", "1")
	git := exec.Command("sh", "-c", "git init -q . && git add a")
	git.Dir = c.Dir
	if out, err := git.CombinedOutput(); err != nil {
		t.Skipf("no git: %s", out)
	}
	want(Answer{})
	put("a", "2")
	want(Answer{Focus: "the changes that are not committed yet"})
	put(filepath.Join(".git", "MERGE_HEAD"), "")
	want(Answer{Veto: "a merge is under way"})
}

func TestLog(t *testing.T) {
	var log bytes.Buffer
	c := sh("echo working >&2; head -c 100000 /dev/zero | tr '\\0' x >&2")
	c.Log = slog.New(slog.NewTextHandler(&log, nil))
	if _, err := c.Run(t.Context(), Input{Event: Before}); err != nil {
		t.Fatal(err)
	}
	if got := log.String(); !strings.Contains(got, "working") || len(got) > maxErrors+500 {
		t.Errorf("%d bytes", len(got))
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "{}", `{"focus":"a","veto":"b"}`, `{"veto":1}`, "[]", "{\"a\":{}}", `{"veto":"a"}x`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := parse(Before, data)
		if err != nil {
			if a != (Answer{}) || strings.ContainsAny(err.Error(), "\n\r") || len(err.Error()) > 600 {
				t.Fatalf("%+v, %q", a, err)
			}
			return
		}
		again, err := json.Marshal(map[string]string{"focus": a.Focus, "veto": a.Veto})
		if err != nil {
			t.Fatal(err)
		}
		if b, err := parse(Before, again); err != nil || b != a {
			t.Fatal(fmt.Errorf("%+v becomes %+v, %w", a, b, err))
		}
	})
}
