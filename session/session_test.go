package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/texts"
	"github.com/pemmican-dev/pemmican/llm"
)

// spoken are texts that show their data, and remember it.
type spoken struct{ said []any }

func (s *spoken) put(v any) string {
	s.said = append(s.said, v)
	return fmt.Sprintf("%T%+v", v, v)
}

type (
	failedText       struct{ Reason string }
	availabilityText struct {
		Model     string
		Available bool
		File      string
	}
	downshiftText struct {
		Model                  string
		Tokens, Window, Before int
	}
	blockedText struct {
		Tokens, Line, Window int
		Reason               string
	}
)

func (s *spoken) Reminder(r texts.Reminder) string { return s.put(r) }
func (s *spoken) Refusal(r texts.Refusal) string   { return s.put(r) }
func (s *spoken) Launched(l texts.Launched) string { return s.put(l) }
func (s *spoken) Outcome(o texts.Outcome) string   { return s.put(o) }
func (s *spoken) Failed(reason string) string      { return s.put(failedText{reason}) }
func (s *spoken) Availability(model string, available bool, file string) string {
	return s.put(availabilityText{model, available, file})
}

func (s *spoken) Downshift(model string, tokens, window, before int) string {
	return s.put(downshiftText{model, tokens, window, before})
}

func (s *spoken) Blocked(tokens, line, window int, reason string) string {
	return s.put(blockedText{tokens, line, window, reason})
}

// begin starts a session whose texts are looked at. Without settings they are the defaults, and without a model it is one
// of 100,000 tokens.
// from is an Origin that knows one place for all keys.
func from(place string) func(string) string { return func(key string) string { return place + key } }

func begin(c Config, change ...func(*Settings)) (*Session, *spoken) {
	settings := DefaultSettings()
	if c.Settings != nil {
		settings = *c.Settings
	}
	for _, f := range change {
		f(&settings)
	}
	c.Settings = &settings
	c.AsksModel = c.Notify == nil // Fit, which has one in these tests, goes by its summariser
	if c.Model == (Model{}) {
		c.Model = Model{Provider: "p", ID: "m", Window: 100_000}
	}
	if c.Catalogue == nil {
		c.Catalogue = &llm.Catalogue{}
	}
	s := New(c)
	words := &spoken{}
	s.say = func(string) speaker { return words }
	return s, words
}

// want fails unless an answer does what is expected.
func want(t testing.TB, a Answer, do Do, occasion string) {
	t.Helper()
	if a.Do != do || a.Occasion != occasion && occasion != "" {
		t.Fatalf("%s %s, want %s %s: %+v", a.Do, a.Occasion, do, occasion, a)
	}
	if (a.Do == Compact || a.Do == Start || a.Do == Launch) && a.Attempt == 0 {
		t.Fatalf("an attempt without a number: %+v", a)
	}
}

func reported(n int) Request { return Request{Load{Reported: n}} }

func usage(input int) Replied { return Replied{Usage: llm.Usage{Reported: true, Input: input}} }

func overflow(limit int) error {
	return &llm.Error{Kind: llm.Overflow, Status: 400, Message: "prompt is too long", Limit: limit}
}

func presetSettings(t *testing.T, name string) *Settings {
	t.Helper()
	s, ok := ByPreset(name)
	if !ok {
		t.Fatal(name)
	}
	return &s
}

// TestTriggersOfTheSeeds are the lines of the presets on requests.
func TestTriggersOfTheSeeds(t *testing.T) {
	for _, c := range []struct {
		row, preset string
		window      int
		change      func(*Settings)
		load        Load
		want        Do
	}{
		{"T1", "handoff", 262_144, func(s *Settings) { s.Hard = line("4000") }, Load{Reported: 4000}, Compact},
		{"T1", "handoff", 262_144, func(s *Settings) { s.Hard = line("4000") }, Load{Reported: 3999}, GoOn},
		{"T1", "handoff", 262_144, func(s *Settings) { s.Hard = line("4000") }, Load{Reported: 3999, Since: 9000}, GoOn},
		{"T1", "handoff", 262_144, func(s *Settings) { s.Hard = line("4000") }, Load{Estimated: 200_000}, GoOn}, // no usage
		{"T3", "handoff", 262_144, nil, Load{Reported: 196_608}, Compact},
		{"T3", "handoff", 262_144, nil, Load{Reported: 196_607}, GoOn},
		{"T6", "checkpoint", 100_000, nil, Load{Reported: 83_616}, GoOn},
		{"T6", "checkpoint", 100_000, nil, Load{Reported: 83_617}, Compact},
		{"T6", "checkpoint", 100_000, nil, Load{Reported: 80_000, Since: 3_617}, Compact},
		{"T14", "anchored", 100_000, nil, Load{Reported: 60_001, Turns: 7}, GoOn},
		{"T14", "anchored", 100_000, nil, Load{Reported: 60_001, Turns: 8}, Compact},
		{"T14", "anchored", 100_000, nil, Load{Reported: 60_000, Turns: 8}, GoOn},
		{"T15", "anchored", 100_000, nil, Load{Estimated: 70_000, Turns: 8}, Compact}, // no usage
		{"T15", "anchored", 100_000, nil, Load{Reported: 50_000, Since: 40_000, Estimated: 90_000, Turns: 8}, GoOn},
		{"T16", "prune", 200_000, nil, Load{Reported: 150_000}, GoOn},
		{"T16", "prune", 200_000, nil, Load{Reported: 150_001}, Compact},
		{"T16", "prune", 128_000, nil, Load{Reported: 96_001}, Compact},
		{"HUGE-10, TOK-16", "", 200_000, nil, Load{Reported: 100_000, Since: 70_000, Turns: 50}, Compact}, // before each request
		{"TOK-17", "", 200_000, nil, Load{Reported: 150_000, Since: 60_000}, Compact},
		{"TOK-19, TOK-20", "", 200_000, nil, Load{}, GoOn}, // unknown is not much, and not nothing
		{"TOK-19, TOK-20", "", 200_000, nil, Load{Estimated: 190_000}, Compact},
		{"TOK-05", "", 160_000, nil, Load{Reported: 150_010}, Compact},
		{"TOK-10, TOK-22", "", 200_000, nil, Load{Reported: 40_000}, GoOn}, // of one request, never of a session
		{"LOOP-10", "", 131_072, nil, Load{Reported: 20_000, Output: 131_072}, GoOn},
		{"LOOP-11", "", 8_192, func(s *Settings) { s.Hard = line("window-25000") }, Load{Reported: 1_000}, GoOn},
		{"MSW-07", "", 32_000, nil, Load{Reported: 40_000}, Compact},
		{"SUB-01", "", 200_000, nil, Load{Estimated: 500, Turns: 1}, GoOn},
	} {
		settings := presetSettings(t, c.preset)
		if c.change != nil {
			c.change(settings)
		}
		s, _ := begin(Config{Settings: settings, Model: Model{Provider: "p", ID: "m", Window: c.window}})
		if a := s.On(Request{c.load}); a.Do != c.want {
			t.Errorf("%s: %+v in %d: %s, want %s (%s)", c.row, c.load, c.window, a.Do, c.want, a.Reason)
		}
	}
}

// TestDisarm is T14: what was over the line and is not any more is not compacted.
func TestDisarm(t *testing.T) {
	s, _ := begin(Config{Settings: presetSettings(t, "anchored")})
	want(t, s.On(usage(70_000)), GoOn, "")
	want(t, s.On(usage(50_000)), GoOn, "")
	want(t, s.On(Request{Load{Reported: 50_000, Turns: 20}}), GoOn, "")
}

// TestFailedCompaction is R6 and R7: the request goes as it is, one notice tells why, and the next answer is the next chance.
func TestFailedCompaction(t *testing.T) {
	s, _ := begin(Config{Settings: presetSettings(t, "handoff")}, func(s *Settings) { s.Hard = line("4000") })
	a := s.On(Request{Load{Reported: 5000, Turns: 3}})
	want(t, a, Compact, "hard")
	told := s.On(NotCompacted{Attempt: a.Attempt, Reason: "the model called a tool"})
	if len(told.Notices) != 1 || !strings.Contains(told.Notices[0], "the model called a tool") || told.Text != "" {
		t.Fatalf("%+v", told)
	}
	again := s.On(Request{Load{Reported: 5000, Turns: 3}})
	want(t, again, GoOn, "")
	if len(again.Notices) > 0 {
		t.Errorf("a second notice: %v", again.Notices)
	}
	s.On(usage(5000))
	b := s.On(Request{Load{Reported: 5000, Turns: 5}})
	want(t, b, Compact, "hard")
	if b.Mechanical {
		t.Error("the model gets another chance")
	}
	s.On(Compacted{Attempt: b.Attempt, Outcome: Outcome{Before: 5000, After: 900}})
	want(t, s.On(Request{Load{Estimated: 900, Turns: 2}}), GoOn, "")
}

// TestCalledOff is R12: a compaction that somebody called off is no failure and gives no notice.
func TestCalledOff(t *testing.T) {
	s, _ := begin(Config{})
	for range 5 {
		a := s.On(reported(90_000))
		want(t, a, Compact, "hard")
		if a.Mechanical {
			t.Fatal("it counted as a failure")
		}
		if told := s.On(NotCompacted{Attempt: a.Attempt}); len(told.Notices) > 0 || told.Text != "" || told.Reason != "" {
			t.Fatalf("%+v", told)
		}
	}
}

// TestStrikes: after three failures no model is asked, and a success lets it be asked again (LOOP-14, X26).
func TestStrikes(t *testing.T) {
	s, _ := begin(Config{})
	for i := range strikes {
		a := s.On(reported(90_000 + i))
		want(t, a, Compact, "hard")
		if a.Mechanical {
			t.Fatalf("failure %d", i)
		}
		s.On(NotCompacted{Attempt: a.Attempt, Reason: "bad reply"})
	}
	a := s.On(reported(90_010))
	want(t, a, Compact, "hard")
	if !a.Mechanical {
		t.Fatal("a fourth call of the model")
	}
	s.On(Compacted{Attempt: a.Attempt, Outcome: Outcome{Mode: "mechanical", After: 20_000}})
	want(t, s.On(Request{Load{Estimated: 20_000}}), GoOn, "")
	a = s.On(reported(90_020))
	want(t, a, Compact, "hard")
	if a.Mechanical {
		t.Error("a success resets the strikes")
	}
	s.On(NotCompacted{Attempt: a.Attempt, Reason: "bad reply"})
	s.On(Resumed{})
	if s.failures != 0 {
		t.Error("a new session resets the strikes")
	}
}

// TestNothingToGain is LOOP-01, LOOP-07, LOOP-13 and LOOP-23: what brought nothing is not tried again until the context has
// grown, and a compaction that came down to just under the line is none that may be made at each turn.
func TestNothingToGain(t *testing.T) {
	s, _ := begin(Config{})
	a := s.On(reported(80_000))
	want(t, a, Compact, "hard")
	s.On(NotCompacted{Attempt: a.Attempt, Reason: "there is nothing that could be left out", Final: true})
	attempts := 0
	for n := 80_100; n < 83_600; n += 100 {
		s.On(usage(n))
		if a := s.On(reported(n)); a.Do != GoOn {
			attempts++
		} else if a.Reason == "" {
			t.Error("it does not say why nothing is done")
		}
	}
	if attempts > 0 {
		t.Fatalf("%d attempts while the context grew by less than a twentieth", attempts)
	}
	a = s.On(reported(85_000))
	want(t, a, Compact, "hard")
	s.On(Compacted{Attempt: a.Attempt, Outcome: Outcome{Before: 85_000, After: 79_000}})
	for n := 79_000; n < 84_000; n += 500 {
		want(t, s.On(reported(n)), GoOn, "")
	}
	want(t, s.On(reported(84_500)), Compact, "hard")
}

// TestBlock is LOOP-20: what does not fit is never sent silently. The model is tried, then no model, then it is blocked; and
// another request is another chance.
func TestBlock(t *testing.T) {
	s, _ := begin(Config{})
	big := Request{Load{Estimated: 218_000, Turns: 9}}
	a := s.On(big)
	want(t, a, Compact, "hard")
	if a.Mechanical {
		t.Fatal("the model has its chance")
	}
	s.On(NotCompacted{Attempt: a.Attempt, Reason: "the summary is empty"})
	b := s.On(big)
	want(t, b, Compact, "hard")
	if !b.Mechanical {
		t.Fatal("now no model")
	}
	s.On(NotCompacted{Attempt: b.Attempt, Reason: "it would save only 10 tokens"})
	for range 3 {
		c := s.On(big)
		want(t, c, Block, "")
		if !strings.Contains(c.Reason, "218000") || len(c.Notices) != 1 {
			t.Fatalf("%+v", c)
		}
	}
	want(t, s.On(Request{Load{Estimated: 217_000, Turns: 8}}), Compact, "hard")

	// One that was compacted and still does not fit is compacted without a model, and then blocked as well, instead of compacted
	// for ever. What the compaction itself was counted to come to says nothing.
	s, _ = begin(Config{})
	a = s.On(big)
	s.On(Compacted{Attempt: a.Attempt, Outcome: Outcome{Before: 218_000, After: 50_000}})
	a = s.On(Request{Load{Estimated: 125_000}})
	want(t, a, Compact, "hard")
	if !a.Mechanical {
		t.Fatal("the model has had its chance")
	}
	s.On(Compacted{Attempt: a.Attempt, Outcome: Outcome{Before: 125_000, After: 40_000}})
	want(t, s.On(Request{Load{Estimated: 120_000}}), Block, "")
	want(t, s.On(Request{Load{Estimated: 150_000}}), Compact, "hard") // it has grown
}

// TestBlockOnlyWhatIsKnown is LOOP-22: a window that is only assumed starts compactions and blocks nothing; an overflow
// teaches the real one.
func TestBlockOnlyWhatIsKnown(t *testing.T) {
	s, _ := begin(Config{Model: Model{Provider: "own", ID: "new"}})
	big := Request{Load{Estimated: 150_000}}
	for range 2 {
		a := s.On(big)
		want(t, a, Compact, "hard")
		s.On(NotCompacted{Attempt: a.Attempt, Reason: "no", Final: false})
	}
	want(t, s.On(big), GoOn, "")
	if st := s.Status(); st.Window != 128_000 || st.WindowFrom != "assumed" {
		t.Fatalf("%+v", st)
	}
	s.On(Failed{Err: overflow(200_000), Load: Load{Estimated: 210_000}})
	if st := s.Status(); st.Window != 200_000 || st.WindowFrom != "learned" {
		t.Fatalf("%+v", st)
	}
	kept, _ := begin(Config{Model: Model{Provider: "own", ID: "new"}, State: s.State()})
	if st := kept.Status(); st.Window != 200_000 {
		t.Fatalf("it was forgotten: %+v", st)
	}
}

// TestWindow: whose word counts (MSW-04, MSW-07, MSW-08, MSW-10, MSW-11, LOOP-22).
func TestWindow(t *testing.T) {
	const endpoint = "https://api.example.com/v1"
	catalogue := func(t *testing.T, window int) *llm.Catalogue {
		c := &llm.Catalogue{}
		if err := c.Override(fmt.Appendf(nil, `{"models":{"p/m":{"window":%d}}}`, window)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	learned := func() *llm.Catalogue {
		c := &llm.Catalogue{}
		c.Learn(endpoint, "m", 320_000)
		return c
	}
	declared := Model{Provider: "p", ID: "m", Window: 1_050_000, Endpoint: endpoint}
	for _, c := range []struct {
		name      string
		settings  int
		model     Model
		catalogue *llm.Catalogue
		events    []Event
		window    int
		from      string
	}{
		{"nobody", 0, Model{Provider: "p", ID: "m"}, nil, nil, 128_000, "assumed"},
		{"MSW-07: the agent", 0, declared, nil, nil, 1_050_000, "agent"},
		{"MSW-10: a person", 64_000, Model{Provider: "p", ID: "alias"}, nil, nil, 64_000, "settings"},
		{"a person over the agent", 64_000, declared, nil, nil, 64_000, "settings"},
		{"what a person says of models over the agent", 0, declared, catalogue(t, 500_000), nil, 500_000, "override"},
		{"the catalogue", 0, Model{Provider: "anthropic", ID: "claude-sonnet-4-5", Endpoint: "https://api.anthropic.com"}, llm.DefaultCatalogue(), nil, 200_000, "catalogue"},
		{"MSW-08: learned by an earlier session", 0, declared, learned(), nil, 320_000, "learned"},
		{"MSW-08: learned now", 0, declared, nil, []Event{Failed{Err: overflow(320_000), Load: Load{Reported: 330_000}}}, 320_000, "learned"},
		{"learned without an endpoint", 0, Model{Provider: "p", ID: "m", Window: 1_050_000}, nil, []Event{Failed{Err: overflow(320_000)}}, 320_000, "learned"},
		{"an overflow over a person", 1_000_000, declared, nil, []Event{Failed{Err: overflow(320_000)}}, 320_000, "learned"},
		{"LOOP-25: no limit is named", 0, declared, nil, []Event{Failed{Err: overflow(0), Load: Load{Estimated: 452_352}}}, 452_351, "learned"},
		{"the smallest that did not fit counts", 0, declared, nil, []Event{
			Failed{Err: overflow(0), Load: Load{Estimated: 300_000}}, Failed{Err: overflow(0), Load: Load{Estimated: 400_000}},
		}, 299_999, "learned"},
		{"a limit that is named counts more", 0, declared, nil, []Event{
			Failed{Err: overflow(0), Load: Load{Estimated: 300_000}}, Failed{Err: overflow(310_000), Load: Load{Estimated: 305_000}},
		}, 310_000, "learned"},
		{"an overflow that the window explains", 0, declared, nil, []Event{Failed{Err: overflow(0), Load: Load{Estimated: 1_100_000}}}, 1_050_000, "agent"},
		{"an overflow of nothing", 0, declared, nil, []Event{Failed{Err: overflow(0), Load: Load{Estimated: 12}}}, 1_050_000, "agent"},
		{"MSW-11: served", 0, declared, nil, []Event{Replied{Window: 128_000}}, 128_000, "served"},
		{"MSW-11: another model", 0, declared, nil, []Event{Replied{Window: 128_000}, Switched{To: Model{Provider: "p", ID: "n", Window: 300_000}}}, 300_000, "agent"},
		{"T13: another model's", 0, declared, nil, []Event{Failed{Err: overflow(8_000), Model: "p/old"}}, 1_050_000, "agent"},
		{"an output limit that tells of the window", 0, declared, nil, []Event{Failed{Err: &llm.Error{Kind: llm.OutputLimit, Limit: 320_000, Input: 310_000}}}, 320_000, "learned"},
		{"an output limit that tells nothing", 0, declared, nil, []Event{Failed{Err: &llm.Error{Kind: llm.OutputLimit, Limit: 64_000}}}, 1_050_000, "agent"},
	} {
		s, _ := begin(Config{Model: c.model, Catalogue: c.catalogue}, func(s *Settings) { s.Window = c.settings })
		for _, e := range c.events {
			s.On(e)
		}
		if st := s.Status(); st.Window != c.window || st.WindowFrom != c.from {
			t.Errorf("%s: %d from %s, want %d from %s", c.name, st.Window, st.WindowFrom, c.window, c.from)
		}
	}
	t.Run("MSW-04: settings read anew in the middle", func(t *testing.T) {
		s, _ := begin(Config{})
		want(t, s.On(reported(50_000)), GoOn, "")
		smaller := DefaultSettings()
		smaller.Window = 40_000
		s.SetSettings(smaller)
		want(t, s.On(reported(50_000)), Compact, "hard")
	})
}

// TestOverflow is T11, T14, LOOP-05 and LOOP-25: an overflow starts a compaction whatever anybody has counted, as often as
// the settings say, until a request is answered.
func TestOverflow(t *testing.T) {
	for name, most := range map[string]int{"checkpoint": 1, "anchored": 2, "default": 2} {
		s, _ := begin(Config{Settings: presetSettings(t, name)})
		failed := Failed{Err: overflow(0), Load: Load{Estimated: 30_000, Turns: 3}}
		for round := range 2 { // a success in between lets it begin anew
			for i := range most {
				a := s.On(failed)
				want(t, a, Compact, "overflow")
				if a.Mechanical != (i > 0) {
					t.Errorf("%s: attempt %d: mechanical %v", name, i, a.Mechanical)
				}
				want(t, s.On(failed), Wait, "")
				s.On(Compacted{Attempt: a.Attempt})
			}
			for range 2 {
				a := s.On(failed)
				want(t, a, Refuse, "")
				if !strings.Contains(a.Reason, "prompt is too long") || len(a.Notices) != 1 {
					t.Fatalf("%s: %+v", name, a)
				}
			}
			if round == 0 {
				s.On(usage(10_000))
			}
		}
	}
}

// TestNoOverflow is T12 and T13: what waiting helps, and what another model has met, starts nothing.
func TestNoOverflow(t *testing.T) {
	s, _ := begin(Config{})
	load := Load{Estimated: 90_000}
	for _, e := range []Failed{
		{Err: llm.Classify(http.StatusBadRequest, nil, []byte(`{"message":"Throttling error: Too many tokens, please wait before trying again."}`)), Load: load},
		{Err: llm.Classify(http.StatusTooManyRequests, nil, []byte(`{"error":{"message":"rate limit"}}`)), Load: load},
		{Err: overflow(50_000), Model: "p/other", Load: load},
		{Err: errors.New("broken pipe"), Load: load},
		{Err: nil, Load: load},
		{Err: &llm.Error{Kind: llm.OutputLimit, Limit: 8_000}, Load: load},
	} {
		want(t, s.On(e), GoOn, "")
	}
	if a := s.On(Failed{Err: fmt.Errorf("sent: %w", overflow(0)), Model: "p/m", Load: load}); a.Do != Compact {
		t.Errorf("a wrapped error: %+v", a)
	}
}

// TestTruncated is TOK-25: a reply that counts far less than was sent was to a part of it.
func TestTruncated(t *testing.T) {
	s, _ := begin(Config{Model: Model{Provider: "ollama", ID: "q", Window: 131_072}})
	want(t, s.On(Request{Load{Estimated: 50_000}}), GoOn, "")
	a := s.On(usage(16_386))
	if len(a.Notices) != 1 || !strings.Contains(a.Notices[0], "16386") || !strings.Contains(a.Notices[0], "50000") {
		t.Fatalf("%+v", a)
	}
	b := s.On(Request{Load{Estimated: 51_000}})
	if b.Do != Compact {
		t.Fatalf("%+v", b)
	}
	if w := s.Status().Window; w >= 50_000 {
		t.Errorf("the window is still %d", w)
	}
	if len(s.State().Ratios) > 0 {
		t.Error("it was taken for a ratio")
	}

	// What is over a window that is only assumed was read all the same.
	s, _ = begin(Config{Model: Model{Provider: "own", ID: "new"}})
	if a := s.On(usage(150_000)); len(a.Notices) > 0 || s.Status().WindowFrom != "assumed" {
		t.Errorf("%+v", a)
	}
	// Without a success in between it is told again, and not compacted for ever.
	s, _ = begin(Config{Model: Model{Provider: "ollama", ID: "q", Window: 131_072}})
	attempts := 0
	for range 5 {
		if a := s.On(Request{Load{Estimated: 50_000}}); a.Do == Compact {
			attempts++
			s.On(NotCompacted{Attempt: a.Attempt, Reason: "no", Final: true})
			continue
		}
		s.On(Replied{Usage: llm.Usage{Reported: true, Input: 16_386}, Expected: 50_000})
	}
	if attempts < 1 || attempts > 2 {
		t.Errorf("%d attempts", attempts)
	}
}

// TestStaleUsage is T10, TOK-08 and TOK-11: what was reported before a compaction triggers nothing after it.
func TestStaleUsage(t *testing.T) {
	s, _ := begin(Config{})
	a := s.On(Request{Load{Reported: 90_000, Estimated: 85_000}})
	want(t, a, Compact, "hard")
	s.On(Compacted{Attempt: a.Attempt, Outcome: Outcome{Before: 90_000, After: 8_000}})
	want(t, s.On(Request{Load{Reported: 90_000, Since: 200, Estimated: 8_000}}), GoOn, "")
	if n := s.Status().Tokens; n != 8_000 {
		t.Errorf("%d tokens", n)
	}
	s.On(Settled{Load{Reported: 90_000, Estimated: 8_000}})
	if len(s.State().Fired) > 0 {
		t.Error("a reminder of what was")
	}
}

// TestSingleFlight is CON-07, CON-08, CON-10 and ORPH-19: one attempt, whoever asks; and nothing new is no reason for another.
func TestSingleFlight(t *testing.T) {
	s, _ := begin(Config{})
	a := s.On(Asked{Load: Load{Reported: 60_000}})
	want(t, a, Compact, "manual")
	for _, e := range []Event{Asked{}, Asked{}, reported(95_000), Began{Reason: "threshold"}, Failed{Err: overflow(0), Load: Load{Reported: 95_000}}} {
		if b := s.On(e); b.Do != Wait || b.Attempt != a.Attempt {
			t.Fatalf("%T: %+v", e, b)
		}
	}
	want(t, s.On(ToolAsked{Load: Load{Reported: 60_000}}), Refuse, "")
	if r := s.On(Settled{Load{Reported: 60_000}}); r.Text != "" || len(s.State().Fired) > 0 {
		t.Error("a reminder while a compaction is made")
	}
	if !s.Status().InFlight {
		t.Error("status")
	}
	s.On(Compacted{Attempt: a.Attempt, Outcome: Outcome{After: 10_000}})
	want(t, s.On(Asked{Load: Load{Estimated: 10_000}}), Refuse, "")
	if s.State().Compactions != 1 {
		t.Error(s.State().Compactions)
	}
	s.On(usage(12_000))
	want(t, s.On(Asked{Load: Load{Reported: 12_000}}), Compact, "manual")
}

// TestStaleOutcome is CON-04: what is told of another attempt than the one in flight is ignored.
func TestStaleOutcome(t *testing.T) {
	s, _ := begin(Config{})
	a := s.On(reported(90_000))
	s.On(NotCompacted{Attempt: a.Attempt, Reason: "bad"})
	b := s.On(reported(91_000))
	want(t, b, Compact, "hard")
	for _, e := range []Event{
		Compacted{Attempt: a.Attempt}, NotCompacted{Attempt: a.Attempt, Reason: "late"}, Vetoed{Attempt: a.Attempt},
		Compacted{Attempt: 99}, NotCompacted{Attempt: -1, Reason: "x"}, NotCompacted{Reason: "of somebody else"},
	} {
		if told := s.On(e); told.Text != "" || len(told.Notices) > 0 {
			t.Errorf("%+v: %+v", e, told)
		}
		if !s.Status().InFlight || s.State().Compactions != 0 {
			t.Fatalf("%+v counted", e)
		}
	}
	// A compaction by somebody else takes the transcript away from under ours.
	s.On(Compacted{Outcome: Outcome{Before: 90_000, After: 10_000}})
	if s.Status().InFlight || s.State().Compactions != 1 {
		t.Fatal("the other one did not count")
	}
	s.On(Compacted{Attempt: b.Attempt})
	if s.State().Compactions != 1 {
		t.Error("a result for a transcript that is no more")
	}
}

// TestLost: an attempt of which nothing is heard is given up, and its outcome comes too late.
func TestLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := begin(Config{}, func(s *Settings) { s.MaxWait = Duration(time.Minute) })
		a := s.On(reported(90_000))
		want(t, a, Compact, "hard")
		time.Sleep(time.Minute)
		want(t, s.On(reported(90_000)), Wait, "")
		time.Sleep(time.Minute)
		b := s.On(reported(91_000))
		want(t, b, Compact, "hard")
		if told := s.On(Compacted{Attempt: a.Attempt}); told.Attempt != 0 || s.State().Compactions != 0 {
			t.Error("it came too late")
		}
	})
}

// TestDebounce: below the hard threshold a moment passes between two attempts; at it none does.
func TestDebounce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := begin(Config{}, func(s *Settings) { s.OutputReserve = 0 })
		a := s.On(reported(76_000))
		want(t, a, Start, "soft")
		want(t, s.On(reported(77_000)), GoOn, "") // it runs in the background
		want(t, s.On(reported(91_000)), Wait, "") // now it is needed
		s.On(NotCompacted{Attempt: a.Attempt, Reason: "bad reply"})
		want(t, s.On(reported(77_000)), GoOn, "")
		time.Sleep(29 * time.Second)
		want(t, s.On(reported(77_001)), GoOn, "")
		time.Sleep(time.Second)
		b := s.On(reported(77_002))
		want(t, b, Start, "soft")
		s.On(NotCompacted{Attempt: b.Attempt, Reason: "bad reply"})
		want(t, s.On(reported(91_000)), Compact, "hard")
	})
}

// TestSoft: when the background attempt is not worth having.
func TestSoft(t *testing.T) {
	soft := Request{Load{Reported: 60_000, Turns: 4}}
	s, _ := begin(Config{}, func(s *Settings) { s.CompactModel = noModel })
	want(t, s.On(soft), GoOn, "") // it takes no time
	s, _ = begin(Config{})
	open := soft
	open.Load.OpenCalls = 2
	want(t, s.On(open), GoOn, "") // ORPH-16: it waits for the end of the tool phase
	want(t, s.On(soft), Start, "soft")
}

// TestEnded: nothing is delivered to a session that is over.
func TestEnded(t *testing.T) {
	s, _ := begin(Config{})
	a := s.On(ToolAsked{Load: Load{Reported: 60_000}})
	want(t, a, Launch, "tool")
	s.On(Ended{})
	for _, e := range everyEvent(a.Attempt) {
		if b := s.On(e); b.Do != GoOn || b.Text != "" || len(b.Notices) > 0 || b.Attempt != 0 {
			t.Errorf("%T: %+v", e, b)
		}
	}
	if s.State().Compactions != 0 || s.Status().InFlight {
		t.Errorf("%+v", s.Status())
	}
}

// TestSubagent is X15 and SUB-08: a subagent is left alone, and what it reports is nobody else's.
func TestSubagent(t *testing.T) {
	parent, _ := begin(Config{})
	child, _ := begin(Config{Subagent: true})
	for _, e := range everyEvent(1) {
		if a := child.On(e); a.Do != GoOn || a.Text != "" || len(a.Notices) > 0 {
			t.Errorf("%T: %+v", e, a)
		}
	}
	if child.Status().Enabled {
		t.Error("status")
	}
	want(t, parent.On(reported(30_000)), GoOn, "")
}

func everyEvent(attempt int) []Event {
	load := Load{Reported: 99_000, Estimated: 99_000, Turns: 20}
	return []Event{
		Request{load}, usage(99_000), Failed{Err: overflow(0), Load: load}, Switched{To: Model{Provider: "p", ID: "n", Window: 50_000}, Load: load},
		Settled{load}, Resumed{}, ToolAsked{Load: load}, Asked{Load: load}, Began{Reason: "threshold", Load: load}, Vetoed{Attempt: attempt},
		Compacted{Attempt: attempt}, Compacted{}, NotCompacted{Attempt: attempt, Reason: "x"},
	}
}

// TestVetoes is HOOK-01 and HOOK-02: a hook may say no twice, and then the compaction goes ahead.
func TestVetoes(t *testing.T) {
	hooked := func(s *Settings) { s.Hooks.Before = []string{"hook"} }
	s, _ := begin(Config{}, hooked)
	full := Request{Load{Estimated: 150_000, Turns: 9}}
	asked := 0
	for range 8 {
		a := s.On(full)
		if a.Do != Compact {
			t.Fatalf("%+v", a)
		}
		if !a.Hook {
			s.On(Compacted{Attempt: a.Attempt, Outcome: Outcome{After: 10_000}})
			break
		}
		asked++
		if a.Mechanical {
			t.Error("a veto is no failure of the model")
		}
		if told := s.On(Vetoed{Attempt: a.Attempt, Reason: "not now"}); len(told.Notices) != 1 || !strings.Contains(told.Notices[0], "not now") {
			t.Errorf("%+v", told)
		}
	}
	if asked != 2 || s.State().Compactions != 1 {
		t.Fatalf("the hook was asked %d times", asked)
	}
	if a := s.On(full); !a.Hook {
		t.Error("the next occasion has its own vetoes")
	}

	// Below the block line a veto holds until the next request.
	s, _ = begin(Config{}, hooked)
	a := s.On(reported(90_000))
	s.On(Vetoed{Attempt: a.Attempt, Reason: "not now"})
	want(t, s.On(reported(90_000)), GoOn, "")
	want(t, s.On(reported(90_500)), Compact, "hard")

	// A new process asks its hook again.
	s, _ = begin(Config{}, hooked)
	for range 2 {
		s.On(Vetoed{Attempt: s.On(full).Attempt, Reason: "not now"})
	}
	s.On(Resumed{})
	if a := s.On(full); !a.Hook {
		t.Error("the vetoes of an earlier process count")
	}

	s, _ = begin(Config{})
	if a := s.On(full); a.Hook {
		t.Error("there is no hook")
	}
}

// TestLimits is IMG-10: a body over the provider's limit is compacted though its tokens are few, and blocked if that did not help.
func TestLimits(t *testing.T) {
	s, _ := begin(Config{}, func(s *Settings) { s.Limits = Limits{Bytes: 32 << 20, Images: 20, Items: 1000} })
	for _, l := range []Load{
		{Estimated: 15_500, Bytes: 34_200_000, Images: 12},
		{Estimated: 15_500, Images: 21},
		{Estimated: 15_500, Items: 1001},
	} {
		a := s.On(Request{l})
		want(t, a, Compact, "limit")
		s.On(NotCompacted{Attempt: a.Attempt, Reason: "no", Final: true})
		want(t, s.On(Request{l}), Block, "")
	}
	want(t, s.On(Request{Load{Estimated: 15_500, Bytes: 1 << 20, Images: 20, Items: 1000}}), GoOn, "")

	// What a provider refuses is a limit from then on.
	s, _ = begin(Config{})
	big := Load{Estimated: 15_500, Bytes: 34_200_000}
	want(t, s.On(Request{big}), GoOn, "")
	a := s.On(Failed{Err: &llm.Error{Kind: llm.TooManyBytes, Status: 413, Message: "too large"}, Load: big})
	want(t, a, Compact, "overflow")
	s.On(NotCompacted{Attempt: a.Attempt, Reason: "no", Final: true})
	want(t, s.On(Request{big}), Block, "")
}

// TestReminders is T21, X16 to X18 by their data.
func TestReminders(t *testing.T) {
	s, words := begin(Config{Model: Model{Provider: "p", ID: "m", Window: 1_000_000}}, func(s *Settings) {
		s.ReminderThresholds = []Threshold{line("200k"), line("400k"), line("600k")}
	})
	last := func() texts.Reminder { return words.said[len(words.said)-1].(texts.Reminder) }
	if a := s.On(Settled{}); a.Text != "" {
		t.Error("nothing is known of the use")
	}
	if a := s.On(Settled{Load{Reported: 199_999}}); a.Text != "" {
		t.Error("no tier is reached")
	}
	if a := s.On(Settled{Load{Reported: 215_000}}); a.Text == "" {
		t.Fatal("no reminder")
	}
	r := last()
	if r.Tokens != 215_000 || r.Window != 1_000_000 || !slices.Equal(r.Tiers, []texts.Tier{{Ordinal: 1, Tokens: 200_000}}) ||
		r.Tool != ToolName || r.LowestTier != 200_000 || r.Compactions != 0 || r.Freed == nil || *r.Freed != 107_500 || r.Cost != nil {
		t.Errorf("%+v", r)
	}
	if a := s.On(Settled{Load{Reported: 300_000}}); a.Text != "" {
		t.Error("the same tier again")
	}
	s.On(Settled{Load{Reported: 610_000}}) // X17: two at once, by their own ordinals
	if r := last(); !slices.Equal(r.Tiers, []texts.Tier{{Ordinal: 2, Tokens: 400_000}, {Ordinal: 3, Tokens: 600_000}}) || r.Freed == nil || *r.Freed != 305_000 {
		t.Errorf("%+v", r)
	}
	if st := s.Status(); !slices.Equal(st.Fired, []int{1, 2, 3}) {
		t.Errorf("%+v", st)
	}
	for n := range 2 {
		a := s.On(Asked{Load: Load{Reported: 610_000}})
		want(t, a, Compact, "manual")
		s.On(Compacted{Attempt: a.Attempt})
		s.On(usage(150_000 + n))
		if a := s.On(Settled{Load{Reported: 450_000 + n}}); a.Text == "" {
			t.Fatal("after a compaction they come again")
		}
		if r := last(); r.Compactions != n+1 || len(r.Tiers) != 2 { // X18
			t.Errorf("%+v", r)
		}
	}
	// What was told is remembered, and goes with the tiers that it was told of.
	again, _ := begin(Config{Model: s.model, Settings: &s.settings, State: s.State()})
	if a := again.On(Settled{Load{Reported: 450_000}}); a.Text != "" {
		t.Error("told again by a new process")
	}
	other := s.settings
	other.ReminderThresholds = []Threshold{line("100k")}
	again.SetSettings(other)
	if a := again.On(Settled{Load{Reported: 450_000}}); a.Text == "" {
		t.Error("another tier")
	}
}

// TestTool is T22, T23 and X8: the checks in their order, and what a granted call is told.
func TestTool(t *testing.T) {
	mega := Model{Provider: "p", ID: "m", Window: 1_000_000}
	seed := func(s *Settings) { s.ReminderThresholds = []Threshold{line("200k"), line("400k"), line("600k")} }
	for _, c := range []struct {
		name   string
		model  Model
		change func(*Settings)
		load   Load
		why    string
	}{
		{"T22 below", mega, seed, Load{Reported: 38_000}, "below"},
		{"T22 equal passes", mega, seed, Load{Reported: 200_000}, ""},
		{"T22 unknown", mega, seed, Load{}, "unknown"},
		{"T23 excluded", mega, func(s *Settings) { s.ExcludedModels = []string{"p/m"} }, Load{Reported: 500_000}, "excluded"},
		{"T23 another model", Model{Provider: "p", ID: "m2", Window: 1_000_000}, func(s *Settings) { s.ExcludedModels = []string{"p/m"} }, Load{Reported: 500_000}, ""},
		{"T23, X8 no id", Model{Provider: "p", Window: 1_000_000}, seed, Load{Reported: 500_000}, "unknown"},
		{"X1 disabled", mega, func(s *Settings) { s.Enabled = false }, Load{Reported: 500_000}, "disabled"},
		{"disabled comes before excluded", mega, func(s *Settings) { s.Enabled, s.ExcludedModels = false, []string{"p/m"} }, Load{}, "disabled"},
	} {
		s, words := begin(Config{Model: c.model, Origin: from("pemmican.toml ")}, c.change)
		a := s.On(ToolAsked{Instructions: "the API", Load: c.load})
		if c.why == "" {
			want(t, a, Launch, "tool")
			if a.Focus != "the API" || a.Text == "" {
				t.Errorf("%s: %+v", c.name, a)
			}
			if l := words.said[0].(texts.Launched); l.Mode != "same" || l.Model != c.model.name() || l.Count != 1 {
				t.Errorf("%s: %+v", c.name, l)
			}
			continue
		}
		want(t, a, Refuse, "")
		r := words.said[0].(texts.Refusal)
		where := map[string]string{ // nothing else is a matter of settings
			"disabled": "pemmican.toml enabled", "excluded": "pemmican.toml excludedModels", "below": "pemmican.toml reminderThresholds",
		}[c.why]
		if r.Why != c.why || r.Tool != ToolName || r.SettingsFile != where || a.Text == "" {
			t.Errorf("%s: %+v", c.name, r)
		}
		if c.why == "below" && (r.Tokens != 38_000 || r.LowestTier != 200_000 || r.Window != 1_000_000) {
			t.Errorf("%s: %+v", c.name, r)
		}
		if c.why == "excluded" && r.Model != "p/m" {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

// TestLaunched: a granted attempt begins where the agent's program begins it, or before the next request; and its outcome is
// told to the agent (X9, X18).
func TestLaunched(t *testing.T) {
	dollars := 0.02
	for name, beginning := range map[string]Event{
		"takeover": Began{Reason: "manual", Load: Load{Reported: 61_000}},
		"request":  Request{Load{Reported: 61_000}},
		"overflow": Failed{Err: overflow(0), Load: Load{Reported: 61_000}},
		"asked":    Asked{Load: Load{Reported: 61_000}},
	} {
		s, words := begin(Config{State: State{Compactions: 1}}, func(s *Settings) { s.CompactModel = "q/cheap" })
		a := s.On(ToolAsked{Instructions: "names", Load: Load{Reported: 60_000}})
		want(t, a, Launch, "tool")
		if l := words.said[0].(texts.Launched); l.Mode != "cross" || l.Model != "q/cheap" || l.Count != 2 {
			t.Errorf("%+v", l)
		}
		b := s.On(beginning)
		if b.Do != Compact || b.Attempt != a.Attempt || b.Focus != "names" || b.Occasion != "tool" {
			t.Fatalf("%s: %+v", name, b)
		}
		want(t, s.On(Request{Load{Reported: 61_000}}), Wait, "")
		done := s.On(Compacted{Attempt: a.Attempt, Outcome: Outcome{
			Mode: "cross", Model: "q/cheap", Before: 61_000, After: 9_000,
			Asked: &pemmican.Asking{Input: 1000, CacheRead: 250, Dollars: &dollars},
		}})
		o := words.said[len(words.said)-1].(texts.Outcome)
		if done.Text == "" || len(done.Notices) > 0 || o.Compactions != 2 || o.CacheShare != 25 || o.Cost != &dollars || o.Before != 61_000 || o.After != 9_000 {
			t.Errorf("%s: %+v %+v", name, done, o)
		}
	}
	s, _ := begin(Config{})
	a := s.On(ToolAsked{Load: Load{Reported: 60_000}})
	s.On(Request{Load{Reported: 60_000}})
	if told := s.On(NotCompacted{Attempt: a.Attempt, Reason: "bad reply"}); !strings.Contains(told.Text, "bad reply") || len(told.Notices) > 0 {
		t.Errorf("%+v", told)
	}
}

// TestTakeover is the order of seeds 4B.3: gate, guard, attempt.
func TestTakeover(t *testing.T) {
	began := Began{Reason: "threshold", Instructions: "names", Load: Load{Reported: 90_000}}
	s, _ := begin(Config{})
	a := s.On(began)
	want(t, a, Compact, "hard")
	if a.Focus != "names" {
		t.Errorf("%+v", a)
	}
	for name, change := range map[string]func(*Settings){
		"X1 disabled": func(s *Settings) { s.Enabled = false },
		"X1 excluded": func(s *Settings) { s.ExcludedModels = []string{"p/m"} },
	} {
		s, _ := begin(Config{}, change)
		if a := s.On(began); a.Do != GoOn {
			t.Errorf("%s: %+v", name, a)
		}
		want(t, s.On(Asked{Load: Load{Reported: 90_000}}), Refuse, "")
		want(t, s.On(reported(99_000)), GoOn, "")
		want(t, s.On(Failed{Err: overflow(0), Load: Load{Reported: 99_000}}), GoOn, "")
		want(t, s.On(Settled{Load{Reported: 99_000}}), GoOn, "")
	}
	s, _ = begin(Config{Model: Model{Window: 100_000}}) // X8
	want(t, s.On(began), GoOn, "")
	for reason, occasion := range map[string]string{"manual": "manual", "overflow": "overflow", "": "hard"} {
		s, _ := begin(Config{})
		want(t, s.On(Began{Reason: reason}), Compact, occasion)
	}
}

// TestSwitch is T24, X19, X20 and MSW-05.
func TestSwitch(t *testing.T) {
	big := Model{Provider: "p", ID: "big", Window: 1_000_000}
	small := Model{Provider: "p", ID: "small", Window: 200_000}
	out := Model{Provider: "zai", ID: "glm", Window: 200_000}
	for _, c := range []struct {
		name     string
		from, to Model
		load     Load
		want     any
	}{
		{"X20 at the line", big, small, Load{Reported: 183_616}, downshiftText{"p/small", 183_616, 200_000, 1_000_000}},
		{"X20 below it", big, small, Load{Reported: 183_615}, nil},
		{"X20 unknown", big, small, Load{}, nil},
		{"X20 larger", small, big, Load{Reported: 190_000}, nil},
		{"T24", big, small, Load{Reported: 190_000}, downshiftText{"p/small", 190_000, 200_000, 1_000_000}},
		{"T24 low", big, small, Load{Reported: 20_000}, nil},
		{"T24 a window that nobody knows", big, Model{Provider: "p", ID: "odd"}, Load{Reported: 190_000}, nil},
		{"the same", big, big, Load{Reported: 999_000}, nil},
		{"no id", big, Model{Provider: "p"}, Load{Reported: 999_000}, nil},
		{"X19 into exclusion", big, out, Load{Reported: 190_000}, availabilityText{"zai/glm", false, "f: excludedModels"}},
		{"X19 out of it", out, small, Load{Reported: 190_000}, availabilityText{"p/small", true, "f: excludedModels"}},
	} {
		s, words := begin(Config{Model: c.from, Origin: from("f: ")}, func(s *Settings) { s.ExcludedModels = []string{"zai/glm"} })
		a := s.On(Switched{To: c.to, Load: c.load})
		switch {
		case c.want == nil && (a.Text != "" || len(words.said) > 0):
			t.Errorf("%s: %+v", c.name, words.said)
		case c.want != nil && (len(words.said) != 1 || words.said[0] != c.want || a.Text == "" || len(a.Notices) > 0):
			t.Errorf("%s: %+v", c.name, words.said)
		}
		off, words := begin(Config{Model: c.from}, func(s *Settings) { s.Enabled = false })
		if off.On(Switched{To: c.to, Load: c.load}); len(words.said) > 0 {
			t.Errorf("%s: %+v though it is off", c.name, words.said)
		}
	}

	t.Run("what brought nothing in another window", func(t *testing.T) {
		s, _ := begin(Config{Model: big})
		a := s.On(Request{Load{Estimated: 950_000}})
		s.On(Compacted{Attempt: a.Attempt, Outcome: Outcome{Before: 950_000, After: 480_000}})
		want(t, s.On(Request{Load{Estimated: 190_000}}), GoOn, "")
		s.On(Switched{To: small, Load: Load{Estimated: 190_000}})
		a = s.On(Request{Load{Estimated: 190_001}})
		want(t, a, Compact, "hard")
		s.On(NotCompacted{Attempt: a.Attempt, Reason: "frees less than 10 %", Final: true})
		want(t, s.On(Request{Load{Estimated: 190_002}}), GoOn, "")
		s.On(Switched{To: Model{Provider: "p", ID: "smaller", Window: 195_000}, Load: Load{Estimated: 190_002}})
		want(t, s.On(Request{Load{Estimated: 190_003}}), Compact, "hard")
	})

	t.Run("MSW-01, MSW-02, MSW-05", func(t *testing.T) {
		s, _ := begin(Config{Model: big})
		s.On(Switched{To: small, Load: Load{Reported: 300_000}})
		a := s.On(reported(300_000))
		want(t, a, Compact, "hard")
		if a.Model != "p/big" {
			t.Fatalf("the smaller model cannot even read it: %+v", a)
		}
		s.On(NotCompacted{Attempt: a.Attempt, Reason: "no key"})
		if a = s.On(reported(300_000)); a.Model != "" || !a.Mechanical {
			t.Fatalf("%+v", a)
		}
		s.On(Compacted{Attempt: a.Attempt, Outcome: Outcome{After: 90_000}})
		s.On(Switched{To: big})
		s.On(Switched{To: small, Load: Load{Reported: 190_000}})
		s.On(usage(190_000)) // it has answered
		if a := s.On(Asked{Load: Load{Reported: 190_000}}); a.Model != "" {
			t.Errorf("%+v", a)
		}
	})
}

// TestWorth is the break-even of the prices: 11.5 S/F more requests for Anthropic's prices, 9 S/F where a write costs as
// much as input.
func TestWorth(t *testing.T) {
	price := func(read, write, output float64) *llm.Price {
		return &llm.Price{Input: 3, Output: output, CacheRead: read, CacheWrite: write}
	}
	at := func(p *llm.Price, requests int, change ...func(*Settings)) (*Session, Answer) {
		s, _ := begin(Config{Model: Model{Provider: "p", ID: "m", Window: 200_000, Price: p}}, change...)
		s.requests = requests
		return s, s.On(Request{Load{Reported: 150_000, Turns: 2 * requests}})
	}
	// Freed 50,000, rewritten 100,000: two to one, so 23 more requests pay for it.
	for requests, pays := range map[int]bool{22: false, 23: true, 24: true} {
		s, _ := begin(Config{Model: Model{Provider: "p", ID: "m", Window: 200_000, Price: price(0.3, 3.75, 0)}})
		s.requests = requests
		w := s.worthOf(Load{Reported: 150_000}, false)
		if w.Freed != 50_000 || w.Rewritten != 100_000 || w.Turns != requests || w.Pays() != pays {
			t.Errorf("%d requests: %s", requests, w)
		}
	}
	if _, a := at(price(0.3, 3.75, 15), 10); a.Do != GoOn || a.Worth == nil || !strings.Contains(a.Reason, "hard threshold") || !strings.Contains(a.Reason, "50000") {
		t.Errorf("it does not pay yet: %+v", a)
	}
	if _, a := at(price(0.3, 3.75, 15), 90); a.Do != Start || a.Worth == nil || !a.Worth.Pays() {
		t.Errorf("it pays: %+v", a)
	}
	if _, a := at(nil, 10); a.Do != Start || a.Worth != nil {
		t.Errorf("nobody knows the prices: %+v", a)
	}
	if _, a := at(&llm.Price{}, 10); a.Do != Start || a.Worth != nil {
		t.Errorf("nothing costs anything: %+v", a)
	}
	s, _ := at(price(0.3, 3.75, 15), 10)
	a := s.On(reported(180_000))
	want(t, a, Compact, "hard") // whatever it costs
	if a.Worth == nil {
		t.Error("the sum is not told")
	}
	one, words := begin(Config{Model: Model{Provider: "p", ID: "m", Window: 200_000, Price: price(0.3, 3.75, 15)}})
	one.requests = 40
	done := one.On(reported(180_000))
	one.On(Compacted{Attempt: done.Attempt, Outcome: Outcome{Before: 180_000, After: 60_000}})
	if o, ok := words.said[len(words.said)-1].(texts.Outcome); !ok || o.Requests != 40 || o.Saves == nil || math.Abs(*o.Saves-0.3*0.12*40) > 1e-9 {
		t.Errorf("what it really saves is not told: %+v", words.said)
	}
	if w := s.worthOf(Load{Reported: 90_000}, true); w == nil || w.Freed != 45_000 {
		t.Errorf("below its target, half is freed where somebody asks: %v", w)
	}
	if own, none := s.worthOf(Load{Reported: 150_000}, true), s.worthOf(Load{Reported: 150_000}, false); own.Costs <= none.Costs {
		t.Errorf("a summary by a model costs more: %s, %s", own, none)
	}
}

func TestAdvise(t *testing.T) {
	dear := llm.Price{Input: 5, Output: 25} // no price for the cache: it reads at full price
	cached := llm.Price{Input: 5, Output: 25, CacheRead: 0.5}
	cheap := llm.Price{Input: 0.1, Output: 0.4}
	for _, c := range []struct {
		own, other llm.Price
		mode       string
	}{
		{dear, cheap, "cross"},
		{llm.Price{Input: 1, Output: 2, CacheRead: 0.1}, cheap, "same"},
		{cached, llm.Price{Input: 3, Output: 15}, "same"},
		{cached, llm.Price{}, "same"},
		{llm.Price{}, cheap, "same"},
	} {
		if a := Advise(c.own, c.other); a.Mode != c.mode || a.Reason == "" {
			t.Errorf("%+v, %+v: %+v", c.own, c.other, a)
		}
	}
}

// TestCalibrate: estimates are fitted to what the provider counts, by model, within bounds.
func TestCalibrate(t *testing.T) {
	s, _ := begin(Config{Model: Model{Provider: "p", ID: "m", Window: 500_000}})
	reply := func(estimated, input int) {
		s.On(Request{Load{Estimated: estimated}})
		s.On(usage(input))
	}
	reply(100, 130) // too little to tell
	if r := s.State().Ratios; len(r) > 0 {
		t.Fatal(r)
	}
	for range 20 {
		reply(100_000, 120_000)
	}
	reply(10_000, 30_000) // something else is in there
	if r := s.State().Ratios["p/m"]; r < 1.19 || r > 1.21 {
		t.Fatal(r)
	}
	if n := s.input(Load{Estimated: 100_000}); n < 119_000 || n > 121_000 {
		t.Error(n)
	}
	if n := s.input(Load{Reported: 100_000, Since: 10_000}); n < 111_900 || n > 112_100 {
		t.Error(n)
	}
	s.On(Switched{To: Model{Provider: "p", ID: "n", Window: 500_000}})
	if n := s.input(Load{Estimated: 100_000}); n != 100_000 {
		t.Error(n)
	}
}

// TestState: what a session has learned goes through JSON into the next one.
func TestState(t *testing.T) {
	model := Model{Provider: "p", ID: "m", Window: 400_000, Endpoint: "https://api.example.com"}
	s, _ := begin(Config{Model: model, State: State{Compactions: 2, Guard: []byte(`{"x":1}`)}})
	s.On(Request{Load{Estimated: 10_000}})
	s.On(usage(12_000))
	s.On(Settled{Load{Reported: 170_000}})
	s.On(Failed{Err: overflow(300_000), Load: Load{Estimated: 310_000}})
	data, err := json.Marshal(s.State())
	if err != nil {
		t.Fatal(err)
	}
	var state State
	if err := json.Unmarshal(data, &state); err != nil {
		t.Fatal(err)
	}
	next, _ := begin(Config{Model: model, State: state})
	again, err := json.Marshal(next.State())
	if err != nil || string(again) != string(data) {
		t.Errorf("%s\n%s\n%v", data, again, err)
	}
	if st := next.Status(); st.Window != 300_000 || st.WindowFrom != "learned" || !slices.Equal(st.Fired, []int{1, 2}) || st.Compactions != 2 {
		t.Errorf("%+v", st)
	}
	// Another session at the same endpoint knows the window, too.
	other, _ := begin(Config{Model: model, State: State{Windows: state.Windows}})
	if st := other.Status(); st.Window != 300_000 {
		t.Errorf("%+v", st)
	}
	broken, _ := begin(Config{Model: model, State: State{Windows: []byte("no JSON")}})
	if st := broken.Status(); st.Window != 400_000 {
		t.Errorf("%+v", st)
	}
}
