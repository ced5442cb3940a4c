package llm

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sse writes a stream without names of events.
func sse(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

// named writes a stream whose events have the name that their type says.
func named(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		v, _ := parseNode([]byte(d))
		b.WriteString("event: " + v.get("type").str() + "\ndata: " + d + "\n\n")
	}
	return b.String()
}

// ask sends some request to a provider that gives this answer.
func ask(t testing.TB, api API, answer string) (*Reply, error) {
	t.Helper()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) })
	c := Client{API: api, BaseURL: s.URL, Retries: -1}
	return c.Send(t.Context(), prompt(api), nil)
}

type answerCase struct {
	name   string
	answer string
	want   Reply  // without Requests
	kind   Kind   // of the error, "" for none
	err    string // a part of the error
	fails  bool   // with some error
}

func testAnswers(t *testing.T, api API, cases []answerCase) {
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ask(t, api, tc.answer)
			if tc.fails || tc.err != "" || tc.kind != "" {
				var e *Error
				if !errors.As(err, &e) || !strings.Contains(e.Error(), tc.err) || tc.kind != "" && e.Kind != tc.kind || e.Requests != 1 {
					t.Fatalf("got %+v and error %v (%+v), want a %s error with %q after one request", got, err, e, tc.kind, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			tc.want.Requests = 1
			if diff := cmp.Diff(&tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

const (
	anthropicBegin = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}}`
	anthropicText  = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	anthropicStop  = `{"type":"content_block_stop","index":0}`
	anthropicEnd   = `{"type":"message_stop"}`
)

func anthropicDelta(text string) string {
	return `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + strconv.Quote(text) + `}}`
}

func anthropicReason(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":` + strconv.Quote(reason) + `,"stop_sequence":null},"usage":{"output_tokens":7}}`
}

func TestAnthropicReply(t *testing.T) {
	used := Usage{Reported: true, Input: 10, Output: 7}
	cases := []answerCase{
		{
			name:   "text in pieces",
			answer: named(anthropicBegin, anthropicText, `{"type":"ping"}`, anthropicDelta("Hel"), anthropicDelta("lo 😀"), anthropicStop, anthropicReason("end_turn"), anthropicEnd),
			want:   Reply{Model: "claude", Text: "Hello 😀", Stop: StopEnd, StopReason: "end_turn", Usage: used},
		},
		{
			name:   "no names of events",
			answer: sse(anthropicBegin, anthropicText, anthropicDelta("Hi"), anthropicReason("stop_sequence"), anthropicEnd),
			want:   Reply{Model: "claude", Text: "Hi", Stop: StopEnd, StopReason: "stop_sequence", Usage: used},
		},
		{
			name:   "names of events and no types",
			answer: "event: message_start\ndata: {\"message\":{\"content\":[]}}\n\nevent: content_block_delta\ndata: {\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\nevent: message_delta\ndata: {\"delta\":{\"stop_reason\":\"end_turn\"}}\n\nevent: message_stop\ndata: {}\n\n",
			want:   Reply{Text: "Hi", Stop: StopEnd, StopReason: "end_turn"},
		},
		{
			name: "reasoning, readable and not, and calls",
			answer: named(anthropicBegin,
				`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me "}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"see."}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"abc"}}`,
				anthropicStop,
				`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"xyz"}}`,
				`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"So"}}`,
				`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{}}}`,
				`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"path\":"}}`,
				`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"\"a\"}"}}`,
				`{"type":"content_block_start","index":4,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}}}`,
				anthropicReason("tool_use"), anthropicEnd),
			want: Reply{
				Model: "claude", Text: "So", Reasoning: "Let me see.", Reasoned: true, Stop: StopCalls, StopReason: "tool_use", Usage: used,
				Calls: []Call{{"read", `{"path":"a"}`}, {"web_search", `{"query":"q"}`}},
			},
		},
		{
			name: "signature only",
			answer: named(anthropicBegin, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
				anthropicReason("end_turn"), anthropicEnd),
			want: Reply{Model: "claude", Reasoned: true, Stop: StopEnd, StopReason: "end_turn", Usage: used},
		},
		{
			name: "usage is refined, and its zeros are no news",
			answer: named(`{"type":"message_start","message":{"usage":{"input_tokens":3,"cache_read_input_tokens":100000,"cache_creation_input_tokens":50000,"output_tokens":1}}}`,
				`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":0,"output_tokens":9}}`, anthropicEnd),
			want: Reply{Stop: StopEnd, StopReason: "end_turn", Usage: Usage{Reported: true, Input: 150003, CacheRead: 100000, CacheWrite: 50000, Output: 9}},
		},
		{
			name: "usage comes with the end only",
			answer: named(`{"type":"message_start","message":{"usage":{"input_tokens":0,"output_tokens":0}}}`,
				`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":20,"cache_read_input_tokens":5,"output_tokens":9}}`, anthropicEnd),
			want: Reply{Stop: StopEnd, StopReason: "end_turn", Usage: Usage{Reported: true, Input: 25, CacheRead: 5, Output: 9}},
		},
		{
			name:   "an empty stop reason at the beginning",
			answer: named(`{"type":"message_start","message":{"content":[],"stop_reason":""}}`, anthropicText, anthropicDelta("Hi"), anthropicReason("end_turn"), anthropicEnd),
			want:   Reply{Text: "Hi", Stop: StopEnd, StopReason: "end_turn", Usage: Usage{Reported: true, Output: 7}},
		},
		{
			name:   "ends before the end",
			answer: named(anthropicBegin, anthropicText, anthropicDelta("Hi"), anthropicReason("end_turn")),
			want:   Reply{Model: "claude", Text: "Hi", Stop: StopUnknown, StopReason: "end_turn", Usage: used},
		},
		{
			name:   "the last event has no blank line",
			answer: strings.TrimSuffix(named(anthropicBegin, anthropicText, anthropicDelta("Hi"), anthropicReason("end_turn"), anthropicEnd), "\n"),
			want:   Reply{Model: "claude", Text: "Hi", Stop: StopUnknown, StopReason: "end_turn", Usage: used},
		},
		{
			name: "plain",
			answer: `{"type":"message","model":"claude","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"A"},{"type":"text","text":"B"},` +
				`{"type":"mcp_tool_use","name":"x","input":{}}],"stop_reason":"max_tokens","usage":{"input_tokens":10,"output_tokens":7}}`,
			want: Reply{Model: "claude", Text: "AB", Reasoning: "Hm.", Reasoned: true, Calls: []Call{{"x", "{}"}}, Stop: StopLength, StopReason: "max_tokens", Usage: used},
		},
		{
			name:   "plain with nothing in it",
			answer: `{"type":"message","content":[],"stop_reason":"end_turn"}`,
			want:   Reply{Stop: StopEnd, StopReason: "end_turn"},
		},
		{
			name:   "plain without a stop reason",
			answer: `{"type":"message","content":[{"type":"text","text":"A"}],"stop_reason":null}`,
			want:   Reply{Text: "A"},
		},
		{name: "error event", answer: named(anthropicBegin) + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"It is on fire\"}}\n\n", err: "It is on fire"},
		{name: "error event that is text", answer: "event: error\ndata: It is on fire\n\n", err: "It is on fire"},
		{name: "error in place of a message", answer: `{"type":"error","error":{"type":"api_error","message":"It is on fire"}}`, err: "It is on fire"},
		{name: "only the end of another protocol", answer: "data: [DONE]\n\n", kind: Silent},
		{name: "an event is damaged", answer: named(anthropicBegin) + "data: {\"type\":\"content\n\n" + named(anthropicEnd), kind: Transient, err: "damaged"},
		{name: "nothing", answer: "", kind: Transient, err: "nothing of a reply"},
		{name: "comments only", answer: ": keep-alive\n\n: keep-alive\n\n", kind: Transient, err: "nothing of a reply"},
		{name: "a page", answer: "<!doctype html><p>Welcome", kind: Invalid, err: "is the base URL right?"},
		{name: "half an object", answer: `{"type":"message","content":[{"type":"text"`, kind: Transient},
		{name: "an object of something else", answer: `{"hello":"world"}`, fails: true},
	}
	for reason, stop := range map[string]Stop{
		"refusal": StopFiltered, "pause_turn": StopPaused, "model_context_window_exceeded": StopOverflow, "max_tokens": StopLength,
		"compaction": StopUnknown, "END_TURN": StopUnknown, "new_reason": StopUnknown,
	} {
		cases = append(cases, answerCase{
			name:   reason,
			answer: named(anthropicBegin, anthropicText, anthropicDelta("Hi"), anthropicReason(reason), anthropicEnd),
			want:   Reply{Model: "claude", Text: "Hi", Stop: stop, StopReason: reason, Usage: used},
		})
	}
	testAnswers(t, Anthropic, cases)
}

func chatDelta(delta string) string {
	return `{"id":"c","object":"chat.completion.chunk","model":"gpt","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}`
}

func chatText(text string) string { return chatDelta(`{"content":` + strconv.Quote(text) + `}`) }

func chatEnd(reason string) string {
	return `{"model":"gpt","choices":[{"index":0,"delta":{},"finish_reason":` + strconv.Quote(reason) + `}]}`
}

const (
	chatUsage = `{"model":"gpt","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":7}}`
	chatDone  = "[DONE]"
)

func TestChatReply(t *testing.T) {
	used := Usage{Reported: true, Input: 10, Output: 7}
	usage := func(usage string) string {
		return sse(chatText("Hi"), chatEnd("stop"), `{"choices":[],`+usage+`}`, chatDone)
	}
	hi := func(u Usage) Reply {
		return Reply{Model: "gpt", Text: "Hi", Stop: StopEnd, StopReason: "stop", Usage: u}
	}
	cases := []answerCase{
		{
			name:   "text in pieces",
			answer: sse(chatDelta(`{"role":"assistant","content":""}`), chatText("Hel"), chatText("lo 😀"), chatEnd("stop"), chatUsage, chatDone),
			want:   Reply{Model: "gpt", Text: "Hello 😀", Stop: StopEnd, StopReason: "stop", Usage: used},
		},
		{name: "no blank line behind the end", answer: strings.TrimSuffix(sse(chatText("Hi"), chatEnd("stop"), chatUsage, chatDone), "\n\n"), want: hi(used)},
		{name: "no end behind the reason", answer: sse(chatText("Hi"), chatEnd("stop")), want: hi(Usage{})},
		{name: "an end and no reason", answer: sse(chatText("Hi"), chatDone), want: Reply{Model: "gpt", Text: "Hi"}},
		{name: "neither", answer: sse(chatText("Hi")), want: Reply{Model: "gpt", Text: "Hi"}},
		{name: "an empty reason is none", answer: sse(chatText("Hi"), chatEnd(""), chatDone), want: Reply{Model: "gpt", Text: "Hi"}},
		{name: "words between", answer: "data: PROCESSING\n\n: OPENROUTER PROCESSING\n\n" + sse(chatText("Hi"), chatEnd("stop"), chatUsage, chatDone), want: hi(used)},
		{name: "a byte order mark", answer: "\uFEFF" + sse(chatText("Hi"), chatEnd("stop"), chatUsage, chatDone), want: hi(used)},
		{name: "carriage returns", answer: strings.ReplaceAll(sse(chatText("Hi"), chatEnd("stop"), chatUsage, chatDone), "\n", "\r"), want: hi(used)},
		{name: "both (STR-05)", answer: strings.ReplaceAll(sse(chatText("Hi"), chatEnd("stop"), chatUsage, chatDone), "\n", "\r\n"), want: hi(used)},
		{
			name:   "an event of 200 kB (STR-05)",
			answer: strings.ReplaceAll(sse(chatText(strings.Repeat("x", 200_000)), chatEnd("stop"), chatDone), "\n", "\r\n"),
			want:   Reply{Model: "gpt", Text: strings.Repeat("x", 200_000), Stop: StopEnd, StopReason: "stop"},
		},
		{
			name:   "content in parts, and another choice",
			answer: sse(chatDelta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},{"type":"text","text":"A"},{"type":"text","text":"B"}]}`), `{"choices":[{"index":1,"delta":{"content":"other"},"finish_reason":"length"}]}`, chatEnd("stop"), chatDone),
			want:   Reply{Model: "gpt", Text: "AB", Reasoning: "Hm.", Reasoned: true, Stop: StopEnd, StopReason: "stop"},
		},
		{
			name:   "reasoning under one name",
			answer: sse(chatDelta(`{"reasoning_content":"Let "}`), chatDelta(`{"reasoning_content":"me","content":null}`), chatText("Hi"), chatEnd("stop"), chatUsage, chatDone),
			want:   Reply{Model: "gpt", Text: "Hi", Reasoning: "Let me", Reasoned: true, Stop: StopEnd, StopReason: "stop", Usage: used},
		},
		{
			name:   "reasoning under three names",
			answer: sse(chatDelta(`{"reasoning_content":"","reasoning":"Hm","reasoning_details":[{"type":"reasoning.text","text":"Hm"}]}`), chatDelta(`{"reasoning_details":[{"type":"reasoning.summary","summary":"."},{"type":"reasoning.encrypted","data":"x"}]}`), chatText("Hi"), chatEnd("stop"), chatDone),
			want:   Reply{Model: "gpt", Text: "Hi", Reasoning: "Hm.", Reasoned: true, Stop: StopEnd, StopReason: "stop"},
		},
		{
			name:   "reasoning that is only counted",
			answer: usage(`"usage":{"prompt_tokens":10,"completion_tokens":7,"completion_tokens_details":{"reasoning_tokens":5}}`),
			want:   Reply{Model: "gpt", Text: "Hi", Reasoned: true, Stop: StopEnd, StopReason: "stop", Usage: used},
		},
		{
			name: "calls in pieces",
			answer: sse(chatDelta(`{"content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"read","arguments":""}}]}`),
				chatDelta(`{"tool_calls":[{"index":1,"id":"call_2","type":"function","function":{"name":"run","arguments":"{}"}}]}`),
				chatDelta(`{"tool_calls":[{"index":0,"function":{"name":"read","arguments":"{\"a\""}}]}`),
				chatDelta(`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`), chatEnd("tool_calls"), chatDone),
			want: Reply{Model: "gpt", Stop: StopCalls, StopReason: "tool_calls", Calls: []Call{{"read", `{"a":1}`}, {"run", "{}"}}},
		},
		{
			name: "calls that all have the index 0, or none",
			answer: sse(chatDelta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"1"}},{"index":0,"id":"b","function":{"name":"two","arguments":"2"}}]}`),
				chatDelta(`{"tool_calls":[{"id":"c","function":{"name":"three","arguments":{"x":3}}}]}`), chatEnd("stop"), chatDone),
			want: Reply{Model: "gpt", Stop: StopEnd, StopReason: "stop", Calls: []Call{{"one", "1"}, {"two", "2"}, {"three", `{"x":3}`}}},
		},
		{
			name:   "the one call of the older protocol, and a custom one",
			answer: sse(chatDelta(`{"function_call":{"name":"read","arguments":"{"}}`), chatDelta(`{"function_call":{"arguments":"}"}}`), chatDelta(`{"tool_calls":[{"index":0,"id":"x","type":"custom","custom":{"name":"patch","input":"+a"}}]}`), chatEnd("function_call"), chatDone),
			want:   Reply{Model: "gpt", Stop: StopCalls, StopReason: "function_call", Calls: []Call{{"read", "{}"}, {"patch", "+a"}}},
		},
		{
			name:   "a refusal is no normal end",
			answer: sse(chatText("Summary:"), chatDelta(`{"refusal":"I can"}`), chatDelta(`{"refusal":"not."}`), chatEnd("stop"), chatDone),
			want:   Reply{Model: "gpt", Text: "Summary:", Refusal: "I cannot.", Stop: StopFiltered, StopReason: "stop"},
		},
		{
			name:   "plain",
			answer: `{"object":"chat.completion","model":"gpt","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","refusal":null,"tool_calls":[{"id":"","type":"function","function":{"name":"a","arguments":"1"}},{"id":"","type":"function","function":{"name":"b","arguments":"2"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":7},"error":null}`,
			want:   Reply{Model: "gpt", Text: "Hi", Calls: []Call{{"a", "1"}, {"b", "2"}}, Stop: StopEnd, StopReason: "stop", Usage: used},
		},
		{
			name:   "a whole completion as the one event of a stream",
			answer: sse(`{"object":"chat.completion","model":"gpt","choices":[{"message":{"content":[{"type":"text","text":"Hi"}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":7}}`, chatDone),
			want:   hi(used),
		},

		{name: "the cache is a part of the input (TOK-01)", answer: usage(`"usage":{"prompt_tokens":184704,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":183936}}`), want: hi(Usage{Reported: true, Input: 184704, CacheRead: 183936, Output: 1})},
		{name: "unless it is larger", answer: usage(`"usage":{"prompt_tokens":64,"completion_tokens":1,"cache_read_input_tokens":1000,"cache_creation_input_tokens":100}`), want: hi(Usage{Reported: true, Input: 1164, CacheRead: 1000, CacheWrite: 100, Output: 1})},
		{name: "llama.cpp without usage (TOK-04)", answer: usage(`"timings":{"cache_n":30000,"prompt_n":200,"predicted_n":12}`), want: hi(Usage{Reported: true, Input: 30200, CacheRead: 30000, Output: 12})},
		{name: "llama.cpp with both", answer: usage(`"usage":{"prompt_tokens":30200,"completion_tokens":12},"timings":{"cache_n":30000,"prompt_n":200,"predicted_n":12}`), want: hi(Usage{Reported: true, Input: 30200, CacheRead: 30000, Output: 12})},
		{name: "DeepSeek", answer: usage(`"usage":{"prompt_tokens":100,"completion_tokens":1,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}`), want: hi(Usage{Reported: true, Input: 100, CacheRead: 64, Output: 1})},
		{name: "Groq", answer: usage(`"x_groq":{"usage":{"prompt_tokens":100,"completion_tokens":1}}`), want: hi(Usage{Reported: true, Input: 100, Output: 1})},
		{name: "numbers that are none", answer: usage(`"usage":{"prompt_tokens":-5,"completion_tokens":1e300}`), want: hi(Usage{})},
		{name: "not known is not none (TOK-19)", answer: usage(`"usage":null`), want: hi(Usage{})},

		{name: "only an end (E32)", answer: "data: [DONE]\n\n", kind: Silent},
		{name: "only an end, and no line", answer: "data: [DONE]", kind: Silent},
		{name: "an error in the stream", answer: sse(chatText("Hi"), `{"error":{"code":502,"message":"It is on fire"},"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`), err: "It is on fire"},
		{name: "an error that is text", answer: sse(`{"error":"It is on fire"}`), err: "It is on fire"},
		{name: "an error of a choice", answer: sse(`{"choices":[{"index":0,"delta":{},"error":{"message":"It is on fire"}}]}`), err: "It is on fire"},
		{name: "an error field (older llama.cpp)", answer: sse(chatText("Hi")) + "error: {\"code\":500,\"message\":\"It is on fire\"}\n\n", err: "It is on fire"},
		{name: "an error with a good status", answer: `{"error":{"message":"It is on fire"}}`, err: "It is on fire"},
		{name: "an error without a frame (vLLM)", answer: `{"object":"error","message":"It is on fire","code":400}`, err: "It is on fire"},
		{name: "an error in a list (Gemini)", answer: `[{"error":{"message":"It is on fire"}}]`, err: "It is on fire"},
		{name: "no choices", answer: `{"choices":[]}`, fails: true},
		{name: "text", answer: "Internal error", kind: Transient, err: "nothing of a reply"},
	}
	for reason, stop := range map[string]Stop{
		"STOP": StopEnd, "end_turn": StopEnd, "eos": StopEnd, "eos_token": StopEnd, "length": StopLength, "max_tokens": StopLength,
		"content_filter": StopFiltered, "model_context_window_exceeded": StopOverflow, "error": StopUnknown, "abort": StopUnknown, "stopped": StopUnknown,
	} {
		cases = append(cases, answerCase{
			name: reason, answer: sse(chatText("Hi"), chatEnd(reason), chatUsage, chatDone),
			want: Reply{Model: "gpt", Text: "Hi", Stop: stop, StopReason: reason, Usage: used},
		})
	}
	testAnswers(t, Chat, cases)
}

func responsesMessage(text string) string {
	return `{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":` + strconv.Quote(text) + `}]}`
}

func responsesEnd(status, more string) string {
	return `{"type":"response.` + status + `","response":{"model":"gpt","status":"` + status + `"` + more + `}}`
}

const (
	responsesBegin = `{"type":"response.created","response":{"id":"resp_1","model":"gpt","status":"in_progress","error":null,"output":[]}}`
	responsesUsage = `,"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":0}}`
)

func responsesDelta(index int, text string) string {
	return fmt.Sprintf(`{"type":"response.output_text.delta","output_index":%d,"content_index":0,"delta":%q}`, index, text)
}

func responsesItem(event string, index int, item string) string {
	return fmt.Sprintf(`{"type":"response.output_item.%s","output_index":%d,"item":%s}`, event, index, item)
}

func TestResponsesReply(t *testing.T) {
	used := Usage{Reported: true, Input: 10, CacheRead: 4, Output: 7}
	cases := []answerCase{
		{
			name: "text in pieces, with the item, and with the response",
			answer: named(responsesBegin, responsesItem("added", 0, `{"type":"message","content":[]}`), responsesDelta(0, "Hel"), responsesDelta(0, "lo"),
				`{"type":"response.output_text.done","output_index":0,"text":"Hello"}`, responsesItem("done", 0, responsesMessage("Hello")),
				responsesEnd("completed", `,"output":[`+responsesMessage("Hello")+`]`+responsesUsage)),
			want: Reply{Model: "gpt", Text: "Hello", Stop: StopEnd, StopReason: "completed", Usage: used},
		},
		{
			name:   "text in pieces only, and nothing of an index",
			answer: sse(`{"type":"response.output_text.delta","delta":"Hel"}`, `{"type":"response.output_text.delta","delta":"lo"}`, responsesEnd("completed", `,"output":[]`)),
			want:   Reply{Model: "gpt", Text: "Hello", Stop: StopEnd, StopReason: "completed"},
		},
		{
			name:   "text with the response only",
			answer: sse(responsesEnd("completed", `,"output":[`+responsesMessage("Hello")+`]`)),
			want:   Reply{Model: "gpt", Text: "Hello", Stop: StopEnd, StopReason: "completed"},
		},
		{
			name: "two messages in the order of their indexes, and encrypted reasoning",
			answer: named(responsesBegin, responsesItem("done", 2, responsesMessage("B")), responsesItem("done", 0, `{"type":"reasoning","summary":[],"encrypted_content":"xyz"}`),
				responsesItem("done", 1, `{"type":"message","content":[{"type":"output_text","text":"A"},{"type":"output_text","text":"a"}]}`), responsesEnd("completed", "")),
			want: Reply{Model: "gpt", Text: "Aa\n\nB", Reasoned: true, Stop: StopEnd, StopReason: "completed"},
		},
		{
			name: "reasoning",
			answer: named(responsesItem("added", 0, `{"type":"reasoning","summary":[]}`), `{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"Hm"}`,
				responsesItem("done", 0, `{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}]}`), responsesDelta(1, "Hi"), responsesEnd("completed", responsesUsage)),
			want: Reply{Model: "gpt", Text: "Hi", Reasoning: "Hm.", Reasoned: true, Stop: StopEnd, StopReason: "completed", Usage: used},
		},
		{
			name: "calls of every kind",
			answer: named(responsesItem("added", 0, `{"type":"function_call","call_id":"c1","name":"read","arguments":""}`),
				`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"a\""}`, `{"type":"response.function_call_arguments.delta","output_index":0,"delta":":1}"}`,
				responsesItem("added", 1, `{"type":"custom_tool_call","call_id":"c2","name":"patch","input":""}`), `{"type":"response.custom_tool_call_input.delta","output_index":1,"delta":"+a"}`,
				responsesItem("done", 2, `{"type":"local_shell_call","call_id":"c3","action":{"type":"exec","command":["ls"]}}`),
				responsesItem("done", 3, `{"type":"function_call_output","call_id":"c1","output":"x"}`),
				responsesEnd("completed", "")),
			want: Reply{
				Model: "gpt", Stop: StopCalls, StopReason: "completed",
				Calls: []Call{{"read", `{"a":1}`}, {"patch", "+a"}, {"local_shell", `{"type":"exec","command":["ls"]}`}},
			},
		},
		{
			name: "a refusal is no normal end",
			answer: named(`{"type":"response.refusal.delta","output_index":0,"delta":"I can"}`,
				responsesItem("done", 0, `{"type":"message","content":[{"type":"refusal","refusal":"I cannot."}]}`), responsesEnd("completed", "")),
			want: Reply{Model: "gpt", Refusal: "I cannot.", Stop: StopFiltered, StopReason: "completed"},
		},
		{
			name:   "cut off",
			answer: named(responsesDelta(0, "Hi"), responsesEnd("incomplete", `,"incomplete_details":{"reason":"max_output_tokens"}`)),
			want:   Reply{Model: "gpt", Text: "Hi", Stop: StopLength, StopReason: "max_output_tokens"},
		},
		{
			name:   "filtered",
			answer: named(responsesDelta(0, "Hi"), responsesEnd("incomplete", `,"incomplete_details":{"reason":"content_filter"}`)),
			want:   Reply{Model: "gpt", Text: "Hi", Stop: StopFiltered, StopReason: "content_filter"},
		},
		{name: "ends before the end", answer: named(responsesBegin, responsesItem("done", 0, responsesMessage("Hi"))), want: Reply{Model: "gpt", Text: "Hi"}},
		{name: "an end that says nothing", answer: named(responsesDelta(0, "Hi"), `{"type":"response.completed","response":{}}`), want: Reply{Text: "Hi", Stop: StopEnd, StopReason: "completed"}},
		{
			name:   "plain",
			answer: `{"object":"response","model":"gpt","status":"completed","error":null,"output":[` + responsesMessage("Hi") + `]` + responsesUsage + `}`,
			want:   Reply{Model: "gpt", Text: "Hi", Stop: StopEnd, StopReason: "completed", Usage: used},
		},
		{name: "plain and at work", answer: `{"status":"in_progress","output":[` + responsesMessage("Hi") + `]}`, want: Reply{Text: "Hi", StopReason: "in_progress"}},
		{name: "plain and cancelled", answer: `{"status":"cancelled","output":[]}`, want: Reply{StopReason: "cancelled"}},
		{
			name:   "usage that only counts reasoning",
			answer: named(responsesDelta(0, "Hi"), responsesEnd("completed", `,"usage":{"input_tokens":10,"output_tokens":7,"output_tokens_details":{"reasoning_tokens":5}}`)),
			want:   Reply{Model: "gpt", Text: "Hi", Reasoned: true, Stop: StopEnd, StopReason: "completed", Usage: Usage{Reported: true, Input: 10, Output: 7}},
		},

		{name: "failed (ERR-17)", answer: named(responsesBegin, responsesEnd("failed", `,"instructions":"text of ours","error":{"code":"server_error","message":"It is on fire"}`)), err: "It is on fire"},
		{name: "failed for no reason", answer: named(responsesEnd("failed", "")), err: "the response is failed"},
		{name: "incomplete for another reason", answer: named(responsesEnd("incomplete", `,"incomplete_details":{"reason":"on_fire"}`)), err: "on_fire"},
		{name: "plain and failed", answer: `{"status":"failed","error":{"code":"server_error","message":"It is on fire"},"output":[]}`, err: "It is on fire"},
		{name: "an error event", answer: named(responsesBegin, `{"type":"error","code":"server_error","message":"It is on fire","param":null}`), err: "It is on fire"},
		{name: "an error event with a frame", answer: named(`{"type":"error","error":{"code":"server_error","message":"It is on fire"}}`), err: "It is on fire"},
		{name: "only the end of another protocol", answer: "data: [DONE]\n\n", kind: Silent},
		{name: "an object of something else", answer: `{"hello":"world"}`, fails: true},
	}
	testAnswers(t, Responses, cases)
}

func TestProgress(t *testing.T) {
	for api, answer := range map[API]string{
		Anthropic: named(anthropicBegin, anthropicText, anthropicDelta("äöü"), `{"type":"ping"}`, anthropicDelta("ß"), anthropicReason("end_turn"), anthropicEnd),
		Chat:      sse(chatDelta(`{"role":"assistant","content":""}`), chatDelta(`{"reasoning_content":"äöü"}`), chatText("ß"), chatEnd("stop"), chatDone),
		Responses: named(responsesBegin, responsesDelta(0, "äöü"), responsesDelta(0, "ß"), responsesItem("done", 0, responsesMessage("äöüß")), responsesEnd("completed", "")),
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) })
		c := Client{API: api, BaseURL: s.URL}
		var got []int
		if _, err := c.Send(t.Context(), prompt(api), func(p Progress) { got = append(got, p.Runes) }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]int{3, 4}, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", api, diff)
		}
	}
}
