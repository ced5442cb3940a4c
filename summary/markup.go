package summary

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A reply is more than its narrative: models think aloud in tags, put the summary into others, or into a fence. This
// file takes that off. What stands in a code span or in a closed code fence is quoted, and is never markup.

// narrativeOf returns the narrative that a reply holds, trimmed, or why there is none. Reasoned says that the provider
// has told reasoning apart from the text.
func narrativeOf(text string, reasoned bool, of habits) (string, *Refusal) {
	room := maxPeeled
	for layers := maxLayers; layers > 0 && room > 0; layers-- {
		text = withoutEnd(text)
		rest, refusal := withoutScratch(text, &room)
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
		if call := inlineCall(rest, of); call != "" {
			return "", refuse(ReasonToolCall, call)
		}
		inner, refusal := unwrapReply(rest)
		if refusal != nil {
			return "", refusal
		}
		if inner == rest {
			inner = withoutEnd(rest) // What stood behind the token is gone now.
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

// Bounds of what is taken off one reply. No model that means well comes near them.
const (
	maxLayers = 64
	maxPeeled = 4 << 20 // bytes that are looked at again for each layer
)

// scratch are the names of tags that models think in, as tag.name has them.
var scratch = map[string]bool{
	"analysis": true, "assessment": true, "chainofthought": true, "cot": true, "deliberation": true, "innermonologue": true,
	"internalmonologue": true, "monologue": true, "planning": true, "reasoning": true, "reflection": true, "scratch": true,
	"scratchpad": true, "think": true, "thinking": true, "thought": true, "thoughts": true,
}

// thinks reports whether a tag of that name is one that models think in: a name of scratch, one that ends in a word for
// it, or says that it holds it, as reasoning_content does.
func thinks(name string) bool {
	if scratch[name] {
		return true
	}
	for _, holds := range []string{"content", "process", "block", "steps"} {
		name = strings.TrimSuffix(name, holds)
	}
	for _, word := range []string{"think", "thinking", "thought", "thoughts", "reasoning"} {
		if strings.HasSuffix(name, word) {
			return true
		}
	}
	return scratch[name]
}

// withoutScratch takes off what the model thought aloud: outer tags, closed by whatever scratch tag, all that stands
// before a closing one whose opening one was in the prompt, and whole paragraphs of it further down. A tag in the
// middle of a line is something that the text speaks of. Room is how many bytes may still be looked at.
func withoutScratch(text string, room *int) (string, *Refusal) {
	for layers := maxLayers; layers > 0 && *room > 0; layers-- {
		*room -= len(text)
		text = strings.TrimSpace(text)
		mask := withoutCode(text)
		if rest, ok, refusal := finalChannel(text, mask); ok || refusal != nil {
			if refusal != nil {
				return "", refusal
			}
			text = rest
			continue
		}
		if open, ok := tagAt(mask, 0); ok && !open.closing && thinks(open.name) {
			end := closing(mask, open)
			if end < 0 {
				end = closing(text, open) // A thought need not have its quotes in order.
			}
			if end < 0 {
				return "", refuse(ReasonReasoning, text[:open.end]+" is not closed")
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

// finalChannel is what stands in the final channel of a reply in OpenAI's harmony format that nobody has parsed, with
// its control tokens or without them, or behind a thought in Mistral's brackets.
func finalChannel(text, mask string) (rest string, ok bool, refusal *Refusal) {
	const channel, message, final = "<|channel|>", "<|message|>", "final"
	if strings.HasPrefix(mask, "[THINK]") {
		i := strings.Index(mask, "[/THINK]")
		if i < 0 {
			return "", false, refuse(ReasonReasoning, "[THINK] is not closed")
		}
		return text[i+len("[/THINK]"):], true, nil
	}
	// Without tokens the name of a channel is glued to what stands in it: analysisI need to …assistantfinal## Goal
	const bare = "assistant" + final
	thought, opens := strings.CutPrefix(mask, "analysis")
	first, _ := utf8.DecodeRuneInString(thought)
	opens = opens && unicode.IsUpper(first)
	opens = opens || strings.HasPrefix(mask, channel) || strings.HasPrefix(mask, "<|start|>")
	if i := harmonyCall(mask); opens && i >= 0 {
		return "", false, refuse(ReasonToolCall, text[i:])
	}
	if i := strings.LastIndex(mask, bare); i == 0 || i > 0 && (opens || !spokenOf(mask, i) && !startsLine(mask, i)) {
		return text[i+len(bare):], true, nil
	}
	if !opens {
		return "", false, nil
	}
	i := strings.LastIndex(mask, channel+final)
	if i < 0 {
		return "", false, refuse(ReasonReasoning, "no final channel")
	}
	i += len(channel + final)
	if n := strings.Index(mask[i:], message); n >= 0 {
		i += n + len(message)
	}
	return text[i:], true, nil
}

// spokenOf reports whether what stands at i, inside a line, is a word of a sentence or a list, not glued to what stands
// before it.
func spokenOf(s string, i int) bool {
	if startsLine(s, i) {
		return false
	}
	r, _ := utf8.DecodeLastRuneInString(s[:i])
	return unicode.IsSpace(r) || strings.ContainsRune("\"'([{/,*_|“„«‘‚「『（：、，"+string(spanSign), r)
}

// withoutEnd takes off the tokens by which a model ends its turn, where the server has left them in.
func withoutEnd(text string) string {
	const longest = 64
	struck := strings.Contains(text, "<s>")
	for {
		text = strings.TrimSpace(text)
		i := max(0, len(text)-longest)
		i += max(0, strings.LastIndexByte(text[i:], '<'))
		t, ok := tagAt(text, i)
		if !ok || t.end != len(text) || !t.ends() || t.name == "s" && struck {
			return text
		}
		text = text[:i]
	}
}

// closing returns where the tag that closes open ends, -1 if nothing closes it: one of its name, or of another scratch
// name that was not opened in between.
func closing(mask string, open tag) int {
	opened := map[string]int{}
	for t := range tags(mask[open.end:]) {
		switch {
		case !thinks(t.name):
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
		case !thinks(t.name):
		case !t.closing:
			opened++
		case opened > 0:
			opened--
		case !spokenOf(mask, t.start):
			return t.end
		}
	}
	return 0
}

// thoughtParagraph returns the first scratch tag that begins a line, up to the closing one if that ends a line. Start
// is -1 for none. End is -1 if it is open and alone on its line, unless the next line opens another tag: that is a list.
func thoughtParagraph(mask string) (start, end int) {
	tried, open := 0, map[string]bool{} // what nothing closes, nothing closes further down
	for t := range tags(mask) {
		if t.closing || !thinks(t.name) || !startsLine(mask, t.start) {
			continue
		}
		if tried++; tried > maxLayers {
			break
		}
		end := -1
		if !open[t.name] {
			end = closing(mask, t)
			open[t.name] = end < 0
		}
		switch {
		case end >= 0 && endsLine(mask[end:]), end < 0 && endsLine(mask[t.end:]) && !opensLine(mask, lineEnd(mask, t.end)+1):
			return t.start, end
		}
	}
	return -1, -1
}

// opensLine reports whether the line at i is an opening tag and nothing else.
func opensLine(mask string, i int) bool {
	for i < len(mask) && (mask[i] == ' ' || mask[i] == '\t') {
		i++
	}
	t, ok := tagAt(mask, i)
	return ok && !t.closing && endsLine(mask[t.end:])
}

// wrappers are the names of tags that summaries stand in, as tag.name has them. Prompts ask for the first one. The others
// hold a summary only where they hold the whole of it.
var wrappers = []string{"summary", "checkpoint", "final", "finalanswer", "answer", "response", "solution", "assistant"}

// unwrapReply takes one wrapper off a reply: a tag, a code fence, the quotes of JSON or of code.
func unwrapReply(text string) (string, *Refusal) {
	if inner, ok := unquoted(text); ok {
		return inner, nil
	}
	mask := withoutCode(text)
	if strings.Trim(mask, string(spanSign)) == "" {
		return strings.Trim(text, "`"), nil
	}
	type pair struct{ open, shut *tag }
	pairs := make([]pair, len(wrappers))
	for t := range tags(mask) {
		n := slices.Index(wrappers, t.name)
		switch {
		case n < 0:
		case t.closing:
			pairs[n].shut = &t
		case pairs[n].open == nil && startsLine(mask, t.start) && (n > 0 && isPreface(text[:t.start]) || n == 0 && !insideDetails(mask[:t.start])):
			pairs[n].open = &t
		}
	}
	for n, p := range pairs {
		open, shut := p.open, p.shut
		switch {
		case open != nil && (shut == nil || shut.start < open.end):
			if open.token {
				return text[open.end:], nil
			}
			if open.start == 0 || n == 0 && endsLine(mask[open.end:]) {
				return "", refuse(ReasonCutOff, text[open.start:open.end]+" is not closed")
			}
		case open != nil:
			inner, around := text[open.end:shut.start], open.start+len(text)-shut.end
			if len(inner) >= around || endsLine(mask[open.end:]) && shut.end == len(text) {
				return inner, nil
			}
		case shut != nil && shut.end == len(text) && !strings.Contains(mask, "<"+wrappers[n]):
			return text[:shut.start], nil // The opening one was in the prompt.
		}
	}
	return unfenced(text)
}

// isPreface reports whether a text is what a model says before the summary: one line at most.
func isPreface(text string) bool {
	const longest = 200 // bytes
	text = strings.TrimSpace(text)
	return len(text) <= longest && !strings.Contains(text, "\n")
}

// unquoted is a reply that is one string of JSON, or an object with nothing but one under the name of a wrapper.
func unquoted(text string) (inner string, ok bool) {
	switch byteAt(text, 0) {
	case '"':
		ok = json.Unmarshal([]byte(text), &inner) == nil
	case '{':
		var members map[string]string
		if json.Unmarshal([]byte(text), &members) == nil && len(members) == 1 {
			for name, value := range members {
				inner, ok = value, slices.Contains(wrappers, tagName(name))
			}
		}
	}
	return readable(inner), ok
}

// insideDetails reports whether text ends with the tag of HTML in which <summary> is a title.
func insideDetails(text string) bool {
	text = strings.TrimRight(text, " \t\n")
	i := strings.LastIndexByte(text, '<')
	return i >= 0 && strings.HasPrefix(strings.ToLower(text[i:]), "<details") && strings.HasSuffix(text, ">")
}

// unfenced takes off the code fence that the whole text stands in, but for a preface. Inside one for Markdown there may
// be others. What stands in one for a programming language is work, and no summary.
func unfenced(text string) (string, *Refusal) {
	start := 0
	if text[0] != '`' && text[0] != '~' {
		start = lineEnd(text, 0)
		for start < len(text) && isBlank(text[start]) {
			start++
		}
		if start == len(text) || !isPreface(text[:start]) {
			return text, nil
		}
	}
	first := lineEnd(text, start)
	sign, info := fenceSign(text[start:first])
	if sign == "" || first == len(text) {
		return text, nil
	}
	last := strings.LastIndexByte(text, '\n') + 1
	if end, more := fenceSign(text[last:]); more != "" || !strings.HasPrefix(end, sign) || last <= first {
		return text, nil
	}
	inner := text[first+1 : last]
	kind := firstWord(info)
	markdown := kind == "markdown" || kind == "md"
	if start > 0 && !markdown && kind != "text" && kind != "txt" && (kind != "" || !opensMarkdown(inner)) {
		return text, nil // What it holds is quoted behind a sentence about it.
	}
	if whole, _ := fences(text[start:]); len(whole) == 1 && whole[0].start == 0 && whole[0].end == len(text)-start {
		if programming[kind] {
			return "", refuse(ReasonChat, sign+info)
		}
		return text[:start] + inner, nil
	}
	if !markdown {
		return text, nil
	}
	if nested, open := fences(inner); open || len(nested) == 0 || nested[0].info == "" {
		return text, nil
	}
	return text[:start] + inner, nil
}

// opensMarkdown reports whether a text begins with a title, an item of a list or emphasis.
func opensMarkdown(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && strings.IndexByte("#*-", text[0]) >= 0
}

// programming are the info words of code fences for programming languages.
var programming = func() map[string]bool {
	m := map[string]bool{}
	for word := range strings.FieldsSeq("awk bash c console c# c++ clojure cpp cs csharp css dart diff elixir erlang fish go golang haskell " +
		"java javascript js jsx julia kotlin kt lua make makefile objc ocaml patch perl php powershell ps1 py python python3 r rb rs ruby rust scala sh " +
		"shell sql svelte swift terraform ts tsx typescript vue zig zsh") {
		m[word] = true
	}
	return m
}()

func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}

// tag is something that looks like a tag of XML or HTML, or like a control token.
type tag struct {
	name       string // in lower case, without a namespace, hyphens and underscores
	closing    bool
	token      bool // a control token, such as <|im_start|>
	start, end int
}

// tagAt reads the tag at i.
func tagAt(s string, i int) (tag, bool) {
	if t, ok := tokenAt(s, i); ok {
		return t, true
	}
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

// tokenSigns are what control tokens begin and end with, also in the sign that excerpts have for a <.
var tokenSigns = [][2]string{{"<|", "|>"}, {"<｜", "｜>"}, {neutralSign + "|", "|>"}, {neutralSign + "｜", "｜>"}, {"◁", "▷"}}

// tokenAt is tagAt for a control token. One that says that something begins is an opening tag of that name, and one
// that says that it ends a closing one: <|begin_of_thought|>, <|END_RESPONSE|>, ◁/think▷.
func tokenAt(s string, i int) (tag, bool) {
	const longest = 64
	for _, sign := range tokenSigns {
		rest, ok := strings.CutPrefix(s[min(i, len(s)):], sign[0])
		if !ok {
			continue
		}
		end := strings.Index(rest[:min(len(rest), longest)], sign[1])
		if end <= 0 || strings.ContainsFunc(rest[:end], func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-/▁", r)
		}) {
			continue
		}
		t := tag{token: true, start: i, end: i + len(sign[0]) + end + len(sign[1])}
		t.name, t.closing = strings.CutPrefix(tagName(strings.ReplaceAll(rest[:end], "▁", "_")), "/")
		for _, word := range []string{"begin", "start", "end"} {
			if about, ok := strings.CutPrefix(t.name, word); ok && about != "" {
				t.name, t.closing = strings.TrimPrefix(about, "of"), word == "end"
				break
			}
		}
		return t, true
	}
	return tag{}, false
}

// ends reports whether a model ends its turn by a tag: <|im_end|>, <|return|>, <end_of_turn>, </s>.
func (t *tag) ends() bool {
	switch {
	case thinks(t.name) || slices.Contains(wrappers, t.name) || callToken(t.name):
		return false
	case t.token:
		return t.closing || strings.HasSuffix(t.name, "end") || strings.HasPrefix(t.name, "eo") || t.name == "return"
	case t.closing:
		return t.name == "s"
	}
	return t.name == "eos" || t.name == "eot" || strings.HasPrefix(t.name, "endof")
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
	signs := "<"
	if strings.ContainsAny(s, neutralSign+"◁") {
		signs += neutralSign + "◁"
	}
	return func(yield func(tag) bool) {
		for i := 0; i < len(s); i++ {
			n := strings.IndexAny(s[i:], signs)
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
	info       string // what stands behind the sign, in lower case
}

// fenceSign is the sign of a code fence that line begins with, and what stands behind it, in lower case. It is "" for
// any other line.
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
	return sign, strings.ToLower(strings.TrimSpace(rest))
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

// spanSign stands for each byte of a code span in what withoutCode returns: what stands behind a span does not begin a line.
const spanSign = '\x01'

// withoutCode is text without what stands in closed code fences and in code spans of one line. Positions in it are those
// in text.
func withoutCode(text string) string {
	if !strings.Contains(text, "`") && !strings.Contains(text, "~~~") {
		return text
	}
	out := []byte(text)
	closed, _ := fences(text)
	for _, f := range closed {
		blank(out[f.start:f.end])
	}
	for i := 0; i < len(out); {
		end := lineEnd(text, i)
		quoteSpans(out[i:end])
		i = end + 1
	}
	return string(out)
}

// blank puts blanks for all but the line breaks.
func blank(text []byte) {
	for i, c := range text {
		if c != '\n' {
			text[i] = ' '
		}
	}
}

// quoteSpans overwrites the code spans of a line: what stands between two runs of as many backticks.
func quoteSpans(line []byte) {
	type run struct{ start, length int }
	var runs []run
	for i := 0; i < len(line); i++ {
		start := i
		for i < len(line) && line[i] == '`' {
			i++
		}
		if i > start {
			runs = append(runs, run{start, i - start})
		}
	}
	// The run that closes each one, if any: the next one that is as long.
	shut := make([]int, len(runs))
	last := map[int]int{}
	for n := len(runs) - 1; n >= 0; n-- {
		shut[n] = last[runs[n].length]
		last[runs[n].length] = n
	}
	for n := 0; n < len(runs); n++ {
		if shut[n] == 0 {
			continue
		}
		from := runs[n].start
		n = shut[n]
		for i := from; i < runs[n].start+runs[n].length; i++ {
			line[i] = spanSign
		}
	}
}

// withoutIndented is a text without the code that is marked by its indentation: lines with four blanks or a tab before
// them, behind an empty one.
func withoutIndented(text string) string {
	if !strings.Contains(text, "\n    ") && !strings.Contains(text, "\n\t") {
		return text
	}
	out := []byte(text)
	code, empty := false, false
	for i := 0; i < len(text); {
		end := lineEnd(text, i)
		line := text[i:end]
		switch {
		case strings.TrimSpace(line) == "":
			empty = true
		case (code || empty) && (strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")):
			blank(out[i:end])
			code, empty = true, false
		default:
			code, empty = false, false
		}
		i = end + 1
	}
	return string(out)
}
