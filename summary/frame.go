package summary

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The frame, and the labels in it.
const (
	frameName = "conversation"
	frameOpen = "<" + frameName + ">"
	frameShut = "</" + frameName + ">"

	labelUser      = "[User]"
	labelRuntime   = "[Runtime]"
	labelAssistant = "[Assistant]"
	labelCalls     = "[Assistant tool calls]"
	labelResult    = "[Tool result]"
	labelEarlier   = "[Earlier summary]"
	labelWorkflow  = "[Workflow]"
	labelPlan      = "[Plan]"
	labelFiles     = "[Files]"
	labelLinks     = "[Links]"
	labelCounts    = "[Counts]"
)

// leftOut is the name of the line that stands for turns, in the letters of labelAt.
const leftOut = "...turns"

// labelNames are the beginnings of all labels, in the letters of labelAt.
var labelNames = []string{"user", "runtime", "assistant", "toolresult", "earliersummary", "workflow", "plan", "files", "links", "counts", leftOut}

// appendEscaped appends a text in which nothing can be taken for the frame or for a label: it gets another sign for the <
// of a tag that frames something, and a backslash before what begins a line as a label does. Whatever breaks a line for
// some reader becomes a line feed.
func appendEscaped(dst []byte, text string) []byte {
	at, begins := 0, true // what is before at is done
	for i := 0; i < len(text); {
		if begins {
			begins = false
			i = skipLead(text, i)
			if i == len(text) {
				break
			}
			if r, size := utf8.DecodeRuneInString(text[i:]); isOpenBracket(r) && opensLabel(text[i+size:]) {
				dst = append(dst, text[at:i]...)
				dst = append(dst, '\\')
				at = i
			}
		}
		switch text[i] {
		case '\n':
			begins = true
		case '<':
			if framing(text[i+1:], text[max(0, i-openedWithin):i]) || opensFrame(text[i+1:]) {
				dst = append(dst, text[at:i]...)
				dst = append(dst, neutralSign...)
				at = i + 1
			}
		case 0xe2:
			if strings.HasPrefix(text[i:], "\u2028") || strings.HasPrefix(text[i:], "\u2029") {
				dst = append(dst, text[at:i]...)
				dst = append(dst, '\n')
				at, begins = i+3, true
				i += 2
			}
		case 0xef:
			if strings.HasPrefix(text[i:], "＜") && opensFrame(text[i+len("＜"):]) {
				dst = append(dst, text[at:i]...)
				dst = append(dst, neutralSign...)
				at = i + len("＜")
			}
		}
		i++
		for i < len(text) && !begins && plainByte[text[i]] {
			i++
		}
	}
	return append(dst, text[at:]...)
}

// openedWithin is how many bytes before a closing tag its opening one is looked for. A quote that is farther away loses
// nothing but the sign.
const openedWithin = 128

// plainByte has the bytes that appendEscaped passes over.
var plainByte = func() (t [256]bool) {
	for c := range t {
		t[c] = c != '\n' && c != '<' && c != 0xe2 && c != 0xef
	}
	return t
}()

// unseen reports whether a rune takes no room on the screen.
func unseen(r rune) bool {
	if r < 0xa0 {
		return false
	}
	switch r {
	case 0x00ad, 0x034f, 0x115f, 0x1160, 0x2800, 0x3164, 0xffa0:
		return true
	}
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r)
}

// skipLead passes over what a line may begin with before its text: what nobody sees, and the marks of quotes, lists,
// titles and emphasis.
func skipLead(text string, i int) int {
	for i < len(text) {
		switch c := text[i]; {
		case c < utf8.RuneSelf && strings.IndexByte(" \t>*_#~+-|", c) >= 0:
			i++
		case c < utf8.RuneSelf:
			return i
		default:
			r, size := utf8.DecodeRuneInString(text[i:])
			if r == 0x2028 || r == 0x2029 || !unicode.IsSpace(r) && !unseen(r) && r != '•' {
				return i
			}
			i += size
		}
	}
	return i
}

// opensLabel reports whether what stands behind a bracket begins as one of the labels, or as the line that tells of turns
// that were left out, in whatever spelling.
func opensLabel(s string) bool {
	name, _ := labelAt(s)
	return slices.ContainsFunc(labelNames, func(l string) bool { return strings.HasPrefix(name, l) })
}

// labelAt returns the letters that follow a bracket, as far as they can be those of a label, and what stands behind them.
// The line for turns that were left out has the letters of leftOut, wherever its dots and its number stand.
func labelAt(s string) (name, rest string) {
	var letters [24]byte
	n, dots := 0, false
	for i, r := range s {
		switch l := letter(r); {
		case l == 0 && i < lookAhead:
			continue
		case n == 0 && l == '.':
			dots = true
			continue
		case n == 0 && (isOpenBracket(l) || dots && '0' <= l && l <= '9'):
			continue
		case 'a' <= l && l <= 'z' && n < len(letters):
			letters[n] = byte(l)
			n++
			continue
		}
		rest = s[i:]
		break
	}
	name = string(letters[:n])
	if dots {
		if !strings.HasPrefix(name, "turn") {
			return "", rest
		}
		name = leftOut
	}
	return name, rest
}

// opensFrame reports whether what stands behind a < makes it a tag of the frame, in whatever spelling, or may do so with
// what is written behind the text.
func opensFrame(s string) bool {
	n := 0
	for i, r := range s {
		if n == len(frameName) {
			if unseen(r) { // some of these are letters
				continue
			}
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}
		r = letter(r)
		switch {
		case i > lookAhead:
			return false
		case r == 0, r == '/', r == '\t', r == '\n':
		case r == rune(frameName[n]):
			n++
		default:
			return false
		}
	}
	return true
}
