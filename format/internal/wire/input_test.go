package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican/format"
)

func TestLocate(t *testing.T) {
	const body = `{"model":"m","system":"s","tools":[],"messages":[{"role":"user","content":"a"}]}`
	for _, test := range []struct {
		name, in string
		log      bool
		line     int
	}{
		{"body", body, false, 1},
		{"body with a byte order mark", "\uFEFF" + body, false, 1},
		{"body with space around", "\n\n " + body + "\n", false, 3},
		{"exchange", `{"request":` + body + `,"response":{}}`, true, 1},
		{"exchange of a log", `{"type":"request","request_params":` + body + `}`, true, 1},
		{"exchange of HTTP", `{"request":{"method":"POST","body":` + body + `},"response":{}}`, true, 1},
		{"recorded request", `{"method":"POST","path":"/","body":` + body + `,"response":{}}`, true, 1},
		{"body with its answer", strings.TrimSuffix(body, "}") + `,"response":{}}`, true, 1},
		{"two bodies", `{"messages":[]}` + "\n" + body, true, 2},
		{"two values on a line", `{"messages":[]}` + body, true, 1},
		{"a line that is no JSON", `{"messages":[]}` + "\n}\n" + body + "\n{\"half", true, 3},
		{"a body and what is no JSON", body + "x", true, 1},
	} {
		in, err := Locate([]byte(test.in))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if in.Log != test.log || in.Line != test.line || in.Model != "m" || in.Bare() {
			t.Errorf("%s: Locate = %+v", test.name, in)
		}
		if got := string(in.Messages.Of([]byte(test.in))); got != `[{"role":"user","content":"a"}]` {
			t.Errorf("%s: the messages are %s", test.name, got)
		}
		if got := string(in.System.Of([]byte(test.in))) + string(in.Tools.Of([]byte(test.in))); got != `"s"[]` {
			t.Errorf("%s: system and tools are %s", test.name, got)
		}
	}
	for in, want := range map[string]string{
		"":               "there is no JSON",
		"hello":          "line 1: this is no JSON",
		"{\n\"a\":1,\n}": "line 3: this is no JSON",
		`{"input":[]}`:   "there are no messages",
		`7`:              "there are no messages",
	} {
		_, err := Locate([]byte(in))
		var e *format.Error
		if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Locate(%q): the error is %v, want one that says %q", in, err, want)
		}
	}
	in, err := Locate([]byte(` [{"role":"user"}]`))
	if err != nil || !in.Bare() || in.Log {
		t.Errorf("a bare list: %+v, %v", in, err)
	}
}
