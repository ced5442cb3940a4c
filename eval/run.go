// Package eval measures what survives a compaction: offline, without a model, the same figures for the same input. It
// uses the public faces of the engine only, and nothing of the engine can reach it.
//
// A recorded session is cut at several places. What stands before the cut is the history, which each arm makes smaller
// to each budget; what the agent really did next is the answer key, which no arm sees and nobody wrote.
//
//   - M0, validity: calls and results in pairs, plans verified, nothing moved, the person's newest message word for
//     word, budgets met, two runs equal, files that check finds no new fault in.
//   - M3, artifacts: F1 of the set of (path, last operation, outcome) of the history's tool calls against what can be
//     read from the context: the calls that are left, and the ledger of the summary.
//   - M5, future references: of the identifiers that the agent itself writes in the next 60 messages and could know only
//     from the history (it stood there before its last 2 %, and nothing brought it back before the agent used it), the
//     share that the context still has: anywhere (bag), or in a window of 80 tokens that also holds 0.3 of the weight of
//     the words of the line in which it comes up later (rel). A bag of names does well at the first and badly at the
//     second.
package eval

import (
	"context"
	"fmt"
	"hash/fnv"
	"runtime"
	"slices"
	"sync"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/agents"
	"github.com/pemmican-dev/pemmican/preset"
	"github.com/pemmican-dev/pemmican/token"
)

// Options say what to measure. The zero value measures everything.
type Options struct {
	// Arms are the names of the arms. Defaults to Arms().
	Arms []string
	// Budgets are shares of the history's tokens that a context may take. Defaults to 2, 5, 10, 20 and 40 %.
	Budgets []float64
	// Seed draws the random lines and the resamples.
	Seed uint64
	// Cuts is how often a stretch of a session is cut at most. Defaults to 5.
	Cuts int
	// MinTokens leaves out histories that are shorter, in tokens. Defaults to 5,000.
	MinTokens int
	// Workers is how many cuts are measured at once. Defaults to the number of processors.
	Workers int
}

// DefaultBudgets are the budgets of Options.
func DefaultBudgets() []float64 { return []float64{0.02, 0.05, 0.10, 0.20, 0.40} }

// The defaults of Options.
const (
	DefaultCuts      = 5
	DefaultMinTokens = 5000 // tokens
)

// floors is how many floors a budget must be at least; cells below it are left out.
const floors = 2

// cell is one arm at one budget on one cut.
type cell struct {
	status  string // "" if it counts
	tokens  int
	recall  recall
	f1      float64
	invalid []string
}

// The reasons why a cell does not count.
const (
	belowFloor = "floor"   // the budget is too close to what nobody may drop; so for every arm
	overBudget = "over"    // the arm keeps more than the budget, which it never promised to meet
	refused    = "refused" // the arm says that it cannot: a context that holds nothing
)

// sample is one cut of one session with all its cells, by arm and budget.
type sample struct {
	session int
	stretch int
	cut     int
	tokens  int // of the history
	needs   []need
	cells   [][]cell
}

// Run measures. The error is for options that make no sense, and for ctx.
func Run(ctx context.Context, sessions []Session, o Options) (*Result, error) {
	chosen, err := o.complete()
	if err != nil {
		return nil, err
	}
	var samples []*sample
	for s := range sessions {
		for k, t := range sessions[s].stretches {
			for _, at := range cuts(t, o.Cuts) {
				samples = append(samples, &sample{session: s, stretch: k, cut: at})
			}
		}
	}
	files := make([]fileChecks, len(sessions))
	jobs := make(chan func())
	var wait sync.WaitGroup
	for range o.Workers {
		wait.Go(func() {
			for job := range jobs {
				job()
			}
		})
	}
	for _, s := range samples {
		jobs <- func() {
			if ctx.Err() == nil {
				s.measure(ctx, &sessions[s.session], chosen, &o)
			}
		}
	}
	for i := range sessions {
		jobs <- func() {
			if ctx.Err() == nil {
				files[i] = checkFile(ctx, &sessions[i], chosen, &o)
			}
		}
	}
	close(jobs)
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	samples = slices.DeleteFunc(samples, func(s *sample) bool { return s.cells == nil })
	return newResult(sessions, samples, files, chosen, &o), nil
}

// complete fills in the defaults.
func (o *Options) complete() ([]arm, error) {
	if len(o.Arms) == 0 {
		o.Arms = Arms()
	}
	if len(o.Budgets) == 0 {
		o.Budgets = DefaultBudgets()
	}
	if o.Cuts == 0 {
		o.Cuts = DefaultCuts
	}
	if o.MinTokens == 0 {
		o.MinTokens = DefaultMinTokens
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	all := arms()
	var chosen []arm
	for _, name := range o.Arms {
		i := slices.IndexFunc(all, func(a arm) bool { return a.name == name })
		if i < 0 {
			return nil, fmt.Errorf("%q is no arm; use some of %q", name, Arms())
		}
		chosen = append(chosen, all[i])
	}
	for _, b := range o.Budgets {
		if !(b > 0 && b <= 1) {
			return nil, fmt.Errorf("a budget of %g %% makes no sense; it is a share of the history", 100*b)
		}
	}
	if o.Cuts < 0 {
		return nil, fmt.Errorf("%d cuts make no sense", o.Cuts)
	}
	return chosen, nil
}

// measure fills in the cells. Those of a history that is too short stay nil.
func (s *sample) measure(ctx context.Context, session *Session, chosen []arm, o *Options) {
	whole := session.stretches[s.stretch]
	counter := token.NewCache(token.Estimator{}, 0)
	all, _ := sizes(whole, counter)
	history := prefix(whole, s.cut)
	size := all[:len(history.Blocks)]
	for _, n := range size {
		s.tokens += n
	}
	if s.tokens < o.MinTokens {
		return
	}
	e := newExam(whole, s.cut, all)
	s.needs = e.needs
	tools := agents.Tools()
	want := map[string]artifact{}
	artifacts(history, tools, want)
	floor := floorOf(ctx, history, counter)
	s.cells = make([][]cell, len(chosen))
	for a := range chosen {
		s.cells[a] = make([]cell, len(o.Budgets))
		for b, share := range o.Budgets {
			t := task{
				history: history, size: size, total: s.tokens, budget: int(share * float64(s.tokens)),
				counter: counter, seed: o.Seed ^ hash(session.Name) + uint64(s.cut),
			}
			c := &s.cells[a][b]
			if t.budget < floors*floor {
				c.status = belowFloor
				continue
			}
			*c = runArm(ctx, &chosen[a], t, e, want, tools)
		}
	}
}

// runArm runs an arm on a task twice, and examines what comes of it.
func runArm(ctx context.Context, a *arm, t task, e *exam, want map[string]artifact, tools pemmican.Tools) cell {
	first, err := a.run(ctx, t)
	if err != nil {
		return cell{status: refused, invalid: []string{err.Error()}}
	}
	second, err := a.run(ctx, t)
	if err != nil {
		return cell{status: refused, invalid: []string{"only the first of two runs worked: " + err.Error()}}
	}
	c := cell{invalid: validity(a, t, first, second)}
	if first.refused {
		c.status = refused
		c.recall = recall{make([]bool, len(e.needs)), make([]bool, len(e.needs))}
		c.f1 = f1(want, nil)
		return c
	}
	_, c.tokens = sizes(first.context, t.counter)
	if c.tokens -= first.extra; c.tokens > t.budget && a.name != "full" {
		c.status = overBudget
	}
	c.recall = e.recall(first.context)
	got := readArtifacts(first.context, tools)
	forgive(t.history, want, got)
	c.f1 = f1(want, got)
	return c
}

// floorOf is what the engine says cannot be dropped of a history, in tokens.
func floorOf(ctx context.Context, history *pemmican.Transcript, counter pemmican.Counter) int {
	// A target that is never exceeded makes Compact look and touch nothing.
	_, report, err := pemmican.Compact(ctx, history, pemmican.Options{Target: 1 << 40, Counter: counter})
	if err != nil {
		return 0
	}
	return report.Floor.Tokens
}

func hash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// fileChecks is what came of compacting a whole file, by policy.
type fileChecks map[string]*fileCheck

type fileCheck struct {
	done    int
	invalid []string
}

// checkFile compacts a file by every policy among the arms to every budget.
func checkFile(ctx context.Context, s *Session, chosen []arm, o *Options) fileChecks {
	out := fileChecks{}
	if s.doc == nil {
		return out // it comes from no file
	}
	counter := token.NewCache(token.Estimator{}, 0)
	for _, a := range chosen {
		policy, ok := preset.ByName(a.name)
		if !ok {
			continue
		}
		check := &fileCheck{}
		out[a.name] = check
		for _, share := range o.Budgets {
			bad, done := validFile(ctx, s, policy, share, counter)
			if done {
				check.done++
			}
			for _, b := range bad {
				check.invalid = append(check.invalid, fmt.Sprintf("%s to %g %%: %s", s.Name, 100*share, b))
			}
		}
	}
	return out
}
