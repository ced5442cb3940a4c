package pi

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// entryKind is the type of a line, as far as it matters here.
type entryKind uint8

const (
	kindOther entryKind = iota // never in the context: custom, label, usage, model_change, unknown ones
	kindHeader
	kindMessage
	kindCompaction
	kindEdit
	kindBranchSummary
	kindCustom
	kindCustomMessage
	kindSessionInfo
)

var entryKinds = map[string]entryKind{
	"session":        kindHeader,
	"message":        kindMessage,
	"compaction":     kindCompaction,
	"context_edit":   kindEdit,
	"branch_summary": kindBranchSummary,
	"custom":         kindCustom,
	"custom_message": kindCustomMessage,
	"session_info":   kindSessionInfo,
}

// role is the role of a message entry. One that pi does not know is not sent (observed).
type role uint8

const (
	roleNone role = iota
	roleUser
	roleAssistant
	roleToolResult
	roleSystem
	roleBash
	roleCustom
	roleHook // what version 2 called roleCustom
	roleBranchSummary
	roleCompactionSummary
)

var roles = map[string]role{
	"user":              roleUser,
	"assistant":         roleAssistant,
	"toolResult":        roleToolResult,
	"system":            roleSystem,
	"bashExecution":     roleBash,
	"custom":            roleCustom,
	"hookMessage":       roleHook,
	"branchSummary":     roleBranchSummary,
	"compactionSummary": roleCompactionSummary,
}

// entry is one line that is JSON.
type entry struct {
	span jsonspan.Span
	line int
	kind entryKind
	role role // of a message

	id, parent string // "" if the line has none
	message    jsonspan.Span

	// Of a message: the content, and of an assistant why it ended and what it used.
	content jsonspan.Span
	failed  bool // it ended with an error or was aborted: pi never sends it again (observed)
	usage   jsonspan.Span
	recent  bool // it has a member that only pi 1.1 and newer write

	// Of a result: the id and the name of its call, and whether that failed.
	callID, tool, isError jsonspan.Span
}

// newest is the newest version of a session file that is known.
const newest = 3

var errTwoValues = errors.New("more than one value")

// read splits the file into entries.
func (d *Doc) read() error {
	d.entries = make([]entry, 0, len(d.data)/2048+1) // about as long as lines are
	for n, line := range lines(d.data) {
		v, err := lineValue(d.data, line, &d.index)
		if err != nil {
			why := "it is no JSON"
			switch {
			case line.End == len(d.data) && errors.Is(err, jsonspan.ErrTruncated):
				why = "it is cut off"
			case errors.Is(err, errTwoValues):
				why = "it has more than one value"
			case errors.Is(err, jsonspan.ErrDepth):
				why = "it is nested too deeply"
			}
			d.problem(format.RuleBadLine, n, "pi passes over the line: "+why)
			continue
		}
		if len(d.entries) == 0 && !isHeader(d.data, v) {
			return &format.Error{Line: n, Msg: "this is no session header of pi",
				Mend: "the first line must be an object of type session", Err: format.ErrUnknownFormat}
		}
		d.entries = append(d.entries, d.parse(v, n))
	}
	if len(d.entries) == 0 {
		return &format.Error{Msg: "this is no session file of pi: it has no line that is JSON",
			Mend: "give a file from ~/.pi/agent/sessions", Err: format.ErrUnknownFormat}
	}
	d.version = 1
	if v, ok := d.index.Get(d.data, d.entries[0].span, "version"); ok {
		if n, ok := jsonspan.Int(d.data, v); ok && n > 1 {
			d.version = int(min(n, newest))
			if n > newest {
				d.warnf("line %d: the session has version %d, and %d is the newest that is known here: it is read as that", d.entries[0].line, n, newest)
			}
		}
	}
	d.byID = make(map[string]int, len(d.entries))
	for i := range d.entries {
		if e := &d.entries[i]; e.id != "" && e.kind != kindHeader {
			d.byID[e.id] = i // of two with one id pi takes the later
		}
	}
	return nil
}

// parse reads the members of a line that every later step needs. Of duplicate members the last counts, as in JavaScript.
func (d *Doc) parse(v jsonspan.Span, line int) entry {
	e := entry{span: v, line: line}
	for k, val := range d.index.Members(d.data, v) {
		switch string(d.word(k)) {
		case "type":
			e.kind = entryKinds[string(d.word(val))]
		case "id":
			e.id, _ = jsonspan.String(d.data, val)
		case "parentId":
			e.parent, _ = jsonspan.String(d.data, val)
		case "message":
			e.message = val
		}
	}
	if e.kind != kindMessage {
		return e
	}
	for k, val := range d.index.Members(d.data, e.message) {
		switch string(d.word(k)) {
		case "role":
			e.role = roles[string(d.word(val))]
		case "content":
			e.content = val
		case "stopReason":
			reason := d.word(val)
			e.failed = string(reason) == "error" || string(reason) == "aborted"
		case "usage":
			e.usage = val
		case "durationMs", "thinkingLevel":
			e.recent = true
		case "toolCallId":
			e.callID = val
		case "toolName":
			e.tool = val
		case "isError":
			e.isError = val
		}
	}
	return e
}

// word returns the text of a string, a member's name or a type say, to be compared with known ones; nil if the value is no
// string. Without escapes it is not copied.
func (d *Doc) word(v jsonspan.Span) []byte {
	if jsonspan.KindAt(d.data, v) != jsonspan.KindString {
		return nil
	}
	raw := d.data[v.Start+1 : v.End-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	s, _ := jsonspan.AppendString(nil, d.data, v)
	return s
}

// writerHonoursEdits reports whether the file shows that the pi that wrote its end is 0.87 or newer. The header names no
// version, so the lines must tell (observed):
//
//   - durationMs and thinkingLevel on messages come with 1.1;
//   - a context_edit line, or a compaction that keeps nothing and says so by its own id, comes with 0.87. It counts only
//     behind a system message, which every pi since 0.86 writes before its first request: without one the pi that goes
//     on with this file is older, and somebody else wrote the line;
//   - an answer without any of these, behind one that has them, comes from an older pi that went on with the file.
//
// A file of 0.86 and one of 0.87 may look the same; then it is taken for the older, which only costs capabilities.
func (d *Doc) writerHonoursEdits() bool {
	system := len(d.entries) // the first entry that declares the system text
	for i := range d.entries {
		e := &d.entries[i]
		if e.role == roleSystem || e.kind == kindCompaction && d.has(e.span, "systemMessage") {
			system = i
			break
		}
	}
	plain := false
	for i := len(d.entries) - 1; i > 0; i-- {
		e := &d.entries[i]
		switch {
		case e.recent:
			return !plain
		case i < system && e.role == roleAssistant && !e.failed:
			return false // of a pi before 0.86
		case i < system:
		case e.kind == kindEdit:
			return true
		case e.kind == kindCompaction && e.id != "" && d.text(e.span, "firstKeptEntryId") == e.id:
			return true
		case e.role == roleAssistant && !e.failed:
			plain = true
		}
	}
	return false
}

func (d *Doc) has(object jsonspan.Span, key string) bool {
	_, ok := d.index.Get(d.data, object, key)
	return ok
}

// findPath finds the live branch. In version 1 it is the whole file. From version 2 on it leads from the last line up
// by parentId, whatever that line is; a parent that is not in the file cuts it there, and a last line without an id
// leaves it empty (observed). A loop ends pi with an error.
func (d *Doc) findPath() {
	d.compaction = -1
	defer func() {
		for p, i := range d.path {
			if d.entries[i].kind == kindCompaction {
				d.compaction = p
			}
		}
	}()
	if d.version == 1 {
		for i := range d.entries {
			if d.entries[i].kind != kindHeader {
				d.path = append(d.path, i)
			}
		}
		return
	}
	leaf := d.leaf()
	if leaf < 0 {
		return
	}
	if d.entries[leaf].id == "" {
		d.problem(format.RuleBrokenChain, d.entries[leaf].line, "the last line has no id, so pi starts with an empty conversation")
		return
	}
	seen := make([]bool, len(d.entries))
	for i := leaf; ; {
		seen[i] = true
		d.path = append(d.path, i)
		e := &d.entries[i]
		if e.parent == "" {
			break
		}
		next, ok := d.byID[e.parent]
		if !ok {
			d.problem(format.RuleBrokenChain, e.line, fmt.Sprintf("the parent %q is not in the file, so pi forgets everything before", e.parent))
			break
		}
		if seen[next] {
			d.problem(format.RuleBrokenChain, e.line, fmt.Sprintf("the parent %q makes a loop, which pi does not survive", e.parent))
			break
		}
		i = next
	}
	for a, b := 0, len(d.path)-1; a < b; a, b = a+1, b-1 {
		d.path[a], d.path[b] = d.path[b], d.path[a]
	}
}

// leaf returns the last entry of the tree, -1 if there is none. Values that are no objects are none.
func (d *Doc) leaf() int {
	for i := len(d.entries) - 1; i > 0; i-- {
		if e := &d.entries[i]; e.kind != kindHeader && jsonspan.KindAt(d.data, e.span) == jsonspan.KindObject {
			return i
		}
	}
	return -1
}

// keptFrom returns the position on the path of the first entry that the newest compaction keeps, and the position of the
// compaction itself if it keeps none before it.
func (d *Doc) keptFrom() int {
	c := d.compaction
	e := &d.entries[d.path[c]]
	first := -1
	if d.version == 1 {
		// The index counts lines with the header as 0 (observed).
		if v, ok := d.index.Get(d.data, e.span, "firstKeptEntryIndex"); ok {
			if n, ok := jsonspan.Int(d.data, v); ok && n >= 0 && n < int64(len(d.entries)) {
				first = int(n)
			}
		}
	} else if i, ok := d.byID[d.text(e.span, "firstKeptEntryId")]; ok {
		first = i
	}
	for p := range c {
		if d.path[p] == first {
			return p
		}
	}
	return c
}
