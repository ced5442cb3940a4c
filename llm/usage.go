package llm

import (
	"bytes"
	"slices"
)

// ParseUsage finds what a reply took in the JSON of it: a whole reply, an event of its stream, the message that an agent
// has kept of it, or the usage alone, whichever vendor's. They count in two ways, input that contains what was in the
// cache and input that does not; [Usage.Input] contains it in either case.
//
// It is false, and so is Reported, where the size of the input is not told: that is unknown, not zero. What else is told
// is returned all the same. Numbers that cannot be counts of tokens are passed over.
func ParseUsage(data []byte) (Usage, bool) {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	v, err := parseNode(bytes.TrimPrefix(data, []byte("data:"))) // a line of a stream as it came
	if err != nil {
		return Usage{}, false
	}
	var u usage
	u.find(v)
	for part := range v.elements() { // a stream as an array of events; the last one knows best
		u.find(part)
	}
	out := u.report()
	out.Reported = out.Input > 0
	return out, out.Reported
}

// usagePlaces are where usage stands in a reply, an event, or a line of an agent's file.
var usagePlaces = [][]string{
	{},
	{"usage"},
	{"message", "usage"},  // Anthropic's message_start; files of agents
	{"response", "usage"}, // response.completed of Responses
	{"x_groq", "usage"},
	{"metadata", "usage"},                // Bedrock's ConverseStream
	{"amazon-bedrock-invocationMetrics"}, // Bedrock's InvokeModel
	{"usageMetadata"},                    // Gemini
	{"response", "usageMetadata"},
	{"usage_metadata"}, // in Python
	{"kwargs", "usage_metadata"},
	{"tokens"}, {"usage", "tokens"}, {"delta", "usage", "tokens"}, {"meta", "tokens"}, // Cohere, agents
	{"billed_units"}, {"usage", "billed_units"}, {"delta", "usage", "billed_units"}, {"meta", "billed_units"}, // less than Cohere's models read
	{"info", "last_token_usage"}, {"payload", "info", "last_token_usage"}, // Codex; its total_token_usage is a sum over the session
}

// find takes the usage of the first place that tells the input.
func (u *usage) find(v node) {
	for _, path := range usagePlaces {
		at := v
		if len(path) > 0 {
			at = v.get(path...)
		}
		var found usage
		if found.take(at); found.input+found.read+found.write > 0 {
			*u = found
			break
		}
		u.output = max(u.output, found.output)
	}
	u.timings(v)
	u.timings(v.get("timings"))
}

// take takes usage in whatever dialect its members are.
func (u *usage) take(v node) {
	switch {
	case v.has("promptTokenCount", "prompt_token_count"):
		u.gemini(v)
	case v.has("input_tokens") && v.anthropicUsage():
		u.anthropic(v)
	case v.has("prompt_tokens", "input_tokens", "completion_tokens", "output_tokens"):
		u.openai(v)
	case v.has("inputTokens", "promptTokens", "inputTokenCount"):
		u.camel(v)
	case v.has("prompt_eval_count"): // Ollama
		v.set(&u.input, "prompt_eval_count")
		v.set(&u.output, "eval_count")
	case v.has("input", "inputOther"):
		u.agents(v)
	}
}

// has reports whether one of the members is there.
func (n node) has(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return !n.get(key).null() })
}

// anthropicUsage reports whether input_tokens are counted as Anthropic does, without the cache. Proxies put the names of
// its cache beside counts of OpenAI's kind, which their total or their details tell.
func (n node) anthropicUsage() bool {
	if n.has("prompt_tokens", "input_tokens_details", "input_token_details") {
		return false
	}
	total := n.get("total_tokens").count()
	return total == 0 || total != n.get("input_tokens").count()+n.get("output_tokens").count()
}

// usage is what a provider has said of the tokens, in its own terms. It may say it in pieces, of which later ones are
// the better; but a zero is often only what it does not know yet.
type usage struct {
	input, read, write, output int
	apart                      bool // the input does not contain what was read from the cache and written to it
	// reasoning is part of the output, unless the total says that it comes on top.
	reasoning, total int
}

// set takes the first member that is there and not zero.
func (n node) set(to *int, keys ...string) {
	for _, key := range keys {
		if c := n.get(key).count(); c > 0 {
			*to = c
			return
		}
	}
}

// anthropic takes usage as Anthropic reports it: input_tokens is what neither was in the cache nor went into it.
func (u *usage) anthropic(v node) {
	u.apart = true
	v.set(&u.input, "input_tokens")
	v.set(&u.read, "cache_read_input_tokens")
	created := v.get("cache_creation")
	u.write = max(u.write, created.get("ephemeral_5m_input_tokens").count()+created.get("ephemeral_1h_input_tokens").count())
	v.set(&u.write, "cache_creation_input_tokens")
	v.set(&u.output, "output_tokens")
}

// openai takes usage as OpenAI reports it, whose input contains the cache, under the names of both of its protocols,
// and what compatible providers add: prompt_cache_hit_tokens is DeepSeek's, num_cached_tokens Mistral's, cached_input_tokens
// Codex's, cache_read LangChain's.
func (u *usage) openai(v node) {
	v.set(&u.input, "prompt_tokens", "input_tokens")
	v.set(&u.output, "completion_tokens", "output_tokens")
	v.set(&u.total, "total_tokens")
	v.set(&u.read, "prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens", "cached_input_tokens", "cache_read_input_tokens")
	v.set(&u.write, "cache_creation_input_tokens")
	for _, details := range []node{v.get("prompt_tokens_details"), v.get("input_tokens_details"), v.get("input_token_details")} {
		details.set(&u.read, "cached_tokens", "cache_read")
		details.set(&u.write, "cache_write_tokens", "cache_creation_tokens", "cache_creation")
	}
	for _, details := range []node{v.get("completion_tokens_details"), v.get("output_tokens_details")} {
		details.set(&u.reasoning, "reasoning_tokens")
	}
}

// gemini takes usage as Gemini reports it: the prompt contains the cache, but neither what tools added nor, beside the
// candidates, the thoughts.
func (u *usage) gemini(v node) {
	thoughts, added := 0, 0
	v.set(&u.input, "promptTokenCount", "prompt_token_count")
	v.set(&u.read, "cachedContentTokenCount", "cached_content_token_count")
	v.set(&u.output, "candidatesTokenCount", "candidates_token_count", "responseTokenCount", "response_token_count")
	v.set(&added, "toolUsePromptTokenCount", "tool_use_prompt_token_count")
	v.set(&thoughts, "thoughtsTokenCount", "thoughts_token_count")
	u.input += added
	u.output += thoughts
}

// camel takes usage as Bedrock reports it, whose input does not contain the cache, or in the names of JavaScript kits, whose
// input does.
func (u *usage) camel(v node) {
	v.set(&u.input, "inputTokens", "promptTokens", "inputTokenCount")
	v.set(&u.output, "outputTokens", "completionTokens", "outputTokenCount")
	v.set(&u.read, "cacheReadInputTokens", "cacheReadInputTokenCount")
	v.set(&u.write, "cacheWriteInputTokens", "cacheWriteInputTokenCount", "cacheCreationInputTokens")
	u.apart = true
	within := usage{}
	v.set(&within.read, "cachedInputTokens")
	details := v.get("inputTokenDetails")
	details.set(&within.read, "cacheReadTokens")
	details.set(&within.write, "cacheWriteTokens")
	if within.read+within.write > 0 {
		u.read, u.write, u.apart = within.read, within.write, false
	}
}

// agents takes usage as agents keep it: pi and opencode, and under names of its own Kimi, count the input without the cache;
// Gemini's agent counts as Gemini does.
func (u *usage) agents(v node) {
	v.set(&u.input, "input", "inputOther")
	v.set(&u.output, "output")
	v.set(&u.read, "cacheRead", "inputCacheRead")
	v.set(&u.write, "cacheWrite", "inputCacheCreation")
	v.get("cache").set(&u.read, "read")
	v.get("cache").set(&u.write, "write")
	u.apart = true
	if v.has("cached", "thoughts") {
		v.set(&u.read, "cached")
		u.input += v.get("tool").count()
		u.output += v.get("thoughts").count()
		u.apart = false
	}
}

// timings takes the timings of llama.cpp, which some of its versions give in place of usage, or with a usage that leaves
// the cache out.
func (u *usage) timings(v node) {
	cached, rest := v.get("cache_n").count(), v.get("prompt_n").count()
	u.input = max(u.input, cached+rest)
	u.read = max(u.read, cached)
	u.output = max(u.output, v.get("predicted_n").count())
}

// report returns the usage in our terms.
func (u *usage) report() Usage {
	r := Usage{Reported: u.input+u.read+u.write+u.output > 0, Input: u.input, CacheRead: u.read, CacheWrite: u.write, Output: u.output}
	// A cache that is larger than the input cannot be a part of it, whatever the protocol says.
	if u.apart || u.read > u.input {
		r.Input += u.read + u.write
	}
	// Some count reasoning beside the output, which only their total tells.
	if u.reasoning > 0 && u.total == u.input+u.output+u.reasoning {
		r.Output += u.reasoning
	}
	return r
}
