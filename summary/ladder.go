package summary

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pemmican-dev/pemmican/internal/estimate"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
	"github.com/pemmican-dev/pemmican/internal/textcut"
)

// ErrNoRoom reports a model whose window does not even hold the shortest excerpt.
var ErrNoRoom = errors.New("the room is too small for any excerpt of the conversation")

// excerptText is one rendering of an excerpt.
type excerptText struct {
	Text   string
	Tokens int // as package estimate counts Text
	// Turns is how many labelled turns it has, and LeftOut how many were left out of it to make it fit.
	Turns, LeftOut int
	// Rung is how far down the ladder it stands, 0 for no more cuts than always.
	Rung int
}

// rung is how much an excerpt shows. All lengths are in runes.
type rung struct {
	result int // of a result and of an argument, 0 for no more than its first and last line
	edge   int // of such a line
	said   int // of a text of the assistant, 0 for all of it
	person int // of a message of the person, 0 for all of it
	listed int // lines of each list
	// steps allows to leave out old steps, the oldest first, and persons then old messages of the person but the first.
	steps, persons bool
}

// ladder goes from what is always cut to what is better than nothing. The person's words go last.
var ladder = []rung{
	{result: firstLimit, listed: maxListed},
	{result: 600, listed: maxListed},
	{result: 200, listed: maxListed},
	{edge: edgeLimit, listed: 20},
	{edge: edgeLimit, said: 2000, listed: 20},
	{edge: edgeLimit, said: 500, listed: 20},
	{edge: edgeLimit, said: 500, listed: 10, steps: true},
	{edge: 60, said: 300, person: 4000, listed: 10, steps: true},
	{edge: 60, said: 300, person: 1000, listed: 5, steps: true},
	{edge: 40, said: 200, person: 300, steps: true},
	{edge: 40, said: 200, person: 300, steps: true, persons: true},
}

// fit returns the excerpt in at most that many tokens, as much of it as the first rung that fits has; 0 is no bound. It
// is ErrNoRoom if no rung does.
func (e *excerpt) fit(tokens int) (excerptText, error) {
	least := 0
	for n := range ladder {
		out := e.rung(n, nil)
		if tokens > 0 && out.Tokens > tokens && (ladder[n].steps || ladder[n].persons) {
			out = e.leaveOut(n, out, tokens)
		}
		if tokens <= 0 || out.Tokens <= tokens {
			out.Text = string(e.text)
			return out, nil
		}
		least = out.Tokens
	}
	return excerptText{}, fmt.Errorf("%w: it takes %d tokens at the least, and the room is %d", ErrNoRoom, least, tokens)
}

// smaller returns an excerpt of half the size at most: for a provider that found the one before too large. It is
// ErrNoRoom if there is none.
func (e *excerpt) smaller(than excerptText) (excerptText, error) { return e.fit(max(1, than.Tokens/2)) }

// leaveOut leaves out as many old turns as it takes to fit, and all that may be if that is not enough.
func (e *excerpt) leaveOut(n int, out excerptText, tokens int) excerptText {
	// The order in which they go: steps by their number, then messages of the person but the first and the last.
	steps := max(0, e.steps-keptSteps)
	persons := 0
	if ladder[n].persons {
		persons = max(0, e.persons-2)
	}
	sizes := make([]int, steps+persons)
	place := func(t *turn) int { // -1 for what stays
		switch {
		case t.step > 0 && t.step <= steps:
			return t.step - 1
		case t.person > 1 && t.person < e.persons && t.person-2 < persons:
			return steps + t.person - 2
		}
		return -1
	}
	var text []byte
	for i := range e.turns {
		if at := place(&e.turns[i]); at >= 0 {
			text = e.appendTurn(text[:0], &e.turns[i], ladder[n])
			sizes[at] += estimate.Bytes(text)
		}
	}
	const line = 16 // tokens of the line that says how many are gone
	gone, over := 0, out.Tokens-tokens+line
	for gone < len(sizes) && over > 0 {
		over -= sizes[gone]
		gone++
	}
	left := make([]bool, len(e.turns))
	for {
		for i := range e.turns {
			at := place(&e.turns[i])
			left[i] = at >= 0 && at < gone
		}
		// The parts do not add up to the whole, and one line may not do.
		if out = e.rung(n, left); out.Tokens <= tokens || gone == len(sizes) {
			return out
		}
		gone = min(len(sizes), gone+1+gone/16)
	}
}

// rung renders one rung into e.text, without the turns that are left out.
func (e *excerpt) rung(n int, left []bool) excerptText {
	r := ladder[n]
	out := excerptText{Rung: n}
	e.text = append(e.text[:0], frameOpen...)
	dst := e.text
	dst = appendSection(dst, labelEarlier, e.previous)
	dst = appendSection(dst, labelWorkflow, e.workflow)
	for i := 0; i < len(e.turns); i++ {
		if left != nil && left[i] {
			turns, calls := 0, 0
			for ; i < len(e.turns) && left[i]; i++ {
				turns++
				calls += len(e.turns[i].calls)
			}
			i--
			dst = fmt.Appendf(dst, "\n\n[... %d turns with %d tool calls left out]", turns, calls)
			out.LeftOut += turns
			continue
		}
		dst = append(dst, '\n', '\n')
		dst = e.appendTurn(dst, &e.turns[i], r)
		out.Turns++
	}
	dst = appendList(dst, labelPlan, e.plan, r.listed)
	dst = appendList(dst, labelFiles, e.files, r.listed)
	dst = appendList(dst, labelLinks, e.links, r.listed)
	dst = appendList(dst, labelCounts, e.counts, max(1, r.listed))
	dst = append(dst, '\n', '\n')
	dst = append(dst, frameShut...)
	e.text = dst
	out.Tokens = estimate.Bytes(dst)
	return out
}

func appendSection(dst []byte, label, text string) []byte {
	if text == "" {
		return dst
	}
	dst = append(dst, '\n', '\n')
	dst = append(dst, label...)
	dst = append(dst, ' ')
	return appendEscaped(dst, text)
}

func appendList(dst []byte, label string, lines []string, limit int) []byte {
	if len(lines) == 0 || limit == 0 {
		return dst
	}
	dst = append(dst, '\n', '\n')
	dst = append(dst, label...)
	for _, line := range lines[:min(len(lines), limit)] {
		dst = append(dst, '\n', '-', ' ')
		dst = appendEscaped(dst, oneLine(line))
	}
	if len(lines) > limit {
		dst = fmt.Appendf(dst, "\n[... %d more lines]", len(lines)-limit)
	}
	return dst
}

func (e *excerpt) appendTurn(dst []byte, t *turn, r rung) []byte {
	dst = append(dst, t.label...)
	if t.note != "" {
		dst = append(dst, ' ', '(')
		dst = appendEscaped(dst, t.note)
		dst = append(dst, ')')
	}
	for i := range t.texts {
		p := &t.texts[i]
		if !p.shows() {
			continue
		}
		if i == 0 {
			dst = append(dst, ' ')
		} else {
			dst = append(dst, '\n')
		}
		switch t.label {
		case labelEarlier:
			dst = appendEscaped(dst, p.text)
		case labelUser:
			dst = appendMiddle(dst, p, r.person)
		case labelAssistant:
			dst = appendMiddle(dst, p, r.said)
		default:
			dst = e.appendEdges(dst, p, r)
		}
		if p.loops > 0 {
			if p.text != "" {
				dst = append(dst, '\n')
			}
			dst = fmt.Appendf(dst, "[... a text that repeated itself %d times left out]", p.loops)
		}
	}
	for i := range t.calls {
		if i == 0 {
			dst = append(dst, ' ')
		} else {
			dst = append(dst, ';', ' ')
		}
		dst = e.appendCall(dst, &t.calls[i], r)
	}
	return dst
}

// appendMiddle appends a text, cut in its middle to limit runes if that is positive.
func appendMiddle(dst []byte, p *passage, limit int) []byte {
	if limit == 0 || fits(p.text, limit+cutSlack) {
		limit = max(1, len(p.text))
	}
	dst = appendEscaped(dst, cutMiddle(p.text, limit))
	return appendGone(dst, p.gone)
}

// appendGone appends the marker for what was cut off, on a line of its own.
func appendGone(dst []byte, runes int) []byte {
	if runes == 0 {
		return dst
	}
	return fmt.Appendf(dst, "\n[... %d more characters]", runes)
}

// shorten returns the beginning of a passage, limit runes at most, and how many are missing.
func (p *passage) shorten(limit int) (string, int) {
	if limit >= firstLimit || p.gone == 0 && fits(p.text, limit+cutSlack) {
		return p.text, p.gone
	}
	end := textcut.Runes(p.text, limit)
	return p.text[:end], p.gone + utf8.RuneCountInString(p.text[end:])
}

// appendEdges appends the beginning of a text, or its first and its last line.
func (e *excerpt) appendEdges(dst []byte, p *passage, r rung) []byte {
	if r.result > 0 || p.gone == 0 && fits(p.text, 2*r.edge+cutSlack) {
		text, gone := p.shorten(max(r.result, 2*r.edge))
		return appendGone(appendEscaped(dst, text), gone)
	}
	first := p.text[:textcut.Runes(p.text[:lineEnd(p.text, 0)], r.edge)]
	last := e.lastLine(p)
	if p.gone == 0 {
		last = p.text[strings.LastIndexByte(p.text, '\n')+1:]
		last = last[max(0, len(first)-(len(p.text)-len(last))):] // of a text of one line, what is not shown yet
	}
	last = lastRunes(last, r.edge)
	dst = appendEscaped(dst, first)
	dst = appendGone(dst, p.gone+utf8.RuneCountInString(p.text)-utf8.RuneCountInString(first)-utf8.RuneCountInString(last))
	if last != "" {
		dst = append(dst, '\n')
		dst = appendEscaped(dst, last)
	}
	return dst
}

func (e *excerpt) appendCall(dst []byte, c *shownCall, r rung) []byte {
	dst = appendEscaped(dst, c.tool)
	dst = append(dst, '(')
	for i := range c.args {
		a := &c.args[i]
		if i > 0 {
			dst = append(dst, ',', ' ')
		}
		if a.key != "" {
			dst = appendEscaped(dst, a.key)
			dst = append(dst, '=')
		}
		text, gone := a.shorten(max(r.result, 2*r.edge))
		if !a.bare && (text != "" || a.loops == 0) {
			e.value = jsonspan.Quote(e.value[:0], text)
			text = string(e.value)
		}
		dst = appendEscaped(dst, text)
		if gone > 0 {
			dst = fmt.Appendf(dst, " [... %d more characters]", gone)
		}
		if a.loops > 0 {
			dst = fmt.Appendf(dst, " [... a text that repeated itself %d times left out]", a.loops)
		}
	}
	if c.more > 0 {
		dst = fmt.Appendf(dst, ", ... %d more", c.more)
	}
	return append(dst, ')')
}
