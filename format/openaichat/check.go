package openaichat

import (
	"fmt"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/format/internal/wire"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// maxID is how many characters the id of a call may have. OpenAI answers: "string too long. Expected a string with
// maximum length 64". Some compatible providers allow fewer.
const maxID = 64

// Check returns what the API, or one that is compatible with it, would refuse in the live conversation. System messages that
// do not lead and neighbours of the same role are no finding, since OpenAI takes them. Neither is an id that is used
// again in a later step. An id that is refused, and a result that does not stand directly behind its call, can only be
// mended by dropping call and result. Arguments that are no JSON object in a string become one, which keeps what was
// there under the name invalid_arguments.
//
// That text may not be empty is a rule of Moonshot's; OpenAI takes the empty string. That pictures may stand in the
// user's messages only is a rule of OpenAI's, which some others do not have.
func (d *Doc) Check() []format.Finding {
	c := &wire.Checker{T: &d.t, Where: d.where, Data: d.data, Spans: d.spans, Blank: func(text string) bool { return text == "" }}
	d.checkRoles(c)
	d.checkText(c)
	d.checkCalls(c)
	c.Bytes()
	c.Around(d.in.Tools, "tools")
	for i := range d.messages {
		m := &d.messages[i]
		var blocks []jsonspan.Span
		for k := m.first; k < m.end; k++ {
			blocks = append(blocks, d.places[k].span)
		}
		c.Around(m.span, fmt.Sprintf("messages[%d]", i), blocks...)
	}
	if len(d.messages) == 0 {
		c.Report(format.RuleEmptyContent, "messages", "there are no messages", nil)
	}
	return c.Findings()
}

// checkRoles checks that every message has a role that the API knows, and only what this role may have.
func (d *Doc) checkRoles(c *wire.Checker) {
	for n := range d.messages {
		m := &d.messages[n]
		var calls []int // in a message that may have none
		for i := m.first; i < m.end; i++ {
			switch at := &d.places[i]; {
			case at.spot == inMessage:
				c.Block(format.RuleWrongRole, i, fmt.Sprintf("there is no role %q", m.role), wire.Drop("its message has no known role", i))
			case at.spot == inCalls && m.role != "assistant":
				calls = append(calls, i)
			case d.t.Blocks[i].Kind == pemmican.Media && (m.role == "assistant" || m.role == "tool" || m.role == "function"):
				if kind, _ := jsonspan.Get(d.data, at.span, "type"); jsonspan.Equal(d.data, kind, "image_url") {
					c.Block(format.RuleWrongRole, i, "a picture may not stand in a message of the role "+m.role,
						wire.Stub("it may not stand there", i, "[a picture that may not stand here]"))
				}
			}
		}
		if len(calls) > 0 {
			c.Report(format.RuleWrongRole, fmt.Sprintf("messages[%d].tool_calls", n), fmt.Sprintf("a message of the role %s may not have calls", m.role),
				wire.Drop("they may not stand there", calls...))
		}
		if m.noCalls(d.data) {
			c.Report(format.RuleEmptyContent, fmt.Sprintf("messages[%d].tool_calls", n), "the list of calls is empty", nil)
		}
	}
}

// noCalls reports whether a message has a list of calls that is empty.
func (m *message) noCalls(data []byte) bool {
	return jsonspan.KindAt(data, m.calls) == jsonspan.KindArray && empty(data, m.calls)
}

// empty reports whether a value has no elements.
func empty(data []byte, v jsonspan.Span) bool {
	for range jsonspan.Elements(data, v) {
		return false
	}
	return true
}

func (d *Doc) checkText(c *wire.Checker) {
	for m := range d.t.Messages {
		msg := &d.t.Messages[m]
		content := d.messages[d.places[msg.First].message].content
		kind := jsonspan.KindAt(d.data, content)
		// The empty string beside reasoning is a message that is taken.
		reasoning := msg.Role == pemmican.Assistant && kind != jsonspan.KindString
		var all []int
		for i := msg.First; i < msg.End; i++ {
			b := &d.t.Blocks[i]
			reasoning = reasoning && b.Kind == pemmican.Reasoning
			all = append(all, i)
			switch {
			case b.Kind == pemmican.Text && b.Text == "":
				c.Block(format.RuleEmptyContent, i, "the text is empty", wire.Drop("it is empty", i))
			case d.places[i].spot == inResult && d.messages[d.places[i].message].role == "tool" && kind != jsonspan.KindString && empty(d.data, content):
				c.Block(format.RuleEmptyContent, i, "the result has no content", wire.Stub("it had no content", i, ""))
			}
		}
		if reasoning {
			c.Block(format.RuleThinkingOnly, msg.First, "the message holds nothing but reasoning", wire.Drop("its message holds nothing else", all...))
		}
	}
}

func (d *Doc) checkCalls(c *wire.Checker) {
	// step is, for a message of results, the assistant message that it stands directly behind. Messages that fixes drop
	// are not there.
	step := make([]int, len(d.t.Messages))
	gone, before := c.Dropped(), -1
	for m := range d.t.Messages {
		msg := &d.t.Messages[m]
		step[m] = m
		if msg.Role == pemmican.Tool && before >= 0 {
			step[m] = step[before]
		}
		if !wire.All(gone, msg) {
			before = m
		}
	}
	c.Pairs(
		func(call, result int) bool { return step[d.t.Blocks[result].Message] == d.t.Blocks[call].Message },
		func(call int) string { return fmt.Sprint(d.t.Blocks[call].Message, " ", d.t.Blocks[call].CallID) },
		func(id string) string {
			switch {
			case id == "":
				return "the call has no id"
			case strings.ContainsRune(id, '\uFFFD'):
				return fmt.Sprintf("the id %q holds text that is no Unicode", id)
			}
			return wire.TooLong(id, maxID)
		},
	)
	for i := range d.t.Blocks {
		b := &d.t.Blocks[i]
		if b.Kind != pemmican.ToolCall {
			continue
		}
		at := &d.places[i]
		if _, custom := jsonspan.Get(d.data, at.span, "custom"); custom && at.spot == inCalls {
			continue // its input is any text
		}
		_, args, _ := callOf(d.data, at.span)
		switch _, quoted := argsOf(d.data, args); {
		case args.Empty():
			c.Arguments(i, "the call has no arguments")
		case !quoted:
			c.Arguments(i, "the arguments of the call are no string")
		case !wire.IsObject(b.Args):
			c.Arguments(i, "the arguments of the call are no JSON object")
		}
	}
}

// where names the place of a block.
func (d *Doc) where(i int) string {
	p := &d.places[i]
	s := fmt.Sprintf("messages[%d]", p.message)
	switch p.spot {
	case inContent:
		if jsonspan.KindAt(d.data, d.messages[p.message].content) == jsonspan.KindArray {
			return fmt.Sprintf("%s.content[%d]", s, p.n)
		}
		return s + ".content"
	case inCalls:
		return fmt.Sprintf("%s.tool_calls[%d]", s, p.n)
	case inFunction:
		return s + ".function_call"
	case inRefusal:
		return s + ".refusal"
	case inAudio:
		return s + ".audio"
	}
	return s
}

// spans returns where block i stands, what of that a stub replaces, and what in it is a block of its own.
func (d *Doc) spans(i int) (all jsonspan.Span, stub, inner []jsonspan.Span) {
	at := &d.places[i]
	all = at.span
	text := func(v jsonspan.Span) (jsonspan.Span, bool) {
		_, member, ok := textOf(d.data, v)
		if ok && member != "" {
			v, _ = jsonspan.Get(d.data, v, member)
		}
		return v, ok
	}
	switch d.t.Blocks[i].Kind {
	case pemmican.Text:
		if v, _ := text(all); at.spot != inNothing && !v.Empty() {
			stub = append(stub, v)
		}
	case pemmican.ToolCall:
		if _, args, _ := callOf(d.data, all); !args.Empty() {
			stub = append(stub, args)
		}
	case pemmican.ToolResult:
		content := d.messages[at.message].content
		if jsonspan.KindAt(d.data, content) == jsonspan.KindString {
			stub = append(stub, content)
		}
		for part := range jsonspan.Elements(d.data, content) {
			v, ok := text(part)
			switch {
			case ok && stub == nil && v.Empty():
				stub = []jsonspan.Span{} // The text is written into this part, which has none.
			case ok && stub == nil:
				stub = []jsonspan.Span{v}
			case ok:
				stub = append(stub, part)
			}
		}
		for k := i + 1; k < len(d.places) && d.places[k].message == at.message; k++ {
			inner = append(inner, d.places[k].span)
		}
	}
	return all, stub, inner
}
