package session

import (
	"time"

	"github.com/pemmican-dev/pemmican/internal/texts"
)

// attempt is a compaction that is being made. There is one at a time.
type attempt struct {
	n          int
	occasion   string
	focus      string
	model      string
	mechanical bool
	background bool
	waiting    bool // launched, and not begun yet
	claimed    bool // Fit makes it
	made       bool // the plan is there, and waits for the next request
	load       Load // of the event that ordered it
	started    time.Time
	worth      *Worth
	done       chan struct{} // closed when it is made, or has ended
}

// failure is an attempt that brought nothing.
type failure struct {
	load     Load
	size     int
	requests int
	final    bool // without a model it brought nothing either
	vetoed   bool
	reason   string // "" if nobody has told
}

const (
	// strikes is how many attempts in a row may fail before no model is asked.
	strikes = 3
	// coolDown is how long no model is asked then: as the guard's.
	coolDown = 10 * time.Minute
	// mostVetoes is how often hooks may say no to one occasion, until a compaction succeeds.
	mostVetoes = 2
	// grace is how long beyond the bounds of a summary and a hook an attempt may take until it is given up.
	grace = 30 * time.Second
)

// order begins an attempt.
func (s *Session) order(do Do, a attempt) Answer {
	s.attempts++
	a.n, a.started, a.done = s.attempts, time.Now(), make(chan struct{})
	a.waiting, a.background = do == Launch, do == Start
	a.mechanical = a.mechanical || !s.asksModel()
	if own := s.settings.CompactModel; !a.mechanical && (own == "" || own == s.model.name()) {
		a.model = s.larger
	}
	s.flight = &a
	return s.ordered(do, &a)
}

// ordered is the answer that hands an attempt over.
func (s *Session) ordered(do Do, a *attempt) Answer {
	return Answer{
		Do: do, Attempt: a.n, Occasion: a.occasion, Focus: a.focus, Model: a.model, Mechanical: a.mechanical, Worth: a.worth,
		Hook: len(s.settings.Hooks.Before) > 0 && s.vetoes[a.occasion] < mostVetoes,
	}
}

// begin hands over an attempt that was launched and waits for its beginning.
func (s *Session) begin(l Load) Answer {
	a := s.flight
	a.waiting, a.started, a.load = false, time.Now(), l
	return s.ordered(Compact, a)
}

// asksModel reports whether the settings let a model write summaries.
func (s *Session) asksModel() bool {
	return s.settings.CompactModel != noModel && (s.config.AsksModel || !s.fit.mechanical)
}

// noModelNow reports whether attempts of the session's own do without a model: too many have failed, a moment ago. Where the
// summariser has no guard, the session counts by itself.
func (s *Session) noModelNow() bool {
	return s.failures >= strikes && time.Since(s.lastEnd) < coolDown || s.guard.Open()
}

// expire gives up an attempt whose maker has not been heard of for so long that it must be gone.
func (s *Session) expire() {
	a := s.flight
	if a == nil || a.waiting || a.made {
		return
	}
	if time.Since(a.started) >= s.patience() {
		s.land()
		s.fails(a, false)
		s.config.Log.Warn("an attempt was given up: nothing was heard of it", "attempt", a.n)
	}
}

// dropLaunched gives up an attempt that was launched and not begun where the session has been switched off since.
func (s *Session) dropLaunched() {
	if s.flight != nil && s.flight.waiting && !s.active() {
		s.land()
	}
}

// patience is how long an attempt may take.
func (s *Session) patience() time.Duration {
	patience := time.Duration(s.settings.MaxWait) + grace
	if len(s.settings.Hooks.Before) > 0 {
		patience += time.Duration(s.settings.Hooks.Timeout)
	}
	return patience
}

// land ends the attempt in flight.
func (s *Session) land() {
	if s.flight != nil {
		s.flight.finish()
		s.flight = nil
	}
	s.lastEnd = time.Now()
}

// finish tells those who wait that there is something new.
func (a *attempt) finish() {
	select {
	case <-a.done:
	default:
		close(a.done)
	}
}

// fails records an attempt that brought nothing.
func (s *Session) fails(a *attempt, final bool) {
	s.failures++
	s.failed = &failure{load: a.load, size: s.size(a.load), requests: s.requests, final: final || a.mechanical}
}

// isFlying reports whether the number is that of the attempt in flight. Whatever is told of another one is ignored: it was
// given up, or belongs to an earlier process.
func (s *Session) isFlying(n int) bool { return s.flight != nil && s.flight.n == n }

func (s *Session) vetoed(e Vetoed) Answer {
	if !s.isFlying(e.Attempt) {
		return Answer{}
	}
	a := s.flight
	s.land()
	s.vetoes[a.occasion]++
	s.failed = &failure{load: a.load, size: s.size(a.load), requests: s.requests, vetoed: true}
	reason := "a hook said no to the compaction: " + e.Reason
	if a.occasion == occasionTool {
		return Answer{Reason: reason, Text: s.texts().Failed(reason)}
	}
	return Answer{Reason: reason, Notices: notices(s.texts().Failed(reason))}
}

func (s *Session) wasCompacted(e Compacted) Answer {
	ours := s.isFlying(e.Attempt)
	if e.Attempt != 0 && !ours {
		return Answer{}
	}
	s.before = 0
	if ours {
		s.before = s.size(s.flight.load)
	}
	a := s.flight
	s.land() // a compaction by somebody else has taken the transcript away from under ours
	s.staleSize = s.reported
	s.state.Compactions++
	s.state.Fired, s.passing = nil, true
	s.failed, s.failures, s.truncated, s.larger = nil, 0, false, ""
	s.compacted, s.fresh = true, true
	s.rest = 0 // the next request tells, by the measure of those that are compared with it
	clear(s.vetoes)
	s.load, s.sent = Load{}, Load{}
	s.after, s.refused = "", nil
	if !ours {
		return Answer{}
	}
	o := e.Outcome
	s.after, s.byModel = a.occasion, !a.mechanical && o.Mode != noModel
	data := texts.Outcome{
		Mode: o.Mode, Model: o.Model, Before: o.Before, After: o.After, CacheShare: -1, FellBack: o.FellBack, Compactions: s.state.Compactions,
	}
	if w := a.worth; w != nil && w.Freed > 0 && o.After > 0 && o.Before > o.After {
		saves := w.Saves * float64(o.Before-o.After) / float64(w.Freed)
		data.Saves, data.Requests = &saves, w.Turns
	}
	if o.Asked != nil {
		data.Cost = o.Asked.Dollars
		if o.Asked.Input > 0 {
			data.CacheShare = 100 * o.Asked.CacheRead / o.Asked.Input
		}
	}
	text := s.texts().Outcome(data)
	if a.occasion == occasionTool {
		return Answer{Occasion: a.occasion, Attempt: a.n, Text: text}
	}
	return Answer{Occasion: a.occasion, Attempt: a.n, Notices: notices(text)}
}

func (s *Session) notCompacted(e NotCompacted) Answer {
	if !s.isFlying(e.Attempt) {
		return Answer{}
	}
	a := s.flight
	s.land()
	if e.Reason == "" {
		return Answer{}
	}
	s.fails(a, e.Final)
	s.failed.reason = e.Reason
	text := s.texts().Failed(e.Reason)
	if a.occasion == occasionTool {
		return Answer{Reason: e.Reason, Text: text}
	}
	return Answer{Reason: e.Reason, Notices: notices(text)}
}

// notices is one notice, or none.
func notices(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
