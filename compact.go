package pemmican

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ErrOptions is wrapped by the errors that Compact returns for options that make no sense.
var ErrOptions = errors.New("bad options")

const defaultWindow = 200_000 // tokens

// Compact makes a plan that brings the transcript under its target, and reports what it did. A transcript that is
// small enough gets the empty plan, and so does one that cannot be compacted: the report's outcome is Refused, with
// the reason, and that is no error. Errors are for options that make no sense, a cancelled context, and a plan that
// breaks a rule, which is a bug of Pemmican's; the plan is then nil.
//
// Compact changes neither the transcript nor the options. It is safe for concurrent use if Counter and Summarizer are.
func Compact(ctx context.Context, t *Transcript, o Options) (*Plan, *Report, error) {
	c, err := newCompaction(t, o)
	if err != nil {
		return nil, nil, err
	}
	if err := c.run(ctx); err != nil {
		return nil, nil, err
	}
	if err := c.verify(); err != nil {
		return nil, nil, fmt.Errorf("this plan breaks a rule, which is a bug: %w", err)
	}
	c.finish()
	return c.plan, c.report, nil
}

// compaction is one run of Compact.
type compaction struct {
	*pairing
	t      *Transcript
	o      Options
	p      Policy
	report *Report

	size []int // tokens of each block as it is
	live int   // tokens of all blocks
	base int   // tokens beside the blocks: tools, and what Options.Overhead says
	goal int   // the target, lowered so that reaching it is worth the change

	load       load // what the request takes beside tokens under the plan
	overLimits bool // the transcript as it is has more than the limits

	pinned []bool // units that nothing may touch
	head   []bool // units of the head
	newest int    // the unit of the person's newest message, -1 if there is none
	last   int    // the newest step, -1 if there is none
	loop   int    // the block where a running tool loop begins; len(blocks) if none runs

	// What the stages decide. now is the size of each block under plan; a dropped one has none.
	plan    *Plan
	now     []int
	kept    int      // the sum of now
	early   bool     // reduce stops once the target is met
	summary int      // tokens of the summary, or the room that is kept for it
	room    int      // the room for the summary, in tokens
	stages  []string // those that have made a mark, in order
	cut     bool     // the person's newest message was cut
}

func newCompaction(t *Transcript, o Options) (*compaction, error) {
	if o.Window == 0 {
		o.Window = defaultWindow
	}
	if o.Target == 0 {
		o.Target = o.Window / 2
	}
	if o.Window < 0 || o.Target < 0 || o.KeepRecent < 0 || o.Overhead.Tokens < 0 {
		return nil, fmt.Errorf("%w: window, target, overhead and tail are numbers of tokens above zero", ErrOptions)
	}
	if min(o.Limits.Bytes, o.Limits.Media, o.Limits.Messages) < 0 {
		return nil, fmt.Errorf("%w: a limit is a number above zero, or zero for none", ErrOptions)
	}
	if o.Counter == nil {
		o.Counter = estimator{}
	}
	c := &compaction{pairing: pair(t), t: t, o: o}
	if o.Policy != nil {
		c.p = *o.Policy
	} else {
		c.p = DefaultPolicy()
	}
	if o.KeepRecent > 0 {
		c.p.TailTokens = o.KeepRecent
	}
	c.size = sizes(t, o.Counter)
	for _, n := range c.size {
		c.live += n
	}
	c.base = o.Overhead.Tokens + countText(o.Counter, t.Tools)
	c.goal = min(o.Target, c.base+c.live-c.live*c.p.MinGain/100)
	if c.base+c.live <= o.Target {
		c.goal = o.Target // if there is a need, it is another one than tokens
	}
	c.fixed()
	c.reset()
	c.overLimits = !c.within()
	c.report = &Report{
		Outcome:      Unchanged,
		Window:       o.Window,
		Target:       o.Target,
		Floor:        c.floor(),
		Overhead:     c.overheadSource(),
		TokensBefore: c.base + c.live,
		Counter:      "estimate",
		Warnings:     t.Warnings,
	}
	if info, ok := o.Counter.(CounterInfo); ok {
		c.report.Counter, c.report.Exact = info.Name(), info.Exact()
	}
	return c, nil
}

func (c *compaction) overheadSource() string {
	switch {
	case c.t.HasSystem:
		return "known"
	case c.o.Overhead.Source != "":
		return c.o.Overhead.Source
	}
	return "unknown"
}

// total is the size of the request under the plan.
func (c *compaction) total() int {
	return c.base + c.summary + c.kept
}

// reset takes every mark back.
func (c *compaction) reset() {
	c.plan = NewPlan(c.t)
	c.now = append(c.now[:0], c.size...)
	c.kept = c.live
	c.summary = 0
	c.stages = nil
	c.weigh()
}

// run takes the stages in turn, and stops at the first after which the request is under its target.
func (c *compaction) run(ctx context.Context) error {
	if c.total() <= c.o.Target && !c.overLimits {
		c.report.Reason = fmt.Sprintf("it takes %d tokens, which is not over the target of %d", c.total(), c.o.Target)
		return nil
	}
	if !c.p.BestEffort && c.report.Floor.Tokens > c.goal {
		c.refuse(c.floorReason())
		return nil
	}
	tail := c.tailStart(c.wish())
	if c.t.Can.SummaryNeeded {
		c.summary = markerTokens
	}
	c.reduce(c.reducible(tail), true)
	c.dropBoundReasoning()
	if c.fits() && c.permitted() && c.goal >= c.report.TokensBefore*c.p.ReduceTo/100 {
		return c.conclude(ctx, nil)
	}
	return c.replace(ctx)
}

// refuse takes everything back and says why.
func (c *compaction) refuse(reason string) {
	c.reset()
	c.report.Outcome, c.report.Reason, c.report.Summary = Refused, reason, nil
}

func (c *compaction) floorReason() string {
	f := c.report.Floor
	return fmt.Sprintf("the target of %d tokens is below the floor of %d "+
		"(system %d, tools and overhead %d, head and pins %d, newest message %d, open calls %d, newest step %d)",
		c.o.Target, f.Tokens, f.System, f.Tools, f.Head, f.Newest, f.OpenCalls, f.NewestUnit)
}

// finish measures the plan for the report.
func (c *compaction) finish() {
	r := c.report
	r.TokensAfter = c.total()
	r.Stages = make([]StageReport, len(c.stages))
	for i, name := range c.stages {
		r.Stages[i].Name = name
	}
	for i := range c.plan.Marks {
		m := &c.plan.Marks[i]
		switch m.Action {
		case Keep:
			r.Blocks.Kept++
			continue
		case Stub:
			r.Blocks.Stubbed++
		case Drop:
			r.Blocks.Dropped++
		}
		s := &r.Stages[slices.Index(c.stages, m.Stage)]
		s.Blocks++
		s.TokensSaved += m.Saved
	}
	// What a later stage has decided again counts for that one.
	r.Stages = slices.DeleteFunc(r.Stages, func(s StageReport) bool { return s.Blocks == 0 })
	if r.Outcome == Refused || r.Outcome == Unchanged {
		r.TokensAfter = r.TokensBefore
	}
	if r.Outcome != Refused && r.TokensAfter > r.Target {
		r.Warnings = append(slices.Clip(r.Warnings),
			fmt.Sprintf("the policy %s does not promise the target, and %d tokens are over it", c.p.Name, r.TokensAfter-r.Target))
	}
	stubbed := func(i int) bool { return c.plan.Marks[i].Action == Stub && c.t.Blocks[i].Kind == Media }
	if c.newest >= 0 && slices.ContainsFunc(c.units[c.newest].blocks, stubbed) {
		r.Warnings = append(slices.Clip(r.Warnings), "the person's newest message alone has more pictures or documents than the provider takes: "+
			"the oldest of them were left out")
	}
	if c.cut {
		r.Warnings = append(slices.Clip(r.Warnings), "the person's newest message alone does not fit the window: it was cut in its middle")
	}
}

// mark decides on a block, if the decision makes it smaller. It reports whether it did.
func (c *compaction) mark(i int, action Action, text, stage, why string) bool {
	now := 0
	if action == Stub {
		stub := stubbed(c.t.Blocks[i], text)
		if b := &c.t.Blocks[i]; b.Kind == Media && b.CallID != "" {
			stub.Text = "\n" + text // it becomes a line of its result
		}
		now = c.o.Counter.Count(&stub)
		if now >= c.now[i] || c.now[i]-now < c.now[i]/20 {
			return false // a mark that saves next to nothing is not worth a change
		}
	}
	if c.plan.Kept(i) {
		c.bear(i, -1)
	}
	c.plan.Marks[i] = Mark{Action: action, Text: text, Stage: stage, Why: why, Saved: c.size[i] - now}
	if action != Drop && c.load.full != nil {
		stub := stubbed(c.t.Blocks[i], text)
		c.load.weight[i] = weightOf(&stub)
		c.bear(i, 1)
	}
	if !slices.Contains(c.stages, stage) {
		c.stages = append(c.stages, stage)
	}
	c.kept -= c.now[i] - now
	c.now[i] = now
	return true
}

// drop leaves the blocks of a unit out.
func (c *compaction) drop(u int, stage, why string) {
	for _, i := range c.units[u].blocks {
		if c.plan.Kept(i) { // a block that has gone already stays as it was marked
			c.mark(i, Drop, "", stage, why)
		}
	}
}
