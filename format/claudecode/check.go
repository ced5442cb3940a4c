package claudecode

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// Check returns what Anthropic's API would refuse in the live conversation, and what is lost because the agent cannot read
// a line or does not find it.
//
// Claude Code 2.1.332 mends some things by itself when it resumes, and these are no findings: it answers calls at the end
// that have no result, leaves out orphaned calls and results and messages of thinking only, and puts "(no content)" for
// an empty text (observed). Neither are bytes that are no UTF-8, since it reads U+FFFD for them.
//
// All fixes can be applied together.
func (d *Doc) Check() []format.Finding {
	n := len(d.tr.Blocks)
	c := checker{d: d, dropped: make([]bool, n), left: make([]bool, n), partner: d.tr.Partners()}
	half := d.halfLines()
	for _, no := range d.bad {
		if half[no] {
			continue // What stood there was never whole.
		}
		c.add(format.Finding{
			Rule: format.RuleBadLine, Where: fmt.Sprintf("line %d", no),
			Message: "the line is no JSON, and the agent passes over it",
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

// halfLines returns the numbers of the lines that are cut off.
func (d *Doc) halfLines() map[int]bool {
	half := map[int]bool{}
	if len(d.bad) == 0 {
		return half
	}
	no := 0
	for line := range bytes.Lines(d.data) {
		no++
		line = bytes.TrimRight(line, " \t\r\n")
		for at := 0; at < len(line); {
			v, err := jsonspan.Scan(line, at)
			if err != nil {
				half[no] = errors.Is(err, jsonspan.ErrTruncated)
				break
			}
			at = v.End
		}
	}
	return half
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
			if !c.dropped[i] && !c.left[i] {
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
	left     []bool // what the agent leaves out by itself
	partner  []int  // of each call and result
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

// pairs checks that no call has two results or the id of another, and that results stand behind their call, before the
// model speaks again. A call or a result without its partner is left out.
func (c *checker) pairs() {
	t := &c.d.tr
	late := map[string]int{}      // calls that the model has not waited for
	used := map[string][]int{}    // the newest call with an id, and its result
	answered := map[string]bool{} // ids whose newest call has its result
	var open []int                // calls of the newest message of the model that wait
	for m := range t.Messages {
		msg := &t.Messages[m]
		if msg.Role == pemmican.Assistant {
			for _, i := range open {
				c.left[i] = true
				late[t.Blocks[i].CallID] = i
			}
			open = open[:0]
		}
		for i := msg.First; i < msg.End; i++ {
			b := &t.Blocks[i]
			switch b.Kind {
			case pemmican.ToolCall:
				delete(late, b.CallID)
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
					if call, ok := late[b.CallID]; ok {
						delete(late, b.CallID)
						c.left[call], answered[b.CallID] = false, true
						c.drop(format.RuleResultNotAdjacent, i, fmt.Sprintf("the model speaks between call %q and this result", b.CallID),
							append([]int{call}, c.withMedia(i)...)...)
						continue
					}
					for _, k := range c.withMedia(i) {
						c.left[k] = true
					}
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
	for i := msg.First; i < msg.End; i++ {
		b := &t.Blocks[i]
		thinking = thinking && (b.Kind == pemmican.Reasoning || c.left[i])
		if c.left[i] {
			continue
		}
		switch b.Kind {
		case pemmican.Text, pemmican.Summary:
			if b.Text != "" && strings.TrimSpace(b.Text) == "" && msg.Role != pemmican.System {
				c.drop(format.RuleEmptyContent, i, "the text is nothing but white space", i)
			}
		case pemmican.ToolCall:
			if !isCallID(b.CallID) {
				pair := []int{i}
				if r := c.partner[i]; r >= 0 {
					pair = append(pair, c.withMedia(r)...)
				}
				c.drop(format.RuleBadID, i, fmt.Sprintf("the id %q is not made of letters, digits, _ and - alone", b.CallID), pair...)
			}
			if args := []byte(b.Args); jsonspan.KindAt(args, jsonspan.Span{End: len(args)}) != jsonspan.KindObject {
				c.stub(format.RuleBadArguments, i, "the arguments are no JSON object", "{}")
			}
		}
	}
	for i := msg.First; thinking && i < msg.End; i++ {
		c.left[i] = true
	}
}

// stub adds a finding that replacing one block mends.
func (c *checker) stub(rule string, i int, message, text string) {
	fix := map[int]pemmican.Mark{i: {Action: pemmican.Stub, Text: text, Stage: "repair", Why: rule}}
	c.add(format.Finding{Rule: rule, Where: c.where(i), Message: message, Fixable: true, Fix: fix})
}

// encoding checks the bytes of a line's blocks for what no JSON parser of a provider takes. The text of the block, in
// which such places have become U+FFFD, mends it.
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
		if c.left[i] || !hasLoneSurrogate(raw) {
			continue
		}
		const message = `it holds half of a surrogate pair, such as \ud83d alone`
		if b := &c.d.tr.Blocks[i]; b.Kind == pemmican.Text || b.Kind == pemmican.ToolResult {
			c.stub(format.RuleLoneSurrogate, i, message, b.Text)
		} else {
			c.drop(format.RuleLoneSurrogate, i, message)
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
		if msg.Role == pemmican.System || c.dropped[i] || c.left[i] {
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
