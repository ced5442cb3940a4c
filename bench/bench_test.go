package bench_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/agents"
	"github.com/pemmican-dev/pemmican/bench"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/format/detect"
	"github.com/pemmican-dev/pemmican/summary"
	"github.com/pemmican-dev/pemmican/token"
)

// corpusFile is a real session, read where it is at hand.
const corpusFile = "../../shared/corpus/pi/pi-mono-before-compaction.jsonl"

// input is a session that is measured.
type input struct {
	name string
	data []byte
}

// inputs are the sessions of a benchmark: those of pi of three sizes, one of each other format, and a real one.
func inputs(tb testing.TB) []input {
	tb.Helper()
	var out []input
	add := func(f bench.Format, tokens int) {
		out = append(out, input{fmt.Sprintf("%s-%dk", f, tokens/1000), bench.Session(f, tokens)})
	}
	add(bench.PiV3, 50_000)
	add(bench.PiV3, 200_000)
	add(bench.PiV3, 1_000_000)
	add(bench.PiV1, 200_000)
	add(bench.ClaudeCode, 200_000)
	if data, err := os.ReadFile(filepath.FromSlash(corpusFile)); err == nil {
		out = append(out, input{"corpus", data})
	} else {
		tb.Log("left out the real session: ", err)
	}
	return out
}

// options are those of the program for a compaction to a fifth of the live tokens, which takes every stage.
func options(live int) pemmican.Options {
	return pemmican.Options{
		Window:     max(200_000, live),
		Target:     live / 5,
		Counter:    token.Estimator{},
		Summarizer: summary.Mechanical{},
		Tools:      agents.Tools(),
	}
}

// steps does what the program does with a session, and hands the state after each step to done.
func steps(ctx context.Context, tb testing.TB, data []byte, live int, done func(step string)) (*pemmican.Report, []byte) {
	tb.Helper()
	doc, err := detect.Decode(data, "")
	if err != nil {
		tb.Fatal(err)
	}
	done("decode")
	plan, report, err := pemmican.Compact(ctx, doc.Transcript(), options(live))
	if err != nil {
		tb.Fatal(err)
	}
	done("compact")
	out, err := doc.Apply(plan)
	if err != nil {
		tb.Fatal(err)
	}
	done("apply")
	return report, out
}

// decode reads a session and counts its live tokens.
func decode(tb testing.TB, data []byte) (doc format.Document, live int) {
	tb.Helper()
	doc, err := detect.Decode(data, "")
	if err != nil {
		tb.Fatal(err)
	}
	tr := doc.Transcript()
	for i := range tr.Blocks {
		live += token.Estimator{}.Count(&tr.Blocks[i])
	}
	return doc, live
}

// valid is the measure: one pass of json.Valid over every line.
func valid(data []byte) (lines int) {
	for start := 0; start < len(data); {
		end := start
		for end < len(data) && data[end] != '\n' {
			end++
		}
		if json.Valid(data[start:end]) {
			lines++
		}
		start = end + 1
	}
	return lines
}

// The benchmarks of the steps report "best-ms", the least CPU time of a round.

func BenchmarkValid(b *testing.B) {
	each(b, func(b *testing.B, in input) {
		loop(b, func() { valid(in.data) })
	})
}

func BenchmarkDecode(b *testing.B) {
	each(b, func(b *testing.B, in input) {
		loop(b, func() {
			if _, err := detect.Decode(in.data, ""); err != nil {
				b.Fatal(err)
			}
		})
	})
}

func BenchmarkCompact(b *testing.B) {
	each(b, func(b *testing.B, in input) {
		doc, live := decode(b, in.data)
		loop(b, func() {
			if _, _, err := pemmican.Compact(b.Context(), doc.Transcript(), options(live)); err != nil {
				b.Fatal(err)
			}
		})
	})
}

func BenchmarkApply(b *testing.B) {
	each(b, func(b *testing.B, in input) {
		doc, live := decode(b, in.data)
		plan, _, err := pemmican.Compact(b.Context(), doc.Transcript(), options(live))
		if err != nil {
			b.Fatal(err)
		}
		loop(b, func() {
			if _, err := doc.Apply(plan); err != nil {
				b.Fatal(err)
			}
		})
	})
}

// BenchmarkPlan measures what is done before a summary is written: decode, and plan up to the call of the summariser.
func BenchmarkPlan(b *testing.B) {
	each(b, func(b *testing.B, in input) {
		_, live := decode(b, in.data)
		loop(b, func() { plan(b, in.data, live, pemmican.DefaultPolicy()) })
	})
}

func loop(b *testing.B, run func()) {
	b.Helper()
	b.ReportAllocs()
	best := bestOf{}
	for b.Loop() {
		watch := newStopwatch()
		run()
		best.put("best", watch.lap())
	}
	best.report(b, "best")
}

// errPlanned stops a compaction where a model would be asked.
var errPlanned = errors.New("planned")

// planned is a summariser that is never done: what comes before it is what is measured.
type planned struct{ asked bool }

func (p *planned) Summarize(context.Context, pemmican.SummaryRequest) (pemmican.SummaryText, error) {
	p.asked = true
	return pemmican.SummaryText{}, errPlanned
}

// plan decodes a session and plans up to the call of the summariser.
func plan(b *testing.B, data []byte, live int, policy pemmican.Policy) {
	b.Helper()
	doc, err := detect.Decode(data, "")
	if err != nil {
		b.Fatal(err)
	}
	var p planned
	o := options(live)
	o.Summarizer, o.Policy = &p, &policy
	if _, _, err := pemmican.Compact(b.Context(), doc.Transcript(), o); err != nil || !p.asked {
		b.Fatal("no summary was wanted: ", err)
	}
}

// BenchmarkWhole measures the way from bytes to bytes: decode, compact with the mechanical summary, apply. Every round
// is preceded by a pass of json.Valid over the same bytes; "passes" is the ratio of the best of each. The figures are
// times of CPU, so that other programs on the machine change them little.
func BenchmarkWhole(b *testing.B) {
	each(b, func(b *testing.B, in input) {
		_, live := decode(b, in.data)
		best := bestOf{}
		for b.Loop() {
			watch := newStopwatch()
			valid(in.data)
			best.put("valid", watch.lap())
			var whole time.Duration
			report, _ := steps(b.Context(), b, in.data, live, func(step string) {
				d := watch.lap()
				best.put(step, d)
				whole += d
			})
			best.put("whole", whole)
			if report.Outcome != pemmican.Summarised {
				b.Fatalf("%s: %s", report.Outcome, report.Reason)
			}
		}
		best.report(b, "valid", "decode", "compact", "apply", "whole")
		b.ReportMetric(float64(best["whole"])/float64(best["valid"]), "passes")
		b.ReportMetric(float64(best["whole"].Nanoseconds())/float64(live), "ns/token")
	})
}

func each(b *testing.B, run func(*testing.B, input)) {
	for _, in := range inputs(b) {
		b.Run(in.name, func(b *testing.B) {
			b.SetBytes(int64(len(in.data)))
			run(b, in)
		})
	}
}

// bestOf keeps the best time of each step.
type bestOf map[string]time.Duration

func (m bestOf) put(step string, d time.Duration) {
	if old, ok := m[step]; !ok || d < old {
		m[step] = d
	}
}

func (m bestOf) report(b *testing.B, steps ...string) {
	for _, step := range steps {
		b.ReportMetric(float64(m[step].Microseconds())/1000, step+"-ms")
	}
}

// stopwatch measures the CPU that this process takes, its collector of garbage included.
type stopwatch struct{ last time.Duration }

func newStopwatch() *stopwatch { return &stopwatch{cpuTime()} }

func (s *stopwatch) lap() time.Duration {
	now := cpuTime()
	d := now - s.last
	s.last = now
	return d
}
