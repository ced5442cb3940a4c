package summary

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican"
)

func TestEmptyTemplate(t *testing.T) {
	for _, text := range []string{
		"(none)", "N/A", "## Goal\n\n## Progress", "## Goal\nNot specified\n\n## Progress\nNo progress made\n\n## Next Steps\n- No next steps", "## Ziel\nKeine Angabe\n\n## Fortschritt\nKeiner",
		"| Goal | Progress |\n|---|---|\n| N/A | N/A |", "| Part | State |\n|:--|--:|\n| Goal | none |\n| Progress | not started |", "**Goal:** N/A\n**Progress:** none yet", "## 目标\n未指定\n\n## 进展\n暂无",
	} {
		if !emptyTemplate(text) {
			t.Errorf("not empty: %q", text)
		}
	}
	for _, text := range []string{
		"No decision was taken yet.", "## Goal\nNo more than three queries for each page are wanted.", "| File | State |\n|---|---|\n| a.go | done |", "| a.go | done |", "Nothing in it was changed but the name of the function that reads it.",
	} {
		if emptyTemplate(text) {
			t.Errorf("empty: %q", text)
		}
	}
}

func TestLoops(t *testing.T) {
	counted := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	paragraph := "The store keeps one entry for each browser, and drops the oldest one when it is full.\n\n"
	for name, text := range map[string]string{
		"all of it twice":           goodSummary + "\n\n" + goodSummary,
		"three times":               strings.Repeat(goodSummary+"\n\n---\n\n", 3),
		"twice and a part":          strings.Repeat(goodSummary+"\n", 2) + goodSummary[:100],
		"a counter in lines":        goodSummary + "\n\n" + counted(60, "- Step %d: RotateToken was checked again and the test was run.\n"),
		"a counter in sentences":    goodSummary + counted(200, " In round %d RotateToken was checked again."),
		"two counters":              counted(40, "Attempt %[1]d of RotateToken failed again after %[1]d seconds\n"),
		"six times behind the rest": goodSummary + "\n\n" + strings.Repeat(paragraph, 8),
	} {
		if loopIn(text) == "" {
			t.Errorf("%s is no loop", name)
		}
	}
	for name, text := range map[string]string{
		"a summary":          goodSummary,
		"a paragraph twice":  goodSummary + "\n\n" + paragraph + paragraph,
		"a list of files":    counted(50, "- internal/auth/part%02d.go was read, and nothing had to be changed\n"),
		"a list of boxes":    counted(50, "- [x] internal/auth/part%02d.go\n"),
		"a table of results": "| File | State |\n|---|---|\n" + counted(50, "| part%02d.go | migrated, and its test passes again |\n"),
		"a list of numbers":  counted(50, "- %d tokens were used\n"),
		"a short text twice": "It is done. It is done.",
	} {
		if unit := loopIn(text); unit != "" {
			t.Errorf("%s is a loop of %q", name, unit)
		}
	}
}

func TestHalf(t *testing.T) {
	for _, text := range []string{
		"The code is\n```go\nfunc (s *Ses", "a\n~~~\nb\n~~~\n```\nb", "- one\n- **Ro", "**Ro", "The lifetime was wrong because of", "It is kept in the",
	} {
		if halfOf(text) == "" {
			t.Errorf("whole: %q", text)
		}
	}
	for _, text := range []string{
		"The code is\n```go\nfunc f()\n```", "The code is\n```go\nfunc f()\n```.", "It is done.\n```", "- **Ro** is **it**", "All of **/*.go", "2**10", "`**Ro`", "as of then", "````md\n```go\n````",
	} {
		if sign := halfOf(text); sign != "" {
			t.Errorf("%s: %q", sign, text)
		}
	}
}

// TestUpdates: an earlier summary that comes back whole, or its beginning, has nothing new. What was moved, ticked or
// taken out of it has.
func TestUpdates(t *testing.T) {
	const earlier = "## Goal\nFind out why the login fails (PRT-118).\n\n## Progress\n### Done\n- Read session_store.go; RotateToken stored 86400.\n### In progress\n" +
		"- TestRotateToken fails with ErrTokenExpired.\n\n## Next Steps\n- Tell operations about port 8443.\n- Look at 9f3c2ab41d7e."
	step, done := "- Tell operations about port 8443.\n", "- TestRotateToken fails with ErrTokenExpired.\n"
	growing := "## Log\n"
	for i := range 7 {
		growing += fmt.Sprintf("- Round %d: TestRotateToken was run again, ErrTokenExpired stays.\n", i)
	}
	var l Ledger
	l.Messages = 8
	for _, row := range []struct {
		name, before, now string
		copied            bool
	}{
		{"the same", earlier, earlier, true},
		{"in other signs", earlier, strings.ReplaceAll(earlier, "- ", "* "), true},
		{"a half", earlier, earlier[:len(earlier)/2], true},
		{"moved", earlier, strings.Replace(strings.Replace(earlier, done, "", 1), "### In", done+"### In", 1), false},
		{"a step less", earlier, strings.Replace(earlier, step, "", 1), false},
		{"ticked", earlier, strings.Replace(earlier, "- Tell", "- [x] Tell", 1), false},
		{"a word", earlier, strings.Replace(earlier, "test fails", "test passes", 1) + " Done.", false},
		{"a line more", growing, growing + "- Round 7: TestRotateToken was run again, ErrTokenExpired stays.", false},
	} {
		for _, body := range []string{row.before, preamble + "\n\n" + row.before + "\n\n" + l.Render()} {
			s := gated(gateSession())
			s.Request.Previous = body
			_, err := accept(ended(row.now), s)
			if copied := err != nil; copied != row.copied || copied && err.(*Refusal).Reason != ReasonEcho {
				t.Errorf("%s: %v", row.name, err)
			}
		}
	}
	// Without news there is nothing to add.
	s := gated(&pemmican.Transcript{})
	s.Request.Previous = earlier + "\n\n" + strings.Repeat("It was long. ", 3)
	if _, err := accept(ended(earlier), s); err != nil {
		t.Error(err)
	}
}
