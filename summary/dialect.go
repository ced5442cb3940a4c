package summary

import (
	"slices"
	"strings"
	"unicode"

	"github.com/pemmican-dev/pemmican"
)

// Models write tool calls into their text where nobody has parsed them: each family has a dialect of its own, and one
// that was told to use no tools often falls into that of another. Whoever lets one stand has an order in the place of
// a transcript. So every sign of one counts, open or closed; only what is quoted as code does not. Where a server has
// taken the special tokens out, what is left of a call is told by the name of a tool that the transcript knows.

// habits are the ways in which the assistant of a transcript acts.
type habits struct {
	// tools are the names of the tools that the transcript and the request know, folded the same in lower case.
	tools, folded map[string]bool
	// fence is "```" and the info word of the code fences by which it acts, "" if it does not act by any.
	fence string
}

func habitsOf(r *pemmican.SummaryRequest) habits {
	h := habits{tools: map[string]bool{}, folded: map[string]bool{}, fence: actionFence(r.Transcript)}
	add := func(name string) {
		if name != "" && !h.tools[name] {
			h.tools[name] = true
			h.folded[strings.ToLower(name)] = true
		}
	}
	for i := range r.Transcript.Blocks {
		add(r.Transcript.Blocks[i].Tool)
	}
	for name := range r.Tools {
		add(name)
	}
	return h
}

// knows reports whether a word is the name of a tool, in whatever case, with the module that some dialects put before it.
func (h habits) knows(word string) bool {
	for _, module := range []string{"functions.", "default_api.", "tools."} {
		word = strings.TrimPrefix(word, module)
	}
	return word != "" && h.folded[strings.ToLower(word)]
}

// speaksOf reports whether one of the words of a text is the name of a tool.
func (h habits) speaksOf(text string) bool {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r >= 0x80 || nameEnd(string(r)) == 0 }) {
		if h.knows(word) {
			return true
		}
	}
	return false
}

// actionFence is the fence that most texts of a transcript's assistant end with: agents without tools act by such ones.
func actionFence(t *pemmican.Transcript) string {
	texts, by := 0, map[string]int{}
	for i := range t.Blocks {
		b := &t.Blocks[i]
		if b.Kind != pemmican.Text || b.Message < 0 || b.Message >= len(t.Messages) || t.Messages[b.Message].Role != pemmican.Assistant || !hasContent(b.Text) {
			continue
		}
		texts++
		if f, ok := lastFence(strings.TrimSpace(b.Text)); ok {
			by["```"+firstWord(f.info)]++
		}
	}
	for fence, n := range by {
		if n > 1 && 2*n > texts {
			return fence
		}
	}
	return ""
}

// lastFence is the closed code fence that a text ends with.
func lastFence(text string) (f fence, ok bool) {
	if !strings.HasSuffix(text, "```") && !strings.HasSuffix(text, "~~~") {
		return fence{}, false
	}
	closed, _ := fences(text)
	if len(closed) == 0 || closed[len(closed)-1].end != len(text) {
		return fence{}, false
	}
	return closed[len(closed)-1], true
}

// inlineCall returns the sign of a tool call in a text, "" for none.
func inlineCall(text string, of habits) string {
	text = seen(text)
	at := callAt(text, of)
	if at < 0 {
		at = callInFence(strings.TrimSpace(text), of)
	}
	if at < 0 {
		return ""
	}
	const runes = 40
	return brief(text[at:], runes)
}

// callAt returns where a call stands that is not quoted as code, -1 for none.
func callAt(text string, of habits) int {
	closed, _ := fences(text)
	for _, f := range closed {
		if callFence(f.info) {
			return f.start
		}
	}
	mask := withoutIndented(withoutCode(text))
	if i := harmonyCall(mask); i >= 0 {
		return i
	}
	c := callReader{text: text, mask: mask, of: of, objects: objectReader{of: of, budget: objectBudget}, shut: map[string]int{}}
	for i, last := 0, -1; i < len(mask); i++ {
		n := strings.IndexAny(mask[i:], "<[{`~")
		if n < 0 {
			break
		}
		i += n
		// Whether it is the first in its line is told by what lies between it and the last one.
		line := strings.LastIndexByte(mask[last+1:i], '\n')
		first := (line >= 0 || last < 0) && strings.TrimLeft(mask[last+1+line+1:i], " \t") == ""
		last = i
		found := false
		switch mask[i] {
		case '<':
			found = c.tag(i, first)
		case '[':
			found = c.bracket(i, first) || first && c.objects.call(text[i:], true)
		case '{':
			found = c.objects.call(text[i:], first)
		case '`', '~':
			if first {
				_, info := fenceSign(text[i:lineEnd(text, i)])
				found = callFence(info)
			}
		}
		if found {
			return i
		}
	}
	return c.inLines()
}

// callFence reports whether the info string of a code fence marks a call: Gemma's models write tool_code, others
// "json tool_call", "tool:bash" or "bash_tool".
func callFence(info string) bool {
	for n, word := range strings.FieldsFunc(info, func(r rune) bool { return r == ' ' || r == ':' || r == '=' }) {
		bare := tagName(word)
		if isCallTag(bare) || n == 0 && (bare == "function" || strings.HasSuffix(bare, "tool")) {
			return true
		}
	}
	return false
}

// callInFence returns where the code fence begins that a text begins or ends with, if it is no quotation but an act:
// beside a sentence or two it holds a call, or the text ends with it and the assistant of the transcript acts by such
// ones. It is -1 for any other, and for an example behind a colon, of a tool that nobody has.
func callInFence(text string, of habits) int {
	const few = 2
	closed, _ := fences(text)
	said := withoutCode(text)
	brief := sentences(said) <= few
	for _, f := range closed {
		kind := firstWord(f.info)
		if f.start > 0 && f.end < len(text) || kind == "markdown" || kind == "md" {
			continue // quoted, or a document
		}
		if f.end == len(text) && of.fence == "```"+kind && (brief || kind != "" && !programming[kind]) {
			return f.start
		}
		inner := text[lineEnd(text, f.start):f.end]
		inner = strings.TrimSpace(inner[:max(0, strings.LastIndexByte(inner, '\n'))])
		example := strings.HasSuffix(strings.TrimSpace(said[:f.start]), ":") && !of.speaksOf(inner)
		if brief && !programming[kind] && !example && inner != "" && callAt(inner, of) == 0 {
			return f.start
		}
	}
	return -1
}

// sentences is how many sentences a text has, those without a full stop at the end of a line too.
func sentences(text string) int {
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		if hasContent(line) {
			n++
			for _, stop := range []string{". ", "! ", "? ", "。"} {
				n += strings.Count(strings.TrimSpace(line), stop)
			}
		}
	}
	return n
}

// harmonyCall returns where a call in OpenAI's harmony format stands, with its control tokens or without them, -1 for
// none.
func harmonyCall(mask string) int {
	const to = "to="
	for i := 0; ; i += len(to) {
		n := strings.Index(mask[i:], to)
		if n < 0 {
			return -1
		}
		i += n
		whom := mask[i+len(to):]
		if strings.HasPrefix(whom, "functions.") {
			return i
		}
		before := strings.TrimRight(mask[:i], " \t")
		for _, who := range []string{"analysis", "commentary", "assistant"} {
			if nameEnd(whom) > 0 && strings.HasSuffix(before, who) {
				return i
			}
		}
	}
}

// callReader looks at one text for calls.
type callReader struct {
	text, mask string
	of         habits
	objects    objectReader
	shut       map[string]int // where the last closing tag of a name stands
}

// isCallTag reports whether calls are written in tags of a name, as tag.name has it. Some put a word of theirs before.
func isCallTag(bare string) bool {
	bare = strings.TrimSuffix(bare, "s")
	return slices.ContainsFunc(callTags, func(word string) bool { return strings.HasSuffix(bare, word) })
}

var callTags = []string{
	"argkey", "argvalue", "executetool", "functioncall", "mcpcall", "toolcall", "toolcode", "toolinvocation", "toolrequest", "tooluse", "usemcptool",
}

// taggedTools are the tools that agents of the Cline and the CodeAct family call by tags of their names. They write them
// into their text, so that a transcript need not know them as tools.
var taggedTools = []string{
	"access_mcp_resource", "apply_diff", "ask_followup_question", "attempt_completion", "browser_action", "codebase_search", "edit_file",
	"execute_bash", "execute_browse", "execute_command", "execute_ipython", "fetch_instructions", "insert_content", "list_code_definition_names",
	"list_files", "new_task", "plan_mode_respond", "read_file", "replace_in_file", "search_and_replace", "search_files", "str_replace_editor",
	"switch_mode", "update_todo_list", "write_to_file",
}

// tag reports whether the tag or the control token at i is one of a call. It may be cut off, and a closing one counts
// without its opening one.
func (c *callReader) tag(i int, first bool) bool {
	const window = 512
	s := c.mask[i+1:]
	if strings.HasPrefix(s, "|") || strings.HasPrefix(s, "｜") {
		return callToken(s)
	}
	s, closing := strings.CutPrefix(s, "/")
	name := s[:tagEnd(s)]
	rest := s[len(name):]
	if name == "" || rest != "" && !strings.ContainsRune(" \t\n/>=", rune(rest[0])) || i > 0 && isAlnum(c.mask[i-1]) && isType(name) {
		return false
	}
	bare := tagName(name)
	end := strings.IndexByte(rest[:min(len(rest), window)], '>')
	attributes := rest[:max(0, end)]
	switch {
	case isCallTag(bare):
		return true
	case closing:
		return bare == "invoke" || first && bare == "function"
	case bare == "invoke" && (strings.Contains(name, ":") || strings.HasPrefix(strings.TrimLeft(rest, " \t\n"), "name=") || strings.HasPrefix(rest, "=")),
		(bare == "function" || bare == "parameter") && (strings.Contains(name, ":") || strings.HasPrefix(rest, "=") ||
			first && strings.HasPrefix(strings.TrimLeft(rest, " \t\n"), "name=")):
		return true
	case end < 0:
		return false
	case strings.Contains(attributes, "=") && c.of.actsOn(bare, attributes):
		return true // <tool name="bash">
	case first && slices.Contains(callNames, bare) && c.of.knows(strings.TrimSpace(untilByte(rest[end+1:], '<', window))):
		return true // <tool_name>bash</tool_name>
	case !c.of.tools[name] && !slices.Contains(taggedTools, name) || slices.Contains(wrappers, bare):
		return false
	case strings.HasSuffix(attributes, "/"):
		return first
	}
	inner := strings.TrimLeft(rest[end+1:], " \t\n")
	filled := strings.HasPrefix(inner, "{") || strings.HasPrefix(inner, "<") && tagEnd(inner[1:]) > 0
	return first && filled || (first || filled) && c.closed(name, i)
}

// closed reports whether a tag of that name is closed behind i.
func (c *callReader) closed(name string, i int) bool {
	at, ok := c.shut[name]
	if !ok {
		at = strings.LastIndex(c.mask, "</"+name+">")
		c.shut[name] = at
	}
	return at > i
}

// actsOn reports whether a tag speaks of calling something, and one of its attributes has the name of a tool.
func (h habits) actsOn(bare, attributes string) bool {
	for _, word := range []string{"tool", "function", "call", "action", "invoke"} {
		if strings.Contains(bare, word) {
			return h.speaksOf(attributes)
		}
	}
	return false
}

// isType reports whether a name is written as types are: Promise<ToolCall> has a parameter, no tag.
func isType(name string) bool {
	return !strings.ContainsAny(name, "_-:") && unicode.IsUpper(rune(name[0])) && strings.ContainsFunc(name, unicode.IsLower)
}

// untilByte is s up to a byte, of its first n bytes; "" if it is not there.
func untilByte(s string, c byte, n int) string {
	return s[:max(0, strings.IndexByte(s[:min(len(s), n)], c))]
}

// callToken reports whether the control token that s is the rest of speaks of a call: <|tool_call|>, <|python_tag|>,
// <|tool_calls_section_begin|>, DeepSeek's <｜tool▁calls▁begin｜>, Cohere's <|START_ACTION|>, InternLM's <|plugin|>.
func callToken(s string) bool {
	const longest = 64
	s = s[:min(len(s), longest)]
	if i := strings.IndexAny(s, ">\n<"); i >= 0 {
		s = s[:i]
	}
	letters := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
	for _, sign := range []string{"tool", "function", "python", "plugin", "action", "invoke"} {
		if strings.Contains(letters, sign) {
			return true
		}
	}
	return letters == "call"
}

// bracket reports whether the bracket at i opens a call: Mistral's [TOOL_CALLS], LM Studio's [TOOL_REQUEST], a list of
// calls as in Python, or a label that excerpts give calls, ours or [Tool use: bash], [Calling tool bash …].
func (c *callReader) bracket(i int, first bool) bool {
	s := c.mask[i:]
	for _, sign := range []string{"[TOOL_CALL", "[TOOL_REQUEST", "[FUNCTION_CALL"} {
		if strings.HasPrefix(s, sign) {
			return true
		}
	}
	if !first {
		return false
	}
	line := s[:lineEnd(s, 0)]
	name := line[1 : 1+nameEnd(line[1:])]
	if args, ok := strings.CutPrefix(line[1+len(name):], "("); ok {
		if c.of.tools[name] {
			return true
		}
		named := strings.HasPrefix(args[nameEnd(args):], "=") && nameEnd(args) > 0
		return name != "" && (named || strings.HasPrefix(args, ")")) && strings.HasSuffix(strings.TrimSpace(line), ")]")
	}
	label, rest := labelAt(line[1:])
	if label == "assistanttoolcalls" {
		return true
	}
	if label == "tool" && !strings.HasPrefix(rest, ":") || strings.Contains(line, "](") || !strings.Contains(line, "{") && !c.of.speaksOf(line) {
		return false
	}
	return label == "tool" || slices.ContainsFunc([]string{"toolcall", "tooluse", "functioncall", "callingtool", "calledtool", "usingtool", "calltool"},
		func(l string) bool { return strings.HasPrefix(label, l) })
}
