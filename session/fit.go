package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/agents"
	"github.com/pemmican-dev/pemmican/format/detect"
	"github.com/pemmican-dev/pemmican/llm"
	"github.com/pemmican-dev/pemmican/summary"
	"github.com/pemmican-dev/pemmican/token"
)

// ErrBlocked reports a request that must not be sent: it does not fit, and compacting did not help.
var ErrBlocked = errors.New("the request is not sent")

// mostAttempts is how many attempts one call of Fit makes at most. The guards of the session stop before; this one holds
// whatever they are told.
const mostAttempts = 3

// fitting is what Fit remembers. Session.mu guards it.
type fitting struct {
	mechanical bool  // no model writes summaries
	sent       *sent // the newest request
	applied    *made // the newest plan that was taken into use
	pending    *made // the plan of a background attempt, for the next request
	stretches  stretches

	// overhead is what requests carry beside a transcript that does not hold it, in tokens of the model, as the newest answer
	// told. base is an earlier answer, 0 for none, from which the ratio of the counter is told apart from it.
	overhead int
	base     counted
	taking   sync.Mutex // one at a time looks whether the plan of a background attempt can be used

	counter    pemmican.Counter
	tools      pemmican.Tools
	background sync.WaitGroup
	stop       context.CancelFunc // of the background attempts
	alive      context.Context    //nolint:containedctx // it is that of the session, which Close ends
}

// sent is a request that has gone.
type sent struct {
	transcript *pemmican.Transcript
	counted    int // estimated tokens of the transcript alone
	reported   int // what its answer said of the context, 0 until then
}

// counted is what was estimated for a transcript, and what a model counted for the request with it.
type counted struct {
	model            string
	estimated, input int
}

func (f *fitting) init(c *Config) {
	f.counter, f.tools = c.Counter, c.Tools
	if f.counter == nil {
		f.counter = token.NewCache(nil, 0)
	}
	if f.tools == nil {
		f.tools = agents.Tools()
	}
	_, f.mechanical = c.Summarizer.(summary.Mechanical)
	f.mechanical = (f.mechanical || c.Summarizer == nil) && c.Summarize == nil
	f.alive, f.stop = context.WithCancel(context.Background())
}

// leastSpan is how much two requests must differ, in estimated tokens, to tell the ratio of the counter.
const leastSpan = 4_000

// repliedFit keeps what an answer said of the request that Fit has let go. It reports true if the request carries more than
// its transcript holds. Then two answers tell the ratio of the counter, by what their requests differ in, and what remains is
// the rest; of one alone all that it counts beyond the estimate is.
func (s *Session) repliedFit(u llm.Usage) bool {
	f := &s.fit
	if f.sent == nil || f.sent.reported > 0 {
		return false
	}
	f.sent.reported = u.Input + u.Output
	if f.sent.transcript.HasSystem {
		return false
	}
	now := counted{s.model.name(), f.sent.counted, u.Input}
	span := now.estimated - f.base.estimated
	switch {
	case f.base.model != now.model || f.base.input == 0:
		f.base = now
	case max(span, -span) >= leastSpan:
		ratio := float64(now.input-f.base.input) / float64(span)
		if now.model != "" && ratio > 0 {
			s.learnRatio(min(max(ratio, ratioLeast), ratioMost))
		}
		f.base = now
	}
	f.overhead = max(0, u.Input-s.scale(f.sent.counted))
	return true
}

// Close calls off a compaction that runs in the background, and waits for its end. The session is over.
func (s *Session) Close() {
	s.On(Ended{})
	s.fit.stop()
	s.fit.background.Wait()
}

// Fit makes a request's transcript fit: it asks On, and carries the answer out. It returns the plan, which is empty where
// nothing is to be done, for the transcript as it was given. The error wraps ErrBlocked where the request must not be sent.
//
// The caller may go on with what the plan made of the transcript, or with the whole of it: a transcript that begins with
// one that was compacted before gets the same plan again. Once it has the answer, it tells On of it, [Replied], and of a
// [Failed] request, after which it calls Fit again.
func (s *Session) Fit(ctx context.Context, t *pemmican.Transcript) (*pemmican.Plan, error) {
	return s.fitTo(ctx, t, 0, func(*pemmican.Plan) (int, error) { return 0, nil })
}

// FitBody is Fit for a request body in any wire format that package format/detect knows: it returns the body to send, which
// is the one that it got where nothing is to be done.
func (s *Session) FitBody(ctx context.Context, body []byte) ([]byte, error) {
	doc, err := detect.Decode(body, "")
	if err != nil {
		return nil, err
	}
	output := 0
	if api, ok := llm.Detect(body); ok {
		output, _ = api.OutputLimit(body)
	}
	out := body
	plan, err := s.fitTo(ctx, doc.Transcript(), output, func(p *pemmican.Plan) (int, error) {
		out = body
		if p.Empty() {
			return len(body), nil
		}
		smaller, err := doc.Apply(p)
		if err != nil {
			return 0, err
		}
		if len(smaller) >= len(body) {
			return 0, fmt.Errorf("the compacted body has %d bytes, and the original %d", len(smaller), len(body))
		}
		out = smaller
		return len(out), nil
	})
	switch {
	case err != nil:
		return nil, err
	case plan.Empty():
		return body, nil
	}
	return out, nil
}

// fitTo is Fit for a request that asks for so much output, in tokens, 0 if it does not say; apply makes the body of a plan and
// returns its size in bytes, 0 if there is no body.
func (s *Session) fitTo(
	ctx context.Context, t *pemmican.Transcript, output int, apply func(*pemmican.Plan) (int, error),
) (*pemmican.Plan, error) {
	attempts := 0
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.takeIntoUse(t, apply)
		s.mu.Lock()
		applied := s.fit.applied
		s.mu.Unlock()
		plan, l, err := s.current(t, applied, apply)
		if err != nil {
			return nil, err
		}
		l.Output = output
		a, done, ok := s.requestOf(l, applied, attempts < mostAttempts)
		if !ok {
			continue
		}
		switch a.Do {
		case Compact:
			if s.attempt(ctx, t, a, l, apply) {
				attempts++
			}
		case Wait:
			s.await(ctx, done)
		case Block, Refuse:
			return nil, fmt.Errorf("%w: %s", ErrBlocked, a.Reason)
		default:
			if a.Do == Start {
				s.startBackground(t, a, l)
			}
			s.remember(plan.Result(t), l)
			return plan, nil
		}
	}
}

// await waits for the end of an attempt, or for the moment at which it must be given up.
func (s *Session) await(ctx context.Context, done <-chan struct{}) {
	s.mu.Lock()
	patience := time.NewTimer(s.patience())
	s.mu.Unlock()
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C:
	case <-ctx.Done():
	}
}

// requestOf asks On, and returns with the answer what Wait has to wait for. It reports false if another request has been
// compacted since this one was measured. More is false if no further attempt may be made for the request.
func (s *Session) requestOf(l Load, applied *made, more bool) (a Answer, done <-chan struct{}, ok bool) {
	s.mu.Lock()
	if s.fit.applied != applied {
		s.mu.Unlock()
		return Answer{}, nil, false
	}
	// What On has ordered for another event, a failed request or a call of the tool, is made here, unless the session has been
	// switched off since.
	ordered := s.flight != nil && !s.flight.claimed && !s.flight.background
	if ordered && !s.active() {
		s.land()
		ordered = false
	}
	switch {
	case !more:
		a = s.spent(l)
		a.Do = cmp.Or(a.Do, GoOn)
	case ordered:
		a = s.begin(l)
	default:
		a = s.on(fits{l})
	}
	switch a.Do {
	case Compact, Start:
		s.flight.claimed = true
	case Wait:
		done = s.flight.done
	}
	s.mu.Unlock()
	s.notify(a)
	return a, done, true
}

func (s *Session) notify(a Answer) {
	if s.config.Notify != nil {
		for _, n := range a.Notices {
			s.config.Notify(n)
		}
	}
}

// current is the plan that is in force for a transcript: one that was made before for what it begins with, or none; and the
// load of what it makes.
func (s *Session) current(
	t *pemmican.Transcript, applied *made, apply func(*pemmican.Plan) (int, error),
) (*pemmican.Plan, Load, error) {
	// A plan that is in force stays so for a model that is left alone: what it has taken away may not fit any more.
	s.mu.Lock()
	before, on, reported := s.fit.sent, !s.ended, 0
	if before != nil {
		reported = before.reported
	}
	s.mu.Unlock()
	plan := pemmican.NewPlan(t)
	bytes, err := apply(plan)
	if err != nil {
		return nil, Load{}, err
	}
	if applied != nil && on {
		// What has come since was answered to what the plan made, so no reasoning in it is bound to anything else.
		if again, err := Onto(applied.plan, applied.transcript, t); err == nil {
			if smaller, err := apply(again); err == nil {
				plan, bytes = again, smaller
			}
		}
	}
	seen := plan.Result(t)
	l := Measure(seen, s.fit.counter, s.overhead(t))
	l.Bytes = bytes
	if reported > 0 && begins(seen, before.transcript) {
		l.Reported, l.Since = reported, s.sinceAnswer(seen, len(before.transcript.Blocks))
		n := len(before.transcript.Blocks)
		l.Since += max(0, s.systemTokens(seen, n)-s.systemTokens(before.transcript, n))
	}
	return plan, l, nil
}

// systemTokens estimates the system text in the first blocks, which may have changed since a request was answered.
func (s *Session) systemTokens(t *pemmican.Transcript, blocks int) int {
	n := 0
	for i := range blocks {
		if t.Messages[t.Blocks[i].Message].Role == pemmican.System {
			n += s.fit.counter.Count(&t.Blocks[i])
		}
	}
	return n
}

// sinceAnswer estimates what follows the answer to a request of so many blocks. The answer itself is in what was reported.
func (s *Session) sinceAnswer(t *pemmican.Transcript, from int) int {
	n, answer := 0, -1
	for i := from; i < len(t.Blocks); i++ {
		m := t.Blocks[i].Message
		if answer < 0 && t.Messages[m].Role == pemmican.Assistant {
			answer = m
		}
		if m != answer {
			n += s.fit.counter.Count(&t.Blocks[i])
		}
	}
	return n
}

// overhead is what a request carries beside a transcript that does not hold it, in estimated tokens as the rest of it.
func (s *Session) overhead(t *pemmican.Transcript) pemmican.Overhead {
	if t.HasSystem {
		return pemmican.Overhead{}
	}
	known := token.Calibrate(t, s.fit.counter).Overhead.Tokens
	s.mu.Lock()
	defer s.mu.Unlock()
	if known <= 0 || s.fit.base.input > 0 {
		known = s.fit.overhead
	}
	return pemmican.Overhead{Tokens: s.unscale(known), Source: "estimated"}
}

func (s *Session) remember(t *pemmican.Transcript, l Load) {
	beside := s.overhead(t).Tokens
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fit.sent = &sent{transcript: keep(t), counted: l.Estimated - beside}
}

// keep is a copy that stays as it is while its owner appends to the original.
func keep(t *pemmican.Transcript) *pemmican.Transcript {
	out := *t
	out.Messages, out.Blocks = slices.Clone(t.Messages), slices.Clone(t.Blocks)
	return &out
}
