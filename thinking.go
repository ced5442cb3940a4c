package pemmican

// touched is the first block that the plan changes, or the first behind its summary: what stands before it is as it
// was. It is len(blocks) for the empty plan. Reasoning that is left out does not count.
func (p *Plan) touched(t *Transcript) int {
	n := len(t.Blocks)
	if p.Summary != "" {
		n = p.Gap
	}
	for i := range min(n, len(p.Marks)) {
		if p.Marks[i].Action == Stub || p.Marks[i].Action == Drop && t.Blocks[i].Kind != Reasoning {
			return i
		}
	}
	return n
}

// touched is the same of the plan in the making, whose summary is still to come.
func (c *compaction) touched() int {
	n := c.plan.touched(c.t)
	if c.summary > 0 || n < len(c.t.Blocks) && c.t.Can.SummaryNeeded {
		n = min(n, c.gap())
	}
	return n
}

// dropBoundReasoning drops bound reasoning as the thinking rule demands it once the plan touches the past. Of turns
// that are over, all goes: behind the touched place it is bound to what was changed, and a provider takes reasoning
// away from the start or from the end, never from the middle.
func (c *compaction) dropBoundReasoning() {
	if c.t.Can.NoStub {
		return // this format cannot take a unit apart; its agent drops reasoning of older turns itself
	}
	touched := c.touched()
	gone := -1 // the last that has gone
	for i := range c.t.Blocks {
		if b := &c.t.Blocks[i]; b.Kind == Reasoning && b.Bound && !c.plan.Kept(i) {
			gone = i
		}
	}
	for i := range c.t.Blocks {
		b := &c.t.Blocks[i]
		if b.Kind != Reasoning || !b.Bound || !c.plan.Kept(i) {
			continue
		}
		switch {
		case i >= c.loop && c.o.Thinking != ThinkingFree:
		case i >= touched, i < gone, c.loop < len(c.t.Blocks) && touched < len(c.t.Blocks):
			c.mark(i, Drop, "", "reasoning", "bound to what stood before it, which was changed")
			c.dropIfEmpty(c.unitOf[i])
		}
	}
}

// dropIfEmpty drops the unit if only reasoning is left of it, which no provider takes.
func (c *compaction) dropIfEmpty(u int) {
	for _, i := range c.units[u].blocks {
		if c.t.Blocks[i].Kind != Reasoning {
			return
		}
	}
	c.drop(u, "reasoning", "nothing is left of it but reasoning")
}

// permitted reports whether the plan can satisfy the thinking rule.
func (c *compaction) permitted() bool {
	return c.boundInLoop(c.touched()) < 0
}

// boundInLoop finds kept reasoning of a running tool loop behind the touched place, -1 if there is none: the model
// needs it there, and refuses it after the change.
func (c *compaction) boundInLoop(touched int) int {
	if c.o.Thinking != ThinkingBound {
		return -1
	}
	for i := max(c.loop, touched); i < len(c.t.Blocks); i++ {
		if b := &c.t.Blocks[i]; b.Kind == Reasoning && b.Bound && c.plan.Kept(i) {
			return i
		}
	}
	return -1
}
