package claudecode

import (
	"bytes"
	"errors"

	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// kind is what a line with a uuid holds, as far as this package cares.
type kind uint8

const (
	kindOther kind = iota // an api_error, a hook's summary: in the chain, never sent
	kindProgress
	kindUser
	kindAssistant
	kindAttachment
	kindCommand // the output of a command that ran in the agent itself
	kindBoundary
)

// line is a line with a uuid.
type line struct {
	span         jsonspan.Span
	no           int // 1-based
	kind         kind
	uuid, parent string

	sidechain, meta, compactSummary, apiError bool

	time    string // as it stands
	message string // message.id
	model   string
	source  string // the uuid of the line with the call that this one answers
	request string // the api-request line that this message answers
	version string

	content    jsonspan.Span // of the message, or of a system line
	usage      jsonspan.Span
	attachment jsonspan.Span
	rendered   jsonspan.Span // the texts of an attachment as they are sent, in newer files
	compact    jsonspan.Span // what a boundary says of the lines that it preserves
}

// queueOp is a queue-operation line. It has no uuid.
type queueOp struct {
	no   int
	at   int // how many lines with a uuid stand before it
	op   string
	text string
}

// summaryLine is the title of the session that ends with a line, which may be in another file.
type summaryLine struct{ leaf, text string }

// read finds the lines. Its error tells that this is no session file.
func (d *Doc) read() error {
	known := false
	for item := range d.index.Values(d.data) {
		if item.Err != nil {
			d.bad = append(d.bad, item.Line)
			if errors.Is(item.Err, jsonspan.ErrTruncated) {
				d.warnf("line %d is half written; it is kept as it is and not used", item.Line)
			} else {
				d.warnf("line %d is no JSON; it is kept as it is and not used", item.Line)
			}
			continue
		}
		if d.readLine(item) {
			known = true
		}
	}
	if !known {
		return &format.Error{
			Msg:  "this is no session file of Claude Code: no line has the uuid or the sessionId of one",
			Mend: "name a file under ~/.claude/projects",
			Err:  format.ErrUnknownFormat,
		}
	}
	for i := range d.lines {
		d.byID[d.lines[i].uuid] = i // of equal ones the last counts, as in the agent's own table
	}
	d.sidechain = len(d.lines) > 0
	for i := range d.lines {
		if !d.lines[i].sidechain {
			d.sidechain = false
			break
		}
	}
	return nil
}

// readLine reads one value, and reports whether it is a line of Claude Code.
func (d *Doc) readLine(item jsonspan.Item) (known bool) {
	l := line{span: item.Span, no: item.Line}
	var typ, sub, session string
	var message, content, leaf, title, summary, operation, id, shapeHash, shape jsonspan.Span
	for k, v := range d.index.Members(d.data, item.Span) {
		switch string(d.key(k)) {
		case "type":
			typ = d.str(v)
		case "subtype":
			sub = d.str(v)
		case "uuid":
			l.uuid = d.str(v)
		case "parentUuid":
			l.parent = d.str(v)
		case "sessionId":
			session = d.str(v)
		case "isSidechain":
			l.sidechain = d.isTrue(v)
		case "isMeta":
			l.meta = d.isTrue(v)
		case "isCompactSummary":
			l.compactSummary = d.isTrue(v)
		case "isApiErrorMessage":
			l.apiError = d.isTrue(v)
		case "timestamp":
			l.time = d.str(v)
		case "sourceToolAssistantUUID":
			l.source = d.str(v)
		case "requestRef":
			l.request = d.str(v)
		case "version":
			l.version = d.str(v)
		case "message":
			message = v
		case "content":
			content = v
		case "attachment":
			l.attachment = v
		case "rendered":
			l.rendered = v
		case "compactMetadata":
			l.compact = v
		case "leafUuid":
			leaf = v
		case "customTitle", "aiTitle":
			title = v
		case "summary":
			summary = v
		case "operation":
			operation = v
		case "id":
			id = v
		case "shapeHash":
			shapeHash = v
		case "shape":
			shape = v
		}
	}
	if typ == "" {
		return false
	}
	if l.uuid != "" {
		switch typ {
		case "user":
			l.kind = kindUser
			d.readMessage(&l, message)
		case "assistant":
			l.kind = kindAssistant
			d.readMessage(&l, message)
		case "attachment":
			l.kind = kindAttachment
		case "progress":
			l.kind = kindProgress
		case "system":
			l.content = content
			switch sub {
			case "compact_boundary":
				l.kind = kindBoundary
			case "local_command":
				l.kind = kindCommand
			}
		}
		d.lines = append(d.lines, l)
		return true
	}
	switch typ {
	case "queue-operation":
		d.queue = append(d.queue, queueOp{no: l.no, at: len(d.lines), op: d.str(operation), text: d.str(content)})
	case "last-prompt":
		d.promptLeaf, d.promptAt = d.str(leaf), len(d.lines)
	case "custom-title":
		d.custom = d.str(title)
	case "ai-title":
		d.ai = d.str(title)
	case "summary":
		d.summaries = append(d.summaries, summaryLine{leaf: d.str(leaf), text: d.str(summary)})
		return !leaf.Empty()
	case "api-request":
		if d.shapeOf == nil {
			d.shapeOf = map[string]string{}
		}
		d.shapeOf[d.str(id)] = d.str(shapeHash)
	case "api-request-shape":
		if d.shapes == nil {
			d.shapes = map[string]jsonspan.Span{}
		}
		d.shapes[d.str(shapeHash)] = shape
	case "file-history-snapshot":
		return true
	}
	return session != ""
}

func (d *Doc) readMessage(l *line, message jsonspan.Span) {
	for k, v := range d.index.Members(d.data, message) {
		switch string(d.key(k)) {
		case "id":
			l.message = d.str(v)
		case "model":
			l.model = d.str(v)
		case "content":
			l.content = v
		case "usage":
			l.usage = v
		}
	}
}

// key returns the text of a key; the callers only compare it.
func (d *Doc) key(k jsonspan.Span) []byte {
	raw := k.Of(d.data)
	if bytes.IndexByte(raw, '\\') >= 0 {
		raw, _ = jsonspan.AppendString(nil, d.data, k)
		return raw
	}
	return raw[1 : len(raw)-1]
}

func (d *Doc) isTrue(v jsonspan.Span) bool {
	b, _ := jsonspan.Bool(d.data, v)
	return b
}
