package modeltest

import (
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

// badText returns the fault of a body that is no Unicode. JSON that cannot be read at all has been refused before.
func badText(body []byte) *fault {
	switch {
	case !utf8.Valid(body):
		return &fault{http.StatusBadRequest, Error{Message: "The request body is not valid JSON: invalid UTF-8"}}
	case loneSurrogate(body):
		return &fault{http.StatusBadRequest, Error{Message: "The request body is not valid JSON: no low surrogate in string"}}
	}
	return nil
}

// loneSurrogate finds in JSON an escape of half a character.
func loneSurrogate(body []byte) bool {
	s := string(body)
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+1 >= len(s) {
			return false
		}
		s = s[i+1:]
		if s[0] != 'u' {
			s = s[1:]
			continue
		}
		high := hex4(s[1:])
		s = s[min(5, len(s)):]
		switch {
		case high>>10 == 0xdc00>>10:
			return true
		case high>>10 != 0xd800>>10:
			continue
		}
		if !strings.HasPrefix(s, `\u`) || hex4(s[2:])>>10 != 0xdc00>>10 {
			return true
		}
		s = s[min(6, len(s)):]
	}
}

// hex4 is the number that four hexadecimal digits stand for, 0 for anything else.
func hex4(s string) uint64 {
	n, err := strconv.ParseUint(s[:min(4, len(s))], 16, 16)
	if err != nil || len(s) < 4 {
		return 0
	}
	return n
}
