package session

import (
	"errors"

	"github.com/pemmican-dev/pemmican"
)

// ErrStale reports a plan that was made for another transcript.
var ErrStale = errors.New("the conversation is no longer the one that the compaction was made for")

// Onto is the plan that was made for one transcript, on the same transcript as it has grown since: what has arrived in the
// meantime stays as it is. The error is ErrStale unless now begins with all that made has, and if a result has come for a call
// that was given up for dead and left out. Whether the plan still keeps every rule is for [pemmican.Verify] to say: an
// answer may have come whose reasoning is bound to what the plan changes.
func Onto(p *pemmican.Plan, made, now *pemmican.Transcript) (*pemmican.Plan, error) {
	if len(p.Marks) != len(made.Blocks) || !begins(now, made) {
		return nil, ErrStale
	}
	out := &pemmican.Plan{Marks: make([]pemmican.Mark, len(now.Blocks)), Summary: p.Summary, Gap: p.Gap}
	copy(out.Marks, p.Marks)
	for i, result := range now.Partners() {
		if i >= len(made.Blocks) || made.Blocks[i].Kind != pemmican.ToolCall || result < len(made.Blocks) {
			continue
		}
		if !p.Kept(i) {
			return nil, ErrStale
		}
		if i < p.Gap && p.Summary != "" { // no summary comes between a call and its result
			out.Gap = max(out.Gap, endOfResult(now, result))
		}
	}
	return out, nil
}

// endOfResult is the block behind a result and its media.
func endOfResult(t *pemmican.Transcript, i int) int {
	end := i + 1
	for end < len(t.Blocks) && t.Blocks[end].Kind == pemmican.Media && t.Blocks[end].CallID == t.Blocks[i].CallID {
		end++
	}
	return end
}

// begins reports whether now begins with all the blocks of made, said by the same. Pins may have been taken back, and
// sizes become known: what is sent is the same. What a system text says may change, a clock in it say: it stands beside the
// conversation, and compactions leave it as it is.
func begins(now, made *pemmican.Transcript) bool {
	if len(made.Blocks) > len(now.Blocks) {
		return false
	}
	for i := range made.Blocks {
		a, b := made.Blocks[i], now.Blocks[i]
		a.Pinned, b.Pinned = false, false
		m, n := &made.Messages[a.Message], &now.Messages[b.Message]
		if m.Role != n.Role || m.Author != n.Author {
			return false
		}
		if a != b && (m.Role != pemmican.System || a.Kind != b.Kind || a.Message != b.Message) {
			return false
		}
	}
	return true
}
