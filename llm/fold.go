package llm

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pemmican-dev/pemmican/internal/textcut"
)

const (
	// maxFolded is how much of a text is looked at, in bytes: most of it from its start, and a quarter from its end.
	maxFolded = 8 << 10
	// maxMessage bounds [Error.Message], in runes.
	maxMessage = 500
)

// echoed is a list of numbers: the tokens or the vector of somebody's request.
var echoed = regexp.MustCompile(`-?\d+(?:\.\d+)?(?:,\s*-?\d+(?:\.\d+)?){7,}`)

// boundText is a text without its middle and without the lists of numbers that it echoes.
func boundText(s string) string {
	if len(s) > maxFolded {
		s = s[:textcut.Before(s, maxFolded/4*3)] + "\n" + s[textcut.After(s, len(s)-maxFolded/4):]
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	return echoed.ReplaceAllString(s, "…")
}

// oneLine is a text for people: on one line, without control characters, and at most maxMessage runes.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\uFEFF':
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) > maxMessage {
		s = s[:textcut.Runes(s, maxMessage-1)] + "…"
	}
	return s
}

// foldCode is a name by its letters and digits alone, in lower case: context_length_exceeded, ContextLengthExceeded and
// CONTEXT-LENGTH-EXCEEDED are one.
func foldCode(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// foldText is a text as the wordings are written: lower case, one space between words, _ and - and any white space for a
// space, no quotes, no addresses, and every number as digits alone.
func foldText(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	last := byte(' ') // what was written last
	space := func() {
		if last != ' ' {
			b.WriteByte(' ')
			last = ' '
		}
	}
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case isDigit(c):
			digits, end := foldNumber(s, i)
			b.WriteString(digits)
			last, i = '0', end
			continue
		case c == 'h' && (strings.HasPrefix(s[i:], "http://") || strings.HasPrefix(s[i:], "https://")):
			for i < len(s) && s[i] > ' ' {
				i++
			}
			continue
		case 'A' <= c && c <= 'Z':
			last = c + 'a' - 'A'
			b.WriteByte(last)
		case c == '_', c == '-', c <= ' ', c == 0x7F:
			space()
		case c == '`', c == '"', c == '*', c == '\\':
		case c < utf8.RuneSelf:
			b.WriteByte(c)
			last = c
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == '’', r == '‘':
				b.WriteByte('\'')
				last = '\''
			case unicode.IsSpace(r):
				space()
			default:
				b.WriteRune(unicode.ToLower(r))
				last = 'x'
			}
			i += size
			continue
		}
		i++
	}
	return strings.TrimSpace(b.String())
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// foldNumber reads the number at s[i] and returns it as digits, and where it ends: 1048576, 1,048,576, 1_048_576 and 1048.576k.
func foldNumber(s string, i int) (digits string, end int) {
	end = i
	for end < len(s) && isDigit(s[end]) {
		end++
	}
	if end-i <= 3 {
		for end+4 <= len(s) && (s[end] == ',' || s[end] == '_') && allDigits(s[end+1:end+4]) && (end+4 == len(s) || !isDigit(s[end+4])) {
			end += 4
		}
	}
	digits = thousands.Replace(s[i:end])
	// Thousands: at most three digits may follow the point, so that they are filled up with zeros.
	fraction, k := "", end
	if k+1 < len(s) && s[k] == '.' && isDigit(s[k+1]) {
		for k++; k < len(s) && isDigit(s[k]) && len(fraction) < 3; k++ {
			fraction += s[k : k+1]
		}
	}
	if k < len(s) && (s[k] == 'k' || s[k] == 'K') && (k+1 == len(s) || !isWord(s[k+1])) {
		return digits + (fraction + "000")[:3], k + 1
	}
	return digits, end
}

var thousands = strings.NewReplacer(",", "", "_", "")

func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

func isWord(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c >= utf8.RuneSelf
}
