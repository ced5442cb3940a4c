package session

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/pemmican-dev/pemmican/internal/texts"
	"github.com/pemmican-dev/pemmican/llm"
	"pgregory.net/rapid"
)

// world is what a face knows of a session, and checks of each answer.
type world struct {
	s     *Session
	words *spoken

	flight  int // the attempt in flight
	load    Load
	waiting bool // it was launched, and has not begun
	hook    bool // the hook is asked about it
	newest  int
	ended   bool

	occasion  string
	vetoes    map[string]int
	fired     map[int]bool
	overflows int
	made      bool   // there was a compaction since the newest reply
	tried     []Load // for which an attempt brought nothing, since the newest reply or success
}

func drawLoad(t *rapid.T) Load {
	sizes := []int{0, 1, 500, 19_999, 20_000, 35_000, 59_000, 61_000, 76_000, 84_000, 89_000, 95_000, 100_000, 100_001, 150_000, 900_000}
	return Load{
		Reported:  rapid.SampledFrom(sizes).Draw(t, "reported"),
		Since:     rapid.SampledFrom([]int{0, 10, 9_000}).Draw(t, "since"),
		Estimated: rapid.SampledFrom(sizes).Draw(t, "estimated"),
		Output:    rapid.SampledFrom([]int{0, 0, 4_000, 200_000}).Draw(t, "output"),
		Bytes:     rapid.SampledFrom([]int{0, 10_000, 40_000_000}).Draw(t, "bytes"),
		Turns:     rapid.IntRange(0, 12).Draw(t, "turns"),
		OpenCalls: rapid.SampledFrom([]int{0, 0, 2}).Draw(t, "open"),
	}
}

func (w *world) draw(t *rapid.T) Event {
	l := drawLoad(t)
	if w.load != (Load{}) && rapid.Bool().Draw(t, "same load") {
		l = w.load
	}
	number := w.flight
	if rapid.IntRange(0, 5).Draw(t, "foreign") == 0 {
		number = rapid.IntRange(-1, w.newest+1).Draw(t, "number")
	}
	switch rapid.IntRange(0, 16).Draw(t, "event") {
	case 0, 1, 2, 3:
		return Request{l}
	case 4:
		return Replied{
			Usage:    llm.Usage{Reported: rapid.Bool().Draw(t, "usage"), Input: l.Reported, Output: 100},
			Expected: rapid.SampledFrom([]int{0, l.Estimated}).Draw(t, "expected"),
			Window:   rapid.SampledFrom([]int{0, 0, 0, 90_000}).Draw(t, "served"),
			Model:    rapid.SampledFrom([]string{"", "", "p/m", "p/gone"}).Draw(t, "answered"),
		}
	case 5, 6:
		err := rapid.SampledFrom([]error{
			overflow(0), overflow(0), overflow(64_000), overflow(-1), errors.New("x"), &llm.Error{Kind: llm.Throttle}, &llm.Error{Kind: llm.TooManyBytes},
			&llm.Error{Kind: llm.OutputLimit, Limit: 70_000, Input: 69_000}, &llm.Error{Kind: llm.Silent, Requested: 50_000},
		}).Draw(t, "error")
		return Failed{Err: err, Model: rapid.SampledFrom([]string{"", "p/m", "p/gone"}).Draw(t, "who"), Load: l}
	case 7:
		m := rapid.SampledFrom([]Model{
			{Provider: "p", ID: "m", Window: 100_000},
			{Provider: "p", ID: "small", Window: 40_000, Price: &llm.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}},
			{Provider: "zai", ID: "glm", Window: 100_000},
			{Provider: "p", ID: "unknown"},
			{},
		}).Draw(t, "model")
		return Switched{To: m, Load: l}
	case 8:
		return Settled{l}
	case 9:
		return ToolAsked{Load: l}
	case 10:
		return Asked{Load: l}
	case 11:
		return Began{Reason: rapid.SampledFrom([]string{"manual", "threshold", "overflow"}).Draw(t, "reason"), Load: l}
	case 12, 13:
		return Compacted{Attempt: number, Outcome: Outcome{Before: l.Reported, After: l.Reported / 3}}
	case 14, 15:
		return NotCompacted{
			Attempt: number, Reason: rapid.SampledFrom([]string{"", "bad reply", "bad reply"}).Draw(t, "why"),
			Final: rapid.IntRange(0, 3).Draw(t, "final") == 0, Load: l,
		}
	}
	switch rapid.IntRange(0, 30).Draw(t, "rare") {
	case 0:
		return Ended{}
	case 1:
		return Resumed{}
	}
	if !w.hook {
		number = 0 // nobody has asked one
	}
	return Vetoed{Attempt: number, Reason: "no"}
}

// told checks an answer against the guards, and follows it.
func (w *world) told(t *rapid.T, e Event, a Answer) {
	fail := func(format string, args ...any) { t.Fatalf("%T%+v: %+v: %s", e, e, a, fmt.Sprintf(format, args...)) }
	if w.ended {
		if a.Do != GoOn || a.Text != "" || len(a.Notices) > 0 || a.Attempt != 0 {
			fail("something is delivered after the end")
		}
		return
	}
	w.follow(e)
	switch a.Do {
	case Start, Compact, Launch:
		switch {
		case w.flight == 0 && a.Attempt <= w.newest:
			fail("the number %d was there before", a.Attempt)
		case w.flight != 0 && !(a.Do == Compact && w.waiting && a.Attempt == w.flight):
			fail("attempt %d is in flight", w.flight)
		case !w.s.active():
			fail("it is switched off")
		case a.Do == Launch && w.s.model.name() == "":
			fail("nobody knows the model")
		}
		if a.Occasion == occasionOverflow && !isBegan(e) && w.flight == 0 {
			w.overflows++
		}
		w.flight, w.newest, w.waiting, w.occasion, w.hook = a.Attempt, max(w.newest, a.Attempt), a.Do == Launch, a.Occasion, a.Hook
		if a.Hook && w.vetoes[a.Occasion] >= 2 {
			fail("the hook has said no twice")
		}
	case Wait:
		if w.flight == 0 || a.Attempt != w.flight || w.waiting {
			fail("there is nothing to wait for: %d", w.flight)
		}
	case Block:
		r, ok := e.(Request)
		if !ok || !w.made && !slices.Contains(w.tried, r.Load) {
			fail("nothing was tried for it")
		}
	case Refuse, GoOn:
	default:
		fail("unknown")
	}
	if w.overflows > w.s.settings.OverflowAttempts {
		fail("%d recoveries", w.overflows)
	}
	if _, settled := e.(Settled); settled && a.Text != "" {
		for _, tier := range w.words.said[len(w.words.said)-1].(texts.Reminder).Tiers {
			if w.fired[tier.Ordinal] {
				fail("tier %d was told before", tier.Ordinal)
			}
			w.fired[tier.Ordinal] = true
		}
	}
	if inFlight := w.s.flight != nil; inFlight != (w.flight != 0) {
		fail("in flight: %v, want %d", inFlight, w.flight)
	}
	st := w.s.Status()
	for _, n := range append([]int{st.Soft, st.Hard, st.Block}, st.Tiers...) {
		if n <= 0 || n > st.Window {
			fail("a line of %d in a window of %d", n, st.Window)
		}
	}
	if st.Window < leastWindow || st.Tokens < 0 {
		fail("%+v", st)
	}
}

func isBegan(e Event) bool { _, ok := e.(Began); return ok }

// follow is what an event itself does to what the face knows.
func (w *world) follow(e Event) {
	switch e := e.(type) {
	case Replied:
		if e.Model != "" && e.Model != w.s.model.name() {
			return
		}
		w.tried, w.made = nil, false
		w.overflows = 0
	case Request:
		if w.flight != 0 {
			return
		}
		w.load = e.Load
	case Switched:
		w.overflows = 0
		if w.waiting && !w.s.active() {
			w.flight, w.waiting = 0, false
		}
	case Compacted:
		if e.Attempt == 0 || e.Attempt == w.flight {
			w.flight, w.waiting, w.tried, w.made = 0, false, nil, e.Attempt != 0
			clear(w.vetoes)
			clear(w.fired)
		}
	case NotCompacted:
		if e.Attempt == w.flight && w.flight != 0 {
			if e.Reason != "" {
				w.tried = append(w.tried, w.load)
			}
			w.flight, w.waiting = 0, false
		}
	case Vetoed:
		if e.Attempt == w.flight && w.flight != 0 {
			w.flight, w.waiting = 0, false
			w.vetoes[w.occasion]++
		}
	case Resumed:
		w.flight, w.waiting, w.overflows = 0, false, 0
		clear(w.vetoes)
	case Ended:
		w.flight, w.waiting, w.ended = 0, false, true
	}
}

// TestGuards: no sequence of events breaks a guard. There is one attempt in flight at most, and nothing after the end; vetoes
// are two at most, and tiers told once; a request is blocked only after an attempt for just it; every line is in its window.
func TestGuards(t *testing.T) {
	seen := map[Do]int{}
	rapid.Check(t, func(t *rapid.T) {
		s, words := begin(Config{}, func(s *Settings) {
			s.ExcludedModels = []string{"zai/glm"}
			s.Limits.Bytes = 32_000_000
			s.Debounce = 0
			if rapid.Bool().Draw(t, "hook") {
				s.Hooks.Before = []string{"hook"}
			}
			s.CompactModel = rapid.SampledFrom([]string{"", noModel, "q/cheap"}).Draw(t, "summary model")
			s.Counting = rapid.SampledFrom([]Counting{"", CountNext, CountReported, CountReportedOnly}).Draw(t, "counting")
			s.MinTurns = rapid.SampledFrom([]int{0, 0, 8}).Draw(t, "least turns")
		})
		w := &world{s: s, words: words, vetoes: map[string]int{}, fired: map[int]bool{}}
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			e := w.draw(t)
			a := s.On(e)
			seen[a.Do]++
			w.told(t, e, a)
		}
	})
	t.Log(seen)
	if testing.Short() {
		return // too few sequences for every answer
	}
	for _, do := range []Do{GoOn, Start, Compact, Launch, Wait, Refuse, Block} {
		if seen[do] == 0 {
			t.Errorf("no answer was %s", do)
		}
	}
}
