package secrets

import "strings"

// finder is one of our own rules: it is called where its word stands in the part that is searched.
type finder func(x *search, start, end int)

// The ids of our own rules.
const (
	idAssigned   = "assigned-secret"   // the value of a name for a secret
	idURL        = "url-password"      // the password in a URL
	idHeader     = "auth-header"       // a credential in a header of HTTP
	idCookie     = "cookie"            // the value of a cookie
	idKey        = "private-key"       // a private key in PEM
	idJWT        = "jwt"               // a JSON web token
	idToken      = "token"             // what a vendor's prefix tells
	idCurl       = "curl-password"     // the password in an option of curl
	idCommand    = "command-password"  // the password in an option of another command, or piped into it
	idHash       = "password-hash"     // the hash of a password
	idSignature  = "url-signature"     // what a parameter of a URL permits to whoever has it
	idMnemonic   = "seed-phrase"       // the words of a wallet
	idKubernetes = "kubernetes-secret" // a value in a secret of Kubernetes
)

var ourIDs = []string{idAssigned, idURL, idHeader, idCookie, idKey, idJWT, idToken, idCurl, idCommand, idHash, idSignature, idMnemonic, idKubernetes}

// finders are our own rules by the word that each looks for, in lower case.
var finders = func() map[string]finder {
	m := map[string]finder{
		"://":           urlPassword,
		"authorization": authorization,
		"bearer":        bearer,
		"cookie":        cookie,
		"-----begin":    privateKey,
		"eyj":           webToken,
		"curl":          curlCommand,
		"-u":            curlUser,
		"--user":        curlUser,

		"sig=":             urlParameter,
		"signature=":       urlParameter,
		"hmac=":            urlParameter,
		"code=":            urlParameter,
		"telegram.org/bot": hook(':', 30),
		"/api/webhooks/":   hook('/', 40),

		"sudo -s":          piped,
		"chpasswd":         piped,
		"passwd --stdin":   piped,
		"--password-stdin": piped,
		":5432:":           passwordFile,
		":*:":              passwordFile,
		"mnemonic":         mnemonic,
		"seed phrase":      mnemonic,
		"recovery phrase":  mnemonic,
	}
	for w, c := range commands {
		m[w] = c.find
	}
	for _, w := range []string{"$2a$", "$2b$", "$2y$", "$5$", "$6$", "$y$", "$apr1$", "$argon2"} {
		m[w] = passwordHash
	}
	for _, w := range passwordWords {
		m[w] = assigned(false)
	}
	for _, w := range tokenWords {
		m[w] = assigned(true)
	}
	for _, w := range shortWords {
		m[w] = assignedShort
	}
	for _, w := range foreignWords {
		m[w.part] = assignedForeign(w.part)
	}
	for i := range shapes {
		sh := &shapes[i]
		m[strings.ToLower(sh.prefix)] = func(x *search, start, end int) { x.shape(sh, start, end) }
	}
	secret := m["secret"]
	m["secret"] = func(x *search, start, end int) {
		kubernetes(x, start)
		secret(x, start, end)
	}
	return m
}()

// shape is a token that begins with a prefix of its vendor. Rules of gitleaks know most of them in one exact length;
// vendors change that, and a text may be cut.
type shape struct {
	prefix string
	least  int    // characters behind the prefix
	also   string // that may stand in it, besides letters and digits
}

var shapes = []shape{
	{"AIza", 30, "_-"},
	{"AKIA", 16, ""},
	{"ASIA", 16, ""},
	{"dckr_pat_", 20, "_-"},
	{"dop_v1_", 40, ""},
	{"figd_", 30, "_-"},
	{"ghp_", 30, ""},
	{"gho_", 30, ""},
	{"ghr_", 30, ""},
	{"ghs_", 30, ""},
	{"ghu_", 30, ""},
	{"github_pat_", 30, "_"},
	{"glpat-", 20, "_-."},
	{"gsk_", 40, ""},
	{"hf_", 30, ""},
	{"npm_", 30, ""},
	{"nvapi-", 40, "_-"},
	{"pypi-", 60, "_-"},
	{"r8_", 30, ""},
	{"rk_live_", 16, ""},
	{"sk-", 32, ""},
	{"sk-admin-", 20, "_-"},
	{"sk-ant-", 20, "_-"},
	{"sk-or-v1-", 32, ""},
	{"sk-proj-", 20, "_-"},
	{"sk-svcacct-", 20, "_-"},
	{"sk_live_", 16, ""},
	{"sk_test_", 16, ""},
	{"tvly-", 24, "-"},
	{"whsec_", 24, "+/="},
	{"xai-", 40, ""},
	{"xoxa-", 16, "-"},
	{"xoxb-", 16, "-"},
	{"xoxe-", 16, "-"},
	{"xoxo-", 16, "-"},
	{"xoxp-", 16, "-"},
	{"xoxr-", 16, "-"},
	{"xoxs-", 16, "-"},
	{"ya29.", 24, "_-"},
}

// shape adds a token of that shape. Its prefix counts in its own case, at the beginning of a word.
func (x *search) shape(sh *shape, start, end int) {
	s := x.s
	if s[start:end] != sh.prefix || x.wordBefore(start) {
		return
	}
	stop := end
	for stop < len(s) && (is(s[stop], isWord) && s[stop] != '_' || strings.IndexByte(sh.also, s[stop]) >= 0) {
		stop++
	}
	body := s[end:stop]
	if len(body) < sh.least || !strings.ContainsAny(body, "0123456789") || distinct(body) < 3 {
		return // too short, words, or a filler
	}
	if sh.prefix == "AKIA" || sh.prefix == "ASIA" { // these are short, and in capital letters only
		if len(body) != sh.least || strings.ToUpper(body) != body {
			return
		}
	}
	x.add(start, stop, idToken)
	if sh.prefix == "AKIA" || sh.prefix == "ASIA" {
		x.besideID(stop)
	}
}

// besideID adds the secret of Amazon's that stands beside its identifier, which ends at p.
func (x *search) besideID(p int) {
	const size = 40
	s := x.s
	from := p
	for from < len(s) && from < p+8 && (is(s[from], isQuote) || s[from] == ',' || s[from] == ':' || s[from] == '|') {
		from++
	}
	stop := skip(s, from, isBase64, size+1)
	if from > p && stop == from+size && allMixed(s[from:stop]) {
		x.add(from, stop, idToken)
	}
}

// hook finds the token in the URL of a bot or of a webhook: digits, a separator, and at least so many characters.
func hook(separator byte, least int) finder {
	return func(x *search, _, end int) {
		s := x.s
		p := end
		for p < len(s) && p < end+24 && isDigit(s[p]) {
			p++
		}
		if p == end || p == len(s) || s[p] != separator {
			return
		}
		from := p + 1
		for p = from; p < len(s) && (is(s[p], isWord) || s[p] == '-'); {
			p++
		}
		if p-from >= least {
			x.add(from, p, idToken)
		}
	}
}

// urlParameter finds the signature of a signed URL, or a code that is given for a token. The word is a name and its sign.
func urlParameter(x *search, start, end int) {
	const (
		least    = 16
		mostName = 32
	)
	s := x.s
	from := x.nameStart(start, mostName)
	if from < start && s[start-1] != '-' && s[start-1] != '_' {
		if s[from] != 'u' || from+len("u0026") != start {
			return
		}
		from = start
	}
	if c, _ := characterBefore(s, from); c != '?' && c != '&' {
		return
	}
	p := end
	for p < len(s) && (is(s[p], isToken) || s[p] == '%') {
		p++
	}
	if value := s[end:p]; len(value) >= least && allMixed(value) && !isNamed(value) {
		x.add(end, p, idSignature)
	}
}

// urlPassword finds the password between the scheme and the host of a URL, or a token in its place. The word is what stands behind the scheme.
func urlPassword(x *search, start, end int) {
	const most = 512 // bytes of a user and a password
	s := x.s
	colon, at := -1, -1
scan:
	for i := end; i < len(s) && i < end+most; i++ {
		switch c := s[i]; {
		case c == ':' && colon < 0:
			colon = i
		case c == '@':
			at = i
		case c == '/' && colon >= 0 && at < 0 && isDatabase(s[max(0, start-10):start]) && strings.Trim(s[colon+1:i], digits) != "" && s[colon+1] != '$':
			// A slash that should have been escaped.
		case c <= ' ', c == '/', c == '?', c == '"', c == '\'', c == '`', c == '<', c == '>', c == '\\':
			if c != '<' && c != '>' || colon >= 0 && at < 0 && c == '<' {
				break scan
			}
		}
	}
	if start == 0 && x.glued || at < colon {
		return
	}
	if colon < 0 {
		if at > end {
			x.urlToken(end, at)
		}
		return
	}
	value := s[colon+1 : at]
	if value == "" || strings.Trim(value, "xX*.") == "" || noValues.has(value) ||
		strings.ContainsAny(value[:1], "$<{%[(") && !strings.ContainsAny(value[1:], "@") && closes(value) {
		return
	}
	x.add(colon+1, at, idURL)
}

// isDatabase reports whether a text ends with the scheme of a database.
func isDatabase(s string) bool {
	for _, scheme := range []string{"postgres", "postgresql", "mysql", "mongodb", "redis", "amqp"} {
		if strings.HasSuffix(s, scheme) {
			return true
		}
	}
	return false
}

// urlToken adds a token in the place of the user of a URL.
func (x *search) urlToken(start, end int) {
	const least = 16
	if value := x.s[start:end]; len(value) >= least && allMixed(value) && !isNamed(value) && strings.Trim(value, letters+digits+"_-.~%") == "" {
		x.add(start, end, idURL)
	}
}

// closes reports whether a value is all of a variable.
func closes(value string) bool {
	switch value[0] {
	case '<':
		return strings.HasSuffix(value, ">")
	case '[':
		return strings.HasSuffix(value, "]")
	case '(':
		return strings.HasSuffix(value, ")")
	case '%':
		return len(value) <= 2 || strings.HasSuffix(value, "%")
	case '{':
		return strings.HasSuffix(value, "}")
	default: // $
		return strings.HasSuffix(value, "}") || strings.HasSuffix(value, ")") || isIdentifier(value[1:])
	}
}

// authorization finds the credential in a header of that name, as it stands in a request, a command, JSON or code.
func authorization(x *search, _, end int) {
	s := x.s
	p := skip(s, end, isQuote, 8)
	if p == len(s) || s[p] != ':' && s[p] != '=' && s[p] != ',' {
		return
	}
	p = skip(s, p+1, isQuote, 8)
	scheme := p
	for p < len(s) && (isLetter(s[p]) || s[p] == '-') {
		p++
	}
	value := skip(s, p, isSpace, 4)
	if p == scheme || value == p { // no scheme
		x.credential(scheme, 16)
		return
	}
	x.credential(value, 8)
}

// bearer finds a credential behind the name of its scheme, wherever that stands.
func bearer(x *search, start, end int) {
	if p := skip(x.s, end, isSpace, 4); p > end && !x.wordBefore(start) {
		x.credential(p, 16)
	}
}

// credential adds the token of a header that begins at p, if it has so many bytes and is no word.
func (x *search) credential(p, least int) {
	s := x.s
	if p < x.headerDone { // one token may have many names of schemes in it
		return
	}
	stop := p
	for stop < len(s) && is(s[stop], isToken) {
		stop++
	}
	x.headerDone = stop
	value := s[p:stop]
	if len(value) < least || noSecret(&name{token: true}, value) || isFile(value) && strings.Contains(value, "/") {
		return
	}
	closed := stop == len(s) || s[stop] == '"' || s[stop] == '\'' || endsLine(s[stop:])
	if !strings.ContainsAny(value, "0123456789+/=") && !(closed && least < 16 && !strings.ContainsAny(value, ".-_")) {
		return
	}
	if is(value[0], isIdent) && isIdentifier(value) && strings.Contains(value, ".") && !allMixed(value) {
		return // a member of a variable
	}
	x.add(p, stop, idHeader)
}

// skip returns where the bytes of the class end that begin at p, at most that many.
func skip(s string, p int, class uint16, most int) int {
	for end := min(len(s), p+most); p < end && is(s[p], class); {
		p++
	}
	return p
}

// cookie finds the values of cookies in a header.
func cookie(x *search, start, end int) {
	s := x.s
	sets := strings.HasSuffix(strings.ToLower(s[max(0, start-4):start]), "set-")
	p := skip(s, end, isQuote, 8)
	if p == len(s) || s[p] != ':' && (s[p] != '=' || p == end) && !(strings.HasSuffix(s[:start], "--") && p > end) {
		return
	}
	if s[p] == ':' || s[p] == '=' {
		p = skip(s, p+1, isQuote, 8)
	}
	for range 64 { // cookies
		from := p
		for p < len(s) && is(s[p], isToken) && s[p] != '=' {
			p++
		}
		if p == from || p == len(s) || s[p] != '=' {
			return
		}
		p++
		from = p
		for p < len(s) && s[p] > ' ' && s[p] != ';' && s[p] != '"' && s[p] != '\'' && s[p] != '\\' && s[p] != '`' && s[p] != ',' {
			p++
		}
		if value := s[from:p]; len(value) >= 8 && strings.ContainsAny(value, "0123456789") && !noSecret(&name{}, value) && !called(value) {
			x.add(from, p, idCookie)
		}
		if sets || p == len(s) || s[p] != ';' {
			return // what follows in a Set-Cookie is no secret
		}
		p = skip(s, p+1, isSpace, 4)
	}
}

// privateKey finds a private key, from the line that begins it to the one that ends it. Where that one is missing, the
// key ends with its body.
func privateKey(x *search, start, end int) {
	const (
		mostHeader = 100
		leastBody  = 16 // a shorter one is none: source code has the line as a constant
	)
	s := x.s
	header := s[end:min(len(s), end+mostHeader)]
	dashes := strings.Index(header, "-----")
	if dashes < 0 || strings.Trim(header[:dashes], letters+digits+" _-") != "" || !containsFold(header[:dashes], "private key") {
		return
	}
	body := end + dashes + len("-----")

	// Lines of base64, lines such as "Proc-Type: 4,ENCRYPTED", and what stands between lines in source code and in JSON.
	// A line that is shorter than the first, or empty, is the last one, unless the END line comes.
	p, last, count, first, over := body, body, 0, 0, false
	for p < len(s) {
		line := skip(s, p, isBase64, len(s))
		if count >= leastBody && strings.HasPrefix(s[line:], "-----") {
			end := s[line+5 : min(len(s), line+5+mostHeader)]
			if stop := strings.Index(end, "-----"); stop >= 0 && hasPrefixFold(end, "end") {
				last = line + 5 + stop + 5
			}
			break
		}
		if count == 0 {
			if next := headerLine(s[p:min(len(s), p+mostHeader)]); next > 0 {
				p += next
				continue
			}
		}
		if size := line - p; size > 0 {
			count += size
			if first == 0 {
				first = size
			}
			if !over {
				last = line
			}
			over = over || size < first
		}
		next, ends, escaped := line, 0, 0
		for next < len(s) && next-line < 64 && (is(s[next], isSpace) || strings.IndexByte("\"'`\\,+.|>#*", s[next]) >= 0) {
			switch {
			case s[next] == '\n':
				ends++
			case s[next] == '\\' && next+1 < len(s) && (s[next+1] == 'n' || s[next+1] == 'r' || s[next+1] == 't'):
				next++
				if s[next] == 'n' {
					escaped++
				}
			}
			next++
		}
		// Base64 has no blanks: text follows that a person can read.
		if next == line || ends+escaped == 0 && count >= leastBody && strings.Trim(s[line:next], " ") == "" {
			break
		}
		over = over || max(ends, escaped) > 1 && count > 0
		p = next
	}
	if count >= leastBody {
		x.add(start, min(last, x.limit), idKey)
	}
}

// headerLine returns the length of a line such as "Proc-Type: 4,ENCRYPTED" at the beginning of s, 0 if there is none.
func headerLine(s string) int {
	i := 0
	for i < len(s) && (isLetter(s[i]) || s[i] == '-') {
		i++
	}
	if i == 0 || i == len(s) || s[i] != ':' {
		return 0
	}
	return max(strings.IndexAny(s, "\n\\"), 0)
}

// webToken finds a JSON web token by its header and what follows, also where its signature was cut off.
func webToken(x *search, start, _ int) {
	s := x.s
	if s[start:start+3] != "eyJ" || start > 0 && is(s[start-1], isWord) || start == 0 && x.glued {
		return
	}
	stop, parts, claims := start, 0, false
	for parts < 5 {
		from := stop
		for stop < len(s) && (is(s[stop], isWord) || s[stop] == '-') {
			stop++
		}
		if stop-from < 8 {
			if parts > 0 {
				stop = from - 1 // the dot
			}
			break
		}
		parts++
		claims = claims || parts == 2 && strings.HasPrefix(s[from:], "eyJ")
		if stop == len(s) || s[stop] != '.' {
			break
		}
		stop++
	}
	if claims && parts >= 2 || parts == 5 {
		x.add(start, stop, idJWT)
	}
}

// curlCommand notes where a command curl stands.
func curlCommand(x *search, start, end int) {
	if !x.wordBefore(start) && (end == len(x.s) || !is(x.s[end], isWord)) && x.s[start:end] == "curl" {
		x.curl, x.curlSeen, x.curlLines = start, end, 0
	}
}

// curlUser finds the password in an option of curl in quotes that are escaped. What gitleaks has for it does not know those.
func curlUser(x *search, start, end int) {
	s := x.s
	if start == 0 || !x.behindCurl(start) {
		return
	}
	if s[start-1] == '"' || s[start-1] == '\'' {
		curlOption.value(x, end)
		return
	}
	if !is(s[start-1], isSpace) {
		return
	}
	p := end
	for p < len(s) && p < end+6 && (s[p] == ' ' || s[p] == '=') {
		p++
	}
	q := p
	for q < len(s) && q < p+8 && s[q] == '\\' {
		q++
	}
	if q == p || q == len(s) || s[q] != '"' && s[q] != '\'' {
		return
	}
	text := s[q+1 : min(len(s), q+257)]
	closing := strings.Index(text, s[p:q+1])
	colon := strings.IndexByte(text, ':')
	if colon < 0 || closing <= colon+1 || noSecret(&name{}, text[colon+1:closing]) {
		return
	}
	x.add(q+1+colon+1, q+1+closing, idCurl)
}

// kubernetes finds the values of a secret of Kubernetes, in YAML or JSON. The word is what its kind says.
func kubernetes(x *search, start int) {
	const most = 8192 // bytes before the kind and behind it
	s := x.s
	before := strings.TrimRight(s[max(0, start-16):start], " \t\"'\\")
	if !strings.HasSuffix(before, "kind:") && !strings.HasSuffix(strings.TrimRight(strings.TrimSuffix(before, ":"), "\"'\\ "), "kind") {
		return
	}
	stop := min(len(s), start+most)
	if i := strings.Index(s[start:stop], "\n---"); i >= 0 {
		stop = start + i
	}
	from := max(x.kubeDone-len("stringData"), start-most, 0)
	if from < start {
		if i := strings.LastIndex(s[from:start], "\n---"); i >= 0 {
			from += i
		}
	}
	if from >= stop {
		return
	}
	x.kubeDone = stop
	for _, member := range []string{"data", "stringData"} {
		for p := from; ; {
			i := strings.Index(s[p:stop], member)
			if i < 0 {
				break
			}
			p += i + len(member)
			if q := skip(s, p, isQuote, 8); q < len(s) && s[q] == ':' && !x.wordBefore(p-len(member)) {
				x.kubernetesData(q + 1)
			}
		}
	}
}

// kubernetesData adds the values of the pairs that follow, up to what is no pair of a name and a text.
func (x *search) kubernetesData(p int) {
	s := x.s
	stop := len(s)
	for {
		for p < stop && (is(s[p], isQuote) || s[p] == '{' || s[p] == ',') {
			if s[p] == '\\' && p+1 < stop && (s[p+1] == 'n' || s[p+1] == 'r' || s[p+1] == 't') {
				p++
			}
			p++
		}
		from := p
		for p < stop && is(s[p], isIdent) {
			p++
		}
		name := s[from:p]
		p = skip(s, p, isQuote, 4)
		if p >= stop || s[p] != ':' || name == "" || name == "kind" || name == "metadata" || name == "type" || name == "apiVersion" {
			return
		}
		p++
		for p < stop && (s[p] == ' ' || s[p] == '"' || s[p] == '\'' || s[p] == '\\' && p+1 < stop && s[p+1] == '"') {
			p++
		}
		from = p
		for p < stop && is(s[p], isToken) {
			p++
		}
		if p-from < 4 {
			return
		}
		x.add(from, p, idKubernetes)
	}
}
