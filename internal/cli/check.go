package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/format/detect"
)

// Check is what a provider or an agent would refuse.
type Check struct {
	Format   string           `json:"format"`
	Findings []format.Finding `json:"findings"`
	// Fixed says what was mended, and what is left is in Findings; nil if nobody asked for that.
	*Fixed

	doc format.Document
}

// Fixed is what mending came to.
type Fixed struct {
	Fixed  []format.Finding `json:"fixed"`
	Output *string          `json:"output"`
	Resume string           `json:"resume"`
}

// NewCheck checks a document.
func NewCheck(doc format.Document) *Check {
	return &Check{Format: doc.Format(), Findings: append([]format.Finding{}, doc.Check()...), doc: doc}
}

// FixPlan is the plan that mends what of the findings dropping and stubbing can mend.
func FixPlan(t *pemmican.Transcript, findings []format.Finding) *pemmican.Plan {
	plan := pemmican.NewPlan(t)
	for _, f := range findings {
		for i, mark := range f.Fix {
			if i < 0 || i >= len(plan.Marks) || plan.Marks[i].Action == pemmican.Drop {
				continue // what is dropped for one reason is not stubbed for another
			}
			if plan.Marks[i].Action == pemmican.Keep || mark.Action == pemmican.Drop {
				plan.Marks[i] = mark
			}
		}
	}
	return plan
}

// Fix mends what can be mended and writes the result to where output says. What is left is found by reading the result
// again.
func (c *Check) Fix(ctx context.Context, stdout io.Writer, in *Input, output *Output) error {
	c.Fixed = &Fixed{Fixed: []format.Finding{}}
	plan := FixPlan(c.doc.Transcript(), c.Findings)
	if plan.Empty() {
		if output.Path == "-" {
			return c.write(ctx, stdout, in, output, in.Data)
		}
		return nil
	}
	data, err := in.apply(plan)
	if err != nil {
		return About(in.Name, err)
	}
	again, err := detect.Decode(data[in.mark:], c.Format)
	if err != nil {
		return Unusable(in.Name, "report this", "what mending made cannot be read, which is a bug: %s", err)
	}
	if err := c.write(ctx, stdout, in, output, data); err != nil {
		return err
	}
	before := c.Findings
	c.Findings = append([]format.Finding{}, again.Check()...)
	for _, f := range before {
		if f.Fixable {
			c.Fixed.Fixed = append(c.Fixed.Fixed, f)
		}
	}
	return nil
}

func (c *Check) write(ctx context.Context, stdout io.Writer, in *Input, output *Output, data []byte) error {
	path, err := output.Write(ctx, stdout, in, data)
	if err != nil {
		return err
	}
	c.Output, c.Resume = &path, in.Resume(path)
	return nil
}

// Show writes the findings to stdout, for people or as JSON; to stderr where stdout has the result. Its error has the exit
// status.
func (c *Check) Show(stdout, stderr io.Writer, in *Input, output *Output, asJSON bool) error {
	w := stdout
	if output.Path == "-" {
		w = stderr
	}
	var err error
	if asJSON {
		err = WriteJSON(w, c)
	} else {
		err = Print(w, c.lines(in, output, Width(w))...)
	}
	var written *string
	if c.Fixed != nil {
		written = c.Output
	}
	err = output.shown(written, w, err)
	if err == nil && len(c.Findings) > 0 {
		return Failed(ExitRefused)
	}
	return err
}

func (c *Check) lines(in *Input, output *Output, width int) []string {
	out := []string{Heading(Clean(in.Name)) + "  " + c.Format}
	if c.Fixed != nil && len(c.Fixed.Fixed) > 0 {
		out = append(out, "", Heading(Plural(len(c.Fixed.Fixed), "finding")+" mended"), c.table(c.Fixed.Fixed, width))
		out = append(out, output.fate(c.Output, c.Resume)...)
	}
	fixable := 0
	for _, f := range c.Findings {
		if f.Fixable {
			fixable++
		}
	}
	switch {
	case len(c.Findings) == 0 && c.Fixed != nil && len(c.Fixed.Fixed) > 0:
		out = append(out, "", "  "+good.Render("nothing is left"))
	case len(c.Findings) == 0:
		out = append(out, "  "+good.Render("sound: nothing that would be refused"))
	default:
		head := Plural(len(c.Findings), "finding")
		if c.Fixed != nil {
			head += " left"
		}
		out = append(out, "", bad.Render(head), c.table(c.Findings, width))
		if fixable > 0 && c.Fixed == nil {
			out = append(out, "", "  --fix mends "+Count(fixable)+" of them")
		}
	}
	return out
}

// table lists findings, and how those that can be mended are: on a line each, or, where a terminal is too narrow for that,
// with the message on a line of its own, for nothing of it may be lost.
func (c *Check) table(findings []format.Finding, width int) string {
	one, two := Table{Width: width}, Table{}
	for _, f := range findings {
		mend := ""
		if f.Fixable {
			mend = howMended(f.Fix)
		}
		one.Row(Clean(f.Where), f.Rule, Clean(f.Message), faint.Render(mend))
		two.Row(Clean(f.Where), f.Rule, faint.Render(mend))
	}
	if one.Fits() {
		return one.String()
	}
	lines := strings.Split(two.String(), "\n")
	for i := range lines {
		lines[i] += "\n      " + Clean(findings[i].Message)
	}
	return strings.Join(lines, "\n")
}

// howMended says what the marks of a finding do.
func howMended(fix map[int]pemmican.Mark) string {
	dropped, stubbed := 0, 0
	for _, m := range fix {
		switch m.Action {
		case pemmican.Drop:
			dropped++
		case pemmican.Stub:
			stubbed++
		}
	}
	switch {
	case stubbed == 0:
		return "drops " + Plural(dropped, "block")
	case dropped == 0:
		return "replaces " + Plural(stubbed, "block")
	}
	return "drops " + Plural(dropped, "block") + ", replaces " + Count(stubbed)
}

// Undo cuts off what Pemmican appended last to the decoded input, and says for people what it did.
func Undo(ctx context.Context, in *Input) ([]string, error) {
	s, err := in.Session("undo")
	if err != nil {
		return nil, err
	}
	n, err := s.Undo()
	if err != nil {
		return nil, Refused(in.Name, "nothing was changed", "there is nothing to undo: the file does not end with what Pemmican appended")
	}
	n += in.mark
	gone := in.Data[n:]
	note, err := in.Truncate(ctx, n)
	if err != nil {
		return nil, err
	}
	lines := bytes.Count(bytes.TrimRight(gone, "\n"), []byte("\n"))
	if len(gone) > 0 && gone[0] != '\n' {
		lines++
	}
	out := []string{fmt.Sprintf("%s: cut off %s (%s) that Pemmican had appended; it is as it was before, %s",
		Clean(in.Name), Plural(lines, "line"), Plural(len(gone), "byte"), Plural(n, "byte"))}
	if resume := in.Resume(in.Path); resume != "" {
		out = append(out, "go on with: "+resume)
	}
	if note != "" {
		out = append(out, "note: "+note)
	}
	return out, nil
}
