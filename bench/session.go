// Package bench makes the sessions that Pemmican's speed and memory are measured with. The benchmarks are in its tests:
//
//	go test -bench . ./bench
//
// What a session says is made up, and looks like the work of a coding agent: source files that are read again after an
// edit, test runs that fail in the same way several times, logs, JSON, searches, patches. The same arguments give the
// same bytes on every machine.
package bench

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/pemmican-dev/pemmican/internal/estimate"
)

// Format is a session format that Session can write.
type Format string

// The formats.
const (
	// PiV1 is the format of pi in 2025: entries without ids, in order.
	PiV1 Format = "pi-v1"
	// PiV3 is the format of pi 1.6: a tree of entries, the system text and the tools in the file, signed reasoning.
	PiV3 Format = "pi-v3"
	// ClaudeCode is the format of Claude Code 2: a line for each content block, and every result twice.
	ClaudeCode Format = "claude-code"
)

// Session returns a session file whose live transcript has about that many tokens, and a step more at most.
func Session(f Format, tokens int) []byte {
	out := newWriter(f)
	w := &work{rng: newRNG(uint64(tokens))}
	w.start()
	for left := tokens; left > 0; {
		out.user(w.prompt(), left == tokens)
		for steps := w.between(6, 24); steps > 0 && left > 0; steps-- {
			s := w.step()
			left -= out.step(s)
		}
		out.step(step{text: w.prose(5), last: true})
	}
	return out.bytes()
}

// LongLine returns a session in which one result, of an old step, stands on a line of about n bytes.
func LongLine(f Format, n int) []byte {
	out := newWriter(f)
	w := &work{rng: newRNG(1)}
	w.start()
	var big strings.Builder
	big.Grow(n)
	// Half of a line of log needs no escape; the file is a little longer than its text.
	for chunk := w.log(4000); big.Len() < n; chunk = w.log(4000) {
		big.WriteString(chunk)
	}
	out.user(w.prompt(), true)
	out.step(step{text: "The whole log, then.", calls: []call{{tool: toolRun, command: "cat service.log", output: big.String()}}})
	for range 40 {
		out.step(w.step())
	}
	out.step(step{text: w.prose(5), last: true})
	return out.bytes()
}

// writer writes the lines of a session.
type writer struct {
	format  Format
	buf     bytes.Buffer
	json    *json.Encoder
	rng     *rng
	now     time.Time
	parent  *string
	context int // tokens so far: what the provider would report
}

type object = map[string]any

const (
	cwd         = "/home/dev/shop"
	model       = "claude-opus-4-5"
	sessionUUID = "0195f3a2-7c1e-7b3d-9f60-5d2a8c4e1b97"
	systemText  = "You are an expert coding assistant. You help with reading, running and changing code.\n\nGuidelines:\n" +
		"- Read a file before you change it.\n- Keep answers short.\n- Run the tests after a change."
)

func newWriter(f Format) *writer {
	w := &writer{format: f, rng: newRNG(99), now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}
	w.json = json.NewEncoder(&w.buf)
	w.json.SetEscapeHTML(false) // as JSON.stringify writes it
	switch f {
	case PiV1:
		w.line(header{Type: "session", ID: sessionUUID, Timestamp: w.stamp(), Cwd: cwd, Provider: "anthropic", ModelID: model, ThinkingLevel: "off"})
	case PiV3:
		w.line(header{Type: "session", Version: 3, ID: sessionUUID, Timestamp: w.stamp(), Cwd: cwd})
		w.entry(entry{Type: "model_change", Provider: "anthropic", ModelID: model})
		w.entry(entry{Type: "thinking_level_change", ThinkingLevel: "medium"})
		tool := func(name, about string, properties ...string) object {
			props := object{}
			for _, p := range properties {
				props[p] = object{"type": "string", "description": "The " + p + "."}
			}
			return object{"name": name, "description": about, "parameters": object{"type": "object", "properties": props, "required": properties}}
		}
		w.entry(entry{Type: "message", Message: struct {
			Role       string   `json:"role"`
			Content    string   `json:"content"`
			Sections   object   `json:"sections"`
			ToolsAdded []object `json:"toolsAdded"`
			Timestamp  int64    `json:"timestamp"`
		}{
			"system", "", object{"preamble": systemText, "cwd": cwd}, []object{
				tool("read", "Read a file.", "path"),
				tool("bash", "Run a command.", "command"),
				tool("edit", "Replace text in a file.", "path", "oldText", "newText"),
				tool("write", "Write a file.", "path", "content"),
			}, w.now.UnixMilli(),
		}})
		w.context = 400
	case ClaudeCode:
		w.line(object{"type": "permission-mode", "permissionMode": "default", "sessionId": sessionUUID})
	default:
		panic("bench: unknown format " + string(f))
	}
	return w
}

func (w *writer) bytes() []byte { return w.buf.Bytes() }

func (w *writer) line(v any) {
	if err := w.json.Encode(v); err != nil {
		panic(err) // only for values that JSON cannot hold, and there are none
	}
}

// header is the first line of a session of pi.
type header struct {
	Type          string `json:"type"`
	Version       int    `json:"version,omitempty"`
	ID            string `json:"id"`
	Timestamp     string `json:"timestamp"`
	Cwd           string `json:"cwd"`
	Provider      string `json:"provider,omitempty"`
	ModelID       string `json:"modelId,omitempty"`
	ThinkingLevel string `json:"thinkingLevel,omitempty"`
}

// entry is any other line of it. The tree has a pointer, so that a root has the parent null and version 1 has none.
type entry struct {
	Type string `json:"type"`
	*tree
	Timestamp     string `json:"timestamp"`
	Provider      string `json:"provider,omitempty"`
	ModelID       string `json:"modelId,omitempty"`
	ThinkingLevel string `json:"thinkingLevel,omitempty"`
	Message       any    `json:"message,omitempty"`
}

type tree struct {
	ID       string  `json:"id"`
	ParentID *string `json:"parentId"`
}

func (w *writer) entry(e entry) {
	e.Timestamp = w.stamp()
	if w.format == PiV3 {
		e.tree = &tree{w.rng.hex(8), w.parent}
		w.parent = &e.tree.ID
	}
	w.line(e)
}

// part is a content part of text.
type part struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func textParts(text string) []part { return []part{{"text", text}} }

// stamp is the time of the next line.
func (w *writer) stamp() string {
	w.now = w.now.Add(time.Duration(w.rng.between(200, 9000)) * time.Millisecond)
	return w.now.Format("2006-01-02T15:04:05.000Z")
}

func (w *writer) user(text string, first bool) {
	w.context += estimate.Tokens(text)
	if w.format == ClaudeCode {
		line := claudeLine{Type: "user", Message: object{"role": "user", "content": text}}
		if !first {
			line.PermissionMode = "default"
		}
		w.claude(line)
		return
	}
	w.entry(entry{Type: "message", Message: struct {
		Role      string `json:"role"`
		Content   []part `json:"content"`
		Timestamp int64  `json:"timestamp"`
	}{"user", textParts(text), w.now.UnixMilli()}})
}

// step writes an answer with its calls and their results, and returns about how many tokens they are.
func (w *writer) step(s step) int {
	before := w.context
	signature := ""
	if s.thinking != "" && w.format != PiV1 {
		signature = w.rng.base64(w.rng.between(600, 1400))
		w.context += max(estimate.Tokens(s.thinking), (len(signature)*3/4-650)/4)
	}
	w.context += estimate.Tokens(s.text)
	for i := range s.calls {
		s.calls[i].id = "toolu_01" + w.rng.letters(22)
		name, args := s.calls[i].as(w.format)
		raw, err := json.Marshal(args)
		if err != nil {
			panic(err)
		}
		w.context += 8 + estimate.Tokens(name) + estimate.Tokens(string(raw))
	}
	if w.format == ClaudeCode {
		w.claudeStep(s, signature)
	} else {
		w.piStep(s, signature)
	}
	for i := range s.calls {
		w.context += estimate.Tokens(s.calls[i].output)
	}
	return w.context - before
}

func (w *writer) piStep(s step, signature string) {
	var content []any
	if signature != "" {
		content = append(content, struct {
			Type              string `json:"type"`
			Thinking          string `json:"thinking"`
			ThinkingSignature string `json:"thinkingSignature"`
		}{"thinking", s.thinking, signature})
	}
	if s.text != "" {
		content = append(content, part{"text", s.text})
	}
	for i := range s.calls {
		name, args := s.calls[i].as(w.format)
		content = append(content, struct {
			Type      string `json:"type"`
			ID        string `json:"id"`
			Name      string `json:"name"`
			Arguments any    `json:"arguments"`
		}{"toolCall", s.calls[i].id, name, args})
	}
	type usage struct {
		Input       int    `json:"input"`
		Output      int    `json:"output"`
		CacheRead   int    `json:"cacheRead"`
		CacheWrite  int    `json:"cacheWrite"`
		TotalTokens int    `json:"totalTokens"`
		Cost        object `json:"cost"`
	}
	// recent are the members by which an answer of pi 1.1 and newer is known.
	type recent struct {
		DurationMs    int    `json:"durationMs"`
		ThinkingLevel string `json:"thinkingLevel"`
	}
	var more *recent
	if w.format == PiV3 {
		more = &recent{w.rng.between(800, 9000), "medium"}
	}
	stop := "toolUse"
	if s.last {
		stop = "stop"
	}
	w.entry(entry{Type: "message", Message: struct {
		Role       string `json:"role"`
		Content    []any  `json:"content"`
		API        string `json:"api"`
		Provider   string `json:"provider"`
		Model      string `json:"model"`
		Usage      usage  `json:"usage"`
		StopReason string `json:"stopReason"`
		Timestamp  int64  `json:"timestamp"`
		*recent
	}{
		"assistant", content, "anthropic-messages", "anthropic", model,
		usage{9, 120, w.context - 129, 0, w.context, object{"input": 0.000045, "output": 0.003, "cacheRead": 0.0121, "cacheWrite": 0, "total": 0.015145}},
		stop, w.now.UnixMilli(), more,
	}})
	for i := range s.calls {
		c := &s.calls[i]
		name, _ := c.as(w.format)
		w.entry(entry{Type: "message", Message: struct {
			Role       string `json:"role"`
			ToolCallID string `json:"toolCallId"`
			ToolName   string `json:"toolName"`
			Content    []part `json:"content"`
			IsError    bool   `json:"isError"`
			Timestamp  int64  `json:"timestamp"`
		}{"toolResult", c.id, name, textParts(c.output), c.failed, w.now.UnixMilli()}})
	}
}

// claudeLine is a line of the chain of Claude Code.
type claudeLine struct {
	ParentUUID     *string `json:"parentUuid"`
	IsSidechain    bool    `json:"isSidechain"`
	UserType       string  `json:"userType"`
	Cwd            string  `json:"cwd"`
	SessionID      string  `json:"sessionId"`
	Version        string  `json:"version"`
	GitBranch      string  `json:"gitBranch"`
	Type           string  `json:"type"`
	Message        any     `json:"message"`
	UUID           string  `json:"uuid"`
	Timestamp      string  `json:"timestamp"`
	RequestID      string  `json:"requestId,omitempty"`
	PermissionMode string  `json:"permissionMode,omitempty"`
	ToolUseResult  any     `json:"toolUseResult,omitempty"`
}

func (w *writer) claude(l claudeLine) {
	id := w.rng.uuid()
	l.ParentUUID, l.UUID, w.parent = w.parent, id, &id
	l.UserType, l.Cwd, l.SessionID, l.Version, l.GitBranch, l.Timestamp = "external", cwd, sessionUUID, "2.1.332", "main", w.stamp()
	w.line(l)
}

func (w *writer) claudeStep(s step, signature string) {
	id, request := "msg_01"+w.rng.letters(22), "req_011"+w.rng.letters(21)
	block := func(content object) {
		usage := object{
			"input_tokens": 9, "cache_creation_input_tokens": 0, "cache_read_input_tokens": w.context - 129,
			"output_tokens": 120, "service_tier": "standard",
		}
		w.claude(claudeLine{Type: "assistant", RequestID: request, Message: object{
			"id": id, "type": "message", "role": "assistant", "model": model, "content": []object{content},
			"stop_reason": nil, "stop_sequence": nil, "usage": usage,
		}})
	}
	if signature != "" {
		block(object{"type": "thinking", "thinking": s.thinking, "signature": signature})
	}
	if s.text != "" {
		block(object{"type": "text", "text": s.text})
	}
	for i := range s.calls {
		name, args := s.calls[i].as(w.format)
		block(object{"type": "tool_use", "id": s.calls[i].id, "name": name, "input": args})
	}
	for i := range s.calls {
		c := &s.calls[i]
		result := object{"tool_use_id": c.id, "type": "tool_result", "content": c.output}
		var again any = object{"stdout": c.output, "stderr": "", "interrupted": false, "isImage": false}
		if c.failed {
			result["is_error"], again = true, "Error: "+c.output
		}
		w.claude(claudeLine{Type: "user", Message: object{"role": "user", "content": []object{result}}, ToolUseResult: again})
	}
}

// as returns the name and the arguments of a call in a format's own words.
func (c *call) as(f Format) (name string, args any) {
	if f == ClaudeCode {
		switch c.tool {
		case toolRead:
			return "Read", object{"file_path": cwd + "/" + c.path}
		case toolEdit:
			return "Edit", object{"file_path": cwd + "/" + c.path, "old_string": c.old, "new_string": c.text}
		case toolWrite:
			return "Write", object{"file_path": cwd + "/" + c.path, "content": c.text}
		case toolSearch:
			return "Grep", object{"pattern": c.command, "path": cwd, "output_mode": "content"}
		}
		return "Bash", object{"command": c.command, "description": "Run it"}
	}
	switch c.tool {
	case toolRead:
		return "read", object{"path": c.path}
	case toolEdit:
		return "edit", object{"path": c.path, "oldText": c.old, "newText": c.text}
	case toolWrite:
		return "write", object{"path": c.path, "content": c.text}
	case toolSearch:
		return "bash", object{"command": fmt.Sprintf("rg -n %q", c.command)}
	}
	return "bash", object{"command": c.command}
}

// rng is a small generator of numbers (xorshift64*), so that what is made is the same with every version of Go.
type rng uint64

func newRNG(seed uint64) *rng {
	r := rng(seed*0x9e3779b97f4a7c15 + 0x1234567)
	return &r
}

func (r *rng) next() uint64 {
	x := uint64(*r)
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	*r = rng(x)
	return x * 0x2545f4914f6cdd1d >> 16
}

// below returns a number from 0 to n-1.
func (r *rng) below(n int) int { return int(r.next() % uint64(n)) }

// between returns a number from low to high.
func (r *rng) between(low, high int) int { return low + r.below(high-low+1) }

func (r *rng) of(words []string) string { return words[r.below(len(words))] }

func (r *rng) hex(n int) string {
	b := make([]byte, n/2)
	for i := range b {
		b[i] = byte(r.next())
	}
	return hex.EncodeToString(b)
}

func (r *rng) uuid() string {
	h := r.hex(32)
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
}

func (r *rng) from(alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.below(len(alphabet))]
	}
	return string(b)
}

const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

func (r *rng) letters(n int) string { return r.from(alphanumeric, n) }
func (r *rng) base64(n int) string  { return r.from(alphanumeric+"+/", n/4*4) }
