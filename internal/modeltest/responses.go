package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// responsesAPI is OpenAI's Responses.
type responsesAPI struct{}

func (responsesAPI) api() API              { return Responses }
func (responsesAPI) callPrefix() string    { return "call_" }
func (responsesAPI) around(Request) *fault { return nil }

// responsesRequest is a request body.
type responsesRequest struct {
	Model              string          `json:"model"`
	Stream             bool            `json:"stream"`
	Store              *bool           `json:"store"`
	Include            []string        `json:"include"`
	MaxOutputTokens    int             `json:"max_output_tokens"`
	PreviousResponseID string          `json:"previous_response_id"`
	Instructions       content         `json:"instructions"`
	Text               json.RawMessage `json:"text"`
	Tools              json.RawMessage `json:"tools"`
	Input              content         `json:"input"`

	raw  []json.RawMessage // the items, a string as one
	list []responsesItem
}

type responsesItem struct {
	Type             string          `json:"type"`
	ID               string          `json:"id"`
	Role             string          `json:"role"`
	Content          content         `json:"content"`
	Summary          content         `json:"summary"`
	EncryptedContent *string         `json:"encrypted_content"`
	CallID           string          `json:"call_id"`
	Name             string          `json:"name"`
	Arguments        json.RawMessage `json:"arguments"`
	Input            string          `json:"input"`
	Output           content         `json:"output"`
}

// isOutput and isCall tell the two halves of a pair; what is called and answered by the provider itself has no call id.
func (it *responsesItem) isOutput() bool { return strings.HasSuffix(it.Type, "_call_output") }
func (it *responsesItem) isCall() bool {
	return strings.HasSuffix(it.Type, "_call") && it.CallID != ""
}

// isMessage: the type of a message may be left out.
func (it *responsesItem) isMessage() bool {
	return it.Type == "message" || it.Type == "" && it.Role != ""
}

// byModel reports whether a model has made the item.
func (it *responsesItem) byModel() bool {
	return it.Role == "assistant" || strings.HasSuffix(it.Type, "_call") || it.Type == "reasoning"
}

func (responsesAPI) read(body []byte) (wire, error) {
	r := new(responsesRequest)
	if err := json.Unmarshal(body, r); err != nil {
		return nil, err
	}
	switch text, isText := r.Input.text(); {
	case isText:
		r.raw = []json.RawMessage{json.RawMessage(r.Input)}
		r.list = []responsesItem{{Type: "message", Role: "user", Content: r.Input}}
		if text == "" {
			r.raw, r.list = nil, nil
		}
		return r, nil
	case r.Input.absent():
		return r, nil
	}
	list, ok := r.Input.list()
	if !ok {
		return nil, errors.New("input: expected a string or a list")
	}
	r.raw = list
	r.list = make([]responsesItem, len(list))
	for i, raw := range list {
		if err := json.Unmarshal(raw, &r.list[i]); err != nil {
			return nil, fmt.Errorf("input[%d]: %w", i, err)
		}
	}
	return r, nil
}

// sealedReasoning is what a request includes that wants reasoning to replay.
const sealedReasoning = "reasoning.encrypted_content"

func (r *responsesRequest) common() *common {
	return &common{model: r.Model, stream: r.Stream, maxTokens: r.MaxOutputTokens, includeSealed: slices.Contains(r.Include, sealedReasoning)}
}

func (r *responsesRequest) parts() []part {
	parts := []part{{r.Text, true}, {r.Tools, true}, {r.Instructions, true}}
	for _, raw := range r.raw {
		parts = append(parts, part{raw, true})
	}
	return parts
}

// seal is encrypted content, which is bound to its model.
func (r *responsesRequest) seal(reasoning string) string {
	text := fact(reasoning)
	return sealPrefix + text + fact(r.Model, text)
}

// sealed reports whether encrypted content can be read for this model.
func (r *responsesRequest) sealed(encrypted string) bool {
	f, ours := facts(encrypted)
	return !ours || len(f) == 2 && f[1] == fact(r.Model, f[0])
}

func (r *responsesRequest) messages() []Message {
	var out []Message
	if s := r.Instructions.String(); s != "" {
		out = append(out, Message{Role: "system", Text: s})
	}
	answer := false // the last message is the model's, and what it does comes to it
	model := func() *Message {
		if !answer {
			out = append(out, Message{Role: "assistant"})
			answer = true
		}
		return &out[len(out)-1]
	}
	for i := range r.list {
		it := &r.list[i]
		switch {
		case it.isMessage() && it.Role == "assistant":
			if m := model(); m.Text != "" || m.Calls != nil {
				out = append(out, Message{Role: "assistant"})
			}
			model().Text = it.Content.String()
		case it.Type == "reasoning":
			if m := model(); m.Text != "" || m.Calls != nil {
				out = append(out, Message{Role: "assistant"})
			}
			model().Reasoning = it.Summary.String()
		case it.isCall():
			var args string
			if json.Unmarshal(it.Arguments, &args) != nil {
				args = string(it.Arguments)
			}
			m := model()
			m.Calls = append(m.Calls, it.CallID+" "+it.Name+" "+args+it.Input)
		case it.isOutput():
			answer = false
			out = append(out, Message{Role: "tool", Text: it.Output.String(), CallID: it.CallID})
		case it.isMessage():
			answer = false
			role := it.Role
			if role == "developer" {
				role = "system"
			}
			out = append(out, Message{Role: role, Text: it.Content.String()})
		default:
			answer = false
			out = append(out, Message{Role: "user", Text: "[" + it.Type + "]"})
		}
	}
	return out
}

func (r *responsesRequest) refuse(rules rules) *fault {
	bad := func(param, code, format string, args ...any) *fault {
		return &fault{http.StatusBadRequest, Error{Param: param, Code: code, Message: fmt.Sprintf(format, args...)}}
	}
	switch {
	case r.PreviousResponseID != "": // the server keeps none
		return bad("previous_response_id", "previous_response_not_found", "Previous response with id '%s' not found.", r.PreviousResponseID)
	case len(r.list) == 0:
		return bad("input", "missing_required_parameter", `One of "input" or "previous_response_id" or 'prompt' or 'conversation_id' must be provided.`)
	}
	stored := r.Store == nil || *r.Store
	open, answered := []string{}, map[string]bool{}
	thoughts := map[string]bool{} // ids of reasoning so far
	for i := range r.list {
		it := &r.list[i]
		at := fmt.Sprintf("input[%d]", i)
		if len(it.CallID) > maxID {
			return bad(at+".call_id", "string_above_max_length",
				"Invalid '%s.call_id': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", at, maxID, len(it.CallID))
		}
		switch {
		case it.isMessage():
			if f := r.refuseMessage(i, bad); f != nil {
				return f
			}
		case it.isCall():
			if slices.Contains(open, it.CallID) {
				return bad(at+".call_id", "", "Duplicate function call with call_id %s.", it.CallID)
			}
			open = append(open, it.CallID)
			delete(answered, it.CallID)
		case it.isOutput():
			n := slices.Index(open, it.CallID)
			if n < 0 && answered[it.CallID] {
				return bad("input", "", "Duplicate tool output found for function call %s.", it.CallID)
			}
			if n < 0 {
				return bad("input", "", "No tool call found for function call output with call_id %s.", it.CallID)
			}
			open = slices.Delete(open, n, n+1)
			answered[it.CallID] = true
		case it.Type == "item_reference" && !stored, it.Type == "reasoning" && !stored && it.ID != "" && it.EncryptedContent == nil:
			return bad("input", "", "Item with id '%s' not found. Items are not persisted when `store` is set to false. "+
				"Try again with `store` set to true, or remove this item from your input.", it.ID)
		case it.Type == "reasoning" && it.ID != "" && (i+1 == len(r.list) || !r.list[i+1].byModel()):
			return bad("input", "", "Item '%s' of type 'reasoning' was provided without its required following item.", it.ID)
		case it.Type == "compaction_trigger" && i+1 < len(r.list):
			return bad("input", "", "An item of type 'compaction_trigger' must be the last input item.")
		}
		if it.EncryptedContent != nil && !r.sealed(*it.EncryptedContent) {
			return bad("", "invalid_encrypted_content", "The encrypted content %.12s... could not be verified. "+
				"Reason: Encrypted content could not be decrypted or parsed.", *it.EncryptedContent)
		}
		if it.Type == "reasoning" {
			thoughts[it.ID] = true
		}
		if owner := rules.owner(it.ID); stored && owner != "" && !thoughts[owner] {
			return bad("input", "", "Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'.", it.ID, it.Type, owner)
		}
	}
	if len(open) > 0 {
		return bad("input", "", "No tool output found for function call %s.", open[0])
	}
	return nil
}

// refuseMessage judges a message by itself.
func (r *responsesRequest) refuseMessage(i int, bad func(param, code, format string, args ...any) *fault) *fault {
	it := &r.list[i]
	at := fmt.Sprintf("input[%d]", i)
	if !slices.Contains([]string{"system", "developer", "user", "assistant"}, it.Role) {
		return bad(at+".role", "invalid_value", "Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", it.Role)
	}
	list, isList := it.Content.list()
	if _, isText := it.Content.text(); !isText && (!isList || len(list) == 0) {
		return bad(at+".content", "invalid_type", "Invalid type for '%s.content': expected one of a string or an array of objects, but got nothing.", at)
	}
	wrong := "output_text"
	if it.Role == "assistant" {
		wrong = "input_text"
	}
	for n, raw := range list {
		var p contentPart
		if json.Unmarshal(raw, &p) == nil && p.Type == wrong {
			return bad(fmt.Sprintf("%s.content[%d]", at, n), "invalid_value", "Invalid value: '%s'. It may not stand in a message of the role '%s'.", wrong, it.Role)
		}
	}
	return nil
}

func (responsesAPI) overflow(input, window int) Error {
	return Error{Code: "context_length_exceeded", Param: "input", Message: fmt.Sprintf(
		"Input tokens exceed the configured limit of %d tokens. Your messages resulted in %d tokens. Please reduce the length of the messages.", window, input)}
}

func (responsesAPI) outputLimit(input, output, window int) Error {
	e := chatAPI{}.outputLimit(input, output, window)
	e.Param = "input"
	return e
}

func (responsesAPI) envelope(status int, e Error) object { return chatAPI{}.envelope(status, e) }

func (d responsesAPI) failure(a *answer, n int) event {
	e := a.Error
	if e.Event == "error" {
		inner := d.envelope(e.statusInside(), e)[1]
		return event{"error", encode(object{"type", "error", "error", inner, "sequence_number", n})}
	}
	if e.Code == "" {
		e.Code = "server_error"
	}
	failed := object{"code", e.Code, "message", e.text(http.StatusInternalServerError)}
	return event{"response.failed", encode(object{"type", "response.failed", "sequence_number", n, "response", a.response("failed", nil, failed, nil)})}
}

func (a *answer) reasoningID() string { return fmt.Sprintf("rs_%d", a.id) }

// itemIDs are the ids of the items other than reasoning.
func (a *answer) itemIDs() []string {
	ids := []string{fmt.Sprintf("msg_%d", a.id)}
	for _, c := range a.calls {
		ids = append(ids, fmt.Sprintf("fc_%d", c.n))
	}
	return ids
}

// end is the status of the whole, and the reason if it is incomplete.
func (a *answer) end() (status, reason string) {
	switch a.Stop {
	case "":
		return "completed", ""
	case "completed", "failed", "cancelled", "incomplete", "in_progress", "queued":
		return a.Stop, ""
	}
	return "incomplete", a.Stop
}

// itemStatus is the status of the items, once they are complete.
func (a *answer) itemStatus() string {
	if status, _ := a.end(); status == "incomplete" {
		return status
	}
	return "completed"
}

// response is the object that a request makes, as it is at one time.
func (a *answer) response(status string, output []any, failed, details any) object {
	if output == nil {
		output = []any{}
	}
	o := object{"id", fmt.Sprintf("resp_%d", a.id), "object", "response", "created_at", 1, "status", status, "background", false,
		"error", failed, "incomplete_details", details, "instructions", nil, "max_output_tokens", nil, "model", a.model, "output", output,
		"parallel_tool_calls", true, "previous_response_id", nil, "store", false, "temperature", 1, "text", object{"format", object{"type", "text"}},
		"tool_choice", "auto", "tools", []any{}, "top_p", 1, "truncation", "disabled"}
	if status == "in_progress" || status == "queued" || a.NoUsage || failed != nil {
		return append(o, "usage", nil, "metadata", object{})
	}
	u := a.usage
	input := object{"cached_tokens", u.CacheRead}
	if u.CacheWrite > 0 {
		input = append(input, "cache_write_tokens", u.CacheWrite)
	}
	return append(o, "usage", object{
		"input_tokens", u.Input, "input_tokens_details", input,
		"output_tokens", u.Output, "output_tokens_details", object{"reasoning_tokens", a.reasoningTokens()},
		"total_tokens", u.Input + u.Output}, "metadata", object{})
}

// whole is the response when it has ended.
func (a *answer) whole(output []any) object {
	status, reason := a.end()
	var details any
	if reason != "" {
		details = object{"reason", reason}
	}
	return a.response(status, output, nil, details)
}

func (responsesAPI) plain(a *answer) object {
	output := make([]any, 0, len(a.calls)+2)
	if a.reasoned() {
		output = append(output, a.reasoningItem())
	}
	if parts := a.textParts(); len(parts) > 0 {
		output = append(output, a.messageItem(a.itemStatus(), parts...))
	}
	for _, c := range a.calls {
		output = append(output, c.item(a.itemStatus(), c.args))
	}
	return a.whole(output)
}

func (a *answer) reasoningItem() object {
	summary := []any{}
	if t := a.thought(); t != "" {
		summary = append(summary, object{"type", "summary_text", "text", t})
	}
	o := object{"id", a.reasoningID(), "type", "reasoning", "summary", summary}
	if a.request.includeSealed {
		o = append(o, "encrypted_content", a.seal(a.Reasoning))
	}
	return o
}

// textParts are the parts of the message.
func (a *answer) textParts() []any {
	var parts []any
	if a.Text != "" {
		parts = append(parts, outputText(a.Text))
	}
	if a.Refusal != "" {
		parts = append(parts, object{"type", "refusal", "refusal", a.Refusal})
	}
	return parts
}

func outputText(text string) object {
	return object{"type", "output_text", "annotations", []any{}, "logprobs", []any{}, "text", text}
}

func (a *answer) messageItem(status string, parts ...any) object {
	if parts == nil {
		parts = []any{}
	}
	return object{"id", fmt.Sprintf("msg_%d", a.id), "type", "message", "status", status, "content", parts, "role", "assistant"}
}

func (c toolCall) item(status, args string) object {
	return object{"id", fmt.Sprintf("fc_%d", c.n), "type", "function_call", "status", status, "arguments", args, "call_id", c.id, "name", c.name}
}

func (responsesAPI) stream(a *answer) (events []event, content int) {
	send := func(kind string, members ...any) {
		o := append(object{"type", kind, "sequence_number", len(events)}, members...)
		events = append(events, event{kind, encode(o)})
	}
	var output []any
	item := func(begin, end object, body func(id any, index int)) {
		index := len(output)
		send("response.output_item.added", "output_index", index, "item", begin)
		body(begin[1], index)
		send("response.output_item.done", "output_index", index, "item", end)
		output = append(output, end)
	}
	send("response.created", "response", a.response("in_progress", nil, nil, nil))
	send("response.in_progress", "response", a.response("in_progress", nil, nil, nil))

	if a.reasoned() {
		item(object{"id", a.reasoningID(), "type", "reasoning", "summary", []any{}}, a.reasoningItem(), func(id any, index int) {
			text := a.thought()
			if text == "" {
				return
			}
			summary := []any{"item_id", id, "output_index", index, "summary_index", 0}
			with := func(kind, name string, value any) { send(kind, append(slices.Clone(summary), name, value)...) }
			with("response.reasoning_summary_part.added", "part", object{"type", "summary_text", "text", ""})
			for _, piece := range a.pieces(text) {
				with("response.reasoning_summary_text.delta", "delta", piece)
			}
			with("response.reasoning_summary_text.done", "text", text)
			with("response.reasoning_summary_part.done", "part", object{"type", "summary_text", "text", text})
		})
	}
	if parts := a.textParts(); len(parts) > 0 {
		item(a.messageItem("in_progress"), a.messageItem(a.itemStatus(), parts...), func(id any, index int) {
			part := func(n int, empty, whole object, kind, name, text string) {
				place := []any{"item_id", id, "output_index", index, "content_index", n}
				with := func(kind, name string, value any) { send(kind, append(slices.Clone(place), name, value)...) }
				with("response.content_part.added", "part", empty)
				for _, piece := range a.pieces(text) {
					with("response."+kind+".delta", "delta", piece)
				}
				with("response."+kind+".done", name, text)
				with("response.content_part.done", "part", whole)
			}
			n := 0
			if a.Text != "" {
				part(n, outputText(""), outputText(a.Text), "output_text", "text", a.Text)
				n++
			}
			if a.Refusal != "" {
				part(n, object{"type", "refusal", "refusal", ""}, object{"type", "refusal", "refusal", a.Refusal}, "refusal", "refusal", a.Refusal)
			}
		})
	}
	for _, c := range a.calls {
		item(c.item("in_progress", ""), c.item(a.itemStatus(), c.args), func(id any, index int) {
			for _, piece := range a.pieces(c.args) {
				send("response.function_call_arguments.delta", "item_id", id, "output_index", index, "delta", piece)
			}
			send("response.function_call_arguments.done", "item_id", id, "output_index", index, "arguments", c.args)
		})
	}
	content = len(events)
	status, _ := a.end()
	send("response."+status, "response", a.whole(output))
	return events, content
}
