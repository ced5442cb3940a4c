package llm

import "github.com/pemmican-dev/pemmican/internal/jsonspan"

// Detect tells which protocol a request body is in; false if it is in none. A body that fits both Anthropic's and Chat
// is taken for Chat, which more providers speak.
func Detect(body []byte) (API, bool) {
	m, err := openBody(body)
	if err != nil {
		return "", false
	}
	messages := m.get("messages")
	switch {
	case messages.kind() != jsonspan.KindArray && !m.get("input").null():
		return Responses, true
	case messages.kind() != jsonspan.KindArray:
		return "", false
	case anthropicMembers(m):
		return Anthropic, true
	}
	for msg := range messages.elements() {
		if role := msg.get("role"); role.is("tool") || role.is("function") || !msg.get("tool_calls").null() {
			return Chat, true
		}
		for b := range msg.get("content").elements() {
			switch b.get("type").str() {
			case "tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "mcp_tool_use", "compaction", "document", "image":
				return Anthropic, true
			case "image_url", "input_audio", "file", "refusal":
				return Chat, true
			}
		}
	}
	return Chat, true
}

// anthropicMembers reports whether a body has members that only Anthropic's protocol has.
func anthropicMembers(m *members) bool {
	for _, name := range []string{"system", "anthropic_version", "anthropic_beta", "stop_sequences", "context_management", "mcp_servers", "container"} {
		if !m.get(name).null() {
			return true
		}
	}
	for tool := range m.get("tools").elements() {
		if !tool.get("input_schema").null() {
			return true
		}
	}
	return false
}
