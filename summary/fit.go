package summary

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pemmican-dev/pemmican"
)

// Shares of the room, in percent, that a part may take when all want more than there is. What one leaves goes to the
// others in this order, up to the limit. The lines get the rest; what they do not want goes to the others once more.
type share struct {
	fair, limit int
	// floor is what a part may take in tokens, whatever its share is, up to three quarters of the room.
	floor int
}

var (
	shareEarlier = share{20, 40, 0}
	shareWords   = share{24, 45, 150}
	shareFiles   = share{24, 40, 60}
	shareErrors  = share{9, 15, 0}
	sharePlan    = share{6, 15, 0}
	shareSaid    = share{8, 15, 0}
	shareLines   = 30
)

// fitter makes ledgers that fit into a room.
type fitter struct {
	*collector
	worth  []int32
	block  pemmican.Block      // scratch of count
	quotes map[uint32]struct{} // hashes of lines that other parts of the ledger quote
	taken  map[int32]int       // how many lines of a source were taken
	first  candidates          // the best lines by themselves
	full   []int               // what each part would take as a whole
	// note and original are the lines behind the opening one, "" for none.
	note, original string
}

// count counts a text, as a block of its own.
func (f *fitter) count(text string) int {
	f.block = pemmican.Block{Kind: pemmican.Text, Text: text}
	return max(0, f.request.Counter.Count(&f.block))
}

func quoted(text string) string { return string(appendQuote(nil, text)) + "\n" }

// item counts an item with its quote, its line breaks included.
func (f *fitter) item(head, text string) int {
	n := f.count(itemSign + head + "\n")
	if text != "" {
		n += f.count(quoted(text))
	}
	return n
}

func (f *fitter) title(s string) int { return f.count("\n" + s + "\n") }

// fit returns the ledger in room tokens, as the sum of the counts of its parts, and whether something was left out.
func (f *fitter) fit(room int) (l Ledger, cut bool) {
	all := &f.ledger
	l.Messages = all.Messages
	left := room - f.count(opening(1_000_000)+"\n"+f.note+"\n"+f.original+"\n")
	if left <= 0 {
		return l, true
	}
	// What was pinned gives way last.
	if len(all.Facts) > 0 {
		left -= f.takeFacts(left, &l)
		cut = len(l.Facts) < len(all.Facts)
	}
	total := left

	// What each part would take as a whole, and what it gets.
	if f.full == nil {
		f.full = []int{
			f.textSize(titleEarlier, all.Earlier), f.wordsSize(), f.filesSize(), f.errorsSize(), f.planSize(),
			f.saidSize(),
		}
	}
	parts := [...]struct {
		share
		get  int
		take func(room int) int // fills the ledger, and returns what it took
	}{
		{shareEarlier, 0, func(room int) int { return f.takeEarlier(room, &l) }},
		{shareWords, 0, func(room int) int { return f.takeWords(room, &l) }},
		{shareFiles, 0, func(room int) int { return f.takeFiles(room, &l) }},
		{shareErrors, 0, func(room int) int { return f.takeErrors(room, &l) }},
		{sharePlan, 0, func(room int) int { return f.takePlan(room, &l) }},
		{shareSaid, 0, func(room int) int { return f.takeSaid(room, &l) }},
	}
	bytes := 0
	for i := range f.lines {
		// The person's lines are quoted as words, as far as there is room.
		if f.sources[f.lines[i].source].weight != weightPerson {
			bytes += int(f.lines[i].end - f.lines[i].start)
		}
	}
	wanted := bytes / 3 // by the lines, about
	spare := left - min(wanted, left*shareLines/100)
	parts[1].floor += f.taskSize() // It is quoted whole as long as there is any room for it.
	for i := range parts {
		parts[i].get = min(f.full[i], max(left*parts[i].fair/100, min(parts[i].floor, left*3/4)))
		spare -= parts[i].get
	}
	give := func(percent func(s share) int) {
		for i := range parts {
			p := &parts[i]
			if more := min(f.full[i], left*percent(p.share)/100) - p.get; more > 0 && spare > 0 {
				more = min(more, spare)
				p.get += more
				spare -= more
			}
		}
	}
	give(func(s share) int { return s.limit })
	if spare -= wanted - min(wanted, left*shareLines/100); spare > 0 {
		give(func(share) int { return 100 }) // The lines do not want it.
	}
	for i, p := range parts {
		total -= p.take(p.get)
		cut = cut || f.full[i] > p.get
	}
	cut = f.takeLines(total, &l) || cut
	return l, cut
}

func (f *fitter) textSize(title, text string) int {
	if text == "" {
		return 0
	}
	return f.title(title) + f.count(quoted(text))
}

func (f *fitter) saidSize() int {
	if len(f.ledger.Said) == 0 {
		return 0
	}
	n := f.title(titleSaid)
	for _, text := range f.ledger.Said {
		n += f.item(saidBefore, text)
	}
	return n
}

// takeSaid takes the newest texts, and as much as has room of the one before them, of which the end tells most.
func (f *fitter) takeSaid(room int, l *Ledger) int {
	said := f.ledger.Said
	used := f.title(titleSaid)
	first := len(said) // what is taken begins here
	var rest string
	for first > 0 {
		n := f.item(saidBefore, said[first-1])
		if used+n <= room {
			used += n
			first--
			continue
		}
		head := f.item(saidBefore, "")
		if text, n := f.cutTo(said[first-1], 1, room-used-head); text != "" {
			rest, used = text, used+n+head
		}
		break
	}
	if rest != "" {
		l.Said = append(l.Said, rest)
	}
	if l.Said = append(l.Said, said[first:]...); len(l.Said) == 0 {
		return 0
	}
	return used
}

// cutTo cuts a text inside, with so many thirds for its beginning, so that its quote takes at most room tokens. It returns "" if nothing useful is left.
func (f *fitter) cutTo(text string, thirds, room int) (string, int) {
	runes := len(text)
	for try := 0; try < 12 && room > 0; try++ {
		s := neutral(cutInside(text, runes, thirds))
		n := f.count(quoted(s))
		if n <= room {
			return s, n
		}
		size := utf8.RuneCountInString(s)
		runes = min(size-1, size*room/n)
		if runes < 24 {
			break
		}
	}
	return "", 0
}

func (f *fitter) wordsSize() int {
	if len(f.ledger.Words) == 0 {
		return 0
	}
	n := f.title(titleWords) + f.count(", latest of these")
	for _, w := range f.ledger.Words {
		n += f.item(w.head(false), w.Text)
	}
	return n
}

func (f *fitter) taskSize() int {
	for _, w := range f.ledger.Words {
		if w.Task {
			return f.item(w.head(false), w.Text)
		}
	}
	return 0
}

// takeWords takes the task first, then the newest texts. Before texts go, long ones are cut: to the greatest length at
// which all have room, where the task and the newest may be longer.
func (f *fitter) takeWords(room int, l *Ledger) int {
	words := f.ledger.Words
	if len(words) == 0 {
		return 0
	}
	base := f.title(titleWords) + f.count(", latest of these")
	left := room - base
	costs := make([]int, len(words))
	texts := make([]string, len(words))
	total := 0
	for i, w := range words {
		texts[i] = w.Text
		costs[i] = f.item(w.head(false), w.Text)
		total += costs[i]
	}
	for _, runes := range []int{4000, 2000, 1200, 700, 400, 240, 140, 90} {
		if total <= left {
			break
		}
		for i, w := range words {
			most := runes
			switch {
			case w.Task || i == len(words)-1:
				most *= 4
			case i >= len(words)-3:
				most *= 2
			}
			if fits(texts[i], most) || w.Task && costs[i] <= left*4/5 {
				continue
			}
			total -= costs[i]
			texts[i] = neutral(cutMiddle(w.Text, most))
			costs[i] = f.item(w.head(false), texts[i])
			total += costs[i]
		}
	}
	take := make([]bool, len(words))
	used := 0
	try := func(i int) {
		if !take[i] && used+costs[i] <= left {
			take[i] = true
			used += costs[i]
		}
	}
	for i, w := range words {
		if w.Task {
			try(i)
		}
	}
	for i := range slices.Backward(words) {
		try(i)
	}
	if last := len(words) - 1; used == 0 {
		// Not even one fits: a part of the newest is better than none.
		head := f.item(words[last].head(false), "")
		text, n := f.cutTo(texts[last], 2, left-head)
		if text == "" {
			return 0
		}
		texts[last], take[last], used = text, true, n+head
	}
	for i, w := range words {
		if take[i] {
			w.Text = texts[i]
			l.Words = append(l.Words, w)
		}
	}
	return used + base
}

func (f *fitter) filesSize() int {
	if len(f.ledger.Files) == 0 {
		return 0
	}
	n := f.title(titleMoreFiles)
	for _, x := range f.ledger.Files {
		n += f.item(x.head(), x.Error)
	}
	return n
}

// takeFiles takes the files that were changed before those that were only read, the newest first.
func (f *fitter) takeFiles(room int, l *Ledger) int {
	files := f.ledger.Files
	l.MoreFiles = f.ledger.MoreFiles
	if len(files) == 0 {
		return 0
	}
	used := f.title(titleMoreFiles)
	take := make([]bool, len(files))
	for _, rank := range []int{0, 1, 2} {
		for i, x := range files {
			if x.rank() != rank {
				continue
			}
			if n := f.item(x.head(), x.Error); used+n <= room {
				take[i] = true
				used += n
			}
		}
	}
	for i, x := range files {
		if take[i] {
			l.Files = append(l.Files, x)
		} else {
			l.MoreFiles = true
		}
	}
	if len(l.Files) == 0 {
		l.MoreFiles = false
		return 0
	}
	return used
}

// rank orders files by how much it matters that they are named.
func (f File) rank() int {
	switch {
	case f.Edits > 0 || f.Op.edits() || f.Shown:
		return 0
	case f.Op == Read:
		return 1
	}
	return 2
}

func (f *fitter) errorsSize() int {
	if len(f.ledger.Errors) == 0 {
		return 0
	}
	n := f.title(titleErrors)
	for _, x := range f.ledger.Errors {
		n += f.item(x.head(), x.Text)
	}
	return n
}

// takeErrors takes open errors before resolved ones, the newest first.
func (f *fitter) takeErrors(room int, l *Ledger) int {
	errors := f.ledger.Errors
	if len(errors) == 0 {
		return 0
	}
	used := f.title(titleErrors)
	take := make([]bool, len(errors))
	for _, resolved := range []bool{false, true} {
		for i, x := range slices.Backward(errors) {
			if x.Resolved != resolved {
				continue
			}
			if n := f.item(x.head(), x.Text); used+n <= room {
				take[i] = true
				used += n
			}
		}
	}
	for i, x := range errors {
		if take[i] {
			l.Errors = append(l.Errors, x)
		}
	}
	if len(l.Errors) == 0 {
		return 0
	}
	return used
}

func (f *fitter) planSize() int {
	if len(f.ledger.Plan) == 0 {
		return 0
	}
	n := f.title(titlePlan)
	for _, s := range f.ledger.Plan {
		n += f.item(s.head(), "")
	}
	return n
}

// takePlan takes open steps before those that are done, of which the newest count most.
func (f *fitter) takePlan(room int, l *Ledger) int {
	plan := f.ledger.Plan
	if len(plan) == 0 {
		return 0
	}
	used := f.title(titlePlan)
	take := make([]bool, len(plan))
	try := func(i int) {
		if n := f.item(plan[i].head(), ""); used+n <= room {
			take[i] = true
			used += n
		}
	}
	finished := func(s Step) bool { return s.State == StepDone || s.State == StepCancelled }
	for i, s := range plan {
		if !finished(s) {
			try(i)
		}
	}
	for i, s := range slices.Backward(plan) {
		if finished(s) {
			try(i)
		}
	}
	for i, s := range plan {
		if take[i] {
			l.Plan = append(l.Plan, s)
		}
	}
	if len(l.Plan) == 0 {
		return 0
	}
	return used
}

// candidate is a line that may be taken.
type candidate struct {
	line  int
	score int64
	round int // how many lines were taken when the score was reckoned
}

// candidates is a heap with the best candidate on top; of equals the newer one.
type candidates []candidate

func (c *candidates) Len() int           { return len(*c) }
func (c *candidates) Swap(i, j int)      { (*c)[i], (*c)[j] = (*c)[j], (*c)[i] }
func (c *candidates) Less(i, j int) bool { return (*c)[i].better((*c)[j]) }
func (c *candidates) Push(x any) {
	if x, ok := x.(candidate); ok { // container/heap passes on what it is given, and that is nothing else
		*c = append(*c, x)
	}
}
func (c *candidates) Pop() any {
	old := *c
	x := old[len(old)-1]
	*c = old[:len(old)-1]
	return x
}

func (a candidate) better(b candidate) bool {
	return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.line, b.line)) > 0
}

const (
	// halfAge is the age in messages at which a line is worth half as much.
	halfAge = 80
	// lineCost is added to the bytes of a line, so that short lines do not win by being short.
	lineCost = 45
	// again is what a word is worth, in percent, with every line that has it already.
	again = 35
	// manyLines is how many lines of one source make its other lines worth half as much.
	manyLines = 16
	// minLine is how many bytes a line has that can tell anything by itself.
	minLine = 3
	// maxLineRunes cuts what has no place to be cut at.
	maxLineRunes = 300
)

// ageWeight is the weight of a source in thousandths: who wrote it, and how long ago.
func (s *source) ageWeight() int64 {
	return int64(s.weight) * 10 * halfAge / int64(halfAge+s.age)
}

// takeLines takes lines that tell most for their length, until the room is used. Each line counts for what the lines
// taken before it do not tell. It reports whether lines were left out.
func (f *fitter) takeLines(room int, l *Ledger) (cut bool) {
	room -= f.title(titleLines)
	if room <= 0 || len(f.lines) == 0 {
		return len(f.lines) > 0
	}
	if f.worth == nil {
		f.worth = f.worths()
		f.first = f.best(f.request.Tokens)
	}
	// What the other parts quote already is there.
	f.quotes = map[uint32]struct{}{}
	for _, w := range l.Words {
		f.remember(w.Text)
	}
	for _, text := range l.Said {
		f.remember(text)
	}
	f.remember(l.Earlier)
	for _, fact := range l.Facts {
		f.remember(fact)
	}
	for _, e := range l.Errors {
		f.remember(e.Text)
	}

	best := slices.Clone(f.first)
	covered := make(map[uint32]int8, 1024)
	heap.Init(&best)
	taken := map[int]bool{}
	shapes := map[uint64]int{} // how many lines of a shape were taken
	f.taken = map[int32]int{}
	seen := map[uint32]bool{}
	round, misses := 0, 0
	for len(best) > 0 && misses < 64 {
		top := best[0]
		ln := &f.lines[top.line]
		if _, quoted := f.quotes[ln.hash]; quoted || seen[ln.hash] {
			heap.Pop(&best)
			continue
		}
		if top.round != round {
			best[0].score = f.score(top.line, covered)
			best[0].round = round
			heap.Fix(&best, 0)
			if best[0] != (candidate{top.line, best[0].score, round}) {
				continue
			}
			top = best[0]
		}
		if top.score <= 0 {
			break
		}
		heap.Pop(&best)
		text := f.lineText(top.line, top.line)
		if len(text) < minLine {
			continue
		}
		shape := shapeOf(text)
		if shapes[shape] == maxShape {
			continue
		}
		n := f.count(quoteSign + text + "\n")
		if f.taken[ln.source] == 0 {
			n += f.count(itemSign + field(f.from(ln.source)) + "\n")
		}
		if n > room {
			cut = true
			misses++
			continue
		}
		room -= n
		taken[top.line] = true
		shapes[shape]++
		f.taken[ln.source]++
		seen[ln.hash] = true
		for _, id := range f.wordsOf(top.line) {
			if covered[id] < 8 {
				covered[id]++
			}
		}
		round++
	}
	l.Lines = f.grouped(taken)
	return cut || len(best) > 0
}

// remember keeps the lines of a text from being taken again.
func (f *fitter) remember(text string) {
	kept := f.kept
	f.kept = f.quotes
	f.scan(0, text, seenKept)
	f.kept = kept
}

func (f *fitter) from(source int32) string {
	s := &f.sources[source]
	if s.call >= 0 {
		return f.calls[s.call].short()
	}
	if s.from == "" {
		return "tool"
	}
	return s.from
}

// best returns the lines that score best by themselves, many more than have room.
func (f *fitter) best(room int) candidates {
	limit := 256 + room/2
	var out candidates
	worst := func(c candidates) { // sift down a heap that has the worst on top
		i := 0
		for {
			k := 2*i + 1
			if k >= len(c) {
				return
			}
			if k+1 < len(c) && c[k].better(c[k+1]) {
				k++
			}
			if c[k].better(c[i]) {
				return
			}
			c[i], c[k] = c[k], c[i]
			i = k
		}
	}
	for n := range f.lines {
		ln := &f.lines[n]
		if _, is := f.kept[ln.hash]; is {
			continue
		}
		c := candidate{line: n, score: f.score(n, nil)}
		if c.score <= 0 {
			continue
		}
		if len(out) == limit && !c.better(out[0]) || f.noise(n) {
			continue
		}
		if len(out) < limit {
			out = append(out, c)
			if len(out) == limit {
				slices.SortFunc(out, func(a, b candidate) int {
					if a.better(b) {
						return 1
					}
					return -1
				})
			}
			continue
		}
		out[0] = c
		worst(out)
	}
	return out
}

// noise reports whether a line tells nothing beside the others, whatever words are in it.
func (f *fitter) noise(n int) bool {
	ln := &f.lines[n]
	text := strings.TrimSpace(f.sources[ln.source].text[ln.start:ln.end])
	for _, s := range noiseStarts {
		if strings.HasPrefix(text, s) {
			return true
		}
	}
	switch text {
	case "EOF", "if err != nil {", "if err != nil", "return err", "return nil", "return nil, err", "} else {", "end", "pass", "break",
		"default:", "(no output)":
		return true
	}
	return false
}

// noiseStarts begin lines that tell of what went as it should, or that a program puts behind every text of a kind.
var noiseStarts = []string{
	"Co-Authored-By:", "Co-authored-by:", "ok  \t", "--- PASS", "=== RUN", "=== PAUSE", "=== CONT", "PASS\t", "✓ ", "✔ ",
	"√ ", "PASSED ", "?   \t",
	"<retrieval_status>", "<task_type>",
}

// shapeOf is a hash of a line in which all numbers are alike. A line of numbers only has a shape of its own.
func shapeOf(text string) uint64 {
	h, letters := uint64(hashStart), 0
	for i := range len(text) {
		c := text[i]
		switch class := classes[c]; {
		case class == digit:
			if i > 0 && classes[text[i-1]] == digit {
				continue
			}
			c = '0'
		case class >= lower:
			letters++
		}
		h = (h ^ uint64(c)) * hashPrime
	}
	if letters < 3 {
		for i := range len(text) {
			h = (h ^ uint64(text[i])) * hashPrime
		}
	}
	return h
}

// maxShape is how many lines that differ in their numbers only are taken: they show what the others are like.
const maxShape = 3

// score is what a line tells for its length, beside the lines that cover some of its words already.
func (f *fitter) score(n int, covered map[uint32]int8) int64 {
	ln := &f.lines[n]
	var sum int64
	for _, id := range f.wordsOf(n) {
		worth := int64(f.worth[id])
		for range covered[id] {
			worth = worth * again / 100
		}
		sum += worth
	}
	sum = sum * f.sources[ln.source].ageWeight() / int64(ln.end-ln.start+lineCost)
	return sum * manyLines / int64(manyLines+f.taken[ln.source])
}

// lineText is the text of the lines from n to m of one long line, with marks where it goes on.
func (f *fitter) lineText(n, m int) string {
	a, b := &f.lines[n], &f.lines[m]
	text := f.sources[a.source].text[a.start:b.end]
	if len(text) > 4*maxLineRunes*(m-n+1) {
		text = cutAt(text, maxLineRunes*(m-n+1)+1)
	}
	text = strings.TrimSpace(strings.ReplaceAll(clean(text), "\n", " "))
	text = cutEnd(text, maxLineRunes*(m-n+1))
	if text == "" {
		return ""
	}
	if a.continues {
		text = "… " + text
	}
	if m+1 < len(f.lines) && f.lines[m+1].continues && f.lines[m+1].source == b.source {
		text += " …"
	}
	return text
}

// grouped returns the taken lines in the order of the transcript, by where they come from.
func (f *fitter) grouped(taken map[int]bool) []Lines {
	order := make([]int, 0, len(taken))
	for n := range taken {
		order = append(order, n)
	}
	slices.Sort(order)
	var out []Lines
	lastCall := int32(-1)
	for i := 0; i < len(order); {
		n, m := order[i], order[i]
		for i++; i < len(order) && order[i] == m+1 && f.lines[m+1].continues; i++ {
			m++
		}
		s := &f.sources[f.lines[n].source]
		text, from := f.lineText(n, m), f.from(f.lines[n].source)
		if command := s.part == partArgument && f.calls[s.call].role != pemmican.EditTool; command && s.call != lastCall {
			// The line is what the call was for, whole: the head need not tell its beginning.
			from, lastCall = f.calls[s.call].tool, s.call
			out = append(out, Lines{From: from})
		} else if s.call < 0 || s.call != lastCall {
			lastCall = s.call
			if len(out) == 0 || out[len(out)-1].From != from {
				out = append(out, Lines{From: from})
			}
		}
		g := &out[len(out)-1]
		g.Lines = append(g.Lines, text)
	}
	return out
}
