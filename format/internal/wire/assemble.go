package wire

import (
	"errors"
	"slices"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"

	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// Message is one element of the list of messages while a plan is applied to it.
type Message struct {
	Span jsonspan.Span
	// Role is user or assistant, as providers tell neighbours apart; a message of any other role is never joined to
	// one, and takes no summary.
	Role string
	// Gone is true if the plan leaves nothing of it.
	Gone    bool
	Content Content
	// Rest are the edits inside Span but outside the content and the calls, sorted.
	Rest []jsonspan.Edit
	// Results is true if what is left of the content starts with tool results.
	Results bool
	// Calls is the list of calls that stays where the format has one beside the content, with the edits inside it.
	Calls     jsonspan.Span
	CallEdits []jsonspan.Edit
	// Closed is true if nothing can be joined to it: calls stay in it, and their results must follow, or something that
	// stands behind the content.
	Closed bool
	// Plain is true if nothing is left of it but its role, content and calls, so that it can be joined to another one.
	Plain bool
}

// Summary is a summary on its way into the list of messages.
type Summary struct {
	Text string
	// Prev and Next are the messages of the last kept block before its gap and the first one behind it; -1 and the
	// number of messages if there are none.
	Prev, Next int
	// Part is the content part of the block behind the gap, for a gap inside a message; -1 if that block is no part.
	Part int
}

// ErrGap reports a plan whose gap lies where no summary can stand.
var ErrGap = errors.New("the plan puts the summary into the middle of a step")

// Assemble returns the edits that apply a plan to a list of messages, sorted. The summary becomes the first part of a user message
// behind it, else the last part of one before it, else a message of its own, so that no two neighbours get the same
// role through it. Where messages between two of the same role are gone, the later joins the earlier.
func Assemble(data []byte, list jsonspan.Span, msgs []Message, s *Summary) ([]jsonspan.Edit, error) {
	own := -1 // the message before which the summary stands as one of its own
	if s != nil {
		part := TextPart(s.Text)
		switch p, n := s.Prev, s.Next; {
		case p == n:
			if msgs[n].Role != "user" || s.Part < 0 {
				return nil, ErrGap
			}
			target := &msgs[n].Content.Parts[s.Part]
			target.Before = append(target.Before, part)
		case n < len(msgs) && msgs[n].Role == "user" && !msgs[n].Results:
			msgs[n].Content.Insert(part)
		case p >= 0 && msgs[p].Role == "user":
			msgs[p].Content.Append = append(msgs[p].Content.Append, part)
		default:
			own = n
		}
	}

	joined := make([]bool, len(msgs))
	calls := map[int][]byte{} // host → the calls that came with a message that joined it
	host, last := -1, -1
	for i := range msgs {
		m := &msgs[i]
		if m.Gone {
			continue
		}
		// Neighbours that were neighbours already are the client's own business.
		apart := last >= 0 && i-last > 1 && i != own
		if host >= 0 && apart && m.Role == msgs[host].Role && m.Plain && !m.Results && !m.Content.blank() && !msgs[last].Closed {
			h := &msgs[host]
			h.Content.Append = append(h.Content.Append, m.Content.Pieces(data)...)
			if !m.Calls.Empty() {
				calls[host] = Render(data, m.Calls, m.CallEdits)
			}
			joined[i] = true
		} else if host = i; m.Role == "" {
			host = -1
		}
		last = i
	}

	edits := jsonspan.RemoveElements(data, list, func(i int) bool { return msgs[i].Gone || joined[i] })
	kept := -1
	for i := range msgs {
		m := &msgs[i]
		if m.Gone || joined[i] {
			continue
		}
		kept = i
		if i == own {
			edits = append(edits, insertion(m.Span.Start, append(summaryMessage(s.Text), ',')))
		}
		edits = append(edits, m.Content.Edits(data)...)
		edits = append(edits, m.Rest...)
		edits = append(edits, m.CallEdits...)
		if c := calls[i]; c != nil {
			if m.Content.Value.Empty() {
				edits = append(edits, insertion(m.Content.Open, slices.Concat([]byte(`"tool_calls":`), c, []byte{','})))
			} else {
				edits = append(edits, insertion(m.Content.Value.End, append([]byte(`,"tool_calls":`), c...)))
			}
		}
	}
	if own == len(msgs) {
		if kept < 0 {
			edits = append(edits, insertion(list.Start+1, summaryMessage(s.Text)))
		} else {
			edits = append(edits, insertion(msgs[kept].Span.End, append([]byte{','}, summaryMessage(s.Text)...)))
		}
	}
	SortEdits(edits)
	return edits, nil
}

func summaryMessage(text string) []byte {
	return append(jsonspan.Quote([]byte(`{"role":"user","content":`), text), '}')
}

// Applicable returns why a plan cannot be applied to an input, if so.
func Applicable(t *pemmican.Transcript, in *Input, plan *pemmican.Plan) error {
	switch {
	case plan == nil || len(plan.Marks) != len(t.Blocks) || plan.Gap < 0 || plan.Gap > len(t.Blocks):
		return errors.New("this plan was made for another transcript")
	case in.Log && !plan.Empty():
		return &format.Error{
			Msg:  "this is a record of requests that were sent, which can be read, but not written back",
			Mend: "take the request body out of it",
			Err:  format.ErrNotWritable,
		}
	}
	return nil
}
