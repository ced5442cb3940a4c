package secrets

import "strings"

// algorithmWords begin names of algorithms, encodings and formats, in lower case.
var algorithmWords = []string{
	"aes", "argon", "base", "bcrypt", "blake", "blowfish", "cbc", "chacha", "cbor", "crc", "des", "dsa", "ecdh", "ecdsa", "ed", "es", "gcm",
	"hkdf", "hmac", "hotp", "hs", "http", "jwe", "jwk", "jws", "jwt", "kdf", "latin", "md", "murmur", "ntlm", "oauth", "oidc", "pbkdf",
	"pkcs", "poly", "ps", "ripemd", "rs", "rsa", "salsa", "saml", "scrypt", "sha", "sip", "ssl", "tls", "totp", "utf", "uuid", "webauthn", "x", "xxh",
}

// isAlgorithm reports whether s is the name of an algorithm, an encoding or a format, such as HMAC-SHA256 or JWT_v2.
func isAlgorithm(s string) bool {
	if len(s) > 32 {
		return false
	}
	known := false
	for at := 0; at < len(s); {
		stop := at
		for stop < len(s) && (isLetter(s[stop]) || isDigit(s[stop])) {
			stop++
		}
		if stop == at {
			if strings.IndexByte("-_/.$+", s[at]) < 0 {
				return false
			}
			at++
			continue
		}
		word := s[at:stop]
		base := strings.TrimRight(word, digits)
		number := len(word) - len(base)
		first := false
		for _, w := range algorithmWords {
			// "AES256", "bcrypt", "PBKDF2": the word, and a number.
			first = first || len(base) == len(w) && hasPrefixFold(base, w) && (number > 0 || len(w) > 2)
		}
		known = known || first
		if !first && (at == 0 || number > 4) {
			return false
		}
		if !first && !isOneWord(base) {
			return false
		}
		at = stop
	}
	return known
}

// isOneWord reports whether s, which may be empty, is nothing but letters of one case, but for a capital at its beginning.
func isOneWord(s string) bool {
	lower, upper := false, false
	for i := range len(s) {
		switch c := s[i]; {
		case isLower(c):
			lower = true
		case isUpper(c):
			upper = upper || i > 0
		default:
			return false
		}
	}
	return !lower || !upper
}

// isNamed reports whether s is the name of something rather than a secret: words and numbers that are joined as those of
// variables, files, versions and tickets are.
func isNamed(s string) bool {
	if isVersion(s) || isNumber(s) || isAlgorithm(s) || isFile(s) || hasWord(s) {
		return true
	}
	// A user on a host, a member in C++, a size with its unit.
	if i := strings.IndexByte(s, '@'); i > 0 && strings.Trim(s, letters+digits+"@._-") == "" && strings.Contains(s[i:], ".") {
		return true
	}
	if unit := strings.TrimLeft(s, digits); len(unit) < len(s) && strings.Trim(unit, letters+"-") == "" && isOneWord(strings.ReplaceAll(unit, "-", "")) {
		return true
	}
	return joinsWords(s)
}

// joinsWords reports whether s is words, with a number of four digits at most behind each, that are joined by a mark or by
// their capitals.
func joinsWords(s string) bool {
	run := func(i int, class func(byte) bool) int {
		for i < len(s) && class(s[i]) {
			i++
		}
		return i
	}
	parts := 0
	for i := 0; i < len(s); parts++ {
		if parts > 0 && strings.IndexByte("_-.:/", s[i]) >= 0 {
			i++
		}
		small := run(i, isUpper)
		number := run(small, isLower)
		end := run(number, isDigit)
		switch word := number - i; {
		case end == i, end-number > 4 && word > 0, word == 1 && end == number:
			return false // no word, too long a number for one, a letter alone
		case end > number && end < len(s) && isLetter(s[end]) && (isLower(s[end]) || end+1 < len(s) && !isLower(s[end+1])):
			return false // a number within a word
		}
		i = end
	}
	return parts > 1
}

// isFile reports whether s is the path of a file, or its name with a suffix: words, between slashes.
func isFile(s string) bool {
	suffix := s[strings.LastIndexByte(s, '.')+1:]
	suffixed := len(suffix) < len(s) && len(suffix) <= 5 && suffix != "" && isLower(suffix[0]) && strings.Trim(suffix, letters+digits) == ""
	slashes := strings.Count(s, "/")
	if slashes == 0 && !suffixed || strings.Trim(s, letters+digits+"/._-@") != "" {
		return false
	}
	for segment := range strings.SplitSeq(strings.TrimRight(s, "/"), "/") {
		word := strings.Trim(segment, "._-@")
		if word != "" && !isOneWord(strings.TrimRight(word, digits)) && !joinsWords(word) && strings.Trim(word, digits) != "" {
			return false
		}
	}
	return true
}

// fair reports whether s looks like a password that a person has chosen: no word alone, and no name of something.
func fair(s string) bool {
	if len(s) < 6 || isNamed(s) || isCode(s) {
		return false
	}
	l := lookAt(s)
	switch {
	case !l.lower && !l.upper:
		return l.digit && l.symbols > 1
	case l.digit:
		return l.lower || len(s) >= 10 || l.symbols > 0
	default:
		return l.symbols > 1 || l.symbols > 0 && l.lower && l.upper
	}
}

// strong reports whether s can hardly be anything but a secret.
func strong(s string) bool {
	if len(s) < 8 || isNamed(s) || isCode(s) {
		return false
	}
	l := lookAt(s)
	return l.lower && l.upper && l.digit && (l.changes > 2 || l.symbols > 0) || l.lower && l.digit && l.symbols > 1
}

// isCode reports whether s has what passwords in sentences rarely have, and code and placeholders often.
func isCode(s string) bool {
	return strings.ContainsAny(s, "()[]{}<>\"'`|\\,;") || strings.Contains(s, "://") || strings.Contains(s, "::") || strings.Contains(s, "->") ||
		strings.Contains(s, "==") || strings.Contains(s, "...") || strings.HasSuffix(s, "=") && !allMixed(s)
}

// look is what the characters of a text are.
type look struct {
	lower, upper, digit bool
	symbols             int // other printable characters of ASCII than those that join words
	changes             int // between digits and others
}

func lookAt(s string) (l look) {
	for i := range len(s) {
		switch c := s[i]; {
		case isLower(c):
			l.lower = true
		case isUpper(c):
			l.upper = true
		case isDigit(c):
			l.digit = true
		case strings.IndexByte("!#$%&*+=?@^~", c) >= 0:
			l.symbols++
		}
		if i > 0 && isDigit(s[i]) != isDigit(s[i-1]) {
			l.changes++
		}
	}
	return l
}

// interfaceWords stand in texts for people, and in sentences in general, and not in a passphrase, in lower case.
var interfaceWords = wordSet(`
	a account again all allowed an and any are as at be been before but by can cannot change characters check choose click code
	confirm contain contains could create current db default did do does email empty enter entered error expired failed field first for
	forgot forgotten from get given has have hide if in incorrect into invalid is it its least length letter letters like log login long
	match max maximum may min minimum missing must need needed never new no not number numbers of old on one only or our out
	please provide repeat required reset retype same see select send set should show sign special strong symbol than that the their then
	there these this to too try type update use used user username using valid value via was weak when where which will with without wrong
	you your characters digits hash hashed stored string test optional example field here
	bitte dein deine das der die ein eine einen geben ihr ihre ist mit neues nicht oder sie und wiederholen zum
	con contraseña de del el en introduce la las los para por su tu una un y
	au ce dans des entrez est et le les mot nouveau passe pour saisissez sur votre vos vous
	digite e escolha o os sua seu senha uma não
	di il inserisci la lo per password nuova tua
`)

// mostOfPhrase is the length of the longest passphrase, in bytes.
const mostOfPhrase = 100

// isPassphrase reports whether a text with blanks is words that a person has chosen as a password, and no text of an
// interface: these are sentences.
func isPassphrase(s string) bool {
	const words = 4 // that need no digit among them
	if len(s) > mostOfPhrase || strings.ContainsAny(s, "(){}[]<>\"`|;,:=") || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "?") {
		return false
	}
	count, digit := 0, false
	for w := range strings.FieldsSeq(s) {
		count++
		d := strings.ContainsAny(w, digits)
		digit = digit || d
		if len(w) > 12 && !d || interfaceWords.has(w) || hasWord(w) || w == "-" || w == "+" || w == "=" || w == "&" || w == "/" {
			return false
		}
		if isUpper(w[0]) && !d { // a title
			return false
		}
		if d && isNamed(w) && strings.Trim(w, digits) != "" && !isOneWord(strings.TrimRight(w, digits)) {
			return false
		}
	}
	return count >= words || digit && count >= 2
}
