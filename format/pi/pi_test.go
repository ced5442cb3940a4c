package pi

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/internal/formattest"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

var update = flag.Bool("update", false, "write the golden parts of testdata")

// archive is a text fixture: what it shows, then files.
type archive struct {
	txtar.Archive

	path string
}

func archives(t testing.TB, folder string) []*archive {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures in %s: %v", folder, err)
	}
	var out []*archive
	for _, p := range paths {
		a, err := txtar.ParseFile(p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, &archive{*a, p})
	}
	return out
}

func (a *archive) name() string { return strings.TrimSuffix(filepath.Base(a.path), ".txtar") }

func (a *archive) file(name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// golden compares a part of the archive, or writes it under -update.
func (a *archive) golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		for i := range a.Files {
			if a.Files[i].Name == name {
				a.Files = append(a.Files[:i], a.Files[i+1:]...)
				break
			}
		}
		if got != "" {
			a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(got)})
		}
		if err := os.WriteFile(a.path, txtar.Format(&a.Archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(a.file(name)), got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", name, diff)
	}
}

// corpus returns the real sessions that lie beside the repository.
func corpus(t testing.TB) map[string][]byte {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "corpus", "pi", "*.jsonl"))
	if len(paths) == 0 {
		t.Skip("the corpus of real sessions is not beside the repository")
	}
	out := map[string][]byte{}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(p), ".jsonl")] = b
	}
	return out
}

func mustDecode(t testing.TB, data []byte) *Doc {
	t.Helper()
	if !Detect(data) {
		t.Fatal("Detect does not know the file")
	}
	d, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// dump writes a transcript for people.
func dump(tr *pemmican.Transcript) string {
	var b strings.Builder
	fmt.Fprintf(&b, "can %+v\n", tr.Can)
	if tr.Model != "" {
		fmt.Fprintf(&b, "model %s\n", tr.Model)
	}
	if tr.Tools != "" {
		fmt.Fprintf(&b, "tools %s\n", tr.Tools)
	}
	for _, m := range tr.Messages {
		b.WriteString(m.Role.String())
		if m.Author == pemmican.ByRuntime {
			b.WriteString(" by the runtime")
		}
		if m.Usage > 0 {
			fmt.Fprintf(&b, " usage %d", m.Usage)
		}
		b.WriteByte('\n')
		for i := m.First; i < m.End; i++ {
			k := &tr.Blocks[i]
			fmt.Fprintf(&b, "  %d %s %q", i, k.Kind, k.Text)
			if k.CallID != "" {
				fmt.Fprintf(&b, " call=%s", k.CallID)
			}
			if k.Tool != "" {
				fmt.Fprintf(&b, " tool=%s", k.Tool)
			}
			if k.Args != "" {
				fmt.Fprintf(&b, " args=%s", k.Args)
			}
			if k.Error {
				b.WriteString(" error")
			}
			if k.Bound {
				b.WriteString(" bound")
			}
			if k.Media != (pemmican.MediaInfo{}) {
				fmt.Fprintf(&b, " media=%+v", k.Media)
			}
			if k.Bytes > 0 {
				fmt.Fprintf(&b, " bytes=%d", k.Bytes)
			}
			b.WriteByte('\n')
		}
	}
	for _, w := range tr.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}

func dumpFindings(findings []format.Finding) string {
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&b, "%s: %s: %s", f.Where, f.Rule, f.Message)
		for i := range 1000 {
			if m, ok := f.Fix[i]; ok {
				fmt.Fprintf(&b, " [%s %d %s]", m.Action, i, m.Text)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// tester is what testing.T and rapid.T have in common.
type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// checkTranscript tests what holds for every decoded file.
func checkTranscript(t tester, d *Doc) {
	t.Helper()
	tr := d.Transcript()
	block := 0
	for m, msg := range tr.Messages {
		if msg.First != block || msg.End <= msg.First {
			t.Fatalf("message %d has the blocks %d to %d, after %d", m, msg.First, msg.End, block)
		}
		for ; block < msg.End; block++ {
			if tr.Blocks[block].Message != m {
				t.Fatalf("block %d is in message %d, and says %d", block, m, tr.Blocks[block].Message)
			}
		}
	}
	if block != len(tr.Blocks) || !tr.AtRest || tr.HasSystem != (len(tr.Messages) > 0 && tr.Messages[0].Role == pemmican.System) {
		t.Fatalf("%d of %d blocks are in messages; at rest %t; system %t", block, len(tr.Blocks), tr.AtRest, tr.HasSystem)
	}
}

func TestDecode(t *testing.T) {
	for _, a := range archives(t, "decode") {
		t.Run(a.name(), func(t *testing.T) {
			d := mustDecode(t, a.file("session.jsonl"))
			checkTranscript(t, d)
			a.golden(t, "transcript", dump(d.Transcript()))
			a.golden(t, "check", dumpFindings(d.Check()))
		})
	}
}

func TestInfo(t *testing.T) {
	for _, a := range archives(t, "decode") {
		if a.name() != "o23-metadata" {
			continue
		}
		want := format.Info{ID: "6f1b2c3d-0000-7000-8000-000000000001", Dir: "/home/ann/proj", Name: "A better name"}
		d := mustDecode(t, a.file("session.jsonl"))
		if got := d.Info(); got != want || d.Format() != "pi" {
			t.Errorf("%s %+v, want %+v", d.Format(), got, want)
		}
		return
	}
	t.Fatal("the fixture is missing")
}

const (
	header = `{"type":"session","version":3,"id":"s","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/w"}` + "\n"
	userA  = `{"type":"message","id":"0000000a","parentId":null,"timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"task"}}` + "\n"
	replyB = `{"type":"message","id":"0000000b","parentId":"0000000a","timestamp":"2026-03-01T10:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"done"}],"stopReason":"stop","durationMs":1}}` + "\n"
)

func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"empty", "", "this is no session file of pi: it has no line that is JSON; give a file from ~/.pi/agent/sessions"},
		{"byte order mark", "\uFEFF" + header, "this is no session file of pi: it has no line that is JSON; give a file from ~/.pi/agent/sessions"},
		{"no header", userA + header, "line 1: this is no session header of pi; the first line must be an object of type session"},
		{"no object", "\n3\n" + header, "line 2: this is no session header of pi; the first line must be an object of type session"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Decode([]byte(c.data))
			if err == nil || err.Error() != c.want || !errors.Is(err, format.ErrUnknownFormat) {
				t.Errorf("error %v, want %s", err, c.want)
			}
			if Detect([]byte(c.data)) {
				t.Error("Detect takes it for a session")
			}
		})
	}
}

// Lines and their ends, as pi reads them.
func TestDecodeLines(t *testing.T) {
	half := replyB[:60]
	for _, c := range []struct {
		name, data string
		blocks     int
		warning    string
	}{
		{"plain", header + userA + replyB, 2, ""},
		{"no line feed at the end", strings.TrimSuffix(header+userA+replyB, "\n"), 2, ""},
		{"carriage returns and blank lines", strings.ReplaceAll(header+"\n  \n"+userA+replyB, "\n", "\r\n"), 2, ""},
		{"half a last line", header + userA + half, 1, "line 3: pi passes over the line: it is cut off"},
		{"half a line before", header + userA + half + "\n" + replyB, 2, "line 3: pi passes over the line: it is no JSON"},
		{"garbage before the header", "log\n" + header + userA, 1, "line 1: pi passes over the line: it is no JSON"},
		{"two values on a line", header + strings.TrimSuffix(userA, "\n") + replyB, 0, "line 2: pi passes over the line: it has more than one value"},
		{"nested too deeply", header + userA + strings.Repeat("[", 20000) + strings.Repeat("]", 20000), 1, "line 3: pi passes over the line: it is nested too deeply"},
		{"only a header", header, 0, ""},
		{"escaped member names", header + strings.ReplaceAll(userA, `"role"`, `"r\u006fle"`), 1, ""},
		{"the last of two members counts", header + strings.Replace(userA, `"role":"user"`, `"role":"assistant","role":"user"`, 1), 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := mustDecode(t, []byte(c.data))
			checkTranscript(t, d)
			if n := len(d.Transcript().Blocks); n != c.blocks {
				t.Errorf("%d blocks, want %d", n, c.blocks)
			}
			if got := strings.Join(d.Transcript().Warnings, "\n"); got != c.warning {
				t.Errorf("warnings %q, want %q", got, c.warning)
			}
		})
	}
}

// A line cut off at the end is closed by a line feed before ours, so that pi passes over it and nothing else.
func TestApplyAfterHalfLine(t *testing.T) {
	for _, end := range []string{"", "\n", `{"type":"mess`} {
		data := []byte(strings.TrimSuffix(header+userA+replyB, "\n"))
		if end != "" {
			data = append(data, "\n"+strings.TrimPrefix(end, "\n")...)
		}
		d := mustDecode(t, data)
		plan := pemmican.NewPlan(d.Transcript())
		plan.Marks[0] = pemmican.Mark{Action: pemmican.Drop}
		plan.Summary = pemmican.Seal("the task")
		roundTrip(t, d, plan)
	}
}

func TestDecodeModern(t *testing.T) {
	data := []byte(header + userA + strings.Replace(replyB, `,"durationMs":1`, "", 1))
	if can := mustDecode(t, data).Transcript().Can; !can.NoStub || !can.SummaryNeeded {
		t.Errorf("nothing tells of a new pi, and yet it can %+v", can)
	}
	d, err := DecodeModern(data)
	if err != nil {
		t.Fatal(err)
	}
	if can := d.Transcript().Can; can != (pemmican.Capabilities{SummaryFirst: true}) {
		t.Errorf("capabilities %+v", can)
	}
}

// roundTrip applies a plan and tests everything that must hold then. It returns the new file.
func roundTrip(t tester, d *Doc, plan *pemmican.Plan) []byte {
	t.Helper()
	before := bytes.Clone(d.data)
	out, err := d.Apply(plan)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, d.data) {
		t.Fatal("Apply changed its input")
	}
	if !bytes.HasPrefix(out, before) {
		t.Fatal("the input is no prefix of the output")
	}
	if plan.Empty() {
		if len(out) != len(before) {
			t.Fatalf("an empty plan appended %q", out[len(before):])
		}
		return out
	}
	if out[len(out)-1] != '\n' {
		t.Fatal("the last line has no end")
	}
	if twice, err := d.Apply(plan); err != nil || !bytes.Equal(out, twice) {
		t.Fatalf("the second Apply differs: %v", err)
	}
	again, err := Decode(out)
	if err != nil {
		t.Fatal(err)
	}
	checkTranscript(t, again)
	if diff := formattest.SameBlocks(plan.Result(d.Transcript()), again.Transcript()); diff != "" {
		t.Fatalf("%s\nappended\n%s", diff, out[len(before):])
	}
	// The second result of a call that goes with its first is a result without a call.
	rule := func(f format.Finding) string {
		if f.Rule == format.RuleDuplicateResult {
			return format.RuleResultWithoutCall
		}
		return f.Rule
	}
	count := map[string]int{}
	for _, f := range d.Check() {
		count[rule(f)]++
	}
	for _, f := range again.Check() {
		if count[rule(f)]--; count[rule(f)] < 0 {
			t.Fatalf("new finding: %s %s: %s\nappended\n%s", f.Where, f.Rule, f.Message, out[len(before):])
		}
	}
	if n, err := again.Undo(); err != nil || n != len(before) {
		t.Fatalf("Undo %d %v, want %d", n, err, len(before))
	}
	for _, altered := range [][]byte{
		append(bytes.Clone(out), `{"type":"label","id":"ffffffff","parentId":null}`...),
		append([]byte(" "), out...),
	} {
		if a, err := Decode(altered); err == nil {
			if n, err := a.Undo(); !errors.Is(err, format.ErrNothingToUndo) {
				t.Fatalf("Undo of an altered file: %d %v", n, err)
			}
		}
	}
	return out
}

// drawPlan draws a plan without what pi takes no new text for.
func drawPlan(t *rapid.T, d *Doc) *pemmican.Plan {
	plan := formattest.RandomPlan(t, d.Transcript())
	for i := range plan.Marks {
		m := d.Transcript().Blocks[i].Message
		if plan.Marks[i].Action == pemmican.Stub && !d.editable(m) {
			plan.Marks[i] = pemmican.Mark{}
		}
	}
	return plan
}

func TestRandomPlans(t *testing.T) {
	inputs := map[string][]byte{}
	for _, folder := range []string{"decode", "apply"} {
		for _, a := range archives(t, folder) {
			inputs[folder+"/"+a.name()] = a.file("session.jsonl")
		}
	}
	for name, data := range inputs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := mustDecode(t, data)
			rapid.Check(t, func(t *rapid.T) {
				out := roundTrip(t, d, drawPlan(t, d))
				// And once more on top of it, with both marks to undo.
				again, err := Decode(out)
				if err != nil {
					t.Fatal(err)
				}
				roundTrip(t, again, drawPlan(t, again))
			})
		})
	}
}

func TestRandomPlansOfCorpus(t *testing.T) {
	for name, data := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			d := mustDecode(t, data)
			checkTranscript(t, d)
			if len(d.Transcript().Blocks) == 0 {
				t.Fatal("no blocks")
			}
			docs := []*Doc{d}
			if d.version > 1 {
				modern, err := DecodeModern(data)
				if err != nil {
					t.Fatal(err)
				}
				docs = append(docs, modern)
			}
			rounds := 20
			rapid.Check(t, func(rt *rapid.T) {
				if rounds--; rounds < 0 {
					return
				}
				roundTrip(rt, d, drawPlan(rt, d))
			})
			// The edits of a forced plan are read back by who forces them.
			for _, d := range docs[1:] {
				rapid.Check(t, func(rt *rapid.T) {
					plan := drawPlan(rt, d)
					out, err := d.Apply(plan)
					if err != nil {
						rt.Fatal(err)
					}
					again, err := DecodeModern(out)
					if err != nil {
						rt.Fatal(err)
					}
					if diff := formattest.SameBlocks(plan.Result(d.Transcript()), again.Transcript()); diff != "" {
						rt.Fatal(diff)
					}
				})
			}
		})
	}
}

func TestCorpus(t *testing.T) {
	data := corpus(t)["pi-mono-before-compaction"]
	if data == nil {
		t.Skip("the file is not in the corpus")
	}
	d := mustDecode(t, data)
	tr := d.Transcript()
	if d.version != 1 || tr.Messages[0].Author != pemmican.ByRuntime || tr.Blocks[0].Kind != pemmican.Summary ||
		!strings.HasPrefix(tr.Blocks[0].Text, "# Context Checkpoint: Coding Agent Refactoring") {
		t.Errorf("version %d begins with %s", d.version, dump(&pemmican.Transcript{Messages: tr.Messages[:1], Blocks: tr.Blocks[:1]}))
	}
	calls, results, open := 0, 0, 0
	for i, p := range tr.Partners() {
		switch tr.Blocks[i].Kind {
		case pemmican.ToolCall:
			calls++
			if p < 0 {
				open++
			}
		case pemmican.ToolResult:
			results++
			if p < 0 {
				t.Errorf("block %d is a result without a call", i)
			}
		}
	}
	// The calls of answers that were aborted are not sent. One call is open in the middle: its run was stopped by the
	// person's own compaction.
	if calls != 193 || results != 192 || open != 1 {
		t.Errorf("%d calls, %d results, %d open", calls, results, open)
	}
	if f := d.Check(); len(f) > 0 {
		t.Errorf("findings %s", dumpFindings(f)) // pi answers the open call itself
	}
	if tr.Messages[len(tr.Messages)-1].Role == pemmican.Assistant && d.tokens() < 10000 {
		t.Errorf("the context takes %d tokens", d.tokens())
	}
}

// readPlan reads the plan of a fixture: lines "drop N…", "stub N text", "gap N", "summary text".
func readPlan(t *testing.T, tr *pemmican.Transcript, text string) *pemmican.Plan {
	t.Helper()
	plan := pemmican.NewPlan(tr)
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > len(plan.Marks) {
			t.Fatalf("bad plan: %q", s)
		}
		return n
	}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "drop":
			for f := range strings.FieldsSeq(rest) {
				plan.Marks[number(f)] = pemmican.Mark{Action: pemmican.Drop}
			}
		case "stub":
			n, text, _ := strings.Cut(rest, " ")
			plan.Marks[number(n)] = pemmican.Mark{Action: pemmican.Stub, Text: text}
		case "gap":
			plan.Gap = number(rest)
		case "summary":
			plan.Summary = pemmican.Seal(rest)
		case "plain-summary":
			plan.Summary = rest
		default:
			t.Fatalf("bad plan: %q", line)
		}
	}
	return plan
}

// Each fixture has a session, a plan, and either the lines that are appended or the error.
func TestApply(t *testing.T) {
	for _, a := range archives(t, "apply") {
		t.Run(a.name(), func(t *testing.T) {
			d := mustDecode(t, a.file("session.jsonl"))
			plan := readPlan(t, d.Transcript(), string(a.file("plan")))
			if _, err := d.Apply(plan); err != nil {
				a.golden(t, "error", fmt.Sprintf("%v\nnot writable: %t\n", err, errors.Is(err, format.ErrNotWritable)))
				return
			}
			if a.file("error") != nil {
				t.Fatal("no error")
			}
			out := roundTrip(t, d, plan)
			a.golden(t, "appended", string(out[len(d.data):]))
			a.golden(t, "transcript", dump(mustDecode(t, out).Transcript()))
		})
	}
}

// Row P5: the lines that were there stay byte for byte, also with spelling that no encoder would choose.
func TestP5AppendOnly(t *testing.T) {
	odd := strings.Replace(userA, `"message":{`, `"n" : 1.50e+03 , "n":-0, "\u0061":"\u00e9\/", "message": {`, 1)
	d := mustDecode(t, []byte(header+odd+replyB))
	plan := pemmican.NewPlan(d.Transcript())
	plan.Marks[1] = pemmican.Mark{Action: pemmican.Stub, Text: "short"}
	out := roundTrip(t, d, plan)
	if want := 2; bytes.Count(out[len(d.data):], []byte("\n")) != want {
		t.Errorf("appended %q, want %d lines: the mark and the edit", out[len(d.data):], want)
	}
}

// Rows P2 and P3: the lists of files, with those of the compaction before.
func TestP3CumulativeFiles(t *testing.T) {
	call := func(id, tool, path string) string {
		return fmt.Sprintf(`{"type":"toolCall","id":%q,"name":%q,"arguments":{"path":%q}}`, id, tool, path)
	}
	for _, c := range []struct {
		name, hook     string
		calls          []string
		read, modified string
	}{
		{"P2", "true", []string{call("1", "read", "a"), call("2", "read", "b"), call("3", "read", "c"), call("4", "write", "c"), call("5", "edit", "d")},
			`["a","b"]`, `["c","d"]`},
		{"P2 both empty", "true", []string{call("1", "bash", "a"), `{"type":"toolCall","id":"2","name":"read","arguments":"a"}`, `{"type":"toolCall","id":"3","name":"read","arguments":{"path":3}}`},
			`[]`, `[]`},
		{"P3 fromHook false", "false", []string{call("1", "read", "x.ts"), call("2", "write", "w.ts")}, `["old-r.ts","x.ts"]`, `["old-m.ts","w.ts"]`},
		{"P3 fromHook true", "true", []string{call("1", "read", "x.ts"), call("2", "write", "w.ts")}, `["x.ts"]`, `["w.ts"]`},
		{"P3 arguments as a string", "false", []string{`{"type":"toolCall","id":"1","name":"edit","arguments":"{\"path\":\"old-r.ts\"}"}`}, `[]`, `["old-m.ts","old-r.ts"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			b.WriteString(header + userA)
			b.WriteString(`{"type":"compaction","id":"0000000c","parentId":"0000000a","timestamp":"x","summary":"OLD","firstKeptEntryId":"0000000a","tokensBefore":1,` +
				`"details":{"readFiles":["old-r.ts"],"modifiedFiles":["old-m.ts"]},"fromHook":` + c.hook + "}\n")
			b.WriteString(`{"type":"message","id":"0000000d","parentId":"0000000c","message":{"role":"assistant","content":[` + strings.Join(c.calls, ",") + `],"stopReason":"toolUse","durationMs":1}}` + "\n")
			parent := "0000000d"
			for i := range c.calls {
				id := fmt.Sprintf("000000%d0", i+1)
				fmt.Fprintf(&b, `{"type":"message","id":%q,"parentId":%q,"message":{"role":"toolResult","toolCallId":"%d","toolName":"t","content":[]}}`+"\n", id, parent, i+1)
				parent = id
			}
			fmt.Fprintf(&b, `{"type":"message","id":"000000ff","parentId":%q,"message":{"role":"user","content":"next"}}`+"\n", parent)
			d := mustDecode(t, []byte(b.String()))
			plan := pemmican.NewPlan(d.Transcript())
			for i := range len(plan.Marks) - 1 {
				plan.Marks[i].Action = pemmican.Drop
			}
			plan.Summary = pemmican.Seal("new")
			out := roundTrip(t, d, plan)
			again := mustDecode(t, out)
			newest := again.entries[again.path[again.compaction]].span
			for key, want := range map[string]string{"readFiles": c.read, "modifiedFiles": c.modified} {
				v, _ := jsonspan.Lookup(out, newest, "details", key)
				if got := string(v.Of(out)); got != want {
					t.Errorf("%s %s, want %s", key, got, want)
				}
			}
			// What we write counts for pi as its own, so the lists go on.
			if v, _ := jsonspan.Get(out, newest, "fromHook"); string(v.Of(out)) != "false" {
				t.Errorf("fromHook %s", v.Of(out))
			}
		})
	}
}

// Row P6: what a file of version 1 says survives the ids that pi gives it when it opens it.
func TestP6MigratedFileKeepsBoundary(t *testing.T) {
	v1 := `{"type":"session","id":"s","timestamp":"x","cwd":"/w"}
{"type":"message","timestamp":"x","message":{"role":"user","content":"one"}}
{"type":"message","timestamp":"x","message":{"role":"assistant","content":[{"type":"text","text":"a"}]}}
{"type":"message","timestamp":"x","message":{"role":"user","content":"two"}}
`
	d := mustDecode(t, []byte(v1))
	plan := pemmican.NewPlan(d.Transcript())
	plan.Marks[0].Action, plan.Marks[1].Action = pemmican.Drop, pemmican.Drop
	plan.Summary = pemmican.Seal("first")
	out := roundTrip(t, d, plan)
	// As pi does it: ids and parents behind the other members, the index made an id.
	migrated := strings.Replace(string(out), `"cwd":"/w"}`, `"cwd":"/w","version":3}`, 1)
	lines := strings.Split(strings.TrimSuffix(migrated, "\n"), "\n")
	parent := "null"
	for i := 1; i < len(lines); i++ {
		lines[i] = strings.TrimSuffix(lines[i], "}") + fmt.Sprintf(`,"id":"%08x","parentId":%s}`, i, parent)
		parent = fmt.Sprintf(`"%08x"`, i)
	}
	last := strings.Replace(lines[4], `"firstKeptEntryIndex":3`, `"firstKeptEntryId":"00000003"`, 1)
	if last == lines[4] {
		t.Fatalf("the index is not that of the line: %s", lines[4])
	}
	lines[4] = last
	again := mustDecode(t, []byte(strings.Join(lines, "\n")+"\n"))
	if diff := formattest.SameBlocks(plan.Result(d.Transcript()), again.Transcript()); diff != "" {
		t.Error(diff)
	}
	if _, err := again.Undo(); !errors.Is(err, format.ErrNothingToUndo) {
		t.Errorf("Undo of a rewritten file: %v", err)
	}
}

// Row P7: a file that ends with a compaction is left as it is by the plan that changes nothing.
func TestP7AlreadyCompacted(t *testing.T) {
	for _, a := range archives(t, "decode") {
		if a.name() == "p7-already-compacted" {
			d := mustDecode(t, a.file("session.jsonl"))
			roundTrip(t, d, pemmican.NewPlan(d.Transcript()))
			if d.compaction != len(d.path)-1 || d.Transcript().Blocks[0].Kind != pemmican.Summary {
				t.Error("the compaction is not the last entry, or its summary is not the first block")
			}
			return
		}
	}
	t.Fatal("the fixture is missing")
}

// Row ORPH-01: the marks that Check offers leave no id unpaired, and nothing else of their kind to report.
func TestFixes(t *testing.T) {
	for _, a := range archives(t, "decode") {
		t.Run(a.name(), func(t *testing.T) {
			d := mustDecode(t, a.file("session.jsonl"))
			plan := pemmican.NewPlan(d.Transcript())
			fixable := map[string]bool{}
			for _, f := range d.Check() {
				if f.Fixable != (len(f.Fix) > 0) {
					t.Errorf("%s: fixable %t with %d marks", f.Rule, f.Fixable, len(f.Fix))
				}
				for i, m := range f.Fix {
					fixable[f.Rule] = true
					if plan.Marks[i].Action != pemmican.Drop {
						plan.Marks[i] = m
					}
				}
			}
			if len(fixable) == 0 {
				return
			}
			again := mustDecode(t, roundTrip(t, d, plan))
			for _, f := range again.Check() {
				if f.Fixable {
					t.Errorf("still %s %s: %s", f.Where, f.Rule, f.Message)
				}
			}
		})
	}
}

func TestUndoForeignLines(t *testing.T) {
	for _, line := range []string{
		`{"type":"custom","id":"00000001","parentId":"0000000b","customType":"pemmican","data":{"v":1,"before":5,"sha256":"00"}}`,
		`{"type":"custom","id":"00000001","parentId":"0000000b","customType":"pemmican"}`,
		`{"type":"custom","id":"00000001","parentId":"0000000b","customType":"pemmican","data":{"before":99999999999,"sha256":""}}`,
		`{"type":"context_edit","id":"00000001","parentId":"0000000b","targetId":"0000000a","replacement":null}`,
		`{"type":"compaction","id":"00000001","parentId":"0000000b","summary":"x","details":{"pemmican":{"before":1}}}`,
		`{"type":"label","id":"00000001","parentId":"0000000b"}`,
	} {
		d := mustDecode(t, []byte(header+userA+replyB+line+"\n"))
		if n, err := d.Undo(); !errors.Is(err, format.ErrNothingToUndo) {
			t.Errorf("%s: %d %v", line, n, err)
		}
	}
}

func TestApplyBadPlans(t *testing.T) {
	d := mustDecode(t, []byte(header+userA+replyB))
	for _, plan := range []*pemmican.Plan{
		{},
		{Marks: make([]pemmican.Mark, 3)},
		{Marks: make([]pemmican.Mark, 2), Gap: 3, Summary: "s"},
		{Marks: make([]pemmican.Mark, 2), Gap: -1, Summary: "s"},
		{Marks: []pemmican.Mark{{Action: 9}, {}}},
	} {
		if _, err := d.Apply(plan); err == nil {
			t.Errorf("no error for %+v", plan)
		}
	}
}

func TestMendSurrogates(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"a":"\ud83d\ude00"}`, ""},
		{`{"a":"\\ud83d \u0041 \n"}`, ""},
		{`no escape`, ""},
		{`{"a":"\u`, ""},
		{`{"a":"\uD83D"}`, `{"a":"\ufffd"}`},
		{`{"a":"\ude00\ud83d"}`, `{"a":"\ufffd\ufffd"}`},
		{`{"a":"\ud83d\ud83d\ude00 \uDBFF"}`, `{"a":"\ufffd\ud83d\ude00 \ufffd"}`},
	} {
		got, found := mendSurrogates(c.text)
		if want := c.want; found != (want != "") || found && got != want {
			t.Errorf("%s: %s %t, want %s", c.text, got, found, want)
		}
	}
}

// A stubbed call has the new arguments on one line, whatever they are.
func TestStubArguments(t *testing.T) {
	for _, c := range []struct{ call, args, want string }{
		{`{"type":"toolCall","id":"k","name":"n","arguments":{"a":1} , "x":1.0}`, `{"b": 2}`, `{"type":"toolCall","id":"k","name":"n","arguments":{"b": 2} , "x":1.0}`},
		{`{"type":"toolCall","id":"k","name":"n"}`, `{}`, `{"type":"toolCall","id":"k","name":"n","arguments":{}}`},
		{`{"type":"toolCall","id":"k","name":"n","arguments":"{"}`, "{\n \"b\": 2\n}", `{"type":"toolCall","id":"k","name":"n","arguments":{"b":2}}`},
		{`{"type":"toolCall","id":"k","name":"n","arguments":{}}`, "{no\nJSON", `{"type":"toolCall","id":"k","name":"n","arguments":"{no\nJSON"}`},
	} {
		line := strings.Replace(replyB, `{"type":"text","text":"done"}`, c.call, 1)
		d := mustDecode(t, []byte(header+userA+line))
		plan := pemmican.NewPlan(d.Transcript())
		plan.Marks[1] = pemmican.Mark{Action: pemmican.Stub, Text: c.args}
		out, err := d.Apply(plan)
		if err != nil {
			t.Fatal(err)
		}
		if added := string(out[len(d.data):]); !strings.Contains(added, `"replacement":{"content":[`+c.want+`]}}`+"\n") || strings.Count(added, "\n") != 2 {
			t.Errorf("%s with %q: %s", c.call, c.args, added)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		usage string
		want  int
	}{
		{`{"input":100,"output":5,"cacheRead":3,"cacheWrite":2,"totalTokens":0}`, 110},
		{`{"input":100,"output":5,"cacheRead":3,"cacheWrite":2}`, 110},
		{`{"input":100,"totalTokens":7,"cost":{"total":1.5},"reasoning":9}`, 7},
		{`{"input":-5,"output":1e3,"totalTokens":99999999999}`, 0},
		{`null`, 0},
	} {
		line := strings.Replace(replyB, `"stopReason"`, `"usage":`+c.usage+`,"stopReason"`, 1)
		d := mustDecode(t, []byte(header+userA+line))
		if got := d.Transcript().Messages[1].Usage; got != c.want {
			t.Errorf("%s: %d, want %d", c.usage, got, c.want)
		}
	}
}

func FuzzApply(f *testing.F) {
	for _, folder := range []string{"decode", "apply"} {
		for _, a := range archives(f, folder) {
			f.Add(a.file("session.jsonl"), []byte{1, 2, 3, 4, 5}, true)
		}
	}
	f.Add([]byte(header+userA+replyB), []byte{9}, false)
	f.Fuzz(func(t *testing.T, data, choice []byte, modern bool) {
		Detect(data)
		decode := Decode
		if modern {
			decode = DecodeModern
		}
		d, err := decode(data)
		if err != nil {
			return
		}
		checkTranscript(t, d)
		d.Check()
		_, _ = d.Undo()
		_ = d.Info()
		plan := pemmican.NewPlan(d.Transcript())
		for i := range plan.Marks {
			if len(choice) == 0 {
				break
			}
			switch choice[i%len(choice)] % 4 {
			case 1:
				plan.Marks[i].Action = pemmican.Drop
			case 2:
				plan.Marks[i] = pemmican.Mark{Action: pemmican.Stub, Text: string(choice)}
			}
		}
		if len(choice) > 0 && choice[0]%2 == 0 {
			plan.Summary = pemmican.Seal(string(choice))
			plan.Gap = int(choice[len(choice)-1]) % (len(plan.Marks) + 1)
		}
		out, err := d.Apply(plan)
		if err != nil {
			return
		}
		if !bytes.HasPrefix(out, data) {
			t.Fatal("the input is no prefix of the output")
		}
		again, err := decode(out)
		if err != nil {
			t.Fatal(err)
		}
		checkTranscript(t, again)
		if plan.Empty() {
			return
		}
		if n, err := again.Undo(); err != nil || n != len(data) {
			t.Fatalf("Undo %d %v, want %d", n, err, len(data))
		}
	})
}

// The second part is the yardstick: one pass of encoding/json over the same lines.
func BenchmarkDecode(b *testing.B) {
	data := corpus(b)["pi-mono-before-compaction"]
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Decode(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("json.Valid", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			for line := range bytes.Lines(data) {
				if !json.Valid(line) {
					b.Fatal("a line is no JSON")
				}
			}
		}
	})
}
