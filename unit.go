package pemmican

// A unit is the smallest thing that may be dropped: an assistant step with its reasoning, all its tool calls and all
// their results; or the blocks of one message that belong to no step. Steps that interleave (c1 c2 r1 r2 over two
// assistant messages) are one unit, so that a cut never separates them. A system message in the middle of a
// conversation is a reminder that belongs to the step behind it: a provider that takes one there wants it directly
// before an answer.
type unit struct {
	first, last int // the range of its blocks, which may have blocks of other units between
	blocks      []int
	calls       int
	open        int  // calls that no result answers
	orphans     int  // results that answer no call
	step        bool // an answer of the model, with or without calls
	person      bool
	system      bool
	summary     bool
}

// pairing tells for each block what it belongs to.
type pairing struct {
	units  []unit
	unitOf []int // block → unit
	// partner is, for a call, the block of its result, and for a result the block of its call; -1 for none, and for
	// every other block.
	partner []int
	// free reports for each block, and for the end, whether a gap before it splits no unit.
	free []bool
}

// Partners returns for each block the block that it is paired with: for a call its result, for a result its call, and
// -1 for a call that nothing answers, a result that answers nothing, and every other block. A result belongs to the
// nearest open call before it with its id, since ids may repeat.
func (t *Transcript) Partners() []int {
	partner := make([]int, len(t.Blocks))
	for i := range partner {
		partner[i] = -1
	}
	// The calls of each id that wait stand in groups, one for each message that has some: within one message equal ids
	// are answered in order; over messages the newest call is meant. A group is known by its first call. All links are
	// block numbers plus one, so that zero is none.
	open := map[string]int32{} // id → the newest group
	links := make([]struct{ next, last, below int32 }, len(t.Blocks))
	for i := range t.Blocks {
		switch b := &t.Blocks[i]; b.Kind {
		case ToolCall:
			call, top := int32(i+1), open[b.CallID]
			if top > 0 && t.Blocks[top-1].Message == b.Message {
				links[links[top-1].last-1].next = call
				links[top-1].last = call
				continue
			}
			links[i].last, links[i].below = call, top
			open[b.CallID] = call
		case ToolResult:
			top := open[b.CallID]
			if top == 0 {
				continue
			}
			call := top - 1
			partner[i], partner[call] = int(call), i
			if next := links[call].next; next > 0 {
				links[next-1].last, links[next-1].below = links[call].last, links[call].below
				open[b.CallID] = next
			} else {
				open[b.CallID] = links[call].below
			}
		}
	}
	return partner
}

// pair finds the units of t, in the order of their first blocks.
func pair(t *Transcript) *pairing {
	n := len(t.Blocks)
	p := &pairing{unitOf: make([]int, n), partner: t.Partners()}

	owner := map[string]int{} // call id → the unit that has it last
	waiting, current := 0, -1 // results still to come for the current step
	front := true             // nothing but system text so far
	reminder := -1            // the unit of a system message that the next step takes in
	add := func(u, i int) {
		p.unitOf[i] = u
		p.units[u].blocks = append(p.units[u].blocks, i)
		p.units[u].last = i
	}
	start := func(i int) int {
		p.units = append(p.units, unit{first: i, last: i})
		return len(p.units) - 1
	}
	for m := range t.Messages {
		msg := &t.Messages[m]
		front = front && msg.Role == System
		if msg.Role == Assistant {
			u := -1
			switch {
			case waiting > 0:
				u = current // interleaved with the step before it
			case reminder >= 0:
				u = reminder
				p.units[u].system = false
			}
			reminder = -1
			for i := msg.First; i < msg.End; i++ {
				if u < 0 {
					u = start(i)
				}
				add(u, i)
				p.units[u].step = true
				if b := &t.Blocks[i]; b.Kind == ToolCall {
					p.units[u].calls++
					owner[b.CallID] = u
					if p.partner[i] >= 0 {
						waiting++
					} else {
						p.units[u].open++
					}
				}
			}
			if u >= 0 {
				current = u
			}
			continue
		}
		plain := -1 // the unit of the message's own blocks
		for i := msg.First; i < msg.End; i++ {
			b := &t.Blocks[i]
			if b.Kind == ToolResult {
				if call := p.partner[i]; call >= 0 {
					add(p.unitOf[call], i)
					waiting--
					continue
				}
				u := start(i)
				p.units[u].orphans++
				add(u, i)
				owner[b.CallID] = u
				continue
			}
			if b.CallID != "" && (b.Kind == Media || b.Kind == Opaque) {
				if u, ok := owner[b.CallID]; ok {
					add(u, i)
					continue
				}
			}
			if plain < 0 || b.Kind == Summary || p.units[plain].summary {
				plain = start(i)
			}
			add(plain, i)
			p.units[plain].summary = b.Kind == Summary
			p.units[plain].system = msg.Role == System
			p.units[plain].person = msg.Person() && b.Kind != Summary
		}
		reminder = -1
		if msg.Role == System && !front {
			reminder = plain
		}
	}
	p.free = make([]bool, n+1)
	reach, next := -1, 0 // the last block of the units that began before i
	for i := range p.free {
		p.free[i] = reach < i
		for next < len(p.units) && p.units[next].first == i {
			reach = max(reach, p.units[next].last)
			next++
		}
	}
	return p
}
