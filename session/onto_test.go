package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/preset"
	"github.com/pemmican-dev/pemmican/summary"
	"pgregory.net/rapid"
)

// drawSteps appends steps of an agent to a transcript: calls, sometimes several, whose results come at once, late or never,
// and messages of the person in between.
func drawSteps(t *rapid.T, tr *pemmican.Transcript, open *[]string, n int) {
	text := func(label string) string {
		return strings.Repeat(rapid.SampledFrom([]string{"a line of output\n", "日本語のテキスト", "err: no such file; "}).Draw(t, label), rapid.IntRange(1, 80).Draw(t, label+" length"))
	}
	for range n {
		switch step := rapid.IntRange(0, 6).Draw(t, "step"); {
		case step == 0:
			tr.AddUser(text("words"))
		case step == 1 && len(*open) == 0: // a model does not go on before it has its results
			tr.AddAssistant(text("answer"))
		case step > 1:
			var calls []pemmican.Block
			for range rapid.IntRange(1, 3).Draw(t, "calls") {
				id := fmt.Sprint("c", len(tr.Blocks), ".", len(calls))
				calls = append(calls, pemmican.Call(id, "read", `{"path":"`+id+`"}`))
				*open = append(*open, id)
			}
			tr.AddAssistant("", calls...)
		}
		for len(*open) > 0 && rapid.IntRange(0, 5).Draw(t, "answered") > 0 {
			blocks := []pemmican.Block{{Kind: pemmican.ToolResult, CallID: (*open)[0], Text: text("result")}}
			if rapid.IntRange(0, 5).Draw(t, "picture") == 0 {
				blocks = append(blocks, pemmican.Block{Kind: pemmican.Media, CallID: (*open)[0], Bytes: 9000})
			}
			tr.Add(pemmican.Tool, blocks...)
			*open = (*open)[1:]
		}
	}
}

// TestOnto is USR-10, CON-01, CON-05 and ORPH-16: whatever arrives while a compaction is made survives it word for word and
// in its order, calls keep their results, and the plan still keeps every rule.
func TestOnto(t *testing.T) {
	plans := 0
	rapid.Check(t, func(t *rapid.T) {
		var tr pemmican.Transcript
		var open []string
		tr.AddSystem("You are an agent.")
		tr.AddUser("Do it.")
		drawSteps(t, &tr, &open, rapid.IntRange(3, 25).Draw(t, "before"))
		policy, _ := preset.ByName(rapid.SampledFrom(preset.Names()).Draw(t, "preset"))
		o := pemmican.Options{Policy: &policy, Summarizer: summary.Mechanical{}}
		o.Target = max(1, Measure(&tr, nil, pemmican.Overhead{}).Estimated*rapid.IntRange(20, 90).Draw(t, "target")/100)
		made := keep(&tr)
		plan, _, err := pemmican.Compact(t.Context(), made, o)
		if err != nil {
			t.Fatal(err)
		}
		was := show(plan.Result(made))
		drawSteps(t, &tr, &open, rapid.IntRange(0, 5).Draw(t, "meanwhile"))
		grown, err := Onto(plan, made, &tr)
		if lateForDropped(plan, &tr) {
			if !errors.Is(err, ErrStale) {
				t.Fatalf("a result has come for a call that is left out: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if !plan.Empty() {
			plans++
			if err := pemmican.Verify(&tr, grown, o); err != nil {
				t.Fatal(err)
			}
		}
		got := show(grown.Result(&tr))
		rest := show(&pemmican.Transcript{Messages: tr.Messages, Blocks: tr.Blocks[len(made.Blocks):]})
		// The summary may have moved behind the results of calls that were open before it.
		without := func(lines []string) (out []string) {
			for _, l := range lines {
				if !strings.HasPrefix(l, "summary ") {
					out = append(out, l)
				}
			}
			return out
		}
		if want := append(without(was), rest...); fmt.Sprint(without(got)) != fmt.Sprint(want) || len(got) != len(was)+len(rest) {
			t.Fatalf("%d blocks, want %d and %d", len(got), len(was), len(rest))
		}

		// Another system text changes nothing of it.
		other := keep(&tr)
		other.Blocks[0].Text += " It is noon."
		if again, err := Onto(plan, made, other); err != nil || !slices.Equal(again.Marks, grown.Marks) {
			t.Fatalf("%v", err)
		}
		// One letter more, or one system text, and it is another conversation.
		twice := &pemmican.Transcript{}
		twice.AddSystem("It is noon.")
		for _, m := range tr.Messages {
			twice.Add(m.Role, tr.Blocks[m.First:m.End]...)
		}
		if _, err := Onto(plan, made, twice); !errors.Is(err, ErrStale) {
			t.Fatalf("%v", err)
		}
		i := rapid.IntRange(1, len(made.Blocks)-1).Draw(t, "changed")
		b := &other.Blocks[i]
		switch {
		case rapid.Bool().Draw(t, "role"):
			m := &other.Messages[b.Message]
			m.Author = pemmican.ByRuntime - m.Author
		default:
			b.Text += "x"
		}
		if _, err := Onto(plan, made, other); !errors.Is(err, ErrStale) {
			t.Fatalf("%v", err)
		}
		short := keep(made)
		short.Blocks = short.Blocks[:len(short.Blocks)-1]
		if _, err := Onto(plan, made, short); !errors.Is(err, ErrStale) {
			t.Fatalf("%v", err)
		}
	})
	if plans < 10 {
		t.Errorf("only %d plans", plans)
	}
}

// lateForDropped reports whether a result has come for a call that the plan leaves out since nobody answered it.
func lateForDropped(p *pemmican.Plan, now *pemmican.Transcript) bool {
	for i, result := range now.Partners() {
		if i < len(p.Marks) && now.Blocks[i].Kind == pemmican.ToolCall && result >= len(p.Marks) && !p.Kept(i) {
			return true
		}
	}
	return false
}

// show are the blocks of a transcript, a line each.
func show(t *pemmican.Transcript) []string {
	out := make([]string, len(t.Blocks))
	for i := range t.Blocks {
		b := t.Blocks[i]
		out[i] = fmt.Sprintf("%s %s %s %s %q %q", b.Kind, t.Messages[b.Message].Role, b.CallID, b.Tool, b.Args, b.Text)
	}
	return out
}

// TestOntoGap: a summary that stood last, behind a call that was open, does not come between the call and its result.
func TestOntoGap(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("Do it.")
	tr.AddAssistant("", pemmican.Call("1", "read", `{}`))
	tr.AddResult("1", strings.Repeat("old ", 100))
	tr.AddAssistant("", pemmican.Call("2", "run", `{}`), pemmican.Call("3", "run", `{}`))
	made := keep(&tr)
	plan := pemmican.NewPlan(made)
	plan.Marks[1].Action, plan.Marks[2].Action = pemmican.Drop, pemmican.Drop
	plan.Summary, plan.Gap = pemmican.Seal("It read."), len(made.Blocks)
	tr.AddResult("2", "two")
	tr.Add(pemmican.Tool, pemmican.Block{Kind: pemmican.ToolResult, CallID: "3", Text: "three"}, pemmican.Block{Kind: pemmican.Media, CallID: "3", Bytes: 900})
	tr.AddAssistant("Well.")
	grown, err := Onto(plan, made, &tr)
	if err != nil {
		t.Fatal(err)
	}
	if want := len(tr.Blocks) - 1; grown.Gap != want {
		t.Errorf("the gap is before block %d, want %d", grown.Gap, want)
	}
	if err := pemmican.Verify(&tr, grown, pemmican.Options{Counter: quarters{}}); err != nil {
		t.Error(err)
	}
}

func TestMeasure(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddSystem("You are an agent.")
	tr.AddUser("Do it.")
	tr.AddAssistant("Well.", pemmican.Call("1", "read", `{}`), pemmican.Call("2", "read", `{}`))
	tr.Messages[2].Usage = 5000
	tr.Add(pemmican.Tool, pemmican.Block{Kind: pemmican.ToolResult, CallID: "1", Text: strings.Repeat("word ", 30_000)}, pemmican.Block{Kind: pemmican.Media, CallID: "1", Bytes: 9000})
	l := Measure(&tr, nil, pemmican.Overhead{Tokens: 700})
	if l.Reported != 5000 || l.Since < 30_000 || l.Since > 36_000 || l.Estimated < l.Since+700 || l.Items != 4 || l.Turns != 3 || l.Images != 1 || l.OpenCalls != 1 {
		t.Errorf("%+v", l) // TOK-16: the result is not in the usage
	}
	tr.Messages[2].Usage = 0
	if l := Measure(&tr, nil, pemmican.Overhead{}); l.Reported != 0 || l.Since != 0 || l.Estimated < 30_000 {
		t.Errorf("%+v", l)
	}
	if l := Measure(&pemmican.Transcript{}, nil, pemmican.Overhead{}); l != (Load{}) {
		t.Errorf("%+v", l)
	}
}
