package secrets

import (
	"strings"
	"unicode/utf8"
)

// A name and its value stand together in more ways than around a sign: as two members of a pair, as two elements of a
// list, as a tag and its content, as two cells of a table, and in a sentence. What follows knows these places.

// connectors are words that stand between a name and its value in a sentence, in lower case.
var connectors = wordSet("is was = ist war lautet est es era are be")

// foreignConnectors are the same behind names in scripts that have no blanks between words.
var foreignConnectors = []string{"是", "为", "為", "は", "은", "는"}

// keyWords are the last words of names whose value is the name of another value.
var keyWords = wordSet("name key label header variable field id")

// character returns the character at p with its escapes undone, as far as it is one that places are told by, and where
// what follows begins. The escapes are those of JSON, in JSON as well, and of markup; a wide colon is a colon. At the end
// of s the character is 0.
func character(s string, p int) (c byte, next int) {
	if p >= len(s) {
		return 0, p
	}
	switch s[p] {
	case '\\':
		const most = 8 // backslashes
		q := p
		for q < len(s) && q < p+most && s[q] == '\\' {
			q++
		}
		if q == len(s) {
			return '\\', q
		}
		switch c := s[q]; c {
		case '"', '\'', '`':
			return c, q + 1
		case 'n', 'r':
			return '\n', q + 1
		case 't':
			return '\t', q + 1
		case 'u':
			if c := hexEscape(s[q:]); c != 0 {
				return c, q + len("u0000")
			}
		}
		return '\\', q
	case '&':
		for _, e := range entities {
			if strings.HasPrefix(s[p:], e.text) {
				return e.c, p + len(e.text)
			}
		}
	case wideColon[0]:
		switch {
		case strings.HasPrefix(s[p:], wideColon):
			return ':', p + len(wideColon)
		case strings.HasPrefix(s[p:], wideEquals):
			return '=', p + len(wideEquals)
		}
	}
	return s[p], p + 1
}

const (
	wideColon  = "：" // of East Asian text
	wideEquals = "＝"
)

var entities = []struct {
	text string
	c    byte
}{{"&quot;", '"'}, {"&#34;", '"'}, {"&apos;", '\''}, {"&#39;", '\''}, {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}}

// hexEscape returns the character that an escape such as u0022 at the beginning of s stands for, if places are told by
// it, and 0 otherwise.
func hexEscape(s string) byte {
	if len(s) < len("u0000") || s[:3] != "u00" {
		return 0
	}
	switch s[3:5] {
	case "22":
		return '"'
	case "26":
		return '&'
	case "27":
		return '\''
	case "3c", "3C":
		return '<'
	case "3d", "3D":
		return '='
	case "3e", "3E":
		return '>'
	default:
		return 0
	}
}

// characterBefore is character for the one that ends at p. At the beginning of s the character is 0.
func characterBefore(s string, p int) (c byte, start int) {
	if p <= 0 {
		return 0, 0
	}
	c, start = s[p-1], p-1
	switch {
	case c == ';':
		for _, e := range entities {
			if strings.HasSuffix(s[:p], e.text) {
				return e.c, p - len(e.text)
			}
		}
		return c, start
	case c == '"' || c == '\'':
	case (c == 'n' || c == 'r') && p > 1 && s[p-2] == '\\':
		c = '\n'
	case p > 5 && s[p-6] == '\\' && hexEscape(s[p-5:p]) != 0:
		c, start = hexEscape(s[p-5:p]), p-5
	default:
		return c, start
	}
	for least := max(0, start-8); start > least && s[start-1] == '\\'; {
		start--
	}
	return c, start
}

// blanks returns where the blanks and tabs end that begin at p.
func blanks(s string, p int) int {
	const most = 64 // more is layout
	for end := min(len(s), p+most); p < end && (s[p] == ' ' || s[p] == '\t'); {
		p++
	}
	return p
}

// place looks for the value of a name that has no sign behind it. What stands behind the name, its quotes and blanks
// begins at p.
func (x *search) place(n *name, p int) {
	s := x.s
	if s[n.end-1] >= utf8.RuneSelf {
		for _, is := range foreignConnectors {
			if strings.HasPrefix(s[p:], is) {
				x.assign(x.word(n, p+len(is), places{sure: true}))
				return
			}
		}
	}
	switch c := s[p]; {
	case c == '>' || c == '&' || c == 'u' && s[p-1] == '\\':
		x.tag(n)
		x.pair(n)
	case c == '|':
		x.cell(n, p)
	case c == ',' || c == '\n' || c == '<' || c == 'n' && s[p-1] == '\\' || c == ';':
		if n.option {
			x.element(n, p)
		} else {
			x.pair(n)
		}
	case s[n.end] == ' ' || s[n.end] == '\t':
		// With two attributes in one tag nothing but a blank stands between a name and its value.
		if p > n.end+1 && (c|0x20 == 'v') {
			x.pair(n)
		}
		if !n.quoted {
			x.sentence(n)
		}
	case c == 'v' && n.quoted:
		x.pair(n)
	}
}

// element adds the value of an option in a list, as an array of arguments is one: the element behind it, in quotes as the
// option is, or both without. The comma, or the end of the line, stands at p.
func (x *search) element(n *name, p int) {
	const most = 64 // bytes between them
	s := x.s
	dash := false // of a list in YAML
	for end := min(len(s), p+most); p < end; {
		c, next := character(s, p)
		switch {
		case strings.IndexByte(", \t\n\r\\", c) >= 0:
			p = next
		case c == '-' && !dash && next < end && s[next] == ' ':
			dash, p = true, next
		case n.quoted && (c == '"' || c == '\'' || c == '`') && next < len(s) && s[next] != '-':
			m := *n
			m.element = true
			x.quotedText(&m, p)
			return
		case !n.quoted && dash && c != '"' && c != '\'':
			x.bareValue(n, p, false, true)
			return
		default:
			return
		}
	}
}

// pair adds the value of a pair such as
//
//	name: DB_PASSWORD
//	value: ...
//
// in YAML, JSON, XML, a tag or a language: what stands before the name says that it is one, and a member for the value
// comes next.
func (x *search) pair(n *name) {
	const most = 64 // bytes between the name and the member
	s := x.s

	// Before the name: a quote, a sign or the end of a tag, and a word for a name.
	p, signed := n.start, false
	for range 16 {
		c, start := characterBefore(s, p)
		if c != '"' && c != '\'' && c != ' ' && c != '\t' && c != ':' && c != '=' && c != '>' {
			break
		}
		signed = signed || c == ':' || c == '=' || c == '>'
		p = start
	}
	if !signed {
		return
	}
	from := p
	for from > 0 && from > p-24 && is(s[from-1], isIdent) {
		from--
	}
	if from == 0 && x.glued || !keyWords.has(lastWord(s[from:p])) {
		return
	}

	// Behind the name: what separates members, and the member of the value.
	end := min(len(s), n.end+most)
	p = n.end
	for p < end {
		c, next := character(s, p)
		if isLetter(c) && next == p+1 {
			break
		}
		switch c {
		case '/': // the end of the tag
			if before, _ := characterBefore(s, p); before != '<' {
				return
			}
			for next < end && (is(s[next], isIdent) || s[next] == ':') {
				next++
			}
		case '"', '\'', ' ', '\t', '\n', '\r', ',', ';', '<', '>', '-', '\\':
		default:
			return
		}
		p = next
	}
	from = p
	for p < end && is(s[p], isIdent) {
		p++
	}
	if p >= end || !strings.EqualFold(lastWord(s[from:p]), "value") {
		return
	}
	m := *n
	m.start, m.end = from, p
	c, next := character(s, p)
	for range 4 {
		if c != '"' && c != '\'' && c != ' ' {
			break
		}
		m.quoted = m.quoted || c != ' '
		p = next
		c, next = character(s, p)
	}
	switch c {
	case ':', '=':
		m.lineStart = x.atLineStart(from)
		x.readValue(&m, p)
	case '>':
		x.content(&m, next)
	}
}

// tag adds the content of a tag whose name is n.
func (x *search) tag(n *name) {
	s := x.s
	p := n.start
	if p > 0 && s[p-1] == ':' { // behind the prefix of a namespace
		p--
		for least := max(0, p-24); p > least && is(s[p-1], isIdent); {
			p--
		}
	}
	if c, _ := characterBefore(s, p); c != '<' {
		return
	}
	if c, next := character(s, n.end); c == '>' {
		x.content(n, next)
	}
}

// content adds the text between two tags that begins at p.
func (x *search) content(n *name, p int) {
	const most = 1024
	s := x.s
	end := p
	for ; ; end++ {
		if end >= len(s) || end-p == most || s[end] == '\n' {
			return
		}
		if s[end] == '<' || s[end] == '&' || s[end] == '\\' {
			if c, next := character(s, end); c == '<' {
				if strings.HasPrefix(s[next:], "/") || strings.HasPrefix(s[next:], `\/`) {
					break // the end of the element
				}
				return
			}
		}
	}
	from := p
	for from < end && s[from] == ' ' {
		from++
	}
	to := end
	for to > from && s[to-1] == ' ' {
		to--
	}
	if from < to && s[from] != '(' && x.isQuotedSecret(n, s[from:to]) { // and no regular expression
		x.assign(from, to)
	}
}

// quotedText adds the text in quotes at p, however the quotes are escaped.
func (x *search) quotedText(n *name, p int) {
	s := x.s
	c, next := character(s, p)
	if s[next-1] == c {
		x.quotedValue(n, next, next-1-p, c)
		return
	}
	// The quotes are escaped as entities, or by their numbers, the one behind the text as the one before it.
	const most = 1024
	text := s[next:min(len(s), next+most)]
	end := strings.Index(text, s[p:next])
	if end < 0 || strings.ContainsAny(text[:end], "\n") || !x.isQuotedSecret(n, text[:end]) {
		return
	}
	x.assign(next, next+end)
}

// cell adds the next cell of a table in Markdown, or those below where the name heads a column. The name is all of the
// cell that ends at p.
func (x *search) cell(n *name, p int) {
	s := x.s
	for from := n.start; ; from-- {
		if from == 0 || from < n.start-24 {
			return
		}
		if c := s[from-1]; c == '|' {
			break
		} else if c != ' ' && c != '*' && c != '`' && !isLetter(c) { // a name of several words
			return
		}
	}
	if from, to := x.word(n, p+1, places{sure: true, until: '|'}); from < to {
		x.assign(from, to)
		return
	}

	const (
		mostLine = 512
		mostRows = 50
	)
	line := strings.LastIndexByte(s[max(0, n.start-mostLine):n.start], '\n') + 1 + max(0, n.start-mostLine)
	column := strings.Count(s[line:n.start], "|")
	for row := range mostRows {
		end := strings.IndexByte(s[p:min(len(s), p+mostLine)], '\n')
		if end < 0 {
			return
		}
		p += end + 1
		rest := s[p:min(len(s), p+mostLine)]
		if !strings.HasPrefix(rest, "|") {
			return
		}
		if row == 0 { // the line under the heads
			if end := max(0, strings.IndexByte(rest, '\n')); strings.Trim(rest[:end], "|:- \r") != "" || !strings.Contains(rest[:end], "-") {
				return
			}
			continue
		}
		at := 0
		for k := 1; k < column && at >= 0; k++ {
			if next := strings.IndexByte(rest[at+1:], '|'); next < 0 {
				at = -1
			} else {
				at += 1 + next
			}
		}
		if at < 0 || strings.Contains(rest[:at], "\n") {
			return
		}
		from, to := x.word(n, p+at+1, places{sure: true, until: '|'})
		x.add(from, to, idAssigned)
	}
}

// sentence adds the value behind a name in a sentence, such as "the password for bob is ...", or right behind it, as in
// the file .netrc.
func (x *search) sentence(n *name) {
	const (
		mostWords = 8
		mostBytes = 80
	)
	s := x.s
	p := n.end
	end := min(len(s), p+mostBytes)
	for k := range mostWords {
		from := blanks(s, p)
		if from == p {
			return
		}
		p = from
		for p < end && s[p] > ' ' && s[p] != '|' {
			p++
		}
		if p == end && k > 0 {
			return
		}
		w := s[from:p]
		switch {
		case w == "" || strings.IndexByte(",;:.!?(", w[0]) >= 0:
			return
		case connectors.has(w):
			x.assign(x.word(n, p, places{sure: true}))
			return
		case k == 0 && !n.token && x.isLogin(n.start):
			x.assign(x.word(n, n.end, places{any: true, close: true}))
			return
		case n.short:
			return // pass is a verb, above all
		case k == 0 && !n.token && strong(w):
			x.assign(x.word(n, n.end, places{close: true}))
			return
		case strings.IndexByte(",;:.!?)", w[len(w)-1]) >= 0:
			return // the sentence ends
		}
	}
}

// isLogin reports whether a machine and a login stand before p, as in the file .netrc.
func (x *search) isLogin(p int) bool {
	rest, _ := lastField(x.s[:p])
	rest, login := lastField(rest)
	if login != "login" {
		return false
	}
	rest, host := lastField(rest)
	_, machine := lastField(rest)
	return machine == "machine" || host == "default"
}

// lastField returns the last word of s, and what stands before it.
func lastField(s string) (rest, field string) {
	const most = 64 // bytes of a word, and of the space behind it
	end := len(s)
	for least := max(0, end-most); end > least && is(s[end-1], isSpace); {
		end--
	}
	start := end
	for least := max(0, end-most); start > least && !is(s[start-1], isSpace); {
		start--
	}
	return s[:start], s[start:end]
}

// places says where a word stands that may be a secret.
type places struct {
	any   bool // the place says that it is a secret
	sure  bool // the place says that it is the value of the name
	close bool // nothing but a blank stands between them
	until byte // ends the place, as the cell of a table
}

// word returns where the first word behind p begins and ends, without what emphasizes or quotes it, if it looks like a
// secret. In a sentence it has to look like one more than beside a sign. Otherwise both are 0.
func (x *search) word(n *name, p int, where places) (from, to int) {
	const most = 1024
	s := x.s
	p = blanks(s, p)
	if strings.HasPrefix(s[p:], wideColon) {
		p += len(wideColon)
	}
	var quote byte
	for p < len(s) && (s[p] == '*' || s[p] == '`' || s[p] == '"' || s[p] == '\'' || s[p] == ':' && !where.close) {
		if s[p] != '*' && s[p] != ':' {
			quote = s[p]
		}
		p++
		if s[p-1] == ':' {
			p = blanks(s, p)
		}
	}
	end := p
	for end < len(s) && end-p < most && s[end] > ' ' && s[end] != quote && s[end] != '\\' && (s[end] != where.until || where.until == 0) &&
		s[end] != '<' && s[end] != '"' && s[end] != '`' && !endsSentence(s[end:]) {
		end++
	}
	if end-p == most {
		return 0, 0
	}
	if where.until != 0 {
		if stop := blanks(s, skipMarks(s, end)); stop == len(s) || s[stop] != where.until {
			return 0, 0 // more than a word
		}
	}
	if quote == 0 {
		for end > p && strings.IndexByte("*.,;:)", s[end-1]) >= 0 {
			end--
		}
	}
	value := s[p:end]
	if noSecret(n, value) || called(value) {
		return 0, 0
	}
	switch {
	case where.any:
	case n.token:
		if len(value) < 16 || !allMixed(value) || isNamed(value) {
			return 0, 0
		}
	case !where.sure:
		if !strong(value) {
			return 0, 0
		}
	case !fair(value):
		return 0, 0
	}
	return p, end
}

// skipMarks returns where marks of emphasis and quotes end that begin at p.
func skipMarks(s string, p int) int {
	const most = 4
	for end := min(len(s), p+most); p < end && (s[p] == '*' || s[p] == '`'); {
		p++
	}
	return p
}

// endsSentence reports whether s begins with a mark of East Asian text that ends a sentence or a part of it.
func endsSentence(s string) bool {
	if s[0] < utf8.RuneSelf {
		return false
	}
	for _, m := range []string{"。", "，", "、", "；", "）", "」", "”", "’"} {
		if strings.HasPrefix(s, m) {
			return true
		}
	}
	return false
}
