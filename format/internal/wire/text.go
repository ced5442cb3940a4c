package wire

import (
	"bytes"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// UserText is the block of a text in the user role: a summary if it is a sealed one.
func UserText(text string) pemmican.Block {
	if _, ok := pemmican.Unseal(text); ok {
		return pemmican.Block{Kind: pemmican.Summary, Text: text}
	}
	return pemmican.Block{Text: text}
}

// JoinText joins the text parts of one result as the plan's Result does. An empty part is none.
func JoinText(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// Author tells who wrote a message in the user role: the runtime, if it holds nothing besides results but summaries and
// texts that the runtime wrote.
func Author(blocks []pemmican.Block) pemmican.Author {
	author := pemmican.ByRole
	for i := range blocks {
		switch b := &blocks[i]; {
		case b.Kind == pemmican.ToolResult || b.CallID != "":
		case b.Kind == pemmican.Summary, b.Kind == pemmican.Text && runtimeText(b.Text):
			author = pemmican.ByRuntime
		default:
			return pemmican.ByRole
		}
	}
	return author
}

// The elements in which agents wrap what they write in the user role, by the beginning of their names, as seen in
// Claude Code, Codex, Cline and Roo Code.
var runtimeTags = []string{
	"system-reminder", "system-notice", "system_notice", "environment_context", "environment_details", "task-notification",
	"agent-notification", "local-command-", "command-name", "command-message", "command-args", "turn_aborted",
}

// The beginnings of notices that have no end.
var runtimeNotices = []string{"SYSTEM_NOTICE", "[SYSTEM_NOTICE", "[SYSTEM NOTICE", "SYSTEM NOTICE"}

// runtimeText reports whether a text is nothing but what an agent's own program writes. A person's words behind it make
// it the person's.
func runtimeText(text string) bool {
	found := false
	for {
		text = strings.TrimSpace(text)
		if text == "" {
			return found
		}
		for _, n := range runtimeNotices {
			if strings.HasPrefix(text, n) {
				return true
			}
		}
		if text[0] != '<' {
			return false
		}
		end := strings.IndexAny(text, "> \n\t")
		if end < 0 {
			return false
		}
		name := text[1:end]
		known := false
		for _, tag := range runtimeTags {
			known = known || strings.HasPrefix(name, tag)
		}
		if !known {
			return false
		}
		_, rest, closed := strings.Cut(text, "</"+name+">")
		if !closed {
			return true
		}
		text, found = rest, true
	}
}

// Members of which the value is for machines.
var unreadable = set("type", "id", "tool_use_id", "tool_call_id", "data", "signature",
	"encrypted_content", "encrypted_index", "encrypted_stdout", "cache_control", "media_type", "format", "file_id", "page_age")

// Readable returns the strings of a value that a person could read, a line each.
func Readable(data []byte, v jsonspan.Span) string {
	var b strings.Builder
	readable(&b, data, v, 0)
	return b.String()
}

func readable(b *strings.Builder, data []byte, v jsonspan.Span, depth int) {
	if depth > 20 {
		return // nothing that people read is that deep, and each level walks its value again
	}
	switch jsonspan.KindAt(data, v) {
	case jsonspan.KindString:
		s, _ := jsonspan.String(data, v)
		if s == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(s)
	case jsonspan.KindArray:
		for e := range jsonspan.Elements(data, v) {
			readable(b, data, e, depth+1)
		}
	case jsonspan.KindObject:
		for key, val := range jsonspan.Members(data, v) {
			if name, _ := jsonspan.String(data, key); !unreadable[name] {
				readable(b, data, val, depth+1)
			}
		}
	}
}

// Text returns the text of a string, "" of anything else.
func Text(data []byte, v jsonspan.Span) string {
	s, _ := jsonspan.String(data, v)
	return s
}

// IsObject reports whether text is one JSON object.
func IsObject(text string) bool {
	kind, ok := kindOf(text)
	return ok && kind == jsonspan.KindObject
}

func kindOf(text string) (jsonspan.Kind, bool) {
	data := []byte(text)
	v, err := jsonspan.Scan(data, 0)
	if err != nil || len(bytes.TrimLeft(data[v.End:], " \t\r\n")) > 0 {
		return jsonspan.KindInvalid, false
	}
	return jsonspan.KindAt(data, v), true
}

// RepairArguments makes of a call's arguments what every provider takes: a JSON object in valid UTF-8 without lone
// surrogates. What is one stays. A string that holds an object is that object; nothing, or null, is the empty one. Any
// other value, and what is no JSON, is kept whole under one name that says what it is, so that no model takes it for
// an argument.
func RepairArguments(args string) string {
	args = string(RepairSurrogates([]byte(strings.ToValidUTF8(args, "\uFFFD"))))
	const name = `{"invalid_arguments":`
	switch kind, ok := kindOf(args); {
	case !ok && strings.TrimSpace(args) != "":
		return string(append(jsonspan.Quote([]byte(name), args), '}'))
	case !ok || kind == jsonspan.KindNull:
		return "{}"
	case kind == jsonspan.KindObject:
		return args
	case kind == jsonspan.KindString:
		data := []byte(args)
		v, _ := jsonspan.Scan(data, 0)
		inner, _ := jsonspan.String(data, v)
		if inner = string(RepairSurrogates([]byte(inner))); IsObject(inner) {
			return inner
		}
	}
	return name + args + "}"
}

// LoneSurrogate returns the offset of the first escape in JSON that is half of a surrogate pair, -1 if there is none.
func LoneSurrogate(raw []byte) int {
	at := -1
	eachLone(raw, func(i int) bool {
		at = i
		return false
	})
	return at
}

// RepairSurrogates writes U+FFFD in the place of each half of a surrogate pair.
func RepairSurrogates(raw []byte) []byte {
	eachLone(raw, func(i int) bool {
		copy(raw[i:], `\ufffd`)
		return true
	})
	return raw
}

func eachLone(raw []byte, yield func(i int) bool) {
	for i := 0; ; {
		n := bytes.IndexByte(raw[i:], '\\')
		if n < 0 {
			return
		}
		i += n
		switch unit := utf16Unit(raw[i:]); {
		case unit < 0:
			i += 2
		case 0xD800 <= unit && unit < 0xDC00:
			if low := utf16Unit(raw[i+6:]); 0xDC00 <= low && low < 0xE000 {
				i += 12
				continue
			}
			fallthrough
		case 0xDC00 <= unit && unit < 0xE000:
			if !yield(i) {
				return
			}
			fallthrough
		default:
			i += 6
		}
		if i >= len(raw) {
			return
		}
	}
}

// utf16Unit returns the unit of a \uxxxx escape at the start of raw, -1 if there is none.
func utf16Unit(raw []byte) int {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return -1
	}
	unit := 0
	for _, c := range raw[2:6] {
		switch {
		case '0' <= c && c <= '9':
			unit = unit<<4 | int(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			unit = unit<<4 | int(c|0x20-'a'+10)
		default:
			return -1
		}
	}
	return unit
}
