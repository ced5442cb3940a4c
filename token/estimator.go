// Package token counts the tokens of a transcript: by an estimate that needs no vocabulary, through a cache that pays
// for what is new only, and fitted to the sizes that a provider has reported.
package token

import (
	"math"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/estimate"
)

// Estimator is a pemmican.Counter that estimates: text as the o200k_base vocabulary would cut it, pictures and
// documents by the rule that the vendor has published, what only the provider can read by its size. The zero value is
// useful. It is a value without state, safe for concurrent use.
type Estimator struct {
	// Vendor chooses the rule for media: "anthropic", "openai" or "google". Defaults to anthropic, which also stands
	// for every name that is not known.
	Vendor string
	// Ratio is what one estimated token of text is in tokens of the model, as Calibrate finds it. It scales all but
	// media, whose rules are the vendor's own. Defaults to 1; so does a value outside of 0.1 to 10, which no
	// vocabulary has.
	Ratio float64
}

var (
	_ pemmican.Counter     = Estimator{}
	_ pemmican.CounterInfo = Estimator{}
)

// callFrame is what surrounds the name and the arguments of a call, and its result, in tokens. No vendor says; it is
// the same as in the root's default counter.
const callFrame = 8

// Name returns "estimate:o200k".
func (Estimator) Name() string { return "estimate:o200k" }

// Exact returns false.
func (Estimator) Exact() bool { return false }

// Count returns the estimated number of tokens of b. It is never negative, and takes time in proportion to the text.
//
//   - A call is its name, its arguments and a small frame; a text, a summary and a result are their text.
//   - A text that is nothing but an inline picture (a base64 data URL) counts as the picture.
//   - Bound reasoning counts by its text or by the size of what is encrypted, whichever says more: providers send a
//     short text along with a long encrypted original.
//   - An opaque block is its text, or a quarter of its bytes where it has none.
//   - A picture is never counted by its bytes, but by its width and height; where those are unknown, as the most that
//     a usual one costs. A document is counted by its bytes, up to a bound, since nobody has counted its pages.
func (e Estimator) Count(b *pemmican.Block) int {
	switch b.Kind {
	case pemmican.Media:
		return mediaTokens(e.Vendor, b.Media, b.Bytes)
	case pemmican.ToolCall:
		return e.scale(callFrame + estimate.Tokens(b.Tool) + estimate.Tokens(b.Args))
	case pemmican.Reasoning:
		n := estimate.Tokens(b.Text)
		if b.Bound {
			n = max(n, encryptedTokens(b.Bytes))
		}
		return e.scale(n)
	case pemmican.Opaque:
		if b.Text == "" {
			return e.scale(quarter(b.Bytes))
		}
	}
	if mime, ok := inlineMedia(b.Text); ok {
		return mediaTokens(e.Vendor, pemmican.MediaInfo{Type: mime}, len(b.Text))
	}
	return e.scale(estimate.Tokens(b.Text))
}

// scale applies the ratio. What was something stays something.
func (e Estimator) scale(n int) int {
	if n <= 0 {
		return 0
	}
	// The comparison is false for NaN too.
	if !(e.Ratio >= 0.1 && e.Ratio <= 10) {
		return n
	}
	return max(1, int(math.Round(float64(n)*e.Ratio)))
}

// encryptedTokens is what reasoning that is sent back encrypted costs: base64 of an envelope of some 650 bytes around
// about four bytes for each token. A size that is unknown, or too small for the envelope, costs at least one.
func encryptedTokens(bytes int) int { return max(1, (bytes/4*3-650)/4) }

// quarter is bytes over four, rounded up.
func quarter(bytes int) int {
	if bytes <= 0 {
		return 0
	}
	return (bytes-1)/4 + 1
}

// inlineMin is the length in bytes from which a text that is a data URL is taken for a picture. Below it, counting the
// text is right in either case.
const inlineMin = 4096

// inlineMedia reports whether text is one base64 data URL and nothing else, and which MIME type it states. A data URL
// inside a longer text, a page that a tool has read, is text, and the provider takes it for that.
func inlineMedia(text string) (mime string, ok bool) {
	if len(text) < inlineMin {
		return "", false
	}
	text = strings.TrimSpace(text)
	if len(text) < 5 || !strings.EqualFold(text[:5], "data:") {
		return "", false
	}
	// The head of a data URL is short; the limit keeps the search off the payload.
	head, _, found := strings.Cut(text[:min(len(text), 256)], ",")
	if !found || len(head) < len("data:;base64") || !strings.EqualFold(head[len(head)-7:], ";base64") {
		return "", false
	}
	for i := len(head) + 1; i < len(text); i++ {
		if c := text[i]; c <= ' ' || c == '"' || c == '<' || c == ')' || c >= 0x7f {
			return "", false
		}
	}
	mime, _, _ = strings.Cut(head[len("data:"):], ";")
	return strings.ToLower(mime), true
}
