package llm

import "strings"

// anthropicReply reads a Message of Anthropic's API, https://docs.anthropic.com/en/api/messages-streaming.
type anthropicReply struct{ draft }

func (r *anthropicReply) take(name string, v node) error {
	if t := v.get("type").str(); t != "" {
		name = t
	}
	switch name {
	case "message_start":
		r.message(v.get("message"))
	case "content_block_start":
		r.block(v.get("index").count(), v.get("content_block"), true)
	case "content_block_delta":
		delta := v.get("delta")
		switch delta.get("type").str() {
		case "text_delta":
			r.add(&r.text, delta.get("text").str())
		case "thinking_delta":
			r.think(delta.get("thinking").str())
		case "signature_delta":
			r.think("")
		case "input_json_delta":
			if c := r.newest[v.get("index").count()]; c != nil {
				r.add(&c.args, delta.get("partial_json").str())
			}
		}
	case "message_delta":
		r.stopped(v.get("delta"))
		r.usage.anthropic(v.get("usage"))
	case "message_stop":
		r.finished = true
	}
	return nil
}

func (r *anthropicReply) whole(v node) (bool, error) {
	if v.get("content").null() {
		return false, nil
	}
	r.message(v)
	r.finished = r.stopReason != ""
	return true, nil
}

// message takes a message, whole or as a stream begins it.
func (r *anthropicReply) message(v node) {
	r.model = v.get("model").str()
	r.usage.anthropic(v.get("usage"))
	content := v.get("content")
	r.add(&r.text, content.str())
	index := 0
	for b := range content.elements() {
		r.block(index, b, false)
		index++
	}
	r.stopped(v)
}

// block takes a content block. Where a stream begins one, the arguments of a call are an empty object that means nothing.
func (r *anthropicReply) block(index int, b node, begins bool) {
	switch kind := b.get("type").str(); {
	case kind == "text":
		r.add(&r.text, b.get("text").str())
	case kind == "thinking":
		r.think(b.get("thinking").str())
	case kind == "redacted_thinking":
		r.think("")
	case strings.HasSuffix(kind, "tool_use"): // also server_tool_use and mcp_tool_use
		c := r.call(index, b.get("id").str(), b.get("name").str())
		if input := b.get("input"); !begins || !input.empty() {
			r.add(&c.args, input.text())
		}
	}
}

func (r *anthropicReply) stopped(v node) {
	reason := v.get("stop_reason").str()
	if reason == "" {
		return
	}
	r.stopReason = reason
	switch reason {
	case "end_turn", "stop_sequence":
		r.stop = StopEnd
	case "max_tokens":
		r.stop = StopLength
	case "tool_use":
		r.stop = StopCalls
	case "refusal":
		r.stop = StopFiltered
	case "pause_turn":
		r.stop = StopPaused
	case "model_context_window_exceeded":
		r.stop = StopOverflow
	default:
		r.stop = StopUnknown
	}
}
