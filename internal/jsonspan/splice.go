package jsonspan

import (
	"errors"
	"fmt"
	"iter"
)

// Edit replaces the bytes of Span by New, or deletes them if New is empty. An empty Span inserts.
type Edit struct {
	Span
	New []byte
}

// ErrEdits reports edits that are out of order, overlap, or lie outside the document.
var ErrEdits = errors.New("jsonspan: bad edits")

// Splice returns a copy of data with the edits applied, allocated once in its exact size. The edits must be sorted
// and must not overlap; they may touch, and insertions at one place come out in the order given.
func Splice(data []byte, edits []Edit) ([]byte, error) {
	size, at := len(data), 0
	for i, e := range edits {
		if e.Start < at || e.End < e.Start || e.End > len(data) {
			return nil, fmt.Errorf("%w: edit %d of bytes %d to %d, after byte %d of %d",
				ErrEdits, i, e.Start, e.End, at, len(data))
		}
		size += len(e.New) - (e.End - e.Start)
		at = e.End
	}
	out := make([]byte, 0, size)
	at = 0
	for _, e := range edits {
		out = append(out, data[at:e.Start]...)
		out = append(out, e.New...)
		at = e.End
	}
	return append(out, data[at:]...), nil
}

// RemoveElements returns the edits that remove elements of an array, or members of an object, together with their
// commas. It calls drop once for each index in order.
//
// The result is valid JSON whichever go; without any left it is [] or {}. No edit touches a byte of a kept element or
// of the whitespace between two kept neighbours, so edits inside kept elements may be merged in by order of Start.
func RemoveElements(data []byte, arr Span, drop func(i int) bool) []Edit {
	var edits []Edit
	from, end := -1, 0 // the running removal
	kept := -1         // end of the last kept element
	i := 0
	for el := range parts(data, arr) {
		if drop(i) {
			if from < 0 {
				from = el.Start
			}
			end = el.End
		} else {
			if from >= 0 {
				edits = append(edits, Edit{Span: Span{from, el.Start}})
				from = -1
			}
			kept = el.End
		}
		i++
	}
	switch {
	case from < 0:
	case kept < 0:
		edits = append(edits, Edit{Span: Span{arr.Start + 1, arr.End - 1}})
	default: // Nothing is kept behind: the comma before must go.
		edits = append(edits, Edit{Span: Span{kept, end}})
	}
	return edits
}

// parts yields the elements of an array, or the members of an object from key to value.
func parts(data []byte, s Span) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		for el := range Elements(data, s) {
			if !yield(el) {
				return
			}
		}
		for key, val := range Members(data, s) {
			if !yield(Span{key.Start, val.End}) {
				return
			}
		}
	}
}
