package secrets

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what a Known holds.
const (
	mostKnown      = 1000     // values
	mostKnownBytes = 64 << 10 // bytes of all of them
	leastKnown     = 8        // bytes of a value: a shorter one stands in other words
	mostOfKnown    = 1 << 10  // bytes of a value: a longer one is known by its beginning
	leastOfKey     = 16       // bytes of a line of a private key
)

// Known is the values of secrets, to be removed wherever they stand. What says in one text that a word is a password may
// be missing in another one that repeats the word, as a summary does.
//
// A Known does not change. The zero value knows nothing, and so does nil.
type Known struct {
	// The automaton of Aho and Corasick. State 0 is its root, from which a byte without an edge leads back to it.
	root   [256]int32
	edges  map[edge]int32
	states []knownState
}

type edge struct {
	from int32
	c    byte
}

type knownState struct {
	suffix int32  // the state of the longest proper suffix
	length int    // of the longest value that ends there, in bytes; 0 if none does
	id     string // of its rule
}

// knownValue is a value, and the rule that has found it.
type knownValue struct{ text, id string }

// Secrets returns the values that Redact replaces in texts: each one of at least eight bytes that is no ordinary word and
// no number, a thousand of them at most, those of the first texts first. A value is known as it stands there, and without
// its escapes. Of a private key, each line is known for itself. The values of a text are kept as the results of Redact are.
func (r *Redactor) Secrets(texts ...string) *Known {
	k := &Known{}
	seen := map[string]bool{}
	size := 0
	for _, text := range texts {
		for _, v := range r.search(text).values {
			if seen[v.text] || size+len(v.text) > mostKnownBytes {
				continue
			}
			if len(seen) == mostKnown {
				k.finish()
				return k
			}
			seen[v.text] = true
			size += len(v.text)
			k.add(v)
		}
	}
	k.finish()
	return k
}

// Remove returns text with every known value in it replaced by the marker of the rule that has found it, and their number.
// Values that overlap count as one. A text without any comes back as it is. The time grows with the length of text only.
func (k *Known) Remove(text string) (removed string, found int) {
	if k == nil || len(k.states) == 0 {
		return text, 0
	}
	var spans []span
	for at := 0; at < len(text); {
		stop, next := nextMarker(text, at)
		state := int32(0)
		for i := at; i < stop; i++ {
			state = k.step(state, text[i])
			if s := &k.states[state]; s.length > 0 {
				spans = appendMerged(spans, span{i + 1 - s.length, i + 1, s.id})
			}
		}
		at = max(next, stop)
	}
	return replace(text, spans), len(spans)
}

// step returns the state behind a byte.
func (k *Known) step(state int32, c byte) int32 {
	for state != 0 {
		if next, ok := k.edges[edge{state, c}]; ok {
			return next
		}
		state = k.states[state].suffix
	}
	return k.root[c]
}

// appendMerged appends a span that ends behind all others, and makes one of those that overlap with it.
func appendMerged(spans []span, s span) []span {
	for len(spans) > 0 {
		last := spans[len(spans)-1]
		if s.start >= last.end {
			break
		}
		s.start = min(s.start, last.start)
		if vagueness(last.id) < vagueness(s.id) {
			s.id = last.id
		}
		spans = spans[:len(spans)-1]
	}
	return append(spans, s)
}

// add adds the path of a value to the trie.
func (k *Known) add(v knownValue) {
	if len(k.states) == 0 {
		k.states = append(k.states, knownState{})
		k.edges = map[edge]int32{}
	}
	state := k.root[v.text[0]]
	if state == 0 {
		state = k.newState()
		k.root[v.text[0]] = state
	}
	for i := 1; i < len(v.text); i++ {
		e := edge{state, v.text[i]}
		next, ok := k.edges[e]
		if !ok {
			next = k.newState()
			k.edges[e] = next
		}
		state = next
	}
	k.states[state].length, k.states[state].id = len(v.text), v.id
}

func (k *Known) newState() int32 {
	k.states = append(k.states, knownState{})
	return int32(len(k.states) - 1)
}

// finish makes the automaton of the trie: each state learns of its longest proper suffix, the shorter ones first.
func (k *Known) finish() {
	type child struct {
		c     byte
		state int32
	}
	children := make([][]child, len(k.states))
	for e, state := range k.edges {
		children[e.from] = append(children[e.from], child{e.c, state})
	}
	var queue []int32
	for _, state := range k.root {
		if state != 0 {
			queue = append(queue, state)
		}
	}
	for at := 0; at < len(queue); at++ {
		state := queue[at]
		for _, c := range children[state] {
			suffix := k.step(k.states[state].suffix, c.c)
			s := &k.states[c.state]
			s.suffix = suffix
			if s.length == 0 {
				s.length, s.id = k.states[suffix].length, k.states[suffix].id
			}
			queue = append(queue, c.state)
		}
	}
}

// valuesOf returns the values of the secrets in text that are worth to be known elsewhere. They do not hold on to text.
func valuesOf(text string, spans []span) []knownValue {
	var values []knownValue
	add := func(value, id string) {
		if len(value) > mostOfKnown {
			cut := mostOfKnown
			for cut > 0 && !utf8.RuneStart(value[cut]) {
				cut--
			}
			value = value[:cut]
		}
		if len(values) < mostKnown && isMemorable(value, id) {
			values = append(values, knownValue{strings.Clone(value), id})
		}
	}
	for _, s := range spans {
		value := text[s.start:s.end]
		if s.id == idKey {
			for _, line := range keyLines(value) {
				add(line, s.id)
			}
			continue
		}
		add(value, s.id)
		for _, v := range unescapedValues(value, s.id) {
			add(v, s.id)
		}
	}
	return values
}

// isMemorable reports whether a value can be told from words and numbers wherever it stands.
func isMemorable(value, id string) bool {
	if len(value) < leastKnown {
		return false
	}
	switch id {
	case idAssigned, idURL, idHeader, idCookie, idCurl, idCommand, idKubernetes:
		l := lookAt(value)
		letter := l.lower || l.upper || strings.ContainsFunc(value, func(r rune) bool { return r >= utf8.RuneSelf })
		return letter && !isFile(value) && (l.digit || l.symbols > 0 || l.lower && strings.ContainsAny(value[1:], capitals) || strings.Count(value, " ") > 2)
	default:
		return true // it has a shape
	}
}

// keyLines returns the lines of the body of a private key.
func keyLines(key string) []string {
	var lines []string
	for p := 0; p < len(key); {
		if key[p] == '\\' { // and a letter, which is no part of the line that follows
			for p < len(key) && key[p] == '\\' {
				p++
			}
			p++
			continue
		}
		end := skip(key, p, isBase64, len(key))
		if end-p >= leastOfKey {
			lines = append(lines, key[p:end])
		}
		p = max(end, p+1)
	}
	return lines
}

// unescapedValues returns what a value stands for: that of a text in JSON, of a part of a URL, or of base64.
func unescapedValues(value, id string) (values []string) {
	const mostLevels = 3 // of JSON in JSON
	text := value
	for range mostLevels {
		var inner string
		if !strings.Contains(text, `\`) || json.Unmarshal([]byte(`"`+text+`"`), &inner) != nil || inner == text {
			break
		}
		values, text = append(values, inner), inner
	}
	if strings.ContainsAny(text, `"\`) {
		values = append(values, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text))
	}
	if strings.Contains(value, "%") {
		if inner, err := url.PathUnescape(value); err == nil && inner != value {
			values = append(values, inner)
		}
	}
	if id == idKubernetes || id == idHeader {
		inner, err := base64.StdEncoding.DecodeString(value)
		if err != nil || !utf8.Valid(inner) || strings.ContainsFunc(string(inner), unicode.IsControl) {
			return values
		}
		values = append(values, string(inner))
		if _, password, ok := strings.Cut(string(inner), ":"); ok { // of the scheme Basic
			values = append(values, password)
		}
	}
	return values
}
