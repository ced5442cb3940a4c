package summary

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/secrets"
	"github.com/pemmican-dev/pemmican/internal/textcut"
	"github.com/pemmican-dev/pemmican/llm"
)

// Mode is how a model is asked.
type Mode string

// The modes.
const (
	// ModeAuto is ModeSame where the model is the agent's own and the request is at hand and fits, else ModeCross. The
	// zero value means it too.
	ModeAuto Mode = "auto"
	// ModeSame sends the agent's own request with one instruction behind it: the provider's prompt cache pays for all
	// that stands before it.
	ModeSame Mode = "same"
	// ModeCross sends an excerpt, with secrets taken out.
	ModeCross Mode = "cross"
)

// Model is a summariser that asks a model for the narrative, and puts it before the ledger that [Mechanical] computes.
//
// The reply passes a gate before it counts: see [Refusal]. A refused reply is an error, as is a failed request, and it is
// not asked for again; so the transcript stays as it was, unless a [Fallback] stands around the Model.
//
// It must not be copied after its first use, and is safe for concurrent use.
type Model struct {
	// Client reaches the provider of the summary model. It must be set, unless Via is.
	Client *llm.Client
	// Via asks the model instead, if it is set: an agent that keeps its keys and its requests to itself. Client and Body are
	// not looked at then.
	Via Asker
	// Name is the summary model, as its provider calls it. Defaults to the agent's own.
	Name string
	// Mode is how it is asked. Defaults to ModeAuto.
	Mode Mode
	// Body is the agent's own request body, in the protocol of Client, which the transcript was decoded from: what
	// ModeSame needs. Defaults to none.
	Body []byte
	// Provider is the provider's name in the catalogue and in what a user says of models, where the host of the client's
	// endpoint tells none. Defaults to none, or with Via to what stands before the first slash of the model's name.
	Provider string
	// Window is the context window of the summary model in tokens. Defaults to what the catalogue knows, else 128,000.
	Window int
	// Catalogue knows windows and prices, and learns windows from errors. Defaults to one that all Models share.
	Catalogue *llm.Catalogue
	// Focus is what the person wants the summary to concentrate on.
	Focus string
	// Workflow is the command that the agent is working on, if any.
	Workflow Workflow
	// MaxWait bounds the whole attempt, retries included. Defaults to 2 minutes.
	MaxWait time.Duration
	// Guard, if there is one, decides whether the model is asked at all, and counts failures.
	Guard *Guard
	// Content returns what a file of Dir, the agent's working folder, holds today; false where it cannot be read. Files
	// are attached again as it says. Defaults to what the agent has read.
	Content func(path string) (text string, ok bool)
	// Dir is the working folder. Content is asked of nothing outside it.
	Dir string
	// Progress, if it is set, is told how far the reply has come.
	Progress func(llm.Progress)
	// Log gets one line for each attempt, without a word of the conversation. Defaults to none.
	Log *slog.Logger

	noted sync.Once // that an excerpt of the conversation went out
}

var _ pemmican.Summarizer = (*Model)(nil)

const (
	defaultMaxWait = 2 * time.Minute
	defaultWindow  = 128_000 // tokens
)

// ErrUnresolved reports that it could not be made out what to ask, or whom, so nobody was.
var ErrUnresolved = errors.New("no model can be asked")

// Summarize asks the model and returns the assembled summary. The error is a *Refusal for a reply that did not pass the
// gate, an *llm.Error for a request that failed, and ErrUnresolved, ErrGuardOpen or ErrInflated where nobody was asked.
// What was asked is told with an error as well.
func (m *Model) Summarize(ctx context.Context, r pemmican.SummaryRequest) (pemmican.SummaryText, error) {
	if err := ctx.Err(); err != nil {
		return pemmican.SummaryText{}, err
	}
	if r.Transcript == nil {
		return pemmican.SummaryText{}, errNoTranscript
	}
	if r.Counter == nil {
		r.Counter = estimator{}
	}
	log := m.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	a, err := m.resolve(r)
	if err != nil {
		log.WarnContext(ctx, "no summary by a model", "model", m.Name, "reason", err.Error())
		return pemmican.SummaryText{}, err
	}
	leave, err := m.Guard.allow(a.segment())
	if err != nil {
		log.WarnContext(ctx, "no summary by a model", "model", a.model, "reason", err.Error())
		return pemmican.SummaryText{}, err
	}
	err = errAborted // what the caller's own functions may do
	defer func() { leave.done(err) }()
	out, err := a.run(ctx)
	if err != nil {
		log.WarnContext(ctx, "the summary by a model failed", "model", a.model, "mode", out.Asked.Mode, "requests", out.Asked.Requests, "reason", reasonFor(err))
	} else {
		log.InfoContext(ctx, "summary by a model", "model", a.model, "mode", out.Asked.Mode, "requests", out.Asked.Requests,
			"input", out.Asked.Input, "cache_read", out.Asked.CacheRead, "output", out.Asked.Output)
	}
	return out, err
}

// errAborted is how an attempt ended that a panic has ended.
var errAborted = errors.New("the attempt was aborted")

// reasonFor is the reason of a failure without a word of the conversation, which a reply, and a provider's error too, may
// have quoted.
func reasonFor(err error) string {
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return string(refusal.Reason)
	}
	if failure, ok := errors.AsType[*llm.Error](err); ok {
		return fmt.Sprintf("%s (status %d, code %q)", failure.Kind, failure.Status, failure.Code)
	}
	return err.Error()
}

// withoutSecrets is an error whose text has none: what a reply or a provider said is a part of it.
func (a *attempt) withoutSecrets(err error) error {
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return &Refusal{refusal.Reason, neutral(a.clean(refusal.Detail))}
	}
	if failure, ok := errors.AsType[*llm.Error](err); ok {
		own := *failure
		own.Message, own.Code = a.clean(own.Message), a.clean(own.Code)
		return &own
	}
	return err
}

// attempt is one request for a summary, with all that is known about it before it is sent.
type attempt struct {
	*Model
	r         pemmican.SummaryRequest
	catalogue *llm.Catalogue
	info      llm.Model // what the catalogue knows of the model, the zero value if nothing
	mode      Mode
	model     string
	own       bool // the model is the agent's own
	window    int  // of the model, in tokens
	// windowFrom is who says so.
	windowFrom string
	body       []byte // the request of ModeSame
	facts      int    // what the pinned facts take in the ledger, in tokens
	// provider and id are the model's in the catalogue.
	provider, id string
	prompt       promptOptions
	text         string // what was written for the model, apart from what it renders of the transcript

	// silentShare is what the last reply that looked like a silent overflow reported as input, of what we took it for.
	silentShare float64

	// known are the values of the secrets in the conversation, nil until they are needed.
	known *secrets.Known

	asked  pemmican.Asking
	price  llm.Price
	cost   float64
	priced bool // cost is known so far
	notes  []string
}

var sharedCatalogue = sync.OnceValue(llm.DefaultCatalogue)

// resolve finds out whom to ask, and how.
func (m *Model) resolve(r pemmican.SummaryRequest) (*attempt, error) {
	if m.Client == nil && m.Via == nil {
		return nil, fmt.Errorf("%w: no client is set", ErrUnresolved)
	}
	a := &attempt{Model: m, r: r, catalogue: m.Catalogue}
	if a.catalogue == nil {
		a.catalogue = sharedCatalogue()
	}
	own := r.Transcript.Model
	if m.Via == nil && m.Body != nil {
		own = m.Client.API.Model(m.Body)
	}
	if a.model = m.Name; a.model == "" {
		a.model = own
	}
	if a.model == "" {
		return nil, fmt.Errorf("%w: none is named, and the transcript does not tell the agent's own", ErrUnresolved)
	}
	if m.Via == nil && m.Client.BaseURL == "" && m.Client.Key.IsZero() {
		return nil, fmt.Errorf("%w: there is no key for %s at %s; set %s or name a file", ErrUnresolved, a.model, m.Client.Endpoint(), m.Client.API.KeyVariable())
	}
	a.own = sameModel(a.model, own)
	// What is no smaller than what it stands for is not worth a request.
	replaced := a.count(r.Previous)
	for _, i := range r.Dropped {
		replaced += r.Counter.Count(&r.Transcript.Blocks[i])
	}
	a.r.Tokens = min(r.Tokens, replaced-1)
	a.provider, a.id = cmp.Or(llm.ProviderAt(a.endpoint()), m.Provider), a.model
	if before, after, ok := strings.Cut(a.model, "/"); ok && m.Via != nil && (a.provider == "" || a.provider == before) {
		a.provider, a.id = before, after
	}
	a.info, _ = a.catalogue.Find(a.provider, a.id)
	a.price, a.priced = a.catalogue.Price(a.endpoint(), a.provider, a.id)
	if a.window, a.windowFrom = m.Window, "given"; a.window <= 0 {
		if a.window, a.windowFrom = a.catalogue.Window(a.endpoint(), a.provider, a.id); a.window <= 0 {
			a.window, a.windowFrom = defaultWindow, "assumed"
		}
	}
	a.facts = factsTokens(a.r)
	a.prompt = promptOptions{
		Language: language(r),
		Focus:    redact(m.Focus),
		KeptFrom: keptFrom(r),
		Words:    wordsOf(wish(a.r.Tokens - a.facts)),
		Update:   r.Previous != "",
		Workflow: Workflow{Command: redact(m.Workflow.Command), Step: m.Workflow.Step, Of: m.Workflow.Of, Label: redact(m.Workflow.Label)},
	}
	return a, a.choose()
}

// endpoint is where the model is asked, "" where somebody else asks it.
func (a *attempt) endpoint() string {
	if a.Via != nil {
		return ""
	}
	return a.Client.Endpoint()
}

// at is " at" and the endpoint, for what people read.
func (a *attempt) at() string {
	if a.Via != nil {
		return ""
	}
	return " at " + a.Client.Endpoint()
}

// sameModel reports whether two names are those of one model: equal, or but for the vendor that one of them begins with.
func sameModel(a, b string) bool {
	return a != "" && b != "" && (a == b || strings.HasSuffix(a, "/"+b) || strings.HasSuffix(b, "/"+a))
}

// keptFrom is how the part begins that stays behind what is dropped, "" if there is nothing to quote.
func keptFrom(r pemmican.SummaryRequest) string {
	if len(r.Dropped) == 0 {
		return ""
	}
	for i := r.Dropped[len(r.Dropped)-1] + 1; i < len(r.Transcript.Blocks) && i < len(r.Kept); i++ {
		b := &r.Transcript.Blocks[i]
		if text := strings.TrimSpace(b.Text); r.Kept[i] && b.Kind == pemmican.Text && text != "" {
			// What is quoted is short, and a secret that reaches over its end must not stand there by half.
			return redact(text[:textcut.Before(text, quoteMargin)])
		}
	}
	return ""
}

// quoteMargin is how much of a text is looked through for secrets where only its beginning is quoted, in bytes.
const quoteMargin = 4096

// A narrative has a share of the room in percent, the ledger the rest, and no more than a reader wants to read.
const (
	narrativeShare = 40
	narrativeMost  = 60    // whatever was wished for: the rest is the ledger's
	maxNarrative   = 4_000 // tokens
	leastNarrative = 100   // tokens
)

// wish is how long the narrative is wished to be in a room, in tokens.
func wish(room int) int { return max(min(room*narrativeShare/100, maxNarrative), leastNarrative) }

// wordsOf is how many words about that many tokens are.
func wordsOf(tokens int) int { return tokens * 3 / 5 }

// Bounds of the output that is asked for, in tokens. A model takes a wish for a length as a wish; and whatever it
// reasons counts as output.
const (
	leastOutput    = 2_048
	reasoningSpare = 8_192
)

// output is the output limit for a request of our own. It leaves most of the window to the excerpt.
func (a *attempt) output() int {
	n := max(3*wish(a.r.Tokens), leastOutput)
	if a.info.Reasons || a.info.ID == "" {
		n += reasoningSpare
	}
	if a.info.MaxOutput > 0 {
		n = min(n, a.info.MaxOutput)
	}
	return max(1, min(n, a.window/4))
}

// choose decides between the modes. The request of ModeSame is made here, once.
func (a *attempt) choose() error {
	switch a.Mode {
	case ModeCross:
		a.mode = ModeCross
		return nil
	case ModeAuto, ModeSame, "":
	default:
		return fmt.Errorf("%w: there is no mode %q; use auto, same or cross", ErrUnresolved, a.Mode)
	}
	err := a.extend()
	switch {
	case err == nil && (a.Mode == ModeSame || a.requestTokens()+a.output() <= a.window):
		a.mode = ModeSame
	case a.Mode == ModeSame:
		return fmt.Errorf("%w in the same-model mode: %w", ErrUnresolved, err)
	default:
		a.mode, a.body = ModeCross, nil
	}
	return nil
}

// extend makes the request of ModeSame: the agent's own with the instruction behind it.
func (a *attempt) extend() (err error) {
	switch {
	case a.r.OverLimits:
		return errors.New("the conversation has more bytes, pictures or messages than its provider takes in one request")
	case a.Via != nil && !a.own:
		return fmt.Errorf("the agent's own model is %s, and %s was named", cmp.Or(a.r.Transcript.Model, "not known"), a.model)
	case a.Via != nil:
		a.text = instruction(a.prompt)
		return nil
	case a.Body == nil:
		return fmt.Errorf("it needs the agent's own request, in the protocol %s and with its system text and tools: a session file does not hold it", a.Client.API)
	case !a.own:
		return fmt.Errorf("the agent's own model is %s, and %s was named", a.Client.API.Model(a.Body), a.model)
	}
	a.text = instruction(a.prompt)
	a.body, err = a.Client.API.Extend(a.Body, a.text)
	return err
}

// requestTokens is about how many tokens the agent's own request has, with the instruction.
func (a *attempt) requestTokens() int {
	t := a.r.Transcript
	n := a.count(t.Tools) + a.count(a.text)
	for i := range t.Blocks {
		n += a.r.Counter.Count(&t.Blocks[i])
	}
	return n
}

func (a *attempt) count(text string) int {
	if text == "" {
		return 0
	}
	return a.r.Counter.Count(&pemmican.Block{Text: text})
}

// segment names what is asked of whom, so that asking the same again can be told.
func (a *attempt) segment() string {
	h := sha256.New()
	write := func(parts ...string) {
		for _, s := range parts {
			_, _ = fmt.Fprintf(h, "%d:%s", len(s), s)
		}
	}
	api := llm.API("")
	if a.Via == nil {
		api = a.Client.API
	}
	write(string(a.mode), a.model, string(api), a.endpoint(), a.Focus, a.Workflow.String(), a.r.Previous)
	for _, i := range a.r.Dropped {
		b := &a.r.Transcript.Blocks[i]
		write(b.Tool, b.Args, b.Text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// redactor is what takes secrets out of texts, with a cache that all Models share.
var redactor secrets.Redactor

func redact(text string) string {
	text, _ = redactor.Redact(text)
	return text
}

// clean takes out of a text what looks like a secret, and the values of those that stand in the conversation, where what
// tells that they are some may be missing here.
func (a *attempt) clean(text string) string {
	if a.known == nil {
		t := a.r.Transcript
		texts := make([]string, 0, 2*len(t.Blocks)+1)
		texts = append(texts, a.r.Previous)
		for _, m := range t.Messages {
			var joined strings.Builder // a secret may be split over the parts of a message
			for _, b := range t.Blocks[m.First:m.End] {
				joined.WriteString(b.Text)
				if b.Args != "" {
					texts = append(texts, b.Args)
				}
			}
			texts = append(texts, joined.String())
		}
		a.known = redactor.Secrets(texts...)
	}
	text, _ = a.known.Remove(redact(text))
	return text
}

// withoutSplitSecrets is the request with secrets taken out that are split over neighbouring parts of one message. What
// stands in one part is found when that is rendered.
func withoutSplitSecrets(r pemmican.SummaryRequest) pemmican.SummaryRequest {
	t := r.Transcript
	var own *pemmican.Transcript
	for _, m := range t.Messages {
		for i := m.First; i < m.End; {
			end := i + 1
			for end < m.End && t.Blocks[end].Kind == t.Blocks[i].Kind && t.Blocks[end].CallID == t.Blocks[i].CallID {
				end++
			}
			if kind := t.Blocks[i].Kind; end-i > 1 && (kind == pemmican.Text || kind == pemmican.ToolResult) {
				parts := make([]string, 0, end-i)
				for _, b := range t.Blocks[i:end] {
					parts = append(parts, b.Text)
				}
				parts, found := redactor.RedactParts(parts)
				if found > 0 && own == nil {
					own = &pemmican.Transcript{}
					*own = *t
					own.Blocks = slices.Clone(t.Blocks)
				}
				for k := range parts {
					if found > 0 {
						own.Blocks[i+k].Text = parts[k]
					}
				}
			}
			i = end
		}
	}
	if own != nil {
		r.Transcript = own
	}
	return r
}

// run asks, lets the reply through the gate or not, and assembles the summary. It tells what was asked in any case.
func (a *attempt) run(parent context.Context) (pemmican.SummaryText, error) {
	wait := a.MaxWait
	if wait <= 0 {
		wait = defaultMaxWait
	}
	ctx, cancel := context.WithTimeout(parent, wait)
	defer cancel()
	body, err := a.write(ctx)
	out := pemmican.SummaryText{Body: body, Kind: a.model, Notes: a.notes}
	a.asked.Model, a.asked.Mode = a.model, string(a.mode)
	if a.priced && a.asked.Input > 0 {
		a.asked.Dollars = &a.cost
	}
	out.Asked = &a.asked
	switch cause := parent.Err(); {
	case err != nil && cause != nil:
		return out, cause
	case errors.Is(err, context.DeadlineExceeded):
		err = &llm.Error{
			Kind: llm.Transient, Message: fmt.Sprintf("no summary from %s%s within %s", a.model, a.at(), wait),
			Requests: a.asked.Requests, Err: context.DeadlineExceeded,
		}
	}
	return out, a.withoutSecrets(err)
}

// write returns the body of the summary.
func (a *attempt) write(ctx context.Context) (string, error) {
	reply, err := a.ask(ctx)
	if err != nil {
		return "", err
	}
	got, err := accept(reply, gateSource{Request: &a.r, Prompt: a.text, Redact: a.clean})
	if err != nil {
		return "", err
	}
	narrative := a.clean(framed(got.Narrative))
	if !hasContent(narrative) {
		return "", refuse(ReasonEcho, "what stands around an earlier summary")
	}
	if len(got.Flagged) > 0 {
		names := neutral(a.clean(cutEnd(strings.Join(got.Flagged, ", "), maxFlagged)))
		narrative += "\n\n(Not found in the conversation, so be careful with it: " + names + ")"
		note := "the summary names what the conversation does not have: " + names
		if got.Cut > 0 {
			note += fmt.Sprintf("; what names nothing else was cut (lines: %d)", got.Cut)
		}
		a.notes = append(a.notes, note)
	}
	return a.assemble(ctx, narrative)
}

// maxFlagged is how much is told of the names that were made up, in runes.
const maxFlagged = 300

// ask sends the request of the mode. In ModeAuto a request of the agent's own that turns out to be too large is followed
// by an excerpt.
func (a *attempt) ask(ctx context.Context) (*llm.Reply, error) {
	if a.mode == ModeSame {
		reply, err := a.askSame(ctx)
		if err == nil || a.Mode == ModeSame || !tooLarge(err) {
			return reply, err
		}
		a.mode, a.body = ModeCross, nil
	}
	return a.askCross(ctx)
}

// tooLarge reports whether a smaller request would help.
func tooLarge(err error) bool {
	switch llm.KindOf(err) {
	case llm.Overflow, llm.TooManyBytes, llm.Silent:
		return true
	}
	return false
}

// spare is how many tokens of a window stay free for what an estimate misses, when an output limit is fitted to it.
const spare = 256

func (a *attempt) askSame(ctx context.Context) (*llm.Reply, error) {
	q := Question{Model: a.model, Mode: ModeSame, Instruction: a.text}
	reply, err := a.send(ctx, q, a.requestTokens())
	// The agent's own output limit may not fit behind its own input any more.
	if n, ok := a.lowered(err); ok && a.Via == nil {
		body, limitErr := a.Client.API.WithOutputLimit(a.body, n)
		if limitErr != nil {
			return nil, err
		}
		a.body = body
		return a.send(ctx, q, a.requestTokens())
	}
	return reply, err
}

// lowered is the output limit that would fit, if an error says that the one that was asked for did not.
func (a *attempt) lowered(err error) (int, bool) {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Kind != llm.OutputLimit {
		return 0, false
	}
	n := leastOutput
	switch {
	case e.Limit > 0 && e.Input > 0:
		n = e.Limit - e.Input - spare
	case e.Limit > 0 && e.Limit < a.output(): // the limit is one of output
		n = e.Limit
	}
	return n, n >= leastNarrative
}

const (
	// maxShrinks is how often a smaller excerpt is sent after one that did not fit.
	maxShrinks = 3
	// windowShare is the share of a window that an excerpt is fitted into, in percent: its tokens are estimated, and some
	// vendors count a third more.
	windowShare = 85
)

func (a *attempt) askCross(ctx context.Context) (*llm.Reply, error) {
	a.prompt.Focus, a.prompt.KeptFrom = a.clean(a.prompt.Focus), a.clean(a.prompt.KeptFrom)
	prompt := llm.Prompt{Model: a.model, System: crossSystem(a.prompt), MaxTokens: a.output()}
	a.text = prompt.System + "\n\n" + crossUser("", a.prompt)
	e, err := newExcerpt(withoutSplitSecrets(a.r), excerptOptions{Redact: a.clean, Workflow: a.prompt.Workflow})
	if err != nil {
		return nil, err
	}
	room := (a.window-prompt.MaxTokens)*windowShare/100 - a.count(a.text)
	text, err := e.fit(max(room, 1))
	for shrinks := 0; err == nil; shrinks++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		prompt.User = crossUser(text.Text, a.prompt)
		reply, sendErr := a.send(ctx, Question{Model: a.model, Mode: ModeCross, Prompt: prompt}, text.Tokens+a.count(a.text))
		told, ok := errors.AsType[*llm.Error](sendErr)
		if !ok || !tooLarge(told) && told.Kind != llm.OutputLimit || shrinks == maxShrinks {
			return reply, sendErr
		}
		prompt.MaxTokens, room = shrunk(told, prompt.MaxTokens, text.Tokens)
		text, err = e.fit(max(room, 1))
	}
	if errors.Is(err, ErrNoRoom) {
		err = fmt.Errorf("%w; the window of %s is %d tokens (%s)", err, a.model, a.window, a.windowFrom)
	}
	return nil, err
}

// shrunk is the output limit and the room for an excerpt that a request should have after one with these was too large.
// One of them is smaller than before.
func shrunk(e *llm.Error, output, tokens int) (newOutput, newTokens int) {
	if input := max(e.Input, e.Requested); e.Limit > 0 && input > 0 && (e.Input > 0 || e.Kind != llm.OutputLimit) {
		// The provider tells how it counts, so the excerpt is fitted in proportion.
		newOutput = max(1, min(output, e.Limit/4))
		if e.Input > 0 {
			input = e.Input
		}
		newTokens = int(float64(tokens) * float64(e.Limit-newOutput) / float64(input) * 0.95)
		if e.Kind != llm.OutputLimit || newOutput == output {
			newTokens = min(newTokens, tokens*9/10)
		}
		return newOutput, min(newTokens, tokens)
	}
	if e.Kind == llm.OutputLimit {
		if newOutput = output / 2; e.Limit > 0 {
			newOutput = min(newOutput, e.Limit)
		}
		return max(1, newOutput), tokens
	}
	return output, tokens / 2
}

// sameShare is how much two shares may differ and still be about the same.
const sameShare = 1.25

// post asks once.
func (a *attempt) post(ctx context.Context, q Question) (*llm.Reply, error) {
	switch {
	case a.Via != nil:
		return askVia(ctx, a.Via, q)
	case q.Mode == ModeSame:
		return a.Client.Send(ctx, a.body, a.Progress)
	default:
		return a.Client.Send(ctx, a.Client.API.Body(q.Prompt), a.Progress)
	}
}

// send sends a request of about that many tokens, and counts what it took.
func (a *attempt) send(ctx context.Context, q Question, tokens int) (*llm.Reply, error) {
	reply, err := a.post(ctx, q)
	if told, ok := errors.AsType[*llm.Error](err); ok {
		a.asked.Requests += told.Requests
		if told.Kind == llm.Overflow || told.Kind == llm.OutputLimit && told.Input > 0 { // else its limit is one of output
			a.catalogue.Learn(a.endpoint(), a.model, told.Limit)
		}
	}
	if told, ok := errors.AsType[*llm.Error](err); a.mode == ModeCross && (err == nil || ok && told.Status > 0) {
		a.noted.Do(func() {
			a.notes = append(a.notes, fmt.Sprintf("an excerpt of the conversation, with secrets taken out, went to %s%s", a.model, a.at()))
		})
	}
	if err != nil {
		return nil, err
	}
	a.asked.Requests += reply.Requests
	u := reply.Usage
	a.asked.Input += u.Input
	a.asked.CacheRead += u.CacheRead
	a.asked.CacheWrite += u.CacheWrite
	a.asked.Output += u.Output
	a.priced = a.priced && u.Reported
	a.cost += a.price.Cost(u)
	hidden := llm.ClassifyReply(reply, tokens, a.window)
	if hidden == nil || hidden.Kind == llm.Silent && a.misreports(u.Input, tokens) {
		return reply, nil
	}
	return nil, hidden
}

// misreports reports whether a provider just counts otherwise than we do: the count of a smaller request is smaller in
// proportion. One that cuts the input to its window counts the same again.
func (a *attempt) misreports(input, tokens int) bool {
	share := float64(input) / float64(max(1, tokens))
	before := a.silentShare
	a.silentShare = share
	return before > 0 && share < before*sameShare && before < share*sameShare
}
