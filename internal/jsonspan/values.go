package jsonspan

import (
	"bytes"
	"iter"
)

// Item is one value of a stream, or a stretch that is none.
type Item struct {
	Span Span
	Line int // 1-based, where Span starts

	// Err is nil for a value, else a *SyntaxError with an offset into the whole stream. It is ErrTruncated where a
	// value is still open at the end of the data; so a last line that is half written is the last item, with
	// ErrTruncated.
	Err error
}

// Values yields each value of a stream in order: JSON Lines, but also several values on one line, or one value over
// several lines. Blank lines and a byte order mark at the start are passed over. What is no JSON is yielded with Err
// up to the end of its line, and reading goes on with the next line. The items cover everything but whitespace.
//
// A number, true, false or null must end at whitespace, a bracket or a quote: otherwise the date that a line of a log
// starts with would be three values.
func Values(data []byte) iter.Seq[Item] {
	return func(yield func(Item) bool) { eachValue(data, nil, yield) }
}

func eachValue(data []byte, x *Index, yield func(Item) bool) {
	i := 0
	if bytes.HasPrefix(data, []byte("\uFEFF")) {
		i = len("\uFEFF")
	}
	line, counted := 1, 0
	eol := -1 // end of the line of i, if not less than i
	endOfLine := func() int {
		if eol < i {
			eol = len(data)
			if n := bytes.IndexByte(data[i:], '\n'); n >= 0 {
				eol = i + n
			}
		}
		return eol
	}

	// Where a value that ran over its line failed, nothing before the place of the failure is read over its line
	// again: else a stream of opening brackets would be read to its end from each of them.
	failed := 0

	for {
		i = skipSpace(data, i)
		if i == len(data) {
			return
		}
		line += bytes.Count(data[counted:i], newline)
		counted = i

		doc := data
		if i < failed {
			doc = data[:endOfLine()]
		}
		end, msg := scanValue(doc, i, x)
		item := Item{Span: Span{i, end}, Line: line}
		switch {
		case msg == "" && runsOn(data, item.Span):
			msg = "expected whitespace"
		case msg != "" && end == len(doc) && end < len(data):
			msg = "expected the end of the value"
		}
		if msg != "" {
			failed = max(failed, end)
			item.Err = newError(data, end, msg)
			item.Span.End = endOfLine()
			for isSpace(data[item.Span.End-1]) {
				item.Span.End--
			}
		}
		if !yield(item) {
			return
		}
		i = item.Span.End
	}
}

var newline = []byte{'\n'}

// runsOn reports whether a value without brackets or quotes is followed by something that looks like more of it.
func runsOn(data []byte, s Span) bool {
	if k := KindAt(data, s); s.End == len(data) || k == KindObject || k == KindArray || k == KindString {
		return false
	}
	switch c := data[s.End]; c {
	case '{', '[', '"':
		return false
	default:
		return !isSpace(c)
	}
}
