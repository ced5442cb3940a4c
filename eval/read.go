package eval

import (
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// readable is what a reader of a block reads: its text, or the name of a tool and the values of its arguments, one a
// line, with the escapes of their strings undone. Their names are known from the definition of the tool.
func readable(b *pemmican.Block) string {
	switch b.Kind {
	case pemmican.ToolCall:
		return b.Tool + "\n" + flatten(b.Args)
	case pemmican.Media:
		return b.Media.Name
	}
	return b.Text
}

// flatten turns JSON into lines of its values. What is no JSON stays as it is.
func flatten(args string) string {
	data := []byte(args)
	v, err := jsonspan.Scan(data, 0)
	if err != nil || v.End != len(data) {
		return args
	}
	var out strings.Builder
	var walk func(v jsonspan.Span)
	walk = func(v jsonspan.Span) {
		switch data[v.Start] {
		case '{':
			for _, v := range jsonspan.Members(data, v) {
				walk(v)
			}
		case '[':
			for v := range jsonspan.Elements(data, v) {
				walk(v)
			}
		case '"':
			s, _ := jsonspan.String(data, v)
			out.WriteString(s)
			out.WriteByte('\n')
		default:
			out.Write(data[v.Start:v.End])
			out.WriteByte('\n')
		}
	}
	walk(v)
	return out.String()
}

// messageText is a message in atoms: its blocks one after the other.
func messageText(l *lexer, t *pemmican.Transcript, m int) text {
	msg := &t.Messages[m]
	if msg.End-msg.First == 1 {
		return l.lex(readable(&t.Blocks[msg.First]))
	}
	var out text
	for i := msg.First; i < msg.End; i++ {
		part := l.lex(readable(&t.Blocks[i]))
		for _, a := range part.atoms {
			a.pos += out.size
			out.atoms = append(out.atoms, a)
		}
		out.size += part.size
	}
	return out
}

// prefix is the transcript before message m, with everything permitted: what is measured is the engine, and not what
// the records of one agent can say.
func prefix(t *pemmican.Transcript, m int) *pemmican.Transcript {
	out := *t
	end := len(t.Blocks)
	if m < len(t.Messages) {
		end = t.Messages[m].First
	}
	out.Messages = t.Messages[:m:m]
	out.Blocks = t.Blocks[:end:end]
	out.Tools = ""
	out.Can = pemmican.Capabilities{}
	return &out
}

// sizes counts the blocks of a transcript, and adds up.
func sizes(t *pemmican.Transcript, c pemmican.Counter) (each []int, total int) {
	each = make([]int, len(t.Blocks))
	for i := range t.Blocks {
		each[i] = c.Count(&t.Blocks[i])
		total += each[i]
	}
	return each, total
}

// seams reports for every message, and for the end, whether a cut before it separates no call from its result.
func seams(t *pemmican.Transcript) []bool {
	out := make([]bool, len(t.Messages)+1)
	caller := map[string][]int{} // id → messages with a call of that id
	reach := make([]int, len(t.Messages)+1)
	for m := range t.Messages {
		for i := t.Messages[m].First; i < t.Messages[m].End; i++ {
			b := &t.Blocks[i]
			if b.CallID == "" {
				continue
			}
			if b.Kind == pemmican.ToolCall {
				caller[b.CallID] = append(caller[b.CallID], m)
				continue
			}
			// The first result takes the newest call; whatever else bears the id belongs to it too.
			if callers := caller[b.CallID]; len(callers) > 0 {
				reach[callers[len(callers)-1]] = max(reach[callers[len(callers)-1]], m)
			}
		}
	}
	far := -1
	for m := range out {
		out[m] = far < m
		far = max(far, reach[m])
	}
	return out
}

// newestPerson is the last message that a person wrote, -1 if there is none.
func newestPerson(t *pemmican.Transcript) int {
	for m := len(t.Messages) - 1; m >= 0; m-- {
		msg := &t.Messages[m]
		if msg.Person() && msg.First < msg.End && t.Blocks[msg.First].Kind != pemmican.Summary {
			return m
		}
	}
	return -1
}
