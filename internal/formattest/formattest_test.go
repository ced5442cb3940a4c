package formattest

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pemmican-dev/pemmican"
)

// conversation draws a transcript with everything that units are made of: parallel calls, interleaved steps, pictures in
// results, an earlier summary, system text, a call without a result.
func conversation(t *rapid.T) *pemmican.Transcript {
	tr := &pemmican.Transcript{}
	tr.AddSystem("rules")
	if rapid.Bool().Draw(t, "summary") {
		tr.Messages[tr.Add(pemmican.User, pemmican.Block{Kind: pemmican.Summary, Text: pemmican.Seal("old")})].Author = pemmican.ByRuntime
	}
	tr.AddUser("task")
	for n := range rapid.IntRange(0, 8).Draw(t, "steps") {
		a, b := string(rune('a'+n)), string(rune('A'+n))
		switch rapid.IntRange(0, 4).Draw(t, "step") {
		case 0:
			tr.AddAssistant("text")
			tr.AddUser("more")
		case 1:
			tr.AddAssistant("look", pemmican.Call(a, "read", "{}"), pemmican.Call(b, "read", "{}"))
			tr.AddResult(b, "two")
			tr.AddResult(a, "one")
		case 2:
			tr.AddAssistant("", pemmican.Call(a, "read", "{}"))
			tr.AddAssistant("", pemmican.Call(b, "read", "{}"))
			tr.AddResult(a, "one")
			tr.AddNudge("steer")
			tr.AddResult(b, "two")
		case 3:
			tr.Add(pemmican.Assistant, pemmican.Block{Kind: pemmican.Reasoning, Text: "hm", Bound: true}, pemmican.Call(a, "shot", "{}"))
			tr.Add(pemmican.Tool, pemmican.Block{Kind: pemmican.ToolResult, CallID: a}, pemmican.Block{Kind: pemmican.Media, CallID: a}, pemmican.Block{Kind: pemmican.Media, CallID: a})
		case 4:
			tr.AddAssistant("", pemmican.Call(a, "ask", "{}"))
			tr.AddUser("never mind")
		}
	}
	return tr
}

func TestRandomPlan(t *testing.T) {
	seen := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		tr := conversation(t)
		tr.Can = pemmican.Capabilities{
			NoStub: rapid.Bool().Draw(t, "no stub"), NoAnchor: rapid.Bool().Draw(t, "no anchor"), NoHead: rapid.Bool().Draw(t, "no head"),
			SummaryFirst: rapid.Bool().Draw(t, "summary first"), SummaryNeeded: rapid.Bool().Draw(t, "summary needed"),
		}
		p := RandomPlan(t, tr)
		if p.Empty() {
			seen["empty"] = true
			return
		}
		if tr.Can.SummaryNeeded && p.Summary == "" {
			t.Fatal("a change without a summary")
		}
		dropped, head, summaries := false, false, 0
		for i := range tr.Blocks {
			b := &tr.Blocks[i]
			if !p.Kept(i) {
				seen["drop"] = true
				dropped = true
				if tr.Messages[b.Message].Role == pemmican.System {
					t.Fatal("system text is dropped")
				}
				if p.Summary != "" && tr.Can.NoAnchor && i > p.Gap && behind(tr, p, i) {
					t.Fatal("what is kept behind the summary is not one run")
				}
				continue
			}
			if b.Kind == pemmican.Summary {
				summaries++
			}
			if p.Marks[i].Action == pemmican.Stub {
				seen["stub"] = true
				if tr.Can.NoStub {
					t.Fatal("a stub")
				}
			}
			if p.Summary != "" && i < p.Gap && tr.Messages[b.Message].Role != pemmican.System {
				head = true
			}
		}
		if p.Summary != "" {
			seen["summary"] = true
			if summaries > 0 {
				t.Fatal("two summaries are live")
			}
			if head && (tr.Can.NoHead || tr.Can.SummaryFirst) {
				t.Fatal("something is kept in front of the summary")
			}
			if !dropped {
				t.Fatal("a summary stands for nothing")
			}
		}
		// A call is kept if and only if its result is.
		got := p.Result(tr)
		open := map[string]int{}
		for i := range got.Blocks {
			switch b := &got.Blocks[i]; b.Kind {
			case pemmican.ToolCall:
				open[b.CallID]++
			case pemmican.ToolResult:
				if open[b.CallID]--; open[b.CallID] < 0 {
					t.Fatalf("a result of call %s without the call", b.CallID)
				}
			}
		}
		for id, n := range open {
			if n > 0 && !unanswered(tr, id) {
				t.Fatalf("call %s without its result", id)
			}
		}
	})
	for _, what := range []string{"drop", "empty", "stub", "summary"} {
		if !seen[what] {
			t.Errorf("no plan had %s", what)
		}
	}
}

// behind reports whether something is kept between the gap and block i.
func behind(tr *pemmican.Transcript, p *pemmican.Plan, i int) bool {
	for k := p.Gap; k < i; k++ {
		if p.Kept(k) && tr.Messages[tr.Blocks[k].Message].Role != pemmican.System && tr.Blocks[i].Kind != pemmican.Reasoning {
			return true
		}
	}
	return false
}

func unanswered(tr *pemmican.Transcript, id string) bool {
	for i := range tr.Blocks {
		if tr.Blocks[i].Kind == pemmican.ToolResult && tr.Blocks[i].CallID == id {
			return false
		}
	}
	return true
}

func TestSameBlocks(t *testing.T) {
	make := func(change func(tr *pemmican.Transcript)) *pemmican.Transcript {
		tr := &pemmican.Transcript{}
		tr.AddUser("task")
		tr.AddAssistant("", pemmican.Call("c", "read", "{}"))
		tr.AddResult("c", "one\ntwo")
		change(tr)
		return tr
	}
	want := make(func(*pemmican.Transcript) {})
	for _, test := range []struct {
		name   string
		change func(tr *pemmican.Transcript)
		want   string
	}{
		{"nothing", func(*pemmican.Transcript) {}, ""},
		{"lines of a result", func(tr *pemmican.Transcript) { tr.Blocks[2].Text = "two\none" }, ""},
		{"a result in the user role", func(tr *pemmican.Transcript) { tr.Messages[2].Role = pemmican.User }, ""},
		{"a tool that is not known", func(tr *pemmican.Transcript) { tr.Blocks[2].Tool = "read" }, ""},
		{"text", func(tr *pemmican.Transcript) { tr.Blocks[0].Text = "other" }, "block 0"},
		{"arguments", func(tr *pemmican.Transcript) { tr.Blocks[1].Args = "{ }" }, "block 1"},
		{"a result", func(tr *pemmican.Transcript) { tr.Blocks[2].Text = "one" }, "block 2"},
		{"an id", func(tr *pemmican.Transcript) { tr.Blocks[2].CallID = "d" }, "block 2"},
		{"a role", func(tr *pemmican.Transcript) { tr.Messages[0].Role = pemmican.System }, "block 0"},
		{"too many", func(tr *pemmican.Transcript) { tr.AddUser("more") }, "4 blocks, want 3"},
		{"too few", func(tr *pemmican.Transcript) { tr.Blocks = tr.Blocks[:2] }, "2 blocks, want 3"},
	} {
		if got := SameBlocks(want, make(test.change)); !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: SameBlocks = %q, want %q", test.name, got, test.want)
		}
	}
}
