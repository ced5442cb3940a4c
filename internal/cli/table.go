package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/pemmican-dev/pemmican/internal/textcut"
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
	// Width is what the table may take, in cells of a terminal; 0 is any width. Cuts say how it comes down to that, one
	// after the other; where they are not enough it takes more.
	Width int
	Cuts  []Cut
	Rows  [][]string
}

// Cut makes a column narrower.
type Cut struct {
	// Column is cut down to Least cells; 0 leaves it out.
	Column, Least int
	// AtEnd cuts its text at the end; else it is cut in the middle.
	AtEnd bool
}

// Row adds a row.
func (t *Table) Row(cells ...string) { t.Rows = append(t.Rows, cells) }

// Fits reports whether the table needs no cut.
func (t *Table) Fits() bool { return t.Width <= 0 || total(t.widths()) <= t.Width }

// widths are the cells that the columns take as they are.
func (t *Table) widths() []int {
	var out []int
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		for c, cell := range row {
			if c == len(out) {
				out = append(out, 0)
			}
			out[c] = max(out[c], lipgloss.Width(cell))
		}
	}
	return out
}

// total is what columns of these widths take, each with its margin.
func total(widths []int) int {
	n := 0
	for _, w := range widths {
		if w > 0 {
			n += margin + w
		}
	}
	return n
}

const margin = 2

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
	widths := t.widths()
	atEnd := map[int]bool{}
	for _, cut := range t.Cuts {
		over := total(widths) - t.Width
		if t.Width <= 0 || over <= 0 {
			break
		}
		if cut.Column < len(widths) && widths[cut.Column] > cut.Least {
			widths[cut.Column] = max(cut.Least, widths[cut.Column]-over)
			if cut.Least == 0 {
				widths[cut.Column] = 0
			}
			atEnd[cut.Column] = cut.AtEnd
		}
	}
	var b, line strings.Builder
	for i, row := range rows {
		line.Reset()
		for c, cell := range row {
			if widths[c] == 0 {
				continue
			}
			if end, ok := atEnd[c]; ok {
				cell = shorten(cell, widths[c], end)
			}
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

// shorten cuts a text down to so many cells, with a mark where something is missing. What is cut in its middle has no
// escape sequences.
func shorten(s string, cells int, atEnd bool) string {
	n := lipgloss.Width(s)
	switch {
	case n <= cells:
		return s
	case atEnd || cells < 3:
		return ansi.Truncate(s, cells, "…")
	}
	head := ansi.Truncate(s, (cells-1)/2, "") + "…"
	room, tail := cells-lipgloss.Width(head), len(s)
	for tail > 0 {
		at := textcut.Before(s, tail-1)
		if lipgloss.Width(s[at:]) > room {
			break
		}
		tail = at
	}
	return head + s[tail:]
}

// Width is how many cells a line of the terminal has that w writes to, 0 if it is none.
func Width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return n
}

// barWidth is what a bar may take of a line of width cells beside rest cells of other columns; at most most, and enough to
// tell more from less.
func barWidth(width, rest, most int) int {
	if width <= 0 {
		return most
	}
	return min(max(width-rest, 6), most)
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

// Plain reports whether the person wants no escape sequences: no colours, nothing drawn over, no question to the terminal.
func Plain() bool { return os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" }

// Print writes lines to w, with colours where w is a terminal that has them and nobody asked for none.
func Print(w io.Writer, lines ...string) error {
	out := colorprofile.NewWriter(w, os.Environ())
	if Plain() {
		out.Profile = colorprofile.NoTTY
	}
	_, err := io.WriteString(out, strings.Join(lines, "\n")+"\n")
	return err
}

// Bare is a text for people as it is where nothing has colours.
func Bare(s string) string { return ansi.Strip(s) }

// Printf is Print for one formatted line.
func Printf(w io.Writer, format string, args ...any) error {
	return Print(w, fmt.Sprintf(format, args...))
}

// Heading is a line that stands over others.
func Heading(s string) string { return bold.Render(s) }
