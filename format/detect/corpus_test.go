package detect_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/agents"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/format/detect"
	"github.com/pemmican-dev/pemmican/internal/formattest"
	"github.com/pemmican-dev/pemmican/preset"
	"github.com/pemmican-dev/pemmican/summary"
	"github.com/pemmican-dev/pemmican/token"
)

// corpusInputs are the real transcripts of the formats that are known, and of each conversation of a real client the
// longest request that it sent.
func corpusInputs(t *testing.T) []formattest.Input {
	t.Helper()
	inputs := formattest.Corpus(t, "corpus/pi/*", "corpus/claude-code/*", "corpus/openai-chat/*", "corpus/anthropic-messages/*")
	longest := map[string]int{} // folder and scenario → index
	for _, in := range formattest.Corpus(t, "clients/recorded/*-anthropic*/*", "clients/recorded/*openai-completions/*",
		"clients/recorded/*openai-compatible/*", "clients/recorded/continue-openai/*") {
		var record struct{ Body json.RawMessage }
		if err := json.Unmarshal(in.Data, &record); err != nil {
			t.Fatalf("%s: %v", in.Name, err)
		}
		in.Data = record.Body
		scenario := in.Name[:strings.LastIndexByte(in.Name, '-')]
		if at, ok := longest[scenario]; !ok {
			longest[scenario] = len(inputs)
			inputs = append(inputs, in)
		} else if len(in.Data) > len(inputs[at].Data) {
			inputs[at] = in
		}
	}
	return inputs
}

// findings are what Check finds, without the places, which a compaction changes.
func findings(doc format.Document) map[string]int {
	out := map[string]int{}
	for _, f := range doc.Check() {
		out[f.Rule]++
	}
	return out
}

// TestCorpusCompact compacts every real transcript to 50, 20 and 10 percent by the default policy, and by every preset.
// The result is written, read again as the plan says, gives no finding that the input did not have, and compacting it
// again to the same target in tokens changes nothing. What is refused is small, or its floor stands above the target.
func TestCorpusCompact(t *testing.T) {
	counter := token.Estimator{}
	done := map[string]int{}
	refused := map[string]int{}
	for _, in := range corpusInputs(t) {
		file, data := in.Name, in.Data
		doc, err := detect.Decode(data, "")
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		tr := doc.Transcript()
		live := 0
		for i := range tr.Blocks {
			live += counter.Count(&tr.Blocks[i])
		}
		for _, percent := range []int{50, 20, 10} {
			for _, name := range preset.Names() {
				if name != "default" && percent != 20 {
					continue
				}
				policy, _ := preset.ByName(name)
				key := fmt.Sprintf("%s %d%%", name, percent)
				o := pemmican.Options{
					Target: max(1, live*percent/100), Policy: &policy, Counter: counter,
					Summarizer: summary.Mechanical{}, Tools: agents.Tools(),
				}
				plan, report, err := pemmican.Compact(t.Context(), tr, o)
				if err != nil {
					t.Errorf("%s, %s: %v", file, key, err)
					continue
				}
				if report.Outcome == pemmican.Refused {
					refused[key]++
					const summary = 100 // tokens: the shortest that may have to stand beside the floor
					if live > 2000 && report.Floor.Tokens+summary <= o.Target {
						t.Errorf("%s, %s: refused, though the floor is %d and the target %d: %s", file, key, report.Floor.Tokens, o.Target, report.Reason)
					}
					continue
				}
				if plan.Empty() {
					continue
				}
				out, err := doc.Apply(plan)
				if errors.Is(err, format.ErrNotWritable) {
					continue // a log
				}
				if err != nil {
					t.Errorf("%s, %s: %v", file, key, err)
					continue
				}
				done[key]++
				compacted(t, file+", "+key, data, out, doc, plan, o)
			}
		}
	}
	for _, key := range []string{"default 50%", "default 20%", "default 10%", "anchored 20%", "checkpoint 20%", "handoff 20%", "prune 20%"} {
		t.Logf("%s: %d files compacted, %d refused for their floor", key, done[key], refused[key])
		if done[key] < 10 {
			t.Errorf("%s: only %d files were compacted", key, done[key])
		}
	}
}

// compacted tests what Apply has written.
func compacted(t *testing.T, name string, data, out []byte, doc format.Document, plan *pemmican.Plan, o pemmican.Options) {
	t.Helper()
	again, err := detect.Decode(out, doc.Format())
	if err != nil {
		t.Errorf("%s: the result cannot be read: %v", name, err)
		return
	}
	if diff := formattest.SameBlocks(plan.Result(doc.Transcript()), again.Transcript()); diff != "" {
		t.Errorf("%s: the result is not what was planned:\n%s", name, diff)
	}
	before, after := findings(doc), findings(again)
	for rule, n := range after {
		if n > before[rule] {
			t.Errorf("%s: %d findings %s, and the input had %d", name, n, rule, before[rule])
		}
	}
	if session, ok := again.(format.Session); ok {
		if !bytes.HasPrefix(out, data) {
			t.Errorf("%s: the file is not a prefix of the result", name)
		}
		if n, err := session.Undo(); err != nil || n != len(data) {
			t.Errorf("%s: undo cuts to %d of %d bytes: %v", name, n, len(data), err)
		}
	}
	thinking(t, name, doc.Transcript(), plan)
	second, report, err := pemmican.Compact(t.Context(), again.Transcript(), o)
	if err != nil {
		t.Errorf("%s: again: %v", name, err)
	} else if !second.Empty() {
		t.Errorf("%s: again to the same target: %s, %s", name, report.Outcome, report.Reason)
	}
}

// thinking fails if signed reasoning stands behind something that was changed, where the format could have left it out.
func thinking(t *testing.T, name string, tr *pemmican.Transcript, plan *pemmican.Plan) {
	t.Helper()
	if tr.Can.NoStub {
		return
	}
	first := len(tr.Blocks) // the first block that was changed; reasoning may go from the start
	if plan.Summary != "" {
		first = plan.Gap
	}
	for i, m := range plan.Marks {
		if m.Action == pemmican.Stub || m.Action == pemmican.Drop && tr.Blocks[i].Kind != pemmican.Reasoning {
			first = min(first, i)
		}
	}
	for i := first; i < len(tr.Blocks); i++ {
		if b := &tr.Blocks[i]; b.Kind == pemmican.Reasoning && b.Bound && plan.Kept(i) {
			t.Errorf("%s: block %d is signed reasoning, and block %d was changed", name, i, first)
			return
		}
	}
}
