package pemmican

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestPartners compares with the rule as it is said: the nearest message before the result that has an open call of its
// id, and there the first.
func TestPartners(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tr Transcript
		for range rapid.IntRange(0, 12).Draw(t, "messages") {
			var blocks []Block
			for range rapid.IntRange(1, 5).Draw(t, "blocks") {
				kind := rapid.SampledFrom([]Kind{ToolCall, ToolCall, ToolResult, Text}).Draw(t, "kind")
				blocks = append(blocks, Block{Kind: kind, CallID: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "id")})
			}
			tr.Add(Assistant, blocks...)
		}
		want := make([]int, len(tr.Blocks))
		for i := range want {
			want[i] = -1
		}
		for i, b := range tr.Blocks {
			if b.Kind != ToolResult {
				continue
			}
			found := -1
			for k := i - 1; k >= 0; k-- {
				if c := tr.Blocks[k]; c.Kind == ToolCall && c.CallID == b.CallID && want[k] < 0 && (found < 0 || c.Message == tr.Blocks[found].Message) {
					found = k
				}
			}
			if found >= 0 {
				want[i], want[found] = found, i
			}
		}
		if got := tr.Partners(); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}
