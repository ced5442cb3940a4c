package modeltest

import (
	"net/http"
	"slices"
	"testing"
	"unicode/utf8"
)

// writes is a connection that tells what was written to it at once.
type writes struct {
	http.ResponseWriter
	header http.Header
	all    [][]byte
}

func (w *writes) Header() http.Header { return w.header }
func (w *writes) WriteHeader(int)     {}
func (w *writes) Write(b []byte) (int, error) {
	w.all = append(w.all, slices.Clone(b))
	return len(b), nil
}

// Writes end inside characters and escapes, or behind every byte; otherwise behind events.
func TestWrites(t *testing.T) {
	written := func(f Framing) [][]byte {
		w := &writes{header: http.Header{}}
		a := &answer{Reply: Reply{Text: "a😀\"é", Pieces: 1, Framing: f}, streaming: true, request: &common{}}
		send(t.Context(), w, chatAPI{}, a)
		return w.all
	}
	endings := func(all [][]byte, end string) bool {
		return slices.ContainsFunc(all, func(b []byte) bool { return len(b) >= len(end) && string(b[len(b)-len(end):]) == end })
	}
	whole := written(0)
	if len(whole) != 4 { // role, content, finish_reason, [DONE]
		t.Errorf("%d writes, want 4", len(whole))
	}
	for _, w := range whole {
		if !endings([][]byte{w}, "\n\n") {
			t.Errorf("a write is no event: %q", w)
		}
	}
	torn := written(Torn)
	for _, end := range []string{"a\xf0", "\x9f", "\x98", "\x80\\", "\"\xc3"} {
		if !endings(torn, end) {
			t.Errorf("no write ends with %q: %q", end, torn)
		}
	}
	escapes := written(Torn | Escaped)
	for _, end := range []string{"a\\", `ud`, `83d\`, `e00\`, `u0`} {
		if !endings(escapes, end) {
			t.Errorf("no write ends with %q: %q", end, escapes)
		}
	}
	for _, w := range written(OneByte) {
		if len(w) != 1 {
			t.Errorf("a write of %q", w)
		}
	}
	if all := slices.Concat(torn...); !slices.Equal(all, slices.Concat(whole...)) || !utf8.Valid(all) {
		t.Errorf("torn it is %q", all)
	}
}

func TestUnmarked(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1}`: `{"a":1}`,
		`{"a":1,"cache_control":{"type":"ephemeral"}}`:                       `{"a":1}`,
		`{"cache_control":{"type":"ephemeral"},"a":1}`:                       `{"a":1}`,
		`{"a":1 , "cache_control" : null , "b":[{"cache_control":null}]}`:    `{"a":1  , "b":[{}]}`,
		`{"cache_control": {"type":"ephemeral"} , "a":"cache_control"}`:      `{ "a":"cache_control"}`,
		`{"a":"\"cache_control\":{}","b":"cache_control","cache_control":7}`: `{"a":"\"cache_control\":{}","b":"cache_control","cache_control":7}`,
	} {
		if got := string(unmarked([]byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
		if got := marked([]byte(in)); got != (in != want) {
			t.Errorf("%s: marked %t", in, got)
		}
	}
}
