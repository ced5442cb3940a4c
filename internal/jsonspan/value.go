package jsonspan

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math/bits"
	"strconv"
)

// Span is a half-open byte range of a document.
type Span struct{ Start, End int }

// Of returns the bytes of the span. They share the memory of data, but appending to them does not overwrite it. Like
// any slice expression it panics on a span that data does not have.
func (s Span) Of(data []byte) []byte { return data[s.Start:s.End:s.End] }

// Empty reports whether the span has no bytes.
func (s Span) Empty() bool { return s.Start >= s.End }

// Kind is what a JSON value is.
type Kind uint8

// The kinds of values.
const (
	KindInvalid Kind = iota
	KindObject
	KindArray
	KindString
	KindNumber
	KindBool
	KindNull
)

// The functions from here on assume that Scan has accepted the value. On anything else they do not panic, and return
// what they can make of it, at worst the zero value.

// KindAt returns the kind of the value, which its first byte tells.
func KindAt(data []byte, s Span) Kind {
	if s.Start < 0 || s.Start >= s.End || s.End > len(data) {
		return KindInvalid
	}
	switch c := data[s.Start]; c {
	case '{':
		return KindObject
	case '[':
		return KindArray
	case '"':
		return KindString
	case 't', 'f':
		return KindBool
	case 'n':
		return KindNull
	default:
		if c == '-' || isDigit(c) {
			return KindNumber
		}
		return KindInvalid
	}
}

// Skip returns the end of the value that starts at off, or after the whitespace there; 0 if there is none. It only
// looks for quotes and brackets, which is much faster than Scan.
func Skip(data []byte, off int) (end int) {
	if off < 0 || off > len(data) {
		return 0
	}
	i := skipSpace(data, off)
	if i == len(data) {
		return 0
	}
	switch c := data[i]; c {
	case '"':
		return skipString(data, i)
	case '{', '[':
		return skipContainer(data, i)
	case 't', 'f', 'n':
		for _, word := range [...]string{"true", "false", "null"} {
			if end, msg := scanLiteral(data, i, word); msg == "" {
				return end
			}
		}
	default:
		if c == '-' || isDigit(c) {
			if end, msg := scanNumber(data, i); msg == "" {
				return end
			}
		}
	}
	return 0
}

func skipString(data []byte, i int) int {
	start := i + 1
	// Most strings are keys and the like: their end is near, and nothing in them is escaped.
	if near := start; near+16 <= len(data) {
		m := stops(binary.LittleEndian.Uint64(data[near:]))
		if m == 0 {
			near += 8
			m = stops(binary.LittleEndian.Uint64(data[near:]))
		}
		if near += bits.TrailingZeros64(m) >> 3; m != 0 && data[near] == '"' {
			return near + 1
		}
	}
	for i = start; ; i++ {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return 0
		}
		i += n
		// Backslashes escape one another in pairs: one that is left over escapes the quote.
		slash := i
		for slash > start && data[slash-1] == '\\' {
			slash--
		}
		if (i-slash)%2 == 0 {
			return i + 1
		}
	}
}

func skipContainer(data []byte, i int) int {
	depth := 0
	for i < len(data) {
		switch data[i] {
		case '"':
			if i = skipString(data, i); i == 0 {
				return 0
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return 0
}

// Members yields the key, with its quotes, and the value of each member of an object in order, duplicates included.
func Members(data []byte, s Span) iter.Seq2[Span, Span] {
	return func(yield func(key, val Span) bool) { eachMember(data, s, nil, yield) }
}

// eachMember is apart from Members so that Members is inlined, and its closure stays on the stack.
func eachMember(data []byte, s Span, x *Index, yield func(key, val Span) bool) {
	if KindAt(data, s) != KindObject {
		return
	}
	data = data[:s.End]
	long := x.behind(s)
	i := skipSpace(data, s.Start+1)
	for i < len(data) && data[i] == '"' {
		key := Span{i, skipString(data, i)}
		if key.End == 0 {
			return
		}
		i = skipSpace(data, key.End)
		if i >= len(data) || data[i] != ':' {
			return
		}
		val := nextValue(data, i+1, &long)
		if val.End == 0 || !yield(key, val) {
			return
		}
		i = skipSpace(data, val.End)
		if i >= len(data) || data[i] != ',' {
			return
		}
		i = skipSpace(data, i+1)
	}
}

// Elements yields each element of an array in order.
func Elements(data []byte, s Span) iter.Seq[Span] {
	return func(yield func(Span) bool) { eachElement(data, s, nil, yield) }
}

func eachElement(data []byte, s Span, x *Index, yield func(Span) bool) {
	if KindAt(data, s) != KindArray {
		return
	}
	data = data[:s.End]
	long := x.behind(s)
	for i := s.Start + 1; ; {
		val := nextValue(data, i, &long)
		if val.End == 0 || !yield(val) {
			return
		}
		i = skipSpace(data, val.End)
		if i >= len(data) || data[i] != ',' {
			return
		}
		i++
	}
}

// Get returns the value of a member of an object. Keys are compared as decoded text, and of duplicate keys the last
// wins, as in encoding/json; so Get walks the whole object, and a caller that wants many members of a large one
// should range over Members once.
func Get(data []byte, s Span, key string) (val Span, ok bool) { return get(data, s, nil, key) }

func get(data []byte, s Span, x *Index, key string) (val Span, ok bool) {
	for k, v := range x.Members(data, s) {
		if Equal(data, k, key) {
			val, ok = v, true
		}
	}
	return val, ok
}

// Lookup returns the value that a path of keys leads to through nested objects; without keys the value itself.
func Lookup(data []byte, s Span, keys ...string) (Span, bool) {
	for _, key := range keys {
		var ok bool
		if s, ok = Get(data, s, key); !ok {
			return Span{}, false
		}
	}
	return s, true
}

// Int returns the value of a number that is written as an integer and fits. Like encoding/json it refuses 1.0 and
// 1e3.
func Int(data []byte, s Span) (int64, bool) {
	if KindAt(data, s) != KindNumber {
		return 0, false
	}
	n, err := strconv.ParseInt(string(s.Of(data)), 10, 64)
	if err != nil {
		return 0, false
	}
	return n, true
}

// Float returns the value of a number, rounded to the nearest float64; false if it is too large for one.
func Float(data []byte, s Span) (float64, bool) {
	if KindAt(data, s) != KindNumber {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(s.Of(data)), 64)
	if err != nil {
		return 0, false
	}
	return f, true
}

// Bool returns the value of true or false; ok is false for any other value.
func Bool(data []byte, s Span) (v, ok bool) {
	if KindAt(data, s) != KindBool {
		return false, false
	}
	switch string(s.Of(data)) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}
