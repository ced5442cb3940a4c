package summary

import (
	"iter"
	"strings"
	"unicode"
)

// A reply is more than its narrative: models think aloud in tags, put the summary into others, or into a fence. This
// file takes that off. What stands in a code span or in a closed code fence is quoted, and is never markup.

// narrativeOf returns the narrative that a reply holds, trimmed, or why there is none. Reasoned says that the provider
// has told reasoning apart from the text.
func narrativeOf(text string, reasoned bool, tools map[string]bool) (string, *Refusal) {
	for range maxLayers {
		rest, refusal := withoutScratch(text)
		if refusal != nil {
			return "", refusal
		}
		if !hasContent(rest) {
			if reasoned || hasContent(text) {
				return "", refuse(ReasonReasoning, "")
			}
			return "", refuse(ReasonEmpty, "")
		}
		// Before the wrapper goes, since a call may stand behind it.
		if call := inlineCall(rest, tools); call != "" {
			return "", refuse(ReasonToolCall, call)
		}
		inner, refusal := unwrapReply(rest)
		if refusal != nil {
			return "", refusal
		}
		if inner == rest {
			return rest, nil
		}
		if !hasContent(inner) {
			return "", refuse(ReasonEmpty, "")
		}
		text = inner
	}
	return "", refuse(ReasonCutOff, "wrapper upon wrapper")
}

func hasContent(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

// maxLayers bounds how much is taken off one reply. No model that means well comes near it.
const maxLayers = 64

// scratch are the names of tags that models think in, as tag.name has them.
var scratch = map[string]bool{
	"analysis": true, "assessment": true, "chainofthought": true, "cot": true, "deliberation": true, "innermonologue": true,
	"internalmonologue": true, "monologue": true, "planning": true, "reasoning": true, "reflection": true, "scratch": true,
	"scratchpad": true, "think": true, "thinking": true, "thought": true, "thoughts": true,
}

// withoutScratch takes off what the model thought aloud: outer tags, closed by whatever scratch tag, all that stands
// before a closing one whose opening one was in the prompt, and whole paragraphs of it further down. A tag in the
// middle of a line is something that the text speaks of.
func withoutScratch(text string) (string, *Refusal) {
	for range maxLayers {
		text = strings.TrimSpace(text)
		mask := withoutCode(text)
		if rest, ok, refusal := finalChannel(text, mask); ok || refusal != nil {
			if refusal != nil {
				return "", refusal
			}
			text = rest
			continue
		}
		if open, ok := tagAt(mask, 0); ok && !open.closing && scratch[open.name] {
			end := closing(mask, open)
			if end < 0 {
				end = closing(text, open) // A thought need not have its quotes in order.
			}
			if end < 0 {
				return "", refuse(ReasonReasoning, "<"+open.name+"> is not closed")
			}
			text = text[end:]
			continue
		}
		if end := loneClosing(mask); end > 0 {
			text = text[end:]
			continue
		}
		start, end := thoughtParagraph(mask)
		if start < 0 {
			return text, nil
		}
		if end < 0 {
			return "", refuse(ReasonCutOff, "it ends in a thought")
		}
		text = text[:start] + text[end:]
	}
	return "", refuse(ReasonReasoning, "")
}

// finalChannel is what stands in the final channel of a reply in OpenAI's harmony format that nobody has parsed, or
// behind a thought in Mistral's brackets.
func finalChannel(text, mask string) (rest string, ok bool, refusal *Refusal) {
	const channel, message = "<|channel|>", "<|message|>"
	if strings.HasPrefix(mask, "[THINK]") {
		i := strings.Index(mask, "[/THINK]")
		if i < 0 {
			return "", false, refuse(ReasonReasoning, "[THINK] is not closed")
		}
		return text[i+len("[/THINK]"):], true, nil
	}
	if !strings.HasPrefix(mask, channel) && !strings.HasPrefix(mask, "<|start|>") {
		return "", false, nil
	}
	if harmonyCall(mask) {
		return "", false, refuse(ReasonToolCall, "commentary to=functions")
	}
	i := strings.LastIndex(mask, channel+"final")
	if i < 0 {
		return "", false, refuse(ReasonReasoning, "no final channel")
	}
	if n := strings.Index(mask[i:], message); n >= 0 {
		text = text[i+n+len(message):]
	} else {
		text = text[i+len(channel+"final"):]
	}
	for _, end := range []string{"<|return|>", "<|end|>"} {
		text = strings.TrimSuffix(strings.TrimSpace(text), end)
	}
	return text, true, nil
}

// closing returns where the tag that closes open ends, -1 if nothing closes it: one of its name, or of another scratch
// name that was not opened in between.
func closing(mask string, open tag) int {
	opened := map[string]int{}
	for t := range tags(mask[open.end:]) {
		switch {
		case !scratch[t.name]:
		case !t.closing:
			opened[t.name]++
		case t.name == open.name || opened[t.name] == 0:
			return open.end + t.end
		default:
			opened[t.name]--
		}
	}
	return -1
}

// loneClosing returns where a closing scratch tag ends that nothing opens, 0 for none. One behind a blank or a quote is
// spoken of.
func loneClosing(mask string) int {
	opened := 0
	for t := range tags(mask) {
		switch {
		case !scratch[t.name]:
		case !t.closing:
			opened++
		case opened > 0:
			opened--
		case startsLine(mask, t.start), !strings.ContainsRune(" \t\"'([{/,", rune(mask[t.start-1])):
			return t.end
		}
	}
	return 0
}

// thoughtParagraph returns the first scratch tag that begins a line, up to the closing one if that ends a line. Start
// is -1 for none. End is -1 if it is open and alone on its line.
func thoughtParagraph(mask string) (start, end int) {
	tried := 0
	for t := range tags(mask) {
		if t.closing || !scratch[t.name] || !startsLine(mask, t.start) {
			continue
		}
		if tried++; tried > maxLayers {
			break
		}
		switch end := closing(mask, t); {
		case end >= 0 && endsLine(mask[end:]), end < 0 && endsLine(mask[t.end:]):
			return t.start, end
		}
	}
	return -1, -1
}

// unwrapReply takes one wrapper off a reply: the tag that prompts ask summaries to stand in, or a code fence.
func unwrapReply(text string) (string, *Refusal) {
	const name = "summary"
	mask := withoutCode(text)
	var open, shut *tag
	for t := range tags(mask) {
		switch {
		case t.name != name:
		case t.closing:
			shut = &t
		case open == nil && startsLine(mask, t.start) && !insideDetails(mask[:t.start]):
			open = &t
		}
	}
	switch {
	case open != nil && (shut == nil || shut.start < open.end):
		if open.start == 0 || endsLine(mask[open.end:]) {
			return "", refuse(ReasonCutOff, "<summary> is not closed")
		}
	case open != nil:
		inner, around := text[open.end:shut.start], open.start+len(text)-shut.end
		if len(inner) >= around || endsLine(mask[open.end:]) && shut.end == len(text) {
			return inner, nil
		}
	case shut != nil && shut.end == len(text) && !strings.Contains(mask, "<summary"):
		return text[:shut.start], nil // The opening one was in the prompt.
	}
	return unfenced(text), nil
}

// insideDetails reports whether text ends with the tag of HTML in which <summary> is a title.
func insideDetails(text string) bool {
	text = strings.TrimRight(text, " \t\n")
	i := strings.LastIndexByte(text, '<')
	return i >= 0 && strings.HasPrefix(strings.ToLower(text[i:]), "<details") && strings.HasSuffix(text, ">")
}

// unfenced takes off the code fence that the whole text stands in. Inside one for Markdown there may be others.
func unfenced(text string) string {
	first := lineEnd(text, 0)
	sign, info := fenceSign(text[:first])
	if sign == "" || first == len(text) {
		return text
	}
	last := strings.LastIndexByte(text, '\n') + 1
	if end, more := fenceSign(text[last:]); more != "" || !strings.HasPrefix(end, sign) || last <= first {
		return text
	}
	inner := text[first+1 : last]
	if whole, _ := fences(text); len(whole) == 1 && whole[0].start == 0 && whole[0].end == len(text) {
		return inner
	}
	if info != "markdown" && info != "md" {
		return text
	}
	if nested, open := fences(inner); open || len(nested) == 0 || nested[0].info == "" {
		return text
	}
	return inner
}

// tag is something that looks like a tag of XML or HTML.
type tag struct {
	name       string // in lower case, without a namespace, hyphens and underscores
	closing    bool
	start, end int
}

// tagAt reads the tag at i.
func tagAt(s string, i int) (tag, bool) {
	if byteAt(s, i) != '<' {
		return tag{}, false
	}
	t := tag{start: i}
	i++
	if byteAt(s, i) == '/' {
		t.closing = true
		i++
	}
	n := tagEnd(s[i:])
	end := strings.IndexAny(s[i+n:], "<>\n")
	if n == 0 || end < 0 || s[i+n+end] != '>' || end > 0 && !strings.ContainsRune(" \t/", rune(s[i+n])) {
		return tag{}, false
	}
	t.name, t.end = tagName(s[i:i+n]), i+n+end+1
	return t, true
}

// tagName is a name as tag.name has it.
func tagName(s string) string {
	s = strings.ToLower(s[strings.LastIndexByte(s, ':')+1:])
	if !strings.ContainsAny(s, "-_") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "-", ""), "_", "")
}

// tags yields the tags of a text in order.
func tags(s string) iter.Seq[tag] {
	return func(yield func(tag) bool) {
		for i := 0; i < len(s); i++ {
			n := strings.IndexByte(s[i:], '<')
			if n < 0 {
				return
			}
			i += n
			if t, ok := tagAt(s, i); ok {
				if !yield(t) {
					return
				}
				i = t.end - 1
			}
		}
	}
}

// startsLine reports whether only blanks stand before i in its line.
func startsLine(s string, i int) bool {
	for i > 0 && (s[i-1] == ' ' || s[i-1] == '\t') {
		i--
	}
	return i == 0 || s[i-1] == '\n'
}

// fence is a closed code fence, from the beginning of its first line to the end of its last one.
type fence struct {
	start, end int
	info       string // the first word behind the sign, in lower case
}

// fenceSign is the sign of a code fence that line begins with, and the first word behind it, in lower case. It is ""
// for any other line.
func fenceSign(line string) (sign, info string) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "~~~") {
		return "", ""
	}
	rest := strings.TrimLeft(line, line[:1])
	sign = line[:len(line)-len(rest)]
	if sign[0] == '`' && strings.Contains(rest, "`") {
		return "", "" // a code span
	}
	if words := strings.Fields(rest); len(words) > 0 {
		info = strings.ToLower(words[0])
	}
	return sign, info
}

// fences returns the closed code fences of a text, and whether there is one that is not closed: it protects nothing.
func fences(text string) (closed []fence, open bool) {
	type mark struct {
		start, end int
		sign, info string
	}
	var marks []mark
	for i := 0; i < len(text); {
		end := lineEnd(text, i)
		if sign, info := fenceSign(text[i:end]); sign != "" {
			marks = append(marks, mark{i, end, sign, info})
		}
		i = end + 1
	}
	// The longest sign of each kind that could close a fence from a mark on.
	longest := make([][2]int, len(marks)+1)
	kind := func(m *mark) int { return strings.IndexByte("`~", m.sign[0]) }
	for n := len(marks) - 1; n >= 0; n-- {
		longest[n] = longest[n+1]
		if m := &marks[n]; m.info == "" {
			longest[n][kind(m)] = max(longest[n][kind(m)], len(m.sign))
		}
	}
	for n := 0; n < len(marks); n++ {
		m := &marks[n]
		if longest[n+1][kind(m)] < len(m.sign) {
			open = true
			continue
		}
		n++
		for marks[n].info != "" || !strings.HasPrefix(marks[n].sign, m.sign) {
			n++
		}
		closed = append(closed, fence{m.start, marks[n].end, m.info})
	}
	return closed, open
}

// withoutCode is text with blanks for what stands in closed code fences and in code spans of one line, so that
// positions in it are those in text.
func withoutCode(text string) string {
	if !strings.Contains(text, "`") && !strings.Contains(text, "~~~") {
		return text
	}
	out := []byte(text)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	closed, _ := fences(text)
	for _, f := range closed {
		blank(f.start, f.end)
	}
	for i := 0; i < len(out); {
		end := lineEnd(text, i)
		blankSpans(out[i:end])
		i = end + 1
	}
	return string(out)
}

// blankSpans puts blanks for the code spans of a line: what stands between two runs of as many backticks.
func blankSpans(line []byte) {
	run := func(i int) int {
		n := 0
		for i+n < len(line) && line[i+n] == '`' {
			n++
		}
		return n
	}
	for i := 0; i < len(line); i++ {
		n := run(i)
		if n == 0 {
			continue
		}
		at := i + n
		for at < len(line) {
			m := run(at)
			if m == n {
				break
			}
			at += max(1, m)
		}
		if at >= len(line) {
			i += n - 1 // not closed
			continue
		}
		for k := i; k < at+n; k++ {
			line[k] = ' '
		}
		i = at + n - 1
	}
}
