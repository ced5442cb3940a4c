package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pemmican-dev/pemmican/llm"
)

// TestSuspicion: a small count is a guess of what was read, and no lesson (TOK-25).
func TestSuspicion(t *testing.T) {
	const declared = 131_072
	small := Replied{Usage: llm.Usage{Reported: true, Input: 16_386}}
	start := func(change ...func(*Settings)) *Session {
		s, _ := begin(Config{Model: Model{Provider: "ollama", ID: "q", Window: declared}}, change...)
		s.On(Request{Load{Estimated: 50_000}})
		return s
	}
	window := func(t *testing.T, s *Session, tokens int, from string) {
		t.Helper()
		if st := s.Status(); st.Window != tokens || st.WindowFrom != from {
			t.Errorf("%d from %s, want %d from %s", st.Window, st.WindowFrom, tokens, from)
		}
	}
	t.Run("it is not saved, and ends with an answer to more", func(t *testing.T) {
		s := start()
		s.On(small)
		window(t, s, 49_999, "suspected")
		if st := s.State(); len(st.Below)+len(st.Limits) > 0 {
			t.Errorf("%+v", st)
		}
		s.On(usage(50_000))
		window(t, s, declared, "agent")
	})
	t.Run("a window that is served stands over it", func(t *testing.T) {
		s := start()
		s.On(small)
		s.On(Replied{Window: 64_000})
		window(t, s, 64_000, "served")
	})
	t.Run("so does a person's", func(t *testing.T) {
		s := start(func(s *Settings) { s.Window = 100_000 })
		if a := s.On(small); len(a.Notices) != 1 {
			t.Errorf("%+v", a)
		}
		window(t, s, 100_000, "settings")
	})
	t.Run("it blocks nothing", func(t *testing.T) {
		s := start()
		s.On(small)
		a := s.On(Request{Load{Estimated: 60_000}})
		want(t, a, Compact, "hard")
		s.On(NotCompacted{Attempt: a.Attempt, Reason: "no", Final: true})
		want(t, s.On(Request{Load{Estimated: 60_000}}), GoOn, "")
	})
	t.Run("an estimate that nothing has borne out", func(t *testing.T) {
		s := start()
		if a := s.On(usage(20_000)); len(a.Notices) > 0 { // a usage without what came from the cache, say
			t.Errorf("%+v", a)
		}
		window(t, s, declared, "agent")
	})
	t.Run("one that an answer has", func(t *testing.T) {
		s := start()
		s.On(usage(48_000))
		s.On(Request{Load{Estimated: 52_000}})
		if a := s.On(usage(20_000)); len(a.Notices) != 1 {
			t.Errorf("%+v", a)
		}
	})
	t.Run("pictures are a guess", func(t *testing.T) {
		s := start()
		s.On(Request{Load{Estimated: 50_000, Images: 10}})
		if a := s.On(small); len(a.Notices) > 0 {
			t.Errorf("%+v", a)
		}
	})
	t.Run("smaller requests did not help", func(t *testing.T) {
		s := start()
		s.On(usage(48_000))
		told, attempts := 0, 0
		for range 20 {
			if a := s.On(Request{Load{Estimated: 40_000}}); a.Do == Compact {
				attempts++
				s.On(Compacted{Attempt: a.Attempt, Outcome: Outcome{Mode: noModel}})
				s.On(Request{Load{Estimated: 40_000}})
			}
			told += len(s.On(usage(300)).Notices) // all else came from the cache
		}
		if told != 3 || attempts != 2 {
			t.Errorf("told %d times, %d attempts", told, attempts)
		}
		window(t, s, declared, "agent")
	})
}

// TestUnlearn: what did not fit is forgotten once more has been read.
func TestUnlearn(t *testing.T) {
	s, _ := begin(Config{Model: Model{Provider: "p", ID: "m", Window: 400_000}})
	s.On(Failed{Err: overflow(0), Load: Load{Estimated: 200_000}})
	s.On(usage(150_000))
	if w := s.Status().Window; w != 199_999 {
		t.Error(w)
	}
	s.On(usage(220_000))
	if w := s.Status().Window; w != 400_000 || len(s.State().Below) > 0 {
		t.Error(w)
	}
}

// TestNoSystemRatio: where a transcript holds only the messages, two answers tell the counter's error from the rest.
func TestNoSystemRatio(t *testing.T) {
	for _, c := range []struct{ ratio, want float64 }{{0.8, 0.8}, {1, 1}, {1.5, 1.5}, {3, ratioMost}} {
		s, _ := fitter(Config{Model: Model{Provider: "p", ID: "m", Window: 1_000_000}})
		tr := task(0)
		tr.HasSystem = false
		real := func() int { return int(float64(sizeOf(tr))*c.ratio) + 20_000 }
		for i := range 60 {
			mustFit(t, s, tr)
			s.On(usage(real()))
			if _, ok := s.State().Ratios["p/m"]; ok && sizeOf(tr) < leastSpan {
				t.Errorf("ratio %v: learned from %d tokens", c.ratio, sizeOf(tr))
			}
			step(tr, i)
		}
		if got := s.State().Ratios["p/m"]; got < c.want-0.01 || got > c.want+0.01 {
			t.Errorf("ratio %v: %v", c.ratio, got)
		}
		// The same agent with another conversation, of which nothing was reported.
		tr.Blocks[1].Text = "Find the other bug."
		mustFit(t, s, tr)
		if got := s.Status().Tokens; c.ratio < 3 && (got < real()*99/100 || got > real()*101/100) {
			t.Errorf("ratio %v: taken for %d tokens, and has %d", c.ratio, got, real())
		}
	}
}

// TestClock is CON-05: a system text that changes with every request is no other conversation.
func TestClock(t *testing.T) {
	w := &writer{}
	s, _ := fitter(Config{Summarizer: w}, func(s *Settings) { s.Soft = Threshold{} })
	tr := task(78)
	for i := range 10 {
		step(tr, 78+i)
		tr.Blocks[0].Text = fmt.Sprintf("You are an agent. It is 10:%02d.", i)
		_, out := mustFit(t, s, tr)
		s.On(usage(sizeOf(out)))
	}
	if w.count() != 1 || s.State().Compactions != 1 {
		t.Errorf("%d summaries, %d compactions", w.count(), s.State().Compactions)
	}
	// What it has grown by is not in what was reported.
	before := s.Status().Tokens
	tr.Blocks[0].Text += string(make([]byte, 40_000))
	mustFit(t, s, tr)
	if n := s.Status().Tokens; n < before+9_900 || n > before+10_100 {
		t.Errorf("%d tokens, and before %d", n, before)
	}
}

// TestStaleBackground is T10 and TOK-08: what was reported while a summary was written is no longer true either.
func TestStaleBackground(t *testing.T) {
	s, _ := begin(Config{})
	a := s.On(Request{Load{Reported: 60_000, Estimated: 60_000}})
	want(t, a, Start, "soft")
	s.On(usage(60_000))
	s.On(Request{Load{Reported: 60_000, Since: 6_000, Estimated: 66_000}})
	s.On(usage(66_000))
	s.On(Settled{Load{Estimated: 66_500}})
	s.On(Compacted{Attempt: a.Attempt, Outcome: Outcome{Before: 60_000, After: 40_000}})
	want(t, s.On(Request{Load{Reported: 66_000, Estimated: 50_000}}), GoOn, "")
	if n := s.Status().Tokens; n != 50_000 {
		t.Errorf("%d tokens", n)
	}
}

// TestLateReply is MSW-11: the answer of the model before a switch tells nothing of the new one.
func TestLateReply(t *testing.T) {
	s, _ := begin(Config{Model: Model{Provider: "p", ID: "big", Window: 200_000}})
	s.On(Request{Load{Estimated: 100_000}})
	s.On(Switched{To: Model{Provider: "p", ID: "small", Window: 32_000}, Load: Load{Estimated: 20_000}})
	before := s.Status()
	late := Replied{Usage: llm.Usage{Reported: true, Input: 120_000, Output: 100}, Window: 200_000, Model: "p/big"}
	s.On(late)
	if st := s.Status(); st.Window != before.Window || st.Tokens != before.Tokens || len(s.State().Ratios) > 0 {
		t.Errorf("%+v", st)
	}
	late.Model, late.Window, late.Usage.Input = "p/small", 64_000, 30_000
	s.On(late)
	if st := s.Status(); st.Window != 64_000 || st.Tokens != 30_100 {
		t.Errorf("%+v", st)
	}
}

// TestSwitchedOff: what was ordered or made before the session was switched off comes into use no more.
func TestSwitchedOff(t *testing.T) {
	out := Model{Provider: "p", ID: "out", Window: 100_000}
	off := func(s *Session) {
		settings := DefaultSettings()
		settings.Enabled = false
		s.SetSettings(settings)
	}
	for name, turn := range map[string]func(*Session){
		"off": off, "excluded": func(s *Session) { s.On(Switched{To: out}) },
	} {
		synctest.Test(t, func(t *testing.T) {
			exclude := func(s *Settings) { s.ExcludedModels = []string{"p/out"} }
			check := func(s *Session, notices []string) {
				t.Helper()
				if plan, _ := mustFit(t, s, task(64)); !plan.Empty() || s.State().Compactions != 0 || s.Status().InFlight || len(notices) > 0 {
					t.Errorf("%s: %d compactions, %q", name, s.State().Compactions, notices)
				}
				s.Close()
			}
			s, notices := fitter(Config{Summarizer: &writer{wait: 10 * time.Second}}, exclude)
			mustFit(t, s, task(63))
			time.Sleep(time.Minute)
			turn(s)
			check(s, *notices)

			s, notices = fitter(Config{Summarizer: &writer{}}, exclude)
			want(t, s.On(Asked{Load: Load{Estimated: 60_000}}), Compact, "manual")
			turn(s)
			check(s, *notices)

			s, notices = fitter(Config{Summarizer: &writer{}}, exclude)
			want(t, s.On(ToolAsked{Load: Load{Estimated: 60_000}}), Launch, "tool")
			turn(s)
			check(s, *notices)
		})
	}
}

// TestBrokenState: of what was saved only that counts that can be.
func TestBrokenState(t *testing.T) {
	for _, c := range []struct{ saved, want string }{
		{`{"compactions":-5}`, `{"compactions":0}`},
		{`{"compactions":2,"fired":[99,2,-1,2,1]}`, `{"compactions":2,"fired":[1,2],"tiers":["20% max 200k","40% max 400k","60% max 600k"]}`},
		{`{"compactions":2,"fired":[1,2],"tiers":["10%","40% max 400k"]}`, `{"compactions":2}`},
		{`{"compactions":0,"ratios":{"a":1e300,"b":-3,"c":0.0001,"d":1.2}}`, `{"compactions":0,"ratios":{"d":1.2}}`},
		{`{"compactions":0,"limits":{"a":1,"b":-1,"c":32000},"below":{"p/m":5}}`, `{"compactions":0,"limits":{"c":32000}}`},
	} {
		var st State
		if err := json.Unmarshal([]byte(c.saved), &st); err != nil {
			t.Fatal(err)
		}
		s, _ := begin(Config{State: st})
		got := s.State()
		got.Guard, got.Windows = nil, nil
		if data, err := json.Marshal(got); err != nil || string(data) != c.want {
			t.Errorf("%s\n%s\nwant %s", c.saved, data, c.want)
		}
	}
	// A tier is told of again when the tiers are others than they were.
	s, _ := begin(Config{})
	s.On(Settled{Load{Estimated: 70_000}})
	saved := s.State()
	same, _ := begin(Config{State: saved})
	if a := same.On(Settled{Load{Estimated: 70_000}}); a.Text != "" {
		t.Error("it was told before")
	}
	s, _ = begin(Config{State: saved}, func(s *Settings) { s.ReminderThresholds = []Threshold{line("60%")} })
	if a := s.On(Settled{Load{Estimated: 70_000}}); a.Text == "" || !slices.Equal(s.State().Fired, []int{1}) {
		t.Errorf("%+v", s.State())
	}
}

// TestAnswersMeanwhile: answers come while other requests are measured. It is for the race detector.
func TestAnswersMeanwhile(t *testing.T) {
	s, _ := fitter(Config{})
	var g sync.WaitGroup
	for k := range 3 {
		g.Go(func() {
			tr := task(10 * k)
			for i := range 20 {
				step(tr, i)
				mustFit(t, s, tr)
				s.On(usage(sizeOf(tr)))
			}
		})
	}
	g.Wait()
}
