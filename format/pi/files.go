package pi

import (
	"sort"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// appendFiles writes the lists of files that pi keeps in the details of a compaction, and shows: what the dropped calls
// of its tools read, and what they wrote or edited, on top of the lists of the compaction before, unless that came from
// another extension, whose details may mean anything. A file that was modified is not listed as read.
func (d *Doc) appendFiles(dst []byte, plan *pemmican.Plan) []byte {
	read, modified := map[string]bool{}, map[string]bool{}
	if d.compaction >= 0 {
		e := d.entries[d.path[d.compaction]].span
		v, _ := d.index.Get(d.data, e, "fromHook")
		fromHook, _ := jsonspan.Bool(d.data, v)
		engine, _ := jsonspan.Lookup(d.data, e, "details", "engine")
		if name, _ := jsonspan.String(d.data, engine); !fromHook || name == Engine {
			for list, set := range map[string]map[string]bool{"readFiles": read, "modifiedFiles": modified} {
				files, _ := jsonspan.Lookup(d.data, e, "details", list)
				for f := range d.index.Elements(d.data, files) {
					if name, ok := jsonspan.String(d.data, f); ok {
						set[name] = true
					}
				}
			}
		}
	}
	for i := range d.tr.Blocks {
		b := &d.tr.Blocks[i]
		if b.Kind != pemmican.ToolCall || plan.Kept(i) {
			continue
		}
		set := modified
		switch b.Tool {
		case "read":
			set = read
		case "write", "edit":
		default:
			continue
		}
		args := []byte(b.Args)
		v, err := jsonspan.Scan(args, 0)
		if err != nil {
			continue
		}
		path, _ := jsonspan.Get(args, v, "path")
		if name, ok := jsonspan.String(args, path); ok && name != "" {
			set[name] = true
		}
	}
	for name := range modified {
		delete(read, name)
	}
	dst = append(dst, `"readFiles":`...)
	dst = appendSorted(dst, read)
	dst = append(dst, `,"modifiedFiles":`...)
	return appendSorted(dst, modified)
}

func appendSorted(dst []byte, set map[string]bool) []byte {
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	sort.Strings(names)
	dst = append(dst, '[')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonspan.Quote(dst, name)
	}
	return append(dst, ']')
}
