package pi

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
	"github.com/pemmican-dev/pemmican/internal/picture"
)

// build makes the live transcript from the path.
func (d *Doc) build() {
	d.tr.Can = d.capabilities()
	d.tr.AtRest = true
	if text, tools := d.systemText(); text != "" {
		d.tr.HasSystem, d.tr.Tools = true, tools
		d.add(-1, jsonspan.Span{}, pemmican.System, pemmican.ByRole, block{Block: pemmican.Block{Text: text}})
	}

	edits := d.liveEdits()
	fresh := -1 // the position on the path from which usage is that of the live context
	for p, i := range d.path {
		if k := d.entries[i].kind; k == kindCompaction || k == kindEdit && d.edits {
			fresh = p
		}
	}
	start := 0
	if d.compaction >= 0 {
		start = d.keptFrom()
		i := d.path[d.compaction]
		if e, ok := edits[i]; !ok || !d.isNull(e) {
			d.add(i, jsonspan.Span{}, pemmican.User, pemmican.ByRuntime,
				block{Block: pemmican.Block{Kind: pemmican.Summary, Text: d.text(d.entries[i].span, "summary")}})
		}
	}
	// A message has one or two blocks as a rule.
	live := len(d.path) - start
	d.tr.Messages = slices.Grow(d.tr.Messages, live)
	d.tr.Blocks = slices.Grow(d.tr.Blocks, live+live/2)
	d.parts = slices.Grow(d.parts, live+live/2)
	for p := start; p < len(d.path); p++ {
		i := d.path[p]
		e := &d.entries[i]
		switch e.kind {
		case kindCompaction:
			if n := len(d.tr.Blocks); p == d.compaction && !d.edits && n > 0 && d.tr.Blocks[n-1].Kind != pemmican.Summary {
				d.tr.Can.KeepFrom = n
			}
			if p < d.compaction && !d.edits {
				d.warnf("line %d: pi before 0.87 sends this older summary again, at its place", e.line)
			}
			continue
		case kindMessage, kindCustomMessage, kindBranchSummary:
		default:
			continue
		}
		content := e.content
		if e.kind == kindCustomMessage {
			content, _ = d.index.Get(d.data, e.span, "content")
		}
		if edit, ok := edits[i]; ok {
			if d.isNull(edit) {
				continue
			}
			content, _ = d.index.Get(d.data, edit, "content")
		}
		before := len(d.tr.Messages)
		d.emit(i, content)
		if e.role == roleAssistant && p > fresh && len(d.tr.Messages) > before {
			d.tr.Messages[before].Usage = d.usage(e.usage)
		}
	}
	for p := len(d.path) - 1; p >= 0 && d.tr.Model == ""; p-- {
		if e := &d.entries[d.path[p]]; e.role == roleAssistant && !e.failed {
			d.tr.Model = d.text(e.message, "model")
		}
	}
	d.blocks = nil
}

// liveEdits returns for each entry the replacement that the last context_edit on the path gives it. An edit of a target
// that is not in the file, or not on the path, has no effect (observed).
func (d *Doc) liveEdits() map[int]jsonspan.Span {
	edits := map[int]jsonspan.Span{}
	if !d.edits {
		return edits
	}
	for _, i := range d.path {
		e := &d.entries[i]
		if e.kind != kindEdit {
			continue
		}
		replacement, ok := d.index.Get(d.data, e.span, "replacement")
		if target, known := d.byID[d.text(e.span, "targetId")]; known && ok {
			edits[target] = replacement
		}
	}
	return edits
}

func (d *Doc) isNull(v jsonspan.Span) bool { return jsonspan.KindAt(d.data, v) == jsonspan.KindNull }

// emit adds the message that an entry sends, if it sends one.
func (d *Doc) emit(i int, content jsonspan.Span) {
	e := &d.entries[i]
	role := e.role
	switch e.kind {
	case kindCustomMessage:
		role = roleCustom
	case kindBranchSummary:
		role = roleBranchSummary
	}
	switch role {
	case roleUser:
		d.add(i, content, pemmican.User, pemmican.ByRole, d.userBlocks(content)...)
	case roleCustom:
		d.add(i, content, pemmican.User, pemmican.ByRuntime, d.userBlocks(content)...)
	case roleHook:
		if d.version < 3 {
			d.add(i, content, pemmican.User, pemmican.ByRuntime, d.userBlocks(content)...)
		}
	case roleAssistant:
		if !e.failed {
			d.add(i, content, pemmican.Assistant, pemmican.ByRole, d.assistantBlocks(content)...)
		}
	case roleToolResult:
		d.add(i, content, pemmican.Tool, pemmican.ByRole, d.resultBlocks(e, content)...)
	case roleBash:
		if text := d.bashText(e.message); text != "" {
			d.add(i, jsonspan.Span{}, pemmican.User, pemmican.ByRuntime, ownText(text))
		}
	case roleBranchSummary, roleCompactionSummary:
		holder := e.span
		if e.kind == kindMessage {
			holder = e.message
		}
		summary := d.text(holder, "summary")
		if summary == "" {
			return
		}
		text := "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n" + summary + "</summary>"
		if role == roleCompactionSummary {
			text = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n" + summary + "\n</summary>"
		}
		d.add(i, jsonspan.Span{}, pemmican.User, pemmican.ByRuntime, ownText(text))
	}
}

// ownText is a block whose text pi makes itself. It is opaque, for pi takes no other text in its place; and a command
// that the person ran is no message of theirs.
func ownText(text string) block {
	return block{Block: pemmican.Block{Kind: pemmican.Opaque, Text: text, Bytes: len(text)}}
}

// block is a block with the bytes that it comes from.
type block struct {
	pemmican.Block
	part jsonspan.Span
}

// add appends a message. One without blocks is not sent.
func (d *Doc) add(src int, content jsonspan.Span, role pemmican.Role, author pemmican.Author, blocks ...block) {
	if len(blocks) == 0 {
		return
	}
	m, first := len(d.tr.Messages), len(d.tr.Blocks)
	for _, b := range blocks {
		b.Message = m
		d.tr.Blocks = append(d.tr.Blocks, b.Block)
		d.parts = append(d.parts, b.part)
	}
	d.tr.Messages = append(d.tr.Messages, pemmican.Message{Role: role, Author: author, First: first, End: len(d.tr.Blocks)})
	d.src = append(d.src, src)
	d.content = append(d.content, content)
}

// userBlocks reads the content of a message in the user role: a string, or text and image parts. Null content is none.
// Empty text is left out, as it is on the wire.
func (d *Doc) userBlocks(content jsonspan.Span) []block {
	out := d.blocks[:0]
	if s, ok := jsonspan.String(d.data, content); ok {
		if s != "" {
			out = append(out, block{pemmican.Block{Text: s}, content})
		}
		return out
	}
	for part := range d.index.Elements(d.data, content) {
		p := d.readPart(part)
		switch p.kind {
		case "text":
			if s, _ := jsonspan.String(d.data, p.text); s != "" {
				out = append(out, block{pemmican.Block{Text: s}, part})
			}
		case "image":
			out = append(out, block{d.media(p, part), part})
		default:
			out = append(out, block{pemmican.Block{Kind: pemmican.Opaque, Bytes: part.End - part.Start}, part})
		}
	}
	d.blocks = out
	return out
}

// assistantBlocks reads an answer. Text of only whitespace is left out, as pi does (observed).
func (d *Doc) assistantBlocks(content jsonspan.Span) []block {
	out := d.blocks[:0]
	if s, ok := jsonspan.String(d.data, content); ok {
		if strings.TrimSpace(s) != "" {
			out = append(out, block{pemmican.Block{Text: s}, content})
		}
		return out
	}
	for part := range d.index.Elements(d.data, content) {
		p := d.readPart(part)
		switch p.kind {
		case "text":
			if s, _ := jsonspan.String(d.data, p.text); strings.TrimSpace(s) != "" {
				out = append(out, block{pemmican.Block{Text: s}, part})
			}
		case "thinking":
			s, _ := jsonspan.String(d.data, p.thinking)
			signature, _ := jsonspan.String(d.data, p.signature)
			if s != "" || signature != "" {
				b := pemmican.Block{Kind: pemmican.Reasoning, Text: s}
				if isSignature(signature) {
					b.Bound, b.Bytes = true, len(signature)
				}
				out = append(out, block{b, part})
			}
		case "toolCall":
			b := pemmican.Block{Kind: pemmican.ToolCall, Args: string(p.arguments.Of(d.data))}
			b.CallID, _ = jsonspan.String(d.data, p.id)
			b.Tool, _ = jsonspan.String(d.data, p.name)
			if s, ok := jsonspan.String(d.data, p.arguments); ok {
				b.Args = s
			}
			out = append(out, block{b, part})
		default:
			out = append(out, block{pemmican.Block{Kind: pemmican.Opaque, Bytes: part.End - part.Start}, part})
		}
	}
	d.blocks = out
	return out
}

// isSignature tells a signature from the name of the field that reasoning without one came in, which pi keeps in the same
// place for the APIs that are compatible with OpenAI's.
func isSignature(s string) bool {
	switch s {
	case "", "reasoning_content", "reasoning", "reasoning_text":
		return false
	}
	return true
}

// resultBlocks reads a result: its text parts joined, and then its images, as blocks of their own.
func (d *Doc) resultBlocks(e *entry, content jsonspan.Span) []block {
	result := pemmican.Block{Kind: pemmican.ToolResult}
	result.CallID, _ = jsonspan.String(d.data, e.callID)
	result.Tool, _ = jsonspan.String(d.data, e.tool)
	result.Error, _ = jsonspan.Bool(d.data, e.isError)
	out := d.blocks[:0]
	out = append(out, block{Block: result})
	result.Text, _ = jsonspan.String(d.data, content)
	for part := range d.index.Elements(d.data, content) {
		p := d.readPart(part)
		switch p.kind {
		case "text":
			s, _ := jsonspan.String(d.data, p.text)
			result.Text = joinText(result.Text, s)
		case "image":
			b := d.media(p, part)
			b.CallID = result.CallID
			out = append(out, block{b, part})
		default:
			out = append(out, block{pemmican.Block{Kind: pemmican.Opaque, CallID: result.CallID, Bytes: part.End - part.Start}, part})
		}
	}
	out[0].Text = result.Text
	d.blocks = out
	return out
}

// joinText joins the text parts of a result as pemmican.Plan.Result does.
func joinText(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}

// part is a content part, taken apart.
type part struct {
	kind                            string
	text, thinking, signature       jsonspan.Span
	id, name, arguments, data, mime jsonspan.Span
}

func (d *Doc) readPart(v jsonspan.Span) part {
	var p part
	for k, val := range d.index.Members(d.data, v) {
		switch string(d.word(k)) {
		case "type":
			switch string(d.word(val)) {
			case "text":
				p.kind = "text"
			case "thinking":
				p.kind = "thinking"
			case "toolCall":
				p.kind = "toolCall"
			case "image":
				p.kind = "image"
			default:
				p.kind = ""
			}
		case "text":
			p.text = val
		case "thinking":
			p.thinking = val
		case "thinkingSignature", "signature":
			p.signature = val
		case "id":
			p.id = val
		case "name":
			p.name = val
		case "arguments":
			p.arguments = val
		case "data":
			p.data = val
		case "mimeType":
			p.mime = val
		}
	}
	if p.kind == "thinking" && p.thinking.Empty() {
		p.thinking = p.text // a variant that real files have
	}
	return p
}

func (d *Doc) media(p part, v jsonspan.Span) pemmican.Block {
	b := pemmican.Block{Kind: pemmican.Media, Bytes: v.End - v.Start}
	b.Media.Type, _ = jsonspan.String(d.data, p.mime)
	if jsonspan.KindAt(d.data, p.data) == jsonspan.KindString {
		_, b.Media.Width, b.Media.Height = picture.Size(d.data[p.data.Start+1 : p.data.End-1])
	}
	return b
}

// bashText is how pi tells the model of a command that the person ran, "" if it was told not to (observed).
func (d *Doc) bashText(message jsonspan.Span) string {
	var command, output, full string
	var exit int64
	var cancelled, truncated, excluded bool
	for k, val := range d.index.Members(d.data, message) {
		switch string(d.word(k)) {
		case "command":
			command, _ = jsonspan.String(d.data, val)
		case "output":
			output, _ = jsonspan.String(d.data, val)
		case "fullOutputPath":
			full, _ = jsonspan.String(d.data, val)
		case "exitCode":
			exit, _ = jsonspan.Int(d.data, val)
		case "cancelled":
			cancelled, _ = jsonspan.Bool(d.data, val)
		case "truncated":
			truncated, _ = jsonspan.Bool(d.data, val)
		case "excludeFromContext":
			excluded, _ = jsonspan.Bool(d.data, val)
		}
	}
	if excluded {
		return ""
	}
	var b strings.Builder
	b.WriteString("Ran `" + command + "`\n")
	if output == "" {
		b.WriteString("(no output)")
	} else {
		b.WriteString("```\n" + output + "\n```")
	}
	if cancelled {
		b.WriteString("\n\n(command cancelled)")
	} else if exit != 0 {
		b.WriteString("\n\nCommand exited with code " + strconv.FormatInt(exit, 10))
	}
	if truncated && full != "" {
		b.WriteString("\n\n[Output truncated. Full output: " + full + "]")
	}
	return b.String()
}

// usage is the size of the context that an answer reports: the total, or if there is none the sum of its parts.
func (d *Doc) usage(v jsonspan.Span) int {
	var total, sum int64
	for k, val := range d.index.Members(d.data, v) {
		switch name := d.word(k); string(name) {
		case "totalTokens", "input", "output", "cacheRead", "cacheWrite":
			n, _ := jsonspan.Int(d.data, val)
			switch {
			case n < 0 || n > maxTokens:
			case string(name) == "totalTokens":
				total = n
			default:
				sum += n
			}
		}
	}
	if total > 0 {
		return int(total)
	}
	return int(sum)
}

// maxTokens is more than any context holds; a larger figure is a mistake of the file.
const maxTokens = 1 << 30

// systemText folds the system messages of the path, as pi does: texts one behind the other, sections and tools by name,
// the newest last; the systemMessage of a compaction starts anew. "" if the file, being of a pi before 0.86, has none.
//
// The whole path counts, also what is before the newest compaction: pi declares its prompt again when the compaction
// does not carry it (observed).
func (d *Doc) systemText() (text, tools string) {
	var s systemState
	for _, i := range d.path {
		e := &d.entries[i]
		switch {
		case e.role == roleSystem:
			s.apply(d, e.message)
		case e.kind == kindCompaction:
			if m, ok := d.index.Get(d.data, e.span, "systemMessage"); ok && jsonspan.KindAt(d.data, m) == jsonspan.KindObject {
				s = systemState{}
				s.apply(d, m)
			}
		}
	}
	for _, section := range s.sections {
		s.texts = append(s.texts, section.value)
	}
	definitions := make([]string, 0, len(s.tools))
	for _, tool := range s.tools {
		definitions = append(definitions, tool.value)
	}
	if len(definitions) > 0 {
		tools = "[" + strings.Join(definitions, ",") + "]"
	}
	return strings.Join(s.texts, "\n\n"), tools
}

type systemState struct {
	texts    []string
	sections named
	tools    named
}

func (s *systemState) apply(d *Doc, message jsonspan.Span) {
	for k, val := range d.index.Members(d.data, message) {
		switch string(d.word(k)) {
		case "content":
			for _, b := range d.userBlocks(val) {
				if b.Kind == pemmican.Text {
					s.texts = append(s.texts, b.Text)
				}
			}
		case "sections":
			for name, section := range d.index.Members(d.data, val) {
				text, _ := jsonspan.String(d.data, section)
				s.sections.set(string(d.word(name)), text)
			}
		case "toolsAdded":
			for tool := range d.index.Elements(d.data, val) {
				s.tools.set(d.text(tool, "name"), string(tool.Of(d.data)))
			}
		case "toolsRemoved":
			for tool := range d.index.Elements(d.data, val) {
				name, ok := jsonspan.String(d.data, tool)
				if !ok {
					name = d.text(tool, "name")
				}
				s.tools.set(name, "")
			}
		}
	}
}

// named are values by name in the order in which they came first. An empty value removes one.
type named []struct{ name, value string }

func (n *named) set(name, value string) {
	for i := range *n {
		if (*n)[i].name == name {
			if value == "" {
				*n = append((*n)[:i], (*n)[i+1:]...)
			} else {
				(*n)[i].value = value
			}
			return
		}
	}
	if value != "" {
		*n = append(*n, struct{ name, value string }{name, value})
	}
}
