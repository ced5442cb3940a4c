package modeltest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/format/anthropic"
	"github.com/pemmican-dev/pemmican/format/openaichat"
	"github.com/pemmican-dev/pemmican/internal/modeltest"
)

// rule is a request and the text with which it is refused, "" for none.
type rule struct {
	name, body, want string
	config           modeltest.Config
}

func testRules(t *testing.T, api modeltest.API, rules []rule) {
	server := modeltest.Start(t)
	for _, test := range rules {
		t.Run(test.name, func(t *testing.T) {
			server.Configure(test.config)
			r := post(t, server, paths[api], test.body)
			requests := server.Requests()
			refused := requests[len(requests)-1].Refused
			switch {
			case test.want == "":
				if r.status != 200 || refused != "" {
					t.Errorf("refused: %d %s", r.status, r.body)
				}
			case r.status == 200 || !strings.Contains(message(t, r.body), test.want) || refused != message(t, r.body):
				t.Errorf("%d %s\nwant %q", r.status, r.body, test.want)
			}
			if strings.Contains(test.want, "could not be read") {
				return
			}
			server.Configure(modeltest.Config{Lax: true})
			if r := post(t, server, paths[api], test.body); r.status != 200 {
				t.Errorf("refused though lax: %d %s", r.status, r.body)
			}
		})
	}
}

func TestAnthropicRules(t *testing.T) {
	// in has the messages in a request; user, call and result are messages.
	in := func(messages ...string) string {
		return `{"model":"m","max_tokens":100,"messages":[` + strings.Join(messages, ",") + `]}`
	}
	user := func(blocks ...string) string { return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}` }
	assistant := func(blocks ...string) string {
		return `{"role":"assistant","content":[` + strings.Join(blocks, ",") + `]}`
	}
	text := func(s string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, s) }
	call := func(id string) string {
		return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"read","input":{}}`, id)
	}
	result := func(id string) string { return fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":""}`, id) }
	hello := user(text("hello"))
	const unanswered = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: c1"
	marks := func(n int) string {
		marked := `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`
		return user(strings.Repeat(marked+",", n-1) + marked)
	}
	testRules(t, modeltest.Anthropic, []rule{
		{name: "sound", body: in(hello, assistant(text("a"), call("c1"), call("c2")), user(result("c2"), result("c1"), text("and")))},
		{name: "neighbours are one message", body: in(hello, hello, assistant(call("c1")), assistant(call("c2")), user(result("c1")), user(result("c2")))},
		{name: "last answer to go on with", body: in(hello, assistant(text("So")))},
		{name: "empty last answer", body: in(hello, `{"role":"assistant","content":""}`)},
		{name: "no limit", body: `{"model":"m","messages":[` + hello + `]}`, want: "max_tokens: Field required"},
		{name: "no messages", body: in(), want: "messages: at least one message is required"},
		{name: "assistant first", body: in(assistant(text("a")), hello), want: `first message must use the "user" role`},
		{name: "strange role", body: in(hello, `{"role":"tool","content":"x"}`), want: "messages.1.role: Input should be 'user' or 'assistant'"},
		{name: "system before the assistant", body: in(hello, `{"role":"system","content":"x"}`, assistant(text("a")), hello)},
		{name: "system before the user", body: in(hello, `{"role":"system","content":"x"}`, hello), want: "messages.1: role 'system' must precede"},
		{name: "call without result", body: in(hello, assistant(call("c1"))), want: unanswered},
		{name: "call without result in the middle", body: in(hello, assistant(call("c1")), hello), want: unanswered},
		{name: "one of two results", body: in(hello, assistant(call("c0"), call("c1")), user(result("c0"))), want: unanswered},
		{name: "text before results", body: in(hello, assistant(call("c1")), user(text("x"), result("c1"))), want: unanswered},
		{name: "string before results", body: in(hello, assistant(call("c1")), `{"role":"user","content":"x"}`, user(result("c1"))), want: unanswered},
		{name: "result too late", body: in(hello, assistant(call("c1")), hello, assistant(text("a")), user(result("c1"))), want: unanswered},
		{name: "result without call", body: in(hello, assistant(text("a")), user(result("c1"))), want: "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: c1"},
		{name: "result first", body: in(user(result("c1"))), want: "messages.0.content.0: unexpected `tool_use_id`"},
		{name: "two results", body: in(hello, assistant(call("c1")), user(result("c1"), result("c1"))), want: "each tool_use must have a single result"},
		{name: "id twice", body: in(hello, assistant(call("c1")), user(result("c1")), assistant(call("c1")), user(result("c1"))), want: "messages.3.content.0: `tool_use` ids must be unique"},
		{name: "id with a dot", body: in(hello, assistant(call("c.1")), user(result("c.1"))), want: "String should match pattern '^[a-zA-Z0-9_-]+$'"},
		{name: "input is text", body: in(hello, assistant(`{"type":"tool_use","id":"c1","name":"x","input":"{}"}`), user(result("c1"))), want: "Input should be a valid dictionary"},
		{name: "call of the user", body: in(user(call("c1"))), want: "`tool_use` blocks can only be in `assistant` messages"},
		{name: "result of the assistant", body: in(hello, assistant(result("c1"))), want: "`tool_result` blocks can only be in `user` messages"},
		{name: "empty text", body: in(user(text(""))), want: "messages: text content blocks must be non-empty"},
		{name: "blank text", body: in(user(text(" \n"))), want: "must contain non-whitespace text"},
		{name: "blank string", body: in(`{"role":"user","content":" "}`), want: "must contain non-whitespace text"},
		{name: "empty list", body: in(user(), assistant(text("a")), hello), want: "messages.0: all messages must have non-empty content"},
		{name: "no content", body: in(`{"role":"user"}`), want: "messages.0.content: Field required"},
		{name: "empty system text", body: `{"model":"m","max_tokens":9,"system":[{"type":"text","text":""}],"messages":[` + hello + `]}`, want: "system.0: text content blocks must be non-empty"},
		{name: "empty compaction", body: in(hello, assistant(`{"type":"compaction","content":""}`), hello), want: "compaction.content: String should have at least 1 character"},
		{name: "failed compaction", body: in(hello, assistant(`{"type":"compaction","content":null}`), hello)},
		{name: "nothing but thinking", body: in(hello, assistant(`{"type":"thinking","thinking":"x","signature":"y"}`), hello), want: "The final block in an assistant message cannot be `thinking`."},
		{name: "thinking last", body: in(hello, assistant(text("a"), `{"type":"thinking","thinking":"x","signature":"y"}`), hello), want: "cannot be `thinking`"},
		{name: "four marks", body: in(marks(4))},
		{name: "five marks", body: in(marks(5)), want: "A maximum of 4 blocks with cache_control may be provided. Found 5."},
		{name: "a mark in a result", body: in(marks(4), assistant(call("c1")), user(`{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}`)), want: "Found 5."},
		{name: "five marks in all", body: `{"model":"m","max_tokens":9,"tools":[{"name":"x","cache_control":{"type":"ephemeral"}}],"messages":[` + marks(4) + `]}`, want: "Found 5."},
		{name: "budget", body: `{"model":"m","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[` + hello + `]}`, want: "`max_tokens` must be greater than `thinking.budget_tokens`."},
		{name: "edit without thinking", body: `{"model":"m","max_tokens":9,"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},"messages":[` + hello + `]}`, want: "`clear_thinking_20251015` requires `thinking`"},
		{name: "edit with thinking", body: `{"model":"m","max_tokens":9,"thinking":{"type":"adaptive"},"context_management":{"edits":[{"type":"clear_thinking_20251015"}]},"messages":[` + hello + `]}`},
		{name: "prefill while thinking", body: `{"model":"m","max_tokens":9,"thinking":{"type":"adaptive"},"messages":[` + hello + `,` + assistant(text("a")) + `]}`, want: "final message may not be an `assistant` message"},
		{name: "prefill of a newer model", body: in(hello, assistant(text("a"))), config: modeltest.Config{Newer: true}, want: "The conversation must end with a user message."},
		{name: "space at the end", body: in(hello, assistant(text("a "))), want: "final assistant content cannot end with trailing whitespace"},
		{name: "paused", body: in(hello, assistant(text("a "), `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`)), config: modeltest.Config{Newer: true}},
		{name: "half a character", body: in(user(`{"type":"text","text":"\ud83d"}`)), want: "no low surrogate in string"},
		{name: "no Unicode", body: in(user("{\"type\":\"text\",\"text\":\"\xff\"}")), want: "invalid UTF-8"},
		{name: "no JSON", body: `{"messages":`, want: "could not be read"},
		{name: "messages are no list", body: `{"model":"m","max_tokens":9,"messages":"x"}`, want: "could not be read"},
	})
	server := modeltest.Start(t)
	if r := post(t, server, "/v1/messages/count_tokens", `{"model":"m","messages":[`+hello+`]}`); r.status != 200 {
		t.Errorf("without max_tokens tokens are not counted: %s", r.body)
	}
	if r := post(t, server, "/v1/messages", strings.Repeat(" ", 32<<20)+in(hello)); r.status != 413 || message(t, r.body) != "Request exceeds the maximum size" {
		t.Errorf("more than 32 MiB: %d %s", r.status, r.body)
	}
	r, err := client.Post(server.URL()+"/v1/messages", "application/json", strings.NewReader(in(hello)))
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if requests := server.Requests(); r.StatusCode != http.StatusBadRequest || requests[2].Refused != "anthropic-version: header is required" {
		t.Errorf("without a version: %d %q", r.StatusCode, requests[2].Refused)
	}
}

func TestChatRules(t *testing.T) {
	in := func(messages ...string) string {
		return `{"model":"m","messages":[` + strings.Join(messages, ",") + `]}`
	}
	user := `{"role":"user","content":"hello"}`
	calls := func(ids ...string) string {
		var list []string
		for _, id := range ids {
			list = append(list, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"x","arguments":"{}"}}`, id))
		}
		return `{"role":"assistant","content":null,"tool_calls":[` + strings.Join(list, ",") + `]}`
	}
	result := func(id string) string { return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":""}`, id) }
	args := func(a string) string {
		return `{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"x","arguments":` + a + `}}]}`
	}
	const unanswered = "The following tool_call_ids did not have response messages: c1"
	template := modeltest.Config{Template: true}
	testRules(t, modeltest.Chat, []rule{
		{name: "sound", body: in(`{"role":"developer","content":"x"}`, user, calls("c1", "c2"), result("c2"), result("c1"), user)},
		{name: "last answer", body: in(user, `{"role":"assistant","content":"So"}`)},
		{name: "system in the middle", body: in(user, `{"role":"system","content":"x"}`, user)},
		{name: "id again in a later step", body: in(user, calls("c1"), result("c1"), calls("c1"), result("c1"))},
		{name: "a call of another kind", body: in(user, `{"role":"assistant","tool_calls":[{"id":"c1","type":"custom","custom":{"name":"x","input":"text"}}]}`, result("c1"))},
		{name: "an old call", body: in(user, `{"role":"assistant","content":null,"tool_calls":null,"refusal":"no"}`)},
		{name: "no messages", body: in(), want: "Invalid 'messages': empty array."},
		{name: "call without result", body: in(user, calls("c1")), want: unanswered},
		{name: "user between", body: in(user, calls("c1"), user, result("c1")), want: unanswered},
		{name: "user between two results", body: in(user, calls("c0", "c1"), result("c0"), user, result("c1")), want: unanswered},
		{name: "result without calls", body: in(user, result("c1")), want: "must be a response to a preceding message with 'tool_calls'"},
		{name: "result behind an answer", body: in(user, calls("c1"), result("c1"), `{"role":"assistant","content":"x"}`, result("c1")), want: "must be a response to a preceding message"},
		{name: "result of another call", body: in(user, calls("c1"), result("c2")), want: "'tool_call_id' of 'c2' not found"},
		{name: "two results", body: in(user, calls("c1"), result("c1"), result("c1")), want: "Duplicate value for 'tool_call_id' of 'c1' in messages[3]."},
		{name: "two calls of one id", body: in(user, calls("c1", "c1"), result("c1")), want: "Duplicate value for 'tool_call_id' of 'c1' in messages[1]."},
		{name: "no id", body: in(user, calls("")), want: "Missing required parameter: 'messages.[1].tool_calls[0].id'."},
		{name: "long id", body: in(user, calls(strings.Repeat("c", 65))), want: "maximum length 64, but got a string with length 65"},
		{name: "arguments cut off", body: in(user, args(`"{\"a\":\"b"`), result("c1")), want: "arguments must be a valid JSON object string"},
		{name: "arguments are a list", body: in(user, args(`"[]"`), result("c1")), want: "arguments must be a valid JSON object string"},
		{name: "arguments are no text", body: in(user, args(`{}`), result("c1")), want: "arguments must be a valid JSON object string"},
		{name: "empty calls", body: in(user, calls(), user), want: "Invalid 'messages.[1].tool_calls': empty array."},
		{name: "calls of the user", body: in(strings.Replace(calls("c1"), "assistant", "user", 1)), want: "Unknown parameter: 'messages.[0].tool_calls'."},
		{name: "empty text", body: in(`{"role":"user","content":""}`), want: "text content is empty"},
		{name: "empty part", body: in(`{"role":"user","content":[{"type":"text","text":""}]}`), want: "text content is empty"},
		{name: "empty answer", body: in(user, `{"role":"assistant","content":null}`, user), want: "Invalid value for 'content': expected a string, got null."},
		{name: "result without content", body: in(user, calls("c1"), `{"role":"tool","tool_call_id":"c1"}`), want: "expected one of a string or a list of parts"},
		{name: "strange role", body: in(`{"role":"robot","content":"x"}`), want: "Invalid value: 'robot'."},
		{name: "half a character", body: in(`{"role":"user","content":"\ude00"}`), want: "no low surrogate"},
		{name: "a message is no object", body: in("7"), want: "could not be read"},
		{name: "template, sound", body: in(`{"role":"system","content":"x"}`, user), config: template},
		{name: "template, system in the middle", body: in(user, `{"role":"system","content":"x"}`, user), config: template, want: "System message must be at the beginning."},
		{name: "template, no user", body: in(`{"role":"system","content":"x"}`), config: template, want: "No user query found in messages."},
		{name: "template, two answers", body: in(user, `{"role":"assistant","content":"x"}`, `{"role":"assistant","content":"y"}`), config: template, want: "Cannot have 2 or more assistant messages"},
	})
}

func TestResponsesRules(t *testing.T) {
	in := func(items ...string) string {
		return `{"model":"m","store":false,"input":[` + strings.Join(items, ",") + `]}`
	}
	stored := func(items ...string) string { return strings.Replace(in(items...), "false", "true", 1) }
	user := `{"role":"user","content":[{"type":"input_text","text":"hello"}]}`
	answer := `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}`
	call := func(id string) string {
		return fmt.Sprintf(`{"type":"function_call","call_id":%q,"name":"x","arguments":"{}"}`, id)
	}
	output := func(id string) string {
		return fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":"x"}`, id)
	}
	testRules(t, modeltest.Responses, []rule{
		{name: "sound", body: in(user, `{"type":"reasoning","summary":[],"encrypted_content":"x"}`, call("c1"), call("c2"), output("c2"), output("c1"), answer)},
		{name: "what the provider runs", body: in(user, `{"type":"web_search_call","id":"ws_1","status":"completed"}`, answer)},
		{name: "a custom call", body: in(user, `{"type":"custom_tool_call","call_id":"c1","name":"x","input":"y"}`, `{"type":"custom_tool_call_output","call_id":"c1","output":"z"}`)},
		{name: "id again", body: in(user, call("c1"), output("c1"), call("c1"), output("c1"))},
		{name: "no input", body: `{"model":"m"}`, want: `One of "input" or "previous_response_id"`},
		{name: "empty input", body: in(), want: `One of "input"`},
		{name: "empty string", body: `{"model":"m","input":""}`, want: `One of "input"`},
		{name: "input is a number", body: `{"model":"m","input":7}`, want: "could not be read"},
		{name: "output without call", body: in(user, output("c1")), want: "No tool call found for function call output with call_id c1."},
		{name: "output before its call", body: in(user, output("c1"), call("c1")), want: "No tool call found for function call output"},
		{name: "call without output", body: in(user, call("c1"), user), want: "No tool output found for function call c1."},
		{name: "two outputs", body: in(user, call("c1"), output("c1"), output("c1")), want: "Duplicate tool output found for function call c1."},
		{name: "two calls", body: in(user, call("c1"), call("c1"), output("c1")), want: "Duplicate function call with call_id c1."},
		{name: "long id", body: in(user, call(strings.Repeat("c", 65))), want: "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64, but got a string with length 65"},
		{name: "reasoning alone", body: stored(user, `{"type":"reasoning","id":"rs_9","summary":[]}`), want: "Item 'rs_9' of type 'reasoning' was provided without its required following item."},
		{name: "reasoning before the user", body: in(user, `{"type":"reasoning","id":"rs_9","summary":[],"encrypted_content":"x"}`, user), want: "without its required following item"},
		{name: "reasoning that was not stored", body: in(user, `{"type":"reasoning","id":"rs_9","summary":[]}`, answer), want: "Item with id 'rs_9' not found. Items are not persisted when `store` is set to false."},
		{name: "a reference that was not stored", body: in(user, `{"type":"item_reference","id":"msg_9"}`), want: "Item with id 'msg_9' not found."},
		{name: "an earlier response", body: `{"model":"m","previous_response_id":"resp_9","input":"x"}`, want: "Previous response with id 'resp_9' not found."},
		{name: "no content", body: in(`{"role":"user"}`), want: "Invalid type for 'input[0].content'"},
		{name: "strange role", body: in(`{"role":"tool","content":"x"}`), want: "Invalid value: 'tool'."},
		{name: "input text of the assistant", body: in(user, strings.Replace(answer, "output_text", "input_text", 1)), want: "Invalid value: 'input_text'."},
		{name: "output text of the user", body: in(strings.Replace(user, "input_text", "output_text", 1)), want: "Invalid value: 'output_text'."},
		{name: "compaction last", body: in(user, `{"type":"compaction_trigger"}`)},
		{name: "compaction in the middle", body: in(`{"type":"compaction_trigger"}`, user), want: "must be the last input item"},
		{name: "half a character", body: in(`{"role":"user","content":"\ud83dx"}`), want: "no low surrogate"},
	})
}

// What the server gives as reasoning comes back as it was, to the model that gave it; and to newer models of Anthropic
// behind what it was given for.
func TestSignatures(t *testing.T) {
	t.Run("responses", func(t *testing.T) {
		server := modeltest.Start(t, modeltest.Reply{Reasoning: "why", Text: "a", Calls: []modeltest.Call{{Name: "x", Args: "{}"}}})
		r := post(t, server, "/v1/responses", `{"model":"m","input":"hello","include":["reasoning.encrypted_content"]}`)
		var given struct{ Output []json.RawMessage }
		if err := json.Unmarshal([]byte(r.body), &given); err != nil || len(given.Output) != 3 {
			t.Fatalf("%v %s", err, r.body)
		}
		reasoning, text, call := string(given.Output[0]), string(given.Output[1]), string(given.Output[2])
		rest := `{"type":"function_call_output","call_id":"call_1","output":"x"}`
		for _, test := range []struct{ name, model, store, items, want string }{
			{"as it was", "m", "true", reasoning + "," + text + "," + call + "," + rest, ""},
			{"as it was, not stored", "m", "false", reasoning + "," + text + "," + call + "," + rest, ""},
			{"another model", "n", "true", reasoning + "," + text + "," + call + "," + rest, "could not be verified"},
			{"changed", "m", "true", strings.Replace(reasoning, `"encrypted_content":"c2NyaXB0ZWQx`, `"encrypted_content":"c2NyaXB0ZWQxx`, 1) + "," + text, "could not be verified"},
			{"without its reasoning", "m", "true", text, "Item 'msg_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1'."},
			{"call without its reasoning", "m", "true", call + "," + rest, "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'."},
			{"without its reasoning, not stored", "m", "false", text, ""},
		} {
			r := post(t, server, "/v1/responses", fmt.Sprintf(`{"model":%q,"store":%s,"input":[{"role":"user","content":"hello"},%s]}`, test.model, test.store, test.items))
			if test.want == "" && r.status != 200 || test.want != "" && !strings.Contains(r.body, test.want) {
				t.Errorf("%s: %d %s, want %q", test.name, r.status, r.body, test.want)
			}
		}
	})
	t.Run("anthropic", func(t *testing.T) {
		server := modeltest.Start(t)
		server.Configure(modeltest.Config{Newer: true})
		user := func(text string) string { return fmt.Sprintf(`{"role":"user","content":%q}`, text) }
		body := func(model, system string, messages []string) string {
			return fmt.Sprintf(`{"model":%q,"max_tokens":100,"system":%q,"messages":[%s]}`, model, system, strings.Join(messages, ","))
		}
		messages := []string{user("zero")}
		for i := range 3 {
			server.Script(modeltest.Reply{Reasoning: "why", Text: fmt.Sprint(i)})
			var given struct{ Content json.RawMessage }
			r := post(t, server, "/v1/messages", body("m", "s", messages))
			if err := json.Unmarshal([]byte(r.body), &given); err != nil || r.status != 200 {
				t.Fatalf("%v %s", err, r.body)
			}
			messages = append(messages, fmt.Sprintf(`{"role":"assistant","content":%s}`, given.Content), user("go on"))
		}
		changed := func(i int, old, replacement string) []string {
			out := append([]string(nil), messages...)
			if !strings.Contains(out[i], old) {
				t.Fatalf("%q is not in %s", old, out[i])
			}
			out[i] = strings.Replace(out[i], old, replacement, 1)
			return out
		}
		thoughtless := func(is ...int) []string {
			out := append([]string(nil), messages...)
			for _, i := range is {
				out[i] = fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":"%d"}]}`, i/2)
			}
			return out
		}
		const invalid, bound = "Invalid `signature` in `thinking` block", "bound to a different conversation"
		for _, test := range []struct {
			name, model, system string
			messages            []string
			older               bool
			want                string
		}{
			{"as it was", "m", "s", messages, false, ""},
			{"cache marks move", "m", "s", changed(0, `"content":"zero"`, `"cache_control":{"type":"ephemeral"},"content":"zero"`), false, ""},
			{"another model", "n", "s", messages, true, "messages.1.content.0: " + invalid},
			{"another text", "m", "s", changed(3, `"why"`, `"because"`), true, "messages.3.content.0: " + invalid},
			{"another system text", "m", "t", messages, false, "messages.1.content.0: " + invalid + ": it is " + bound},
			{"another system text, older model", "m", "t", messages, true, ""},
			{"another question", "m", "s", changed(2, "go on", "stop"), false, "messages.3.content.0: " + invalid + ": it is " + bound},
			{"no thinking at the beginning", "m", "s", thoughtless(1), false, ""},
			{"no thinking at the end", "m", "s", thoughtless(3, 5), false, ""},
			{"no thinking", "m", "s", thoughtless(1, 3, 5), false, ""},
			{"no thinking in the middle", "m", "s", thoughtless(3), false, "messages.5.content.0: " + invalid},
			{"no thinking in the middle, older model", "m", "s", thoughtless(3), true, ""},
			{"the first messages are gone", "m", "s", messages[2:], false, bound},
		} {
			server.Configure(modeltest.Config{Newer: !test.older})
			r := post(t, server, "/v1/messages", body(test.model, test.system, test.messages))
			if test.want == "" && r.status != 200 || test.want != "" && (r.status != 400 || !strings.Contains(message(t, r.body), test.want)) {
				t.Errorf("%s: %d %s, want %q", test.name, r.status, r.body, test.want)
			}
		}
	})
}

// One conversation has the same messages by each API.
func TestMessages(t *testing.T) {
	server := modeltest.Start(t)
	bodies := map[modeltest.API]string{
		modeltest.Anthropic: `{"model":"m","max_tokens":9,"system":[{"type":"text","text":"Be"},{"type":"text","text":"brief."}],"messages":[
			{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","source":{}}]},
			{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":"ok"},
				{"type":"tool_use","id":"c1","name":"read","input":{"a": "é"}},{"type":"tool_use","id":"c2","name":"ls","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"one"},{"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"two"},{"type":"text","text":"three"}]},
				{"type":"text","text":"go on"}]},
			{"role":"assistant","content":"done"},{"role":"user","content":"thanks"}]}`,
		modeltest.Chat: `{"model":"m","messages":[{"role":"developer","content":[{"type":"text","text":"Be"},{"type":"text","text":"brief."}]},
			{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","image_url":{}}]},
			{"role":"assistant","content":"ok","reasoning_content":"hm","tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"a\":\"é\"}"}},
				{"id":"c2","type":"custom","custom":{"name":"ls","input":"{}"}}]},
			{"role":"tool","tool_call_id":"c1","content":"one"},{"role":"tool","tool_call_id":"c2","content":"two\nthree"},
			{"role":"user","content":"go on"},{"role":"assistant","refusal":"done","content":""},{"role":"user","content":"thanks"}]}`,
		modeltest.Responses: `{"model":"m","store":false,"instructions":"Be\nbrief.","input":[
			{"role":"user","content":[{"type":"input_text","text":"look"},{"type":"image"}]},
			{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"x"},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok"}]},
			{"type":"function_call","call_id":"c1","name":"read","arguments":"{\"a\":\"é\"}"},{"type":"custom_tool_call","call_id":"c2","name":"ls","input":"{}"},
			{"type":"function_call_output","call_id":"c1","output":"one"},{"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"two"},{"type":"input_text","text":"three"}]},
			{"role":"user","content":"go on"},{"role":"assistant","content":"done"},{"role":"user","content":"thanks"}]}`,
	}
	want := []string{
		`system "Be\nbrief."`,
		`user "look\n[image]"`,
		`assistant ("hm") "ok" [c1 read {"a":"é"}] [c2 ls {}]`,
		`tool c1 "one"`,
		`tool c2 "two\nthree"`,
		`user "go on"`,
		`assistant "done"`,
		`user "thanks"`,
	}
	for _, api := range apis {
		if r := post(t, server, paths[api], bodies[api]); r.status != 200 {
			t.Errorf("%s: %s", api, r.body)
		}
		requests := server.Requests()
		var got []string
		for _, m := range requests[len(requests)-1].Messages() {
			got = append(got, m.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", api, diff)
		}
	}
	post(t, server, "/v1/responses", `{"model":"m","input":[{"role":"assistant","content":"a"},{"role":"assistant","content":"b"},{"type":"reasoning","summary":[]},{"type":"compaction","encrypted_content":"x"}]}`)
	requests := server.Requests()
	if got, want := fmt.Sprint(requests[len(requests)-1].Messages()), `[assistant "a" assistant "b" assistant "" user "[compaction]"]`; got != want {
		t.Errorf("the messages are %s, want %s", got, want)
	}
	if m := (modeltest.Request{API: modeltest.Chat, Body: []byte("{")}).Messages(); m != nil {
		t.Errorf("no JSON has the messages %v", m)
	}
}

// What an earlier request began with is read from the cache, if nothing before it has changed.
func TestCache(t *testing.T) {
	type usage struct{ Input, Read, Written int }
	for _, api := range apis {
		t.Run(string(api), func(t *testing.T) {
			server := modeltest.Start(t)
			server.Configure(modeltest.Config{Cache: true, Count: func(r modeltest.Request) int { return len(r.Body) }}) // bytes
			system := strings.Repeat("s", 1000)
			said := func(role, text string) string {
				return fmt.Sprintf(`{"role":%q,"content":%q}`, role, strings.Repeat(text, 500))
			}
			body := func(tools, more string, messages ...string) string {
				switch list := strings.Join(messages, ","); api {
				case modeltest.Anthropic:
					// The mark is on the last message but one, if there is one, so that it moves.
					if n := len(messages); n > 1 {
						messages = append([]string(nil), messages...)
						messages[n-2] = strings.Replace(messages[n-2], `"content":"`, `"cache_control":{"type":"ephemeral"},"content":"`, 1)
						list = strings.Join(messages, ",")
					}
					return fmt.Sprintf(`{"model":"m","max_tokens":9%s,"tools":[%s],"system":[{"type":"text","text":%q,"cache_control":{"type":"ephemeral"}}],"messages":[%s]}`, more, tools, system, list)
				case modeltest.Chat:
					return fmt.Sprintf(`{"model":"m"%s,"tools":[%s],"messages":[{"role":"system","content":%q},%s]}`, more, tools, system, list)
				default:
					return fmt.Sprintf(`{"model":"m"%s,"tools":[%s],"instructions":%q,"input":[%s]}`, more, tools, system, list)
				}
			}
			ask := func(body string) usage {
				t.Helper()
				r := post(t, server, paths[api], body)
				var v struct {
					Usage struct {
						Prompt  int `json:"prompt_tokens"`
						Input   int `json:"input_tokens"`
						Read    int `json:"cache_read_input_tokens"`
						Written int `json:"cache_creation_input_tokens"`
						Chat    struct {
							Cached  int `json:"cached_tokens"`
							Written int `json:"cache_write_tokens"`
						} `json:"prompt_tokens_details"`
						Responses struct {
							Cached  int `json:"cached_tokens"`
							Written int `json:"cache_write_tokens"`
						} `json:"input_tokens_details"`
					}
				}
				if err := json.Unmarshal([]byte(r.body), &v); err != nil || r.status != 200 {
					t.Fatalf("%v %s", err, r.body)
				}
				u := v.Usage
				got := usage{u.Prompt + u.Input, u.Read + u.Chat.Cached + u.Responses.Cached, u.Written + u.Chat.Written + u.Responses.Written}
				if api == modeltest.Anthropic { // which counts them beside the rest
					got.Input += got.Read + got.Written
				}
				if got.Input != len(body) {
					t.Errorf("the input is %d, want %d", got.Input, len(body))
				}
				return got
			}
			near := func(what string, got, want int) {
				t.Helper()
				if got < want || got > want+150 { // the names of the members
					t.Errorf("%s: %d, want some %d", what, got, want)
				}
			}
			const tool, other = `{"name":"x"}`, `{"name":"y"}`
			one, two, three := said("user", "1"), said("assistant", "2"), said("user", "3")

			first := ask(body(tool, "", one))
			near("nothing is read at first", first.Read, 0)
			second := ask(body(tool, "", one, two, three))
			unmarked := 0
			if api == modeltest.Anthropic {
				unmarked = 500 // the last message, behind the mark
				near("what stood before the mark is read", second.Read, 1000)
				near("the rest up to the mark is written", second.Written, 1000)
			} else {
				near("the first request is read", second.Read, 1500)
				near("the rest is written", second.Written, 1000)
			}
			// A summary by the same model: the same request with an instruction behind it.
			summary := ask(body(tool, "", one, two, three, said("user", "4")))
			near("the second request is read", summary.Read, 2500-unmarked)
			if got := ask(body(other, "", one, two, three)); got.Read > 10 {
				t.Errorf("other tools, and still %d are read", got.Read)
			}
			near("another message in the middle", ask(body(tool, "", one, said("assistant", "5"), three)).Read, 1500)
			more := ask(body(tool, `,"tool_choice":"none"`, one, two, three)).Read
			if api == modeltest.Anthropic {
				near("another choice of tools spoils the messages", more, 1000)
			} else {
				near("another choice of tools spoils nothing", more, 2500)
			}
			server.Configure(modeltest.Config{Count: func(r modeltest.Request) int { return len(r.Body) }})
			if got := ask(body(tool, "", one, two, three)); got.Read+got.Written != 0 {
				t.Errorf("switched off, the cache reports %+v", got)
			}
		})
	}
}

// No request of a real client is refused: each file in the folder of recorded clients beside the repository is one that
// was answered, by a server that knew fewer rules.
func TestRecorded(t *testing.T) {
	files, _ := filepath.Glob(filepath.FromSlash("../../../shared/clients/recorded/*/*.json"))
	if len(files) == 0 {
		t.Skip("no recorded clients in the folder shared beside the repository")
	}
	server := modeltest.Start(t)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var recorded struct {
			Path string
			Body json.RawMessage
		}
		if err := json.Unmarshal(data, &recorded); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		r := post(t, server, recorded.Path, string(recorded.Body))
		if r.status != 200 {
			t.Errorf("%s: %d %s", file, r.status, r.body)
		}
		requests := server.Requests()
		if last := requests[len(requests)-1]; !last.Stream || len(last.Messages()) < 2 {
			t.Errorf("%s: %d messages, stream %t", file, len(last.Messages()), last.Stream)
		}
	}
}

// The server and Check of the wire formats judge the same conversations to be sound. They were written apart.
func TestJudgesAgree(t *testing.T) {
	server := modeltest.Start(t)
	blocks := []string{
		`{"type":"text","text":"a"}`, `{"type":"text","text":" "}`, `{"type":"thinking","thinking":"x","signature":"y"}`,
		`{"type":"tool_use","id":"c1","name":"x","input":{}}`, `{"type":"tool_use","id":"c2","name":"x","input":{}}`, `{"type":"tool_use","id":"c.3","name":"x","input":{}}`,
		`{"type":"tool_result","tool_use_id":"c1","content":"r"}`, `{"type":"tool_result","tool_use_id":"c2","content":"r"}`,
	}
	messages := []string{
		`{"role":"system","content":"s"}`, `{"role":"user","content":"u"}`, `{"role":"user","content":""}`, `{"role":"assistant","content":"a"}`, `{"role":"assistant","content":null}`,
		`{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"x","arguments":"{}"}}]}`,
		`{"role":"assistant","content":"a","tool_calls":[{"id":"c1","type":"function","function":{"name":"x","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"x","arguments":"{}"}}]}`,
		`{"role":"assistant","content":"a","tool_calls":[{"id":"c2","type":"function","function":{"name":"x","arguments":"{"}}]}`,
		`{"role":"tool","tool_call_id":"c1","content":"r"}`, `{"role":"tool","tool_call_id":"c2","content":""}`,
	}
	agree := func(t *rapid.T, api modeltest.API, body string, findings []format.Finding) {
		r := post(t, server, paths[api], body)
		if (r.status == 200) != (len(findings) == 0) {
			t.Fatalf("%s\nthe server: %d %s\nCheck: %+v", body, r.status, r.body, findings)
		}
	}
	t.Run("anthropic", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
				role := rapid.SampledFrom([]string{"user", "assistant"}).Draw(t, "role")
				return fmt.Sprintf(`{"role":%q,"content":[%s]}`, role, strings.Join(rapid.SliceOfN(rapid.SampledFrom(blocks), 1, 3).Draw(t, "blocks"), ","))
			}), 1, 5).Draw(t, "messages")
			body := `{"model":"m","max_tokens":9,"messages":[` + strings.Join(list, ",") + `]}`
			doc, err := anthropic.Decode([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			agree(t, modeltest.Anthropic, body, doc.Check())
		})
	})
	t.Run("chat", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			body := `{"model":"m","messages":[` + strings.Join(rapid.SliceOfN(rapid.SampledFrom(messages), 1, 7).Draw(t, "messages"), ",") + `]}`
			doc, err := openaichat.Decode([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			agree(t, modeltest.Chat, body, doc.Check())
		})
	})
}

// Whatever a body is, it is answered, and what is no Unicode is told apart from what is.
func FuzzBody(f *testing.F) {
	for i, api := range apis {
		f.Add(uint8(i), []byte(ask(api, "")))
		f.Add(uint8(i), []byte(streaming(api)))
	}
	f.Add(uint8(0), []byte(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":[{}]}]},{"role":"assistant","content":[{"type":"thinking","signature":"c2NyaXB0ZWQxAAA"}]}]}`))
	f.Add(uint8(1), []byte(`{"messages":[{"role":"assistant","tool_calls":[{"id":"\ud83d\ude00","function":{"arguments":7}}]},{"role":"tool","content":["x"]}]}`))
	f.Add(uint8(2), []byte(`{"input":[{"type":"reasoning","encrypted_content":"c2NyaXB0ZWQx"},{"type":"x_call","call_id":"\ud83d"}]}`))
	server, err := modeltest.New()
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(server.Close)
	f.Fuzz(func(t *testing.T, api uint8, body []byte) {
		a := apis[int(api)%len(apis)]
		server.Reset()
		server.Configure(modeltest.Config{Newer: true, Template: true, Cache: true})
		strict := post(t, server, paths[a], string(body))
		server.Configure(modeltest.Config{Lax: true})
		lax := post(t, server, paths[a], string(body))
		if strict.status == 200 && lax.status != 200 {
			t.Errorf("strict it is taken, and lax it is not: %s", lax.body)
		}
		if !json.Valid(body) && lax.status != 400 {
			t.Errorf("no JSON is answered with %d", lax.status)
		}
		if strict.status == 200 && !utf8.Valid(body) {
			t.Error("no Unicode is taken")
		}
		for _, r := range server.Requests() {
			for _, m := range r.Messages() {
				_ = m.String()
			}
		}
	})
}
