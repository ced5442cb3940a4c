package cli

import (
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

// Refuse says that the plan was good but its result could not be put where it was wanted.
func (c *Compaction) Refuse(reason string) {
	c.Outcome, c.Reason, c.TokensAfter, c.Output, c.Resume = pemmican.Refused, reason, c.TokensBefore, nil, ""
}

// WriteJSON writes v as one JSON object on a line of its own.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

const barWidth = 40

// Lines are the report for people, without what became of the result.
func (c *Compaction) Lines() []string {
	sizes := Table{Right: []int{1}}
	largest := max(c.TokensBefore, c.TokensAfter, c.Target)
	sizes.Row("before", Count(c.TokensBefore), Bar(c.TokensBefore, largest, barWidth), Percent(c.TokensBefore, c.Window)+" of the window")
	if c.Outcome != pemmican.Refused && c.Outcome != pemmican.Unchanged {
		sizes.Row("after", Count(c.TokensAfter), Bar(c.TokensAfter, largest, barWidth), Percent(c.TokensBefore-c.TokensAfter, c.TokensBefore)+" less")
	}
	sizes.Row("target", Count(c.Target), Bar(c.Target, largest, barWidth), c.Wish)
	sizes.Row("floor", Count(c.Floor.Tokens), Bar(c.Floor.Tokens, largest, barWidth), "what cannot go")
	out := []string{sizes.String()}

	if len(c.Stages) > 0 {
		stages := Table{Head: []string{"stage", "blocks", "tokens saved"}, Right: []int{1, 2}}
		for _, s := range c.Stages {
			stages.Row(Clean(s.Name), Count(s.Blocks), Count(s.TokensSaved))
		}
		out = append(out, "", stages.String())
	}
	out = append(out, "", "  "+c.verdict())
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
	parts = append(parts, fmt.Sprintf("%s kept as they are, %d made short, %d left out", Plural(c.Blocks.Kept, "block"), c.Blocks.Stubbed, c.Blocks.Dropped))
	if s := c.Summary; s != nil {
		parts = append(parts, fmt.Sprintf("a %s summary of %s tokens stands for them", Clean(s.Kind), Count(s.Tokens)))
	}
	return what + ": " + strings.Join(parts, "; ")
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
			out = append(out, fmt.Sprintf("  warning: and %d more; --json has them all", len(c.Warnings)-i))
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
}

// Inspect weighs the decoded input; r is the report of a compaction that was not carried out.
func Inspect(in *Input, o pemmican.Options, r *pemmican.Report) *Inspection {
	dir := ""
	if s, ok := in.doc.(format.Session); ok {
		dir = s.Info().Dir
	}
	return &Inspection{
		Tokens:  r.TokensBefore,
		Counter: r.Counter,
		By:      Weigh(in.doc.Transcript(), o, dir),
		Plan:    NewCompaction(in.doc.Format(), r),
	}
}

// Lines are the inspection for people, with the top rows of each sort.
func (i *Inspection) Lines(in *Input, top int) []string {
	out := []string{Heading(Clean(in.Name)) + "  " + i.Plan.Format + ", " + Count(i.Tokens) + " tokens, " +
		Percent(i.Tokens, i.Plan.Window) + " of a window of " + Count(i.Plan.Window)}
	out = append(out, i.By.Lines(i.Tokens, top)...)
	out = append(out, "", Heading("What a compaction would do"))
	return append(out, i.Plan.Lines()...)
}
