package openaichat

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/internal/formattest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func decode(data []byte) (format.Document, error) {
	d, err := Decode(data)
	if err != nil {
		return nil, err
	}
	return d, nil
}

func TestGolden(t *testing.T) { formattest.Golden(t, "testdata", decode, *update) }

// bodies returns the request bodies that a file holds: the file itself, or the request in a record and the
// bare messages in it.
func bodies(t testing.TB, in formattest.Input) []formattest.Input {
	d, err := Decode(in.Data)
	if err != nil {
		t.Fatalf("%s: %v", in.Name, err)
	}
	if !d.in.Log {
		return []formattest.Input{in}
	}
	out := []formattest.Input{{Name: in.Name + " messages", Data: bytes.Clone(d.in.Messages.Of(in.Data))}}
	body := bytes.Clone(d.in.Body.Of(in.Data))
	if d, err := Decode(body); err == nil && !d.in.Log {
		out = append(out, formattest.Input{Name: in.Name + " body", Data: body})
	}
	return out
}

func corpus(t testing.TB) []formattest.Input {
	return formattest.Corpus(t, "corpus/openai-chat/*", "clients/recorded/*openai-completions/*.json", "clients/recorded/*openai-compatible/*.json", "clients/recorded/continue-openai/*.json")
}

func TestCorpus(t *testing.T) {
	for _, in := range corpus(t) {
		if !Detect(in.Data) {
			t.Errorf("%s: not detected", in.Name)
			continue
		}
		d, err := Decode(in.Data)
		if err != nil {
			t.Errorf("%s: %v", in.Name, err)
			continue
		}
		plan := pemmican.NewPlan(d.Transcript())
		if out, err := d.Apply(plan); err != nil || !bytes.Equal(out, in.Data) {
			t.Errorf("%s: the plan that changes nothing changes the file (%v)", in.Name, err)
		}
		plan.Marks[0].Action = pemmican.Drop
		if _, err := d.Apply(plan); errors.Is(err, format.ErrNotWritable) != d.in.Log {
			t.Errorf("%s: a record is not written back, and a body is: %v", in.Name, err)
		}
	}
}

// TestCorpusApply takes of each recorded conversation the last request, which repeats the others.
func TestCorpusApply(t *testing.T) {
	files := corpus(t)
	conversation := func(name string) string {
		if i := strings.LastIndexByte(name, '-'); i > 0 && !strings.HasPrefix(name, "openai-chat/") {
			return name[:i]
		}
		return name
	}
	for i, file := range files {
		if i+1 < len(files) && conversation(file.Name) == conversation(files[i+1].Name) {
			continue
		}
		for _, in := range bodies(t, file) {
			t.Run(in.Name, func(t *testing.T) {
				t.Parallel()
				formattest.Applies(t, in.Data, decode, func(t rapid.TB, doc, again format.Document, plan *pemmican.Plan, out []byte) {
					keptBytes(t, doc, again, plan, out)
					if was, is := doc.(*Doc).neighbours(), again.(*Doc).neighbours(); is > was {
						t.Fatalf("%d neighbours of the same role, and there were %d\n%.6000s", is, was, out)
					}
				}, nil)
			})
		}
	}
}

// TestGoldenApply runs the properties on the inputs of the golden files, which have every surprise.
func TestGoldenApply(t *testing.T) {
	for _, in := range goldenInputs(t) {
		t.Run(in.Name, func(t *testing.T) {
			d, err := Decode(in.Data)
			if err != nil {
				return
			}
			if d.in.Log {
				if out, err := d.Apply(pemmican.NewPlan(d.Transcript())); err != nil || !bytes.Equal(out, in.Data) {
					t.Errorf("the plan that changes nothing changes the record: %v", err)
				}
				return
			}
			formattest.Applies(t, in.Data, decode, keptBytes, nil)
		})
	}
}

func goldenInputs(t testing.TB) []formattest.Input {
	files, _ := filepath.Glob("testdata/*.txtar")
	var inputs []formattest.Input
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range ar.Files {
			if f.Name == "input" {
				inputs = append(inputs, formattest.Input{Name: filepath.Base(file), Data: bytes.TrimSuffix(f.Data, []byte("\n"))})
			}
		}
	}
	return inputs
}

// keptBytes checks that the bytes of each kept block are in the output. Their order is that of the blocks, which Applies
// compares.
func keptBytes(t rapid.TB, doc, _ format.Document, plan *pemmican.Plan, out []byte) {
	d := doc.(*Doc)
	for i := range d.places {
		if plan.Marks[i].Action != pemmican.Keep || !d.whole(i, plan) {
			continue
		}
		if raw := d.places[i].span.Of(d.data); !bytes.Contains(out, raw) {
			t.Fatalf("block %d is not in the output as it was: %.300s\n%.6000s", i, raw, out)
		}
	}
}

// whole reports whether block i stands by itself in the bytes, and nothing inside it is changed by a plan.
func (d *Doc) whole(i int, plan *pemmican.Plan) bool {
	switch d.places[i].spot {
	case inNothing:
		return false
	case inResult:
		for k := i + 1; k < len(d.places) && d.places[k].message == d.places[i].message; k++ {
			if plan.Marks[k].Action != pemmican.Keep {
				return false
			}
		}
	}
	return true
}

func request(size int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"model":"gpt-x","messages":[{"role":"system","content":"You are an agent."},{"role":"user","content":"Fix it."}`)
	source := strings.Repeat("\tif err := s.check(r); err != nil {\n\t\treturn fmt.Errorf(\"check %q: %w\", r.URL.Path, err)\n\t}\n", 60)
	quoted, err := json.Marshal(source)
	if err != nil {
		panic(err)
	}
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"read","arguments":"{\"path\":\"a.go\",\"offset\":%d}"}}]}`, i, i)
		fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"call_%d","content":%s}`, i, quoted)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

const benchSize = 5 << 20

// BenchmarkValid is what the others are compared with.
func BenchmarkValid(b *testing.B) {
	data := request(benchSize)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if !json.Valid(data) {
			b.Fatal("invalid")
		}
	}
}

func BenchmarkDetect(b *testing.B) {
	data := request(benchSize)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if !Detect(data) {
			b.Fatal("not detected")
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	data := request(benchSize)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkApply(b *testing.B) {
	data := request(benchSize)
	d, err := Decode(data)
	if err != nil {
		b.Fatal(err)
	}
	plan := pemmican.NewPlan(d.Transcript())
	for i := 2; i < len(plan.Marks)/2; i++ {
		plan.Marks[i].Action = pemmican.Drop
	}
	for i := len(plan.Marks) / 2; i < len(plan.Marks); i++ {
		if d.t.Blocks[i].Kind == pemmican.ToolResult {
			plan.Marks[i] = pemmican.Mark{Action: pemmican.Stub, Text: "[left out]"}
		}
	}
	plan.Gap, plan.Summary = 2, pemmican.Seal("what was done")
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := d.Apply(plan); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	data := request(benchSize)
	d, err := Decode(data)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if f := d.Check(); len(f) > 0 {
			b.Fatal(f)
		}
	}
}

// FuzzDecode wants no panic on any input, and from what can be decoded an output that is the plan's result.
func FuzzDecode(f *testing.F) {
	for _, in := range goldenInputs(f) {
		f.Add(in.Data, uint64(0b1011))
	}
	f.Add(request(2000), uint64(7))
	f.Fuzz(func(t *testing.T, data []byte, bits uint64) {
		Detect(data)
		d, err := Decode(data)
		if err != nil {
			return
		}
		d.Check()
		if d.in.Log {
			return
		}
		tr := d.Transcript()
		// Any plan at all, whole units or not, must give JSON or an error.
		plan := pemmican.NewPlan(tr)
		for i := range plan.Marks {
			switch bits >> (2 * (i % 28)) & 3 {
			case 1:
				plan.Marks[i].Action = pemmican.Drop
			case 2:
				plan.Marks[i] = pemmican.Mark{Action: pemmican.Stub, Text: `{"left":"out"}`}
				if k := tr.Blocks[i].Kind; k == pemmican.Reasoning || k == pemmican.Opaque {
					plan.Marks[i].Action = pemmican.Keep
				}
			}
		}
		if bits>>57&1 == 1 {
			plan.Gap, plan.Summary = int(bits>>58)%(len(plan.Marks)+1), pemmican.Seal("summary")
		}
		out, err := d.Apply(plan)
		if err != nil {
			return
		}
		if _, err := Decode(out); err != nil {
			t.Fatalf("%v\n%s\n%s", err, data, out)
		}
		mends(t, d)
	})
}

// mends applies all fixes together, and wants nothing left that can be fixed.
func mends(t rapid.TB, d *Doc) {
	tr := d.Transcript()
	fixed := pemmican.NewPlan(tr)
	formattest.Fix(fixed, d.Check())
	out, err := d.Apply(fixed)
	if err != nil {
		t.Fatalf("the fixes cannot be applied: %v\n%s", err, d.data)
	}
	again, err := Decode(out)
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, d.data, out)
	}
	if diff := formattest.SameBlocks(fixed.Result(tr), again.Transcript()); diff != "" {
		t.Fatalf("%s\n%s\n%s", diff, d.data, out)
	}
	for _, f := range again.Check() {
		if f.Fixable {
			t.Fatalf("all fixes leave %s at %s: %s\n%s\n%s", f.Rule, f.Where, f.Message, d.data, out)
		}
	}
}

// broken are messages of which most are refused, by themselves or beside others.
var broken = []string{
	`{"role":"user","content":"go"}`,
	`{"role":"user","content":""}`,
	`{"role":"user","content":"t","tool_calls":[{"id":"a","function":{"name":"n","arguments":"{}"}}]}`,
	`{"role":"user","tool_calls":[{"id":"a"},7]}`,
	`{"role":"system","content":null,"tool_calls":[{"id":"a"}]}`,
	`{"role":"assistant","content":"so"}`,
	`{"role":"assistant","content":"","reasoning_content":"h"}`,
	`{"role":"assistant","reasoning_content":"h","tool_calls":[]}`,
	`{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"n","arguments":{"x":1}}}]}`,
	`{"role":"assistant","content":"t","reasoning":"h","tool_calls":[{"id":"a","function":{"name":"n","arguments":"{}"}},{"id":"b","function":{"name":"n","arguments":"[]"}}]}`,
	`{"role":"assistant","content":[{"type":"image_url","image_url":{"url":"u"}}],"tool_calls":[{"id":"b","function":{"name":"n"}}]}`,
	`{"role":"assistant","function_call":{"name":"f","arguments":"{}"}}`,
	`{"role":"function","name":"f","content":null}`,
	`{"role":"tool","tool_call_id":"a","content":"r"}`,
	`{"role":"tool","tool_call_id":"a","content":null,"tool_calls":[{"id":"b"}]}`,
	`{"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"\ud83d"},{"type":"image_url","image_url":{"url":"u"}}]}`,
	`{"role":"tool","tool_call_id":"b","content":[],"tool_calls":[{"id":"a"},{"id":"b"}]}`,
	`{"role":"tool","content":[{"type":"image_url"}],"tool_calls":[{"id":"a"}]}`,
	`{"role":"critic","content":"r","tool_call_id":"a"}`,
}

// TestFixes mends conversations in which anything may stand beside anything.
func TestFixes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := rapid.SliceOfN(rapid.SampledFrom(broken), 1, 8).Draw(t, "messages")
		d, err := Decode([]byte("[" + strings.Join(messages, ",") + "]"))
		if err != nil {
			t.Fatal(err)
		}
		mends(t, d)
	})
}

func TestMutated(t *testing.T) {
	inputs := goldenInputs(t)
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SampledFrom(inputs).Draw(t, "input")
		data := formattest.Mutate(t, in.Data)
		Detect(data)
		d, err := Decode(data)
		if err != nil || d.in.Log {
			return
		}
		plan := formattest.RandomPlan(t, d.Transcript())
		out, err := d.Apply(plan)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if diff := formattest.SameBlocks(plan.Result(d.Transcript()), again.Transcript()); diff != "" {
			t.Fatalf("%s\n%s\n%s", diff, data, out)
		}
	})
}

// neighbours counts the neighbours of the same role, user or assistant.
func (d *Doc) neighbours() int {
	n := 0
	for i := 1; i < len(d.messages); i++ {
		if r := d.messages[i].role; r == d.messages[i-1].role && (r == "user" || r == "assistant") {
			n++
		}
	}
	return n
}

func TestApplyRefuses(t *testing.T) {
	for _, test := range []struct {
		name, body string
		mark       pemmican.Mark // of the last block
		want       string
	}{
		{"opaque", `[{"role":"assistant","content":[{"type":"later"}]}]`, pemmican.Mark{Action: pemmican.Stub}, "only be kept or dropped"},
		{"reasoning", `[{"role":"assistant","reasoning_content":"x"}]`, pemmican.Mark{Action: pemmican.Stub}, "messages[0]"},
		{"arguments", `[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"a","arguments":"{}"}}]}]`, pemmican.Mark{Action: pemmican.Stub, Text: "[1]"}, "no JSON object"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, err := Decode([]byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			plan := pemmican.NewPlan(d.Transcript())
			plan.Marks[len(plan.Marks)-1] = test.mark
			if _, err := d.Apply(plan); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want one about %q", err, test.want)
			}
			for _, plan := range []*pemmican.Plan{nil, {}, {Marks: plan.Marks, Gap: -1}, {Marks: plan.Marks, Gap: len(plan.Marks) + 1}} {
				if _, err := d.Apply(plan); err == nil {
					t.Error("a plan for another transcript is applied")
				}
			}
		})
	}
}
