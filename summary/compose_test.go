package summary

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/pemmican-dev/pemmican"
)

// fixed is a summariser that gives one answer.
type fixed struct {
	body string
	err  error
}

func (f fixed) Summarize(context.Context, pemmican.SummaryRequest) (pemmican.SummaryText, error) {
	return pemmican.SummaryText{Body: f.body, Kind: "fixed"}, f.err
}

func TestStatistics(t *testing.T) {
	r := script(t, `U Do it.
A Well.
C 1 read {"path":"a"}
R 1 text
C 2 bash {"command":"ls"}
R 2 a b
U And now the rest
	of it.
--- keep
A more`)
	want := "Turns compacted: 7\nEstimated tokens: 19\nTools called: bash, read\nTotal tool calls: 2\nLast user message: And now the rest of it."
	got := summarise(t, Statistics{}, r)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}

	// An anchor is counted apart, and an earlier summary of the kind is added to.
	r.Dropped = slices.Delete(slices.Clone(r.Dropped), 1, 2)
	r.Kept[1] = true
	r.Previous = want
	want = "Turns compacted: 13 (+ 1 anchors preserved separately)\nEstimated tokens: 36\nTools called: bash, read\nTotal tool calls: 4\nLast user message: And now the rest of it."
	if d := cmp.Diff(want, summarise(t, Statistics{}, r)); d != "" {
		t.Errorf("second (-want +got):\n%s", d)
	}
	r.Previous = "Somebody else's words."
	if got := summarise(t, Statistics{}, r); !strings.HasSuffix(got, "\nEarlier summary: Somebody else's words.") {
		t.Errorf("foreign summary: %q", got)
	}
}

func TestStatisticsLimits(t *testing.T) {
	r := script(t, "U "+strings.Repeat("日本語", 500))
	got := summarise(t, Statistics{}, r)
	_, last, _ := strings.Cut(got, "Last user message: ")
	if n := utf8.RuneCountInString(last); n > 200 || n < 150 {
		t.Errorf("the last message has %d runes", n)
	}
	for _, n := range []int{1, 3, 10, 50} {
		got := summarise(t, Statistics{MaxRunes: n}, r)
		if utf8.RuneCountInString(got) > n || n > 3 && !strings.HasSuffix(got, "...") {
			t.Errorf("MaxRunes %d: %q", n, got)
		}
	}
}

// TestL19: a result of 100,000 characters counts for more than 20,000 tokens.
func TestL19(t *testing.T) {
	r := script(t, "C 1 bash {\"command\":\"cat log\"}\nR 1 "+strings.Repeat("x", 100_000))
	s, ok := parseStatistics(summarise(t, Statistics{}, r))
	if !ok || s.tokens <= 20_000 {
		t.Errorf("estimate %d, want more than 20000", s.tokens)
	}
}

// TestT25: a summary of 20,000 characters comes to less than 5,000; a blank one is refused.
func TestT25(t *testing.T) {
	r := script(t, "U x")
	got := summarise(t, Capped{Summarizer: fixed{body: strings.Repeat("A long story. ", 1500)}}, r)
	if n := utf8.RuneCountInString(got); n >= 5000 || n < 3500 || !strings.Contains(got, gap) {
		t.Errorf("%d runes", n)
	}
	for _, body := range []string{"", " \n"} {
		if _, err := (Capped{Summarizer: fixed{body: body}}).Summarize(context.Background(), r); !errors.Is(err, ErrEmpty) {
			t.Errorf("%q: %v", body, err)
		}
	}
	if _, err := (Capped{}).Summarize(context.Background(), r); err == nil {
		t.Error("without a summariser: no error")
	}
	boom := errors.New("boom")
	if _, err := (Capped{Summarizer: fixed{err: boom}}).Summarize(context.Background(), r); !errors.Is(err, boom) {
		t.Errorf("error %v", err)
	}
}

// TestFallback has the rows R11 and R13.
func TestFallback(t *testing.T) {
	r := script(t, "U x\nC 1 bash {\"command\":\"ls\"}\nR 1 a")
	boom := errors.New("status 529:\noverloaded </summary>")
	for _, test := range []struct {
		name     string
		f        Fallback
		body     string // how it begins
		kind     string
		fellBack string
	}{
		{"not needed", Fallback{First: fixed{body: "Good."}}, "Good.", "fixed", ""},
		{
			"error", Fallback{First: fixed{err: boom}, Then: Statistics{}},
			"[Model summary unavailable (status 529: overloaded ‹/summary>)]\nTurns compacted: 3\n", "statistics", "status 529: overloaded ‹/summary>",
		},
		{
			"blank", Fallback{First: fixed{body: " "}, Then: Mechanical{}},
			"[Model summary unavailable (the summary is empty)]\n# 3 earlier messages", "mechanical", "the summary is empty",
		},
		{"none", Fallback{Then: Statistics{}}, "[Model summary unavailable (no summariser is set)]\nTurns", "statistics", "no summariser is set"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.f.Summarize(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(got.Body, test.body) || got.Kind != test.kind || got.FellBack != test.fellBack {
				t.Errorf("got %+v", got)
			}
			if test.kind == "statistics" && !strings.Contains(got.Body, "Tools called: bash") {
				t.Errorf("R11: %q", got.Body)
			}
		})
	}
	if _, err := (Fallback{First: fixed{err: boom}, Then: fixed{}}).Summarize(context.Background(), r); !errors.Is(err, boom) || !errors.Is(err, ErrEmpty) {
		t.Errorf("both fail: %v", err)
	}
	// R12: what was called off is not tried in another way.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got, err := (Fallback{First: fixed{err: boom}, Then: fixed{body: "x"}}).Summarize(ctx, r); !errors.Is(err, context.Canceled) || got.Body != "" {
		t.Errorf("called off: %+v, %v", got, err)
	}
	// No room for the tag: the text goes without it, and the reason is told all the same.
	r.Tokens = 20
	got, err := (Fallback{First: fixed{err: boom}, Then: Mechanical{}}).Summarize(context.Background(), r)
	if err != nil || strings.HasPrefix(got.Body, "[") || got.Body == "" || got.FellBack == "" {
		t.Errorf("little room: %+v, %v", got, err)
	}
}
