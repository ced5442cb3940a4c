package eval

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCorpus measures recorded sessions: no rule is broken, and the default does not fall back behind what it had
// reached, less a margin. Raise the floors with the engine.
func TestCorpus(t *testing.T) {
	const dir = "../../shared/corpus"
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no recorded sessions beside the repository (../shared/corpus)")
	}
	var sessions []Session
	for _, name := range []string{
		"pi/pi-mono-before-compaction.jsonl", "claude-code/entire-api-error.jsonl", "claude-code/entire-compact1-queue6.jsonl",
		"claude-code/entire-nothinking-errors.jsonl", "claude-code/entire-user-image.jsonl", "claude-code/happy-example-f0b4.jsonl",
		"claude-code/kimi-zh-api-errors17.jsonl", "claude-code/openagents-2025-05-example.jsonl",
	} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		s, err := read(name, data)
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, s)
	}
	r, err := Run(t.Context(), sessions, Options{Budgets: []float64{0.05, 0.10}, Cuts: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Failures {
		t.Errorf("%s: %s", f.Arm, f.What)
	}
	defaults := map[float64]Row{}
	for _, row := range r.Rows {
		if row.Arm == "default" {
			defaults[row.Budget] = row
		}
	}
	for _, row := range r.Rows {
		ledger := defaults[row.Budget]
		switch row.Arm {
		case GoodNarrative: // with a narrative beside it the ledger is never worth less
			if row.Bag.Mean < ledger.Bag.Mean || row.Rel.Mean < ledger.Rel.Mean {
				t.Errorf("%4.0f %%: a narrative makes bag %.3f of %.3f, and rel %.3f of %.3f", 100*row.Budget, row.Bag.Mean, ledger.Bag.Mean, row.Rel.Mean, ledger.Rel.Mean)
			}
		case BadReply: // a refused reply costs nothing
			if row.Bag.Mean < ledger.Bag.Mean || row.Needs != ledger.Needs {
				t.Errorf("%4.0f %%: a bad reply makes bag %.3f of %.3f", 100*row.Budget, row.Bag.Mean, ledger.Bag.Mean)
			}
		}
		artifacts := 1.0
		if row.Artifacts != nil {
			artifacts = *row.Artifacts
		}
		t.Logf("%4.0f %% %-13s n %4d bag %.3f rel %.3f M3 %.3f kept %.3f", 100*row.Budget, row.Arm, row.Needs, row.Bag.Mean, row.Rel.Mean, artifacts, row.Share)
		switch {
		case row.Arm == "full" && row.Bag.Mean != 1:
			t.Errorf("the whole history has only %.3f of what stood in it", row.Bag.Mean)
		case row.Arm == "default" && row.Budget == 0.10 && (row.Needs < 150 || row.Rel.Mean < floorRel || artifacts < floorArtifacts):
			t.Errorf("default at 10 %%: %d identifiers, rel %.3f (floor %.2f), artifacts %.3f (floor %.2f)",
				row.Needs, row.Rel.Mean, floorRel, artifacts, floorArtifacts)
		}
	}
}

const (
	floorRel       = 0.40 // 0.46 when this was written
	floorArtifacts = 0.95 // 1.00
)
