package summary

import (
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A name is what a summary can get wrong in one word: a path, an identifier, a hash, a number. This file finds the
// names of a narrative, and tells whether the source has them.
//
// A narrative does not write them as the source does: with another directory before a file's name, in another case, in
// the plural, 38,000 for 38K. So the source is remembered as a set of words, and of what dots and hyphens join, without
// case, hyphens and underscores, and a name is known if that much of it is in the set.

// nameSet is a set of the words of a source, by hash. The lowest bit of a hash tells where the word was seen.
type nameSet struct {
	slots []uint64 // 0 is free
	used  int
}

const (
	inDropped = 1 // seen in the part that the summary stands for
	exactSalt = 0x5bd1e995
)

// put adds a word.
func (s *nameSet) put(hash, mark uint64) {
	if s.used >= len(s.slots)/2 {
		old := s.slots
		s.slots = make([]uint64, max(1<<12, 2*len(old)))
		s.used = 0
		for _, h := range old {
			if h != 0 {
				s.put(h, h&1)
			}
		}
	}
	hash = setKey(hash)
	mask := uint64(len(s.slots) - 1)
	for i := hash >> 20 & mask; ; i = (i + 1) & mask {
		switch h := s.slots[i]; {
		case h == 0:
			s.slots[i] = hash | mark
			s.used++
			return
		case h&^1 == hash:
			s.slots[i] |= mark
			return
		}
	}
}

// setKey is a hash with its lowest bit free, and never 0. It does not change a key.
func setKey(hash uint64) uint64 { return max(hash&^1, 2) }

// get reports whether the set has a word, and whether it was seen in the dropped part.
func (s *nameSet) get(hash uint64) (has, dropped bool) {
	if len(s.slots) == 0 {
		return false, false
	}
	hash = setKey(hash)
	mask := uint64(len(s.slots) - 1)
	for i := hash >> 20 & mask; s.slots[i] != 0; i = (i + 1) & mask {
		if s.slots[i]&^1 == hash {
			return true, s.slots[i]&inDropped != 0
		}
	}
	return false, false
}

// Classes of bytes in names. Everything that is not ASCII separates, so that a name in a script without spaces is cut
// the same way wherever it stands.
const (
	nameLetter = 1 << iota
	nameUpper
	nameDigit
	nameHex
	nameLine // an underscore or a dollar sign, which do not count

	nameWord = nameLetter | nameDigit | nameLine
)

var nameClasses = func() (t [256]uint8) {
	for c := range t {
		b := byte(c)
		switch {
		case 'a' <= b && b <= 'z':
			t[c] = nameLetter
		case 'A' <= b && b <= 'Z':
			t[c] = nameLetter | nameUpper
		case '0' <= b && b <= '9':
			t[c] = nameDigit | nameHex
		case b == '_' || b == '$':
			t[c] = nameLine
		}
		if 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F' {
			t[c] |= nameHex
		}
	}
	return t
}()

// wordAt reports whether the byte at i belongs to a word. A dollar sign before a price does not.
func wordAt(text string, i int) bool {
	return nameClasses[text[i]]&nameWord != 0 && (text[i] != '$' || nameClasses[byteAt(text, i+1)]&nameDigit == 0)
}

// foldByte goes on with the hash of a word without case.
func foldByte(hash uint64, c byte) uint64 {
	if 'A' <= c && c <= 'Z' {
		c |= 0x20
	}
	return (hash ^ uint64(c)) * hashPrime
}

// foldOf is the hash of a word, or of several that dots and hyphens join, as the set has it: without case, hyphens,
// underscores and dollar signs.
func foldOf(s string) uint64 {
	hash := uint64(hashStart)
	for i := range len(s) {
		if c := s[i]; c == '.' || nameClasses[c]&(nameLetter|nameDigit) != 0 {
			hash = foldByte(hash, c)
		}
	}
	return mixed64(hash)
}

// exactOf is the hash of a word as it is written, for what means something else in another case.
func exactOf(s string) uint64 {
	hash := uint64(hashStart) ^ exactSalt
	for i := range len(s) {
		hash = (hash ^ uint64(s[i])) * hashPrime
	}
	return mixed64(hash)
}

// mixed64 spreads the bits of a hash, since the table looks at some of them only.
func mixed64(h uint64) uint64 { return h ^ h>>29 }

const (
	hashLength  = 7  // runes of an abbreviated hash, at least
	hashPrefix  = 12 // and at most
	randomName  = 16 // from here on a word with letters and digits is taken for random
	maxNumber   = 15 // digits
	manyInWord  = 200
	minName     = 3 // bytes
	smallNumber = 3 // digits: numbers with fewer are not looked at
)

// add adds the words of a text.
func (s *nameSet) add(text string, mark uint64) {
	for i := 0; i < len(text); {
		c := text[i]
		if !wordAt(text, i) {
			if c == 0x1b {
				i += max(1, escapeLen(text[i:]))
			} else {
				i++
			}
			continue
		}
		start, again := i, 0
		if i > 0 && text[i-1] == '\\' {
			// In a string of JSON a letter belongs to the escape, and in a path of Windows it does not.
			switch c {
			case 'n', 't', 'r':
				again = i + 1
			case 'u':
				again = min(len(text), i+5)
			}
		}
		i = s.element(text, start, mark)
		if again > 0 && again < i {
			i = again
		}
	}
}

// element adds the words from i on that dots and hyphens join, one by one and together, and returns where they end.
func (s *nameSet) element(text string, i int, mark uint64) int {
	whole, segment, joined := uint64(hashStart), uint64(hashStart), false // segment is what hyphens alone join
	for words := 1; ; words++ {
		from := i
		fold, exact := uint64(hashStart), uint64(hashStart)^exactSalt
		var any, all uint8 = 0, 0xff
		for i < len(text) {
			c := text[i]
			class := nameClasses[c]
			if class&nameWord == 0 || c == '$' && !wordAt(text, i) {
				break
			}
			if class&nameLine == 0 {
				fold, segment, whole = foldByte(fold, c), foldByte(segment, c), foldByte(whole, c)
			}
			exact = (exact ^ uint64(c)) * hashPrime
			any |= class
			all &= class
			i++
		}
		s.put(mixed64(fold), mark)
		if any&nameDigit != 0 {
			switch {
			case all&nameDigit != 0:
				s.number(text, from, i, mark)
			case any&nameLetter != 0:
				s.put(mixed64(exact), mark)
				s.thousands(text[from:i], mark)
			}
			if all&nameHex != 0 && any&nameLetter != 0 && i-from > hashLength {
				for n := hashLength; n < min(i-from, hashPrefix+1); n++ {
					s.put(exactOf(text[from:from+n]), mark)
				}
			}
		}
		ends := i+1 >= len(text) || text[i] != '.' && text[i] != '-' || nameClasses[text[i+1]]&nameWord == 0 || words > manyInWord
		if joined && (ends || text[i] == '.') {
			s.put(mixed64(segment), mark)
		}
		if ends {
			if words > 1 {
				s.put(mixed64(whole), mark)
			}
			return i
		}
		if joined = text[i] == '-'; !joined {
			whole, segment = foldByte(whole, '.'), hashStart
		}
		i++
	}
}

// number adds the other ways to write the number text[from:end]: without what separates its thousands, and in
// thousands and millions.
func (s *nameSet) number(text string, from, end int, mark uint64) {
	digits, _ := wholeNumber(text, from)
	if digits == "" {
		digits = text[from:end]
	} else {
		s.put(foldOf(digits), mark)
	}
	if digits = strings.TrimLeft(digits, "0"); len(digits) > maxNumber {
		return
	}
	var n uint64
	for i := range len(digits) {
		n = n*10 + uint64(digits[i]-'0')
	}
	for _, unit := range []struct {
		size uint64
		sign string
	}{{1e3, "k"}, {1e6, "m"}} {
		if n >= unit.size {
			s.put(foldOf(strconv.FormatUint(n/unit.size, 10)+unit.sign), mark)
			s.put(foldOf(strconv.FormatUint((n+unit.size/2)/unit.size, 10)+unit.sign), mark)
		}
	}
}

// thousands adds 38000 for 38K.
func (s *nameSet) thousands(word string, mark uint64) {
	digits := word[:len(word)-1]
	if len(digits) > maxNumber || strings.Trim(digits, "0123456789") != "" {
		return
	}
	switch word[len(word)-1] | 0x20 {
	case 'k':
		s.put(foldOf(digits+"000"), mark)
	case 'm':
		s.put(foldOf(digits+"000000"), mark)
	}
}

// wholeNumber returns the digits of the number at i whose thousands are separated by commas, and where it ends; "" if
// it is not written so. What is too long for a number is a list of them.
func wholeNumber(text string, i int) (digits string, end int) {
	digit := func(i int) bool { return i < len(text) && nameClasses[text[i]]&nameDigit != 0 }
	group := func(i int) bool {
		return i < len(text) && text[i] == ',' && digit(i+1) && digit(i+2) && digit(i+3) && (i+4 >= len(text) || nameClasses[text[i+4]]&nameWord == 0)
	}
	end = i
	for end-i <= 3 && digit(end) {
		end++
	}
	if end-i > 3 || !group(end) {
		return "", end
	}
	first := end
	for group(end) && end-i <= maxNumber+maxNumber/3 {
		end += 4
	}
	if digits = strings.ReplaceAll(text[i:end], ",", ""); len(digits) > maxNumber {
		return "", first
	}
	return digits, end
}

// nameKind is how a name is looked for.
type nameKind uint8

const (
	nameWhole  nameKind = iota // as one word
	nameExact                  // as one word, in its case: hashes and ids
	nameFile                   // by its last element
	nameParts                  // as one word, or word by word
	nameNumber                 // by its digits
)

// name is a name in a text.
type name struct {
	text string // as it stands
	key  string // what is looked for
	at   int
	kind nameKind
	// loose is true for a number that the source need not have: a year, a line, a share, about so much, or a count of
	// things. Such numbers are worked out.
	loose bool
}

// namesIn yields the names of a text in order.
func namesIn(text string) iter.Seq[name] {
	return func(yield func(name) bool) {
		r := nameReader{text: text, yield: yield}
		for i := 0; i < len(text) && !r.stop; {
			if !wordAt(text, i) {
				i++
				continue
			}
			end := chainEnd(text, i)
			if _, number := wholeNumber(text, i); number > end {
				end = number
			}
			r.chain(i, end)
			i = end
		}
	}
}

// chainEnd is where the words end that begin at i and that single joiners hold together, as in paths and addresses.
func chainEnd(text string, i int) int {
	for {
		for i < len(text) && wordAt(text, i) {
			i++
		}
		next := i
		switch {
		case strings.HasPrefix(text[i:], "://"):
			next += 3
		case strings.HasPrefix(text[i:], "::"), strings.HasPrefix(text[i:], "/."):
			next += 2
		case i < len(text) && strings.IndexByte("-./:@\\", text[i]) >= 0:
			next++
		default:
			return i
		}
		if next >= len(text) || !wordAt(text, next) {
			return i
		}
		i = next
	}
}

// nameReader finds the names in one chain after the other.
type nameReader struct {
	text  string
	yield func(name) bool
	stop  bool

	start, end int // of the chain
	quoted     bool
	rooted     bool // a slash stands before it
	folder     bool // a slash stands behind it
	flag       bool // it is an option of a command
}

func (r *nameReader) emit(from, to int, key string, kind nameKind) {
	if !r.stop && !r.yield(name{text: r.text[from:to], key: key, at: from, kind: kind}) {
		r.stop = true
	}
}

// chain reads the chain text[start:end].
func (r *nameReader) chain(start, end int) {
	text := r.text
	var before byte
	if start > 0 {
		before = text[start-1]
	}
	behind := byteAt(text, end)
	r.start, r.end = start, end
	r.quoted = before == '`' && (behind == '`' || strings.HasPrefix(text[end:], "()`"))
	r.rooted = before == '/' && (start < 2 || strings.IndexByte(" \t\n\"'`(~.", text[start-2]) >= 0)
	r.folder = behind == '/'
	r.flag = before == '-' && (start < 2 || strings.IndexByte(" \t\n\"'`(-", text[start-2]) >= 0)
	if strings.Contains(text[start:end], "://") {
		r.emit(start, end, strings.ReplaceAll(text[start:end], "://", "/"), nameParts)
		return
	}
	for from := start; from < end; {
		to := from + strings.IndexAny(text[from:end]+":", ":@")
		// Digits behind a colon are the number of a line, or a time.
		if from == start && to == end || strings.Trim(text[from:to], "0123456789") != "" {
			r.piece(from, to)
		}
		from = to + 1
	}
}

// piece reads a part of a chain without colons.
func (r *nameReader) piece(from, to int) {
	s := r.text[from:to]
	rooted, folder := r.rooted && from == r.start, r.folder && to == r.end
	switch {
	case strings.Trim(s, "0123456789.-/\\") == "" && strings.ContainsAny(s, "-/\\"): // a date, a fraction, a range
	case strings.ContainsAny(s, "/\\"):
		if !r.quoted && !rooted && !folder && !special(s) {
			for at := from; at < to; {
				end := at + strings.IndexAny(r.text[at:to]+"/", "/\\")
				r.word(at, end)
				at = end + 1
			}
			return
		}
		base := s[strings.LastIndexAny(s, "/\\")+1:]
		if isFileName(base) {
			r.emit(from, to, base, nameFile)
			return
		}
		r.emit(from, to, s, nameParts)
	case rooted || folder:
		if len(s) >= minName {
			r.emit(from, to, s, nameWhole)
		}
	case strings.Contains(s, "."):
		r.dotted(from, to)
	case strings.Contains(s, "-"):
		r.hyphenated(from, to)
	default:
		r.word(from, to)
	}
}

func (r *nameReader) dotted(from, to int) {
	s := r.text[from:to]
	_, behind, _ := strings.Cut(s, ".")
	switch {
	case isDecimal(s):
	case strings.Trim(behind, "0123456789.") == "": // a version, an address
		r.emit(from, to, s, nameWhole)
	case isFileName(s):
		r.emit(from, to, s, nameFile)
	case len(s) > 2*strings.Count(s, ".")+1 && (r.quoted || special(strings.ReplaceAll(s, ".", " "))): // longer than "e.g"
		r.emit(from, to, s, nameParts)
	}
}

// isDecimal reports whether a word is a decimal number, with a unit or without.
func isDecimal(s string) bool {
	const longestUnit = 3
	whole, behind, _ := strings.Cut(s, ".")
	unit := strings.TrimLeft(behind, "0123456789")
	return strings.Trim(whole, "0123456789") == "" && len(unit) < len(behind) && len(unit) <= longestUnit && strings.Trim(unit, "0123456789._") == unit
}

func (r *nameReader) hyphenated(from, to int) {
	s := r.text[from:to]
	first, behind, _ := strings.Cut(s, "-")
	switch {
	case r.quoted, r.flag:
		r.emit(from, to, s, nameWhole)
	case len(first) >= 2 && strings.ToUpper(first) == first && strings.Trim(first, "0123456789") == first && strings.Trim(behind, "0123456789") == "":
		r.emit(from, to, s, nameWhole) // a ticket
	case special(strings.ReplaceAll(s, "-", " ")):
		r.emit(from, to, s, nameParts)
	}
}

// word reads a single word.
func (r *nameReader) word(from, to int) {
	s := strings.Trim(r.text[from:to], "_$")
	if s == "" {
		return
	}
	digits := strings.TrimLeft(s, "0123456789")
	switch n := len(s) - len(digits); {
	case digits == "", strings.HasPrefix(digits, ","):
		r.number(from, to)
	case n > 0 && len(digits) <= 3 && strings.Trim(digits, "0123456789_$") == digits: // a number with a unit
		if unit := strings.ToLower(digits); n >= smallNumber || unit == "k" || unit == "m" {
			r.number(from, to)
		}
	case strings.ContainsAny(s, "0123456789"):
		switch {
		case len(s) >= randomName, len(s) >= hashLength && isHex(s):
			r.emit(from, to, s, nameExact)
		case len(s) >= minName:
			r.emit(from, to, s, nameWhole)
		}
	case special(s), (r.quoted || r.flag) && len(s) >= minName:
		r.emit(from, to, s, nameWhole)
	}
}

// number reads a number that is not small.
func (r *nameReader) number(from, to int) {
	key := strings.ReplaceAll(r.text[from:to], ",", "")
	if len(key) < smallNumber && !strings.ContainsAny(key, "kKmM") || r.stop {
		return
	}
	r.stop = !r.yield(name{text: r.text[from:to], key: key, at: from, kind: nameNumber, loose: looseNumber(key, r.text[:from], r.text[to:])})
}

// looseNumber tells name.loose of a number by what stands before and behind it.
func looseNumber(key, before, behind string) bool {
	if len(key) == 4 && (key[:2] == "19" || key[:2] == "20") {
		return true
	}
	before = strings.ToLower(before[max(0, len(before)-8):])
	for _, sign := range []string{"~", "≈", "line ", "lines "} {
		if strings.HasSuffix(before, sign) {
			return true
		}
	}
	if behind == "" {
		return false
	}
	if c := behind[0]; c == '%' || c == '+' || c >= utf8.RuneSelf {
		return true
	}
	behind, ok := strings.CutPrefix(behind, " ")
	if !ok || behind == "" {
		return false
	}
	end := 0
	for end < len(behind) && 'a' <= behind[end] && behind[end] <= 'z' {
		end++
	}
	switch word := behind[:end]; word {
	case "was", "has", "does", "this":
		return false
	default:
		return behind[0] >= utf8.RuneSelf || len(word) >= minName && word[end-1] == 's'
	}
}

// special reports whether a text has a word that no prose has: one in CamelCase or with a line in it, one with letters
// and digits, or the name of a file.
func special(s string) bool {
	for from := 0; from < len(s); {
		if nameClasses[s[from]]&nameWord == 0 {
			if s[from] == '.' && from > 0 {
				return true
			}
			from++
			continue
		}
		to := from
		for to < len(s) && nameClasses[s[to]]&nameWord != 0 {
			to++
		}
		word := strings.Trim(s[from:to], "_$")
		letters, digits := false, false
		for i := range len(word) {
			class := nameClasses[word[i]]
			letters = letters || class&nameLetter != 0
			digits = digits || class&nameDigit != 0
			if class&nameLine != 0 || class&nameUpper != 0 && i > 0 && nameClasses[word[i-1]]&(nameLetter|nameUpper) == nameLetter {
				return true
			}
		}
		if letters && digits && len(word) >= minName {
			return true
		}
		from = to
	}
	return false
}

func isHex(s string) bool {
	for i := range len(s) {
		if nameClasses[s[i]]&nameHex == 0 {
			return false
		}
	}
	return true
}

// isFileName reports whether a word has a dot and the ending of a file.
func isFileName(s string) bool {
	i := strings.LastIndexByte(s, '.')
	return i > 0 && strings.Contains(fileEndings, " "+strings.ToLower(s[i+1:])+" ")
}

const fileEndings = " " +
	"bash bat c cc cfg cjs conf cpp cs css csv diff env erl ex exs gif go gradle h hpp hs htm html ini ipynb java " +
	"jpeg jpg js json jsonl jsx kt kts less lock log lua m md mdx mjs mk ml mod mts nix patch pdf php pl png proto " +
	"ps1 py pyi r rb rs rst sass scala scss sh sql sum svelte svg swift tex tf toml ts tsv tsx txt vue wasm xml " +
	"yaml yml zig zip zsh "

// knows reports whether the source has a name, and whether its dropped part or the earlier summary has it.
func (s *nameSet) knows(n name) (has, dropped bool) {
	try := func(hash uint64) bool {
		if !has || !dropped {
			known, there := s.get(hash)
			has, dropped = has || known, dropped || there
		}
		return has
	}
	switch n.kind {
	case nameExact:
		try(exactOf(n.key))
	case nameWhole:
		switch {
		case try(foldOf(n.key)):
		case strings.HasSuffix(n.key, "s"):
			try(foldOf(n.key[:len(n.key)-1]))
		case strings.Contains(n.key, "."): // a version, with a v or without
			if number := strings.TrimLeft(n.key, "vV"); number == n.key {
				try(foldOf("v" + number))
			} else {
				try(foldOf(number))
			}
		}
	case nameFile:
		if !try(foldOf(n.key)) {
			// An import leaves the ending out.
			if stem := n.key[:strings.LastIndexByte(n.key, '.')]; special(stem) || strings.Contains(stem, "-") {
				try(foldOf(stem))
			}
		}
	case nameParts:
		if try(foldOf(n.key)) {
			break
		}
		all, there := true, true
		for word := range strings.FieldsFuncSeq(n.key, func(r rune) bool { return r == '.' || r == '-' || r == '/' || r == '\\' }) {
			h, d := s.get(foldOf(word))
			all, there = all && h, there && d
		}
		has, dropped = all, all && there
	case nameNumber:
		if try(foldOf(n.key)) {
			break
		}
		digits := strings.TrimRight(n.key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
		switch strings.ToLower(n.key[len(digits):]) {
		case "k":
			digits += "000"
		case "m":
			digits += "000000"
		}
		try(foldOf(digits))
	}
	return has, dropped
}

// source returns the set of everything that the model could read.
func (c *checker) source() *nameSet {
	if c.names != nil {
		return c.names
	}
	c.names = &nameSet{}
	t := c.request.Transcript
	for i := range t.Blocks {
		b := &t.Blocks[i]
		var mark uint64
		if c.dropped[i] {
			mark = inDropped
		}
		for _, text := range []string{b.Text, b.Args, b.Tool, b.Media.Name} {
			c.names.add(text, mark)
		}
	}
	c.names.add(c.request.Previous, inDropped)
	c.names.add(t.Tools, 0)
	c.names.add(c.request.Original, 0)
	c.names.add(c.prompt, 0)
	for name := range c.tools {
		c.names.add(name, 0)
	}
	return c.names
}
