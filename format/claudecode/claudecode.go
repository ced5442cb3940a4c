// Package claudecode reads and extends the session files of the coding agent Claude Code: JSON Lines, one file for each
// session, named by its id, under ~/.claude/projects.
//
// No document describes the format. What the comments call observed was seen by resuming edited session files with
// Claude Code 2.1.332 and reading the requests that it sent to a model server on the same machine; a few facts were
// also seen with 2.1.29, 2.1.126, 2.1.142, 2.1.150, 2.1.160, 2.1.200 and 2.1.250.
//
// Most lines have a uuid and a parentUuid and so form a tree; a line holds one content block, and the lines of one
// message of the model share message.id. The rest are bookkeeping. A session file only grows: Apply appends a
// compact_boundary line and what goes with it, and Undo finds where to cut the file off again.
//
// The boundary names, in their order, the lines that the agent shall still send: older lines, the summary, and copies
// of those lines of which only a part is kept. Every plan can be expressed so. Claude Code honours such a list since
// 2.1.142 or somewhat earlier (2.1.126 does not).
package claudecode

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// Name is the name of the format.
const Name = "claude-code"

// Doc is a decoded session file.
type Doc struct {
	data  []byte
	index jsonspan.Index
	lines []line // every line with a uuid, in file order
	byID  map[string]int
	queue []queueOp
	bad   []int // numbers of the lines that are no JSON

	// The newest last-prompt line: which line it names as the leaf, and how many lines with a uuid stand before it.
	promptLeaf string
	promptAt   int

	custom, ai string // titles, the newest of each kind
	summaries  []summaryLine

	shapeOf map[string]string        // id of an api-request line → hash of its shape
	shapes  map[string]jsonspan.Span // that hash → system text and tools

	sidechain bool // the file is a subagent's: every line is a sidechain
	boundary  int  // the compact_boundary where the live chain begins, -1 if there is none
	leaf      int  // the line that the next one will hang on, -1 if there is none
	broken    int  // the line where the live chain ends since its parent is not in the file, -1 if there is none

	tr      pemmican.Transcript
	entries []entry
	origins []origin // of each block
}

var _ format.Session = (*Doc)(nil)

// Detect reports whether data looks like a session file of Claude Code.
func Detect(data []byte) bool {
	maybe, n := false, 0
	for item := range jsonspan.Values(data) {
		if n++; n > detectValues {
			break
		}
		if item.Err != nil {
			continue
		}
		var kind string
		var uuid, parent, own bool
		for k, v := range jsonspan.Members(data, item.Span) {
			switch string(k.Of(data)) {
			case `"type"`:
				kind, _ = jsonspan.String(data, v)
			case `"uuid"`:
				uuid = true
			case `"parentUuid"`:
				parent = true
			case `"sessionId"`, `"leafUuid"`, `"messageId"`:
				own = true
			}
		}
		if uuid && parent && kind != "" {
			return true
		}
		switch kind {
		case "summary", "file-history-snapshot", "queue-operation", "last-prompt", "permission-mode", "mode":
			maybe = maybe || own
		}
	}
	return maybe
}

// detectValues is how many lines Detect looks at; hundreds of snapshots may stand before the first message.
const detectValues = 1000

// Decode reads a session file. It keeps data, which must not be changed any more. It reads values, not lines, as the
// agent does: two on one line are two (observed). What is no JSON is passed over with a warning; the error, a
// *format.Error, tells that the whole is no session file.
//
// The live transcript is what Claude Code 2.1.332 would send after resuming the file, with three differences, all
// towards what stands in the file: calls and results that lack their partner, which it leaves out or makes up, are there
// for Check to report; messages that a person queued while the agent worked are there although old versions recorded
// them only in passing; and what the program adds to every request, the date say, is there only where the file has it.
func Decode(data []byte) (*Doc, error) {
	d := &Doc{data: data, byID: map[string]int{}}
	if err := d.read(); err != nil {
		return nil, err
	}
	d.build(d.chain())
	return d, nil
}

// Format returns Name.
func (d *Doc) Format() string { return Name }

// Transcript returns the live conversation.
func (d *Doc) Transcript() *pemmican.Transcript { return &d.tr }

// Info returns the session's id and working folder from the newest line that has them, and its newest title: the
// person's, else the model's. The id of a subagent's file is that of the session that it belongs to.
func (d *Doc) Info() format.Info {
	info := format.Info{Name: d.custom}
	if info.Name == "" {
		info.Name = d.ai
	}
	for _, s := range d.summaries {
		if _, here := d.byID[s.leaf]; here && d.custom == "" && d.ai == "" {
			info.Name = s.text
		}
	}
	for i := len(d.lines) - 1; i >= 0 && (info.ID == "" || info.Dir == ""); i-- {
		if info.ID == "" {
			info.ID = d.text(d.lines[i].span, "sessionId")
		}
		if info.Dir == "" {
			info.Dir = d.text(d.lines[i].span, "cwd")
		}
	}
	return info
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

func (d *Doc) warnf(format string, args ...any) {
	d.tr.Warnings = append(d.tr.Warnings, fmt.Sprintf(format, args...))
}

// listSince is the oldest version that was seen to honour a boundary's list of lines.
var listSince = [3]int{2, 1, 142}

// older reports whether version, such as 2.1.29, is older than since. One that cannot be read is not.
func older(version string, since [3]int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 3 {
		return false
	}
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil {
			return false
		}
		if n != since[i] {
			return n < since[i]
		}
	}
	return false
}
