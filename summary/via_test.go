package summary_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/llm"
	"github.com/pemmican-dev/pemmican/summary"
	"github.com/pemmican-dev/pemmican/token"
)

// asker answers with what it has, in order, and remembers what it was asked.
type asker struct {
	answers []func(ctx context.Context, q summary.Question) (*llm.Reply, error)
	asked   []summary.Question
}

func (a *asker) Ask(ctx context.Context, q summary.Question) (*llm.Reply, error) {
	a.asked = append(a.asked, q)
	if len(a.asked) > len(a.answers) {
		return nil, fmt.Errorf("asked %d times", len(a.asked))
	}
	return a.answers[len(a.asked)-1](ctx, q)
}

type answer = func(context.Context, summary.Question) (*llm.Reply, error)

func says(text string) answer {
	return func(context.Context, summary.Question) (*llm.Reply, error) {
		return &llm.Reply{Text: text, Stop: llm.StopEnd, Usage: llm.Usage{Reported: true, Input: 9000, CacheRead: 8000, Output: 200}}, nil
	}
}

func fails(err error) answer {
	return func(context.Context, summary.Question) (*llm.Reply, error) { return nil, err }
}

// viaBench compacts the session, whose own model is big-model.
type viaBench struct {
	*asker
	model   *summary.Model
	options pemmican.Options
}

func newVia(answers ...answer) *viaBench {
	a := &asker{answers: answers}
	b := &viaBench{asker: a, model: &summary.Model{Via: a, Catalogue: &llm.Catalogue{}}}
	policy := pemmican.DefaultPolicy()
	policy.ResultBytes = 0
	b.options = pemmican.Options{Target: 3000, Policy: &policy, Tools: testTools, Counter: token.Estimator{}, Summarizer: b.model}
	return b
}

func (b *viaBench) compact(t *testing.T) *pemmican.Report {
	t.Helper()
	_, report, err := pemmican.Compact(t.Context(), transcript(t, llm.Chat), b.options)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestVia: somebody who holds the key is asked, in either mode, and what comes back is treated as any reply (X2's modes).
func TestVia(t *testing.T) {
	overflow := &llm.Error{Kind: llm.Overflow, Status: 400, Limit: 8000, Message: "too long"}
	for _, test := range []struct {
		name    string
		set     func(*summary.Model)
		answers []answer
		outcome pemmican.Outcome
		modes   []summary.Mode // of the questions
		model   string         // whom
	}{
		{"auto, own model", nil, []answer{says(good)}, pemmican.Summarised, []summary.Mode{summary.ModeSame}, "big-model"},
		{"same", func(m *summary.Model) { m.Mode = summary.ModeSame }, []answer{says(good)}, pemmican.Summarised, []summary.Mode{summary.ModeSame}, "big-model"},
		{"own model by its provider", func(m *summary.Model) { m.Name = "acme/big-model" }, []answer{says(good)}, pemmican.Summarised, []summary.Mode{summary.ModeSame}, "acme/big-model"},
		{"auto, another model", func(m *summary.Model) { m.Name = "acme/small" }, []answer{says(good)}, pemmican.Summarised, []summary.Mode{summary.ModeCross}, "acme/small"},
		{"cross", func(m *summary.Model) { m.Mode = summary.ModeCross }, []answer{says(good)}, pemmican.Summarised, []summary.Mode{summary.ModeCross}, "big-model"},
		{"too large for the window", func(m *summary.Model) { m.Window = 9000 }, []answer{
			func(context.Context, summary.Question) (*llm.Reply, error) {
				return &llm.Reply{Text: good, Stop: llm.StopEnd}, nil
			},
		}, pemmican.Summarised, []summary.Mode{summary.ModeCross}, "big-model"},
		{"overflow", nil, []answer{fails(overflow), says(good)}, pemmican.Summarised, []summary.Mode{summary.ModeSame, summary.ModeCross}, "big-model"},
		{"overflow, same only", func(m *summary.Model) { m.Mode = summary.ModeSame }, []answer{fails(overflow)}, pemmican.Refused, []summary.Mode{summary.ModeSame}, "big-model"},
		{"same, another model", func(m *summary.Model) { m.Name, m.Mode = "acme/small", summary.ModeSame }, nil, pemmican.Refused, nil, ""},
		{"no such mode", func(m *summary.Model) { m.Mode = "sideways" }, nil, pemmican.Refused, nil, ""},
		{"a bad reply", nil, []answer{says("I cannot do that.")}, pemmican.Refused, []summary.Mode{summary.ModeSame}, "big-model"},
		{"no reply", nil, []answer{fails(nil)}, pemmican.Refused, []summary.Mode{summary.ModeSame}, "big-model"},
		{"any error", nil, []answer{fails(errors.New("the agent has gone"))}, pemmican.Refused, []summary.Mode{summary.ModeSame}, "big-model"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newVia(test.answers...)
			if test.set != nil {
				test.set(b.model)
			}
			report := b.compact(t)
			if report.Outcome != test.outcome {
				t.Fatalf("%s: %s", report.Outcome, report.Reason)
			}
			if len(b.asked) != len(test.modes) {
				t.Fatalf("asked %d times, want %d", len(b.asked), len(test.modes))
			}
			for i, q := range b.asked {
				if q.Mode != test.modes[i] || q.Model != test.model {
					t.Errorf("question %d is for %q in mode %q", i, q.Model, q.Mode)
				}
				switch q.Mode {
				case summary.ModeSame:
					if !strings.Contains(q.Instruction, "text only") || q.Prompt != (llm.Prompt{}) {
						t.Errorf("question %d is %+v", i, q)
					}
				default:
					if q.Instruction != "" || q.Prompt.Model != test.model || q.Prompt.MaxTokens <= 0 || !strings.Contains(q.Prompt.User, "src/module00.ts") {
						t.Errorf("question %d is %+v", i, q)
					}
				}
			}
			if test.outcome == pemmican.Summarised {
				last := test.modes[len(test.modes)-1]
				if report.Summary.Kind != test.model || report.Asked.Mode != string(last) || report.Asked.Requests < 1 {
					t.Errorf("the report has %+v and %+v", report.Summary, report.Asked)
				}
				told := strings.Contains(strings.Join(report.Warnings, "\n"), "went to "+test.model)
				if told != (last == summary.ModeCross) {
					t.Errorf("what went out is told: %v; %q", told, report.Warnings)
				}
			}
		})
	}
}

// TestViaNobodyAsked: nobody could be asked, which is neither a failure of the model's nor a request.
func TestViaNobodyAsked(t *testing.T) {
	gone := fmt.Errorf("%w: there is no acme/small in the registry", summary.ErrUnresolved)
	m := &summary.Model{Via: &asker{answers: []answer{fails(gone), fails(gone), says(good)}}, Guard: &summary.Guard{Strikes: 1}}
	r := pemmican.SummaryRequest{Transcript: transcript(t, llm.Chat), Tokens: 2000}
	for i := range r.Transcript.Blocks {
		r.Dropped = append(r.Dropped, i)
	}
	for range 2 {
		out, err := m.Summarize(t.Context(), r)
		if !errors.Is(err, summary.ErrUnresolved) || !strings.Contains(err.Error(), "acme/small") || out.Asked.Requests != 0 {
			t.Fatalf("%v; %+v", err, out.Asked)
		}
	}
	if m.Guard.Open() {
		t.Error("the guard counted it")
	}
	if _, err := m.Summarize(t.Context(), r); err != nil {
		t.Error(err)
	}
	// Without a model's name nobody is asked either.
	r.Transcript.Model = ""
	if _, err := m.Summarize(t.Context(), r); !errors.Is(err, summary.ErrUnresolved) {
		t.Error(err)
	}
}

// TestViaCancelled: what somebody has called off is no failure, and nothing else is tried instead (R12).
func TestViaCancelled(t *testing.T) {
	m := &summary.Model{Via: &asker{answers: []answer{fails(context.Canceled), fails(fmt.Errorf("stopped: %w", context.Canceled))}}, Guard: &summary.Guard{Strikes: 1}}
	r := pemmican.SummaryRequest{Transcript: transcript(t, llm.Chat), Tokens: 2000, Dropped: []int{2, 3}}
	if _, err := m.Summarize(t.Context(), r); !errors.Is(err, context.Canceled) || m.Guard.Open() {
		t.Errorf("%v", err)
	}
	if _, err := (summary.Fallback{First: m, Then: summary.Mechanical{}}).Summarize(t.Context(), r); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestViaWaits: who never answers is waited for as long as any model.
func TestViaWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := func(ctx context.Context, _ summary.Question) (*llm.Reply, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		m := &summary.Model{Via: &asker{answers: []answer{never, never}}, MaxWait: time.Minute, Guard: &summary.Guard{Strikes: 1}}
		r := pemmican.SummaryRequest{Transcript: transcript(t, llm.Chat), Tokens: 2000, Dropped: []int{2, 3}}
		start := time.Now()
		_, err := m.Summarize(t.Context(), r)
		if llm.KindOf(err) != llm.Transient || time.Since(start) != time.Minute || !m.Guard.Open() || !strings.Contains(err.Error(), "no summary from big-model within") {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		m.Guard.Reset()
		if _, err := m.Summarize(ctx, r); !errors.Is(err, context.DeadlineExceeded) || llm.KindOf(err) != "" {
			t.Errorf("the caller's own deadline: %v", err)
		}
	})
}

// TestViaPrices: window and price are the catalogue's, by the provider that is named or that the name begins with.
func TestViaPrices(t *testing.T) {
	for _, test := range []struct {
		name, provider, model string
		want                  bool
	}{
		{"in the name", "", "acme/big-model", true},
		{"named", "acme", "big-model", true},
		{"both", "acme", "acme/big-model", true},
		{"another", "other", "big-model", false},
		{"none", "", "big-model", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newVia(says(good))
			if err := b.model.Catalogue.Override([]byte(`{"models": {"acme/big-model": {"window": 64000, "price": {"input": 1, "cache_read": 0.1, "output": 10}}}}`)); err != nil {
				t.Fatal(err)
			}
			b.model.Provider, b.model.Name = test.provider, test.model
			report := b.compact(t)
			if report.Outcome != pemmican.Summarised {
				t.Fatalf("%s: %s", report.Outcome, report.Reason)
			}
			const want = (1000*1 + 8000*0.1 + 200*10) / 1e6
			if got := report.Asked.Dollars; (got != nil) != test.want || got != nil && (*got < want*0.999 || *got > want*1.001) {
				t.Errorf("it cost %v", got)
			}
		})
	}
}

// TestOverLimits is IMG-10's other half: where the pictures of a conversation are too many bytes for its provider, the
// request for the summary does not carry them.
func TestOverLimits(t *testing.T) {
	picture := pemmican.Block{Kind: pemmican.Media, Bytes: 2_800_000, Media: pemmican.MediaInfo{Type: "image/png", Name: "screen.png"}}
	for _, mode := range []summary.Mode{summary.ModeAuto, summary.ModeSame} {
		b := newVia(says(good))
		b.model.Mode = mode
		b.options.Target, b.options.Limits = 1_000_000, pemmican.Limits{Bytes: 32_000_000}
		tr := transcript(t, llm.Chat)
		last := tr.Messages[len(tr.Messages)-1]
		tr.Messages, tr.Blocks = tr.Messages[:len(tr.Messages)-1], tr.Blocks[:last.First]
		for i := range 12 {
			tr.Add(pemmican.User, pemmican.Block{Text: fmt.Sprintf("Look at src/module%02d.ts in this picture.", i)}, picture)
			tr.AddAssistant("I see it.")
		}
		tr.AddUser("What is left to do?")
		tr.Can = pemmican.Capabilities{NoStub: true, NoAnchor: true, NoHead: true, SummaryFirst: true, SummaryNeeded: true}
		plan, report, err := pemmican.Compact(t.Context(), tr, b.options)
		if err != nil {
			t.Fatal(err)
		}
		if mode == summary.ModeSame {
			if report.Outcome != pemmican.Refused || len(b.asked) > 0 || !strings.Contains(report.Reason, "pictures") {
				t.Errorf("%s: %s", report.Outcome, report.Reason)
			}
			continue
		}
		if report.Outcome != pemmican.Summarised || len(b.asked) != 1 || b.asked[0].Mode != summary.ModeCross {
			t.Fatalf("%s: %s; %+v", report.Outcome, report.Reason, b.asked)
		}
		if n := len(b.asked[0].Prompt.User); n > 200_000 {
			t.Errorf("the request for the summary has %d bytes", n)
		}
		bytes := 0
		out := plan.Result(tr)
		for i := range out.Blocks {
			bytes += out.Blocks[i].Bytes
		}
		if bytes > 32_000_000 || bytes < 20_000_000 {
			t.Errorf("%d bytes of pictures are left", bytes)
		}
	}
}
