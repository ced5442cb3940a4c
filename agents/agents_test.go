package agents_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/pemmican-dev/pemmican/agents"
	"github.com/pemmican-dev/pemmican/format"
	"pgregory.net/rapid"
)

const uuid = "0a1b2c3d-4e5f-4678-9abc-def012345678"

func named(t testing.TB, name string) agents.Agent {
	t.Helper()
	a, ok := agents.Named(name)
	if !ok {
		t.Fatalf("no agent %q", name)
	}
	return a
}

func TestAgentsByNameAndFormat(t *testing.T) {
	for name, form := range map[string]string{"pi": "pi", "claude": "claude-code"} {
		if a := named(t, name); a.Name != name || a.Format != form {
			t.Errorf("%s: got %+v", name, a)
		}
		if a, ok := agents.ForFormat(form); !ok || a.Name != name {
			t.Errorf("format %s: got %q, %v", form, a.Name, ok)
		}
	}
	if _, ok := agents.Named("Pi"); ok {
		t.Error("names are exact")
	}
	if _, ok := agents.ForFormat("anthropic"); ok {
		t.Error("a wire format has no agent")
	}
}

// atHome is the environment of somebody whose home folder is /home/me.
func atHome(key string) string {
	if key == "HOME" {
		return "/home/me"
	}
	return ""
}

func TestResume(t *testing.T) {
	for _, tt := range []struct {
		name, agent string
		info        format.Info
		file        string
		want        string
	}{
		{"pi", "pi", format.Info{ID: "x", Dir: "/home/me/app"}, "/s/a_x.jsonl", "cd /home/me/app && pi --session /s/a_x.jsonl"},
		{"pi without a folder", "pi", format.Info{}, "/s/a.jsonl", "pi --session /s/a.jsonl"},
		{"pi without a file", "pi", format.Info{Dir: "/a"}, "", ""},
		{"spaces and quotes", "pi", format.Info{Dir: "/it's my app"}, "/s/a b$(c).jsonl", `cd '/it'\''s my app' && pi --session '/s/a b$(c).jsonl'`},
		{"a folder like an option", "pi", format.Info{Dir: "-P"}, "/s/a.jsonl", "cd ./-P && pi --session /s/a.jsonl"},
		{"tilde is no home", "pi", format.Info{Dir: "~root"}, "/s/a.jsonl", "cd '~root' && pi --session /s/a.jsonl"},
		{"one line, whatever is in the file", "pi", format.Info{Dir: "/a\nrm -rf b\x1b[2J'\\é"}, "/s/a.jsonl", `cd $'/a\012rm -rf b\033[2J\'\\\303\251' && pi --session /s/a.jsonl`},
		{"text that runs backwards", "pi", format.Info{Dir: "/a\u202eb"}, "/s/a.jsonl", `cd $'/a\342\200\256b' && pi --session /s/a.jsonl`},
		{"claude", "claude", format.Info{ID: "other", Dir: "/app"}, "/home/me/.claude/projects/p/" + uuid + ".jsonl", "cd /app && claude --resume " + uuid},
		{"claude, a copy", "claude", format.Info{ID: uuid, Dir: "/app"}, "/home/me/.claude/projects/p/copy.jsonl", ""},
		{"claude, a copy elsewhere", "claude", format.Info{ID: uuid, Dir: "/app"}, "/p/" + uuid + ".jsonl", ""},
		{"claude, another extension", "claude", format.Info{ID: uuid}, "/home/me/.claude/projects/p/" + uuid + ".json", ""},
		{"claude without a file", "claude", format.Info{ID: uuid}, "", "claude --resume " + uuid},
		{"claude without an id", "claude", format.Info{Dir: "/app"}, "", ""},
		{"claude, an id like an option", "claude", format.Info{ID: "--help"}, "", ""},
		{"claude, an odd id", "claude", format.Info{ID: "a;b"}, "", "claude --resume 'a;b'"},
		{"claude, a subagent", "claude", format.Info{ID: uuid, Dir: "/app"}, "/home/me/.claude/projects/p/agent-1a2b.jsonl", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := named(t, tt.agent).Resume(atHome, tt.info, tt.file); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	if got := (agents.Agent{}).Resume(atHome, format.Info{ID: "x"}, "y"); got != "" {
		t.Errorf("the zero agent resumes by %q", got)
	}
}

func TestResumeMakesTheFileAbsolute(t *testing.T) {
	got := named(t, "pi").Resume(atHome, format.Info{Dir: "/app"}, "a.jsonl")
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(got, "/a.jsonl") || !strings.Contains(got, filepath.Base(wd)) {
		t.Errorf("got %s", got)
	}
}

// Whatever a session file says of its folder, the command is one line that can be shown.
func TestResumeIsOneLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "dir")
		a, _ := agents.Named("pi")
		for _, r := range a.Resume(atHome, format.Info{Dir: dir}, "/s/a.jsonl") {
			if unicode.IsControl(r) || r == unicode.ReplacementChar {
				t.Fatalf("%q", a.Resume(atHome, format.Info{Dir: dir}, "/s/a.jsonl"))
			}
		}
	})
}

// A shell reads back what was quoted. bash, since the escapes for control characters came late to POSIX.
func TestResumeInAShell(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	for _, name := range []string{"plain", "with space", "it's", `"double"`, "$HOME `x` \\ ;&|", "new\nline", "tab\tand'quote\\", "ünïcödé 汉", "half \xff a rune", "-dash", "*?[a]", "~", "=ls"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		command := named(t, "pi").Resume(atHome, format.Info{Dir: dir}, filepath.Join(dir, name+".jsonl"))
		cmd := exec.Command(bash, "-c", `pi() { printf '%s|%s|%s' "$PWD" "$1" "$2"; }; `+command)
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if want := dir + "|--session|" + filepath.Join(dir, name+".jsonl"); string(out) != want {
			t.Errorf("%q: the shell read %q, want %q", name, out, want)
		}
	}
}
