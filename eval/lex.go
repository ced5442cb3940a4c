package eval

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// An atom is a word, of ASCII or of other letters, or one character of punctuation. Texts are compared atom by atom, so that an identifier is found
// in "src/a.go:12" as in "(src/a.go)", and never inside a longer word.
type atom struct {
	word  int32 // the exact spelling
	fold  int32 // the word without its case, -1 for punctuation
	pos   int32 // where it begins, in tokens from the beginning of its text
	glued bool  // no white space stands before it
	line  bool  // it is the first of a line
}

// text is a text in atoms.
type text struct {
	atoms []atom
	size  int32 // tokens
}

// lexer turns texts into atoms. Words get numbers as they come. It is not safe for concurrent use.
type lexer struct {
	words, folds map[string]int32
	foldOf       []int32 // by word
	texts        map[string]text
}

func newLexer() *lexer {
	return &lexer{words: map[string]int32{}, folds: map[string]int32{}, texts: map[string]text{}}
}

// lex returns the atoms of s. It remembers them: most of what an arm keeps it keeps as it was.
//
// The size in tokens is a rule of thumb for the vocabularies in use: a word takes one token and one more for each six
// bytes beyond the first six, an ideograph or a syllable takes one, and so does a run of punctuation.
func (l *lexer) lex(s string) text {
	if t, ok := l.texts[s]; ok {
		return t
	}
	var t text
	glued, line, punct := false, true, false
	add := func(word string, fold bool, cost int) {
		id := l.word(word, fold)
		t.atoms = append(t.atoms, atom{word: id, fold: l.foldOf[id], pos: t.size, glued: glued, line: line})
		t.size += int32(cost)
		glued, line, punct = true, false, !fold
	}
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '\n':
			glued, line = false, true
			i++
		case c == ' ' || c == '\t' || c == '\r':
			glued = false
			i++
		case wordByte(c):
			j := i + 1
			for j < len(s) && wordByte(s[j]) {
				j++
			}
			add(s[i:j], true, 1+(j-i-1)/6)
			i = j
		case c < utf8.RuneSelf:
			add(s[i:i+1], false, punctCost(glued && punct))
			i++
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case unicode.IsSpace(r):
				glued = false
			case ideograph(r):
				add(s[i:i+n], true, 1)
			case unicode.IsLetter(r) || unicode.IsDigit(r):
				j := i + n
				for j < len(s) {
					r, m := utf8.DecodeRuneInString(s[j:])
					if r < utf8.RuneSelf || ideograph(r) || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
						break
					}
					j += m
				}
				add(s[i:j], true, 1+(j-i-1)/6)
				i = j - n
			default:
				add(s[i:i+n], false, punctCost(glued && punct))
			}
			i += n
		}
	}
	l.texts[s] = t
	return t
}

func punctCost(inRun bool) int {
	if inRun {
		return 0
	}
	return 1
}

// word returns the number of a word.
func (l *lexer) word(s string, fold bool) int32 {
	if id, ok := l.words[s]; ok {
		return id
	}
	s = strings.Clone(s) // not the whole text that it stands in
	id := int32(len(l.words))
	l.words[s] = id
	f := int32(-1)
	if fold {
		low := strings.ToLower(s)
		var ok bool
		if f, ok = l.folds[low]; !ok {
			f = int32(len(l.folds))
			l.folds[low] = f
		}
	}
	l.foldOf = append(l.foldOf, f)
	return id
}

// wordByte reports whether an ASCII byte is part of a word.
func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// ideograph reports whether a rune is a word by itself, in scripts that put no space between words.
func ideograph(r rune) bool {
	return r >= 0x2e80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// idf is the weight of each word without its case, by the lines of the texts that it was made from: ln(1 + N/df), N
// lines of which df hold the word. A word that none holds weighs nothing, for no context could bring it back.
type idf []float64

func newIDF(l *lexer, texts []text) idf {
	df := make([]int, len(l.folds))
	seen := make([]int, len(l.folds))
	lines := 0
	for _, t := range texts {
		for i := range t.atoms {
			a := &t.atoms[i]
			if a.line || i == 0 {
				lines++
			}
			if a.fold >= 0 && seen[a.fold] != lines {
				seen[a.fold] = lines
				df[a.fold]++
			}
		}
	}
	out := make(idf, len(df))
	for f, n := range df {
		if n > 0 {
			out[f] = log1p(float64(lines) / float64(n))
		}
	}
	return out
}

// of is the weight of a word that may be newer than the weights.
func (w idf) of(fold int32) float64 {
	if fold < 0 || int(fold) >= len(w) {
		return 0
	}
	return w[fold]
}
