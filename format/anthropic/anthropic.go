// Package anthropic reads and writes request bodies of the Anthropic Messages API.
//
// An input is a request body, or its bare array of messages; both can be written back. A recorded exchange, or a log of
// several, is read as its last request, and cannot be written.
//
// The system text leads the transcript as one message of its own. A user message that holds nothing but tool results,
// and the pictures in them, has the role Tool; one with a person's text beside results stays one User message, since
// blocks are paired by what they are. Tools that Anthropic's servers run are opaque.
//
// The server ignores everything before the last compaction block. So what stands before it is no part of the
// transcript, and its bytes stay as they are; a plan that drops the compaction block drops it too, or else it would
// come back to life. A summary never stands before a compaction block that is kept, but behind the step it begins.
//
// The rules that Check knows are those of the API's error messages, see
// https://docs.anthropic.com/en/api/messages.
package anthropic

import (
	"bytes"
	"fmt"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/format/internal/wire"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// Name is the name of the format.
const Name = "anthropic"

// Detect reports whether data looks like an input of this format. It validates nothing.
func Detect(data []byte) bool { return wire.Sniff(data) == wire.Anthropic }

// Doc is a decoded request. It is safe for concurrent use.
type Doc struct {
	data     []byte
	in       wire.Input
	t        pemmican.Transcript
	messages []message
	places   []place // of each block
	barrier  int     // the block of the last compaction, -1 if there is none
}

var _ format.Document = (*Doc)(nil)

type message struct {
	span, content jsonspan.Span
	role          string
	first, end    int // its blocks
	// dead is how many of its parts stand before the last compaction block.
	dead int
}

// place is where a block stands.
type place struct {
	message int // -1 is the system text
	part    int // in the content; -1 is the whole of a message without one
	sub     int // in the content of a tool result, -1 if it is no part of one
	span    jsonspan.Span
}

// Decode reads a request. The error is a *format.Error.
func Decode(data []byte) (*Doc, error) {
	in, err := wire.Locate(data)
	if err != nil {
		return nil, err
	}
	d := &Doc{data: data, in: in, barrier: -1}
	d.t.HasSystem = !in.Bare()
	d.t.Tools = string(in.Tools.Of(data))
	d.t.Model = in.Model
	d.t.Warnings = in.Warnings
	r := reader{Doc: d, open: wire.OpenCalls{}}
	if err := r.system(); err != nil {
		return nil, err
	}
	for m := range jsonspan.Elements(data, in.Messages) {
		if err := r.message(m); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Format returns Name.
func (d *Doc) Format() string { return Name }

// Transcript returns the live conversation.
func (d *Doc) Transcript() *pemmican.Transcript { return &d.t }

// reader is a document that is being read.
type reader struct {
	*Doc
	open   wire.OpenCalls
	blocks []pemmican.Block // of the message that is being read
}

// answered returns the name of the tool whose call a result answers, "" if there is none.
func (r *reader) answered(id string) string {
	if call := r.open.Answer(id); call >= 0 {
		return r.t.Blocks[call].Tool
	}
	return ""
}

func (r *reader) add(b pemmican.Block, p place) {
	r.blocks = append(r.blocks, b)
	r.places = append(r.places, p)
}

func (r *reader) system() error {
	v := r.in.System
	switch jsonspan.KindAt(r.data, v) {
	case jsonspan.KindInvalid, jsonspan.KindNull:
		return nil
	case jsonspan.KindString:
		if text := wire.Text(r.data, v); text != "" {
			r.add(pemmican.Block{Text: text}, place{-1, 0, -1, v})
		}
	case jsonspan.KindArray:
		k := 0
		for part := range jsonspan.Elements(r.data, v) {
			r.part(pemmican.System, part, place{-1, k, -1, part})
			k++
		}
	default:
		return &format.Error{Line: r.in.Line, Msg: "system is neither text nor a list of text blocks"}
	}
	if len(r.blocks) > 0 {
		r.t.Add(pemmican.System, r.blocks...)
	}
	return nil
}

func (r *reader) message(v jsonspan.Span) error {
	n := len(r.messages)
	fail := func(msg string) error {
		return &format.Error{Line: r.in.Line, Msg: fmt.Sprintf("messages[%d] %s", n, msg), Mend: "a message is an object with a role and a content"}
	}
	if jsonspan.KindAt(r.data, v) != jsonspan.KindObject {
		return fail("is no object")
	}
	m := message{span: v}
	for key, val := range jsonspan.Members(r.data, v) {
		switch {
		case jsonspan.Equal(r.data, key, "role"):
			m.role = wire.Text(r.data, val)
		case jsonspan.Equal(r.data, key, "content"):
			m.content = val
		}
	}
	role := pemmican.User
	switch m.role {
	case "user":
	case "assistant":
		role = pemmican.Assistant
	case "system", "developer":
		role = pemmican.System
	default:
		r.t.Warnings = append(r.t.Warnings, fmt.Sprintf("messages[%d] has the unknown role %q", n, m.role))
	}
	known := role != pemmican.User || m.role == "user"

	r.blocks = r.blocks[:0]
	m.first = len(r.places)
	switch jsonspan.KindAt(r.data, m.content) {
	case jsonspan.KindString:
		text := wire.Text(r.data, m.content)
		b := pemmican.Block{Text: text}
		if role == pemmican.User {
			b = wire.UserText(text)
		}
		r.add(b, place{n, 0, -1, m.content})
	case jsonspan.KindArray:
		k := 0
		for part := range jsonspan.Elements(r.data, m.content) {
			if r.part(role, part, place{n, k, -1, part}) {
				r.reset(k, &m)
			}
			k++
		}
	case jsonspan.KindInvalid, jsonspan.KindNull:
	default:
		return fail("has a content that is neither text nor a list of blocks")
	}
	if len(r.blocks) == 0 {
		r.add(pemmican.Block{}, place{n, -1, -1, m.span})
	}
	if !known {
		for i := range r.blocks {
			r.blocks[i] = pemmican.Block{Kind: pemmican.Opaque, Text: r.blocks[i].Text, Bytes: len(r.places[m.first+i].span.Of(r.data))}
		}
	}
	author := pemmican.ByRole
	if role == pemmican.User {
		if author = wire.Author(r.blocks); onlyResults(r.blocks) {
			role = pemmican.Tool
		}
		if !known {
			author = pemmican.ByRuntime
		}
	}
	i := r.t.Add(role, r.blocks...)
	r.t.Messages[i].Author = author
	m.end = len(r.places)
	r.messages = append(r.messages, m)
	return nil
}

func onlyResults(blocks []pemmican.Block) bool {
	for i := range blocks {
		if blocks[i].Kind != pemmican.ToolResult && blocks[i].CallID == "" {
			return false
		}
	}
	return true
}

// reset makes everything dead that was read before the compaction block that was read last, part k of message m.
func (r *reader) reset(k int, m *message) {
	system := 0
	for system < len(r.places) && r.places[system].message < 0 {
		system++
	}
	compacted, at := r.blocks[len(r.blocks)-1], r.places[len(r.places)-1]
	r.t.Blocks = r.t.Blocks[:system]
	r.t.Messages = r.t.Messages[:min(len(r.t.Messages), min(system, 1))]
	r.places = append(r.places[:system], at)
	r.blocks = append(r.blocks[:0], compacted)
	for i := range r.messages {
		r.messages[i].first, r.messages[i].end = 0, 0
	}
	m.first, m.dead = system, k
	clear(r.open)
	r.barrier = system
}

// part reads one content block, with what is in it. It reports whether that makes all before it dead.
func (r *reader) part(role pemmican.Role, v jsonspan.Span, at place) (compaction bool) {
	if jsonspan.KindAt(r.data, v) == jsonspan.KindString {
		b := pemmican.Block{Text: wire.Text(r.data, v)}
		if role == pemmican.User {
			b = wire.UserText(b.Text)
		}
		r.add(b, at)
		return false
	}
	var f fields
	f.read(r.data, v)
	switch kind := wire.Text(r.data, f.kind); {
	case kind == "text":
		b := pemmican.Block{Text: wire.Text(r.data, f.text)}
		if role == pemmican.User {
			b = wire.UserText(b.Text)
		}
		r.add(b, at)
	case kind == "image" || kind == "document":
		r.add(r.media(v, &f, kind), at)
	case kind == "thinking" && role == pemmican.Assistant:
		r.add(pemmican.Block{Kind: pemmican.Reasoning, Text: wire.Text(r.data, f.thinking), Bound: wire.Text(r.data, f.signature) != ""}, at)
	case kind == "redacted_thinking" && role == pemmican.Assistant:
		r.add(pemmican.Block{Kind: pemmican.Reasoning, Bound: true, Bytes: len(v.Of(r.data))}, at)
	case kind == "tool_use" && role == pemmican.Assistant:
		b := pemmican.Block{Kind: pemmican.ToolCall, CallID: wire.Text(r.data, f.id), Tool: wire.Text(r.data, f.name), Args: string(f.input.Of(r.data))}
		r.open.Add(b.CallID, len(r.t.Messages), len(r.t.Blocks)+len(r.blocks))
		r.add(b, at)
	case kind == "tool_result" && role == pemmican.User && f.readable(r.data):
		r.result(&f, at)
	default:
		b := pemmican.Block{Kind: pemmican.Opaque, Text: wire.Readable(r.data, v), Bytes: len(v.Of(r.data))}
		r.add(b, at)
		encrypted, _ := jsonspan.Get(r.data, v, "encrypted_content")
		// A compaction that failed has neither text, and stands for nothing.
		return kind == "compaction" && role == pemmican.Assistant && (wire.Text(r.data, f.content) != "" || wire.Text(r.data, encrypted) != "")
	}
	return false
}

// fields are the members of a content block that are read.
type fields struct {
	kind, text, thinking, signature, id, name, input, toolUseID, content, isError, source, title jsonspan.Span
}

func (f *fields) read(data []byte, v jsonspan.Span) {
	for key, val := range jsonspan.Members(data, v) {
		name := key.Of(data)
		if bytes.IndexByte(name, '\\') >= 0 {
			plain, _ := jsonspan.String(data, key)
			name = jsonspan.Quote(nil, plain)
		}
		switch string(name) {
		case `"type"`:
			f.kind = val
		case `"text"`:
			f.text = val
		case `"thinking"`:
			f.thinking = val
		case `"signature"`:
			f.signature = val
		case `"id"`:
			f.id = val
		case `"name"`:
			f.name = val
		case `"input"`:
			f.input = val
		case `"tool_use_id"`:
			f.toolUseID = val
		case `"content"`:
			f.content = val
		case `"is_error"`:
			f.isError = val
		case `"source"`:
			f.source = val
		case `"title"`:
			f.title = val
		}
	}
}

// readable reports whether the content of a tool result is one that a plan can be applied to.
func (f *fields) readable(data []byte) bool {
	switch jsonspan.KindAt(data, f.content) {
	case jsonspan.KindString, jsonspan.KindArray, jsonspan.KindNull, jsonspan.KindInvalid:
		return true
	}
	return false
}

// result reads a tool result: its text, and behind it what else it holds.
func (r *reader) result(f *fields, at place) {
	id := wire.Text(r.data, f.toolUseID)
	b := pemmican.Block{Kind: pemmican.ToolResult, CallID: id, Tool: r.answered(id), Text: wire.Text(r.data, f.content)}
	b.Error, _ = jsonspan.Bool(r.data, f.isError)
	k := len(r.blocks)
	r.add(b, at)
	sub := 0
	for part := range jsonspan.Elements(r.data, f.content) {
		if text, _, ok := textOf(r.data, part); ok {
			r.blocks[k].Text = wire.JoinText(r.blocks[k].Text, text)
		} else if id != "" { // without one nothing would say whose it is
			var pf fields
			pf.read(r.data, part)
			inner := pemmican.Block{Kind: pemmican.Opaque, Text: wire.Readable(r.data, part), Bytes: len(part.Of(r.data))}
			if kind := wire.Text(r.data, pf.kind); kind == "image" || kind == "document" {
				inner = r.media(part, &pf, kind)
			}
			inner.CallID = id
			r.add(inner, place{at.message, at.part, sub, part})
		}
		sub++
	}
}

// textOf returns the text of a text part, and the value that holds it; false if it is no text part.
func textOf(data []byte, part jsonspan.Span) (text string, value jsonspan.Span, ok bool) {
	if jsonspan.KindAt(data, part) == jsonspan.KindString {
		return wire.Text(data, part), part, true
	}
	var f fields
	f.read(data, part)
	if !jsonspan.Equal(data, f.kind, "text") {
		return "", jsonspan.Span{}, false
	}
	return wire.Text(data, f.text), f.text, true
}

func (r *reader) media(v jsonspan.Span, f *fields, kind string) pemmican.Block {
	b := pemmican.Block{Kind: pemmican.Media, Bytes: len(v.Of(r.data))}
	get := func(key string) jsonspan.Span {
		val, _ := jsonspan.Get(r.data, f.source, key)
		return val
	}
	mime := wire.Text(r.data, get("media_type"))
	switch wire.Text(r.data, get("type")) {
	case "base64":
		if mime == "" && kind == "document" {
			mime = "application/pdf"
		}
		b.Media = wire.Base64(r.data, get("data"), mime)
	case "url":
		b.Media = wire.URL(r.data, get("url"))
	case "file":
		b.Media.Name = wire.Text(r.data, get("file_id"))
	case "text":
		b.Media.Type = "text/plain"
		b.Text = wire.Text(r.data, get("data"))
	case "content":
		b.Text = wire.Readable(r.data, get("content"))
	}
	if b.Media.Type == "" {
		b.Media.Type = mime
	}
	if title := wire.Text(r.data, f.title); title != "" {
		b.Media.Name = title
	}
	return b
}
