package anthropic

import (
	"fmt"
	"slices"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format/internal/wire"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// Apply returns the body with the plan applied to it. The summary becomes the first block of the user message behind it, else
// the last one of a user message before it, else a message of its own; and where messages between two of the same role
// are gone, the two become one, so that roles alternate where they did.
func (d *Doc) Apply(plan *pemmican.Plan) ([]byte, error) {
	if err := wire.Applicable(&d.t, &d.in, plan); err != nil {
		return nil, err
	}
	if plan.Empty() {
		return d.data, nil
	}
	a := &applier{Doc: d, plan: plan}
	var edits []jsonspan.Edit
	if len(d.places) > 0 && d.places[0].message < 0 {
		e, err := a.system()
		if err != nil {
			return nil, err
		}
		edits = e
	}
	messages := make([]wire.Message, len(d.messages))
	for i := range d.messages {
		if err := a.message(i, &messages[i]); err != nil {
			return nil, err
		}
	}
	e, err := wire.Assemble(d.data, d.in.Messages, messages, a.summary())
	if err != nil {
		return nil, err
	}
	edits = append(edits, e...)
	wire.SortEdits(edits)
	return jsonspan.Splice(d.data, edits)
}

type applier struct {
	*Doc
	plan *pemmican.Plan
}

// compacted reports whether the compaction block stays that makes all before it dead.
func (a *applier) compacted() bool { return a.barrier >= 0 && a.plan.Kept(a.barrier) }

func (a *applier) summary() *wire.Summary {
	if a.plan.Summary == "" {
		return nil
	}
	gap := a.plan.Gap
	if a.compacted() && gap <= a.barrier {
		// The server would not read it there.
		m := a.t.Blocks[a.barrier].Message + 1
		for m < len(a.t.Messages) && a.t.Blocks[a.t.Messages[m].First].Kind == pemmican.ToolResult {
			m++
		}
		gap = len(a.t.Blocks)
		if m < len(a.t.Messages) {
			gap = a.t.Messages[m].First
		}
	}
	s := &wire.Summary{Text: a.plan.Summary, Prev: -1, Next: len(a.messages), Part: -1}
	for i := gap - 1; i >= 0; i-- {
		if p := &a.places[i]; a.plan.Kept(i) && p.message >= 0 {
			s.Prev = p.message
			break
		}
	}
	for i := gap; i < len(a.places); i++ {
		if p := &a.places[i]; a.plan.Kept(i) && p.message >= 0 {
			if s.Next = p.message; p.sub < 0 {
				s.Part = p.part
			}
			break
		}
	}
	return s
}

// system makes the edits to the system text.
func (a *applier) system() ([]jsonspan.Edit, error) {
	c := wire.NewContent(a.data, a.in.System, 0)
	end := 0
	for end < len(a.places) && a.places[end].message < 0 {
		if err := a.block(end, &c); err != nil {
			return nil, err
		}
		end++
	}
	if c.FirstKept() >= 0 {
		return c.Edits(a.data), nil
	}
	k := -1
	remove := map[int]bool{}
	for key := range jsonspan.Members(a.data, a.in.Body) {
		k++
		remove[k] = jsonspan.Equal(a.data, key, "system")
	}
	return jsonspan.RemoveElements(a.data, a.in.Body, func(i int) bool { return remove[i] }), nil
}

// message fills m with what the plan makes of message i.
func (a *applier) message(i int, m *wire.Message) error {
	src := &a.messages[i]
	m.Span = src.span
	if src.role == "user" || src.role == "assistant" {
		m.Role = src.role
	}
	m.Content = wire.NewContent(a.data, src.content, src.span.Start+1)
	if src.first == src.end {
		m.Gone = !a.compacted() // dead
		m.Role = ""
		return nil
	}
	m.Gone = true
	seen := false
	for k := src.first; k < src.end; k++ {
		if a.plan.Kept(k) {
			m.Gone = false
			if kind := a.t.Blocks[k].Kind; !seen {
				seen = true
				m.Results = kind == pemmican.ToolResult
			}
			m.Closed = m.Closed || a.t.Blocks[k].Kind == pemmican.ToolCall
		}
		if a.places[k].part < 0 { // it stands for a content that is not there
			m.Role = ""
			if mark := &a.plan.Marks[k]; mark.Action == pemmican.Stub {
				m.Content.Append = append(m.Content.Append, wire.TextPart(mark.Text))
			}
			continue
		}
		if err := a.block(k, &m.Content); err != nil {
			return err
		}
	}
	if !a.compacted() {
		for k := range src.dead {
			m.Content.Parts[k].Gone = true
		}
	}
	m.Plain = src.dead == 0 && wire.OnlyMembers(a.data, src.span, "role", "content")
	return nil
}

// block marks what the plan makes of block i, in the content that holds it.
func (a *applier) block(i int, c *wire.Content) error {
	at, mark, b := &a.places[i], &a.plan.Marks[i], &a.t.Blocks[i]
	part := &c.Parts[at.part]
	if b.Kind == pemmican.ToolResult {
		return a.result(i, part)
	}
	if at.sub >= 0 {
		return nil // done with its result
	}
	switch mark.Action {
	case pemmican.Drop:
		part.Gone = true
	case pemmican.Stub:
		e, err := a.stub(i)
		if err != nil {
			return err
		}
		part.Edits = append(part.Edits, e)
	}
	return nil
}

// stub returns the edit that stubs a block other than a result.
func (a *applier) stub(i int) (jsonspan.Edit, error) {
	v, mark := a.places[i].span, &a.plan.Marks[i]
	switch a.t.Blocks[i].Kind {
	case pemmican.Text, pemmican.Summary:
		if jsonspan.KindAt(a.data, v) == jsonspan.KindString {
			return jsonspan.Edit{Span: v, New: jsonspan.Quote(nil, mark.Text)}, nil
		}
		return wire.SetString(a.data, v, "text", mark.Text), nil
	case pemmican.ToolCall:
		if !wire.IsObject(mark.Text) {
			return jsonspan.Edit{}, fmt.Errorf("the plan's arguments for the call at %s are no JSON object", a.where(i))
		}
		return wire.SetValue(a.data, v, "input", []byte(mark.Text)), nil
	case pemmican.Media:
		return jsonspan.Edit{Span: v, New: wire.TextPart(mark.Text, wire.Member(a.data, v, "cache_control")...)}, nil
	}
	return jsonspan.Edit{}, fmt.Errorf("the plan stubs the %s block at %s, which can only be kept or dropped", a.t.Blocks[i].Kind, a.where(i))
}

// result makes the edits to tool result i and to what is in it.
func (a *applier) result(i int, part *wire.Part) error {
	mark := &a.plan.Marks[i]
	if mark.Action == pemmican.Drop {
		part.Gone = true
		return nil
	}
	v := a.places[i].span
	value, _ := jsonspan.Get(a.data, v, "content")
	c := wire.NewContent(a.data, value, v.Start+1)
	c.Empty = `""`
	for k := i + 1; k < len(a.places) && a.places[k].sub >= 0 && a.places[k].part == a.places[i].part && a.places[k].message == a.places[i].message; k++ {
		inner := &c.Parts[a.places[k].sub]
		switch a.plan.Marks[k].Action {
		case pemmican.Drop:
			inner.Gone = true
		case pemmican.Stub:
			e, err := a.stub(k)
			if err != nil {
				return err
			}
			inner.Edits = append(inner.Edits, e)
		}
	}
	if mark.Action == pemmican.Stub {
		c.StubText(mark.Text, func(p jsonspan.Span) (jsonspan.Edit, bool) {
			if jsonspan.KindAt(a.data, p) == jsonspan.KindString {
				return jsonspan.Edit{Span: p, New: jsonspan.Quote(nil, mark.Text)}, true
			}
			_, _, ok := textOf(a.data, p)
			return wire.SetString(a.data, p, "text", mark.Text), ok
		})
	}
	part.Edits = slices.Concat(part.Edits, c.Edits(a.data))
	return nil
}
