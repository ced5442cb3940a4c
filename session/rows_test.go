package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format/detect"
	"github.com/pemmican-dev/pemmican/internal/texts"
	"github.com/pemmican-dev/pemmican/llm"
)

// X1: where it is switched off, or the model is excluded, nobody is reminded.
func TestNoReminderWhereOff(t *testing.T) {
	for name, change := range map[string]func(*Settings){
		"disabled": func(s *Settings) { s.Enabled = false },
		"excluded": func(s *Settings) { s.ExcludedModels = []string{"p/m"} },
	} {
		s, words := begin(Config{}, change)
		if a := s.On(Settled{Load{Reported: 99_000}}); a.Text != "" || len(words.said) > 0 {
			t.Errorf("%s: %+v", name, a)
		}
	}
	s, _ := begin(Config{})
	if a := s.On(Settled{Load{Reported: 99_000}}); a.Text == "" {
		t.Error("no reminder where it is on")
	}
}

// T16: the lines of seed 004, 75 %, 67.5 % and 95 %, in each of its windows.
func TestPruneLines(t *testing.T) {
	for _, c := range []struct{ window, soft, target, block int }{
		{200_000, 150_000, 135_000, 190_000},
		{128_000, 96_000, 86_400, 121_600},
		{64_000, 48_000, 43_200, 60_800},
	} {
		settings := presetSettings(t, "prune")
		start := func() *Session {
			s, _ := begin(Config{Settings: settings, Model: Model{Provider: "p", ID: "m", Window: c.window}})
			return s
		}
		want(t, start().On(reported(c.soft)), GoOn, "")
		want(t, start().On(reported(c.soft+1)), Compact, "hard")
		if n := settings.TargetOf(c.soft+1, c.window); n != c.target {
			t.Errorf("%d: the target is %d, want %d", c.window, n, c.target)
		}
		for load, do := range map[int]Do{c.block: GoOn, c.block + 1: Block} {
			s := start()
			s.On(NotCompacted{Attempt: s.On(reported(load)).Attempt, Reason: "no", Final: true})
			if a := s.On(reported(load)); a.Do != do {
				t.Errorf("%d of %d: %s, want %s", load, c.window, a.Do, do)
			}
		}
	}
}

// T10, TOK-07: what was reported before a compaction is stale, whoever made it, and though nobody tells what it has left.
func TestStaleAfterAnyCompaction(t *testing.T) {
	for name, compact := range map[string]func(s *Session){
		"somebody else's": func(s *Session) { s.On(Compacted{Outcome: Outcome{Before: 95_000, After: 8_000}}) },
		"ours, and nobody knows what it has left": func(s *Session) {
			s.On(Compacted{Attempt: s.On(Asked{Load: Load{Reported: 95_000}}).Attempt})
		},
	} {
		s, _ := begin(Config{})
		s.On(Settled{Load{Reported: 95_000}})
		compact(s)
		if n := s.Status().Tokens; n != 0 {
			t.Errorf("%s: %d tokens right after", name, n)
		}
		want(t, s.On(Request{Load{Reported: 95_000, Since: 200, Estimated: 8_000}}), GoOn, "")
		if n := s.Status().Tokens; n != 8_000 {
			t.Errorf("%s: %d tokens", name, n)
		}
		if a := s.On(Settled{Load{Reported: 95_000}}); a.Text != "" {
			t.Errorf("%s: a reminder of what was", name)
		}
	}
}

// IMG-10: Anthropic's 32 MB hold though no settings say so and the tokens are few.
func TestLimitsOfTheProvider(t *testing.T) {
	load := Load{Estimated: 31_000, Bytes: 34_200_000, Images: 12}
	for name, m := range map[string]Model{
		"by its name":    {Provider: "anthropic", ID: "m", Window: 200_000},
		"by its address": {Provider: "mine", ID: "m", Window: 200_000, Endpoint: "https://api.anthropic.com"},
	} {
		s, _ := begin(Config{Model: m})
		if a := s.On(Request{load}); a.Do != Compact || a.Occasion != "limit" {
			t.Errorf("%s: %+v", name, a)
		}
		s, _ = begin(Config{Model: m})
		want(t, s.On(Request{Load{Estimated: 31_000, Bytes: 31_900_000}}), GoOn, "")
		s, _ = begin(Config{Model: m}, func(s *Settings) { s.Limits.Bytes = 40_000_000 })
		want(t, s.On(Request{load}), GoOn, "")
	}
	s, _ := begin(Config{Model: Model{Provider: "other", ID: "m", Window: 200_000}})
	want(t, s.On(Request{load}), GoOn, "")
}

// The settings of a compaction reach it: minGain, preset, keepRecent.
func TestFitSettings(t *testing.T) {
	for _, c := range []struct {
		name        string
		change      func(*Settings)
		least, most int // tokens after
	}{
		{"minGain", func(s *Settings) { s.Preset, s.MinGain = "checkpoint", 90 }, sizeOf(task(80)), sizeOf(task(80))},
		{"preset", func(s *Settings) { s.Preset = "checkpoint" }, 18_000, 26_000},
		{"keepRecent", func(s *Settings) { s.Preset, s.KeepRecent = "checkpoint", 5_000 }, 3_000, 9_000},
	} {
		s, _ := fitter(Config{Summarizer: &writer{}}, func(s *Settings) { s.Soft = Threshold{} }, c.change)
		s.On(Asked{Load: Load{Reported: sizeOf(task(80))}})
		_, out := mustFit(t, s, task(80))
		if n := sizeOf(out); n < c.least || n > c.most {
			t.Errorf("%s: %d tokens are left, want %d to %d", c.name, n, c.least, c.most)
		}
	}
}

// Whoever asks for a compaction gets one: it comes down to half at least, though the target is met already.
func TestAskedHalves(t *testing.T) {
	tr := task(40)
	for name, asks := range map[string]Event{
		"the tool": ToolAsked{Load: Load{Reported: sizeOf(tr)}},
		"a person": Asked{Load: Load{Reported: sizeOf(tr)}},
	} {
		s, _ := fitter(Config{})
		s.On(asks)
		if _, out := mustFit(t, s, tr); sizeOf(out) > sizeOf(tr)/2 || s.State().Compactions != 1 {
			t.Errorf("%s: %d tokens of %d", name, sizeOf(out), sizeOf(tr))
		}
	}
}

// A reminder says what the compaction would cost, where the price is known.
func TestReminderCost(t *testing.T) {
	price := &llm.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}
	for compactModel, costs := range map[string]float64{
		// 107,500 tokens are written to the cache instead of read from it. The model reads all from the cache and writes 4,000.
		"":           (3.45*107_500 + 0.3*215_000 + 15*4_000) / 1e6,
		"mechanical": 3.45 * 107_500 / 1e6,
	} {
		s, words := begin(Config{Model: Model{Provider: "p", ID: "m", Window: 1_000_000, Price: price}}, func(s *Settings) { s.CompactModel = compactModel })
		a := s.On(Settled{Load{Reported: 215_000}})
		if len(words.said) != 1 || a.Worth == nil {
			t.Fatalf("%+v", a)
		}
		if r := words.said[0].(texts.Reminder); r.Cost == nil || math.Abs(*r.Cost-costs) > 1e-9 {
			t.Errorf("%q: %v, want %v", compactModel, r.Cost, costs)
		}
	}
}

// What a compaction is worth reckons with 5 to 100 more requests.
func TestWorthTurns(t *testing.T) {
	for replies, turns := range map[int]int{0: 5, 4: 5, 6: 6, 100: 100, 150: 100} {
		s, _ := begin(Config{Model: Model{Provider: "p", ID: "m", Window: 200_000, Price: &llm.Price{Input: 3, Output: 15}}})
		for range replies {
			s.On(usage(50_000))
		}
		if w := s.On(Asked{Load: Load{Reported: 150_000}}).Worth; w == nil || w.Turns != turns {
			t.Errorf("%d replies: %v, want %d turns", replies, w, turns)
		}
	}
}

// Another model reads what goes at its own price of input, and is no sum where its price is not known.
func TestWorthOfAnotherModel(t *testing.T) {
	own := &llm.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}
	other, ok := llm.DefaultCatalogue().Price("", "openai", "gpt-5-mini")
	if !ok || other.Input <= 0 {
		t.Fatal("the catalogue has no price for it")
	}
	sum := func(compactModel string) *Worth {
		s, _ := begin(Config{
			Model: Model{Provider: "p", ID: "m", Window: 200_000, Price: own}, Catalogue: llm.DefaultCatalogue(),
		}, func(s *Settings) { s.CompactModel = compactModel })
		return s.On(Asked{Load: Load{Reported: 150_000}}).Worth
	}
	// 100,000 stay and are written anew, 50,000 go.
	costs := (3.45*100_000 + other.Input*50_000 + other.Output*4_000) / 1e6
	if w := sum("openai/gpt-5-mini"); w == nil || math.Abs(w.Costs-costs) > 1e-9 {
		t.Errorf("%v, want a cost of %v", w, costs)
	}
	if w := sum("nobody/knows"); w != nil {
		t.Errorf("%v", w)
	}
}

// R10: an open guard alone makes attempts without a model, and none in the background.
func TestOpenGuardAlone(t *testing.T) {
	open := fmt.Appendf(nil, `{"failures":3,"until":%q}`, time.Now().Add(5*time.Minute).Format(time.RFC3339))
	for name, c := range map[string]struct {
		event Event
		do    Do
	}{
		"hard":     {reported(95_000), Compact},
		"person":   {Asked{Load: Load{Reported: 60_000}}, Compact},
		"tool":     {ToolAsked{Load: Load{Reported: 60_000}}, Launch},
		"overflow": {Failed{Err: overflow(0), Load: Load{Reported: 95_000}}, Compact},
		"soft":     {reported(65_000), GoOn},
	} {
		s, _ := begin(Config{State: State{Guard: open}})
		if a := s.On(c.event); a.Do != c.do || a.Do != GoOn && !a.Mechanical {
			t.Errorf("%s: %+v", name, a)
		}
		s, _ = begin(Config{})
		if a := s.On(c.event); a.Mechanical || a.Do == GoOn {
			t.Errorf("%s, guard closed: %+v", name, a)
		}
	}
}

// The tool is refused where an attempt has brought nothing for good, until the context has grown.
func TestToolFailing(t *testing.T) {
	for final, why := range map[bool]string{true: "failing", false: ""} {
		s, words := begin(Config{})
		s.On(NotCompacted{Attempt: s.On(Asked{Load: Load{Reported: 60_000}}).Attempt, Reason: "nothing can go", Final: final})
		words.said = nil
		a := s.On(ToolAsked{Load: Load{Reported: 60_000}})
		if why == "" {
			want(t, a, Launch, "tool")
			continue
		}
		want(t, a, Refuse, "")
		if r := words.said[0].(texts.Refusal); r.Why != why || r.Detail == "" {
			t.Errorf("%+v", r)
		}
		want(t, s.On(ToolAsked{Load: Load{Reported: 65_000}}), Launch, "tool")
	}
}

// T14: a session of few turns is not compacted at the soft threshold either.
func TestSoftMinTurns(t *testing.T) {
	for turns, do := range map[int]Do{7: GoOn, 8: Start} {
		s, _ := begin(Config{}, func(s *Settings) { s.MinTurns = 8 })
		want(t, s.On(Request{Load{Reported: 65_000, Turns: turns}}), do, "")
	}
}

// A model that writes no more than 4,000 tokens needs no larger reserve.
func TestMaxOutputBoundsReserve(t *testing.T) {
	for _, c := range []struct {
		most, reported int
		do             Do
	}{{4_000, 70_999, GoOn}, {4_000, 71_000, Start}, {0, 65_000, Start}, {50_000, 65_000, Start}} {
		s, _ := begin(Config{Model: Model{Provider: "p", ID: "m", Window: 100_000, MaxOutput: c.most}})
		if a := s.On(reported(c.reported)); a.Do != c.do {
			t.Errorf("%+v: %+v", c, a)
		}
	}
}

// An answer that is silent about a request that was too large is an overflow.
func TestSilentIsOverflow(t *testing.T) {
	s, _ := begin(Config{})
	err := &llm.Error{Kind: llm.Silent, Requested: 50_000, Message: "the answer is empty"}
	want(t, s.On(Failed{Err: err, Load: Load{Estimated: 50_000}}), Compact, "overflow")
}

// LOOP-01: a reply ends a row of overflows, though it has no usage.
func TestReplyWithoutUsageEndsOverflows(t *testing.T) {
	s, _ := begin(Config{})
	recover := func() Answer {
		a := s.On(Failed{Err: overflow(0), Load: Load{Estimated: 90_000}})
		if a.Do == Compact {
			s.On(Compacted{Attempt: a.Attempt, Outcome: Outcome{After: 40_000}})
		}
		return a
	}
	recover()
	recover()
	s.On(Replied{})
	want(t, recover(), Compact, "overflow")
	want(t, recover(), Compact, "overflow")
	want(t, recover(), Refuse, "")
}

// X18: how many compactions there were reaches the summariser, which says from the second on that they wear.
func TestCompactionsReachTheSummary(t *testing.T) {
	var got pemmican.SummaryRequest
	s, _ := fitter(Config{State: State{Compactions: 4}, Summarizer: summarizerFunc(func(r pemmican.SummaryRequest) { got = r })})
	mustFit(t, s, task(90))
	if got.Compactions != 4 {
		t.Errorf("the summariser was told of %d", got.Compactions)
	}
}

// LOOP-08: five emergencies in a row leave one summary, and never more messages than there were.
func TestEmergencies(t *testing.T) {
	s, _ := fitter(Config{})
	var b []byte
	for n := range 5 {
		b = withSteps(t, b, 264-strings.Count(string(b), `"role":"tool"`), n)
		before, err := detect.Decode(b, "")
		if err != nil {
			t.Fatal(err)
		}
		want(t, s.On(Failed{Err: overflow(64_000), Load: Measure(before.Transcript(), quarters{}, pemmican.Overhead{})}), Compact, "overflow")
		out, err := s.FitBody(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		valid(t, out)
		after, err := detect.Decode(out, "")
		if err != nil {
			t.Fatal(err)
		}
		was, is := before.Transcript(), after.Transcript()
		if len(is.Messages) > len(was.Messages) || len(out) >= len(b) || s.State().Compactions != n+1 {
			t.Errorf("emergency %d: %d messages of %d, %d bytes of %d, %d compactions",
				n, len(is.Messages), len(was.Messages), len(out), len(b), s.State().Compactions)
		}
		summaries := 0
		for i := range is.Blocks {
			if _, ok := pemmican.Unseal(is.Blocks[i].Text); ok {
				summaries++
			}
		}
		if summaries != 1 || strings.Count(string(out), "[pemmican summary v1 ") != 1 {
			t.Errorf("emergency %d: %d summaries", n, summaries)
		}
		s.On(Replied{})
		b = out
	}
}

// withSteps is a request with so many calls more, or a new one.
func withSteps(t testing.TB, b []byte, calls, n int) []byte {
	t.Helper()
	if b == nil {
		return body(calls / 4)
	}
	var request map[string]any
	if err := json.Unmarshal(b, &request); err != nil {
		t.Fatal(err)
	}
	messages := request["messages"].([]any)
	for i := range calls {
		id := fmt.Sprintf("call%d.%d", n, i)
		messages = append(messages,
			map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "read", "arguments": `{"path":"g` + id + `.go"}`}}}},
			map[string]any{"role": "tool", "tool_call_id": id, "content": result(i)},
		)
	}
	request["messages"] = messages
	b, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// LOOP-26: pictures in the tail count, so that what stands before them can go, the second time too.
func TestPicturesInTheTail(t *testing.T) {
	s, _ := fitter(Config{}, func(s *Settings) { s.Preset, s.KeepRecent = "checkpoint", 12_000 })
	tr := task(10) // 10,000 tokens of text alone would all be tail
	for n := range 2 {
		for i := range 3 { // of 8,000 tokens each
			tr.Add(pemmican.User, pemmican.Block{Text: fmt.Sprintf("picture %d.%d", n, i)}, pemmican.Block{Kind: pemmican.Media, Bytes: 32_000_000})
			tr.AddAssistant("I see.")
		}
		tr.AddUser("And now?")
		before := Measure(tr, quarters{}, pemmican.Overhead{})
		want(t, s.On(Asked{Load: before}), Compact, "manual")
		plan, out := mustFit(t, s, tr)
		after := Measure(out, quarters{}, pemmican.Overhead{})
		if plan.Empty() || after.Images != 2 || after.Estimated > before.Estimated*2/3 {
			t.Fatalf("compaction %d: %d pictures of %d, %d tokens of %d", n, after.Images, before.Images, after.Estimated, before.Estimated)
		}
		s.On(Replied{})
		tr = out
	}
}

// TOK-10, TOK-22: of sixty calls of which each reports its own prompt, only the newest counts.
func TestUsageIsNoSum(t *testing.T) {
	s, _ := fitter(Config{Model: Model{Provider: "p", ID: "m", Window: 200_000}})
	tr := task(20)
	sum := 0
	for i := range 60 {
		if plan, _ := mustFit(t, s, tr); !plan.Empty() {
			t.Fatal("compacted")
		}
		last := sizeOf(tr)
		sum += last
		s.On(Replied{Usage: llm.Usage{Reported: true, Input: last, Output: 10}})
		if n := s.Status().Tokens; n != last+10 {
			t.Fatalf("call %d: %d tokens, want %d", i, n, last+10)
		}
		step(tr, 100+i)
	}
	if sum < 2_000_000 || s.State().Compactions != 0 || s.Status().InFlight {
		t.Errorf("%d tokens in all, %+v", sum, s.Status())
	}
}

// TOK-13: a target of 30 % of what there is keeps so much of the newest at most, and folds the others; a larger one keeps more.
func TestTargetKeepsTheNewest(t *testing.T) {
	tr := task(1)
	for i := range 100 {
		id := fmt.Sprint("one", i)
		tr.AddAssistant("", pemmican.Call(id, "read", fmt.Sprintf(`{"path":"one%d.go"}`, i)))
		tr.AddResult(id, result(i))
	}
	last := 0
	for _, percent := range []int{15, 30, 45} {
		s, _ := fitter(Config{Summarizer: &writer{}}, func(s *Settings) { s.Target = fmt.Sprint(percent, "%") })
		want(t, s.On(Asked{Load: Load{Reported: sizeOf(tr)}}), Compact, "manual")
		plan, out := mustFit(t, s, tr)
		var kept []string
		for i := range tr.Blocks {
			if b := &tr.Blocks[i]; b.Kind == pemmican.ToolResult && plan.Kept(i) {
				kept = append(kept, b.CallID)
			}
		}
		if len(kept) <= last || len(kept) > percent || kept[0] != fmt.Sprint("one", 100-len(kept)) || kept[len(kept)-1] != "one99" {
			t.Errorf("%d %%: kept are %v", percent, kept)
		}
		if sizeOf(out) > sizeOf(tr)*percent/100 {
			t.Errorf("%d %%: %d tokens of %d", percent, sizeOf(out), sizeOf(tr))
		}
		last = len(kept)
	}
}

// TOK-23: however large or small the figures are, nothing that is told is negative.
func TestNeverNegative(t *testing.T) {
	price := &llm.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}
	for _, tokens := range []int{1, 200_000, 1_000_000, 32_601_307} {
		for _, rest := range []int{0, 1, 24_000, 50_000_000} {
			s := New(Config{Model: Model{Provider: "p", ID: "m", Window: 1_000_000, Price: price}, Catalogue: &llm.Catalogue{}, Rest: rest})
			l := Load{Reported: tokens}
			reminded, launched := s.On(Settled{l}), s.On(ToolAsked{Load: l})
			a := s.On(Request{l})
			blocked := s.On(NotCompacted{Attempt: a.Attempt, Reason: "no", Final: true})
			for _, a := range []Answer{reminded, launched, a, blocked, s.On(Request{l}), s.On(Switched{To: Model{Provider: "p", ID: "n", Window: 10_000}, Load: l})} {
				if w := a.Worth; w != nil && (w.Freed < 0 || w.Rewritten < 0 || w.Saves < 0 || w.Costs < 0) {
					t.Errorf("%d, %d: %+v", tokens, rest, w)
				}
				for _, text := range append([]string{a.Text, a.Reason}, a.Notices...) {
					if negative(text) {
						t.Errorf("%d, %d: %s", tokens, rest, text)
					}
				}
			}
			if st := s.Status(); st.Tokens < 0 || st.Soft < 0 || st.Hard < 0 || st.Block < 0 {
				t.Errorf("%+v", st)
			}
		}
	}
}

// negative reports whether a text has a number below zero.
func negative(text string) bool {
	for i := 0; i+1 < len(text); i++ {
		if text[i] == '-' && text[i+1] >= '0' && text[i+1] <= '9' && (i == 0 || strings.ContainsRune(" ($~", rune(text[i-1]))) {
			return true
		}
	}
	return false
}

// SUB-05, SUB-08: a child with a session of its own recovers from its overflow in one attempt; its parent is not touched by
// that, nor by what the child reports.
func TestChild(t *testing.T) {
	catalogue := &llm.Catalogue{}
	model := func(id string) Model {
		return Model{Provider: "p", ID: id, Window: 128_000, Endpoint: "https://p.example/v1"}
	}
	parent, _ := begin(Config{Model: model("m"), Catalogue: catalogue})
	want(t, parent.On(reported(20_000)), GoOn, "")
	parent.On(Replied{Usage: llm.Usage{Reported: true, Input: 20_000, Output: 500}})
	before, state := parent.Status(), parent.State()

	child, _ := fitter(Config{Model: model("small"), Catalogue: catalogue})
	p := &provider{window: 64_000, ratio: 1}
	tr := task(80)
	_, out := mustFit(t, child, tr)
	_, err := p.send(out)
	if err == nil {
		t.Fatal("the child's request fits")
	}
	want(t, child.On(Failed{Err: err}), Compact, "overflow")
	_, out = mustFit(t, child, tr)
	u, err := p.send(out)
	if err != nil || p.served != 1 || child.State().Compactions != 1 {
		t.Fatalf("%v, %d compactions", err, child.State().Compactions)
	}
	child.On(Replied{Usage: u})

	// A child of the parent's own model that is nearly full.
	twin, _ := begin(Config{Model: model("m"), Catalogue: catalogue})
	twin.On(usage(120_000))
	want(t, twin.On(reported(150_000)), Compact, "hard")
	twin.On(Settled{Load{Reported: 150_000}})

	if after := parent.Status(); !reflect.DeepEqual(before, after) {
		t.Errorf("the parent was %+v, and is %+v", before, after)
	}
	if after := parent.State(); after.Compactions != 0 || !reflect.DeepEqual(state.Limits, after.Limits) || !reflect.DeepEqual(state.Below, after.Below) {
		t.Errorf("%+v", after)
	}
	want(t, parent.On(reported(30_000)), GoOn, "")
}

// CON-02: of two sessions on one transcript one compacts it; what the other one has made for it is refused, and what has come
// meanwhile is there.
func TestTwoSessionsOneTranscript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := fitter(Config{})
		b, notices := fitter(Config{Summarizer: &writer{wait: time.Minute}})
		stored := task(63)
		mustFit(t, b, stored) // b begins in the background
		if !b.Status().InFlight {
			t.Fatal("b has not begun")
		}
		made := keep(stored)
		want(t, a.On(Asked{Load: Load{Reported: sizeOf(stored)}}), Compact, "manual")
		planA, compacted := mustFit(t, a, stored)

		stored.AddUser("One more thing.")
		grown, err := Onto(planA, made, stored) // what was added while a compacted
		if err != nil {
			t.Fatal(err)
		}
		kept := grown.Result(stored)
		if last := kept.Blocks[len(kept.Blocks)-1].Text; last != "One more thing." {
			t.Fatalf("%q", last)
		}
		cut := keep(made) // a compaction that only makes a result shorter leaves every message in its place
		cut.Blocks[len(cut.Blocks)/2].Text = "[cut]"
		for what, now := range map[string]*pemmican.Transcript{"compacted": compacted, "cut": cut} {
			if _, err := Onto(pemmican.NewPlan(made), made, now); !errors.Is(err, ErrStale) {
				t.Errorf("%s: %v", what, err)
			}
		}

		time.Sleep(2 * time.Minute) // b has its summary now
		plan, out := mustFit(t, b, kept)
		if !plan.Empty() || b.State().Compactions != 0 || b.Status().InFlight || out.Blocks[len(out.Blocks)-1].Text != "One more thing." {
			t.Errorf("b has compacted what it has never seen: %+v", b.Status())
		}
		if len(*notices) != 1 || !strings.Contains((*notices)[0], ErrStale.Error()) {
			t.Errorf("%v", *notices)
		}
		a.Close()
		b.Close()
	})
}
