package pi

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// Check returns what pi does not survive in the file, what the provider would refuse in what pi sends, and what is lost
// because pi passes over a line or does not find it.
//
// pi mends some things by itself, and these are no findings: it leaves answers out that failed or were aborted, tells
// the model of a call without a result that there is none, and takes lone surrogates out of every text but arguments
// (observed). It does not mend results without a call, so the results behind an answer that failed are such.
//
// Marks that mend a finding need a pi that honours context_edit lines; for an older one nothing is fixable.
func (d *Doc) Check() []format.Finding {
	c := checker{d: d, gone: map[int]bool{}}
	c.lines()
	c.entries()
	c.compaction()
	c.calls()
	c.messages()
	return c.findings
}

type checker struct {
	d        *Doc
	findings []format.Finding
	gone     map[int]bool // blocks that the fixes so far drop
}

func (c *checker) report(rule string, line int, fix map[int]pemmican.Mark, msg string, args ...any) {
	f := format.Finding{Rule: rule, Where: where(line), Message: fmt.Sprintf(msg, args...)}
	if c.d.edits && len(fix) > 0 {
		f.Fixable, f.Fix = true, fix
	}
	c.findings = append(c.findings, f)
}

func where(line int) string { return fmt.Sprintf("line %d", line) }

// line is where a message stands. The system text stands in no line of its own, and is never reported.
func (c *checker) line(m int) int { return c.d.entries[max(0, c.d.src[m])].line }

// lines reports what reading the lines met, but for lines that are cut off: what stood there was never whole.
func (c *checker) lines() {
	d := c.d
	if len(d.problems) == 0 {
		return
	}
	half := map[string]bool{}
	for n, line := range lines(d.data) {
		_, err := jsonspan.Scan(line.Of(d.data), 0)
		half[where(n)] = errors.Is(err, jsonspan.ErrTruncated)
	}
	for _, f := range d.problems {
		switch {
		case f.Rule == format.RuleBadLine && half[f.Where]:
			continue
		case f.Rule == format.RuleBrokenChain && len(d.path) > 0:
			if _, loop := d.byID[d.entries[d.path[0]].parent]; loop {
				f.Rule = format.RuleAgentFails
			}
		}
		c.findings = append(c.findings, f)
	}
}

// entries looks at lines, live or not.
func (c *checker) entries() {
	d := c.d
	if d.version == 1 {
		return
	}
	seen := map[string]int{}
	for i := 1; i < len(d.entries); i++ {
		e := &d.entries[i]
		first, twice := seen[e.id]
		switch {
		case e.kind == kindHeader:
		case e.id == "":
			if e.sent() && i != d.leaf() {
				c.report(format.RuleBadLine, e.line, nil, "the line has no id, so pi never sends it")
			}
		case twice:
			if e.sent() || d.entries[first].sent() {
				c.report(format.RuleBadLine, e.line, nil, "the id %q is that of line %d too, which pi forgets", e.id, d.entries[first].line)
			}
		default:
			seen[e.id] = i
		}
	}
	if !d.edits {
		return
	}
	for _, i := range d.path {
		if e := &d.entries[i]; e.kind == kindEdit && !d.has(e.span, "replacement") {
			c.report(format.RuleAgentFails, e.line, nil, "the context_edit has no replacement, which pi does not survive")
		}
	}
}

// compaction looks at the newest compaction on the path: pi takes it as it is, and sends it with what it keeps.
func (c *checker) compaction() {
	d := c.d
	if d.compaction < 0 {
		return
	}
	i := d.path[d.compaction]
	e := &d.entries[i]
	if summary, _ := d.index.Get(d.data, e.span, "summary"); jsonspan.KindAt(d.data, summary) != jsonspan.KindString {
		if _, edited := d.liveEdits()[i]; !edited {
			c.report(format.RuleBadLine, e.line, nil, "the compaction has no summary that is a text, so nothing tells the model what was before")
		}
	}
	if d.version == 1 || d.keptFrom() < d.compaction {
		return // in version 1 an index always means something, if only that nothing is kept
	}
	if kept := d.text(e.span, "firstKeptEntryId"); kept != e.id { // its own id says that it keeps nothing
		c.report(format.RuleBrokenChain, e.line, nil,
			"the compaction keeps what begins with %q, which is not before it, so pi sends its summary and what follows alone", kept)
	}
}

// sent reports whether a line holds something that is sent, or says what is.
func (e *entry) sent() bool {
	switch e.kind {
	case kindHeader, kindOther, kindSessionInfo, kindCustom:
		return false
	}
	return true
}

// messages looks at each live message for itself. Thinking without a signature is no finding: pi sends it as text.
func (c *checker) messages() {
	d := c.d
	first := true
	for m := range d.tr.Messages {
		msg := &d.tr.Messages[m]
		if msg.Role == pemmican.System {
			continue
		}
		if msg.Role == pemmican.Tool && c.gone[msg.First] {
			continue
		}
		if first && msg.Role != pemmican.User {
			c.report(format.RuleFirstRole, c.line(m), nil, "the conversation begins with a message of the %s, and must begin with the user's", msg.Role)
		}
		first = false
		if msg.Role != pemmican.Assistant {
			continue
		}
		thinking, bound := true, false
		for i := msg.First; i < msg.End; i++ {
			thinking = thinking && d.tr.Blocks[i].Kind == pemmican.Reasoning
			bound = bound || d.tr.Blocks[i].Bound
		}
		if thinking && bound {
			c.report(format.RuleThinkingOnly, c.line(m), c.dropMessage(m), "the answer holds only thinking")
		}
		e := &d.entries[d.src[m]]
		if d.content[m] == e.content && jsonspan.KindAt(d.data, e.content) == jsonspan.KindString {
			fix := map[int]pemmican.Mark{msg.First: mark(pemmican.Stub, d.tr.Blocks[msg.First].Text)}
			c.report(format.RuleAgentFails, e.line, fix, "the content of the answer is a string, which pi does not survive")
		}
	}
}

// calls looks at calls and results over the whole conversation.
func (c *checker) calls() {
	d, t := c.d, &c.d.tr
	partner := t.Partners()
	barrier := make([]int, len(t.Messages)) // the nearest message before that holds no results
	for m := range t.Messages {
		barrier[m] = m - 1
		if m > 0 && t.Messages[m-1].Role == pemmican.Tool {
			barrier[m] = barrier[m-1]
		}
	}
	answered := map[string]bool{}
	for i := range t.Blocks {
		b := &t.Blocks[i]
		m := b.Message
		switch b.Kind {
		case pemmican.ToolCall:
			c.arguments(i)
			for j := t.Messages[m].First; j < i; j++ {
				if t.Blocks[j].Kind == pemmican.ToolCall && t.Blocks[j].CallID == b.CallID {
					c.report(format.RuleDuplicateCallID, c.line(m), nil, "the call id %q stands twice in one answer", b.CallID)
					break
				}
			}
		case pemmican.ToolResult:
			call := partner[i]
			switch {
			case call < 0 && answered[b.CallID]:
				c.report(format.RuleDuplicateResult, c.line(m), c.dropMessage(m), "the call %q has a result already", b.CallID)
			case call < 0:
				c.report(format.RuleResultWithoutCall, c.line(m), c.dropMessage(m), "the result of the call %q has no call before it", b.CallID)
			case barrier[m] != t.Blocks[call].Message:
				fix := c.dropCall(call)
				maps.Copy(fix, c.dropMessage(m))
				c.report(format.RuleResultNotAdjacent, c.line(m), fix,
					"the result does not stand directly behind its call %q in line %d, and pi moves nothing", b.CallID, d.entries[d.src[t.Blocks[call].Message]].line)
			}
			answered[b.CallID] = true
		}
	}
}

// arguments looks at the arguments of a call.
func (c *checker) arguments(i int) {
	d, b := c.d, &c.d.tr.Blocks[i]
	line := c.line(b.Message)
	v, _ := d.index.Get(d.data, d.parts[i], "arguments")
	if jsonspan.KindAt(d.data, v) != jsonspan.KindObject {
		args := "{}"
		if s, err := jsonspan.Scan([]byte(b.Args), 0); err == nil && jsonspan.KindAt([]byte(b.Args), s) == jsonspan.KindObject && s.End == len(b.Args) {
			args = b.Args[s.Start:]
		}
		c.report(format.RuleBadArguments, line, map[int]pemmican.Mark{i: mark(pemmican.Stub, args)},
			"the arguments of the call %q are no JSON object", b.CallID)
		return
	}
	if mended, found := mendSurrogates(b.Args); found {
		c.report(format.RuleLoneSurrogate, line, map[int]pemmican.Mark{i: mark(pemmican.Stub, mended)},
			"the arguments of the call %q hold half a character, which is no Unicode", b.CallID)
	}
}

func mark(action pemmican.Action, text string) pemmican.Mark {
	return pemmican.Mark{Action: action, Text: text, Stage: "check", Why: "it would be refused"}
}

func (c *checker) dropMessage(m int) map[int]pemmican.Mark {
	fix := map[int]pemmican.Mark{}
	for i := c.d.tr.Messages[m].First; i < c.d.tr.Messages[m].End; i++ {
		fix[i] = mark(pemmican.Drop, "")
		c.gone[i] = true
	}
	return fix
}

// dropCall drops a call, and its whole message if nothing but thinking would be left of it.
func (c *checker) dropCall(call int) map[int]pemmican.Mark {
	c.gone[call] = true
	m := c.d.tr.Blocks[call].Message
	for i := c.d.tr.Messages[m].First; i < c.d.tr.Messages[m].End; i++ {
		if !c.gone[i] && c.d.tr.Blocks[i].Kind != pemmican.Reasoning {
			return map[int]pemmican.Mark{call: mark(pemmican.Drop, "")}
		}
	}
	return c.dropMessage(m)
}

// mendSurrogates replaces every escape in JSON that is half of a surrogate pair by that of U+FFFD.
func mendSurrogates(text string) (mended string, found bool) {
	if !strings.Contains(text, `\u`) {
		return text, false
	}
	out := []byte(text)
	for i := 0; i+1 < len(out); i++ {
		if out[i] != '\\' {
			continue
		}
		switch surrogate(out[i:]) {
		case high:
			if surrogate(out[i+6:]) == low {
				i += 11
				continue
			}
			fallthrough
		case low:
			copy(out[i:], `\ufffd`)
			found = true
			i += 5
		default:
			i++ // whatever is escaped, perhaps a backslash
		}
	}
	return string(out), found
}

const (
	noSurrogate = iota
	high
	low
)

func surrogate(escape []byte) int {
	if len(escape) < 6 || escape[0] != '\\' || escape[1] != 'u' || escape[2] != 'd' && escape[2] != 'D' {
		return noSurrogate
	}
	switch {
	case strings.IndexByte("89abAB", escape[3]) >= 0:
		return high
	case strings.IndexByte("cdefCDEF", escape[3]) >= 0:
		return low
	}
	return noSurrogate
}
