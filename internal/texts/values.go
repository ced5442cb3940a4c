package texts

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pemmican-dev/pemmican/internal/secrets"
	"github.com/pemmican-dev/pemmican/internal/textcut"
)

const thousand = 1000

// about is a number of tokens as people say it: 215K. Below a thousand it is the number itself.
func about(n int) string {
	if n < thousand {
		return strconv.Itoa(n)
	}
	k := n / thousand
	if n%thousand >= thousand/2 {
		k++
	}
	return strconv.Itoa(k) + "K"
}

// exact is a number of tokens to the last one: 200K, but 199,999. It is for two figures that are compared.
func exact(n int) string {
	if n != 0 && n%thousand == 0 {
		return strconv.Itoa(n/thousand) + "K"
	}
	digits := strconv.Itoa(n)
	first := 0
	if n < 0 {
		first = 1
	}
	for i := len(digits) - 3; i > first; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// percent is a part of a whole, which is not 0, with one decimal: 21.5%.
func percent(part, whole int) string {
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 1, 64) + "%"
}

// dollars is a sum of money: $1.20, but $0.0042, so that a small one is not nothing.
func dollars(x float64) string {
	switch {
	case x == 0:
		return "$0"
	case math.Abs(x) < 0.0001:
		return "≤ $0.0001"
	case math.Abs(x) < 0.1:
		return fmt.Sprintf("$%.4f", x)
	}
	return fmt.Sprintf("$%.2f", x)
}

func minus(a, b int) int { return a - b }

// maxValue is how many bytes of a value a text shows.
const maxValue = 400

// line makes a value from outside fit to stand in a text: one line, without secrets, without letters that nobody sees, and
// without the signs that open and close markup, so that it ends no frame that somebody puts around the text.
func line(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '<':
			return '‹'
		case r == '>':
			return '›'
		case unicode.IsSpace(r), unicode.IsControl(r):
			return ' '
		case r == utf8.RuneError, r != '\u200d' && unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co):
			return -1
		}
		return r
	}, s[:textcut.Before(s, 4*maxValue)])
	s, _ = secrets.Redact(strings.Join(strings.Fields(s), " "))
	return textcut.Head(s, maxValue, func(int) string { return "…" })
}
