package summary

import (
	"fmt"
	"strings"
)

// Bounds of what a narrative may name that the source does not have. A model writes GitHub where nobody did, or plans a
// new file; so a few are only told. TestRealSummaries shows how real ones fare.
const (
	fewInvented      = 3
	fewPercent       = 25 // of all names, where there are not more than few
	manyPercent      = 10 // of all names, however many
	maxSamples       = 3
	leastLeftPercent = 50 // of the text, where lines are cut
)

// verdict is what is to be done about names that are not in the source.
type verdict struct {
	unknown []string // each once
	lines   int      // to cut
	rest    string   // the narrative without them
}

// invented holds the names of a narrative against the source. Past a few unknown ones, what names nothing else is cut;
// where most are unknown, or most of the text would have to go, the narrative is refused.
func (c *checker) invented(narrative string) (verdict, *Refusal) {
	var v verdict
	seen := map[string]bool{}
	items := itemsOf(narrative)
	at, known := 0, 0
	for n := range namesIn(narrative) {
		if n.loose {
			continue
		}
		has, _ := c.source().knows(n)
		for at+1 < len(items) && items[at+1].start <= n.at {
			at++
		}
		if has {
			items[at].known = true
		} else {
			items[at].unknown = true
		}
		if seen[n.key] {
			continue
		}
		seen[n.key] = true
		if has {
			known++
		} else {
			v.unknown = append(v.unknown, n.text)
		}
	}
	n := len(v.unknown)
	if percent := n * 100; percent <= (n+known)*manyPercent || n <= fewInvented && percent <= (n+known)*fewPercent {
		return v, nil
	}
	if known < n && (n > fewInvented || n > 1 && known == 0 && c.manyNames()) {
		return verdict{}, inventedRefusal(v.unknown, n+known)
	}
	rest, lines := withoutInvented(narrative, items)
	switch {
	case len(rest)*100 >= len(narrative)*leastLeftPercent && hasContent(rest):
		v.rest, v.lines = rest, lines
	case n > fewInvented:
		return verdict{}, inventedRefusal(v.unknown, n+known)
	}
	return v, nil
}

func inventedRefusal(unknown []string, of int) *Refusal {
	return refuse(ReasonInvented, fmt.Sprintf("%d of %d names, such as %s", len(unknown), of, strings.Join(unknown[:min(len(unknown), maxSamples)], ", ")))
}

// item is a part of a narrative that is kept or cut as one: an item of a list, a row of a table, a paragraph, a code
// fence, a title.
type item struct {
	start, end     int // without the last line break
	indent         int
	title          bool
	known, unknown bool // it has names of that kind
	cut            bool
}

// itemsOf splits a narrative. There is at least one item, and they cover all of it.
func itemsOf(text string) []item {
	closed, _ := fences(text)
	var out []item
	joins := false // the next line belongs to the last item
	for i := 0; i <= len(text); {
		if len(closed) > 0 && i == closed[0].start {
			out = append(out, item{start: i, end: closed[0].end, indent: indentOf(text[i:])})
			i, joins = closed[0].end+1, false
			closed = closed[1:]
			continue
		}
		end := lineEnd(text, i)
		line := text[i:end]
		name, _ := titleOf(line)
		blank := strings.TrimSpace(line) == ""
		switch {
		case joins && !blank && name == "" && !isListed(line):
			out[len(out)-1].end = end
		default:
			out = append(out, item{start: i, end: end, indent: indentOf(line), title: name != "" || blank})
			joins = !blank && name == "" && !strings.HasPrefix(strings.TrimSpace(line), "|")
		}
		i = end + 1
	}
	return out
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// isListed reports whether a line begins an item of a list or is a row of a table.
func isListed(line string) bool {
	line = strings.TrimSpace(line)
	for _, sign := range []string{"- ", "* ", "+ ", "• ", "|"} {
		if strings.HasPrefix(line, sign) {
			return true
		}
	}
	rest := strings.TrimLeft(line, "0123456789")
	return len(rest) < len(line) && (strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") "))
}

// withoutInvented is a narrative without the items that name only what is unknown, and what is listed below them, and
// how many lines that cuts. An item that has something known below it stays.
func withoutInvented(narrative string, items []item) (rest string, lines int) {
	for i := range items {
		it := &items[i]
		if it.cut || it.title || !it.unknown || it.known {
			continue
		}
		below := i + 1
		known := false
		for ; below < len(items) && (items[below].title && items[below].start == items[below].end || items[below].indent > it.indent); below++ {
			known = known || items[below].known
		}
		if known {
			continue
		}
		for k := i; k < below; k++ {
			items[k].cut = !items[k].title || k == i
		}
	}
	var b strings.Builder
	for i := range items {
		part := narrative[items[i].start:items[i].end]
		if items[i].cut {
			lines += 1 + strings.Count(part, "\n")
			continue
		}
		b.WriteString(part)
		b.WriteByte('\n')
	}
	return strings.TrimSpace(b.String()), lines
}
