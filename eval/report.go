package eval

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

var columns = []string{"arm", "kept", "n", "bag", "rel", "90 %", "ahead", "90 %", "M3", "worst session", "left out", "M0"}

// WriteTable writes the table for people.
func (r *Result) WriteTable(w io.Writer) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", r.head())
	for i := range r.Rows {
		row := &r.Rows[i]
		if i == 0 || r.Rows[i-1].Budget != row.Budget {
			fmt.Fprintf(&out, "\nbudget %g %%\n%s\n", 100*row.Budget, strings.Join(columns, "\t"))
		}
		fmt.Fprintf(&out, "%s\n", strings.Join(row.columns(), "\t"))
	}
	fmt.Fprintf(&out, "\n%s\n", r.failures())
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(table, out.String()); err != nil {
		return err
	}
	return table.Flush()
}

// WriteMarkdown writes the tables as Markdown: all arms, the sessions, and the default by sorts of identifiers.
func (r *Result) WriteMarkdown(w io.Writer) error {
	var out strings.Builder
	out.WriteString(r.head() + "\n")
	for i := range r.Rows {
		row := &r.Rows[i]
		if i == 0 || r.Rows[i-1].Budget != row.Budget {
			fmt.Fprintf(&out, "\n### Budget %g %%\n\n", 100*row.Budget)
			tableHead(&out, columns)
		}
		tableRow(&out, row.columns())
	}
	fmt.Fprintf(&out, "\n%s\n\n### Sessions, by rel\n\n", r.failures())
	shown := []string{}
	for _, name := range []string{"tail", Reference, "default"} {
		if slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Arm == name }) {
			shown = append(shown, name)
		}
	}
	budgets := r.budgets()
	head := []string{"session", "cuts", "tokens", "n"}
	for _, b := range budgets {
		for _, name := range shown {
			head = append(head, fmt.Sprintf("%s %g %%", name, 100*b))
		}
	}
	tableHead(&out, head)
	for i := range r.Sessions {
		s := &r.Sessions[i]
		row := []string{s.Name, strconv.Itoa(s.Cuts), strconv.Itoa(s.Tokens), strconv.Itoa(s.Needs)}
		for b := range budgets {
			for _, name := range shown {
				if rel := s.Rel[name][b]; rel != nil {
					row = append(row, figure(*rel))
				} else {
					row = append(row, "")
				}
			}
		}
		tableRow(&out, row)
	}
	if slices.Contains(shown, "default") {
		out.WriteString("\n### The default, by what was needed (bag / rel)\n\n")
		head := []string{"by", "", "n"}
		for _, b := range budgets {
			head = append(head, fmt.Sprintf("%g %%", 100*b))
		}
		tableHead(&out, head)
		r.partRows(&out, "default", budgets)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func (r *Result) partRows(out *strings.Builder, name string, budgets []float64) {
	find := func(by, of string, budget float64) *Part {
		for i := range r.Parts {
			if p := &r.Parts[i]; p.Arm == name && p.By == by && p.Of == of && p.Budget == budget {
				return p
			}
		}
		return nil
	}
	for _, by := range []struct {
		name string
		of   []string
	}{{"kind", kinds}, {"carrier", carriers}, {"quarter", quarters}} {
		for _, of := range by.of {
			row, n := []string{by.name, of, ""}, 0
			for _, b := range budgets {
				if p := find(by.name, of, b); p != nil {
					n = max(n, p.Needs)
					row = append(row, figure(p.Bag)+" / "+figure(p.Rel))
				} else {
					row = append(row, "")
				}
			}
			row[2] = strconv.Itoa(n)
			if n > 0 {
				tableRow(out, row)
			}
		}
	}
}

func (r *Result) budgets() []float64 {
	var out []float64
	for i := range r.Rows {
		if !slices.Contains(out, r.Rows[i].Budget) {
			out = append(out, r.Rows[i].Budget)
		}
	}
	return out
}

func (r *Result) head() string {
	cuts, tokens, needs := 0, 0, 0
	for i := range r.Sessions {
		s := &r.Sessions[i]
		cuts += s.Cuts
		tokens += s.Tokens * s.Cuts
		needs += s.Needs
	}
	return fmt.Sprintf("%d sessions, %d cuts, %d tokens before a cut on average (%s), %d identifiers needed after it; seed %d",
		len(r.Sessions), cuts, tokens/max(1, cuts), r.Counter, needs, r.Seed)
}

func (r *Result) failures() string {
	if len(r.Failures) == 0 {
		return "M0: no failure"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "M0: %d failures", len(r.Failures))
	for i, f := range r.Failures {
		if i == 20 {
			out.WriteString("\n- …")
			break
		}
		fmt.Fprintf(&out, "\n- %s: %s", f.Arm, f.What)
	}
	return out.String()
}

// columns are the cells of a row, as columns names them.
func (row *Row) columns() []string {
	out := []string{row.Arm, fmt.Sprintf("%.1f %%", 100*row.Share), strconv.Itoa(row.Needs)}
	if row.Sessions == 0 {
		out = append(out, "", "", "", "", "", "", "")
	} else {
		out = append(out, figure(row.Bag.Mean), figure(row.Rel.Mean), row.Rel.span(), "", "", "",
			fmt.Sprintf("%s %s", figure(row.WorstRel), row.Worst))
		if row.Artifacts != nil {
			out[8] = figure(*row.Artifacts)
		}
		if row.Ahead != nil {
			out[6], out[7] = fmt.Sprintf("%+.3f", row.Ahead.Mean), row.Ahead.span()
		}
	}
	var left []string
	for _, l := range []struct {
		n    int
		name string
	}{{row.BelowFloor, "floor"}, {row.Over, "over"}, {row.Refused, "refused"}} {
		if l.n > 0 {
			left = append(left, fmt.Sprintf("%d %s", l.n, l.name))
		}
	}
	return append(out, strings.Join(left, ", "), strconv.Itoa(row.Failures))
}

func (i Interval) span() string { return fmt.Sprintf("%s…%s", figure(i.Low), figure(i.High)) }

func figure(x float64) string { return fmt.Sprintf("%.3f", x) }

func tableHead(out *strings.Builder, names []string) {
	tableRow(out, names)
	out.WriteString(strings.Repeat("|---", len(names)) + "|\n")
}

func tableRow(out *strings.Builder, cells []string) {
	out.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}
