package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// entry is a value that somebody gave to a key.
type entry struct {
	name  string
	value any
	line  int // in its file, from 1; 0 if unknown
}

// maxFile is far above every settings file, in bytes.
const maxFile = 1 << 20

// readFile returns the content of a settings file. What is no file, a pipe say, is not opened: it might never end.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, syscall.ENOTDIR): // of HOME=/dev/null, say
		return nil, fs.ErrNotExist
	case err != nil:
		return nil, plainly(err)
	case info.IsDir():
		return nil, errors.New("it is a folder")
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	case info.Size() > maxFile:
		return nil, fmt.Errorf("it has %d bytes, and a settings file has a few hundred", info.Size())
	}
	data, err := os.ReadFile(path)
	return bytes.TrimPrefix(data, []byte("\ufeff")), plainly(err)
}

// plainly is an error without the name of the file, which stands before it anyway.
func plainly(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

func isJSON(path string) bool { return strings.EqualFold(filepath.Ext(path), ".json") }

// entries are what a settings file says, in its order.
func entries(path string, data []byte) ([]entry, error) {
	var (
		tree map[string]any
		at   []place
		err  error
	)
	if isJSON(path) {
		tree, at, err = treeOfJSON(data)
	} else {
		tree, at, err = treeOfTOML(data)
	}
	if err != nil {
		return nil, err
	}
	delete(tree, "$schema") // for editors
	lines := map[string]int{}
	for _, p := range at {
		lines[strings.TrimSuffix(p.name, ".")] = 1 + bytes.Count(data[:p.whole.Start], []byte("\n"))
	}
	var out []entry
	var flatten func(prefix string, tree map[string]any)
	flatten = func(prefix string, tree map[string]any) {
		for name, value := range tree {
			name = prefix + name
			if table, ok := value.(map[string]any); ok && prefix == "" && tableNamed(name) {
				flatten(name+".", table)
			} else if value != nil { // null says nothing
				out = append(out, entry{name, value, lines[name]})
			}
		}
	}
	flatten("", tree)
	slices.SortFunc(out, func(a, b entry) int { return cmp.Or(cmp.Compare(a.line, b.line), strings.Compare(a.name, b.name)) })
	return out, nil
}

// place is where a file says something: whole is the key with its value, value the value alone. In TOML the name of a
// table's header stands with a "." behind it, and its value is empty.
type place struct {
	name         string
	whole, value jsonspan.Span
}

func treeOfTOML(data []byte) (map[string]any, []place, error) {
	tree := map[string]any{}
	if err := toml.Unmarshal(data, &tree); err != nil {
		if at, ok := errors.AsType[*toml.DecodeError](err); ok {
			row, _ := at.Position()
			return nil, nil, &syntaxError{row, strings.TrimPrefix(at.Error(), "toml: ")}
		}
		return nil, nil, &syntaxError{0, strings.TrimPrefix(err.Error(), "toml: ")}
	}
	var (
		p     unstable.Parser
		out   []place
		table string
	)
	p.Reset(data)
	for p.NextExpression() {
		e := p.Expression()
		var name []string
		var whole, value jsonspan.Span
		for it := e.Key(); it.Next(); {
			n := it.Node()
			name = append(name, string(n.Data))
			if whole.End == 0 {
				whole.Start = int(n.Raw.Offset)
			}
			whole.End = int(n.Raw.Offset + n.Raw.Length)
		}
		switch e.Kind {
		case unstable.KeyValue:
			value.Start = whole.End // The key stays as it is written.
			whole = jsonspan.Span{Start: int(e.Raw.Offset), End: int(e.Raw.Offset + e.Raw.Length)}
			value.End = whole.End
			out = append(out, place{table + strings.Join(name, "."), whole, value})
		case unstable.Table, unstable.ArrayTable:
			table = strings.Join(name, ".") + "."
			out = append(out, place{table, whole, value})
		}
	}
	return tree, out, p.Error()
}

func treeOfJSON(data []byte) (map[string]any, []place, error) {
	v, err := decodeJSON(data)
	if err != nil {
		if at, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, nil, &syntaxError{1 + bytes.Count(data[:min(int(at.Offset), len(data))], []byte("\n")), err.Error()}
		}
		return nil, nil, &syntaxError{0, err.Error()}
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return nil, nil, &syntaxError{0, "it is no JSON object"}
	}
	root, err := jsonspan.Scan(data, 0)
	if err != nil {
		return nil, nil, err
	}
	var out []place
	var walk func(prefix string, s jsonspan.Span)
	walk = func(prefix string, s jsonspan.Span) {
		for k, v := range jsonspan.Members(data, s) {
			name, _ := jsonspan.String(data, k)
			out = append(out, place{prefix + name, jsonspan.Span{Start: k.Start, End: v.End}, v})
			if data[v.Start] == '{' && prefix == "" {
				walk(name+".", v)
			}
		}
	}
	walk("", root)
	return tree, out, nil
}

func decodeJSON(data []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.New("it ends in the middle")
		}
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something stands behind the end of the JSON value")
	}
	return v, nil
}

// syntaxError is a fault at a line of a file, 0 if that is unknown.
type syntaxError struct {
	line int
	msg  string
}

func (e *syntaxError) Error() string { return e.msg }

// placeOf is where in a file an error is: with its line, if that is known.
func placeOf(path string, err error) string {
	if at, ok := errors.AsType[*syntaxError](err); ok && at.line > 0 {
		return fmt.Sprintf("%s:%d", path, at.line)
	}
	return path
}
