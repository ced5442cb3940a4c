package summary

import (
	"slices"
	"strings"
)

// Members of a JSON object that is a call, as tagName has them; those of arguments without a word for tools before.
var (
	callNames = []string{"name", "tool", "function", "toolname", "functionname", "recipientname", "action"}
	callArgs  = []string{"arguments", "parameters", "input", "args", "params", "kwargs"}
	callLists = []string{"toolcalls", "functioncalls", "toolcall", "functioncall", "tooluses"}
	turnRoles = []string{"assistant", "user", "system", "tool", "model"}
)

// isArgs reports whether a member is one of the arguments of a call.
func isArgs(key string) bool {
	for _, of := range []string{"tool", "function", "action"} {
		key = strings.TrimPrefix(key, of)
	}
	return slices.Contains(callArgs, key)
}

// objectReader looks for calls in JSON. Of an object it reads a window, in which the name and the beginning of the
// arguments stand, and a smaller one when it has read very much: no narrative has so many objects.
type objectReader struct {
	of     habits
	budget int // bytes
}

const (
	objectBudget = 8 << 20
	objectWindow = 16 << 10
	smallWindow  = 256
	objectDepth  = 8
)

// call reports whether s begins with an object, or a list of them, that has a name and arguments. It may be cut off,
// and need not be quite JSON. Of one that is not the first in its line the name must be that of a tool. Of one that is,
// such a name is enough, as its member or as its only key; and a message of a conversation is no better than a call.
func (o *objectReader) call(s string, first bool) bool {
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
	is, read := o.object(s[:min(len(s), window)], first, objectDepth)
	o.budget -= read
	return is
}

// object is call for an object, at most so deep, and returns also how much it read.
func (o *objectReader) object(s string, first bool, deep int) (is bool, read int) {
	named, argued, role, content, depth := false, false, false, false, 0
	keys, only := 0, false
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return only && keys == 1, i
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
			keys++
			only = first && o.of.knows(key) && value != "" && strings.IndexByte(`{["`, value[0]) >= 0
			switch key = tagName(key); {
			case slices.Contains(callLists, key) && first:
				if strings.HasPrefix(value, "[") || strings.HasPrefix(value, "{") {
					return true, i
				}
			case isArgs(key):
				argued = argued || argumentsLike(value)
			case slices.Contains(callNames, key):
				word := wordIn(value)
				known := o.of.knows(word)
				named = named || known || first && word != ""
				argued = argued || first && known
				if key == "function" && strings.HasPrefix(value, "{") && deep > 0 {
					if is, _ := o.object(value, first, deep-1); is {
						return true, i
					}
				}
			case key == "role":
				role = first && slices.Contains(turnRoles, wordIn(value))
			case key == "content" || key == "parts":
				content = true
			}
			if named && argued || role && content {
				return true, i
			}
		}
	}
	return only && keys == 1, len(s)
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

// wordIn is the string of one word that the JSON value at the beginning of s is, "" for any other value.
func wordIn(s string) string {
	if s == "" || s[0] != '"' && s[0] != '\'' {
		return ""
	}
	word := s[1:stringEnd(s, 0)]
	if len(word) > 128 || strings.ContainsAny(word, " \t\n") {
		return ""
	}
	return word
}

// argumentsLike reports whether the JSON value at the beginning of s can be a call's arguments: an object, a list, one
// of them in a string, or one that is cut off.
func argumentsLike(s string) bool {
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		s = strings.TrimLeft(s[1:], " \t\n")
	}
	return s == "" || s[0] == '{' || s[0] == '['
}
