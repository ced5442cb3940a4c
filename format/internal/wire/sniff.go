package wire

import (
	"bytes"
	"strings"

	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// Family is a wire format.
type Family uint8

// The wire formats that have a list of messages; Neither is anything else.
const (
	Neither Family = iota
	Chat
	Anthropic
)

// Sniff tells by its content which wire format an input has. It validates nothing, and looks at no more than the first
// value of a file unless that one is the record of an exchange.
//
// The first of these that says something decides: the address of a recorded exchange, the shape of the messages, that
// of the tools, the other parameters, the name of the model. A body that fits both formats is taken for Chat.
func Sniff(data []byte) Family {
	from := 0
	if bytes.HasPrefix(data, []byte(bom)) {
		from = len(bom)
	}
	family := Neither
	for n := 0; ; n++ {
		end := jsonspan.Skip(data, from)
		if end <= from {
			return family
		}
		v := jsonspan.Span{Start: from + len(data[from:end]) - len(bytes.TrimLeft(data[from:end], " \t\r\n")), End: end}
		from = end
		in, ok := find(data, v)
		switch {
		case ok:
			f := sniffRequest(data, v, &in)
			if f == Neither && n == 0 {
				return Neither
			}
			if f != Neither {
				family = f
			}
		case n == 0 && !exchange(data, v):
			return Neither
		}
	}
}

// exchange reports whether a value is the record of an exchange with something else than a chat model's wire format, or
// only the answer of one: later values of the same log may be of ours.
func exchange(data []byte, v jsonspan.Span) bool {
	for _, key := range []string{"request", "request_params", "response"} {
		if val, ok := jsonspan.Get(data, v, key); ok && jsonspan.KindAt(data, val) == jsonspan.KindObject {
			return true
		}
	}
	return false
}

func sniffRequest(data []byte, v jsonspan.Span, in *Input) Family {
	messages := sniffMessages(data, in.Messages)
	if !messages.ok {
		return Neither
	}
	if in.Body != v {
		for _, key := range []string{"path", "uri", "url"} {
			if f := sniffURL(data, v, key); f != Neither {
				return f
			}
		}
		if request, ok := jsonspan.Get(data, v, "request"); ok {
			for _, key := range []string{"uri", "url", "path"} {
				if f := sniffURL(data, request, key); f != Neither {
					return f
				}
			}
		}
	}
	if in.Bare() {
		switch {
		case messages.family != Neither:
			return messages.family
		case messages.parts && !messages.system, messages.stamped:
			return Anthropic
		case messages.n > 0:
			return Chat
		}
		return Neither
	}
	known, model, guess, tools := true, jsonspan.Span{}, Neither, Neither
	for key, val := range jsonspan.Members(data, in.Body) {
		name, _ := jsonspan.String(data, key)
		switch {
		case name == "input":
			return Neither // the Responses API
		case name == "model":
			model = val
		case name == "tools":
			tools = sniffTools(data, val)
		case anthropicOnly[name]:
			guess = Anthropic
		case chatOnly[name]:
			guess = Chat
		case !shared[name] && !in.Log:
			known = false
		}
	}
	switch {
	case model.Empty() && !known:
		return Neither // some program's own file that has messages too
	case messages.family != Neither:
		return messages.family
	case tools != Neither:
		return tools
	case guess != Neither:
		return guess
	case messages.system:
		return Chat
	}
	if name, ok := jsonspan.String(data, model); ok && strings.Contains(strings.ToLower(name), "claude") {
		if _, ok := jsonspan.Get(data, in.Body, "max_tokens"); ok {
			return Anthropic
		}
	}
	return Chat
}

func sniffURL(data []byte, v jsonspan.Span, key string) Family {
	val, _ := jsonspan.Get(data, v, key)
	switch url, _ := jsonspan.String(data, val); {
	case strings.Contains(url, "/chat/completions"):
		return Chat
	case strings.Contains(url, "/messages"):
		return Anthropic
	}
	return Neither
}

// The parameters by which a request is known: of one format only, and of both. A body without a model must have no others.
var (
	anthropicOnly = set("system", "anthropic_version", "anthropic_beta", "stop_sequences", "context_management", "mcp_servers", "container", "output_config")
	chatOnly      = set("max_completion_tokens", "stream_options", "n", "frequency_penalty", "presence_penalty", "logit_bias", "logprobs",
		"response_format", "reasoning_effort", "store", "stop", "functions", "function_call", "parallel_tool_calls", "seed", "modalities")
	shared = set("messages", "tool_choice", "max_tokens", "temperature", "top_p", "top_k", "stream", "thinking", "metadata", "service_tier", "user")
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

func sniffTools(data []byte, tools jsonspan.Span) Family {
	for tool := range jsonspan.Elements(data, tools) {
		if _, ok := jsonspan.Get(data, tool, "function"); ok {
			return Chat
		}
		if _, ok := jsonspan.Get(data, tool, "input_schema"); ok {
			return Anthropic
		}
		// Tools that Anthropic's servers run have a type with a date.
		kind, _ := jsonspan.Get(data, tool, "type")
		if name, _ := jsonspan.String(data, kind); strings.Contains(name, "_202") {
			return Anthropic
		}
	}
	return Neither
}

type messagesSeen struct {
	ok      bool // each one is a message
	n       int
	family  Family // if their shape tells
	system  bool   // one has the role system or developer, which both formats know, but Chat more often
	parts   bool   // an assistant message has a list for content, which is rare in Chat
	stamped bool   // a message has a time, as in files of agents that write Anthropic's format
}

func sniffMessages(data []byte, arr jsonspan.Span) (seen messagesSeen) {
	for m := range jsonspan.Elements(data, arr) {
		var role, content jsonspan.Span
		payload := false
		for key, val := range jsonspan.Members(data, m) {
			switch {
			case jsonspan.Equal(data, key, "role"):
				role = val
			case jsonspan.Equal(data, key, "content"):
				content, payload = val, true
			case jsonspan.Equal(data, key, "tool_calls"), jsonspan.Equal(data, key, "function_call"):
				payload = true
				if jsonspan.KindAt(data, val) != jsonspan.KindNull && seen.family == Neither {
					seen.family = Chat
				}
			case jsonspan.Equal(data, key, "type"):
				return messagesSeen{} // an item of the Responses API, or of a log
			case jsonspan.Equal(data, key, "ts"):
				seen.stamped = true
			}
		}
		seen.n++
		switch {
		case !payload:
			return messagesSeen{}
		case jsonspan.Equal(data, role, "user"):
		case jsonspan.Equal(data, role, "assistant"):
			seen.parts = seen.parts || jsonspan.KindAt(data, content) == jsonspan.KindArray
		case jsonspan.Equal(data, role, "system"), jsonspan.Equal(data, role, "developer"):
			seen.system = true
		case jsonspan.Equal(data, role, "tool"), jsonspan.Equal(data, role, "function"):
			seen.family = Chat
		default:
			return messagesSeen{}
		}
		if seen.family != Neither {
			continue // the roles of the others are still looked at
		}
		for part := range jsonspan.Elements(data, content) {
			kind, _ := jsonspan.Get(data, part, "type")
			switch name, _ := jsonspan.String(data, kind); name {
			case "tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "server_tool_use",
				"mcp_tool_use", "compaction", "search_result":
				seen.family = Anthropic
			case "image_url", "input_audio", "file", "refusal":
				seen.family = Chat
			case "input_text", "output_text", "input_image", "toolRequest", "toolResponse", "toolCall":
				return messagesSeen{} // the Responses API, and agents' own files
			}
		}
	}
	seen.ok = true
	return seen
}
