package secrets

import "strings"

// command is a command with an option whose value is a password.
type command struct {
	option string
	glued  bool // the value stands behind the option without a blank
	apart  bool // it stands behind a blank
	user   bool // a user and a colon stand before it
	longer bool // what begins with the word is a command as well, such as mysqldump
}

var commands = map[string]command{
	"docker login": {option: "-p", apart: true},
	"ldapmodify":   {option: "-w", apart: true},
	"ldapsearch":   {option: "-w", apart: true},
	"mariadb":      {option: "-p", glued: true, longer: true},
	"mongo":        {option: "-p", apart: true, longer: true},
	"mysql":        {option: "-p", glued: true, longer: true},
	"podman login": {option: "-p", apart: true},
	"redis-cli":    {option: "-a", apart: true},
	"sqlcmd":       {option: "-P", glued: true, apart: true},
	"sshpass":      {option: "-p", glued: true, apart: true},
	"unzip":        {option: "-P", apart: true},
}

// curlOption is what curlUser does not know: a list of arguments.
var curlOption = command{option: "-u", glued: true, apart: true, user: true}

// find adds the password in an option of a command in a shell or in a list of arguments. The command begins at start, and
// its word ends at end.
func (c *command) find(x *search, start, end int) {
	const (
		most     = 300 // bytes of the command
		mostName = 16
	)
	s := x.s
	if x.wordBefore(start) || start > 0 && (s[start-1] == '-' || s[start-1] == '.') {
		return
	}
	p := end
	if c.longer {
		for p < len(s) && p < end+mostName && isLower(s[p]) {
			p++
		}
	}
	stop := min(len(s), p+most)
	if p == stop || !separates(s[p]) {
		return
	}
	for p < stop {
		ch, next := s[p], p+1
		switch {
		case ch == '\\':
			if ch, next = character(s, p); ch == '\n' && next-p != len(`\\\n`) {
				return // the end of a line in JSON, and none that goes on
			}
		case ch == '\n' || ch == '\r':
			if before := strings.TrimRight(s[end:p], " \t"); !strings.HasSuffix(before, ",") && !strings.HasSuffix(before, `\`) {
				return
			}
		case ch == '|' || ch == ';' || ch == '&':
			return
		case ch == '-' && separates(s[p-1]) && strings.HasPrefix(s[p:], c.option):
			if c.value(x, p+len(c.option)) {
				return
			}
		}
		p = next
	}
}

// separates reports whether c stands between the words of a command, or between the elements of a list of them.
func separates(c byte) bool {
	return c <= ' ' || c == '"' || c == '\'' || c == ',' || c == '[' || c == '\\'
}

// value adds the value behind the option that ends at p, if it may have one there.
func (c *command) value(x *search, p int) bool {
	const (
		most     = 256
		mostGap  = 32 // between the elements of a list
		mostUser = 64
	)
	s := x.s
	apart := p < len(s) && (separates(s[p]) || s[p] == '=')
	q, behind := character(s, p)
	quoted := (q == '"' || q == '\'') && behind < len(s) && !separates(s[behind]) && s[behind] != ']'
	if apart && !c.apart && !quoted || !apart && !c.glued {
		return false
	}
	from := p
	var closing byte
	for p < len(s) && p < from+mostGap && (separates(s[p]) || s[p] == '=') {
		if s[p] == '\\' && p+1 < len(s) && s[p+1] == 'n' {
			return true
		}
		if s[p] == '"' || s[p] == '\'' {
			closing = s[p]
		} else if s[p] != '\\' {
			closing = 0
		}
		p++
	}
	from = p
	for p < len(s) && p < from+most && s[p] != '"' && s[p] != '\\' && s[p] != '`' && s[p] >= ' ' {
		if s[p] == '\'' || closing == 0 && (s[p] == ' ' || s[p] == '|' || s[p] == ';' || s[p] == ')') {
			break
		}
		p++
	}
	if c.user {
		i := strings.IndexByte(s[from:min(p, from+mostUser)], ':')
		if i < 0 {
			return true
		}
		from += i + 1
	}
	value := s[from:p]
	if len(value) >= 3 && p < from+most && strings.Trim(value, digits+":.-/") != "" && value[0] != '-' && !noSecret(&name{}, value) && !called(value) {
		x.add(from, p, idCommand)
	}
	return true
}

// piped finds the password that echo writes into the command that stands at start.
func piped(x *search, start, end int) {
	const (
		mostOptions = 100
		most        = 200
	)
	s := x.s
	if s[start:end] == "sudo -s" {
		return // another option
	}
	from := max(0, start-mostOptions)
	pipe := strings.LastIndexByte(s[from:start], '|')
	if pipe < 0 || strings.ContainsAny(s[from+pipe:start], "\n;&") {
		return
	}
	pipe += from
	from = max(0, pipe-most)
	echo := max(strings.LastIndex(s[from:pipe], "echo "), strings.LastIndex(s[from:pipe], "printf "))
	if echo < 0 {
		return
	}
	p := from + echo + strings.IndexByte(s[from+echo:], ' ')
	for p < pipe && (s[p] == ' ' || s[p] == '-') {
		if p++; s[p-1] == '-' {
			for p < pipe && isLetter(s[p]) {
				p++
			}
		}
	}
	for p < pipe && (s[p] == '"' || s[p] == '\'' || s[p] == '\\') {
		p++
	}
	to := p
	for to < pipe && s[to] > ' ' && s[to] != '"' && s[to] != '\'' && s[to] != '\\' {
		to++
	}
	if strings.HasPrefix(s[start:], "chpasswd") {
		p += strings.IndexByte(s[p:to], ':') + 1
	}
	if value := s[p:to]; len(value) >= 4 && strings.Trim(s[to:pipe], ` "'\n`) == "" && !noSecret(&name{}, value) && !called(value) {
		x.add(p, to, idCommand)
	}
}

// passwordFile finds the password in a line of the file .pgpass. The word is a port, or what stands for any, with the
// colons around it.
func passwordFile(x *search, start, end int) {
	const (
		most       = 256
		mostOfHost = 100
	)
	s := x.s
	from := start
	for from > 0 && start-from < mostOfHost && (is(s[from-1], isIdent) || s[from-1] == '*') {
		from--
	}
	if from == start || from == 0 && x.glued || from > 0 && s[from-1] >= ' ' && s[from-1] != '"' && s[from-1] != '\'' {
		return
	}
	p := end
	for range 2 { // a database and a user
		field := p
		for p < len(s) && p < end+most && (is(s[p], isIdent) || s[p] == '*') {
			p++
		}
		if p == field || p == len(s) || s[p] != ':' {
			return
		}
		p++
	}
	from = p
	for p < len(s) && p < end+most && s[p] > ' ' && s[p] != '"' && s[p] != '\'' && !(s[p] == '\\' && p+1 < len(s) && s[p+1] == 'n') {
		p++
	}
	if value := s[from:p]; (p == len(s) || p < end+most && s[p] != ' ') && !noSecret(&name{}, value) && !strings.Contains(value, ":") {
		x.add(from, p, idAssigned)
	}
}

// passwordHash finds the hash of a password, as the file shadow has it. The word is the name of its algorithm.
func passwordHash(x *search, start, end int) {
	const (
		least = 20
		most  = 256
	)
	s := x.s
	if x.wordBefore(start) {
		return
	}
	p := end
	for p < len(s) && p < end+most && (is(s[p], isBase64|isIdent) || s[p] == '$' || s[p] == ',') {
		p++
	}
	body := s[end:p]
	if i := strings.LastIndexByte(body, '$'); i < 0 || len(body)-i < least || !allMixed(body[i+1:]) {
		return
	}
	x.add(start, p, idHash)
}

// mnemonic finds the words that a wallet is restored from: twelve of them at least.
func mnemonic(x *search, _, end int) {
	const (
		leastWords = 12
		mostWords  = 24
		mostGap    = 8
	)
	s := x.s
	p := end
	for p < len(s) && p < end+mostGap && (is(s[p], isQuote|isOpening) || s[p] == '*') {
		p++
	}
	from, stop := p, p
	for k := 1; k <= mostWords; k++ {
		word := p
		for p < len(s) && isLower(s[p]) && p-word <= 8 {
			p++
		}
		if p-word < 3 || p-word > 8 {
			return
		}
		if k >= leastWords && k%3 == 0 {
			stop = p
		}
		if p == len(s) || s[p] != ' ' || p+1 == len(s) || !isLower(s[p+1]) {
			break
		}
		p++
	}
	if stop == p && from > end {
		x.add(from, stop, idMnemonic)
	}
}
