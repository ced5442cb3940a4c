package summary

import (
	"slices"
	"strings"
)

// nameEnd is where the name of a tool ends, at the beginning of s.
func nameEnd(s string) int {
	n := 0
	for n < len(s) && n < 128 && (isAlnum(s[n]) || s[n] == '_' || s[n] == '-' || s[n] == '.') {
		n++
	}
	return n
}

// inLines returns where a line begins that consists of a call, -1 for none.
func (c *callReader) inLines() int {
	thought := false // the reply begins with a thought, as agents of the ReAct kind begin theirs
	for i := 0; i < len(c.mask); {
		end := lineEnd(c.mask, i)
		line := strings.TrimLeft(c.mask[i:end], " \t")
		at := end - len(line)
		label, _ := beforeColon(line)
		sign, _ := fenceSign(c.text[i:lineEnd(c.text, i)])
		switch {
		case line != "" && c.line(at), label != "" && c.labelled(at, end),
			thought && (sign != "" || label == "action" || label == "code"):
			return at
		case i == 0:
			thought = label == "thought"
		}
		i = end + 1
	}
	return -1
}

// line reports whether the line at i is a call by the name of a tool, with brackets behind it: what is left of many a
// dialect without its special tokens, bash(command="ls"), functions.bash:0{"command": "ls"}, bash[ARGS]{…}.
func (c *callReader) line(i int) bool {
	s := c.text[i:]
	for _, sign := range []string{"⏺", "●", ">>>", "print("} {
		if rest, ok := strings.CutPrefix(s, sign); ok {
			s = strings.TrimLeft(rest, " \t")
			break
		}
	}
	name := s[:nameEnd(s)]
	s = s[len(name):]
	if name == "functools" && strings.HasPrefix(s, "[") {
		return true // Phi's
	}
	if !c.of.knows(name) {
		return false
	}
	if number, ok := strings.CutPrefix(s, ":"); ok {
		digits := strings.TrimLeft(number, "0123456789")
		if len(digits) < len(number) {
			s = digits
			if strings.HasPrefix(name, "functions.") {
				return true // Kimi's
			}
		}
	}
	if strings.HasPrefix(s, "[ARGS]") {
		return true // Mistral's
	}
	if strings.HasPrefix(s, "(") {
		return c.wholeCall(s)
	}
	s = strings.TrimPrefix(strings.TrimLeft(s, " \t"), "\n")
	object, ok := strings.CutPrefix(strings.TrimLeft(s, " \t"), "{")
	object = strings.TrimLeft(object, " \t\n")
	return ok && object != "" && strings.IndexByte(`"'}`, object[0]) >= 0
}

// wholeCall reports whether s begins with arguments in brackets behind which the line ends, or that are cut off. What
// a sentence says of read(path) goes on.
func (c *callReader) wholeCall(s string) bool {
	window := objectWindow
	if c.objects.budget <= 0 {
		window = smallWindow
	}
	depth, quoted := 0, false
	for i := 0; i < min(len(s), window); i++ {
		c.objects.budget--
		switch s[i] {
		case '\\':
			i++
		case '"':
			quoted = !quoted
		case '(':
			if !quoted {
				depth++
			}
		case ')':
			if quoted {
				continue
			}
			if depth--; depth == 0 {
				return endsLine(strings.TrimLeft(s[i+1:], ");"))
			}
		}
	}
	args := strings.TrimLeft(s[1:], " \t\n")
	return args == "" || args[0] == '"' || args[0] == '\'' || args[0] == '{' || nameEnd(args) > 0 && strings.HasPrefix(args[nameEnd(args):], "=")
}

// beforeColon is what stands before the colon of a line, in lower case and in letters only, and what stands behind it.
func beforeColon(line string) (label, value string) {
	const longest = 32
	before, value, ok := strings.Cut(line, ":")
	if !ok || len(before) > longest {
		return "", ""
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" _-*", r) {
			return -1
		}
		return r
	}, strings.ToLower(before)), strings.Trim(value, " \t*")
}

// callLabels are what calls are labelled by, in letters only.
var callLabels = []string{
	"action", "call", "calledtool", "callingtool", "calltool", "function", "functioncall", "tool", "toolcall", "toolname", "tooluse", "usingtool",
}

// labelled reports whether the line from i to end calls a tool by a label: "Called tool: bash", "Action: bash" with an
// "Action Input:" below, or the same in YAML.
func (c *callReader) labelled(i, end int) bool {
	label, value := beforeColon(c.text[i:end])
	next := ""
	if end < len(c.text) {
		next = strings.TrimLeft(c.text[end+1:lineEnd(c.text, end+1)], " \t")
	}
	below, of := beforeColon(next)
	if label == "action" && below == "actioninput" {
		return true
	}
	if !slices.Contains(callLabels, label) {
		return false
	}
	if value == "" {
		return slices.Contains(callNames, below) && c.of.knows(of)
	}
	value = strings.Trim(value, "`")
	name := value[:nameEnd(value)]
	return c.of.knows(name) && (value == name || strings.IndexByte("({[:", value[len(name)]) >= 0)
}
