package agents_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pemmican-dev/pemmican/agents"
)

// disk is a home folder with session files in it.
type disk struct {
	t    testing.TB
	home string
	vars map[string]string
	now  time.Time
}

func newDisk(tb testing.TB) *disk {
	tb.Helper()
	home := tb.TempDir()
	return &disk{t: tb, home: home, vars: map[string]string{"HOME": home}, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

func (d *disk) env(key string) string { return d.vars[key] }

// add writes a file below the home folder, a minute newer than the one before it.
func (d *disk) add(path string) string {
	d.t.Helper()
	full := filepath.Join(d.home, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte("{}\n"), 0o644); err != nil {
		d.t.Fatal(err)
	}
	d.now = d.now.Add(time.Minute)
	if err := os.Chtimes(full, d.now, d.now); err != nil {
		d.t.Fatal(err)
	}
	return full
}

// names are the files by their path below the home folder.
func (d *disk) names(files []agents.SessionFile) []string {
	d.t.Helper()
	var out []string
	for _, f := range files {
		rel, err := filepath.Rel(d.home, f.Path)
		if err != nil {
			d.t.Fatal(err)
		}
		out = append(out, rel)
	}
	return out
}

const (
	piDir     = ".pi/agent/sessions/--home-me-app--/"
	claudeDir = ".claude/projects/-home-me-app/"
	uuidA     = "aaaaaaaa-1111-4111-8111-111111111111"
	uuidB     = "aaaaaaaa-2222-4222-8222-222222222222"
	uuidC     = "cccccccc-3333-4333-8333-333333333333"
	piTime    = "2026-03-01T12-00-00-000Z_"
)

func TestListNewestFirst(t *testing.T) {
	d := newDisk(t)
	a := d.add(piDir + piTime + uuidA + ".jsonl")
	b := d.add(claudeDir + uuidB + ".jsonl")
	c := d.add(claudeDir + "agent-1a2b3c.jsonl")
	e := d.add(claudeDir + uuidB + "/subagents/agent-4d5e6f.jsonl")
	d.add(claudeDir + uuidB + "/subagents/agent-4d5e6f.meta.json")
	d.add(claudeDir + uuidB + "/tool-results/x.jsonl")
	d.add(claudeDir + "memory/notes.md")
	d.add(piDir + "notes.txt")
	d.add(".pi/agent/sessions/stray.jsonl")
	if err := os.Mkdir(filepath.Join(d.home, piDir, "folder.jsonl"), 0o755); err != nil {
		t.Fatal(err)
	}
	got, err := agents.List(d.env)
	if err != nil {
		t.Fatal(err)
	}
	at := func(minute int) time.Time { return time.Date(2026, 3, 1, 12, minute, 0, 0, time.UTC) }
	want := []agents.SessionFile{
		{Agent: "claude", ID: "agent-4d5e6f", Path: e, Size: 3, ModTime: at(4), Subagent: true},
		{Agent: "claude", ID: "agent-1a2b3c", Path: c, Size: 3, ModTime: at(3), Subagent: true},
		{Agent: "claude", ID: uuidB, Path: b, Size: 3, ModTime: at(2)},
		{Agent: "pi", ID: uuidA, Path: a, Size: 3, ModTime: at(1)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestListFolders(t *testing.T) {
	for _, tt := range []struct {
		name string
		vars map[string]string
		want []string
	}{
		{"defaults", nil, []string{".claude/projects/p/c.jsonl", ".pi/agent/sessions/--a--/t_p.jsonl"}},
		{"pi elsewhere", map[string]string{"PI_CODING_AGENT_DIR": "$/my pi's"}, []string{".claude/projects/p/c.jsonl", "my pi's/sessions/--a--/t_q.jsonl"}},
		{"pi elsewhere in the home folder", map[string]string{"PI_CODING_AGENT_DIR": "~/my pi's"}, []string{".claude/projects/p/c.jsonl", "my pi's/sessions/--a--/t_q.jsonl"}},
		{"pi, flat", map[string]string{"PI_CODING_AGENT_SESSION_DIR": "$/flat"}, []string{"flat/t_r.jsonl", ".claude/projects/p/c.jsonl", ".pi/agent/sessions/--a--/t_p.jsonl"}},
		{"pi, the same folder twice", map[string]string{"PI_CODING_AGENT_SESSION_DIR": "~/.pi/agent/sessions/--a--"}, []string{".claude/projects/p/c.jsonl", ".pi/agent/sessions/--a--/t_p.jsonl"}},
		{"claude elsewhere", map[string]string{"CLAUDE_CONFIG_DIR": "$/conf"}, []string{"conf/projects/p/d.jsonl", ".pi/agent/sessions/--a--/t_p.jsonl"}},
		{"home by its other name", map[string]string{"HOME": "", "USERPROFILE": "$"}, []string{".claude/projects/p/c.jsonl", ".pi/agent/sessions/--a--/t_p.jsonl"}},
		{"nothing there", map[string]string{"HOME": "$/empty"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDisk(t)
			for _, p := range []string{".pi/agent/sessions/--a--/t_p.jsonl", "my pi's/sessions/--a--/t_q.jsonl", ".claude/projects/p/c.jsonl", "conf/projects/p/d.jsonl", "flat/t_r.jsonl"} {
				d.add(p)
			}
			for k, v := range tt.vars {
				d.vars[k] = strings.ReplaceAll(v, "$", d.home)
			}
			got, err := agents.List(d.env)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, d.names(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestListWithoutHome(t *testing.T) {
	none := func(string) string { return "" }
	if files, err := agents.List(none); len(files) != 0 || err == nil || !strings.Contains(err.Error(), "HOME") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, %v", files, err)
	}
	for _, ref := range []string{"latest", "pi:latest", uuidA} {
		if files, err := agents.Find(none, ref); files != nil || err == nil {
			t.Errorf("%s: got %v, %v", ref, files, err)
		}
	}
}

func TestListFollowsLinks(t *testing.T) {
	d := newDisk(t)
	real := d.add("elsewhere/" + uuidA + ".jsonl")
	d.add(claudeDir + uuidB + ".jsonl")
	projects := filepath.Join(d.home, ".claude/projects")
	for link, to := range map[string]string{"linked": filepath.Dir(real), "to a file": real, "to nothing": "/nowhere/at/all"} {
		if err := os.Symlink(to, filepath.Join(projects, link)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	if err := os.Symlink("/nowhere/at/all", filepath.Join(d.home, claudeDir, "broken.jsonl")); err != nil {
		t.Fatal(err)
	}
	got, err := agents.List(d.env)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{claudeDir + uuidB + ".jsonl", ".claude/projects/linked/" + uuidA + ".jsonl"}, d.names(got)); diff != "" {
		t.Error(diff)
	}
}

// unreadable makes a folder that cannot be read, as far as the one who runs the test can be kept out.
func unreadable(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Error(err)
		}
	})
	if _, err := os.ReadDir(path); err == nil {
		t.Skip("whoever runs this can read everything")
	}
}

func testUnreadable(t *testing.T, d *disk, name string) {
	t.Helper()
	got, err := agents.List(d.env)
	if err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("error %v, want one that names %q", err, name)
	}
	if diff := cmp.Diff([]string{claudeDir + uuidB + ".jsonl"}, d.names(got)); diff != "" {
		t.Error(diff)
	}
	for _, ref := range []string{"latest", "pi:latest"} {
		if got, err := agents.Find(d.env, ref); got != nil || err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, %v", ref, got, err)
		}
	}
	// What can be told for sure is told.
	for _, ref := range []string{"claude:latest", uuidB, uuidB[:10]} {
		if got, err := agents.Find(d.env, ref); err != nil || len(got) != 1 || got[0].ID != uuidB {
			t.Errorf("%s: got %v, %v", ref, got, err)
		}
	}
	if _, err := agents.Find(d.env, uuidC); !errors.Is(err, agents.ErrNoSession) || !strings.Contains(err.Error(), name) {
		t.Errorf("got %v: the session may lie in the folder that cannot be read", err)
	}
}

func TestUnreadableFolderIsReported(t *testing.T) {
	d := newDisk(t)
	d.add(claudeDir + uuidB + ".jsonl")
	unreadable(t, filepath.Join(d.home, ".pi/agent/sessions/--secret--"))
	testUnreadable(t, d, "--secret--")
}

// A file in the place of the folder is a fault that every user runs into, an administrator too.
func TestFileInPlaceOfFolderIsReported(t *testing.T) {
	d := newDisk(t)
	d.add(claudeDir + uuidB + ".jsonl")
	d.add(".pi/agent/sessions")
	testUnreadable(t, d, "sessions")
}

func TestFind(t *testing.T) {
	d := newDisk(t)
	pi1 := d.add(piDir + piTime + uuidA + ".jsonl")
	claude1 := d.add(claudeDir + uuidB + ".jsonl")
	pi2 := d.add(piDir + piTime + "named_by hand.jsonl")
	claude2 := d.add(".claude/projects/it's an odd one/" + uuidC + ".jsonl")
	pi3 := d.add(piDir + "noprefix.jsonl")
	sub := d.add(claudeDir + "agent-1a2b3c.jsonl")
	other := d.add("work/body.json")
	odd := d.add("work/it's a \"copy\" of.jsonl")
	around, dangling := filepath.Join(d.home, piDir, "around.jsonl"), filepath.Join(d.home, piDir, "dangling.jsonl")
	if errors.Join(os.Symlink("around.jsonl", around), os.Symlink("nowhere", dangling)) != nil {
		t.Skip("no links here")
	}
	for _, tt := range []struct{ ref, want, agent, id string }{
		{"latest", pi3, "pi", "noprefix"},
		{"pi:latest", pi3, "pi", "noprefix"},
		{"claude:latest", claude2, "claude", uuidC},
		{uuidA, pi1, "pi", uuidA},
		{uuidB, claude1, "claude", uuidB},
		{"cccccc", claude2, "claude", uuidC},
		{"claude:aaaaaa", claude1, "claude", uuidB},
		{"pi:aaaaaa", pi1, "pi", uuidA},
		{"aaaaaaaa-2", claude1, "claude", uuidB},
		{"named_by", pi2, "pi", "named_by hand"},
		{"agent-1a2b3c", sub, "claude", "agent-1a2b3c"},
		{pi1, pi1, "pi", uuidA},
		{claude1, claude1, "claude", uuidB},
		{sub, sub, "claude", "agent-1a2b3c"},
		{other, other, "", ""},
		{odd, odd, "", ""},
	} {
		got, err := agents.Find(d.env, tt.ref)
		if latest := strings.HasSuffix(tt.ref, "latest"); err != nil || len(got) == 0 || !latest && len(got) > 1 {
			t.Errorf("%s: got %v, %v", tt.ref, got, err)
			continue
		}
		if g := got[0]; g.Path != tt.want || g.Agent != tt.agent || g.ID != tt.id || g.Size != 3 || g.ModTime.IsZero() || g.Subagent != (tt.want == sub) {
			t.Errorf("%s: got %+v", tt.ref, g)
		}
	}
	for _, tt := range []struct{ ref, says string }{
		{"ffffffff", "ffffffff"},
		{"cccc", "6 characters"},
		{"", "6 characters"},
		{"pi:", "6 characters"},
		{"pi:" + uuidB, "sessions"},
		{"codex:latest", "codex:latest"},
		{"./gone.jsonl", "there is no file ./gone.jsonl"},
		{"gone.json", "there is no file gone.json"},
		{other + "/below", "is no folder"},
		{around, "leads back to itself"},
		{dangling, "is a link to nowhere, which is not there"},
		{filepath.Join(d.home, "work"), "is a folder"},
	} {
		if got, err := agents.Find(d.env, tt.ref); got != nil || !errors.Is(err, agents.ErrNoSession) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%q: got %v, %v", tt.ref, got, err)
		}
	}
}

// Behind the latest session stand the older ones, and no subagent's.
func TestFindLatestInOrder(t *testing.T) {
	d := newDisk(t)
	d.add(piDir + piTime + uuidA + ".jsonl")
	d.add(claudeDir + uuidB + ".jsonl")
	d.add(claudeDir + "agent-1a2b3c.jsonl")
	d.add(piDir + piTime + uuidC + ".jsonl")
	for ref, want := range map[string][]string{
		"latest":        {piDir + piTime + uuidC + ".jsonl", claudeDir + uuidB + ".jsonl", piDir + piTime + uuidA + ".jsonl"},
		"pi:latest":     {piDir + piTime + uuidC + ".jsonl", piDir + piTime + uuidA + ".jsonl"},
		"claude:latest": {claudeDir + uuidB + ".jsonl"},
	} {
		got, err := agents.Find(d.env, ref)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, d.names(got)); diff != "" {
			t.Errorf("%s: %s", ref, diff)
		}
	}
}

// What Pemmican writes beside a session is no session of the agent's, but a path names it.
func TestListWithoutOwnFiles(t *testing.T) {
	d := newDisk(t)
	a := d.add(claudeDir + uuidA + ".jsonl")
	copied := d.add(claudeDir + uuidA + ".compacted.jsonl")
	d.add(claudeDir + uuidA + ".fixed.jsonl")
	d.add(claudeDir + uuidA + ".compacted.compacted.jsonl")
	d.add(piDir + piTime + uuidB + ".fixed.jsonl")
	for _, ref := range []string{"latest", "claude:latest", uuidA, uuidA[:8]} {
		if got, err := agents.Find(d.env, ref); err != nil || len(got) != 1 || got[0].Path != a {
			t.Errorf("%s: got %v, %v", ref, got, err)
		}
	}
	if got, err := agents.Find(d.env, copied); err != nil || len(got) != 1 || got[0].Path != copied {
		t.Errorf("got %v, %v", got, err)
	}
}

// What is there is a path, also where it could be the beginning of an id.
func TestFindWhatIsThere(t *testing.T) {
	d := newDisk(t)
	d.add(claudeDir + uuidA + ".jsonl")
	d.add("here/" + uuidA[:8] + "/x")
	t.Chdir(filepath.Join(d.home, "here"))
	if got, err := agents.Find(d.env, uuidA[:8]); got != nil || err == nil || err.Error() != uuidA[:8]+" is a folder; name a file in it" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestFindAmbiguous(t *testing.T) {
	d := newDisk(t)
	a := d.add(piDir + piTime + uuidA + ".jsonl")
	b := d.add(claudeDir + uuidB + ".jsonl")
	got, err := agents.Find(d.env, "aaaaaaaa")
	if !errors.Is(err, agents.ErrAmbiguous) || len(got) != 2 {
		t.Fatalf("got %v, %v", got, err)
	}
	for _, s := range []string{a, b, "pi:" + uuidA, "claude:" + uuidB} {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("the error does not list %s:\n%v", s, err)
		}
	}

	// One id in two folders is two sessions.
	d.add(".claude/projects/-another/" + uuidB + ".jsonl")
	if got, err := agents.Find(d.env, uuidB); !errors.Is(err, agents.ErrAmbiguous) || len(got) != 2 {
		t.Errorf("got %v, %v", got, err)
	}
	// A whole id is not the beginning of a longer one.
	d.add(piDir + piTime + uuidA + "-branch.jsonl")
	if got, err := agents.Find(d.env, uuidA); err != nil || len(got) != 1 || got[0].Path != a {
		t.Errorf("got %v, %v", got, err)
	}
	// The list in the error has an end.
	for i := range 30 {
		d.add(fmt.Sprintf("%s%sbbbbbb-%02d.jsonl", piDir, piTime, i))
	}
	if _, err := agents.Find(d.env, "bbbbbb"); !errors.Is(err, agents.ErrAmbiguous) || !strings.Contains(err.Error(), "20 more") || strings.Count(err.Error(), "\n") != 11 {
		t.Errorf("got %v", err)
	}
}

func TestFindNone(t *testing.T) {
	d := newDisk(t)
	d.add(claudeDir + "agent-1a2b3c.jsonl")
	for _, ref := range []string{"latest", "pi:latest", "claude:latest"} {
		if got, err := agents.Find(d.env, ref); got != nil || !errors.Is(err, agents.ErrNoSession) || !strings.Contains(err.Error(), d.home) {
			t.Errorf("%s: got %v, %v", ref, got, err)
		}
	}
}

func TestFindByNameInTheWorkingFolder(t *testing.T) {
	d := newDisk(t)
	d.add("here/body")
	t.Chdir(filepath.Join(d.home, "here"))
	if got, err := agents.Find(d.env, "body"); err != nil || len(got) != 1 || got[0].Path != "body" {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := agents.Find(nil, "body"); err != nil || len(got) != 1 {
		t.Errorf("without an env: got %v, %v", got, err)
	}
	// The word latest stays what it is; a file of that name is ./latest.
	d.add("here/latest")
	if _, err := agents.Find(d.env, "latest"); !errors.Is(err, agents.ErrNoSession) {
		t.Errorf("got %v", err)
	}
	if got, err := agents.Find(d.env, "./latest"); err != nil || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}

// thousand writes 1,000 session files in 50 folders.
func thousand(tb testing.TB) *disk {
	tb.Helper()
	d := newDisk(tb)
	for i := range 1000 {
		d.add(fmt.Sprintf(".claude/projects/-p-%02d/%08x-1111-4111-8111-111111111111.jsonl", i%50, i))
	}
	return d
}

func TestListOfAThousandIsFast(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("looking at a file is slow there")
	}
	d := thousand(t)
	start := time.Now()
	files, err := agents.List(d.env)
	if err != nil || len(files) != 1000 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	// Some milliseconds here; the limit leaves room for a busy machine and is still below what reading would take.
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
}

func BenchmarkListThousand(b *testing.B) {
	d := thousand(b)
	for b.Loop() {
		if _, err := agents.List(d.env); err != nil {
			b.Fatal(err)
		}
	}
}
