package llm

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// ErrForced reports a request that leaves the model no choice but to answer with something else than text. To change
// that would cost the provider's prompt cache, and with it the purpose.
var ErrForced = errors.New("the request demands something else than text")

// noResult stands for the result of a call that nobody has answered. Every provider refuses a request in which a call
// has none.
const noResult = "(no result: the call had not ended here)"

// Extend returns a copy of an agent's own request with one more message of a user at its end, the instruction. What
// stands before it is byte for byte as it was, so that the provider's prompt cache holds it; calls at the end that
// nobody has answered get a result that says so. The answer is to be streamed, with its usage, since gateways close a
// connection on which nothing happens; where the request says otherwise, that is changed too, and stop sequences, which
// could cut it, are none. No other parameter is changed.
//
// A message with the role system that ends a request of Anthropic's stays last, where alone the API takes it.
//
// The error wraps ErrNotRequest or ErrForced.
func (a API) Extend(body []byte, instruction string) ([]byte, error) {
	m, err := openBody(body)
	if err != nil {
		return nil, err
	}
	if m.get("model").str() == "" {
		return nil, fmt.Errorf("%w: it names no model", ErrNotRequest)
	}
	if what := a.forced(m); what != "" {
		return nil, fmt.Errorf("%w: %s", ErrForced, what)
	}
	var edits []jsonspan.Edit
	switch a {
	case Anthropic:
		edits, err = extendAnthropic(m, instruction)
	case Chat:
		edits, err = extendChat(m, instruction)
	case Responses:
		edits, err = extendResponses(m, instruction)
	default:
		return nil, fmt.Errorf("%w: the protocol %q is not known", ErrNotRequest, a)
	}
	if err != nil {
		return nil, err
	}
	edits = append(edits, a.stream(m)...)
	return splice(body, append(edits, m.unstopped()...))
}

// unstopped returns the edits without which a stop sequence of the agent's could cut the answer, and nothing would tell.
// The sequences are no part of what a provider caches.
func (m *members) unstopped() []jsonspan.Edit {
	var edits []jsonspan.Edit
	for name, none := range map[string]string{"stop": "null", "stop_sequences": "[]"} { // what each of the two APIs takes
		if s, ok := m.values[name]; ok && !m.get(name).null() {
			edits = append(edits, jsonspan.Edit{Span: s, New: []byte(none)})
		}
	}
	return edits
}

// splice applies edits in any order.
func splice(body []byte, edits []jsonspan.Edit) ([]byte, error) {
	slices.SortStableFunc(edits, func(a, b jsonspan.Edit) int { return a.Start - b.Start })
	return jsonspan.Splice(body, edits)
}

// stream returns the edits after which the answer is streamed, with its usage.
func (a API) stream(m *members) []jsonspan.Edit {
	var edits []jsonspan.Edit
	set := func(name, value string) {
		if s, ok := m.values[name]; ok {
			edits = append(edits, jsonspan.Edit{Span: s, New: []byte(value)})
		} else {
			edits = append(edits, m.add(`"`+name+`":`+value))
		}
	}
	stream := m.get("stream")
	if on, _ := jsonspan.Bool(stream.data, stream.span); !on {
		set("stream", "true")
	}
	if a != Chat {
		return edits
	}
	switch options := m.get("stream_options"); {
	case options.kind() != jsonspan.KindObject, options.empty():
		set("stream_options", `{"include_usage":true}`)
	case options.get("include_usage").null():
		edits = append(edits, insert(options.span.Start+1, `"include_usage":true,`))
	}
	return edits
}

// forced says what else than text a request demands, "" if it does not.
func (a API) forced(m *members) string {
	choice := m.get("tool_choice")
	switch mode := choice.first("type"); {
	case choice.is("required"), choice.is("any"):
		return "a tool call (tool_choice)"
	case choice.kind() != jsonspan.KindObject, mode.is("auto"), mode.is("none"):
	case mode.is("allowed_tools"):
		if choice.get("mode").is("required") || choice.get("allowed_tools", "mode").is("required") {
			return "a tool call (tool_choice)"
		}
	default: // any, tool, function and the like, each naming what to call
		return "a tool call (tool_choice)"
	}
	if m.get("function_call").kind() == jsonspan.KindObject {
		return "a tool call (function_call)"
	}
	for _, f := range []struct {
		node

		name string
	}{
		{m.get("response_format", "type"), "response_format"},
		{m.get("text", "format", "type"), "text.format"},
		{m.get("output_config", "format", "type"), "output_config.format"},
		{m.get("output_format", "type"), "output_format"},
	} {
		if !f.null() && !f.is("text") {
			return "a reply of a certain form (" + f.name + ")"
		}
	}
	// Members of vLLM, SGLang and llama.cpp with the same effect.
	for _, name := range []string{"grammar", "json_schema", "guided_json", "guided_regex", "guided_choice", "guided_grammar", "structured_outputs"} {
		if a == Chat && !m.get(name).null() {
			return "a reply of a certain form (" + name + ")"
		}
	}
	if a == Anthropic && !m.get("compaction").null() {
		return "a compaction by the provider"
	}
	return ""
}

// errNoMessages reports a request in which nothing has been said.
func errNoMessages(name string) error {
	return fmt.Errorf("%w: %s holds no messages", ErrNotRequest, name)
}

// extendAnthropic puts results and instruction into one message, the results first, as the API demands.
func extendAnthropic(m *members, instruction string) ([]jsonspan.Edit, error) {
	at := 0          // the end of the last message that is not of the system
	var end int      // that of the last one
	var last node    // the last answer
	var after []node // the messages behind it
	for msg := range m.get("messages").elements() {
		end = msg.span.End
		switch role := msg.get("role"); {
		case role.is("assistant"):
			last, after = msg, after[:0]
		case role.is("system"):
			continue
		default:
			after = append(after, msg)
		}
		at = msg.span.End
	}
	if end == 0 {
		return nil, errNoMessages("messages")
	}
	if at == 0 {
		at = end
	}
	open := openCalls{}
	for b := range last.get("content").elements() {
		if b.get("type").is("tool_use") {
			open.call(b.get("id"), `{"type":"tool_result","tool_use_id":`)
		}
	}
	for _, msg := range after {
		content := msg.get("content")
		only := content.kind() == jsonspan.KindArray
		for b := range content.elements() {
			if b.get("type").is("tool_result") {
				open.result(b.get("tool_use_id"))
			} else {
				only = false
			}
		}
		if !only {
			open.reset()
		}
	}
	text := []byte(`,{"role":"user","content":[`)
	text = open.append(text, `,"content":`, "},")
	text = append(text, `{"type":"text","text":`...)
	text = append(jsonspan.Quote(text, instruction), "}]}"...)
	return []jsonspan.Edit{{Span: jsonspan.Span{Start: at, End: at}, New: text}}, nil
}

// extendChat puts the results before the instruction, as messages of their own.
func extendChat(m *members, instruction string) ([]jsonspan.Edit, error) {
	end := 0
	open := openCalls{}
	for msg := range m.get("messages").elements() {
		end = msg.span.End
		switch role := msg.get("role"); {
		case role.is("tool"):
			open.result(msg.get("tool_call_id"))
		case role.is("function"):
			open.reset()
		case role.is("assistant"):
			open.reset()
			for c := range msg.get("tool_calls").elements() {
				open.call(c.get("id"), `,{"role":"tool","tool_call_id":`)
			}
			if f := msg.get("function_call"); !f.null() {
				open.call(f.get("name"), `,{"role":"function","name":`)
			}
		default:
			open.reset()
		}
	}
	if end == 0 {
		return nil, errNoMessages("messages")
	}
	text := open.append(nil, `,"content":`, "}")
	text = Chat.appendMessage(append(text, ','), instruction)
	return []jsonspan.Edit{{Span: jsonspan.Span{Start: end, End: end}, New: text}}, nil
}

// extendResponses puts the results before the instruction, as items of their own.
func extendResponses(m *members, instruction string) ([]jsonspan.Edit, error) {
	input := m.get("input")
	if input.str() != "" {
		return []jsonspan.Edit{
			insert(input.span.Start, `[{"type":"message","role":"user","content":`),
			insert(input.span.End, string(Responses.appendMessage([]byte("},"), instruction))+"]"),
		}, nil
	}
	var last node
	open := openCalls{}
	for item := range input.elements() {
		last = item
		switch kind := item.get("type"); {
		case kind.is("function_call"):
			open.call(item.get("call_id"), `,{"type":"function_call_output","call_id":`)
		case kind.is("custom_tool_call"):
			open.call(item.get("call_id"), `,{"type":"custom_tool_call_output","call_id":`)
		case kind.is("function_call_output"), kind.is("custom_tool_call_output"):
			open.result(item.get("call_id"))
		}
	}
	switch {
	case last.null():
		return nil, errNoMessages("input")
	case last.get("type").is("compaction_trigger"):
		return nil, fmt.Errorf("%w: a compaction by the provider", ErrForced)
	}
	text := open.append(nil, `,"output":`, "}")
	text = Responses.appendMessage(append(text, ','), instruction)
	return []jsonspan.Edit{{Span: jsonspan.Span{Start: last.span.End, End: last.span.End}, New: text}}, nil
}

// openCalls are calls without a result, in their order. Those that have got one stay as zero values.
type openCalls struct {
	calls  []openCall
	newest map[string]int // by id: ids come again in long conversations
}

// openCall is the id of a call, as it is written, and how its result begins.
type openCall struct {
	id    []byte
	start string
}

func (o *openCalls) call(id node, start string) {
	key := id.str()
	if key == "" {
		return
	}
	if o.newest == nil {
		o.newest = map[string]int{}
	}
	o.newest[key] = len(o.calls)
	o.calls = append(o.calls, openCall{id.span.Of(id.data), start})
}

// result closes a call.
func (o *openCalls) result(id node) {
	key := id.str()
	if i, ok := o.newest[key]; ok {
		o.calls[i] = openCall{}
		delete(o.newest, key)
	}
}

// reset forgets the calls. A result for them would stand too late.
func (o *openCalls) reset() {
	o.calls = o.calls[:0]
	clear(o.newest)
}

// append appends a result for each call: how it begins, the id, how it goes on, the text, how it ends.
func (o *openCalls) append(b []byte, middle, end string) []byte {
	for _, c := range o.calls {
		if c.id != nil {
			b = append(append(append(b, c.start...), c.id...), middle...)
			b = append(jsonspan.Quote(b, noResult), end...)
		}
	}
	return b
}
