package summary

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pemmican-dev/pemmican"
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

	// Closing tags alone.
	`ls</arg_value></tool_call>`,
	`ls</parameter></invoke>`,
	"\nls\n</function>\n",

	// Tags of other names, and tools as tags.
	`<longcat_tool_call>bash`,
	`<acme:mcp_call server="x">`,
	`<arg_key>command</arg_key>`,
	`<function name="bash">ls</function>`,
	`<use_tool name='bash'>`,
	`<call id="1" tool="Bash" />`,
	`<read_file><path>session_store.go</path></read_file>`,
	"\n<bash>git status</bash>\n",
	"\n<bash>\ngit status\n</bash>\n",
	"\n<bash command=\"git status\" />\n",
	"\n<tools>\n<bash>ls</bash>\n</tools>\n",
	"\n<tool>bash</tool>\n<args>ls</args>\n",
	"\n<action>bash</action>\n",
	"\n<codebase_search>RotateToken</codebase_search>\n",
	"<tool\u200b_call>{}</tool\u200b_call>",

	// Special tokens of newer models, and what is left of a call where the server took them out.
	`<|python_start|>bash`,
	`<|DSML|invoke name="bash">`,
	"\nbash(command=\"git status\")\n",
	"\nbash(\n    command=\"git (status\",\n)\n",
	"\nbash(command=\"git sta",
	"\nprint(default_api.read(path=\"a\"))\n",
	"\n⏺ Bash(git status)\n  ⎿  clean\n",
	"\n>>> bash({\"command\": \"ls\"})\n",
	"\n>>>bash\n{\"command\": \"ls\"}\n",
	"\nfunctions.bash:0{\"command\": \"ls\"}\n",
	"\nfunctions.bash:12\n",
	"\nbash:0 {}\n",
	"\nbash[ARGS]{\"command\": \"ls\"}\n",
	"\nfunctools[{\"name\": \"x\"}]\n",
	"\n[some_function(path=\"a\"), other()]\n",
	`commentary to=browser.search code{"query":"x"}`,
	`assistant to=bash json{"command":"ls"}`,
	`assistantanalysis to=python code import os`,
	`<|start|>assistant<|channel|>analysis to=container.exec`,

	// Labels.
	"\n[Assistant tool calls] bash(command=\"ls\")\n",
	"\n[Tool: Bash] {\"command\": \"ls\"}\n",
	"\n[Tool use: bash] git status\n",
	"\n[tool_call: bash for 'git status']\n",
	"\n[Calling tool bash with arguments {}]\n",
	"\nCalled tool: bash({\"command\": \"ls\"})\n",
	"\nAction: whatever\nAction Input: {\"command\": \"ls\"}\n",
	"\n**Action:** read[session_store.go]\n",
	"\ntool: bash\nargs:\n  command: ls\n",
	"\ntool_call:\n  name: bash\n",

	// Objects that do without arguments, or name them in another way; and messages.
	"\n{\"tool\": \"bash\", \"command\": \"ls\"}\n",
	"\n{\"bash\": {\"command\": \"ls\"}}\n",
	"\n{\"bash\": \"ls",
	"\n{\"name\": \"bash\", \"arguments\": \"ls\"}\n",
	"\n{\"name\": \"functions.bash\", \"arguments\": null}\n",
	"\n{\"function_name\": \"x\", \"function_args\": {\"a\": 1}}\n",
	"\n{\"tool\": \"x\", \"tool_arguments\": {\"a\": 1}}\n",
	"\n{\"name\": \"x\", \"kwargs\": {\"a\": 1}}\n",
	"\n{\"role\": \"assistant\", \"content\": null}\n",

	"\n```json tool_call\n{}\n```\n",
	"\n```bash_tool\nls\n```\n",
	"\n```tool:bash\nls\n```\n",
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
		"read(path) and bash(command) are wrapped now.",
		"read(path, of the store) is what the agent calls first.",
		"bash: the command is quoted now.\nRead. The rest follows.",
		"edit {\n  this\n}",
		"A Promise<ToolCall> and a Vec<FunctionCall> came back; <Tool> has no parameter.",
		"<s>bash</s> is struck out, and <input name=\"bash\"> is a field.",
		"<bash> is a tag that nothing closes, says the parser.",
		"Action: tell operations that port 8443 stays open.\nTool: none of them failed.\nFunction: reads the store.",
		"[Tool use] is a title of the page.\n[Tool calls](x.md) is a link to bash.",
		"[bash](tools.md) and [f(x)](y.md) are links.\n[f(x=1)](y.md)",
		"{\"port\": 8443, \"input\": {\"a\": 1}}",
		"{\"bash\": 12}",
		"{\"bash\": {}, \"read\": {}}",
		"{\"role\": \"admin\", \"content\": 1}",
		"The API returns\n\n    {\"name\": \"search\", \"arguments\": {}}\n\n    <invoke name=\"bash\">\n\nand the client reads it.",
		"The order goes to=lines of the file; `analysis to=x` is harmony.",
		"RotateToken is now:\n\n```go\nreturn defaultLifetime\n```",
		"The tests run by:\n```bash\ngo test ./...\n```",
	} {
		if call := inlineCall(text, newChecker(s).habits); call != "" {
			t.Errorf("%q: taken for a call: %q", text, call)
		}
	}
}

// actingSession is one of an agent without tools, which acts by code fences with an info word.
func actingSession(info string) *pemmican.Transcript {
	t := &pemmican.Transcript{}
	t.AddUser("The login of the portal fails since release 4.12.0 (ticket PRT-118). Please find out why, and never touch vendor/ or cookie_config.yaml, which other teams own.")
	for i, command := range []string{"cat internal/auth/session_store.go", "go test ./internal/auth", "git diff"} {
		t.AddAssistant(fmt.Sprintf("THOUGHT: step %d of the search for the wrong lifetime.\n\n```%s\n%s\n```", i, info, command))
		t.AddUser("Output:\n" + strings.Repeat("// The store keeps one entry for each browser.\n", 9))
	}
	t.AddAssistant("I looked at the lifetime, and it was wrong.")
	return t
}

// TestFencesThatAct: a fence that a reply begins or ends with is an act where it says next to nothing else.
func TestFencesThatAct(t *testing.T) {
	const call, say = `{"name": "read", "arguments": {"path": "a"}}`, "I read session_store.go first. RotateToken comes next."
	plenty := strings.ReplaceAll(say, " RotateToken", "\nThe ticket is PRT-118. RotateToken")
	for _, row := range []struct {
		session *pemmican.Transcript
		text    string
		want    bool
	}{
		{gateSession(), say + "\n\n```json\n" + call + "\n```", true},
		{gateSession(), "Let me see session_store.go:\n\n```\n[" + call + "]\n```", true},
		{gateSession(), say + "\n\n```xml\n<tool_call>\nx\n</tool_call>\n```", true},
		{gateSession(), say + "\n~~~text\nread(path=\"a\")\n~~~\n", true},
		{gateSession(), "```json\n" + call + "\n```\nPRT-118", true},
		{gateSession(), "```markdown\n" + goodSummary + "\n```\n\n```json\n" + call + "\n```", true},
		{gateSession(), plenty + "\n\n```json\n" + call + "\n```", false},
		{gateSession(), "The parser of session_store.go takes this now:\n\n```json\n" + strings.ReplaceAll(call, "read", "search") + "\n```", false},
		{gateSession(), say + "\n\n```json\n{\"name\": \"PRT-118\"}\n```", false},
		{gateSession(), say + "\n\n```bash\ncat session_store.go\n```", false},
		{gateSession(), say + "\n\n```\n```", false},
		{actingSession("bash"), say + "\n\n```bash\ncat session_store.go\n```", true},
		{actingSession("bash"), plenty + "\n\n```bash\ncat session_store.go\n```", false},
		{actingSession("bash"), say + "\n\n```go\nx := 1\n```", false},
		{actingSession("bash"), "```bash\ngo test ./internal/auth\n```\n" + say, false},
		{actingSession("acme_command"), plenty + "\n\n```acme_command\ncat session_store.go\n```", true},
		{actingSession(""), say + "\n\n```\ncat session_store.go\n```", true},
	} {
		if got := inlineCall(row.text, newChecker(gated(row.session)).habits) != ""; got != row.want {
			t.Errorf("%t, want %t: %s", got, row.want, row.text)
		}
	}
}

// TestThoughtAndAction: a reply in the form of the ReAct agents, whose actions are in no list of tools.
func TestThoughtAndAction(t *testing.T) {
	h := newChecker(gated(gateSession())).habits
	for text, want := range map[string]bool{
		"Thought: read it first.\nAction: look_up[session_store.go]":          true,
		"THOUGHT: read it first.\n\nCode:\n```py\nread(\"a\")\n```<end_code>": true,
		"Thought: the lifetime is wrong.\n- RotateToken was read":             false,
		"Goal: PRT-118\nAction: look into the store":                          false,
	} {
		if got := inlineCall(text, h) != ""; got != want {
			t.Errorf("%t, want %t: %s", got, want, text)
		}
	}
}

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
