package pemmican

import "slices"

// anchors chooses older units that stay for what they are: newest first, whole or not at all, within the policy's
// bounds. Units that the tail has taken in only by half come first: they must stay, and count. It returns the chosen
// units; room is in tokens, below zero for no bound.
func (c *compaction) anchors(tail int, taken func(u int) bool, room int) []int {
	messages := 0
	for u := range c.units {
		if c.units[u].first < tail && tail <= c.units[u].last {
			messages += c.messagesBefore(u, tail)
		}
	}
	if c.p.AnchorMessages <= messages {
		return nil
	}
	collapsed := c.repeatedErrors()
	var out []int
	for u := len(c.units) - 1; u >= 0; u-- {
		if c.units[u].last >= tail || taken(u) || c.score(u, collapsed) < c.p.Score.Threshold {
			continue
		}
		size, count := 0, c.messagesBefore(u, tail)
		for _, i := range c.units[u].blocks {
			size += c.size[i]
		}
		if messages+count > c.p.AnchorMessages || room >= 0 && size > room {
			continue
		}
		messages += count
		if room >= 0 {
			room -= size
		}
		out = append(out, u)
	}
	return out
}

// messagesBefore counts the messages of a unit before block at.
func (c *compaction) messagesBefore(u, at int) int {
	n, last := 0, -1
	for _, i := range c.units[u].blocks {
		if m := c.t.Blocks[i].Message; i < at && m != last {
			n, last = n+1, m
		}
	}
	return n
}

// score is what an older unit is worth. A call whose failure came again later is worth nothing, or a loop would win.
// Of equal errors in one unit only one counts.
func (c *compaction) score(u int, repeated map[int]bool) int {
	if !c.units[u].step {
		return 0
	}
	score := 0
	var errors []string
	for _, i := range c.units[u].blocks {
		b := &c.t.Blocks[i]
		if b.Kind != ToolCall {
			continue
		}
		result := c.partner[i]
		if result >= 0 && repeated[result] {
			continue
		}
		switch c.o.Tools[b.Tool].RoleOf(b.Args) {
		case EditTool:
			score += c.p.Score.Edit
		case PlanTool:
			score += c.p.Score.Plan
		}
		if result >= 0 && c.t.Blocks[result].Error {
			shape := b.Tool + "\x00" + errorShape(c.t.Blocks[result].Text)
			if !slices.Contains(errors, shape) {
				errors = append(errors, shape)
				score += c.p.Score.Error
			}
		}
	}
	return score
}
