package claudecode

import (
	"slices"
	"time"

	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// chain finds the live lines, from the root or the newest boundary to the leaf, as the agent does (observed):
//
//   - The leaf is the line that the newest last-prompt line names, or else the last one, and from there the newest line
//     that descends from it. A last-prompt line before a boundary no longer counts.
//   - A boundary that lists lines is their new chain: the first hangs on the anchor, each on the one before it, and what
//     hung on the anchor, or on an older line that is not listed, hangs on the last. If one of them is not in the file,
//     the list as a whole does not count.
//   - A parent that is not in the file is replaced by the line before, if that is less than five seconds older.
//
// Sidechain lines are never live, but for a file that has no others.
func (d *Doc) chain() []int {
	n := len(d.lines)
	d.boundary, d.leaf, d.broken = -1, -1, -1
	newest := -1 // boundary in the file
	for i := range d.lines {
		if d.main(i) && d.lines[i].kind == kindBoundary {
			newest = i
		}
	}
	list, anchor := d.listed(newest)
	if newest >= 0 && list == nil && d.lists(newest) {
		d.warnf("line %d: the boundary lists lines that are not all in the file, so that the agent passes over its list", d.lines[newest].no)
	}
	inList := make(map[int]bool, len(list))
	for _, i := range list {
		inList[i] = true
	}
	dead := func(i int) bool { return list != nil && i < newest && !inList[i] }

	parent := make([]int, n)
	missing := make([]bool, n)
	before := -1 // the main line before i
	for i := range d.lines {
		parent[i] = -1
		if id := d.lines[i].parent; id != "" {
			p, ok := d.byID[id]
			switch {
			case ok && i > newest && dead(p):
				parent[i] = list[len(list)-1]
			case ok:
				parent[i] = p
			case before >= 0 && !dead(before) && d.soonAfter(before, i):
				parent[i] = before
			default:
				missing[i] = true
			}
		}
		if d.main(i) {
			before = i
		}
	}
	if list != nil {
		for i := range parent {
			if parent[i] == anchor && !inList[i] && i != anchor {
				parent[i] = list[len(list)-1]
			}
		}
		prev := anchor
		for _, i := range list {
			parent[i], prev = prev, i
			missing[i] = false
		}
	}

	tip := d.tip(parent, newest, inList, dead)
	if tip < 0 {
		return nil
	}
	if list != nil && (tip == anchor || inList[tip]) {
		tip = list[len(list)-1]
	}
	d.leaf = tip
	var chain []int
	seen := make([]bool, n)
	for i := tip; i >= 0 && !seen[i]; i = parent[i] {
		seen[i] = true
		chain = append(chain, i)
		if d.lines[i].kind == kindBoundary && d.main(i) {
			d.boundary = i
			break
		}
		if missing[i] {
			d.broken = i
		}
	}
	slices.Reverse(chain)
	return slices.DeleteFunc(chain, func(i int) bool { return !d.main(i) })
}

// tip returns the newest line that descends from where the agent begins to look for its leaf, -1 if there is none.
// Listed lines count by their place in the list, not in the file, so they are none of the candidates; chain follows the
// list to its end.
func (d *Doc) tip(parent []int, newest int, inList map[int]bool, dead func(int) bool) int {
	candidate := func(i int) bool {
		return d.main(i) && !dead(i) && d.lines[i].kind != kindProgress
	}
	start := -1
	if i, ok := d.byID[d.promptLeaf]; ok && d.promptAt > newest && candidate(i) {
		start = i
	}
	for i := len(d.lines) - 1; i >= 0 && start < 0; i-- {
		if candidate(i) {
			start = i
		}
	}
	if start < 0 {
		return -1
	}
	const yes, no = 1, 2
	known := make([]uint8, len(d.lines))
	known[start] = yes
	var path []int
	for i := len(d.lines) - 1; i >= 0; i-- {
		if inList[i] || !candidate(i) {
			continue
		}
		at := i
		for path = path[:0]; at >= 0 && known[at] == 0; at = parent[at] {
			known[at] = no // so that a cycle ends
			path = append(path, at)
		}
		if at < 0 || known[at] != yes {
			continue
		}
		for _, k := range path {
			known[k] = yes
		}
		return i
	}
	return start
}

// main reports whether line i belongs to the conversation that the file is about, and no later line has its uuid.
func (d *Doc) main(i int) bool {
	return (!d.lines[i].sidechain || d.sidechain) && d.byID[d.lines[i].uuid] == i
}

// soonAfter reports whether line i was written less than five seconds after line before.
func (d *Doc) soonAfter(before, i int) bool {
	a, err := time.Parse(time.RFC3339, d.lines[before].time)
	if err != nil {
		return false
	}
	b, err := time.Parse(time.RFC3339, d.lines[i].time)
	return err == nil && b.Sub(a) < 5*time.Second
}

// lists reports whether a boundary names lines, found or not.
func (d *Doc) lists(boundary int) bool {
	ids, _ := jsonspan.Lookup(d.data, d.lines[boundary].compact, "preservedMessages", "uuids")
	for range d.index.Elements(d.data, ids) {
		return true
	}
	return false
}

// listed returns the lines that a boundary preserves, in their order, and the line on which the first of them hangs. It
// returns nil if there are none, or if not all of them are in the file.
func (d *Doc) listed(boundary int) (list []int, anchor int) {
	if boundary < 0 {
		return nil, -1
	}
	meta := d.lines[boundary].compact
	find := func(object jsonspan.Span, key string) (int, bool) {
		i, ok := d.byID[d.text(object, key)]
		return i, ok
	}
	if messages, ok := d.index.Get(d.data, meta, "preservedMessages"); ok {
		anchor, ok := find(messages, "anchorUuid")
		if !ok {
			return nil, -1
		}
		ids, _ := d.index.Get(d.data, messages, "uuids")
		seen := map[int]bool{anchor: true}
		for v := range d.index.Elements(d.data, ids) {
			id, _ := jsonspan.String(d.data, v)
			i, ok := d.byID[id]
			if !ok || seen[i] {
				return nil, -1
			}
			seen[i] = true
			list = append(list, i)
		}
		return list, anchor
	}
	// Versions before the list knew only a run of lines.
	segment, ok := d.index.Get(d.data, meta, "preservedSegment")
	if !ok {
		return nil, -1
	}
	head, ok1 := find(segment, "headUuid")
	tail, ok2 := find(segment, "tailUuid")
	anchor, ok3 := find(segment, "anchorUuid")
	if !ok1 || !ok2 || !ok3 {
		return nil, -1
	}
	seen := map[int]bool{anchor: true}
	for i := tail; ; {
		if seen[i] {
			return nil, -1
		}
		seen[i] = true
		list = append(list, i)
		if i == head {
			break
		}
		if i, ok = d.byID[d.lines[i].parent]; !ok {
			return nil, -1
		}
	}
	slices.Reverse(list)
	return list, anchor
}
