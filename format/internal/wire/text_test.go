package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
	"pgregory.net/rapid"
)

func TestRepairArguments(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{`{"a": 1.0}`, `{"a": 1.0}`},
		{` {"a":1} `, ` {"a":1} `},
		{``, `{}`},
		{"  ", `{}`},
		{`null`, `{}`},
		{`"{\"a\":1}"`, `{"a":1}`},
		{`"text"`, `{"invalid_arguments":"text"}`},
		{`[1]`, `{"invalid_arguments":[1]}`},
		{`{"a":"b`, `{"invalid_arguments":"{\"a\":\"b"}`},
		{`{"a":1}{"b":2}`, `{"invalid_arguments":"{\"a\":1}{\"b\":2}"}`},
		{`{"a":"\ud83d"}`, `{"a":"\ufffd"}`},
		{`{"a":"\ud83d\ude00 \\ud83d"}`, `{"a":"\ud83d\ude00 \\ud83d"}`},
		{"{\"a\":\"\xff\"}", "{\"a\":\"\uFFFD\"}"},
	} {
		if got := RepairArguments(test.in); got != test.want {
			t.Errorf("RepairArguments(%q) = %q, want %q", test.in, got, test.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.OneOf(rapid.String(), rapid.StringMatching(`["{}\\ud83de0:,a1 ]{0,30}`)).Draw(t, "arguments")
		got := RepairArguments(in)
		if !IsObject(got) || !utf8.ValidString(got) || LoneSurrogate([]byte(got)) >= 0 {
			t.Fatalf("RepairArguments(%q) = %q", in, got)
		}
		if again := RepairArguments(got); again != got {
			t.Fatalf("RepairArguments is not done: %q, then %q", got, again)
		}
	})
}

func TestLoneSurrogate(t *testing.T) {
	for _, test := range []struct {
		in   string
		want int
	}{
		{`"plain"`, -1},
		{`"\ud83d\ude00"`, -1},
		{`"\\ud83d"`, -1},
		{`"\\\ud83d"`, 3},
		{`"\ud83d"`, 1},
		{`"a\ude00"`, 2},
		{`"\ud83d\ud83d\ude00"`, 1},
		{`"\ud83d\n\ude00"`, 1},
		{`"\uD83D\uDE00\uDBFF"`, 13},
		{`"\u00e9\"\ud83d`, 9},
		{`"\ud83`, -1},
		{`\`, -1},
	} {
		if got := LoneSurrogate([]byte(test.in)); got != test.want {
			t.Errorf("LoneSurrogate(%s) = %d, want %d", test.in, got, test.want)
		}
		if repaired := RepairSurrogates([]byte(test.in)); LoneSurrogate(repaired) >= 0 || len(repaired) != len(test.in) {
			t.Errorf("RepairSurrogates(%s) = %s", test.in, repaired)
		}
	}
}

// TestLoneSurrogateDecoded compares with what decoding makes of each string.
func TestLoneSurrogateDecoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{`\ud83d`, `\ude00`, `\\`, `\"`, `a`, `\u0041`, `\n`, `ud83d`}), 0, 12).Draw(t, "parts")
		raw := `"` + strings.Join(parts, "") + `"`
		var text string
		if err := json.Unmarshal([]byte(raw), &text); err != nil {
			t.Fatal(err)
		}
		if lone, want := LoneSurrogate([]byte(raw)) >= 0, strings.Contains(text, "\uFFFD"); lone != want {
			t.Fatalf("LoneSurrogate(%s) = %t, want %t", raw, lone, want)
		}
	})
}

func TestAuthor(t *testing.T) {
	for _, test := range []struct {
		text string
		want pemmican.Author
	}{
		{"fix it", pemmican.ByRole},
		{"<system-reminder>x</system-reminder>", pemmican.ByRuntime},
		{" <system-reminder>x</system-reminder>\n<system-reminder>y</system-reminder>\n", pemmican.ByRuntime},
		{"<system-reminder>x</system-reminder>\nfix it", pemmican.ByRole},
		{"<command-name>/compact</command-name>\n<command-message>compact</command-message>", pemmican.ByRuntime},
		{"<local-command-stdout>Done</local-command-stdout>", pemmican.ByRuntime},
		{"<local-command-stdout>cut off", pemmican.ByRuntime},
		{"<task-notification>\n<id>1</id>\n</task-notification>", pemmican.ByRuntime},
		{"<environment_context>\n<cwd>/</cwd></environment_context>", pemmican.ByRuntime},
		{"SYSTEM_NOTICE: earlier messages were removed", pemmican.ByRuntime},
		{"<task>do it</task>", pemmican.ByRole},
		{"<", pemmican.ByRole},
		{"", pemmican.ByRole},
	} {
		if got := Author([]pemmican.Block{{Text: test.text}}); got != test.want {
			t.Errorf("Author(%q) = %d, want %d", test.text, got, test.want)
		}
	}
	reminder := pemmican.Block{Text: "<system-reminder>x</system-reminder>"}
	if got := Author([]pemmican.Block{reminder, {Text: "mine"}}); got != pemmican.ByRole {
		t.Error("a person's text beside a reminder is the person's")
	}
	if got := Author([]pemmican.Block{{Kind: pemmican.ToolResult, CallID: "c"}, {Kind: pemmican.Media, CallID: "c"}, reminder}); got != pemmican.ByRuntime {
		t.Error("a reminder behind a result is the runtime's")
	}
	if got := Author([]pemmican.Block{UserText(pemmican.Seal("body"))}); got != pemmican.ByRuntime {
		t.Error("a summary is the runtime's")
	}
}

func TestReadable(t *testing.T) {
	deep := strings.Repeat(`[`, 5000) + `"x"` + strings.Repeat(`]`, 5000)
	for _, test := range []struct{ in, want string }{
		{`{"type":"x","content":[{"title":"T","url":"u","encrypted_content":"AAA"},{"text":""}],"n":1}`, "T\nu"},
		{`"s"`, "s"},
		{`null`, ""},
		{deep, ""},
	} {
		if got := Readable([]byte(test.in), jsonspan.Span{End: len(test.in)}); got != test.want {
			t.Errorf("Readable(%.60s) = %q, want %q", test.in, got, test.want)
		}
	}
}
