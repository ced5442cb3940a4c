package pemmican_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/format/anthropic"
	"github.com/pemmican-dev/pemmican/format/openaichat"
	"github.com/pemmican-dev/pemmican/preset"
)

// The tests of this file are faults that users of compaction have reported in public, by their ids, as far as the engine
// decides them. What a format decides is tested there, and what a counter decides in package token.

// wide is a result of about that many tokens by quarter, no two lines alike.
func wide(tokens int) string {
	var b strings.Builder
	for i := 0; b.Len() < tokens*4; i++ {
		fmt.Fprintf(&b, "%d: func Step%d(ctx context.Context) error { return store.Save%d(ctx) }\n", i, i*7, i*13)
	}
	return b.String()[:tokens*4]
}

// rounds adds n steps with a result of that many tokens each.
func rounds(tr *pemmican.Transcript, n, tokens int) {
	for range n {
		id := fmt.Sprintf("call_%d", len(tr.Messages))
		tr.AddAssistant("", pemmican.Call(id, "run_shell", fmt.Sprintf(`{"command":"make step%d"}`, len(tr.Messages))))
		tr.AddResult(id, fmt.Sprint(len(tr.Messages), " ", wide(tokens)))
	}
}

// chatBody and messagesBody write a transcript as request bodies. Reasoning is signed in the second.
func chatBody(tr *pemmican.Transcript) []byte {
	var messages []map[string]any
	for _, m := range tr.Messages {
		out := map[string]any{"role": m.Role.String()}
		var text []string
		var calls []any
		for _, b := range tr.Blocks[m.First:m.End] {
			switch b.Kind {
			case pemmican.ToolCall:
				calls = append(calls, map[string]any{"id": b.CallID, "type": "function", "function": map[string]any{"name": b.Tool, "arguments": b.Args}})
			case pemmican.Reasoning:
				out["reasoning_content"] = b.Text
			default:
				text = append(text, b.Text)
			}
			if b.Kind == pemmican.ToolResult {
				out["tool_call_id"] = b.CallID
			}
		}
		if len(text) > 0 {
			out["content"] = strings.Join(text, "\n")
		} else {
			out["content"] = nil
		}
		if len(calls) > 0 {
			out["tool_calls"] = calls
		}
		messages = append(messages, out)
	}
	body, _ := json.Marshal(map[string]any{"model": "m", "messages": messages})
	return body
}

func messagesBody(tr *pemmican.Transcript) []byte {
	var messages []map[string]any
	var system string
	for _, m := range tr.Messages {
		var content []any
		for _, b := range tr.Blocks[m.First:m.End] {
			switch b.Kind {
			case pemmican.ToolCall:
				content = append(content, map[string]any{"type": "tool_use", "id": b.CallID, "name": b.Tool, "input": json.RawMessage(b.Args)})
			case pemmican.ToolResult:
				content = append(content, map[string]any{"type": "tool_result", "tool_use_id": b.CallID, "content": b.Text, "is_error": b.Error})
			case pemmican.Reasoning:
				content = append(content, map[string]any{"type": "thinking", "thinking": b.Text, "signature": "c2lnbmVk"})
			case pemmican.Media:
				content = append(content, map[string]any{"type": "image", "source": map[string]any{"type": "base64", "media_type": "image/png", "data": "AAAA"}})
			default:
				content = append(content, map[string]any{"type": "text", "text": b.Text})
			}
		}
		switch last := len(messages) - 1; {
		case m.Role == pemmican.System:
			system += tr.Blocks[m.First].Text
		case m.Role == pemmican.Assistant:
			messages = append(messages, map[string]any{"role": "assistant", "content": content})
		case m.Role == pemmican.Tool && last >= 0 && messages[last]["role"] == "user" && messages[last]["results"] != nil:
			messages[last]["content"] = append(messages[last]["content"].([]any), content...)
		default:
			messages = append(messages, map[string]any{"role": "user", "content": content})
			if m.Role == pemmican.Tool {
				messages[len(messages)-1]["results"] = true
			}
		}
	}
	for _, m := range messages {
		delete(m, "results")
	}
	body, _ := json.Marshal(map[string]any{"model": "m", "max_tokens": 1000, "system": system, "messages": messages})
	return body
}

// throughFormats compacts the transcript as request bodies of both wire formats, and fails if the provider would refuse
// what comes out, or if it is still too large.
func throughFormats(t *testing.T, tr *pemmican.Transcript, o pemmican.Options, want pemmican.Outcome) {
	t.Helper()
	for name, decode := range map[string]func() (format.Document, error){
		"chat":     func() (format.Document, error) { return openaichat.Decode(chatBody(tr)) },
		"messages": func() (format.Document, error) { return anthropic.Decode(messagesBody(tr)) },
	} {
		doc, err := decode()
		if err != nil {
			t.Fatal(err)
		}
		if f := doc.Check(); len(f) > 0 {
			t.Fatalf("%s: the input is refused: %v", name, f)
		}
		plan, report, err := pemmican.Compact(t.Context(), doc.Transcript(), o)
		if err != nil || report.Outcome != want {
			t.Fatalf("%s: %v, %+v", name, err, report)
		}
		out, err := doc.Apply(plan)
		if err != nil {
			t.Fatal(err)
		}
		var again format.Document
		if name == "chat" {
			again, err = openaichat.Decode(out)
		} else {
			again, err = anthropic.Decode(out)
		}
		if err != nil {
			t.Fatal(err)
		}
		if f := again.Check(); len(f) > 0 {
			t.Errorf("%s: the result is refused: %v", name, f)
		}
		if want != pemmican.Refused && sum(again.Transcript()) > o.Target {
			t.Errorf("%s: %d tokens are over the target of %d", name, sum(again.Transcript()), o.Target)
		}
	}
}

func TestORPH05_HalfAPairIsNoPlan(t *testing.T) {
	tr := script(t, "q c1 o1 c2 o2")
	plan := pemmican.NewPlan(tr)
	plan.Marks[1].Action = pemmican.Drop // the call, and not its result
	if err := pemmican.Verify(tr, plan, pemmican.Options{}); !errors.Is(err, pemmican.ErrPlan) {
		t.Errorf("half a pair is a plan: %v", err)
	}
	plan.Marks[2].Action = pemmican.Drop
	if err := pemmican.Verify(tr, plan, pemmican.Options{}); err != nil {
		t.Errorf("a whole pair: %v", err)
	}
}

func TestORPH10_WaitingCallStays(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("q")
	call := pemmican.Call("confirm", "ask", "{}")
	call.Pinned = true // it waits for the person
	tr.AddAssistant("", call)
	pad(&tr, 20)
	out, _, report := compact(t, &tr, pemmican.Options{Target: 1000, Counter: quarter{}})
	if report.Outcome != pemmican.Summarised || !strings.Contains(order(out), "cconfirm") {
		t.Errorf("%s: %s", report.Outcome, order(out))
	}
}

func TestORPH11_BudgetDropsWholeGroups(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("q")
	tr.AddAssistant("", pemmican.Call("c1", "write_file", fmt.Sprintf(`{"path":"a","text":%q}`, wide(4000))))
	tr.AddResult("c1", "written")
	rounds(&tr, 4, 300)
	throughFormats(t, &tr, pemmican.Options{Target: 1200, Counter: quarter{}, Summarizer: &written{text: "s"}}, pemmican.Summarised)
}

func TestORPH13_AllPartsOfACallGoTogether(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("q")
	tr.Add(pemmican.Assistant, pemmican.Call("c1", "tool", "{}"), pemmican.Block{Kind: pemmican.Opaque, CallID: "c1", Text: "approval asked"})
	tr.Add(pemmican.Tool, pemmican.Block{Kind: pemmican.Opaque, CallID: "c1", Text: "approval given"})
	tr.AddResult("c1", wide(500))
	rounds(&tr, 4, 300)
	out, _, _ := compact(t, &tr, pemmican.Options{Target: 900, Counter: quarter{}})
	if got := order(out); strings.Contains(got, "c1 ") || has(out, "approval") {
		t.Errorf("parts of a dropped call are left: %.200s", got)
	}
}

func TestORPH22_FirstMessageIsLegal(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("one turn of many steps")
	rounds(&tr, 60, 200)
	throughFormats(t, &tr, pemmican.Options{Target: 3000, Counter: quarter{}, Summarizer: &written{text: "s"}}, pemmican.Summarised)
}

func TestPAR01and04_NeverInsideABatch(t *testing.T) {
	tr := script(t, "q c0 o0 ca+cb oa ob c9 o9")
	plan := pemmican.NewPlan(tr)
	plan.Marks[1].Action, plan.Marks[2].Action = pemmican.Drop, pemmican.Drop
	plan.Summary = pemmican.Seal("s")
	for gap, ok := range map[int]bool{3: true, 4: false, 5: false, 6: false, 7: true} {
		plan.Gap = gap
		if err := pemmican.Verify(tr, plan, pemmican.Options{}); (err == nil) != ok {
			t.Errorf("gap %d: %v", gap, err)
		}
	}
	p := preset.Anchored()
	for keep := 1; keep < 5; keep++ {
		p.TailMessages = keep
		out, _, _ := compact(t, tr, pemmican.Options{Policy: &p, Target: 1, Counter: quarter{}})
		if got := order(out); strings.Contains(got, "oa") != strings.Contains(got, "ca+cb oa ob") {
			t.Errorf("keep %d: %s", keep, got)
		}
	}
}

func TestPAR02_InterleavedStepsAreOne(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("q")
	rounds(&tr, 2, 300)
	tr.AddAssistant("", pemmican.Call("x", "tool", "{}"))
	tr.AddAssistant("", pemmican.Call("y", "tool", "{}"))
	tr.AddResult("x", wide(300))
	tr.AddResult("y", wide(300))
	rounds(&tr, 2, 300)
	for target := 300; target < 2500; target += 100 {
		out, _, _ := compact(t, &tr, pemmican.Options{Target: target, Counter: quarter{}})
		if got := order(out); strings.Contains(got, "cx") != strings.Contains(got, "cx cy ox oy") {
			t.Errorf("target %d: %s", target, got)
		}
	}
}

func TestPAR05_LateResult(t *testing.T) {
	tr := script(t, "q ca+cb ob STEER oa c2 o2 c3 o3")
	p := preset.Prune()
	p.KeepMessages = false
	out, _, _ := compact(t, tr, pemmican.Options{Policy: &p, Target: 1, Counter: quarter{}})
	if got := order(out); strings.Contains(got, "oa") || strings.Contains(got, "ob") {
		t.Errorf("a part of the batch is left: %s", got)
	}
}

func TestPAR07_BatchOverTheWindow(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("read them all")
	var calls []pemmican.Block
	for i := range 4 {
		calls = append(calls, pemmican.Call(fmt.Sprint("c", i), "read_file", fmt.Sprintf(`{"path":"%d.go"}`, i)))
	}
	tr.AddAssistant("", calls...)
	for i := range 4 {
		tr.AddResult(fmt.Sprint("c", i), wide(40_000))
	}
	throughFormats(t, &tr, pemmican.Options{Window: 128_000, Target: 64_000, Counter: quarter{}}, pemmican.Reduced)
}

func TestORD01_SummaryBeforeTheTail(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddSystem("system")
	tr.AddUser("task")
	rounds(&tr, 10, 300)
	tr.AddUser("new input")
	out, _, _ := compact(t, &tr, pemmican.Options{Target: 1500, Counter: quarter{}, Summarizer: &written{text: "s"}})
	got := order(out)
	if !strings.HasPrefix(got, "system task MARK c") || !strings.HasSuffix(got, "new input") {
		t.Error(got)
	}
}

func TestORD02_FailedSummaryChangesNothing(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("task")
	rounds(&tr, 10, 300)
	for _, s := range []*written{{err: errors.New("no answer")}, {text: "\n\t "}} {
		_, plan, report := compact(t, &tr, pemmican.Options{Target: 1500, Counter: quarter{}, Summarizer: s})
		if !plan.Empty() || report.Outcome != pemmican.Refused || !strings.Contains(report.Reason, "full transcript") || s.calls != 1 {
			t.Errorf("%+v after %d calls", report, s.calls)
		}
	}
}

func TestORD04_NewestIsTheLast(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("task")
	rounds(&tr, 5, 300)
	tr.AddUser("older message")
	rounds(&tr, 5, 300)
	tr.AddUser("newest message")
	rounds(&tr, 5, 300)
	out, _, _ := compact(t, &tr, pemmican.Options{Target: 1000, Counter: quarter{}, Summarizer: &written{text: "s"}})
	if got := order(out); !strings.HasPrefix(got, "task MARK newest message c") {
		t.Error(got)
	}
}

func TestHUGE01to04and08_LargeResults(t *testing.T) {
	for _, row := range []struct {
		id             string
		window, result int
		results        int
	}{
		{"HUGE-01", 131_072, 420_000, 1},
		{"HUGE-02", 500_000, 482_000, 1},
		{"HUGE-04", 128_000, 200_000, 2},
		{"HUGE-08", 100_000, 60_000, 1},
	} {
		t.Run(row.id, func(t *testing.T) {
			var tr pemmican.Transcript
			tr.AddSystem(wide(row.window * 6 / 100))
			tr.AddUser("look")
			rounds(&tr, row.results, row.result)
			throughFormats(t, &tr, pemmican.Options{Window: row.window, Target: row.window / 2, Counter: quarter{}}, pemmican.Reduced)
		})
	}
}

func TestHUGE05_NewestMessageOverTheWindow(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("task")
	tr.AddAssistant("yes?")
	tr.AddUser("see: " + wide(330_000))
	out, plan, report := compact(t, &tr, pemmican.Options{Window: 128_000, Target: 64_000, Counter: quarter{}})
	text := out.Blocks[len(out.Blocks)-1].Text
	if report.TokensAfter > 64_000 || len(text) < 4*32_000 || !strings.Contains(text, "left out to save room") || !utf8.ValidString(text) {
		t.Errorf("%s, %d tokens, %d bytes", report.Outcome, report.TokensAfter, len(text))
	}
	if len(report.Warnings) != 1 || plan.Marks[2].Action != pemmican.Stub {
		t.Errorf("the outcome does not say so: %q", report.Warnings)
	}
	// One that fits is never cut, however small the target.
	_, plan, report = compact(t, &tr, pemmican.Options{Window: 1_000_000, Target: 64_000, Counter: quarter{}})
	if report.Outcome != pemmican.Refused || !plan.Empty() {
		t.Errorf("%+v", report)
	}
}

func TestHUGE07_TurnOverTheWindow(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("one turn")
	rounds(&tr, 60, 2500)
	throughFormats(t, &tr, pemmican.Options{Window: 125_000, Target: 62_500, Counter: quarter{}, Summarizer: &written{text: "s"}}, pemmican.Reduced)
	throughFormats(t, &tr, pemmican.Options{Window: 125_000, Target: 20_000, Counter: quarter{}, Summarizer: &written{text: "s"}}, pemmican.Summarised)
}

// billed counts media as a provider does that bills base64.
type billed struct{ quarter }

func (c billed) Count(b *pemmican.Block) int {
	if b.Kind == pemmican.Media {
		return b.Bytes * 4 / 3 / 4
	}
	return c.quarter.Count(b)
}

func TestIMG07and13_Pictures(t *testing.T) {
	var tr pemmican.Transcript
	picture := pemmican.Block{Kind: pemmican.Media, Media: pemmican.MediaInfo{Type: "image/png"}, Bytes: 300_000}
	for i := range 45 {
		tr.Add(pemmican.User, pemmican.Block{Text: fmt.Sprint("picture ", i)}, picture)
		tr.AddAssistant("seen")
	}
	if _, plan, _ := compact(t, &tr, pemmican.Options{Target: 100_000, Counter: quarter{}}); !plan.Empty() {
		t.Error("IMG-07: compacted by a flat price")
	}
	o := pemmican.Options{Window: 1_000_000, Target: 400_000, Counter: billed{}}
	out, _, report := compact(t, &tr, o)
	if report.TokensBefore < 4_000_000 || report.TokensAfter > 400_000 {
		t.Errorf("IMG-07: from %d to %d tokens", report.TokensBefore, report.TokensAfter)
	}
	out.Add(pemmican.User, pemmican.Block{Text: "one more"}, picture, picture)
	out.AddAssistant("seen")
	again, _, report := compact(t, out, o)
	if report.TokensAfter > 400_000 || order(again) == "" {
		t.Errorf("IMG-13: %+v", report)
	}
}

func TestUNI02and04_CutsAtEdges(t *testing.T) {
	for _, unit := range []string{"😀", "é", "👩‍👩‍👧", "e\u0301", "世界"} {
		for shift := range 5 {
			var tr pemmican.Transcript
			tr.AddUser("q")
			tr.AddAssistant("", pemmican.Call("1", "run_shell", "{}"))
			text := strings.Repeat("a", shift)
			for i := range 800 {
				text += fmt.Sprint(i) + unit
			}
			tr.AddResult("1", text)
			out, _, _ := compact(t, &tr, prune(nil, 1))
			got := out.Blocks[2].Text
			if len(got) > 600 || !utf8.ValidString(got) {
				t.Errorf("%q shifted by %d: %d bytes, valid %v", unit, shift, len(got), utf8.ValidString(got))
			}
		}
	}
}

func TestARG01to07_ArgumentsStayJSON(t *testing.T) {
	long := wide(500)
	for name, args := range map[string]string{
		"ARG-01":           fmt.Sprintf(`{"content":%q}`, long),
		"ARG-02":           fmt.Sprintf(`{"path":"src/main.go","code":%q}`, long),
		"ARG-05":           fmt.Sprintf(`{"patch":{"hunks":[%q,%q]}}`, long, long),
		"unicode":          fmt.Sprintf(`{"text":"%s"}`, strings.Repeat("😀世", 900)),
		"long key":         fmt.Sprintf(`{%q:1,"content":%q}`, long, long),
		"array":            fmt.Sprintf(`[%q]`, long),
		"scalar":           fmt.Sprintf(`%q`, long),
		"no JSON (ARG-04)": `{"a":"b` + long,
	} {
		t.Run(name, func(t *testing.T) {
			var tr pemmican.Transcript
			tr.AddUser("q")
			tr.AddAssistant("", pemmican.Call("1", "write_file", args))
			tr.AddResult("1", "written")
			rounds(&tr, 3, 200)
			p := pemmican.DefaultPolicy()
			p.TailTokens = 100
			out, plan, _ := compact(t, &tr, pemmican.Options{Policy: &p, Target: sum(&tr) - 50, Counter: quarter{}})
			got := out.Blocks[1].Args
			if strings.HasPrefix(name, "no JSON") {
				if plan.Marks[1].Action == pemmican.Stub {
					t.Errorf("what was no JSON was changed: %q", got)
				}
				return
			}
			if plan.Marks[1].Action != pemmican.Stub || !json.Valid([]byte(got)) || got[0] != args[0] {
				t.Errorf("%s: %.100q", plan.Marks[1].Action, got)
			}
			if !strings.Contains(got, "left out to save room") {
				t.Error("ARG-07: the marker could be taken for a value")
			}
			if strings.Contains(args, "src/main.go") && !strings.Contains(got, `"path":"src/main.go"`) {
				t.Error("the path is gone")
			}
		})
	}
}

func TestUSR01and02_CurrentRequestStays(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("the only request, word for word")
	rounds(&tr, 200, 200)
	for _, name := range preset.Names() {
		p, _ := preset.ByName(name)
		out, plan, _ := compact(t, &tr, pemmican.Options{Policy: &p, Target: 10_000, Counter: quarter{}, Summarizer: &written{text: "s"}})
		if plan.Empty() || !has(out, "the only request, word for word") {
			t.Errorf("%s: the request is gone", name)
		}
	}
}

func TestUSR08_SummaryIsTheUsers(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("task")
	rounds(&tr, 10, 300)
	out, plan, _ := compact(t, &tr, pemmican.Options{Target: 1500, Counter: quarter{}, Summarizer: &written{text: "s"}})
	for _, m := range out.Messages {
		if out.Blocks[m.First].Text == plan.Summary && m.Role != pemmican.User {
			t.Errorf("the summary has the role %s", m.Role)
		}
	}
	if last := out.Messages[len(out.Messages)-1]; last.Role != pemmican.Tool {
		t.Errorf("the conversation ends with %s", last.Role)
	}
}

func TestSYS01to11_SystemText(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddSystem("SYSTEM <b> \u2028 text") // SYS-01, SYS-02
	tr.AddNudge("MEMORY: rules of the house")
	tr.AddUser("task")
	rounds(&tr, 30, 300)
	s := &written{text: "summary"}
	out, plan, _ := compact(t, &tr, pemmican.Options{Target: 3000, Counter: quarter{}, Summarizer: s})
	systems := 0
	for _, m := range out.Messages {
		if m.Role == pemmican.System {
			systems++
		}
	}
	if systems != 1 || out.Messages[0].Role != pemmican.System || out.Blocks[0].Text != tr.Blocks[0].Text { // SYS-05, SYS-07
		t.Errorf("%d system messages, %q", systems, out.Blocks[0].Text)
	}
	if strings.Contains(plan.Summary, "SYSTEM") { // SYS-04
		t.Error("the system text is in the summary")
	}
	for _, i := range s.last.Dropped {
		if tr.Messages[tr.Blocks[i].Message].Role == pemmican.System {
			t.Error("SYS-04: the summariser was given the system text to replace")
		}
	}
	if !has(out, "MEMORY: rules") { // SYS-10, SYS-11
		t.Error("what the agent put before the task is gone")
	}
}

// thinks adds a step that begins with signed reasoning.
func thinks(tr *pemmican.Transcript, tokens int) {
	id := fmt.Sprintf("call_%d", len(tr.Messages))
	tr.Add(pemmican.Assistant,
		pemmican.Block{Kind: pemmican.Reasoning, Text: "let me think about step " + id, Bound: true},
		pemmican.Call(id, "run_shell", fmt.Sprintf(`{"command":"make %s"}`, id)))
	tr.AddResult(id, wide(tokens))
}

func TestTHK01to07_SignedReasoning(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("task")
	for range 10 {
		thinks(&tr, 300)
	}
	o := pemmican.Options{Target: 1500, Counter: quarter{}, Summarizer: &written{text: "s"}}
	// While the loop runs, its reasoning is bound to what stands before it: nothing is touched (THK-01, THK-04).
	_, plan, report := compact(t, &tr, o)
	if !plan.Empty() || report.Outcome != pemmican.Refused || !strings.Contains(report.Reason, "tool loop") {
		t.Errorf("%+v", report)
	}
	// Models that do not bind it keep that of the loop, byte for byte (THK-05, THK-07).
	o.Thinking = pemmican.ThinkingInLoop
	out, _, report := compact(t, &tr, o)
	if report.Outcome != pemmican.Summarised || !has(out, "let me think about step") {
		t.Errorf("%+v", report)
	}
	for i := range out.Blocks {
		if b := &out.Blocks[i]; b.Kind == pemmican.Reasoning && !strings.HasPrefix(b.Text, "let me think about step call_") {
			t.Errorf("reasoning was changed: %q", b.Text)
		}
	}
	o.Thinking = pemmican.ThinkingBound
	// When the turn has ended, all signed reasoning behind the touched place goes, of the latest answer too (THK-02).
	tr.AddAssistant("done")
	tr.AddUser("thanks; and now the next one")
	out, _, report = compact(t, &tr, o)
	if report.Outcome != pemmican.Summarised || has(out, "let me think") {
		t.Errorf("%+v", report)
	}
	throughFormats(t, &tr, o, pemmican.Summarised)
}

func TestTHK08_NothingButReasoning(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("task")
	rounds(&tr, 5, 500)
	tr.Add(pemmican.Assistant, pemmican.Block{Kind: pemmican.Reasoning, Text: "only a thought", Bound: true})
	tr.AddUser("go on")
	rounds(&tr, 2, 100)
	out, _, _ := compact(t, &tr, pemmican.Options{Target: 1000, Counter: quarter{}})
	for _, m := range out.Messages {
		if m.Role == pemmican.Assistant && out.Blocks[m.First].Kind == pemmican.Reasoning && m.End == m.First+1 {
			t.Error("an answer of nothing but reasoning is left")
		}
	}
}

func TestTHK13and17_UnsignedReasoning(t *testing.T) {
	var tr pemmican.Transcript
	add := func(text string) {
		id := fmt.Sprintf("call_%d", len(tr.Messages))
		tr.Add(pemmican.Assistant, pemmican.Block{Kind: pemmican.Reasoning, Text: text}, pemmican.Call(id, "run_shell", "{}"))
		tr.AddResult(id, wide(100))
	}
	tr.AddUser("task")
	for range 5 {
		add("old thought " + wide(2000))
	}
	tr.AddAssistant("done")
	tr.AddUser("next task")
	for range 3 {
		add("thought of the running loop")
	}
	p := pemmican.DefaultPolicy()
	p.TailTokens = 100
	out, _, report := compact(t, &tr, pemmican.Options{Policy: &p, Target: 1500, Counter: quarter{}})
	if has(out, "old thought") {
		t.Errorf("THK-17: reasoning of a turn that is over is left (%s)", report.Outcome)
	}
	loop := 0
	for i := range out.Blocks {
		if out.Blocks[i].Text == "thought of the running loop" {
			loop++
		}
	}
	if loop != 3 {
		t.Errorf("THK-13: %d of 3 thoughts of the running loop are left", loop)
	}
}

// measured is the size of a transcript in tokens by quarter.
func measured(tr *pemmican.Transcript) int {
	n := 0
	for i := range tr.Blocks {
		n += quarter{}.Count(&tr.Blocks[i])
	}
	return n
}

func TestBIG04_RetainedMessagesHaveACap(t *testing.T) {
	tr := &pemmican.Transcript{}
	for i := range 10 {
		tr.AddUser(fmt.Sprintf("Request %d: ", i) + strings.Repeat("please mind this as well, ", 200))
		tr.AddAssistant("Done.")
	}
	result, _, report := compact(t, tr, pemmican.Options{Target: 3000, Counter: quarter{}, Summarizer: &written{text: "what was asked for was done"}})
	if report.Outcome == pemmican.Refused || report.TokensAfter > 3000 || measured(result) > 3000 {
		t.Errorf("%s: %s; %d tokens are left", report.Outcome, report.Reason, report.TokensAfter)
	}
}

func TestBIG05and07and08_TokensAreMeasured(t *testing.T) {
	tr := &pemmican.Transcript{}
	tr.AddUser("Read it all.")
	for i := range 20 {
		id := fmt.Sprint(i)
		tr.AddAssistant("", pemmican.Call(id, "read_file", fmt.Sprintf(`{"path":"f%d"}`, i)))
		tr.AddResult(id, strings.Repeat(fmt.Sprintf("line of file %d\n", i), 200))
	}
	result, _, report := compact(t, tr, pemmican.Options{Target: measured(tr) * 6 / 10, Counter: quarter{}, Tools: tools})
	if report.TokensBefore != measured(tr) || report.TokensAfter != measured(result) {
		t.Errorf("reported %d and %d, measured %d and %d", report.TokensBefore, report.TokensAfter, measured(tr), measured(result))
	}
	// As many messages as before are a success if they are smaller.
	if report.Outcome != pemmican.Reduced || len(result.Messages) != len(tr.Messages) {
		t.Errorf("%s: %s", report.Outcome, report.Reason)
	}
}

func TestBIG01and10_NothingGrows(t *testing.T) {
	tr := &pemmican.Transcript{}
	tr.AddUser("Go.")
	for i := range 30 {
		id := fmt.Sprint(i)
		tr.AddAssistant("", pemmican.Call(id, "run_shell", `{}`))
		tr.AddResult(id, "ok")
	}
	for percent := 30; percent < 100; percent += 5 {
		result, plan, report := compact(t, tr, pemmican.Options{
			Target: max(1, measured(tr)*percent/100), Counter: quarter{},
			Summarizer: &written{text: strings.Repeat("a long summary of next to nothing ", 100)},
		})
		if !plan.Empty() && measured(result) >= measured(tr) {
			t.Errorf("to %d %%: %s: %s", percent, report.Outcome, report.Reason)
		}
	}
}
