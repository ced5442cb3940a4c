package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// anthropicAPI is Anthropic's Messages.
type anthropicAPI struct{}

func (anthropicAPI) api() API           { return Anthropic }
func (anthropicAPI) callPrefix() string { return "toolu_" }

func (anthropicAPI) around(r Request) *fault {
	switch {
	case r.Header.Get("Anthropic-Version") == "":
		return &fault{http.StatusBadRequest, Error{Message: "anthropic-version: header is required"}}
	case len(r.Body) > maxBody:
		return &fault{http.StatusRequestEntityTooLarge, Error{Message: "Request exceeds the maximum size"}}
	}
	return nil
}

// anthropicRequest is a request body.
type anthropicRequest struct {
	Model      string          `json:"model"`
	Stream     bool            `json:"stream"`
	MaxTokens  *int            `json:"max_tokens"`
	System     content         `json:"system"`
	Tools      json.RawMessage `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`
	Thinking   json.RawMessage `json:"thinking"`
	Management struct {
		Edits []struct {
			Type string `json:"type"`
		} `json:"edits"`
	} `json:"context_management"`
	Raw []json.RawMessage `json:"messages"`

	thinking struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	}
	list   []anthropicMessage
	marks  int // blocks with cache_control
	prefix []digest
	sealed string // the last signature of ours
}

type anthropicMessage struct {
	Role    string  `json:"role"`
	Content content `json:"content"`

	raw    []json.RawMessage // of the blocks, none if the content is a text
	blocks []anthropicBlock
}

type anthropicBlock struct {
	Type         string          `json:"type"`
	Text         string          `json:"text"`
	Thinking     string          `json:"thinking"`
	Signature    string          `json:"signature"`
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Input        json.RawMessage `json:"input"`
	ToolUseID    string          `json:"tool_use_id"`
	Content      content         `json:"content"`
	CacheControl json.RawMessage `json:"cache_control"`
}

func (b *anthropicBlock) isThinking() bool {
	return b.Type == "thinking" || b.Type == "redacted_thinking"
}

func (b *anthropicBlock) marked() bool {
	return len(b.CacheControl) > 0 && string(b.CacheControl) != "null"
}

func (anthropicAPI) read(body []byte) (wire, error) {
	r := new(anthropicRequest)
	if err := json.Unmarshal(body, r); err != nil {
		return nil, err
	}
	if len(r.Thinking) > 0 {
		if err := json.Unmarshal(r.Thinking, &r.thinking); err != nil {
			return nil, fmt.Errorf("thinking: %w", err)
		}
	}
	for _, around := range []content{r.System, content(r.Tools)} {
		if err := r.countMarks(around); err != nil {
			return nil, err
		}
	}
	r.list = make([]anthropicMessage, len(r.Raw))
	for i, raw := range r.Raw {
		m := &r.list[i]
		if err := json.Unmarshal(raw, m); err != nil {
			return nil, fmt.Errorf("messages.%d: %w", i, err)
		}
		m.raw, _ = m.Content.list()
		m.blocks = make([]anthropicBlock, len(m.raw))
		for k, block := range m.raw {
			b := &m.blocks[k]
			if err := json.Unmarshal(block, b); err != nil {
				return nil, fmt.Errorf("messages.%d.content.%d: %w", i, k, err)
			}
			if b.marked() {
				r.marks++
			}
			if b.Type == "tool_result" {
				if err := r.countMarks(b.Content); err != nil {
					return nil, fmt.Errorf("messages.%d.content.%d: %w", i, k, err)
				}
			}
		}
	}
	r.chain()
	return r, nil
}

// countMarks counts the cache_control in a list of blocks or tools.
func (r *anthropicRequest) countMarks(c content) error {
	list, _ := c.list()
	for _, raw := range list {
		var b anthropicBlock
		if err := json.Unmarshal(raw, &b); err != nil {
			return err
		}
		if b.marked() {
			r.marks++
		}
	}
	return nil
}

// chain computes what stands before each message, thinking left out: that may be removed from the beginning of a
// conversation, so it cannot be what later thinking is bound to.
func (r *anthropicRequest) chain() {
	d := chain(chain(digest{}, unmarked(r.Tools)), unmarked(r.System))
	for i := range r.list {
		r.prefix = append(r.prefix, d)
		m := &r.list[i]
		d = chain(d, []byte(m.Role))
		if m.raw == nil {
			d = chain(d, m.Content)
		}
		for k := range m.raw {
			switch b := &m.blocks[k]; {
			case !b.isThinking():
				d = chain(d, unmarked(m.raw[k]))
			case strings.HasPrefix(b.Signature, sealPrefix):
				r.sealed = b.Signature
			}
		}
	}
	r.prefix = append(r.prefix, d)
}

func (r *anthropicRequest) maxTokens() int {
	if r.MaxTokens == nil {
		return 0
	}
	return *r.MaxTokens
}

func (r *anthropicRequest) common() *common {
	return &common{model: r.Model, stream: r.Stream, maxTokens: r.maxTokens()}
}

func (r *anthropicRequest) parts() []part {
	parts := []part{
		{r.Tools, marked(r.Tools)},
		{r.System, marked(r.System)},
		// "Changes to tool_choice, images or thinking parameters invalidate the message blocks", says the documentation
		// of prompt caching; images are in the messages.
		{slices.Concat(r.ToolChoice, []byte{0}, r.Thinking), false},
	}
	for _, raw := range r.Raw {
		parts = append(parts, part{raw, marked(raw)})
	}
	return parts
}

// seal is a signature over the thinking, what stands before it, and the thinking before it.
func (r *anthropicRequest) seal(reasoning string) string {
	before := r.prefix[len(r.prefix)-1]
	return sealPrefix + fact(r.Model, reasoning) + fact(string(before[:])) + fact(r.sealed)
}

func (r *anthropicRequest) messages() []Message {
	var out []Message
	if s := r.System.String(); s != "" {
		out = append(out, Message{Role: "system", Text: s})
	}
	for i := range r.list {
		m := &r.list[i]
		if m.raw == nil {
			out = append(out, Message{Role: m.Role, Text: m.Content.String()})
			continue
		}
		msg := Message{Role: m.Role}
		var texts, thoughts []string
		results := 0
		for k := range m.blocks {
			switch b := &m.blocks[k]; {
			case b.Type == "tool_result":
				results++
				out = append(out, Message{Role: "tool", Text: b.Content.String(), CallID: b.ToolUseID})
			case b.Type == "tool_use":
				msg.Calls = append(msg.Calls, b.ID+" "+b.Name+" "+compact(b.Input))
			case b.isThinking():
				thoughts = append(thoughts, b.Thinking)
			default:
				texts = append(texts, partText(m.raw[k]))
			}
		}
		if results > 0 && len(texts) == 0 {
			continue // nothing but results
		}
		msg.Text, msg.Reasoning = strings.Join(texts, "\n"), strings.Join(thoughts, "\n")
		out = append(out, msg)
	}
	return out
}

// toolUseID is what ids of calls match.
var toolUseID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// limits of the API.
const (
	maxCacheMarks = 4
	maxBody       = 32 << 20 // bytes
)

// problem is the message of a rule that is broken.
type problem string

func (r *anthropicRequest) refuse(rules rules) *fault {
	var found problem
	for _, rule := range []func() problem{
		func() problem { return r.parameters(rules.counting) },
		r.roles,
		r.contents,
		r.pairs,
		func() problem { return r.signatures(rules.Newer) },
		func() problem { return r.end(rules.Newer) },
	} {
		if found = rule(); found != "" {
			return &fault{http.StatusBadRequest, Error{Message: string(found)}}
		}
	}
	return nil
}

// parameters judges what stands beside the messages.
func (r *anthropicRequest) parameters(counting bool) problem {
	on := r.thinking.Type == "enabled" || r.thinking.Type == "adaptive"
	switch {
	case r.MaxTokens == nil && !counting:
		return "max_tokens: Field required"
	case r.thinking.Budget > 0 && r.MaxTokens != nil && *r.MaxTokens <= r.thinking.Budget:
		return "`max_tokens` must be greater than `thinking.budget_tokens`."
	case r.marks > maxCacheMarks:
		return problem(fmt.Sprintf("A maximum of %d blocks with cache_control may be provided. Found %d.", maxCacheMarks, r.marks))
	case len(r.list) == 0:
		return "messages: at least one message is required"
	}
	for i, e := range r.Management.Edits {
		if e.Type == "clear_thinking_20251015" && !on {
			return problem(fmt.Sprintf("context_management.edits.%d: `clear_thinking_20251015` requires `thinking` to be enabled or adaptive", i))
		}
	}
	list, _ := r.System.list()
	for i, raw := range list {
		var b anthropicBlock
		if json.Unmarshal(raw, &b) == nil && b.Type == "text" && b.Text == "" {
			return problem(fmt.Sprintf("system.%d: text content blocks must be non-empty", i))
		}
	}
	return ""
}

func (r *anthropicRequest) roles() problem {
	for i := range r.list {
		switch role := r.list[i].Role; {
		case role == "system" && i > 0 && i+1 < len(r.list) && r.list[i+1].Role != "assistant":
			return problem(fmt.Sprintf("messages.%d: role 'system' must precede an 'assistant' message or end the array", i))
		case role != "user" && role != "assistant" && (role != "system" || i == 0):
			return problem(fmt.Sprintf("messages.%d.role: Input should be 'user' or 'assistant'", i))
		}
	}
	if r.list[0].Role != "user" {
		return "messages: first message must use the \"user\" role"
	}
	return ""
}

// contents judges each message by itself.
func (r *anthropicRequest) contents() problem {
	for i := range r.list {
		m := &r.list[i]
		at := fmt.Sprintf("messages.%d", i)
		text, isText := m.Content.text()
		switch {
		case !isText && m.raw == nil:
			return problem(at + ".content: Field required")
		case (isText && text == "" || !isText && len(m.raw) == 0) && (i+1 < len(r.list) || m.Role != "assistant"):
			return problem(at + ": all messages must have non-empty content except for the optional final assistant message")
		case isText && text != "" && strings.TrimSpace(text) == "":
			return "messages: text content blocks must contain non-whitespace text"
		}
		thoughts := 0
		for k := range m.blocks {
			b := &m.blocks[k]
			if p := b.judge(fmt.Sprintf("%s.content.%d", at, k), m.Role); p != "" {
				return p
			}
			if b.isThinking() {
				thoughts++
			}
		}
		goesOn := i+1 < len(r.list) && r.list[i+1].Role == "assistant"
		if n := len(m.blocks); n > 0 && m.Role == "assistant" && (thoughts == n || m.blocks[n-1].isThinking() && !goesOn) {
			return problem(at + ": The final block in an assistant message cannot be `thinking`.")
		}
	}
	return ""
}

// judge judges one block.
func (b *anthropicBlock) judge(at, role string) problem {
	switch b.Type {
	case "text":
		switch {
		case b.Text == "":
			return "messages: text content blocks must be non-empty"
		case strings.TrimSpace(b.Text) == "":
			return "messages: text content blocks must contain non-whitespace text"
		}
	case "compaction":
		if s, ok := b.Content.text(); ok && s == "" {
			return problem(at + ".compaction.content: String should have at least 1 character")
		}
	case "tool_use":
		var input map[string]json.RawMessage
		switch {
		case role != "assistant":
			return problem(fmt.Sprintf("%s: `tool_use` blocks can only be in `assistant` messages", at))
		case !toolUseID.MatchString(b.ID):
			return problem(at + ".tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
		case json.Unmarshal(b.Input, &input) != nil || input == nil:
			return problem(at + ".tool_use.input: Input should be a valid dictionary")
		}
	case "tool_result":
		if role != "user" {
			return problem(fmt.Sprintf("%s: `tool_result` blocks can only be in `user` messages", at))
		}
	}
	return ""
}

// pairs judges calls and results. Neighbours of one role are one message to the API.
func (r *anthropicRequest) pairs() problem {
	type place struct{ message, block int }
	var turns [][]place
	for i := range r.list {
		if i == 0 || r.list[i].Role != r.list[i-1].Role {
			turns = append(turns, nil)
		}
		for k := range r.list[i].blocks {
			turns[len(turns)-1] = append(turns[len(turns)-1], place{i, k})
		}
		if r.list[i].raw == nil { // a text, which may stand before no result
			turns[len(turns)-1] = append(turns[len(turns)-1], place{i, -1})
		}
	}
	ids := map[string]bool{}
	var calls []string // of the turn before
	last := 0          // its message
	for _, turn := range turns {
		var own []string
		answered := map[string]bool{}
		first := true // nothing but results so far
		for _, at := range turn {
			var b anthropicBlock
			if at.block >= 0 {
				b = r.list[at.message].blocks[at.block]
			}
			where := fmt.Sprintf("messages.%d.content.%d", at.message, at.block)
			switch {
			case b.Type == "tool_use" && ids[b.ID]:
				return problem(where + ": `tool_use` ids must be unique")
			case b.Type == "tool_use":
				ids[b.ID] = true
				own = append(own, b.ID)
			case b.Type == "tool_result" && answered[b.ToolUseID]:
				return problem(fmt.Sprintf("%s: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", where, b.ToolUseID))
			case b.Type == "tool_result" && !slices.Contains(calls, b.ToolUseID):
				return problem(fmt.Sprintf("%s: unexpected `tool_use_id` found in `tool_result` blocks: %s. "+
					"Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", where, b.ToolUseID))
			case b.Type == "tool_result" && first: // one that comes too late counts as none
				answered[b.ToolUseID] = true
			}
			first = first && b.Type == "tool_result"
		}
		if missing := slices.DeleteFunc(calls, func(id string) bool { return answered[id] }); len(missing) > 0 {
			return unanswered(last, missing)
		}
		calls = own
		if len(turn) > 0 {
			last = turn[len(turn)-1].message
		}
	}
	if len(calls) > 0 {
		return unanswered(last, calls)
	}
	return ""
}

func unanswered(message int, ids []string) problem {
	return problem(fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
		"Each `tool_use` block must have a corresponding `tool_result` block in the next message.", message, strings.Join(ids, ", ")))
}

// signatures judges the thinking that this package has signed. If it is bound, it must stand behind the messages that it
// was given for, and none may be missing in the middle.
func (r *anthropicRequest) signatures(bound bool) problem {
	before, known := "", false
	for i := range r.list {
		m := &r.list[i]
		for k := range m.blocks {
			b := &m.blocks[k]
			f, ours := facts(b.Signature)
			if !b.isThinking() || !ours {
				continue
			}
			at := fmt.Sprintf("messages.%d.content.%d", i, k)
			if len(f) != 3 || f[0] != fact(r.Model, b.Thinking) {
				return problem(at + ": Invalid `signature` in `thinking` block")
			}
			prefix := r.prefix[i]
			if bound && (f[1] != fact(string(prefix[:])) || known && f[2] != fact(before)) {
				return problem(at + ": Invalid `signature` in `thinking` block: it is bound to a different conversation")
			}
			before, known = b.Signature, true
		}
	}
	return ""
}

// end judges how the conversation ends.
func (r *anthropicRequest) end(newer bool) problem {
	m := &r.list[len(r.list)-1]
	if m.Role != "assistant" {
		return ""
	}
	text, _ := m.Content.text()
	for k := range m.blocks {
		if m.blocks[k].Type == "server_tool_use" {
			return "" // a paused answer is sent again to go on
		}
		text = m.blocks[k].Text
	}
	switch {
	case newer:
		return "This model does not support assistant message prefill. The conversation must end with a user message."
	case r.thinking.Type == "enabled" || r.thinking.Type == "adaptive":
		return "messages: the final message may not be an `assistant` message when `thinking` is enabled"
	case strings.TrimRight(text, " \t\r\n") != text:
		return "messages: final assistant content cannot end with trailing whitespace"
	}
	return ""
}

func (anthropicAPI) overflow(input, window int) Error {
	return Error{Message: fmt.Sprintf("prompt is too long: %d tokens > %d maximum", input, window)}
}

func (anthropicAPI) outputLimit(input, output, window int) Error {
	return Error{Message: fmt.Sprintf("input length and `max_tokens` exceed context limit: %d + %d > %d, "+
		"decrease input length or `max_tokens` and try again", input, output, window)}
}

// anthropicTypes are the types of errors by their status; api_error is that of the others from 500 on.
var anthropicTypes = map[int]string{
	http.StatusUnauthorized:          "authentication_error",
	http.StatusPaymentRequired:       "billing_error",
	http.StatusForbidden:             "permission_error",
	http.StatusNotFound:              "not_found_error",
	http.StatusRequestEntityTooLarge: "request_too_large",
	http.StatusTooManyRequests:       "rate_limit_error",
	http.StatusGatewayTimeout:        "timeout_error",
	529:                              "overloaded_error",
}

func (anthropicAPI) envelope(status int, e Error) object {
	return object{"type", "error", "error", object{"type", e.typeOf(status, anthropicTypes, "api_error"), "message", e.text(status)}, "request_id", "req_1"}
}

func (d anthropicAPI) failure(a *answer, _ int) event {
	return event{"error", encode(d.envelope(a.Error.statusInside(), a.Error))}
}

// ping says only that the connection lives.
var ping = event{"ping", encode(object{"type", "ping"})}

func (a *answer) anthropicStop() (reason string, details any) {
	if a.Refusal != "" {
		details = object{"type", "refusal", "category", nil, "explanation", a.Refusal}
	}
	switch {
	case a.Stop != "":
		return a.Stop, details
	case a.Refusal != "":
		return "refusal", details
	case len(a.calls) > 0:
		return "tool_use", details
	}
	return "end_turn", details
}

// anthropicUsage counts what was read from the cache or written to it beside the other input.
func (a *answer) anthropicUsage(output int) any {
	if a.NoUsage {
		return nil
	}
	u := a.usage
	return object{
		"input_tokens", max(0, u.Input-u.CacheRead-u.CacheWrite),
		"cache_creation_input_tokens", u.CacheWrite, "cache_read_input_tokens", u.CacheRead,
		"cache_creation", object{"ephemeral_5m_input_tokens", u.CacheWrite, "ephemeral_1h_input_tokens", 0},
		"output_tokens", output, "service_tier", "standard"}
}

func (a *answer) anthropicMessage(blocks []any, stop, usage any) object {
	return object{"id", fmt.Sprintf("msg_%d", a.id), "type", "message", "role", "assistant", "model", a.model, "content", blocks,
		"stop_reason", stop, "stop_sequence", nil, "usage", usage}
}

func (anthropicAPI) plain(a *answer) object {
	blocks := make([]any, 0, len(a.calls)+2)
	if a.reasoned() {
		t := a.thought()
		blocks = append(blocks, object{"type", "thinking", "thinking", t, "signature", a.seal(t)})
	}
	if a.Text != "" {
		blocks = append(blocks, object{"type", "text", "text", a.Text})
	}
	for _, c := range a.calls {
		input := json.RawMessage(c.args)
		if !json.Valid(input) {
			input = json.RawMessage("{}")
		}
		blocks = append(blocks, object{"type", "tool_use", "id", c.id, "name", c.name, "input", input})
	}
	reason, details := a.anthropicStop()
	o := a.anthropicMessage(blocks, reason, a.anthropicUsage(a.usage.Output))
	if details != nil {
		o = append(o, "stop_details", details)
	}
	return o
}

func (anthropicAPI) stream(a *answer) (events []event, content int) {
	send := func(kind string, members ...any) {
		events = append(events, event{kind, encode(append(object{"type", kind}, members...))})
	}
	send("message_start", "message", a.anthropicMessage([]any{}, nil, a.anthropicUsage(1)))
	index := 0
	block := func(begin object, deltas ...object) {
		send("content_block_start", "index", index, "content_block", begin)
		if index == 0 {
			events = append(events, ping)
		}
		for _, d := range deltas {
			send("content_block_delta", "index", index, "delta", d)
		}
		send("content_block_stop", "index", index)
		index++
	}
	deltas := func(kind, name, text string) (out []object) {
		for _, piece := range a.pieces(text) {
			out = append(out, object{"type", kind, name, piece})
		}
		return out
	}
	if a.reasoned() {
		t := a.thought()
		block(object{"type", "thinking", "thinking", "", "signature", ""},
			append(deltas("thinking_delta", "thinking", t), object{"type", "signature_delta", "signature", a.seal(t)})...)
	}
	if a.Text != "" {
		block(object{"type", "text", "text", ""}, deltas("text_delta", "text", a.Text)...)
	}
	for _, c := range a.calls {
		first := object{"type", "input_json_delta", "partial_json", ""}
		block(object{"type", "tool_use", "id", c.id, "name", c.name, "input", object{}},
			append([]object{first}, deltas("input_json_delta", "partial_json", c.args)...)...)
	}
	content = len(events)
	reason, details := a.anthropicStop()
	delta := object{"stop_reason", reason, "stop_sequence", nil}
	if details != nil {
		delta = append(delta, "stop_details", details)
	}
	end := []any{"delta", delta}
	if u := a.anthropicUsage(a.usage.Output); u != nil {
		end = append(end, "usage", u)
	}
	send("message_delta", end...)
	send("message_stop")
	return events, content
}
