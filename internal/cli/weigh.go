package cli

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/textcut"
)

// Weight is what the blocks of one sort take.
type Weight struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
	Blocks int    `json:"blocks"`
}

// Weights tell where the tokens of a request are. Kind and Turn cover all of it, the others only what belongs to a tool or
// to a file. All but Turn have the largest first; Turn is in order, with what is no part of a turn before the first.
type Weights struct {
	Kind []Weight `json:"kind"`
	Tool []Weight `json:"tool"`
	File []Weight `json:"file"`
	Turn []Weight `json:"turn"`
}

// Weigh finds out where the tokens are. Dir is the session's folder, "" if unknown: files in it are named from there.
func Weigh(t *pemmican.Transcript, o pemmican.Options, dir string) Weights {
	kind, tool, file, turn := sums{}, sums{}, sums{}, sums{}
	if o.Overhead.Tokens > 0 {
		name := "not in the file (" + o.Overhead.Source + ")"
		kind.add(name, o.Overhead.Tokens, 0)
		turn.add(name, o.Overhead.Tokens, 0)
	}
	if t.Tools != "" {
		n := o.Counter.Count(&pemmican.Block{Text: t.Tools})
		kind.add("tool definitions", n, 0)
		turn.add("tool definitions", n, 0)
	}
	calls := map[string]int{} // id → the newest call with it
	turnName, turns := "0: before the first message", 0
	for m := range t.Messages {
		msg := &t.Messages[m]
		if msg.Person() && !onlySummary(t, msg) && !steer(t, m) {
			turns++
			turnName = fmt.Sprintf("%d: %s", turns, firstWords(t, msg))
		}
		for i := msg.First; i < msg.End; i++ {
			b := &t.Blocks[i]
			n := o.Counter.Count(b)
			kind.add(kindName(b, msg), n, 1)
			turn.add(turnName, n, 1)
			call, known := -1, false
			switch {
			case b.Kind == pemmican.ToolCall:
				calls[b.CallID] = i
				call, known = i, true
			case b.CallID != "":
				call, known = calls[b.CallID]
			}
			name := b.Tool
			if known {
				name = t.Blocks[call].Tool
			}
			if b.Kind != pemmican.ToolCall && b.Kind != pemmican.ToolResult && !known {
				continue
			}
			tool.add(cmp.Or(name, "unknown tool"), n, 1)
			if known {
				if p := o.Tools[name].PathOf(t.Blocks[call].Args); p != "" {
					file.add(short(p, dir), n, 1)
				}
			}
		}
	}
	return Weights{Kind: kind.sorted(), Tool: tool.sorted(), File: file.sorted(), Turn: turn.inOrder()}
}

// steer reports whether message m stands inside a running turn: behind results.
func steer(t *pemmican.Transcript, m int) bool {
	return m > 0 && t.Messages[m-1].Role == pemmican.Tool
}

func onlySummary(t *pemmican.Transcript, msg *pemmican.Message) bool {
	for _, b := range t.Blocks[msg.First:msg.End] {
		if b.Kind != pemmican.Summary {
			return false
		}
	}
	return true
}

// firstWords is how a turn begins, for people.
func firstWords(t *pemmican.Transcript, msg *pemmican.Message) string {
	for _, b := range t.Blocks[msg.First:msg.End] {
		if text := strings.Join(strings.Fields(b.Text), " "); text != "" && b.Kind == pemmican.Text {
			return textcut.Head(text, 60, func(int) string { return "…" })
		}
	}
	return "(no text)"
}

func kindName(b *pemmican.Block, msg *pemmican.Message) string {
	if b.Kind != pemmican.Text {
		return b.Kind.String()
	}
	if msg.Author == pemmican.ByRuntime {
		return "text by the agent's program"
	}
	return msg.Role.String() + " text"
}

// short is a path as seen from dir.
func short(p, dir string) string {
	p = path.Clean(p)
	if rest, ok := strings.CutPrefix(p, dir+"/"); ok && dir != "" {
		return rest
	}
	return p
}

type sums struct {
	at   map[string]int
	list []Weight
}

func (s *sums) add(name string, tokens, blocks int) {
	i, ok := s.at[name]
	if !ok {
		if s.at == nil {
			s.at = map[string]int{}
		}
		i = len(s.list)
		s.at[name] = i
		s.list = append(s.list, Weight{Name: name})
	}
	s.list[i].Tokens += tokens
	s.list[i].Blocks += blocks
}

func (s *sums) inOrder() []Weight { return append([]Weight{}, s.list...) }

func (s *sums) sorted() []Weight {
	out := s.inOrder()
	slices.SortStableFunc(out, func(a, b Weight) int { return cmp.Compare(b.Tokens, a.Tokens) })
	return out
}

// Lines are the weights for people: the top rows of each sort, the largest first, with bars, for a terminal that is so
// wide; 0 is any width.
func (w Weights) Lines(total, top, width int) []string {
	var out []string
	for _, part := range []struct {
		head  string
		list  []Weight
		atEnd bool // where a name that is too long is cut
	}{{"By kind", w.Kind, true}, {"By tool", w.Tool, true}, {"By file", w.File, false}, {"By turn", w.Turn, true}} {
		if len(part.list) == 0 {
			continue
		}
		list := slices.Clone(part.list)
		slices.SortStableFunc(list, func(a, b Weight) int { return cmp.Compare(b.Tokens, a.Tokens) })
		bar := barWidth(width, 56, 24)
		table := Table{Right: []int{1, 2}, Width: width, Cuts: []Cut{{Column: 0, Least: 16, AtEnd: part.atEnd}, {Column: 3}}}
		largest := list[0].Tokens
		for i, e := range list {
			if i == top {
				rest := 0
				for _, e := range list[i:] {
					rest += e.Tokens
				}
				table.Row(faint.Render(Count(len(list)-i)+" more"), Count(rest), Percent(rest, total), "")
				break
			}
			table.Row(shorten(Clean(e.Name), 64, part.atEnd), Count(e.Tokens), Percent(e.Tokens, total), Bar(e.Tokens, largest, bar))
		}
		out = append(out, "", Heading(part.head), table.String())
	}
	return out
}
