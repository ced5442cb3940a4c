package summary

import (
	"cmp"
	"slices"
	"strings"
)

// Ranks of the sections of somebody else's summary: what is still true and still to be done comes before what happened.
const (
	rankStanding = iota
	rankRest
	rankHistory
)

// Words in the title of a section that tell its rank. Those of the first list decide.
var (
	historyTitles = []string{"analysis", "history", "chronolog", "problem solving", "technical concepts", "key concepts", "background", "thinking", "scratchpad"}
	standingTitle = []string{
		"next", "pending", "current", "state", "status", "progress", "remaining", "todo", "to do", "to-do", "task", "goal", "request", "intent",
		"decision", "constraint", "preference", "requirement", "rule", "instruction", "user message", "important", "plan", "question", "blocker",
	}
)

// Lines that a runtime puts around a summary for its own model. They order what to do now, which is not now any more.
var summaryFrames = []string{
	"This session is being continued from a previous conversation", "Please continue the conversation from where we left",
	"Continue the conversation from where", "The conversation is summarized below", "The summary below covers the earlier portion",
}

// piece is a line of a summary, or the lines of one block of code.
type piece struct {
	text    string
	blank   bool
	code    bool
	dropped bool
}

// section is a part of a summary under one title.
type section struct {
	rank   int
	titled bool
	pieces []piece // the title first
}

func (s *section) text() string {
	var b strings.Builder
	for i := range s.pieces {
		if p := &s.pieces[i]; !p.dropped {
			b.WriteString(p.text)
			b.WriteByte('\n')
		}
	}
	return strings.Trim(b.String(), "\n")
}

// keepParents keeps the lines that a list stands below, as far as something of the list stays.
func (s *section) keepParents() {
	depth := -1 // of the line whose parent is looked for
	for i := range slices.Backward(s.pieces) {
		p := &s.pieces[i]
		if p.blank {
			continue
		}
		indent := len(p.text) - len(strings.TrimLeft(p.text, " \t"))
		if indent < depth {
			p.dropped = p.dropped && framesSummary(p.text)
			depth = indent
		}
		if !p.dropped {
			depth = max(depth, indent)
		}
	}
}

// sections splits a summary at its titles. What they are is told by how models write them: Markdown, numbers, labels.
func sections(text string) []section {
	out := []section{{rank: rankRest}}
	history := false // in a part that thinks aloud, whatever its titles say
	fence := ""
	for line := range strings.SplitSeq(text, "\n") {
		last := &out[len(out)-1]
		trimmed := strings.TrimSpace(line)
		if fence != "" {
			p := &last.pieces[len(last.pieces)-1]
			p.text += "\n" + line
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
			continue
		}
		if strings.HasPrefix(trimmed, "```") {
			fence = "```"
			last.pieces = append(last.pieces, piece{text: line, code: true})
			continue
		}
		if name, level := titleOf(line); name != "" {
			rank := titleRank(name)
			switch {
			case rank == rankHistory && level == 0:
				history = true
			case level == 0:
				history = false
			}
			switch {
			case history:
				rank = rankHistory
			case rank == rankRest && level > 1:
				rank = last.rank // a part of the one before
			}
			out = append(out, section{rank: rank, titled: true})
			last = &out[len(out)-1]
		}
		last.pieces = append(last.pieces, piece{text: line, blank: trimmed == ""})
	}
	return out
}

// titleOf returns the title that a line is, in lower case, and how deep it lies: 0 for a label or a tag that has titles
// below it, 1 for a numbered title or a heading of Markdown up to the second level, 2 for the rest.
func titleOf(line string) (name string, level int) {
	if line == "" || len(line) > 120 || strings.ContainsAny(line[:1], " \t-*>|`") && !strings.HasPrefix(line, "**") {
		return "", 0
	}
	low := strings.ToLower(line)
	bare := strings.Trim(low, "#*<>/: ")
	switch {
	case bare == "":
		return "", 0
	case bare == "analysis" || bare == "summary":
		return bare, 0
	case strings.HasPrefix(low, "#"):
		if strings.HasPrefix(low, "###") {
			return bare, 2
		}
		return bare, 1
	case classes[low[0]] == digit && strings.HasSuffix(strings.TrimRight(low, "* "), ":"):
		if i := strings.Index(low, ". "); i > 0 && i < 4 {
			return strings.Trim(low[i:], ".*: "), 1
		}
	case strings.HasPrefix(low, "**") && strings.HasSuffix(strings.TrimRight(low, ": "), "**"),
		low[0] == '<' && strings.HasSuffix(low, ">") && tagEnd(low[1:]) == len(low)-2:
		return bare, 2
	case strings.HasSuffix(low, ":") && len(low) < 60:
		return bare, 2
	}
	return "", 0
}

func titleRank(name string) int {
	for _, s := range historyTitles {
		if strings.Contains(name, s) {
			return rankHistory
		}
	}
	for _, s := range standingTitle {
		if strings.Contains(name, s) {
			return rankStanding
		}
	}
	return rankRest
}

// condensed is somebody else's summary without what it says twice: models write down their thoughts and then the same
// under titles. A line goes if others that tell more have all that it names; the order of what stays is the same.
func condensed(text string) string {
	all := sections(text)
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all[a].rank, all[b].rank) })
	r := repeats{seen: map[uint32]bool{}, texts: map[string]bool{}}
	changed := false
	for _, n := range order {
		s := &all[n]
		had, has := 0, 0
		for i := range s.pieces {
			p := &s.pieces[i]
			if p.blank {
				continue
			}
			title := s.titled && i == 0
			p.dropped = framesSummary(p.text) || r.repeated(p, s.rank) && !title
			if !title {
				had++
			}
		}
		s.keepParents()
		for i := range s.pieces {
			p := &s.pieces[i]
			changed = changed || p.dropped
			if !p.blank && !p.dropped && !(s.titled && i == 0) {
				has++
			}
		}
		if s.titled && had > 0 && has == 0 {
			s.pieces[0].dropped = true
		}
	}
	if !changed {
		return text
	}
	var b strings.Builder
	for i := range all {
		for _, p := range all[i].pieces {
			// Of blank lines around what went one is enough.
			if p.dropped || p.blank && (b.Len() == 0 || strings.HasSuffix(b.String(), "\n\n")) {
				continue
			}
			b.WriteString(p.text)
			b.WriteByte('\n')
		}
	}
	return strings.TrimSpace(b.String())
}

func framesSummary(line string) bool {
	return slices.ContainsFunc(summaryFrames, func(s string) bool { return strings.HasPrefix(line, s) })
}

// repeats knows the words of the lines that were read.
type repeats struct {
	scanner
	seen  map[uint32]bool
	texts map[string]bool
}

// Of the plain words of a line that names nothing new, so many percent must be known for it to be a repetition.
const knownWords = 70

// limits are words that make a line a rule, which may name only what other lines name too, and say the contrary.
var limits = []string{"must", "never", "not ", "n't", "only", "always", "without", "instead", "avoid", "keep ", "unless"}

// repeated reports whether a line of a section tells nothing that the lines before it did not tell, and remembers what it
// tells. Of what stands only a line without a new word does.
func (r *repeats) repeated(p *piece, rank int) bool {
	text := strings.TrimSpace(p.text)
	if len(text) > 40 && r.texts[text] {
		return true
	}
	r.texts[text] = true
	first := len(r.lines)
	r.scan(0, p.text, 0)
	names, newNames, words, newWords := 0, 0, 0, 0
	for n := first; n < len(r.lines); n++ {
		for _, id := range r.wordsOf(n) {
			known := r.seen[id]
			r.seen[id] = true
			switch kind := r.words[id].kind; kind {
			case plainWord, ideographs:
				words++
				if !known {
					newWords++
				}
			default:
				names++
				if !known {
					newNames++
				}
			}
		}
	}
	switch low := strings.ToLower(text); {
	case newNames > 0, rank == rankStanding && newWords > 0, names == 0 && (rank != rankHistory || words == 0):
		return false
	case p.code, rank == rankHistory && names > 0:
		return true
	case loneDigit(low):
		return false // A value, which is no word.
	case rank != rankHistory && slices.ContainsFunc(limits, func(s string) bool { return strings.Contains(low, s) }):
		return false
	}
	return newWords*100 <= words*(100-knownWords)
}

// loneDigit reports whether a line has a number of one digit, other than the one that it may be listed under.
func loneDigit(line string) bool {
	line = strings.TrimLeft(line, "0123456789.-* \t")
	for i := range len(line) {
		if classes[line[i]] == digit && (i == 0 || classes[line[i-1]] < lower) && classes[byteAt(line, i+1)] < lower {
			return true
		}
	}
	return false
}

// takeEarlier takes the earlier summary whole if there is room. Else its history goes first, from the beginning, and then
// the middle of the rest: such summaries begin with what is wanted, and end with how things stand.
func (f *fitter) takeEarlier(room int, l *Ledger) int {
	text := f.ledger.Earlier
	if text == "" {
		return 0
	}
	base := f.title(titleEarlier)
	n := f.count(quoted(text))
	if base+n > room {
		all := sections(text)
		for i := range all {
			if all[i].rank != rankHistory || base+n <= room {
				continue
			}
			all[i].pieces = nil
			text = joined(all)
			n = f.count(quoted(text))
		}
		if base+n > room {
			if text, n = f.cutTo(text, 2, room-base); text == "" {
				return 0
			}
		}
	}
	l.Earlier = text
	return base + n
}

// joined is the text of sections, with a mark for each run of those that are empty.
func joined(all []section) string {
	var out []string
	for i := range all {
		text := all[i].text()
		if text == "" && len(all[i].pieces) == 0 {
			text = gap
		}
		if text != "" && (text != gap || len(out) == 0 || out[len(out)-1] != gap) {
			out = append(out, text)
		}
	}
	return strings.Join(out, "\n\n")
}
