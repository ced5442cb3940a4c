// Package secretstest makes up secrets for tests.
package secretstest

import (
	"math/rand/v2"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// Sample returns a text that re matches, but for what its empty operators ask.
func Sample(rng *rand.Rand, re *syntax.Regexp) string {
	repeat := func(least, most int) string {
		if most < 0 {
			most = least + 20
		}
		var b strings.Builder
		for range least + rng.IntN(most-least+1) {
			b.WriteString(Sample(rng, re.Sub[0]))
		}
		return b.String()
	}
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		var ascii []rune
		for i := 0; i < len(re.Rune); i += 2 {
			for c := re.Rune[i]; c <= re.Rune[i+1] && c < utf8.RuneSelf; c++ {
				if c >= ' ' || c == '\n' || c == '\t' {
					ascii = append(ascii, c)
				}
			}
		}
		return string(ascii[rng.IntN(len(ascii))])
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return string(rune('!' + rng.IntN(90)))
	case syntax.OpCapture:
		return Sample(rng, re.Sub[0])
	case syntax.OpStar:
		return repeat(0, -1)
	case syntax.OpPlus:
		return repeat(1, -1)
	case syntax.OpQuest:
		return repeat(0, 1)
	case syntax.OpRepeat:
		return repeat(re.Min, re.Max)
	case syntax.OpConcat:
		var b strings.Builder
		for _, sub := range re.Sub {
			b.WriteString(Sample(rng, sub))
		}
		return b.String()
	case syntax.OpAlternate:
		return Sample(rng, re.Sub[rng.IntN(len(re.Sub))])
	default:
		return ""
	}
}
