package pemmican_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/agents"
	"github.com/pemmican-dev/pemmican/preset"
	"github.com/pemmican-dev/pemmican/summary"
)

// work appends a turn that pins a fact among steps that read and edit.
func work(tr *pemmican.Transcript, turn int, fact string) {
	tr.AddUser(fmt.Sprintf("Now port part %d.", turn))
	for i := range 12 {
		id := fmt.Sprintf("%d.%d", turn, i)
		calls := []pemmican.Block{pemmican.Call(id, "read", fmt.Sprintf(`{"path":"src/part%d/file%d.ts"}`, turn, i))}
		if i == 3 && fact != "" {
			args, _ := json.Marshal(map[string]string{"fact": fact})
			calls = append(calls, pemmican.Call(id+"k", "mcp__pemmican__keep", string(args)))
		}
		tr.AddAssistant("I look at the next file.", calls...)
		tr.AddResult(id, strings.Repeat(fmt.Sprintf("export const limit%d_%d = %d\n", turn, i, 1000*turn+i), 120))
		if len(calls) > 1 {
			tr.AddResult(id+"k", "Pinned.")
		}
	}
	tr.AddAssistant("Part ported.")
}

// TestPinnedFactsOutliveCompactions: a fact that an agent has pinned is there word for word after every compaction, in its call
// or in the summary; by the policies that summarise, and by those that only drop.
func TestPinnedFactsOutliveCompactions(t *testing.T) {
	for _, test := range []struct {
		name       string
		summarizer pemmican.Summarizer
		policy     func() pemmican.Policy
	}{
		{"default", summary.Mechanical{}, pemmican.DefaultPolicy},
		{"checkpoint", summary.Mechanical{FileLists: true}, preset.Checkpoint},
		{"anchored", summary.Mechanical{}, preset.Anchored},
		{"nobody summarises", nil, pemmican.DefaultPolicy},
		{"prune", nil, preset.Prune},
		{"prune, and the summary fails", &written{text: " "}, preset.Prune},
	} {
		t.Run(test.name, func(t *testing.T) {
			tr := &pemmican.Transcript{}
			tr.AddSystem("You port programs.")
			var facts []string
			for turn := 1; turn <= 6; turn++ {
				fact := fmt.Sprintf("Shard %d lives at 10.0.0.%d: never restart it.", turn, turn)
				if turn == 2 {
					fact += strings.Repeat(" Its clients are old, and each has a quirk of its own.", 30) // longer than arguments stay
				}
				facts = append(facts, fact)
				work(tr, turn, fact)
				policy := test.policy()
				policy.TailTokens = min(policy.TailTokens, 2000)
				plan, report, err := pemmican.Compact(t.Context(), tr, pemmican.Options{
					Policy: &policy, Tools: agents.Tools(), Summarizer: test.summarizer, Target: 11_000, Window: 22_000, Compactions: turn - 1,
				})
				if err != nil {
					t.Fatal(err)
				}
				if report.Outcome == pemmican.Refused {
					t.Fatal(report.Reason)
				}
				tr = plan.Result(tr)
				for n, fact := range facts {
					quoted, _ := json.Marshal(fact)
					found := false
					for i := range tr.Blocks {
						b := &tr.Blocks[i]
						found = found || strings.Contains(b.Args, string(quoted)) || b.Kind == pemmican.Summary && strings.Contains(b.Text, fact)
					}
					if !found {
						t.Fatalf("after turn %d fact %d is lost (%s)", turn, n+1, report.Outcome)
					}
				}
			}
		})
	}
}
