// Package pi reads and extends the session files of the coding agent pi: JSON Lines under ~/.pi/agent/sessions, a header
// and then one entry a line. From version 3 on the entries form a tree by id and parentId, and the last line is the
// leaf; in version 1 they have no ids and stand in order.
//
// pi's own docs/session-format.md describes the format. What it does not say was observed with pi 0.84.1, 0.85.1,
// 0.86.1, 0.87.0, 1.3.0 and 1.6.0, by comparing session files with the requests that pi sent after resuming them; the
// comments say "observed" there.
//
// A session file only grows: Apply appends lines, and Undo finds where to cut them off again. What the lines can say
// depends on the pi that will read them. Since 0.87.0 pi honours context_edit lines, so every plan can be expressed,
// but for the place of the summary, which is always first. Older versions know only compaction lines: a summary and a
// tail.
package pi

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// Name is the name of the format.
const Name = "pi"

// Doc is a decoded session file.
type Doc struct {
	data     []byte
	index    jsonspan.Index
	entries  []entry // every line that pi reads, the header first
	version  int     // of the file: 1, 2, 3
	byID     map[string]int
	path     []int            // indices of the live branch, root first
	edits    bool             // the pi of this file honours context_edit lines
	hook     bool             // what is planned goes through a hook of pi, which takes no lines
	problems []format.Finding // what reading the lines and following their chain met

	compaction int // position on path of the newest compaction, -1 if there is none

	tr pemmican.Transcript
	// src and content tell of each message which entry it comes from, -1 for the system text, and where its content
	// stands: in that entry, or in the context_edit that replaces it; empty if pi makes the text itself.
	src     []int
	content []jsonspan.Span
	// parts tell of each block which bytes it comes from; empty for a result, which may have several text parts.
	parts []jsonspan.Span

	blocks []block // the memory of userBlocks and the like, whose result lasts until the next one is called
}

var _ format.Session = (*Doc)(nil)

// Detect reports whether data looks like a session file of pi: its first JSON line is a session header.
func Detect(data []byte) bool {
	for _, line := range lines(data) {
		if v, err := lineValue(data, line, new(jsonspan.Index)); err == nil {
			return isHeader(data, v)
		}
	}
	return false
}

// Decode reads a session file. It keeps data, which must not be changed any more. Lines that are no JSON are passed over
// as pi does, with a warning; the error, a *format.Error, tells that the whole is no session file.
//
// The live transcript is what pi 1.6 would send after resuming. An older compaction inside the range that the newest one
// keeps is left out, as pi does since 0.87; before, pi sent it again at its place (observed), and a warning says so.
func Decode(data []byte) (*Doc, error) { return decode(data, decoding{}) }

// DecodeModern is Decode for a file that will be resumed by pi 0.87 or newer, whatever the lines in it tell. A file of
// version 1 stays limited: pi gives its entries their ids only when it reads them.
func DecodeModern(data []byte) (*Doc, error) { return decode(data, decoding{modern: true}) }

// DecodeForHook is Decode for a compaction that a running pi will write itself, with what its hook session_before_compact
// returns: see Doc.Compaction. That is a summary and the entry from which on everything is kept, so the transcript can
// express no more than with an old pi, whatever the file shows.
func DecodeForHook(data []byte) (*Doc, error) { return decode(data, decoding{hook: true}) }

// decoding says what a session is decoded for.
type decoding struct{ modern, hook bool }

func decode(data []byte, what decoding) (*Doc, error) {
	d := &Doc{data: data, hook: what.hook}
	if err := d.read(); err != nil {
		return nil, err
	}
	d.edits = d.version > 1 && (what.modern || d.writerHonoursEdits())
	d.findPath()
	d.build()
	return d, nil
}

// Format returns Name.
func (d *Doc) Format() string { return Name }

// Transcript returns the live conversation.
func (d *Doc) Transcript() *pemmican.Transcript { return &d.tr }

// Info returns the id and the working folder from the header, and the newest name that the session was given.
func (d *Doc) Info() format.Info {
	h := d.entries[0].span
	info := format.Info{ID: d.text(h, "id"), Dir: d.text(h, "cwd")}
	for i := len(d.entries) - 1; i >= 0; i-- {
		if d.entries[i].kind == kindSessionInfo {
			info.Name = d.text(d.entries[i].span, "name")
			break
		}
	}
	return info
}

// writesEdits reports whether a plan can be carried out by context_edit lines.
func (d *Doc) writesEdits() bool { return d.edits && !d.hook }

// capabilities are what the lines that Apply appends can express.
func (d *Doc) capabilities() pemmican.Capabilities {
	if d.writesEdits() {
		return pemmican.Capabilities{SummaryFirst: true}
	}
	return pemmican.Capabilities{NoStub: true, NoAnchor: true, NoHead: true, SummaryFirst: true, SummaryNeeded: true}
}

// text returns a member of an object that is a string, "" if it is not there or is something else.
func (d *Doc) text(object jsonspan.Span, key string) string {
	v, ok := d.index.Get(d.data, object, key)
	if !ok {
		return ""
	}
	s, _ := jsonspan.String(d.data, v)
	return s
}

// problem notes what is wrong with a line, as a warning and as a finding of Check.
func (d *Doc) problem(rule string, line int, message string) {
	d.problems = append(d.problems, format.Finding{Rule: rule, Where: where(line), Message: message})
	d.warnf("line %d: %s", line, message)
}

func (d *Doc) warnf(format string, args ...any) {
	d.tr.Warnings = append(d.tr.Warnings, fmt.Sprintf(format, args...))
}

// lines yields the 1-based number and the range of each line that is not blank, without its line feed.
func lines(data []byte) iter.Seq2[int, jsonspan.Span] {
	return func(yield func(int, jsonspan.Span) bool) {
		for start, n := 0, 1; start < len(data); n++ {
			end := len(data)
			if i := bytes.IndexByte(data[start:], '\n'); i >= 0 {
				end = start + i
			}
			if len(bytes.TrimSpace(data[start:end])) > 0 && !yield(n, jsonspan.Span{Start: start, End: end}) {
				return
			}
			start = end + 1
		}
	}
}

// lineValue returns the one JSON value of a line. pi reads by lines, so a value over two lines, and two values on one,
// are bad lines to it (observed).
func lineValue(data []byte, line jsonspan.Span, index *jsonspan.Index) (jsonspan.Span, error) {
	v, err := index.Scan(data[:line.End], line.Start)
	if err != nil {
		return jsonspan.Span{}, err
	}
	if len(bytes.Trim(data[v.End:line.End], " \t\r")) > 0 {
		return jsonspan.Span{}, errTwoValues
	}
	return v, nil
}

func isHeader(data []byte, v jsonspan.Span) bool {
	kind, ok := jsonspan.Get(data, v, "type")
	if !ok || !jsonspan.Equal(data, kind, "session") {
		return false
	}
	id, ok := jsonspan.Get(data, v, "id")
	return ok && jsonspan.KindAt(data, id) == jsonspan.KindString
}
