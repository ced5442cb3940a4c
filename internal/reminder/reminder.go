// Package reminder knows the notes that a runtime puts into the messages of a person and the results of tools, for the model
// to read.
package reminder

import "strings"

// Tag is the name of the tag around such a note.
const Tag = "system-reminder"

// Strip takes out of a text what a runtime put into it for the model: an order for then, which is not told
// on, least of all in part. One that is cut off goes up to the end; of one whose beginning is cut off, its paragraph.
func Strip(text string) string {
	const open, shut = "<" + Tag, "</" + Tag + ">"
	if !strings.Contains(text, Tag+">") {
		return text
	}
	next := func(sign string, from int) int {
		if i := strings.Index(text[from:], sign); i >= 0 {
			return from + i
		}
		return len(text)
	}
	var b strings.Builder
	at := 0 // what is before it is done
	begin, end := next(open, at), next(shut, at)
	for at < len(text) && min(begin, end) < len(text) {
		switch {
		case end < begin && !endsLine(text[end+len(shut):]):
			b.WriteString(text[at : end+len(shut)]) // No runtime writes on behind it.
			at = end + len(shut)
		case end < begin:
			b.WriteString(text[at : at+max(0, strings.LastIndex(text[at:end], "\n\n"))])
			at = end + len(shut)
		case strings.TrimSpace(text[at+strings.LastIndexByte(text[at:begin], '\n')+1:begin]) != "" &&
			!strings.HasPrefix(text[begin:], open+">\n") && (end == len(text) || strings.Contains(text[begin:end], "\n")):
			// In the middle of a line, and not closed in it, the tag is something that a text speaks of.
			line := lineEnd(text, begin)
			b.WriteString(text[at:line])
			at = line
		default:
			b.WriteString(text[at:begin])
			at = min(end+len(shut), len(text))
		}
		if begin < at {
			begin = next(open, at)
		}
		if end < at {
			end = next(shut, at)
		}
	}
	b.WriteString(text[at:])
	return b.String()
}

// endsLine reports whether nothing but blanks comes before the next line.
func endsLine(s string) bool {
	s = strings.TrimLeft(s, " \t\r")
	return s == "" || s[0] == '\n'
}

// lineEnd is where the line that a position is in ends, before its line break.
func lineEnd(s string, at int) int {
	if i := strings.IndexByte(s[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(s)
}
