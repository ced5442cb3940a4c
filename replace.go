package pemmican

import (
	"context"
	"fmt"

	"github.com/pemmican-dev/pemmican/internal/textcut"
)

const (
	markerTokens = 80 // the room for the marker that stands where nobody writes a summary
	sealTokens   = 30 // what the first line of a summary takes at most
	quoteTokens  = 20 // what surrounds a quote in a summary takes at most
)

// choice is what becomes of each unit when a summary replaces the older ones.
type choice struct {
	reach []reach
	keep  []bool
	// quotes are units that must stay and that the format cannot keep in their place.
	quotes []int
	// newest is what the newest step may take in tokens, 0 if all of it.
	newest int
}

// replace chooses what is kept, makes it as short as the target demands, and lets a summary stand for the rest.
func (c *compaction) replace(ctx context.Context) error {
	if c.o.Summarizer == nil && c.p.OneByOne {
		return c.dropOneByOne(ctx, "")
	}
	if c.last >= 0 && c.units[c.last].first < c.t.Can.KeepFrom {
		c.refuse("the newest step stands before the last compaction, and this format cannot keep it behind a new summary; compact after the next step")
		return nil
	}
	c.reduce(c.reducible(c.tailStart(c.wish())), false)
	least := c.reducedSizes()
	c.room = c.summaryRoom()
	var ch choice
	short := 0 // tokens that the choice before was over the target
	for range 12 {
		c.reset()
		ch = c.choose(c.room, short, least)
		gone := c.apply(ch, c.room)
		if limit := max(gone/2, markerTokens); c.room > limit {
			c.room = limit // the summary of little is short; choose again with what that leaves
			continue
		}
		over := c.total() - c.goal
		if over <= 0 || c.p.BestEffort {
			c.room += c.spare(-over, gone)
			break
		}
		short += over
	}
	if !c.p.BestEffort && c.total() > c.goal && !c.t.Can.NoAnchor {
		c.shed(&ch)
	}
	if !c.p.BestEffort && c.total() > c.goal {
		if c.newest >= 0 && c.tooLarge(c.newest) && !c.t.Can.NoStub {
			c.cutNewest()
		}
		c.squeeze(func(u int) bool { return ch.keep[u] }, func() bool { return c.total() <= c.goal })
		if over := c.total() - c.goal; over > 0 && c.summary > 0 { // the summary gives way last
			give := min(over, max(0, c.room-markerTokens))
			c.room, c.summary = c.room-give, c.summary-give
		}
	}
	c.lighten(&ch)
	if !c.p.BestEffort && c.total() > c.goal {
		c.refuse(fmt.Sprintf("with a line for what is left out it takes %d tokens at the least, and the target is %d", c.total(), c.o.Target))
		return nil
	}
	return c.conclude(ctx, &ch)
}

// spare is what the summary may take more, of the room that is left: what is too little for a unit more is still good
// for a line. gone are the tokens that the summary stands for.
func (c *compaction) spare(left, gone int) int {
	if c.p.BestEffort || c.o.Summarizer == nil || gone == 0 {
		return 0
	}
	most := gone / 2
	if c.p.SummaryTokens > 0 {
		most = min(most, c.p.SummaryTokens)
	}
	return max(0, min(left, most-c.room))
}

// reducedSizes are the sizes of the units after every step of reduce, which the choice needs.
func (c *compaction) reducedSizes() []int {
	out := make([]int, len(c.units))
	for u := range c.units {
		for _, i := range c.units[u].blocks {
			out[u] += c.now[i]
		}
		if out[u] == 0 { // reduce dropped it; where its like is not kept, it may come back
			for _, i := range c.units[u].blocks {
				out[u] += c.size[i]
			}
		}
	}
	return out
}

// summaryRoom is the room for the summary before it is known what it stands for.
func (c *compaction) summaryRoom() int {
	if c.o.Summarizer == nil {
		return markerTokens
	}
	if c.p.BestEffort {
		if c.p.SummaryTokens > 0 {
			return c.p.SummaryTokens
		}
		return 4000
	}
	room := max(0, c.goal-c.report.Floor.Tokens) * c.p.SummaryShare / 100
	if c.p.SummaryTokens > 0 {
		room = min(room, c.p.SummaryTokens)
	}
	return max(room, markerTokens)
}

// choose decides unit by unit. short tokens less than the target has room for are spent.
func (c *compaction) choose(summary, short int, reduced []int) choice {
	ch := choice{reach: make([]reach, len(c.units)), keep: make([]bool, len(c.units))}
	room := c.goal - c.base - summary - short
	for u := range c.units {
		switch {
		case c.units[u].system, c.pinned[u]:
			ch.keep[u] = true
		case u == c.newest:
			ch.keep[u], ch.reach[u] = true, recent
		case c.head[u]:
			ch.keep[u], ch.reach[u] = true, standing
		}
		if ch.keep[u] {
			room -= c.unitSize(u)
		}
	}
	anchorRoom := -1
	if c.p.AnchorShare > 0 {
		anchorRoom = max(0, room) * c.p.AnchorShare / 100
	}
	wish := c.wish()
	if c.p.FillTarget {
		room -= c.keepNewest(&ch, room)
		wish = min(wish, max(0, room-max(0, anchorRoom))/2)
	}
	tail := c.tailStart(wish)
	if c.p.TailMessages > 0 && c.messages() <= c.p.TailMessages+1 {
		tail = 0 // one message more than the tail is no reason for a summary
	}
	for u := range c.units {
		unit := &c.units[u]
		switch {
		case ch.keep[u] || unit.summary:
			continue
		case unit.last >= tail:
			if c.p.FillTarget && !c.units[u].step && c.unitSize(u) > room {
				continue // what the agent's own program wrote, and too large
			}
			ch.keep[u], ch.reach[u] = true, recent
		case c.p.KeepMessages && unit.calls == 0 && unit.orphans == 0:
			ch.keep[u], ch.reach[u] = true, standing
		default:
			continue
		}
		room -= c.unitSize(u)
	}
	c.keepPersons(&ch)
	if !c.t.Can.NoAnchor {
		for _, u := range c.anchors(tail, func(u int) bool { return ch.keep[u] }, anchorRoom) {
			ch.keep[u], ch.reach[u] = true, standing
			room -= c.unitSize(u)
		}
	}
	if c.p.FillTarget {
		c.fill(&ch, room, reduced)
	}
	c.unkeep(&ch)
	return ch
}

// keepNewest keeps the newest step, with half of the room at most where it is longer than that, and returns what it
// takes.
func (c *compaction) keepNewest(ch *choice, room int) int {
	if c.last < 0 || ch.keep[c.last] {
		return 0
	}
	ch.keep[c.last], ch.reach[c.last] = true, recent
	size := c.unitSize(c.last)
	if most := max(c.leastOf(c.last), room/2); size > most {
		ch.newest, size = most, most
	}
	return size
}

func (c *compaction) unitSize(u int) int {
	n := 0
	for _, i := range c.units[u].blocks {
		n += c.size[i]
	}
	return n
}

// keepPersons keeps older messages of persons within the policy's bytes: the task and the newest count first.
func (c *compaction) keepPersons(ch *choice) {
	if c.p.PersonBytes == 0 {
		return
	}
	used := 0
	length := func(u int) (n int) {
		for _, i := range c.units[u].blocks {
			n += len(c.t.Blocks[i].Text)
		}
		return n
	}
	for u := range c.units {
		if c.units[u].person && ch.keep[u] {
			used += length(u)
		}
	}
	for u := len(c.units) - 1; u >= 0; u-- {
		if !c.units[u].person || ch.keep[u] {
			continue
		}
		if used += length(u); used > c.p.PersonBytes {
			return
		}
		ch.keep[u], ch.reach[u] = true, standing
	}
}

// fill keeps more units before the tail, reduced, the newest first, until the first that the room does not hold.
func (c *compaction) fill(ch *choice, room int, reduced []int) {
	for u := len(c.units) - 1; u >= 0; u-- {
		if ch.keep[u] || c.units[u].summary {
			continue
		}
		if room -= reduced[u]; room < 0 {
			return
		}
		ch.keep[u], ch.reach[u] = true, older
	}
}

// unkeep takes back what the format cannot keep in its place, and remembers what must be quoted instead. It reports whether
// there may be such.
func (c *compaction) unkeep(ch *choice) bool {
	can := c.t.Can
	if !can.NoHead && !can.NoAnchor {
		return false
	}
	start := len(c.units) // the run of units up to the end that are kept
	for start > 0 && (ch.keep[start-1] || c.units[start-1].system) {
		start--
	}
	for start < len(c.units) && (!c.free[c.units[start].first] || c.units[start].first < can.KeepFrom) {
		start++ // a unit that goes reaches over this one's beginning
	}
	for u := range start {
		if !ch.keep[u] || c.units[u].system || c.head[u] && !can.NoHead {
			continue
		}
		ch.keep[u] = false
		if c.head[u] && c.units[u].person || c.pinned[u] || u == c.newest {
			ch.quotes = append(ch.quotes, u)
		}
	}
	return true
}

// apply marks what the choice drops and reduces the rest. It returns the tokens that go, the earlier summary apart.
func (c *compaction) apply(ch choice, summary int) (gone int) {
	for u := range c.units {
		if !ch.keep[u] && !c.units[u].summary {
			gone += max(c.unitSize(u), 1) // an empty message counts, for it goes as well
			c.drop(u, "summarise", "the summary stands for it")
		}
	}
	if gone > 0 {
		c.takeIn(ch, summary)
	}
	c.reduce(ch.reach, !c.p.BestEffort)
	if ch.newest > 0 {
		c.squeeze(func(u int) bool { return u == c.last }, func() bool {
			n := 0
			for _, i := range c.units[c.last].blocks {
				n += c.now[i]
			}
			return n <= ch.newest
		})
	}
	c.dropBoundReasoning()
	return gone
}

// takeIn drops the earlier summary, since a new one of room tokens will stand for it too.
func (c *compaction) takeIn(ch choice, room int) {
	for u := range c.units {
		if c.units[u].summary {
			c.drop(u, "summarise", "the new summary takes it in")
		}
	}
	c.summary = room + c.verbatimTokens(ch)
}

// verbatimTokens is what a summary takes beside its room: quotes, and the earlier summary where nobody merges it.
func (c *compaction) verbatimTokens(ch choice) int {
	n := 0
	for _, u := range ch.quotes {
		n += c.unitSize(u) + quoteTokens
	}
	body, ours := earlier(c.t)
	if ours {
		var quotes []string
		quotes, body = cutQuotes(body)
		for _, q := range quotes {
			n += countText(c.o.Counter, q) + quoteTokens
		}
	}
	if c.o.Summarizer == nil {
		n += countText(c.o.Counter, body) // nobody merges it, so it is written again
	}
	return n
}

// shed drops more of the reduced units, the oldest first, until the target is met.
func (c *compaction) shed(ch *choice) {
	for u := range c.units {
		if c.total() <= c.goal {
			return
		}
		if ch.keep[u] && ch.reach[u] == older {
			ch.keep[u] = false
			c.drop(u, "summarise", "the summary stands for it")
			if c.summary == 0 {
				c.takeIn(*ch, c.room)
			}
		}
	}
}

// squeeze cuts long results and arguments of kept units, the allowed length halved until it is enough.
func (c *compaction) squeeze(of func(u int) bool, enough func() bool) {
	if c.t.Can.NoStub {
		return
	}
	for limit := 256 << 10; limit >= floorResult && !enough(); limit /= 2 {
		for i := range c.t.Blocks {
			b := &c.t.Blocks[i]
			u := c.unitOf[i]
			if !of(u) || c.pinned[u] && c.units[u].open == 0 || !c.plan.Kept(i) {
				continue
			}
			switch {
			case b.Kind == ToolResult && len(b.Text) > limit:
				c.mark(i, Stub, cutResult(b.Text, limit), "squeeze", "a long result, and the target is small")
			case b.Kind == ToolCall && len(b.Args) > limit && !c.pins(i):
				if args, ok := cutArgs(b.Args, limit); ok {
					c.mark(i, Stub, args, "squeeze", "long arguments, and the target is small")
				}
			}
		}
	}
}

// cutNewest cuts the person's newest message in its middle, so that it takes what the target leaves it.
func (c *compaction) cutNewest() {
	for _, i := range c.units[c.newest].blocks {
		b := &c.t.Blocks[i]
		if b.Kind != Text {
			continue
		}
		for limit := len(b.Text); limit > floorResult && c.total() > c.goal; limit = limit * 3 / 4 {
			text := textcut.Middle(b.Text, limit, omitted)
			stub := Block{Text: text}
			if now := c.o.Counter.Count(&stub); c.total()-c.now[i]+now <= c.goal || limit*3/4 <= floorResult {
				c.cut = c.mark(i, Stub, text, "squeeze", "it alone does not fit the window")
				break
			}
		}
	}
}

// dropOneByOne drops the oldest units that may go, one after the other, until the target is met, and leaves a marker.
// Failed is why there is no better summary, "" if none was wished for.
func (c *compaction) dropOneByOne(ctx context.Context, failed string) error {
	c.reset()
	ch := c.choose(markerTokens, 0, nil)
	c.reduce(ch.reach, false)
	reduced := ch
	ch.keep = make([]bool, len(c.units))
	for u := range ch.keep {
		ch.keep[u] = true
	}
	for u := range c.units {
		if reduced.keep[u] || c.units[u].summary {
			continue
		}
		if c.fits() && !c.t.Can.NoAnchor {
			break // where only a run up to the end can stay, all before it goes
		}
		ch.keep[u] = false
		c.drop(u, "drop", "the oldest that may go")
		if c.summary == 0 {
			c.takeIn(ch, markerTokens)
		}
	}
	c.lighten(&ch)
	c.dropBoundReasoning()
	o := c.o.Summarizer
	c.o.Summarizer = nil
	err := c.conclude(ctx, &ch)
	c.o.Summarizer = o
	if failed != "" && c.report.Outcome == Summarised {
		c.report.Outcome, c.report.Reason = FellBack, failed
	}
	return err
}
