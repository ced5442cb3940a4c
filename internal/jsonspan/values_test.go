package jsonspan

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestValues(t *testing.T) {
	for _, tc := range []struct {
		name, data string
		want       []string // line, then ! for garbage or … for truncated, then the text
	}{
		{"empty", "", nil},
		{"blank", " \r\n\n", nil},
		{"lines", "{\"a\":1}\n[2]\n", []string{`1 {"a":1}`, `2 [2]`}},
		{"byte order mark and CRLF", "\uFEFF{}\r\n\r\n[]\r\n", []string{`1 {}`, `3 []`}},
		{"byte order mark alone", "\uFEFF", nil},
		{"glued", "{}{}\n[]\"a\"1{}", []string{`1 {}`, `1 {}`, `2 []`, `2 "a"`, `2 1`, `2 {}`}},
		{"over lines", "{\n\"a\":1\n}\n2", []string{"1 {\n\"a\":1\n}", `4 2`}},
		{"half last line", "{\"a\":1}\n{\"a\":\"x", []string{`1 {"a":1}`, `2…{"a":"x`}},
		{"half last line with a return", "{\"a\":1}\r\n{\"a\":\r\n", []string{`1 {"a":1}`, `2…{"a":`}},
		{"garbage line", "{}\nnot json \r\n{}", []string{`1 {}`, `2!not json`, `3 {}`}},
		{"garbage behind a value", "{} x {}\n{}", []string{`1 {}`, `1!x {}`, `2 {}`}},
		{"dates", "2024-01-02 log\n{}", []string{`1!2024-01-02 log`, `2 {}`}},
		{"two zeros", "00 1\n", []string{`1!00 1`}},
		{"truex", "truex\n{}", []string{`1!truex`, `2 {}`}},
		{"zero bytes", "{}\n\x00\x00\x00\n{}", []string{`1 {}`, "2!\x00\x00\x00", `3 {}`}},
		{"half a line in the middle", "{\"a\":[1,\n{\"b\":2}\n{\"c\":3}\n", []string{`1!{"a":[1,`, `2 {"b":2}`, `3 {"c":3}`}},
		{"half a string in the middle", "{\"a\":\"x\n{\"b\":2}\n", []string{`1!{"a":"x`, `2 {"b":2}`}},
		{"half a document", "{\n\"a\": {\n\"b\": 1},\n", []string{`1…{`, `2 "a"`, `2!: {`, `3 "b"`, `3!: 1},`}},
		{"values of a half document over lines", "[{},\n{\n}, x\n{\n}", []string{`1![{},`, `2!{`, `3!}, x`, "4 {\n}"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			data := []byte(tc.data)
			var got []string
			for it := range Values(data) {
				mark := " "
				switch {
				case errors.Is(it.Err, ErrTruncated):
					mark = "…"
				case it.Err != nil:
					mark = "!"
				}
				got = append(got, fmt.Sprintf("%d%s%s", it.Line, mark, it.Span.Of(data)))
			}
			equalStrings(t, got, tc.want)
			for range Values(data) {
				break
			}
		})
	}
}

// TestHostileStreams: the time for streams of nothing but faults grows with their length, not with its square, which at these
// lengths would run into the timeout of the test.
func TestHostileStreams(t *testing.T) {
	const n = 1 << 20
	for _, data := range []string{
		strings.Repeat("[\n", n),
		strings.Repeat("[[\n", n),
		strings.Repeat("[\n", 5000) + strings.Repeat("1,\n", n),
		strings.Repeat("[\n", 5000) + strings.Repeat("1 ", n),
		"[\n" + strings.Repeat("1 ", n) + "\nx",
		strings.Repeat("{\"a\":\n", n),
		strings.Repeat("\"\n", n),
		strings.Repeat("1", n) + strings.Repeat("x\n", n),
	} {
		items := 0
		for range Values([]byte(data)) {
			items++
		}
		if items == 0 {
			t.Errorf("nothing was yielded of %.10q…", data)
		}
	}
}

func FuzzValues(f *testing.F) {
	for _, seed := range []string{
		"\uFEFF{\"a\":1}\r\n[2]{}\n\nx\n{\"b\":", "{\"a\":[1,\n{\"b\":2}\n{\"c\":3}\n", "1 2 truefalse\n00", "\"\n\"\n", "[\n[\n[1]\n] x\n2",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		at := 0
		if bytes.HasPrefix(data, []byte("\uFEFF")) {
			at = 3
		}
		for it := range Values(data) {
			s := it.Span
			if s.Start < at || s.Empty() || s.End > len(data) {
				t.Fatalf("%v after %d", s, at)
			}
			if skipSpace(data, at) != s.Start {
				t.Fatalf("%q is left out", data[at:s.Start])
			}
			if want := 1 + bytes.Count(data[:s.Start], newline); it.Line != want {
				t.Fatalf("line %d, want %d", it.Line, want)
			}
			got, err := Scan(data, s.Start)
			if it.Err == nil && (err != nil || got != s) {
				t.Fatalf("%q: Scan says %v, %v", s.Of(data), got, err)
			}
			if it.Err != nil && (!errors.Is(it.Err, ErrSyntax) && !errors.Is(it.Err, ErrDepth) ||
				bytes.Contains(s.Of(data), newline) || isSpace(data[s.End-1])) {
				t.Fatalf("%q: %v", s.Of(data), it.Err)
			}
			if errors.Is(it.Err, ErrTruncated) && !errors.Is(err, ErrTruncated) {
				t.Fatalf("%q: %v, Scan says %v", s.Of(data), it.Err, err)
			}
			at = s.End
		}
		if skipSpace(data, at) != len(data) {
			t.Fatalf("%q is left out", data[at:])
		}
	})
}
