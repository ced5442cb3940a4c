package secrets

import "math"

// Classes of ASCII bytes, as the regular expressions of gitleaks have them.
const (
	isWord    = 1 << iota // \w
	isSpace               // \s
	isName                // what may stand in the rest of a name: [ \t\w.-]
	isQuote               // what may stand between a name and its sign: [\s'"\\]
	isSign                // what a sign of assignment begins with: [=>:|?,]
	isOpening             // what may stand between a sign and a value, parts of a long sign included
	isClosing             // what ends a value, but for an escaped line end: [\x60'"\s;]
	isIdent               // part of an identifier in a configuration: [\w.-]
	isToken               // part of a token in a header: [\w.~+/=-]
	isBase64              // [A-Za-z0-9+/=]
)

const (
	digits   = "0123456789"
	capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	letters  = "abcdefghijklmnopqrstuvwxyz" + capitals
)

var classOf = func() (t [256]uint16) {
	set := func(bits uint16, bytes string) {
		for i := range len(bytes) {
			t[bytes[i]] |= bits
		}
	}
	const spaces = " \t\n\f\r"
	set(isWord|isName|isIdent|isToken, digits+letters+"_")
	set(isSpace|isQuote|isOpening|isClosing, spaces)
	set(isName, " \t.-")
	set(isQuote, `'"\`)
	set(isSign, "=>:|?,")
	set(isOpening, "=>:|?,`'\"\\")
	set(isClosing, "`'\";")
	set(isIdent, ".-")
	set(isToken, ".~+/=-")
	set(isBase64, digits+letters+"+/=")
	return t
}()

func is(c byte, class uint16) bool { return classOf[c]&class != 0 }

func isDigit(c byte) bool  { return c-'0' < 10 }
func isLower(c byte) bool  { return c-'a' < 26 }
func isUpper(c byte) bool  { return c-'A' < 26 }
func isLetter(c byte) bool { return isLower(c | 0x20) }

func toLower(c byte) byte {
	if isUpper(c) {
		c += 'a' - 'A'
	}
	return c
}

// log2 has the logarithms of small numbers; log2[0] is that of 1.
var log2 = func() (t [257]float64) {
	for i := range t {
		t[i] = math.Log2(float64(max(i, 1)))
	}
	return t
}()

// byteSet is a set of bytes.
type byteSet [4]uint64

func (s *byteSet) has(c byte) bool { return s[c>>6]>>(c&63)&1 != 0 }
func (s *byteSet) add(c byte)      { s[c>>6] |= 1 << (c & 63) }

func (s *byteSet) addAll(t *byteSet) {
	for i := range s {
		s[i] |= t[i]
	}
}

// entropy is Shannon's, in bits for a character, as gitleaks computes it: the share of a rune is its count divided by
// the length in bytes.
func entropy(s string) float64 {
	var ascii [128]int32
	var other map[rune]int32
	for _, r := range s {
		if r < 128 {
			ascii[r]++
			continue
		}
		if other == nil {
			other = map[rune]int32{}
		}
		other[r]++
	}
	bits := 0.0
	add := func(count int32) {
		share := float64(count) / float64(len(s))
		bits -= share * math.Log2(share)
	}
	for _, n := range ascii {
		if n > 0 {
			add(n)
		}
	}
	for _, n := range other {
		add(n)
	}
	return bits
}
