package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
)

var (
	faint = lipgloss.NewStyle().Faint(true)
	bold  = lipgloss.NewStyle().Bold(true)
	full  = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
	good  = lipgloss.NewStyle().Foreground(lipgloss.Green)
	bad   = lipgloss.NewStyle().Foreground(lipgloss.Red)
)

// Table is rows of text in columns, for people.
type Table struct {
	// Head are the names of the columns, in lower case; without any there is no head.
	Head []string
	// Right are the columns whose text stands at the right.
	Right []int
	Rows  [][]string
}

// Row adds a row.
func (t *Table) Row(cells ...string) { t.Rows = append(t.Rows, cells) }

// String renders the table, two blanks before each column, none at the end of a line. (The table of lipgloss takes 0.15 s
// for the thousand rows of a list of sessions, and they shall be there in 0.2 s.)
func (t *Table) String() string {
	rows := t.Rows
	if len(t.Head) > 0 {
		head := make([]string, len(t.Head))
		for i, h := range t.Head {
			if h != "" {
				head[i] = faint.Render(h)
			}
		}
		rows = append([][]string{head}, rows...)
	}
	var widths []int
	for _, row := range rows {
		for c, cell := range row {
			if c == len(widths) {
				widths = append(widths, 0)
			}
			widths[c] = max(widths[c], lipgloss.Width(cell))
		}
	}
	var b, line strings.Builder
	for i, row := range rows {
		line.Reset()
		for c, cell := range row {
			blanks := strings.Repeat(" ", widths[c]-lipgloss.Width(cell))
			line.WriteString("  ")
			if slices.Contains(t.Right, c) {
				line.WriteString(blanks)
				blanks = ""
			}
			line.WriteString(cell)
			line.WriteString(blanks)
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
	}
	return b.String()
}

// Bar draws part of whole as a bar of at most width characters. More than nothing is never nothing.
func Bar(part, whole, width int) string {
	if whole <= 0 || part <= 0 {
		return ""
	}
	const eighths = "▏▎▍▌▋▊▉█"
	n := min(max(1, (part*width*8+whole/2)/whole), width*8)
	b := strings.Repeat("█", n/8)
	if rest := n % 8; rest > 0 {
		b += string([]rune(eighths)[rest-1])
	}
	return full.Render(b)
}

// Print writes lines to w, with colours where w is a terminal that has them.
func Print(w io.Writer, lines ...string) error {
	_, err := lipgloss.Fprintln(w, strings.Join(lines, "\n"))
	return err
}

// Printf is Print for one formatted line.
func Printf(w io.Writer, format string, args ...any) error {
	return Print(w, fmt.Sprintf(format, args...))
}

// Heading is a line that stands over others.
func Heading(s string) string { return bold.Render(s) }
