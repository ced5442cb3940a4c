package jsonspan

import (
	"cmp"
	"iter"
	"slices"
)

// Index remembers where the long values of one document end. Its methods do what the functions of the same name do, but
// jump over a long value that its Scan or its Values has gone over, where the functions walk over it again each time. The
// zero value is ready to use.
type Index struct {
	long []Span // by Start; a container stands before what is in it

	// Of a scan that is going on: the entry of the innermost open container. Until the container ends, the End of its
	// entry is that of the container around it, as a place in long.
	open int
}

const (
	// longValue is how many bytes the shortest value has that is remembered.
	longValue = 128
	// indexDepth is how deep a value is remembered. It bounds the memory to indexDepth/longValue entries for a byte.
	indexDepth = 8
)

// Scan is the function Scan. Every call must be given the same document, or the beginning of it. What the index knew of
// values at off and behind is forgotten.
func (x *Index) Scan(data []byte, off int) (Span, error) { return scan(data, off, x) }

// Values is the function Values.
func (x *Index) Values(data []byte) iter.Seq[Item] {
	return func(yield func(Item) bool) { eachValue(data, x, yield) }
}

// Members is the function Members.
func (x *Index) Members(data []byte, s Span) iter.Seq2[Span, Span] {
	return func(yield func(key, val Span) bool) { eachMember(data, s, x, yield) }
}

// Elements is the function Elements.
func (x *Index) Elements(data []byte, s Span) iter.Seq[Span] {
	return func(yield func(Span) bool) { eachElement(data, s, x, yield) }
}

// Get is the function Get.
func (x *Index) Get(data []byte, s Span, key string) (val Span, ok bool) { return get(data, s, x, key) }

// behind returns what is known of long values in s, as far as it is worth knowing, and behind it.
func (x *Index) behind(s Span) []Span {
	if x == nil || s.End-s.Start < longValue {
		return nil
	}
	at, _ := slices.BinarySearchFunc(x.long, s.Start+1, func(e Span, start int) int { return cmp.Compare(e.Start, start) })
	return x.long[at:]
}

// nextValue returns the span of the value that starts at off, or after the whitespace there; its End is 0 if there is none.
// It takes from long what lies before the value.
func nextValue(data []byte, off int, long *[]Span) Span {
	s := Span{skipSpace(data, off), 0}
	for len(*long) > 0 && (*long)[0].Start < s.Start {
		*long = (*long)[1:]
	}
	if len(*long) > 0 && (*long)[0].Start == s.Start && (*long)[0].End <= len(data) {
		return (*long)[0]
	}
	s.End = Skip(data, s.Start)
	return s
}

// The scanner calls the methods from here on, also of a nil index, with the number of containers around a value.

// begin starts a scan at start.
func (x *Index) begin(start int) {
	if x == nil {
		return
	}
	x.open = -1
	for n := len(x.long); n > 0 && x.long[n-1].Start >= start; n-- {
		x.long = x.long[:n-1]
	}
}

// end ends a scan from start. If it failed, nothing of it is remembered.
func (x *Index) end(start int, msg string) {
	if msg != "" {
		x.begin(start)
	}
}

// push notes that a container begins.
func (x *Index) push(start, depth int) {
	if x != nil && depth < indexDepth {
		x.long = append(x.long, Span{start, x.open})
		x.open = len(x.long) - 1
	}
}

// pop notes that the innermost container ends. What is in a short one is short too, so it is the last entry.
func (x *Index) pop(end, depth int) {
	if x == nil || depth >= indexDepth {
		return
	}
	at := x.open
	x.open = x.long[at].End
	if end-x.long[at].Start < longValue {
		x.long = x.long[:at]
	} else {
		x.long[at].End = end
	}
}

// add notes a string.
func (x *Index) add(start, end, depth int) {
	if x != nil && end-start >= longValue && depth < indexDepth {
		x.long = append(x.long, Span{start, end})
	}
}
