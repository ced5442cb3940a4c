package bench_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/bench"
)

// What is measured is what it says it is: its format, its size, nothing odd in it, and all kinds of work.
func TestSession(t *testing.T) {
	formats := map[bench.Format]string{bench.PiV1: "pi", bench.PiV3: "pi", bench.ClaudeCode: "claude-code"}
	for f, name := range formats {
		for _, tokens := range []int{50_000, 200_000} {
			t.Run(fmt.Sprintf("%s-%d", f, tokens), func(t *testing.T) {
				data := bench.Session(f, tokens)
				if !bytes.Equal(data, bench.Session(f, tokens)) {
					t.Error("another call gives other bytes")
				}
				doc, live := decode(t, data)
				if doc.Format() != name {
					t.Errorf("its format is %s", doc.Format())
				}
				tr := doc.Transcript()
				if findings := doc.Check(); len(findings) > 0 || len(tr.Warnings) > 0 {
					t.Errorf("findings %v, warnings %q", findings, tr.Warnings)
				}
				// One step is at most three files of some 15,000 tokens.
				if live < tokens*95/100 || live > tokens*105/100+45_000 {
					t.Errorf("%d live tokens, asked for %d", live, tokens)
				}
				seen := map[string]int{}
				for _, b := range tr.Blocks {
					seen[b.Kind.String()]++
					if b.Error {
						seen["failure"]++
					}
					if b.Bound {
						seen["signed reasoning"]++
					}
				}
				for _, m := range tr.Messages {
					if m.Role == pemmican.Assistant && m.Usage > 0 {
						seen["usage"]++
					}
				}
				want := []string{"text", "tool call", "tool result", "failure"}
				if f != bench.PiV1 {
					want = append(want, "reasoning", "signed reasoning")
				}
				if f != bench.ClaudeCode {
					want = append(want, "usage")
				}
				for _, kind := range want {
					if seen[kind] == 0 {
						t.Errorf("no %s: %v", kind, seen)
					}
				}
				if can := tr.Can; f == bench.PiV3 && can != (pemmican.Capabilities{SummaryFirst: true}) {
					t.Errorf("it does not look like a session of pi 1.6: %+v", can)
				}
			})
		}
	}
}

func TestLongLine(t *testing.T) {
	const size = 1_000_000
	data := bench.LongLine(bench.PiV3, size)
	longest := 0
	for line := range bytes.Lines(data) {
		longest = max(longest, len(line))
	}
	if longest < size || longest > size*11/10 {
		t.Errorf("the longest line has %d bytes, asked for about %d", longest, size)
	}
	if doc, live := decode(t, data); len(doc.Check()) > 0 || live < size/5 {
		t.Errorf("findings %v, %d live tokens", doc.Check(), live)
	}
}
