package secrets

import (
	"embed"
	"encoding/json"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// The rules of gitleaks, and its licence, which goes with them into every program. tools/secrets makes both.
//
//go:embed gitleaks
var gitleaks embed.FS

// A rule of gitleaks, changed in two ways. The stretch of any name that most of its regular expressions begin with is
// gone: a match begins at an anchor. And a value may also end at what ends it in JSON in JSON, in prose and in code.
type rule struct {
	ID    string
	Regex string
	Or    string // another regular expression for the same, in a rule of its own
	// Anchors are in lower case: every match begins with one of them, or has one that begins at most Back bytes behind
	// its own beginning. A rule without any is tried at every place, if one of the words of Gate stands anywhere in the
	// text.
	Anchors []string
	Back    int
	Gate    []string
	After   string // a match counts only where this word stands at most five lines before it
	Assign  bool   // a match is a name, a sign and a value, and something ends the value
	// Group is the capture that is the secret; 0 is the first that is not empty, or the match where there is none, and
	// -1 is the match.
	Group   int
	Entropy float64 // of the secret; this much is not enough
	Allow   []*allow

	once sync.Once
	compiledRule
}

// allow is a list of what is no secret. Regexes look at the secret, at the "match" or at its whole "line".
type allow struct {
	Target    string
	Regexes   []string
	StopWords []string

	once    sync.Once
	regexes []*regexp.Regexp
	words   map[string][]string // StopWords by their first three bytes
}

// compiledRule is made at the first hit of an anchor: most rules never have one.
type compiledRule struct {
	re       *regexp.Regexp // of a match at the beginning, unless Back is set
	window   int            // no match is longer, in bytes
	boundary bool           // a match begins at the edge of a word
	// start has the first bytes of every match as far as they are of fixed number. A byte that is not ASCII ends the
	// comparison: a class may have runes of several bytes.
	start []byteSet
	value valueShape // of an Assign rule
	words bool       // a secret of nothing but letters, and what joins words, is allowed
}

// valueShape is what can be said of a value before the regular expression is asked.
type valueShape struct {
	bytes byteSet // all that may stand in it
	least int     // runes
	most  int     // runes
}

// knowledge is all that a search needs, made once.
type knowledge struct {
	rules     []*rule
	all       []*allow // the allowlists for all rules
	gates     []*rule  // those without anchors
	automaton *automaton
	words     []word          // by the indexes of the automaton
	ids       map[string]bool // of rules that may stand in a marker
}

// word is a word of the automaton, with what is to be done where it stands.
type word struct {
	length int
	rules  []*rule
	gate   uint64 // of rules: by their index in knowledge.gates
	finder finder // of our own
}

var known = sync.OnceValue(func() *knowledge {
	k := &knowledge{ids: map[string]bool{}}
	data, err := gitleaks.ReadFile("gitleaks/rules.json")
	if err == nil {
		err = json.Unmarshal(data, &k.rules) //nolint:musttag // the names differ in the case of a letter only
	}
	if err != nil {
		panic("secrets: the embedded rules: " + err.Error()) // the tests read them too
	}
	k.all, k.rules = k.rules[0].Allow, k.rules[1:]
	for _, a := range k.all {
		a.compile()
	}
	for _, r := range k.rules {
		if r.Or != "" {
			k.rules = append(k.rules, &rule{ID: r.ID, Regex: r.Or, Anchors: r.Anchors, Assign: r.Assign, Group: r.Group, Entropy: r.Entropy, Allow: r.Allow})
		}
	}

	var words []string
	index := map[string]int{}
	at := func(w string) *word {
		i, ok := index[w]
		if !ok {
			i = len(words)
			index[w] = i
			words = append(words, w)
			k.words = append(k.words, word{length: len(w)})
		}
		return &k.words[i]
	}
	for _, r := range k.rules {
		k.ids[r.ID] = true
		for _, a := range r.Anchors {
			w := at(a)
			w.rules = append(w.rules, r)
		}
		for _, g := range r.Gate {
			at(g).gate |= 1 << len(k.gates)
		}
		if len(r.Gate) > 0 {
			k.gates = append(k.gates, r)
		}
	}
	for w, f := range finders {
		at(w).finder = f
	}
	for _, id := range ourIDs {
		k.ids[id] = true
	}
	k.automaton = newAutomaton(words)
	return k
})

// compiled makes the parts that a search needs, at the first call.
func (r *rule) compiled() *compiledRule {
	r.once.Do(func() {
		tree, err := syntax.Parse(r.Regex, syntax.Perl)
		if err != nil {
			panic("secrets: rule " + r.ID + ": " + err.Error()) // a test compiles all rules
		}
		_, r.window = extent(tree, false)
		r.boundary = beginsAtBoundary(tree)
		r.start, _ = firstBytes(tree)
		if r.Assign {
			r.value = valueOf(tree, max(r.Group, 1))
		}
		if r.Back > 0 {
			r.re = regexp.MustCompile(r.Regex)
		} else {
			r.re = regexp.MustCompile(`\A(?:` + r.Regex + `)`)
		}
		for _, a := range r.Allow {
			a.compile()
			r.words = r.words || slices.Contains(a.Regexes, `^[a-zA-Z_.-]+$`)
		}
	})
	return &r.compiledRule
}

func (a *allow) compile() {
	a.once.Do(func() {
		for _, re := range a.Regexes {
			a.regexes = append(a.regexes, regexp.MustCompile(re))
		}
		if len(a.StopWords) > 0 {
			a.words = make(map[string][]string, len(a.StopWords))
			for _, w := range a.StopWords {
				a.words[w[:3]] = append(a.words[w[:3]], w)
			}
		}
	})
}

// hasStopWord reports whether one of the words stands in s, whatever the case of its letters.
func (a *allow) hasStopWord(s string) bool {
	if a.words == nil {
		return false
	}
	s = strings.ToLower(s)
	for i := 0; i+3 <= len(s); i++ {
		for _, w := range a.words[s[i:i+3]] {
			if strings.HasPrefix(s[i:], w) {
				return true
			}
		}
	}
	return false
}

// extent returns the least and the greatest number of bytes of a match of re, or of runes where a rune counts as one. The
// greatest is unbounded where there is none.
func extent(re *syntax.Regexp, runes bool) (least, most int) {
	widest := utf8.UTFMax
	if runes {
		widest = 1
	}
	repeat := func(lo, hi int) (int, int) {
		l, m := extent(re.Sub[0], runes)
		if hi < 0 || m > unbounded/max(hi, 1) {
			return l * lo, unbounded
		}
		return l * lo, m * hi
	}
	switch re.Op {
	case syntax.OpLiteral: // which may match runes of other lengths, if case does not count
		return len(re.Rune), len(re.Rune) * widest
	case syntax.OpCharClass:
		if n := len(re.Rune); n > 0 && re.Rune[n-1] < utf8.RuneSelf {
			return 1, 1
		}
		return 1, widest
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1, widest
	case syntax.OpCapture:
		return extent(re.Sub[0], runes)
	case syntax.OpStar:
		return repeat(0, -1)
	case syntax.OpPlus:
		return repeat(1, -1)
	case syntax.OpQuest:
		return repeat(0, 1)
	case syntax.OpRepeat:
		return repeat(re.Min, re.Max)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			l, m := extent(sub, runes)
			least, most = least+l, min(most+m, unbounded)
		}
	case syntax.OpAlternate:
		least = unbounded
		for _, sub := range re.Sub {
			l, m := extent(sub, runes)
			least, most = min(least, l), max(most, m)
		}
	default: // the empty ones
	}
	return least, most
}

// unbounded is more bytes than any text has, and half of what an int can count.
const unbounded = 1 << 30

func beginsAtBoundary(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpWordBoundary:
		return true
	case syntax.OpConcat, syntax.OpCapture:
		return beginsAtBoundary(re.Sub[0])
	default:
		return false
	}
}

// firstBytes returns the sets of the first bytes of a match of re, and whether they are all bytes of every match.
func firstBytes(re *syntax.Regexp) (sets []byteSet, whole bool) {
	const most = 64
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			var s byteSet
			addRune(&s, r)
			if re.Flags&syntax.FoldCase != 0 {
				for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
					addRune(&s, f)
				}
			}
			sets = append(sets, s)
		}
		return sets, true
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		var s byteSet
		addClass(&s, re)
		return []byteSet{s}, true
	case syntax.OpCapture:
		return firstBytes(re.Sub[0])
	case syntax.OpRepeat:
		one, whole := firstBytes(re.Sub[0])
		for range re.Min {
			sets = append(sets, one...)
			if !whole || len(sets) > most {
				return sets, false
			}
		}
		return sets, re.Min == re.Max
	case syntax.OpPlus:
		sets, _ = firstBytes(re.Sub[0])
		return sets, false
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			more, whole := firstBytes(sub)
			sets = append(sets, more...)
			if !whole || len(sets) > most {
				return sets, false
			}
		}
		return sets, true
	case syntax.OpAlternate:
		sets, whole = firstBytes(re.Sub[0])
		sets = slices.Clone(sets)
		for _, sub := range re.Sub[1:] {
			more, w := firstBytes(sub)
			whole = whole && w && len(more) == len(sets)
			sets = sets[:min(len(sets), len(more))]
			for i := range sets {
				sets[i].addAll(&more[i])
			}
		}
		return sets, whole
	case syntax.OpQuest, syntax.OpStar:
		return nil, false
	default: // the empty ones
		return nil, true
	}
}

// valueOf returns the shape of the capture of that number.
func valueOf(re *syntax.Regexp, capture int) (v valueShape) {
	if re.Op == syntax.OpCapture && re.Cap == capture {
		v.least, v.most = extent(re, true)
		addBytes(&v.bytes, re)
		return v
	}
	for _, sub := range re.Sub {
		if v := valueOf(sub, capture); v.least > 0 {
			return v
		}
	}
	return v
}

// addBytes adds all bytes that may stand in a match of re.
func addBytes(s *byteSet, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		sets, _ := firstBytes(re)
		for i := range sets {
			s.addAll(&sets[i])
		}
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		addClass(s, re)
	default:
		for _, sub := range re.Sub {
			addBytes(s, sub)
		}
	}
}

func addClass(s *byteSet, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		*s = byteSet{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}
	default:
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= min(re.Rune[i+1], utf8.RuneSelf); r++ {
				addRune(s, r)
			}
			if re.Rune[i+1] >= utf8.RuneSelf {
				addRune(s, utf8.RuneSelf)
			}
		}
	}
}

// addRune adds an ASCII rune as its byte, and any other one as all the bytes that it may begin with or go on with.
func addRune(s *byteSet, r rune) {
	if r < utf8.RuneSelf {
		s.add(byte(r))
		return
	}
	s[2], s[3] = ^uint64(0), ^uint64(0)
}
