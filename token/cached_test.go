package token_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/token"
	"pgregory.net/rapid"
)

// spy counts how often it is asked.
type spy struct {
	token.Estimator
	asked atomic.Int64
}

func (s *spy) Count(b *pemmican.Block) int {
	s.asked.Add(1)
	return s.Estimator.Count(b)
}

// bare is a counter that tells nothing of itself.
type bare struct{}

func (bare) Count(*pemmican.Block) int { return 1 }

func TestCacheCountsOnce(t *testing.T) {
	s := &spy{}
	c := token.NewCache(s, 100)
	for range 3 {
		for i := range 10 {
			b := pemmican.Block{Kind: pemmican.ToolResult, Text: fmt.Sprint("result ", i), Message: i, CallID: fmt.Sprint(i)}
			if got, want := c.Count(&b), s.Estimator.Count(&b); got != want {
				t.Errorf("block %d: got %d, want %d", i, got, want)
			}
		}
	}
	if n := s.asked.Load(); n != 10 {
		t.Errorf("asked %d times for 10 blocks", n)
	}
	// Where a block stands does not matter.
	c.Count(&pemmican.Block{Kind: pemmican.ToolResult, Text: "result 1", Message: 77, CallID: "other", Pinned: true})
	if n := s.asked.Load(); n != 10 {
		t.Errorf("asked again for a block that has only moved")
	}
}

func TestCacheTellsApart(t *testing.T) {
	s := &spy{}
	c := token.NewCache(s, 1000)
	blocks := []pemmican.Block{
		{Text: "ab"},
		{Kind: pemmican.Summary, Text: "ab"},
		{Kind: pemmican.ToolCall, Tool: "ab"},
		{Kind: pemmican.ToolCall, Tool: "a", Args: "b"},
		{Kind: pemmican.ToolCall, Args: "ab"},
		{Kind: pemmican.ToolCall, Args: "a", Text: "b"},
		{Kind: pemmican.ToolResult, Text: "ab"},
		{Kind: pemmican.ToolResult, Text: "ab", Error: true},
		{Kind: pemmican.Reasoning, Text: "ab"},
		{Kind: pemmican.Reasoning, Text: "ab", Bound: true},
		{Kind: pemmican.Reasoning, Text: "ab", Bound: true, Bytes: 9},
		{Kind: pemmican.Media, Bytes: 1},
		{Kind: pemmican.Media, Bytes: 2},
		{Kind: pemmican.Media, Media: pemmican.MediaInfo{Type: "ab"}},
		{Kind: pemmican.Media, Media: pemmican.MediaInfo{Type: "a", Name: "b"}},
		{Kind: pemmican.Media, Media: pemmican.MediaInfo{Width: 1, Height: 2}},
		{Kind: pemmican.Media, Media: pemmican.MediaInfo{Width: 2, Height: 1}},
	}
	for range 2 {
		for i := range blocks {
			c.Count(&blocks[i])
		}
	}
	if n := s.asked.Load(); n != int64(len(blocks)) {
		t.Errorf("asked %d times for %d different blocks", n, len(blocks))
	}
}

func TestCacheIsBoundedAndKeepsWhatIsUsed(t *testing.T) {
	s := &spy{}
	c := token.NewCache(s, 20)
	hot := &pemmican.Block{Text: "asked for all the time"}
	for i := range 1000 {
		c.Count(hot)
		c.Count(&pemmican.Block{Text: fmt.Sprint("once ", i)})
	}
	if n := s.asked.Load(); n != 1001 {
		t.Errorf("asked %d times, want 1,001: the hot block must survive", n)
	}
	// The last 20 at most are still there: at least 980 of 1,000 are counted anew.
	for i := range 1000 {
		c.Count(&pemmican.Block{Text: fmt.Sprint("once ", i)})
	}
	if n := s.asked.Load(); n < 1001+980 {
		t.Errorf("asked %d times: more than 20 entries were kept", n)
	}
}

func TestCacheTellsOfItsCounter(t *testing.T) {
	if c := token.NewCache(nil, 0); c.Name() != "estimate:o200k" || c.Exact() {
		t.Errorf("nil counter: %q, exact %v", c.Name(), c.Exact())
	}
	if c := token.NewCache(bare{}, 1); c.Name() != "" || c.Exact() || c.Count(&pemmican.Block{}) != 1 {
		t.Errorf("bare counter: %q, exact %v", c.Name(), c.Exact())
	}
}

// Whatever is asked in whatever order, the cache says what its counter says.
func TestCacheEqualsUncached(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := token.Estimator{Vendor: "google", Ratio: 1.2}
		c := token.NewCache(e, rapid.IntRange(1, 12).Draw(t, "entries"))
		blocks := rapid.SliceOfN(anyBlock(), 1, 12).Draw(t, "blocks")
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(blocks)-1), 0, 60).Draw(t, "asked") {
			if got, want := c.Count(&blocks[i]), e.Count(&blocks[i]); got != want {
				t.Fatalf("block %d: cached %d, counted %d", i, got, want)
			}
		}
	})
}

func TestCacheConcurrently(t *testing.T) {
	c := token.NewCache(nil, 16)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 300 {
				b := pemmican.Block{Text: strings.Repeat("word ", (i*7+g)%40)}
				if got, want := c.Count(&b), (token.Estimator{}).Count(&b); got != want {
					t.Errorf("got %d, want %d", got, want)
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkCache counts a transcript of some megabytes without the cache, and again with it; "speedup" is the
// ratio.
func BenchmarkCache(b *testing.B) {
	blocks := make([]pemmican.Block, 600)
	total := 0
	for i := range blocks {
		line := fmt.Sprintf("%4d\tif err := step%d(ctx, options); err != nil {\n\treturn fmt.Errorf(\"step: %%w\", err)\n", i, i)
		blocks[i] = pemmican.Block{Kind: pemmican.ToolResult, Text: strings.Repeat(line, 90)}
		total += len(blocks[i].Text)
	}
	count := func(c pemmican.Counter) {
		for i := range blocks {
			c.Count(&blocks[i])
		}
	}
	b.Run("cold", func(b *testing.B) {
		b.SetBytes(int64(total))
		for b.Loop() {
			count(token.Estimator{})
		}
	})
	b.Run("warm", func(b *testing.B) {
		const rounds = 5
		start := time.Now()
		for range rounds {
			count(token.Estimator{})
		}
		cold := float64(time.Since(start)) / rounds
		c := token.NewCache(nil, 0)
		count(c)
		b.SetBytes(int64(total))
		for b.Loop() {
			count(c)
		}
		b.ReportMetric(cold/(float64(b.Elapsed())/float64(b.N)), "speedup")
	})
}
