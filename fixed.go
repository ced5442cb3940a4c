package pemmican

import "strings"

const (
	// floorResult is how many bytes of a long result of the newest step stay when the target demands the least.
	floorResult = 1000
	// mediaStubTokens is about what the line takes that stands for a picture.
	mediaStubTokens = 20
)

// fixed finds what no stage may take: the head, the person's newest message, what nobody has answered yet, open calls,
// and what somebody pinned.
func (c *compaction) fixed() {
	c.pinned = make([]bool, len(c.units))
	c.head = make([]bool, len(c.units))
	c.newest, c.last = -1, -1
	lastAnswer, lastPerson := -1, -1
	for u := range c.units {
		switch unit := &c.units[u]; {
		case unit.person:
			c.newest, lastPerson = u, u
		case unit.step:
			c.last, lastAnswer = u, unit.last
		}
	}
	for u := range c.units {
		unit := &c.units[u]
		switch {
		case unit.system || unit.summary:
		case unit.open > 0 && u > lastPerson, // a call without a result that no later message has left behind
			unit.first > lastAnswer && c.t.message(unit.first).Role == User && (unit.person || c.t.Can.NoAnchor), // not answered yet
			c.wanted(u):
			c.pinned[u] = true
		}
	}
	c.findHead()
	c.loop = len(c.t.Blocks)
	if c.t.loopRuns() {
		c.loop = c.t.loopStart()
	}
}

// wanted reports whether somebody asked for the unit to stay.
func (c *compaction) wanted(u int) bool {
	for _, i := range c.units[u].blocks {
		b := &c.t.Blocks[i]
		if b.Pinned || c.o.Keep != nil && c.o.Keep(b) {
			return true
		}
		if (c.o.Summarizer == nil || c.p.OneByOne) && c.pins(i) {
			return true // nobody would carry the fact on
		}
		for _, pin := range c.o.Pins {
			if pin != "" && (strings.Contains(b.Text, pin) || strings.Contains(b.Args, pin)) {
				return true
			}
		}
	}
	return false
}

// pins reports whether block i is a call that pins a fact. It is all that there is of the fact.
func (c *compaction) pins(i int) bool {
	b := &c.t.Blocks[i]
	return b.Kind == ToolCall && c.o.Tools[b.Tool].RoleOf(b.Args) == KeepTool && (c.partner[i] < 0 || !c.t.Blocks[c.partner[i]].Error)
}

func (c *compaction) findHead() {
	if len(earlierQuotes(c.t)) > 0 {
		return // the first task stands in the earlier summary, and is quoted on
	}
	seenSummary, seenAnswer := false, false
	for u := range c.units {
		switch unit := &c.units[u]; {
		case unit.system:
		case unit.summary:
			seenSummary = true
		case unit.step:
			if seenSummary || c.p.Head == HeadLeading {
				return // what an earlier compaction kept has no head of its own
			}
			seenAnswer = true
		case unit.person:
			c.head[u] = true
			if c.p.Head == HeadTask {
				return
			}
		default:
			c.head[u] = !seenAnswer && unit.orphans == 0
		}
	}
}

// floor adds up what is fixed, and about the least of the newest step.
func (c *compaction) floor() Floor {
	f := Floor{Tools: c.base}
	for u := range c.units {
		switch {
		case c.units[u].system:
			f.System += c.unitSize(u)
		case c.units[u].open > 0 && c.pinned[u]:
			f.OpenCalls += c.leastOf(u)
		case u == c.newest && c.tooLarge(u):
			f.Newest += c.o.Window / 4
		case u == c.newest:
			f.Newest += c.unitSize(u)
		case c.head[u] || c.pinned[u]:
			f.Head += c.leastOf(u)
		case u == c.last && c.p.FillTarget: // other policies do not promise it
			f.NewestUnit = c.leastOf(u)
		}
	}
	f.Tokens = f.System + f.Tools + f.Head + f.Newest + f.OpenCalls + f.NewestUnit
	return f
}

// leastOf is the size of a unit with its results and arguments cut, its media replaced, and without reasoning that a
// change before it takes along. What is pinned is only that.
func (c *compaction) leastOf(u int) int {
	n := 0
	for _, i := range c.units[u].blocks {
		b, size := &c.t.Blocks[i], c.size[i]
		long := len(b.Text) + len(b.Args)
		switch {
		case (c.t.Can.NoHead || c.t.Can.NoAnchor) && (c.head[u] || c.pinned[u]): // quoted, if need be
			switch b.Kind {
			case Media:
				size = min(size, mediaStubTokens)
			case Reasoning:
				size = 0
			}
		case c.t.Can.NoStub:
		case b.Kind == Reasoning && b.Bound && (i < c.loop || c.o.Thinking == ThinkingFree):
			size = 0
		case c.pinned[u] && c.units[u].open == 0:
		case b.Kind == Media:
			size = min(size, mediaStubTokens)
		case long > floorResult && (b.Kind == ToolResult || b.Kind == ToolCall && !c.pins(i)):
			size = size * floorResult / 2 / long // cuts prefer the ends of lines
		}
		n += size
	}
	return n
}

// tooLarge reports whether the unit alone does not fit the window.
func (c *compaction) tooLarge(u int) bool {
	n := c.base
	for _, i := range c.units[u].blocks {
		n += c.size[i]
	}
	for i := range c.t.Blocks {
		if c.t.message(i).Role == System {
			n += c.size[i]
		}
	}
	return n > c.o.Window
}

// loopRuns reports whether the model is in the middle of a turn: it has called tools and not yet ended.
func (t *Transcript) loopRuns() bool {
	if t.AtRest {
		return false
	}
	for i := len(t.Blocks) - 1; i >= 0; i-- {
		switch t.Blocks[i].Kind {
		case ToolResult, ToolCall:
			return true
		case Media, Reasoning, Opaque:
		default:
			return false
		}
	}
	return false
}

// loopStart is the first block behind the last message in the user role that is no result.
func (t *Transcript) loopStart() int {
	for i := len(t.Blocks) - 1; i >= 0; i-- {
		if m := t.message(i); m.Role == User && t.Blocks[i].Kind == Text {
			return i + 1
		}
	}
	return 0
}
