package jsonspan

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestScan(t *testing.T) {
	for _, tc := range []struct {
		name string
		data string
		off  int
		want string // of the span, if err is nil
		err  error
		at   int
	}{
		{name: "object", data: ` {"a" : [1, {"b":null}] , "a":true} x`, want: `{"a" : [1, {"b":null}] , "a":true}`},
		{name: "offset", data: `{"a":[1,2]}`, off: 5, want: `[1,2]`},
		{name: "glued values", data: `{}{}`, want: `{}`},
		{name: "empty containers", data: "[ {} , [ ] ,{\t} ]", want: "[ {} , [ ] ,{\t} ]"},
		{name: "huge number", data: `1e999999`, want: `1e999999`},
		{name: "number forms", data: `[-0, 1.0, 0.5e-7, 1E+2, 123456789012345678901234567890]`,
			want: `[-0, 1.0, 0.5e-7, 1E+2, 123456789012345678901234567890]`},
		{name: "lone surrogate", data: `"\uD800 \udc00"`, want: `"\uD800 \udc00"`},
		{name: "invalid UTF-8", data: "\"\xff\xc0\x80\"", want: "\"\xff\xc0\x80\""},
		{name: "delete character", data: "\"\x7f\"", want: "\"\x7f\""},
		{name: "escaped quote behind a word", data: `"12345678\"12345678\\"`, want: `"12345678\"12345678\\"`},
		{name: "depth at the limit", data: nested(MaxDepth), want: nested(MaxDepth)},

		{name: "nothing", data: " \n\t\r", err: io.EOF},
		{name: "offset at the end", data: `1`, off: 1, err: io.EOF},
		{name: "offset outside", data: `1`, off: 2, err: io.EOF},
		{name: "negative offset", data: `1`, off: -1, err: io.EOF},
		{name: "depth over the limit", data: nested(MaxDepth + 1), err: ErrDepth, at: MaxDepth},
		{name: "objects over the limit", data: strings.Repeat(`{"a":`, MaxDepth+1), err: ErrDepth, at: 5 * MaxDepth},
		{name: "open object", data: `{"a":1`, err: ErrTruncated, at: 6},
		{name: "open key", data: `{"a`, err: ErrTruncated, at: 3},
		{name: "no colon yet", data: `{"a"`, err: ErrTruncated, at: 4},
		{name: "no value yet", data: `{"a":`, err: ErrTruncated, at: 5},
		{name: "open escape", data: `"\`, err: ErrTruncated, at: 2},
		{name: "open unicode escape", data: `"\u12`, err: ErrTruncated, at: 5},
		{name: "open literal", data: `tru`, err: ErrTruncated, at: 3},
		{name: "lone minus", data: `-`, err: ErrTruncated, at: 1},
		{name: "open fraction", data: `1.`, err: ErrTruncated, at: 2},
		{name: "open exponent", data: `1e+`, err: ErrTruncated, at: 3},
		{name: "byte order mark", data: "\uFEFF1", err: ErrSyntax, at: 0},
		{name: "leading zero", data: `[01]`, err: ErrSyntax, at: 2},
		{name: "plus", data: `+1`, err: ErrSyntax, at: 0},
		{name: "no integer part", data: `[.5]`, err: ErrSyntax, at: 1},
		{name: "no fraction", data: `[1.]`, err: ErrSyntax, at: 3},
		{name: "trailing comma in array", data: `[1,]`, err: ErrSyntax, at: 3},
		{name: "trailing comma in object", data: `{"a":1,}`, err: ErrSyntax, at: 7},
		{name: "wrong bracket", data: `[1}`, err: ErrSyntax, at: 2},
		{name: "wrong bracket in object", data: `{"a":1]`, err: ErrSyntax, at: 6},
		{name: "number as key", data: `{1:2}`, err: ErrSyntax, at: 1},
		{name: "newline in string", data: "\"0123456789\n\"", err: ErrSyntax, at: 11},
		{name: "nul in string", data: "\"a\x00\"", err: ErrSyntax, at: 2},
		{name: "unknown escape", data: `"\x"`, err: ErrSyntax, at: 2},
		{name: "bad unicode escape", data: `"\u12g4"`, err: ErrSyntax, at: 5},
		{name: "bad literal", data: `nulL`, err: ErrSyntax, at: 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			data := []byte(tc.data)
			s, err := Scan(data, tc.off)
			if tc.err == nil {
				if err != nil {
					t.Fatal(err)
				}
				if got := string(s.Of(data)); got != tc.want {
					t.Fatalf("got %.60q, want %.60q", got, tc.want)
				}
				if end := Skip(data, tc.off); end != s.End {
					t.Fatalf("Skip ends at %d, Scan at %d", end, s.End)
				}
				return
			}
			if !errors.Is(err, tc.err) || s != (Span{}) {
				t.Fatalf("got %v, %v, want %v", s, err, tc.err)
			}
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				if tc.err == io.EOF {
					return
				}
				t.Fatalf("%v is no SyntaxError", err)
			}
			if syntax.Offset != tc.at {
				t.Errorf("%v: offset %d, want %d", err, syntax.Offset, tc.at)
			}
			if got, want := errors.Is(err, ErrTruncated), tc.err == ErrTruncated; got != want {
				t.Errorf("%v: truncated %v, want %v", err, got, want)
			}
			if got, want := errors.Is(err, ErrSyntax), tc.err != ErrDepth; got != want {
				t.Errorf("%v: syntax %v, want %v", err, got, want)
			}
		})
	}
}

// TestScanEveryPrefix: a document cut anywhere is truncated, and nothing else.
func TestScanEveryPrefix(t *testing.T) {
	const doc = `{"a\n\u00e9":[1.5e-3,{"b":"x\\"},true,false,null,[]],"é":{}}`
	for n := 1; n < len(doc); n++ {
		if _, err := Scan([]byte(doc[:n]), 0); !errors.Is(err, ErrTruncated) {
			t.Errorf("%q: %v", doc[:n], err)
		}
	}
}

// TestScanStops: each byte ends a plain run, or not, at each place of a word.
func TestScanStops(t *testing.T) {
	for c := range 256 {
		for place := range 17 {
			data := []byte(`"` + strings.Repeat("x", 17) + `"`)
			data[1+place] = byte(c)
			_, err := Scan(data, 0)
			if got, want := err == nil, json.Valid(data) || c == '"'; got != want {
				t.Errorf("byte %#x at %d: accepted %v, want %v", c, place, got, want)
			}
		}
	}
}

func TestLongString(t *testing.T) {
	data := []byte(`["` + strings.Repeat(`0123456789abcdef\"`, 50<<20/18) + `"]`)
	s, err := Scan(data, 0)
	if err != nil || s.End != len(data) || Skip(data, 0) != len(data) {
		t.Fatal(s, err)
	}
	for el := range Elements(data, s) {
		if text, ok := String(data, el); !ok || len(text) != 50<<20/18*17 {
			t.Fatal(len(text), ok)
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-0.5e+7,{"b":null}],"a":"\u00e9\n\ud800"}`, ` [true,false] `, `01`, `1.`, "\"\xff\"", "\"\n\"", `{"a":1,}`, `[}`,
		nested(20), `"0123456789\"`, "", " ", `{"\u0061" : {} , "b":[[ ]]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Scan(data, 0)
		alone := err == nil && skipSpace(data, s.End) == len(data)
		if valid := json.Valid(data); valid != alone && !errors.Is(err, ErrDepth) {
			t.Fatalf("encoding/json says %v: %v, %v", valid, s, err)
		}
		if err != nil {
			var syntax *SyntaxError
			if errors.As(err, &syntax) && errors.Is(err, ErrTruncated) != (syntax.Offset == len(data)) {
				t.Fatalf("%v in %d bytes", err, len(data))
			}
			touch(data)
			return
		}
		if !json.Valid(s.Of(data)) {
			t.Fatalf("%q is no value", s.Of(data))
		}
		walk(t, data, s)
	})
}

// walk finds that Skip, Members and Elements agree with Scan all the way down.
func walk(t *testing.T, data []byte, s Span) {
	t.Helper()
	if got, err := Scan(data, s.Start); err != nil || got != s {
		t.Fatalf("Scan: %v, %v, want %v", got, err, s)
	}
	if end := Skip(data, s.Start); end != s.End {
		t.Fatalf("Skip: %d, want %d", end, s.End)
	}
	n := 0
	for key, val := range Members(data, s) {
		if KindAt(data, key) != KindString {
			t.Fatalf("key %q", key.Of(data))
		}
		walk(t, data, key)
		walk(t, data, val)
		n++
	}
	for el := range Elements(data, s) {
		walk(t, data, el)
		n++
	}
	var want int
	switch KindAt(data, s) {
	case KindArray:
		var els []json.RawMessage
		if err := json.Unmarshal(s.Of(data), &els); err != nil {
			t.Fatal(err)
		}
		want = len(els)
	case KindObject:
		var members map[string]json.RawMessage
		if err := json.Unmarshal(s.Of(data), &members); err != nil {
			t.Fatal(err)
		}
		for key, raw := range members {
			if val, ok := Get(data, s, key); !ok || string(val.Of(data)) != string(raw) {
				t.Fatalf("Get %q: %v %v, want %q", key, val, ok, raw)
			}
		}
		want = max(len(members), n) // A map has each duplicate once.
	case KindInvalid:
		t.Fatalf("kind of %q", s.Of(data))
	}
	if n != want {
		t.Fatalf("%d parts in %q, want %d", n, s.Of(data), want)
	}
}

// touch calls everything on data that is no JSON: nothing may panic.
func touch(data []byte) {
	for _, s := range []Span{
		{}, {-1, 1}, {2, 1}, {0, len(data) + 1}, {len(data), len(data)},
		{0, len(data)}, {0, len(data) / 2}, {len(data) / 2, len(data)}, {len(data) - 1, len(data)},
	} {
		KindAt(data, s)
		Skip(data, s.Start)
		Get(data, s, "a")
		Lookup(data, s, "a", "b")
		String(data, s)
		AppendString(nil, data, s)
		Equal(data, s, "a")
		Int(data, s)
		Float(data, s)
		Bool(data, s)
		if _, err := Splice(data, RemoveElements(data, s, func(i int) bool { return i%2 == 0 })); err != nil {
			panic(err)
		}
	}
}
