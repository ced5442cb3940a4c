package eval

import (
	"math"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// artifact is the last thing that happened to a file.
type artifact struct {
	op      string // read or edit
	outcome string // ok, failed, or open without a result
}

// artifacts adds to files what the tool calls of a transcript did to each path, the last of each: what a call says by
// its own arguments, by the known roles of tools. What a shell command did to a file is not in it.
func artifacts(t *pemmican.Transcript, tools pemmican.Tools, files map[string]artifact) {
	waiting := map[string][]string{} // call id → paths
	for i := range t.Blocks {
		b := &t.Blocks[i]
		switch b.Kind {
		case pemmican.ToolCall:
			path, op := pathOf(b, tools)
			waiting[b.CallID] = append(waiting[b.CallID], path)
			if path != "" {
				files[path] = artifact{op, "open"}
			}
		case pemmican.ToolResult:
			paths := waiting[b.CallID]
			if len(paths) == 0 {
				continue
			}
			path := paths[len(paths)-1]
			waiting[b.CallID] = paths[:len(paths)-1]
			if a, ok := files[path]; ok {
				a.outcome = "ok"
				if b.Error {
					a.outcome = "failed"
				}
				files[path] = a
			}
		}
	}
}

// pathOf is the path that a call reads or edits, "" if it does neither or does not say.
func pathOf(b *pemmican.Block, tools pemmican.Tools) (path, op string) {
	spec := tools[b.Tool]
	switch spec.Role {
	case pemmican.ReadTool:
		op = "read"
	case pemmican.EditTool:
		op = "edit"
	default:
		return "", ""
	}
	data := []byte(b.Args)
	v, err := jsonspan.Scan(data, 0)
	if err != nil || v.End != len(data) || data[v.Start] != '{' {
		return "", ""
	}
	for _, key := range spec.Path {
		if at, ok := jsonspan.Get(data, v, key); ok {
			if path, ok = jsonspan.String(data, at); ok && path != "" {
				return path, op
			}
		}
	}
	return "", ""
}

// f1 compares two sets of artifacts. It is no number where there was nothing to remember.
func f1(want, got map[string]artifact) float64 {
	if len(want) == 0 {
		return math.NaN()
	}
	hits := 0
	for path, a := range got {
		if want[path] == a {
			hits++
		}
	}
	return 2 * float64(hits) / float64(len(want)+len(got))
}
