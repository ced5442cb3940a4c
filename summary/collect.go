package summary

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/repetition"
)

// whatRunes is how much of a path or a command stands for a call.
const whatRunes = 80

// source is a text that may have lines worth keeping.
type source struct {
	text string
	// from says where a line comes from, if no call does.
	from string
	call int32 // in collector.calls, -1 for none
	// age is how many messages ago it was, from the last dropped one.
	age int32
	// weight is the worth of a line by who wrote it, in percent.
	weight int32
	part   part
}

// part says what a source is of its call.
type part uint8

const (
	partText part = iota
	partArgument
	partResult
)

// call is one tool call with what became of it.
type call struct {
	block, result int // blocks; the result is -1 where there is none
	tool          string
	role          pemmican.ToolRole
	path          string
	what          string // the path, or the beginning of the first argument
	// later is true if a later call made its result stale.
	later bool
	// look is true for a command that only shows files or folders.
	look bool
}

func (c *call) describe() string {
	if c.what == "" {
		return c.tool
	}
	return c.tool + " " + c.what
}

// short is describe with the last two elements of a long path, since the list of files has the whole one.
func (c *call) short() string {
	what := c.what
	if c.path != "" && len(what) > 32 {
		if i := strings.LastIndexByte(what, '/'); i > 0 {
			what = what[strings.LastIndexByte(what[:i], '/')+1:]
		}
	}
	if what == "" {
		return c.tool
	}
	return c.tool + " " + what
}

// Weights of lines by who wrote them, in percent.
const (
	weightPerson    = 160
	weightAssistant = 150
	weightErrors    = 110
	weightCommand   = 130
	weightEdit      = 80
	weightEarlier   = 100
	weightOther     = 60 // further arguments
	weightSearch    = 60
	weightRead      = 50
	weightRun       = 60
	weightNoRole    = 50
	weightReasoning = 40
	weightList      = 30
)

// shortAnswer is below how many bytes the result of an edit is a mere receipt.
const shortAnswer = 200

// onlyRead is what a line of a file is worth that was read and never changed, in percent of one that was changed too.
const onlyRead = 90

// staleDivisor is how much less a line of a result is worth that a later call made stale.
const staleDivisor = 4

// collector reads a request once.
type collector struct {
	request *pemmican.SummaryRequest
	scanner
	args    argReader
	plans   planner
	ledger  Ledger // everything, before it is fitted to the room
	sources []source
	calls   []call
	callOf  []int32 // block → call, of calls and their results; -1 for none
	dropped []bool
	last    int // the last dropped block, -1 for none

	files    map[string]*File
	order    []string        // paths by their last operation, the oldest first
	failures map[string]int  // call and text → index in ledger.Errors
	open     map[string]int  // kind of call → its open error; a newer failure takes the place of an older one
	latest   map[string]int  // what a read, search or list was for → its newest call
	planned  bool            // a plan tool was called in the dropped part
	changes  []change        // scratch
	shown    map[string]bool // files of which the agent still sees an edit
	// earlierLines is how many of the lines come from the earlier ledger.
	earlierLines int
}

// collect merges what is dropped with the ledger of the earlier summary.
func collect(r *pemmican.SummaryRequest) *collector {
	c := newCollector(r)
	size := len(r.Previous)
	for i, d := range c.dropped {
		if d {
			size += len(r.Transcript.Blocks[i].Text) + len(r.Transcript.Blocks[i].Args)
		}
	}
	c.reserve(size)
	c.previous(r.Previous)
	c.pair()
	c.read()
	c.finish()
	return c
}

func newCollector(r *pemmican.SummaryRequest) *collector {
	t := r.Transcript
	c := &collector{
		request: r, last: -1,
		dropped:  make([]bool, len(t.Blocks)),
		files:    map[string]*File{},
		failures: map[string]int{},
		open:     map[string]int{},
		latest:   map[string]int{},
		shown:    map[string]bool{},
		scanner:  scanner{kept: map[uint32]struct{}{}},
	}
	message := -1
	for _, i := range r.Dropped {
		if i < 0 || i >= len(t.Blocks) || c.dropped[i] {
			continue
		}
		c.dropped[i] = true
		c.last = max(c.last, i)
		if m := t.Blocks[i].Message; m != message {
			message = m
			c.ledger.Messages++
		}
	}
	return c
}

// previous takes over the earlier summary.
func (c *collector) previous(body string) {
	if body == "" {
		return
	}
	e := readEarlier(body)
	old := e.ledger
	c.ledger.Earlier = condensed(strings.TrimSpace(clean(withoutReminders(e.narrative))))
	if old.Earlier != "" {
		c.ledger.Earlier = strings.TrimSpace(old.Earlier + "\n\n" + c.ledger.Earlier)
	}
	known := func(path string) bool { // under its older name
		return slices.ContainsFunc(old.Files, func(f File) bool { return f.Op == Renamed && f.To == path })
	}
	for _, path := range slices.DeleteFunc(e.read, known) {
		c.touch(path, Read, false, "")
	}
	for _, path := range slices.DeleteFunc(e.modified, known) {
		c.touch(path, Edited, false, "")
	}
	if !e.ours {
		return
	}
	c.ledger.Messages += old.Messages
	c.ledger.Words = old.Words
	c.ledger.Facts = old.Facts
	c.plans.steps = old.Plan
	c.ledger.Said = old.Said
	c.ledger.MoreFiles = old.MoreFiles
	for _, f := range slices.Backward(old.Files) {
		if f.Path = filePath(f.Path); f.Path == "" {
			continue
		}
		c.files[f.Path] = &f
		c.order = append(c.order, f.Path)
	}
	for _, f := range old.Errors {
		c.failures[f.Call+"\n"+f.Text] = len(c.ledger.Errors)
		if !f.Resolved {
			c.open[sameKind(f.Call)] = len(c.ledger.Errors)
		}
		c.ledger.Errors = append(c.ledger.Errors, f)
	}
	c.ledger.Lines = old.Lines // until they have to compete with new ones
	age := int32(1)
	if c.last >= 0 && len(c.request.Transcript.Messages) > 0 {
		age = int32(c.request.Transcript.Blocks[c.last].Message) + 1
	}
	for _, g := range old.Lines {
		c.add(source{text: strings.Join(g.Lines, "\n"), from: g.From, call: -1, age: age, weight: weightEarlier})
	}
	c.earlierLines = len(c.lines)
}

// pair finds the calls and their results: a result belongs to the nearest open call before it with its id, within one
// message to the first one.
func (c *collector) pair() {
	t := c.request.Transcript
	open := map[string][]int{}
	c.callOf = make([]int32, len(t.Blocks))
	for i := range t.Blocks {
		b := &t.Blocks[i]
		c.callOf[i] = -1
		switch b.Kind {
		case pemmican.ToolCall:
			c.callOf[i] = int32(len(c.calls))
			open[b.CallID] = append(open[b.CallID], len(c.calls))
			c.calls = append(c.calls, call{block: i, result: -1, tool: b.Tool})
		case pemmican.ToolResult:
			waiting := open[b.CallID]
			if len(waiting) == 0 {
				continue
			}
			k := len(waiting) - 1
			for k > 0 && t.Blocks[c.calls[waiting[k-1]].block].Message == t.Blocks[c.calls[waiting[k]].block].Message {
				k--
			}
			c.callOf[i] = int32(waiting[k])
			c.calls[waiting[k]].result = i
			if c.calls[waiting[k]].tool == "" {
				c.calls[waiting[k]].tool = b.Tool
			}
			open[b.CallID] = slices.Delete(waiting, k, k+1)
		}
	}
}

// call reads call k: what it did to files, to the plan, and how it ended. It returns the texts among its arguments.
func (c *collector) call(k int) []argument {
	t, p := c.request.Transcript, &c.calls[k]
	b := &t.Blocks[p.block]
	spec, known := c.request.Tools[p.tool]
	p.role = spec.RoleOf(b.Args)
	p.tool = brief(p.tool, 60)
	texts := c.args.read(b.Args)
	p.path = pathOf(texts, spec, known && spec.Role != pemmican.NoRole)
	result, failed, answered, command := "", false, p.result >= 0, ""
	if p.role == pemmican.RunTool {
		command = commandOf(texts)
	}
	if answered {
		result = t.Blocks[p.result].Text
		failed = t.Blocks[p.result].Error ||
			(p.role == pemmican.RunTool || p.role == pemmican.NoRole) && looksFailed(result, command)
	}
	if p.path != "" {
		p.what = oneLine(clean(cutMiddle(p.path, 4*whatRunes)))
	} else if len(texts) > 0 {
		p.what = c.firstArgument(texts)
	}
	dropped := c.dropped[p.block]

	switch p.role {
	case pemmican.PlanTool:
		switch {
		case dropped:
			if !failed {
				c.plans.call(b.Args, result)
				c.planned = true
			}
		case p.block > c.last && c.last >= 0:
			c.plans.steps = nil // The agent still sees a newer one.
		}
	case pemmican.KeepTool:
		c.keepFact(k)
	case pemmican.ReadTool, pemmican.SearchTool, pemmican.ListTool:
		if !failed && answered {
			c.supersede(k, texts, spec)
		}
	}

	c.changes = c.changes[:0]
	if dropped || p.role == pemmican.EditTool {
		switch p.role {
		case pemmican.ReadTool:
			if p.path != "" {
				c.changes = append(c.changes, change{p.path, Read})
			}
		case pemmican.EditTool:
			if p.path != "" {
				c.changes = append(c.changes, change{p.path, editOp(texts)})
				break
			}
			for _, a := range texts {
				c.changes = patched(c.changes, a.text)
			}
		case pemmican.RunTool:
			for _, a := range texts {
				if strings.Contains(a.text, "*** Begin Patch") {
					c.changes = patched(c.changes, a.text)
				}
			}
			if p.look = looks(command); p.look && !failed {
				for _, path := range lookedAt(command) {
					c.changes = append(c.changes, change{path, Mentioned})
				}
			}
		case pemmican.NoRole:
			if p.path != "" {
				c.changes = append(c.changes, change{p.path, Mentioned})
			}
		}
		for _, ch := range c.changes {
			if !dropped {
				c.shown[filePath(ch.path)] = !failed
				continue
			}
			if ch.op == Written && answered && saysCreated(result) {
				ch.op = Created
			}
			why := ""
			if failed {
				why, _, _ = strings.Cut(errorText(result), "\n")
				why = cutEnd(why, whatRunes)
			}
			c.touch(ch.path, ch.op, failed, why)
		}
	}
	if p.role == pemmican.RunTool && answered && !failed {
		c.moves(command, result)
	}
	if answered {
		c.outcome(p, failed, result)
	}
	return texts
}

// outcome records how an answered call ended.
func (c *collector) outcome(p *call, failed bool, result string) {
	if !failed && len(c.open) == 0 {
		return
	}
	what := p.describe()
	kind := sameKind(what)
	before, isOpen := c.open[kind]
	if !failed {
		if isOpen {
			c.ledger.Errors[before].Resolved = true
			delete(c.open, kind)
		}
		return
	}
	if !c.dropped[p.block] {
		return
	}
	f := Failure{Call: what, Text: errorText(result), Count: 1}
	take := func(i int) {
		f.Count += c.ledger.Errors[i].Count
		c.ledger.Errors[i].Count = 0
	}
	key := f.Call + "\n" + f.Text
	if i, again := c.failures[key]; again {
		take(i)
	}
	// A newer failure of the same kind tells how things stand; what it does not tell any more may be mended.
	if isOpen {
		take(before)
	}
	c.failures[key], c.open[kind] = len(c.ledger.Errors), len(c.ledger.Errors)
	c.ledger.Errors = append(c.ledger.Errors, f)
}

// firstArgument describes a call by the beginning of its first argument, all parts of it if it is a list.
func (c *collector) firstArgument(texts []argument) string {
	s := texts[0].text
	for _, a := range texts[1:] {
		if a.key != texts[0].key || len(s) > 4*whatRunes {
			break
		}
		s += " " + a.text
	}
	// Agents begin most commands by changing to the same folder.
	if strings.HasPrefix(s, "cd ") {
		if _, rest, ok := strings.Cut(s, "&& "); ok {
			s = rest
		}
	}
	return brief(s, whatRunes)
}

// supersede remembers call k as the newest of its kind, and the one before as stale.
func (c *collector) supersede(k int, texts []argument, spec pemmican.ToolSpec) {
	p := &c.calls[k]
	var key strings.Builder
	key.WriteString(p.tool)
	for _, a := range texts {
		if p.role == pemmican.ReadTool && a.text != p.path && !slices.Contains(spec.Range, a.key) {
			continue
		}
		key.WriteString("\x00" + a.key + "\x00" + a.text[:min(len(a.text), 512)])
	}
	id := key.String()
	if old, ok := c.latest[id]; ok {
		c.calls[old].later = true
	}
	c.latest[id] = k
}

func saysCreated(result string) bool {
	head := strings.ToLower(result[:min(len(result), 300)])
	return strings.Contains(head, "created") || strings.Contains(head, "new file")
}

// filePath is a path as the ledger has it.
func filePath(path string) string { return neutral(strings.ToValidUTF8(path, "\uFFFD")) }

// touch records an operation on a file.
func (c *collector) touch(path string, op Op, failed bool, why string) {
	if path = filePath(path); path == "" {
		return
	}
	f := c.files[path]
	if f == nil {
		f = &File{Path: path}
		c.files[path] = f
	} else if op == Mentioned && f.Op != Mentioned {
		return // It tells less than what is known.
	}
	f.Op, f.Failed, f.Error, f.To, f.Shown = op, failed, why, "", false
	if op.edits() && !failed {
		f.Edits++
	}
	c.order = append(c.order, path)
}

// read goes over the transcript: the words of the person, the calls, and every text that may have lines worth keeping.
func (c *collector) read() {
	r := c.request
	t := r.Transcript
	seen := false // a text of the person
	number := 0
	for _, w := range c.ledger.Words {
		number = max(number, w.N)
	}
	limit := 6*max(r.Tokens, 0) + 64 // runes: more cannot have room
	for i := range t.Blocks {
		b := &t.Blocks[i]
		m := &t.Messages[b.Message]
		if m.Role == pemmican.System {
			continue
		}
		var texts []argument
		if b.Kind == pemmican.ToolCall {
			texts = c.call(int(c.callOf[i]))
		}
		if b.Kind == pemmican.Summary {
			continue // the earlier one goes, and what it says was taken over from Previous
		}
		if !c.dropped[i] {
			seen = seen || m.Person() && b.Kind == pemmican.Text
			c.scan(int32(len(c.sources)), b.Text, seenKept)
			c.scan(int32(len(c.sources)), b.Args, seenKept)
			continue
		}
		age := int32(t.Blocks[c.last].Message - b.Message)
		s := source{text: b.Text, call: -1, age: age}
		if m.Role != pemmican.Assistant {
			s.text = withoutReminders(s.text)
		}
		switch b.Kind {
		case pemmican.Text:
			switch {
			case strings.TrimSpace(s.text) == "":
				continue
			case m.Person():
				number++
				text := strings.TrimSpace(clean(cutMiddle(strings.TrimSpace(s.text), limit)))
				c.ledger.Words = append(c.ledger.Words, Words{
					N: number, Text: text,
					Task: !seen && r.Previous == "" && r.Compactions == 0,
				})
				seen = true
				s.from, s.weight = "person", weightPerson
			case m.Role == pemmican.Assistant:
				if loops(b.Text) {
					continue
				}
				s.from, s.weight = "assistant", weightAssistant
			default:
				continue // What a runtime says is an order for then, and half of an order is another one.
			}
		case pemmican.Reasoning:
			if loops(b.Text) {
				continue
			}
			s.from, s.weight = "assistant, thinking", weightReasoning
		case pemmican.Media:
			if m.Person() {
				number++
				name := brief(b.Media.Type+" "+b.Media.Name, 80)
				c.ledger.Words = append(c.ledger.Words, Words{N: number, Text: strings.TrimSpace("[picture or document] " + name)})
			}
			continue
		case pemmican.Summary:
			c.ledger.Earlier = strings.TrimSpace(c.ledger.Earlier + "\n\n" + condensed(clean(s.text)))
			continue
		case pemmican.ToolCall:
			c.argumentSources(int(c.callOf[i]), texts, age)
			continue
		case pemmican.ToolResult:
			s.call, s.part, s.text = c.callOf[i], partResult, unwrapped(s.text)
			s.from, s.weight = brief(b.Tool, 60), weightNoRole
			if s.call >= 0 {
				s.weight = c.resultWeight(int(s.call))
			}
			if s.weight == 0 {
				continue
			}
		default:
			continue
		}
		c.add(s)
	}
}

// loops reports whether a model's text ran into a loop, so that none of it is worth telling.
func loops(text string) bool {
	_, hit := repetition.Detector{}.Detect(text)
	return hit
}

// add scans a source. What the assistant wrote raises the worth of its words.
func (c *collector) add(s source) {
	if strings.TrimSpace(s.text) == "" {
		return
	}
	var flags uint8
	if s.weight == weightAssistant || s.part == partArgument {
		flags = seenAssistant
	}
	c.sources = append(c.sources, s)
	c.scan(int32(len(c.sources)-1), s.text, flags)
}

// argumentSources takes the texts among the arguments of call k, without paths, and without what an edit took away.
func (c *collector) argumentSources(k int, texts []argument, age int32) {
	p := &c.calls[k]
	if p.role == pemmican.PlanTool || p.role == pemmican.KeepTool {
		return // They have places of their own.
	}
	b := &c.request.Transcript.Blocks[p.block]
	spec, known := c.request.Tools[b.Tool]
	weight := int32(weightCommand)
	if p.role == pemmican.EditTool {
		weight = weightEdit
	}
	for i, a := range texts {
		if a.scalar || isPath(a.key, spec, known && spec.Role != pemmican.NoRole) || isID(a.key) || p.role == pemmican.EditTool && isOld(a.key) {
			continue
		}
		if p.look && (a.key == "command" || a.key == "cmd") {
			continue // Its path is among the files, and what it showed tells what it was for.
		}
		if i == 1 && p.role != pemmican.EditTool {
			weight = weightOther // What a command is for comes first.
		}
		c.add(source{text: a.text, call: int32(k), age: age, weight: weight, part: partArgument})
	}
}

// resultWeight is the weight of the result of call k, 0 for one that only says that all went well.
func (c *collector) resultWeight(k int) int32 {
	p := &c.calls[k]
	b := &c.request.Transcript.Blocks[p.result]
	if b.Error {
		return weightErrors
	}
	weight := int32(weightNoRole)
	switch p.role {
	case pemmican.ReadTool:
		weight = weightRead
	case pemmican.SearchTool:
		weight = weightSearch
	case pemmican.ListTool:
		weight = weightList
	case pemmican.RunTool:
		weight = weightRun
	case pemmican.EditTool:
		weight = weightRead
		if len(b.Text) < shortAnswer {
			weight = 0
		}
	case pemmican.PlanTool, pemmican.KeepTool:
		weight = 0
	}
	return weight
}

// enoughSaid is how many runes of the assistant's last texts tell where the work stood. Agents say little between
// two calls, so the last text alone is often a line.
const (
	enoughSaid = 500
	mostSaid   = 6 // texts
)

// lastSaid returns the assistant's last texts, the newest last. If they are few, those of the earlier ledger go first.
func (c *collector) lastSaid(earlier []string) []string {
	t := c.request.Transcript
	var texts []string // the newest first
	runes := 0
	add := func(text string) {
		if text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
			runes += utf8.RuneCountInString(text)
		}
	}
	for i := c.last; i >= 0 && runes < enoughSaid && len(texts) < mostSaid; i-- {
		b := &t.Blocks[i]
		if c.dropped[i] && b.Kind == pemmican.Text && t.Messages[b.Message].Role == pemmican.Assistant && !loops(b.Text) {
			add(strings.TrimSpace(clean(cutMiddle(strings.TrimSpace(b.Text), 6*max(c.request.Tokens, 0)+64))))
		}
	}
	if len(texts) == 0 {
		return earlier
	}
	for i := len(earlier) - 1; i >= 0 && runes < enoughSaid && len(texts) < mostSaid; i-- {
		add(earlier[i])
	}
	slices.Reverse(texts)
	return texts
}

// finish brings the collected parts into the order of the ledger.
func (c *collector) finish() {
	for i := range c.sources {
		s := &c.sources[i]
		if s.part != partResult || s.call < 0 {
			continue
		}
		p := &c.calls[s.call]
		if p.role == pemmican.ReadTool {
			if f := c.files[filePath(p.path)]; !c.shown[filePath(p.path)] && (f == nil || f.Edits == 0) {
				s.weight = s.weight * onlyRead / 100
			}
		}
		if p.later {
			s.weight /= staleDivisor
		}
	}
	l := &c.ledger
	l.Plan = c.plans.steps
	l.Said = c.lastSaid(l.Said)

	// The same words again count where they were last; the task stays.
	last := map[string]int{}
	for i, w := range l.Words {
		last[w.Text] = i
	}
	l.Words = slices.Clone(l.Words)
	i := -1
	l.Words = slices.DeleteFunc(l.Words, func(w Words) bool {
		i++
		return !w.Task && last[w.Text] != i
	})

	l.Errors = slices.DeleteFunc(l.Errors, func(f Failure) bool { return f.Count == 0 })

	done := make(map[string]bool, len(c.files))
	for _, path := range slices.Backward(c.order) {
		if !done[path] {
			done[path] = true
			f := *c.files[path]
			f.Shown = f.Shown || c.shown[path]
			f.Shown = f.Shown && !f.Op.edits() && f.Op != Renamed
			if f.Error != "" && slices.ContainsFunc(l.Errors, func(e Failure) bool {
				return !e.Resolved && strings.HasSuffix(e.Call, " "+path) && strings.HasPrefix(e.Text, strings.TrimSuffix(f.Error, " "+gap))
			}) {
				f.Error = "" // It stands among the errors.
			}
			l.Files = append(l.Files, f)
		}
	}
}
