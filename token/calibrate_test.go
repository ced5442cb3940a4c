package token_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/token"
	"pgregory.net/rapid"
)

// byLength counts a token for each byte of text, so that tests can say what they mean.
type byLength struct{}

func (byLength) Count(b *pemmican.Block) int {
	if b.Kind == pemmican.Media {
		return 1000
	}
	return len(b.Text) + len(b.Args)
}

// step appends a person's text and an answer of the given sizes, with the size that the provider reports.
func step(t *pemmican.Transcript, in, out, usage int) {
	t.AddUser(strings.Repeat("u", in))
	t.AddAssistant(strings.Repeat("a", out))
	t.Messages[len(t.Messages)-1].Usage = usage
}

// grow makes a transcript of n steps of 1,000 tokens each whose provider reports overhead + ratio × counted.
func grow(n int, overhead, ratio float64) *pemmican.Transcript {
	t := &pemmican.Transcript{}
	for i := range n {
		step(t, 700, 300, int(overhead+ratio*float64(1000*(i+1))))
	}
	return t
}

func check(t *testing.T, got token.Calibration, overhead int, ratio float64, source string) {
	t.Helper()
	if d := got.Overhead.Tokens - overhead; d < -overhead/50-1 || d > overhead/50+1 {
		t.Errorf("overhead %d, want %d", got.Overhead.Tokens, overhead)
	}
	if d := got.Ratio - ratio; d < -0.01 || d > 0.01 {
		t.Errorf("ratio %v, want %v", got.Ratio, ratio)
	}
	if got.Overhead.Source != source {
		t.Errorf("source %q, want %q", got.Overhead.Source, source)
	}
}

// Row TOK-19: no usage is unknown, not zero.
func TestTOK19_NoUsageIsUnknown(t *testing.T) {
	empty := &pemmican.Transcript{}
	without := grow(20, 0, 1)
	for i := range without.Messages {
		without.Messages[i].Usage = 0
	}
	misplaced := &pemmican.Transcript{}
	misplaced.AddUser("a person reports nothing")
	misplaced.Messages[0].Usage = 90_000
	negative := grow(3, 0, 1)
	for i := range negative.Messages {
		negative.Messages[i].Usage = -1
	}
	for _, tr := range []*pemmican.Transcript{empty, without, misplaced, negative} {
		if got, want := token.Calibrate(tr, byLength{}), (token.Calibration{
			Overhead: pemmican.Overhead{Source: "unknown"}, Ratio: 1,
		}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func TestCalibrateFewPoints(t *testing.T) {
	check(t, token.Calibrate(grow(1, 9000, 1), byLength{}), 9000, 1, "estimated")
	check(t, token.Calibrate(grow(4, 9000, 1), byLength{}), 9000, 1, "estimated")
	// With three points the slope is not believed, and the overhead is what the middle one leaves.
	check(t, token.Calibrate(grow(3, 9000, 1.5), byLength{}), 9000+1000, 1, "estimated")
	// Less reported than counted is no overhead.
	check(t, token.Calibrate(grow(3, 0, 0.5), byLength{}), 0, 1, "estimated")
}

func TestCalibrateManyPoints(t *testing.T) {
	for _, tt := range []struct {
		name             string
		overhead, ratio  float64
		wantOver, points int
		wantRatio        float64
	}{
		{"plain", 12_000, 1, 12_000, 40, 1},
		{"denser vocabulary", 12_000, 1.3, 12_000, 40, 1.3},
		{"coarser", 3_000, 0.8, 3_000, 40, 0.8},
		{"no overhead", 0, 1.1, 0, 40, 1.1},
		{"slope out of reason", 1_000, 4, 1_000 + int(2.4*20_500), 40, 1.6},
		{"long", 20_000, 1.2, 20_000, 1000, 1.2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := token.Calibrate(grow(tt.points, tt.overhead, tt.ratio), byLength{})
			check(t, got, tt.wantOver, tt.wantRatio, "estimated")
			if got.Points != tt.points {
				t.Errorf("%d points, want %d", got.Points, tt.points)
			}
		})
	}
}

func TestCalibrateWithoutGrowth(t *testing.T) {
	tr := &pemmican.Transcript{}
	step(tr, 30_000, 10, 41_000)
	for range 20 {
		step(tr, 20, 20, 41_500)
	}
	// 800 tokens of growth say nothing about the ratio.
	check(t, token.Calibrate(tr, byLength{}), 41_500-30_000-410, 1, "estimated")
}

func TestCalibrateNegativeOverhead(t *testing.T) {
	tr := &pemmican.Transcript{}
	for i := range 20 {
		step(tr, 900, 100, max(1, int(1.2*float64(1000*(i+1))-3000)))
	}
	got := token.Calibrate(tr, byLength{})
	if got.Overhead.Tokens > 200 || got.Ratio < 0.7 || got.Ratio > 1.2 {
		t.Errorf("got %+v", got)
	}
	last := got.Ratio * 20_000
	if last < 17_000 || last > 25_000 {
		t.Errorf("the fit says %v for a context of 21,000", last)
	}
}

func TestCalibrateIgnoresWrongReports(t *testing.T) {
	tr := grow(60, 8000, 1.25)
	for i := range tr.Messages {
		if u := &tr.Messages[i].Usage; *u > 0 {
			switch i % 19 {
			case 3:
				*u = *u * 11 / 10
			case 7:
				*u = 900 // a call beside the conversation
			}
		}
	}
	check(t, token.Calibrate(tr, byLength{}), 8000, 1.25, "estimated")
}

// Row TOK-11: a size that was reported before a compaction is not one of the transcript as it is.
func TestTOK11_StaleUsage(t *testing.T) {
	t.Run("dropped", func(t *testing.T) {
		tr := &pemmican.Transcript{}
		tr.Add(pemmican.User, pemmican.Block{Kind: pemmican.Summary, Text: strings.Repeat("s", 2000)})
		for i := range 10 { // the kept tail still carries what was reported when the past was there
			step(tr, 500, 500, 150_000+1000*i)
		}
		for i := range 12 {
			step(tr, 500, 500, 9000+2000+1000*(11+i))
		}
		got := token.Calibrate(tr, byLength{})
		check(t, got, 9000, 1, "estimated")
		if got.Points != 12 {
			t.Errorf("%d points, want 12", got.Points)
		}
	})
	t.Run("only stale ones", func(t *testing.T) {
		tr := &pemmican.Transcript{}
		tr.Add(pemmican.User, pemmican.Block{Kind: pemmican.Summary, Text: strings.Repeat("s", 2000)})
		for i := range 10 {
			step(tr, 500, 500, 150_000+1000*i)
		}
		if got := token.Calibrate(tr, byLength{}); got.Overhead.Source != "unknown" || got.Overhead.Tokens != 0 || got.Ratio != 1 || got.Points != 0 {
			t.Errorf("got %+v, want unknown", got)
		}
	})
	t.Run("fresh behind a summary", func(t *testing.T) {
		tr := &pemmican.Transcript{}
		tr.Add(pemmican.User, pemmican.Block{Kind: pemmican.Summary, Text: strings.Repeat("s", 2000)})
		for i := range 10 {
			step(tr, 500, 500, 21_000+2000+1000*(i+1))
		}
		check(t, token.Calibrate(tr, byLength{}), 21_000, 1, "estimated")
	})
	t.Run("drop at the very end", func(t *testing.T) {
		tr := grow(30, 100_000, 1)
		step(tr, 500, 500, 31_000+7000)
		check(t, token.Calibrate(tr, byLength{}), 7000, 1, "estimated")
	})
}

func TestCalibrateMediaAtFaceValue(t *testing.T) {
	tr := &pemmican.Transcript{}
	for i := range 30 {
		tr.Add(pemmican.User, pemmican.Block{Kind: pemmican.Media})
		step(tr, 500, 500, 5000+1300*(i+1)+1000*(i+1))
	}
	// The pictures cost what they cost; the ratio is that of the text.
	check(t, token.Calibrate(tr, byLength{}), 5000, 1.3, "estimated")
}

func TestCalibrateCountsTools(t *testing.T) {
	tr := grow(30, 6000, 1)
	tr.Tools = strings.Repeat("t", 5000)
	check(t, token.Calibrate(tr, byLength{}), 1000, 1, "estimated")
}

// Whatever is reported, the fit stays within its bounds, and what it was made of comes back.
func TestCalibrateProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := &pemmican.Transcript{}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			step(tr, rapid.IntRange(0, 3000).Draw(t, "in"), rapid.IntRange(0, 3000).Draw(t, "out"),
				rapid.OneOf(rapid.IntRange(0, 300_000), rapid.Int()).Draw(t, "usage"))
		}
		got := token.Calibrate(tr, byLength{})
		if got.Ratio < 0.7 || got.Ratio > 1.6 || got.Overhead.Tokens < 0 {
			t.Fatalf("got %+v", got)
		}
		if (got.Points == 0) != (got.Overhead.Source == "unknown") {
			t.Fatalf("%d points and source %q", got.Points, got.Overhead.Source)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		overhead := rapid.IntRange(0, 40_000).Draw(t, "overhead")
		ratio := rapid.Float64Range(0.75, 1.55).Draw(t, "ratio")
		noise := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "noise")))
		tr := grow(rapid.IntRange(12, 300).Draw(t, "steps"), float64(overhead), ratio)
		for i := range tr.Messages {
			if u := &tr.Messages[i].Usage; *u > 0 {
				*u += noise.IntN(201) - 100
			}
		}
		got := token.Calibrate(tr, byLength{})
		n := float64(len(tr.Messages) / 2 * 1000)
		want := float64(overhead) + ratio*n
		fit := float64(got.Overhead.Tokens) + got.Ratio*n
		if d := fit - want; d < -0.05*want-300 || d > 0.05*want+300 {
			t.Fatalf("the fit says %v, reported was about %v: %+v", fit, want, got)
		}
	})
}

// On a real session the fit foretells the sizes that the provider reported. It reads just enough of the file format
// for that; the packages under format do it properly.
func TestCalibrateRealSession(t *testing.T) {
	file := filepath.Join("..", "..", "shared", "corpus", "pi", "pi-mono-before-compaction.jsonl")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("the corpus of real transcripts is not here: %v", err)
	}
	tr := &pemmican.Transcript{}
	lines := bufio.NewReader(bytes.NewReader(data))
	for {
		line, err := lines.ReadBytes('\n')
		var entry struct {
			Type    string
			Message struct {
				Role    string
				Content []struct {
					Type, Text, Thinking, Name string
					Arguments                  json.RawMessage
				}
				Usage      struct{ Input, Output, CacheRead, CacheWrite int }
				StopReason string
			}
		}
		if json.Unmarshal(line, &entry) == nil && entry.Type == "message" && entry.Message.StopReason != "aborted" && entry.Message.StopReason != "error" {
			m := entry.Message
			role := map[string]pemmican.Role{"user": pemmican.User, "assistant": pemmican.Assistant, "toolResult": pemmican.Tool}[m.Role]
			i := tr.Add(role)
			for _, c := range m.Content {
				b := pemmican.Block{Message: i, Text: c.Text}
				switch c.Type {
				case "thinking":
					b.Kind, b.Text = pemmican.Reasoning, c.Thinking
				case "toolCall":
					b.Kind, b.Tool, b.Args = pemmican.ToolCall, c.Name, string(c.Arguments)
				case "image":
					b.Kind = pemmican.Media
				}
				tr.Blocks = append(tr.Blocks, b)
			}
			u := m.Usage
			tr.Messages[i].End, tr.Messages[i].Usage = len(tr.Blocks), u.Input+u.Output+u.CacheRead+u.CacheWrite
		}
		if err != nil || entry.Type == "compaction" { // what stands behind one is another conversation
			break
		}
	}
	got := token.Calibrate(tr, nil)
	t.Logf("%+v over %d messages", got, len(tr.Messages))
	if got.Overhead.Source != "estimated" || got.Points < 20 {
		t.Fatalf("got %+v", got)
	}
	e := token.Estimator{Ratio: got.Ratio}
	sum, last, reported := got.Overhead.Tokens, 0, 0
	for i, m := range tr.Messages {
		for j := m.First; j < m.End; j++ {
			sum += e.Count(&tr.Blocks[j])
		}
		if tr.Messages[i].Usage > 0 {
			last, reported = sum, tr.Messages[i].Usage
		}
	}
	if off := float64(last)/float64(reported) - 1; off < -0.1 || off > 0.1 {
		t.Errorf("the fit says %d for the last context, the provider said %d", last, reported)
	}
}

func BenchmarkCalibrate(b *testing.B) {
	tr := grow(2000, 9000, 1.2)
	for b.Loop() {
		token.Calibrate(tr, byLength{})
	}
}
