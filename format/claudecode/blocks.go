package claudecode

import (
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
	"github.com/pemmican-dev/pemmican/internal/picture"
)

// blocks returns what line i brings to the next request, results first; nothing for most kinds of lines.
func (d *Doc) blocks(i int) []block {
	l := &d.lines[i]
	switch l.kind {
	case kindAssistant:
		if l.apiError {
			return nil
		}
		if text, ok := jsonspan.String(d.data, l.content); ok {
			return []block{{Block: pemmican.Block{Text: text}}}
		}
		var blocks []block
		for v := range d.index.Elements(d.data, l.content) {
			blocks = append(blocks, d.assistantBlock(v))
		}
		return blocks
	case kindUser:
		return d.userBlocks(l.content, l.compactSummary)
	case kindAttachment:
		return d.attachmentBlocks(l)
	case kindCommand:
		if text, _ := jsonspan.String(d.data, l.content); text != "" {
			return []block{{Block: textBlock(text, false)}}
		}
	}
	return nil
}

// fields are the members of a block that this package reads.
type fields struct {
	typ, text, id, name, input, content, source, title, isError, signature jsonspan.Span
}

func (d *Doc) fields(v jsonspan.Span) fields {
	var f fields
	for k, v := range d.index.Members(d.data, v) {
		switch string(d.key(k)) {
		case "type":
			f.typ = v
		case "text", "thinking":
			f.text = v
		case "id", "tool_use_id":
			f.id = v
		case "name":
			f.name = v
		case "input":
			f.input = v
		case "content":
			f.content = v
		case "source":
			f.source = v
		case "title":
			f.title = v
		case "is_error":
			f.isError = v
		case "signature":
			f.signature = v
		}
	}
	return f
}

func (d *Doc) str(v jsonspan.Span) string {
	s, _ := jsonspan.String(d.data, v)
	return s
}

// is reports whether a member is the string typ, without allocating.
func (d *Doc) is(v jsonspan.Span, typ string) bool { return jsonspan.Equal(d.data, v, typ) }

func (d *Doc) assistantBlock(v jsonspan.Span) block {
	f := d.fields(v)
	b := block{origin: origin{element: v}}
	switch {
	case d.is(f.typ, "text"):
		b.Text = d.str(f.text)
	case d.is(f.typ, "thinking"):
		b.Kind, b.Text = pemmican.Reasoning, d.str(f.text)
		b.Bound = d.str(f.signature) != ""
	case d.is(f.typ, "redacted_thinking"):
		b.Kind, b.Bound, b.Bytes = pemmican.Reasoning, true, v.End-v.Start
	case d.is(f.typ, "tool_use"):
		b.Kind, b.CallID, b.Tool = pemmican.ToolCall, d.str(f.id), d.str(f.name)
		b.Args = string(f.input.Of(d.data))
	default:
		b.Kind, b.Bytes = pemmican.Opaque, v.End-v.Start
	}
	return b
}

func (d *Doc) userBlocks(content jsonspan.Span, summary bool) []block {
	if text, ok := jsonspan.String(d.data, content); ok {
		return []block{{Block: textBlock(text, summary)}}
	}
	var results, rest []block
	for v := range d.index.Elements(d.data, content) {
		f := d.fields(v)
		at := origin{element: v}
		switch {
		case d.is(f.typ, "text"):
			rest = append(rest, block{textBlock(d.str(f.text), summary), at})
		case d.is(f.typ, "tool_result") && d.str(f.id) != "":
			results = append(results, d.resultBlocks(v, f)...)
		default:
			rest = append(rest, block{d.mediaBlock(v, f), at})
		}
	}
	return append(results, rest...)
}

// textBlock is a text in the user role. A summary is told by its line, or by its own seal.
func textBlock(text string, summary bool) pemmican.Block {
	b := pemmican.Block{Text: text}
	if _, sealed := pemmican.Unseal(text); summary || sealed {
		b.Kind = pemmican.Summary
	}
	return b
}

// resultBlocks returns a tool result, its text parts joined, and behind it what else it holds.
func (d *Doc) resultBlocks(v jsonspan.Span, f fields) []block {
	id := d.str(f.id)
	result := block{pemmican.Block{Kind: pemmican.ToolResult, CallID: id, Error: d.isTrue(f.isError)}, origin{element: v}}
	if text, ok := jsonspan.String(d.data, f.content); ok {
		result.Text = text
		return []block{result}
	}
	blocks := []block{result}
	for p := range d.index.Elements(d.data, f.content) {
		pf := d.fields(p)
		if d.is(pf.typ, "text") {
			blocks[0].Text = joinText(blocks[0].Text, d.str(pf.text))
			continue
		}
		b := d.mediaBlock(p, pf)
		b.CallID = id
		blocks = append(blocks, block{b, origin{element: v, part: p}})
	}
	return blocks
}

func joinText(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}

// mediaBlock is an image or a document, or an opaque block if it is neither.
func (d *Doc) mediaBlock(v jsonspan.Span, f fields) pemmican.Block {
	b := pemmican.Block{Kind: pemmican.Media, Bytes: v.End - v.Start}
	image := d.is(f.typ, "image")
	if !image && !d.is(f.typ, "document") {
		b.Kind = pemmican.Opaque
		return b
	}
	b.Media.Name = d.str(f.title)
	for k, v := range d.index.Members(d.data, f.source) {
		switch string(d.key(k)) {
		case "media_type":
			b.Media.Type = d.str(v)
		case "url":
			if b.Media.Name == "" {
				b.Media.Name = d.str(v)
			}
		case "data":
			if raw := v.Of(d.data); image && len(raw) > 2 {
				_, b.Media.Width, b.Media.Height = picture.Size(raw[1 : len(raw)-1])
			}
		}
	}
	return b
}

// attachmentBlocks returns what an attachment line says to the model. Newer files hold the text as it is sent (observed:
// that is what goes out, whatever the attachment itself says). In older ones the agent makes it from what it attached;
// here that itself stands for it.
func (d *Doc) attachmentBlocks(l *line) []block {
	var blocks []block
	if prompt, ok := d.index.Get(d.data, l.attachment, "prompt"); ok && d.is(d.member(l.attachment, "type"), "queued_command") {
		for _, b := range d.userBlocks(prompt, false) {
			if b.Kind != pemmican.ToolResult && b.CallID == "" {
				blocks = append(blocks, b)
			}
		}
		return blocks
	}
	if !l.rendered.Empty() {
		for v := range d.index.Elements(d.data, l.rendered) {
			content := d.member(v, "content")
			if text, ok := jsonspan.String(d.data, content); ok {
				blocks = append(blocks, block{Block: textBlock(text, false)})
				continue
			}
			for _, b := range d.userBlocks(content, false) {
				if b.Kind != pemmican.ToolResult && b.CallID == "" {
					blocks = append(blocks, b)
				}
			}
		}
		return blocks
	}
	if text := d.attached(l.attachment, 4); strings.TrimSpace(text) != "" {
		blocks = append(blocks, block{Block: textBlock(text, false)})
	}
	return blocks
}

// attached returns the text in an attachment: its content, the content of the file in it, a snippet.
func (d *Doc) attached(v jsonspan.Span, depth int) string {
	if s, ok := jsonspan.String(d.data, v); ok || depth == 0 {
		return s
	}
	text := ""
	for e := range d.index.Elements(d.data, v) {
		if s, ok := jsonspan.String(d.data, e); ok {
			text = joinText(text, s)
		}
	}
	for k, v := range d.index.Members(d.data, v) {
		switch string(d.key(k)) {
		case "content", "file", "snippet", "text":
			text = joinText(text, d.attached(v, depth-1))
		}
	}
	return text
}

// fromPerson reports whether an attachment is what a person typed while the agent worked.
func (d *Doc) fromPerson(attachment jsonspan.Span) bool {
	if !d.is(d.member(attachment, "type"), "queued_command") || d.isTrue(d.member(attachment, "isMeta")) {
		return false
	}
	if mode := d.text(attachment, "commandMode"); mode != "" && mode != "prompt" {
		return false
	}
	switch origin := d.text(d.member(attachment, "origin"), "kind"); origin {
	case "", "human", "user":
	default:
		return false
	}
	return !isRuntimeText(d.text(attachment, "prompt"))
}

func (d *Doc) member(object jsonspan.Span, key string) jsonspan.Span {
	v, _ := d.index.Get(d.data, object, key)
	return v
}
