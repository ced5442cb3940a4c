package summary

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const foreign = `This session is being continued from a previous conversation that ran out of context.
Analysis:
1. **First request**: The user asked for retries in client.go.
   - I added maxAttempts to client.go
   - The build of legacy_client.go took long

Summary:
1. Primary Request and Intent:
   - Add retries with maxAttempts to client.go
   - Never touch legacy_client.go

2. Files and Code:
   - client.go
     - maxAttempts is 4
   - retry.go
     - holds backoffBase

3. Pending Tasks:
   - Write TestRetry in client_test.go
Please continue the conversation from where we left it off without asking the user any further questions.`

// TestCondensed: what somebody else's summary says twice is told once, where it counts most, and orders that a runtime put
// around it are not told at all.
func TestCondensed(t *testing.T) {
	got := condensed(foreign)
	want := `Summary:
1. Primary Request and Intent:
   - Add retries with maxAttempts to client.go
   - Never touch legacy_client.go

2. Files and Code:
   - client.go
     - maxAttempts is 4
   - retry.go
     - holds backoffBase

3. Pending Tasks:
   - Write TestRetry in client_test.go`
	if got != want {
		t.Errorf("got:\n%s", got)
	}
	for _, text := range []string{"", "One line.", "## Goal\nShip it.\n\n\n## Next\n- go on with a_b\n", "```go\nfunc a() {}\n```\n"} {
		if got := condensed(text); got != text {
			t.Errorf("condensed(%q) = %q: nothing is said twice", text, got)
		}
	}
	const rule = "## State\n- a_b is in c_d\n\n## Notes\n- a_b must not be in c_d\n"
	if got := condensed(rule); got != rule {
		t.Errorf("a rule went, since it names what another line names:\n%s", got)
	}
}

// TestEarlierRoom: in little room the history of an earlier summary goes before what stands.
func TestEarlierRoom(t *testing.T) {
	r := script(t, "U go on")
	r.Previous = "## Analysis\n" + saying(40) + "\n\n## Constraints\n- Never touch legacy_client.go\n\n## Next steps\n- Write TestRetry\n"
	r.Tokens = 400
	l := ledgerOf(t, r)
	for _, want := range []string{"Never touch legacy_client.go", "Write TestRetry", gap} {
		if !strings.Contains(l.Earlier, want) {
			t.Errorf("%q is missing in\n%s", want, l.Earlier)
		}
	}
	if strings.Contains(l.Earlier, "Sentence 3 ") {
		t.Errorf("the history stayed:\n%s", l.Earlier)
	}
	if body := summarise(t, Mechanical{}, r); !strings.Contains(body, "may be done since") {
		t.Errorf("the heading does not say how old it is:\n%s", body)
	}
}

// TestCondensedLines: no line is made up, and the order stays.
func TestCondensedLines(t *testing.T) {
	lines := append(strings.Split(foreign, "\n"), "```", "  x_y", "", "## Next", "#", "**", "1.", "<a_b>", "</a_b>", ":")
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.OneOf(rapid.SampledFrom(lines), rapid.String())).Draw(t, "lines"), "\n")
		before, at := strings.Split(text, "\n"), 0
		for line := range strings.SplitSeq(condensed(text), "\n") {
			for at < len(before) && before[at] != line && strings.TrimSpace(before[at]) != strings.TrimSpace(line) {
				at++
			}
			if at == len(before) && strings.TrimSpace(line) != "" {
				t.Fatalf("%q is none of the lines, or not in their order:\n%s", line, text)
			}
		}
	})
}
