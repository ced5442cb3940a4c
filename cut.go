package pemmican

// wish is how many tokens of tail the policy asks for, within what the target can give.
func (c *compaction) wish() int {
	if c.p.FillTarget {
		return min(c.p.TailTokens, c.o.Target*2/10)
	}
	return c.p.TailTokens
}

// tailStart is the block where the tail begins, len(blocks) if there is none: the largest of the tails that the policy
// asks for. By tokens it is never inside a unit. By messages it may be; the unit then stays whole.
func (c *compaction) tailStart(tokens int) int {
	start := len(c.t.Blocks)
	if tokens > 0 {
		start = min(start, c.tailByTokens(tokens))
	}
	if c.p.TailMessages > 0 {
		start = min(start, c.tailByMessages(c.p.TailMessages))
	}
	if c.p.TailCalls > 0 {
		start = min(start, c.tailByCalls(c.p.TailCalls))
	}
	return start
}

// tailByTokens walks back over whole messages until they hold that many tokens, and begins the tail at the first unit
// from there on. Where none begins there, as behind one huge result, the newest unit is the tail.
func (c *compaction) tailByTokens(tokens int) int {
	at, sum := 0, 0
	for m := len(c.t.Messages) - 1; m >= 0; m-- {
		msg := &c.t.Messages[m]
		for i := msg.First; i < msg.End; i++ {
			sum += c.size[i]
		}
		if sum >= tokens {
			at = msg.First
			break
		}
	}
	best := len(c.t.Blocks)
	for u := len(c.units) - 1; u >= 0; u-- {
		first := c.units[u].first
		if !c.free[first] {
			continue // a unit from before reaches over this one's beginning
		}
		if first < at {
			if best == len(c.t.Blocks) {
				return first
			}
			break
		}
		best = min(best, first)
	}
	return best
}

// tailByMessages begins the tail at the n-th message from the end.
func (c *compaction) tailByMessages(n int) int {
	for m := len(c.t.Messages) - 1; m >= 0; m-- {
		if c.counts(m) {
			if n--; n == 0 {
				return c.t.Messages[m].First
			}
		}
	}
	return 0
}

// messages counts the messages of the conversation.
func (c *compaction) messages() (n int) {
	for m := range c.t.Messages {
		if c.counts(m) {
			n++
		}
	}
	return n
}

// counts reports whether message m is one of the conversation: no system text and no summary.
func (c *compaction) counts(m int) bool {
	msg := &c.t.Messages[m]
	return msg.Role != System && msg.First < msg.End && c.t.Blocks[msg.First].Kind != Summary
}

func (c *compaction) tailByCalls(n int) int {
	for u := len(c.units) - 1; u >= 0; u-- {
		if n -= c.units[u].calls - c.units[u].open; n <= 0 {
			return c.units[u].first
		}
	}
	return 0
}
