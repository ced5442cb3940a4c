package llm

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// responsesReply reads a Response of OpenAI's API, https://platform.openai.com/docs/api-reference/responses-streaming.
type responsesReply struct {
	draft

	items   []*outputItem
	byIndex map[int]*outputItem
}

// outputItem is an item of the output. A stream tells its texts in pieces, then whole with the item, and then once more
// with the response: the last telling counts.
type outputItem struct {
	index                          int
	kind, name                     string
	text, refusal, reasoning, args strings.Builder
}

func (r *responsesReply) take(name string, v node) error {
	if t := v.get("type").str(); t != "" {
		name = t
	}
	response := v.get("response")
	if model := response.get("model").str(); model != "" {
		r.model = model
	}
	switch name {
	case "response.completed", "response.incomplete", "response.failed":
		_, err := r.response(strings.TrimPrefix(name, "response."), response)
		return err
	case "response.output_item.added", "response.output_item.done":
		r.fill(r.at(v), v.get("item"))
	case "response.output_text.delta":
		r.add(&r.at(v).text, v.get("delta").str())
	case "response.refusal.delta":
		r.add(&r.at(v).refusal, v.get("delta").str())
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		r.reasoned = true
		r.add(&r.at(v).reasoning, v.get("delta").str())
	default:
		// The calls of every kind of tool stream their arguments under a name of their own.
		if strings.HasSuffix(name, "_arguments.delta") || strings.HasSuffix(name, "_input.delta") {
			r.add(&r.at(v).args, v.get("delta").str())
		}
	}
	return nil
}

// at returns the item that an event is about, which without an index is the newest.
func (r *responsesReply) at(v node) *outputItem {
	if index := v.get("output_index"); !index.null() || len(r.items) == 0 {
		return r.item(index.count())
	}
	return r.items[len(r.items)-1]
}

// item returns the item with an index, a new one if need be.
func (r *responsesReply) item(index int) *outputItem {
	it := r.byIndex[index]
	if it == nil {
		it = &outputItem{index: index}
		r.items = append(r.items, it)
		if r.byIndex == nil {
			r.byIndex = map[int]*outputItem{}
		}
		r.byIndex[index] = it
	}
	return it
}

// replace takes a text that is whole.
func (r *responsesReply) replace(to *strings.Builder, text string) {
	if text != "" {
		r.runes += max(0, utf8.RuneCountInString(text)-utf8.RuneCountInString(to.String()))
		to.Reset()
		to.WriteString(text)
	}
}

// fill takes an item.
func (r *responsesReply) fill(it *outputItem, v node) {
	if kind := v.get("type").str(); kind != "" {
		it.kind = kind
	}
	if name := v.get("name").str(); name != "" {
		it.name = name
	}
	var text, refusal, reasoning strings.Builder
	for part := range v.get("content").elements() {
		switch part.get("type").str() {
		case "output_text", "text":
			text.WriteString(part.get("text").str())
		case "refusal":
			refusal.WriteString(part.get("refusal").str())
		case "reasoning_text":
			reasoning.WriteString(part.get("text").str())
		}
	}
	if reasoning.Len() == 0 {
		for part := range v.get("summary").elements() {
			reasoning.WriteString(part.get("text").str())
		}
	}
	r.replace(&it.text, text.String())
	r.replace(&it.refusal, refusal.String())
	r.replace(&it.reasoning, reasoning.String())
	if it.isCall() {
		r.replace(&it.args, v.first("arguments", "input", "action").text())
	}
	r.reasoned = r.reasoned || it.kind == "reasoning" // encrypted reasoning has no text
}

// isCall reports whether the item is a call of a tool, of ours or of the provider's.
func (it *outputItem) isCall() bool { return strings.HasSuffix(it.kind, "_call") }

func (r *responsesReply) whole(v node) (bool, error) {
	return r.response("", v)
}

// response takes a response at its end. The status is what the event says, and the response itself knows better.
func (r *responsesReply) response(status string, v node) (bool, error) {
	if s := v.get("status").str(); s != "" {
		status = s
	}
	output := v.get("output")
	if status == "" && output.kind() != jsonspan.KindArray {
		return false, nil
	}
	reason := v.get("incomplete_details", "reason")
	r.stopReason = status
	switch {
	case status == "completed":
		r.finished, r.stop = true, StopEnd
	case status == "incomplete" && reason.is("max_output_tokens"):
		r.finished, r.stop, r.stopReason = true, StopLength, reason.str()
	case status == "incomplete" && reason.is("content_filter"):
		r.finished, r.stop, r.stopReason = true, StopFiltered, reason.str()
	case status == "incomplete", status == "failed":
		if e := v.get("error"); !e.null() {
			return true, report(e)
		}
		if !reason.null() {
			return true, report(reason)
		}
		return true, reported(`{"error":"the response is ` + status + `"}`)
	}
	if model := v.get("model").str(); model != "" {
		r.model = model
	}
	r.usage.openai(v.get("usage"))
	r.reasoned = r.reasoned || r.usage.reasoning > 0
	index := 0
	for el := range output.elements() {
		r.fill(r.item(index), el)
		index++
	}
	return true, nil
}

func (r *responsesReply) size() (int, bool) {
	return r.runes, r.runes > 0 || r.reasoned || len(r.items) > 0
}

// reply joins the messages by blank lines.
func (r *responsesReply) reply() *Reply {
	all := &draft{model: r.model, reasoned: r.reasoned, stop: r.stop, stopReason: r.stopReason, usage: r.usage, finished: r.finished}
	slices.SortStableFunc(r.items, func(a, b *outputItem) int { return a.index - b.index })
	for _, it := range r.items {
		paragraph(&all.text, it.text.String())
		paragraph(&all.reasoning, it.reasoning.String())
		paragraph(&all.refusal, it.refusal.String())
		if it.isCall() {
			name := it.name
			if name == "" {
				name = strings.TrimSuffix(it.kind, "_call")
			}
			all.call(it.index, "", name).args.WriteString(it.args.String())
		}
	}
	if len(all.calls) > 0 && all.stop == StopEnd {
		all.stop = StopCalls
	}
	return all.reply()
}

// paragraph appends a text behind a blank line.
func paragraph(b *strings.Builder, text string) {
	if text == "" {
		return
	}
	if b.Len() > 0 {
		b.WriteString("\n\n")
	}
	b.WriteString(text)
}
