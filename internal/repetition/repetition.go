// Package repetition finds text that has run into a loop: a model that writes
// the same sentence again and again until it is stopped.
//
// It looks at the end of the text only. A loop that the writer got out of, with
// other text behind it, is no loop.
package repetition

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Detector says what counts as a loop. The zero value is ready for use, and
// safe for concurrent use. All its lengths are in runes of the text as
// [Detector.Detect] compares it, unless said otherwise; a byte that is not
// UTF-8 is a rune.
type Detector struct {
	// WindowMinRunes is the least length of a unit that may repeat. Shorter
	// ones are ordinary: a rule of dashes, the padding of a table. Defaults
	// to 16.
	WindowMinRunes int
	// RepeatThreshold is how often a unit must stand at the end of the text,
	// one right behind the other. Once is every text's case, so 1 counts as 2.
	// Defaults to 8.
	RepeatThreshold int
	// ProbeRunes is how much of the end of the text is looked at, in runes of
	// the original text. A unit longer than ProbeRunes divided by
	// RepeatThreshold is never found. Defaults to 8192.
	ProbeRunes int
}

// A Hit is a loop at the end of a text.
type Hit struct {
	Period  int    // length of the unit, in runes
	Repeats int    // how many whole units stand at the end, at least RepeatThreshold
	Unit    string // the last of them, as it was compared
}

// Detect looks for a unit that the end of text consists of. Of several it
// returns the one that repeats most.
//
// Before it compares, it deletes invisible characters (zero-width and
// directional marks, soft hyphens) and makes every run of white space one
// space, so that repeats may differ in their line breaks. Everything else
// counts as it is, digits too: a loop with a running number is not found.
// What stands between two units belongs to them: eight lines of which the last
// has no line break are seven units and a part.
//
// It takes time and memory in proportion to ProbeRunes, or to the text if that
// is shorter.
func (d Detector) Detect(text string) (Hit, bool) {
	windowMin := orDefault(d.WindowMinRunes, 16)
	threshold := max(2, orDefault(d.RepeatThreshold, 8))
	probe := orDefault(d.ProbeRunes, 8192)

	// Where a unit repeats, the last runes of the text stand one unit before
	// them again. Most texts are told from a loop by that, and by a look at so
	// much of the end as the longest unit takes.
	if end := reversedTail(text, probe, probe/threshold+windowMin); !recurs(end, windowMin) {
		return Hit{}, false
	}

	// Periods do not care about direction, and backwards every suffix of the
	// text is a prefix: the prefix function has the smallest period of each.
	tail := reversedTail(text, probe, probe)
	if len(tail)/windowMin < threshold {
		return Hit{}, false
	}
	var best Hit
	border := make([]int32, len(tail)) // length of the longest proper border of tail[:i+1]
	for i := 1; i < len(tail); i++ {
		b := border[i-1]
		for b > 0 && tail[i] != tail[b] {
			b = border[b-1]
		}
		if tail[i] == tail[b] {
			b++
		}
		border[i] = b
		length := i + 1
		period := length - int(b)
		if repeats := length / period; period >= windowMin && repeats >= threshold && repeats > best.Repeats {
			best = Hit{Period: period, Repeats: repeats}
		}
	}
	if best.Repeats == 0 {
		return Hit{}, false
	}
	unit := tail[:best.Period]
	slices.Reverse(unit)
	best.Unit = string(unit)
	return best, true
}

// recurs reports whether the first n runes of tail stand in it once more, behind
// themselves.
func recurs(tail []rune, n int) bool {
	for i := n; i+n <= len(tail); i++ {
		if tail[i] == tail[0] && slices.Equal(tail[i:i+n], tail[:n]) {
			return true
		}
	}
	return false
}

// reversedTail returns the last n runes of text, last one first, without
// invisible characters and with white space collapsed, and of what is then left
// the first limit.
func reversedTail(text string, n, limit int) []rune {
	tail := make([]rune, 0, min(limit, len(text)))
	for ; n > 0 && text != "" && len(tail) < limit; n-- {
		r, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
		switch {
		case invisible(r):
			continue
		case unicode.IsSpace(r):
			r = ' '
			if len(tail) > 0 && tail[len(tail)-1] == ' ' {
				continue
			}
		}
		tail = append(tail, r)
	}
	return tail
}

// invisible reports whether r takes no room on the screen.
func invisible(r rune) bool {
	switch {
	case r == 0x00AD, // soft hyphen
		0x200B <= r && r <= 0x200F, // zero-width space and joiners, directional marks
		0x202A <= r && r <= 0x202E, // directional embedding
		r == 0x2060,                // word joiner
		0x2066 <= r && r <= 0x2069, // directional isolates
		r == 0xFEFF:                // byte order mark
		return true
	}
	return false
}

func orDefault(n, otherwise int) int {
	if n <= 0 {
		return otherwise
	}
	return n
}

// May rules most texts out before a [Detector] with its defaults looks at them, in a small part of the time: a loop takes
// at least the last 128 bytes, and each word of it occurs once in every round. A loop in which invisible characters tear
// the same word in some rounds only is ruled out too.
func May(text string) bool {
	const rounds, least, window = 8, 128, 32 << 10
	if len(text) < least {
		return false
	}
	word, start := "", len(text)-least
	for i := start; i <= len(text); i++ {
		if i < len(text) && ' ' < text[i] && text[i] < 0x80 {
			continue
		}
		if start > len(text)-least && i-start > len(word) { // the first word may be cut
			word = text[start:i]
		}
		start = i + 1
	}
	if word == "" {
		return true // it cannot be told
	}
	// Where the text stops inside a round, the last occurrence may be missing.
	return strings.Count(text[max(0, len(text)-window):], word) >= rounds-1
}
