package pemmican

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// ErrPlan is wrapped by every error of Verify.
var ErrPlan = errors.New("plan breaks a rule")

// Verify tests a plan against the rules that every plan keeps (docs/guarantees.md), of which "nothing moves" needs no
// test: a plan cannot say it. The options matter by their pins, window, counter and thinking rule. The empty plan is
// always right.
func Verify(t *Transcript, p *Plan, o Options) error {
	if len(p.Marks) != len(t.Blocks) {
		return fmt.Errorf("%w: %d marks for %d blocks", ErrPlan, len(p.Marks), len(t.Blocks))
	}
	c, err := newCompaction(t, o)
	if err != nil {
		return err
	}
	c.plan = p
	return c.verify()
}

func (c *compaction) verify() error {
	if c.plan.Empty() {
		return nil
	}
	for _, rule := range []func() error{
		c.verifyUnits, c.verifyStubs, c.verifyFixed, c.verifySummary, c.verifyCapabilities, c.verifyThinking, c.verifySize,
	} {
		if err := rule(); err != nil {
			return fmt.Errorf("%w: %w", ErrPlan, err)
		}
	}
	return nil
}

// verifyUnits: a unit is kept or dropped as a whole. Reasoning may go alone, and so may a call that nothing answers.
func (c *compaction) verifyUnits() error {
	for u := range c.units {
		kept, dropped := -1, -1
		for _, i := range c.units[u].blocks {
			b := &c.t.Blocks[i]
			switch {
			case c.plan.Kept(i):
				kept = i
			case b.Kind == Reasoning, b.Kind == ToolCall && c.partner[i] < 0:
			default:
				dropped = i
			}
		}
		if kept >= 0 && dropped >= 0 {
			return fmt.Errorf("block %d is dropped, and block %d of the same unit is kept", dropped, kept)
		}
	}
	return nil
}

func (c *compaction) verifyStubs() error {
	for i := range c.plan.Marks {
		m, b := &c.plan.Marks[i], &c.t.Blocks[i]
		switch {
		case m.Action > Drop:
			return fmt.Errorf("block %d has the unknown action %d", i, m.Action)
		case m.Action != Stub:
		case b.Kind == Reasoning, b.Kind == Summary, b.Kind == Opaque:
			return fmt.Errorf("block %d, %s, is stubbed; it can only be kept or dropped", i, b.Kind)
		case c.units[c.unitOf[i]].person && b.Kind == Text && !(c.unitOf[i] == c.newest && c.tooLarge(c.newest)):
			return fmt.Errorf("block %d, a person's words, is stubbed", i)
		case b.Kind == ToolCall:
			if v, err := jsonspan.Scan([]byte(m.Text), 0); err != nil || v.End != len(m.Text) {
				return fmt.Errorf("the new arguments of block %d are no JSON", i)
			}
		}
	}
	return nil
}

// verifyFixed: system text, the first task, the newest message and what is pinned are there word for word.
func (c *compaction) verifyFixed() error {
	for u := range c.units {
		first := c.units[u].first
		var name string
		switch {
		case c.units[u].system:
			name = "system text"
		case u == c.newest:
			name = "the person's newest message"
		case c.pinned[u]:
			name = "what is pinned, open or unanswered"
		case c.head[u] && c.units[u].person:
			name = "the first task"
		default:
			continue
		}
		for _, i := range c.units[u].blocks {
			b := &c.t.Blocks[i]
			if !c.plan.Kept(i) && b.Kind != Reasoning && !(b.Kind == ToolCall && c.partner[i] < 0) && !c.quoted(b) {
				return fmt.Errorf("block %d, %s, is neither kept nor quoted", first, name)
			}
			if c.units[u].system && c.plan.Marks[i].Action != Keep {
				return fmt.Errorf("block %d, system text, is changed", i)
			}
		}
	}
	return nil
}

// quoted reports whether the summary has all of a block that can be quoted, in a format that cannot keep it in place.
func (c *compaction) quoted(b *Block) bool {
	return (c.t.Can.NoHead || c.t.Can.NoAnchor) && strings.Contains(c.plan.Summary, quotable(b))
}

// verifySummary: at most one summary is live, an earlier one is taken in by the new one, and what it quoted is quoted on.
func (c *compaction) verifySummary() error {
	for i := range c.t.Blocks {
		if c.t.Blocks[i].Kind != Summary {
			continue
		}
		if kept := c.plan.Kept(i); kept && c.plan.Summary != "" {
			return fmt.Errorf("block %d, an earlier summary, stays beside the new one", i)
		} else if !kept && c.plan.Summary == "" {
			return fmt.Errorf("block %d, the earlier summary, is dropped without a new one", i)
		}
	}
	if c.plan.Summary == "" {
		return nil
	}
	body, ok := Unseal(c.plan.Summary)
	if !ok {
		return errors.New("the summary is not sealed")
	}
	for _, q := range earlierQuotes(c.t) {
		if !strings.Contains(body, q) {
			return errors.New("the new summary leaves out what the earlier one quoted word for word")
		}
	}
	if c.plan.Gap < 0 || c.plan.Gap > len(c.t.Blocks) || !c.freeUnder(c.plan.Gap) {
		return fmt.Errorf("the summary's gap before block %d is none, or lies inside a unit", c.plan.Gap)
	}
	return nil
}

func (c *compaction) verifyCapabilities() error {
	can := c.t.Can
	before := false // something that is no system text stands before the summary
	behind := false // something is kept behind the gap
	hole := false   // something was dropped behind that
	for i := range c.t.Blocks {
		if c.t.message(i).Role == System {
			continue
		}
		kept := c.plan.Kept(i)
		partly := !kept && c.plan.Kept(c.units[c.unitOf[i]].first)
		switch {
		case can.NoStub && (c.plan.Marks[i].Action == Stub || partly):
			return fmt.Errorf("block %d is changed, which this format cannot express", i)
		case kept && c.plan.Summary != "" && i < can.KeepFrom:
			return fmt.Errorf("block %d cannot be kept behind a new summary in this format", i)
		case kept && i >= c.plan.Gap:
			behind = true
		case kept && c.plan.Summary != "":
			before = true
		case !kept && behind:
			hole = true
		}
	}
	switch {
	case (can.SummaryFirst || can.NoHead) && before:
		return errors.New("something stands before the summary, which this format cannot express")
	case can.NoAnchor && hole:
		return errors.New("something is dropped between what is kept, which this format cannot express")
	case can.SummaryNeeded && c.plan.Summary == "":
		return errors.New("this format records no change without a summary")
	}
	return nil
}

func (c *compaction) verifyThinking() error {
	touched := c.plan.touched(c.t)
	if i := c.boundInLoop(touched); i >= 0 {
		return fmt.Errorf("block %d, reasoning of a running tool loop, is bound to something that was changed", i)
	}
	if c.t.Can.NoStub {
		return nil
	}
	kept, hole := false, false // something was kept; something behind it was dropped
	for i := range c.t.Blocks {
		b := &c.t.Blocks[i]
		switch {
		case b.Kind != Reasoning || !b.Bound:
		case !c.plan.Kept(i):
			hole = kept
		case i >= touched && i < c.loop:
			return fmt.Errorf("block %d, reasoning, is bound to something that was changed", i)
		case hole && i < c.loop:
			return fmt.Errorf("block %d, reasoning, is kept behind a gap in the reasoning", i)
		default:
			kept = true
		}
	}
	return nil
}

// verifySize: the result is smaller, its markers and its summary counted.
func (c *compaction) verifySize() error {
	after := countText(c.o.Counter, c.plan.Summary)
	for i := range c.plan.Marks {
		switch m := &c.plan.Marks[i]; m.Action {
		case Keep:
			after += c.size[i]
		case Stub:
			stub := stubbed(c.t.Blocks[i], m.Text)
			after += c.o.Counter.Count(&stub)
		}
	}
	if after >= c.live {
		return fmt.Errorf("the result has %d tokens, and the input %d", after, c.live)
	}
	return nil
}
