package modeltest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"regexp"
	"strings"
)

// part is a piece of a prompt that the cache has as a whole or not at all.
type part struct {
	raw []byte
	// end says that the cache holds what ends here, and not what goes on behind the last such part.
	end bool
}

type digest [sha256.Size]byte

// chain is the digest of a prefix and what follows it.
func chain(before digest, raw []byte) digest {
	b := make([]byte, 0, len(before)+8+len(raw))
	b = append(b, before[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(len(raw)))
	return sha256.Sum256(append(b, raw...))
}

// look returns how many bytes of the parts an earlier request to the same model has written to the cache, and writes the
// rest, which is the second number.
func (s *Server) look(model string, parts []part) (read, written int) {
	last := -1
	for i, p := range parts {
		if p.end {
			last = i
		}
	}
	d := chain(digest{}, []byte(model))
	for _, p := range parts[:last+1] {
		d = chain(d, unmarked(p.raw))
		switch {
		case s.cached[d]: // what goes on from an unknown prefix is unknown too
			read += len(p.raw)
		default:
			s.cached[d] = true
			written += len(p.raw)
		}
	}
	return read, written
}

// cacheMark is the value of a cache_control member, from behind its name.
var cacheMark = regexp.MustCompile(`^\s*:\s*(?:\{[^}]*\}|null)`)

// unmarked is a part without its cache_control, which moves on with each request and changes nothing for the cache. Text
// is not taken for one: there the quotation marks are escaped, and no colon follows the name.
func unmarked(raw []byte) []byte {
	const space = " \t\r\n"
	name := []byte(`"cache_control"`)
	var out []byte
	for {
		i := bytes.Index(raw, name)
		if i < 0 {
			break
		}
		before, after := raw[:i+len(name)], raw[i+len(name):]
		if value := cacheMark.FindIndex(after); value != nil {
			before, after = bytes.TrimRight(raw[:i], space), after[value[1]:]
			if trimmed, ok := bytes.CutSuffix(before, []byte(",")); ok {
				before = trimmed
			} else {
				after = bytes.TrimPrefix(bytes.TrimLeft(after, space), []byte(","))
			}
		}
		out, raw = append(out, before...), after
	}
	if out == nil {
		return raw
	}
	return append(out, raw...)
}

// marked reports whether something in raw has cache_control.
func marked(raw []byte) bool { return len(unmarked(raw)) < len(raw) }

// sealPrefix marks what this package has signed. What is signed elsewhere cannot be judged, and passes.
const sealPrefix = "c2NyaXB0ZWQx" // "scripted1"

// factSize is the length of a fact in a signature.
const factSize = 16

// fact is what a signature holds of a text.
func fact(text ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(text, "\x00")))
	return base64.RawStdEncoding.EncodeToString(sum[:factSize*6/8])
}

// facts are what a signature holds. The second result is false if this package has not made it, and nobody else by
// changing one.
func facts(signature string) ([]string, bool) {
	rest, ok := strings.CutPrefix(signature, sealPrefix)
	var out []string
	for len(rest) >= factSize {
		out = append(out, rest[:factSize])
		rest = rest[factSize:]
	}
	if rest != "" {
		out = append(out, rest)
	}
	return out, ok
}
