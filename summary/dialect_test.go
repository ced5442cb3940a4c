package summary

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// dialects are tool calls as models write them into their text, open and closed. Those that need a line of their own
// begin with a line break.
var dialects = []string{
	`<tool_call>{"name": "bash", "arguments": {"command": "ls"}}</tool_call>`,
	`<tool_call>` + "\n" + `{"name": "bash", "argu`,
	`<tool_call>bash` + "\n" + `<arg_key>command</arg_key>`, // GLM
	`<tool_call`,
	`<minimax:tool_call><invoke name="bash">`,
	`<seed:tool_call><function=bash>`,
	`<tool_calls>[{}]</tool_calls>`,
	`<TOOLCALL>[{}]`,
	`<function_calls><invoke name="bash"><parameter name="command">ls</parameter></invoke></function_calls>`,
	"<function_calls>\n",
	`<` + `antml:function_calls><` + `antml:invoke name="bash">`,
	`<` + `antml:invoke`,
	`<invoke name="read">`,
	`<function=bash>{"command": "ls"}</function>`,
	"<function=bash>\n<parameter=command>\nls\n</parameter>",
	`<function_call>{"name": "bash"}</function_call>`,
	`<start_function_call>call:bash{command:"ls"}<end_function_call>`,
	"<tool_use>\n<name>bash</name>",
	`<use_mcp_tool><server_name>x</server_name>`,
	`[TOOL_CALLS][{"name": "bash", "arguments": {}}]`,
	`[TOOL_CALLS]bash[ARGS]{}`,
	`[TOOL_REQUEST]{"name": "bash"}[END_TOOL_REQUEST]`,
	`<|tool_call|>[{"name": "bash"}]`,
	`<|tool_call>call:bash{}`,
	`<|python_tag|>bash.call(command="ls")`,
	`<|tool_calls_section_begin|><|tool_call_begin|>functions.bash:0`,
	`<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>bash`,
	`<｜DSML｜function_calls>`,
	`<|START_ACTION|>[{}]`,
	`<|action_start|><|plugin|>{}`,
	`<|channel|>commentary to=functions.bash <|constrain|>json<|message|>{"command":"ls"}`,
	`commentary to=functions.bash json{"command":"ls"}`,
	"\n```tool_code\nprint(bash('ls'))\n```\n",
	"\n```tool_call\n{}\n```\n",
	"\n```tool_code\nprint(",
	"\n<execute_command>\n<command>ls</command>\n</execute_command>\n",
	"\n<bash>\n<command>ls</command>\n</bash>\n", // a tool that the transcript knows
	"\n[Assistant tool calls]: bash(command=\"ls\")\n",
	"\n[bash(command='ls')]\n",
	"\n{\"name\": \"anything\", \"arguments\": {\"command\": \"ls\"}}\n",
	"\n  {\"tool\": \"anything\", \"parameters\": {\"a\": 1}}\n",
	"\n{\"function\": \"f\", \"args\": []}\n",
	"\n{\"id\": \"1\", \"type\": \"tool_use\", \"name\": \"x\", \"input\": {}}\n",
	"\n{\"type\": \"function\", \"function\": {\"name\": \"x\", \"arguments\": \"{\\\"a\\\": 1}\"}}\n",
	"\n{\"tool_calls\": [{\"name\": \"x\"}]}\n",
	"\n[\n  {\"name\": \"x\", \"arguments\": {}}\n]\n",
	"\n{\n  \"arguments\": {\"a\": \"} {\"},\n  \"name\": \"x\"\n}\n",
	"\n{\"name\": \"x\", \"arguments\": {\"command\": \"ls",
	"\n{'name': 'x', 'arguments': {'command': 'ls'}}\n",
	"\n{\"action\": \"x\", \"action_input\": {\"q\": 1}}\n",
	` {"name": "bash", "arguments": {}}`, // in a line, by a known name
}

func TestDialects(t *testing.T) {
	s := gated(gateSession())
	refused := func(text string) bool {
		_, err := accept(ended(text), s)
		return err != nil && err.(*Refusal).Reason == ReasonToolCall
	}
	for _, call := range dialects {
		for _, text := range []string{call, goodSummary + call, goodSummary + "\n" + call + "\n" + goodSummary, "<summary>" + goodSummary + call + "</summary>"} {
			if !refused(text) {
				t.Errorf("a call is accepted: %q", text)
			}
		}
		if open := goodSummary + "\n```\n" + call; !refused(open) && !strings.Contains(call, "```") {
			t.Errorf("an open fence protects %q", call)
		}
		if line, _, _ := strings.Cut(strings.TrimSpace(call), "\n"); !strings.HasPrefix(call, "\n") && !refused(goodSummary+"\nAn open ` span: "+line) {
			t.Errorf("an open span protects %q", line)
		}
	}
}

// TestNoDialects: what looks like a call and is none.
func TestNoDialects(t *testing.T) {
	s := gated(gateSession())
	for _, text := range []string{
		"The parser knows `<tool_call>`, `<function_calls>` and `[TOOL_CALLS]` now.",
		"The parser knows ``<tool_call>` and more`` now.",
		"A request looks like this:\n```json\n{\"name\": \"x\", \"arguments\": {}}\n```",
		"A request looks like this:\n\n  ~~~~\n<invoke name=\"x\">\n  ~~~\n  ~~~~",
		"````markdown\n```tool_code\nx\n```\n````\nThat is the old example.",
		"{\"name\": \"pemmican\", \"version\": \"1\", \"input\": \"a file\"}",
		"{\"arguments\": {}, \"no\": \"call\"}",
		"[read](docs/read.md) has the table; <b>bold</b> and <T> are markup; a < b.",
		"[x] the tool calls were counted; [tool_calls](x.md) is a link.",
		"The call of the tool went well: bash(command) is how one calls it.",
		"`to=functions.x` is how harmony names it.",
		"List<Function> and Map<String, Tool> are generic; <function> is a tag of nothing.",
		"<task>\nwhat the person wants\n</task>",
		"Die Funktion {name} braucht {arguments}.",
	} {
		if call := inlineCall(text, s.tools()); call != "" {
			t.Errorf("%q: taken for a call: %q", text, call)
		}
	}
}

func (s gateSource) tools() map[string]bool { return newChecker(s).tools }

// TestDialectAnywhere: wherever a call is put into a good summary it is refused, and quoted as code it is not.
func TestDialectAnywhere(t *testing.T) {
	s := gated(gateSession())
	rapid.Check(t, func(t *rapid.T) {
		call := rapid.SampledFrom(dialects).Draw(t, "call")
		lines := strings.Split(goodSummary, "\n")
		at := rapid.IntRange(1, len(lines)-1).Draw(t, "line")
		put := func(text string) string {
			return strings.Join(lines[:at], "\n") + "\n" + text + "\n" + strings.Join(lines[at:], "\n")
		}
		_, err := accept(ended(put(call)), s)
		if refusal, ok := err.(*Refusal); !ok || refusal.Reason != ReasonToolCall {
			t.Fatalf("a call is not refused as one: %v\n%s", err, put(call))
		}
		sign := rapid.SampledFrom([]string{"````", "~~~~", "`````"}).Draw(t, "fence")
		if _, err := accept(ended(put(sign+"\n"+strings.Trim(call, "\n")+"\n"+sign)), s); err != nil {
			t.Fatalf("a call in a fence: %v\n%s", err, call)
		}
		if one := strings.TrimSpace(call); !strings.ContainsAny(one, "\n`") {
			if _, err := accept(ended(put("The model wrote `"+one+"` then.")), s); err != nil {
				t.Fatalf("a call in a span: %v\n%s", err, one)
			}
		}
	})
}
