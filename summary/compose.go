package summary

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/llm"
)

// ErrEmpty reports a summary without text.
var ErrEmpty = errors.New("the summary is empty")

// Capped bounds the length of what another summariser writes.
type Capped struct {
	Summarizer pemmican.Summarizer
	// MaxRunes is the length to which a body is cut in its middle, in runes. Defaults to 4000.
	MaxRunes int
}

var _ pemmican.Summarizer = Capped{}

const defaultCap = 4000

// Summarize returns what the other summariser writes, cut. A blank text is ErrEmpty.
func (c Capped) Summarize(ctx context.Context, r pemmican.SummaryRequest) (pemmican.SummaryText, error) {
	if c.Summarizer == nil {
		return pemmican.SummaryText{}, errNoSummarizer
	}
	s, err := c.Summarizer.Summarize(ctx, r)
	if err != nil {
		return s, err
	}
	if strings.TrimSpace(s.Body) == "" {
		return pemmican.SummaryText{}, ErrEmpty
	}
	limit := c.MaxRunes
	if limit <= 0 {
		limit = defaultCap
	}
	s.Body = cutMiddle(s.Body, limit)
	return s, nil
}

var errNoSummarizer = errors.New("no summariser is set")

// Fallback asks First, and Then where First fails or writes nothing. A request that was called off is not tried again.
type Fallback struct {
	First, Then pemmican.Summarizer
	// When says after which errors of First it is Then's turn: [GuardOpen], say. Defaults to all.
	When func(err error) bool
}

var _ pemmican.Summarizer = Fallback{}

// The line that tells of a fallback, with its reason between the two.
const (
	fallbackOpening = "[Model summary unavailable ("
	fallbackClosing = ")]\n"
	maxReason       = 200 // runes
	maxTags         = 4   // how often the text is shortened for the line
)

// Summarize returns the summary of First. If it is that of Then, FellBack is the reason, the body begins with a line
// that tells it, and both together take at most r.Tokens; where there is no room for the line it is left out. The
// error is that of both if Then fails too. What First asked of a model is told in either case.
func (f Fallback) Summarize(ctx context.Context, r pemmican.SummaryRequest) (pemmican.SummaryText, error) {
	first, err := ask(ctx, f.First, r)
	if err == nil {
		return first, nil
	}
	if cause := ctx.Err(); cause != nil {
		return pemmican.SummaryText{}, cause
	}
	if errors.Is(err, context.Canceled) || f.When != nil && !f.When(err) {
		return first, err
	}
	reason := cutEnd(oneLine(clean(err.Error())), maxReason)
	tag := fallbackOpening + typed(err) + fallbackClosing
	count := func(text string) int {
		if r.Counter == nil {
			return estimator{}.Count(&pemmican.Block{Text: text})
		}
		return r.Counter.Count(&pemmican.Block{Text: text})
	}
	then := r
	then.Tokens -= count(tag)
	if then.Tokens < r.Tokens/2 {
		tag, then.Tokens = "", r.Tokens
	}
	failed := pemmican.SummaryText{Asked: first.Asked, Notes: first.Notes}
	s, second := ask(ctx, f.Then, then)
	if second != nil {
		return failed, fmt.Errorf("%w; and then: %w", err, second)
	}
	// Counted together they may take more than one by one.
	for range maxTags {
		over := count(tag+s.Body) - r.Tokens
		if tag == "" || over <= 0 {
			break
		}
		then.Tokens -= over
		if s, second = ask(ctx, f.Then, then); second != nil {
			return failed, fmt.Errorf("%w; and then: %w", err, second)
		}
	}
	if count(tag+s.Body) > r.Tokens {
		tag = ""
	}
	s.Body, s.FellBack, s.Asked, s.Notes = tag+s.Body, reason, first.Asked, append(slices.Clip(first.Notes), s.Notes...)
	return s, nil
}

// typed is the reason of a failure in words of ours, for the agent to read: what a model or a provider said may be an
// order, or a secret.
func typed(err error) string {
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return (&Refusal{Reason: refusal.Reason}).Error()
	}
	if failure, ok := errors.AsType[*llm.Error](err); ok {
		return "the request failed: " + string(failure.Kind)
	}
	return strings.ReplaceAll(cutEnd(oneLine(clean(err.Error())), maxReason), "]", ")")
}

func ask(ctx context.Context, s pemmican.Summarizer, r pemmican.SummaryRequest) (pemmican.SummaryText, error) {
	if s == nil {
		return pemmican.SummaryText{}, errNoSummarizer
	}
	out, err := s.Summarize(ctx, r)
	if err == nil && strings.TrimSpace(out.Body) == "" {
		err = ErrEmpty
	}
	return out, err
}
