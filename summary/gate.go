package summary

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/estimate"
	"github.com/pemmican-dev/pemmican/llm"
)

// ErrRefused reports a reply of a model that may not stand for a transcript. [errors.Is] holds for every [*Refusal].
var ErrRefused = errors.New("the model's reply was refused")

// Reason is why a reply was refused. The words are stable, for callers that branch on them.
type Reason string

// The reasons, in the order in which they are looked for: the first one that holds is told.
const (
	// ReasonCutOff: the output limit or the window ended the reply, or it ends inside a tag.
	ReasonCutOff Reason = "cut-off"
	// ReasonFiltered: a content filter, or a refusal that the provider told apart.
	ReasonFiltered Reason = "filtered"
	// ReasonUnfinished: the reply ended for a reason that is no normal end: a pause, a broken stream, an unknown word.
	ReasonUnfinished Reason = "unfinished"
	// ReasonToolCall: a call stands in the reply, parsed by the provider or written out, whatever stands beside it.
	ReasonToolCall Reason = "tool-call"
	// ReasonReasoning: there is reasoning and nothing else.
	ReasonReasoning Reason = "only-reasoning"
	// ReasonEmpty: there is no text, or a template that nothing was filled into.
	ReasonEmpty Reason = "empty"
	// ReasonLoop: a part is repeated again and again.
	ReasonLoop Reason = "looping"
	// ReasonEcho: it copies the instruction, the conversation's last text, or the earlier summary.
	ReasonEcho Reason = "echo"
	// ReasonChat: it answers the conversation, or declines, instead of telling what happened.
	ReasonChat Reason = "chat-reply"
	// ReasonTooLong: it takes as many tokens as what it would replace, or more.
	ReasonTooLong Reason = "not-smaller"
	// ReasonInvented: most names and values in it do not occur in the transcript.
	ReasonInvented Reason = "invented"
	// ReasonNoRoom: it is a good one, but does not fit into the room that the target leaves for it.
	ReasonNoRoom Reason = "no-room"
)

var reasonTexts = map[Reason]string{
	ReasonCutOff:     "the summary was cut off",
	ReasonFiltered:   "the provider refused to answer",
	ReasonUnfinished: "the reply did not come to its end",
	ReasonToolCall:   "the model called a tool instead of writing a summary",
	ReasonReasoning:  "the model only reasoned and wrote no summary",
	ReasonEmpty:      "the summary is empty",
	ReasonLoop:       "the summary repeats itself",
	ReasonEcho:       "the model copied instead of summarising",
	ReasonChat:       "the model answered the conversation instead of summarising it",
	ReasonTooLong:    "the summary is not smaller than what it replaces",
	ReasonNoRoom:     "the summary does not fit into its room",
	ReasonInvented:   "the summary names what the conversation does not have",
}

// Refusal is the error of a refused reply.
//
//nolint:errname // it is what the gate answers, and reads as a word of its own in reports
type Refusal struct {
	Reason Reason
	// Detail is a short text for people, on one line; it may be "".
	Detail string
}

// Error is one line: what is wrong with the reply, and the detail.
func (r *Refusal) Error() string {
	text, ok := reasonTexts[r.Reason]
	if !ok {
		text = "the reply was refused: " + string(r.Reason)
	}
	if r.Detail != "" {
		text += " (" + r.Detail + ")"
	}
	return text
}

// Is reports whether target is ErrRefused.
func (r *Refusal) Is(target error) bool { return target == ErrRefused }

// refuse makes a refusal with a detail on one line. Accept cuts it, when secrets are out of it.
func refuse(reason Reason, detail string) *Refusal {
	return &Refusal{Reason: reason, Detail: brief(oneLine(detail), maxSaid)}
}

const (
	maxSaid   = 1_000 // runes that are looked through for secrets
	maxDetail = 60    // runes
)

// shortened is a refusal that quotes little, and no part of a secret: its detail ends with a whole word.
func (r *Refusal) shortened(redact func(string) string) *Refusal {
	detail, cut := strings.CutSuffix(r.Detail, gap)
	if cut { // The last word may be a part of one.
		detail = detail[:strings.LastIndexByte(strings.TrimRight(detail, " "), ' ')+1]
	}
	if redact != nil {
		detail = redact(detail)
	}
	if detail = oneLine(detail); !fits(detail, maxDetail) {
		detail, cut = cutAt(detail, maxDetail-len(gap)), true
		detail = detail[:max(0, strings.LastIndexByte(detail, ' '))]
	}
	if cut {
		detail = strings.TrimSpace(detail + " " + gap)
	}
	return &Refusal{Reason: r.Reason, Detail: detail}
}

// gateSource is what a reply is held against.
type gateSource struct {
	Request *pemmican.SummaryRequest
	// Prompt is what was written for the model: system text of ours, instruction, focus, workflow. What it renders of
	// the transcript need not be in it.
	Prompt string
	// Redact takes secrets out of what a refusal quotes; nil takes out nothing.
	Redact func(text string) string
}

// accepted is what is left of a reply that may stand for a transcript.
type accepted struct {
	// Narrative is valid UTF-8 without control characters. Its tags are the model's own: whoever frames it by tags
	// must see to it that it cannot close them.
	Narrative string
	// Flagged are names and values that occur nowhere in the source, each once, those of cut lines too.
	Flagged []string
	// Cut is how many lines were cut because all that they name is flagged.
	Cut int
}

// accept returns the narrative that a reply holds, or a [*Refusal]. There is no least length and there are no headings
// that must be there: a short and plain summary is a good one. It is a pure function of its arguments, and what it
// returns is accepted again as it is.
func accept(reply *llm.Reply, s gateSource) (accepted, error) {
	out, refusal := newChecker(s).accept(reply)
	if refusal != nil {
		return accepted{}, refusal.shortened(s.Redact)
	}
	return out, nil
}

func (c *checker) accept(reply *llm.Reply) (out accepted, _ *Refusal) {
	if refusal := refuseEnd(reply); refusal != nil {
		return out, refusal
	}
	// What stays after a cut is held to the same rules as what came.
	text := readable(reply.Text)
	for range maxLayers {
		narrative, refusal := narrativeOf(text, reply.Reasoned, c.habits)
		if refusal != nil {
			return out, refusal
		}
		// Before anything is cut off that tells of one.
		if refusal := turnIn(narrative); refusal != nil {
			return out, refusal
		}
		if bare := c.bare(narrative); bare != narrative {
			text = bare
			continue
		}
		if refusal := c.refuse(narrative); refusal != nil {
			return out, refusal
		}
		v, refusal := c.invented(narrative)
		if refusal != nil {
			return out, refusal
		}
		for _, name := range v.unknown {
			if !slices.Contains(out.Flagged, name) {
				out.Flagged = append(out.Flagged, name)
			}
		}
		if v.lines == 0 {
			out.Narrative = narrative
			return out, nil
		}
		out.Cut += v.lines
		text = v.rest
	}
	return out, refuse(ReasonCutOff, "wrapper upon wrapper")
}

// readable is text as valid UTF-8, without control characters and terminal sequences, with line breaks of one kind.
func readable(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.ContainsFunc(text, func(r rune) bool { return isControl(r) && r != '\n' }) {
		text = withoutControls(text)
	}
	return text
}

// refuseEnd looks at everything of a reply but its text. Only one end is a normal one.
func refuseEnd(reply *llm.Reply) *Refusal {
	switch {
	case reply == nil:
		return refuse(ReasonEmpty, "")
	case reply.Stop == llm.StopFiltered, reply.Refusal != "":
		return refuse(ReasonFiltered, cmp.Or(reply.Refusal, reply.StopReason))
	case reply.Stop == llm.StopLength:
		return refuse(ReasonCutOff, "the output limit was reached")
	case reply.Stop == llm.StopOverflow:
		return refuse(ReasonCutOff, "the window was full")
	case reply.Stop == llm.StopCalls && len(reply.Calls) == 0:
		return refuse(ReasonToolCall, "")
	case reply.Stop != llm.StopEnd && reply.Stop != llm.StopCalls:
		return refuse(ReasonUnfinished, reply.StopReason)
	case len(reply.Calls) > 0:
		return refuse(ReasonToolCall, reply.Calls[0].Name)
	}
	return nil
}

// checker holds a reply against its source. What it learns of the source it learns once.
type checker struct {
	request *pemmican.SummaryRequest
	prompt  string
	dropped []bool // by block
	habits
	names *nameSet // nil until known is asked
}

func newChecker(s gateSource) *checker {
	c := &checker{request: s.Request, prompt: s.Prompt}
	if c.request == nil {
		c.request = &pemmican.SummaryRequest{}
	}
	if c.request.Transcript == nil {
		r := *c.request
		r.Transcript = &pemmican.Transcript{}
		c.request = &r
	}
	t := c.request.Transcript
	c.dropped = make([]bool, len(t.Blocks))
	for _, i := range c.request.Dropped {
		if i >= 0 && i < len(t.Blocks) {
			c.dropped[i] = true
		}
	}
	c.habits = habitsOf(c.request)
	return c
}

// refuse holds a narrative to the rules that look at the whole of it.
func (c *checker) refuse(narrative string) *Refusal {
	if sign := halfOf(narrative); sign != "" {
		return refuse(ReasonCutOff, sign)
	}
	if emptyTemplate(narrative) {
		return refuse(ReasonEmpty, "a template that nothing was filled into")
	}
	if unit := loopIn(narrative); unit != "" {
		return refuse(ReasonLoop, unit)
	}
	if of := c.echo(narrative); of != "" {
		return refuse(ReasonEcho, of)
	}
	if sign := c.chat(narrative); sign != "" {
		return refuse(ReasonChat, sign)
	}
	if has, replaces := c.count(&pemmican.Block{Text: narrative}), c.replaced(); has >= replaces {
		return refuse(ReasonTooLong, strconv.Itoa(has)+" against "+strconv.Itoa(replaces)+" tokens")
	}
	return nil
}

// replaced is how many tokens the summary stands for: all that is dropped, with the arguments of calls, and the earlier
// summary that is merged into it.
func (c *checker) replaced() int {
	n := c.droppedTokens()
	if c.request.Previous != "" {
		n += c.count(&pemmican.Block{Kind: pemmican.Summary, Text: c.request.Previous})
	}
	return n
}

func (c *checker) droppedTokens() int {
	n := 0
	for i := range c.request.Transcript.Blocks {
		if c.dropped[i] {
			n += c.count(&c.request.Transcript.Blocks[i])
		}
	}
	return n
}

func (c *checker) count(b *pemmican.Block) int {
	if c.request.Counter != nil {
		return c.request.Counter.Count(b)
	}
	return estimate.Tokens(b.Tool) + estimate.Tokens(b.Args) + estimate.Tokens(b.Text)
}
