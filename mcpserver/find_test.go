package mcpserver_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican/internal/live"
	"github.com/pemmican-dev/pemmican/mcpserver"
)

func quiet(context.Context, live.Request) live.Reply {
	return live.Reply{Status: []byte(`{"tokens":1}`)}
}

// Which session is meant where a call names none.
func TestTheSessionOfTheFolder(t *testing.T) {
	for name, c := range map[string]struct {
		make   func(t *testing.T, w *world)
		client string
		want   string // the id
		chosen string
	}{
		"the newest of its files": {func(t *testing.T, w *world) {
			w.pi(t, idA, w.work, 30)
			w.pi(t, idB, w.work, 20)
			w.claude(t, idC, "/elsewhere", 10)
		}, "test", idB, "written last"},
		"a running one before newer files": {func(t *testing.T, w *world) {
			w.claude(t, idC, w.work, 1)
			w.serve(t, live.Session{Agent: "pi", ID: idA, Dir: w.work}, quiet)
		}, "test", idA, "it runs in"},
		"one that runs above": {func(t *testing.T, w *world) {
			w.serve(t, live.Session{Agent: "pi", ID: idA, Dir: filepath.Dir(w.work)}, quiet)
		}, "test", idA, "it runs in"},
		"the nearest that runs": {func(t *testing.T, w *world) {
			w.serve(t, live.Session{Agent: "pi", ID: idB, Dir: w.work}, quiet)
			w.serve(t, live.Session{Agent: "pi", ID: idA, Dir: filepath.Dir(w.work)}, quiet)
			w.serve(t, live.Session{Agent: "pi", ID: idC, Dir: filepath.Join(w.work, "below")}, quiet)
			w.serve(t, live.Session{Agent: "pi", ID: idC, Dir: w.work + "-other"}, quiet)
		}, "test", idB, "it runs in"},
		"the client's own agent": {func(t *testing.T, w *world) {
			w.claude(t, idC, w.work, 30)
			w.pi(t, idB, w.work, 20)
			w.serve(t, live.Session{Agent: "pi", ID: idA, Dir: w.work}, quiet)
		}, "claude-code", idC, "written last"},
		"a client that only sounds like one": {func(t *testing.T, w *world) {
			w.claude(t, idC, w.work, 20)
			w.pi(t, idA, w.work, 30)
		}, "api-pilot", idC, "written last"},
		"by a link": {func(t *testing.T, w *world) {
			link := w.work + "-link"
			if err := os.Symlink(w.work, link); err != nil {
				t.Fatal(err)
			}
			w.pi(t, idA, link, 30)
		}, "test", idA, "written last"},
		"an empty one is passed over": {func(t *testing.T, w *world) {
			w.pi(t, idA, w.work, 30)
			begin, _, _ := strings.Cut(string(example(t, idB, w.work)), "\n")
			w.write(t, ".pi/agent/sessions/--x--/t_"+idB+".jsonl", []byte(begin+"\n"), 1)
		}, "test", idA, "written last"},
		"a subagent's is passed over": {func(t *testing.T, w *world) {
			path := w.claude(t, idC, w.work, 30)
			w.write(t, ".claude/projects/-x/agent-1234.jsonl", read(t, path), 1)
		}, "test", idC, "written last"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c.make(t, w)
			client := connect(t, w.config(), c.client)
			st, text := call[mcpserver.Status](t, client, "context_status", nil)
			if st.ID != c.want || !strings.Contains(st.Chosen, c.chosen) || !strings.Contains(text, st.Chosen) {
				t.Errorf("%+v\n%s", st.Which, text)
			}
			if st.Live != strings.Contains(c.chosen, "runs") {
				t.Errorf("live: %v", st.Live)
			}
		})
	}
}

// Another agent's session is not taken for the client's own, least of all to compact it. Who names it gets it.
func TestAnAgentWhoseSessionsCannotBeFound(t *testing.T) {
	w := newWorld(t)
	w.serve(t, live.Session{Agent: "pi", ID: idA, Dir: w.work}, quiet)
	for _, name := range []string{"codex-mcp-client", "opencode", "Cline"} {
		c := connect(t, w.config(), name)
		for _, tool := range []string{"context_status", "compact_context", "inspect_transcript", "check_transcript"} {
			if got := refused(t, c, tool, nil); !strings.Contains(got, "cannot be read, so which one is yours is unknown; name one") {
				t.Errorf("%s %s: %s", name, tool, got)
			}
		}
		if st, _ := call[mcpserver.Status](t, c, "context_status", args{"session": idA}); !st.Live || st.Chosen != "" {
			t.Errorf("%+v", st)
		}
		if out, _ := call[mcpserver.Kept](t, c, "keep", args{"fact": "x"}); !strings.Contains(out.Warning, "no session was found") {
			t.Errorf("%+v", out)
		}
	}
}

func TestOfSeveralThatRunTheLastOneIsTaken(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{idA, idB, idC} {
		w.serve(t, live.Session{Agent: "pi", ID: id, Dir: w.work}, quiet)
	}
	st, _ := call[mcpserver.Status](t, connect(t, w.config(), "test"), "context_status", nil)
	if !strings.Contains(st.Chosen, "2 others that do") {
		t.Error(st.Chosen)
	}
}

// Which one is meant by a name.
func TestANamedSession(t *testing.T) {
	w := newWorld(t)
	pi, claude := w.pi(t, idA, "/some/folder", 20), w.claude(t, idC, "/another", 10)
	w.serve(t, live.Session{Agent: "pi", ID: "in-memory", Dir: "/nowhere"}, quiet)
	w.serve(t, live.Session{Agent: "pi", ID: "other-id", File: pi}, quiet)
	if err := os.WriteFile(filepath.Join(w.work, "copy.jsonl"), read(t, claude), 0o600); err != nil {
		t.Fatal(err)
	}
	c := connect(t, w.config(), "test")
	for ref, want := range map[string]struct {
		id   string
		live bool
	}{
		pi: {idA, true}, claude: {idC, false}, idA: {idA, true}, idC[:8]: {idC, false}, "claude:" + idC: {idC, false},
		"latest": {idC, false}, "pi:latest": {idA, true}, "in-memory": {"in-memory", true}, "pi:in-memory": {"in-memory", true},
		"copy.jsonl": {idC, false}, "./copy.jsonl": {idC, false},
	} {
		st, text := call[mcpserver.Status](t, c, "context_status", args{"session": ref})
		if st.ID != want.id || st.Live != want.live {
			t.Errorf("%s: %+v\n%s", ref, st.Which, text)
		}
	}
}

func TestWhatCannotBeFoundOrRead(t *testing.T) {
	w := newWorld(t)
	w.pi(t, idA, "/some/folder", 20)
	w.pi(t, idB, "/some/folder", 20)
	w.serve(t, live.Session{Agent: "pi", ID: "in-memory", Dir: "/nowhere"}, quiet)
	pipe := filepath.Join(w.work, "pipe")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Skip("there are no named pipes: ", err)
	}
	huge := w.write(t, "huge.jsonl", nil, 1)
	if err := os.Truncate(huge, 257<<20); err != nil {
		t.Fatal(err)
	}
	empty := w.write(t, "empty.jsonl", nil, 1)
	prose := w.write(t, "prose.txt", []byte("Dear diary,\n"), 1)
	cut := w.write(t, "cut.json", []byte(`{"model":"x","messages":[{"role":"user","con`), 1)
	c := connect(t, w.config(), "test")
	for ref, want := range map[string]string{
		"":                       `no session of an agent runs in ` + w.work + `, and none on disk has this folder; name one: a path, an id, "latest" or "pi:latest"`,
		"-":                      "standard input",
		"no/such/file.jsonl":     "there is no file",
		"abcdef0123":             "no session has this id",
		"claude:latest":          "there is none in",
		idA[:10]:                 "may be any of 2",
		w.work:                   "is a folder; name a file in it",
		pipe:                     "it is no regular file",
		"/dev/zero":              "it is no regular file",
		huge:                     "it has 269,484,032 bytes, and 268,435,456 are the most here",
		empty:                    "it is empty",
		prose:                    "prose.txt: ",
		cut:                      "the JSON ends in the middle, at line 1, byte 44",
		"x\x00y/z":               "x",
		strings.Repeat("a", 1e4): "",
	} {
		for tool, argument := range map[string]string{"context_status": "session", "inspect_transcript": "path", "check_transcript": "path", "compact_context": "session"} {
			if got := refused(t, c, tool, args{argument: ref}); !strings.Contains(got, want) {
				t.Errorf("%s %.40q: %s", tool, ref, got)
			}
		}
	}
	if got := refused(t, c, "inspect_transcript", args{"path": "in-memory"}); !strings.Contains(got, "runs without a file; ask for context_status") {
		t.Error(got)
	}
}

// A folder for running sessions that others may enter is not looked into, and the answer says so.
func TestAnUnsafeFolderForRunningSessions(t *testing.T) {
	w := newWorld(t)
	w.pi(t, idA, w.work, 10)
	t.Setenv("XDG_RUNTIME_DIR", w.live)
	if err := os.Mkdir(filepath.Join(w.live, "pemmican"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(w.live, "pemmican"), 0o777); err != nil {
		t.Fatal(err)
	}
	config := w.config()
	config.Live = ""
	st, text := call[mcpserver.Status](t, connect(t, config, "test"), "context_status", nil)
	if st.ID != idA || len(st.Notes) != 1 || !strings.Contains(st.Notes[0], "others may enter it") || !strings.Contains(text, st.Notes[0]) {
		t.Errorf("%+v", st)
	}
}
