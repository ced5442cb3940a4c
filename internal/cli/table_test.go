package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode"

	"charm.land/lipgloss/v2"
	"pgregory.net/rapid"
)

func TestTable(t *testing.T) {
	table := Table{Head: []string{"name", "tokens", ""}, Right: []int{1}}
	table.Row("読む.go", "7", "x")
	table.Row(good.Render("a"), "1,234", "")
	var b bytes.Buffer
	if err := Print(&b, table.String()); err != nil {
		t.Fatal(err)
	}
	want := "  name     tokens\n  読む.go       7  x\n  a         1,234\n"
	if b.String() != want {
		t.Errorf("got\n%q, want\n%q", b.String(), want)
	}
	if got := new(Table).String(); got != "" {
		t.Errorf("an empty table is %q", got)
	}
}

func TestBar(t *testing.T) {
	for _, c := range []struct {
		part, whole int
		want        string
	}{{0, 10, ""}, {10, 10, "████"}, {5, 10, "██"}, {1, 1000, "▏"}, {20, 10, "████"}, {3, 0, ""}, {-1, 10, ""}} {
		var b bytes.Buffer
		if err := Print(&b, Bar(c.part, c.whole, 4)); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(b.String(), "\n"); got != c.want {
			t.Errorf("%d of %d is %q, want %q", c.part, c.whole, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		whole, width := rapid.IntRange(1, 1e6).Draw(t, "whole"), rapid.IntRange(1, 60).Draw(t, "width")
		part := rapid.IntRange(1, whole).Draw(t, "part")
		if w := lipgloss.Width(Bar(part, whole, width)); w < 1 || w > width {
			t.Fatalf("%d characters", w)
		}
	})
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":          "plain",
		"日本 é 👩‍👩‍👧":     "日本 é 👩‍👩‍👧",
		"a\x1b[31mb":     `a\u001b[31mb`,
		"a\nb\tc\r":      "a b c ",
		"a\u202eb":       `a\u202eb`,
		"half \xff byte": `half \xff byte`,
		"\u2028":         `\u2028`,
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "s"))
		got := Clean(s)
		if i := strings.IndexFunc(got, unicode.IsControl); i >= 0 {
			t.Fatalf("%q has a control character at %d", got, i)
		}
		if Clean(got) != got {
			t.Fatalf("%q becomes %q", got, Clean(got))
		}
	})
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour: "now", time.Second: "now", time.Minute: "1 minute ago", 59 * time.Minute: "59 minutes ago", time.Hour: "1 hour ago", 47 * time.Hour: "47 hours ago", 48 * time.Hour: "2 days ago",
	} {
		if got := Age(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// The bar shows itself only when the work takes a while, and takes itself away.
func TestProgress(t *testing.T) {
	var quick bytes.Buffer
	p := newProgress(&quick, 10, "sessions", time.Hour)
	p.Add(3)
	p.Done()
	if quick.Len() > 0 {
		t.Errorf("work that was quick has shown %q", quick.String())
	}

	var slow bytes.Buffer
	p = newProgress(&slow, 10, "sessions", time.Nanosecond)
	shown := func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return slow.Len() > 0
	}
	for begin := time.Now(); !shown(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > 10*time.Second {
			t.Fatal("the bar never showed itself")
		}
	}
	p.Step("more sessions")
	p.Add(3)
	p.Done()
	if !strings.Contains(slow.String(), "sessions") {
		t.Errorf("it has shown %q", slow.String())
	}
	before := slow.Len()
	p.Add(1)
	p.Done()
	if slow.Len() != before {
		t.Error("it shows something after it is done")
	}

	// Where there is no terminal there is no bar, and all of this is nothing.
	p = NewProgress(&slow, 10, "sessions")
	p.Step("x")
	p.Add(1)
	p.Done()
	if p != nil || slow.Len() != before {
		t.Error("a bar in what is no terminal")
	}
}
