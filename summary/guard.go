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

// allow asks for leave to try. Whoever gets it must call done.
func (g *Guard) allow(segment string) error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inflated[segment] {
		return ErrInflated
	}
	if b := g.get(); !b.TryAcquirePermit() {
		return fmt.Errorf("%w: %d attempts in a row have failed; it is tried again in %s",
			ErrGuardOpen, g.strikes(), b.RemainingDelay().Round(time.Second))
	}
	return nil
}

// done records how an attempt ended.
func (g *Guard) done(segment string, err error) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.get()
	switch {
	case err == nil:
		b.RecordSuccess()
		return
	case errors.Is(err, context.Canceled):
		if b.IsHalfOpen() { // the attempt has decided nothing, so another one may
			b.Close()
			b.HalfOpen()
		}
		return
	}
	b.RecordFailure()
	if refusal, ok := errors.AsType[*Refusal](err); ok && refusal.Reason == ReasonTooLong {
		if g.inflated == nil || len(g.inflated) >= maxInflated {
			g.inflated = map[string]bool{}
		}
		g.inflated[segment] = true
	}
}
