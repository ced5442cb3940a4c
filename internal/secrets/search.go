package secrets

import (
	"math/bits"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// span is a secret in a text.
type span struct {
	start, end int
	id         string // of the rule
}

// search looks for secrets in one text. It goes over it once with the automaton; what is found there decides in constant
// time whether a regular expression is asked, and about how much of the text.
//
// A marker in the text is opaque: nothing is looked for in it, no match runs into it, and what stands beside it is taken
// for the rest of a word, as the secret was that it replaces. So a text that has been redacted has nothing to find: what
// matches beside a marker would have matched beside the secret.
type search struct {
	*knowledge

	text  string
	spans []span
	gated uint64 // the gates that are open

	// Of the part between two markers that is looked at: positions are in it unless said otherwise.
	s     string
	base  int  // of the part in the text
	limit int  // behind it stands the beginning of a marker, or nothing
	glued bool // a marker stands before it

	// Where rules without an anchor before their secret were successful last: such matches do not overlap.
	done map[*rule]int
	// The values without a bound that were looked at last, for a long one is the value of many names in it.
	runs [2]run
	// The line that was looked at last, in the text.
	lineStart, lineStop int
	lineAllowed         bool
	// The last command curl, and the line ends between it and curlSeen.
	curl, curlSeen, curlLines int
	// Up to where some of our own rules have looked.
	assignedDone, headerDone, kubeDone int
}

// searches are kept, so that a text without secrets costs no allocation.
var searches = sync.Pool{New: func() any { return &search{knowledge: known()} }}

// run is a run of the bytes of a rule's values.
type run struct {
	rule        *rule
	start, stop int
}

// find returns the secrets in text, sorted and apart from each other.
func find(text string) []span {
	x := searches.Get().(*search) //nolint:forcetypeassert // New makes no other
	*x = search{knowledge: x.knowledge, done: x.done, text: text, lineStop: -1}
	x.parts((*search).run)
	if x.gated != 0 {
		x.parts((*search).runGated)
	}
	spans := x.spans
	x.text, x.s, x.spans = "", "", nil
	searches.Put(x)
	return join(spans)
}

// parts calls do for each part of the text between markers.
func (x *search) parts(do func(*search)) {
	glued := false
	for rest := 0; ; {
		start, end := nextMarker(x.text, rest)
		x.base, x.s, x.limit, x.glued = rest, x.text[rest:start], start-rest, glued
		x.curl, x.curlSeen, x.curlLines, x.runs = -1, 0, 0, [2]run{}
		x.assignedDone, x.headerDone, x.kubeDone = 0, 0, 0
		clear(x.done)
		if end > start {
			x.s += "x" // a marker counts as the rest of a word
		}
		do(x)
		if end == start {
			return
		}
		rest, glued = end, true
	}
}

// join sorts spans and makes one of those that overlap.
func join(spans []span) []span {
	if len(spans) < 2 {
		return spans
	}
	slices.SortFunc(spans, func(a, b span) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return a.end - b.end
	})
	out := spans[:1]
	for _, s := range spans[1:] {
		last := &out[len(out)-1]
		if s.start >= last.end {
			out = append(out, s)
			continue
		}
		if vagueness(s.id) < vagueness(last.id) {
			last.id = s.id
		}
		last.end = max(last.end, s.end)
	}
	return out
}

// vagueness is higher for a rule that tells less about a secret.
func vagueness(id string) int {
	switch id {
	case idAssigned:
		return 2
	case "generic-api-key", idToken:
		return 1
	default:
		return 0
	}
}

// run takes the automaton over the part.
func (x *search) run() {
	a, s := x.automaton, x.s
	state := 0
	for i := range len(s) {
		state = int(a.next[state<<a.shift|int(a.class[s[i]])])
		if state >= accepts {
			state -= accepts
			for _, w := range a.ends[state] {
				x.hit(&x.words[w], i+1-x.words[w].length, i+1)
			}
		}
	}

	// What is near a letter that is ASCII but for its case is looked at again.
	const near = 64 // more than any word has
	k, l := strings.Index(s, kelvin), strings.Index(s, longS)
	for k >= 0 || l >= 0 {
		from, to := 0, -1
		for (k >= 0 && (to < 0 || k < to)) || (l >= 0 && (to < 0 || l < to)) {
			first := &k
			if k < 0 || l >= 0 && l < k {
				first = &l
			}
			if to < 0 {
				from = max(0, *first-near)
			}
			to = min(len(s), *first+near)
			letter := kelvin
			if first == &l {
				letter = longS
			}
			if next := strings.Index(s[*first+1:], letter); next >= 0 {
				*first += 1 + next
			} else {
				*first = -1
			}
		}
		x.runFolded(from, to)
	}
}

// The two runes that are letters of ASCII where case does not count.
const (
	kelvin = "\u212a" // k
	longS  = "\u017f" // s
)

// runFolded takes the automaton over a piece of the part, and finds the words in it that have one of those letters.
func (x *search) runFolded(from, to int) {
	folded := make([]byte, 0, to-from)
	origin := make([]int, 0, to-from+1) // of each byte, and of the end
	for i := from; i < to; {
		c, size := x.s[i], 1
		switch {
		case strings.HasPrefix(x.s[i:], kelvin):
			c, size = 'k', len(kelvin)
		case strings.HasPrefix(x.s[i:], longS):
			c, size = 's', len(longS)
		}
		folded = append(folded, c)
		origin = append(origin, i)
		i += size
	}
	origin = append(origin, to)
	a := x.automaton
	state := 0
	for i, c := range folded {
		state = int(a.next[state<<a.shift|int(a.class[c])])
		if state >= accepts {
			state -= accepts
			for _, w := range a.ends[state] {
				start, end := origin[i+1-x.words[w].length], origin[i+1]
				if end-start > x.words[w].length {
					x.hit(&x.words[w], start, end)
				}
			}
		}
	}
}

// hit is called for each word of the automaton that stands in the part.
func (x *search) hit(w *word, start, end int) {
	x.gated |= w.gate
	for _, r := range w.rules {
		switch {
		case r.Back > 0:
			x.around(r, start, end)
		default:
			x.at(r, start, end)
		}
	}
	if w.finder != nil {
		w.finder(x, start, end)
	}
}

// runGated tries the rules without anchors at every place.
func (x *search) runGated() {
	for i, r := range x.gates {
		if x.gated>>i&1 == 0 {
			continue
		}
		c := r.compiled()
		for p := range len(x.s) {
			if c.start[0].has(x.s[p]) && !(c.boundary && x.wordBefore(p)) {
				x.at(r, p, p)
			}
		}
	}
}

// at looks for a match of r that begins at start, with an anchor that ends at end.
func (x *search) at(r *rule, start, end int) {
	c := r.compiled()
	if c.boundary && x.wordBefore(start) || !c.mayStart(x.s[start:]) {
		return
	}
	stop := min(len(x.s), start+c.window+utf8.UTFMax) // behind what may stand behind a match
	switch {
	case r.Assign:
		var ok bool
		if stop, ok = x.mayAssign(r, end, stop); !ok {
			return
		}
	case start < x.done[r]:
		return
	case r.After != "":
		if start == 0 || !is(x.s[start-1], isSpace) || !x.behindCurl(start) {
			return
		}
	}
	if m := c.re.FindStringSubmatchIndex(x.s[start:stop]); m != nil {
		x.judge(r, start, m)
	}
}

// around looks for matches of r that begin at most r.Back bytes before its anchor.
func (x *search) around(r *rule, start, end int) {
	const most = 1024 // bytes behind the anchor: what has no bound stands before it
	c := r.compiled()
	from := max(start-r.Back-utf8.UTFMax, 0) // before what may stand before a match
	stop := min(len(x.s), end+min(c.window, most)+utf8.UTFMax)
	window, shift := x.s[from:stop], from
	if from == 0 && x.glued {
		window, shift = "x"+window, -1
	}
	for _, m := range c.re.FindAllStringSubmatchIndex(window, -1) {
		if begin := shift + m[0]; begin <= start && begin >= x.done[r] {
			x.judge(r, shift, m)
		}
	}
}

// wordBefore reports whether a part of a word stands before p. The letter of an escape in JSON or of a color on a terminal
// is none.
func (x *search) wordBefore(p int) bool {
	if p == 0 {
		return x.glued
	}
	s, c := x.s, x.s[p-1]
	switch {
	case !is(c, isWord):
		return false
	case (c == 'n' || c == 'r' || c == 't') && p > 1 && s[p-2] == '\\':
		return false
	case p > 5 && s[p-5] == 'u' && s[p-6] == '\\':
		return false
	case c == 'm':
		i := p - 2
		for i >= 0 && i > p-12 && (isDigit(s[i]) || s[i] == ';') {
			i--
		}
		return i < 0 || s[i] != '['
	default:
		return true
	}
}

// mayStart reports whether s may begin with a match.
func (c *compiledRule) mayStart(s string) bool {
	for i := range c.start {
		if i == len(s) {
			return false
		}
		if !c.start[i].has(s[i]) {
			return false
		}
		if s[i] >= utf8.RuneSelf {
			return true
		}
	}
	return true
}

// mayAssign reports whether a sign of assignment may stand behind a name, whose anchor ends at end, and a value of the
// right shape behind that; and where the text ends that has to be looked at. A value has no byte that may stand behind
// it, so it ends where the run of its bytes does.
func (x *search) mayAssign(r *rule, end, stop int) (int, bool) {
	const (
		mostName    = 64 // bytes of the rest of a name, and quotes: more than any rule takes
		mostOpening = 16 // bytes of a sign, quotes and white space
	)
	s, v := x.s, &r.value
	i := end
	for ; ; i++ {
		if i == len(s) || i == end+mostName {
			return 0, false
		}
		if s[i] >= utf8.RuneSelf {
			return stop, true
		}
		if !is(s[i], isName|isQuote) {
			break
		}
	}
	if !is(s[i], isSign) {
		return 0, false
	}
	i = skip(s, i, isOpening, mostOpening)
	start := i
	if v.bytes.has('=') {
		for start > end && s[start-1] == '=' {
			start--
		}
	}

	last := &x.runs[0]
	if last.rule != r && x.runs[1].rule == r {
		last = &x.runs[1]
	}
	if last.rule == r && last.start <= i && i <= last.stop {
		i = last.stop
	} else {
		begin := i
		for i < len(s) && v.bytes.has(s[i]) && s[i] < utf8.RuneSelf {
			if i-begin == v.most {
				return 0, false
			}
			i++
		}
		if v.most == unbounded {
			x.runs[1] = x.runs[0]
			x.runs[0] = run{r, begin, i}
		}
	}
	value := s[start:i]
	if i < len(s) && s[i] >= utf8.RuneSelf {
		return stop, true
	}
	if len(value) < v.least || i < len(s) && !is(s[i], isClosing) && s[i] != '\\' {
		return 0, false
	}
	if len(value) <= longRun && (r.words && onlyWords(value) || distinct(value) < r.Entropy) {
		return 0, false
	}
	return min(stop, i+utf8.UTFMax), true
}

// longRun is the length from which on a value is not looked at before the regular expression is, so that the time for a
// long one that many names point into does not grow with their number.
const longRun = 256

func onlyWords(s string) bool {
	for i := range len(s) {
		if !isLetter(s[i]) && s[i] != '_' && s[i] != '.' && s[i] != '-' {
			return false
		}
	}
	return true
}

// distinct returns the greatest entropy that a text of the bytes in s can have.
func distinct(s string) float64 {
	var set byteSet
	for i := range len(s) {
		set.add(s[i])
	}
	n := 0
	for _, w := range set {
		n += bits.OnesCount64(w)
	}
	return log2[min(n, len(log2)-1)]
}

// judge adds the secret of a match, unless the rule allows it. The indexes in m are from base on.
func (x *search) judge(r *rule, base int, m []int) {
	match := trimLines(x.s, base+m[0], base+m[1])
	secret := match
	if r.Group > 0 {
		secret = span{start: base + m[2*r.Group], end: base + m[2*r.Group+1]}
	} else if r.Group == 0 {
		for g := 2; g < len(m); g += 2 {
			if m[g] < m[g+1] {
				secret = span{start: base + m[g], end: base + m[g+1]}
				break
			}
		}
	}
	if !r.Assign {
		if x.done == nil {
			x.done = map[*rule]int{}
		}
		x.done[r] = secret.end // what stands behind it may stand before the next one
	}
	if secret.start >= secret.end || secret.end > x.limit {
		return
	}
	text := x.s[secret.start:secret.end]
	if len(text) == base64Size && strings.HasSuffix(x.s[:secret.start], " h1:") {
		return // a checksum in go.sum, which gitleaks knows by its path
	}
	if r.Entropy > 0 && entropy(text) <= r.Entropy {
		return
	}
	allowed := func(a *allow) bool { return x.allowed(a, r, match, text) }
	if slices.ContainsFunc(r.Allow, allowed) || slices.ContainsFunc(x.all, allowed) {
		return
	}
	x.add(secret.start, secret.end, r.ID)
}

// base64Size is the length of a SHA-256 in base64.
const base64Size = 44

// add notes a secret of the part, unless it runs into a marker.
func (x *search) add(start, end int, id string) {
	if start < end && end <= x.limit {
		x.spans = append(x.spans, span{x.base + start, x.base + end, id})
	}
}

// allowed reports whether the list allows a match.
func (x *search) allowed(a *allow, r *rule, match span, secret string) bool {
	if a.hasStopWord(secret) {
		return true
	}
	target := secret
	switch a.Target {
	case "line":
		return x.lineAllows(a, match)
	case "match":
		start := match.start
		if r.Assign { // the name before the anchor
			if start = x.nameStart(start, 50); start == 0 && x.glued {
				return true // nobody knows what the name was before its beginning was redacted
			}
		}
		target = x.s[start:match.end]
	}
	for _, re := range a.regexes {
		if re.MatchString(target) {
			return true
		}
	}
	return false
}

// lineAllows tries the list, of which there is one at most, on the whole lines of a match. A marker in them counts as a
// word, as the secret did.
func (x *search) lineAllows(a *allow, match span) bool {
	from, to := x.base+match.start, x.base+match.end
	if x.lineStart <= from && to <= x.lineStop {
		return x.lineAllowed
	}
	start, stop := strings.LastIndexByte(x.text[:from], '\n')+1, len(x.text)
	if i := strings.IndexByte(x.text[to:], '\n'); i >= 0 {
		stop = to + i
	}
	line := unmark(x.text[start:stop])
	x.lineStart, x.lineStop = start, stop
	x.lineAllowed = slices.ContainsFunc(a.regexes, func(re *regexp.Regexp) bool { return re.MatchString(line) })
	return x.lineAllowed
}

// nameStart returns where the name begins that goes on at p, at most that many bytes before it. The letter of an escaped
// line end is no part of it.
func (x *search) nameStart(p, most int) int {
	for least := max(0, p-most); p > least && is(x.s[p-1], isIdent); p-- {
		if p > 1 && x.s[p-2] == '\\' && (x.s[p-1] == 'n' || x.s[p-1] == 'r' || x.s[p-1] == 't') {
			break
		}
	}
	return p
}

// behindCurl reports whether a command curl stands at most five lines before p. It is called with rising p.
func (x *search) behindCurl(p int) bool {
	const most = 11 // line ends: gitleaks takes five times two, and one before the option
	if x.curl < 0 {
		return false
	}
	x.curlLines += strings.Count(x.s[x.curlSeen:max(p, x.curlSeen)], "\n")
	x.curlSeen = max(p, x.curlSeen)
	return x.curlLines <= most
}

// trimLines returns the span without the line ends at its ends.
func trimLines(s string, start, end int) span {
	for start < end && s[start] == '\n' {
		start++
	}
	for start < end && s[end-1] == '\n' {
		end--
	}
	return span{start: start, end: end}
}
