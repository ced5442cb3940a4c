package eval

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/agents"
	"github.com/pemmican-dev/pemmican/preset"
	"github.com/pemmican-dev/pemmican/summary"
)

// task is what an arm gets: the history and nothing of the future.
type task struct {
	history *pemmican.Transcript
	size    []int // tokens by block
	total   int   // tokens of the history
	budget  int   // tokens, markers and summary included
	counter pemmican.Counter
	seed    uint64
}

// answer is what an arm makes of it.
type answer struct {
	context *pemmican.Transcript
	refused bool // the arm says that it cannot; the context does not count
	// plan is the plan behind the context and options the ones that it was made with, of arms that make one.
	plan    *pemmican.Plan
	options pemmican.Options
	// extra is how many tokens over the budget the arm may take, for what is not charged to it.
	extra int
}

// arm is a way to make a history smaller.
type arm struct {
	name string
	// strict arms promise to meet the budget. The others keep what their policy says, and are left out of the cells in
	// which that is more.
	strict bool
	run    func(ctx context.Context, t task) (answer, error)
}

// Reference is the arm that the others are compared with: whole lines by role and age, the simplest thing that works.
const Reference = "key lines"

// arms are all arms, in the order of the tables.
func arms() []arm {
	list := []arm{
		{"full", false, func(_ context.Context, t task) (answer, error) { return answer{context: t.history}, nil }},
		{"tail", true, tail},
		{"random lines", true, randomLines},
		{Reference, true, keyLines},
	}
	for _, name := range preset.Names() {
		policy, _ := preset.ByName(name)
		list = append(list, arm{name, !policy.BestEffort, engine(policy)})
	}
	return append(list,
		arm{GoodNarrative, true, modelled(narrate)},
		arm{BadReply, true, modelled(chat)},
	)
}

// The arms of the default engine with a model before it, which is scripted: one that sums up, uncharged, and one that
// answers the conversation, so that its reply is refused.
const (
	GoodNarrative = "default + narrative"
	BadReply      = "default + bad reply"
)

// Arms are the names of the arms.
func Arms() []string {
	var names []string
	for _, a := range arms() {
		names = append(names, a.name)
	}
	return names
}

// engine is the arm that compacts by a policy, with the mechanical summary.
func engine(policy pemmican.Policy) func(ctx context.Context, t task) (answer, error) {
	return func(ctx context.Context, t task) (answer, error) {
		o := engineOptions(policy, t.budget, t.counter)
		plan, report, err := pemmican.Compact(ctx, t.history, o)
		if err != nil {
			return answer{}, err
		}
		if report.Outcome == pemmican.Refused {
			return answer{context: t.history, refused: true}, nil
		}
		return answer{context: plan.Result(t.history), plan: plan, options: o}, nil
	}
}

func engineOptions(policy pemmican.Policy, target int, counter pemmican.Counter) pemmican.Options {
	return pemmican.Options{
		Target:     target,
		Counter:    counter,
		Summarizer: summary.Mechanical{},
		Policy:     &policy,
		Tools:      agents.Tools(),
	}
}

// tail keeps as many of the newest messages as the budget holds.
func tail(_ context.Context, t task) (answer, error) {
	p, room := fixed(t)
	if room < 0 {
		return answer{context: t.history, refused: true}, nil
	}
	keepTail(t, p, room)
	return answer{context: p.Result(t.history)}, nil
}

// fixed is the plan that keeps what every arm keeps, the system text and the person's newest message, and the room that
// this leaves.
func fixed(t task) (p *pemmican.Plan, room int) {
	h := t.history
	p = pemmican.NewPlan(h)
	person := newestPerson(h)
	room = t.budget
	for i := range h.Blocks {
		if m := h.Blocks[i].Message; m == person || h.Messages[m].Role == pemmican.System {
			room -= t.size[i]
			continue
		}
		p.Marks[i].Action = pemmican.Drop
	}
	return p, room
}

// keepTail keeps the newest messages that the room holds, no call without its result.
func keepTail(t task, p *pemmican.Plan, room int) {
	h := t.history
	start := len(h.Blocks)
	whole := seams(h)
	for m := len(h.Messages) - 1; m >= 0 && room >= 0; m-- {
		for i := h.Messages[m].First; i < h.Messages[m].End; i++ {
			if p.Marks[i].Action == pemmican.Drop {
				room -= t.size[i]
			}
		}
		if room >= 0 && whole[m] {
			start = h.Messages[m].First
		}
	}
	for i := start; i < len(p.Marks); i++ {
		p.Marks[i] = pemmican.Mark{}
	}
}

// line is a line of the history.
type line struct {
	text  string
	block int
	score float64
}

// dropped are the lines of what a plan drops, each text once, where it stands last.
func dropped(t task, p *pemmican.Plan) []line {
	var lines []line
	seen := map[string]bool{}
	for i := len(p.Marks) - 1; i >= 0; i-- {
		b := &t.history.Blocks[i]
		if p.Marks[i].Action != pemmican.Drop || b.Kind == pemmican.Reasoning || b.Kind == pemmican.Opaque {
			continue
		}
		from := len(lines)
		for s := range strings.Lines(readable(b)) {
			s = lineNumber.ReplaceAllString(strings.TrimSpace(s), "")
			if len(s) > lineBytes {
				s = strings.ToValidUTF8(s[:lineBytes], "")
			}
			if len(s) >= 3 && !seen[s] {
				seen[s] = true
				lines = append(lines, line{text: s, block: i})
			}
		}
		slices.Reverse(lines[from:])
	}
	slices.Reverse(lines)
	return lines
}

// lineNumber is what tools that read files put before a line.
var lineNumber = regexp.MustCompile(`^[0-9]{1,6}(→|\t|\| ?)\s*`)

const lineBytes = 400 // of a longer line, so much is kept

// withLines adds the best lines that fit into the budget to a plan, in the order in which they stood, as one block in
// front.
func withLines(t task, p *pemmican.Plan, lines []line) answer {
	room := t.budget
	for i := range p.Marks {
		if p.Kept(i) {
			room -= t.size[i]
		}
	}
	order := make([]int, len(lines))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lines[b].score, lines[a].score) })
	count := func(text string) int { return t.counter.Count(&pemmican.Block{Kind: pemmican.Summary, Text: text}) }
	sum := 0
	var take []int
	for _, i := range order {
		n := count(lines[i].text + "\n")
		if sum+n > room {
			break
		}
		sum += n
		take = append(take, i)
	}
	for { // A text may take a little more than its lines.
		chosen := slices.Sorted(slices.Values(take))
		var out strings.Builder
		for _, i := range chosen {
			out.WriteString(lines[i].text)
			out.WriteByte('\n')
		}
		p.Summary = out.String()
		if len(take) == 0 || count(p.Summary) <= room {
			break
		}
		take = take[:len(take)-1-len(take)/100]
	}
	for p.Gap < len(t.history.Blocks) && t.history.Messages[t.history.Blocks[p.Gap].Message].Role == pemmican.System {
		p.Gap++
	}
	return answer{context: p.Result(t.history)}
}

// randomLines keeps lines by lot.
func randomLines(_ context.Context, t task) (answer, error) {
	p, room := fixed(t)
	if room < 0 {
		return answer{context: t.history, refused: true}, nil
	}
	lines := dropped(t, p)
	lot := rand.New(rand.NewPCG(t.seed, uint64(t.total))) //nolint:gosec // a lot that can be drawn again is wanted
	for i := range lines {
		lines[i].score = lot.Float64()
	}
	return withLines(t, p, lines), nil
}

// keyLines keeps a tail in a fifth of the room, and in the rest the lines with the highest score: who wrote it, times how
// old it is, times the identifiers in it that no newer line has, for its length.
func keyLines(_ context.Context, t task) (answer, error) {
	p, room := fixed(t)
	if room < 0 {
		return answer{context: t.history, refused: true}, nil
	}
	keepTail(t, p, room/5)
	lines := dropped(t, p)
	after := 0 // tokens behind the line's block
	age := make([]float64, len(t.size))
	for i := len(t.size) - 1; i >= 0; i-- {
		age[i] = float64(after) / float64(max(1, t.total))
		after += t.size[i]
	}
	seen := map[string]bool{}
	for i := len(lines) - 1; i >= 0; i-- {
		l := &lines[i]
		role := 1.0
		switch carrierOf(t.history, &t.history.Blocks[l.block]) {
		case fromPerson:
			role = 4
		case fromAssistant:
			role = 3
		case fromArgs:
			role = 2
		}
		news := 0.0
		for _, id := range identifiers(l.text) {
			if !seen[id.text] {
				seen[id.text] = true
				news++
			}
		}
		// The oldest line is worth half as much as the newest; one without an identifier is worth a little.
		l.score = role * math.Exp2(-age[l.block]) * (0.3 + news) / float64(40+len(l.text))
	}
	return withLines(t, p, lines), nil
}
