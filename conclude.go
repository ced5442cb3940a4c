package pemmican

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pemmican-dev/pemmican/internal/textcut"
)

// conclude writes the summary if anything was dropped for one, and names the outcome. A nil choice dropped nothing.
func (c *compaction) conclude(ctx context.Context, ch *choice) error {
	var dropped []int
	if ch != nil {
		quoted := c.quotedIn(*ch)
		for i := range c.t.Blocks {
			if u := c.unitOf[i]; !ch.keep[u] && !c.units[u].summary && !quoted[u] {
				dropped = append(dropped, i)
			}
		}
	}
	c.dropBoundReasoning() // of what was changed since the stages did
	if !c.permitted() {
		c.refuse("the reasoning of the running tool loop is bound to what stands before it; compact when the turn has ended")
		return nil
	}
	c.summary = 0
	switch {
	case len(dropped) > 0 || ch != nil && len(ch.quotes) > 0:
		c.report.Outcome = Summarised
		if ok, err := c.summarise(ctx, *ch, dropped); err != nil || !ok {
			return err
		}
	case c.plan.Empty() && c.overLimits:
		c.refuse("nothing can be left out of it, and it has " + c.o.Limits.excess(c.loaded()))
		return nil
	case c.plan.Empty():
		c.report.Outcome, c.report.Reason = Unchanged, "there is nothing that could be left out"
		return nil
	default:
		c.report.Outcome = Reduced
		if c.t.Can.SummaryNeeded {
			c.keepSummary()
		}
	}
	c.judge()
	return nil
}

// quotedIn reports of every unit whether the summary quotes it.
func (c *compaction) quotedIn(ch choice) []bool {
	out := make([]bool, len(c.units))
	for _, u := range ch.quotes {
		out[u] = true
	}
	return out
}

// judge refuses a plan that is not worth it.
func (c *compaction) judge() {
	after, before := c.total(), c.report.TokensBefore
	if !c.p.BestEffort && after > c.o.Target {
		c.refuse(fmt.Sprintf("the summary takes %d tokens, and its room was %d", c.report.Summary.Tokens, c.room))
		return
	}
	if !c.within() {
		c.refuse("at the least it has " + c.o.Limits.excess(c.loaded()))
		return
	}
	if after >= before || !c.overLimits && before-after < c.live*c.p.MinGain/100 {
		c.refuse(fmt.Sprintf("it would save only %d of %d tokens", max(0, before-after), before))
		return
	}
	if c.report.Reason == "" {
		c.report.Reason = fmt.Sprintf("from %d to %d tokens", before, after)
		if c.overLimits {
			was := c.o.Limits.excess(c.load.before)
			c.report.Reason += "; it had " + was
		}
	}
}

// keepSummary writes the earlier summary again, or a line, for a format that records no change without one.
func (c *compaction) keepSummary() {
	text := Seal("Some older results in this conversation were shortened to save room.")
	for u := range c.units {
		if c.units[u].summary {
			text = c.t.Blocks[c.units[u].first].Text
			if _, ours := Unseal(text); !ours {
				text = Seal(text)
			}
			c.drop(u, "assemble", "the summary is written again")
		}
	}
	c.setSummary(text, "marker")
}

func (c *compaction) setSummary(text, kind string) {
	c.plan.Summary, c.plan.Gap = text, c.gap()
	c.summary = countText(c.o.Counter, text)
	c.report.Summary = &SummaryInfo{Kind: kind, Tokens: c.summary}
}

// summarise asks for the summary and seals it. It reports false if that failed, which the report then says.
func (c *compaction) summarise(ctx context.Context, ch choice, dropped []int) (bool, error) {
	body, ours := earlier(c.t)
	quotes, previous := []string(nil), body
	if ours {
		quotes, previous = cutQuotes(body)
	}
	for _, u := range ch.quotes {
		var parts []string
		for _, i := range c.units[u].blocks {
			if text := quotable(&c.t.Blocks[i]); text != "" {
				parts = append(parts, text)
			}
		}
		if quote := strings.Join(parts, "\n\n"); quote != "" && !slices.Contains(quotes, quote) {
			quotes = append(quotes, quote)
		}
	}
	var text strings.Builder
	for _, q := range quotes {
		appendQuote(&text, q)
	}

	summary := SummaryText{Body: c.marker(dropped), Kind: "marker"}
	if c.o.Summarizer != nil && len(dropped) > 0 {
		kept := make([]bool, len(c.t.Blocks))
		quoted := c.quotedIn(ch)
		for i := range kept {
			kept[i] = c.plan.Kept(i) || quoted[c.unitOf[i]]
		}
		var err error
		summary, err = c.o.Summarizer.Summarize(ctx, SummaryRequest{
			Transcript: c.t, Dropped: dropped, Kept: kept, Previous: previous, Tokens: max(0, c.room-sealTokens),
			Counter: c.o.Counter, Tools: c.o.Tools, Compactions: c.o.Compactions, Original: c.o.Original,
			OverLimits: c.overLimits,
		})
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		c.report.Asked = summary.Asked
		c.report.Warnings = append(slices.Clip(c.report.Warnings), summary.Notes...)
		if err == nil && strings.TrimSpace(summary.Body) == "" {
			err = errors.New("the summary is empty")
		}
		if err != nil {
			if c.p.OneByOne {
				return false, c.dropOneByOne(ctx, err.Error())
			}
			c.refuse("compaction failed, and the full transcript goes on: " + err.Error())
			return false, nil
		}
	} else if previous != "" {
		summary.Body = previous + "\n\n" + summary.Body
	}
	if c.p.SummaryBytes > 0 {
		summary.Body = textcut.Head(summary.Body, c.p.SummaryBytes, omitted)
	}
	text.WriteString(summary.Body)
	c.setSummary(Seal(text.String()), summary.Kind)
	if summary.FellBack != "" {
		c.report.Outcome = FellBack
		c.report.Reason = summary.FellBack
	}
	return true, nil
}

// marker is the line that stands where nobody writes a summary.
func (c *compaction) marker(dropped []int) string {
	messages, calls, last := 0, 0, -1
	for _, i := range dropped {
		if c.t.Blocks[i].Kind == ToolCall {
			calls++
		}
		if m := c.t.Blocks[i].Message; m != last {
			messages, last = messages+1, m
		}
	}
	return fmt.Sprintf("[%s of this conversation, with %s, were left out to save room.]", count(messages, "earlier message"), count(calls, "tool call"))
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// gap is where the summary of the plan belongs.
func (c *compaction) gap() int {
	n := len(c.t.Blocks)
	body := 0 // the first block that is no system text
	for body < n && c.t.message(body).Role == System {
		body++
	}
	at := n
	switch {
	case c.t.Can.SummaryFirst || c.p.Place == First:
		at = body
	case c.p.Place == Last:
		for u := range c.units {
			if c.units[u].open > 0 && c.plan.Kept(c.units[u].first) {
				at = min(at, c.units[u].first)
			}
		}
	default:
		for i := body; i < n; i++ {
			if !c.plan.Kept(i) && c.t.Blocks[i].Kind != Reasoning {
				at = i
				break
			}
		}
	}
	for at > 0 && at < n && !c.freeUnder(at) {
		at--
	}
	return at
}

// freeUnder reports whether a gap before block at splits no unit that the plan keeps.
func (c *compaction) freeUnder(at int) bool {
	if c.free[at] {
		return true
	}
	for u := range c.units {
		if c.units[u].first < at && at <= c.units[u].last && c.plan.Kept(c.units[u].first) {
			return false
		}
	}
	return true
}
