package cli

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican"
)

// sessions are the session files of the fixtures and of the example.
func sessions(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, f := range fixtures(t) {
		if strings.HasSuffix(f.Name, ".jsonl") {
			out[f.Name] = f.Data
		}
	}
	example, err := os.ReadFile(filepath.Join("..", "..", "examples", "session.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	out["example"] = example
	return out
}

// compacted is what a compaction of data to a target makes of it, and its report.
func compacted(t *testing.T, data []byte, target string) ([]byte, *pemmican.Report) {
	t.Helper()
	in := &Input{Name: "x", Data: data}
	doc, err := in.Decode("")
	if err != nil {
		t.Fatal(err)
	}
	var s Settings
	if err := s.Target.Set(target); err != nil {
		t.Fatal(err)
	}
	o, err := s.Options(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, report, err := pemmican.Compact(t.Context(), doc.Transcript(), o)
	if err != nil {
		t.Fatal(err)
	}
	out, err := in.apply(plan)
	if err != nil {
		t.Fatal(err)
	}
	return out, report
}

// After a compaction the session weighs what the report of the compaction says, though no size that was reported before it
// is live any more; so the same target again changes nothing.
func TestWeighsTheSameAfterACompaction(t *testing.T) {
	for name, data := range sessions(t) {
		for range 3 { // and after a compaction of that
			next, report := compacted(t, data, "60%")
			if report.Outcome == pemmican.Unchanged || report.Outcome == pemmican.Refused {
				break
			}
			in := &Input{Name: name, Data: next}
			if _, err := in.Decode(""); err != nil {
				t.Fatal(err)
			}
			inspection, err := Inspect(t.Context(), in, Settings{})
			if err != nil {
				t.Fatal(err)
			}
			if n := inspection.Tokens; n != liveTokens(in) || abs(n-report.TokensAfter)*100 > report.TokensAfter {
				t.Errorf("%s: it takes %d tokens, but %d after the compaction", name, n, report.TokensAfter)
			}
			if inspection.Plan.Overhead != report.Overhead {
				t.Errorf("%s: what stands beside it is %s, but was %s", name, inspection.Plan.Overhead, report.Overhead)
			}
			if _, again := compacted(t, next, strconv.Itoa(report.Target)); again.Outcome != pemmican.Unchanged {
				t.Errorf("%s: to %d tokens again: %s, %s", name, report.Target, again.Outcome, again.Reason)
			}
			data = next
		}
	}
}

func abs(n int) int { return max(n, -n) }

func TestUnmatchedPins(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("the ticket is PEM-4711")
	tr.AddAssistant("", pemmican.Call("1", "read", `{"path":"a.go"}`))
	s := Settings{Pins: []string{"PEM-4711", "a.go", "b.go"}}
	if got := s.Unmatched(&tr); len(got) != 1 || !strings.Contains(got[0], `"b.go"`) {
		t.Errorf("%q", got)
	}
}

// Where the target comes from is told with the numbers that make it.
func TestWish(t *testing.T) {
	var s Settings
	if err := s.Target.Set("20%"); err != nil {
		t.Fatal(err)
	}
	o := pemmican.Options{Target: 11_234, Overhead: pemmican.Overhead{Tokens: 10_000}}
	if got := s.Wish(o); got != "20 % of the transcript, 1,234; and 10,000 tokens of system text and tools beside it" {
		t.Error(got)
	}
	if got := s.Wish(pemmican.Options{Target: 5}); got != "20 % of the transcript" {
		t.Error(got)
	}
}
