package session

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// hookTime is how long a hook has where the settings do not say.
const hookTime = 30 * time.Second

// askBefore asks the hook of the caller's, which may add to the focus, or veto with a reason.
func (s *Session) askBefore(ctx context.Context, a Answer, l Load) (focus, veto string) {
	type answer struct{ focus, veto string }
	said := make(chan answer, 1)
	s.hook(ctx, "before", func(ctx context.Context) {
		var says answer
		says.focus, says.veto = s.config.Before(ctx, a, l)
		said <- says
	})
	select {
	case says := <-said:
		return says.focus, says.veto
	default:
		return "", "" // it has no answer
	}
}

// tellAfter tells the hook of the caller's how an attempt has ended.
func (s *Session) tellAfter(attempt int, o Outcome, failed string) {
	if s.config.After == nil {
		return
	}
	s.hook(s.fit.alive, "after", func(ctx context.Context) { s.config.After(ctx, attempt, o, failed) })
}

// hook calls a hook, and waits for it as long as it may take. One that takes longer is left behind and told of. A panic goes
// on to the caller.
func (s *Session) hook(ctx context.Context, name string, call func(context.Context)) {
	s.mu.Lock()
	limit := time.Duration(s.settings.Hooks.Timeout)
	s.mu.Unlock()
	if limit <= 0 {
		limit = hookTime
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ended := make(chan any, 1)
	go func() { ended <- s.guarded(name+"-hook", func() { call(bounded) }) }()
	select {
	case panicked := <-ended:
		if panicked != nil {
			panic(panicked)
		}
	case <-bounded.Done():
		if ctx.Err() == nil {
			told := fmt.Sprintf("the %s-hook has not ended after %s, and nobody waits for it any more", name, limit)
			s.config.Log.Warn(told)
			s.notify(Answer{Notices: []string{told}})
		}
	}
}

// guarded calls a function, and returns what it panicked with, nil if it did not.
func (s *Session) guarded(name string, call func()) (panicked any) {
	defer func() {
		if panicked = recover(); panicked != nil {
			s.config.Log.Error("a panic", "in", name, "panic", panicked, "stack", string(debug.Stack()))
		}
	}()
	call()
	return nil
}
