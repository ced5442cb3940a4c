package claudecode_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/format/claudecode"
	"github.com/pemmican-dev/pemmican/internal/formattest"
)

var update = flag.Bool("update", false, "write the golden parts of testdata/*.txtar")

// TestFiles runs testdata/*.txtar. Each has a session file, in.jsonl, or half.jsonl that ends without its line feed;
// live, the transcript that is read from it; check, the findings; and, where there is a plan, out, what Apply appends.
// All but the session file and the plan are golden: -update writes them.
func TestFiles(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no testdata", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			in := part(ar, "in.jsonl")
			if in == nil {
				in = bytes.TrimSuffix(part(ar, "half.jsonl"), []byte("\n"))
			}
			if !claudecode.Detect(in) {
				t.Error("not detected")
			}
			d := decode(t, in)
			golden(t, ar, "live", []byte(describe(d)))
			golden(t, ar, "check", []byte(describeFindings(d)))
			checkFixes(t, d, in)

			empty := pemmican.NewPlan(d.Transcript())
			if _, err := checkApply(d, in, empty); err != nil {
				t.Error("empty plan:", err)
			}
			if script := part(ar, "plan"); script != nil {
				out, err := checkApply(d, in, parsePlan(t, d.Transcript(), string(script)))
				if err != nil {
					t.Fatal(err)
				}
				golden(t, ar, "out", out[len(in):])
			}
			if *update {
				if err := os.WriteFile(name, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func part(ar *txtar.Archive, name string) []byte {
	for _, f := range ar.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

func golden(t *testing.T, ar *txtar.Archive, name string, got []byte) {
	t.Helper()
	i := slices.IndexFunc(ar.Files, func(f txtar.File) bool { return f.Name == name })
	switch {
	case *update && i >= 0:
		ar.Files[i].Data = got
	case *update && len(got) > 0:
		ar.Files = append(ar.Files, txtar.File{Name: name, Data: got})
	case *update:
	default:
		var want []byte
		if i >= 0 {
			want = ar.Files[i].Data
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// describe writes a transcript for people: a line for each message, and under it one for each block.
func describe(d *claudecode.Doc) string {
	var s strings.Builder
	tr := d.Transcript()
	info := d.Info()
	fmt.Fprintf(&s, "id=%s dir=%s name=%q model=%s system=%t\n", info.ID, info.Dir, info.Name, tr.Model, tr.HasSystem)
	if tr.Tools != "" {
		fmt.Fprintf(&s, "tools %s\n", tr.Tools)
	}
	for _, m := range tr.Messages {
		who := m.Role.String()
		if m.Author == pemmican.ByRuntime {
			who += " (runtime)"
		}
		if m.Usage > 0 {
			who += fmt.Sprintf(" usage=%d", m.Usage)
		}
		fmt.Fprintln(&s, who)
		for i := m.First; i < m.End; i++ {
			b := tr.Blocks[i]
			fmt.Fprintf(&s, "  %d %s %q", i, b.Kind, b.Text)
			for _, f := range []struct {
				name  string
				value any
			}{
				{"call", b.CallID}, {"tool", b.Tool}, {"args", b.Args}, {"error", b.Error}, {"bound", b.Bound},
				{"pinned", b.Pinned}, {"media", b.Media}, {"bytes", b.Bytes},
			} {
				switch f.value {
				case "", false, 0, pemmican.MediaInfo{}:
				default:
					fmt.Fprintf(&s, " %s=%v", f.name, f.value)
				}
			}
			s.WriteByte('\n')
		}
	}
	for _, w := range tr.Warnings {
		fmt.Fprintln(&s, "warning:", w)
	}
	return s.String()
}

func describeFindings(d *claudecode.Doc) string {
	var s strings.Builder
	for _, f := range d.Check() {
		fmt.Fprintf(&s, "%s: %s: %s", f.Where, f.Rule, f.Message)
		var blocks []int
		for i := range f.Fix {
			blocks = append(blocks, i)
		}
		slices.Sort(blocks)
		for _, i := range blocks {
			fmt.Fprintf(&s, "; %s %d", f.Fix[i].Action, i)
			if f.Fix[i].Text != "" {
				fmt.Fprintf(&s, " %q", f.Fix[i].Text)
			}
		}
		s.WriteByte('\n')
	}
	return s.String()
}

// checkFixes applies the fixes of all fixable findings, and tests that none of those is found again.
func checkFixes(t *testing.T, d *claudecode.Doc, in []byte) {
	t.Helper()
	plan := pemmican.NewPlan(d.Transcript())
	fixable := false
	for _, f := range d.Check() {
		if f.Fixable != (len(f.Fix) > 0) {
			t.Errorf("%s: fixable is %t with %d marks", f.Where, f.Fixable, len(f.Fix))
		}
		fixable = fixable || f.Fixable
		for i, m := range f.Fix {
			if old := plan.Marks[i]; old.Action != pemmican.Keep && (old.Action != m.Action || old.Text != m.Text) {
				t.Errorf("%s: block %d gets two different marks", f.Where, i)
			}
			plan.Marks[i] = m
		}
	}
	if !fixable {
		return
	}
	out, err := checkApply(d, in, plan)
	if err != nil {
		t.Error("fixing:", err)
		return
	}
	for _, f := range decode(t, out).Check() {
		if f.Fixable {
			t.Errorf("not mended: %s: %s: %s", f.Where, f.Rule, f.Message)
		}
	}
}

// parsePlan reads lines such as "drop 3", "stub 4 text" and "summary 2 body".
func parsePlan(t *testing.T, tr *pemmican.Transcript, script string) *pemmican.Plan {
	t.Helper()
	plan := pemmican.NewPlan(tr)
	for l := range strings.Lines(script) {
		verb, rest, _ := strings.Cut(strings.TrimSpace(l), " ")
		number, text, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("plan: %q: %v", l, err)
		}
		switch verb {
		case "drop":
			plan.Marks[n] = pemmican.Mark{Action: pemmican.Drop}
		case "stub":
			plan.Marks[n] = pemmican.Mark{Action: pemmican.Stub, Text: text}
		case "summary":
			plan.Gap, plan.Summary = n, pemmican.Seal(text)
		default:
			t.Fatalf("plan: %q", l)
		}
	}
	return plan
}

const small = `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"do it"},"uuid":"u1","timestamp":"2026-01-01T00:00:00.000Z","sessionId":"s1","cwd":"/w","version":"2.1.332"}
{"parentUuid":"u1","isSidechain":false,"type":"assistant","message":{"id":"m1","role":"assistant","model":"claude-x","content":[{"type":"text","text":"done"}],"usage":{"input_tokens":10,"output_tokens":2}},"uuid":"a1","timestamp":"2026-01-01T00:00:01.000Z","sessionId":"s1","cwd":"/w","version":"2.1.332"}
{"parentUuid":"a1","isSidechain":false,"type":"user","message":{"role":"user","content":"and more"},"uuid":"u2","timestamp":"2026-01-01T00:00:02.000Z","sessionId":"s1","cwd":"/w","version":"2.1.332"}
{"parentUuid":"u2","isSidechain":false,"type":"assistant","message":{"id":"m2","role":"assistant","model":"claude-x","content":[{"type":"text","text":"all done"}],"usage":{"input_tokens":20,"output_tokens":2}},"uuid":"a2","timestamp":"2026-01-01T00:00:03.000Z","sessionId":"s1","cwd":"/w","version":"2.1.332"}
`

// TestTwice compacts, lets the agent go on, compacts again, and takes both back.
func TestTwice(t *testing.T) {
	in := []byte(small)
	d := decode(t, in)
	plan := parsePlan(t, d.Transcript(), "summary 1 first\ndrop 1\nstub 2 and so on")
	once, err := checkApply(d, in, plan)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := decode(t, in).Apply(plan); err != nil || !bytes.Equal(once, again) {
		t.Error("the same input and plan gave other bytes", err)
	}
	grown := slices.Concat(once, []byte(`{"parentUuid":"a2","isSidechain":false,"type":"user","message":{"role":"user","content":"go on"},"uuid":"u3","timestamp":"2026-01-01T00:01:00.000Z","sessionId":"s1"}
{"parentUuid":"u3","isSidechain":false,"type":"assistant","message":{"id":"m3","role":"assistant","model":"claude-x","content":[{"type":"text","text":"gone on"}]},"uuid":"a3","timestamp":"2026-01-01T00:01:01.000Z","sessionId":"s1"}
`))
	d = decode(t, grown)
	want := []string{"do it", pemmican.Seal("first"), "and so on", "all done", "go on", "gone on"}
	if diff := cmp.Diff(want, texts(d)); diff != "" {
		t.Fatalf("after growing (-want +got):\n%s", diff)
	}
	if _, err := d.Undo(); !errors.Is(err, format.ErrNothingToUndo) {
		t.Errorf("Undo of a file that has grown since: %v", err)
	}
	twice, err := checkApply(d, grown, parsePlan(t, d.Transcript(), "drop 1\ndrop 2\ndrop 3\nsummary 1 second"))
	if err != nil {
		t.Fatal(err)
	}
	d = decode(t, twice)
	want = []string{"do it", pemmican.Seal("second"), "go on", "gone on"}
	if diff := cmp.Diff(want, texts(d)); diff != "" {
		t.Fatalf("after the second (-want +got):\n%s", diff)
	}
}

func texts(d *claudecode.Doc) []string {
	var s []string
	for _, b := range d.Transcript().Blocks {
		s = append(s, b.Text)
	}
	return s
}

func TestUndoRefuses(t *testing.T) {
	in := []byte(small)
	d := decode(t, in)
	out, err := d.Apply(parsePlan(t, d.Transcript(), "drop 1"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"nothing appended":    in,
		"something follows":   slices.Concat(out, []byte(`{"type":"mode","sessionId":"s1"}`+"\n")),
		"cut off":             out[:len(out)-1],
		"altered before":      bytes.Replace(out, []byte("do it"), []byte("do ut"), 1),
		"a line before added": slices.Concat([]byte(`{"type":"mode","sessionId":"s1"}`+"\n"), out),
	} {
		if n, err := decode(t, data).Undo(); !errors.Is(err, format.ErrNothingToUndo) {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
}

func TestApplyRefuses(t *testing.T) {
	d := decode(t, []byte(small))
	other := &pemmican.Plan{Marks: make([]pemmican.Mark, 2)}
	if _, err := d.Apply(other); err == nil {
		t.Error("a plan for another transcript was applied")
	}
	call := `{"parentUuid":"a2","type":"assistant","message":{"id":"m4","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"tool_use","id":"t1","name":"Bash","input":{}},{"type":"new_kind"}]},"uuid":"a4","sessionId":"s1"}` + "\n"
	d = decode(t, []byte(small+call))
	for script, want := range map[string]string{
		"stub 4 short": "block 4: reasoning cannot be replaced by a text, only kept or dropped",
		"stub 5 [1]":   "block 5: the arguments that are to stand for those of the call are no JSON object",
		"stub 6 short": "block 6: opaque cannot be replaced by a text, only kept or dropped",
	} {
		if _, err := d.Apply(parsePlan(t, d.Transcript(), script)); err == nil || err.Error() != want {
			t.Errorf("%s: %v", script, err)
		}
	}
	sub := decode(t, []byte(strings.ReplaceAll(small, `"isSidechain":false`, `"isSidechain":true`)))
	if n := len(sub.Transcript().Blocks); n != 4 {
		t.Errorf("a subagent's file has %d blocks, want 4", n)
	}
	if _, err := sub.Apply(parsePlan(t, sub.Transcript(), "drop 1")); !errors.Is(err, format.ErrNotWritable) {
		t.Errorf("a subagent's file: %v", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, data := range []string{
		"", "\n", "hello\n", "{}\n", `{"type":"session","id":"x","cwd":"/"}`, `{"type":"message","id":"a","parentId":null}`,
		`{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{}}`,
	} {
		_, err := claudecode.Decode([]byte(data))
		var e *format.Error
		if !errors.As(err, &e) || !errors.Is(err, format.ErrUnknownFormat) {
			t.Errorf("%q: %v", data, err)
		}
		if claudecode.Detect([]byte(data)) {
			t.Errorf("%q was detected", data)
		}
	}
}

func FuzzDecodeApply(f *testing.F) {
	names, _ := filepath.Glob("testdata/*.txtar")
	for _, name := range names {
		ar, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range ar.Files {
			if strings.HasSuffix(part.Name, ".jsonl") {
				f.Add(part.Data, 1)
				f.Add(part.Data, 2)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, seed int) {
		claudecode.Detect(data)
		d, err := claudecode.Decode(data)
		if err != nil {
			return
		}
		d.Check()
		d.Info()
		tr := d.Transcript()
		plan := rapid.Custom(func(t *rapid.T) *pemmican.Plan {
			rapid.Bool().Draw(t, "anything, since a generator has to draw")
			return formattest.RandomPlan(t, tr)
		}).Example(seed)
		out, err := d.Apply(plan)
		if errors.Is(err, format.ErrNotWritable) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		again, err := claudecode.Decode(out)
		if err != nil {
			t.Fatal(err)
		}
		if plan.Empty() {
			return
		}
		if !bytes.HasPrefix(out, data) {
			t.Fatal("the input is no prefix of the output")
		}
		if n, err := again.Undo(); err != nil || n != len(data) {
			t.Fatalf("Undo: %d, %v; the input had %d", n, err, len(data))
		}
		if diff := formattest.SameBlocks(plan.Result(tr), again.Transcript()); diff != "" {
			t.Fatal(diff)
		}
	})
}
