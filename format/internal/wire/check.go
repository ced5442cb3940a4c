package wire

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// Checker collects findings on a transcript.
type Checker struct {
	T *pemmican.Transcript
	// Where names the place of a block.
	Where func(block int) string
	// Data is the input.
	Data []byte
	// Spans returns where the block stands in the input, what of it a stub replaces, and what in it is a block of its
	// own.
	Spans func(block int) (all jsonspan.Span, stub, inner []jsonspan.Span)
	// UserFirst is true if the first message must be the user's.
	UserFirst bool
	// StrictEnds is true if no answer may end with reasoning, nor the last message, if it is one, with white space.
	StrictEnds bool
	// Blank reports whether a provider takes this text for none.
	Blank func(text string) bool

	findings []format.Finding
	partner  []int
}

// Report adds a finding that the marks in fix mend; nil is one that no plan can mend.
func (c *Checker) Report(rule, where, message string, fix map[int]pemmican.Mark) {
	c.findings = append(c.findings, format.Finding{Rule: rule, Where: where, Message: message, Fixable: len(fix) > 0, Fix: fix})
}

// Block adds a finding at a block.
func (c *Checker) Block(rule string, block int, message string, fix map[int]pemmican.Mark) {
	c.Report(rule, c.Where(block), message, fix)
}

// Drop makes the marks that drop blocks; a negative index is none.
func Drop(why string, blocks ...int) map[int]pemmican.Mark {
	fix := map[int]pemmican.Mark{}
	for _, i := range blocks {
		if i >= 0 {
			fix[i] = pemmican.Mark{Action: pemmican.Drop, Stage: "check", Why: why}
		}
	}
	return fix
}

// Stub makes the mark that gives a block another text.
func Stub(why string, block int, text string) map[int]pemmican.Mark {
	return map[int]pemmican.Mark{block: {Action: pemmican.Stub, Text: text, Stage: "check", Why: why}}
}

// Pairs checks calls and results. Adjacent reports whether a result stands where the provider looks for the results of
// its call. Ids must be unique among the calls that scope gives the same name.
func (c *Checker) Pairs(adjacent func(call, result int) bool, scope func(call int) string, badID func(id string) string) {
	t := c.T
	c.pair()
	same := map[string][]int{}
	for i := range t.Blocks {
		if t.Blocks[i].Kind == pemmican.ToolCall {
			same[scope(i)] = append(same[scope(i)], i)
		}
	}
	twice := map[int]bool{}
	for _, calls := range same {
		// The newest answered one stays, since the agent works with it.
		stays := len(calls) - 1
		for k := stays; k >= 0; k-- {
			if c.partner[calls[k]] >= 0 {
				stays = k
				break
			}
		}
		for k, i := range calls {
			twice[i] = k != stays
		}
	}
	answered := map[string]bool{}
	for i := range t.Blocks {
		b := &t.Blocks[i]
		p := c.partner[i]
		switch b.Kind {
		case pemmican.ToolCall:
			switch {
			case twice[i]:
				c.Block(format.RuleDuplicateCallID, i, fmt.Sprintf("the id %q is that of another call too", b.CallID), Drop("another call has its id", i, p))
			case p < 0:
				c.Block(format.RuleCallWithoutResult, i, fmt.Sprintf("the call %q of %s has no result", b.CallID, b.Tool), Drop("it has no result", i))
			case !adjacent(i, p):
				msg := fmt.Sprintf("the result of call %q does not stand directly behind it; since nothing is ever moved, both go", b.CallID)
				c.Block(format.RuleResultNotAdjacent, p, msg, Drop("its result does not stand behind it", i, p))
			}
			if msg := badID(b.CallID); msg != "" {
				c.Block(format.RuleBadID, i, msg, Drop("the provider refuses its id", i, p))
			}
		case pemmican.ToolResult:
			switch {
			case p >= 0:
				answered[b.CallID] = true
			case answered[b.CallID]:
				c.Block(format.RuleDuplicateResult, i, fmt.Sprintf("the call %q has a result already", b.CallID), c.dropResult(i, "its call has a result already"))
			default:
				c.Block(format.RuleResultWithoutCall, i, fmt.Sprintf("no call %q stands before this result", b.CallID), c.dropResult(i, "its call is not there"))
			}
		}
	}
}

// dropResult drops a result and what hangs on it.
func (c *Checker) dropResult(i int, why string) map[int]pemmican.Mark {
	blocks := []int{i}
	for k := i + 1; k < len(c.T.Blocks) && c.hangsOn(k, i); k++ {
		blocks = append(blocks, k)
	}
	return Drop(why, blocks...)
}

// hangsOn reports whether block k is media or the like inside result i.
func (c *Checker) hangsOn(k, i int) bool {
	b, r := &c.T.Blocks[k], &c.T.Blocks[i]
	return r.Kind == pemmican.ToolResult && b.Kind != pemmican.ToolResult && b.Message == r.Message && b.CallID != "" && b.CallID == r.CallID
}

// pair finds the result of each call.
func (c *Checker) pair() {
	open := OpenCalls{}
	c.partner = make([]int, len(c.T.Blocks))
	for i := range c.T.Blocks {
		c.partner[i] = -1
		switch b := &c.T.Blocks[i]; b.Kind {
		case pemmican.ToolCall:
			open.Add(b.CallID, b.Message, i)
		case pemmican.ToolResult:
			if k := open.Answer(b.CallID); k >= 0 {
				c.partner[i], c.partner[k] = k, i
			}
		}
	}
}

// OpenCalls are the calls that wait for a result, by id, as blocks of a transcript.
type OpenCalls map[string][]openStep

// openStep are the calls of one message that wait, in order.
type openStep struct {
	message int
	calls   []int
}

// Add adds a call of a message.
func (o OpenCalls) Add(id string, message, call int) {
	steps := o[id]
	if n := len(steps); n > 0 && steps[n-1].message == message {
		steps[n-1].calls = append(steps[n-1].calls, call)
		return
	}
	o[id] = append(steps, openStep{message, []int{call}})
}

// Answer takes out the call that a result with this id answers, by the rule of package pemmican: the nearest one before
// it, and within one message the first; -1 if none waits.
func (o OpenCalls) Answer(id string) int {
	steps := o[id]
	n := len(steps)
	if n == 0 {
		return -1
	}
	call := steps[n-1].calls[0]
	if steps[n-1].calls = steps[n-1].calls[1:]; len(steps[n-1].calls) == 0 {
		o[id] = steps[:n-1]
	}
	return call
}

// Arguments checks that the arguments of a call are an object, written as one; wrong says how they are not.
func (c *Checker) Arguments(i int, wrong string) {
	if wrong != "" {
		c.Block(format.RuleBadArguments, i, wrong, Stub("its arguments were no JSON object", i, RepairArguments(c.T.Blocks[i].Args)))
	}
}

// Bytes checks the bytes of each block for what makes a body invalid as text.
func (c *Checker) Bytes() {
	const why = "it held text that is no Unicode"
	for i := range c.T.Blocks {
		b := &c.T.Blocks[i]
		all, stub, inner := c.Spans(i)
		lone, invalid := c.outside(all, slices.Concat(stub, inner))
		// It is broken where no stub reaches: in a name, say.
		beyond := lone || invalid
		for _, s := range stub {
			l, v := badText(c.Data, s)
			lone, invalid = lone || l, invalid || v
		}
		// Arguments that are JSON in a string have escapes of their own.
		lone = lone || b.Kind == pemmican.ToolCall && IsObject(b.Args) && LoneSurrogate([]byte(b.Args)) >= 0
		if !lone && !invalid {
			continue
		}
		var fix map[int]pemmican.Mark
		switch b.Kind {
		case pemmican.Text, pemmican.ToolResult:
			fix = Stub(why, i, b.Text) // Decoding has replaced what was broken.
		case pemmican.ToolCall:
			fix = Stub(why, i, RepairArguments(b.Args))
		case pemmican.Reasoning:
			fix = Drop(why, i) // It may be signed, and must not be changed.
		}
		if beyond && b.Kind != pemmican.Reasoning {
			fix = nil
		}
		if lone {
			c.Block(format.RuleLoneSurrogate, i, "a string holds half of a surrogate pair", fix)
		}
		if invalid {
			c.Block(format.RuleInvalidUTF8, i, "the bytes are not valid UTF-8", fix)
		}
	}
}

// Around checks the bytes of what is in the request, but for the blocks in it, which Bytes checks.
func (c *Checker) Around(all jsonspan.Span, where string, blocks ...jsonspan.Span) {
	lone, invalid := c.outside(all, blocks)
	if lone {
		c.Report(format.RuleLoneSurrogate, where, "a string holds half of a surrogate pair", nil)
	}
	if invalid {
		c.Report(format.RuleInvalidUTF8, where, "the bytes are not valid UTF-8", nil)
	}
}

// outside checks the bytes of a span that are in none of the spans inside it, which it sorts.
func (c *Checker) outside(all jsonspan.Span, inside []jsonspan.Span) (lone, invalid bool) {
	slices.SortFunc(inside, func(a, b jsonspan.Span) int { return a.Start - b.Start })
	at := all.Start
	for _, s := range append(inside, jsonspan.Span{Start: all.End, End: all.End}) {
		l, v := badText(c.Data, jsonspan.Span{Start: at, End: s.Start})
		lone, invalid = lone || l, invalid || v
		at = max(at, s.End)
	}
	return lone, invalid
}

func badText(data []byte, s jsonspan.Span) (lone, invalid bool) {
	raw := data[s.Start:max(s.Start, s.End)]
	return LoneSurrogate(raw) >= 0, !utf8.Valid(raw)
}

// Findings returns what was found. All marks of all fixes go together: they include what a fix leaves that must go with
// it, and agree on each block.
func (c *Checker) Findings() []format.Finding {
	if c.partner == nil {
		c.pair()
	}
	if c.UserFirst {
		c.userFirst()
	}
	c.hollow()
	if c.UserFirst {
		c.leaders()
	}
	if c.StrictEnds {
		c.trailingSpace()
	}
	gone := c.Dropped()
	for k := range c.findings {
		for i, m := range c.findings[k].Fix {
			if d, ok := gone[i]; ok && m.Action != pemmican.Drop {
				c.findings[k].Fix[i] = d
			}
			if c.T.Blocks[i].Kind == pemmican.ToolResult && c.findings[k].Fix[i].Action == pemmican.Drop {
				for n := i + 1; n < len(c.T.Blocks) && c.hangsOn(n, i); n++ {
					c.findings[k].Fix[n] = c.findings[k].Fix[i]
				}
			}
		}
	}
	return c.findings
}

// Dropped returns the marks of the blocks that the fixes so far drop.
func (c *Checker) Dropped() map[int]pemmican.Mark {
	gone := map[int]pemmican.Mark{}
	for k := range c.findings {
		for i, m := range c.findings[k].Fix {
			if m.Action == pemmican.Drop {
				gone[i] = m
			}
		}
	}
	return gone
}

// All reports whether all blocks of a message are among those that are dropped.
func All(dropped map[int]pemmican.Mark, msg *pemmican.Message) bool {
	for i := msg.First; i < msg.End; i++ {
		if _, ok := dropped[i]; !ok {
			return false
		}
	}
	return true
}

// droppers returns for each block that a fix drops the last finding that does.
func (c *Checker) droppers() map[int]int {
	by := map[int]int{}
	for k := range c.findings {
		for i, m := range c.findings[k].Fix {
			if m.Action == pemmican.Drop {
				by[i] = k
			}
		}
	}
	return by
}

// hollow drops what is left of an assistant message where fixes take all but reasoning and empty text, and the reasoning
// that it would end with.
func (c *Checker) hollow() {
	by := c.droppers()
	goesOn := false // what is left behind the message is the assistant's too, which providers take for one message
	behind := -1    // the finding that takes what stood right behind it
	for m := len(c.T.Messages) - 1; m >= 0; m-- {
		msg := &c.T.Messages[m]
		finding, solid := -1, false
		var rest, end []int
		for i := msg.First; i < msg.End; i++ {
			b := &c.T.Blocks[i]
			if k, ok := by[i]; ok {
				finding = max(finding, k)
				continue
			}
			rest = append(rest, i)
			if b.Kind == pemmican.Reasoning {
				end = append(end, i)
				continue
			}
			end = nil
			solid = solid || b.Kind != pemmican.Text || !c.Blank(b.Text)
		}
		if msg.Role == pemmican.Assistant {
			switch {
			case finding >= 0 && !solid:
				maps.Copy(c.findings[finding].Fix, Drop("nothing else is left of its message", rest...))
				rest = nil
			case c.StrictEnds && solid && !goesOn && max(finding, behind) >= 0:
				maps.Copy(c.findings[max(finding, behind)].Fix, Drop("an answer may not end with it", end...))
			}
		}
		if len(rest) > 0 {
			goesOn, behind = msg.Role == pemmican.Assistant, -1
		} else {
			behind = max(behind, finding)
		}
	}
}

// trailingSpace cuts the white space off the end of an answer that is the last message, or becomes it.
func (c *Checker) trailingSpace() {
	by := c.droppers()
	i, finding := len(c.T.Blocks)-1, -1
	for ; i >= 0; i-- {
		k, ok := by[i]
		if !ok {
			break
		}
		finding = max(finding, k)
	}
	if i < 0 || c.T.Blocks[i].Kind != pemmican.Text || c.T.Messages[c.T.Blocks[i].Message].Role != pemmican.Assistant {
		return
	}
	text := strings.TrimRightFunc(c.T.Blocks[i].Text, unicode.IsSpace)
	if text == c.T.Blocks[i].Text {
		return
	}
	for k := range c.findings {
		if m, ok := c.findings[k].Fix[i]; ok {
			m.Text = text
			c.findings[k].Fix[i] = m
		}
	}
	fix := Stub("the last answer may not end with white space", i, text)
	if finding >= 0 {
		maps.Copy(c.findings[finding].Fix, fix)
	} else {
		c.Block(format.RuleTrailingSpace, i, "the conversation ends with an answer that ends with white space", fix)
	}
}

// userFirst reports a conversation that does not start with the user.
func (c *Checker) userFirst() {
	for m := range c.T.Messages {
		msg := &c.T.Messages[m]
		switch msg.Role {
		case pemmican.System:
			continue
		case pemmican.Assistant:
			fix, _ := c.leading(c.Dropped())
			c.Block(format.RuleFirstRole, msg.First, "the conversation starts with the assistant, not with the user", fix)
		}
		return
	}
}

// leaders drops what would stand first for lack of a user message that fixes take away.
func (c *Checker) leaders() {
	finding := -1
	for _, k := range c.droppers() {
		finding = max(finding, k)
	}
	if fix, ok := c.leading(c.Dropped()); ok && finding >= 0 {
		maps.Copy(c.findings[finding].Fix, fix)
	}
}

// leading makes the marks that drop what stands before the first user message, with all results of the calls there;
// false if there is no user message.
func (c *Checker) leading(gone map[int]pemmican.Mark) (map[int]pemmican.Mark, bool) {
	var blocks []int
	out := map[int]bool{}
	for m := range c.T.Messages {
		msg := &c.T.Messages[m]
		if msg.Role == pemmican.System {
			continue
		}
		for i := msg.First; i < msg.End; i++ {
			if _, ok := gone[i]; ok || out[i] {
				continue
			}
			if msg.Role != pemmican.Assistant {
				return Drop("a conversation starts with the user", blocks...), true
			}
			blocks = append(blocks, i)
			if p := c.partner[i]; p >= 0 {
				if _, ok := gone[p]; !ok {
					out[p] = true
					blocks = append(blocks, p)
					for n := p + 1; n < len(c.T.Blocks) && c.hangsOn(n, p); n++ {
						out[n] = true
					}
				}
			}
		}
	}
	return nil, false
}

// TooLong returns what is wrong with an id of more than n characters, "" if it is not.
func TooLong(id string, n int) string {
	if utf8.RuneCountInString(id) > n {
		return fmt.Sprintf("the id of the call has more than %d characters: %s…", n, strings.ToValidUTF8(id[:min(len(id), 20)], "\uFFFD"))
	}
	return ""
}
