package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
)

// Compaction is what a compaction came to, with what became of the result.
type Compaction struct {
	Format string `json:"format"`
	*pemmican.Report
	// Output is where the result was written, "-" for the standard output, nil if nothing was.
	Output *string `json:"output"`
	// Resume is the command that goes on with it, "" if there is none.
	Resume string `json:"resume"`
	// Wish is the target as the person put it, "" if in tokens or not at all.
	Wish string `json:"-"`
}

// NewCompaction makes the report of a compaction; lists in it are never null.
func NewCompaction(format string, r *pemmican.Report) *Compaction {
	own := *r
	own.Stages = append([]pemmican.StageReport{}, r.Stages...)
	own.Warnings = append([]string{}, r.Warnings...)
	return &Compaction{Format: format, Report: &own}
}

// Refuse says that the plan was good but its result could not be put where it was wanted, so that nothing has happened.
func (c *Compaction) Refuse(reason string) {
	c.Outcome, c.Reason, c.TokensAfter, c.Output, c.Resume = pemmican.Refused, reason, c.TokensBefore, nil, ""
	c.Stages, c.Summary = []pemmican.StageReport{}, nil
	c.Blocks = pemmican.BlockCounts{Kept: c.Blocks.Kept + c.Blocks.Stubbed + c.Blocks.Dropped}
}

// WriteJSON writes v as one JSON object on a line of its own.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Lines are the report for people, without what became of the result, for a terminal that is so wide; 0 is any width.
func (c *Compaction) Lines(width int) []string {
	sizes := Table{Right: []int{1}}
	bar := barWidth(width, 48, 40)
	wish, own := c.Wish, ""
	if len(wish) > 24 {
		wish, own = "", "  the target is "+wish
	}
	largest := max(c.TokensBefore, c.TokensAfter, c.Target)
	sizes.Row("before", Count(c.TokensBefore), Bar(c.TokensBefore, largest, bar), Percent(c.TokensBefore, c.Window)+" of the window")
	if c.Outcome != pemmican.Refused && c.Outcome != pemmican.Unchanged {
		sizes.Row("after", Count(c.TokensAfter), Bar(c.TokensAfter, largest, bar), Percent(c.TokensBefore-c.TokensAfter, c.TokensBefore)+" less")
	}
	sizes.Row("target", Count(c.Target), Bar(c.Target, largest, bar), wish)
	sizes.Row("floor", Count(c.Floor.Tokens), Bar(c.Floor.Tokens, largest, bar), "what cannot go")
	out := []string{sizes.String()}
	if own != "" {
		out = append(out, own)
	}

	if len(c.Stages) > 0 {
		stages := Table{Head: []string{"stage", "blocks", "tokens saved"}, Right: []int{1, 2}}
		for _, s := range c.Stages {
			stages.Row(Clean(s.Name), Count(s.Blocks), Count(s.TokensSaved))
		}
		out = append(out, "", stages.String())
	}
	out = append(out, "", "  "+c.verdict())
	if c.Asked != nil {
		out = append(out, "  "+c.asked())
	}
	if !c.Exact {
		out = append(out, faint.Render("  "+c.counted()))
	}
	return append(out, c.warnings()...)
}

// verdict is the outcome in one sentence.
func (c *Compaction) verdict() string {
	what := good.Render(string(c.Outcome))
	if c.Outcome == pemmican.Refused {
		what = bad.Render(string(c.Outcome))
	}
	var parts []string
	switch c.Outcome {
	case pemmican.Refused, pemmican.Unchanged:
		return what + ": " + Clean(c.Reason)
	case pemmican.FellBack:
		parts = append(parts, Clean(c.Reason))
	}
	parts = append(parts, fmt.Sprintf("%s kept as they are, %s made short, %s left out",
		Plural(c.Blocks.Kept, "block"), Count(c.Blocks.Stubbed), Count(c.Blocks.Dropped)))
	if s := c.Summary; s != nil {
		what := "a " + Clean(s.Kind) + " summary of " + Count(s.Tokens) + " tokens"
		if c.Asked != nil && c.Asked.Model == s.Kind {
			what = "a summary of " + Count(s.Tokens) + " tokens by " + Clean(s.Kind)
		}
		parts = append(parts, what+" stands for them")
	}
	return what + ": " + strings.Join(parts, "; ")
}

// asked says what was asked of a model.
func (c *Compaction) asked() string {
	a := c.Asked
	s := fmt.Sprintf("asked %s (%s model), %s", Clean(a.Model), a.Mode, Plural(a.Requests, "request"))
	if a.Input > 0 || a.Output > 0 {
		s += fmt.Sprintf(": %s tokens in, %s of them from the cache, %s out", Count(a.Input), Percent(a.CacheRead, a.Input), Count(a.Output))
	}
	if a.Dollars != nil {
		s += fmt.Sprintf("; $%.4f", *a.Dollars)
	}
	return s
}

// counted says how far the numbers can be trusted.
func (c *Compaction) counted() string {
	s := "tokens are estimated (" + Clean(c.Counter) + "); the system text and the tools "
	switch c.Overhead {
	case "known":
		return s + "are in the file"
	case "estimated":
		return s + "are not in the file and were estimated from recorded usage"
	}
	return s + "are not in the file, and nothing tells their size"
}

// mostWarnings is how many warnings people get to see at once.
const mostWarnings = 8

func (c *Compaction) warnings() []string {
	var out []string
	for i, w := range c.Warnings {
		if i == mostWarnings {
			out = append(out, fmt.Sprintf("  warning: and %s more; --json has them all", Count(len(c.Warnings)-i)))
			break
		}
		out = append(out, "  warning: "+Clean(w))
	}
	return out
}

// Inspection says where the tokens of a transcript are.
type Inspection struct {
	Tokens  int         `json:"tokens"`
	Counter string      `json:"counter"`
	By      Weights     `json:"by"`
	Plan    *Compaction `json:"plan"`
	// Options are those of the plan, with the counter that has counted all of it.
	Options pemmican.Options `json:"-"`

	half bool // the plan is not the default one, which does nothing
}

// Inspect weighs the decoded input, and finds out what a compaction would do: the default one, or where that does nothing
// one to half of the transcript.
func Inspect(ctx context.Context, in *Input, s Settings) (*Inspection, error) {
	o, err := s.Options(in, nil)
	if err != nil {
		return nil, err
	}
	o.Original = (&Output{Suffix: CompactedSuffix}).Original(in)
	t := in.doc.Transcript()
	_, r, err := pemmican.Compact(ctx, t, o)
	if err != nil {
		return nil, About(in.Name, err)
	}
	i := &Inspection{}
	if r.Outcome == pemmican.Unchanged {
		if err := s.Target.Set("50%"); err != nil {
			return nil, err
		}
		o.Target = s.target(t, o)
		if _, r, err = pemmican.Compact(ctx, t, o); err != nil {
			return nil, About(in.Name, err)
		}
		i.half = true
	}
	dir := ""
	if session, ok := in.doc.(format.Session); ok {
		dir = session.Info().Dir
	}
	i.Tokens, i.Counter, i.By = r.TokensBefore, r.Counter, Weigh(t, o, dir)
	i.Plan = NewCompaction(in.doc.Format(), r)
	i.Plan.Wish, i.Options = s.Wish(o), o
	return i, nil
}

// Lines are the inspection for people, with the top rows of each sort, for a terminal that is so wide; 0 is any width.
func (i *Inspection) Lines(in *Input, top, width int) []string {
	out := []string{Heading(Clean(in.Name)) + "  " + i.Plan.Format + ", " + Count(i.Tokens) + " tokens, " +
		Percent(i.Tokens, i.Plan.Window) + " of a window of " + Count(i.Plan.Window)}
	out = append(out, i.By.Lines(i.Tokens, top, width)...)
	head := "What a compaction would do"
	if i.half {
		head = "What a compaction to half of the transcript would do (the default one has nothing to do)"
	}
	out = append(out, "", Heading(head))
	return append(out, i.Plan.Lines(width)...)
}
