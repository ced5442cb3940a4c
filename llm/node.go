package llm

import (
	"iter"

	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// node is a value of a JSON document. The zero value is none, and has nothing in it: providers leave out, and change the
// type of, whatever they like, and a reader takes what is there.
type node struct {
	data []byte
	span jsonspan.Span
}

// parseNode returns the value that data begins with.
func parseNode(data []byte) (node, error) {
	s, err := jsonspan.Scan(data, 0)
	return node{data, s}, err
}

func (n node) kind() jsonspan.Kind { return jsonspan.KindAt(n.data, n.span) }

// null reports whether there is no value, or null.
func (n node) null() bool { return n.kind() == jsonspan.KindInvalid || n.kind() == jsonspan.KindNull }

// get returns the member that a path of keys leads to.
func (n node) get(keys ...string) node {
	s, ok := jsonspan.Lookup(n.data, n.span, keys...)
	if !ok {
		return node{}
	}
	return node{n.data, s}
}

// first returns the first of the members that is neither missing nor null.
func (n node) first(keys ...string) node {
	for _, key := range keys {
		if v := n.get(key); !v.null() {
			return v
		}
	}
	return node{}
}

// str returns the text of a string, "" for anything else.
func (n node) str() string {
	s, _ := jsonspan.String(n.data, n.span)
	return s
}

// is reports whether the value is a string with this text.
func (n node) is(text string) bool { return jsonspan.Equal(n.data, n.span, text) }

// text returns the text of a string, and the JSON of anything else.
func (n node) text() string {
	if n.kind() == jsonspan.KindString || n.null() {
		return n.str()
	}
	return string(n.span.Of(n.data))
}

// maxCount bounds what is taken for a number of tokens, so that sums cannot overflow.
const maxCount = 1 << 40

// count returns a number of tokens, 0 for what is none.
func (n node) count() int {
	f, ok := jsonspan.Float(n.data, n.span)
	if !ok || f < 0 || f > maxCount {
		return 0
	}
	return int(f)
}

// elements yields the elements of an array.
func (n node) elements() iter.Seq[node] {
	return func(yield func(node) bool) {
		for s := range jsonspan.Elements(n.data, n.span) {
			if !yield(node{n.data, s}) {
				return
			}
		}
	}
}

// empty reports whether an array or an object has nothing in it, and true for what is neither.
func (n node) empty() bool {
	for range n.elements() {
		return false
	}
	for range jsonspan.Members(n.data, n.span) {
		return false
	}
	return true
}
