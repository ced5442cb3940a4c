// Package formattest holds what the tests of all formats share: random plans, and a comparison of transcripts. Apply is
// right where Decode of what it writes is the plan's Result:
//
//	plan := formattest.RandomPlan(t, doc.Transcript())
//	out, err := doc.Apply(plan)
//	again, err := Decode(out)
//	if diff := formattest.SameBlocks(plan.Result(doc.Transcript()), again.Transcript()); diff != "" { … }
//
// Wire is the whole suite of a wire format.
package formattest

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/pemmican-dev/pemmican"
)

// texts are what stubs and summaries are made of: everything that an encoder may get wrong. None is blank or ends with
// white space, since some providers refuse that.
var texts = []string{
	"[12 lines, 340 tokens left out]",
	`a "quoted" \ backslash \ud83d`,
	"two\nlines\r\nand\ta tab",
	"<b>&amp; 👩‍👩‍👧 e\u0301 \u2028 日本語",
	"\x00\x1f\x7f control",
	strings.Repeat("long ", 200) + "end",
}

// RandomPlan draws a plan as a planner could make it, within tr.Can: whole units are kept or dropped, system text,
// pinned blocks, unanswered calls and the newest unit stay, at most one summary is live, and where the first unit goes
// without a summary in its place nothing is dropped, since a conversation must begin with the user. Blocks of kept units
// are stubbed, and reasoning left out, where the format can do that. Often it is the plan that changes nothing.
func RandomPlan(t *rapid.T, tr *pemmican.Transcript) *pemmican.Plan {
	p := pemmican.NewPlan(tr)
	units := unitsOf(tr)
	gaps := gapsOf(tr, units)
	if len(units) == 0 {
		return p
	}
	begin := gaps[0] // behind the leading system text
	can := tr.Can
	rate := rapid.IntRange(0, 100).Draw(t, "percent dropped")
	coin := func(percent int, label string) bool { return rapid.IntRange(0, 99).Draw(t, label) < percent }

	// What stands before head and from cut on stays. Where only one run can be kept behind the summary, all between goes.
	run := can.NoAnchor || can.NoHead
	head, cut := begin, len(tr.Blocks)
	if run {
		cut = rapid.SampledFrom(gaps).Draw(t, "cut")
		if cut < can.KeepFrom {
			return p
		}
		if !can.NoHead && !can.SummaryFirst {
			head = rapid.SampledFrom(gaps).Draw(t, "head")
		}
	}
	first := -1 // the first dropped block
	drop := func(u []int) {
		for _, i := range u {
			p.Marks[i] = pemmican.Mark{Action: pemmican.Drop, Stage: "test", Why: "drawn"}
			if first < 0 || i < first {
				first = i
			}
		}
	}
	for n, u := range units {
		switch {
		case n == len(units)-1 || !free(tr, u) || u[len(u)-1] >= cut || u[0] < head:
		case run || coin(rate, "drop"):
			drop(u)
		}
	}
	if run {
		// A unit that has to stay before the tail makes this plan impossible.
		for _, u := range units {
			if u[0] >= head && u[0] < cut && p.Marks[u[0]].Action == pemmican.Keep && tr.Messages[tr.Blocks[u[0]].Message].Role != pemmican.System {
				return pemmican.NewPlan(tr)
			}
		}
	}

	if first >= 0 && (can.SummaryNeeded || coin(70, "summary")) {
		p.Summary = pemmican.Seal(rapid.SampledFrom(texts).Draw(t, "summary text"))
		for n, u := range units {
			if tr.Blocks[u[0]].Kind != pemmican.Summary || p.Marks[u[0]].Action == pemmican.Drop {
				continue
			}
			if run || n == len(units)-1 || !free(tr, u) {
				return pemmican.NewPlan(tr) // two summaries would be live
			}
			drop(u)
		}
		switch {
		case can.SummaryFirst || first == begin:
			p.Gap = begin
		case run || coin(50, "default gap"):
			at, found := slices.BinarySearch(gaps, first)
			if !found {
				at-- // The first dropped block stands inside of other units.
			}
			p.Gap = gaps[at]
		default:
			p.Gap = rapid.SampledFrom(gaps).Draw(t, "gap")
		}
	} else if first == begin {
		return pemmican.NewPlan(tr)
	}
	if can.NoStub || can.SummaryNeeded && p.Summary == "" {
		return p
	}

	for _, u := range units {
		if p.Marks[u[0]].Action == pemmican.Drop || !free(tr, u) {
			continue
		}
		other := slices.ContainsFunc(u, func(i int) bool {
			k := tr.Blocks[i].Kind
			return k == pemmican.Text || k == pemmican.ToolCall
		})
		bare := other && coin(20, "drop reasoning")
		for _, i := range u {
			b := &tr.Blocks[i]
			switch b.Kind {
			case pemmican.Reasoning:
				if bare {
					drop([]int{i})
				}
			case pemmican.Text, pemmican.ToolResult, pemmican.Media, pemmican.ToolCall:
				if !coin(20, "stub") || b.CallID != "" && b.Kind == pemmican.Media && !behindResult(tr, p, i) {
					continue
				}
				text := rapid.SampledFrom(texts).Draw(t, "stub text")
				if b.Kind == pemmican.ToolCall {
					text = `{"path":"a \"b\" \\ 日本","n":1e400,"left out":[]}`
				}
				p.Marks[i] = pemmican.Mark{Action: pemmican.Stub, Text: text, Stage: "test", Why: "drawn"}
			}
		}
	}
	return p
}

// behindResult reports whether nothing is kept between media and the result that holds it: elsewhere the plan's Result
// makes a block of its own of the stub.
func behindResult(tr *pemmican.Transcript, p *pemmican.Plan, i int) bool {
	for i--; i >= 0 && tr.Blocks[i].Kind != pemmican.ToolResult; i-- {
		if p.Marks[i].Action == pemmican.Keep || tr.Blocks[i].CallID == "" {
			return false
		}
	}
	return true
}

// free reports whether a planner may touch a unit.
func free(tr *pemmican.Transcript, u []int) bool {
	answered := map[string]int{}
	for _, i := range u {
		b := &tr.Blocks[i]
		if b.Pinned || tr.Messages[b.Message].Role == pemmican.System {
			return false
		}
		switch b.Kind {
		case pemmican.ToolCall:
			answered[b.CallID]--
		case pemmican.ToolResult:
			answered[b.CallID]++
		}
	}
	for _, n := range answered {
		if n < 0 {
			return false
		}
	}
	return true
}

// unitsOf returns the blocks of each unit, by the rules of package pemmican, which does not show its own.
func unitsOf(tr *pemmican.Transcript) [][]int {
	group := make([]int, len(tr.Blocks)) // block → a block of the same unit, in the end the first
	for i := range group {
		group[i] = i
	}
	root := func(i int) int {
		for group[i] != i {
			i = group[i]
		}
		return i
	}
	join := func(a, b int) {
		a, b = root(a), root(b)
		group[max(a, b)] = min(a, b)
	}
	open := map[string][]int{}
	owner := map[string]int{}
	for m := range tr.Messages {
		msg := &tr.Messages[m]
		plain := -1
		for i := msg.First; i < msg.End; i++ {
			b := &tr.Blocks[i]
			if msg.Role == pemmican.Assistant {
				join(msg.First, i)
				if b.Kind == pemmican.ToolCall {
					open[b.CallID] = append(open[b.CallID], i)
					owner[b.CallID] = i
				}
				continue
			}
			if b.Kind == pemmican.ToolResult {
				if calls := open[b.CallID]; len(calls) > 0 {
					k := len(calls) - 1
					for k > 0 && tr.Blocks[calls[k-1]].Message == tr.Blocks[calls[k]].Message {
						k--
					}
					// Steps between a call and its result are part of one unit with it.
					for s := tr.Blocks[calls[k]].Message; s < m; s++ {
						if tr.Messages[s].Role == pemmican.Assistant {
							join(calls[k], tr.Messages[s].First)
						}
					}
					join(calls[k], i)
					open[b.CallID] = append(calls[:k:k], calls[k+1:]...)
				}
				owner[b.CallID] = i
				continue
			}
			if o, ok := owner[b.CallID]; ok && b.CallID != "" {
				join(o, i)
				continue
			}
			if plain < 0 || b.Kind == pemmican.Summary || tr.Blocks[plain].Kind == pemmican.Summary {
				plain = i
			}
			join(plain, i)
		}
	}
	var units [][]int
	place := map[int]int{}
	for i := range group {
		r := root(i)
		n, ok := place[r]
		if !ok {
			n = len(units)
			place[r] = n
			units = append(units, nil)
		}
		units[n] = append(units[n], i)
	}
	return units
}

// gapsOf returns where a summary may stand: inside no unit, and behind the leading system text.
func gapsOf(tr *pemmican.Transcript, units [][]int) []int {
	inside := make([]bool, len(tr.Blocks)+1)
	for _, u := range units {
		for i := u[0] + 1; i <= u[len(u)-1]; i++ {
			inside[i] = true
		}
	}
	begin := 0
	for begin < len(tr.Blocks) && tr.Messages[tr.Blocks[begin].Message].Role == pemmican.System {
		begin++
	}
	var gaps []int
	for i := begin; i <= len(tr.Blocks); i++ {
		if !inside[i] {
			gaps = append(gaps, i)
		}
	}
	return gaps
}

// SameBlocks compares two transcripts block by block, and returns the first difference in words, "" if there is none.
// How blocks are grouped to messages is not compared, but for whose they are, since a format may carry a summary in a
// neighbour and join neighbours of one role. Neither is Error, which some formats guess from the
// text, nor the tool of a result where one of both does not know it. The text of a
// result may have its lines in another order: where a picture stood between two texts, the plan's Result cannot say so.
func SameBlocks(want, got *pemmican.Transcript) string {
	for i := range min(len(want.Blocks), len(got.Blocks)) {
		w, g := want.Blocks[i], got.Blocks[i]
		if a, b := side(want, w), side(got, g); a != b {
			return fmt.Sprintf("block %d is %s's, want %s's: %s", i, b, a, show(g))
		}
		same := w.Text == g.Text || w.Kind == pemmican.ToolResult && slices.Equal(sortedLines(w.Text), sortedLines(g.Text))
		if w.Kind != g.Kind || !same || w.CallID != g.CallID ||
			w.Tool != g.Tool && w.Tool != "" && g.Tool != "" || w.Args != g.Args || w.Bound != g.Bound ||
			w.Media != g.Media || w.Bytes != g.Bytes {
			return fmt.Sprintf("block %d is\n\t%s\nwant\n\t%s", i, show(g), show(w))
		}
	}
	switch n := len(got.Blocks); {
	case n > len(want.Blocks):
		return fmt.Sprintf("%d blocks, want %d: the first that is too much is %s", n, len(want.Blocks), show(got.Blocks[len(want.Blocks)]))
	case n < len(want.Blocks):
		return fmt.Sprintf("%d blocks, want %d: the first that is missing is %s", n, len(want.Blocks), show(want.Blocks[n]))
	}
	return ""
}

func side(tr *pemmican.Transcript, b pemmican.Block) string {
	if r := tr.Messages[b.Message].Role; r != pemmican.Tool {
		return r.String()
	}
	return pemmican.User.String() // some formats carry results in the user role
}

func sortedLines(s string) []string {
	lines := strings.Split(s, "\n")
	slices.Sort(lines)
	return lines
}

func show(b pemmican.Block) string {
	cut := func(s string) string {
		if len(s) > 200 {
			return fmt.Sprintf("%q… (%d bytes)", s[:200], len(s))
		}
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%s text=%s call=%q tool=%q args=%s bound=%t media=%v bytes=%d",
		b.Kind, cut(b.Text), b.CallID, b.Tool, cut(b.Args), b.Bound, b.Media, b.Bytes)
}
