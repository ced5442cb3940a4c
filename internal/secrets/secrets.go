// Package secrets finds passwords, keys and tokens in text and replaces them, so that they reach no model of another
// vendor and no summary.
//
// It knows the rules of gitleaks (version 8.30.1), which are for files in a repository, and some of its own for what a
// transcript holds beside those: the content of .env files and of requests, commands, logs, JSON in JSON, markup, tables,
// sentences, and text that was cut off in the middle. There a value counts as a secret by the name that it has, in one of
// several languages, and by what it looks like: the less stands between both, the more it has to look like one.
//
// What gitleaks' detector finds in a text without a path is found here too, with two exceptions: a private key needs a
// body, and the checksums of go.sum stay. A comment that switches gitleaks off switches nothing off here.
//
// What says that a word is a password may be in one text, and the word alone in another. So the values that were found can
// be collected, and removed from other texts wherever they stand: see Redactor.Secrets.
//
// A secret is replaced by a marker with the id of the rule, as in
//
//	password = "[redacted: assigned-secret]"
//
// The rules of gitleaks, in the folder of that name, are made by tools/secrets, and are under gitleaks' licence.
package secrets

import "strings"

// Redact returns text with every secret in it replaced by a marker, and the number of secrets found. A text without
// secrets comes back as it is. What Redact returns has no secrets: redacting it again changes nothing.
//
// Everything else stays byte for byte. Text may be invalid UTF-8; what is valid stays valid.
func Redact(text string) (redacted string, found int) {
	spans := find(text)
	return replace(text, spans), len(spans)
}

const (
	markerStart = "[redacted: "
	markerEnd   = "]"
)

// MaxMarker is the length of the longest marker, in bytes: a text grows at most by so much for each secret.
const MaxMarker = len(markerStart) + longestID + len(markerEnd)

// longestID bounds the ids of rules; a test knows that none is longer.
const longestID = 48

func replace(text string, spans []span) string {
	if len(spans) == 0 {
		return text
	}
	size := len(text)
	for _, s := range spans {
		size += len(markerStart) + len(s.id) + len(markerEnd) - (s.end - s.start)
	}
	var b strings.Builder
	b.Grow(size)
	at := 0
	for _, s := range spans {
		b.WriteString(text[at:s.start])
		b.WriteString(markerStart)
		b.WriteString(s.id)
		b.WriteString(markerEnd)
		at = s.end
	}
	b.WriteString(text[at:])
	return b.String()
}

// nextMarker returns where the first marker in text from a position on stands; both are the end of text if there is none.
func nextMarker(text string, from int) (start, end int) {
	for {
		i := strings.Index(text[from:], markerStart)
		if i < 0 {
			return len(text), len(text)
		}
		start, from = from+i, from+i+len(markerStart)
		rest := text[from:min(len(text), from+longestID+len(markerEnd))]
		if id, _, ok := strings.Cut(rest, markerEnd); ok && known().ids[id] {
			return start, from + len(id) + len(markerEnd)
		}
	}
}

// unmark returns text with a letter in the place of each marker.
func unmark(text string) string {
	if !strings.Contains(text, markerStart) {
		return text
	}
	var b strings.Builder
	for at := 0; ; {
		start, end := nextMarker(text, at)
		b.WriteString(text[at:start])
		if start == end {
			return b.String()
		}
		b.WriteByte('x')
		at = end
	}
}
