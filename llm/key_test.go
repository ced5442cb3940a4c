package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKeyIsNotShown(t *testing.T) {
	type hidden struct{ key Key }
	k := NewKey(" " + secret() + "\n")
	c := Client{Key: k}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	logger.Info("x", "key", k, "client", c, "hidden", hidden{k})
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", k, "hidden", hidden{k})
	asJSON, err := json.Marshal(map[string]any{"key": k, "in": struct{ Key Key }{k}, "none": Key{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%t", "%p"} {
		for _, v := range []any{k, &k, c, &c, hidden{k}, &hidden{k}, []Key{k}, map[Key2]Key{{}: k}} {
			_, _ = fmt.Fprintf(&log, format+"\n", v)
		}
	}
	all := log.String() + string(asJSON) + k.String() + k.GoString()
	if strings.Contains(all, secret()) || strings.Contains(all, fmt.Sprintf("%x", secret())) {
		t.Errorf("shown in %s", all)
	}
	if got := string(asJSON); got != `{"in":{"Key":"[key]"},"key":"[key]","none":""}` {
		t.Errorf("got %s", got)
	}
	if got := fmt.Sprint(k, Key{}, k.LogValue()); got != "[key]  [key]" {
		t.Errorf("got %q", got)
	}
}

// Key2 is the key of a map, which a Key cannot be.
type Key2 struct{}

func TestKeyFromFile(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct{ name, content, want string }{
		{"plain", secret(), ""},
		{"a line", secret() + "\r\n", ""},
		{"a mark", "\uFEFF\n  " + secret() + "  \n\n", ""},
		{"empty", "", "is empty"},
		{"blank", " \n\t\n", "is empty"},
		{"two", secret() + "\n" + secret(), "more than one line"},
		{"a line of words", "my key is " + secret(), "characters that no key has"},
		{"long", strings.Repeat("x", maxKeyFile+10), "more than one line"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(dir, tc.name)
			if err := os.WriteFile(path, []byte(tc.content), 0o644); err != nil {
				t.Fatal(err)
			}
			k, err := KeyFromFile(path)
			switch {
			case tc.want == "" && (err != nil || k.IsZero() || k.secret() != secret()):
				t.Errorf("got %v, %v", k, err)
			case tc.want != "" && (err == nil || !k.IsZero() || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), secret())):
				t.Errorf("got %v, %v", k, err)
			}
		})
	}
	for _, path := range []string{dir, filepath.Join(dir, "none")} {
		if _, err := KeyFromFile(path); err == nil || !strings.Contains(err.Error(), "cannot read the key") {
			t.Errorf("got %v", err)
		}
	}
}

func TestKeyFromEnv(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", " a ")
	t.Setenv("OPENAI_API_KEY", "o")
	for api, want := range map[API]string{Anthropic: "a", Chat: "o", Responses: "o"} {
		if k := KeyFromEnv(api); k.IsZero() || k.secret() != want {
			t.Errorf("%s: got another key", api)
		}
	}
	t.Setenv("OPENAI_API_KEY", "")
	if k := KeyFromEnv(Chat); !k.IsZero() || k.valid() == false {
		t.Error("got a key from nowhere")
	}
}
