package summary

import (
	"context"
	"errors"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/estimate"
)

// Mechanical is a summariser that needs no model. Its body is a [Ledger], which it computes from what is dropped and
// merges with the ledger of the earlier summary.
//
// It is a pure function of the request, with the same bytes for the same input, and is safe for concurrent use.
type Mechanical struct {
	// FileLists puts the lists of FileLists at the end of the body. The ledger tells all that they tell, and more, so
	// they only take room from it: they are for agents that look for them. Defaults to false.
	FileLists bool

	// bare leaves out the note and the line that says where the original is: for a body that has them elsewhere.
	bare bool
}

var _ pemmican.Summarizer = Mechanical{}

// wearFrom is the least room, in tokens, in which a ledger says that details wear off: in less, a line of facts is worth more.
const wearFrom = 1_000

// errNoTranscript reports a request without a transcript.
var errNoTranscript = errors.New("the request has no transcript; set SummaryRequest.Transcript")

// Summarize returns the ledger of what is dropped in at most r.Tokens, as r.Counter counts the body as one block of
// text; without a counter it estimates. A room that is too small for more gets one line that says how many messages
// are gone, and one that is too small for the line an empty body. With r.Original the body says where it is, in a line
// that is none of the ledger's data.
func (m Mechanical) Summarize(ctx context.Context, r pemmican.SummaryRequest) (pemmican.SummaryText, error) {
	if err := ctx.Err(); err != nil {
		return pemmican.SummaryText{}, err
	}
	if r.Transcript == nil {
		return pemmican.SummaryText{}, errNoTranscript
	}
	if r.Counter == nil {
		r.Counter = estimator{}
	}
	out := pemmican.SummaryText{Kind: "mechanical"}
	if r.Tokens <= 0 {
		return out, nil
	}
	f := &fitter{collector: collect(&r), note: note, original: originalLine(r.Original)}
	if r.Compactions > 0 && r.Tokens >= wearFrom {
		f.note += "\n" + wearHint
	}
	if m.bare {
		f.note, f.original = "", ""
	}
	render := func(l Ledger) string {
		if l.empty() {
			return string(l.append(nil, f.original))
		}
		return string(l.append(nil, f.note, f.original))
	}
	// Without anything new a ledger that has room stays as it is.
	if f.last < 0 {
		if before, _, _, ok := splitLedger(r.Previous); ok && before == "" && f.count(r.Previous) <= r.Tokens && !m.bare &&
			(f.original == "" || strings.Contains(r.Previous+"\n", "\n"+f.original+"\n")) {
			out.Body = r.Previous
			return out, nil
		}
	}
	// Without new lines none has to compete.
	if len(f.lines) == f.earlierLines {
		if body := render(f.ledger) + m.lists(f, r.Tokens); f.count(body) <= r.Tokens {
			out.Body = body
			return out, nil
		}
	}
	room := r.Tokens * listShare / 100
	if m.bare {
		room = max(r.Tokens*bareListShare/100, min(r.Tokens*bareListMost/100, bareLists))
	}
	room = min(room, max(0, r.Tokens-f.factsSize()-f.count(opening(1_000_000)+f.note+f.original)))
	lists := m.lists(f, room)
	reserved := 0
	if lists != "" {
		reserved = f.count(lists)
	}
	// The parts are counted one by one, which is a little more than they count together, or with an odd counter
	// less. So the body is counted as well, and the room corrected by the difference.
	room = r.Tokens - reserved
	lost := len(f.ledger.Facts)
	for range maxFits {
		if err := ctx.Err(); err != nil {
			return pemmican.SummaryText{}, err
		}
		l, cut := f.fit(room)
		body := render(l) + lists
		n := f.count(body)
		if n <= r.Tokens && len(body) > len(out.Body) {
			out.Body, lost = body, len(f.ledger.Facts)-len(l.Facts)
		}
		if n > r.Tokens {
			room -= n - r.Tokens + 1
		} else if spare := r.Tokens - n; cut && spare > r.Tokens/20 {
			room += spare * 9 / 10
		} else {
			break
		}
	}
	if line := (Ledger{Messages: f.ledger.Messages}); out.Body == "" {
		if out.Body = render(line); f.count(out.Body) > r.Tokens {
			if out.Body = line.Render(); f.count(out.Body) > r.Tokens {
				out.Body = ""
			}
		}
	}
	if lost > 0 {
		out.Notes = append(out.Notes, factsLost(lost))
	}
	return out, nil
}

const (
	// maxFits bounds how often a ledger is fitted to a corrected room.
	maxFits = 6
	// listShare is the share of the room, in percent, that the lists of files may take.
	listShare = 30
	// bareListShare is that share where lists are not asked for but come along: what they tell stands in the ledger too.
	// Small rooms may give more, up to bareListMost or bareLists, else there would be none.
	bareListShare = 2
	bareListMost  = 5
	bareLists     = 50 // tokens
)

// lists returns the lists of files in at most room tokens: of all files, or of those that were worked on last.
func (m Mechanical) lists(f *fitter, room int) string {
	if !m.FileLists {
		return ""
	}
	l := Ledger{Files: f.ledger.Files}
	for len(l.Files) > 0 {
		text := FileLists(l.lists())
		n := 0
		if text != "" {
			n = f.count(text)
		}
		if n <= room {
			return text
		}
		l.Files = l.Files[:min(len(l.Files)-1, len(l.Files)*room/n)]
	}
	return ""
}

// estimator is the counter of a request that has none.
type estimator struct{}

func (estimator) Count(b *pemmican.Block) int { return estimate.Tokens(b.Text) }
