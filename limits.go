package pemmican

import (
	"fmt"
	"slices"
	"strings"
)

// Limits are what a provider takes in one request beside tokens; 0 is no limit.
type Limits struct {
	// Bytes is the size of the whole body, in which pictures weigh most. It is compared with what the transcript tells
	// of it: texts as JSON, and media as they stand in the input.
	Bytes int
	// Media is the number of pictures and documents.
	Media int
	// Messages is the number of messages.
	Messages int
}

// excess tells what of a load is over the limits, "" if nothing is.
func (l Limits) excess(load Limits) string {
	var over []string
	for _, x := range [...]struct {
		has, most int
		what      string
	}{{load.Bytes, l.Bytes, "bytes"}, {load.Media, l.Media, "pictures or documents"}, {load.Messages, l.Messages, "messages"}} {
		if x.most > 0 && x.has > x.most {
			over = append(over, fmt.Sprintf("%d %s, and the provider takes %d", x.has, x.what, x.most))
		}
	}
	return strings.Join(over, "; ")
}

// blockFrame is about what stands around the text of a block in a request, in bytes.
const blockFrame = 96

// summaryBytes is what a token of a summary that is still to be written takes at most, or nearly so, in bytes.
const summaryBytes = 6

// weightOf is about how many bytes a block takes in a request.
func weightOf(b *Block) int {
	n := blockFrame + len(b.Tool) + b.Bytes
	if b.Kind == Opaque && b.Bytes > 0 {
		return n // of which Text is a part
	}
	for _, text := range [...]string{b.Text, b.Args} {
		n += len(text)
		for i := range len(text) {
			if c := text[i]; c < ' ' || c == '"' || c == '\\' {
				n++
			}
		}
	}
	return n
}

// load is what the request takes beside tokens under the plan. It is kept only if there are limits.
type load struct {
	Limits
	before Limits // the transcript as it is
	full   []int  // the weight of each block of it
	weight []int  // under the plan
	blocks []int  // of each message, those that are kept
}

// weigh takes the load of the transcript as it is.
func (c *compaction) weigh() {
	if c.o.Limits == (Limits{}) {
		return
	}
	l := &c.load
	if l.full == nil {
		l.full = make([]int, len(c.t.Blocks))
		for i := range c.t.Blocks {
			l.full[i] = weightOf(&c.t.Blocks[i])
		}
	}
	l.weight, l.blocks = slices.Clone(l.full), make([]int, len(c.t.Messages))
	l.Limits = Limits{Bytes: len(c.t.Tools) + 4*c.o.Overhead.Tokens}
	for i := range c.t.Blocks {
		c.bear(i, 1)
	}
	l.before = l.Limits
}

// bear adds a block to the load as the plan has it, or takes it away.
func (c *compaction) bear(i, sign int) {
	l, b := &c.load, &c.t.Blocks[i]
	if l.full == nil {
		return
	}
	l.Bytes += sign * l.weight[i]
	if b.Kind == Media && c.plan.Marks[i].Action == Keep {
		l.Media += sign
	}
	l.blocks[b.Message] += sign
	if n := l.blocks[b.Message]; n == 0 || n == 1 && sign > 0 {
		l.Messages += sign
	}
}

// loaded is the load of the request with its summary, or the room that is kept for one.
func (c *compaction) loaded() Limits {
	out := c.load.Limits
	if c.summary > 0 {
		b := Block{Text: c.plan.Summary}
		if c.plan.Summary == "" {
			b.Bytes = summaryBytes * c.summary
		}
		out.Bytes += weightOf(&b)
		out.Messages++
	}
	return out
}

// within reports whether the request is within the limits.
func (c *compaction) within() bool { return c.load.full == nil || c.o.Limits.excess(c.loaded()) == "" }

// fits reports whether the request is small enough in every respect.
func (c *compaction) fits() bool { return c.total() <= c.goal && c.within() }

// stubExcess replaces pictures and documents by a line, the oldest first, until the limits of bytes and of media hold.
// What must stay comes last, and only as far as it is too much by itself.
func (c *compaction) stubExcess(reaches []reach) {
	if c.within() {
		return
	}
	media := Limits{Bytes: c.o.Limits.Bytes, Media: c.o.Limits.Media}
	for i := range c.t.Blocks {
		if media.excess(c.loaded()) == "" {
			return
		}
		if u := c.unitOf[i]; reaches[u] > untouched && u != c.newest {
			c.stubMedium(i)
		}
	}
	held := Limits{Bytes: len(c.t.Tools) + 4*c.o.Overhead.Tokens}
	mine := func(i int) bool { u := c.unitOf[i]; return u == c.newest || c.pinned[u] }
	for i := range c.t.Blocks {
		if mine(i) || c.units[c.unitOf[i]].system {
			held.Bytes += c.load.weight[i]
			if c.keptMedium(i) {
				held.Media++
			}
		}
	}
	for i := range c.t.Blocks {
		if media.excess(held) == "" {
			return
		}
		was := c.load.weight[i]
		if mine(i) && !c.wanted(c.unitOf[i]) && c.stubMedium(i) {
			held.Bytes, held.Media = held.Bytes-was+c.load.weight[i], held.Media-1
		}
	}
}

func (c *compaction) keptMedium(i int) bool {
	return c.t.Blocks[i].Kind == Media && c.plan.Marks[i].Action == Keep
}

func (c *compaction) stubMedium(i int) bool {
	return c.keptMedium(i) && c.mark(i, Stub, mediaStub(&c.t.Blocks[i]), "limits", "more pictures or documents than the provider takes")
}

// lighten drops more units until the limits hold: the oldest of those first that are there because there was room.
// It may drop all but what must stay, and makes long results shorter before that.
func (c *compaction) lighten(ch *choice) {
	if c.within() {
		return
	}
	bytes := Limits{Bytes: c.o.Limits.Bytes}
	c.squeeze(func(u int) bool { return ch.keep[u] }, func() bool { return bytes.excess(c.loaded()) == "" })
	stays := func(u int) bool {
		return c.units[u].system || c.units[u].summary || c.pinned[u] || c.head[u] || u == c.newest || u == c.last && c.p.FillTarget
	}
	dropped := false
	drop := func(u int) {
		ch.keep[u], dropped = false, true
		c.drop(u, "limits", "more than the provider takes; the summary stands for it")
	}
	passes := []reach{older, untouched}
	if c.t.Can.NoAnchor {
		passes = passes[1:] // only a run up to the end can stay
	}
	for _, least := range passes {
		for u := range c.units {
			if !ch.keep[u] || ch.reach[u] < least || stays(u) {
				continue
			}
			if c.within() {
				break
			}
			drop(u)
			if c.summary == 0 {
				c.takeIn(*ch, markerTokens)
			}
			if was := slices.Clone(ch.keep); c.unkeep(ch) {
				for k := range was {
					if was[k] && !ch.keep[k] {
						drop(k)
					}
				}
				c.takeIn(*ch, markerTokens)
			}
		}
	}
	if dropped {
		c.widen(ch)
	}
}

// widen gives the summary the room that is free, now that it stands for more.
func (c *compaction) widen(ch *choice) {
	gone := 0
	for u := range c.units {
		if !ch.keep[u] && !c.units[u].summary {
			gone += c.unitSize(u)
		}
	}
	room := min(gone/2, c.summaryRoom())
	c.takeIn(*ch, 0)
	if !c.p.BestEffort {
		room = min(room, c.goal-c.total())
	}
	if most := c.o.Limits.Bytes; most > 0 {
		room = min(room, (most-c.loaded().Bytes)/summaryBytes-blockFrame)
	}
	c.room = max(room, c.room, markerTokens)
	c.takeIn(*ch, c.room)
}
