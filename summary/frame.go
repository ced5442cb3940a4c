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

// labelNames are the beginnings of all labels, in the letters that opensLabel compares.
var labelNames = []string{"user", "runtime", "assistant", "toolresult", "earliersummary", "workflow", "plan", "files", "links", "counts"}

// appendEscaped appends a text in which nothing can be taken for the frame or for a label: it gets another sign for the <
// of a tag that frames something, and a backslash before what begins a line as a label does. Whatever breaks a line for
// some reader becomes a line feed.
func appendEscaped(dst []byte, text string) []byte {
	at, begins := 0, true // what is before at is done
	for i := 0; i < len(text); {
		if begins {
			begins = false
			i = skipUnseen(text, i)
			if i == len(text) {
				break
			}
			if text[i] == '[' && opensLabel(text[i+1:]) {
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
		t[c] = c != '\n' && c != '<' && c != 0xe2
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

// skipUnseen passes over what a line may begin with and nobody sees.
func skipUnseen(text string, i int) int {
	for i < len(text) {
		switch c := text[i]; {
		case c == ' ' || c == '\t':
			i++
		case c < utf8.RuneSelf:
			return i
		default:
			r, size := utf8.DecodeRuneInString(text[i:])
			if r == 0x2028 || r == 0x2029 || !unicode.IsSpace(r) && !unseen(r) {
				return i
			}
			i += size
		}
	}
	return i
}

// lookAhead is how many bytes may stand between the letters of a name.
const lookAhead = 256

// letter is a rune as names are compared, 0 for one that does not count in them.
func letter(r rune) rune {
	if r == ' ' || r == '_' || r == '-' || r >= utf8.RuneSelf && (unicode.IsSpace(r) || unseen(r)) {
		return 0
	}
	return unicode.ToLower(unicode.ToUpper(r)) // so that the long s is an s
}

// opensLabel reports whether what stands behind a bracket begins as one of the labels, in whatever spelling.
func opensLabel(s string) bool {
	var name [16]byte
	n := 0
	for i, r := range s {
		r = letter(r)
		if r == 0 && i < lookAhead {
			continue
		}
		if r < 'a' || r > 'z' || n == len(name) {
			break
		}
		name[n] = byte(r)
		n++
	}
	return slices.ContainsFunc(labelNames, func(l string) bool { return strings.HasPrefix(string(name[:n]), l) })
}

// opensFrame reports whether what stands behind a < makes it a tag of the frame, in whatever spelling, or may do so with
// what is written behind the text.
func opensFrame(s string) bool {
	n := 0
	for i, r := range s {
		if n == len(frameName) {
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
