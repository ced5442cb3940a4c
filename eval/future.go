package eval

import (
	"strings"

	"github.com/pemmican-dev/pemmican"
)

const (
	futureMessages = 60  // the held-out future
	window         = 80  // tokens that a weak reader sees at once
	stride         = 40  // tokens from window to window
	nearMass       = 0.3 // of the weight of the later line, which a window must hold
	tailShare      = 50  // 1/50 of the history at its end is the tail that nobody needs to keep on purpose
)

// The carriers of an identifier in the history.
const (
	fromPerson    = "person"
	fromAssistant = "assistant"
	fromArgs      = "arguments"
	fromResult    = "result"
	fromOther     = "other" // nudges, reasoning, an earlier summary
)

var carriers = []string{fromPerson, fromAssistant, fromArgs, fromResult, fromOther}

// need is one identifier that the agent writes after the cut and could know only from the history.
type need struct {
	Text    string `json:"text"`
	Kind    string `json:"kind"`
	Carrier string `json:"carrier"` // of its newest occurrence
	Quarter int    `json:"quarter"` // of the history, by tokens, that occurrence stands in; 4 is the newest
	Line    string `json:"line"`    // where it comes up later
	near    []int32
	mass    float64
}

// exam is what is asked of the contexts that arms make of one history.
type exam struct {
	l     *lexer
	find  *patterns
	idf   idf
	needs []need
	// asked is, by number of pattern, the need, -1 for what is not asked for.
	asked []int
	stamp []int
	round int
}

// use is a place in the future where the agent writes an identifier.
type use struct {
	id   identifier
	at   int // message
	line string
}

// newExam looks at the future behind cut and at the history before it. The identifiers that count are those that the
// agent itself writes, in text or arguments, that stand in the history but not in its tail nor in the system text, and
// that nothing in the future has brought back before.
func newExam(t *pemmican.Transcript, cut int, size []int) *exam {
	e := &exam{l: newLexer()}
	e.find = newPatterns(e.l)
	end := min(len(t.Messages), cut+futureMessages)

	past := make([]text, len(t.Blocks[:firstBlock(t, cut)]))
	for i := range past {
		past[i] = e.l.lex(readable(&t.Blocks[i]))
	}
	e.idf = newIDF(e.l, past)

	uses := futureUses(t, cut, end)
	for _, u := range uses {
		e.find.add(u.id.text)
		for _, p := range u.id.parts {
			e.find.add(p.text)
		}
	}
	tail := tailStart(t, cut, size)
	type trace struct {
		known, excluded bool
		carrier         string
		quarter         int
		introduced      int // the message of the future that has it first
	}
	traces := make([]trace, len(e.find.atoms))
	for n := range traces {
		traces[n].introduced = end
	}
	total := 0
	for _, n := range size[:len(past)] {
		total += n
	}
	sum := 0
	for i := range past {
		b := &t.Blocks[i]
		e.find.find(past[i].atoms, func(n, _, _ int) {
			tr := &traces[n]
			tr.known = true
			tr.excluded = tr.excluded || b.Message >= tail || t.Messages[b.Message].Role == pemmican.System
			tr.carrier, tr.quarter = carrierOf(t, b), min(4, 1+4*sum/max(1, total))
		})
		sum += size[i]
	}
	for m := cut; m < end; m++ {
		e.find.find(messageText(e.l, t, m).atoms, func(n, _, _ int) {
			traces[n].introduced = min(traces[n].introduced, m)
		})
	}

	e.asked = make([]int, len(e.find.atoms))
	for n := range e.asked {
		e.asked[n] = -1
	}
	ask := func(id identifier, u use) bool {
		n := e.find.index[id.text]
		tr := &traces[n]
		if tr.known && !tr.excluded && tr.introduced >= u.at && e.asked[n] < 0 {
			q := e.need(id, u, tr.carrier, tr.quarter)
			if q.Kind == kindValue && len(q.near) == 0 {
				return true // a number alone, as a line to read from: nothing tells that it is the same
			}
			e.asked[n] = len(e.needs)
			e.needs = append(e.needs, q)
		}
		return tr.known
	}
	for _, u := range uses {
		if ask(u.id, u) {
			continue
		}
		for _, p := range u.id.parts {
			ask(p, u)
		}
	}
	return e
}

// futureUses lists what the agent writes, in order.
func futureUses(t *pemmican.Transcript, cut, end int) []use {
	var uses []use
	for m := cut; m < end; m++ {
		if t.Messages[m].Role != pemmican.Assistant {
			continue
		}
		for i := t.Messages[m].First; i < t.Messages[m].End; i++ {
			b := &t.Blocks[i]
			if b.Kind != pemmican.Text && b.Kind != pemmican.ToolCall {
				continue
			}
			for line := range strings.Lines(readable(b)) {
				for _, id := range identifiers(line) {
					uses = append(uses, use{id, m, line})
				}
			}
		}
	}
	return uses
}

func firstBlock(t *pemmican.Transcript, m int) int {
	if m < len(t.Messages) {
		return t.Messages[m].First
	}
	return len(t.Blocks)
}

// tailStart is the message from which on the history counts as its tail: the fewest messages that hold the share.
func tailStart(t *pemmican.Transcript, cut int, size []int) int {
	total := 0
	for _, n := range size[:firstBlock(t, cut)] {
		total += n
	}
	sum := 0
	for m := cut - 1; m > 0; m-- {
		for i := t.Messages[m].First; i < t.Messages[m].End; i++ {
			sum += size[i]
		}
		if sum*tailShare >= total {
			return m
		}
	}
	return 0
}

func carrierOf(t *pemmican.Transcript, b *pemmican.Block) string {
	switch {
	case b.Kind == pemmican.ToolResult:
		return fromResult
	case b.Kind == pemmican.ToolCall:
		return fromArgs
	case b.Kind == pemmican.Text && t.Messages[b.Message].Role == pemmican.Assistant:
		return fromAssistant
	case b.Kind == pemmican.Text && t.Messages[b.Message].Person():
		return fromPerson
	}
	return fromOther
}

// need weighs the line of a use: its words other than the identifier's own. Of a line that no window could hold, only
// the window around the identifier counts.
func (e *exam) need(id identifier, u use, carrier string, quarter int) need {
	out := need{Text: id.text, Kind: id.kind, Carrier: carrier, Quarter: quarter, Line: clip(u.line, id.text)}
	line := e.l.lex(u.line)
	own := map[int32]bool{}
	for _, a := range e.find.atoms[e.find.index[id.text]] {
		own[a.fold] = true
	}
	at := int32(0)
	for i := range line.atoms {
		if want := e.find.atoms[e.find.index[id.text]]; i+len(want) <= len(line.atoms) && same(line.atoms[i:i+len(want)], want) {
			at = line.atoms[i].pos
			break
		}
	}
	for _, a := range line.atoms {
		w := e.idf.of(a.fold)
		if w == 0 || own[a.fold] || a.pos < at-window/2 || a.pos >= at+window/2 {
			continue
		}
		own[a.fold] = true
		out.near = append(out.near, a.fold)
		out.mass += w
	}
	return out
}

// clip shortens a line for people, around the identifier.
func clip(line, around string) string {
	line = strings.ToValidUTF8(strings.TrimSpace(line), "")
	const most = 160 // bytes
	if len(line) <= most {
		return line
	}
	at := max(0, strings.Index(line, around)-most/2)
	return strings.ToValidUTF8(line[at:min(len(line), at+most)], "")
}

// recall is what a context holds of the needs of an exam.
type recall struct{ bag, rel []bool }

// recall looks for every need in a context. It counts for bag if it is anywhere, and for rel if a window of 80
// tokens of one message, one begins every 40, holds it with enough of the line in which it comes up later.
func (e *exam) recall(context *pemmican.Transcript) recall {
	r := recall{make([]bool, len(e.needs)), make([]bool, len(e.needs))}
	for m := range context.Messages {
		atoms := messageText(e.l, context, m).atoms
		e.find.find(atoms, func(n, first, last int) {
			q := e.asked[n]
			if q < 0 || r.rel[q] {
				return
			}
			r.bag[q] = true
			r.rel[q] = e.near(&e.needs[q], atoms, first, last)
		})
	}
	return r
}

// near reports whether one of the windows around an occurrence holds enough of the later line.
func (e *exam) near(q *need, atoms []atom, first, last int) bool {
	if q.mass == 0 {
		return true
	}
	if n := len(e.l.folds); n > len(e.stamp) {
		e.stamp = append(e.stamp, make([]int, n-len(e.stamp))...)
	}
	e.round++
	wanted := e.round
	for _, f := range q.near {
		e.stamp[f] = wanted
	}
	for start := atoms[first].pos / stride * stride; start >= 0 && start > atoms[last].pos-window; start -= stride {
		mass := 0.0
		found := []int32{}
		i := first
		for i > 0 && atoms[i-1].pos >= start {
			i--
		}
		for ; i < len(atoms) && atoms[i].pos < start+window; i++ {
			if f := atoms[i].fold; f >= 0 && e.stamp[f] == wanted {
				e.stamp[f] = 0
				found = append(found, f)
				mass += e.idf.of(f)
			}
		}
		for _, f := range found {
			e.stamp[f] = wanted
		}
		if mass >= nearMass*q.mass {
			return true
		}
	}
	return false
}
