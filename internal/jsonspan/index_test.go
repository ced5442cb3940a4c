package jsonspan

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawValue makes up a value, often a long or a deep one.
func drawValue(t *rapid.T, depth int) string {
	kind := rapid.SampledFrom([]string{"string", "long string", "number", "literal", "empty", "array", "object", "nest"}).Draw(t, "kind")
	if depth == 0 && (kind == "array" || kind == "object") {
		kind = "number"
	}
	switch kind {
	case "string":
		return string(Quote(nil, rapid.StringN(0, 10, -1).Draw(t, "text")))
	case "long string":
		n := rapid.IntRange(longValue-4, longValue+4).Draw(t, "length")
		return `"` + strings.Repeat("x", n-4) + `\"` + `"`
	case "number":
		return "-12.5e3"
	case "literal":
		return rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "literal")
	case "empty":
		return rapid.SampledFrom([]string{"[ ]", "{}"}).Draw(t, "empty")
	case "nest":
		n := rapid.IntRange(1, 2*indexDepth).Draw(t, "deep")
		return strings.Repeat(`[0,{"a": `, n) + `"` + strings.Repeat("y", longValue) + `"` + strings.Repeat(`}]`, n)
	}
	var b strings.Builder
	open, end := "[", "]"
	if kind == "object" {
		open, end = "{", "}"
	}
	b.WriteString(open)
	for i := range rapid.IntRange(0, 5).Draw(t, "parts") {
		if i > 0 {
			b.WriteString(" , ")
		}
		if kind == "object" {
			b.WriteString(rapid.SampledFrom([]string{`"a" : `, `"\u0061":`, `"b":`, `"` + strings.Repeat("k", longValue) + `":`}).Draw(t, "key"))
		}
		b.WriteString(drawValue(t, depth-1))
	}
	return b.String() + end
}

// TestIndex: with an index everything is found where it is found without one, whatever was scanned before, and all that is
// long is known.
func TestIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var doc strings.Builder
		for range rapid.IntRange(1, 4).Draw(t, "lines") {
			line := drawValue(t, 4)
			if rapid.Bool().Draw(t, "broken") {
				line = line[:rapid.IntRange(0, len(line)).Draw(t, "cut")]
			}
			doc.WriteString(line + "\n")
		}
		data := []byte(doc.String())
		var x Index
		var want []Span
		var values []Item
		for it := range Values(data) {
			values = append(values, it)
			if it.Err == nil {
				want = longValues(data, it.Span, 0, want)
			}
		}
		n := 0
		for it := range x.Values(data) {
			if fmt.Sprint(it) != fmt.Sprint(values[n]) {
				t.Fatalf("item %d: %v, without an index %v", n, it, values[n])
			}
			n++
		}
		check := func() {
			t.Helper()
			if fmt.Sprint(x.long) != fmt.Sprint(want) {
				t.Fatalf("%s\nknows %v, want %v", data, x.long, want)
			}
			for _, it := range values {
				if it.Err == nil {
					compare(t, &x, data, it.Span)
				}
			}
		}
		if n != len(values) {
			t.Fatalf("%d items, want %d", n, len(values))
		}
		check()

		// From any value on once more.
		for _, it := range values[rapid.IntRange(0, len(values)).Draw(t, "again"):] {
			s, err := Scan(data, it.Span.Start)
			got, gotErr := x.Scan(data, it.Span.Start)
			if got != s || fmt.Sprint(gotErr) != fmt.Sprint(err) {
				t.Fatalf("Scan at %d: %v, %v, want %v, %v", it.Span.Start, got, gotErr, s, err)
			}
			if it.Err != nil && err == nil { // a value that only Values refuses
				x.begin(it.Span.Start)
			}
		}
		check()
	})
}

// longValues appends the values in s that an index remembers.
func longValues(data []byte, s Span, depth int, out []Span) []Span {
	if depth == indexDepth {
		return out
	}
	parts := 0
	at := len(out)
	out = append(out, s)
	for _, v := range Members(data, s) {
		out = longValues(data, v, depth+1, out)
		parts++
	}
	for v := range Elements(data, s) {
		out = longValues(data, v, depth+1, out)
		parts++
	}
	if s.End-s.Start < longValue || parts == 0 && KindAt(data, s) != KindString {
		out = append(out[:at], out[at+1:]...)
	}
	return out
}

func compare(t *rapid.T, x *Index, data []byte, s Span) {
	t.Helper()
	var got, want []Span
	for k, v := range Members(data, s) {
		want = append(want, k, v)
	}
	for k, v := range x.Members(data, s) {
		got = append(got, k, v)
		name, _ := String(data, k)
		a, _ := Get(data, s, name)
		if b, ok := x.Get(data, s, name); !ok || a != b {
			t.Fatalf("Get %q of %v: %v, want %v", name, s, b, a)
		}
		compare(t, x, data, v)
	}
	for v := range Elements(data, s) {
		want = append(want, v)
	}
	for v := range x.Elements(data, s) {
		got = append(got, v)
		compare(t, x, data, v)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("in %v: %v, want %v", s, got, want)
	}
}

// TestIndexOfNothing: an index that knows another document, or nothing, does no harm.
func TestIndexOfNothing(t *testing.T) {
	var x Index
	long := []byte(`{"a":"` + strings.Repeat("x", 1000) + `","b":[{"c":"` + strings.Repeat("y", 1000) + `"}]}`)
	if _, err := x.Scan(long, 0); err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{nil, []byte("{"), long[:300], []byte(`{"a":` + strings.Repeat(" ", 200) + `1}`)} {
		for _, s := range []Span{{}, {-1, 1}, {0, len(data)}, {0, len(data) + 1}, {5, len(data)}} {
			for range x.Members(data, s) {
				continue
			}
			for range x.Elements(data, s) {
				continue
			}
			x.Get(data, s, "b")
		}
	}
	var none Index
	if v, ok := none.Get(long, Span{0, len(long)}, "b"); !ok || KindAt(long, v) != KindArray {
		t.Errorf("an empty index finds %v, %v", v, ok)
	}
}

// TestIndexIsSmall: whatever the document is, the index does not outgrow it.
func TestIndexIsSmall(t *testing.T) {
	const n = 1 << 20
	for _, data := range []string{
		strings.Repeat(nested(MaxDepth)+"\n", n/(2*MaxDepth)),
		strings.Repeat(`{"a":`, 100) + "[" + strings.Repeat(`[0],`, n/4) + "0]" + strings.Repeat("}", 100),
		"[" + strings.Repeat(`[[[[[["`+strings.Repeat("x", longValue)+`"]]]]]],`, n/longValue) + "0]",
	} {
		var x Index
		for it := range x.Values([]byte(data)) {
			if it.Err != nil {
				t.Fatal(it.Err)
			}
		}
		if size := 16 * len(x.long); len(x.long) == 0 || size > len(data) {
			t.Errorf("%.20s: %d bytes to remember %d", data, size, len(data))
		}
	}
}
