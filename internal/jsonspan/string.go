package jsonspan

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// String returns the text of a JSON string; false if the value is not a string. As in encoding/json each byte of
// invalid UTF-8 and each lone surrogate becomes U+FFFD. The text is the only allocation.
func String(data []byte, s Span) (string, bool) {
	raw, ok := inside(data, s)
	if !ok {
		return "", false
	}
	if plain, r, _ := nextSegment(raw); r == noRune {
		return string(plain), true
	}
	var b strings.Builder
	b.Grow(len(raw)) // Decoding makes text shorter, except for invalid UTF-8.
	var chunk [1024]byte
	for len(raw) > 0 {
		var n int
		n, raw = decode(chunk[:], raw)
		b.Write(chunk[:n])
	}
	return b.String(), true
}

// AppendString appends to dst what String returns.
func AppendString(dst, data []byte, s Span) ([]byte, bool) {
	raw, ok := inside(data, s)
	var chunk [1024]byte
	for len(raw) > 0 {
		var n int
		n, raw = decode(chunk[:], raw)
		dst = append(dst, chunk[:n]...)
	}
	return dst, ok
}

// decode writes what raw says to dst, as far as it has room, and returns how much it wrote and what is left of raw. A
// dst of sixteen bytes is enough for some progress.
func decode(dst, raw []byte) (n int, rest []byte) {
	i := 0
	for i < len(raw) && n+16 <= len(dst) {
		if i+8 <= len(raw) {
			// Eight bytes are copied at once. Those from the first one on that does not stand for itself are written over.
			x := binary.LittleEndian.Uint64(raw[i:])
			binary.LittleEndian.PutUint64(dst[n:], x)
			m := notPlain(x)
			if m == 0 {
				i += 8
				n += 8
				continue
			}
			plain := bits.TrailingZeros64(m) >> 3
			i += plain
			n += plain
		}
		if shortEscapeAt(raw, i) {
			for ; n < len(dst) && shortEscapeAt(raw, i); n++ {
				dst[n] = shortEscapes[raw[i+1]]
				i += 2
			}
			continue
		}
		switch c := raw[i]; {
		case c == '\\':
			r, size := decodeEscape(raw[i:])
			i += size
			n += utf8.EncodeRune(dst[n:], r)
		case c < utf8.RuneSelf:
			dst[n] = c
			i++
			n++
		default:
			r, size := utf8.DecodeRune(raw[i:])
			i += size
			n += utf8.EncodeRune(dst[n:], r)
		}
	}
	return n, raw[i:]
}

// shortEscapes has the bytes that the escapes of two characters stand for.
var shortEscapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// Equal reports whether the value is a string with this text, without decoding it into memory.
func Equal(data []byte, s Span, text string) bool {
	raw, ok := inside(data, s)
	// The densest escape makes one byte of text from six: a text this short cannot be equal, and saves the reading.
	if !ok || len(raw) > 6*len(text) {
		return false
	}
	for {
		plain, r, rest := nextSegment(raw)
		if len(plain) > len(text) || string(plain) != text[:len(plain)] {
			return false
		}
		text = text[len(plain):]
		if r == noRune {
			return text == ""
		}
		// Text with an invalid byte decodes to U+FFFD too, but is not the three bytes of one.
		got, n := utf8.DecodeRuneInString(text)
		if got != r || n != utf8.RuneLen(r) {
			return false
		}
		text = text[n:]
		raw = rest
	}
}

// inside returns what is between the quotes of a string.
func inside(data []byte, s Span) ([]byte, bool) {
	if KindAt(data, s) != KindString || s.End-s.Start < 2 {
		return nil, false
	}
	return data[s.Start+1 : s.End-1], true
}

// noRune is the rune of the last segment.
const noRune = -1

// notPlain has the high bit set in each byte of x that is a backslash or outside of ASCII. Only the lowest set bit is to
// be trusted.
func notPlain(x uint64) uint64 { return (x | (x ^ backslashes - ones)) & highBits }

// nextSegment splits off what is decoded next: bytes that stand for themselves, then one rune that was written
// otherwise. A broken escape is U+FFFD. One pass over valid and invalid bytes alike keeps hostile strings linear.
func nextSegment(raw []byte) (plain []byte, r rune, rest []byte) {
	for i := 0; i < len(raw); {
		if i+8 <= len(raw) {
			m := notPlain(binary.LittleEndian.Uint64(raw[i:]))
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
		}
		switch c := raw[i]; {
		case c == '\\':
			r, n := decodeEscape(raw[i:])
			return raw[:i], r, raw[i+n:]
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(raw[i:])
			if r == utf8.RuneError && n == 1 {
				return raw[:i], r, raw[i+1:]
			}
			i += n
		}
	}
	return raw, noRune, nil
}

// decodeEscape returns the rune of the escape that raw starts with, and the bytes it takes.
func decodeEscape(raw []byte) (rune, int) {
	if len(raw) < 2 {
		return utf8.RuneError, len(raw)
	}
	if c := shortEscapes[raw[1]]; c != 0 {
		return rune(c), 2
	}
	unit := hexUnit(raw)
	switch {
	case unit < 0:
		return utf8.RuneError, 2
	case !utf16.IsSurrogate(unit):
		return unit, 6
	}
	if r := utf16.DecodeRune(unit, hexUnit(raw[6:])); r != utf8.RuneError {
		return r, 12
	}
	return utf8.RuneError, 6
}

// hexUnit returns the UTF-16 unit of a \uxxxx escape, or -1 if raw does not start with one.
func hexUnit(raw []byte) rune {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return -1
	}
	var unit rune
	for _, c := range raw[2:6] {
		v := hexValue(c)
		if v < 0 {
			return -1
		}
		unit = unit<<4 | v
	}
	return unit
}

// Quote appends text as a JSON string, written as JSON.stringify of JavaScript writes it: only quotes, backslashes
// and control characters are escaped, so <, > and & and U+2028 stay. Each byte of invalid UTF-8 becomes U+FFFD.
func Quote(dst []byte, text string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0 // of what is not yet copied
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		n := 1
		if c >= utf8.RuneSelf {
			var r rune
			if r, n = utf8.DecodeRuneInString(text[i:]); r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
		}
		dst = append(dst, text[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			if c < ' ' {
				dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			} else {
				dst = utf8.AppendRune(dst, utf8.RuneError)
			}
		}
		i += n
		start = i
	}
	dst = append(dst, text[start:]...)
	return append(dst, '"')
}
