package summary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Guard keeps a model from being asked again and again in vain. Its caller holds it for as long as a session lasts, and
// gives it to every [Model] of that session. The zero value is ready for use, and it is safe for concurrent use.
//
// It remembers two things. After some failures in a row, whatever they were, it lets nothing through until a cool-down
// is over; then one attempt decides. A person's cancel is no failure, nor is it one that nobody could be asked. And a
// segment of a transcript whose summary came out no smaller than itself is not tried again until the segment, the model
// or the settings are others. [Guard.State] is that memory, for a session that goes on in another process.
type Guard struct {
	// Strikes is how many failures in a row stop it. Defaults to 3.
	Strikes int
	// CoolDown is how long it then lets nothing through. Defaults to 10 minutes.
	CoolDown time.Duration

	// A circuit breaker of our own, since those of libraries keep to themselves how far they have come.
	mu       sync.Mutex
	failures int
	until    time.Time // when the cool-down is over, once there were enough failures
	trial    bool      // the one attempt that decides is under way
	inflated map[string]bool
	session  int // leaves of an earlier one count no more
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

func (g *Guard) strikes() int {
	if g.Strikes <= 0 {
		return defaultStrikes
	}
	return g.Strikes
}

func (g *Guard) coolDown() time.Duration {
	if g.CoolDown <= 0 {
		return defaultCoolDown
	}
	return g.CoolDown
}

// Open reports whether the guard lets nothing through now.
func (g *Guard) Open() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failures >= g.strikes() && time.Until(g.until) > 0
}

// Reset forgets everything: a new session has begun.
func (g *Guard) Reset() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.become(guardState{})
}

// become takes another memory. g.mu must be held.
func (g *Guard) become(s guardState) {
	g.failures, g.until, g.trial, g.inflated = s.Failures, s.Until, false, nil
	for _, segment := range s.Inflated {
		g.remember(segment)
	}
	g.session++
}

// remember keeps a segment. g.mu must be held.
func (g *Guard) remember(segment string) {
	if g.inflated == nil || len(g.inflated) >= maxInflated {
		g.inflated = map[string]bool{}
	}
	g.inflated[segment] = true
}

// guardState is what State writes.
type guardState struct {
	Failures int       `json:"failures,omitempty"`
	Until    time.Time `json:"until,omitzero"`
	Inflated []string  `json:"inflated,omitempty"`
}

// State is what the guard remembers, as JSON for [Guard.Restore]. It tells nothing of a conversation but hashes.
func (g *Guard) State() []byte {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s := guardState{Failures: g.failures, Inflated: slices.Sorted(maps.Keys(g.inflated))}
	if g.failures >= g.strikes() {
		s.Until = g.until.UTC()
	}
	data, _ := json.Marshal(s) //nolint:errchkjson // numbers and texts can always be written
	return data
}

// Restore takes what [Guard.State] gave an earlier process in place of all that is remembered; nothing is a guard that
// remembers nothing. An attempt that was under way then is forgotten, and no cool-down lasts longer than CoolDown from
// now, whatever the clocks say. If there is an error, nothing changes.
func (g *Guard) Restore(data []byte) error {
	var s guardState
	if len(data) > 0 {
		if err := json.Unmarshal(data, &s); err != nil {
			return fmt.Errorf("the memory of the guard cannot be read: %w; delete it to begin without one", err)
		}
	}
	if s.Failures < 0 {
		return fmt.Errorf("the memory of the guard cannot be right: it has %d failures; delete it to begin without one", s.Failures)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if longest := time.Now().Add(g.coolDown()); s.Until.After(longest) {
		s.Until = longest
	}
	g.become(s)
	return nil
}

// leave is the leave to try once. A nil one is that of no guard.
type leave struct {
	guard   *Guard
	segment string
	session int
	// trial says that the guard waits for this attempt to decide.
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
	decides := g.failures >= g.strikes()
	switch wait := time.Until(g.until); {
	case decides && wait > 0:
		return nil, fmt.Errorf("%w: %d attempts in a row have failed; it is tried again in %s", ErrGuardOpen, g.failures, wait.Round(time.Second))
	case decides && g.trial:
		return nil, fmt.Errorf("%w: %d attempts in a row have failed, and one is under way that decides", ErrGuardOpen, g.failures)
	}
	g.trial = decides
	return &leave{g, segment, g.session, decides}, nil
}

// done records how an attempt ended.
func (l *leave) done(err error) {
	if l == nil {
		return
	}
	g := l.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.session != l.session {
		return
	}
	if l.trial {
		g.trial = false
	}
	switch {
	case err == nil:
		g.failures = 0
		return
	case errors.Is(err, context.Canceled), errors.Is(err, ErrUnresolved):
		return // it has decided nothing, so another one may
	}
	if l.trial || g.failures < g.strikes() { // else it began before the cool-down did, and does not make it longer
		g.failures++
		g.until = time.Now().Add(g.coolDown())
	}
	if refusal, ok := errors.AsType[*Refusal](err); ok && refusal.Reason == ReasonTooLong {
		g.remember(l.segment)
	}
}
