package eval

import (
	"math"
	"strings"
)

func log1p(x float64) float64 { return math.Log1p(x) }

// The kinds of identifier.
const (
	kindPath   = "path"   // src/a.go, a.go
	kindSymbol = "symbol" // CamelCase, snake_case, a.b.c
	kindValue  = "value"  // numbers of three digits and more, versions, hex, words with digits in them
	kindFlag   = "flag"   // --name
)

var kinds = []string{kindPath, kindSymbol, kindValue, kindFlag}

// identifier is a text whose exact spelling matters.
type identifier struct {
	text, kind string
	// parts are what is asked for instead where the text as a whole is new: the name of a file, the words of a.b.c.
	parts []identifier
}

// identifiers returns the identifiers in a line, in order:
//
//   - paths: words joined by slashes, with a known extension, or two slashes, or something that prose does not have;
//     names of files with a known extension. Leading "/", "./", "~/" and "../" are left off, so that "./a/b.go" and
//     "/a/b.go" are the same. Of a path that is new the name of the file is taken;
//   - symbols: words with a lower case letter before an upper case one, or with an underscore between letters; such
//     and other words joined by dots; names of three and more words joined by hyphens;
//   - values: numbers of three digits and more, versions of three numbers, seven and more hexadecimal digits of both
//     sorts, words of four and more letters and digits;
//   - flags: "--" and a word.
func identifiers(line string) []identifier {
	var out []identifier
	for i := 0; i < len(line); {
		if !runByte(line[i]) {
			i++
			continue
		}
		j := i + 1
		for j < len(line) && runByte(line[j]) {
			j++
		}
		if id, ok := classify(line[i:j]); ok {
			out = append(out, id)
		} else if strings.ContainsAny(line[i:j], "./-@~") {
			out = append(out, words(line[i:j])...)
		}
		i = j
	}
	return out
}

func runByte(c byte) bool {
	return wordByte(c) || c == '.' || c == '/' || c == '-' || c == '@' || c == '~'
}

// words are the words of a run that are identifiers by themselves.
func words(run string) []identifier {
	var out []identifier
	for _, w := range strings.FieldsFunc(run, func(r rune) bool { return strings.ContainsRune("./-@~", r) }) {
		if id, ok := classifyWord(w); ok {
			out = append(out, id)
		}
	}
	return out
}

func classify(run string) (identifier, bool) {
	if name, ok := strings.CutPrefix(run, "--"); ok {
		name = strings.TrimRight(name, "-./@~")
		if len(name) > 1 && letter(name[0]) && !strings.ContainsAny(name, "./@~") {
			return identifier{text: "--" + name, kind: kindFlag}, true
		}
	}
	run = strings.TrimRight(strings.TrimLeft(run, "./~@-"), "./~@-")
	switch {
	case strings.Contains(run, "/"):
		return classifyPath(run)
	case !strings.ContainsAny(run, ".-@~"):
		return classifyWord(run)
	case strings.ContainsAny(run, "@~"):
		return identifier{}, false
	case extension(run):
		return identifier{text: run, kind: kindPath}, true
	case version(run):
		return identifier{text: run, kind: kindValue}, true
	case strings.Contains(run, "-"):
		name := strings.Count(run, "-") >= 2 && hasLetter(run) && !strings.Contains(run, ".") && !strings.Contains(run, "--")
		return identifier{text: run, kind: kindSymbol}, name
	}
	// a.b.c: no end of a sentence, no "e.g.".
	parts := strings.Split(run, ".")
	long := false
	for _, p := range parts {
		if len(p) < 2 || !letter(p[0]) && p[0] != '_' {
			return identifier{}, false
		}
		long = long || len(p) >= 3
	}
	if !long || len(parts) == 2 && parts[1][0] >= 'A' && parts[1][0] <= 'Z' && parts[0][0] >= 'a' {
		if _, ok := classifyWord(parts[1]); !ok {
			return identifier{}, false // the end of a sentence without a space behind it
		}
	}
	return identifier{text: run, kind: kindSymbol, parts: words(run)}, true
}

func classifyPath(run string) (identifier, bool) {
	parts := strings.Split(run, "/")
	last := parts[len(parts)-1]
	letters := false
	for _, p := range parts {
		if p == "" {
			return identifier{}, false // a URL's "//", a comment
		}
		letters = letters || hasLetter(p)
	}
	if !letters || len(parts) < 2 {
		return identifier{}, false
	}
	if !extension(last) && len(parts) < 3 && !strings.ContainsAny(run, "-_.@0123456789") {
		return identifier{}, false // and/or
	}
	id := identifier{text: run, kind: kindPath}
	if extension(last) {
		id.parts = []identifier{{text: last, kind: kindPath}}
	} else {
		id.parts = words(run)
	}
	return id, true
}

func classifyWord(w string) (identifier, bool) {
	lower, upper, digits, hex, hump, snake := 0, 0, 0, 0, false, false
	for i := range len(w) {
		c := w[i]
		switch {
		case c >= 'a' && c <= 'z':
			lower++
		case c >= 'A' && c <= 'Z':
			upper++
			hump = hump || i > 0 && w[i-1] >= 'a' && w[i-1] <= 'z'
		case c >= '0' && c <= '9':
			digits++
		case c == '_':
			snake = snake || i > 0 && i < len(w)-1
		}
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' {
			hex++
		}
	}
	letters := lower + upper
	switch {
	case letters == 0 && digits == len(w):
		return identifier{text: w, kind: kindValue}, digits >= 3
	case hump && len(w) >= 4, snake && letters >= 2 && len(w) >= 4:
		return identifier{text: w, kind: kindSymbol}, true
	case hex == len(w) && hex >= 7 && digits > 0:
		return identifier{text: w, kind: kindValue}, true
	case letters > 0 && digits > 0 && len(w) >= 4:
		return identifier{text: w, kind: kindValue}, true
	}
	return identifier{}, false
}

func hasLetter(s string) bool {
	for i := range len(s) {
		if letter(s[i]) {
			return true
		}
	}
	return false
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// version reports whether run is three and more numbers joined by dots.
func version(run string) bool {
	n := 0
	for p := range strings.SplitSeq(strings.TrimPrefix(run, "v"), ".") {
		if p == "" || strings.Trim(p, "0123456789") != "" {
			return false
		}
		n++
	}
	return n >= 3
}

// extensions are those that make a word with a dot the name of a file.
var extensions = func() map[string]bool {
	m := map[string]bool{}
	for e := range strings.FieldsSeq(`bash c cc cfg conf cpp cs css csv db diff env go gradle h hpp html ini java js json
		jsonl jsx kt lock log lua m md mdx mjs mod mts patch php png proto ps1 py rb rs rst scss sh sql sqlite sum svg swift
		tf tmpl toml ts tsx txt vue wasm xml yaml yml zig zsh`) {
		m[e] = true
	}
	return m
}()

// extension reports whether name ends with a known extension.
func extension(name string) bool {
	i := strings.LastIndexByte(name, '.')
	return i > 0 && extensions[name[i+1:]]
}

// patterns finds a set of identifiers in texts.
type patterns struct {
	l      *lexer
	atoms  [][]atom
	anchor []int // the first word in the atoms
	byWord [][]int32
	index  map[string]int
}

func newPatterns(l *lexer) *patterns { return &patterns{l: l, index: map[string]int{}} }

// add returns the number of an identifier.
func (p *patterns) add(text string) int {
	if n, ok := p.index[text]; ok {
		return n
	}
	n := len(p.atoms)
	atoms := p.l.lex(text).atoms
	anchor := 0
	for anchor < len(atoms) && atoms[anchor].fold < 0 {
		anchor++
	}
	p.index[text] = n
	p.atoms = append(p.atoms, atoms)
	p.anchor = append(p.anchor, anchor)
	word := atoms[anchor].word
	for int(word) >= len(p.byWord) {
		p.byWord = append(p.byWord, nil)
	}
	p.byWord[word] = append(p.byWord[word], int32(n))
	return n
}

// find calls f with every occurrence of every identifier: its number, and the first and the last of its atoms.
func (p *patterns) find(atoms []atom, f func(n, first, last int)) {
	for i := range atoms {
		w := atoms[i].word
		if int(w) >= len(p.byWord) {
			continue
		}
		for _, n := range p.byWord[w] {
			want := p.atoms[n]
			first := i - p.anchor[n]
			if first < 0 || first+len(want) > len(atoms) || !same(atoms[first:first+len(want)], want) {
				continue
			}
			f(int(n), first, first+len(want)-1)
		}
	}
}

func same(a, b []atom) bool {
	for i := range a {
		if a[i].word != b[i].word || i > 0 && !a[i].glued {
			return false
		}
	}
	return true
}
