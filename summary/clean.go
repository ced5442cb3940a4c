package summary

import (
	"strings"
	"unicode/utf8"

	"github.com/pemmican-dev/pemmican/internal/reminder"
	"github.com/pemmican-dev/pemmican/internal/textcut"
)

// gap marks a place where something was cut out.
const gap = "[...]"

// clean makes text fit to be quoted: valid UTF-8, line breaks of one kind, no escape sequences of terminals, no other
// control characters but the tab, and no tag that a reader of the whole request could take for the end of the quote.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.ContainsFunc(text, func(r rune) bool { return isControl(r) && r != '\n' }) {
		text = withoutControls(text)
	}
	return neutral(text)
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 }

func withoutControls(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == 0x1b:
			i += escapeLen(text[i:])
			continue
		case r == '\r':
			b.WriteByte('\n') // A progress bar, or an old way to end a line.
		case r == '\n' || !isControl(r):
			b.WriteString(text[i : i+n])
		}
		i += n
	}
	return b.String()
}

// escapeLen is the length of the escape sequence at the start of s (ECMA-48: CSI and OSC, else two bytes).
func escapeLen(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			switch c := s[i]; {
			case c >= 0x40 && c <= 0x7e:
				return i + 1
			case c < 0x20 || c > 0x7e:
				return i
			}
		}
		return len(s)
	case ']':
		for i := 2; i < len(s); i++ {
			switch s[i] {
			case 0x07:
				return i + 1
			case 0x1b:
				return min(i+2, len(s))
			case '\n':
				return i
			}
		}
		return len(s)
	}
	if s[1] >= utf8.RuneSelf || s[1] < ' ' {
		return 1
	}
	return 2
}

// neutralSign stands for the < of a tag that frames something. It looks like one to a reader, and is none to a parser.
const neutralSign = "‹"

// neutral changes the < of every tag that frames something in an agent's request, ours included: a quote must not be
// able to close what it stands in. Tags of ordinary markup stay as they are, and so does a closing tag of a name that
// nobody is known to frame by behind its opening one.
func neutral(text string) string {
	at := 0 // what is before it is in b
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		n := strings.IndexByte(text[i:], '<')
		if n < 0 {
			break
		}
		i += n
		if framing(text[i+1:], text[:i]) {
			b.WriteString(text[at:i])
			b.WriteString(neutralSign)
			at = i + 1
		}
	}
	if at == 0 {
		return text
	}
	b.WriteString(text[at:])
	return b.String()
}

// framing reports whether a tag that frames something follows the < between before and s.
func framing(s, before string) bool {
	if strings.HasPrefix(s, "|") {
		return true // the control tokens of chat templates
	}
	s, closing := strings.CutPrefix(s, "/")
	end := tagEnd(s)
	if end == 0 {
		return false
	}
	name := strings.ToLower(s[:end])
	switch name {
	case "summary", "conversation", "context", "user", "assistant", "system", "human", "instructions", "invoke",
		tagRead, tagModified, tagReminder, "previous-summary", "recently-read-files", "function_calls",
		"function_results", "tool_call", "tool_use", "tool_result", "tool_response", "think", "thinking":
		return true
	}
	if closing && strings.ContainsAny(name, "-_:") {
		return !opened(before, s[:end])
	}
	return strings.HasPrefix(name, "untrusted")
}

// tagEnd is where the name of a tag ends, at the beginning of s.
func tagEnd(s string) int {
	end := 0
	for end < len(s) && end < 64 && (isAlnum(s[end]) || s[end] == '-' || s[end] == '_' || s[end] == ':') {
		end++
	}
	return end
}

// opened reports whether a tag of that name was opened near the end of before, in one line with it, and not closed.
func opened(before, name string) bool {
	before = before[max(0, len(before)-failWindow):]
	before = before[strings.LastIndexByte(before, '\n')+1:]
	i := strings.LastIndex(before, "<"+name)
	return i >= 0 && tagEnd(before[i+1:]) == len(name) && !strings.Contains(before[i:], "</"+name) && !strings.HasPrefix(strings.ToLower(name), "untrusted")
}

func isAlnum(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' }

const tagReminder = reminder.Tag

// withoutReminders takes out of a text what a runtime put into it for the model.
func withoutReminders(text string) string { return reminder.Strip(text) }

// endsLine reports whether nothing but blanks comes before the next line.
func endsLine(s string) bool {
	s = strings.TrimLeft(s, " \t\r")
	return s == "" || s[0] == '\n'
}

// unwrapped is a text without the tags that a runtime put around the whole of it, as <tool_use_error> is.
func unwrapped(text string) string {
	inner := strings.TrimSpace(text)
	if !strings.HasPrefix(inner, "<") {
		return text
	}
	end := tagEnd(inner[1:]) + 1
	if end == 1 || byteAt(inner, end) != '>' {
		return text
	}
	shut := "</" + inner[1:end+1]
	inner, ok := strings.CutSuffix(inner[end+1:], shut)
	if !ok || strings.Contains(inner, shut) {
		return text
	}
	return strings.TrimSpace(inner)
}

// oneLine folds runs of white space and line breaks into one space.
func oneLine(s string) string {
	if !strings.ContainsAny(s, "\n\r\t") && !strings.Contains(s, "  ") && s == strings.TrimSpace(s) {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// brief is the first line of s that is not blank, clean, and cut to n runes.
func brief(s string, n int) string {
	s = strings.TrimLeft(s, " \t\r\n")
	s = s[:min(len(s), 8*n)] // More cannot be shown: no rune that is shown needs that many bytes.
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		s = s[:i]
	}
	return cutEnd(strings.TrimSpace(clean(s)), n)
}

// cutEnd cuts s to n runes, the mark included.
func cutEnd(s string, n int) string {
	if fits(s, n) {
		return s
	}
	if n <= len(gap) {
		return cutAt(s, n)
	}
	return strings.TrimRight(cutAt(s, n-len(gap)-1), " ") + " " + gap
}

// cutMiddle cuts s to n runes in its middle, the mark included. The beginning gets two thirds.
func cutMiddle(s string, n int) string { return cutInside(s, n, 2) }

// cutInside is cutMiddle with so many thirds for the beginning.
func cutInside(s string, n, thirds int) string {
	if fits(s, n) {
		return s
	}
	room := n - len(gap) - 2
	if room < 8 {
		return cutEnd(s, n)
	}
	head := cutAt(s, room*thirds/3)
	tail := lastRunes(s, room-room*thirds/3)
	// Whole words, if they end near.
	if i := strings.LastIndexAny(head, " \n"); !isBlank(s[len(head)]) && i > max(0, len(head)-wordSlack) {
		head = head[:i]
	}
	if i := strings.IndexAny(tail, " \n"); tail != "" && !isBlank(s[len(s)-len(tail)-1]) && i >= 0 && i < wordSlack {
		tail = tail[i:]
	}
	return strings.TrimRight(head, " \n") + " " + gap + " " + strings.TrimLeft(tail, " \n")
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' }

// wordSlack is how many bytes a cut may move to fall between two words.
const wordSlack = 16

// lastRunes is the end of s of at most n runes.
func lastRunes(s string, n int) string {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return s[textcut.After(s, i):]
}

// cutAt is the first n runes of s, without a mark.
func cutAt(s string, n int) string { return s[:textcut.Runes(s, n)] }

func fits(s string, n int) bool { return len(s) <= n || utf8.RuneCountInString(s) <= n }
