package textcut

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

const (
	family  = "👨‍👩‍👧‍👦"            // 25 bytes
	thumb   = "👍🏽"                 // 8 bytes
	flag    = "🇩🇪"                 // 8 bytes
	heart   = "❤️"                 // 6 bytes
	acute   = "e\u0301"            // 3 bytes
	hangul  = "\u1112\u1161\u11ab" // 9 bytes
	england = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
)

func omitted(n int) string { return fmt.Sprintf("\n[%d bytes omitted]\n", n) }

func TestEdges(t *testing.T) {
	for _, test := range []struct {
		name, s          string
		n, before, after int
	}{
		{"empty", "", 0, 0, 0},
		{"empty, beyond", "", 5, 0, 0},
		{"negative", "abc", -1, 0, 0},
		{"ASCII", "abc", 2, 2, 2},
		{"end", "abc", 3, 3, 3},
		{"beyond", "abc", 9, 3, 3},
		{"emoji, first byte", "a😀b", 2, 1, 5},
		{"emoji, last byte", "a😀b", 4, 1, 5},
		{"emoji, behind", "a😀b", 5, 5, 5},
		{"é at 97", strings.Repeat("x", 97) + "é" + strings.Repeat("y", 10), 98, 97, 99},
		{"é across 100", strings.Repeat("x", 99) + "é" + strings.Repeat("y", 10), 100, 99, 101},
		{"e and acute", "a" + acute + "b", 2, 1, 4},
		{"inside acute", "a" + acute + "b", 3, 1, 4},
		{"family", "a" + family + "b", 5, 1, 26},
		{"family, behind a joiner", "a" + family + "b", 8, 1, 26},
		{"family, all but a byte", "a" + family + "b", 25, 1, 26},
		{"skin tone", "a" + thumb + "b", 5, 1, 9},
		{"variation selector", "a" + heart + "b", 4, 1, 7},
		{"flag", "a" + flag + "b", 5, 1, 9},
		{"second flag", flag + flag, 12, 8, 16},
		{"between flags", flag + flag, 8, 8, 8},
		{"half a flag", flag + "🇩", 8, 8, 8},
		{"many flags", strings.Repeat(flag, 400), 8*200 + 4, 8 * 200, 8 * 201},
		{"flag of tags", england + "!", 10, 0, len(england)},
		{"jamo", hangul + "!", 3, 0, 9},
		{"CRLF", "a\r\nb", 2, 1, 3},
		{"CR CRLF", "\r\r\n", 1, 1, 1},
		{"LF LF", "\n\n", 1, 1, 1},
		{"mark on a line break", "\n\u0301", 1, 1, 1},
		{"no UTF-8", "\xff\xfe\xfd", 1, 1, 1},
		{"half a rune", "\xe4\xb8", 1, 1, 1},
		{"rune and half a rune", "中\xe4\xb8", 4, 4, 4},
		{"continuation bytes", "\x80\x80\x80\x80\x80", 4, 4, 4},
		{"too many continuation bytes", "中\x80\x80", 4, 4, 4},
		{"endless marks", "e" + strings.Repeat("\u0301", 10_000), 10_000, 9_999, 10_001},
		{"start of endless marks", "e" + strings.Repeat("\u0301", 10_000), 100, 0, 101},
	} {
		if got := Before(test.s, test.n); got != test.before {
			t.Errorf("%s: Before = %d, want %d", test.name, got, test.before)
		}
		if got := After(test.s, test.n); got != test.after {
			t.Errorf("%s: After = %d, want %d", test.name, got, test.after)
		}
	}
}

func TestRunes(t *testing.T) {
	for _, test := range []struct {
		s       string
		n, want int
	}{
		{"", 3, 0},
		{"abc", -1, 0},
		{"abc", 0, 0},
		{"日本語", 2, 6},
		{"日本語", 3, 9},
		{"日本語", 4, 9},
		{"a" + acute + "b", 2, 1},
		{"a" + acute + "b", 3, 4},
		{family + "b", 6, 0},
		{family + "b", 7, 25},
		{"a\r\nb", 2, 1},
		{"\xff\xff\xff", 2, 2},
	} {
		if got := Runes(test.s, test.n); got != test.want {
			t.Errorf("Runes(%q, %d) = %d, want %d", test.s, test.n, got, test.want)
		}
	}
}

func TestHeadAndMiddle(t *testing.T) {
	dots := func(int) string { return "..." }
	lines := strings.Repeat("0123456789abcde\n", 100) // 1600 bytes
	for _, test := range []struct {
		name, s      string
		max          int
		marker       func(int) string
		head, middle string
	}{
		{"fits", "abcdef", 6, dots, "abcdef", "abcdef"},
		{"one too many", "abcdefgh", 7, dots, "abcd...", "ab...gh"},
		{"odd room", "abcdefghij", 8, dots, "abcde...", "abc...ij"},
		{"nil marker", "abcdefgh", 4, nil, "abcd", "abgh"},
		{"room for the marker only", "abcdefgh", 3, dots, "...", "..."},
		{"no room for the marker", "abcdefgh", 2, dots, "ab", "ab"},
		{"no room, in a character", acute + "bcdefgh", 2, dots, "", ""},
		{"no room at all", "abcdefgh", 0, dots, "", ""},
		{"negative", "abcdefgh", -1, dots, "", ""},
		{"emoji across both cuts", "ab😀cccc😀de", 11, dots, "ab😀cc...", "ab...de"},
		{"family", family + family + family, 60, dots, family + family + "...", family + "..." + family},
		{"CRLF", "abc\r\nabcdefgh\r\nabc", 11, dots, "abc\r\nabc...", "abc...abc"},
		{"lines", lines, 100, dots, lines[:96] + "...", lines[:48] + "..." + lines[:48]},
		{"count", lines, 100, omitted, lines[:64] + "\n[1536 bytes omitted]\n", lines[:32] + "\n[1536 bytes omitted]\n" + lines[:32]},
	} {
		if got := Head(test.s, test.max, test.marker); got != test.head {
			t.Errorf("%s: Head = %q, want %q", test.name, got, test.head)
		}
		if got := Middle(test.s, test.max, test.marker); got != test.middle {
			t.Errorf("%s: Middle = %q, want %q", test.name, got, test.middle)
		}
	}
}

// TestStrangeMarker: a marker may be as long as it likes.
func TestStrangeMarker(t *testing.T) {
	s := strings.Repeat("x", 1000)
	for _, marker := range []func(int) string{
		func(n int) string { return strings.Repeat(".", n) },
		func(n int) string { return strings.Repeat(".", 1000-n) },
		func(n int) string { return strings.Repeat(".", n*7919%500) },
	} {
		for max := range 1000 {
			if got := Middle(s, max, marker); len(got) > max {
				t.Fatalf("Middle to %d has %d bytes", max, len(got))
			}
			if got := Head(s, max, marker); len(got) > max {
				t.Fatalf("Head to %d has %d bytes", max, len(got))
			}
		}
	}
}

// edges returns the safe edges of s, found forwards, one rune after another,
// and as makeshift the edges of runes in sequences of more than maxSequence
// bytes.
func edges(s string) (safe, makeshift map[int]bool) {
	safe, makeshift = map[int]bool{0: true, len(s): true}, map[int]bool{}
	var before rune
	var inside []int // edges of runes since the last safe edge
	flags, last := 0, 0
	next := func(edge int) {
		if edge-last > maxSequence {
			for _, e := range inside {
				makeshift[e] = true
			}
		}
		inside, last = nil, edge
	}
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if before == '\r' && r == '\n' ||
			before >= ' ' && (before == joiner || extends(r)) ||
			regional(before) && regional(r) && flags%2 == 1 {
			inside = append(inside, i)
		} else {
			safe[i] = true
			next(i)
		}
		if regional(r) {
			flags++
		} else {
			flags = 0
		}
		before = r
		i += size
	}
	next(len(s))
	return safe, makeshift
}

func checkLaws(t interface {
	Helper()
	Fatalf(string, ...any)
}, s string, n int, lines bool,
) {
	t.Helper()
	safe, makeshift := edges(s)
	edge := func(i int) bool { return safe[i] || makeshift[i] }
	b, a := Before(s, n), After(s, n)
	if b > max(n, 0) || a < min(n, len(s)) || safe[n] && (a != n || b != n) || !edge(b) || !edge(a) {
		t.Fatalf("%q at %d: Before = %d, After = %d", s, n, b, a)
	}
	for i := b + 1; i < a; i++ {
		if safe[i] {
			t.Fatalf("%q at %d: Before = %d, After = %d, but %d is safe", s, n, b, a, i)
		}
	}
	if Before(s, b) != b || After(s, a) != a {
		t.Fatalf("%q at %d: edges are not stable", s, n)
	}
	if r := Runes(s, n); !edge(r) || utf8.RuneCountInString(s[:r]) > max(n, 0) {
		t.Fatalf("Runes(%q, %d) = %d", s, n, r)
	}

	const sign = "\x00cut\x00" // stands in no input that matters here
	marker := func(int) string { return sign }
	if lines {
		marker = omitted
	}
	for name, cut := range map[string]func(string, int, func(int) string) string{"Head": Head, "Middle": Middle} {
		got := cut(s, n, marker)
		switch {
		case len(s) <= n:
			if got != s {
				t.Fatalf("%s(%q, %d) = %q, want it whole", name, s, n, got)
			}
		case len(got) > max(n, 0):
			t.Fatalf("%s(%q, %d) = %q has %d bytes", name, s, n, got, len(got))
		}
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Fatalf("%s(%q, %d) = %q is not UTF-8", name, s, n, got)
		}
		if again := cut(got, n, marker); again != got {
			t.Fatalf("%s(%q, %d) twice: %q, then %q", name, s, n, got, again)
		}
		if lines || strings.Contains(s, sign) || got == s {
			continue
		}
		head, tail, found := strings.Cut(got, sign)
		if !strings.HasPrefix(s, head) || !strings.HasSuffix(s, tail) || name == "Head" && tail != "" {
			t.Fatalf("%s(%q, %d) = %q is not made of its ends", name, s, n, got)
		}
		if !edge(len(head)) || !edge(len(s)-len(tail)) || !found && len(sign) <= n {
			t.Fatalf("%s(%q, %d) = %q cuts through a character", name, s, n, got)
		}
	}
}

func TestLaws(t *testing.T) {
	part := rapid.SampledFrom([]string{
		"a", " ", "\n", "\r", "\r\n", "é", "中", "😀", "\u0301", "\u200d", "\ufe0f", "🏽", "🇩", "🇪",
		family, thumb, flag, heart, acute, hangul, england, "\xff", "\xe4\xb8", "\x80", strings.Repeat("\u0301", 200),
	})
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOf(part).Draw(t, "parts"), "")
		checkLaws(t, s, rapid.IntRange(-1, len(s)+1).Draw(t, "n"), rapid.Bool().Draw(t, "lines"))
	})
}

func FuzzLaws(f *testing.F) {
	for _, s := range []string{"", "abc", family + flag + thumb, "a\r\nb\r\n", acute + "\xff\xe4\xb8", "e" + strings.Repeat("\u0301", 300)} {
		f.Add(s, len(s)/2, false)
		f.Add(s, 3, true)
	}
	f.Fuzz(func(t *testing.T, s string, n int, lines bool) { checkLaws(t, s, n, lines) })
}

func BenchmarkMiddle(b *testing.B) {
	for _, text := range []struct{ name, text string }{
		{"lines", strings.Repeat("0123456789 some words in a line\n", 4000)},
		{"marks", "e" + strings.Repeat("\u0301", 60_000)},
		{"flags", strings.Repeat(flag, 16_000)},
	} {
		b.Run(text.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Middle(text.text, 10_001, omitted)
			}
		})
	}
}
