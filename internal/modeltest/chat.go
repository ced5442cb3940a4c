package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// chatAPI is OpenAI's Chat Completions.
type chatAPI struct{}

func (chatAPI) api() API              { return Chat }
func (chatAPI) callPrefix() string    { return "call_" }
func (chatAPI) around(Request) *fault { return nil }

// chatRequest is a request body.
type chatRequest struct {
	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens           int               `json:"max_tokens"`
	MaxCompletionTokens int               `json:"max_completion_tokens"`
	ResponseFormat      json.RawMessage   `json:"response_format"`
	Tools               json.RawMessage   `json:"tools"`
	Raw                 []json.RawMessage `json:"messages"`

	list []chatMessage
}

type chatMessage struct {
	Role       string      `json:"role"`
	Content    content     `json:"content"`
	Refusal    string      `json:"refusal"`
	Reasoning  string      `json:"reasoning_content"`
	ToolCallID string      `json:"tool_call_id"`
	ToolCalls  *[]chatCall `json:"tool_calls"`
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
	Custom struct {
		Name  string `json:"name"`
		Input string `json:"input"`
	} `json:"custom"`
}

// calls of a message, nil for none.
func (m *chatMessage) calls() []chatCall {
	if m.ToolCalls == nil {
		return nil
	}
	return *m.ToolCalls
}

// args are the arguments of a call as text, and whether they are text.
func (c *chatCall) args() (string, bool) {
	var s string
	if err := json.Unmarshal(c.Function.Arguments, &s); err != nil || string(c.Function.Arguments) == "null" {
		return string(c.Function.Arguments), false
	}
	return s, true
}

func (chatAPI) read(body []byte) (wire, error) {
	r := new(chatRequest)
	if err := json.Unmarshal(body, r); err != nil {
		return nil, err
	}
	r.list = make([]chatMessage, len(r.Raw))
	for i, raw := range r.Raw {
		if err := json.Unmarshal(raw, &r.list[i]); err != nil {
			return nil, fmt.Errorf("messages.%d: %w", i, err)
		}
	}
	return r, nil
}

func (r *chatRequest) common() *common {
	return &common{model: r.Model, stream: r.Stream, maxTokens: max(r.MaxTokens, r.MaxCompletionTokens), includeUsage: r.StreamOptions.IncludeUsage}
}

func (r *chatRequest) seal(string) string { return "" } // reasoning is not signed here

func (r *chatRequest) parts() []part {
	parts := []part{{r.ResponseFormat, true}, {r.Tools, true}}
	for _, raw := range r.Raw {
		parts = append(parts, part{raw, true})
	}
	return parts
}

func (r *chatRequest) messages() []Message {
	var out []Message
	for i := range r.list {
		m := &r.list[i]
		msg := Message{Role: m.Role, Text: m.Content.String(), Reasoning: m.Reasoning}
		switch m.Role {
		case "developer":
			msg.Role = "system"
		case "tool":
			msg.CallID = m.ToolCallID
		}
		if msg.Text == "" {
			msg.Text = m.Refusal
		}
		for _, c := range m.calls() {
			name, args := c.Function.Name, c.Custom.Input
			if c.Type == "custom" {
				name = c.Custom.Name
			} else {
				args, _ = c.args()
			}
			msg.Calls = append(msg.Calls, c.ID+" "+name+" "+args)
		}
		out = append(out, msg)
	}
	return out
}

// maxID is how long an id of a call may be, in bytes.
const maxID = 64

func (r *chatRequest) refuse(rules rules) *fault {
	bad := func(at, format string, args ...any) *fault {
		return &fault{http.StatusBadRequest, Error{Param: at, Message: fmt.Sprintf(format, args...)}}
	}
	if len(r.list) == 0 {
		return bad("messages", "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	var open []string // calls of the step without a result
	var step []string // all calls of the step, nil outside of one
	unanswered := func() *fault {
		if len(open) == 0 {
			return nil
		}
		return bad("messages", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "+
			"The following tool_call_ids did not have response messages: %s", strings.Join(open, ", "))
	}
	for i := range r.list {
		m := &r.list[i]
		at := fmt.Sprintf("messages.[%d]", i)
		if m.Role == "tool" {
			n := slices.Index(open, m.ToolCallID)
			switch {
			case step == nil:
				return bad(at+".role", "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.")
			case n < 0 && slices.Contains(step, m.ToolCallID):
				return bad(at+".tool_call_id", "Duplicate value for 'tool_call_id' of '%s' in messages[%d].", m.ToolCallID, i)
			case n < 0:
				return bad(at+".tool_call_id", "Invalid parameter: 'tool_call_id' of '%s' not found in 'tool_calls' of previous message.", m.ToolCallID)
			case m.emptyResult():
				return bad(at+".content", "Invalid type for '%s.content': expected one of a string or a list of parts, but got none.", at)
			}
			open = slices.Delete(open, n, n+1)
			continue
		}
		if f := unanswered(); f != nil {
			return f
		}
		if f := r.refuseMessage(i, bad); f != nil {
			return f
		}
		step = nil
		for _, c := range m.calls() {
			step = append(step, c.ID)
		}
		open = slices.Clone(step)
	}
	if f := unanswered(); f != nil {
		return f
	}
	if rules.Template {
		return r.refuseTemplate(bad)
	}
	return nil
}

// emptyResult reports whether a tool message has no content at all. The empty string is what a command may have printed.
func (m *chatMessage) emptyResult() bool {
	list, ok := m.Content.list()
	return m.Content.absent() || ok && len(list) == 0
}

// refuseMessage judges a message that is no result, by itself.
func (r *chatRequest) refuseMessage(i int, bad func(at, format string, args ...any) *fault) *fault {
	m := &r.list[i]
	at := fmt.Sprintf("messages.[%d]", i)
	if !slices.Contains([]string{"system", "developer", "user", "assistant", "function"}, m.Role) {
		return bad(at+".role", "Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", m.Role)
	}
	list, _ := m.Content.list()
	for _, raw := range list {
		var p contentPart
		if json.Unmarshal(raw, &p) == nil && p.Type == "text" && p.Text == "" {
			return bad(at+".content", "text content is empty") // Moonshot's rule, and others'
		}
	}
	text, isText := m.Content.text()
	nothing := len(list) == 0 && (!isText || text == "")
	switch {
	case m.Role != "assistant" && m.ToolCalls != nil:
		return bad(at+".tool_calls", "Unknown parameter: '%s.tool_calls'.", at)
	case m.ToolCalls != nil && len(*m.ToolCalls) == 0:
		return bad(at+".tool_calls", "Invalid '%s.tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.", at)
	case m.Role != "assistant" && nothing:
		return bad(at+".content", "text content is empty")
	case m.Role == "assistant" && nothing && m.ToolCalls == nil && m.Refusal == "" && (m.Reasoning == "" || !isText):
		return bad(at+".content", "Invalid value for 'content': expected a string, got null.")
	}
	seen := map[string]bool{}
	for n, c := range m.calls() {
		call := fmt.Sprintf("%s.tool_calls[%d]", at, n)
		switch {
		case c.ID == "":
			return bad(call+".id", "Missing required parameter: '%s.id'.", call)
		case len(c.ID) > maxID:
			return bad(call+".id", "Invalid '%s.id': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", call, maxID, len(c.ID))
		case seen[c.ID]:
			return bad(call+".id", "Duplicate value for 'tool_call_id' of '%s' in messages[%d].", c.ID, i)
		}
		seen[c.ID] = true
		var args map[string]json.RawMessage
		if s, ok := c.args(); c.Type != "custom" && (!ok || json.Unmarshal([]byte(s), &args) != nil || args == nil) {
			return bad(call+".function.arguments", "arguments must be a valid JSON object string")
		}
	}
	return nil
}

// refuseTemplate judges by the rules of strict chat templates.
func (r *chatRequest) refuseTemplate(bad func(at, format string, args ...any) *fault) *fault {
	users := 0
	for i := range r.list {
		switch m := &r.list[i]; {
		case m.Role == "user":
			users++
		case m.Role == "system" && i > 0:
			return bad("messages", "System message must be at the beginning.")
		}
	}
	n := len(r.list)
	switch {
	case users == 0:
		return bad("messages", "No user query found in messages.")
	case n >= 2 && r.list[n-1].Role == "assistant" && r.list[n-2].Role == "assistant":
		return bad("messages", "Cannot have 2 or more assistant messages at the end of the list.")
	}
	return nil
}

func (chatAPI) overflow(input, window int) Error {
	return Error{Code: "context_length_exceeded", Param: "messages", Message: fmt.Sprintf(
		"This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", window, input)}
}

func (chatAPI) outputLimit(input, output, window int) Error {
	return Error{Code: "context_length_exceeded", Param: "messages", Message: fmt.Sprintf(
		"This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, %d in the completion). "+
			"Please reduce the length of the messages or completion.", window, input+output, input, output)}
}

// openAITypes are the types of errors by their status; server_error is that of the others from 500 on.
var openAITypes = map[int]string{http.StatusTooManyRequests: "requests"}

func (chatAPI) envelope(status int, e Error) object {
	if e.Code == "" && status == http.StatusTooManyRequests {
		e.Code = "rate_limit_exceeded"
	}
	return object{"error", object{
		"message", e.text(status), "type", e.typeOf(status, openAITypes, "server_error"), "param", orNull(e.Param), "code", orNull(e.Code)}}
}

func (d chatAPI) failure(a *answer, _ int) event {
	return event{data: encode(d.envelope(a.Error.statusInside(), a.Error))}
}

func (a *answer) chatStop() string {
	switch {
	case a.Stop != "":
		return a.Stop
	case len(a.calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func (a *answer) chatUsage() any {
	if a.NoUsage {
		return nil
	}
	u := a.usage
	prompt := object{"cached_tokens", u.CacheRead}
	if u.CacheWrite > 0 {
		prompt = append(prompt, "cache_write_tokens", u.CacheWrite)
	}
	return object{
		"prompt_tokens", u.Input, "completion_tokens", u.Output, "total_tokens", u.Input + u.Output,
		"prompt_tokens_details", prompt, "completion_tokens_details", object{"reasoning_tokens", a.reasoningTokens()}}
}

func (c toolCall) chat(args string) object {
	return object{"id", c.id, "type", "function", "function", object{"name", c.name, "arguments", args}}
}

func (chatAPI) plain(a *answer) object {
	message := object{"role", "assistant", "content", orNull(a.Text)}
	if t := a.thought(); t != "" {
		message = append(message, "reasoning_content", t)
	}
	message = append(message, "refusal", orNull(a.Refusal))
	if len(a.calls) > 0 {
		var calls []any
		for _, c := range a.calls {
			calls = append(calls, c.chat(c.args))
		}
		message = append(message, "tool_calls", calls)
	}
	o := object{"id", fmt.Sprintf("chatcmpl-%d", a.id), "object", "chat.completion", "created", 1, "model", a.model,
		"choices", []any{object{"index", 0, "message", message, "logprobs", nil, "finish_reason", a.chatStop()}}}
	if u := a.chatUsage(); u != nil {
		o = append(o, "usage", u)
	}
	return o
}

// done ends a stream of Chat Completions.
var done = event{data: []byte("[DONE]")}

func (chatAPI) stream(a *answer) (events []event, content int) {
	usage := a.request.includeUsage && !a.NoUsage
	send := func(choices []any, u any) {
		o := object{"id", fmt.Sprintf("chatcmpl-%d", a.id), "object", "chat.completion.chunk", "created", 1, "model", a.model, "choices", choices}
		if usage {
			o = append(o, "usage", u)
		}
		events = append(events, event{data: encode(o)})
	}
	delta := func(reason any, members ...any) {
		send([]any{object{"index", 0, "delta", object(members), "logprobs", nil, "finish_reason", reason}}, nil)
	}
	delta(nil, "role", "assistant", "content", "", "refusal", nil)
	for _, text := range a.pieces(a.thought()) {
		delta(nil, "reasoning_content", text)
	}
	for _, text := range a.pieces(a.Text) {
		delta(nil, "content", text)
	}
	for _, text := range a.pieces(a.Refusal) {
		delta(nil, "refusal", text)
	}
	for i, c := range a.calls {
		delta(nil, "tool_calls", []any{append(object{"index", i}, c.chat("")...)})
		for _, text := range a.pieces(c.args) {
			delta(nil, "tool_calls", []any{object{"index", i, "function", object{"arguments", text}}})
		}
	}
	content = len(events)
	delta(a.chatStop())
	if usage {
		send([]any{}, a.chatUsage())
	}
	return append(events, done), content
}
