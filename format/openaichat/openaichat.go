// Package openaichat reads and writes request bodies of the OpenAI Chat Completions API and of the many that are
// compatible with it.
//
// An input is a request body, or its bare array of messages; both can be written back. A recorded exchange, or a log of
// several, is read as its last request, and cannot be written.
//
// Messages with the role system or developer are system messages where they stand. The reasoning that some providers
// add to an assistant message (reasoning_content, reasoning, reasoning_details) is one block, which leads the message:
// dropping it removes the members. The calls of an assistant message follow its text. A call in the old form, a
// function_call, has the name of its function for an id.
//
// The format has no flag for a result that reports a failure. One is taken for such if it begins with "Error:",
// "ERROR:", "error:", "Error executing", a Python traceback or <tool_use_error>, or if it is a JSON object with a
// member error that holds something.
//
// The rules that Check knows are those of the API's error messages and of compatible ones.
package openaichat

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/format/internal/wire"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// Name is the name of the format.
const Name = "openai-chat"

// Detect reports whether data looks like an input of this format. It validates nothing.
func Detect(data []byte) bool { return wire.Sniff(data) == wire.Chat }

// Doc is a decoded request. It is safe for concurrent use.
type Doc struct {
	data     []byte
	in       wire.Input
	t        pemmican.Transcript
	messages []message
	places   []place // of each block
}

var _ format.Document = (*Doc)(nil)

type message struct {
	span       jsonspan.Span
	role       string
	first, end int // its blocks
	members
}

// members are the members of a message that are read.
type members struct {
	content, calls, callID, name, reasoningContent, reasoning, reasoningDetails, function, refusal, audio jsonspan.Span
}

// spot is the part of a message that a block stands in.
type spot uint8

const (
	inContent   spot = iota // a part of the content, or the one string
	inCalls                 // an element of tool_calls, also where there may be none
	inResult                // the whole message, but for what else is in its content
	inReasoning             // the reasoning members
	inFunction              // function_call
	inRefusal               // refusal
	inAudio                 // audio
	inNothing               // a message without anything
	inMessage               // a message of an unknown role
)

// place is where a block stands.
type place struct {
	message int
	spot    spot
	n       int           // the index in the content or the calls
	span    jsonspan.Span // its bytes
}

// Decode reads a request. The error is a *format.Error.
func Decode(data []byte) (*Doc, error) {
	in, err := wire.Locate(data)
	if err != nil {
		return nil, err
	}
	d := &Doc{data: data, in: in}
	d.t.HasSystem = !in.Bare()
	d.t.Tools = string(in.Tools.Of(data))
	d.t.Model = in.Model
	d.t.Warnings = in.Warnings
	r := reader{Doc: d, open: wire.OpenCalls{}}
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

func (r *reader) add(b pemmican.Block, spot spot, n int, v jsonspan.Span) {
	r.blocks = append(r.blocks, b)
	r.places = append(r.places, place{len(r.messages), spot, n, v})
}

func (r *reader) message(v jsonspan.Span) error {
	n := len(r.messages)
	fail := func(msg string) error {
		return &format.Error{Line: r.in.Line, Msg: fmt.Sprintf("messages[%d] %s", n, msg), Mend: "a message is an object with a role and a content"}
	}
	if jsonspan.KindAt(r.data, v) != jsonspan.KindObject {
		return fail("is no object")
	}
	m := message{span: v, first: len(r.places)}
	m.role = m.members.read(r.data, v)
	switch jsonspan.KindAt(r.data, m.content) {
	case jsonspan.KindInvalid, jsonspan.KindNull, jsonspan.KindString, jsonspan.KindArray:
	default:
		return fail("has a content that is neither text nor a list of parts")
	}
	r.blocks = r.blocks[:0]
	role, author, known := pemmican.User, pemmican.ByRole, true
	switch m.role {
	case "user":
		r.content(role, m.content)
		author = wire.Author(r.blocks)
	case "assistant":
		role = pemmican.Assistant
		r.assistant(&m)
	case "tool", "function":
		role = pemmican.Tool
		r.result(&m)
	case "system", "developer":
		role = pemmican.System
		r.content(role, m.content)
	default:
		author, known = pemmican.ByRuntime, false
		r.t.Warnings = append(r.t.Warnings, fmt.Sprintf("messages[%d] has the unknown role %q", n, m.role))
		r.add(pemmican.Block{Kind: pemmican.Opaque, Text: wire.Readable(r.data, v), Bytes: len(v.Of(r.data))}, inMessage, 0, v)
	}
	if role != pemmican.Assistant && known {
		r.strayCalls(&m)
	}
	if len(r.blocks) == 0 {
		if jsonspan.KindAt(r.data, m.content) == jsonspan.KindString {
			r.add(pemmican.Block{}, inContent, 0, m.content)
		} else {
			r.add(pemmican.Block{}, inNothing, 0, v)
		}
	}
	i := r.t.Add(role, r.blocks...)
	r.t.Messages[i].Author = author
	m.end = len(r.places)
	r.messages = append(r.messages, m)
	return nil
}

// read finds the members of a message, and returns its role.
func (m *members) read(data []byte, v jsonspan.Span) (role string) {
	for key, val := range jsonspan.Members(data, v) {
		name := key.Of(data)
		if bytes.IndexByte(name, '\\') >= 0 {
			plain, _ := jsonspan.String(data, key)
			name = jsonspan.Quote(nil, plain)
		}
		switch string(name) {
		case `"role"`:
			role = wire.Text(data, val)
		case `"content"`:
			m.content = val
		case `"tool_calls"`:
			m.calls = val
		case `"tool_call_id"`:
			m.callID = val
		case `"name"`:
			m.name = val
		case `"reasoning_content"`:
			m.reasoningContent = val
		case `"reasoning"`:
			m.reasoning = val
		case `"reasoning_details"`:
			m.reasoningDetails = val
		case `"function_call"`:
			m.function = val
		case `"refusal"`:
			m.refusal = val
		case `"audio"`:
			m.audio = val
		}
	}
	return role
}

// content reads the content of a message; a text that is empty is read only where it is a part.
func (r *reader) content(role pemmican.Role, v jsonspan.Span) {
	if text, ok := jsonspan.String(r.data, v); ok {
		if text != "" {
			r.text(role, text, 0, v)
		}
		return
	}
	n := 0
	for part := range jsonspan.Elements(r.data, v) {
		if text, _, ok := textOf(r.data, part); ok {
			r.text(role, text, n, part)
		} else {
			b := r.part(part)
			if b.Kind == pemmican.Reasoning && role != pemmican.Assistant {
				b.Kind = pemmican.Opaque
			}
			r.add(b, inContent, n, part)
		}
		n++
	}
}

func (r *reader) text(role pemmican.Role, text string, n int, v jsonspan.Span) {
	b := pemmican.Block{Text: text}
	if role == pemmican.User {
		b = wire.UserText(text)
	}
	r.add(b, inContent, n, v)
}

// textOf returns the text of a text part and the name of the member that holds it, "" for a part that is a string;
// false if it is no text part.
func textOf(data []byte, part jsonspan.Span) (text, member string, ok bool) {
	if jsonspan.KindAt(data, part) == jsonspan.KindString {
		return wire.Text(data, part), "", true
	}
	kind, _ := jsonspan.Get(data, part, "type")
	switch {
	case jsonspan.Equal(data, kind, "text"), jsonspan.Equal(data, kind, "input_text"), jsonspan.Equal(data, kind, "output_text"):
		member = "text"
	case jsonspan.Equal(data, kind, "refusal"):
		member = "refusal"
	default:
		return "", "", false
	}
	v, _ := jsonspan.Get(data, part, member)
	return wire.Text(data, v), member, true
}

// part reads a part that is no text.
func (r *reader) part(v jsonspan.Span) pemmican.Block {
	b := pemmican.Block{Kind: pemmican.Media, Bytes: len(v.Of(r.data))}
	get := func(keys ...string) jsonspan.Span {
		val, _ := jsonspan.Lookup(r.data, v, keys...)
		return val
	}
	switch wire.Text(r.data, get("type")) {
	case "image_url":
		url := get("image_url")
		if jsonspan.KindAt(r.data, url) == jsonspan.KindObject {
			url = get("image_url", "url")
		}
		b.Media = wire.URL(r.data, url)
	case "input_audio":
		b.Media.Type = "audio/" + wire.Text(r.data, get("input_audio", "format"))
	case "video_url":
		b.Media = wire.URL(r.data, get("video_url", "url"))
	case "file":
		b.Media = wire.URL(r.data, get("file", "file_data"))
		for _, key := range []string{"file_id", "filename"} {
			if name := wire.Text(r.data, get("file", key)); name != "" {
				b.Media.Name = name
			}
		}
	case "thinking", "reasoning":
		b.Kind, b.Text = pemmican.Reasoning, wire.Readable(r.data, v)
	default:
		b.Kind, b.Text = pemmican.Opaque, wire.Readable(r.data, v)
	}
	return b
}

func (r *reader) assistant(m *message) {
	if text, v := r.reasoning(&m.members); !v.Empty() {
		r.add(pemmican.Block{Kind: pemmican.Reasoning, Text: text}, inReasoning, 0, v)
	}
	r.content(pemmican.Assistant, m.content)
	if text := wire.Text(r.data, m.refusal); text != "" {
		r.add(pemmican.Block{Text: text}, inRefusal, 0, m.refusal)
	}
	if jsonspan.KindAt(r.data, m.audio) == jsonspan.KindObject {
		r.add(pemmican.Block{Kind: pemmican.Opaque, Text: wire.Readable(r.data, m.audio), Bytes: len(m.audio.Of(r.data))}, inAudio, 0, m.audio)
	}
	if jsonspan.KindAt(r.data, m.function) == jsonspan.KindObject {
		b := pemmican.Block{Kind: pemmican.ToolCall}
		_, args, _ := callOf(r.data, m.function)
		b.Args, _ = argsOf(r.data, args)
		name, _ := jsonspan.Get(r.data, m.function, "name")
		b.Tool = wire.Text(r.data, name)
		b.CallID = b.Tool
		r.open.Add(b.CallID, len(r.t.Messages), len(r.t.Blocks)+len(r.blocks))
		r.add(b, inFunction, 0, m.function)
	}
	n := 0
	for v := range jsonspan.Elements(r.data, m.calls) {
		id, _ := jsonspan.Get(r.data, v, "id")
		b := pemmican.Block{Kind: pemmican.ToolCall, CallID: wire.Text(r.data, id)}
		if inner, args, ok := callOf(r.data, v); ok {
			name, _ := jsonspan.Get(r.data, inner, "name")
			b.Tool = wire.Text(r.data, name)
			b.Args, _ = argsOf(r.data, args)
			r.open.Add(b.CallID, len(r.t.Messages), len(r.t.Blocks)+len(r.blocks))
		} else {
			b.Kind, b.Text, b.Bytes = pemmican.Opaque, wire.Readable(r.data, v), len(v.Of(r.data))
		}
		r.add(b, inCalls, n, v)
		n++
	}
}

// strayCalls reads calls in a message that may have none. They are no calls, but can be dropped.
func (r *reader) strayCalls(m *message) {
	n, id := 0, ""
	if len(r.blocks) > 0 && r.blocks[0].Kind == pemmican.ToolResult {
		if id = r.blocks[0].CallID; id == "" {
			return // nothing would say whose they are
		}
	}
	for v := range jsonspan.Elements(r.data, m.calls) {
		r.add(pemmican.Block{Kind: pemmican.Opaque, CallID: id, Text: wire.Readable(r.data, v), Bytes: len(v.Of(r.data))}, inCalls, n, v)
		n++
	}
}

// reasoning returns what can be read of the reasoning of an assistant message, and one of its members, empty if it has
// none.
func (r *reader) reasoning(m *members) (text string, v jsonspan.Span) {
	for _, member := range []jsonspan.Span{m.reasoningContent, m.reasoning} {
		if s := wire.Text(r.data, member); s != "" {
			return s, member
		}
	}
	for detail := range jsonspan.Elements(r.data, m.reasoningDetails) {
		for key, val := range jsonspan.Members(r.data, detail) {
			if jsonspan.Equal(r.data, key, "text") || jsonspan.Equal(r.data, key, "summary") {
				text = wire.JoinText(text, wire.Text(r.data, val))
			}
		}
		v = m.reasoningDetails
	}
	return text, v
}

// callOf returns the object of a call that holds name and arguments, and the arguments, empty if there are none. The
// call is an element of tool_calls, or a function_call.
func callOf(data []byte, v jsonspan.Span) (inner, args jsonspan.Span, ok bool) {
	if inner, ok = jsonspan.Get(data, v, "function"); ok {
		args, _ = jsonspan.Get(data, inner, "arguments")
		return inner, args, jsonspan.KindAt(data, inner) == jsonspan.KindObject
	}
	if inner, ok = jsonspan.Get(data, v, "custom"); ok {
		args, _ = jsonspan.Get(data, inner, "input")
		return inner, args, jsonspan.KindAt(data, inner) == jsonspan.KindObject
	}
	args, _ = jsonspan.Get(data, v, "arguments")
	return v, args, false
}

// argsOf returns the text of arguments, and whether they are a string as they should be.
func argsOf(data []byte, v jsonspan.Span) (string, bool) {
	if text, ok := jsonspan.String(data, v); ok {
		return text, true
	}
	return string(v.Of(data)), false
}

// result reads a tool message: its text, and behind it what else it holds.
func (r *reader) result(m *message) {
	id := wire.Text(r.data, m.callID)
	name := wire.Text(r.data, m.name)
	if m.role == "function" {
		id = name
	}
	b := pemmican.Block{Kind: pemmican.ToolResult, CallID: id, Tool: r.answered(id), Text: wire.Text(r.data, m.content)}
	if name != "" {
		b.Tool = name
	}
	r.add(b, inResult, 0, m.span)
	n := 0
	for part := range jsonspan.Elements(r.data, m.content) {
		if text, _, ok := textOf(r.data, part); ok {
			r.blocks[0].Text = wire.JoinText(r.blocks[0].Text, text)
		} else if id != "" { // without one nothing would say whose it is
			b := r.part(part)
			b.CallID = id
			if b.Kind == pemmican.Reasoning {
				b.Kind = pemmican.Opaque
			}
			r.add(b, inContent, n, part)
		}
		n++
	}
	r.blocks[0].Error = failure(r.blocks[0].Text)
}

// failure reports whether a result clearly tells of a failure.
func failure(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	for _, start := range []string{"Error:", "ERROR:", "error:", "Error executing ", "Traceback (most recent call last)", "<tool_use_error>"} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	if len(text) == 0 || text[0] != '{' || !strings.Contains(text, `"error"`) || !wire.IsObject(text) {
		return false
	}
	data := []byte(text)
	v, _ := jsonspan.Get(data, jsonspan.Span{End: len(data)}, "error")
	switch jsonspan.KindAt(data, v) {
	case jsonspan.KindString:
		return v.End-v.Start > 2
	case jsonspan.KindObject, jsonspan.KindArray:
		return true
	case jsonspan.KindBool:
		failed, _ := jsonspan.Bool(data, v)
		return failed
	}
	return false
}
