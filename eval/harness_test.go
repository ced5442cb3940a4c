package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/agents"
	"github.com/pemmican-dev/pemmican/token"
)

// generated is a session as an agent could have it: it reads files, thinks about what is in them, edits, and comes back
// to what it knows, to the newer more often than to the older.
func generated(seed uint64, steps int) *pemmican.Transcript {
	lot := rand.New(rand.NewPCG(seed, 1))
	verbs := strings.Fields("parse load merge render split check count open close write")
	nouns := strings.Fields("Header Config Window Ledger Session Budget Marker Result Cursor Record")
	syllables := strings.Fields("ba ke li mo nu pra ste tri vo wen zil dor")
	name := func() string {
		return verbs[lot.IntN(len(verbs))] + nouns[lot.IntN(len(nouns))] + nouns[lot.IntN(len(nouns))] + fmt.Sprint(lot.IntN(90))
	}
	words := func(n int) string {
		var out []string
		for range n {
			out = append(out, syllables[lot.IntN(12)]+syllables[lot.IntN(12)]+syllables[lot.IntN(12)])
		}
		return strings.Join(out, " ")
	}
	t := &pemmican.Transcript{AtRest: true}
	t.AddUser("Make the tests of the module pass, and do not touch the public API.")
	type fact struct{ name, line string }
	var facts []fact
	for i := range steps {
		id := fmt.Sprint("call", i)
		file := fmt.Sprintf("src/part%d/file%d.go", i%7, i)
		var body strings.Builder
		for range 12 {
			fmt.Fprintf(&body, "func %s() { return %s(%s) }\n", name(), name(), words(3))
		}
		said := fmt.Sprintf("I look at %s next.", file)
		if len(facts) > 4 {
			// Mostly what was found a short time ago, now and then anything.
			f := facts[len(facts)-1-min(len(facts)-1, 2+int(math.Abs(lot.NormFloat64())*8))]
			if lot.IntN(4) == 0 {
				f = facts[lot.IntN(len(facts))]
			}
			said += fmt.Sprintf("\nAgain %s: %s.", f.name, f.line)
		}
		t.AddAssistant(said, pemmican.Call(id, "read", fmt.Sprintf(`{"path":%q}`, file)))
		t.AddResult(id, body.String())
		f := fact{name(), words(4)}
		facts = append(facts, f)
		t.AddAssistant(fmt.Sprintf("What matters here is %s: %s.", f.name, f.line))
		if i%9 == 8 {
			t.AddUser("Good. Go on with the next file.")
		}
	}
	return t
}

func sessionOf(name string, t *pemmican.Transcript) Session {
	return Session{Name: name, Format: "made by hand", stretches: []*pemmican.Transcript{t}}
}

func generatedSessions(n int) []Session {
	var out []Session
	for i := range n {
		s := sessionOf(fmt.Sprint("generated", i), generated(uint64(i), 160))
		out = append(out, s)
	}
	return out
}

// TestOrder is the harness on trial: it must tell good contexts from bad ones.
func TestOrder(t *testing.T) {
	r, err := Run(t.Context(), generatedSessions(4), Options{
		Arms: []string{"full", Reference, "tail", "random lines"}, Budgets: []float64{0.10},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Failures) > 0 {
		t.Errorf("failures: %v", r.Failures)
	}
	for i, row := range r.Rows {
		if row.Needs < 100 {
			t.Errorf("%s: only %d identifiers", row.Arm, row.Needs)
		}
		if row.Arm != "full" && row.Share > 0.10 {
			t.Errorf("%s keeps %.3f", row.Arm, row.Share)
		}
		margin := 0.05
		if row.Arm == Reference {
			margin = 0 // it may have all that was needed
		}
		if i > 0 && row.Rel.Mean > r.Rows[i-1].Rel.Mean-margin {
			t.Errorf("%s has %.3f, and %s has %.3f", r.Rows[i-1].Arm, r.Rows[i-1].Rel.Mean, row.Arm, row.Rel.Mean)
		}
		t.Logf("%-13s bag %.3f rel %.3f kept %.3f", row.Arm, row.Bag.Mean, row.Rel.Mean, row.Share)
	}
}

// TestDefects gives validity an arm with a fault of each sort.
func TestDefects(t *testing.T) {
	tr := generated(3, 40)
	counter := token.Estimator{}
	size, total := sizes(tr, counter)
	job := task{history: tr, size: size, total: total, budget: total / 5, counter: counter, seed: 1}
	sound := tail
	calls := 0
	change := func(f func(c *pemmican.Transcript)) func(ctx context.Context, t task) (answer, error) {
		return func(ctx context.Context, t task) (answer, error) {
			a, err := sound(ctx, t)
			c := *a.context
			c.Blocks = slices.Clone(c.Blocks)
			c.Messages = slices.Clone(c.Messages)
			f(&c)
			a.context = &c
			return a, err
		}
	}
	first := func(c *pemmican.Transcript, k pemmican.Kind) int {
		return slices.IndexFunc(c.Blocks, func(b pemmican.Block) bool { return b.Kind == k })
	}
	without := func(c *pemmican.Transcript, kind pemmican.Kind) {
		p := pemmican.NewPlan(c)
		p.Marks[first(c, kind)].Action = pemmican.Drop
		*c = *p.Result(c)
	}
	for _, tt := range []struct {
		name, want string
		run        func(ctx context.Context, t task) (answer, error)
	}{
		{"sound", "", sound},
		{"orphaned result", "stands without its partner", change(func(c *pemmican.Transcript) { without(c, pemmican.ToolCall) })},
		{"call without result", "stands without its partner", change(func(c *pemmican.Transcript) { without(c, pemmican.ToolResult) })},
		{"reordered", "is not where the history has it", change(func(c *pemmican.Transcript) {
			a := first(c, pemmican.ToolResult)
			b := a + 1 + slices.IndexFunc(c.Blocks[a+1:], func(b pemmican.Block) bool { return b.Kind == pemmican.ToolResult })
			c.Blocks[a], c.Blocks[b] = c.Blocks[b], c.Blocks[a]
		})},
		{"twice", "is not where the history has it", change(func(c *pemmican.Transcript) {
			last := c.Blocks[len(c.Blocks)-1]
			c.Add(pemmican.Assistant, last)
		})},
		{"newest message altered", "not there word for word", change(func(c *pemmican.Transcript) {
			c.Blocks[c.Messages[newestPerson(c)].First].Text += " now"
		})},
		{"over its budget", "and the budget is", func(ctx context.Context, t task) (answer, error) {
			t.budget *= 2
			return tail(ctx, t)
		}},
		{"larger than the history", "and the history", func(_ context.Context, t task) (answer, error) {
			p := pemmican.NewPlan(t.history)
			p.Summary = "more"
			return answer{context: p.Result(t.history)}, nil
		}},
		{"another one each time", "two runs differ", change(func(c *pemmican.Transcript) {
			calls++
			c.Blocks[first(c, pemmican.ToolResult)].Text = fmt.Sprint(calls)
		})},
		{"broken text", "no UTF-8", change(func(c *pemmican.Transcript) { c.Blocks[first(c, pemmican.ToolResult)].Text = "\xff" })},
		{"a plan that breaks a rule", "plan breaks a rule", func(_ context.Context, t task) (answer, error) {
			p := pemmican.NewPlan(t.history)
			p.Marks[1].Action = pemmican.Drop // the text of a step, and not its call
			return answer{context: t.history, plan: p}, nil
		}},
	} {
		a := arm{tt.name, true, tt.run}
		if tt.name == "a plan that breaks a rule" {
			a.strict = false // its context is the whole history
		}
		one, err := a.run(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		two, err := a.run(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		bad := validity(&a, job, one, two)
		switch {
		case tt.want == "" && len(bad) > 0, tt.want != "" && !slices.ContainsFunc(bad, func(s string) bool { return strings.Contains(s, tt.want) }):
			t.Errorf("%s: %q, want %q", tt.name, bad, tt.want)
		}
	}
}

func TestArtifacts(t *testing.T) {
	tr := &pemmican.Transcript{}
	tr.AddUser("go")
	tr.AddAssistant("", pemmican.Call("1", "read", `{"path":"a.go"}`), pemmican.Call("2", "edit", `{"path":"b.go","oldText":"x"}`))
	tr.AddResult("1", "text")
	tr.AddError("2", "not found")
	tr.AddAssistant("", pemmican.Call("3", "bash", `{"command":"rm c.go"}`))
	tr.AddResult("3", "")
	tr.AddAssistant("", pemmican.Call("4", "edit", `{"path":"a.go"}`), pemmican.Call("5", "read", `{"path":"d.go"}`))
	tr.AddResult("4", "done")
	tools := agents.Tools()
	want := map[string]artifact{"a.go": {"edit", "ok"}, "b.go": {"edit", "failed"}, "d.go": {"read", "open"}}
	got := readArtifacts(tr, tools)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}

	ledger := "# 9 earlier messages of this conversation were dropped to save room\n\n" +
		"## Files, newest first; the last operation went well unless it says failed\n" +
		"- edited: a.go\n- edited, failed: b.go\n> not found\n- read: z.go\n- mentioned: m.go"
	c := &pemmican.Transcript{}
	c.Add(pemmican.User, pemmican.Block{Kind: pemmican.Summary, Text: pemmican.Seal(ledger)})
	c.AddAssistant("", pemmican.Call("9", "read", `{"path":"z.go"}`))
	c.AddError("9", "gone")
	want = map[string]artifact{"a.go": {"edit", "ok"}, "b.go": {"edit", "failed"}, "z.go": {"read", "failed"}}
	if got := readArtifacts(c, tools); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	// What is not sealed is data.
	c.Blocks[0].Text = ledger
	if got := readArtifacts(c, tools); len(got) != 1 {
		t.Errorf("%v, want the call alone", got)
	}
}

func TestF1(t *testing.T) {
	set := func(s string) map[string]artifact {
		out := map[string]artifact{}
		for f := range strings.FieldsSeq(s) {
			out[f[:1]] = artifact{f[1:], "ok"}
		}
		return out
	}
	for _, tt := range []struct {
		want, got string
		f1        float64
	}{
		{"", "", math.NaN()}, {"", "ar", math.NaN()}, {"ar", "", 0}, {"ar bw", "ar bw", 1}, {"ar bw", "ar br", 0.5}, {"ar bw cr dr", "ar bw", 2.0 / 3},
	} {
		if got := f1(set(tt.want), set(tt.got)); math.Abs(got-tt.f1) > 1e-9 || math.IsNaN(got) != math.IsNaN(tt.f1) {
			t.Errorf("%q against %q is %g, want %g", tt.got, tt.want, got, tt.f1)
		}
	}
}

func TestCuts(t *testing.T) {
	tr := generated(1, 60)
	whole := seams(tr)
	got := cuts(tr, 5)
	if len(got) != 5 || got[0] < len(tr.Messages)/2-1 || got[0] < messagesBefore || got[4] > len(tr.Messages)-messagesAfter {
		t.Errorf("cuts %v of %d messages", got, len(tr.Messages))
	}
	for _, at := range got {
		if !whole[at] || tr.Messages[at].Role == pemmican.Tool {
			t.Errorf("a cut at %d parts a call from its result", at)
		}
	}
	if got := cuts(generated(1, 20), 5); len(got) != 0 {
		t.Errorf("a short session is cut at %v", got)
	}
	if got := cuts(tr, 1); len(got) != 1 {
		t.Errorf("one cut is %v", got)
	}
}

func TestSeams(t *testing.T) {
	tr := &pemmican.Transcript{}
	tr.AddUser("go")
	tr.AddAssistant("", pemmican.Call("1", "x", "{}"))
	tr.AddAssistant("", pemmican.Call("2", "x", "{}"))
	tr.AddResult("1", "")
	tr.AddUser("stop?")
	tr.AddResult("2", "")
	tr.AddAssistant("done")
	want := []bool{true, true, false, false, false, false, true, true}
	if diff := cmp.Diff(want, seams(tr)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestInterval(t *testing.T) {
	draws := [][]int{}
	for a := range 2 {
		for b := range 2 {
			for range 50 {
				draws = append(draws, []int{a, b})
			}
		}
	}
	if got, want := interval([]float64{0.2, 0.6}, draws), (Interval{0.4, 0.2, 0.6}); math.Abs(got.Mean-want.Mean) > 1e-9 || got.Low != want.Low || got.High != want.High {
		t.Errorf("%v, want %v", got, want)
	}
	if got := interval([]float64{0.2, math.NaN()}, draws); got.Mean != 0.2 || got.Low != 0.2 || got.High != 0.2 {
		t.Errorf("a session without a figure counts: %v", got)
	}
}

// TestRepeatable gives the same bytes with one worker and with several, and other lines for another seed.
func TestRepeatable(t *testing.T) {
	run := func(seed uint64, workers int) string {
		r, err := Run(t.Context(), generatedSessions(2), Options{
			Arms: []string{"random lines", Reference, "default"}, Budgets: []float64{0.1}, Cuts: 2, Seed: seed, Workers: workers,
		})
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := r.WriteTable(&out); err != nil {
			t.Fatal(err)
		}
		if err := r.WriteMarkdown(&out); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return out.String() + string(data)
	}
	one := run(7, 1)
	if diff := cmp.Diff(one, run(7, 3)); diff != "" {
		t.Errorf("one and three workers differ:\n%s", diff)
	}
	if one == run(8, 1) {
		t.Error("the seed changes nothing")
	}
}

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{Arms: []string{"best"}}, `"best" is no arm`},
		{Options{Budgets: []float64{1.5}}, "a budget of 150 %"},
		{Options{Budgets: []float64{math.NaN()}}, "a budget of NaN %"},
		{Options{Cuts: -1}, "-1 cuts"},
	} {
		if _, err := Run(t.Context(), nil, tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
	if r, err := Run(t.Context(), nil, Options{}); err != nil || len(r.Sessions) != 0 {
		t.Errorf("no sessions: %v, %v", r, err)
	}
}

// TestNothingReachesEval holds that no part of the engine can look at how it is measured.
func TestNothingReachesEval(t *testing.T) {
	const module = "github.com/pemmican-dev/pemmican"
	out, err := exec.Command("go", "list", "-e", "-f", "{{.ImportPath}} {{join .Deps \" \"}}", module+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := 0
	for line := range strings.Lines(string(out)) {
		list := strings.Fields(line)
		packages++
		if list[0] != module+"/cmd/pemmican" && slices.Contains(list[1:], module+"/eval") {
			t.Errorf("%s reaches eval", list[0])
		}
	}
	if packages < 10 {
		t.Errorf("only %d packages were listed:\n%s", packages, out)
	}
}
