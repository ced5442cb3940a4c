package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/format/detect"
)

// validity returns what is wrong with an answer, one sentence each. Two runs of the same task must agree.
func validity(a *arm, t task, first, second answer) []string {
	var bad []string
	fail := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	if fingerprint(first) != fingerprint(second) {
		fail("two runs differ")
	}
	if first.refused {
		return bad
	}
	if first.plan != nil {
		if err := pemmican.Verify(t.history, first.plan, first.options); err != nil {
			fail("%v", err)
		}
	}
	_, tokens := sizes(first.context, t.counter)
	switch {
	case tokens > t.total:
		fail("the context has %d tokens, and the history %d", tokens, t.total)
	case a.strict && tokens > t.budget+first.extra:
		fail("the context has %d tokens, and the budget is %d", tokens, t.budget)
	}
	had, has := loose(t.history), loose(first.context)
	for id, n := range has {
		if n > had[id] {
			fail("%s stands without its partner", id)
			break
		}
	}
	if at := order(t.history, first.context); at >= 0 {
		b := &first.context.Blocks[at]
		fail("block %d, %s %s, is not where the history has it", at, b.Kind, clip(b.Text+b.Args, ""))
	}
	if m := newestPerson(t.history); m >= 0 && !verbatim(t.history, m, first.context) {
		fail("the person's newest message is not there word for word")
	}
	if !validText(first.context) && validText(t.history) {
		fail("the context has text that is no UTF-8")
	}
	return bad
}

// fingerprint is everything that an answer says.
func fingerprint(a answer) string {
	if a.refused {
		return "refused"
	}
	var out strings.Builder
	for m := range a.context.Messages {
		msg := &a.context.Messages[m]
		fmt.Fprintf(&out, "%s %d\n", msg.Role, msg.Author)
		for i := msg.First; i < msg.End; i++ {
			b := &a.context.Blocks[i]
			fmt.Fprintf(&out, "%d %q %q %q %q\n", b.Kind, b.CallID, b.Tool, b.Args, b.Text)
		}
	}
	return out.String()
}

// loose counts calls without a result and results without a call, by what they are.
func loose(t *pemmican.Transcript) map[string]int {
	out := map[string]int{}
	open := map[string]int{}
	for i := range t.Blocks {
		b := &t.Blocks[i]
		switch {
		case b.Kind == pemmican.ToolCall:
			open[b.CallID]++
		case b.Kind == pemmican.ToolResult && open[b.CallID] > 0:
			open[b.CallID]--
		case b.Kind == pemmican.ToolResult:
			out["the result of call "+b.CallID]++
		}
	}
	for id, n := range open {
		if n > 0 {
			out["call "+id] += n
		}
	}
	return out
}

// order returns the first block of a context that has no place in the history behind that of the block before it, -1
// if all are in order. A stub has the place of what it replaces; a summary needs none.
func order(history, context *pemmican.Transcript) int {
	at := 0
	known := map[string]bool{} // texts that the history has, which are no stubs
	for i := range history.Blocks {
		known[history.Blocks[i].Text] = true
	}
	for i := range context.Blocks {
		b := &context.Blocks[i]
		if b.Kind == pemmican.Summary && !known[b.Text] {
			continue
		}
		role := context.Messages[b.Message].Role
		for at < len(history.Blocks) {
			h := &history.Blocks[at]
			if role == history.Messages[h.Message].Role && stands(b, h, known) {
				break
			}
			at++
		}
		if at == len(history.Blocks) {
			return i
		}
		at++
	}
	return -1
}

// stands reports whether b may be what became of h.
func stands(b, h *pemmican.Block, known map[string]bool) bool {
	switch b.Kind {
	case pemmican.ToolCall, pemmican.ToolResult:
		return b.Kind == h.Kind && b.CallID == h.CallID && b.Tool == h.Tool
	case pemmican.Text:
		if b.Text == h.Text && h.Kind == pemmican.Text {
			return true
		}
		return !known[b.Text] && (h.Kind == pemmican.Media || h.Kind == pemmican.Text && len(b.Text) < len(h.Text))
	}
	return b.Kind == h.Kind && b.Text == h.Text
}

// verbatim reports whether one message of a context has all texts of message m of the history.
func verbatim(history *pemmican.Transcript, m int, context *pemmican.Transcript) bool {
	texts := func(t *pemmican.Transcript, m int) (out []string) {
		for i := t.Messages[m].First; i < t.Messages[m].End; i++ {
			if t.Blocks[i].Kind == pemmican.Text {
				out = append(out, t.Blocks[i].Text)
			}
		}
		return out
	}
	want := texts(history, m)
	for n := len(context.Messages) - 1; n >= 0; n-- {
		if context.Messages[n].Person() && slices.Equal(texts(context, n), want) {
			return true
		}
	}
	return false
}

func validText(t *pemmican.Transcript) bool {
	for i := range t.Blocks {
		if !utf8.ValidString(t.Blocks[i].Text) || !utf8.ValidString(t.Blocks[i].Args) {
			return false
		}
	}
	return true
}

// validFile compacts a session as it is on disk, with what its format can express, and returns what is wrong with the
// new bytes. It reports whether the file was compacted at all.
func validFile(ctx context.Context, s *Session, policy pemmican.Policy, share float64, counter pemmican.Counter) (bad []string, done bool) {
	t := s.doc.Transcript()
	_, live := sizes(t, counter)
	o := engineOptions(policy, int(share*float64(live)), counter)
	plan, report, err := pemmican.Compact(ctx, t, o)
	switch {
	case err != nil:
		return []string{err.Error()}, false
	case plan.Empty() || report.Outcome == pemmican.Refused:
		return nil, false
	}
	out, err := s.doc.Apply(plan)
	switch {
	case errors.Is(err, format.ErrNotWritable):
		return nil, false
	case err != nil:
		return []string{"apply: " + err.Error()}, false
	}
	if again, err := s.doc.Apply(plan); err != nil || string(again) != string(out) {
		bad = append(bad, "two runs of apply differ")
	}
	after, err := detect.Decode(out, s.Format)
	if err != nil {
		return append(bad, "the new bytes cannot be read: "+err.Error()), true
	}
	had := map[string]int{}
	for _, f := range s.doc.Check() {
		had[f.Rule]++
	}
	for _, f := range after.Check() {
		if had[f.Rule]--; had[f.Rule] < 0 {
			bad = append(bad, fmt.Sprintf("%s at %s: %s", f.Rule, f.Where, f.Message))
		}
	}
	return bad, true
}
