package pi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// Apply returns the file with lines appended that carry out the plan:
//
//   - a custom line, which no pi sends, by which Undo finds what was appended;
//   - a context_edit line for every message that is dropped behind the first kept one, or changed;
//   - a compaction line with the summary, if the plan has one.
//
// A file that shows no pi of 0.87 or newer gets no edits, and one of version 1 only a compaction line of its own shape,
// with the mark for Undo in its details. What the lines cannot express is an error that wraps format.ErrNotWritable: for
// an older pi everything but a summary and a tail; for every pi a new text for a summary, for a branch summary, or for a
// command that the person ran, which pi ignores (observed).
//
// Nothing depends on the clock: the ids come from a hash of the file and the plan, the time is that of the last line.
// The tokensBefore of the compaction is what the newest answer reported, and four bytes to the token for what came after
// it, or for everything if there is no report. Its fromHook is false, so that pi's own next compaction goes on with the
// lists of files in its details.
func (d *Doc) Apply(plan *pemmican.Plan) ([]byte, error) {
	first, err := d.validate(plan)
	switch {
	case err != nil:
		return nil, err
	case plan.Empty():
		return slices.Clip(d.data), nil
	}

	w := d.newWriter(plan)
	out := append(make([]byte, 0, len(d.data)+4096), d.data...)
	if out[len(out)-1] != '\n' {
		// An old pi glues its next line to a last one without an end, and a line that is cut off stays passed over.
		out = append(out, '\n')
	}
	if d.version == 1 {
		return w.compactionV1(out, first), nil
	}
	// The first line holds a hash of those behind it, which hang on its id.
	mark := w.nextID()
	w.parent = mark
	if d.writesEdits() {
		if err := w.edits(first); err != nil {
			return nil, err
		}
	}
	if plan.Summary != "" {
		w.compaction(mark, first)
	}
	out = append(out, `{"type":"custom","id":"`...)
	out = append(out, mark...)
	out = append(out, `","parentId":`...)
	if len(d.path) > 0 {
		out = jsonspan.Quote(out, d.entries[d.leaf()].id)
	} else {
		out = append(out, "null"...)
	}
	out = append(out, `,"timestamp":`...)
	out = append(out, w.timestamp...)
	out = append(out, `,"customType":"`+markName+`","data":`...)
	out = append(out, w.mark()...)
	out = append(out, "}\n"...)
	return append(out, w.lines...), nil
}

// validate reports what the lines cannot express, and returns the first message that is kept, system text apart; the
// number of messages if there is none.
func (d *Doc) validate(plan *pemmican.Plan) (first int, err error) {
	if len(plan.Marks) != len(d.tr.Blocks) || plan.Gap < 0 || plan.Gap > len(d.tr.Blocks) {
		return 0, fmt.Errorf("the plan is for %d blocks, and the transcript has %d", len(plan.Marks), len(d.tr.Blocks))
	}
	notWritable := func(block int, msg, mend string) error {
		return &format.Error{Msg: fmt.Sprintf("block %d %s", block, msg), Mend: mend, Err: format.ErrNotWritable}
	}
	const update = "pi 0.87 and newer can"
	first = len(d.tr.Messages)
	for m := range d.tr.Messages {
		msg := &d.tr.Messages[m]
		for i := msg.First; i < msg.End; i++ {
			b, mark := &d.tr.Blocks[i], &plan.Marks[i]
			switch {
			case d.src[m] < 0:
				if mark.Action != pemmican.Keep {
					return 0, notWritable(i, "is system text, which stays as it is", "")
				}
				if plan.Summary != "" && plan.Gap <= i {
					return 0, notWritable(i, "is system text, before which no summary can stand", "")
				}
				continue
			case mark.Action == pemmican.Drop:
				if !d.writesEdits() && first < len(d.tr.Messages) {
					return 0, notWritable(i, "is dropped behind what is kept, which the pi of this file cannot express", update)
				}
				continue
			case mark.Action != pemmican.Keep && mark.Action != pemmican.Stub:
				return 0, fmt.Errorf("block %d has the unknown action %d", i, mark.Action)
			}
			first = min(first, m)
			switch {
			case plan.Summary != "" && i < plan.Gap:
				return 0, notWritable(i, "stands before the summary, which pi puts first", "")
			case plan.Summary != "" && b.Kind == pemmican.Summary:
				return 0, notWritable(i, "is an earlier summary, which pi does not send beside a newer one", "drop it")
			case plan.Summary != "" && i < d.tr.Can.KeepFrom:
				return 0, notWritable(i, "stands before the last compaction, which the pi of this file would send again with it", "drop it")
			case !d.writesEdits() && mark.Action == pemmican.Stub:
				return 0, notWritable(i, "is replaced, which the pi of this file cannot express", update)
			case !d.writesEdits() && i > msg.First && plan.Marks[i-1].Action == pemmican.Drop:
				return 0, notWritable(i, "is kept without the rest of its message, which the pi of this file cannot express", update)
			case mark.Action == pemmican.Stub && (!d.editable(m) || b.Kind == pemmican.Reasoning || b.Kind == pemmican.Opaque):
				return 0, notWritable(i, "can only be kept or dropped in a session of pi", "")
			case b.Kind != pemmican.ToolResult && msg.Role == pemmican.Tool && !plan.Kept(msg.First):
				return 0, fmt.Errorf("block %d is kept without the result that it belongs to", i)
			}
		}
	}
	if !d.writesEdits() && plan.Summary == "" && !plan.Empty() {
		return 0, &format.Error{Msg: "the pi of this file records no change without a summary", Mend: update, Err: format.ErrNotWritable}
	}
	for call, result := range d.tr.Partners() {
		// pi sends a lone result as it is, and makes up one for a lone call (observed).
		if result >= 0 && plan.Kept(call) != plan.Kept(result) {
			return 0, fmt.Errorf("blocks %d and %d, a call and its result, do not go together", call, result)
		}
	}
	return first, nil
}

// editable reports whether pi takes new content for a message: not where it makes the text itself.
func (d *Doc) editable(m int) bool {
	switch e := &d.entries[d.src[m]]; e.kind {
	case kindCustomMessage:
		return true
	case kindMessage:
		return e.role != roleBash && e.role != roleBranchSummary && e.role != roleCompactionSummary
	}
	return false
}

// writer makes the lines that Apply appends.
type writer struct {
	d         *Doc
	plan      *pemmican.Plan
	seed      [sha256.Size]byte
	ids       map[string]bool
	timestamp []byte // of the last line, in JSON
	parent    string // what the next line hangs on
	lines     []byte
}

func (d *Doc) newWriter(plan *pemmican.Plan) *writer {
	h := sha256.New()
	h.Write(d.data)
	for i := range plan.Marks {
		_, _ = fmt.Fprintf(h, "\n%d %q", plan.Marks[i].Action, plan.Marks[i].Text)
	}
	_, _ = fmt.Fprintf(h, "\n%d %q", plan.Gap, plan.Summary)
	w := &writer{d: d, plan: plan, ids: map[string]bool{}, timestamp: []byte(`"1970-01-01T00:00:00.000Z"`)}
	h.Sum(w.seed[:0])
	for i := len(d.entries) - 1; i >= 0; i-- {
		if v, ok := d.index.Get(d.data, d.entries[i].span, "timestamp"); ok && jsonspan.KindAt(d.data, v) == jsonspan.KindString {
			w.timestamp = v.Of(d.data)
			break
		}
	}
	return w
}

// nextID returns an id as pi makes them, eight digits in base 16, that the file does not have.
func (w *writer) nextID() string {
	for n := len(w.ids); ; n++ {
		sum := sha256.Sum256(strconv.AppendInt(w.seed[:], int64(n), 10))
		id := hex.EncodeToString(sum[:4])
		if _, taken := w.d.byID[id]; !taken && !w.ids[id] {
			w.ids[id] = true
			return id
		}
	}
}

// open starts a line of the tree, behind the one before it.
func (w *writer) open(kind string) {
	id := w.nextID()
	w.lines = append(w.lines, `{"type":"`+kind+`","id":"`+id+`","parentId":"`+w.parent+`","timestamp":`...)
	w.lines = append(w.lines, w.timestamp...)
	w.parent = id
}

// edits writes the context_edit lines for everything from the first kept message on; what is before it goes by the
// summary. Without a summary everything is meant.
func (w *writer) edits(first int) error {
	d := w.d
	if w.plan.Summary == "" {
		first = 0
	}
	for m := first; m < len(d.tr.Messages); m++ {
		msg := &d.tr.Messages[m]
		kept, changed := 0, false
		for i := msg.First; i < msg.End; i++ {
			if w.plan.Kept(i) {
				kept++
			}
			changed = changed || w.plan.Marks[i].Action != pemmican.Keep
		}
		switch {
		case !changed || w.plan.Summary != "" && d.tr.Blocks[msg.First].Kind == pemmican.Summary:
			continue // pi leaves the earlier summary out by itself
		case kept == 0:
			w.edit(m, []byte("null"))
		default:
			content, err := w.replacement(m)
			if err != nil {
				return err
			}
			w.edit(m, append(append([]byte(`{"content":`), content...), '}'))
		}
	}
	return nil
}

func (w *writer) edit(m int, replacement []byte) {
	w.open("context_edit")
	w.lines = append(w.lines, `,"targetId":`...)
	w.lines = jsonspan.Quote(w.lines, w.d.entries[w.d.src[m]].id)
	w.lines = append(w.lines, `,"replacement":`...)
	w.lines = append(w.lines, replacement...)
	w.lines = append(w.lines, "}\n"...)
}

// replacement makes the new content of a message: what is kept byte for byte, what is stubbed as a part of its own.
func (w *writer) replacement(m int) ([]byte, error) {
	d := w.d
	msg := &d.tr.Messages[m]
	var parts [][]byte
	text := func(s string) {
		parts = append(parts, append(jsonspan.Quote([]byte(`{"type":"text","text":`), s), '}'))
	}
	if msg.Role == pemmican.Tool {
		// The text of the result, then the media that are left, then the texts that stand for the others, in that order:
		// so they are read back as the plan says.
		if mark := w.plan.Marks[msg.First]; mark.Action == pemmican.Stub {
			text(mark.Text)
		} else if s, ok := jsonspan.String(d.data, d.content[m]); ok {
			text(s)
		} else {
			for v := range d.index.Elements(d.data, d.content[m]) {
				if d.readPart(v).kind == "text" {
					parts = append(parts, v.Of(d.data))
				}
			}
		}
		for i := msg.First + 1; i < msg.End; i++ {
			if w.plan.Marks[i].Action == pemmican.Keep {
				parts = append(parts, d.parts[i].Of(d.data))
			}
		}
		for i := msg.First + 1; i < msg.End; i++ {
			if w.plan.Marks[i].Action == pemmican.Stub {
				text(w.plan.Marks[i].Text)
			}
		}
	} else {
		for i := msg.First; i < msg.End; i++ {
			mark, v := &w.plan.Marks[i], d.parts[i]
			switch {
			case mark.Action == pemmican.Drop:
			case mark.Action == pemmican.Stub && d.tr.Blocks[i].Kind == pemmican.ToolCall:
				call, err := d.withArguments(v, mark.Text)
				if err != nil {
					return nil, err
				}
				parts = append(parts, call)
			case mark.Action == pemmican.Stub:
				text(mark.Text)
			default:
				parts = append(parts, v.Of(d.data))
			}
		}
	}
	return append(append([]byte{'['}, bytes.Join(parts, []byte{','})...), ']'), nil
}

// withArguments returns a toolCall part with other arguments: JSON as it is, on one line as the file demands, anything
// else as the string that pi keeps for arguments that it could not read.
func (d *Doc) withArguments(call jsonspan.Span, args string) ([]byte, error) {
	value := []byte(args)
	if v, err := jsonspan.Scan(value, 0); err != nil || len(bytes.TrimSpace(value[v.End:])) > 0 {
		value = jsonspan.Quote(nil, args)
	} else if bytes.ContainsAny(value, "\r\n") {
		var b bytes.Buffer
		if err := json.Compact(&b, value); err != nil {
			return nil, err
		}
		value = b.Bytes()
	}
	edit := jsonspan.Edit{Span: jsonspan.Span{Start: call.End - 1, End: call.End - 1}, New: append([]byte(`,"arguments":`), value...)}
	if v, ok := d.index.Get(d.data, call, "arguments"); ok {
		edit = jsonspan.Edit{Span: v, New: value}
	}
	out := append([]byte(nil), d.data[call.Start:edit.Start]...)
	out = append(out, edit.New...)
	return append(out, d.data[edit.End:call.End]...), nil
}

// compaction writes the compaction line. One that keeps nothing keeps our mark: its own id would say so too, but would
// look as if a pi of 0.87 had written it.
func (w *writer) compaction(mark string, first int) {
	kept := mark
	w.open("compaction")
	if first < len(w.d.src) {
		kept = w.d.keptID(first)
	}
	w.lines = append(w.lines, `,"summary":`...)
	w.lines = jsonspan.Quote(w.lines, w.plan.Summary)
	w.lines = append(w.lines, `,"firstKeptEntryId":`...)
	w.lines = jsonspan.Quote(w.lines, kept)
	w.lines = append(w.lines, `,"tokensBefore":`...)
	w.lines = strconv.AppendInt(w.lines, int64(w.d.tokens()), 10)
	w.lines = append(w.lines, `,"details":{`...)
	w.lines = w.d.appendFiles(w.lines, w.plan)
	w.lines = append(w.lines, "},\"fromHook\":false}\n"...)
}

// keptID is the id of the entry that message m comes from. It is never a result whose call goes: validate has seen to
// it, and pi would send it alone.
func (d *Doc) keptID(m int) string { return d.entries[d.src[m]].id }

// compactionV1 appends the compaction line of version 1. It names its first kept entry by the index among all entries,
// and one that keeps nothing names itself.
func (w *writer) compactionV1(out []byte, first int) []byte {
	kept := len(w.d.entries)
	if first < len(w.d.src) {
		kept = w.d.src[first]
	}
	out = append(out, `{"type":"compaction","timestamp":`...)
	out = append(out, w.timestamp...)
	out = append(out, `,"summary":`...)
	out = jsonspan.Quote(out, w.plan.Summary)
	out = append(out, `,"firstKeptEntryIndex":`...)
	out = strconv.AppendInt(out, int64(kept), 10)
	out = append(out, `,"tokensBefore":`...)
	out = strconv.AppendInt(out, int64(w.d.tokens()), 10)
	out = append(out, `,"details":{`...)
	out = w.d.appendFiles(out, w.plan)
	out = append(out, `,"`+markName+`":`...)
	out = append(out, w.mark()...)
	return append(out, "}}\n"...)
}

// tokens is the size of the live context before the plan.
func (d *Doc) tokens() int {
	known, after := 0, 0
	for m := range d.tr.Messages {
		msg := &d.tr.Messages[m]
		if msg.Usage > 0 {
			known, after = msg.Usage, 0
			continue
		}
		for _, b := range d.tr.Blocks[msg.First:msg.End] {
			after += len(b.Text) + len(b.Args) + b.Bytes
		}
	}
	return known + (after+3)/4
}

// markName is the customType of our custom line, and the name of the mark in the details of a compaction of version 1.
const markName = "pemmican"

// mark is what Undo needs to know: the length of the file before the append, and the hash of all of it but the line that
// holds the mark, so that nothing before was altered and nothing follows.
func (w *writer) mark() []byte {
	return fmt.Appendf(nil, `{"v":1,"before":%d,"sha256":"%s"}`, len(w.d.data), hashWithout(w.d.data, w.lines))
}

func hashWithout(before, behind []byte) string {
	h := sha256.New()
	h.Write(before)
	h.Write(behind)
	return hex.EncodeToString(h.Sum(nil))
}

// Undo returns where to cut the file so that it is what it was before Apply. It returns format.ErrNothingToUndo if the
// file does not end with what Apply appended, or if anything before it was altered: pi does that with a file of version 1
// or 2 as soon as it opens one.
func (d *Doc) Undo() (int, error) {
	for i := len(d.entries) - 1; i > 0; i-- {
		e := &d.entries[i]
		var mark jsonspan.Span
		var ok bool
		switch {
		case e.kind == kindCustom && d.text(e.span, "customType") == markName:
			mark, ok = d.index.Get(d.data, e.span, "data")
		case e.kind == kindCompaction && d.version == 1:
			mark, ok = jsonspan.Lookup(d.data, e.span, "details", markName)
		case e.kind == kindEdit || e.kind == kindCompaction:
			continue
		}
		if !ok {
			break
		}
		v, _ := d.index.Get(d.data, mark, "before")
		before, ok := jsonspan.Int(d.data, v)
		if !ok || before <= 0 || before > int64(e.span.Start) || len(bytes.TrimSpace(d.data[before:e.span.Start])) > 0 {
			break
		}
		end := e.span.End
		if end < len(d.data) && d.data[end] == '\n' {
			end++
		}
		if d.text(mark, "sha256") != hashWithout(d.data[:before], d.data[end:]) {
			break
		}
		return int(before), nil
	}
	return 0, format.ErrNothingToUndo
}
