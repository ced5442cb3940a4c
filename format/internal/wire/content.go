package wire

import (
	"slices"

	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// Content is the content of a message or a tool result while a plan is applied to it: a string, a list of parts, or
// nothing.
type Content struct {
	// Value is the value as it stands, empty if the object has no such member.
	Value jsonspan.Span
	// Open is where a missing member can be written: behind the opening brace of the object, which must have another
	// member that stays.
	Open int
	// Parts are the elements of a list, or the one string. A string that is no block is left out.
	Parts []Part
	// Append are new parts, in JSON, behind all others.
	Append [][]byte
	// Empty is what is written where all parts are gone, in JSON.
	Empty string
}

// Part is one content part while a plan is applied to it.
type Part struct {
	Span  jsonspan.Span
	Gone  bool
	Edits []jsonspan.Edit // inside Span
	// Before are new parts in front of it, in JSON. The part must stay.
	Before [][]byte
}

// FirstKept returns the index of the first part that stays, -1 if none does.
func (c *Content) FirstKept() int {
	return slices.IndexFunc(c.Parts, func(p Part) bool { return !p.Gone })
}

// Insert puts a new part in front of all that stay.
func (c *Content) Insert(part []byte) {
	if k := c.FirstKept(); k >= 0 {
		c.Parts[k].Before = slices.Insert(c.Parts[k].Before, 0, part)
	} else {
		c.Append = slices.Insert(c.Append, 0, part)
	}
}

// Edits returns the edits that make the new content, sorted.
func (c *Content) Edits(data []byte) []jsonspan.Edit {
	var edits []jsonspan.Edit
	first, last := c.FirstKept(), -1
	fresh := len(c.Append) > 0
	for i := range c.Parts {
		if p := &c.Parts[i]; !p.Gone {
			last = i
			fresh = fresh || len(p.Before) > 0
		}
	}
	if first < 0 {
		switch {
		case fresh:
			list := joinParts([]byte{'['}, c.Append)
			return []jsonspan.Edit{c.replace(append(list, ']'))}
		case len(c.Parts) > 0:
			return []jsonspan.Edit{{Span: c.Value, New: []byte(c.Empty)}}
		}
		return nil
	}
	if jsonspan.KindAt(data, c.Value) == jsonspan.KindString {
		p := &c.Parts[0]
		if !fresh {
			return p.Edits
		}
		// The string becomes a part, with its own bytes.
		head := joinParts([]byte{'['}, p.Before)
		if len(p.Before) > 0 {
			head = append(head, ',')
		}
		tail := []byte{'}'}
		for _, part := range c.Append {
			tail = append(append(tail, ','), part...)
		}
		edits = append(edits, insertion(c.Value.Start, append(head, textHead...)))
		edits = append(edits, p.Edits...)
		return append(edits, insertion(c.Value.End, append(tail, ']')))
	}
	edits = jsonspan.RemoveElements(data, c.Value, func(i int) bool { return c.Parts[i].Gone })
	for i := range c.Parts {
		p := &c.Parts[i]
		if p.Gone {
			continue
		}
		for _, part := range p.Before {
			edits = append(edits, insertion(p.Span.Start, append(slices.Clone(part), ',')))
		}
		edits = append(edits, p.Edits...)
	}
	for _, part := range c.Append {
		edits = append(edits, insertion(c.Parts[last].Span.End, append([]byte{','}, part...)))
	}
	SortEdits(edits)
	return edits
}

// blank reports whether the content is the empty string, which is taken as a content, but not as a part.
func (c *Content) blank() bool {
	return len(c.Parts) == 1 && c.Parts[0].Span == c.Value && c.Value.End-c.Value.Start == 2 && len(c.Parts[0].Edits) == 0
}

// Pieces returns the new content as a list of parts, each in JSON.
func (c *Content) Pieces(data []byte) [][]byte {
	var pieces [][]byte
	for i := range c.Parts {
		p := &c.Parts[i]
		if p.Gone {
			continue
		}
		pieces = append(pieces, p.Before...)
		piece := Render(data, p.Span, p.Edits)
		if jsonspan.KindAt(data, c.Value) == jsonspan.KindString {
			piece = slices.Concat(textHead, piece, []byte{'}'})
		}
		pieces = append(pieces, piece)
	}
	return append(pieces, c.Append...)
}

// replace writes a whole new value.
func (c *Content) replace(value []byte) jsonspan.Edit {
	if c.Value.Empty() {
		return insertion(c.Open, slices.Concat([]byte(`"content":`), value, []byte{','}))
	}
	return jsonspan.Edit{Span: c.Value, New: value}
}

var textHead = []byte(`{"type":"text","text":`)

// TextPart returns a text part in JSON, with more members in JSON behind the text, if any.
func TextPart(text string, more ...[]byte) []byte {
	part := jsonspan.Quote(slices.Clone(textHead), text)
	for _, m := range more {
		part = append(append(part, ','), m...)
	}
	return append(part, '}')
}

func joinParts(dst []byte, parts [][]byte) []byte {
	for i, part := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, part...)
	}
	return dst
}

func insertion(at int, value []byte) jsonspan.Edit {
	return jsonspan.Edit{Span: jsonspan.Span{Start: at, End: at}, New: value}
}

// SetString returns the edit that gives a member of an object a string for its value, whether it is there or not. The
// other members must stay.
func SetString(data []byte, obj jsonspan.Span, key, text string) jsonspan.Edit {
	return SetValue(data, obj, key, jsonspan.Quote(nil, text))
}

// SetValue is SetString for any value, in JSON.
func SetValue(data []byte, obj jsonspan.Span, key string, value []byte) jsonspan.Edit {
	if val, ok := jsonspan.Get(data, obj, key); ok {
		return jsonspan.Edit{Span: val, New: value}
	}
	member := append(append(jsonspan.Quote(nil, key), ':'), value...)
	for range jsonspan.Members(data, obj) {
		member = append(member, ',')
		break
	}
	return insertion(obj.Start+1, member)
}

// SortEdits brings edits into the order that Splice wants. Those at one place keep theirs, but for insertions, which
// come before what is replaced there.
func SortEdits(edits []jsonspan.Edit) {
	slices.SortStableFunc(edits, func(a, b jsonspan.Edit) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		switch {
		case a.Empty() && !b.Empty():
			return -1
		case b.Empty() && !a.Empty():
			return 1
		}
		return 0
	})
}

// Render returns the bytes of a span with sorted edits applied.
func Render(data []byte, s jsonspan.Span, edits []jsonspan.Edit) []byte {
	var out []byte
	at := s.Start
	for _, e := range edits {
		out = append(out, data[at:e.Start]...)
		out = append(out, e.New...)
		at = e.End
	}
	return append(out, data[at:s.End]...)
}

// NewContent is the content with the value v, unchanged, of an object whose inside begins at open. An empty value is a
// member that is missing.
func NewContent(data []byte, v jsonspan.Span, open int) Content {
	c := Content{Value: v, Open: open, Empty: "null"}
	switch jsonspan.KindAt(data, v) {
	case jsonspan.KindString:
		c.Parts = []Part{{Span: v}}
	case jsonspan.KindArray:
		for e := range jsonspan.Elements(data, v) {
			c.Parts = append(c.Parts, Part{Span: e})
		}
	}
	return c
}

// StubText replaces the text of the content: the first text part gets the new text, and the others go. Stub returns the
// edit that does so in a part, and false for a part that holds no text.
func (c *Content) StubText(text string, stub func(part jsonspan.Span) (jsonspan.Edit, bool)) {
	done := false
	for i := range c.Parts {
		e, ok := stub(c.Parts[i].Span)
		switch {
		case !ok:
		case done:
			c.Parts[i].Gone = true
		default:
			c.Parts[i].Edits = append(c.Parts[i].Edits, e)
			done = true
		}
	}
	if !done {
		c.Insert(TextPart(text))
	}
}

// OnlyMembers reports whether an object has no members but these, others that are null apart.
func OnlyMembers(data []byte, obj jsonspan.Span, names ...string) bool {
	for key, val := range jsonspan.Members(data, obj) {
		if jsonspan.KindAt(data, val) == jsonspan.KindNull {
			continue
		}
		if !slices.ContainsFunc(names, func(n string) bool { return jsonspan.Equal(data, key, n) }) {
			return false
		}
	}
	return true
}

// Member returns a member of an object with its key, as it stands; nothing if it is not there.
func Member(data []byte, obj jsonspan.Span, name string) [][]byte {
	for key, val := range jsonspan.Members(data, obj) {
		if jsonspan.Equal(data, key, name) {
			return [][]byte{data[key.Start:val.End]}
		}
	}
	return nil
}
