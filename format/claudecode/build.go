package claudecode

import (
	"slices"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// entry is what one live line, or one queued message, brings to the transcript: a run of its blocks. Apply keeps, copies
// or leaves out whole entries.
type entry struct {
	line  int // -1 for what has none: a queued message, the system text
	queue int // the queue-operation line, -1 if it is none
	group int // the assistant message that the line, or the call that it answers, belongs to; -1 if there is none

	first, end int // its blocks in the transcript
	blocks     []block
}

// block is a block and the bytes that it comes from.
type block struct {
	pemmican.Block
	origin
}

// origin tells where a block stands in its line.
type origin struct {
	element jsonspan.Span // of the content; empty if the content is a string, or is not the line's own
	part    jsonspan.Span // of the content of the tool result that element is, for media and the like in it
}

// group is one message of the model: its lines, and the lines with the results of its calls.
type group struct {
	lines, results []int
	recovered      bool // some of them are not in the chain of parents
}

// build makes the transcript of the chain of live lines.
func (d *Doc) build(chain []int) {
	groups, groupOf := d.groups(chain)
	var entries []entry
	done := map[int]bool{}
	add := func(i, g int) {
		if done[i] {
			return
		}
		done[i] = true
		if blocks := d.blocks(i); len(blocks) > 0 {
			entries = append(entries, entry{line: i, queue: -1, group: g, blocks: blocks})
		}
	}
	for _, i := range chain {
		g, ok := groupOf[i]
		if !ok {
			add(i, -1)
			continue
		}
		for _, k := range groups[g].lines {
			add(k, g)
		}
		for _, k := range groups[g].results {
			add(k, g)
		}
	}
	entries = d.addQueued(entries)
	if system := d.system(); len(system) > 0 {
		entries = append([]entry{{line: -1, queue: -1, group: -1, blocks: system}}, entries...)
	}
	d.entries = entries
	d.flatten()

	d.tr.AtRest = true
	if d.leaf >= 0 {
		if v := d.lines[d.leaf].version; older(v, listSince) {
			d.warnf("the session was written by Claude Code %s; a compacted one is read by version %d.%d.%d and newer", v, listSince[0], listSince[1], listSince[2])
		}
	}
}

// groups finds the messages of the model in the chain, and what belongs to each of them. The lines of one message may
// fork, since each result hangs on the line of its own call, so that the chain has only one of several results: the
// others are found by message.id, and by the line that they hang on (observed).
func (d *Doc) groups(chain []int) (groups []group, groupOf map[int]int) {
	groupOf = map[int]int{}
	byMessage := map[string]int{}
	for _, i := range chain {
		l := &d.lines[i]
		if l.kind != kindAssistant || l.apiError {
			continue
		}
		g, ok := byMessage[l.message]
		if !ok || l.message == "" {
			g = len(groups)
			groups = append(groups, group{})
			byMessage[l.message] = g
		}
		groups[g].lines = append(groups[g].lines, i)
		groupOf[i] = g
	}

	inChain := make(map[int]bool, len(chain))
	for _, i := range chain {
		inChain[i] = true
	}
	var answers []int // user lines outside the chain that hang on a line of a group
	for i := d.boundary + 1; i < len(d.lines); i++ {
		l := &d.lines[i]
		if inChain[i] || !d.main(i) {
			continue
		}
		switch l.kind {
		case kindAssistant:
			if g, ok := byMessage[l.message]; ok && l.message != "" && !l.apiError {
				groups[g].lines = append(groups[g].lines, i)
				groups[g].recovered = true
				groupOf[i] = g
			}
		case kindUser:
			answers = append(answers, i)
		}
	}

	// A result belongs to the nearest open call before it, since ids may repeat.
	open := map[string][]int{} // id → groups that wait
	started := make([]bool, len(groups))
	start := func(g int) {
		if started[g] {
			return
		}
		started[g] = true
		for _, i := range groups[g].lines {
			for _, id := range d.ids(i, "tool_use", "id") {
				open[id] = append(open[id], g)
			}
		}
	}
	owner := func(i int) int {
		found := -1
		for _, id := range d.ids(i, "tool_result", "tool_use_id") {
			if waiting := open[id]; len(waiting) > 0 {
				g := waiting[len(waiting)-1]
				open[id] = waiting[:len(waiting)-1]
				if found < 0 {
					found = g
				}
			}
		}
		return found
	}
	for _, i := range chain {
		if g, ok := groupOf[i]; ok {
			start(g)
		} else if d.lines[i].kind == kindUser {
			if g := owner(i); g >= 0 {
				groups[g].results = append(groups[g].results, i)
			}
		}
	}
	for _, i := range answers {
		l := &d.lines[i]
		on, ok := d.byID[l.source]
		if !ok {
			on, ok = d.byID[l.parent]
		}
		if _, in := groupOf[on]; !ok || !in {
			continue
		}
		if g := owner(i); g >= 0 {
			groups[g].results = append(groups[g].results, i)
			groups[g].recovered = true
		}
	}
	for g := range groups {
		if groups[g].recovered {
			slices.Sort(groups[g].lines)
			slices.Sort(groups[g].results)
		}
	}
	return groups, groupOf
}

// ids returns a member of each block of a type in the content of line i.
func (d *Doc) ids(i int, typ, key string) []string {
	var ids []string
	for v := range d.index.Elements(d.data, d.lines[i].content) {
		var t, id jsonspan.Span
		for k, v := range d.index.Members(d.data, v) {
			switch name := d.key(k); {
			case string(name) == "type":
				t = v
			case string(name) == key:
				id = v
			}
		}
		if jsonspan.Equal(d.data, t, typ) {
			s, _ := jsonspan.String(d.data, id)
			ids = append(ids, s)
		}
	}
	return ids
}

// flatten lays the blocks of the entries out as messages: the lines of one group are one message of the model.
func (d *Doc) flatten() {
	// What the provider reported with a line that a compaction kept is the size of a context that is no more.
	kept := map[int]bool{}
	if d.boundary >= 0 {
		list, _ := d.listed(d.boundary)
		for _, i := range list {
			kept[i] = true
		}
	}
	tool := map[string]string{} // call id → name
	lastGroup := -1
	for n := range d.entries {
		e := &d.entries[n]
		e.first = len(d.tr.Blocks)
		var l line
		if e.line >= 0 {
			l = d.lines[e.line]
		}
		role, author := pemmican.User, pemmican.ByRole
		switch {
		case l.kind == kindAssistant:
			role = pemmican.Assistant
		case e.line < 0 && e.queue < 0:
			role = pemmican.System
		}
		blocks := e.blocks
		e.blocks = nil
		if role == pemmican.User {
			// Results are a message of their own, whatever else their line holds; the other blocks follow them.
			k := 0
			for k < len(blocks) && (blocks[k].Kind == pemmican.ToolResult || !blocks[k].part.Empty()) {
				k++
			}
			if k > 0 {
				for j := range blocks[:k] {
					if blocks[j].Kind == pemmican.ToolResult {
						blocks[j].Tool = tool[blocks[j].CallID]
					}
				}
				d.addMessage(pemmican.Tool, pemmican.ByRole, blocks[:k])
				blocks = blocks[k:]
			}
			if d.byRuntime(&l, blocks) {
				author = pemmican.ByRuntime
			}
		}
		if role == pemmican.Assistant && e.group == lastGroup && lastGroup >= 0 {
			d.extendMessage(blocks)
		} else if len(blocks) > 0 {
			d.addMessage(role, author, blocks)
		}
		lastGroup = -1
		if role == pemmican.Assistant {
			lastGroup = e.group
			for _, b := range blocks {
				if b.Kind == pemmican.ToolCall {
					tool[b.CallID] = b.Tool
				}
			}
			if usage := d.usage(l.usage); usage > 0 && e.line > d.boundary && !kept[e.line] {
				// It is repeated on every line and grows while the message streams: the last one counts.
				d.tr.Messages[len(d.tr.Messages)-1].Usage = usage
			}
			if l.model != "" && l.model != syntheticModel {
				d.tr.Model = l.model
			}
		}
		e.end = len(d.tr.Blocks)
	}
}

// syntheticModel is the model of lines that the client made in the model's role. One that reports an error of the
// provider is not sent again; "No response requested." is (observed).
const syntheticModel = "<synthetic>"

func (d *Doc) addMessage(role pemmican.Role, author pemmican.Author, blocks []block) {
	m := d.tr.Add(role)
	d.tr.Messages[m].Author = author
	d.extendMessage(blocks)
}

func (d *Doc) extendMessage(blocks []block) {
	m := len(d.tr.Messages) - 1
	for _, b := range blocks {
		b.Message = m
		d.tr.Blocks = append(d.tr.Blocks, b.Block)
		d.origins = append(d.origins, b.origin)
	}
	d.tr.Messages[m].End = len(d.tr.Blocks)
}

// usage adds up what the provider reported for one request.
func (d *Doc) usage(v jsonspan.Span) int {
	const most = 1 << 40 // so that the sum of nonsense does not overflow
	sum := int64(0)
	for k, v := range d.index.Members(d.data, v) {
		switch string(d.key(k)) {
		case "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens":
			if n, ok := jsonspan.Int(d.data, v); ok && n > 0 {
				sum += min(n, most)
			}
		}
	}
	return int(sum)
}

// byRuntime reports whether the agent's own program wrote the blocks of a line in the user role.
func (d *Doc) byRuntime(l *line, blocks []block) bool {
	switch l.kind {
	case kindCommand:
		return true
	case kindAttachment:
		return !d.fromPerson(l.attachment)
	}
	if l.meta || l.compactSummary {
		return true
	}
	for i := range blocks {
		if k := blocks[i].Kind; k != pemmican.Summary && (k != pemmican.Text || !isRuntimeText(blocks[i].Text)) {
			return false
		}
	}
	return true
}

// runtimeTexts are how the texts begin that the program writes in the user role without saying so on the line.
var runtimeTexts = []string{
	"<command-name>", "<command-message>", "<command-args>", "<command-contents>",
	"<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>",
	"<bash-input>", "<bash-stdout>", "<bash-stderr>",
	"<system-reminder>", "<task-notification>", "<agent-notification>",
	"[Request interrupted by user", "Caveat: The messages below were generated by the user while running local commands",
}

func isRuntimeText(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	for _, begin := range runtimeTexts {
		if strings.HasPrefix(text, begin) {
			return true
		}
	}
	return false
}

// addQueued puts the messages that were queued while the agent worked at their places. Versions up to 2.1.126 at least
// recorded them in queue-operation lines only: enqueue with the text, remove when the text was handed to the model in a
// running turn, dequeue when it became the next prompt, which has a line of its own, popAll when the person got all of
// them back. Newer ones also write an attachment or a user line, and then that counts.
func (d *Doc) addQueued(entries []entry) []entry {
	if len(d.queue) == 0 {
		return entries
	}
	var pending, live []int // of d.queue
	place := make([]int, len(d.queue))
	for i, q := range d.queue {
		place[i] = q.at
		switch q.op {
		case "enqueue":
			pending = append(pending, i)
		case "dequeue", "remove":
			if len(pending) == 0 {
				continue
			}
			if q.op == "remove" {
				place[pending[0]] = q.at
				live = append(live, pending[0])
			}
			pending = pending[1:]
		case "popAll":
			pending = nil
		}
	}
	delivered := len(live)
	live = append(live, pending...)
	lastSeen := map[string]int{} // what lines with a uuid say → the last one that does
	for n, qi := range live {
		q := &d.queue[qi]
		if place[qi] <= d.boundary || strings.TrimSpace(q.text) == "" {
			continue
		}
		if len(lastSeen) == 0 {
			for i := range d.lines {
				for _, text := range d.said(i) {
					lastSeen[text] = i
				}
			}
			lastSeen[""] = 0 // so that it is done once
		}
		if i, ok := lastSeen[q.text]; ok && i >= q.at {
			continue
		}
		pos := 0
		for i := range entries {
			if l := entries[i].line; l >= 0 && l < place[qi] {
				pos = i + 1
			}
		}
		// Not between a call and its result, and behind what was queued before it.
		for pos > 0 && pos < len(entries) && (entries[pos].queue >= 0 || entries[pos].group >= 0 && entries[pos].group == entries[pos-1].group) {
			pos++
		}
		answered := slices.ContainsFunc(entries[pos:], func(e entry) bool {
			return e.line >= 0 && d.lines[e.line].kind == kindAssistant
		})
		b := block{Block: textBlock(q.text, false)}
		b.Pinned = !answered
		entries = slices.Insert(entries, pos, entry{line: -1, queue: qi, group: -1, blocks: []block{b}})
		if n < delivered {
			d.warnf("line %d: this message was queued while the agent worked, and stands on no line that the agent would read again", q.no)
		} else {
			d.warnf("line %d: this message was queued and never reached the model", q.no)
		}
	}
	return entries
}

// said returns the texts of a user line or of a queued command.
func (d *Doc) said(i int) []string {
	l := &d.lines[i]
	content := l.content
	switch l.kind {
	case kindUser:
	case kindAttachment:
		content, _ = d.index.Get(d.data, l.attachment, "prompt")
	default:
		return nil
	}
	if s, ok := jsonspan.String(d.data, content); ok {
		return []string{s}
	}
	return d.ids(i, "text", "text")
}

// system returns the system text that the newest request carried, and notes its tools, where the file has them: in newer
// files a message names its request, and that its shape (seen with 2.1.332).
func (d *Doc) system() []block {
	for i := len(d.lines) - 1; i >= 0; i-- {
		l := &d.lines[i]
		if l.kind != kindAssistant || l.request == "" || !d.main(i) {
			continue
		}
		shape, ok := d.shapes[d.shapeOf[l.request]]
		if !ok {
			return nil
		}
		d.tr.HasSystem = true
		if tools, ok := d.index.Get(d.data, shape, "tools"); ok {
			d.tr.Tools = string(tools.Of(d.data))
		}
		system, _ := d.index.Get(d.data, shape, "system")
		if text, ok := jsonspan.String(d.data, system); ok {
			return []block{{Block: pemmican.Block{Text: text}}}
		}
		var blocks []block
		for v := range d.index.Elements(d.data, system) {
			blocks = append(blocks, block{Block: pemmican.Block{Text: d.text(v, "text")}})
		}
		return blocks
	}
	return nil
}
