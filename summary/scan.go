package summary

import (
	"math/bits"
	"unicode/utf8"
)

// Classes of bytes. What is at least lower belongs to a word.
const (
	separator = iota
	lineBreak
	joiner
	lower
	upper
	digit
	underscore
	high // part of a rune outside ASCII, taken for a letter
)

var classes = func() (t [256]uint8) {
	for c := range t {
		switch b := byte(c); {
		case b == '\n':
			t[c] = lineBreak
		case b == '.' || b == '/' || b == '-' || b == ':' || b == '@' || b == '\\':
			t[c] = joiner
		case 'a' <= b && b <= 'z':
			t[c] = lower
		case 'A' <= b && b <= 'Z':
			t[c] = upper
		case '0' <= b && b <= '9':
			t[c] = digit
		case b == '_' || b == '$':
			t[c] = underscore
		case b >= utf8.RuneSelf:
			t[c] = high
		}
	}
	return t
}()

// Kinds of words, by what they tell. kindWorth is how much a word of the kind is worth, in percent of an identifier.
const (
	noWord      = iota
	plainWord   // lower case or capitalised
	ideographs  // two runes of a script without spaces
	number      // digits only
	shout       // upper case only
	mixed       // letters and digits: versions, hashes, numbers with a unit
	identifier  // CamelCase, snake_case, a --flag
	compound    // words that joiners hold together: a path, a qualified name, an address
	anyWordKind // how many kinds there are
)

var kindWorth = [anyWordKind]int32{plainWord: 12, ideographs: 10, number: 30, shout: 50, mixed: 80, identifier: 100, compound: 60}

const (
	maxWord     = 64  // bytes: longer ones are no words that anybody repeats
	maxCompound = 160 // bytes
	softSegment = 140 // bytes after which a line is cut behind the end of a sentence or a clause
	hardSegment = 240 // bytes after which it is cut behind any word
	// maxSource bounds what is looked at in one text, in bytes, so that one huge text does not cost more memory than the
	// rest of the transcript.
	maxSource = 1 << 22
)

// Flags of a word: where it was seen.
const (
	seenAssistant = 1 << iota // the assistant wrote it
	seenKept                  // it is in what the agent still sees
)

// word is an entry of the vocabulary.
type word struct {
	hash    uint64
	line    uint32 // the last line with it, counted from 1
	source  uint32 // the last source with it, counted from 1
	lines   uint32 // how many lines have it
	sources uint16
	kind    uint8
	flags   uint8
}

// vocabulary gives words numbers. It is a hash table over entries in the order of their first use.
type vocabulary struct {
	slots []uint32 // entry + 1, 0 is free
	words []word
}

func (v *vocabulary) id(hash uint64, kind uint8) uint32 {
	if len(v.words) >= len(v.slots)/2 {
		v.grow()
	}
	mask := uint64(len(v.slots) - 1)
	for i := hash >> 20 & mask; ; i = (i + 1) & mask {
		switch n := v.slots[i]; {
		case n == 0:
			v.words = append(v.words, word{hash: hash, kind: kind})
			v.slots[i] = uint32(len(v.words))
			return uint32(len(v.words) - 1)
		case v.words[n-1].hash == hash:
			return n - 1
		}
	}
}

func (v *vocabulary) grow() {
	v.slots = make([]uint32, max(1<<12, 2*len(v.slots)))
	mask := uint64(len(v.slots) - 1)
	for n := range v.words {
		i := v.words[n].hash >> 20 & mask
		for v.slots[i] != 0 {
			i = (i + 1) & mask
		}
		v.slots[i] = uint32(n + 1)
	}
}

// line is a line of a source, or a part of a long one.
type line struct {
	source     int32
	start, end int32
	words      int32  // the first of its words in scanner.ids; they end where those of the next line begin
	hash       uint32 // of its words, whatever is between them
	continues  bool   // it follows the line before it without a line break
}

// scanner splits texts into lines and words.
type scanner struct {
	vocabulary
	lines []line
	ids   []uint32
	kept  map[uint32]struct{} // hashes of lines that the agent still sees
	line  uint32
}

const (
	hashStart = 0xcbf29ce484222325
	hashPrime = 0x100000001b3
)

// scan reads one text. Of kept text it only remembers words and lines.
func (s *scanner) scan(source int32, text string, flags uint8) {
	text = text[:min(len(text), maxSource)]
	kept := flags&seenKept != 0
	for i := 0; i < len(text); {
		i = lineStart(text, i)
		if i < len(text) && classes[text[i]] == lineBreak {
			i++
			continue
		}
		continues := false
		for i < len(text) && classes[text[i]] != lineBreak {
			first, start := len(s.ids), i
			s.line++
			var hash uint64
			i, hash = s.segment(text, i, uint32(source)+1, flags)
			if hash == hashStart { // no words
				s.ids = s.ids[:first]
				continue
			}
			short := uint32(hash) ^ uint32(hash>>32)
			if kept {
				s.kept[short] = struct{}{}
				s.ids = s.ids[:first]
				continue
			}
			s.lines = append(s.lines, line{source, int32(start), int32(i), int32(first), short, continues})
			continues = true
		}
		i++
	}
}

// lineStart passes over the indentation of a line, and over the line number that tools which read files put before it.
func lineStart(text string, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	j := i
	for j < len(text) && classes[text[j]] == digit {
		j++
	}
	if j == i || j-i > 7 || j == len(text) {
		return i
	}
	switch {
	case text[j] == '\t':
		j++
	case text[j] == '|' && j+1 < len(text) && text[j+1] == ' ':
		j += 2
	case len(text)-j >= 3 && text[j:j+3] == "→":
		j += 3
	default:
		return i
	}
	for j < len(text) && (text[j] == ' ' || text[j] == '\t') {
		j++
	}
	return j
}

// segment reads the words of a line from i on, and returns where it stopped and a hash of the words.
func (s *scanner) segment(text string, i int, source uint32, flags uint8) (int, uint64) {
	start, hash := i, uint64(hashStart)
	for i < len(text) {
		class := classes[text[i]]
		if class < lower {
			if class == lineBreak {
				break
			}
			i++
			if n := i - start; n > softSegment && i < len(text) && classes[text[i]] == separator && isStop(text[i-1]) ||
				n > hardSegment && class == separator {
				break
			}
			continue
		}
		// A compound begins, mostly of one word.
		begin, parts, whole := i, 0, uint64(hashStart)
		for {
			from := i
			h, mask, camel := uint64(hashStart), uint8(0), false
			if text[i] >= 0xe3 { // U+3000 and up: scripts that put no spaces between words
				for range 2 {
					_, n := utf8.DecodeRuneInString(text[i:])
					for range n {
						h = (h ^ uint64(text[i])) * hashPrime
						i++
					}
					if i >= len(text) || text[i] < 0xe3 {
						break
					}
				}
				s.note(h, ideographs, source, flags)
				hash = (hash ^ h) * hashPrime
				break
			}
			last := uint8(0)
			for i < len(text) && i-from <= maxWord {
				c := classes[text[i]]
				if c < lower || text[i] >= 0xe3 {
					break
				}
				camel = camel || c == upper && last == lower
				mask |= 1 << c
				last = c
				h = (h ^ uint64(text[i])) * hashPrime
				i++
			}
			h ^= h >> 29
			if i-from > maxWord {
				for i < len(text) && classes[text[i]] >= lower {
					i++
				}
			} else if kind := wordKind(mask, camel, i-from, isFlag(text, from, start)); kind != noWord {
				s.note(h, kind, source, flags)
			}
			hash = (hash ^ h) * hashPrime
			parts++
			whole = (whole ^ h) * hashPrime
			if i+1 >= len(text) || classes[text[i]] != joiner || classes[text[i+1]] < lower || i-begin > maxCompound {
				break
			}
			whole = (whole ^ uint64(text[i])) * hashPrime
			i++
		}
		if parts > 1 {
			whole ^= whole >> 31
			s.note(whole, compound, source, flags)
		}
		if i-start > hardSegment {
			break
		}
	}
	return i, hash
}

func isStop(c byte) bool {
	return c == '.' || c == ';' || c == ',' || c == '}' || c == '!' || c == '?' || c == ':' || c == ')'
}

// isFlag reports whether the word at i is an option of a command: -x or --long.
func isFlag(text string, i, start int) bool {
	if i == start || text[i-1] != '-' {
		return false
	}
	return i-1 == start || text[i-2] == '-' || classes[text[i-2]] == separator
}

func wordKind(mask uint8, camel bool, n int, flag bool) uint8 {
	const letters = 1<<lower | 1<<upper | 1<<high
	switch {
	case mask == 1<<underscore:
		return noWord
	case camel || mask&(1<<underscore) != 0 || flag && n > 1:
		return identifier
	case mask == 1<<digit:
		if n < 2 {
			return noWord
		}
		return number
	case mask&(1<<digit) != 0:
		return mixed
	case n < 3:
		return noWord
	case mask == 1<<upper:
		return shout
	case mask&letters != 0:
		return plainWord
	}
	return noWord
}

// note counts a word of the current line.
func (s *scanner) note(hash uint64, kind uint8, source uint32, flags uint8) {
	id := s.id(hash, kind)
	w := &s.words[id]
	w.flags |= flags
	if w.line == s.line {
		return
	}
	w.line = s.line
	w.lines++
	if w.source != source {
		w.source = source
		if w.sources < 1<<16-1 {
			w.sources++
		}
	}
	s.ids = append(s.ids, id)
}

// wordsOf returns the words of line n, each once.
func (s *scanner) wordsOf(n int) []uint32 {
	end := int32(len(s.ids))
	if n+1 < len(s.lines) {
		end = s.lines[n+1].words
	}
	return s.ids[s.lines[n].words:end]
}

// worths returns what each word is worth: what kind it is, how rare, and who used it where.
func (s *scanner) worths() []int32 {
	out := make([]int32, len(s.words))
	total := log16(s.line + 1)
	for i := range s.words {
		w := &s.words[i]
		worth := kindWorth[w.kind] * (total - log16(w.lines)) / 16
		worth += worth * min(int32(w.sources)-1, 4) / 4
		if w.flags&seenAssistant != 0 {
			worth += worth / 2
		}
		out[i] = worth
	}
	return out
}

// log16 is the binary logarithm of n > 0 in sixteenths, in whole numbers so that it is the same on every machine.
func log16(n uint32) int32 {
	k := bits.Len32(n) - 1
	return int32(k)*16 + int32(uint64(n)<<4>>k) - 16
}

// reserve makes room for about what text of n bytes will need, so that the large slices need not grow often.
func (s *scanner) reserve(n int) {
	s.lines = make([]line, 0, n/56+16)
	s.words = make([]word, 0, n/128+64)
	s.ids = make([]uint32, 0, n/6+64)
}
