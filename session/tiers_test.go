package session

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pemmican-dev/pemmican/internal/texts"
	"github.com/pemmican-dev/pemmican/llm"
)

// A tier that a compaction could not get below is not told of again: the agent would compact, be reminded, and compact for ever.
func TestTiersThatAreLeft(t *testing.T) {
	s, _ := begin(Config{Model: Model{Provider: "p", ID: "m", Window: 200_000}}) // tiers at 40k, 80k and 120k
	if a := s.On(Settled{Load{Reported: 110_000}}); a.Text == "" {
		t.Fatal("no reminder")
	}
	a := s.On(ToolAsked{Load: Load{Reported: 110_000}})
	s.On(Compacted{Attempt: a.Attempt, Outcome: Outcome{Before: 110_000, After: 30_000}}) // an estimate; the answer knows better
	s.On(Replied{Usage: llm.Usage{Reported: true, Input: 52_000}})
	if a := s.On(Settled{Load{Reported: 53_000}}); a.Text != "" || !slices.Equal(s.State().Fired, []int{1}) {
		t.Errorf("the first tier again: %q, %v", a.Text, s.State().Fired)
	}
	s.On(Replied{Usage: llm.Usage{Reported: true, Input: 81_000}})
	if a := s.On(Settled{Load{Reported: 81_000}}); a.Text == "" {
		t.Error("the second tier is new again")
	}
}

// Where a compaction would free next to nothing nobody is reminded of it, and once it would free something they are.
func TestReminderThatHelps(t *testing.T) {
	s, _ := begin(Config{Model: Model{Provider: "p", ID: "m", Window: 200_000}, Rest: 38_000})
	if a := s.On(Settled{Load{Reported: 41_000}}); a.Text != "" {
		t.Errorf("it would free 3,000 tokens: %s", a.Text)
	}
	if a := s.On(Settled{Load{Reported: 60_000}}); a.Text == "" {
		t.Error("no reminder")
	}
}

// LOOP-16 where the summariser has no guard: after three failures no model is asked for ten minutes, and then one is.
func TestFailuresCoolDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := begin(Config{Model: Model{Provider: "p", ID: "m", Window: 100_000}})
		fail := func(size int) bool {
			a := s.On(reported(size))
			if a.Do != Compact {
				t.Fatalf("%+v", a)
			}
			s.On(NotCompacted{Attempt: a.Attempt, Reason: "the model is away"})
			s.On(Replied{Usage: llm.Usage{Reported: true, Input: size}})
			return a.Mechanical
		}
		for i := range 3 {
			if fail(91_000 + i) {
				t.Errorf("attempt %d asks no model", i+1)
			}
		}
		if !fail(91_003) {
			t.Error("the fourth asks a model")
		}
		time.Sleep(coolDown + time.Second)
		if fail(98_000) {
			t.Error("nobody is ever asked again")
		}
	})
}

// A Go agent whose summaries no model writes is not told of one, whatever the settings name.
func TestLaunchedMechanically(t *testing.T) {
	for _, compactModel := range []string{"", "zai/cheap"} {
		s, words := begin(Config{Notify: func(string) {}}, func(s *Settings) { s.CompactModel = compactModel })
		a := s.On(ToolAsked{Load: Load{Reported: 60_000}})
		if l, ok := words.said[len(words.said)-1].(texts.Launched); a.Do != Launch || !a.Mechanical || !ok || l.Mode != noModel || l.Model != "" {
			t.Errorf("%q: %+v, %+v", compactModel, a, words.said)
		}
	}
}
