package jsonspan

import (
	"testing"
)

func TestMembers(t *testing.T) {
	data := []byte(` { "a" : 1 , "b":{"a":[2]},"a":"}" } `)
	s, err := Scan(data, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for key, val := range Members(data, s) {
		got = append(got, string(key.Of(data)), string(val.Of(data)))
	}
	want := []string{`"a"`, `1`, `"b"`, `{"a":[2]}`, `"a"`, `"}"`}
	equalStrings(t, got, want)
	for range Members(data, s) {
		break // Stopping early must be heard.
	}
	for range Elements(data, s) {
		t.Error("an object has no elements")
	}
}

func TestElements(t *testing.T) {
	data := []byte(`[ [1,2] ,"],", {"a":3}, null ]`)
	var got []string
	for el := range Elements(data, Span{0, len(data)}) {
		got = append(got, string(el.Of(data)))
	}
	equalStrings(t, got, []string{`[1,2]`, `"],"`, `{"a":3}`, `null`})
	for range Elements(data, Span{0, len(data)}) {
		break
	}
	for range Members(data, Span{0, len(data)}) {
		t.Error("an array has no members")
	}
}

func equalStrings(t *testing.T, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%d: got %q, want %q", i, got[i], want[i])
		}
	}
}

func TestGet(t *testing.T) {
	data := []byte(`{"a":1,"\u0061":2,"b":{"c":{"d":3}},"\ud83d\ude00":4,"":5,"e":{"x":1},"e":{"y":2}}`)
	doc := Span{0, len(data)}
	for _, tc := range []struct {
		keys []string
		want string // "" if there is none
	}{
		{[]string{"a"}, `2`}, // the last of duplicates, however it is written
		{[]string{"A"}, ``},
		{[]string{"b", "c", "d"}, `3`},
		{[]string{"b", "d"}, ``},
		{[]string{"a", "b"}, ``},
		{[]string{"😀"}, `4`},
		{[]string{""}, `5`},
		{[]string{"e", "x"}, ``}, // Duplicates are not merged.
		{[]string{"e", "y"}, `2`},
		{nil, string(data)},
	} {
		s, ok := Lookup(data, doc, tc.keys...)
		if got := string(s.Of(data)); got != tc.want || ok != (tc.want != "") {
			t.Errorf("%q: got %q, %v, want %q", tc.keys, got, ok, tc.want)
		}
	}
}

func TestKindAndNumbers(t *testing.T) {
	for _, tc := range []struct {
		data  string
		kind  Kind
		n     int64
		isInt bool
		f     float64
		isF   bool
	}{
		{data: `{}`, kind: KindObject},
		{data: `[1]`, kind: KindArray},
		{data: `"1"`, kind: KindString},
		{data: `true`, kind: KindBool},
		{data: `false`, kind: KindBool},
		{data: `null`, kind: KindNull},
		{data: `0`, kind: KindNumber, isInt: true, isF: true},
		{data: `-0`, kind: KindNumber, isInt: true, isF: true},
		{data: `9223372036854775807`, kind: KindNumber, n: 1<<63 - 1, isInt: true, f: 1 << 63, isF: true},
		{data: `9223372036854775808`, kind: KindNumber, f: 1 << 63, isF: true},
		{data: `1.0`, kind: KindNumber, f: 1, isF: true},
		{data: `1e3`, kind: KindNumber, f: 1000, isF: true},
		{data: `1e400`, kind: KindNumber},
		{data: `1e-400`, kind: KindNumber, isF: true},
		{data: `+1`, kind: KindInvalid},
		{data: `NaN`, kind: KindInvalid},
		{data: ` 1`, kind: KindInvalid}, // A span starts at its value.
		{data: ``, kind: KindInvalid},
	} {
		data := []byte(tc.data)
		s := Span{0, len(data)}
		if got := KindAt(data, s); got != tc.kind {
			t.Errorf("%s: kind %d, want %d", tc.data, got, tc.kind)
		}
		if n, ok := Int(data, s); n != tc.n || ok != tc.isInt {
			t.Errorf("%s: Int %d, %v", tc.data, n, ok)
		}
		if f, ok := Float(data, s); f != tc.f || ok != tc.isF {
			t.Errorf("%s: Float %g, %v", tc.data, f, ok)
		}
		if v, ok := Bool(data, s); v != (tc.data == "true") || ok != (tc.kind == KindBool) {
			t.Errorf("%s: Bool %v, %v", tc.data, v, ok)
		}
	}
}

func TestSpan(t *testing.T) {
	data := []byte("abcdef")
	got := append(Span{1, 3}.Of(data), 'X')
	if string(got) != "bcX" || string(data) != "abcdef" {
		t.Errorf("%q, %q", got, data)
	}
	if !(Span{3, 3}).Empty() || (Span{3, 4}).Empty() {
		t.Error("Empty")
	}
}

func TestNoAllocations(t *testing.T) {
	data := documents[0].data
	doc := Span{0, len(data)}
	literals := []byte(`{"a":[true,false,null],"b":false,"c":null}`)
	text := []byte(`"a\n\"b\u00e9 and more"`)
	var x Index
	if _, err := x.Scan(data, 0); err != nil {
		t.Fatal(err)
	}
	for name, fn := range map[string]func(){
		"Scan": func() { _, _ = Scan(data, 0) },
		"Skip": func() { Skip(data, 0) },
		"Members": func() {
			count := 0
			for range Members(data, doc) {
				count++
			}
		},
		"literals": func() { Skip(literals, 0); Lookup(literals, Span{0, len(literals)}, "c") },
		"Get":      func() { Get(data, doc, "messages") },
		"Lookup":   func() { Lookup(data, doc, "stream", "x") },
		"Elements": func() {
			s, _ := Get(data, doc, "messages")
			n := 0
			for range Elements(data, s) {
				n++
			}
		},
		"with an index": func() {
			s, _ := x.Get(data, doc, "messages")
			for m := range x.Elements(data, s) {
				for range x.Members(data, m) {
				}
			}
		},
		"scanned again": func() { _, _ = x.Scan(data, 0) },
		"Equal":         func() { Equal(text, Span{0, len(text)}, "a\n\"bé and more") },
		"Int":           func() { Int([]byte("-123456"), Span{0, 7}) },
		"Float":         func() { Float([]byte("-1234.5"), Span{0, 7}) },
		"Values": func() {
			for range Values(data) {
			}
		},
	} {
		if n := testing.AllocsPerRun(3, fn); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	plain := []byte(`"no escapes, naïve"`)
	if n := testing.AllocsPerRun(3, func() { String(plain, Span{0, len(plain)}) }); n > 1 {
		t.Errorf("String: %v allocations", n)
	}
}
