package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/preset"
	"github.com/pemmican-dev/pemmican/summary"
)

// made is the plan that an attempt made for a transcript.
type made struct {
	attempt    int
	occasion   string
	transcript *pemmican.Transcript
	plan       *pemmican.Plan
	outcome    Outcome
	options    pemmican.Options
}

// on is the plan for a transcript that has grown while it was made, if it still keeps every rule.
func (m *made) on(t *pemmican.Transcript) (*pemmican.Plan, error) {
	p, err := Onto(m.plan, m.transcript, t)
	if err != nil {
		return nil, err
	}
	if err := pemmican.Verify(t, p, m.options); err != nil {
		return nil, fmt.Errorf("what has come meanwhile does not go with the compaction: %w", err)
	}
	return p, nil
}

// attempt makes an attempt, and tells On how it ended. It reports false if a hook said no to it.
func (s *Session) attempt(
	ctx context.Context, t *pemmican.Transcript, a Answer, l Load, apply func(*pemmican.Plan) (int, error),
) bool {
	landed := false
	defer s.landPanicked(a.Attempt, &landed)
	m, ended := s.make(ctx, t, a, l)
	if m != nil {
		if refused := s.accept(m, m.plan, t, apply); refused != nil {
			ended = *refused
		}
	}
	s.finish(m, ended)
	landed = true
	_, vetoed := ended.(Vetoed)
	return !vetoed
}

// landPanicked ends an attempt that a panic has cut off on its way to whoever called Fit.
func (s *Session) landPanicked(attempt int, landed *bool) {
	if !*landed {
		s.On(NotCompacted{Attempt: attempt, Reason: "the compaction has panicked"})
	}
}

// finish tells On how an attempt has ended: with a plan that is taken into use, or as the event says.
func (s *Session) finish(m *made, ended Event) {
	s.mu.Lock()
	var told Answer
	used := ended == nil && s.isFlying(m.attempt)
	refused, failed := ended.(NotCompacted)
	failed = failed && refused.Reason != "" && s.isFlying(refused.Attempt)
	switch {
	case ended != nil:
		told = s.on(ended)
	case used:
		s.fit.applied = m
		told = s.on(Compacted{Attempt: m.attempt, Outcome: m.outcome})
		if s.fit.stretches.end(m.transcript) {
			told.Notices = append(told.Notices, fmt.Sprintf("the agent has made the same calls again after each of the last %d compactions: "+
				"it seems to go in a circle", stallPeriods-1))
		}
	}
	s.mu.Unlock()
	s.notify(told)
	switch {
	case used:
		s.tellAfter(m.attempt, m.outcome, "")
	case failed:
		s.tellAfter(refused.Attempt, Outcome{}, refused.Reason)
	}
}

// make asks the hook, and makes the plan of an attempt; or it returns how the attempt has ended without one.
func (s *Session) make(ctx context.Context, t *pemmican.Transcript, a Answer, l Load) (*made, Event) {
	if a.Hook && s.config.Before != nil {
		focus, veto := s.askBefore(ctx, a, l)
		if veto != "" {
			return nil, Vetoed{Attempt: a.Attempt, Reason: veto}
		}
		a.Focus = strings.TrimSpace(a.Focus + "\n" + focus)
	}
	m, failed := s.compact(ctx, t, a, l)
	if failed != nil {
		failed.Load = l
		return nil, *failed
	}
	return m, nil
}

// accept looks at a plan from outside: whether the body can be made of it, and is under the limits.
func (s *Session) accept(m *made, p *pemmican.Plan, t *pemmican.Transcript, apply func(*pemmican.Plan) (int, error)) *NotCompacted {
	bytes, err := apply(p)
	if err != nil {
		return &NotCompacted{Attempt: m.attempt, Reason: err.Error(), Final: true}
	}
	after := Measure(p.Result(t), s.fit.counter, pemmican.Overhead{})
	after.Bytes = bytes
	s.mu.Lock()
	defer s.mu.Unlock()
	if over := s.limitOf(after); over != "" && m.occasion == occasionLimit {
		return &NotCompacted{Attempt: m.attempt, Reason: "after a compaction, too, " + over, Final: true}
	}
	return nil
}

// compact makes the plan of an attempt, or says why there is none.
func (s *Session) compact(ctx context.Context, t *pemmican.Transcript, a Answer, l Load) (*made, *NotCompacted) {
	o, wait := s.options(t, a, l)
	if err := s.makeRoom(ctx, t, &o, l); err != nil {
		return nil, &NotCompacted{Attempt: a.Attempt, Reason: err.Error(), Final: true}
	}
	bounded, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	plan, report, err := pemmican.Compact(bounded, t, o)
	switch {
	case ctx.Err() != nil:
		return nil, &NotCompacted{Attempt: a.Attempt}
	case errors.Is(err, context.DeadlineExceeded):
		return nil, &NotCompacted{Attempt: a.Attempt, Reason: fmt.Sprintf("the summary was not there after %s", wait)}
	case err != nil:
		return nil, &NotCompacted{Attempt: a.Attempt, Reason: err.Error(), Final: true}
	case plan.Empty():
		// Where no summariser was asked, or the mechanical one was, the same would come out again.
		final := a.Mechanical || s.fit.mechanical || report.Outcome == pemmican.Unchanged ||
			report.Asked == nil && report.Floor.Tokens > report.Target
		return nil, &NotCompacted{Attempt: a.Attempt, Reason: refusalOf(report), Final: final}
	}
	out := Outcome{Before: report.TokensBefore, After: report.TokensAfter, Asked: report.Asked, Mode: noModel}
	if report.Summary != nil && report.Asked != nil && report.Outcome == pemmican.Summarised {
		out.Mode, out.Model = report.Asked.Mode, report.Asked.Model
	}
	if report.Outcome == pemmican.FellBack {
		out.FellBack = report.Reason
	}
	return &made{attempt: a.Attempt, occasion: a.Occasion, transcript: keep(t), plan: plan, outcome: out, options: o}, nil
}

// refusalOf is why a compaction made nothing. What no compaction can help with is said first.
func refusalOf(r *pemmican.Report) string {
	if fixed := r.Floor.System + r.Floor.Tools; fixed >= r.Window {
		return fmt.Sprintf("system text and tools alone take %d tokens of a window of %d: make them smaller, or use a model with a larger window",
			fixed, r.Window)
	}
	return r.Reason
}

// options are those of one attempt, and how long it may take.
func (s *Session) options(t *pemmican.Transcript, a Answer, l Load) (pemmican.Options, time.Duration) {
	beside, summarizer := s.overhead(t).Tokens, s.summarizer(a)
	s.mu.Lock()
	defer s.mu.Unlock()
	window, _ := s.window()
	policy, ok := preset.ByName(s.settings.Preset)
	if !ok {
		policy = pemmican.DefaultPolicy()
	}
	policy.MinGain = s.settings.MinGain
	input := s.input(l)
	o := pemmican.Options{
		Window:      window,
		Target:      s.settings.TargetOf(input, window),
		Counter:     s.fit.counter,
		Summarizer:  summarizer,
		Policy:      &policy,
		Tools:       s.fit.tools,
		KeepRecent:  s.settings.KeepRecent,
		Compactions: s.state.Compactions,
		Thinking:    s.settings.Thinking.rule(),
	}
	// The plan is counted as the provider counts, so that its target is one: where the transcript holds all of the request,
	// what was reported is the measure for the counter; else the counter is that for what was reported.
	counted := s.scale(l.Estimated - beside)
	switch {
	case l.Estimated <= beside || input == 0:
	case t.HasSystem || counted > input:
		o.Counter = scaled{o.Counter, min(max(float64(input)/float64(l.Estimated), ratioLeast), ratioMost)}
	default:
		o.Counter = scaled{o.Counter, float64(counted) / float64(l.Estimated-beside)}
		o.Overhead = pemmican.Overhead{Tokens: input - counted, Source: "estimated"}
	}
	if a.Occasion == occasionTool || a.Occasion == occasionManual {
		o.Target = min(o.Target, max(1, input/2)) // somebody has decided that it is time
	}
	limits := s.limits()
	o.Limits = pemmican.Limits{Bytes: limits.Bytes, Media: limits.Images, Messages: limits.Items}
	return o, time.Duration(s.settings.MaxWait)
}

// makeRoom raises a target that is below what has to stay, or so near to it that the summary and its facts would find no room:
// then a compaction that frees less is better than none, as long as the request comes below the line that it has reached. A
// target that leaves a third of itself free is kept as it was wished for.
func (s *Session) makeRoom(ctx context.Context, t *pemmican.Transcript, o *pemmican.Options, l Load) error {
	if o.Policy.BestEffort {
		return nil // it makes what it can, whatever the target
	}
	probe := *o
	probe.Target, probe.Summarizer = 1, summary.Mechanical{} // nothing comes so low, and nobody is asked
	_, report, err := pemmican.Compact(ctx, t, probe)
	if err != nil {
		return err
	}
	s.mu.Lock()
	line := s.inputLine(l)
	s.mu.Unlock()
	floor, gain := report.Floor.Tokens, (report.TokensBefore-report.Floor.Tools)*o.Policy.MinGain/100
	room := min(min(line, report.TokensBefore)-floor, o.Target) / 3
	if room > 0 && floor <= report.TokensBefore-gain { // else too little can go, whatever the target
		o.Target = max(o.Target, floor+room)
	}
	return nil
}

// inputLine is what the context of a request may have, in tokens, until it is compacted before it goes, or is not sent if it
// does not fit now.
func (s *Session) inputLine(l Load) int {
	window, _ := s.window()
	if s.needOf(l).must {
		reserve := 0
		if s.countsNext() {
			reserve = s.clampReserve(l.Output)
		}
		return cmp.Or(s.settings.Block.In(window), window) - reserve
	}
	return cmp.Or(s.settings.Hard.In(window), window) - s.reserve(l)
}

// summarizer is the one for an attempt.
func (s *Session) summarizer(a Answer) pemmican.Summarizer {
	var out pemmican.Summarizer
	switch {
	case a.Mechanical:
	case s.config.Summarize != nil:
		out = s.config.Summarize(a)
	default:
		out = s.config.Summarizer
	}
	if out == nil {
		return summary.Mechanical{}
	}
	return out
}

// scaled counts in tokens of the model.
type scaled struct {
	counter pemmican.Counter
	ratio   float64
}

func (c scaled) Count(b *pemmican.Block) int { return int(float64(c.counter.Count(b))*c.ratio + 0.5) }

// startBackground makes an attempt while the agent goes on. A panic in it is a failure: there is nobody whom it could reach.
func (s *Session) startBackground(t *pemmican.Transcript, a Answer, l Load) {
	t = keep(t)
	s.fit.background.Go(func() {
		const name = "a compaction in the background"
		if p := s.guarded(name, func() { s.makeInBackground(t, a, l) }); p != nil {
			failed := NotCompacted{Attempt: a.Attempt, Reason: fmt.Sprintf("the compaction has panicked: %v", p), Load: l}
			s.guarded(name, func() { s.finish(nil, failed) })
		}
	})
}

func (s *Session) makeInBackground(t *pemmican.Transcript, a Answer, l Load) {
	m, ended := s.make(s.fit.alive, t, a, l)
	if ended != nil {
		s.finish(nil, ended)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isFlying(a.Attempt) {
		s.fit.pending = m
		s.flight.made = true
		s.flight.finish()
	}
}

// takeIntoUse applies what a background attempt has made, if the conversation is still the one that it was made for. Where the
// session has been switched off since, it is called off.
func (s *Session) takeIntoUse(t *pemmican.Transcript, apply func(*pemmican.Plan) (int, error)) {
	s.fit.taking.Lock()
	defer s.fit.taking.Unlock()
	s.mu.Lock()
	m, active := s.fit.pending, s.active()
	s.fit.pending = nil
	s.mu.Unlock()
	if m == nil {
		return
	}
	landed := false
	defer s.landPanicked(m.attempt, &landed)
	var ended Event
	if p, err := m.on(t); !active {
		ended = NotCompacted{Attempt: m.attempt}
	} else if err != nil {
		ended = NotCompacted{Attempt: m.attempt, Reason: err.Error()}
	} else if refused := s.accept(m, p, t, apply); refused != nil {
		ended = *refused
	}
	s.finish(m, ended)
	landed = true
}
