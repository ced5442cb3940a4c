package summary

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
)

// Guard keeps a model from being asked again and again in vain. Its caller holds it for as long as a session lasts, and
// gives it to every [Model] of that session. The zero value is ready for use, and it is safe for concurrent use.
//
// It remembers two things. After some failures in a row, whatever they were, it lets nothing through until a cool-down
// is over; then one attempt decides. A person's cancel is no failure. And a segment of a transcript whose summary came
// out no smaller than itself is not tried again until the segment, the model or the settings are others.
type Guard struct {
	// Strikes is how many failures in a row stop it. Defaults to 3.
	Strikes int
	// CoolDown is how long it then lets nothing through. Defaults to 10 minutes.
	CoolDown time.Duration

	mu       sync.Mutex
	breaker  circuitbreaker.CircuitBreaker[any]
	inflated map[string]bool
}

const (
	defaultStrikes  = 3
	defaultCoolDown = 10 * time.Minute
	// maxInflated bounds the memory for segments; beyond it, it starts anew.
	maxInflated = 1024
)

// The errors of a guard that lets nothing through.
var (
	// ErrGuardOpen reports that too many attempts in a row have failed.
	ErrGuardOpen = errors.New("the model is not asked")
	// ErrInflated reports that the same attempt has come out no smaller before.
	ErrInflated = errors.New("the model is not asked: its summary of this part was no smaller than the part itself, and nothing has changed since")
)

// GuardOpen reports whether an error means that a [Guard] lets nothing through: for [Fallback.When].
func GuardOpen(err error) bool { return errors.Is(err, ErrGuardOpen) }

// get returns the breaker, made at the first use. g.mu must be held.
func (g *Guard) get() circuitbreaker.CircuitBreaker[any] {
	if g.breaker == nil {
		cool := g.CoolDown
		if cool <= 0 {
			cool = defaultCoolDown
		}
		g.breaker = circuitbreaker.NewBuilder[any]().WithFailureThreshold(g.strikes()).WithSuccessThreshold(1).WithDelay(cool).Build()
	}
	return g.breaker
}

func (g *Guard) strikes() uint {
	if g.Strikes <= 0 {
		return defaultStrikes
	}
	return uint(g.Strikes)
}

// Open reports whether the guard lets nothing through now.
func (g *Guard) Open() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.get()
	return b.IsOpen() && b.RemainingDelay() > 0
}

// Reset forgets everything: a new session has begun.
func (g *Guard) Reset() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.breaker, g.inflated = nil, nil
}

// leave is the leave to try once. A nil one is that of no guard.
type leave struct {
	guard   *Guard
	segment string
	// breaker is the one that gave it: a new session has another.
	breaker circuitbreaker.CircuitBreaker[any]
	// trial says that the breaker waits for this attempt to decide.
	trial bool
}

// allow asks for leave to try. Whoever gets it must call done.
func (g *Guard) allow(segment string) (*leave, error) {
	if g == nil {
		return nil, nil //nolint:nilnil // as leave says
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inflated[segment] {
		return nil, ErrInflated
	}
	b := g.get()
	if !b.TryAcquirePermit() {
		return nil, fmt.Errorf("%w: %d attempts in a row have failed; it is tried again in %s",
			ErrGuardOpen, g.strikes(), b.RemainingDelay().Round(time.Second))
	}
	return &leave{g, segment, b, b.IsHalfOpen()}, nil
}

// done records how an attempt ended.
func (l *leave) done(err error) {
	if l == nil {
		return
	}
	g := l.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.breaker != l.breaker {
		return // it was of another session
	}
	switch {
	case err == nil:
		l.breaker.RecordSuccess()
		return
	case errors.Is(err, context.Canceled):
		if l.trial && l.breaker.IsHalfOpen() { // the attempt has decided nothing, so another one may
			l.breaker.Close()
			l.breaker.HalfOpen()
		}
		return
	}
	l.breaker.RecordFailure()
	if refusal, ok := errors.AsType[*Refusal](err); ok && refusal.Reason == ReasonTooLong {
		if g.inflated == nil || len(g.inflated) >= maxInflated {
			g.inflated = map[string]bool{}
		}
		g.inflated[l.segment] = true
	}
}
