package jsonspan

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestString(t *testing.T) {
	for _, tc := range []struct {
		raw, want string
		ok        bool
	}{
		{`""`, "", true},
		{`"plain, naïve 文字"`, "plain, naïve 文字", true},
		{`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t", true},
		{`"\u00e9\u0000\uD83D\uDE00"`, "é\x00😀", true},
		{`"\ud83d"`, "\uFFFD", true},
		{`"\ude00\ud83d"`, "\uFFFD\uFFFD", true},
		{`"\ud83dx"`, "\uFFFDx", true},
		{`"\ud83d\u0041"`, "\uFFFDA", true},
		{`"\ud83d\ud83d\ude00"`, "\uFFFD😀", true},
		{"\"a\xffb\"", "a\uFFFDb", true},
		{"\"\xed\xa0\x80\"", "\uFFFD\uFFFD\uFFFD", true},
		{"\"\uFFFD\"", "\uFFFD", true},
		{`1`, "", false},
		{`null`, "", false},
		{`"`, "", false},
	} {
		data := []byte("x" + tc.raw + "x")
		s := Span{1, len(data) - 1}
		if got, ok := String(data, s); got != tc.want || ok != tc.ok {
			t.Errorf("%s: String %q, %v", tc.raw, got, ok)
		}
		if got, ok := AppendString([]byte("<"), data, s); string(got) != "<"+tc.want || ok != tc.ok {
			t.Errorf("%s: AppendString %q, %v", tc.raw, got, ok)
		}
		if got := Equal(data, s, tc.want); got != tc.ok {
			t.Errorf("%s: Equal %v", tc.raw, got)
		}
		for _, other := range []string{tc.want + "x", "x" + tc.want, strings.TrimSuffix(tc.want, "b") + "c", "a\xffb"} {
			if Equal(data, s, other) {
				t.Errorf("%s: Equal to %q", tc.raw, other)
			}
		}
	}
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"":                     `""`,
		"<a> & \u2028\u2029 é": "\"<a> & \u2028\u2029 é\"",
		"\"\\/\b\f\n\r\t":      `"\"\\/\b\f\n\r\t"`,
		"\x00\x1f\x7f\v":       "\"\\u0000\\u001f\x7f\\u000b\"",
		"a\xff\xfe\uFFFD":      "\"a\uFFFD\uFFFD\uFFFD\"",
	} {
		if got := string(Quote([]byte(">"), text)); got != ">"+want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// TestHostileStrings: the time for strings of nothing but faults grows with their length, not with its square, which at these
// lengths would run into the timeout of the test.
func TestHostileStrings(t *testing.T) {
	for _, unit := range []string{"\xff", `\ud800`, `\\`, `\"`} {
		data := []byte(`"` + strings.Repeat(unit, 1<<19) + `"`)
		s, err := Scan(data, 0)
		if err != nil || Skip(data, 0) != s.End {
			t.Fatal(unit, s, err)
		}
		String(data, s)
		AppendString(nil, data, s)
		Equal(data, s, strings.Repeat("\uFFFD", 1<<19))
	}
}

func FuzzString(f *testing.F) {
	for _, seed := range []string{`"a\n\"b\u00e9"`, `"\ud83d\ude00\ud83d"`, "\"\xff\xc3\"", `"\\"`, `"é文字 and more"`, `1`} {
		f.Add([]byte(seed))
		f.Add([]byte(strings.Trim(seed, `"`)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, []byte(`"` + string(data) + `"`)} {
			s, err := Scan(data, 0)
			if err != nil || KindAt(data, s) != KindString {
				s = Span{0, len(data)}
				if _, ok := String(data, s); ok != (KindAt(data, s) == KindString && len(data) > 1) {
					t.Fatalf("%q", data)
				}
				touch(data)
				continue
			}
			var want string
			if err := json.Unmarshal(s.Of(data), &want); err != nil {
				t.Fatal(err)
			}
			if got, ok := String(data, s); !ok || got != want {
				t.Fatalf("String(%q) = %q, want %q", s.Of(data), got, want)
			}
			if got, ok := AppendString(nil, data, s); !ok || string(got) != want {
				t.Fatalf("AppendString(%q) = %q, want %q", s.Of(data), got, want)
			}
			if !Equal(data, s, want) || Equal(data, s, want+"x") || want != "" && Equal(data, s, want[1:]) {
				t.Fatalf("Equal(%q, %q)", s.Of(data), want)
			}
			raw := string(s.Of(data)[1 : len(s.Of(data))-1])
			if Equal(data, s, raw) != (raw == want) {
				t.Fatalf("Equal(%q, %q)", s.Of(data), raw)
			}
		}
	})
}

func FuzzQuote(f *testing.F) {
	for _, seed := range []string{"", "a\"\\\n\b\f\x00\x7f<>&", "\u2028\u2029", "\xff\uFFFD", `\u2028 \ufffd`, "é文字😀"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Quote(nil, text)
		if !json.Valid(got) {
			t.Fatalf("%q is not JSON", got)
		}
		clean := string([]rune(text))
		if back, ok := String(got, Span{0, len(got)}); !ok || back != clean {
			t.Fatalf("%q reads as %q, want %q", got, back, clean)
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(text); err != nil {
			t.Fatal(err)
		}
		if want := likeJavaScript(b.String()); string(got) != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
}

// likeJavaScript rewrites the escapes of encoding/json that JSON.stringify does not write.
func likeJavaScript(quoted string) string {
	return strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029", `\ufffd`, "\uFFFD",
		`\u0008`, `\b`, `\u000c`, `\f`).Replace(strings.TrimSuffix(quoted, "\n"))
}
