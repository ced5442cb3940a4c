// Package textcut shortens text without breaking what a reader sees as one
// character.
//
// A safe edge is a place to cut. Both ends of a text are safe, and everything
// else is that does not lie inside
//
//   - the UTF-8 encoding of a rune, or a CRLF;
//   - a base with what belongs to it: combining marks, variation selectors,
//     skin tones, tag characters, the vowels and finals of a decomposed Hangul
//     syllable;
//   - anything that a zero-width joiner joins, such as a family of emoji;
//   - a flag, which is a pair of regional indicators.
//
// Such a sequence has no greatest length, so looking for an edge ends after
// 256 bytes: in a longer one every edge of a rune has to do. (Flags in a row
// are not one sequence; 512 of them may follow each other.)
//
// All lengths and positions are in bytes unless a name says otherwise. Text may
// be invalid UTF-8: each byte that is not part of a rune stands for itself.
// Valid text stays valid in every part that this package cuts off.
package textcut

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxSequence = 256  // bytes to look for a safe edge
	maxFlags    = 4096 // bytes of regional indicators to look back at
)

// Before returns the largest safe edge of s that is at most n bytes from its
// start: s[:Before(s, n)] is a safe head of at most n bytes. It is 0 where the
// first character is longer than that, and len(s) where all of s fits.
func Before(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	edge := runeStart(s, max(n, 0))
	for i := edge; edge-i <= maxSequence; {
		if safe(s, i) {
			return i
		}
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return edge
}

// After returns the smallest safe edge of s that is at least n bytes from its
// start: s[After(s, len(s)-n):] is a safe tail of at most n bytes.
func After(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	n = max(n, 0)
	edge := runeStart(s, n)
	if edge < n {
		_, size := utf8.DecodeRuneInString(s[edge:])
		edge += size
	}
	for i := edge; i-edge <= maxSequence; {
		if safe(s, i) {
			return i
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return edge
}

// Runes returns the largest safe edge of s that has at most n runes before it.
// The result is a position in bytes.
func Runes(s string, n int) int {
	for i := range s {
		if n <= 0 {
			return Before(s, i)
		}
		n--
	}
	return len(s)
}

// Head returns s if it has at most max bytes, and else its head with a marker
// behind it, together at most max bytes. It ends the head with a line if one
// ends in the last quarter of it.
//
// The marker is told how many bytes of s are omitted; nil stands for an empty
// one. If max has no room for the marker the head stands alone. The result is
// shorter than s unless it is s, so that cutting twice is cutting once.
func Head(s string, max int, marker func(omitted int) string) string {
	return cut(s, max, marker, func(budget int) (int, int) { return headEnd(s, budget), len(s) })
}

// Middle returns s if it has at most max bytes, and else its head and its tail
// with a marker between them, together at most max bytes. Head and tail have
// half of the room each; the head ends with a line if one ends in its last
// quarter, and the tail begins with one if one begins in its first.
//
// The marker is told how many bytes of s are omitted; nil stands for an empty
// one. If max has no room for the marker the head stands alone. The result is
// shorter than s unless it is s, so that cutting twice is cutting once.
func Middle(s string, max int, marker func(omitted int) string) string {
	return cut(s, max, marker, func(budget int) (int, int) {
		tail := budget / 2
		return headEnd(s, budget-tail), tailStart(s, tail)
	})
}

// cut replaces the part of s that split names by the marker. split is given
// the bytes that may stay.
func cut(s string, limit int, marker func(omitted int) string, split func(budget int) (from, to int)) string {
	if len(s) <= limit {
		return s
	}
	if marker == nil {
		marker = func(int) string { return "" }
	}
	// How long the marker is depends on how much it stands for, which depends
	// on how long it is. Its longest form is nearly always that for all of s;
	// give a stranger one a few tries.
	budget := limit - len(marker(len(s)))
	for try := 0; try < 8 && budget >= 0; try++ {
		from, to := split(budget)
		between := marker(to - from)
		over := from + len(between) + len(s) - to - limit
		if over <= 0 {
			return s[:from] + between + s[to:]
		}
		budget -= over
	}
	return s[:Before(s, limit)]
}

// headEnd returns where a head of at most n bytes ends.
func headEnd(s string, n int) int {
	end := Before(s, n)
	if line := strings.LastIndexByte(s[end-end/4:end], '\n'); line >= 0 {
		return end - end/4 + line + 1
	}
	return end
}

// tailStart returns where a tail of at most n bytes begins.
func tailStart(s string, n int) int {
	start := After(s, len(s)-n)
	if start > 0 && s[start-1] == '\n' {
		return start
	}
	if line := strings.IndexByte(s[start:start+(len(s)-start)/4], '\n'); line >= 0 {
		return start + line + 1
	}
	return start
}

// safe reports whether the edge of a rune at s[i] is a safe edge.
func safe(s string, i int) bool {
	if i == 0 || i == len(s) {
		return true
	}
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i:])
	switch {
	case before == '\r':
		return after != '\n'
	case before < ' ': // nothing belongs to a control character
		return true
	case before == joiner || extends(after):
		return false
	case regional(before) && regional(after):
		n := 0
		for rest := s[:i]; i-len(rest) < maxFlags; n++ {
			r, size := utf8.DecodeLastRuneInString(rest)
			if !regional(r) {
				break
			}
			rest = rest[:len(rest)-size]
		}
		return n%2 == 0
	}
	return true
}

const joiner = 0x200D

// extends reports whether r belongs to what stands before it.
func extends(r rune) bool {
	switch {
	case r < 0x300:
		return false
	case unicode.Is(unicode.M, r): // combining marks and variation selectors
		return true
	case r == joiner, r == 0x200C, // and the non-joiner
		0x1160 <= r && r <= 0x11FF, 0xD7B0 <= r && r <= 0xD7FB, // Hangul vowels and finals
		0xFF9E <= r && r <= 0xFF9F,   // half-width voiced sound marks
		0x1F3FB <= r && r <= 0x1F3FF, // skin tones
		0xE0020 <= r && r <= 0xE007F: // tags
		return true
	}
	return false
}

// regional reports whether r is one half of a flag.
func regional(r rune) bool { return 0x1F1E6 <= r && r <= 0x1F1FF }

// runeStart returns i, or the start of the rune that i lies inside of.
func runeStart(s string, i int) int {
	for start := i - 1; start >= 0 && start > i-utf8.UTFMax; start-- {
		if utf8.RuneStart(s[start]) {
			if _, size := utf8.DecodeRuneInString(s[start:]); start+size > i {
				return start
			}
			break
		}
	}
	return i
}
