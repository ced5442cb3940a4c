package summary_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/llm"
	"github.com/pemmican-dev/pemmican/summary"
)

// outcome asks the model once, which answers as it is told.
func outcome(ctx context.Context, t *testing.T, g *summary.Guard, a answer) error {
	t.Helper()
	m := &summary.Model{Via: &asker{answers: []answer{a}}, Guard: g}
	r := pemmican.SummaryRequest{Transcript: transcript(t, llm.Chat), Tokens: 2000}
	for i := range r.Transcript.Blocks {
		r.Dropped = append(r.Dropped, i)
	}
	_, err := m.Summarize(ctx, r)
	return err
}

// again is the guard of the next process.
func again(t *testing.T, g *summary.Guard) *summary.Guard {
	t.Helper()
	next := &summary.Guard{Strikes: g.Strikes, CoolDown: g.CoolDown}
	if err := next.Restore(g.State()); err != nil {
		t.Fatal(err)
	}
	if string(next.State()) != string(g.State()) {
		t.Fatalf("%s became %s", g.State(), next.State())
	}
	return next
}

// TestGuardOutlivesProcess: with a new process between any two attempts it lets through just what it would without (X26).
func TestGuardOutlivesProcess(t *testing.T) {
	boom := fails(&llm.Error{Kind: llm.Transient, Message: "boom"})
	for _, restarts := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			g := &summary.Guard{Strikes: 3, CoolDown: time.Minute}
			step := func(what string, a answer, asked bool) {
				t.Helper()
				if restarts {
					g = again(t, g)
				}
				err := outcome(t.Context(), t, g, a)
				if summary.GuardOpen(err) == asked {
					t.Fatalf("restarts %v, %s: %v", restarts, what, err)
				}
			}
			step("a first failure", boom, true)
			step("a second", boom, true)
			step("a success ends the row", says(good), true)
			step("one", boom, true)
			step("two", boom, true)
			step("a cancel is none", fails(context.Canceled), true)
			step("three", boom, true)
			step("stopped", says(good), false)
			time.Sleep(50 * time.Second)
			step("still stopped", says(good), false)
			time.Sleep(12 * time.Second)
			step("a cancelled trial decides nothing", fails(context.Canceled), true)
			step("a trial that fails", boom, true)
			step("stopped again", says(good), false)
			time.Sleep(62 * time.Second)
			step("a trial that succeeds", says(good), true)
			step("one", boom, true)
			step("two", boom, true)
			if g.Open() {
				t.Error("two failures stopped it")
			}
			g.Reset()
			g = again(t, g)
			step("a new session begins anew", boom, true)
			step("with two more", boom, true)
			if g.Open() {
				t.Error("what was before the reset counted")
			}
		})
	}
}

// TestGuardTrial: while the attempt that decides is under way, no other is let through.
func TestGuardTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &summary.Guard{Strikes: 1, CoolDown: time.Minute}
		_ = outcome(t.Context(), t, g, fails(errors.New("boom")))
		time.Sleep(time.Minute)
		err := outcome(t.Context(), t, g, func(ctx context.Context, q summary.Question) (*llm.Reply, error) {
			if err := outcome(ctx, t, g, says(good)); !summary.GuardOpen(err) || !strings.Contains(err.Error(), "under way") {
				t.Errorf("beside the trial: %v", err)
			}
			return says(good)(ctx, q)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := outcome(t.Context(), t, g, says(good)); err != nil {
			t.Fatal(err)
		}
	})
}

// TestGuardRemembersSegments: a part whose summary was no smaller is not tried again by the next process either.
func TestGuardRemembersSegments(t *testing.T) {
	g := &summary.Guard{}
	long := says("## Goal\n" + strings.Repeat("Move src/module00.ts and src/module01.ts to src/queue.ts, carefully, and say so.\n", 1))
	ask := func(g *summary.Guard) error {
		m := &summary.Model{Via: &asker{answers: []answer{long}}, Guard: g}
		tr := transcript(t, llm.Chat)
		_, err := m.Summarize(t.Context(), pemmican.SummaryRequest{Transcript: tr, Dropped: []int{1}, Tokens: 2000})
		return err
	}
	var refusal *summary.Refusal
	if err := ask(g); !errors.As(err, &refusal) || refusal.Reason != summary.ReasonTooLong {
		t.Fatal(err)
	}
	if err := ask(again(t, g)); !errors.Is(err, summary.ErrInflated) {
		t.Error(err)
	}
}

// TestGuardRestore: what cannot be a guard's memory changes nothing, and no clock can shut the model out for long.
func TestGuardRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &summary.Guard{Strikes: 1, CoolDown: time.Minute}
		_ = outcome(t.Context(), t, g, fails(errors.New("boom")))
		was := string(g.State())
		for _, bad := range []string{"{", `[]`, `{"failures":-1}`, `{"failures":"3"}`, `{"until":"soon"}`} {
			if err := g.Restore([]byte(bad)); err == nil || !strings.Contains(err.Error(), "delete it") || string(g.State()) != was {
				t.Errorf("%s: %v, %s", bad, err, g.State())
			}
		}
		if err := g.Restore([]byte(`{"failures":9,"until":"9999-01-01T00:00:00Z","later":1}`)); err != nil || !g.Open() {
			t.Fatalf("%v, %s", err, g.State())
		}
		time.Sleep(time.Minute)
		if g.Open() {
			t.Error("a clock that was wrong shuts it")
		}
		if err := g.Restore(nil); err != nil || string(g.State()) != "{}" {
			t.Errorf("%v, %s", err, g.State())
		}
	})
	if (*summary.Guard)(nil).State() != nil {
		t.Error("no guard has a memory")
	}
}
