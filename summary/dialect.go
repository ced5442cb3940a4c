package summary

import (
	"slices"
	"strings"
	"unicode"
)

// Models write tool calls into their text where nobody has parsed them: each family has a dialect of its own, and one
// that was told to use no tools often falls into that of another. Whoever lets one stand has an order in the place of
// a transcript. So every sign of one counts, open or closed; only what is quoted as code does not.

// callTags are the names of tags that calls are written in, as tag.name has them.
var callTags = map[string]bool{
	"functioncall": true, "functioncalls": true, "startfunctioncall": true, "toolcall": true, "toolcalls": true,
	"toolcode": true, "toolrequest": true, "tooluse": true, "tooluses": true, "usemcptool": true,
}

// taggedTools are the tools that agents of the Cline family call by tags of their names. They write them into their
// text, so that a transcript need not know them as tools.
var taggedTools = []string{
	"apply_diff", "ask_followup_question", "attempt_completion", "execute_command", "insert_content", "list_files",
	"new_task", "read_file", "replace_in_file", "search_files", "switch_mode", "update_todo_list", "write_to_file",
}

// inlineCall returns the sign of a tool call in a text that is not quoted as code, "" for none. Tools are the names of
// tools that are known.
func inlineCall(text string, tools map[string]bool) string {
	closed, _ := fences(text)
	for _, f := range closed {
		if callFence(f.info) {
			return "```" + f.info
		}
	}
	mask := withoutCode(text)
	if harmonyCall(mask) {
		return "commentary to=functions"
	}
	objects := objectReader{budget: objectBudget}
	for i, last := 0, -1; i < len(mask); i++ {
		n := strings.IndexAny(mask[i:], "<[{`~")
		if n < 0 {
			return ""
		}
		i += n
		// Whether it is the first in its line is told by what lies between it and the last one.
		line := strings.LastIndexByte(mask[last+1:i], '\n')
		first := (line >= 0 || last < 0) && strings.TrimLeft(mask[last+1+line+1:i], " \t") == ""
		last = i
		found := false
		switch mask[i] {
		case '<':
			found = callTag(mask[i:], first, tools)
		case '[':
			found = callBracket(mask[i:], first, tools) || first && objects.call(text[i:], nil)
		case '{':
			if first {
				found = objects.call(text[i:], nil)
			} else {
				found = objects.call(text[i:], tools)
			}
		case '`', '~':
			if first {
				_, info := fenceSign(text[i:lineEnd(text, i)])
				found = callFence(info)
			}
		}
		if found {
			return sample(text[i:])
		}
	}
	return ""
}

// sample is the beginning of a call, for people.
func sample(s string) string {
	const runes = 40
	return brief(s, runes)
}

// callFence reports whether the info string of a code fence marks a call: Gemma's models write tool_code.
func callFence(info string) bool { return info != "" && callTags[tagName(info)] }

// harmonyCall finds a call in OpenAI's harmony format, with its control tokens or without them.
func harmonyCall(mask string) bool {
	return strings.Contains(mask, "to=functions.") || strings.Contains(mask, "<|channel|>commentary to=")
}

// callTag reports whether the tag or the control token at the beginning of s is one of a call. It may be cut off.
func callTag(s string, first bool, tools map[string]bool) bool {
	if strings.HasPrefix(s, "<|") || strings.HasPrefix(s, "<｜") {
		return callToken(s[2:])
	}
	name := s[1:]
	name = name[:tagEnd(name)]
	rest := s[1+len(name):]
	if name == "" || len(rest) > 0 && !strings.ContainsRune(" \t\n/>=", rune(rest[0])) {
		return false
	}
	bare := tagName(name)
	switch {
	case callTags[bare]:
		return true
	case bare == "invoke":
		return strings.Contains(name, ":") || strings.HasPrefix(strings.TrimLeft(rest, " \t\n"), "name=") || strings.HasPrefix(rest, "=")
	case bare == "function", bare == "parameter":
		return strings.Contains(name, ":") || strings.HasPrefix(rest, "=") ||
			first && strings.HasPrefix(strings.TrimLeft(rest, " \t\n"), "name=")
	case first && strings.HasPrefix(rest, ">") && (tools[name] || slices.Contains(taggedTools, name)):
		inner := strings.TrimLeft(rest[1:], " \t\n")
		return strings.HasPrefix(inner, "{") || strings.HasPrefix(inner, "<") && tagEnd(inner[1:]) > 0
	}
	return false
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
	for _, sign := range []string{"tool", "function", "pythontag", "plugin", "startaction", "actionstart", "invoke"} {
		if strings.Contains(letters, sign) {
			return true
		}
	}
	return letters == "call"
}

// callBracket reports whether the bracket at the beginning of s opens a call: Mistral's [TOOL_CALLS], LM Studio's
// [TOOL_REQUEST], the label that agents of the pi family give calls in excerpts, or a list of calls as in Python.
func callBracket(s string, first bool, tools map[string]bool) bool {
	for _, sign := range []string{"[TOOL_CALL", "[TOOL_REQUEST", "[FUNCTION_CALL"} {
		if strings.HasPrefix(s, sign) {
			return true
		}
	}
	if !first {
		return false
	}
	if strings.HasPrefix(s, "[Assistant tool calls]:") {
		return true
	}
	name, _, ok := strings.Cut(s[1:min(len(s), 80)], "(")
	return ok && tools[name]
}

// Members of a JSON object that is a call.
var (
	callNames = []string{"name", "tool", "function", "tool_name", "function_name", "toolName", "recipient_name", "action"}
	callArgs  = []string{"arguments", "parameters", "input", "args", "params", "action_input", "tool_input", "toolInput", "tool_args"}
	callLists = []string{"tool_calls", "function_calls", "tool_call", "function_call", "tool_uses"}
)

// objectReader looks for calls in JSON. Of an object it reads a window, in which the name and the beginning of the
// arguments stand, and a smaller one when it has read very much: no narrative has so many objects.
type objectReader struct{ budget int } // bytes

const (
	objectBudget = 8 << 20
	objectWindow = 16 << 10
	smallWindow  = 256
	objectDepth  = 8
)

// call reports whether s begins with an object, or a list of them, that has a name and arguments. It may be cut off,
// and need not be quite JSON. With tools the name must be one of them.
func (o *objectReader) call(s string, tools map[string]bool) bool {
	for range objectDepth {
		s = strings.TrimLeft(s, " \t\n")
		if !strings.HasPrefix(s, "[") {
			break
		}
		s = s[1:]
	}
	if !strings.HasPrefix(s, "{") {
		return false
	}
	window := objectWindow
	if o.budget <= 0 {
		window = smallWindow
	}
	is, read := callObject(s[:min(len(s), window)], tools, objectDepth)
	o.budget -= read
	return is
}

// callObject is call for an object, at most so deep, and returns also how much it read.
func callObject(s string, tools map[string]bool, deep int) (is bool, read int) {
	named, argued, depth := false, false, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return false, i
			}
		case '"', '\'':
			end := stringEnd(s, i)
			key := s[i+1 : end]
			i = end
			rest := strings.TrimLeft(s[min(len(s), end+1):], " \t\n")
			if depth != 1 || !strings.HasPrefix(rest, ":") {
				continue
			}
			value := strings.TrimLeft(rest[1:], " \t\n")
			switch {
			case slices.Contains(callLists, key) && tools == nil:
				if strings.HasPrefix(value, "[") || strings.HasPrefix(value, "{") {
					return true, i
				}
			case slices.Contains(callArgs, key):
				argued = argued || argumentsLike(value)
			case slices.Contains(callNames, key):
				named = named || nameLike(value, tools)
				if key == "function" && strings.HasPrefix(value, "{") && deep > 0 {
					if is, _ := callObject(value, tools, deep-1); is {
						return true, i
					}
				}
			}
			if named && argued {
				return true, i
			}
		}
	}
	return false, len(s)
}

// stringEnd is where the string that begins at i ends, at its quote or at the end of s.
func stringEnd(s string, i int) int {
	quote := s[i]
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case quote:
			return i
		}
	}
	return len(s)
}

// nameLike reports whether the JSON value at the beginning of s can be a tool's name: a string of one word, which must
// be one of tools where there are any.
func nameLike(s string, tools map[string]bool) bool {
	if s == "" || s[0] != '"' && s[0] != '\'' {
		return false
	}
	name := s[1:stringEnd(s, 0)]
	return name != "" && len(name) <= 128 && !strings.ContainsAny(name, " \t\n") && (tools == nil || tools[name])
}

// argumentsLike reports whether the JSON value at the beginning of s can be a call's arguments: an object, a list, one
// of them in a string, or one that is cut off.
func argumentsLike(s string) bool {
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		s = strings.TrimLeft(s[1:], " \t\n")
	}
	return s == "" || s[0] == '{' || s[0] == '['
}
