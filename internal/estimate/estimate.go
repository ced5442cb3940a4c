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

// count adds up what the pieces of text cost.
func count[T string | []byte](text T) int {
	if len(text) == 0 {
		return 0
	}
	m := automaton()
	var row uint32
	var cost uint64
	if len(text) < lanesMin {
		row, cost = run(m, text, 0)
	} else {
		row, cost = runLanes(m, text)
	}
	cost += uint64(m.final[row/classStride])
	return max(1, int((cost+costUnit/2)/costUnit))
}

// run runs the automaton over text from a row on, and returns the row of the last
// state and what the steps cost. An entry of the table has the row of the next
// state in its low half, and what the step costs in its high half.
func run[T string | []byte](m *machine, text T, row uint32) (uint32, uint64) {
	cost := uint64(0)
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
	return row, cost
}

const (
	lanesMin = 1024 // bytes: a shorter text is not worth the look for seams
	seamMax  = 256  // bytes in which a seam is looked for
)

// runLanes is run for a long text, more than twice as fast. A step waits for the
// look-up of the step before it, and meanwhile a processor can do others. So the
// text is cut in three, and the parts are run side by side.
func runLanes[T string | []byte](m *machine, text T) (uint32, uint64) {
	first := seam(text, len(text)/3)
	second := seam(text, len(text)/3*2)
	if first == 0 || second <= first {
		return run(m, text, 0)
	}
	a, b, c := text[:first], text[first:second], text[second:]
	rowA, rowB, rowC := uint32(0), m.seam, m.seam
	cost := uint64(0)
	i, j, k := 0, 0, 0
	for i < len(a) && j < len(b) && k < len(c) {
		x, y, z := asciiClass[a[i]], asciiClass[b[j]], asciiClass[c[k]]
		if x == classMultibyte || y == classMultibyte || z == classMultibyte {
			// Only those go on that have one; the others see their byte again.
			i, rowA, cost = multibyte(m, a, i, rowA, cost)
			j, rowB, cost = multibyte(m, b, j, rowB, cost)
			k, rowC, cost = multibyte(m, c, k, rowC, cost)
			continue
		}
		e, f, g := m.step[rowA+uint32(x)], m.step[rowB+uint32(y)], m.step[rowC+uint32(z)]
		rowA, rowB, rowC = e&rowMask, f&rowMask, g&rowMask
		cost += uint64(e>>costShift) + uint64(f>>costShift) + uint64(g>>costShift)
		i, j, k = i+1, j+1, k+1
	}
	_, restA := run(m, a[i:], rowA)
	_, restB := run(m, b[j:], rowB)
	row, restC := run(m, c[k:], rowC)
	return row, cost + restA + restB + restC
}

// multibyte takes the characters beyond ASCII at text[i].
func multibyte[T string | []byte](m *machine, text T, i int, row uint32, cost uint64) (int, uint32, uint64) {
	for i < len(text) && text[i] >= 0x80 {
		c, size := multibyteClass(text, i)
		i += size
		e := m.step[row+uint32(c)]
		row = e & rowMask
		cost += uint64(e >> costShift)
	}
	return i, row, cost
}

// seam returns the first place from there on where a text can be cut, 0 if there
// is none near: behind a space that follows a letter of ASCII. Whatever was before
// the letter, the letter ends white space, and the space ends the letter's piece,
// so that the state is always that of one space.
func seam[T string | []byte](text T, from int) int {
	for i := from; i < min(from+seamMax, len(text)-1); i++ {
		if asciiClass[text[i]] <= classUpper && text[i+1] == ' ' {
			return i + 2
		}
	}
	return 0
}
