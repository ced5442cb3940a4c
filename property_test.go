package pemmican_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/preset"
	"pgregory.net/rapid"
)

// drawTranscript makes any conversation that an agent may have: parallel and interleaved calls, ids that repeat, open
// and orphaned ones, steers inside a turn, nudges, reasoning with and without a signature, pictures, empty texts, and
// an earlier summary, ours or somebody else's.
func drawTranscript(t *rapid.T) *pemmican.Transcript {
	var tr pemmican.Transcript
	text := func(label string) string {
		word := rapid.SampledFrom([]string{"alpha ", "世界", "error: exit status 2\n", "/src/a.go:12: ", "😀", "x"}).Draw(t, label)
		return strings.Repeat(word, rapid.IntRange(0, 400).Draw(t, label+" length"))
	}
	if rapid.Bool().Draw(t, "system") {
		tr.AddSystem(text("system text"))
	}
	switch rapid.IntRange(0, 5).Draw(t, "earlier") {
	case 0:
		tr.Add(pemmican.User, pemmican.Block{Kind: pemmican.Summary, Text: pemmican.Seal("earlier " + text("summary"))})
		tr.Messages[len(tr.Messages)-1].Author = pemmican.ByRuntime
	case 1:
		tr.Add(pemmican.User, pemmican.Block{Kind: pemmican.Summary, Text: "somebody's " + text("summary")})
	}
	tr.HasSystem = rapid.Bool().Draw(t, "has system")
	tr.AtRest = rapid.Bool().Draw(t, "at rest")
	switch rapid.IntRange(0, 3).Draw(t, "capabilities") {
	case 0:
		tr.Can = pemmican.Capabilities{NoStub: true, NoAnchor: true, NoHead: true, SummaryFirst: true, SummaryNeeded: true}
	case 1:
		tr.Can = pemmican.Capabilities{SummaryFirst: true, SummaryNeeded: rapid.Bool().Draw(t, "needed")}
	}
	var open []string
	tools := []string{"read_file", "edit_file", "run_shell", "grep", "manage_tasks", "mystery"}
	for step := range rapid.IntRange(0, 25).Draw(t, "steps") {
		switch rapid.IntRange(0, 9).Draw(t, "step") {
		case 0:
			tr.AddUser(text("user"))
		case 1:
			tr.AddNudge(text("nudge"))
		case 2:
			tr.Add(pemmican.User, pemmican.Block{Text: text("caption")}, pemmican.Block{Kind: pemmican.Media, Bytes: 5000})
		case 3:
			if rapid.Bool().Draw(t, "reminder") {
				tr.AddSystem(text("reminder"))
			}
			tr.AddAssistant(text("answer"))
		default:
			var blocks []pemmican.Block
			if rapid.Bool().Draw(t, "thinks") {
				blocks = append(blocks, pemmican.Block{Kind: pemmican.Reasoning, Text: text("thought"), Bound: rapid.Bool().Draw(t, "bound")})
			}
			for k := range rapid.IntRange(1, 3).Draw(t, "calls") {
				id := fmt.Sprintf("%d.%d", step, k)
				if rapid.IntRange(0, 5).Draw(t, "repeats id") == 0 {
					id = "same"
				}
				args := rapid.SampledFrom([]string{`{"path":"a.go"}`, `{"path":"b.go","text":"` + strings.Repeat("y", 3000) + `"}`, "not json", `{}`}).Draw(t, "args")
				blocks = append(blocks, pemmican.Call(id, rapid.SampledFrom(tools).Draw(t, "tool"), args))
				open = append(open, id)
			}
			tr.Add(pemmican.Assistant, blocks...)
		}
		for len(open) > 0 && rapid.IntRange(0, 4).Draw(t, "answered") > 0 {
			k := rapid.IntRange(0, len(open)-1).Draw(t, "which")
			blocks := []pemmican.Block{{
				Kind: pemmican.ToolResult, CallID: open[k], Text: text("result"),
				Error: rapid.IntRange(0, 3).Draw(t, "failed") == 0,
			}}
			if rapid.IntRange(0, 6).Draw(t, "picture") == 0 {
				blocks = append(blocks, pemmican.Block{Kind: pemmican.Media, CallID: open[k], Bytes: 9000})
			}
			tr.Add(pemmican.Tool, blocks...)
			open = append(open[:k:k], open[k+1:]...)
		}
		if rapid.IntRange(0, 30).Draw(t, "orphan") == 0 {
			tr.AddResult("nobody", text("orphan"))
		}
	}
	if tr.Can.NoAnchor && len(tr.Blocks) > 0 && rapid.Bool().Draw(t, "compacted before") {
		tr.Can.KeepFrom = rapid.IntRange(0, len(tr.Blocks)-1).Draw(t, "keep from")
	}
	return &tr
}

func drawOptions(t *rapid.T, tr *pemmican.Transcript) pemmican.Options {
	names := preset.Names()
	p, _ := preset.ByName(rapid.SampledFrom(names).Draw(t, "preset"))
	p.TailTokens = rapid.SampledFrom([]int{p.TailTokens, 0, 100, 2000}).Draw(t, "tail")
	live := 0
	for i := range tr.Blocks {
		live += quarter{}.Count(&tr.Blocks[i])
	}
	o := pemmican.Options{
		Policy: &p, Counter: quarter{}, Tools: tools,
		Target:   max(1, live*rapid.IntRange(1, 110).Draw(t, "percent")/100),
		Thinking: pemmican.ThinkingRule(rapid.IntRange(0, 2).Draw(t, "thinking")),
	}
	switch rapid.IntRange(0, 3).Draw(t, "summariser") {
	case 0:
		o.Summarizer = &written{text: "what happened " + strings.Repeat("and more ", rapid.IntRange(0, 60).Draw(t, "words"))}
	case 1:
		o.Summarizer = &written{text: " "}
	}
	if rapid.IntRange(0, 4).Draw(t, "pins") == 0 {
		o.Pins = []string{"😀"}
	}
	if rapid.IntRange(0, 2).Draw(t, "limits") == 0 {
		has := loadOf(tr)
		o.Limits = pemmican.Limits{
			Bytes:    has.Bytes * rapid.SampledFrom([]int{0, 2, 10, 50, 150}).Draw(t, "bytes") / 100,
			Media:    has.Media * rapid.SampledFrom([]int{0, 30, 60, 150}).Draw(t, "media") / 100,
			Messages: has.Messages * rapid.SampledFrom([]int{0, 30, 60, 150}).Draw(t, "messages") / 100,
		}
	}
	return o
}

// loadOf is what a request with the transcript has beside tokens, at the least.
func loadOf(tr *pemmican.Transcript) (out pemmican.Limits) {
	out.Bytes = len(tr.Tools)
	for i := range tr.Blocks {
		b := &tr.Blocks[i]
		text, _ := json.Marshal(b.Text)
		args, _ := json.Marshal(b.Args)
		out.Bytes += len(text) + len(args) + b.Bytes
		if b.Kind == pemmican.Media {
			out.Media++
		}
	}
	for _, m := range tr.Messages {
		if m.First < m.End {
			out.Messages++
		}
	}
	return out
}

// within reports whether a transcript is within limits.
func within(tr *pemmican.Transcript, l pemmican.Limits) bool {
	has := loadOf(tr)
	return (l.Bytes == 0 || has.Bytes <= l.Bytes) && (l.Media == 0 || has.Media <= l.Media) && (l.Messages == 0 || has.Messages <= l.Messages)
}

// TestCompactKeepsEveryRule is O9 and more: whatever comes in, Compact returns a plan that Verify accepts (an error
// would be a bug), or refuses; the result is a subsequence; the target is met where the policy promises it; and
// compacting the result again, with nothing new, changes nothing.
func TestCompactKeepsEveryRule(t *testing.T) {
	outcomes, byLimits := map[pemmican.Outcome]int{}, map[pemmican.Outcome]int{}
	check := func(t *rapid.T) {
		tr := drawTranscript(t)
		o := drawOptions(t, tr)
		plan, report, err := pemmican.Compact(t.Context(), tr, o)
		if err != nil {
			t.Fatalf("%v\n%s", err, o.Policy.Name)
		}
		outcomes[report.Outcome]++
		out := plan.Result(tr)
		subsequence(t, tr, out)
		wholeCalls(t, tr, out)
		limited := !within(tr, o.Limits)
		if limited {
			byLimits[report.Outcome]++
		}
		if report.Outcome != pemmican.Refused && !within(out, o.Limits) {
			t.Fatalf("%s: %s, but it has %+v of %+v", report.Outcome, report.Reason, loadOf(out), o.Limits)
		}
		switch report.Outcome {
		case pemmican.Unchanged, pemmican.Refused:
			if !plan.Empty() {
				t.Fatalf("outcome %s with a plan", report.Outcome)
			}
			return
		}
		live := 0
		for i := range out.Blocks {
			live += quarter{}.Count(&out.Blocks[i])
		}
		// A line that stands for a picture in a result is a part of the result's text, which counts once less, or with a line end more.
		if want := live + report.TokensBefore - sum(tr); want > report.TokensAfter+report.Blocks.Stubbed || want < report.TokensAfter-report.Blocks.Stubbed {
			t.Fatalf("the report says %d tokens after, and they are %d", report.TokensAfter, want)
		}
		blocks, saved := 0, 0
		for _, stage := range report.Stages {
			blocks, saved = blocks+stage.Blocks, saved+stage.TokensSaved
		}
		if report.Summary != nil {
			saved -= report.Summary.Tokens
		}
		if blocks != report.Blocks.Stubbed+report.Blocks.Dropped || saved != report.TokensBefore-report.TokensAfter {
			t.Fatalf("the stages do not add up to the whole: %+v", report)
		}
		if !o.Policy.BestEffort && report.TokensAfter > o.Target {
			t.Fatalf("%d tokens are over the target of %d", report.TokensAfter, o.Target)
		}
		again, second, err := pemmican.Compact(t.Context(), out, o)
		if err != nil {
			t.Fatal(err)
		}
		if limited && !again.Empty() && second.TokensBefore <= o.Target {
			t.Fatalf("a second compaction to the limits is %s: %s; the first was %s: %s", second.Outcome, second.Reason, report.Outcome, report.Reason)
		}
		if over := second.TokensBefore - o.Target; !o.Policy.BestEffort && !again.Empty() && over > report.Blocks.Stubbed { // counts round up
			t.Fatalf("a second compaction to %d tokens is %s: %s; the first was %s: %s", o.Target, second.Outcome, second.Reason, report.Outcome, report.Reason)
		}
	}
	for range 15 { // some outcomes are rare
		rapid.Check(t, check)
	}
	t.Log("outcomes:", outcomes, "over a limit:", byLimits)
	for _, o := range []pemmican.Outcome{pemmican.Reduced, pemmican.Summarised, pemmican.Refused} {
		if byLimits[o] == 0 {
			t.Errorf("no case over a limit had the outcome %s", o)
		}
	}
	for _, o := range []pemmican.Outcome{pemmican.Unchanged, pemmican.Reduced, pemmican.Summarised, pemmican.FellBack, pemmican.Refused} {
		if outcomes[o] == 0 {
			t.Errorf("no case had the outcome %s", o)
		}
	}
}

func sum(tr *pemmican.Transcript) (n int) {
	for i := range tr.Blocks {
		n += quarter{}.Count(&tr.Blocks[i])
	}
	return n
}

// subsequence fails if out has anything but the summary that does not come from tr in order. Stubs keep kind and id.
func subsequence(t *rapid.T, tr, out *pemmican.Transcript) {
	at := 0
	for i := range out.Blocks {
		b := &out.Blocks[i]
		if b.Kind == pemmican.Summary {
			continue
		}
		for at < len(tr.Blocks) && !comesFrom(b, &tr.Blocks[at]) {
			at++
		}
		if at == len(tr.Blocks) {
			t.Fatalf("block %d of the result, %s %.40q, is not where it was", i, b.Kind, b.Text)
		}
		at++
	}
}

func comesFrom(b, from *pemmican.Block) bool {
	return b.Kind == from.Kind && b.CallID == from.CallID && b.Tool == from.Tool ||
		b.Kind == pemmican.Text && from.Kind == pemmican.Media
}

// wholeCalls fails if the result has more unpaired calls or results than the input.
func wholeCalls(t *rapid.T, tr, out *pemmican.Transcript) {
	before, after := unpaired(tr), unpaired(out)
	if after > before {
		t.Fatalf("%d unpaired before, %d after", before, after)
	}
}

func unpaired(tr *pemmican.Transcript) int {
	open, lost := map[string]int{}, 0
	for i := range tr.Blocks {
		switch b := &tr.Blocks[i]; b.Kind {
		case pemmican.ToolCall:
			open[b.CallID]++
		case pemmican.ToolResult:
			if open[b.CallID]--; open[b.CallID] < 0 {
				open[b.CallID] = 0
				lost++
			}
		}
	}
	for _, n := range open {
		lost += n
	}
	return lost
}

func TestCompactIsDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTranscript(t)
		o := drawOptions(t, tr)
		a, ra, err := pemmican.Compact(t.Context(), tr, o)
		if err != nil {
			t.Fatal(err)
		}
		b, rb, err := pemmican.Compact(t.Context(), tr, o)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(ra, rb) {
			t.Fatal("two runs differ")
		}
	})
}
