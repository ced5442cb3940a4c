package formattest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// Wire is the suite of a wire format whose documents are of type D. The package of the format names each test, fuzz
// target and benchmark, and has the method of the same name do the work. Their inputs are the text archives in testdata,
// real requests from the folder of shared data, and what the package makes up.
type Wire[D format.Document] struct {
	// Corpus is a folder of the shared corpus; each file in it is a conversation.
	Corpus string
	// Recorded are patterns of files below the folder of recorded clients. Each file is one request, NAME-N.json, and
	// repeats the one before it.
	Recorded []string
	// Request is what is measured.
	Request Request
	// Decode and Detect are those of the format.
	Decode func(data []byte) (D, error)
	Detect func(data []byte) bool
	// IsRecord reports whether an input can be read but not written back, and Record returns the messages and the body
	// of the request in it.
	IsRecord func(doc D) bool
	Record   func(doc D) (messages, body []byte)
	// Beyond reports whether Apply cannot put the summary where the plan says. May be nil: it always can.
	Beyond func(doc D, plan *pemmican.Plan) bool
	// Bytes returns the bytes of a kept block. It returns nil if the block has none for itself, or if the plan changes
	// something inside them.
	Bytes func(doc D, block int, plan *pemmican.Plan) []byte
}

// Request is what a request of any size is made of.
type Request struct {
	// Head is the beginning of the body, up to and with the first user message.
	Head string
	// Step is the format of what a step adds to the messages, with the comma in front: a call with the number %[1]d in
	// its id, and its result, which is the JSON string %[2]s.
	Step string
}

// Refusal is a plan that Apply refuses.
type Refusal struct {
	Name string
	Body string        // the request
	Mark pemmican.Mark // of its last block; the others are kept
	Want string        // a part of the error
}

// TestCorpus wants each real file detected and decoded, and the same bytes out of the plan that changes nothing. A plan
// that changes something is refused for a record, and applied to a request. Each conversation has the properties, and no
// plan makes neighbours of the same role; of a recorded conversation that is the last request, which repeats the others.
func (w *Wire[D]) TestCorpus(t *testing.T) {
	patterns := []string{"corpus/" + w.Corpus + "/*"}
	for _, p := range w.Recorded {
		patterns = append(patterns, "clients/recorded/"+p)
	}
	files := Corpus(t, patterns...)
	conversation := func(name string) string {
		if i := strings.LastIndexByte(name, '-'); i > 0 && !strings.HasPrefix(name, w.Corpus+string(filepath.Separator)) {
			return name[:i]
		}
		return name
	}
	for i, in := range files {
		if !w.Detect(in.Data) {
			t.Errorf("%s: not detected", in.Name)
		}
		doc, err := w.Decode(in.Data)
		if err != nil {
			t.Errorf("%s: %v", in.Name, err)
			continue
		}
		plan := pemmican.NewPlan(doc.Transcript())
		if out, err := doc.Apply(plan); err != nil || !bytes.Equal(out, in.Data) {
			t.Errorf("%s: the plan that changes nothing changes the file (%v)", in.Name, err)
		}
		plan.Marks[0].Action = pemmican.Drop
		if _, err := doc.Apply(plan); errors.Is(err, format.ErrNotWritable) != w.IsRecord(doc) {
			t.Errorf("%s: a record is not written back, and a body is: %v", in.Name, err)
		}
		if i+1 < len(files) && conversation(in.Name) == conversation(files[i+1].Name) {
			continue
		}
		for _, in := range w.requests(in, doc) {
			t.Run(in.Name, func(t *testing.T) {
				t.Parallel()
				doc, err := w.Decode(in.Data)
				if err != nil {
					t.Fatal(err)
				}
				w.applies(t, in.Data, doc, noNewNeighbours(t, in.Data))
			})
		}
	}
}

// TestMutated wants the plan's result also where the inputs of the text archives are broken.
func (w *Wire[D]) TestMutated(t *testing.T) {
	inputs := goldenInputs(t)
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SampledFrom(inputs).Draw(t, "input")
		data := mutate(t, in.Data)
		w.Detect(data)
		doc, err := w.Decode(data)
		if err != nil || w.IsRecord(doc) {
			return
		}
		if plan := RandomPlan(t, doc.Transcript()); !w.beyond(doc, plan) {
			w.apply(t, data, doc, plan)
		}
	})
}

// TestFixes mends conversations in which any of some messages may stand beside any. Most of them are to be refused, by
// themselves or beside others.
func (w *Wire[D]) TestFixes(t *testing.T, broken []string) {
	rapid.Check(t, func(t *rapid.T) {
		data := []byte("[" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(broken), 1, 8).Draw(t, "messages"), ",") + "]")
		doc, err := w.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		w.mends(t, data, doc)
	})
}

// TestApplyRefuses wants an error for each of the refusals, and for plans that were made for another transcript.
func (w *Wire[D]) TestApplyRefuses(t *testing.T, refusals []Refusal) {
	for _, test := range refusals {
		t.Run(test.Name, func(t *testing.T) {
			doc, err := w.Decode([]byte(test.Body))
			if err != nil {
				t.Fatal(err)
			}
			plan := pemmican.NewPlan(doc.Transcript())
			plan.Marks[len(plan.Marks)-1] = test.Mark
			if _, err := doc.Apply(plan); err == nil || !strings.Contains(err.Error(), test.Want) {
				t.Errorf("the error is %v, want one about %q", err, test.Want)
			}
			keep := pemmican.NewPlan(doc.Transcript()).Marks
			for _, plan := range []*pemmican.Plan{nil, {}, {Marks: keep, Gap: -1}, {Marks: keep, Gap: len(keep) + 1}} {
				if _, err := doc.Apply(plan); err == nil {
					t.Error("a plan for another transcript is applied")
				}
			}
		})
	}
}

// FuzzDecode wants no panic on any input, JSON or an error from any plan, and all that can be fixed fixed.
func (w *Wire[D]) FuzzDecode(f *testing.F) {
	for _, in := range goldenInputs(f) {
		f.Add(in.Data, uint64(0b1011))
	}
	f.Add(w.Request.make(2000), uint64(7))
	f.Fuzz(func(t *testing.T, data []byte, bits uint64) {
		w.Detect(data)
		doc, err := w.Decode(data)
		if err != nil {
			return
		}
		doc.Check()
		if w.IsRecord(doc) {
			return
		}
		tr := doc.Transcript()
		// The plan need not be one of whole units.
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
		out, err := doc.Apply(plan)
		if err != nil {
			return
		}
		w.decodes(t, data, out)
		w.mends(t, data, doc)
	})
}

// BenchmarkValid is what the others are compared with.
func (w *Wire[D]) BenchmarkValid(b *testing.B) {
	data, _ := w.bench(b)
	for b.Loop() {
		if !json.Valid(data) {
			b.Fatal("invalid")
		}
	}
}

// BenchmarkDetect measures Detect.
func (w *Wire[D]) BenchmarkDetect(b *testing.B) {
	data, _ := w.bench(b)
	for b.Loop() {
		if !w.Detect(data) {
			b.Fatal("not detected")
		}
	}
}

// BenchmarkDecode measures Decode.
func (w *Wire[D]) BenchmarkDecode(b *testing.B) {
	data, _ := w.bench(b)
	for b.Loop() {
		if _, err := w.Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkApply measures Apply of a plan that drops one half and stubs the results of the other.
func (w *Wire[D]) BenchmarkApply(b *testing.B) {
	_, doc := w.bench(b)
	tr := doc.Transcript()
	plan := pemmican.NewPlan(tr)
	for i := 2; i < len(plan.Marks)/2; i++ {
		plan.Marks[i].Action = pemmican.Drop
	}
	for i := len(plan.Marks) / 2; i < len(plan.Marks); i++ {
		if tr.Blocks[i].Kind == pemmican.ToolResult {
			plan.Marks[i] = pemmican.Mark{Action: pemmican.Stub, Text: "[left out]"}
		}
	}
	plan.Gap, plan.Summary = 2, pemmican.Seal("what was done")
	for b.Loop() {
		if _, err := doc.Apply(plan); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCheck measures Check of a request in which nothing is wrong.
func (w *Wire[D]) BenchmarkCheck(b *testing.B) {
	_, doc := w.bench(b)
	for b.Loop() {
		if f := doc.Check(); len(f) > 0 {
			b.Fatal(f)
		}
	}
}

// bench returns a request of 5 MiB, and says that each round reads it once.
func (w *Wire[D]) bench(b *testing.B) ([]byte, D) {
	data := w.Request.make(5 << 20)
	doc, err := w.Decode(data)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	return data, doc
}

// make makes the request of an agent that reads source, of size bytes or a step more.
func (r *Request) make(size int) []byte {
	source := strings.Repeat("\tif err := s.check(r); err != nil {\n\t\treturn fmt.Errorf(\"check %q: %w\", r.URL.Path, err)\n\t}\n", 60)
	quoted, err := json.Marshal(source)
	if err != nil {
		panic(err)
	}
	var b bytes.Buffer
	b.WriteString(r.Head)
	for n := 0; b.Len() < size; n++ {
		fmt.Fprintf(&b, r.Step, n, quoted)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// goldenInputs are the inputs of the text archives.
func goldenInputs(t testing.TB) []Input {
	var inputs []Input
	for _, file := range archives(t) {
		_, in := archive(t, file)
		inputs = append(inputs, Input{Name: filepath.Base(file), Data: in["input"]})
	}
	return inputs
}

// requests returns the requests that a file holds: the file itself, or the bare messages in a record and the body, if
// that can be written back.
func (w *Wire[D]) requests(in Input, doc D) []Input {
	if !w.IsRecord(doc) {
		return []Input{in}
	}
	messages, body := w.Record(doc)
	out := []Input{{Name: in.Name + " messages", Data: bytes.Clone(messages)}}
	body = bytes.Clone(body)
	if doc, err := w.Decode(body); err == nil && !w.IsRecord(doc) {
		out = append(out, Input{Name: in.Name + " body", Data: body})
	}
	return out
}

func (w *Wire[D]) beyond(doc D, plan *pemmican.Plan) bool {
	return w.Beyond != nil && w.Beyond(doc, plan)
}

// applies checks one input against what every wire format must do. The plan that changes nothing gives the input; a
// record can do no more. The output of a random plan decodes to the plan's result and has the bytes of each kept block,
// and Check finds nothing in it that it did not find in the input. All fixes together leave nothing that can be fixed.
// What is given as also is called with each output; it may be nil.
func (w *Wire[D]) applies(t *testing.T, data []byte, doc D, also func(t rapid.TB, out []byte)) {
	tr := doc.Transcript()
	same, err := doc.Apply(pemmican.NewPlan(tr))
	if err != nil || !bytes.Equal(same, data) {
		t.Fatalf("the plan that changes nothing changes the input (%v)", err)
	}
	if w.IsRecord(doc) {
		return
	}
	before := map[string]bool{}
	for _, f := range doc.Check() {
		before[f.Rule] = true
	}
	if before[format.RuleDuplicateResult] {
		before[format.RuleResultWithoutCall] = true // The result that is too much may outlive call and result.
	}
	for i := range tr.Blocks {
		if b := &tr.Blocks[i]; b.Kind == pemmican.Text && strings.TrimSpace(b.Text) == "" {
			before[format.RuleEmptyContent] = true // It may be allowed only where it stands now: last.
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		plan := RandomPlan(t, tr)
		if w.beyond(doc, plan) {
			return
		}
		out, again := w.apply(t, data, doc, plan)
		for _, f := range again.Check() {
			if !before[f.Rule] {
				t.Fatalf("the plan breaks something: %s at %s: %s", f.Rule, f.Where, f.Message)
			}
		}
		// The order of the blocks is that of the plan's result: apply compares them.
		for i := range plan.Marks {
			if plan.Marks[i].Action != pemmican.Keep {
				continue
			}
			if raw := w.Bytes(doc, i, plan); !bytes.Contains(out, raw) {
				t.Fatalf("block %d is not in the output as it was: %.300s\n%.6000s", i, raw, out)
			}
		}
		if also != nil {
			also(t, out)
		}
	})
	w.mends(t, data, doc)
}

// noNewNeighbours is for what is made of data: it has no more neighbours of the same role.
func noNewNeighbours(t rapid.TB, data []byte) func(t rapid.TB, out []byte) {
	was := neighbours(t, data)
	return func(t rapid.TB, out []byte) {
		if is := neighbours(t, out); is > was {
			t.Fatalf("%d neighbours of the same role, and there were %d\n%.6000s", is, was, out)
		}
	}
}

// neighbours counts the messages of the user or the assistant that follow one of the same role.
func neighbours(t rapid.TB, request []byte) int {
	messages, err := jsonspan.Scan(request, 0)
	if err != nil {
		t.Fatal(err)
	}
	if list, ok := jsonspan.Get(request, messages, "messages"); ok {
		messages = list
	}
	n, last := 0, ""
	for m := range jsonspan.Elements(request, messages) {
		v, _ := jsonspan.Get(request, m, "role")
		role, _ := jsonspan.String(request, v)
		if role == last && (role == "user" || role == "assistant") {
			n++
		}
		last = role
	}
	return n
}

// apply applies a plan to the document of data. What comes out must decode to the plan's result.
func (w *Wire[D]) apply(t rapid.TB, data []byte, doc D, plan *pemmican.Plan) ([]byte, D) {
	out, err := doc.Apply(plan)
	if err != nil {
		t.Fatalf("the plan cannot be applied: %v\n%.6000s", err, data)
	}
	again := w.decodes(t, data, out)
	if diff := SameBlocks(plan.Result(doc.Transcript()), again.Transcript()); diff != "" {
		t.Fatalf("the output is not the plan's result: %s\n%.6000s\n%.6000s", diff, data, out)
	}
	return out, again
}

// decodes decodes what Apply made of data. It must be JSON if data is.
func (w *Wire[D]) decodes(t rapid.TB, data, out []byte) D {
	if !json.Valid(out) && json.Valid(data) {
		t.Fatalf("the output is no JSON\n%.6000s\n%.6000s", data, out)
	}
	doc, err := w.Decode(out)
	if err != nil {
		t.Fatalf("the output cannot be decoded: %v\n%.6000s\n%.6000s", err, data, out)
	}
	return doc
}

// mends applies all fixes together, and wants nothing left that can be fixed.
func (w *Wire[D]) mends(t rapid.TB, data []byte, doc D) {
	plan := pemmican.NewPlan(doc.Transcript())
	Fix(plan, doc.Check())
	out, again := w.apply(t, data, doc, plan)
	for _, f := range again.Check() {
		if f.Fixable {
			t.Fatalf("all fixes leave %s at %s: %s\n%.6000s\n%.6000s", f.Rule, f.Where, f.Message, data, out)
		}
	}
}
