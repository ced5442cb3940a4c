// Package estimate guesses how many tokens a text has in the o200k_base
// vocabulary, without the vocabulary.
//
// A tokenizer of that family works in two steps: a regular expression cuts the
// text into pieces (a word with the space before it, up to three digits, a run
// of punctuation, a run of spaces, ...), and each piece is encoded on its own.
// The first step is simple enough to be done exactly, or nearly so, by a small
// automaton. The second step is what needs the vocabulary; here its result is
// replaced by the average that pieces of the same kind and length had in real
// text. Averages err on one word and are right on a page: code, prose, logs,
// JSON and Chinese, Japanese or Korean text of a few kilobytes come out within
// some percent.
//
// The whole of it is one table look-up for each byte, so that estimating is
// cheap enough to be done again whenever somebody asks.
package estimate

// Tokens returns the estimated number of o200k_base tokens in text. It is 0
// for the empty text only, takes linear time and allocates nothing. Bytes that
// are not UTF-8 count about a token each.
func Tokens(text string) int { return count(text) }

// Bytes is [Tokens] for text in a byte slice, which it neither keeps nor
// changes.
func Bytes(text []byte) int { return count(text) }

// count runs the automaton over text. An entry of the table has the row of the
// next state in its low half, and what the step costs in its high half.
func count[T string | []byte](text T) int {
	if len(text) == 0 {
		return 0
	}
	m := automaton()
	row, cost := uint32(0), uint64(0)
	for i := 0; i < len(text); {
		c := asciiClass[text[i]]
		if c == classMultibyte {
			var size int
			c, size = multibyteClass(text, i)
			i += size
		} else {
			i++
		}
		e := m.step[row+uint32(c)]
		row = e & rowMask
		cost += uint64(e >> costShift)
	}
	cost += uint64(m.final[row/classStride])
	return max(1, int((cost+costUnit/2)/costUnit))
}
