package pemmican

import "github.com/pemmican-dev/pemmican/internal/estimate"

// estimator is the counter of those who bring none. Package token has a better one for pictures, and a cache.
type estimator struct{}

const (
	estimatedMedia = 1600 // tokens: what a large picture costs about with the vendors that say
	callFrame      = 8    // tokens: what surrounds the name and the arguments of a call
)

func (estimator) Name() string { return "estimate" }
func (estimator) Exact() bool  { return false }

func (estimator) Count(b *Block) int {
	switch b.Kind {
	case Media:
		return estimatedMedia
	case ToolCall:
		return callFrame + estimate.Tokens(b.Tool) + estimate.Tokens(b.Args)
	case Opaque, Reasoning:
		if b.Text == "" {
			return (b.Bytes + 3) / 4
		}
	}
	return estimate.Tokens(b.Text)
}

// countText counts a text that stands in no block yet.
func countText(c Counter, text string) int {
	if text == "" {
		return 0
	}
	return c.Count(&Block{Text: text})
}

// sizes counts every block of t.
func sizes(t *Transcript, c Counter) []int {
	out := make([]int, len(t.Blocks))
	for i := range t.Blocks {
		out[i] = c.Count(&t.Blocks[i])
	}
	return out
}
