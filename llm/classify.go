package llm

import (
	"fmt"
	"math/bits"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Classify says what kind of failure an answer is. It never returns nil, so it must only be asked about answers that are
// failures: those with another status than 2xx, and errors inside a stream or a body that came with 200. The body is the
// answer's, or the payload of the event of the stream. The header may be nil.
//
// What the texts and codes say comes before the status, with two exceptions: 401 and 402 mean what they say. The status
// is never looked for inside of texts, where it may be an id or an echoed token.
//
// The sizes of the error are read from the texts. An error is an [OutputLimit] only if its input alone would fit, as far
// as the text tells sizes; whatever they are, lowering the output limit by Requested - Limit is then enough. If such an
// error has no Input, its Limit may be that of the output, and says nothing of the window.
//
// A budget per minute that a request exceeds all by itself is an [Overflow] with these sizes: waiting would never help.
func Classify(status int, header http.Header, body []byte) *Error {
	e := gather(body)
	// Bedrock names the error in a header, with the address of its documentation behind a colon.
	if name, _, _ := strings.Cut(header.Get("X-Amzn-Errortype"), ":"); name != "" && len(name) <= maxErrorCode {
		e.codes = append(e.codes, foldCode(name))
		if e.code == "" {
			e.code = oneLine(name)
		}
	}
	v := e.verdict(status)
	out := &Error{
		Kind: v.kind, Status: status, Code: e.code, Message: oneLine(e.message(v.text)),
		Limit: v.sizes.limit, Requested: v.sizes.requested, Input: v.sizes.input,
		RetryAfter: retryAfter(header, v.kind == Throttle),
	}
	if out.RetryAfter == 0 && (v.kind == Throttle || v.kind == Transient || v.kind == Quota) {
		out.RetryAfter = e.waiting()
	}
	return out
}

// verdict is what the evidence comes to.
type verdict struct {
	kind  Kind
	sizes sizes
	text  int // the text that decided, -1 if none did
}

// verdict judges in the order in which the wordings must be asked: what only looks like an overflow comes first, as "too
// many tokens" stands in both.
func (e *evidence) verdict(status int) verdict {
	if (status == 0 || 200 <= status && status <= 299) && e.status > 0 {
		status = e.status
	}
	plain := func(k Kind, text int) verdict { return verdict{kind: k, text: text} }

	for i, t := range e.texts {
		var s sizes
		if strings.Contains(t.folded, "token") && strings.Contains(t.folded, "requested") && s.read(perTime, t.folded) && s.requested > s.limit {
			return verdict{Overflow, s, i}
		}
	}
	if text, ok := e.says(quotaCodes, quotaWordings); ok || status == http.StatusPaymentRequired {
		if e.renewsSoon() {
			return plain(Throttle, text)
		}
		return plain(Quota, text)
	}
	if status == http.StatusUnauthorized {
		return plain(Auth, -1)
	}
	if text, ok := e.says(fieldCodes, fieldWordings); ok {
		return plain(Invalid, text)
	}
	if text, ok := e.says(busyCodes, busyWordings); ok {
		return plain(busyKind(status), text)
	}
	if text, ok := e.says(rateCodes, rateWordings); ok {
		return plain(Throttle, text)
	}
	for i, t := range e.texts {
		if strings.HasPrefix(t.folded, "service unavailable:") {
			return plain(busyKind(status), i)
		}
	}
	if text, ok := e.says(nil, imageWordings); ok {
		return plain(TooManyBytes, text)
	}
	if text, ok := e.says(nil, outputWordings); ok {
		return e.tooLong(text, true)
	}
	if text, ok := e.says(byteCodes, byteWordings); ok && !e.speaksOfTokens() {
		return plain(TooManyBytes, text)
	}
	if text, ok := e.says(overflowCodes, overflowWordings); ok {
		if v := e.tooLong(text, false); status != http.StatusTooManyRequests || v.sizes.limit > 0 || !e.vague(text) {
			return v
		}
		return plain(Throttle, text)
	}
	if e.unexplained() {
		return plain(Overflow, -1)
	}
	return e.rest(status)
}

// busyKind is the kind of a provider that has too much to do.
func busyKind(status int) Kind {
	if status == http.StatusTooManyRequests {
		return Throttle
	}
	return Transient
}

// says reports whether one of the codes or wordings is there, and in which text, -1 if in none. Of several texts it is the
// innermost: those around it quote it.
func (e *evidence) says(codes map[string]bool, wordings []wording) (text int, ok bool) {
	text = -1
	for i, t := range e.texts {
		if (text < 0 || t.depth > e.texts[text].depth) &&
			(codes[t.code] || slices.ContainsFunc(wordings, func(w wording) bool { return w.in(t.folded) })) {
			text = i
		}
	}
	if text >= 0 {
		return text, true
	}
	return -1, slices.ContainsFunc(e.codes, func(c string) bool { return codes[c] })
}

// tooLong decides between input that does not fit and output that does not fit beside it.
func (e *evidence) tooLong(text int, output bool) verdict {
	v := verdict{kind: Overflow, sizes: e.sizes, text: text}
	if text >= 0 {
		v.sizes.add(sizesIn(e.texts[text].folded))
	}
	for _, t := range e.texts {
		if v.sizes.limit == 0 && v.sizes.requested == 0 {
			v.sizes.add(sizesIn(t.folded))
		}
	}
	v.sizes.complete()
	fits, known := v.sizes.fit()
	if known && fits && (output || v.sizes.output > 0) || !known && output {
		v.kind = OutputLimit
	}
	return v
}

// vague reports whether the text is one that a rate limit may use as well.
func (e *evidence) vague(text int) bool {
	for _, c := range e.codes {
		if overflowCodes[c] && c != "tokenlimitexceeded" {
			return false
		}
	}
	return text < 0 || strings.Contains(e.texts[text].folded, "token limit exceeded") ||
		strings.Contains(e.texts[text].folded, "too many input tokens")
}

func (e *evidence) speaksOfTokens() bool {
	for _, t := range e.texts {
		if strings.Contains(t.folded, "token") {
			return true
		}
	}
	return false
}

// renewsSoon reports whether it is a quota that waiting renews: Gemini reports the rates of an account as quotas.
func (e *evidence) renewsSoon() bool {
	exhausted := false
	for _, c := range e.codes {
		if quotaCodes[c] || strings.Contains(c, "perday") {
			return false
		}
		exhausted = exhausted || c == "resourceexhausted"
	}
	wait := e.waiting()
	return exhausted && 0 < wait && wait <= 5*time.Minute
}

// waiting is how long the body says to wait.
func (e *evidence) waiting() time.Duration {
	wait := e.wait
	for _, t := range e.texts {
		wait = max(wait, waitIn(t.folded))
	}
	return wait
}

// unexplained is how GitHub Copilot reports an overflow of the Responses API: by a code that says nothing, and nothing else.
func (e *evidence) unexplained() bool {
	found := false
	for _, c := range e.codes {
		found = found || c == "invalidrequestbody"
	}
	for _, t := range e.texts {
		found = found || t.code == "invalidrequestbody"
		if !emptyTexts[t.code] {
			return false
		}
	}
	return found
}

// rest judges what has nothing to do with sizes.
func (e *evidence) rest(status int) verdict {
	v := verdict{text: -1}
	_, faulty := e.says(invalidCodes, nil)
	for _, c := range []struct {
		kind     Kind
		codes    map[string]bool
		wordings []wording
	}{
		{Filtered, filterCodes, filterWordings},
		{Auth, authCodes, authWordings},
		{Transient, transientCodes, nil},
		{TooManyBytes, byteCodes, nil},
	} {
		if text, ok := e.says(c.codes, c.wordings); ok {
			v.kind, v.text = c.kind, text
			return v
		}
	}
	switch {
	case status == http.StatusForbidden:
		v.kind = Auth
	case status == http.StatusTooManyRequests:
		v.kind = Throttle
	case status == http.StatusRequestEntityTooLarge:
		v.kind = TooManyBytes
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly,
		status == http.StatusFailedDependency: // a model of Bedrock that failed
		v.kind = Transient
	case status == http.StatusNotImplemented, status == http.StatusHTTPVersionNotSupported:
		v.kind = Invalid
	case status >= 500:
		v.kind = Transient
	case status == 0, 200 <= status && status <= 299: // the request was taken before it failed
		v.kind = Transient
		if faulty {
			v.kind = Invalid
		}
	default:
		v.kind = Invalid
	}
	return v
}

// message is the text that decided, else the innermost one that says something.
func (e *evidence) message(decided int) string {
	if decided >= 0 {
		return e.texts[decided].raw
	}
	best := -1
	for i, t := range e.texts {
		if best < 0 || !emptyTexts[t.code] && (t.depth > e.texts[best].depth || emptyTexts[e.texts[best].code]) {
			best = i
		}
	}
	if best < 0 {
		return ""
	}
	return e.texts[best].raw
}

// Bounds of silent overflows.
const (
	// leastEstimate is the least estimate that is worth a judgement, in tokens: smaller requests fit every window, and
	// what an API adds to a request weighs too much.
	leastEstimate = 1024
	// An honest estimate may be too high by 40 %, so that a provider that has read all reports 71 % of it at least. Less
	// than farBelow of it is suspicious, and less than below of it where the size is one at which a server cuts.
	farBelow = 0.6
	below    = 0.7
	// nearly is how much of the window is full enough for a reply that could not begin.
	nearly = 0.99
)

// ClassifyReply finds the failure that a reply with status 200 hides, nil if it hides none. It looks for what has to do
// with sizes only: whether a reply is fit for use is for the caller to say.
//
// Estimate is what the request should have had, and window the window of the model, both in tokens and 0 if unknown. A
// reply that ended because the window was full is an [Overflow]. It is [Silent] if the provider counted more input than
// the window has; if it used up the window with input and said nothing; or if it counted so much less than the estimate
// that it must have cut the input away, which survives an estimate that is wrong by 40 %.
func ClassifyReply(r *Reply, estimate, window int) *Error {
	if r == nil {
		return nil
	}
	if r.Stop == StopOverflow {
		return &Error{Kind: Overflow, Status: http.StatusOK, Code: r.StopReason, Message: "the reply ended because the window was full", Limit: window}
	}
	input := max(r.Usage.Input, r.Usage.CacheRead+r.Usage.CacheWrite)
	if !r.Usage.Reported || input <= 0 {
		return nil
	}
	silent := func(format string, args ...any) *Error {
		return &Error{
			Kind: Silent, Status: http.StatusOK, Code: r.StopReason, Message: fmt.Sprintf(format, args...),
			Limit: max(window, 0), Requested: max(estimate, input), Input: input,
		}
	}
	empty := r.Text == "" && r.Reasoning == "" && !r.Reasoned && r.Refusal == "" && len(r.Calls) == 0 && r.Usage.Output <= 0
	switch {
	case window > 0 && input > window:
		return silent("the provider counted %d tokens of input, and the window has %d", input, window)
	case window > 0 && r.Stop == StopLength && empty && float64(input) >= nearly*float64(window):
		return silent("%d tokens of input left no room for a reply in a window of %d", input, window)
	case estimate >= leastEstimate && cutAway(input, estimate, window):
		return silent("the provider read %d tokens of about %d: it has cut the input away", input, estimate)
	}
	return nil
}

// cutAway reports whether a provider that counts so much input cannot have read all of it.
func cutAway(input, estimate, window int) bool {
	share := float64(input) / float64(estimate)
	return share < farBelow || share < below && AtEdge(input, window)
}

// AtEdge reports whether so many tokens are what is left where a server cuts the input away: the window, 0 if it is not known,
// a power of two, which most local servers have for a window, or half of either.
func AtEdge(input, window int) bool {
	return nearEdge(input, window) || nearEdge(input, window/2) || nearPower(input)
}

// nearPower reports whether n is a few tokens from a power of two: most local servers have such a window, and keep all
// or half of it.
func nearPower(n int) bool {
	high := 1 << bits.Len(uint(max(n, 0)))
	return n >= leastEstimate && (nearEdge(n, high) || nearEdge(n, high/2))
}

// nearEdge reports whether n is within 1 in 256 of the edge.
func nearEdge(n, edge int) bool {
	return edge > 0 && max(n-edge, edge-n) <= edge/256
}
