package secrets

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// The words of which one makes a name that of a secret, in lower case.
var (
	// A person may have chosen the value, so it may be any word.
	passwordWords = []string{"password", "passwd", "passphrase", "secret", "passwort", "kennwort"}
	// These are words for a password only where they are a word of their own.
	shortWords = []string{"pass", "pwd", "pw", "senha", "mot de passe"}
	// The same in the letters of other scripts, in which no case is told from another. What the automaton looks for is a
	// part of each, of the fewest different bytes.
	foreignWords = []struct{ name, part string }{
		{"contraseña", "contrase"}, {"пароль", "арол"}, {"Пароль", "арол"}, {"密码", "密"}, {"密碼", "密"}, {"パスワード", "スワ"}, {"비밀번호", "밀번"},
	}
	// A machine has made the value, so it has more than words. The word is also one for many other things.
	tokenWords = []string{
		"token", "credential", "api_key", "api-key", "api key", "apikey", "access_key", "access-key", "accesskey",
		"private_key", "private-key", "privatekey", "encryption_key", "signing_key", "auth_key",
	}
)

// notValues are last words of names that have a word for a secret in them and something else as their value.
var notValues = wordSet(`
	address age alg algorithm algorithms amount arn at attempts attribute auth available backend balance batch bits block body
	budget bytes callback cap category chars charset check class code column columns complexity config configured confirmation
	cost count counter counts created cap data date days default description digest dir directory disabled duration element email
	enabled encoder end endpoint engine env err error errors exists exp expired expires expiry expiration factory field fields
	file filename files fn form format found func generator group handler header headers help hint host icon id ids index info
	input interface interval issuer key_id kind label labels len length level lifetime limit limiter limits line link list loc
	location login mac manager map max message messages method metrics min mode model module msg name namespace names number
	object offset option options or owner page param parameter params parser path paths pattern per permission permissions
	placeholder plugin policy pool port pos position prefix price pricing prompt property provider quota rate ratio reader ref
	reference refs regex regexp region request required requirements reset resolver response result role rotation rule rules
	scheme schema scope scopes section separator serializer server service set size source space split start state stats status
	store storage strategy strength string style suffix summary table tag tags test tests text threshold time timeout title total
	trigger ttl type types unit units updated uri url urls usage use used user username users utils valid validation validator
	value_from variable vault version view window writer
`)

// notBefore are words that make a token something of a parser, a model or a list.
var notBefore = wordSet(`
	begin bos cancel cancellation class cls continuation cont cur current delim end eof eos first image input invalid last
	lex lexer mask max min next num output pad page pagination parse parser peek prev previous prompt completion reasoning sep
	special start stop sync tok total unk vocab
`)

// noValues are values that stand for another one, or for none, in lower case.
var noValues = wordSet(`
	any array bar base64 compat db files systemd basic bearer blank bool boolean byte bytes char credential credentials date default disabled dummy empty
	enabled env environment example fake false float float64 foo go hidden int int32 int64 integer iota key keyring map masked
	missing mock mysecret nil no none not null number object off omitted on option optional pass passphrase passwd password
	plaintext private promise prompt public pwd rand random read redacted removed required sample secret secret-name self setof
	str string strings sys tbd test testing text this todo token tokens true type uint8array undefined unknown unset unsigned uint uint32
	uint64 username user value varchar void yes apikey api_key api-key dict list tuple
`)

// fillers are beginnings of values that stand for another one, in lower case.
var fillers = []string{
	"change", "your", "example", "sample", "dummy", "placeholder", "insert", "replace", "enter", "todo", "redacted", "my-", "my_",
	"some-", "some_", "fake", "http://", "https://", "file:", "arn:", "vault:", "op://", "env:", "env.", "secret:", "secrets.",
	"process.env", "os.environ", "import.meta", "config.", "self.", "this.", "./", "../", "~/",
}

// fillersInside are words that tell a filler wherever they stand in it, in lower case.
var fillersInside = []string{"changeme", "change_me", "change-me", "placeholder", "xxxx"}

// words is a set of words in lower case, none longer than longestWord.
type words map[string]bool

const longestWord = 24

func wordSet(list string) words {
	set := words{}
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}

// has reports whether word is in the set, whatever the case of its letters.
func (w words) has(word string) bool {
	var lower [longestWord]byte
	if len(word) > longestWord {
		return false
	}
	for i := range len(word) {
		lower[i] = toLower(word[i])
	}
	return w[string(lower[:len(word)])]
}

// containsFold reports whether word, which is in lower case, stands in s, whatever the case of the letters of s.
func containsFold(s, word string) bool {
	for ; len(s) >= len(word); s = s[1:] {
		if hasPrefixFold(s, word) {
			return true
		}
	}
	return false
}

func hasPrefixFold(s, prefix string) bool {
	if len(s) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if toLower(s[i]) != prefix[i] {
			return false
		}
	}
	return true
}

// name is a name that has a word for a secret in it.
type name struct {
	start, end int
	text       string
	token      bool // its word is one of tokenWords
	plural     bool // its word is
	upper      bool // it is written as environment variables are
	lineStart  bool // nothing but white space, a dash, a word such as export and a quote stands before it in its line
	option     bool // it is an option of a command
	query      bool // it is a parameter of a URL
	quoted     bool // it stands in quotes, and so does its value then, if it is text
	element    bool // it is an element of a list, and its value the next one
	short      bool // its word is one of shortWords, and all of it: the value has to tell that it is a secret
}

// assigned finds the value of a name for a secret, whatever it is made of, as long as it can be told from source code
// and from prose. The word of the name begins at start and ends at end.
func assigned(token bool) finder {
	return func(x *search, start, end int) { x.named(&name{token: token}, start, end) }
}

// assignedShort is assigned for one of shortWords.
func assignedShort(x *search, start, end int) {
	const most = 64 // bytes before the word
	s := x.s
	if end < len(s) && (isLower(s[end]) || isUpper(s[end]) && !isLower(s[end-1])) || start == 0 && x.glued {
		return
	}
	if from := x.nameStart(start, most); from < start && s[from] != '-' { // options run words together, as in -storepass
		before := s[start-1]
		if isDigit(before) || isUpper(before) || isLower(before) && !isUpper(s[start]) {
			return // within a word
		}
	}
	x.named(&name{short: start == 0 || s[start-1] != '_'}, start, end)
}

// assignedForeign is assigned for the words that have that part.
func assignedForeign(part string) finder {
	return func(x *search, start, _ int) {
		for _, w := range foreignWords {
			if w.part != part {
				continue
			}
			from := start - strings.Index(w.name, part)
			if from < 0 || !strings.HasPrefix(x.s[from:], w.name) && !(part == "contrase" && hasPrefixFold(x.s[from:], w.name)) {
				continue
			}
			n := name{}
			x.named(&n, from, from+len(w.name))
			return
		}
	}
}

// named finds the value of the name that has a word for a secret in it, from start to end.
func (x *search) named(n *name, start, end int) {
	if start < x.assignedDone {
		return
	}
	sign, signed := x.readName(n, start, end)
	if sign < 0 || n.token && n.end <= end+1 && notBefore.has(lastWord(n.text[:len(n.text)-(n.end-start)])) {
		return
	}
	if signed {
		x.readValue(n, sign)
	} else {
		x.place(n, sign)
	}
}

// readName reads the name around the word, and returns where what follows it stands, and whether that is a sign, or a
// value where the name is an option. The position is -1 where there is no name. What most names fail in comes first.
func (x *search) readName(n *name, start, end int) (sign int, signed bool) {
	const most = 64 // bytes before the word and behind it
	s := x.s
	n.end = skip(s, end, isIdent, most)
	sign = n.end
	for sign < len(s) && sign < n.end+8 && (is(s[sign], isQuote) && s[sign] != '\n' || s[sign] == ']' || s[sign] == '*') {
		sign++
	}
	if sign == len(s) {
		return -1, false
	}
	switch c := s[sign]; c {
	case ':', '=':
		signed = true
	case wideColon[0]:
		c, _ = character(s, sign)
		signed = c < utf8.RuneSelf
	case '&', 'u': // a quote that is escaped by its name, or by its number
		q := sign
		if c == 'u' && sign > n.end {
			q--
		}
		if c, next := character(s, q); (c == '"' || c == '\'') && next < len(s) {
			sign = blanks(s, next)
		}
		if sign == len(s) {
			return -1, false
		}
		signed = s[sign] == ':' || s[sign] == '='
	default:
		if sign == n.end && c != '>' && c != '<' && c != '|' && c != ',' && c != '\n' && c < utf8.RuneSelf {
			return -1, false
		}
	}
	if rest := s[end:n.end]; rest != "" && !n.readRest(s[end-1], rest) {
		return -1, false
	}

	n.start = x.nameStart(start, most)
	if n.start == 0 && x.glued || start-n.start == most || strings.HasSuffix(s[:n.start], "://") {
		return -1, false // not the whole name, or the user in a URL
	}
	if s[n.start] == 'u' && n.start > 0 && s[n.start-1] == '\\' && hexEscape(s[n.start:]) != 0 {
		n.start += len("u0000")
	}
	p := n.start
	for s[n.start] == '-' {
		n.start++
		n.option = true
	}
	if n.start > start || n.short && strings.ContainsAny(s[end:n.end], letters) {
		return -1, false // the word is a part of something else
	}
	n.text = s[n.start:n.end]
	n.upper = !strings.ContainsFunc(n.text, func(r rune) bool { return r >= utf8.RuneSelf || isLower(byte(r)) })
	if !n.option {
		p = n.start
	}
	c, q := characterBefore(s, p)
	if c == '"' || c == '\'' {
		n.quoted = sign > n.end
		p = q
	}
	if n.option {
		c, _ := character(s, sign)
		return sign, signed || c != ',' && c != '\n' && c != '|'
	}
	n.query = c == '?' || c == '&'
	n.lineStart = x.atLineStart(p)
	return sign, signed
}

// readRest reads what stands behind the word in its name. It returns false where the word is only a part of another one,
// and where the rest says that the value is no secret. The word ends with last.
func (n *name) readRest(last byte, rest string) bool {
	first := rest[0]
	if first|0x20 == 's' && (len(rest) == 1 || !isLetter(rest[1]) || isLower(first) && isUpper(rest[1])) {
		n.plural = true
	} else if isLower(first) || isUpper(first) && !isLower(last) {
		return false
	}
	if strings.Contains(rest, ".") || len(rest) > 1 && strings.HasSuffix(rest, "-") {
		return false // of a member, or of an arrow
	}
	if n.plural {
		rest = rest[1:]
	}
	return !notValues.has(lastWord(rest))
}

// atLineStart reports whether a line, or one that is escaped, begins at p, but for white space and words that come
// before a variable.
func (x *search) atLineStart(p int) bool {
	const most = 64
	s := x.s
	for least := max(0, p-most); p > least; {
		switch c := s[p-1]; {
		case c == '\n' || c == '\r':
			return true
		case c == ' ' || c == '\t' || c == '-' || c == '+' || c == '#' || c == '>' || c == '`' || c == '*': // lists, diffs and quotations
			p--
		case isDigit(c): // line numbers, as in the output of a reader: "12 | NAME=", "12:NAME="
			p--
		case (c == '|' || c == ':') && p > 1 && (isDigit(s[p-2]) || s[p-2] == ' '):
			p--
		case (c == 'n' || c == 'r' || c == 't') && p > 1 && s[p-2] == '\\':
			return true
		case c == '"' || c == '\'' || c == '{': // the beginning of a text in JSON, of a shell argument
			return true
		case strings.HasSuffix(s[:p], "export"), strings.HasSuffix(s[:p], "setenv"):
			p -= len("export")
		case strings.HasSuffix(s[:p], " -e"), strings.HasSuffix(s[:p], "--env"), strings.HasSuffix(s[:p], "ENV"), strings.HasSuffix(s[:p], "ARG"),
			strings.HasSuffix(s[:p], "set"), strings.HasSuffix(s[:p], ";"), strings.HasSuffix(s[:p], "&&"):
			return true
		default:
			return false
		}
	}
	return p == 0 && !x.glued
}

// lastWord returns the last word of a name. A word begins behind what joins words, and at a capital letter.
func lastWord(name string) string {
	name = strings.TrimRight(name, "_-.0123456789")
	i := len(name)
	for i > 0 && isLetter(name[i-1]) {
		i--
		if isUpper(name[i]) && i+1 < len(name) && isLower(name[i+1]) {
			break
		}
	}
	return name[i:]
}

// readValue reads the sign at p and the value behind it, and adds the value if it is a secret.
func (x *search) readValue(n *name, p int) {
	s := x.s
	spaced := p > n.end && (!n.quoted || n.option)
	colon := false
	c, next := character(s, p)
	wide := s[p] >= utf8.RuneSelf
	switch {
	case strings.HasPrefix(s[p:], ":="), strings.HasPrefix(s[p:], "=>"):
		p, spaced = p+2, true
	case strings.HasPrefix(s[p:], "=="), strings.HasPrefix(s[p:], "=~"), strings.HasPrefix(s[p:], "::"):
		return
	case c == '=':
		p = next
	case c == ':':
		p, colon = next, true
	case !spaced && !n.option:
		return
	default: // an option, and its value
	}
	behind := p
	for p < len(s) && (s[p] == ' ' || s[p] == '\t') {
		p++
	}
	spaced = spaced || p > behind
	if strings.HasPrefix(s[p:], "**") || strings.HasPrefix(s[p:], "__ ") {
		x.assign(x.word(n, p+2, places{sure: true})) // the name, or the value, is emphasized in Markdown
		return
	}
	if s[n.end-1] >= utf8.RuneSelf || wide {
		x.assign(x.word(n, p, places{sure: true})) // no configuration, but a sentence
		return
	}
	switch c, _ := character(s, p); c {
	case 0:
	case '"', '\'', '`':
		x.quotedText(n, p)
	default:
		x.bareValue(n, p, colon, spaced)
	}
}

// quotedValue adds the text in quotes that begins at p. The quote before it had that many backslashes.
func (x *search) quotedValue(n *name, p, slashes int, quote byte) {
	const most = 8192 // bytes of a value
	s := x.s
	blank := false
	run, end := 0, p                       // of backslashes before end
	for end < len(s) || x.limit < len(s) { // else the text was cut
		if end == len(s) || s[end] == '\n' || end-p == most || blank && !n.upper && end-p > mostOfPhrase {
			return
		}
		c := s[end]
		if c == quote && (run == 0 || slashes > 0 && run <= slashes) {
			end -= run
			break
		}
		blank = blank || c == ' ' || c == '\t'
		switch {
		case c != '\\':
			run = 0
		case slashes == 0:
			run ^= 1
		default:
			run++
		}
		end++
	}
	if end == len(s) && blank && !n.upper {
		return // a sentence that was cut
	}
	if x.isQuotedSecret(n, s[p:end]) {
		x.assign(p, end)
	}
}

// isQuotedSecret reports whether all of a text in quotes, or of another place of its own, is the secret of a name.
func (x *search) isQuotedSecret(n *name, value string) bool {
	if noSecret(n, value) || !n.upper && (len(value) < 4 || n.token && !mixed(value)) {
		return false
	}
	if !n.upper && strings.ContainsAny(value, " \t") && (n.token || !isPassphrase(value)) {
		return false
	}
	if (n.short || n.element) && !fair(value) && !isPassphrase(value) || !n.upper && isFile(value) && strings.Contains(value, "/") {
		return false
	}
	for _, template := range []string{"${", "#{", "{{"} {
		if strings.Contains(value, template) {
			return false
		}
	}
	return true
}

// assign adds a value of a name, if it is not empty.
func (x *search) assign(start, end int) {
	if start < end {
		x.add(start, end, idAssigned)
		x.assignedDone = end
	}
}

// bareValue adds the value without quotes that begins at p.
func (x *search) bareValue(n *name, p int, colon, spaced bool) {
	const most = 1024 // bytes that tell whether it is a secret
	s := x.s
	env := n.upper && !colon && !spaced // as in a shell, and in no other language
	goesOn := func(c byte) bool {
		switch c {
		case '"', '\'', '`', '\\':
			return false
		case ',', ';', ')', ']', '}', '&', '<':
			return env && n.lineStart
		case 0xe3, 0xef: // of the marks of East Asian text
			return env
		default:
			return c > ' '
		}
	}
	end := p
	for end < len(s) && end-p < most && goesOn(s[end]) {
		end++
	}
	value := s[p:end]
	if noSecret(n, value) || called(value) || !env && !isText(n, value, s[end:], colon, spaced) {
		return
	}
	if n.short && (!fair(value) || colon && n.upper) { // what has passed in a test, and where it is
		return
	}
	for end < len(s) && goesOn(s[end]) {
		end++
	}
	x.assign(p, end)
}

// isText reports whether a value without quotes is a text, and no word of a language or of prose. What stands behind it is
// rest.
func isText(n *name, value, rest string, colon, spaced bool) bool {
	if len(value) < 4 || strings.ContainsAny(value[:1], "*&!|>[{(<#@.%$") || strings.ContainsAny(value, "([{") || strings.Contains(value, "://") {
		return false // a pointer, a tag, a list, an expression, a URL
	}
	var (
		hasDigit = strings.ContainsAny(value, digits)
		ends     = endsLine(rest)
		plain    = n.option || n.query || n.lineStart && ends // a place where a text needs no quotes
		quote    = closesQuote(rest)                          // a header in a command
		code     = spaced && !colon && !plain
	)
	switch {
	case isNumber(value):
		return plain && !n.token
	case isFile(value) && strings.Contains(value, "/"), n.token && joinsWords(value) && !n.query:
		return false // what names something
	case !isIdentifier(value):
		if n.token {
			return hasDigit && mixed(value) && !code
		}
		// Without digits it may be the name of something.
		return !code && (hasDigit || (plain || quote) && strings.Trim(value, letters+"-./:_") != "")
	case !hasDigit:
		return plain && !n.token && !strings.ContainsAny(value, "._") && (!spaced || colon && !strings.ContainsAny(value, capitals))
	case len(value) < 6 || hasWord(value) || strings.Contains(value, ".") && !allMixed(value):
		return false // a variable
	case plain || code:
		return plain
	default:
		return quote || len(value) >= 16 && allMixed(value) || !n.token && (ends || rest[0] == ',' || is(rest[0], isSpace))
	}
}

// closesQuote reports whether s begins with a quote, escaped or not.
func closesQuote(s string) bool {
	s = strings.TrimLeft(s, `\`)
	return s != "" && (s[0] == '"' || s[0] == '\'')
}

// endsLine reports whether s begins with the end of a line, escaped or not, or with a comment.
func endsLine(s string) bool {
	s = strings.TrimLeft(s, " \t")
	return s == "" || s[0] == '\n' || s[0] == '\r' || s[0] == '#' || strings.HasPrefix(s, `\n`) || strings.HasPrefix(s, `\r`) ||
		strings.HasPrefix(s, `\\n`)
}

// called reports whether a bare value is the call of a function or an expression in brackets.
func called(value string) bool {
	i := strings.IndexByte(value, '(')
	return i >= 0 && (i == 0 || isIdentifier(value[:i]) || value[:i] == "$")
}

// isIdentifier reports whether s may be a variable, or a member of one, in most languages.
func isIdentifier(s string) bool {
	for i := range len(s) {
		if !is(s[i], isWord) && s[i] != '.' {
			return false
		}
	}
	return s != "" && !isDigit(s[0])
}

func isNumber(s string) bool {
	const hex = "0123456789abcdefABCDEF_"
	return strings.Trim(s, "0123456789._-") == "" ||
		len(s) <= len("0x00000000") && strings.HasPrefix(s, "0x") && strings.Trim(s[2:], hex) == ""
}

// hasWord reports whether a word for a secret stands in s, which is a variable then.
func hasWord(s string) bool {
	inside := func(w string) bool { return containsFold(s, w) }
	return slices.ContainsFunc(passwordWords, inside) || slices.ContainsFunc(tokenWords, inside)
}

// mixed reports whether s has more than the letters of one case, and what joins words: a name has not.
func mixed(s string) bool {
	lower, upper := false, false
	for i := range len(s) {
		switch c := s[i]; {
		case isDigit(c):
			return true
		case isLower(c):
			lower = true
		case isUpper(c):
			upper = upper || i > 0
		case c >= 0x80, c == '_', c == '-', c == '.', c == ' ', c == ':', c == '/':
		default:
			return true
		}
	}
	return lower && upper && len(s) >= 20
}

// allMixed reports whether s has digits and letters of both cases, or digits between letters, as no word of a language.
func allMixed(s string) bool {
	lower, upper, changes := false, false, 0
	for i := range len(s) {
		lower, upper = lower || isLower(s[i]), upper || isUpper(s[i])
		if i > 0 && isDigit(s[i]) != isDigit(s[i-1]) {
			changes++
		}
	}
	return changes > 2 || changes > 0 && lower && upper
}

// noSecret reports whether a value stands for another one, or for none.
func noSecret(n *name, value string) bool {
	if len(value) < 3 || len(value) < 4 && isNumber(value) {
		return true
	}
	if strings.EqualFold(value, n.text) || isVersion(value) || value[0] == '\\' || isAlgorithm(value) {
		return true
	}
	if n.token && (n.plural && len(value) < 16 || hasWord(value) && !strings.ContainsAny(value, "0123456789")) {
		return true // a list, a count, or what names something
	}
	if noValues.has(strings.Trim(value, "*<>[](){}_-. ")) || strings.Trim(value, "xX*.-_•·…#?") == "" || strings.Count(value, value[:1]) == len(value) {
		return true
	}
	for _, f := range fillers {
		if hasPrefixFold(value, f) {
			return true
		}
	}
	for _, f := range fillersInside {
		if containsFold(value, f) {
			return true
		}
	}
	if strings.HasSuffix(value, "...") {
		return true
	}
	if n.token && isNumber(value) { // a count
		return true
	}
	switch c := value[0]; c {
	case '$': // a variable, but no hash of a password
		return len(value) > 1 && (isLetter(value[1]) || value[1] == '{' || value[1] == '(' || value[1] == '_')
	case '%': // a verb of a format, or a variable of Windows
		return len(value) <= 4 || strings.HasSuffix(value, "%")
	case '{', '[', '@', '<':
		return true
	case '/':
		return isPath(value)
	default:
		return len(value) > 2 && value[1] == ':' && (value[2] == '\\' || value[2] == '/')
	}
}

// isVersion reports whether s is a version, or a range of them.
func isVersion(s string) bool {
	s = strings.TrimLeft(s, "^~<>=v ")
	return strings.Count(s, ".") > 0 && isNumber(s)
}

// isPath reports whether a text that begins with a slash is a path, and not the base64 of a key.
func isPath(s string) bool {
	for segment := range strings.SplitSeq(s, "/") {
		if len(segment) > 24 && allMixed(segment) {
			return false
		}
	}
	return !strings.ContainsAny(s, "+=")
}
