package summary

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
	"github.com/pemmican-dev/pemmican/internal/repetition"
	"github.com/pemmican-dev/pemmican/internal/textcut"
)

// Workflow is what an agent is in the middle of. A summariser that knows it keeps the place. The zero value is none.
type Workflow struct {
	// Command is the command that started it, with or without its slash.
	Command string
	// Step is the step that runs, counted from 1, and Of how many there are. 0 is unknown.
	Step, Of int
	// Label says what the step is for.
	Label string
}

// String returns one line, such as "/build, step 3/7: compile", "" for the zero value.
func (w Workflow) String() string {
	s := strings.TrimLeft(brief(w.Command, whatRunes), "/")
	if s != "" {
		s = "/" + s
	}
	add := func(between, more string) {
		if s != "" && more != "" {
			s += between
		}
		s += more
	}
	if w.Step > 0 {
		add(", ", "step "+strconv.Itoa(w.Step))
		if w.Of > 0 {
			s += "/" + strconv.Itoa(w.Of)
		}
	}
	add(": ", brief(w.Label, whatRunes))
	return s
}

// excerptOptions say what an excerpt is for.
type excerptOptions struct {
	// Redact takes secrets out of a text. Nil is none. It sees every text before it is cut and before anything in it is
	// escaped: of a long one what is sent, and so much more that no secret lies half outside; of an argument also its name.
	Redact   func(string) string
	Workflow Workflow
}

// excerpt is what a model reads that has not got the agent's own request: everything that is dropped, under the labels
// that pi gives to turns, and some lists, all in one frame that marks it as data. Reasoning is not in it: providers take
// that for an attempt to extract it.
//
// It is prepared once, and rendered as often as a smaller one is needed. It is not safe for concurrent use.
type excerpt struct {
	redact   func(string) string
	turns    []turn
	steps    int // the turns that are no person's have numbers of steps from 1 to that
	persons  int // and the person's from 1 to that
	previous string
	workflow string
	plan     []string
	files    []string
	links    []string
	counts   []string

	data, value, text []byte // memory that is used again
}

// turn is one labelled part.
type turn struct {
	label   string
	note    string // stands in parentheses behind the label
	message int
	step    int // what is left out together, 0 for what is never
	person  int // the number of a person's message, 0 for what is none
	texts   []passage
	calls   []shownCall
}

// passage is a text as the first rung shows it: clean, without secrets, and cut.
type passage struct {
	text string
	gone int // how many runes of the end were cut off
	// original is the text before it was cut, and last its last line, once it was asked for.
	original, last string
	// loops is how many rounds the loop had that stood behind the text.
	loops int
}

type shownCall struct {
	tool string
	args []shownArg
	more int // arguments that are not shown
}

type shownArg struct {
	passage
	key  string
	bare bool // no string: shown as it stands in the JSON
}

// Limits in runes, unless said otherwise.
const (
	firstLimit    = 2000   // of a result, and of the value of an argument
	previousLimit = 40_000 // of an earlier summary, which no rung cuts
	edgeLimit     = 100    // of the last line of a cut text
	cutSlack      = 60     // what is longer by less is not worth a marker
	loopHead      = 24     // what stood before a loop is told if it is longer
	loopPart      = 8      // from that length on a part of a round belongs to the loop
	maxArgs       = 40     // arguments of a call
	keptSteps     = 4      // steps at the end that are never left out
	maxListed     = 40     // lines of a list
	maxLinks      = 30
)

// newExcerpt prepares the excerpt of what r drops.
func newExcerpt(r pemmican.SummaryRequest, o excerptOptions) (*excerpt, error) {
	if r.Transcript == nil {
		return nil, errNoTranscript
	}
	e := &excerpt{redact: o.Redact}
	c := newCollector(&r)
	c.pair()
	for k := range c.calls {
		c.call(k)
	}
	c.finish()
	e.previous = cutMiddle(e.safe(earlierNarrative(r.Previous)), previousLimit)
	e.workflow = e.safe(o.Workflow.String())
	e.read(&r, c)
	e.list(&r, c)
	return e, nil
}

// earlierNarrative is what an earlier summary tells in words. The ledger behind it is merged by code; where there is
// nothing else, those parts of it have to do that tell what the work is about.
func earlierNarrative(body string) string {
	e := readEarlier(body)
	text := withoutReminders(e.told())
	if l := e.ledger; text == "" && e.ours {
		_, text, _ = strings.Cut(Ledger{Words: l.Words, Plan: l.Plan, Said: l.Said, Errors: l.Errors}.Render(), "\n\n")
	}
	return text
}

// read makes the turns.
func (e *excerpt) read(r *pemmican.SummaryRequest, c *collector) {
	t := r.Transcript
	opener, shown := -1, -1 // the person's message that opened the running turn, and the last one that was shown
	reach := -1             // the last result of the running step
	first, calls := 0, 0    // its first call, and how many it has
	last := -1              // the message of the block before
	for i := range t.Blocks {
		b := &t.Blocks[i]
		m := &t.Messages[b.Message]
		person := m.Person() && b.CallID == "" && (b.Kind == pemmican.Text || b.Kind == pemmican.Media || b.Kind == pemmican.Opaque)
		if person {
			opener = b.Message
		}
		if !c.dropped[i] || b.Kind == pemmican.Reasoning {
			continue
		}
		if person {
			shown, last = b.Message, b.Message
			e.personBlock(b, "")
			continue
		}
		if b.Kind == pemmican.Summary {
			last = b.Message
			if r.Previous == "" || !strings.Contains(b.Text, r.Previous) {
				body, _ := pemmican.Unseal(b.Text)
				if body == "" {
					body = b.Text
				}
				p := passage{text: cutMiddle(e.safe(earlierNarrative(body)), previousLimit)}
				e.say(turn{label: labelEarlier, message: b.Message}, p)
			}
			continue
		}
		if opener > shown && m.Role != pemmican.System && m.Author != pemmican.ByRuntime {
			// The agent still sees it, but without it nobody can understand what follows.
			shown = opener
			for k := t.Messages[opener].First; k < t.Messages[opener].End; k++ {
				e.personBlock(&t.Blocks[k], "kept beside the summary")
			}
		}
		if e.steps == 0 || b.Message != last && b.Kind != pemmican.ToolResult && i > reach {
			e.steps++
			calls = 0
		}
		last = b.Message
		turn := turn{label: labelRuntime, message: b.Message, step: e.steps}
		switch {
		case b.Kind == pemmican.ToolCall:
			k := int(c.callOf[i])
			if calls++; calls == 1 {
				first = k
			}
			e.call(b, turn)
			if result := c.calls[k].result; result >= 0 {
				reach = max(reach, result)
			} else {
				turn.label, turn.note = labelResult, resultNote(k-first, calls, c.calls[k].tool, "no result")
				e.turns = append(e.turns, turn)
			}
		case b.Kind == pemmican.ToolResult:
			turn.label = labelResult
			status := ""
			if b.Error {
				status = "error"
			}
			turn.note = status
			if k := int(c.callOf[i]); k >= 0 {
				turn.note = resultNote(k-first, calls, c.calls[k].tool, status)
			}
			if p := e.passage(withoutReminders(b.Text), firstLimit); b.Error || p.shows() {
				turn.texts = append(turn.texts, p)
				e.turns = append(e.turns, turn)
			}
		case b.Kind == pemmican.Media:
			turn.label = labelOf(m)
			e.say(turn, passage{text: e.safe(mediaLine(b))})
		case m.Role == pemmican.Assistant && b.Kind == pemmican.Text:
			turn.label = labelAssistant
			e.say(turn, e.passage(b.Text, 0))
		default:
			turn.label = labelOf(m)
			e.say(turn, e.passage(withoutReminders(b.Text), firstLimit))
		}
	}
}

// labelOf is the label of a message that no person wrote.
func labelOf(m *pemmican.Message) string {
	switch m.Role {
	case pemmican.Assistant:
		return labelAssistant
	case pemmican.Tool:
		return labelResult
	}
	return labelRuntime
}

// resultNote says how a call ended, and of several in one step which one it was.
func resultNote(k, calls int, tool, status string) string {
	if calls < 2 || k < 0 {
		return status
	}
	note := "of call " + strconv.Itoa(k+1) + ", " + toolName(tool)
	if status != "" {
		note += ": " + status
	}
	return note
}

func toolName(s string) string {
	if s = brief(s, 60); s != "" {
		return s
	}
	return "tool"
}

// personBlock adds a block of a person's message. What a runtime put into it was an order for then.
func (e *excerpt) personBlock(b *pemmican.Block, note string) {
	text := ""
	switch b.Kind {
	case pemmican.Text, pemmican.Opaque:
		text = trimmed(withoutReminders(b.Text))
	case pemmican.Media:
		text = mediaLine(b)
	}
	if text == "" || b.CallID != "" {
		return
	}
	if !e.continues(labelUser, b.Message) {
		e.persons++
	}
	e.say(turn{label: labelUser, note: note, message: b.Message, person: e.persons}, passage{text: e.safe(withoutData(text))})
}

// continues reports whether the last turn is of that message, and has that label.
func (e *excerpt) continues(label string, message int) bool {
	n := len(e.turns)
	return n > 0 && e.turns[n-1].label == label && e.turns[n-1].message == message
}

// say adds a text to the last turn, or with the turn that is given.
func (e *excerpt) say(t turn, p passage) {
	if !p.shows() {
		return
	}
	if !e.continues(t.label, t.message) {
		e.turns = append(e.turns, t)
	}
	own := &e.turns[len(e.turns)-1]
	own.texts = append(own.texts, p)
}

// mediaLine stands for what only some models can see.
func mediaLine(b *pemmican.Block) string {
	kind := "image"
	mime := brief(b.Media.Type, 40)
	switch {
	case strings.HasPrefix(mime, "audio/"):
		kind = "audio"
	case strings.HasPrefix(mime, "video/"):
		kind = "video"
	case mime != "" && !strings.HasPrefix(mime, "image/"):
		kind = "document"
	}
	name := brief(b.Media.Name, whatRunes)
	if strings.HasPrefix(name, dataScheme) {
		name = ""
	}
	return "[" + strings.TrimSpace(oneLine(kind+" "+mime+" "+name)) + "]"
}

// call adds a call with its arguments.
func (e *excerpt) call(b *pemmican.Block, t turn) {
	t.label = labelCalls
	if !e.continues(labelCalls, b.Message) {
		e.turns = append(e.turns, t)
	}
	own := &e.turns[len(e.turns)-1]
	own.calls = append(own.calls, e.arguments(b))
}

func (e *excerpt) arguments(b *pemmican.Block) shownCall {
	call := shownCall{tool: e.safe(toolName(b.Tool))}
	e.data = append(e.data[:0], b.Args...)
	doc, err := jsonspan.Scan(e.data, 0)
	if err != nil || jsonspan.KindAt(e.data, doc) != jsonspan.KindObject || strings.TrimSpace(b.Args[doc.End:]) != "" {
		if p := e.passage(b.Args, firstLimit); p.shows() {
			call.args = append(call.args, shownArg{passage: p})
		}
		return call
	}
	for k, v := range jsonspan.Members(e.data, doc) {
		if len(call.args) == maxArgs {
			call.more++
			continue
		}
		name, _ := jsonspan.String(e.data, k)
		a := shownArg{key: brief(name, 60)}
		text, ok := jsonspan.String(e.data, v)
		if !ok {
			a.bare = true
			e.value = appendPlainJSON(e.value[:0], v.Of(e.data))
			text = string(e.value)
		}
		a.passage = e.named(a.key, text, firstLimit)
		a.key = e.safe(a.key)
		call.args = append(call.args, a)
	}
	return call
}

// appendPlainJSON appends a JSON value on one line, with no escape for what can stand without one: a secret in it shall
// be found, and a link.
func appendPlainJSON(dst, value []byte) []byte {
	inside := false
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case c == '"':
			inside = !inside
		case !inside && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			continue
		case c == '\\' && i+1 < len(value):
			i++
			if value[i] == '/' {
				c = '/'
				break
			}
			if value[i] == 'u' && i+4 < len(value) {
				n, err := strconv.ParseUint(string(value[i+1:i+5]), 16, 16)
				if err == nil && n >= ' ' && n < 0x7f && n != '"' && n != '\\' {
					c = byte(n)
					i += 4
					break
				}
			}
			dst = append(dst, c)
			c = value[i]
		}
		dst = append(dst, c)
	}
	return dst
}

// trimmed is a text without the white space that nobody misses.
func trimmed(text string) string { return strings.TrimRight(strings.TrimLeft(text, "\r\n"), " \t\r\n") }

// passage prepares a text that a tool, a model or a runtime wrote: without the loop at its end, and cut to limit runes
// if that is positive.
func (e *excerpt) passage(text string, limit int) passage { return e.named("", text, limit) }

// named is passage for the value of an argument, whose name may tell a secret.
func (e *excerpt) named(name, text string, limit int) passage {
	p := passage{}
	if start, rounds := loop(text); rounds > 0 {
		p.loops = rounds
		if text = text[:start]; fits(trimmed(text), loopHead) {
			text = ""
		}
	}
	p.original = withoutData(trimmed(text))
	p.text, p.gone = e.head(name, p.original, limit)
	return p
}

func (p *passage) shows() bool { return p.text != "" || p.gone > 0 || p.loops > 0 }

// head returns the first limit runes of a text, safe to be sent, and how many runes are missing.
func (e *excerpt) head(name, text string, limit int) (string, int) {
	if name != "" {
		name += "="
	}
	redacted := func(text string) string {
		if e.redact == nil || name == "" {
			return e.safe(text)
		}
		return strings.TrimPrefix(e.safe(name+text), name)
	}
	end := len(text)
	if limit > 0 {
		end = textcut.Runes(text, limit)
	}
	if end == len(text) {
		return redacted(text), 0
	}
	reach, whole := end, true
	if e.redact != nil {
		reach, whole = beyond(text, end)
	}
	shown := redacted(text[:reach])
	cut := textcut.Runes(shown, limit)
	if !whole {
		cut = min(cut, textcut.Before(shown, len(shown)-(reach-end)))
	}
	return shown[:cut], utf8.RuneCountInString(shown[cut:]) + utf8.RuneCountInString(text[reach:])
}

// lastLine is the last line of a text that was cut, edgeLimit runes at most.
func (e *excerpt) lastLine(p *passage) string {
	if p.last == "" && p.gone > 0 {
		start := len(p.original) - len(lastRunes(p.original, edgeLimit))
		if i := strings.LastIndexByte(p.original, '\n'); i >= start {
			start = i + 1
		}
		from := start
		if e.redact != nil {
			from = before(p.original, start)
		}
		line := e.safe(p.original[from:])
		line = line[strings.LastIndexByte(line, '\n')+1:]
		p.last = lastRunes(line, min(edgeLimit, utf8.RuneCountInString(p.original[start:])))
	}
	return p.last
}

// loop reports where the loop begins that a text ends with, and how many rounds it has; none is (0, 0). It is asked for
// the whole of a text, since a part of it may not have enough rounds.
func loop(text string) (start, rounds int) {
	if !repetition.May(text) {
		return 0, 0
	}
	hit, ok := (repetition.Detector{}).Detect(text)
	if !ok {
		return 0, 0
	}
	// The detector looks at the end only, and compares without what nobody sees. Go back as far as the unit goes on.
	unit := []rune(hit.Unit)
	at, matched := len(text), 0
	start = at
	for at > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:at])
		space := unicode.IsSpace(r)
		if want := unit[len(unit)-1-matched%len(unit)]; r == want || space && want == ' ' {
			matched++
		} else if !space && !unseen(r) {
			break
		}
		at -= size
		// The end of what stands before may be like the end of a unit; more of it is a part of a round.
		if part := matched % len(unit); part == 0 || part >= loopPart {
			start = at
		}
	}
	return start, max(hit.Repeats, matched/len(unit))
}

// How far a scan for secrets goes beyond what is shown, in bytes.
const (
	scanMargin = 256
	scanToken  = 4 << 10  // to the end of a word
	scanKey    = 16 << 10 // to the end of an armoured key
	scanLine   = 128      // to the end of its last line
)

const (
	armourBegin = "-----BEGIN "
	armourEnd   = "-----END "
	wordEnds    = " \t\r\n\"'`" // what no secret of one word has in it
)

// beyond is up to where a scan has to go that finds all secrets that begin before end, and whether it stops where none
// goes on.
func beyond(text string, end int) (at int, whole bool) {
	at = min(len(text), end+scanMargin)
	to := min(len(text), at+scanToken)
	whole = to == len(text)
	if i := strings.IndexAny(text[at:to], wordEnds); i >= 0 {
		to, whole = at+i, true
	}
	at = to
	if i := strings.LastIndex(text[:at], armourBegin); i >= 0 {
		if n := strings.Index(text[i:min(len(text), at+scanKey)], armourEnd); n >= 0 {
			at = max(at, min(lineEnd(text, i+n), i+n+scanLine))
		}
	}
	return textcut.After(text, at), whole
}

// before is from where a scan has to begin that finds all secrets that go on behind start.
func before(text string, start int) int {
	at := max(0, start-scanMargin)
	from := max(0, at-scanToken)
	at = from + strings.LastIndexAny(text[from:at], wordEnds) + 1
	if i := strings.Index(text[at:], armourEnd); i >= 0 {
		from = max(0, at-scanKey)
		if n := strings.LastIndex(text[from:at+i], armourBegin); n >= 0 {
			at = min(at, from+n)
		}
	}
	return textcut.Before(text, at)
}

// safe makes a text fit to be sent: valid, without control characters, and without secrets. What would break the frame
// is escaped when it is written, since a scan for secrets wants the text as it is.
func (e *excerpt) safe(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if hasControls(text) {
		text = withoutControls(text)
	}
	if e.redact != nil && text != "" {
		text = e.redact(text)
	}
	return text
}

// hasControls reports whether a valid text has something for withoutControls.
func hasControls(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c >= ' ' && c < 0x7f, c == '\n', c == '\t', c >= utf8.RuneSelf && c != 0xc2:
		case c < utf8.RuneSelf, text[i+1] < 0xa0: // U+0080 to U+009F begin with 0xC2
			return true
		}
	}
	return false
}

const (
	dataScheme = "data:"
	dataSign   = ";base64,"
	leastData  = 256 // bytes: shorter ones are no pictures
	dataPrefix = 128 // bytes: a data URL says what it is in so many
)

// withoutData puts a line in the place of every file that is written into a text as a data URL.
func withoutData(text string) string {
	if !strings.Contains(text, dataSign) {
		return text
	}
	var b strings.Builder
	at := 0 // what is before it is done
	for i := 0; i < len(text); {
		n := strings.Index(text[i:], dataSign)
		if n < 0 {
			break
		}
		sign := i + n
		data := sign + len(dataSign)
		for i = data; i < len(text) && (isAlnum(text[i]) || strings.IndexByte("+/=-_", text[i]) >= 0); {
			i++
		}
		from := max(at, sign-dataPrefix)
		start := strings.LastIndex(text[from:sign], dataScheme)
		if start < 0 || i-data < leastData || strings.ContainsAny(text[from+start:sign], " \t\r\n\"'") {
			continue
		}
		b.WriteString(text[at : from+start])
		fmt.Fprintf(&b, "[%s, %d bytes left out]", text[from+start+len(dataScheme):sign], i-data)
		at = i
	}
	return b.String() + text[at:]
}

// list makes the lists behind the turns.
func (e *excerpt) list(r *pemmican.SummaryRequest, c *collector) {
	if c.planned {
		for _, s := range c.plans.steps {
			e.plan = append(e.plan, e.safe(s.head()))
		}
	}
	for _, f := range c.ledger.Files[:min(len(c.ledger.Files), maxListed)] {
		e.files = append(e.files, e.safe(f.head()))
	}
	e.findLinks()
	e.count(r, c)
}

// count counts messages and calls.
func (e *excerpt) count(r *pemmican.SummaryRequest, c *collector) {
	t := r.Transcript
	messages, persons, failed := map[int]bool{}, 0, 0
	tools := map[string]int{}
	for i := range t.Blocks {
		if !c.dropped[i] {
			continue
		}
		b := &t.Blocks[i]
		if m := &t.Messages[b.Message]; !messages[b.Message] {
			messages[b.Message] = true
			if m.Person() {
				persons++
			}
		}
		switch {
		case b.Kind == pemmican.ToolCall:
			tools[toolName(b.Tool)]++
		case b.Kind == pemmican.ToolResult && b.Error:
			failed++
		}
	}
	e.counts = []string{fmt.Sprintf("messages: %d, of the person: %d, failed tool calls: %d", len(messages), persons, failed)}
	names := make([]string, 0, len(tools))
	for name := range tools {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, tools[name])
	}
	if len(names) > 0 {
		e.counts = append(e.counts, e.safe("tool calls: "+strings.Join(names[:min(len(names), maxListed)], ", ")))
	}
}

// findLinks collects the addresses in what is shown: those that the person and the assistant wrote first.
func (e *excerpt) findLinks() {
	seen := map[string]bool{}
	add := func(p *passage) {
		text := p.text
		for i := 0; len(e.links) < maxLinks; {
			n := strings.Index(text[i:], "://")
			if n < 0 {
				return
			}
			i += n + len("://")
			start := i - len("://")
			for _, scheme := range []string{"https", "http"} {
				if strings.HasSuffix(text[:start], scheme) {
					start -= len(scheme)
					break
				}
			}
			if start+len("://") == i {
				continue
			}
			for i < len(text) && text[i] > ' ' && text[i] < 0x7f && !strings.ContainsRune("<>\"'`\\{}|^", rune(text[i])) {
				i++
			}
			if i == len(text) && p.gone > 0 {
				return // cut
			}
			if link := linkOf(text[start:i]); link != "" && !seen[link] {
				seen[link] = true
				e.links = append(e.links, link)
			}
		}
	}
	for _, said := range []bool{true, false} {
		for i := range e.turns {
			t := &e.turns[i]
			if said == (t.label == labelUser || t.label == labelAssistant) {
				for k := range t.texts {
					add(&t.texts[k])
				}
				for k := range t.calls {
					for n := range t.calls[k].args {
						add(&t.calls[k].args[n].passage)
					}
				}
			}
		}
	}
}

// linkOf is an address without the punctuation of the sentence that it stands in, "" for what is none.
func linkOf(s string) string {
	const longest = 500
	if len(s) > longest {
		return ""
	}
	for s != "" {
		c := s[len(s)-1]
		if strings.IndexByte(".,;:!?*_~]", c) < 0 && (c != ')' || strings.Count(s, "(") >= strings.Count(s, ")")) {
			break
		}
		s = s[:len(s)-1]
	}
	if _, rest, _ := strings.Cut(s, "://"); rest == "" {
		return ""
	}
	return s
}
