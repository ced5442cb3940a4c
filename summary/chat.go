package summary

import (
	"strings"
	"unicode/utf8"

	"github.com/pemmican-dev/pemmican"
)

// Bounds of a chat reply.
const (
	// enoughNames is how many names the dropped part must have for a summary without any of them to be none.
	enoughNames = 12
	// shortReply is up to how many runes a text in fewer than someLines lines may be nothing but a reply.
	shortReply = 300
	someLines  = 4
	// maxHead is how much of a narrative is read sentence by sentence, in bytes.
	maxHead = 8 << 10
	// leastQuote is from how many bytes on a question is taken for that of a person who has asked the same.
	leastQuote = 12
)

// bare is a narrative without what a model says around it: a preface, talk before and behind it that is no part of it,
// and a heading at its end that has nothing below it. What may be all of the reply stays.
func (c *checker) bare(text string) string {
	for range maxLayers {
		rest := strings.TrimSpace(withoutEmptyEnd(c.withoutAfterword(withoutPreface(text))))
		if rest == text {
			break
		}
		text = rest
	}
	return text
}

// withoutPreface cuts off what introduces a narrative, and a first line that only talks before one that is long enough.
func withoutPreface(text string) string {
	line := text[:lineEnd(text, 0)]
	if len(line) > maxHead {
		return text
	}
	cut, said, talk := 0, false, true
	for s := range sentencesIn(line) {
		said = true
		switch s.act {
		case agrees, begins, offers, comments:
			continue
		case prefaces:
			if _, named := first(namesIn(line[s.start:s.end])); !named {
				cut = s.end
				continue
			}
		}
		talk = false
		break
	}
	if said && talk && !isListed(line) && substantial(text[len(line):]) {
		cut = len(line)
	}
	rest := strings.TrimLeft(text[cut:], " \t\n*_")
	if cut == 0 || !hasContent(rest) {
		return text
	}
	for rest != "" && isRule(rest[:lineEnd(rest, 0)]) {
		rest = strings.TrimLeft(rest[lineEnd(rest, 0):], "\n")
	}
	return rest
}

// first is the first of a sequence.
func first[T any](seq func(func(T) bool)) (v T, ok bool) {
	for v = range seq {
		return v, true
	}
	return v, false
}

// isRule reports whether a line is one of signs that separate parts.
func isRule(line string) bool {
	line = strings.TrimSpace(line)
	return len(line) >= 3 && strings.Trim(line, "-*_=") == ""
}

// substantial reports whether a text is structured, or long enough to be more than a reply.
func substantial(text string) bool {
	lines, runes := 0, 0
	for line := range strings.SplitSeq(text, "\n") {
		if hasContent(line) {
			lines++
			runes += utf8.RuneCountInString(line)
		}
		if lines >= someLines || runes > shortReply {
			return true
		}
	}
	return false
}

// Bounds of a short text that is a summary all the same.
const (
	leastTelling = 2 // sentences
	leastShared  = 3 // names
)

// onlyTells reports whether a text does nothing but tell, in some sentences, and names what the conversation names.
func (c *checker) onlyTells(text string) bool {
	telling := 0
	for s := range sentencesIn(text[:min(len(text), maxHead)]) {
		if s.act != tells {
			return false
		}
		telling++
	}
	return telling >= leastTelling && c.sharedNames(text, leastShared) >= leastShared
}

// withoutAfterword cuts off the talk at the end of a narrative that is long enough without it.
func (c *checker) withoutAfterword(text string) string {
	at := c.afterword(text)
	if at == len(text) || !substantial(text[:at]) && !(strings.HasSuffix(strings.TrimRight(text[:at], " "), "\n\n") && c.onlyTells(text[:at])) {
		return text
	}
	text = strings.TrimRight(text[:at], " \t\n")
	for {
		line := strings.LastIndexByte(text, '\n') + 1
		if line == 0 || !isRule(text[line:]) {
			return text
		}
		text = strings.TrimRight(text[:line], " \t\n")
	}
}

// afterword is where the talk begins that the last paragraph of a text ends with, the end of the text if there is none.
// An item of a list is no talk, and neither is all that a heading has below it.
func (c *checker) afterword(text string) int {
	start, titled := len(text), false
	for start > 0 {
		from := strings.LastIndexByte(text[:start-1], '\n') + 1
		line := text[from:start]
		name, _ := titleOf(strings.TrimRight(line, "\n"))
		if sign, _ := fenceSign(line); sign != "" || !hasContent(line) || isListed(line) || name != "" && start < len(text) && actOf(line) == tells {
			titled = name != ""
			break
		}
		if start = from; len(text)-start > maxHead {
			return len(text)
		}
	}
	at := len(text)
	for s := range sentencesIn(text[start:]) {
		switch s.act {
		case begins, offers, comments, agrees:
			at = min(at, start+s.start)
		default:
			if at = len(text); c.asksPerson(text[start+s.start : start+s.end]) {
				at = start + s.start
			}
		}
		if at < len(text) && c.quoted(text[start+s.start:start+s.end]) {
			at = len(text)
		}
	}
	if titled && at <= start+listSign(text[start:]) {
		return len(text)
	}
	return at
}

// asksPerson reports whether a sentence is a question to the person. Behind a colon it is one that the text tells of.
func (c *checker) asksPerson(sentence string) bool {
	if !asked(sentence) || strings.ContainsAny(sentence, ":：") {
		return false
	}
	said := " " + normal(sentence) + " "
	return strings.Contains(said, " you ") || strings.Contains(said, " your ")
}

// quoted reports whether a sentence is a question that a person has asked.
func (c *checker) quoted(sentence string) bool {
	if !asked(sentence) {
		return false
	}
	said := normal(sentence)
	if len(said) < leastQuote {
		return false
	}
	t := c.request.Transcript
	for i := range t.Blocks {
		b := &t.Blocks[i]
		if b.Kind == pemmican.Text && b.Message >= 0 && b.Message < len(t.Messages) && t.Messages[b.Message].Person() && strings.Contains(normal(b.Text), said) {
			return true
		}
	}
	return false
}

// withoutEmptyEnd cuts off the headings at the end of a text that have nothing below them.
func withoutEmptyEnd(text string) string {
	for {
		line := strings.LastIndexByte(text, '\n') + 1
		last := text[line:]
		if line == 0 || !strings.HasPrefix(last, "#") && !strings.HasSuffix(strings.TrimRight(last, "*"), ":") {
			return text
		}
		if name, _ := titleOf(last); name == "" || !hasContent(text[:line]) {
			return text
		}
		text = strings.TrimRight(text[:line], " \t\n")
	}
}

// chat returns the sign that a narrative answers the conversation instead of telling of it, "" for none.
func (c *checker) chat(narrative string) string {
	head := narrative[:min(len(narrative), maxHead)]
	var opening *sentence
	agreed, telling, offered := false, 0, false
	for s := range sentencesIn(head) {
		switch {
		case s.act == agrees && opening == nil:
			agreed = true
			continue
		case opening == nil:
			opening = &s
			_, polite := afterAgreement(head[s.start:s.end])
			agreed = agreed || polite
		}
		switch s.act {
		case tells, wavers, cannot:
			telling++
		case offers:
			offered = offered || !c.quoted(head[s.start:s.end])
		}
	}
	said := narrative
	if opening != nil {
		said = head[opening.start:opening.end]
		rest := narrative[opening.end:]
		refused := false
		switch opening.act {
		case declines:
			refused = true
		case wavers:
			refused = c.sharedNames(rest, 1) == 0
		case cannot:
			refused = !c.shares(narrative)
		case begins, announces:
			refused = !c.goesOn(rest)
		}
		if refused {
			return said
		}
	}
	long := substantial(narrative)
	if closed, _ := fences(head); long && len(closed) > 0 {
		telling++ // What is shown tells something, if it is more than a command.
	}
	switch {
	case telling == 0 && (agreed || opening != nil) && len(head) == len(narrative):
		return said
	case c.afterword(narrative) < len(narrative):
		return narrative[c.afterword(narrative):]
	case !long && (offered || agreed || opening != nil && opens(normal(said), looking) && telling == 1):
		return said
	case !agreed && !c.manyNames(), c.shares(narrative), telling > 1 && c.foreign(narrative):
		return ""
	}
	return "it names nothing that the conversation names"
}

// goesOn reports whether what stands behind an announcement tells of the conversation: by two of its names, or where it
// has few of them by its words.
func (c *checker) goesOn(rest string) bool {
	told := false
	for s := range sentencesIn(rest[:min(len(rest), maxHead)]) {
		told = told || s.act == tells
	}
	return told && (c.sharedNames(rest, 2) >= 2 || !c.manyNames() && c.sharesWords(rest))
}
