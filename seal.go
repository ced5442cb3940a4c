package pemmican

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// A sealed summary begins with this line, which is versioned and carries a hash of everything behind it. Whatever
// lacks it, or has it with another hash, is data and no summary of ours.
const (
	sealPrefix = "[pemmican summary v1 "
	sealSuffix = "]\n"
	sealDigits = 16
)

// Seal returns body under the first line by which a summary of ours is found again.
func Seal(body string) string { return sealPrefix + sealHash(body) + sealSuffix + body }

// Unseal returns the body of a sealed summary. It reports false for any text that is none, and for one that was
// altered: such a text is data.
func Unseal(text string) (body string, ok bool) {
	rest, ok := strings.CutPrefix(text, sealPrefix)
	if !ok || len(rest) < sealDigits+len(sealSuffix) || rest[sealDigits:sealDigits+len(sealSuffix)] != sealSuffix {
		return "", false
	}
	body = rest[sealDigits+len(sealSuffix):]
	return body, rest[:sealDigits] == sealHash(body)
}

func sealHash(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])[:sealDigits]
}
