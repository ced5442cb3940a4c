package summary

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pemmican-dev/pemmican"
)

// Statistics is a summariser that counts: how many messages are gone, how large they were, which tools were called,
// and what the person said last. It is what the policy of seed 001 falls back on; [Mechanical] tells far more.
//
// The figures of an earlier Statistics summary are added to.
type Statistics struct {
	// MaxRunes is the length to which the text is cut, in runes. Defaults to 2000.
	MaxRunes int
}

var _ pemmican.Summarizer = Statistics{}

// Limits of the text, in runes.
const (
	defaultStatistics  = 2000
	maxLastMessage     = 200
	maxForeignEarlier  = 400
	statisticsEllipsis = "..."
)

// The lines of the text.
const (
	statTurns   = "Turns compacted: "
	statAnchors = " anchors preserved separately)"
	statTokens  = "Estimated tokens: "
	statTools   = "Tools called: "
	statCalls   = "Total tool calls: "
	statLast    = "Last user message: "
	statEarlier = "Earlier summary: "
)

// Summarize returns the figures of what is dropped, in at most r.Tokens as r.Counter counts. A turn is a message here,
// and a token four runes of text, arguments or results, each rounded up.
func (s Statistics) Summarize(ctx context.Context, r pemmican.SummaryRequest) (pemmican.SummaryText, error) {
	if err := ctx.Err(); err != nil {
		return pemmican.SummaryText{}, err
	}
	if r.Transcript == nil {
		return pemmican.SummaryText{}, errNoTranscript
	}
	if r.Counter == nil {
		r.Counter = estimator{}
	}
	t := r.Transcript
	turns, tokens, calls, anchors := 0, 0, 0, 0
	tools := map[string]bool{}
	last, earlier := "", ""
	if r.Previous != "" {
		if p, ok := parseStatistics(r.Previous); ok {
			turns, tokens, calls, last = p.turns, p.tokens, p.calls, p.last
			for _, name := range p.tools {
				tools[name] = true
			}
		} else {
			earlier = cutEnd(oneLine(clean(r.Previous)), maxForeignEarlier)
		}
	}
	message, lastDropped := -1, -1
	lastFrom := -1 // the message that last comes from
	for _, i := range r.Dropped {
		if i < 0 || i >= len(t.Blocks) {
			continue
		}
		b := &t.Blocks[i]
		lastDropped = max(lastDropped, i)
		if b.Message != message {
			message = b.Message
			turns++
		}
		switch b.Kind {
		case pemmican.Text, pemmican.ToolResult:
			tokens += quarter(b.Text)
		case pemmican.ToolCall:
			tokens += quarter(b.Args)
			calls++
			tools[strings.ReplaceAll(brief(b.Tool, 60), ",", " ")] = true
		}
		if b.Kind == pemmican.Text && t.Messages[b.Message].Person() && b.Message != lastFrom && strings.TrimSpace(b.Text) != "" {
			last, lastFrom = cutEnd(oneLine(clean(cutEnd(strings.TrimSpace(b.Text), 8*maxLastMessage))), maxLastMessage), b.Message
		}
	}
	for m := range t.Messages {
		msg := &t.Messages[m]
		if msg.Role != pemmican.System && msg.First < msg.End && msg.End <= lastDropped && len(r.Kept) == len(t.Blocks) &&
			!slices.Contains(r.Kept[msg.First:msg.End], false) && t.Blocks[msg.First].Kind != pemmican.Summary {
			anchors++
		}
	}
	lines := []string{statTurns + strconv.Itoa(turns)}
	if anchors > 0 {
		lines[0] += " (+ " + strconv.Itoa(anchors) + statAnchors
	}
	lines = append(lines, statTokens+strconv.Itoa(tokens))
	names := "none"
	if len(tools) > 0 {
		names = strings.Join(slices.Sorted(maps.Keys(tools)), ", ")
	}
	lines = append(lines, statTools+names, statCalls+strconv.Itoa(calls))
	if last != "" {
		lines = append(lines, statLast+last)
	}
	if earlier != "" {
		lines = append(lines, statEarlier+earlier)
	}
	limit := s.MaxRunes
	if limit <= 0 {
		limit = defaultStatistics
	}
	body := strings.Join(lines, "\n")
	body = shorten(body, limit)
	return pemmican.SummaryText{Body: within(body, &r), Kind: "statistics"}, nil
}

// quarter is the estimate of section 3.3: four runes are a token.
func quarter(text string) int { return (utf8.RuneCountInString(text) + 3) / 4 }

// shorten cuts text to n runes with an ellipsis at its end.
func shorten(text string, n int) string {
	if fits(text, n) {
		return text
	}
	if n <= len(statisticsEllipsis) {
		return text[:min(len(text), max(0, n))]
	}
	return cutAt(text, n-len(statisticsEllipsis)) + statisticsEllipsis
}

// within cuts text until it takes at most r.Tokens.
func within(text string, r *pemmican.SummaryRequest) string {
	if r.Tokens <= 0 {
		return ""
	}
	b := pemmican.Block{Text: text}
	for n := utf8.RuneCountInString(text); b.Text != "" && r.Counter.Count(&b) > r.Tokens; {
		n = min(n-1, n*9/10)
		b.Text = shorten(text, n)
	}
	return b.Text
}

type statistics struct {
	turns, tokens, calls int
	tools                []string
	last                 string
}

// parseStatistics reads back what Summarize wrote.
func parseStatistics(body string) (s statistics, ok bool) {
	turns := false
	for line := range strings.SplitSeq(body, "\n") {
		if v, is := strings.CutPrefix(line, statTurns); is {
			v, _, _ = strings.Cut(v, " ")
			n, err := strconv.Atoi(v)
			s.turns, turns = n, err == nil
		} else if v, is := strings.CutPrefix(line, statTokens); is {
			s.tokens, _ = strconv.Atoi(v)
		} else if v, is := strings.CutPrefix(line, statTools); is {
			if v != "none" {
				s.tools = strings.Split(v, ", ")
			}
		} else if v, is := strings.CutPrefix(line, statCalls); is {
			s.calls, _ = strconv.Atoi(v)
		} else if v, is := strings.CutPrefix(line, statLast); is {
			s.last = v
		}
	}
	return s, turns
}
