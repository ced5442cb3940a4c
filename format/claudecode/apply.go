package claudecode

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strconv"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// Apply returns the file with the plan appended to it: a compact_boundary line that lists the kept lines in their order,
// copies of the lines of which only a part is kept, and the summary. No byte of the file before them changes, but for a
// line feed that its last line may lack.
//
// The plan cannot touch the system text, which the agent makes itself, nor stub reasoning and opaque blocks. A
// subagent's file can only be read: Apply returns format.ErrNotWritable.
func (d *Doc) Apply(plan *pemmican.Plan) ([]byte, error) {
	if len(plan.Marks) != len(d.tr.Blocks) || plan.Gap < 0 || plan.Gap > len(d.tr.Blocks) {
		return nil, fmt.Errorf("the plan is for another transcript: it has %d marks and the gap %d, for %d blocks",
			len(plan.Marks), plan.Gap, len(d.tr.Blocks))
	}
	if plan.Empty() {
		return d.data, nil
	}
	if d.sidechain {
		// Nothing is known of how the agent takes such a file up again, if it does.
		return nil, fmt.Errorf("%w: it is the file of a subagent, which Claude Code does not resume by itself", format.ErrNotWritable)
	}
	w := newWriter(d, plan)
	for i := range d.entries {
		if err := w.entry(&d.entries[i]); err != nil {
			return nil, err
		}
	}
	if plan.Summary != "" && !w.summarised {
		w.summary()
	}
	return w.finish(), nil
}

// writer collects the lines to append.
type writer struct {
	d    *Doc
	plan *pemmican.Plan
	seed []byte // of the ids: a hash of the file and the plan
	ids  int

	boundary string // its uuid
	previous string // the uuid of the line that was written last
	list     []string
	lines    [][]byte // behind the boundary

	time       []byte // as JSON
	envelope   []byte // members of every new line, each with a comma before it
	summarised bool
}

func newWriter(d *Doc, plan *pemmican.Plan) *writer {
	h := sha256.New()
	h.Write(d.data)
	hashPlan(h, plan)
	w := &writer{d: d, plan: plan, seed: h.Sum(nil)}
	w.boundary = w.newID()
	w.previous = w.boundary
	last := ""
	for i := range d.lines {
		if d.lines[i].time != "" {
			last = d.lines[i].time
		}
	}
	w.time = jsonspan.Quote(nil, last)
	if d.leaf < 0 {
		return w
	}
	for _, key := range []string{"userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug"} {
		if v, ok := d.index.Get(d.data, d.lines[d.leaf].span, key); ok {
			w.envelope = fmt.Appendf(w.envelope, `,"%s":%s`, key, oneLine(v.Of(d.data)))
		}
	}
	return w
}

func hashPlan(h hash.Hash, plan *pemmican.Plan) {
	text := func(s string) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	for i := range plan.Marks {
		h.Write([]byte{byte(plan.Marks[i].Action)})
		text(plan.Marks[i].Text)
	}
	text(plan.Summary)
	text(strconv.Itoa(plan.Gap))
}

// newID returns a version 8 UUID (RFC 9562): one whose bits are the program's own affair.
func (w *writer) newID() string {
	w.ids++
	sum := sha256.Sum256(binary.LittleEndian.AppendUint64(bytes.Clone(w.seed), uint64(w.ids)))
	b := sum[:16]
	b[6] = b[6]&0x0f | 0x80
	b[8] = b[8]&0x3f | 0x80
	s := hex.EncodeToString(b)
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// entry writes what the plan makes of one entry. The gap of the summary may lie inside it, where a line holds what is
// more than one unit.
func (w *writer) entry(e *entry) error {
	gap := w.plan.Gap
	if w.plan.Summary == "" || w.summarised || gap >= e.end {
		return w.piece(e, e.first, e.end)
	}
	if gap > e.first {
		if err := w.piece(e, e.first, gap); err != nil {
			return err
		}
	}
	w.summary()
	return w.piece(e, max(gap, e.first), e.end)
}

// piece writes blocks first to end of an entry: it lists the line if they are all of it and all kept, and else writes a
// copy.
func (w *writer) piece(e *entry, first, end int) error {
	kept, whole := 0, first == e.first && end == e.end
	for i := first; i < end; i++ {
		switch w.plan.Marks[i].Action {
		case pemmican.Keep:
			kept++
			continue
		case pemmican.Stub:
			kept++
		}
		whole = false
	}
	if e.line < 0 && e.queue < 0 {
		if !whole {
			return fmt.Errorf("block %d is system text, which cannot be changed in a session file", e.first)
		}
		return nil
	}
	if kept == 0 {
		return nil
	}
	if e.line < 0 {
		return w.fresh(first, end)
	}
	l := &w.d.lines[e.line]
	switch {
	case whole && bytes.IndexByte(l.span.Of(w.d.data), '\n') < 0:
		w.list = append(w.list, l.uuid)
		return nil
	case l.kind == kindUser || l.kind == kindAssistant:
		return w.copied(e, first, end)
	}
	return w.fresh(first, end)
}

// append adds a line with a new uuid behind the ones that were written before, and to the list.
func (w *writer) append(id string, line []byte) {
	w.lines = append(w.lines, line)
	w.list = append(w.list, id)
	w.previous = id
}

// open begins a new line; members follow, and then close.
func (w *writer) open() (line []byte) {
	return fmt.Appendf(nil, `{"parentUuid":%s,"isSidechain":false`, jsonspan.Quote(nil, w.previous))
}

func (w *writer) close(line []byte, id string) []byte {
	line = fmt.Appendf(line, `,"uuid":"%s","timestamp":%s`, id, w.time)
	return append(append(line, w.envelope...), '}')
}

func (w *writer) summary() {
	w.summarised = true
	line := append(w.open(), `,"type":"user","message":{"role":"user","content":`...)
	line = jsonspan.Quote(line, w.plan.Summary)
	line = append(line, `},"isVisibleInTranscriptOnly":true,"isCompactSummary":true`...)
	id := w.newID()
	w.append(id, w.close(line, id))
}

// fresh writes a user line for blocks that stand on no user line: of a queued message, an attachment, the output of a
// command. It tells the agent no more than their text.
func (w *writer) fresh(first, end int) error {
	var elements [][]byte
	for i := first; i < end; i++ {
		b, mark, at := &w.d.tr.Blocks[i], &w.plan.Marks[i], w.d.origins[i]
		switch {
		case mark.Action == pemmican.Drop:
		case mark.Action == pemmican.Stub && (b.Kind == pemmican.Text || b.Kind == pemmican.Summary || b.Kind == pemmican.Media):
			elements = append(elements, textElement(mark.Text))
		case mark.Action == pemmican.Stub:
			return w.cannotStub(i)
		case at.element.Empty():
			elements = append(elements, textElement(b.Text))
		default:
			elements = append(elements, oneLine(at.element.Of(w.d.data)))
		}
	}
	line := append(w.open(), `,"type":"user","message":{"role":"user","content":[`...)
	line = append(line, bytes.Join(elements, []byte(","))...)
	line = append(line, "]}"...)
	if w.d.tr.Messages[w.d.tr.Blocks[first].Message].Author == pemmican.ByRuntime {
		line = append(line, `,"isMeta":true`...)
	}
	id := w.newID()
	w.append(id, w.close(line, id))
	return nil
}

func textElement(text string) []byte {
	return append(jsonspan.Quote([]byte(`{"type":"text","text":`), text), '}')
}

// copied writes a line again with a new uuid and without what the plan drops or replaces of it. The structured twin of
// a result goes where the result is no longer whole.
func (w *writer) copied(e *entry, first, end int) error {
	d := w.d
	l := &d.lines[e.line]
	id := w.newID()
	var edits []jsonspan.Edit
	set := func(object jsonspan.Span, key string, value []byte) {
		edits = append(edits, d.set(object, key, value))
	}
	set(l.span, "uuid", jsonspan.Quote(nil, id))
	set(l.span, "parentUuid", jsonspan.Quote(nil, w.previous))

	marks := func(i int) pemmican.Mark { // a block outside of this piece is none of its business
		if i < first || i >= end {
			return pemmican.Mark{Action: pemmican.Drop}
		}
		return w.plan.Marks[i]
	}
	resultTouched := false
	dropped := map[int]bool{} // elements of the content, by their start; nothing in them is edited
	for i := e.first; i < e.end; i++ {
		b, mark, at := &d.tr.Blocks[i], marks(i), d.origins[i]
		if b.Kind == pemmican.ToolResult {
			parts := i + 1
			for parts < e.end && d.origins[parts].element == at.element {
				parts++
			}
			touched, err := w.result(&edits, i, parts, marks)
			if err != nil {
				return err
			}
			resultTouched = resultTouched || touched
			if mark.Action == pemmican.Drop {
				dropped[at.element.Start] = true
				resultTouched = true
			}
			i = parts - 1
			continue
		}
		if mark.Action == pemmican.Keep {
			continue
		}
		if mark.Action == pemmican.Drop {
			dropped[at.element.Start] = true
			continue
		}
		switch {
		case at.element.Empty():
			edits = append(edits, jsonspan.Edit{Span: l.content, New: jsonspan.Quote(nil, mark.Text)})
		case b.Kind == pemmican.Text || b.Kind == pemmican.Summary:
			set(at.element, "text", jsonspan.Quote(nil, mark.Text))
		case b.Kind == pemmican.Media:
			edits = append(edits, jsonspan.Edit{Span: at.element, New: textElement(mark.Text)})
		case b.Kind == pemmican.ToolCall:
			args := []byte(mark.Text)
			if v, err := jsonspan.Scan(args, 0); err != nil || jsonspan.KindAt(args, v) != jsonspan.KindObject || len(bytes.TrimSpace(args[v.End:])) > 0 {
				return fmt.Errorf("block %d: the arguments that are to stand for those of the call are no JSON object", i)
			}
			set(at.element, "input", bytes.TrimSpace(args))
		default:
			return w.cannotStub(i)
		}
	}
	if len(dropped) > 0 {
		var gone []bool
		for v := range d.index.Elements(d.data, l.content) {
			gone = append(gone, dropped[v.Start])
		}
		edits = append(edits, jsonspan.RemoveElements(d.data, l.content, func(i int) bool { return gone[i] })...)
	}
	if resultTouched {
		var keys []bool
		for k := range d.index.Members(d.data, l.span) {
			keys = append(keys, string(d.key(k)) == "toolUseResult")
		}
		edits = append(edits, jsonspan.RemoveElements(d.data, l.span, func(i int) bool { return keys[i] })...)
	}
	slices.SortStableFunc(edits, func(a, b jsonspan.Edit) int { return a.Start - b.Start })
	for i := range edits {
		edits[i].Start -= l.span.Start
		edits[i].End -= l.span.Start
	}
	line, err := jsonspan.Splice(l.span.Of(d.data), edits)
	if err != nil {
		return fmt.Errorf("line %d: %w", l.no, err)
	}
	w.append(id, oneLine(line))
	return nil
}

// result edits the content of a tool result: block i is the result, the blocks behind it up to end are the parts of it
// that are no text.
func (w *writer) result(edits *[]jsonspan.Edit, i, end int, marks func(int) pemmican.Mark) (touched bool, err error) {
	d := w.d
	for k := i; k < end; k++ {
		if a := marks(k).Action; a != pemmican.Keep {
			touched = true
			if a == pemmican.Stub && d.tr.Blocks[k].Kind == pemmican.Opaque {
				return false, w.cannotStub(k)
			}
		}
	}
	element := d.origins[i].element
	if !touched || marks(i).Action == pemmican.Drop {
		return touched, nil
	}
	text, stub := marks(i).Text, marks(i).Action == pemmican.Stub
	content := d.member(element, "content")
	var parts [][]byte
	if stub {
		parts = append(parts, textElement(text))
	}
	k := i + 1
	for v := range d.index.Elements(d.data, content) {
		if k < end && d.origins[k].part == v {
			switch mark := marks(k); mark.Action {
			case pemmican.Keep:
				parts = append(parts, v.Of(d.data))
			case pemmican.Stub:
				parts = append(parts, textElement(mark.Text))
			}
			k++
		} else if !stub {
			parts = append(parts, v.Of(d.data))
		}
	}
	if stub && len(parts) == 1 {
		*edits = append(*edits, d.set(element, "content", jsonspan.Quote(nil, text)))
		return true, nil
	}
	value := append(append([]byte("["), bytes.Join(parts, []byte(","))...), ']')
	*edits = append(*edits, d.set(element, "content", value))
	return true, nil
}

func (w *writer) cannotStub(i int) error {
	return fmt.Errorf("block %d: %s cannot be replaced by a text, only kept or dropped", i, w.d.tr.Blocks[i].Kind)
}

// set returns the edit that gives a member of an object a value, at its end if it has no such member.
func (d *Doc) set(object jsonspan.Span, key string, value []byte) jsonspan.Edit {
	if v, ok := d.index.Get(d.data, object, key); ok {
		return jsonspan.Edit{Span: v, New: value}
	}
	at := object.End - 1
	comma := ""
	for range d.index.Members(d.data, object) {
		comma = ","
		break
	}
	return jsonspan.Edit{Span: jsonspan.Span{Start: at, End: at}, New: fmt.Appendf(nil, `%s"%s":%s`, comma, key, value)}
}

// oneLine replaces the line feeds of a JSON value, which can only stand between its parts, since the agent reads lines.
func oneLine(value []byte) []byte {
	if bytes.IndexByte(value, '\n') < 0 && bytes.IndexByte(value, '\r') < 0 {
		return value
	}
	value = bytes.Clone(value)
	for i, c := range value {
		if c == '\n' || c == '\r' {
			value[i] = ' '
		}
	}
	return value
}

// markName is our own member of the boundary's compactMetadata; the agent reads over it (observed).
const markName = "pemmican"

// finish writes the boundary, now that the list is known, and puts everything together.
func (w *writer) finish() []byte {
	d := w.d
	var b []byte
	b = append(b, `{"parentUuid":null`...)
	if d.leaf >= 0 {
		b = append(b, `,"logicalParentUuid":`...)
		b = jsonspan.Quote(b, d.lines[d.leaf].uuid)
	}
	b = append(b, `,"isSidechain":false,"type":"system","subtype":"compact_boundary","content":"Conversation compacted","isMeta":false`...)
	b = fmt.Appendf(b, `,"timestamp":%s,"uuid":"%s","level":"info","compactMetadata":{"trigger":"manual","preTokens":%d`, w.time, w.boundary, d.tokens())
	if len(w.list) > 0 {
		ids := []byte{'['}
		for i, id := range w.list {
			if i > 0 {
				ids = append(ids, ',')
			}
			ids = jsonspan.Quote(ids, id)
		}
		ids = append(ids, ']')
		// The segment is for versions that know no list: they keep all from its head to its tail, which is too much,
		// but loses nothing (observed).
		b = fmt.Appendf(b, `,"preservedSegment":{"headUuid":%s,"anchorUuid":"%s","tailUuid":%s}`,
			jsonspan.Quote(nil, w.list[0]), w.boundary, jsonspan.Quote(nil, w.list[len(w.list)-1]))
		b = fmt.Appendf(b, `,"preservedMessages":{"anchorUuid":"%s","uuids":%s,"allUuids":%s}`, w.boundary, ids, ids)
	}
	hash := sha256.Sum256(d.data)
	b = fmt.Appendf(b, `,"%s":{"v":1,"before":%d,"sha256":"%s","lines":%d}}`, markName, len(d.data), hex.EncodeToString(hash[:]), len(w.lines)+1)
	b = append(append(b, w.envelope...), '}')

	size := len(d.data) + len(b) + 2
	for _, l := range w.lines {
		size += len(l) + 1
	}
	out := make([]byte, 0, size)
	out = append(out, d.data...)
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	out = append(append(out, b...), '\n')
	for _, l := range w.lines {
		out = append(append(out, l...), '\n')
	}
	return out
}

// tokens is the size of the context that was reported last, 0 if there is none.
func (d *Doc) tokens() int {
	for m := len(d.tr.Messages) - 1; m >= 0; m-- {
		if d.tr.Messages[m].Usage > 0 {
			return d.tr.Messages[m].Usage
		}
	}
	return 0
}

// Undo returns the length of the file before the last Apply. It returns format.ErrNothingToUndo if Apply did not write
// the end of the file, if anything follows, or if anything before was altered.
func (d *Doc) Undo() (int, error) {
	for i := len(d.lines) - 1; i >= 0; i-- {
		l := &d.lines[i]
		if l.kind != kindBoundary {
			continue
		}
		mark, ok := d.index.Get(d.data, l.compact, markName)
		if !ok {
			break
		}
		before, ok1 := jsonspan.Int(d.data, d.member(mark, "before"))
		count, ok2 := jsonspan.Int(d.data, d.member(mark, "lines"))
		if !ok1 || !ok2 || before < 0 || before > int64(l.span.Start) {
			break
		}
		old := d.data[:before]
		between, tail := string(d.data[before:l.span.Start]), d.data[l.span.Start:]
		if between != "" && between != "\n" || int64(bytes.Count(tail, []byte("\n"))) != count || tail[len(tail)-1] != '\n' {
			break
		}
		if hash := sha256.Sum256(old); d.text(mark, "sha256") != hex.EncodeToString(hash[:]) {
			break
		}
		return int(before), nil
	}
	return 0, format.ErrNothingToUndo
}
