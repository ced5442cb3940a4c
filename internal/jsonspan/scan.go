// Package jsonspan finds where the values of a JSON document are, and splices edits in.
//
// A transcript is edited as bytes: what is kept comes out byte for byte, with its number formats, escapes, duplicate
// keys and whitespace. So nothing here builds a tree. [Scan] validates a value once and returns its [Span];
// [Members], [Elements], [Get] and [Lookup] walk a validated value without allocating; [String], [Int], [Float] and
// [Bool] read a scalar; [RemoveElements] and [Splice] make the new document. [Values] reads a stream of values,
// broken lines included. An [Index] makes it faster to walk a document again and again.
package jsonspan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
)

// MaxDepth is how deep arrays and objects may nest, the same as in encoding/json.
const MaxDepth = 10_000

var (
	// ErrSyntax reports bytes that are not JSON.
	ErrSyntax = errors.New("jsonspan: invalid JSON")
	// ErrTruncated reports that the data ends inside a value. It is an ErrSyntax too.
	ErrTruncated = fmt.Errorf("%w: unexpected end", ErrSyntax)
	// ErrDepth reports nesting over MaxDepth.
	ErrDepth = errors.New("jsonspan: nested too deeply")
)

// SyntaxError says where and why Scan gave up. It is ErrDepth, or ErrSyntax and perhaps ErrTruncated.
type SyntaxError struct {
	Offset int // of the first byte that cannot be right, or the length of the data
	Msg    string

	cause error // nil is ErrSyntax
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("jsonspan: %s at byte %d", e.Msg, e.Offset)
}

// Unwrap returns the sentinel that the error stands for.
func (e *SyntaxError) Unwrap() error {
	if e.cause == nil {
		return ErrSyntax
	}
	return e.cause
}

const msgDepth = "nested too deeply"

func newError(data []byte, off int, msg string) error {
	switch {
	case msg == msgDepth:
		return &SyntaxError{off, msg, ErrDepth}
	case off >= len(data):
		return &SyntaxError{off, "unexpected end, " + msg, ErrTruncated}
	}
	return &SyntaxError{off, msg, nil}
}

// Scan validates the one value that starts at off, or after the whitespace there, and returns its span. What follows
// the value is not looked at.
//
// The grammar is that of RFC 8259, read as encoding/json.Valid reads it: invalid UTF-8 and lone surrogate escapes
// pass, control characters inside strings do not. The error is io.EOF if only whitespace is left, else a
// *SyntaxError.
func Scan(data []byte, off int) (Span, error) { return scan(data, off, nil) }

func scan(data []byte, off int, x *Index) (Span, error) {
	if off < 0 || off > len(data) {
		return Span{}, io.EOF
	}
	start := skipSpace(data, off)
	if start == len(data) {
		return Span{}, io.EOF
	}
	end, msg := scanValue(data, start, x)
	if msg != "" {
		return Span{}, newError(data, end, msg)
	}
	return Span{start, end}, nil
}

// scanValue returns the end of the value at i, or the offset of a fault and what is wrong there, as the other scan
// functions do. It keeps one bit for each open container instead of recursing, so a hostile document costs no stack.
func scanValue(data []byte, start int, x *Index) (end int, msg string) {
	x.begin(start)
	end, msg = scanInto(data, start, x)
	x.end(start, msg)
	return end, msg
}

func scanInto(data []byte, i int, x *Index) (int, string) {
	var objects [(MaxDepth + 63) / 64]uint64
	var msg string
	depth := 0
	for {
		if i >= len(data) {
			return i, "expected a value"
		}
		switch c := data[i]; c {
		case '"':
			start := i
			i, msg = scanString(data, i)
			x.add(start, i, depth)
		case '{':
			if depth == MaxDepth {
				return i, msgDepth
			}
			start := i
			i = skipSpace(data, i+1)
			if i < len(data) && data[i] == '}' {
				i++
				break
			}
			x.push(start, depth)
			objects[depth>>6] |= 1 << (depth & 63)
			depth++
			if i, msg = scanKey(data, i); msg != "" {
				return i, msg
			}
			continue
		case '[':
			if depth == MaxDepth {
				return i, msgDepth
			}
			start := i
			i = skipSpace(data, i+1)
			if i < len(data) && data[i] == ']' {
				i++
				break
			}
			x.push(start, depth)
			objects[depth>>6] &^= 1 << (depth & 63)
			depth++
			continue
		case 't':
			i, msg = scanLiteral(data, i, "true")
		case 'f':
			i, msg = scanLiteral(data, i, "false")
		case 'n':
			i, msg = scanLiteral(data, i, "null")
		default:
			if c != '-' && !isDigit(c) {
				return i, "expected a value"
			}
			i, msg = scanNumber(data, i)
		}
		if msg != "" {
			return i, msg
		}

		// A value has ended: close containers up to the next comma.
		for more := false; !more; {
			if depth == 0 {
				return i, ""
			}
			i = skipSpace(data, i)
			if i >= len(data) {
				return i, "expected a comma or a closing bracket"
			}
			inObject := objects[(depth-1)>>6]>>((depth-1)&63)&1 != 0
			switch c := data[i]; {
			case c == ',' && inObject:
				if i, msg = scanKey(data, skipSpace(data, i+1)); msg != "" {
					return i, msg
				}
				more = true
			case c == ',':
				i = skipSpace(data, i+1)
				more = true
			case c == '}' && inObject, c == ']' && !inObject:
				i++
				depth--
				x.pop(i, depth)
			default:
				return i, "expected a comma or a closing bracket"
			}
		}
	}
}

// scanKey goes over a key, the colon and the whitespace around it.
func scanKey(data []byte, i int) (int, string) {
	if i >= len(data) || data[i] != '"' {
		return i, "expected a key"
	}
	i, msg := scanString(data, i)
	if msg != "" {
		return i, msg
	}
	i = skipSpace(data, i)
	if i >= len(data) || data[i] != ':' {
		return i, "expected a colon"
	}
	return skipSpace(data, i+1), ""
}

// Words of eight equal bytes, to look at eight bytes of a string at once.
const (
	ones        = 0x0101010101010101
	highBits    = 0x80 * ones
	backslashes = '\\' * ones
)

// stops has the high bit set in each byte of x that ends a plain run of a string: a quote, a backslash or a control
// character. Only the lowest set bit is to be trusted: borrows may set bits above it.
func stops(x uint64) uint64 {
	// Flipping bit 1 puts the quote (0x22) right above the control characters and nothing else below 0x21.
	return ((x ^ 0x02*ones - 0x21*ones) | (x ^ backslashes - ones)) &^ x & highBits
}

func scanString(data []byte, i int) (int, string) {
	i++
	for {
		for i+8 <= len(data) {
			m := stops(binary.LittleEndian.Uint64(data[i:]))
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
			// Short escapes often come in a row: a line feed and two tabs, say.
			escapes := i
			for shortEscapeAt(data, i) {
				i += 2
			}
			if i == escapes {
				break
			}
		}
		if i >= len(data) {
			return len(data), "expected a closing quote"
		}
		switch c := data[i]; {
		case c == '"':
			return i + 1, ""
		case c == '\\':
			var msg string
			if i, msg = scanEscape(data, i); msg != "" {
				return i, msg
			}
		case c < 0x20:
			return i, "control character in a string"
		default:
			i++ // Within the last seven bytes of the data.
		}
	}
}

// shortEscapeAt reports whether an escape of two characters starts at i.
func shortEscapeAt(data []byte, i int) bool {
	return i+1 < len(data) && data[i] == '\\' && shortEscapes[data[i+1]] != 0
}

func scanEscape(data []byte, i int) (int, string) {
	i++
	if i >= len(data) {
		return i, "expected an escape"
	}
	switch {
	case shortEscapes[data[i]] != 0:
		return i + 1, ""
	case data[i] == 'u':
		i++
		for end := i + 4; i < end; i++ {
			if i >= len(data) || hexValue(data[i]) < 0 {
				return i, "expected a hexadecimal digit"
			}
		}
		return i, ""
	}
	return i, "unknown escape"
}

func scanLiteral(data []byte, i int, word string) (int, string) {
	for j := range len(word) {
		if i+j >= len(data) || data[i+j] != word[j] {
			return i + j, "expected true, false or null"
		}
	}
	return i + len(word), ""
}

func scanNumber(data []byte, i int) (int, string) {
	if data[i] == '-' {
		i++
	}
	if i < len(data) && data[i] == '0' {
		i++
	} else {
		var msg string
		if i, msg = scanDigits(data, i); msg != "" {
			return i, msg
		}
	}
	if i < len(data) && data[i] == '.' {
		var msg string
		if i, msg = scanDigits(data, i+1); msg != "" {
			return i, msg
		}
	}
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		return scanDigits(data, i)
	}
	return i, ""
}

func scanDigits(data []byte, i int) (int, string) {
	if i >= len(data) || !isDigit(data[i]) {
		return i, "expected a digit"
	}
	for i < len(data) && isDigit(data[i]) {
		i++
	}
	return i, ""
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && isSpace(data[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool {
	return c <= ' ' && (c == ' ' || c == '\n' || c == '\r' || c == '\t')
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func hexValue(c byte) rune {
	switch {
	case isDigit(c):
		return rune(c - '0')
	case 'a' <= c && c <= 'f':
		return rune(c - 'a' + 10)
	case 'A' <= c && c <= 'F':
		return rune(c - 'A' + 10)
	}
	return -1
}
