package llm

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
)

// Key is the secret that a provider knows an account by. The zero value is none, which is what local servers want.
//
// It shows as "[key]", or as "" if there is none, wherever it is printed, encoded or logged; only requests have it.
type Key struct {
	// A function, because whoever prints a Key that is an unexported field of something else does not ask its methods.
	secret func() string
}

// keyShown stands for a key.
const keyShown = "[key]"

// maxKeyFile is how much of a file is read for a key, in bytes.
const maxKeyFile = 64 << 10

// NewKey returns a key, without the whitespace around it.
func NewKey(secret string) Key {
	secret = strings.TrimSpace(secret)
	if secret == "" {
		return Key{}
	}
	return Key{func() string { return secret }}
}

// KeyVariable is the variable of the environment from which the vendor's SDK takes the key: ANTHROPIC_API_KEY, or
// OPENAI_API_KEY for the two protocols of OpenAI.
func (a API) KeyVariable() string {
	if a == Anthropic {
		return "ANTHROPIC_API_KEY"
	}
	return "OPENAI_API_KEY"
}

// KeyFromEnv returns the key of KeyVariable.
func KeyFromEnv(api API) Key { return NewKey(os.Getenv(api.KeyVariable())) }

// assignment is what no key looks like: a line of an environment file, or a text in quotes.
var assignment = regexp.MustCompile(`^(export\s|[A-Za-z_][A-Za-z0-9_]*\s*=\s*\S|["'])`)

// KeyFromFile reads a key from a file that has nothing else in it but whitespace around it.
func KeyFromFile(path string) (Key, error) {
	f, err := os.Open(path)
	if err != nil {
		return Key{}, fmt.Errorf("cannot read the key: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return Key{}, fmt.Errorf("cannot read the key: %w", err)
	}
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\uFEFF")))
	switch {
	case len(data) == 0:
		return Key{}, fmt.Errorf("the key file %s is empty", path)
	case len(data) > maxKeyFile, bytes.ContainsAny(data, "\r\n"):
		return Key{}, fmt.Errorf("the key file %s has more than one line: it must hold the key and nothing else", path)
	}
	if assignment.Match(data) {
		return Key{}, fmt.Errorf("the key file %s holds an assignment or quotes: it must hold the key and nothing else", path)
	}
	k := NewKey(string(data))
	if !k.valid() {
		return Key{}, fmt.Errorf("the key file %s holds characters that no key has", path)
	}
	return k, nil
}

// IsZero reports whether there is no key.
func (k Key) IsZero() bool { return k.secret == nil }

// String returns what stands for the key.
func (k Key) String() string {
	if k.IsZero() {
		return ""
	}
	return keyShown
}

// GoString returns what stands for the key.
func (k Key) GoString() string { return k.String() }

// Format writes what stands for the key, whatever the verb.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// MarshalText returns what stands for the key; encoding/json uses it too.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// LogValue returns what stands for the key.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// valid reports whether a header can carry the key.
func (k Key) valid() bool {
	return k.IsZero() || strings.IndexFunc(k.secret(), func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// tokenPrefix is what an OAuth token of Anthropic begins with, which goes where OpenAI's keys go.
const tokenPrefix = "sk-ant-oat" //nolint:gosec // it is no key

// authorize sets the header that carries the key.
func (k Key) authorize(h http.Header, api API) {
	switch {
	case k.IsZero():
	case api == Anthropic && !strings.HasPrefix(k.secret(), tokenPrefix):
		h.Set("X-Api-Key", k.secret())
	default:
		h.Set("Authorization", "Bearer "+k.secret())
	}
}
