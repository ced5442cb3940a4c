package jsonspan

import (
	"encoding/json"
	"errors"
	"testing"
)

func TestSplice(t *testing.T) {
	edit := func(start, end int, text string) Edit { return Edit{Span{start, end}, []byte(text)} }
	for _, tc := range []struct {
		name  string
		edits []Edit
		want  string // "" is an error
	}{
		{"none", nil, "0123456789"},
		{"replace", []Edit{edit(2, 4, "abc")}, "01abc456789"},
		{"delete", []Edit{{Span: Span{0, 3}}, {Span: Span{8, 10}}}, "34567"},
		{"insert in the order given", []Edit{edit(5, 5, "a"), edit(5, 5, "b")}, "01234ab56789"},
		{"insert at both ends", []Edit{edit(0, 0, "<"), edit(10, 10, ">")}, "<0123456789>"},
		{"touching", []Edit{edit(1, 3, "x"), edit(3, 3, "y"), edit(3, 5, "z")}, "0xyz56789"},
		{"overlap", []Edit{edit(1, 4, ""), edit(3, 5, "")}, ""},
		{"unsorted", []Edit{edit(5, 6, ""), edit(1, 2, "")}, ""},
		{"insert inside a deletion", []Edit{edit(1, 4, ""), edit(2, 2, "x")}, ""},
		{"reversed", []Edit{edit(4, 3, "")}, ""},
		{"negative", []Edit{edit(-1, 3, "")}, ""},
		{"outside", []Edit{edit(9, 11, "")}, ""},
	} {
		data := []byte("0123456789")
		got, err := Splice(data, tc.edits)
		if tc.want == "" {
			if !errors.Is(err, ErrEdits) || got != nil {
				t.Errorf("%s: %q, %v", tc.name, got, err)
			}
			continue
		}
		if err != nil || string(got) != tc.want || cap(got) != len(got) {
			t.Errorf("%s: got %q (cap %d), %v, want %q", tc.name, got, cap(got), err, tc.want)
		}
		if string(data) != "0123456789" {
			t.Errorf("%s: data changed", tc.name)
		}
	}
}

func TestRemoveElements(t *testing.T) {
	for _, tc := range []struct {
		data, drop, want string // drop has an x for each element that goes
	}{
		{`[1,2,3]`, `...`, `[1,2,3]`},
		{`[1,2,3]`, `x..`, `[2,3]`},
		{`[1,2,3]`, `.x.`, `[1,3]`},
		{`[1,2,3]`, `..x`, `[1,2]`},
		{`[1,2,3]`, `x.x`, `[2]`},
		{`[1,2,3]`, `xx.`, `[3]`},
		{`[ 1, 2 ]`, `xx`, `[]`},
		{`[ ]`, ``, `[ ]`},
		{"[\n  1,\n  2 ,\n  3,\n  4\n]", `.x..`, "[\n  1,\n  3,\n  4\n]"},
		{"[\n  1,\n  2 ,\n  3,\n  4\n]", `x..x`, "[\n  2 ,\n  3\n]"},
		{"[\n  1,\n  2 ,\n  3,\n  4\n]", `.x.x`, "[\n  1,\n  3\n]"},
		{`{"a": 1, "b":[2,3], "c": {}}`, `.x.`, `{"a": 1, "c": {}}`},
		{`{"a": 1, "b":[2,3], "c": {}}`, `x..`, `{"b":[2,3], "c": {}}`},
		{`{"a": 1}`, `x`, `{}`},
		{`"text"`, ``, `"text"`},
	} {
		data := []byte(tc.data)
		calls := 0
		edits := RemoveElements(data, Span{0, len(data)}, func(i int) bool {
			if i != calls {
				t.Errorf("%s: asked for %d, want %d", tc.data, i, calls)
			}
			calls++
			return tc.drop[i] == 'x'
		})
		got, err := Splice(data, edits)
		if err != nil || string(got) != tc.want || calls != len(tc.drop) {
			t.Errorf("%s without %s: got %s, %v, want %s", tc.data, tc.drop, got, err, tc.want)
		}
	}
}

func FuzzRemoveElements(f *testing.F) {
	f.Add([]byte(`[1, [2,3] ,"a",{"b":null}]`), uint64(5))
	f.Add([]byte("{\"a\" : 1 ,\n \"b\":[2,3], \"a\": {} }"), uint64(2))
	f.Add([]byte("[\r\n]"), uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, mask uint64) {
		s, err := Scan(data, 0)
		if err != nil {
			touch(data)
			return
		}
		drop := func(i int) bool { return mask>>(i%64)&1 != 0 }
		var want []string
		var all []Span
		for el := range parts(data, s) {
			if !drop(len(all)) {
				want = append(want, string(el.Of(data)))
			}
			all = append(all, el)
		}
		edits := RemoveElements(data, s, drop)
		for i := range all {
			kept := !drop(i)
			for _, e := range edits {
				if kept && e.Start < all[i].End && all[i].Start < e.End {
					t.Fatalf("%v cuts into kept %v", e.Span, all[i])
				}
				if kept && i > 0 && !drop(i-1) && e.Start < all[i].Start && all[i-1].End < e.End {
					t.Fatalf("%v cuts between kept neighbours", e.Span)
				}
			}
		}
		out, err := Splice(data, edits)
		if err != nil {
			t.Fatal(err)
		}
		after, err := Scan(out, 0)
		if err != nil || len(out)-after.End != len(data)-s.End || !json.Valid(after.Of(out)) {
			t.Fatalf("%q is broken: %v", out, err)
		}
		var got []string
		for el := range parts(out, after) {
			got = append(got, string(el.Of(out)))
		}
		equalStrings(t, got, want)
	})
}
