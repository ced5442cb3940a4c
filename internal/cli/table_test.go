package cli

import (
	"bytes"
	"strings"
	"sync"
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

// buffer is a writer that two may use.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// The display shows itself only when the work takes a while, moves by itself, and takes itself away.
func TestProgress(t *testing.T) {
	var quick buffer
	p := newProgress(&quick, 10, "sessions", time.Hour)
	p.Add(3)
	p.Done()
	if quick.String() != "" {
		t.Errorf("work that was quick has shown %q", quick.String())
	}

	var slow buffer
	p = newProgress(&slow, 1000, "sessions", time.Nanosecond)
	p.Add(500)
	shown := func(what string) {
		t.Helper()
		for begin := time.Now(); !strings.Contains(slow.String(), what); time.Sleep(time.Millisecond) {
			if time.Since(begin) > 10*time.Second {
				t.Fatalf("it never showed %q: %q", what, slow.String())
			}
		}
	}
	shown("\r⠋ sessions ███████████████░░░░░░░░░░░░░░░ 500 of 1,000")
	shown("\r⠹ sessions ") // it moves though nothing happens
	p.Step("x")
	shown(" x ")
	p.Done()
	before := slow.String()
	if !strings.HasSuffix(before, " \r") || strings.Contains(before, "\x1b") {
		t.Errorf("it ends with %q", before)
	}
	p.Add(1)
	p.Done()
	time.Sleep(2 * frame)
	if slow.String() != before {
		t.Error("it shows something after it is done")
	}

	// Where there is no terminal there is no display, and all of this is nothing.
	p = NewProgress(&slow, 10, "sessions")
	p.Step("x")
	p.Add(1)
	p.Done()
	if p != nil || slow.String() != before {
		t.Error("a display in what is no terminal")
	}
}

func TestTableFits(t *testing.T) {
	table := Table{Cuts: []Cut{{Column: 1, Least: 6}, {Column: 2, Least: 4, AtEnd: true}, {Column: 0}}}
	table.Row("abc", "/home/dev/project", "0123456789")
	table.Row("", "読む読む読む読む", "")
	for width, want := range map[int]string{
		0:  "  abc  /home/dev/project  0123456789\n       読む読む読む読む",
		80: "  abc  /home/dev/project  0123456789\n       読む読む読む読む",
		30: "  abc  /home…oject  0123456789",
		22: "  abc  /h…ect  012345…",
		20: "  abc  /h…ect  0123…",
		18: "  /h…ect  012…",
		5:  "  /h…ect  012…",
	} {
		table.Width = width
		got := table.String()
		if !strings.HasPrefix(got, want) {
			t.Errorf("%d: got\n%s, want\n%s", width, got, want)
		}
		for line := range strings.Lines(got) {
			if w := lipgloss.Width(strings.TrimSuffix(line, "\n")); width >= 18 && w > width {
				t.Errorf("%d: %q takes %d", width, line, w)
			}
		}
	}
}

func TestShorten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, n := rapid.String().Draw(t, "s"), rapid.IntRange(1, 30).Draw(t, "n")
		s = Clean(s)
		if got := shorten(s, n, rapid.Bool().Draw(t, "end")); lipgloss.Width(got) > n {
			t.Fatalf("%q takes %d", got, lipgloss.Width(got))
		}
	})
}

// Who wants no escapes gets none, whatever the terminal.
func TestPlain(t *testing.T) {
	for name, env := range map[string][2]string{"NO_COLOR": {"NO_COLOR", "yes"}, "dumb": {"TERM", "dumb"}} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TERM", "xterm-256color")
			t.Setenv("TTY_FORCE", "1")
			t.Setenv("CLICOLOR_FORCE", "1")
			printed := func() string {
				var b bytes.Buffer
				if err := Print(&b, Heading("h")+good.Render("g")+faint.Render("f")); err != nil {
					t.Fatal(err)
				}
				return b.String()
			}
			t.Setenv("NO_COLOR", "")
			if got := printed(); !strings.Contains(got, "\x1b") {
				t.Errorf("no colours in %q", got)
			}
			t.Setenv(env[0], env[1])
			if got := printed(); got != "hgf\n" || !Plain() {
				t.Errorf("got %q", got)
			}
		})
	}
}
