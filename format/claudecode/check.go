package claudecode

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// Check returns what Anthropic's API would refuse in the live conversation, and what the agent cannot read in the file.
// Claude Code 2.1.332 mends some of it by itself when it resumes: it leaves out orphaned calls and results and messages
// of thinking only, and puts "(no content)" for an empty text (observed); that is no reason to rely on it. Calls at the
// end that no result answers are no finding: the agent answers them itself when it resumes (observed).
//
// All fixes can be applied together.
func (d *Doc) Check() []format.Finding {
	c := checker{d: d, dropped: make([]bool, len(d.tr.Blocks))}
	for _, no := range d.bad {
		c.add(format.Finding{
			Rule: format.RuleBadLine, Where: fmt.Sprintf("line %d", no),
			Message: "the line is no JSON, or only half of it; the agent passes over it",
		})
	}
	if d.broken >= 0 {
		c.add(format.Finding{
			Rule: format.RuleBrokenChain, Where: fmt.Sprintf("line %d", d.lines[d.broken].no),
			Message: "its parent is not in the file, so that the conversation begins here",
		})
	}
	c.pairs()
	for m := range d.tr.Messages {
		c.message(m)
	}
	for i := range d.entries {
		c.encoding(&d.entries[i])
	}
	c.settle()
	c.firstRole()
	for _, f := range c.findings {
		for i := range f.Fix {
			if c.dropped[i] {
				f.Fix[i] = dropMark(f.Rule)
			}
		}
	}
	return c.findings
}

func dropMark(rule string) pemmican.Mark {
	return pemmican.Mark{Action: pemmican.Drop, Stage: "repair", Why: rule}
}

// settle lets reasoning go with the rest of its message, since it cannot stand alone.
func (c *checker) settle() {
	t := &c.d.tr
	for _, msg := range t.Messages {
		if msg.Role != pemmican.Assistant {
			continue
		}
		var rest []int
		alone := true
		for i := msg.First; i < msg.End; i++ {
			if !c.dropped[i] {
				rest = append(rest, i)
				alone = alone && t.Blocks[i].Kind == pemmican.Reasoning
			}
		}
		if !alone || len(rest) == 0 || len(rest) == msg.End-msg.First {
			continue
		}
		for _, f := range c.findings {
			for i := msg.First; i < msg.End; i++ {
				if f.Fix[i].Action != pemmican.Drop {
					continue
				}
				for _, k := range rest {
					f.Fix[k] = dropMark(f.Rule)
					c.dropped[k] = true
				}
				break
			}
		}
	}
}

type checker struct {
	d        *Doc
	findings []format.Finding
	dropped  []bool // what the fixes so far drop
}

func (c *checker) add(f format.Finding) { c.findings = append(c.findings, f) }

// drop adds a finding that dropping blocks mends.
func (c *checker) drop(rule string, block int, message string, blocks ...int) {
	fix := map[int]pemmican.Mark{}
	for _, i := range blocks {
		c.dropped[i] = true
		fix[i] = dropMark(rule)
	}
	c.add(format.Finding{Rule: rule, Where: c.where(block), Message: message, Fixable: len(fix) > 0, Fix: fix})
}

// where names the line of a block.
func (c *checker) where(block int) string {
	i, _ := slices.BinarySearchFunc(c.d.entries, block, func(e entry, block int) int {
		if e.end <= block {
			return -1
		}
		return 1
	})
	if i < len(c.d.entries) {
		switch e := &c.d.entries[i]; {
		case e.line >= 0:
			return fmt.Sprintf("line %d", c.d.lines[e.line].no)
		case e.queue >= 0:
			return fmt.Sprintf("line %d", c.d.queue[e.queue].no)
		}
	}
	return "the system text"
}

// withMedia returns a result and what else it holds.
func (c *checker) withMedia(result int) []int {
	blocks := []int{result}
	t := &c.d.tr
	for i := result + 1; i < len(t.Blocks) && !c.d.origins[i].part.Empty() && c.d.origins[i].element == c.d.origins[result].element; i++ {
		blocks = append(blocks, i)
	}
	return blocks
}

// pairs checks that every call has one result, behind it and before the model speaks again, and every result its call.
func (c *checker) pairs() {
	t := &c.d.tr
	used := map[string][]int{}    // the newest call with an id, and its result
	answered := map[string]bool{} // ids whose newest call has its result
	var open []int                // calls of the newest message of the model that wait
	for m := range t.Messages {
		msg := &t.Messages[m]
		if msg.Role == pemmican.Assistant {
			for _, i := range open {
				b := &t.Blocks[i]
				c.drop(format.RuleCallWithoutResult, i, fmt.Sprintf("call %q of %s has no result", b.CallID, b.Tool), i)
			}
			open = open[:0]
		}
		for i := msg.First; i < msg.End; i++ {
			b := &t.Blocks[i]
			switch b.Kind {
			case pemmican.ToolCall:
				if old := used[b.CallID]; len(old) > 0 {
					c.drop(format.RuleDuplicateCallID, old[0], fmt.Sprintf("the call id %q is used again later", b.CallID),
						old...)
				}
				used[b.CallID], answered[b.CallID] = []int{i}, false
				open = append(open, i)
			case pemmican.ToolResult:
				k := slices.IndexFunc(open, func(k int) bool { return t.Blocks[k].CallID == b.CallID })
				switch {
				case k >= 0:
					used[b.CallID] = append([]int{open[k]}, c.withMedia(i)...)
					open = slices.Delete(open, k, k+1)
					answered[b.CallID] = true
				case answered[b.CallID]:
					c.drop(format.RuleDuplicateResult, i, fmt.Sprintf("call %q has a result already", b.CallID), c.withMedia(i)...)
				default:
					c.drop(format.RuleResultWithoutCall, i, fmt.Sprintf("result %q has no call before it", b.CallID), c.withMedia(i)...)
				}
			}
		}
	}
}

// message checks one message for what is wrong in itself.
func (c *checker) message(m int) {
	t := &c.d.tr
	msg := t.Messages[m]
	thinking := msg.Role == pemmican.Assistant
	var all []int
	for i := msg.First; i < msg.End; i++ {
		b := &t.Blocks[i]
		thinking = thinking && b.Kind == pemmican.Reasoning
		all = append(all, i)
		if (b.Kind == pemmican.ToolCall || b.Kind == pemmican.ToolResult) && !isCallID(b.CallID) {
			c.drop(format.RuleBadID, i, fmt.Sprintf("the id %q is not made of letters, digits, _ and - alone", b.CallID))
		}
		switch b.Kind {
		case pemmican.Text, pemmican.Summary:
			if strings.TrimSpace(b.Text) == "" && msg.Role != pemmican.System {
				c.drop(format.RuleEmptyContent, i, "the text is blank", i)
			}
		case pemmican.ToolCall:
			if args := []byte(b.Args); jsonspan.KindAt(args, jsonspan.Span{End: len(args)}) != jsonspan.KindObject {
				c.stub(format.RuleBadArguments, i, "the arguments are no JSON object", "{}")
			}
		}
	}
	if thinking && len(all) > 0 && !c.dropped[all[0]] {
		c.drop(format.RuleThinkingOnly, all[0], "the message holds reasoning and nothing else", all...)
	}
}

// stub adds a finding that replacing one block mends.
func (c *checker) stub(rule string, i int, message, text string) {
	fix := map[int]pemmican.Mark{i: {Action: pemmican.Stub, Text: text, Stage: "repair", Why: rule}}
	c.add(format.Finding{Rule: rule, Where: c.where(i), Message: message, Fixable: true, Fix: fix})
}

// encoding checks the bytes of a line's blocks for what no UTF-8 decoder and no JSON parser takes. The text of the block,
// in which such places have become U+FFFD, mends it.
func (c *checker) encoding(e *entry) {
	if e.line < 0 {
		return
	}
	l := &c.d.lines[e.line]
	for i := e.first; i < e.end; i++ {
		at := c.d.origins[i]
		if !at.part.Empty() {
			continue // It lies in its result, which tells.
		}
		raw := at.element.Of(c.d.data)
		if at.element.Empty() {
			raw = l.content.Of(c.d.data)
		}
		report := func(rule, message string) {
			b := &c.d.tr.Blocks[i]
			if b.Kind == pemmican.Text || b.Kind == pemmican.ToolResult {
				c.stub(rule, i, message, b.Text)
			} else {
				c.drop(rule, i, message)
			}
		}
		if !utf8.Valid(raw) {
			report(format.RuleInvalidUTF8, "it holds bytes that are no UTF-8")
		}
		if hasLoneSurrogate(raw) {
			report(format.RuleLoneSurrogate, `it holds half of a surrogate pair, such as \ud83d alone`)
		}
	}
}

// hasLoneSurrogate reports whether JSON text holds an escaped surrogate without its other half.
func hasLoneSurrogate(raw []byte) bool {
	unit := func(i int) (high, low bool) {
		if len(raw)-i < 6 || raw[i] != '\\' || raw[i+1] != 'u' || raw[i+2]|0x20 != 'd' {
			return false, false
		}
		switch c := raw[i+3] | 0x20; {
		case strings.IndexByte("89ab", c) >= 0:
			return true, false
		case strings.IndexByte("cdef", c) >= 0:
			return false, true
		}
		return false, false
	}
	for i := 0; i < len(raw); {
		n := bytes.IndexByte(raw[i:], '\\')
		if n < 0 {
			return false
		}
		i += n
		high, low := unit(i)
		switch {
		case low:
			return true
		case high:
			if _, ok := unit(i + 6); !ok {
				return true
			}
			i += 12
		default:
			i += 2
		}
	}
	return false
}

func isCallID(id string) bool {
	for _, c := range []byte(id) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return id != ""
}

// firstRole checks that the conversation begins with a message in the user role; what stands before one has to go.
func (c *checker) firstRole() {
	t := &c.d.tr
	var before []int
	first := -1
	for i := range t.Blocks {
		msg := &t.Messages[t.Blocks[i].Message]
		if msg.Role == pemmican.System || c.dropped[i] {
			continue
		}
		if msg.Role == pemmican.User {
			break
		}
		if first < 0 {
			if msg.Role != pemmican.Assistant {
				return
			}
			first = i
		}
		before = append(before, i)
	}
	if first >= 0 {
		c.drop(format.RuleFirstRole, first, "the conversation begins with the model, not with a user message", before...)
	}
}
