package summary

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
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
// where most are unknown, or most of the text would have to go, the narrative is refused. Unknown numbers, and names of
// what is planned, are only told.
func (c *checker) invented(narrative string) (verdict, *Refusal) {
	var v verdict
	seen := map[string]bool{}
	items := itemsOf(narrative)
	markPlans(narrative, items)
	at, known, told := 0, 0, []string(nil) // told are those that count
	for n := range namesIn(narrative) {
		if n.loose {
			continue
		}
		has, _ := c.source().knows(n)
		for at+1 < len(items) && items[at+1].start <= n.at {
			at++
		}
		// A number may have been worked out, and a plan may name what is to come.
		counts := n.kind != nameNumber && (items[at].plan < 0 || n.at < items[at].plan)
		switch {
		case has:
			items[at].known = true
		case counts:
			items[at].unknown = true
		}
		if seen[n.key] {
			continue
		}
		seen[n.key] = true
		switch {
		case !has:
			v.unknown = append(v.unknown, n.text)
			if counts {
				told = append(told, n.text)
			}
		case n.kind != nameNumber:
			known++
		}
	}
	n := len(told)
	if percent := n * 100; percent <= (n+known)*manyPercent || n <= fewInvented && percent <= (n+known)*fewPercent {
		return v, nil
	}
	if known < n && (n > fewInvented || n > 1 && known == 0 && c.manyNames()) {
		return verdict{}, inventedRefusal(told, n+known)
	}
	rest, lines := withoutInvented(narrative, items)
	switch {
	case len(rest)*100 >= len(narrative)*leastLeftPercent && hasContent(rest):
		v.rest, v.lines = rest, lines
	case n > fewInvented:
		return verdict{}, inventedRefusal(told, n+known)
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
	plan           int  // where it begins to tell of what is to be done, -1 if it does not
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

// planning are the beginnings of words in a title, or in a label, for what is still to be done.
var planning = []string{
	"next", "plan", "todo", "to do", "pending", "remaining", "open", "propos", "follow up", "upcoming", "nächste", "offen", "ausstehend", "geplant",
	"prochaine", "suivant", "à faire", "próxim", "siguiente", "pendiente", "prossim", "da fare", "pendente", "следующ", "план", "осталось",
	"次の", "今後", "予定", "残り", "下一步", "后续", "计划", "待办", "다음", "계획", "예정",
}

const maxLabel = 5 // words

// isPlan reports whether a title, or a label before a colon, is one for what is still to be done.
func isPlan(title string) bool {
	said := normal(title)
	if strings.Count(said, " ") >= maxLabel {
		return false
	}
	return slices.ContainsFunc(planning, func(s string) bool {
		first, _ := utf8.DecodeRuneInString(s)
		return first >= eastern && strings.Contains(said, s) || strings.Contains(" "+said, " "+s)
	})
}

// markPlans tells of each item where it begins to tell of what is to be done: below a title of plans, below a list item
// of them, in a box that is not ticked, or behind a label in a sentence.
func markPlans(narrative string, items []item) {
	level := -1  // of the title of plans
	indent := -1 // of the item of plans
	for i := range items {
		it := &items[i]
		text := narrative[it.start:it.end]
		it.plan = -1
		if name, l := titleOf(text); name != "" {
			switch {
			case isPlan(name):
				level = l
			case l <= level:
				level = -1
			}
			indent = -1
			continue
		}
		if it.start == it.end {
			continue
		}
		if it.indent <= indent {
			indent = -1
		}
		switch label := planLabel(text); {
		case level >= 0, indent >= 0, strings.HasPrefix(strings.TrimLeft(text, " \t-*+"), "[ ]"):
			it.plan = it.start
		case label >= 0:
			it.plan = it.start + label
			indent = it.indent
			if !isListed(text) {
				indent = -1
			}
		}
	}
}

// planLabel is where a label for what is to be done ends in a text, -1 if there is none.
func planLabel(text string) int {
	for at := 0; at < len(text); {
		n := strings.IndexAny(text[at:], ":：")
		if n < 0 {
			break
		}
		label := text[at : at+n]
		_, size := utf8.DecodeRuneInString(text[at+n:])
		at += n + size
		if i := strings.LastIndexAny(label, ".;!?。；！？\n"); i >= 0 {
			_, size := utf8.DecodeRuneInString(label[i:])
			label = label[i+size:]
		}
		if isPlan(label) {
			return at
		}
	}
	return -1
}
