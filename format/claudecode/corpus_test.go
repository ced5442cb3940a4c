package claudecode_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/format/claudecode"
	"github.com/pemmican-dev/pemmican/internal/formattest"
)

const shared = "../../../shared/corpus" // beside the repository

// corpus returns the real session files by name, or skips the test where they are not at hand.
func corpus(t testing.TB) map[string][]byte {
	names, err := filepath.Glob(filepath.Join(shared, "claude-code", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Skip("the shared corpus is not beside the repository")
	}
	files := map[string][]byte{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimSuffix(filepath.Base(name), ".jsonl")] = data
	}
	return files
}

func decode(t testing.TB, data []byte) *claudecode.Doc {
	t.Helper()
	d, err := claudecode.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// checkApply applies plan to a document and reports whatever of the promises of format.Session does not hold.
func checkApply(d *claudecode.Doc, data []byte, plan *pemmican.Plan) (out []byte, err error) {
	out, err = d.Apply(plan)
	if err != nil {
		return nil, err
	}
	if plan.Empty() {
		if !bytes.Equal(out, data) {
			return nil, fmt.Errorf("a plan that changes nothing changed the bytes")
		}
		return out, nil
	}
	if !bytes.HasPrefix(out, data) {
		return nil, fmt.Errorf("the input is no prefix of the output")
	}
	for i, l := range bytes.Split(bytes.TrimSuffix(out[len(data):], []byte("\n")), []byte("\n")) {
		if len(l) > 0 && !json.Valid(l) {
			return nil, fmt.Errorf("appended line %d is no JSON: %s", i+1, l)
		}
	}
	again, err := claudecode.Decode(out)
	if err != nil {
		return nil, err
	}
	if diff := formattest.SameBlocks(plan.Result(d.Transcript()), again.Transcript()); diff != "" {
		return nil, fmt.Errorf("%s", diff)
	}
	before := findings(d)
	for f, n := range findings(again) {
		if n > before[f] {
			return nil, fmt.Errorf("the plan made %d new finding(s): %s", n-before[f], f)
		}
	}
	length, err := again.Undo()
	if err != nil {
		return nil, err
	}
	if length != len(data) {
		return nil, fmt.Errorf("Undo says %d bytes, the input had %d", length, len(data))
	}
	return out, nil
}

func findings(d *claudecode.Doc) map[string]int {
	n := map[string]int{}
	for _, f := range d.Check() {
		n[f.Rule+": "+f.Message]++
	}
	return n
}

func TestCorpusPlans(t *testing.T) {
	for name, data := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			if !claudecode.Detect(data) {
				t.Error("not detected")
			}
			d := decode(t, data)
			if strings.Contains(name, "subagent") {
				plan := pemmican.NewPlan(d.Transcript())
				plan.Marks[0].Action = pemmican.Drop
				if _, err := d.Apply(plan); !errors.Is(err, format.ErrNotWritable) {
					t.Errorf("Apply: %v", err)
				}
				return
			}
			rapid.Check(t, func(t *rapid.T) {
				plan := formattest.RandomPlan(t, d.Transcript())
				if _, err := checkApply(d, data, plan); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// TestCorpusCounts compares what is live with the manifest's counts of whole files, wherever nothing in a file is dead: no
// compaction, no sidechain, no line whose parent is missing. Elsewhere less is live than is there.
func TestCorpusCounts(t *testing.T) {
	files := corpus(t)
	manifest, err := os.ReadFile(filepath.Join(shared, "MANIFEST.tsv"))
	if err != nil {
		t.Skip("the manifest is not beside the corpus")
	}
	rows := strings.Split(strings.TrimSpace(string(manifest)), "\n")
	head := strings.Split(rows[0], "\t")
	compared := 0
	for _, row := range rows[1:] {
		cells := strings.Split(row, "\t")
		name, ok := strings.CutPrefix(strings.TrimSuffix(cells[0], ".jsonl"), "claude-code/")
		if data, there := files[name]; ok && there {
			whole := map[string]int{}
			for i, h := range head {
				whole[h], _ = strconv.Atoi(cells[i])
			}
			d := decode(t, data)
			live := map[string]int{}
			for _, b := range d.Transcript().Blocks {
				live[b.Kind.String()]++
			}
			broken := slices.ContainsFunc(d.Check(), func(f format.Finding) bool { return f.Rule == format.RuleBrokenChain })
			same := whole["compactions"] == 0 && !broken && (whole["sidechain_lines"] == 0 || strings.Contains(name, "subagent"))
			for kind, column := range map[string]string{"tool call": "tool_calls", "tool result": "tool_results", "reasoning": "thinking", "media": "images"} {
				if got, want := live[kind], whole[column]; got > want || same && got != want {
					t.Errorf("%s: %d live %ss, the file has %d", name, got, kind, want)
				}
			}
			if same {
				compared++
			}
		}
	}
	if compared < 10 {
		t.Errorf("only %d files were compared", compared)
	}
}

func TestCorpusSurprises(t *testing.T) {
	files := corpus(t)
	rules := func(name string) (rules []string) {
		for _, f := range decode(t, files[name]).Check() {
			rules = append(rules, f.Rule)
		}
		return rules
	}
	for name, want := range map[string][]string{
		// Its first lines, with the orphan, stand before the boundary.
		"entire-compact1-orphan-result": nil,
		"entire-tiny-orphan-call":       nil, // the call is the last thing, so the agent answers it itself
		"entire-tiny-dangling-parent":   {format.RuleBrokenChain},
		"entire-malformed-1line":        nil, // two values on one line, both good
	} {
		if got := rules(name); !slices.Equal(got, want) {
			t.Errorf("%s: found %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]int{"entire-user-image": 1, "kimi-zh-api-errors17": 2, "kimi-zh-heavy": 1, "entire-midturn-queue8": 8} {
		queued := 0
		for _, w := range decode(t, files[name]).Transcript().Warnings {
			if strings.Contains(w, "queued") {
				queued++
			}
		}
		if queued != want {
			t.Errorf("%s: %d queued messages, want %d", name, queued, want)
		}
	}
	for _, b := range decode(t, files["entire-user-image"]).Transcript().Blocks {
		if b.Text == "did we create any new unit tests?" {
			return
		}
	}
	t.Error("the question that stands only on a queue-operation line is not live")
}

// BenchmarkDecode measures Decode in passes of json.Valid over the same bytes.
func BenchmarkDecode(b *testing.B) {
	data := corpus(b)["openagents-2025-05-example"]
	lines := bytes.Split(data, []byte("\n"))
	start := time.Now()
	const passes = 5
	for range passes {
		for _, l := range lines {
			if len(l) > 0 && !json.Valid(l) {
				b.Fatal("a line is no JSON")
			}
		}
	}
	pass := time.Since(start) / passes
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := claudecode.Decode(data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(pass), "passes")
}
