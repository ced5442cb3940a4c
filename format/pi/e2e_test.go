package pi

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/modeltest"
	"github.com/pemmican-dev/pemmican/internal/pitest"
)

// live is a session that a real pi wrote and goes on with.
type live struct {
	t         *testing.T
	pi        *pitest.Pi
	server    *modeltest.Server
	home, dir string
	file      string
	system    string // the system text of its last request
}

// newLive makes a session of two turns: a read, two commands in one answer, a third one; then another command.
func newLive(t *testing.T, version string) *live {
	t.Helper()
	l := &live{t: t, pi: pitest.Install(t, version), home: t.TempDir(), dir: t.TempDir()}
	type args = map[string]any
	l.server = modeltest.Start(t,
		modeltest.Reply{Text: "I look.", Calls: []modeltest.Call{{Name: "read", Args: args{"path": "notes.txt"}}}},
		modeltest.Reply{Calls: []modeltest.Call{
			{Name: "bash", Args: args{"command": "echo one"}},
			{Name: "bash", Args: args{"command": "seq 1 50"}},
		}},
		modeltest.Reply{Calls: []modeltest.Call{{Name: "bash", Args: args{"command": "echo three"}}}},
		modeltest.Reply{Text: "It says alpha."},
		modeltest.Reply{Text: "Again.", Calls: []modeltest.Call{{Name: "bash", Args: args{"command": "echo four"}}}},
		modeltest.Reply{Text: "Done.", Usage: modeltest.Usage{Input: 100, Output: 10}},
	)
	if err := os.WriteFile(filepath.Join(l.dir, "notes.txt"), []byte("alpha\nbeta\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for i, prompt := range []string{"What is in notes.txt?", "And once more <é> \"quoted\""} {
		var more []string
		if i > 0 {
			more = []string{"--continue"}
		}
		if out := l.pi.Run(t, l.home, l.dir, l.server, prompt, more...); out.ExitCode != 0 {
			t.Fatalf("pi ended with %d\n%s", out.ExitCode, out.Stderr)
		}
	}
	if n := len(l.server.Requests()); n != 6 {
		t.Fatalf("%d requests, want 6", n)
	}
	files := pitest.SessionFiles(l.home)
	if len(files) != 1 {
		t.Fatalf("session files %q", files)
	}
	l.file = files[0]
	requests := l.server.Requests()
	l.system = requests[len(requests)-1].Messages()[0].Text
	return l
}

func (l *live) read() []byte {
	l.t.Helper()
	b, err := os.ReadFile(l.file)
	if err != nil {
		l.t.Fatal(err)
	}
	return b
}

// resume writes the session file, goes on with it, and compares what pi sends with the transcript.
func (l *live) resume(data []byte, want *pemmican.Transcript, args ...string) {
	l.t.Helper()
	if err := os.WriteFile(l.file, data, 0o644); err != nil {
		l.t.Fatal(err)
	}
	l.server.Reset()
	if out := l.pi.Run(l.t, l.home, l.dir, l.server, "GO ON", args...); out.ExitCode != 0 {
		l.t.Fatalf("pi ended with %d\n%s", out.ExitCode, out.Stderr)
	}
	requests := l.server.Requests()
	if len(requests) != 1 {
		l.t.Fatalf("%d requests, want 1", len(requests))
	}
	var got []string
	for _, m := range requests[0].Messages()[1:] { // behind the system text
		got = append(got, m.String())
	}
	if diff := cmp.Diff(append(rendered(want), `user "GO ON"`), got); diff != "" {
		l.t.Errorf("what pi sends (-want +got)\n%s", diff)
	}
}

// rendered is how pi sends a transcript to an API like OpenAI's Chat Completions.
func rendered(tr *pemmican.Transcript) []string {
	var out []string
	for _, m := range pitest.Sent(tr) {
		out = append(out, m.String())
	}
	return out
}

// find returns the block of a transcript by its kind and something in its text or arguments.
func find(t *testing.T, tr *pemmican.Transcript, kind pemmican.Kind, text string) int {
	t.Helper()
	for i, b := range tr.Blocks {
		if b.Kind == kind && strings.Contains(b.Text+b.Args, text) {
			return i
		}
	}
	t.Fatalf("no %s with %q in\n%s", kind, text, dump(tr))
	return 0
}

// A real pi sends what Decode says: with head, anchor, stubs and summary, and after Undo the old conversation.
func TestRealPi(t *testing.T) {
	t.Parallel()
	l := newLive(t, pitest.Latest)
	before := l.read()
	d := mustDecode(t, before)
	tr := d.Transcript()
	if findings := d.Check(); len(findings) > 0 || len(tr.Warnings) > 0 {
		t.Errorf("findings %s, warnings %q", dumpFindings(findings), tr.Warnings)
	}
	if tr.Can != (pemmican.Capabilities{SummaryFirst: true}) || !tr.HasSystem || tr.Model != "scripted-model" {
		t.Errorf("can %+v, system %t, model %q", tr.Can, tr.HasSystem, tr.Model)
	}
	if tr.Blocks[0].Text != l.system || !strings.Contains(tr.Tools, `"name":"bash"`) {
		t.Errorf("system text %q, pi sent %q", tr.Blocks[0].Text, l.system)
	}
	if last := tr.Messages[len(tr.Messages)-1]; last.Usage != 110 {
		t.Errorf("usage %d, the server said 110", last.Usage)
	}

	plan := pemmican.NewPlan(tr)
	drop := func(kind pemmican.Kind, text string) {
		t.Helper()
		plan.Marks[find(t, tr, kind, text)] = pemmican.Mark{Action: pemmican.Drop}
	}
	drop(pemmican.Text, "I look.")
	drop(pemmican.ToolCall, "notes.txt")
	drop(pemmican.ToolResult, "alpha")
	plan.Marks[find(t, tr, pemmican.ToolCall, "seq 1 50")] = pemmican.Mark{Action: pemmican.Stub, Text: `{"command":"seq …"}`}
	plan.Marks[find(t, tr, pemmican.ToolResult, "49\n50")] = pemmican.Mark{Action: pemmican.Stub, Text: "[50 lines left out]"}
	drop(pemmican.ToolCall, "echo three")
	drop(pemmican.ToolResult, "three")
	plan.Marks[find(t, tr, pemmican.Text, "It says alpha.")] = pemmican.Mark{Action: pemmican.Stub, Text: "alpha"}
	plan.Summary = pemmican.Seal("Read notes.txt: \"alpha\" <beta>.")
	plan.Gap = 1
	out := roundTrip(t, d, plan)
	l.resume(out, plan.Result(tr), "--continue")

	// pi only appends, and what it appended is an ordinary conversation to us.
	after := l.read()
	if !bytes.HasPrefix(after, out) {
		t.Fatal("pi changed what was there")
	}
	on := mustDecode(t, after)
	want := append(rendered(plan.Result(tr)), `user "GO ON"`, `assistant "done"`)
	if diff := cmp.Diff(want, rendered(on.Transcript())); diff != "" {
		t.Errorf("the file after going on (-want +got)\n%s", diff)
	}
	if on.Transcript().Blocks[0].Text != l.system {
		t.Errorf("system text after going on %q", on.Transcript().Blocks[0].Text)
	}
	if findings := on.Check(); len(findings) > 0 {
		t.Errorf("findings after going on %s", dumpFindings(findings))
	}

	n, err := mustDecode(t, out).Undo()
	if err != nil {
		t.Fatal(err)
	}
	l.resume(out[:n], tr, "--continue")
	edits := pemmican.NewPlan(tr)
	edits.Marks[find(t, tr, pemmican.ToolResult, "49\n50")] = pemmican.Mark{Action: pemmican.Stub, Text: "[50 lines left out]"}
	l.resume(roundTrip(t, d, edits), edits.Result(tr), "--session", l.file)

	none := nonePlan(tr)
	l.resume(roundTrip(t, d, none), none.Result(tr), "--continue")

	// The same conversation as a file of version 1.
	v1 := regexp.MustCompile(`"version":3,`).ReplaceAll(before, nil)
	v1 = regexp.MustCompile(`(?m)^(\{"type":"[a-z_]+"),"id":"[0-9a-f]{8}","parentId":("[0-9a-f]{8}"|null)`).ReplaceAll(v1, []byte("$1"))
	old := mustDecode(t, v1)
	if old.version != 1 {
		t.Fatalf("version %d", old.version)
	}
	tail := tailPlan(t, old.Transcript())
	l.resume(roundTrip(t, old, tail), tail.Result(old.Transcript()), "--continue")
	if migrated := mustDecode(t, l.read()); migrated.version != 3 {
		t.Errorf("pi left version %d", migrated.version)
	}
}

// tailPlan keeps the last turn behind a summary.
func tailPlan(t *testing.T, tr *pemmican.Transcript) *pemmican.Plan {
	t.Helper()
	plan := pemmican.NewPlan(tr)
	for i := range find(t, tr, pemmican.Text, "And once more") {
		if tr.Messages[tr.Blocks[i].Message].Role == pemmican.System {
			plan.Gap = i + 1
			continue
		}
		plan.Marks[i].Action = pemmican.Drop
	}
	plan.Summary = pemmican.Seal("Read notes.txt: \"alpha\" <beta>.")
	return plan
}

// nonePlan keeps nothing but the system text.
func nonePlan(tr *pemmican.Transcript) *pemmican.Plan {
	plan := pemmican.NewPlan(tr)
	for i := range plan.Marks {
		if tr.Messages[tr.Blocks[i].Message].Role == pemmican.System {
			plan.Gap = i + 1
			continue
		}
		plan.Marks[i].Action = pemmican.Drop
	}
	plan.Summary = pemmican.Seal("All of it.")
	return plan
}

// A pi that knows no edits gets a summary and a tail.
func TestRealOldPi(t *testing.T) {
	t.Parallel()
	l := newLive(t, pitest.BeforeEdits)
	d := mustDecode(t, l.read())
	tr := d.Transcript()
	if can := tr.Can; !can.NoStub || !can.NoAnchor || !can.NoHead || !can.SummaryFirst || !can.SummaryNeeded || tr.HasSystem {
		t.Errorf("can %+v, system %t", can, tr.HasSystem)
	}
	plan := tailPlan(t, tr)
	out := roundTrip(t, d, plan)
	l.resume(out, plan.Result(tr), "--continue")
	if !bytes.HasPrefix(l.read(), out) {
		t.Error("pi changed what was there")
	}
	n, err := mustDecode(t, out).Undo()
	if err != nil {
		t.Fatal(err)
	}
	l.resume(out[:n], tr, "--session", l.file)
	none := nonePlan(tr)
	l.resume(roundTrip(t, d, none), none.Result(tr), "--continue")
}
