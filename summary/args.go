package summary

import (
	"slices"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// argument is one text among the arguments of a call, with the name of the innermost member that holds it.
type argument struct {
	key, text string
	scalar    bool // a number or a truth value, in JSON
}

// maxArgDepth is how deep texts are looked for.
const maxArgDepth = 6

// argReader reads the arguments of one call after the other into memory that it keeps.
type argReader struct {
	data  []byte
	texts []argument
}

// read returns the texts among the arguments in their order; of arguments that are no JSON their text as it stands.
// What it returns is valid until the next call.
func (a *argReader) read(args string) []argument {
	a.data = append(a.data[:0], args...)
	a.texts = a.texts[:0]
	doc, err := jsonspan.Scan(a.data, 0)
	if err != nil {
		if strings.TrimSpace(args) != "" {
			a.texts = append(a.texts, argument{text: args})
		}
		return a.texts
	}
	a.walk(doc, "", 0)
	return a.texts
}

func (a *argReader) walk(s jsonspan.Span, key string, depth int) {
	if depth > maxArgDepth {
		return
	}
	switch jsonspan.KindAt(a.data, s) {
	case jsonspan.KindString:
		text, _ := jsonspan.String(a.data, s)
		a.texts = append(a.texts, argument{key: key, text: text})
	case jsonspan.KindArray:
		for el := range jsonspan.Elements(a.data, s) {
			a.walk(el, key, depth+1)
		}
	case jsonspan.KindObject:
		for k, v := range jsonspan.Members(a.data, s) {
			name, _ := jsonspan.String(a.data, k)
			a.walk(v, name, depth+1)
		}
	case jsonspan.KindNumber, jsonspan.KindBool:
		a.texts = append(a.texts, argument{key, string(s.Of(a.data)), true})
	}
}

// pathOf returns the path that a call is for: of a known tool the first of its path arguments that is there, of an
// unknown one an argument with one of the usual names.
func pathOf(texts []argument, spec pemmican.ToolSpec, known bool) string {
	names := spec.Path
	if !known {
		names = usualPaths
	}
	for _, name := range names {
		for i := range texts {
			if texts[i].key == name && texts[i].text != "" {
				return texts[i].text
			}
		}
	}
	return ""
}

var usualPaths = []string{"path", "file", "file_path", "filename"}

// isPath reports whether a text is one of the paths of a call, which the ledger lists elsewhere.
func isPath(key string, spec pemmican.ToolSpec, known bool) bool {
	names := spec.Path
	if !known {
		names = usualPaths
	}
	return slices.Contains(names, key)
}

// isID reports whether an argument names something that only the runtime knows by it, such as task_id.
func isID(key string) bool {
	return key == "id" || strings.HasSuffix(key, "_id") || strings.HasSuffix(key, "Id") || strings.HasSuffix(key, "ID")
}

// isOld reports whether a text of an edit is what the edit took away, by the names that edit tools give it.
func isOld(key string) bool {
	return strings.HasPrefix(key, "old") || strings.HasPrefix(key, "search") || strings.HasPrefix(key, "find")
}

// change is what a call did to one file.
type change struct {
	path string
	op   Op
}

// editOp tells what an edit tool did, by the arguments that it got: one that only gets content writes the whole file.
func editOp(texts []argument) Op {
	op := Edited
	for i := range texts {
		switch key := texts[i].key; {
		case isOld(key), strings.HasPrefix(key, "new"), strings.HasPrefix(key, "insert"), strings.HasPrefix(key, "replace"):
			return Edited
		case key == "command" && texts[i].text == "view":
			return Read // a tool that both reads and edits, as its command says
		case key == "content" || key == "contents" || key == "file_text" || key == "text" || key == "code":
			op = Written
		}
	}
	return op
}

// patched appends what a patch changes to changes, if text is one: a patch in the format of apply_patch, or a diff.
func patched(changes []change, text string) []change {
	if !strings.Contains(text, "*** ") && !strings.Contains(text, "+++ ") {
		return changes
	}
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, "\r ")
		if path, ok := strings.CutPrefix(line, "*** Update File: "); ok {
			changes = append(changes, change{path, Edited})
		} else if path, ok := strings.CutPrefix(line, "*** Add File: "); ok {
			changes = append(changes, change{path, Created})
		} else if path, ok := strings.CutPrefix(line, "*** Delete File: "); ok {
			changes = append(changes, change{path, Deleted})
		} else if path, ok := strings.CutPrefix(line, "+++ "); ok && path != "/dev/null" {
			path, _, _ = strings.Cut(path, "\t")
			changes = append(changes, change{strings.TrimPrefix(path, "b/"), Edited})
		}
	}
	return changes
}
