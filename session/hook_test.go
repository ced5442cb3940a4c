package session

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pemmican-dev/pemmican"
	"go.uber.org/goleak"
)

// hooked is a session whose settings name a hook, in front or in the background.
func hooked(c Config, background bool) (*Session, *[]string) {
	return fitter(c, func(s *Settings) {
		s.Hooks.Before = []string{"hook"}
		if !background {
			s.Soft = Threshold{}
		}
	})
}

// TestHangingHook is HOOK-03: a hook that does not end, and looks at no context, holds up nothing for longer than its time.
func TestHangingHook(t *testing.T) {
	for _, background := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			gate := make(chan struct{})
			hang := func(ctx context.Context) {
				if _, ok := ctx.Deadline(); !ok {
					t.Error("the hook has for ever")
				}
				<-gate
			}
			s, notices := hooked(Config{
				Summarizer: &writer{},
				Before: func(ctx context.Context, _ Answer, _ Load) (string, string) {
					hang(ctx)
					return "", "too late"
				},
				After: func(ctx context.Context, _ int, _ Outcome, _ string) { hang(ctx) },
			}, background)
			if background {
				mustFit(t, s, task(63))
			}
			began := time.Now()
			if plan, _ := mustFit(t, s, task(80)); plan.Empty() {
				t.Error("not compacted")
			}
			if waited := time.Since(began); waited != time.Minute {
				t.Errorf("it took %s", waited)
			}
			if len(*notices) != 3 || !strings.Contains((*notices)[0], "before-hook") || !strings.Contains((*notices)[2], "after-hook") {
				t.Errorf("%q", *notices)
			}
			close(gate)
			s.Close()
		})
	}
}

// TestCloseHook: Close does not wait for a hook that hangs.
func TestCloseHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s, _ := hooked(Config{Summarizer: &writer{}, Before: func(context.Context, Answer, Load) (string, string) {
			<-gate
			return "", ""
		}}, true)
		mustFit(t, s, task(63))
		synctest.Wait()
		began := time.Now()
		s.Close()
		if waited := time.Since(began); waited != 0 || s.State().Compactions != 0 {
			t.Errorf("it took %s", waited)
		}
		close(gate)
	})
}

// TestGivenUp is CON-10: who waits for an attempt that never ends goes on once it must be given up.
func TestGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		var calls atomic.Int32
		s, _ := fitter(Config{Summarizer: summarizerFunc(func(pemmican.SummaryRequest) {
			if calls.Add(1) == 1 {
				<-gate // and it looks at no context
			}
		})})
		mustFit(t, s, task(63))
		synctest.Wait()
		began := time.Now()
		plan, _ := mustFit(t, s, task(80))
		if waited := time.Since(began); plan.Empty() || waited > 3*time.Minute || calls.Load() != 2 {
			t.Errorf("%d calls, and it took %s", calls.Load(), waited)
		}
		close(gate)
		s.Close()
		if n := s.State().Compactions; n != 1 {
			t.Errorf("%d compactions", n)
		}
	})
}

// TestPanic: what panics in an attempt ends it. In front the panic goes on to the caller, in the background it is a failure.
func TestPanic(t *testing.T) {
	defer goleak.VerifyNone(t)
	panics := func(first *bool) {
		if *first {
			*first = false
			panic("boom")
		}
	}
	for _, c := range []struct {
		name   string
		config func(first *bool) Config
	}{
		{"hook", func(first *bool) Config {
			return Config{Summarizer: &writer{}, Before: func(context.Context, Answer, Load) (string, string) {
				panics(first)
				return "", ""
			}}
		}},
		{"summariser", func(first *bool) Config {
			return Config{Summarizer: summarizerFunc(func(pemmican.SummaryRequest) { panics(first) })}
		}},
	} {
		for _, background := range []bool{false, true} {
			first := true
			s, notices := hooked(c.config(&first), background)
			if background {
				mustFit(t, s, task(63))
				s.fit.background.Wait()
				if len(*notices) != 1 || !strings.Contains((*notices)[0], "boom") {
					t.Errorf("%s: %q", c.name, *notices)
				}
			} else {
				func() {
					defer func() {
						if p := recover(); p != "boom" {
							t.Errorf("%s: %v", c.name, p)
						}
					}()
					_, _ = s.Fit(t.Context(), task(80))
				}()
			}
			if first || s.Status().InFlight {
				t.Errorf("%s, background %v: it is in flight", c.name, background)
			}
			if plan, _ := mustFit(t, s, task(81)); plan.Empty() {
				t.Errorf("%s, background %v: not compacted any more", c.name, background)
			}
			s.Close()
		}
	}
}

// TestAfter: the hook after a compaction is told how every attempt has ended that was not called off.
func TestAfter(t *testing.T) {
	var ends []string
	w := &writer{failures: 2}
	s, _ := fitter(Config{Summarizer: w, After: func(_ context.Context, _ int, o Outcome, failed string) {
		if (failed == "") != (o.After > 0) {
			t.Errorf("%+v %q", o, failed)
		}
		ends = append(ends, failed)
	}}, func(s *Settings) { s.Soft = Threshold{} })
	mustFit(t, s, task(80))
	s.On(usage(80_000))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Fit(cancelled, task(81)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for i := range 3 {
		mustFit(t, s, task(82+i))
		s.On(usage(82_000))
	}
	if len(ends) != 3 || ends[0] == "" || ends[1] == "" || ends[2] != "" {
		t.Errorf("%q", ends)
	}
}
