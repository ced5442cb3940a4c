package pemmican_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/preset"
)

// The tests of this file are rows of the behaviour that Pemmican unites, by their ids: O for order and pairing, L for
// loops and anchors, T for triggers and cuts, X and P for the rest. Each is small enough to be followed by hand.

// quarter counts as the systems that divide characters by four do.
type quarter struct{}

func (quarter) Count(b *pemmican.Block) int {
	n := len([]rune(b.Text)) + len(b.Tool) + len(b.Args)
	if b.Kind == pemmican.Media {
		n = 4800
	}
	return (n + 3) / 4
}

// ascii35 counts as the agent server behind preset prune does: ASCII by 3.5, everything else one for each UTF-16 unit.
type ascii35 struct{}

func (ascii35) Count(b *pemmican.Block) int { return count35(b.Text + b.Tool + b.Args) }

func count35(s string) int {
	ascii, other := 0, 0
	for _, r := range s {
		switch {
		case r < 128:
			ascii++
		case r > 0xffff:
			other += 2
		default:
			other++
		}
	}
	return (ascii*2+6)/7 + other
}

// written is a summariser that writes always the same, and counts its calls.
type written struct {
	text  string
	err   error
	calls int
	last  pemmican.SummaryRequest
}

func (w *written) Summarize(_ context.Context, r pemmican.SummaryRequest) (pemmican.SummaryText, error) {
	w.calls++
	w.last = r
	return pemmican.SummaryText{Body: w.text, Kind: "test"}, w.err
}

// script builds a transcript from a line of words: q1, q2 … and other words are messages of the person, STEER and nN
// too (nN by the runtime), cN a step with that call, cN+cM one with both, oN a result. A step's results follow it.
func script(t *testing.T, line string) *pemmican.Transcript {
	t.Helper()
	var tr pemmican.Transcript
	for word := range strings.FieldsSeq(line) {
		switch {
		case word[0] == 'c':
			var calls []pemmican.Block
			for id := range strings.SplitSeq(word, "+") {
				calls = append(calls, pemmican.Call(id[1:], "tool", `{"n":`+id[1:]+`}`))
			}
			tr.AddAssistant("", calls...)
		case word[0] == 'o':
			tr.AddResult(word[1:], "result "+word[1:]+strings.Repeat(" and more of it", 20))
		case word[0] == 'n':
			tr.AddNudge(word)
		case word == "bare":
			tr.AddAssistant("", pemmican.Call("", "tool", "{}"))
		default:
			tr.AddUser(word)
		}
	}
	return &tr
}

// order tells a result in the words of script; MARK is the summary.
func order(tr *pemmican.Transcript) string {
	var words []string
	joined := false
	for i := range tr.Blocks {
		b := &tr.Blocks[i]
		switch b.Kind {
		case pemmican.Summary:
			words = append(words, "MARK")
		case pemmican.ToolCall:
			id := "c" + b.CallID
			if b.CallID == "" {
				id = "bare"
			}
			if joined && tr.Blocks[i-1].Message == b.Message {
				words[len(words)-1] += "+" + id
			} else {
				words = append(words, id)
			}
			joined = true
			continue
		case pemmican.ToolResult:
			words = append(words, "o"+b.CallID)
		case pemmican.Opaque:
			words = append(words, "ref"+b.CallID)
		default:
			words = append(words, b.Text)
		}
		joined = false
	}
	return strings.Join(words, " ")
}

// compact runs Compact and fails the test on an error. A policy with BestEffort and a target of one token is what the
// sources call always over.
func compact(t *testing.T, tr *pemmican.Transcript, o pemmican.Options) (*pemmican.Transcript, *pemmican.Plan, *pemmican.Report) {
	t.Helper()
	before := fmt.Sprint(*tr)
	plan, report, err := pemmican.Compact(t.Context(), tr, o)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(*tr) != before {
		t.Fatal("the transcript was changed")
	}
	return plan.Result(tr), plan, report
}

// prune is preset prune with the two paths that the rows speak of.
func prune(summarizer pemmican.Summarizer, target int) pemmican.Options {
	return pemmican.Options{Policy: new(preset.Prune()), Target: target, Counter: ascii35{}, Summarizer: summarizer}
}

func TestO1toO8(t *testing.T) {
	rows := []struct{ id, in, want string }{
		{"O1", "q c1 o1 c2 o2 c3 o3 STEER c4 o4 c5 o5", "q MARK STEER c4 o4 c5 o5"},
		{"O2", "q c1+c2 o1 o2 c3+c4 o3 o4", "q MARK c3+c4 o3 o4"},
		{"O3", "q c1 o1 STEER c2 o2 c3 o3 c4 o4", "q MARK STEER c3 o3 c4 o4"},
		{"O4", "q c1+c2+c3 o1 o2 o3", "q c1+c2+c3 o1 o2 o3"},
		{"O5", "q c1 o1 n1 c2 o2 n2 c3 o3 c4 o4", "q MARK n1 n2 c3 o3 c4 o4"},
		{"O6", "q c1 o1 c2 o2 c3 o3 STEER", "q MARK c2 o2 c3 o3 STEER"},
		{"O7", "q c1 o1 c2 o2 c3 o3 c4 o4 bare", "q MARK c3 o3 c4 o4 bare"},
		{"O8", "c1 o1 c2 o2 c3 o3", "MARK c2 o2 c3 o3"},
	}
	for _, row := range rows {
		t.Run(row.id+"/drop", func(t *testing.T) {
			out, _, _ := compact(t, script(t, row.in), prune(nil, 1))
			if got := order(out); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
		t.Run(row.id+"/summary", func(t *testing.T) {
			out, _, _ := compact(t, script(t, row.in), prune(&written{text: "what happened"}, 1))
			if got := order(out); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestO10_NoOrphanAfterDrop(t *testing.T) {
	out, _, _ := compact(t, script(t, "q c1 o1 c2 o2 c3 o3 c4 o4"), prune(nil, 1))
	if got, want := order(out), "q MARK c3 o3 c4 o4"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestO11_KeepLastTwoCalls(t *testing.T) {
	for pairs, want := range map[int]string{5: "q MARK c4 o4 c5 o5", 6: "q MARK c5 o5 c6 o6"} {
		line := "q"
		for i := range pairs {
			line += fmt.Sprintf(" c%d o%d", i+1, i+1)
		}
		out, plan, _ := compact(t, script(t, line), prune(nil, 1))
		if got := order(out); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if wish := fmt.Sprintf("%d tool calls", pairs-2); !strings.Contains(plan.Summary, wish) {
			t.Errorf("the marker %q does not say %q", plan.Summary, wish)
		}
	}
}

func TestO12_StopAsSoonAsUnder(t *testing.T) {
	tr := script(t, "q c1 o1 c2 o2 c3 o3 c4 o4 c5 o5")
	_, _, all := compact(t, tr, prune(nil, 1_000_000))
	out, _, _ := compact(t, tr, prune(nil, all.TokensBefore-10))
	if got, want := order(out), "q MARK c2 o2 c3 o3 c4 o4 c5 o5"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestO13_LeadingItemsStay(t *testing.T) {
	out, _, _ := compact(t, script(t, "q1 q2 c1 o1 c2 o2 c3 o3"), prune(nil, 1))
	if got, want := order(out), "q1 q2 MARK c2 o2 c3 o3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestO14_ReferenceGoesWithItsPair(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("q")
	for _, id := range []string{"1", "2", "3", "4"} {
		tr.AddAssistant("", pemmican.Call(id, "tool", "{}"))
		tr.Add(pemmican.Tool,
			pemmican.Block{Kind: pemmican.Opaque, CallID: id, Bytes: 400},
			pemmican.Block{Kind: pemmican.ToolResult, CallID: id, Text: strings.Repeat("result ", 40)})
	}
	out, _, _ := compact(t, &tr, prune(nil, 1))
	if got, want := order(out), "q MARK c3 ref3 o3 c4 ref4 o4"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestO15_FewerThanThreeCallsStay(t *testing.T) {
	s := &written{text: "summary"}
	out, plan, report := compact(t, script(t, "q c1 o1"), prune(s, 1))
	if got := order(out); got != "q c1 o1" || !plan.Empty() || s.calls != 0 || report.Outcome != pemmican.Unchanged {
		t.Errorf("got %q after %d calls, outcome %s", got, s.calls, report.Outcome)
	}
}

func TestO16_Empty(t *testing.T) {
	plan, report, err := pemmican.Compact(t.Context(), &pemmican.Transcript{}, prune(nil, 1))
	if err != nil || !plan.Empty() || report.Outcome != pemmican.Unchanged {
		t.Errorf("got %v, %v, %v", plan, report, err)
	}
}

// O17 is also tested by compact for every other row.
func TestO17_InputIsNotChanged(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("q")
	tr.AddAssistant("", pemmican.Call("1", "tool", "{}"))
	tr.AddResult("1", strings.Repeat("x", 5000))
	out, plan, _ := compact(t, &tr, prune(nil, 1))
	if len(out.Blocks[2].Text) > 600 || len(tr.Blocks[2].Text) != 5000 {
		t.Errorf("lengths %d and %d", len(out.Blocks[2].Text), len(tr.Blocks[2].Text))
	}
	out.Blocks[0].Text = "changed"
	plan.Marks[0].Action = pemmican.Drop
	if tr.Blocks[0].Text != "q" {
		t.Error("a change of the result reached the input")
	}
}

// tools are the roles that the rows of system 001 speak of.
var tools = pemmican.Tools{
	"read_file":    {Role: pemmican.ReadTool, Path: []string{"path"}, Range: []string{"offset", "limit"}},
	"edit_file":    {Role: pemmican.EditTool, Path: []string{"path"}},
	"write_file":   {Role: pemmican.EditTool, Path: []string{"path"}},
	"manage_tasks": {Role: pemmican.PlanTool},
	"grep":         {Role: pemmican.SearchTool, Path: []string{"path"}},
	"list_dir":     {Role: pemmican.ListTool, Path: []string{"path"}},
	"run_shell":    {Role: pemmican.RunTool},
}

func anchored(keep, anchors int) pemmican.Options {
	p := preset.Anchored()
	p.TailMessages, p.AnchorMessages = keep, anchors
	return pemmican.Options{Policy: &p, Target: 1, Counter: quarter{}, Summarizer: &written{text: "what happened"}, Tools: tools}
}

// pad adds n messages of a plain conversation, beginning with the other side.
func pad(tr *pemmican.Transcript, n int) {
	for range n {
		text := fmt.Sprintf("message %d of a conversation", len(tr.Messages)) + strings.Repeat(" that goes on for a while", 20)
		if len(tr.Messages)%2 == 0 {
			tr.AddUser(text)
		} else {
			tr.AddAssistant(text)
		}
	}
}

func has(tr *pemmican.Transcript, text string) bool {
	for i := range tr.Blocks {
		if tr.Blocks[i].Kind != pemmican.Summary && (strings.Contains(tr.Blocks[i].Text, text) || strings.Contains(tr.Blocks[i].Args, text)) {
			return true
		}
	}
	return false
}

func TestO18_PairAcrossTheBoundary(t *testing.T) {
	var tr pemmican.Transcript
	pad(&tr, 3)
	tr.AddAssistant("", pemmican.Call("x", "run_shell", `{"command":"make"}`))
	tr.AddResult("x", strings.Repeat("output ", 50))
	pad(&tr, 5)
	if len(tr.Messages) != 10 {
		t.Fatal("the row speaks of ten messages")
	}
	out, _, _ := compact(t, &tr, anchored(6, 8))
	call, result := -1, -1
	for i := range out.Blocks {
		switch out.Blocks[i].Kind {
		case pemmican.ToolCall:
			call = i
		case pemmican.ToolResult:
			result = i
		}
	}
	if call < 0 || result != call+1 {
		t.Errorf("call at %d, result at %d", call, result)
	}
}

func TestO19_AnchoredResultHasItsCall(t *testing.T) {
	var tr pemmican.Transcript
	pad(&tr, 1)
	tr.AddAssistant("", pemmican.Call("x", "run_shell", `{"command":"make"}`))
	tr.AddError("x", "error: nothing to make")
	pad(&tr, 9)
	out, _, _ := compact(t, &tr, anchored(6, 8))
	if has(out, "nothing to make") != has(out, `"make"`) {
		t.Error("one of a pair is kept")
	}
}

// pairs adds failing or working calls as pairs of messages.
func pairs(tr *pemmican.Transcript, n int, tool, args, result string, failed bool) {
	for range n {
		id := fmt.Sprintf("p%d", len(tr.Messages))
		tr.AddAssistant("", pemmican.Call(id, tool, strings.ReplaceAll(args, "#", id)))
		tr.Add(pemmican.Tool, pemmican.Block{Kind: pemmican.ToolResult, CallID: id, Text: strings.ReplaceAll(result, "#", id), Error: failed})
	}
}

func older(out *pemmican.Transcript, recent int) (n int) {
	for _, m := range out.Messages {
		if out.Blocks[m.First].Kind != pemmican.Summary {
			n++
		}
	}
	return n - recent
}

func TestL1_LoneErrorIsNoAnchor(t *testing.T) {
	var tr pemmican.Transcript
	pad(&tr, 1)
	pairs(&tr, 1, "run_shell", `{"command":"make"}`, "error: no rule to make target", true)
	pad(&tr, 9)
	o := anchored(6, 8)
	out, _, _ := compact(t, &tr, o)
	if has(out, "no rule") {
		t.Error("a lone error stayed verbatim")
	}
	sum := o.Summarizer.(*written)
	found := false
	for _, i := range sum.last.Dropped {
		found = found || strings.Contains(tr.Blocks[i].Text, "no rule")
	}
	if !found {
		t.Error("the summariser did not see the error")
	}
}

func TestL2_TwoDistinctErrorsAreAnAnchor(t *testing.T) {
	var tr pemmican.Transcript
	pad(&tr, 1)
	tr.AddAssistant("", pemmican.Call("x", "run_shell", "{}"), pemmican.Call("y", "run_shell", "{}"))
	tr.AddError("x", "error: no rule to make target")
	tr.AddError("y", "permission denied")
	pad(&tr, 9)
	out, _, _ := compact(t, &tr, anchored(6, 8))
	if !has(out, "no rule") || !has(out, "permission denied") {
		t.Error("two distinct errors of one step are not kept")
	}
}

func TestL3_FailingShellLoop(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("make it work")
	pairs(&tr, 8, "run_shell", `{"command":"make #"}`, "error: exit status 2 in step 17 of /tmp/build", true)
	pad(&tr, 2)
	out, _, report := compact(t, &tr, anchored(2, 8))
	if n := older(out, 2) - 1; n > 2 {
		t.Errorf("%d messages of the loop stayed", n)
	}
	if report.TokensAfter >= report.TokensBefore || report.Blocks.Dropped < 14 {
		t.Errorf("from %d to %d tokens, %d dropped", report.TokensBefore, report.TokensAfter, report.Blocks.Dropped)
	}
}

func TestL4_FailingEditLoop(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("make it work")
	pairs(&tr, 8, "edit_file", `{"path":"a.go","old":"#"}`, "error: text not found", true)
	pad(&tr, 2)
	out, _, _ := compact(t, &tr, anchored(2, 8))
	if n := older(out, 2) - 1; n > 2 {
		t.Errorf("%d messages of the loop stayed", n)
	}
	if !has(out, "text not found") {
		t.Error("the last failing pair is gone")
	}
}

func TestL5_CapIsABound(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("make it work")
	pairs(&tr, 12, "edit_file", `{"path":"#.go"}`, "done with #", false)
	pad(&tr, 2)
	out, _, _ := compact(t, &tr, anchored(2, 4))
	if n := older(out, 2) - 1; n != 4 {
		t.Errorf("%d older messages stayed, want 4", n)
	}
	if !has(out, "p23") || !has(out, "p21") || has(out, "p19") {
		t.Error("not the newest two pairs stayed")
	}
}

func TestL6_CapZeroIsZero(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("make it work")
	pairs(&tr, 12, "edit_file", `{"path":"#.go"}`, "done with #", false)
	pad(&tr, 2)
	out, _, _ := compact(t, &tr, anchored(2, 0))
	if n := older(out, 2); n != 1 || !has(out, "make it work") {
		t.Errorf("%d older messages stayed, want the task alone", n)
	}
}

func TestL7_TaskStays(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("the task itself, word for word")
	pad(&tr, 11)
	out, _, _ := compact(t, &tr, anchored(6, 1))
	if !has(out, "the task itself, word for word") {
		t.Error("the task is gone")
	}
}

// read adds a pair that reads path, with more arguments if there are any.
func read(tr *pemmican.Transcript, tool, args, text string, failed bool) {
	id := fmt.Sprintf("r%d", len(tr.Messages))
	tr.AddAssistant("", pemmican.Call(id, tool, args))
	tr.Add(pemmican.Tool, pemmican.Block{Kind: pemmican.ToolResult, CallID: id, Text: text, Error: failed})
}

// results are the texts of the results that are left, in order.
func results(tr *pemmican.Transcript) (out []string) {
	for i := range tr.Blocks {
		if tr.Blocks[i].Kind == pemmican.ToolResult {
			out = append(out, tr.Blocks[i].Text)
		}
	}
	return out
}

func TestL10toL15_Superseded(t *testing.T) {
	long := func(s string) string { return s + strings.Repeat(" line of the file", 40) }
	stubbed := func(s string) bool { return strings.HasPrefix(s, "[superseded") }
	rows := []struct {
		id    string
		build func(tr *pemmican.Transcript)
		want  []bool // for each result: is it a stub?
	}{
		{"L10 same path", func(tr *pemmican.Transcript) {
			read(tr, "read_file", `{"path":"a.ts"}`, long("old"), false)
			read(tr, "read_file", `{"path":"a.ts"}`, long("new"), false)
		}, []bool{true, false}},
		{"L11 an error supersedes nothing", func(tr *pemmican.Transcript) {
			read(tr, "read_file", `{"path":"a.ts"}`, long("failed"), true)
			read(tr, "read_file", `{"path":"a.ts"}`, long("new"), false)
		}, []bool{false, false}},
		{"L13 other range", func(tr *pemmican.Transcript) {
			read(tr, "read_file", `{"path":"a.ts","offset":0,"limit":40}`, long("one"), false)
			read(tr, "read_file", `{"path":"a.ts","offset":50,"limit":40}`, long("two"), false)
		}, []bool{false, false}},
		{"L13 same range", func(tr *pemmican.Transcript) {
			read(tr, "read_file", `{"path":"a.ts","offset":10,"limit":20}`, long("one"), false)
			read(tr, "read_file", `{"limit":20,"path":"a.ts","offset":10}`, long("two"), false)
		}, []bool{true, false}},
		{"L14 grep, keys in another order", func(tr *pemmican.Transcript) {
			read(tr, "grep", `{"pattern":"x","path":"src"}`, long("one"), false)
			read(tr, "grep", `{ "path": "src", "pattern": "x" }`, long("two"), false)
		}, []bool{true, false}},
		{"L14 list, other arguments", func(tr *pemmican.Transcript) {
			read(tr, "list_dir", `{"path":"src"}`, long("one"), false)
			read(tr, "list_dir", `{"path":"lib"}`, long("two"), false)
		}, []bool{false, false}},
		{"L15 run", func(tr *pemmican.Transcript) {
			read(tr, "run_shell", `{"command":"make"}`, long("one"), false)
			read(tr, "run_shell", `{"command":"make"}`, long("two"), false)
		}, []bool{false, false}},
		{"unknown tool", func(tr *pemmican.Transcript) {
			read(tr, "mystery", `{"path":"a.ts"}`, long("one"), false)
			read(tr, "mystery", `{"path":"a.ts"}`, long("two"), false)
		}, []bool{false, false}},
	}
	for _, row := range rows {
		t.Run(row.id, func(t *testing.T) {
			var tr pemmican.Transcript
			tr.AddUser("look around")
			row.build(&tr)
			out, plan, _ := compact(t, &tr, anchored(6, 8))
			got := results(out)
			for i, want := range row.want {
				if stubbed(got[i]) != want {
					t.Errorf("result %d is %.60q, stub: want %v", i, got[i], want)
				}
			}
			if row.want[0] && (!strings.Contains(got[0], "characters left out") || row.id[:3] == "L10" && !strings.Contains(got[0], "a.ts")) {
				t.Errorf("the stub %q does not name path and size", got[0])
			}
			_ = plan
		})
	}
}

func TestL12_SoleKeptReadStays(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("look around")
	body := strings.Repeat("line of the file ", 40)
	// An edit that reads in the same step anchors the older read; the newer one goes into the summary.
	tr.AddAssistant("", pemmican.Call("a", "edit_file", `{"path":"b.ts"}`), pemmican.Call("b", "read_file", `{"path":"a.ts"}`))
	tr.AddResult("a", "done")
	tr.AddResult("b", "older "+body)
	read(&tr, "read_file", `{"path":"a.ts"}`, "newer "+body, false)
	pad(&tr, 8)
	out, _, _ := compact(t, &tr, anchored(6, 8))
	if !has(out, "older "+body) {
		t.Error("the only read that is kept is not whole")
	}
	if has(out, "newer") {
		t.Error("the newer read was to go")
	}
}

func TestL16_Floor(t *testing.T) {
	var tr pemmican.Transcript
	pad(&tr, 7)
	if _, plan, _ := compact(t, &tr, anchored(6, 8)); !plan.Empty() {
		t.Error("seven messages were compacted")
	}
	pad(&tr, 1)
	if _, plan, _ := compact(t, &tr, anchored(6, 8)); plan.Summary == "" {
		t.Error("eight messages were not compacted")
	}
}

func TestL17_Images(t *testing.T) {
	picture := func(name string) pemmican.Block {
		return pemmican.Block{Kind: pemmican.Media, Media: pemmican.MediaInfo{Type: "image/png", Width: 640, Height: 480, Name: name}, Bytes: 90_000}
	}
	for _, messages := range []int{7, 12} { // below the floor too
		var tr pemmican.Transcript
		tr.Add(pemmican.User, pemmican.Block{Text: "what is this?"}, picture("old.png"))
		pad(&tr, messages-2)
		tr.Add(pemmican.User, pemmican.Block{Text: "and this?"}, picture("new.png"))
		o := anchored(6, 8)
		out, _, report := compact(t, &tr, o)
		media := 0
		for i := range out.Blocks {
			if out.Blocks[i].Kind == pemmican.Media {
				media++
			}
		}
		if media != 1 || !has(out, "old.png") || !has(out, "image/png") || !has(out, "message 1") {
			t.Errorf("%d messages: %d pictures are left (%s: %s)", messages, media, report.Outcome, report.Reason)
		}
	}
}

func TestX30_StraddlingPartnerCounts(t *testing.T) {
	var tr pemmican.Transcript
	pad(&tr, 3)
	pairs(&tr, 1, "edit_file", `{"path":"old.go"}`, "edited", false)
	pad(&tr, 4)
	tr.AddAssistant("", pemmican.Call("s", "run_shell", `{"command":"make"}`))
	tr.AddResult("s", "made")
	tr.AddAssistant("all is done now")
	out, _, _ := compact(t, &tr, anchored(2, 1))
	if !has(out, `"make"`) || has(out, "old.go") {
		t.Error("the straddling call must stay, and the older edit go")
	}
}

func TestT4_PersonsMessagesVerbatim(t *testing.T) {
	build := func(sizes ...int) *pemmican.Transcript {
		var tr pemmican.Transcript
		for i, n := range sizes {
			tr.AddUser(strings.Repeat(string(rune('a'+i)), n))
			id := fmt.Sprint(i)
			tr.AddAssistant("", pemmican.Call(id, "tool", "{}"))
			tr.AddResult(id, strings.Repeat("result ", 100))
		}
		return &tr
	}
	handoff := func(budget int) pemmican.Options {
		p := preset.Handoff()
		p.PersonBytes = budget
		return pemmican.Options{Policy: &p, Target: 1, Counter: quarter{}, Summarizer: &written{text: "state"}}
	}
	// The system that the preset is after keeps the last two and loses the first task; here the task stays.
	out, _, _ := compact(t, build(30, 30, 30), handoff(65))
	if got, want := order(out), strings.Repeat("a", 30)+" "+strings.Repeat("c", 30)+" MARK"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	out, _, _ = compact(t, build(500), handoff(10))
	if got, want := order(out), strings.Repeat("a", 500)+" MARK"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestT5_TaskOnce(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("the task")
	tr.AddAssistant("", pemmican.Call("1", "tool", "{}"))
	tr.AddResult("1", strings.Repeat("result ", 100))
	p := preset.Handoff()
	out, _, _ := compact(t, &tr, pemmican.Options{Policy: &p, Target: 1, Counter: quarter{}, Summarizer: &written{text: "state"}})
	if got := order(out); got != "the task MARK" {
		t.Errorf("got %q", got)
	}
}

// tail is the index of the first message that a checkpoint keeps for being recent; -1 if nothing goes.
func tail(t *testing.T, tr *pemmican.Transcript, keep int) int {
	t.Helper()
	p := preset.Checkpoint()
	p.TailTokens = keep
	_, plan, _ := compact(t, tr, pemmican.Options{Policy: &p, Target: 1, Counter: quarter{}, Summarizer: &written{text: "s"}})
	first := -1
	for i := len(plan.Marks) - 1; i >= 0; i-- {
		if !plan.Kept(i) {
			return first
		}
		first = tr.Blocks[i].Message
	}
	return -1
}

func TestT7_CutTable(t *testing.T) {
	var turns pemmican.Transcript
	for i := range 8 {
		text := strings.Repeat(string(rune('a'+i)), 4000)
		if i%2 == 0 {
			turns.AddUser(text)
		} else {
			turns.AddAssistant(text)
		}
	}
	// All sizes are a hundred times those of the table, so that a summary is always smaller than what it stands for.
	// The person's newest message, e6, stays here also where the tail begins behind it.
	for keep, want := range map[int]int{1: 6, 10: 6, 11: 6, 20: 6, 21: 5, 30: 5, 40: 4, 60: 2, 80: -1, 81: -1, 1000: -1} {
		if got := tail(t, &turns, keep*100); got != want {
			t.Errorf("keep %d: cut at e%d, want e%d", keep, got, want)
		}
	}
}

// bigTurn is one turn of a message, two steps with results of 100 tokens, and an answer.
func bigTurn() *pemmican.Transcript {
	var tr pemmican.Transcript
	tr.AddUser(strings.Repeat("q", 40))
	for _, id := range []string{"t1", "t2"} {
		tr.AddAssistant("", pemmican.Call(id, "read", `{"path":"`+strings.Repeat("p", 45)+`"}`))
		tr.AddResult(id, strings.Repeat("r", 400))
	}
	tr.AddAssistant(strings.Repeat("a", 40))
	return &tr
}

func TestO21_NeverCutAtAResult(t *testing.T) {
	for keep, want := range map[int]int{10: 5, 110: 5, 111: 3, 125: 3, 300: -1} {
		if got := tail(t, bigTurn(), keep); got != want {
			t.Errorf("keep %d: cut at e%d, want e%d", keep, got, want)
		}
	}
}

func TestO22_TrailingHugeResult(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser(strings.Repeat("u", 40))
	tr.AddAssistant(strings.Repeat("a", 400))
	tr.AddUser(strings.Repeat("u", 40))
	tr.AddAssistant("", pemmican.Call("1", "read", "{}"))
	tr.AddResult("1", strings.Repeat("r", 4000))
	// The newest message of the person stands directly before the step, so both stay; only the answer before goes.
	if got := tail(t, &tr, 500); got != 2 {
		t.Errorf("cut at e%d, want e2", got)
	}
}

func TestT17_CJKEstimate(t *testing.T) {
	for text, want := range map[string]int{strings.Repeat("世", 12): 12, strings.Repeat("x", 36): 11, "hello 世界": 4, "": 0, "xxxxxxx": 2} {
		if got := count35(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := count35(strings.Repeat("世", 1000)); got < 1000 {
		t.Errorf("1000 characters: %d", got)
	}
}

func TestT18_FirstStageIsEnough(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("q")
	tr.AddAssistant("", pemmican.Call("1", "tool", "{}"))
	tr.AddResult("1", strings.Repeat("x", 40_000))
	s := &written{text: "summary"}
	_, _, report := compact(t, &tr, prune(s, 5000))
	if s.calls != 0 || report.Outcome != pemmican.Reduced || report.TokensAfter > 238 {
		t.Errorf("%d calls, %s, %d tokens", s.calls, report.Outcome, report.TokensAfter)
	}
}

func TestT19_Boundary(t *testing.T) {
	for _, size := range []int{600, 601, 2000} {
		var tr pemmican.Transcript
		tr.AddUser("q")
		tr.AddAssistant("", pemmican.Call("1", "tool", "{}"))
		tr.AddResult("1", strings.Repeat("x", size))
		out, _, _ := compact(t, &tr, prune(nil, 1))
		got := len(out.Blocks[2].Text)
		if size <= 601 && got != size || size > 601 && got > 600 {
			t.Errorf("%d bytes became %d", size, got)
		}
		if _, again, _ := compact(t, out, prune(nil, 1)); !again.Empty() {
			t.Errorf("%d bytes: a second pass changes the result of the first", size)
		}
	}
}

func TestT25_SummaryCap(t *testing.T) {
	in := "q"
	for i := range 30 {
		in += fmt.Sprintf(" c%d o%d", i+1, i+1)
	}
	out, plan, _ := compact(t, script(t, in), prune(&written{text: strings.Repeat("word ", 4000)}, 1))
	if len(plan.Summary) >= 5000 || order(out) != "q MARK c29 o29 c30 o30" {
		t.Errorf("a summary of %d bytes, %s", len(plan.Summary), order(out))
	}
	for _, s := range []*written{{text: " \n"}, {err: errors.New("no room at the inn")}} {
		out, plan, report := compact(t, script(t, in), prune(s, 1))
		if report.Outcome != pemmican.FellBack || order(out) != "q MARK c29 o29 c30 o30" || !strings.Contains(plan.Summary, "28 tool calls") {
			t.Errorf("%s (%s), %s", report.Outcome, report.Reason, order(out))
		}
	}
}

func TestP7_NothingToDo(t *testing.T) {
	s := &written{text: "summary"}
	p := preset.Checkpoint()
	p.TailTokens = 20
	o := pemmican.Options{Policy: &p, Target: 1, Counter: quarter{}, Summarizer: s}
	var tr pemmican.Transcript
	pad(&tr, 2)
	if _, plan, report := compact(t, &tr, o); !plan.Empty() || s.calls != 0 || report.Outcome != pemmican.Unchanged {
		t.Errorf("the tail covers all: %s, %d calls", report.Outcome, s.calls)
	}
	pad(&tr, 8)
	out, plan, _ := compact(t, &tr, o)
	if plan.Summary == "" || s.calls != 1 {
		t.Fatal("ten messages were not compacted")
	}
	if _, plan, report := compact(t, out, o); !plan.Empty() || s.calls != 1 {
		t.Errorf("just compacted, and again: %s (%s), %d calls", report.Outcome, report.Reason, s.calls)
	}
}

func TestP11_NoStacking(t *testing.T) {
	for _, name := range preset.Names() {
		t.Run(name, func(t *testing.T) {
			p, _ := preset.ByName(name)
			p.TailTokens = min(p.TailTokens, 30)
			o := pemmican.Options{Policy: &p, Target: 150, Counter: quarter{}, Summarizer: &written{text: "it went well"}, Tools: tools}
			var tr pemmican.Transcript
			tr.AddUser("the task itself, word for word")
			more := func() {
				for i := range 5 {
					tr.AddUser(fmt.Sprintf("go on with part %d", len(tr.Messages)))
					id := fmt.Sprintf("x%d", len(tr.Messages)+i)
					tr.AddAssistant("", pemmican.Call(id, "run_shell", `{"command":"make"}`))
					tr.AddResult(id, strings.Repeat("some output ", 30))
					tr.AddAssistant("done with it")
				}
			}
			for round := range 3 {
				more()
				out, plan, report := compact(t, &tr, o)
				if plan.Summary == "" {
					t.Fatalf("round %d: %s: %s", round, report.Outcome, report.Reason)
				}
				summaries := 0
				for i := range out.Blocks {
					if out.Blocks[i].Kind == pemmican.Summary {
						summaries++
					}
				}
				if summaries != 1 || !has(out, "the task itself, word for word") {
					t.Fatalf("round %d: %d summaries, %s", round, summaries, order(out))
				}
				tr = *out
			}
		})
	}
}

// A system message in the middle of a conversation goes with the step behind it: providers that take one there want it
// directly before an answer.
func TestReminderGoesWithItsStep(t *testing.T) {
	tr := script(t, "q c1 o1 c2 o2 c3 o3 c4 o4")
	var out pemmican.Transcript
	for i, m := range tr.Messages {
		if i == 1 || i == 7 {
			out.AddSystem(fmt.Sprintf("reminder before message %d", i))
		}
		out.Add(m.Role, tr.Blocks[m.First:m.End]...)
	}
	got, _, _ := compact(t, &out, prune(nil, 1))
	if want := "q MARK c3 o3 reminder before message 7 c4 o4"; order(got) != want {
		t.Errorf("got %q, want %q", order(got), want)
	}
}

// A call that nothing answers must not hold up a compaction, once the conversation has gone on without it (ORPH-08); one
// that is still to be answered stays.
func TestDeadCall(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("q")
	tr.AddAssistant("", pemmican.Call("dead", "tool", "{}"))
	pad(&tr, 20)
	tr.AddAssistant("", pemmican.Call("open", "tool", "{}"))
	o := pemmican.Options{Target: 1500, Counter: quarter{}}
	out, _, report := compact(t, &tr, o)
	if report.Outcome != pemmican.Summarised || strings.Contains(order(out), "cdead") || !strings.Contains(order(out), "copen") {
		t.Errorf("%s (%s): %s", report.Outcome, report.Reason, order(out))
	}
}

// One answer to many calls of one id is paired in time that grows with their number.
func TestManyEqualIDs(t *testing.T) {
	var tr pemmican.Transcript
	calls := make([]pemmican.Block, 200_000)
	for i := range calls {
		calls[i] = pemmican.Call("same", "tool", "{}")
	}
	tr.AddAssistant("", calls...)
	for range calls {
		tr.AddResult("same", "done")
	}
	partners := tr.Partners()
	for i := range calls {
		if partners[i] != i+len(calls) {
			t.Fatalf("call %d is answered by block %d", i, partners[i])
		}
	}
}
