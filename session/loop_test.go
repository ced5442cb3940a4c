package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican"
	"pgregory.net/rapid"
)

// nobody makes a body of a plan.
func nobody(*pemmican.Plan) (int, error) { return 0, nil }

// TestOneCompaction: where the room for the answer, the target or the ratio of the counter leaves a request over the hard line
// after it was compacted, it goes, and is not compacted again and again.
func TestOneCompaction(t *testing.T) {
	for _, c := range []struct {
		hard, target          string
		window, output, steps int
		ratio                 float64
	}{
		{"70%", "", 200_000, 64_000, 150, 0},
		{"90%", "70%", 200_000, 64_000, 190, 0},
		{"90%", "window-60k", 200_000, 64_000, 190, 0},
		{"90%", "", 100_000, 0, 80, 1.7},
		{"60%", "", 200_000, 32_000, 150, 0},
		{"65%", "", 100_000, 32_000, 75, 0},
	} {
		w := &writer{}
		s, _ := fitter(Config{
			Model: Model{Provider: "p", ID: "m", Window: c.window}, State: State{Ratios: map[string]float64{"p/m": c.ratio}}, Summarizer: w,
		}, func(s *Settings) { s.Soft, s.Hard, s.Target = Threshold{}, line(c.hard), c.target })
		plan, err := s.fitTo(t.Context(), task(c.steps), c.output, nobody)
		if err != nil || plan.Empty() || w.count() != 1 || s.State().Compactions != 1 {
			t.Errorf("%+v: %d summaries, %d compactions: %v", c, w.count(), s.State().Compactions, err)
		}
	}

	var m map[string]any
	if err := json.Unmarshal(body(150), &m); err != nil {
		t.Fatal(err)
	}
	m["max_tokens"] = 64_000
	in, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := fitter(Config{Model: Model{Provider: "p", ID: "m", Window: 200_000}}, func(s *Settings) { s.Hard = line("70%") })
	if out, err := s.FitBody(t.Context(), in); err != nil || len(out) >= len(in) || s.State().Compactions != 1 {
		t.Errorf("%d compactions: %v", s.State().Compactions, err)
	}
}

// TestFloor is LOOP-04: what has to stay may take most of the window, and the agent goes on all the same. A target that is set
// stays as it is where it leaves room.
func TestFloor(t *testing.T) {
	for _, window := range []int{32_000, 200_000} {
		for _, share := range []int{45, 52, 65, 80} {
			s, notices := fitter(Config{Model: Model{Provider: "p", ID: "m", Window: window}})
			tr := &pemmican.Transcript{HasSystem: true}
			tr.AddSystem(strings.Repeat("rule one is to be kept. ", window*share/100*4/24))
			tr.AddUser("Find the bug.")
			for i := range window / 800 {
				step(tr, i)
				_, tr = mustFit(t, s, tr)
				s.On(usage(sizeOf(tr)))
			}
			if n := sizeOf(tr); s.State().Compactions == 0 || n > window {
				t.Errorf("%d of %d %%: %d tokens after %d compactions: %v", window, share, n, s.State().Compactions, *notices)
			}
		}
	}
	for _, c := range []struct{ system, want int }{{0, 60_000}, {30_000, 60_000}, {55_000, 76_000}} {
		s, _ := fitter(Config{Model: Model{Provider: "p", ID: "m", Window: 200_000}}, func(s *Settings) { s.Target = "60k" })
		tr := &pemmican.Transcript{HasSystem: true}
		tr.AddSystem(strings.Repeat("rule", c.system))
		for i := range 185 - c.system/1000 {
			step(tr, i)
		}
		if plan, out := mustFit(t, s, tr); plan.Empty() || sizeOf(out) > c.want {
			t.Errorf("%d tokens of a system text of %d, want at most %d", sizeOf(out), c.system, c.want)
		}
	}
}

// TestLargeRequest: half a window of system text, a large message, and a large room for the answer.
func TestLargeRequest(t *testing.T) {
	tr := &pemmican.Transcript{HasSystem: true}
	tr.AddSystem(strings.Repeat("rule", 100_000))
	tr.AddUser("Find the bug.")
	for i := range 30 {
		step(tr, i)
	}
	tr.AddUser("Look at this: " + strings.Repeat("past", 30_000))
	s, notices := fitter(Config{Model: Model{Provider: "p", ID: "m", Window: 200_000}})
	plan, err := s.fitTo(t.Context(), tr, 64_000, nobody)
	if err != nil || plan.Empty() || s.demand(s.sent) > 200_000 {
		t.Errorf("%v %v", err, *notices)
	}
}

// TestThinking: reasoning that is bound to what stands before it holds a running tool loop back, unless the settings say that the
// model takes it; and where it comes to a block, that is what the person is told.
func TestThinking(t *testing.T) {
	for thinking, lives := range map[Thinking]bool{"": false, ThinkingBound: false, ThinkingInLoop: true, ThinkingFree: true} {
		s, _ := fitter(Config{}, func(s *Settings) { s.Thinking = thinking })
		tr := &pemmican.Transcript{HasSystem: true}
		tr.AddUser("Find the bug.")
		var err error
		for i := 0; i < 150 && err == nil; i++ {
			id := fmt.Sprint("call", i)
			tr.AddAssistant("", pemmican.Block{Kind: pemmican.Reasoning, Text: "I think.", Bound: true, Bytes: 500}, pemmican.Call(id, "read", "{}"))
			tr.AddResult(id, result(i)+result(i+1)+result(i+2)+result(i+3))
			var plan *pemmican.Plan
			if plan, err = s.Fit(t.Context(), tr); err == nil {
				tr = plan.Result(tr)
				s.On(usage(sizeOf(tr)))
			}
		}
		switch {
		case lives && (err != nil || s.State().Compactions == 0):
			t.Errorf("%q: %d compactions: %v", thinking, s.State().Compactions, err)
		case !lives && (!errors.Is(err, ErrBlocked) || !strings.Contains(err.Error(), "compact when the turn has ended")):
			t.Errorf("%q: %v", thinking, err)
		}
	}
}

// TestRefused is T14 of a Go agent: what the provider refuses after all recoveries is not sent again, until something has changed.
func TestRefused(t *testing.T) {
	small := task(1)
	for name, c := range map[string]struct {
		do   func(s *Session)
		next *pemmican.Transcript
		goes bool
	}{
		"nothing":                {func(*Session) {}, nil, false},
		"the same settings":      {func(s *Session) { s.SetSettings(s.settings) }, nil, false},
		"a smaller one":          {func(*Session) {}, small, true},
		"a reply":                {func(s *Session) { s.On(usage(20_000)) }, nil, true},
		"a compaction by others": {func(s *Session) { s.On(Compacted{}) }, nil, true},
		"another model":          {func(s *Session) { s.On(Switched{To: Model{Provider: "p", ID: "n", Window: 100_000}}) }, nil, true},
		"other settings": {func(s *Session) {
			other := DefaultSettings()
			other.MinGain = 20
			s.SetSettings(other)
		}, nil, true},
	} {
		s, _ := fitter(Config{})
		tr := task(60)
		for range 3 {
			_, tr = mustFit(t, s, tr)
			s.On(Failed{Err: overflow(50_000)})
		}
		c.do(s)
		next := tr
		if c.next != nil {
			next = c.next
		}
		_, err := s.Fit(t.Context(), next)
		if c.goes != (err == nil) || err != nil && (!errors.Is(err, ErrBlocked) || !strings.Contains(err.Error(), "prompt is too long")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSpent: once Fit has made all its attempts, what fits the window goes, and what does not is blocked where the window is known.
func TestSpent(t *testing.T) {
	known := Model{Provider: "p", ID: "m", Window: 100_000}
	for _, c := range []struct {
		model     Model
		estimated int
		want      Do
	}{{known, 95_000, GoOn}, {known, 100_001, Block}, {Model{Provider: "own", ID: "new"}, 200_000, GoOn}} {
		s, _ := begin(Config{Model: c.model})
		a, _, ok := s.requestOf(Load{Estimated: c.estimated}, nil, false)
		if want(t, a, c.want, ""); !ok || s.flight != nil {
			t.Errorf("%+v: %+v", c, a)
		}
	}
}

// TestFitGuards: whatever happens to a session, one call of Fit makes three attempts at most, and what it lets go is under the window
// by the session's own measure, unless the window is only assumed.
func TestFitGuards(t *testing.T) {
	blocked, went := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		window := rapid.SampledFrom([]int{0, 16_000, 40_000, 100_000}).Draw(t, "window")
		output := rapid.SampledFrom([]int{0, 0, 4_000, 64_000}).Draw(t, "output")
		vetoes := 0
		c := Config{
			Model:      Model{Provider: "p", ID: "m", Window: window},
			State:      State{Ratios: map[string]float64{"p/m": rapid.SampledFrom([]float64{0, 0.7, 1.7}).Draw(t, "ratio")}},
			Summarizer: &writer{failures: rapid.IntRange(0, 4).Draw(t, "failures")},
		}
		s, _ := fitter(c, func(s *Settings) {
			s.Hard = line(rapid.SampledFrom([]string{"50%", "70%", "90%", "off"}).Draw(t, "hard"))
			s.Target = rapid.SampledFrom([]string{"", "70%", "window-10%", "5k"}).Draw(t, "target")
			if rapid.Bool().Draw(t, "no soft line") {
				s.Soft = Threshold{}
			}
			if rapid.Bool().Draw(t, "hook") {
				s.Hooks.Before = []string{"hook"}
			}
			s.Thinking = rapid.SampledFrom([]Thinking{"", ThinkingInLoop, ThinkingFree}).Draw(t, "thinking")
		})
		says := rapid.Bool().Draw(t, "the hook says no")
		s.config.Before = func(context.Context, Answer, Load) (focus, veto string) {
			if !says {
				return "", ""
			}
			vetoes++
			return "", "not now"
		}
		defer s.Close()
		tr := task(rapid.IntRange(0, 30).Draw(t, "steps"))
		if rapid.IntRange(0, 3).Draw(t, "system") == 0 {
			tr.AddSystem(strings.Repeat("rule", window*rapid.IntRange(0, 110).Draw(t, "share")/100))
		}
		for i := range rapid.IntRange(1, 12).Draw(t, "events") {
			switch rapid.IntRange(0, 9).Draw(t, "event") {
			case 0, 1, 2:
				for k := range rapid.IntRange(1, 40).Draw(t, "more") {
					step(tr, 100*i+k)
				}
			case 3:
				tr.AddUser("Look at this: " + strings.Repeat("past", rapid.IntRange(1, 120_000).Draw(t, "paste")))
			case 4:
				s.On(usage(max(1, sizeOf(tr)*rapid.IntRange(40, 160).Draw(t, "usage")/100)))
			case 5:
				s.On(Failed{Err: overflow(rapid.SampledFrom([]int{0, 12_000, 50_000}).Draw(t, "limit"))})
			case 6:
				s.On(Switched{To: Model{Provider: "p", ID: rapid.SampledFrom([]string{"m", "n"}).Draw(t, "model"), Window: 30_000}})
			case 7:
				s.On(Asked{Load: Load{Estimated: sizeOf(tr)}})
			case 8:
				s.On(ToolAsked{Load: Load{Estimated: sizeOf(tr)}})
			}
			s.fit.background.Wait()
			attempts, said := s.attempts, vetoes
			if s.flight != nil && !s.flight.made {
				attempts-- // it was ordered, and is made now
			}
			plan, err := s.fitTo(t.Context(), tr, output, nobody)
			s.fit.background.Wait()
			if n := s.attempts - attempts - (vetoes - said); n > mostAttempts {
				t.Fatalf("%d attempts in one call", n)
			}
			if err != nil {
				if !errors.Is(err, ErrBlocked) {
					t.Fatal(err)
				}
				blocked++
				continue
			}
			went++
			out := plan.Result(tr)
			if n := sizeOf(out); s.sent.Estimated != n {
				t.Fatalf("%d tokens go, and the session takes them for %d", n, s.sent.Estimated)
			}
			if size, window := s.demand(s.sent), s.Status(); size > window.Window && s.knowsWindow() {
				t.Fatalf("%d tokens go to a window of %d", size, window.Window)
			}
			if rapid.Bool().Draw(t, "goes on from it") {
				tr = out
			}
		}
	})
	t.Logf("%d requests went, %d were blocked", went, blocked)
	if !testing.Short() && (went == 0 || blocked == 0) {
		t.Error("one of the two never happened")
	}
}
