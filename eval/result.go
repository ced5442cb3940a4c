package eval

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pemmican-dev/pemmican/token"
)

const (
	leastNeeds = 10   // identifiers that a session must have, so that its share means something
	resamples  = 2000 // of the sessions, for an interval
	confidence = 0.90
)

// Result is what a run measured. It holds no time and no chance: the same sessions, options and program give the same.
type Result struct {
	Seed     uint64        `json:"seed"`
	Counter  string        `json:"counter"`
	Sessions []SessionInfo `json:"sessions"`
	Rows     []Row         `json:"rows"`
	Parts    []Part        `json:"parts"`
	Failures []Failure     `json:"failures"`
	// Missed are the identifiers that the arm "default" lost.
	Missed []Miss `json:"missed"`
}

// SessionInfo describes a session that was measured.
type SessionInfo struct {
	Name   string `json:"name"`
	Format string `json:"format"`
	Cuts   int    `json:"cuts"`
	// Tokens is the mean size of its histories.
	Tokens int `json:"tokens"`
	// Needs is how many identifiers were asked for, over all cuts.
	Needs int `json:"needs"`
	// Rel is the share of them that each arm still has at each budget, by name and by budget.
	Rel map[string][]*float64 `json:"rel"`
}

// Interval is a figure with its bootstrap interval, at 90 %.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Row is one arm at one budget.
type Row struct {
	Arm    string  `json:"arm"`
	Budget float64 `json:"budget"` // a share of the history
	// Sessions, Cuts and Needs are what was counted: sessions with ten identifiers and more, their cuts, and the
	// identifiers asked for.
	Sessions int `json:"sessions"`
	Cuts     int `json:"cuts"`
	Needs    int `json:"needs"`
	// Share is what the contexts really took of the histories: those that count, or where none does, those over budget.
	Share float64 `json:"share"`
	// Bag and Rel are means over sessions, the intervals by resampling sessions.
	Bag Interval `json:"bag"`
	Rel Interval `json:"rel"`
	// Ahead is Rel less that of the reference arm on the same cuts, resampled in pairs; nil where that was not run.
	Ahead *Interval `json:"ahead"`
	// PooledBag and PooledRel are over all identifiers, whatever session they come from.
	PooledBag float64 `json:"pooled_bag"`
	PooledRel float64 `json:"pooled_rel"`
	// Artifacts is the F1 of M3, a mean over sessions; nil if none had anything to remember.
	Artifacts *float64 `json:"artifacts"`
	// Worst is the session with the least Rel.
	Worst    string  `json:"worst"`
	WorstRel float64 `json:"worst_rel"`
	// BelowFloor, Over and Refused count cuts: left out since the budget is under twice the floor, left out since the
	// arm keeps more than the budget, and counted as zero since the arm refused.
	BelowFloor int `json:"below_floor"`
	Over       int `json:"over"`
	Refused    int `json:"refused"`
	// Failures of validity, M0, on cuts.
	Failures int `json:"failures"`
}

// Part is one arm at one budget on one sort of identifiers, over all sessions.
type Part struct {
	Arm    string  `json:"arm"`
	Budget float64 `json:"budget"`
	// By is kind, carrier or quarter, and Of its value.
	By    string  `json:"by"`
	Of    string  `json:"of"`
	Needs int     `json:"needs"`
	Bag   float64 `json:"bag"`
	Rel   float64 `json:"rel"`
}

// Failure is a broken rule of M0.
type Failure struct {
	Arm  string `json:"arm"`
	What string `json:"what"`
}

// Miss is an identifier that a context lost.
type Miss struct {
	Session string  `json:"session"`
	Budget  float64 `json:"budget"`
	Bag     bool    `json:"bag"` // it is there, without what belongs to it
	need
}

// share is a count of hits.
type share struct{ n, bag, rel int }

func (s *share) add(r recall) {
	s.n += len(r.rel)
	for i := range r.rel {
		if r.bag[i] {
			s.bag++
		}
		if r.rel[i] {
			s.rel++
		}
	}
}

func newResult(sessions []Session, samples []*sample, files []fileChecks, chosen []arm, o *Options) *Result {
	r := &Result{Seed: o.Seed, Counter: token.Estimator{}.Name(), Failures: []Failure{}, Missed: []Miss{}, Parts: []Part{}}
	bySession := make([][]*sample, len(sessions))
	for _, s := range samples {
		bySession[s.session] = append(bySession[s.session], s)
	}
	// The same draws for every arm and budget: that is what makes the comparison one of pairs.
	measured := 0
	for _, list := range bySession {
		if len(list) > 0 {
			measured++
		}
	}
	lot := rand.New(rand.NewPCG(o.Seed, 5)) //nolint:gosec // a lot that can be drawn again is wanted
	draws := make([][]int, resamples)
	for i := range draws {
		draws[i] = make([]int, measured)
		for k := range draws[i] {
			draws[i][k] = lot.IntN(measured)
		}
	}
	var groups [][]*sample
	for s, list := range bySession {
		if len(list) == 0 {
			continue
		}
		groups = append(groups, list)
		info := SessionInfo{Name: sessions[s].Name, Format: sessions[s].Format, Cuts: len(list), Rel: map[string][]*float64{}}
		for _, x := range list {
			info.Tokens += x.tokens / len(list)
			info.Needs += len(x.needs)
		}
		r.Sessions = append(r.Sessions, info)
	}
	reference := slices.IndexFunc(chosen, func(a arm) bool { return a.name == Reference })
	for b, budget := range o.Budgets {
		for a := range chosen {
			row, rels := r.row(groups, draws, a, b, reference)
			row.Arm, row.Budget = chosen[a].name, budget
			r.Rows = append(r.Rows, row)
			for g := range groups {
				r.Sessions[g].Rel[chosen[a].name] = append(r.Sessions[g].Rel[chosen[a].name], rels[g])
			}
			r.parts(samples, chosen[a].name, a, b, budget)
			if chosen[a].name == "default" {
				r.misses(sessions, samples, a, b, budget)
			}
		}
	}
	for a := range chosen {
		for _, s := range samples {
			for b := range o.Budgets {
				for _, what := range s.cells[a][b].invalid {
					r.Failures = append(r.Failures, Failure{chosen[a].name, sessions[s.session].Name + ": " + what})
				}
			}
		}
		for _, f := range files {
			if check := f[chosen[a].name]; check != nil {
				for _, what := range check.invalid {
					r.Failures = append(r.Failures, Failure{chosen[a].name, "file " + what})
				}
			}
		}
	}
	return r
}

// row adds up one arm at one budget.
func (r *Result) row(groups [][]*sample, draws [][]int, a, b, reference int) (Row, []*float64) {
	row := Row{WorstRel: math.Inf(1)}
	nan := math.NaN()
	bags, rels, refs, f1s := make([]float64, len(groups)), make([]float64, len(groups)), make([]float64, len(groups)), []float64{}
	out := make([]*float64, len(groups))
	var pooled share
	var shares, above []float64
	for g, list := range groups {
		var hits, ref share
		var f1 []float64
		cells, kept, answered := 0, 0.0, 0
		for _, s := range list {
			c := &s.cells[a][b]
			row.Failures += len(c.invalid)
			switch c.status {
			case belowFloor:
				row.BelowFloor++
				continue
			case overBudget:
				row.Over++
				above = append(above, float64(c.tokens)/float64(s.tokens))
				continue
			case refused:
				row.Refused++
			default:
				kept += float64(c.tokens) / float64(s.tokens)
				answered++
			}
			cells++
			if !math.IsNaN(c.f1) {
				f1 = append(f1, c.f1)
			}
			hits.add(c.recall)
			if reference >= 0 {
				ref.add(s.cells[reference][b].recall)
			}
		}
		bags[g], rels[g], refs[g] = nan, nan, nan
		pooled.n, pooled.bag, pooled.rel = pooled.n+hits.n, pooled.bag+hits.bag, pooled.rel+hits.rel
		if answered > 0 {
			shares = append(shares, kept/float64(answered))
		}
		if len(f1) > 0 {
			f1s = append(f1s, mean(f1))
		}
		if hits.n < leastNeeds {
			continue
		}
		row.Sessions++
		row.Cuts += cells
		row.Needs += hits.n
		n := float64(hits.n)
		bags[g], rels[g] = float64(hits.bag)/n, float64(hits.rel)/n
		if ref.n == hits.n {
			refs[g] = float64(ref.rel) / n
		}
		rel := rels[g]
		out[g] = &rel
		if rel < row.WorstRel {
			row.Worst, row.WorstRel = r.Sessions[g].Name, rel
		}
	}
	if row.Sessions == 0 {
		row.WorstRel = 0
	}
	if len(shares) == 0 {
		shares = above
	}
	row.Share = mean(shares)
	if len(f1s) > 0 {
		artifacts := mean(f1s)
		row.Artifacts = &artifacts
	}
	if pooled.n > 0 {
		row.PooledBag, row.PooledRel = float64(pooled.bag)/float64(pooled.n), float64(pooled.rel)/float64(pooled.n)
	}
	row.Bag, row.Rel = interval(bags, draws), interval(rels, draws)
	if reference >= 0 && a != reference {
		for g := range refs {
			refs[g] = rels[g] - refs[g]
		}
		ahead := interval(refs, draws)
		row.Ahead = &ahead
	}
	return row, out
}

// mean is the mean of what is a number, 0 if nothing is.
func mean(x []float64) float64 {
	sum, n := 0.0, 0
	for _, v := range x {
		if !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// interval is the mean over sessions with its percentile bootstrap.
func interval(x []float64, draws [][]int) Interval {
	means := make([]float64, 0, len(draws))
	drawn := make([]float64, 0, len(x))
	for _, draw := range draws {
		drawn = drawn[:0]
		for _, g := range draw {
			if !math.IsNaN(x[g]) {
				drawn = append(drawn, x[g])
			}
		}
		if len(drawn) > 0 {
			means = append(means, mean(drawn))
		}
	}
	if len(means) == 0 {
		return Interval{}
	}
	slices.Sort(means)
	at := func(q float64) float64 { return means[min(len(means)-1, int(q*float64(len(means))))] }
	return Interval{mean(x), at((1 - confidence) / 2), at((1 + confidence) / 2)}
}

// parts adds up one arm at one budget by sorts of identifiers.
func (r *Result) parts(samples []*sample, name string, a, b int, budget float64) {
	sums := map[[2]string]*share{}
	count := func(by, of string, bag, rel bool) {
		s := sums[[2]string{by, of}]
		if s == nil {
			s = &share{}
			sums[[2]string{by, of}] = s
		}
		s.add(recall{[]bool{bag}, []bool{rel}})
	}
	for _, s := range samples {
		c := &s.cells[a][b]
		if c.status == belowFloor || c.status == overBudget {
			continue
		}
		for i := range s.needs {
			q := &s.needs[i]
			bag, rel := c.recall.bag[i], c.recall.rel[i]
			count("kind", q.Kind, bag, rel)
			count("carrier", q.Carrier, bag, rel)
			count("quarter", quarters[q.Quarter-1], bag, rel)
		}
	}
	for _, by := range []struct {
		name string
		of   []string
	}{{"kind", kinds}, {"carrier", carriers}, {"quarter", quarters}} {
		for _, of := range by.of {
			if s := sums[[2]string{by.name, of}]; s != nil {
				r.Parts = append(r.Parts, Part{
					Arm: name, Budget: budget, By: by.name, Of: of, Needs: s.n,
					Bag: float64(s.bag) / float64(s.n), Rel: float64(s.rel) / float64(s.n),
				})
			}
		}
	}
}

var quarters = []string{"oldest", "second", "third", "newest"}

func (r *Result) misses(sessions []Session, samples []*sample, a, b int, budget float64) {
	for _, s := range samples {
		c := &s.cells[a][b]
		if c.status == belowFloor || c.status == overBudget {
			continue
		}
		for i := range s.needs {
			if !c.recall.rel[i] {
				r.Missed = append(r.Missed, Miss{sessions[s.session].Name, budget, c.recall.bag[i], s.needs[i]})
			}
		}
	}
}
