package anthropic

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/format/internal/wire"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// maxCacheMarks is how many blocks of a request may carry cache_control. The API answers "A maximum of 4 blocks with
// cache_control may be provided" to more.
const maxCacheMarks = 4

// Check returns what the API would refuse in the live conversation. Neighbours of the same role are no finding, since
// the API takes them for one message; neither are blocks of a type that is not known here, which may be new. An id that
// the API refuses, and a result that does not stand in the message behind its call, can only be mended by dropping call
// and result. Arguments that are no object become one, which keeps what was there under the name invalid_arguments.
//
// That a result holds no blocks of the conversation itself, and an answer no picture, is what the documentation says of
// where blocks may stand.
func (d *Doc) Check() []format.Finding {
	c := &wire.Checker{T: &d.t, Where: d.where, Data: d.data, Spans: d.spans, Blank: blank, UserFirst: d.barrier < 0, StrictEnds: true}
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
	if n := d.cacheMarks(); n > maxCacheMarks {
		c.Report(format.RuleTooManyMarks, "cache_control", fmt.Sprintf("%d blocks have cache_control, and only %d may", n, maxCacheMarks), nil)
	}
	if len(d.messages) == 0 {
		c.Report(format.RuleEmptyContent, "messages", "there are no messages", nil)
	}
	d.checkSystem(c)
	d.checkLast(c)
	return c.Findings()
}

// checkRoles checks that every message has a role that the API knows, and only blocks that this role may have.
func (d *Doc) checkRoles(c *wire.Checker) {
	for i := range d.messages {
		switch m := &d.messages[i]; m.role {
		case "user", "assistant", "system", "developer":
			for k := m.first; k < m.end; k++ {
				d.checkBlock(c, k, m.role)
			}
		default:
			var all []int
			for k := m.first; k < m.end; k++ {
				all = append(all, k)
			}
			if len(all) > 0 {
				c.Report(format.RuleWrongRole, fmt.Sprintf("messages[%d]", i), fmt.Sprintf("there is no role %q", m.role),
					wire.Drop("its message has no known role", all...))
			}
		}
	}
}

// checkBlock checks one block of a message with a role.
func (d *Doc) checkBlock(c *wire.Checker, i int, role string) {
	at := &d.places[i]
	member := func(v jsonspan.Span, name string) jsonspan.Span {
		v, _ = jsonspan.Get(d.data, v, name)
		return v
	}
	wrong := func(what string) {
		where := "a message of the role " + role
		if at.sub >= 0 {
			where = "a result"
		}
		c.Block(format.RuleWrongRole, i, fmt.Sprintf("a block of type %s may not stand in %s", what, where), wire.Drop("it may not stand there", i))
	}
	switch d.t.Blocks[i].Kind {
	case pemmican.Opaque:
		switch kind := wire.Text(d.data, member(at.span, "type")); {
		case kind == "tool_use", kind == "tool_result" && (at.sub >= 0 || role != "user"), at.sub >= 0 && (kind == "thinking" || kind == "redacted_thinking"):
			wrong(kind)
		case kind == "tool_result":
			c.Block(format.RuleBadContent, i, "the content of the result is neither text nor a list", wire.Drop("its content cannot be read", i))
		}
	case pemmican.Media:
		source := member(at.span, "source")
		switch {
		case !jsonspan.Equal(d.data, member(at.span, "type"), "image"):
		case role == "assistant":
			wrong("image")
		case jsonspan.Equal(d.data, member(source, "type"), "base64"):
			if bad := wire.BadBase64(d.data, member(source, "data")); bad != "" {
				c.Block(format.RuleBadContent, i, bad, wire.Stub("it is no picture", i, "[a picture whose data was broken]"))
			}
		}
	case pemmican.Reasoning:
		if !d.t.Blocks[i].Bound && d.claude() {
			c.Block(format.RuleUnsignedThinking, i, "the thinking has no signature", wire.Drop("it has no signature", i))
		}
	}
}

// claude reports whether the request is for a model of Anthropic, as far as it says. Others behind the same API sign
// nothing, and some want their thinking back.
func (d *Doc) claude() bool {
	return d.t.Model == "" || strings.Contains(strings.ToLower(d.t.Model), "claude")
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// checkText checks that no text is empty, and no message without any.
func (d *Doc) checkText(c *wire.Checker) {
	const why = "it is empty"
	for m := range d.t.Messages {
		msg := &d.t.Messages[m]
		reasoning := msg.Role == pemmican.Assistant
		var end []int // the reasoning at the end of the message
		for i := msg.First; i < msg.End; i++ {
			b := &d.t.Blocks[i]
			reasoning = reasoning && b.Kind == pemmican.Reasoning
			if b.Kind != pemmican.Reasoning {
				end = nil
			} else {
				end = append(end, i)
			}
			switch {
			case b.Kind == pemmican.Text && blank(b.Text):
				// Only the last message may be empty, if it is the assistant's.
				whole := d.places[i].part < 0 || jsonspan.KindAt(d.data, d.places[i].span) == jsonspan.KindString
				if !whole || b.Text != "" || m != len(d.t.Messages)-1 || msg.Role != pemmican.Assistant {
					c.Block(format.RuleEmptyContent, i, "the text is empty", wire.Drop(why, i))
				}
			case b.Kind == pemmican.Opaque && d.emptyCompaction(i):
				c.Block(format.RuleEmptyContent, i, "the compaction block is empty", wire.Drop(why, i))
			}
		}
		goesOn := m+1 < len(d.t.Messages) && d.t.Messages[m+1].Role == pemmican.Assistant
		switch {
		case reasoning:
			c.Block(format.RuleThinkingOnly, msg.First, "the message holds nothing but thinking", wire.Drop("its message holds nothing else", end...))
		case msg.Role == pemmican.Assistant && len(end) > 0 && !goesOn:
			c.Block(format.RuleThinkingLast, end[0], "the answer ends with thinking", wire.Drop("an answer may not end with it", end...))
		}
	}
}

// emptyCompaction reports whether a block is a compaction with the empty text, which is refused; null is a failed one.
func (d *Doc) emptyCompaction(i int) bool {
	v := d.places[i].span
	kind, _ := jsonspan.Get(d.data, v, "type")
	content, _ := jsonspan.Get(d.data, v, "content")
	return jsonspan.Equal(d.data, kind, "compaction") && jsonspan.Equal(d.data, content, "")
}

func (d *Doc) checkCalls(c *wire.Checker) {
	// The API takes neighbours of one role for one message. turn numbers those; clear says of a result that nothing
	// but results stands before it in its turn. What fixes drop is not there.
	turn := make([]int, len(d.t.Messages))
	clear := make([]bool, len(d.t.Blocks))
	side := func(m int) pemmican.Role {
		if r := d.t.Messages[m].Role; r != pemmican.Tool {
			return r
		}
		return pemmican.User
	}
	pure, gone, before := true, c.Dropped(), -1
	for m := range d.t.Messages {
		msg := &d.t.Messages[m]
		if wire.All(gone, msg) {
			continue
		}
		switch {
		case before < 0:
		case side(m) == side(before):
			turn[m] = turn[before]
		default:
			turn[m] = turn[before] + 1
			pure = true
		}
		before = m
		for i := msg.First; i < msg.End; i++ {
			_, dropped := gone[i]
			pure = pure && (dropped || d.t.Blocks[i].Kind == pemmican.ToolResult || d.t.Blocks[i].CallID != "")
			clear[i] = pure
		}
	}
	c.Pairs(
		func(call, result int) bool {
			return clear[result] && turn[d.t.Blocks[result].Message] == turn[d.t.Blocks[call].Message]+1
		},
		func(call int) string { return d.t.Blocks[call].CallID },
		func(id string) string {
			switch {
			case id == "":
				return "the call has no id"
			case !wellFormed(id):
				return fmt.Sprintf("the id %q holds other characters than letters, digits, _ and -", id)
			}
			return ""
		},
	)
	for i := range d.t.Blocks {
		b := &d.t.Blocks[i]
		switch {
		case b.Kind != pemmican.ToolCall || wire.IsObject(b.Args):
		case b.Args == "":
			c.Arguments(i, "the call has no input")
		default:
			c.Arguments(i, "the input of the call is no JSON object")
		}
	}
}

// wellFormed reports whether an id matches ^[a-zA-Z0-9_-]+$.
func wellFormed(id string) bool {
	for i := range len(id) {
		if c := id[i]; c != '_' && c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}

// checkSystem reports a system message that stands in the list of messages where no model takes one. Some take it in front of
// an assistant message, or as the last one.
func (d *Doc) checkSystem(c *wire.Checker) {
	for m := range d.t.Messages {
		i := d.t.Messages[m].First
		if d.t.Messages[m].Role != pemmican.System || d.places[i].message < 0 || m == len(d.t.Messages)-1 || d.t.Messages[m+1].Role == pemmican.Assistant {
			continue
		}
		c.Block(format.RuleSystemNotFirst, i, "a system message among the others must stand in front of an assistant message, or last", nil)
	}
}

// checkLast reports an answer that the assistant shall go on writing, which the API refuses while thinking is on. An
// answer with a tool that a server runs may be a paused one, which is sent again to go on.
func (d *Doc) checkLast(c *wire.Checker) {
	kind, _ := jsonspan.Lookup(d.data, d.in.Body, "thinking", "type")
	if on := wire.Text(d.data, kind); d.in.Bare() || on != "enabled" && on != "adaptive" || len(d.t.Messages) == 0 {
		return
	}
	msg := &d.t.Messages[len(d.t.Messages)-1]
	if msg.Role != pemmican.Assistant {
		return
	}
	for i := msg.First; i < msg.End; i++ {
		if k := d.t.Blocks[i].Kind; k == pemmican.Opaque || k == pemmican.ToolCall {
			return
		}
	}
	c.Block(format.RuleLastRole, msg.First, "the conversation ends with the assistant, which is refused while thinking is on", nil)
}

// cacheMarks counts the blocks with cache_control.
func (d *Doc) cacheMarks() int {
	if bytes.Count(d.data, []byte("cache_control")) <= maxCacheMarks {
		return 0
	}
	marked := func(v jsonspan.Span) int {
		if val, ok := jsonspan.Get(d.data, v, "cache_control"); ok && jsonspan.KindAt(d.data, val) == jsonspan.KindObject {
			return 1
		}
		return 0
	}
	n := 0
	if !d.in.Bare() {
		n += marked(d.in.Body) // the body itself, for a mark that moves along by itself
	}
	for _, list := range []jsonspan.Span{d.in.System, d.in.Tools} {
		for v := range jsonspan.Elements(d.data, list) {
			n += marked(v)
		}
	}
	for i := range d.messages {
		for v := range jsonspan.Elements(d.data, d.messages[i].content) {
			n += marked(v)
			content, _ := jsonspan.Get(d.data, v, "content")
			for w := range jsonspan.Elements(d.data, content) {
				n += marked(w)
			}
		}
	}
	return n
}

// where names the place of a block.
func (d *Doc) where(i int) string {
	p := &d.places[i]
	s := fmt.Sprintf("messages[%d]", p.message)
	switch {
	case p.message < 0 && jsonspan.KindAt(d.data, d.in.System) == jsonspan.KindString:
		return "system"
	case p.message < 0:
		return fmt.Sprintf("system[%d]", p.part)
	case p.part < 0:
		return s
	case jsonspan.KindAt(d.data, d.messages[p.message].content) == jsonspan.KindString:
		return s + ".content"
	}
	s += fmt.Sprintf(".content[%d]", p.part)
	if p.sub >= 0 {
		s += fmt.Sprintf(".content[%d]", p.sub)
	}
	return s
}

// spans returns where block i stands, what of that a stub replaces, and what in it is a block of its own.
func (d *Doc) spans(i int) (all jsonspan.Span, stub, inner []jsonspan.Span) {
	at := &d.places[i]
	all = at.span
	switch {
	case at.part < 0:
		return all, nil, nil
	case jsonspan.KindAt(d.data, all) != jsonspan.KindObject:
		return all, []jsonspan.Span{all}, nil
	}
	member := func(name string) (v jsonspan.Span) {
		v, ok := jsonspan.Get(d.data, all, name)
		if ok {
			stub = append(stub, v)
		}
		return v
	}
	switch d.t.Blocks[i].Kind {
	case pemmican.Text:
		member("text")
	case pemmican.ToolCall:
		member("input")
	case pemmican.ToolResult:
		content := member("content")
		if jsonspan.KindAt(d.data, content) != jsonspan.KindArray {
			break
		}
		stub = nil
		for part := range jsonspan.Elements(d.data, content) {
			_, value, ok := textOf(d.data, part)
			switch {
			case ok && stub == nil && value.Empty():
				stub = []jsonspan.Span{} // The text is written into this part, which has none.
			case ok && stub == nil:
				stub = []jsonspan.Span{value}
			case ok:
				stub = append(stub, part)
			}
		}
		for k := i + 1; k < len(d.places) && d.places[k].sub >= 0 && d.places[k].part == at.part && d.places[k].message == at.message; k++ {
			inner = append(inner, d.places[k].span)
		}
	}
	return all, stub, inner
}
