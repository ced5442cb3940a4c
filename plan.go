package pemmican

// Action is what a plan does with a block. There is no way to say "move".
type Action uint8

// The actions.
const (
	Keep Action = iota
	// Stub keeps the block in its place and replaces its content by a short text.
	Stub
	// Drop leaves the block out.
	Drop
)

func (a Action) String() string { return [...]string{"keep", "stub", "drop"}[a] }

// Mark is a plan's decision on one block.
type Mark struct {
	Action Action
	// Text replaces the content of a stubbed block: the text of a text block, the text of a result, the text part that
	// stands where media stood, or the arguments of a call, as a JSON object.
	Text string
	// Stage and Why tell which stage decided, and for what reason, in words for people.
	Stage, Why string
	// Saved is what the mark saves, in tokens as the compaction counted them.
	Saved int
}

// Plan says for every block of a transcript whether it is kept, stubbed or dropped, and inserts at most one summary in
// one gap. Make one with NewPlan; a format applies it to the bytes that the transcript was read from.
type Plan struct {
	// Marks has one entry for each block of the transcript.
	Marks []Mark
	// Summary is the sealed text that stands for what was dropped, "" if there is none.
	Summary string
	// Gap is where the summary stands: behind the last kept block before Blocks[Gap], before the first kept one from
	// there on. It lies inside no unit.
	Gap int
}

// NewPlan returns the plan that changes nothing.
func NewPlan(t *Transcript) *Plan { return &Plan{Marks: make([]Mark, len(t.Blocks))} }

// Empty reports whether the plan changes nothing.
func (p *Plan) Empty() bool {
	if p.Summary != "" {
		return false
	}
	for i := range p.Marks {
		if p.Marks[i].Action != Keep {
			return false
		}
	}
	return true
}

// Kept reports whether block i is in the result, as it was or as a stub.
func (p *Plan) Kept(i int) bool { return p.Marks[i].Action != Drop }

// Result is the transcript that the plan makes of t: what Decode must read after Apply. The summary is a message of
// its own in the user role; a format may carry it as a part of a neighbour. Of a plan that changes something, no message
// has a Usage any more: it was reported for what is no longer there.
func (p *Plan) Result(t *Transcript) *Transcript {
	out := *t
	out.Messages = make([]Message, 0, len(t.Messages)+1)
	out.Blocks = make([]Block, 0, len(t.Blocks)+1)
	same := p.Empty()
	summarise := func() {
		m := out.Add(User, Block{Kind: Summary, Text: p.Summary})
		out.Messages[m].Author = ByRuntime
	}
	open := -1 // the message of t that is being copied
	for i := range t.Blocks {
		if p.Summary != "" && i == p.Gap {
			summarise()
			open = -1
		}
		b, mark := t.Blocks[i], &p.Marks[i]
		if mark.Action == Drop {
			continue
		}
		if mark.Action == Stub {
			if r := out.resultOf(b); r >= 0 {
				out.Blocks[r].Text = joinText(out.Blocks[r].Text, mark.Text)
				continue
			}
			b = stubbed(b, mark.Text)
		}
		if open != t.Blocks[i].Message {
			open = t.Blocks[i].Message
			m := *t.message(i)
			m.First, m.End = len(out.Blocks), len(out.Blocks)
			if !same {
				m.Usage = 0
			}
			out.Messages = append(out.Messages, m)
		}
		last := len(out.Messages) - 1
		b.Message = last
		out.Blocks = append(out.Blocks, b)
		out.Messages[last].End = len(out.Blocks)
	}
	if p.Summary != "" && p.Gap == len(t.Blocks) {
		summarise()
	}
	return &out
}

// resultOf is the result at the end of t that media b is a part of, -1 if there is none.
func (t *Transcript) resultOf(b Block) int {
	if b.Kind != Media || b.CallID == "" {
		return -1
	}
	for i := len(t.Blocks) - 1; i >= 0 && t.Blocks[i].CallID == b.CallID; i-- {
		if t.Blocks[i].Kind == ToolResult {
			return i
		}
	}
	return -1
}

// stubbed is the block with its content replaced.
func stubbed(b Block, text string) Block {
	switch b.Kind {
	case ToolCall:
		b.Args = text
	case Media:
		b = Block{Text: text}
	default:
		b.Text = text
	}
	return b
}

// joinText joins the text parts of one result, as formats do that have several.
func joinText(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}
