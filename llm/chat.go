package llm

import (
	"cmp"
	"strings"

	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// chatReply reads a completion of OpenAI's Chat API, https://platform.openai.com/docs/api-reference/chat, and of the many
// that are compatible with it.
type chatReply struct{ draft }

// over is never true: the usage comes behind the end, and only [DONE] behind that.
func (r *chatReply) over() bool { return false }

func (r *chatReply) take(_ string, v node) error {
	_, err := r.whole(v)
	return err
}

func (r *chatReply) whole(v node) (bool, error) {
	if model := v.get("model").str(); model != "" {
		r.model = model
	}
	r.usage.openai(v.get("usage"))
	r.usage.openai(v.get("x_groq", "usage"))
	r.usage.timings(v.get("timings"))
	if r.usage.reasoning > 0 {
		r.reasoned = true
	}
	found := false
	for choice := range v.get("choices").elements() {
		if choice.get("index").count() != 0 {
			continue // another answer to the same question
		}
		if isError(choice) {
			return true, report(choice.get("error"))
		}
		found = true
		r.message(choice.first("delta", "message"))
		if reason := choice.get("finish_reason").str(); reason != "" {
			r.finished, r.stopReason, r.stop = true, reason, chatStop(reason)
		}
	}
	return found, nil
}

// message takes a message, or the next piece of one.
func (r *chatReply) message(m node) {
	r.content(m.get("content"))
	// Some providers give the same reasoning under two or three names.
	if thought := cmp.Or(m.get("reasoning_content").str(), m.get("reasoning").str()); thought != "" {
		r.think(thought)
	} else {
		for detail := range m.get("reasoning_details").elements() {
			r.think(detail.first("text", "summary").str())
		}
	}
	r.add(&r.refusal, m.get("refusal").str())
	place := 0
	for tc := range m.get("tool_calls").elements() {
		index := place
		if i := tc.get("index"); !i.null() {
			index = i.count()
		}
		f := tc.first("function", "custom")
		c := r.at(index, tc.get("id").str())
		r.fill(c, f)
		place++
	}
	if f := m.get("function_call"); !f.null() {
		r.fill(r.at(legacyCall, ""), f)
	}
}

// legacyCall is the index of the one call of the older protocol.
const legacyCall = -1

// at returns the call with an index, a new one if need be. Gemini gives all calls of an answer the index 0, so another
// id is another call.
func (r *chatReply) at(index int, id string) *draftCall {
	c := r.newest[index]
	if c == nil || id != "" && c.id != "" && c.id != id {
		return r.call(index, id, "")
	}
	if c.id == "" {
		c.id = id
	}
	return c
}

// fill takes the next piece of a call. The name comes at once, and from some providers with every piece.
func (r *chatReply) fill(c *draftCall, f node) {
	if c.name == "" {
		c.name = f.get("name").str()
	}
	r.add(&c.args, f.first("arguments", "input").text())
}

// content takes text, or an array of parts.
func (r *chatReply) content(v node) {
	if v.kind() == jsonspan.KindString {
		r.add(&r.text, v.str())
		return
	}
	for part := range v.elements() {
		switch kind := part.get("type").str(); kind {
		case "text", "output_text":
			r.add(&r.text, part.get("text").str())
		case "refusal":
			r.add(&r.refusal, part.get("refusal").str())
		case "thinking", "reasoning": // Mistral gives the text of the former in parts of its own
			thought := part.first("thinking", "reasoning", "text")
			r.think(thought.str())
			for t := range thought.elements() {
				r.think(t.get("text").str())
			}
		}
	}
}

// chatStop takes only words that are known. Compatible providers pass on the words of what they stand before.
func chatStop(reason string) Stop {
	switch strings.ToLower(reason) {
	case "stop", "end_turn", "eos", "eos_token":
		return StopEnd
	case "length", "max_tokens":
		return StopLength
	case "tool_calls", "function_call":
		return StopCalls
	case "content_filter":
		return StopFiltered
	case "model_context_window_exceeded":
		return StopOverflow
	}
	return StopUnknown
}
