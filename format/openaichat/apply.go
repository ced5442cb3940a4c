package openaichat

import (
	"fmt"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format/internal/wire"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// Apply returns the body with the plan applied to it. The summary becomes the first part of the user message behind it, else the
// last one of a user message before it, else a message of its own; and where messages between two of the user, or of
// the assistant, are gone, the two become one, so that roles alternate where they did.
func (d *Doc) Apply(plan *pemmican.Plan) ([]byte, error) {
	if err := wire.Applicable(&d.t, &d.in, plan); err != nil {
		return nil, err
	}
	if plan.Empty() {
		return d.data, nil
	}
	a := applier{d, plan}
	messages := make([]wire.Message, len(d.messages))
	for i := range d.messages {
		if err := a.message(i, &messages[i]); err != nil {
			return nil, err
		}
	}
	edits, err := wire.Assemble(d.data, d.in.Messages, messages, a.summary())
	if err != nil {
		return nil, err
	}
	return jsonspan.Splice(d.data, edits)
}

type applier struct {
	*Doc
	plan *pemmican.Plan
}

func (a applier) summary() *wire.Summary {
	if a.plan.Summary == "" {
		return nil
	}
	s := &wire.Summary{Text: a.plan.Summary, Prev: -1, Next: len(a.messages), Part: -1}
	for i := a.plan.Gap - 1; i >= 0; i-- {
		if a.plan.Kept(i) {
			s.Prev = a.places[i].message
			break
		}
	}
	for i := a.plan.Gap; i < len(a.places); i++ {
		if a.plan.Kept(i) {
			if s.Next = a.places[i].message; a.places[i].spot == inContent {
				s.Part = a.places[i].n
			}
			break
		}
	}
	return s
}

// message fills m with what the plan makes of message i.
func (a applier) message(i int, m *wire.Message) error {
	src := &a.messages[i]
	m.Span = src.span
	if src.role == "user" || src.role == "assistant" {
		m.Role = src.role
	}
	m.Content = wire.NewContent(a.data, src.content, src.span.Start+1)
	if src.role == "tool" || src.role == "function" {
		m.Content.Empty = `""`
	}
	goneCalls := map[int]bool{}
	gone := map[spot]bool{}
	calls, text := 0, false
	m.Gone = true
	for k := src.first; k < src.end; k++ {
		at, mark := &a.places[k], &a.plan.Marks[k]
		if at.spot == inCalls {
			calls++
		}
		text = text || at.spot == inContent || at.spot == inResult
		if mark.Action == pemmican.Drop {
			switch at.spot {
			case inContent:
				m.Content.Parts[at.n].Gone = true
			case inCalls:
				goneCalls[at.n] = true
			case inResult:
				return nil // all of it goes
			default:
				gone[at.spot] = true
			}
			continue
		}
		m.Gone = false
		m.Closed = m.Closed || at.spot != inContent && at.spot != inReasoning
		if at.spot == inNothing || at.spot == inCalls && src.role != "assistant" {
			m.Role = "" // What it stands for cannot be moved into another message; nothing can stand behind such calls.
		}
		if mark.Action == pemmican.Stub {
			if err := a.stub(k, m); err != nil {
				return err
			}
		}
	}
	if m.Gone {
		return nil
	}
	if !text && src.role == "assistant" && jsonspan.KindAt(a.data, src.content) == jsonspan.KindString {
		m.Content.Parts = nil // the empty string beside calls is no text
	}
	if calls > 0 && len(goneCalls) == calls {
		gone[inCalls] = true
	} else if calls > 0 {
		m.Calls = src.calls
		m.CallEdits = append(m.CallEdits, jsonspan.RemoveElements(a.data, src.calls, func(n int) bool { return goneCalls[n] })...)
		wire.SortEdits(m.CallEdits)
	}
	a.members(i, m, gone)
	wire.SortEdits(m.Rest)
	return nil
}

// members removes the members of message i that hold nothing but what is gone.
func (a applier) members(i int, m *wire.Message, gone map[spot]bool) {
	drop := map[int]bool{}
	k := 0
	m.Plain = true
	for key, val := range jsonspan.Members(a.data, a.messages[i].span) {
		name, _ := jsonspan.String(a.data, key)
		where, known := spots[name]
		switch drop[k] = known && gone[where]; {
		case drop[k], jsonspan.KindAt(a.data, val) == jsonspan.KindNull:
		case name != "role" && name != "content" && name != "tool_calls":
			m.Plain = false
		}
		k++
	}
	m.Rest = append(m.Rest, jsonspan.RemoveElements(a.data, a.messages[i].span, func(n int) bool { return drop[n] })...)
}

// spots are the members of a message that hold one thing each.
var spots = map[string]spot{
	"tool_calls": inCalls, "function_call": inFunction, "refusal": inRefusal, "audio": inAudio,
	"reasoning_content": inReasoning, "reasoning": inReasoning, "reasoning_details": inReasoning,
}

// stub adds the edits that stub block k to its message.
func (a applier) stub(k int, m *wire.Message) error {
	at, mark, b := &a.places[k], &a.plan.Marks[k], &a.t.Blocks[k]
	switch b.Kind {
	case pemmican.Text, pemmican.Summary:
		switch at.spot {
		case inNothing:
			m.Content.Append = append(m.Content.Append, wire.TextPart(mark.Text))
		case inRefusal:
			m.Rest = append(m.Rest, jsonspan.Edit{Span: at.span, New: jsonspan.Quote(nil, mark.Text)})
		default:
			part := &m.Content.Parts[at.n]
			part.Edits = append(part.Edits, a.textEdit(at.span, mark.Text))
		}
	case pemmican.ToolResult:
		if mark.Text == "" && len(m.Content.Parts) == 0 {
			m.Rest = append(m.Rest, wire.SetString(a.data, m.Span, "content", ""))
			break
		}
		m.Content.StubText(mark.Text, func(p jsonspan.Span) (jsonspan.Edit, bool) {
			_, _, ok := textOf(a.data, p)
			return a.textEdit(p, mark.Text), ok
		})
	case pemmican.Media:
		part := &m.Content.Parts[at.n]
		part.Edits = append(part.Edits, jsonspan.Edit{Span: at.span, New: wire.TextPart(mark.Text, wire.Member(a.data, at.span, "cache_control")...)})
	case pemmican.ToolCall:
		if !wire.IsObject(mark.Text) {
			return fmt.Errorf("the plan's arguments for the call at %s are no JSON object", a.where(k))
		}
		name := "arguments"
		inner, _, ok := callOf(a.data, at.span)
		if custom, is := jsonspan.Get(a.data, at.span, "custom"); is && custom == inner {
			name = "input"
		}
		edit := wire.SetString(a.data, inner, name, mark.Text)
		if ok && at.spot == inCalls {
			m.CallEdits = append(m.CallEdits, edit)
		} else {
			m.Rest = append(m.Rest, edit)
		}
	default:
		return fmt.Errorf("the plan stubs the %s block at %s, which can only be kept or dropped", b.Kind, a.where(k))
	}
	return nil
}

// textEdit replaces the text of a text part, or of a content that is a string.
func (a applier) textEdit(v jsonspan.Span, text string) jsonspan.Edit {
	_, member, ok := textOf(a.data, v)
	if !ok || member == "" {
		return jsonspan.Edit{Span: v, New: jsonspan.Quote(nil, text)}
	}
	return wire.SetString(a.data, v, member, text)
}
