package pitest

import (
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/modeltest"
)

// Sent is how pi sends the live conversation of a session by Chat Completions, system text apart: the messages of the
// request behind the system prompt, but for the person's new message.
func Sent(t *pemmican.Transcript) []modeltest.Message {
	var out []modeltest.Message
	for _, m := range t.Messages {
		if m.Role == pemmican.System {
			continue
		}
		msg := modeltest.Message{Role: m.Role.String()}
		var texts []string
		for _, b := range t.Blocks[m.First:m.End] {
			switch b.Kind {
			case pemmican.Summary: // pi puts these words around it (observed)
				texts = append(texts, "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"+b.Text+"\n</summary>")
			case pemmican.ToolCall:
				msg.Calls = append(msg.Calls, b.CallID+" "+b.Tool+" "+b.Args)
			case pemmican.ToolResult:
				msg.CallID = b.CallID
				texts = append(texts, b.Text)
			default:
				texts = append(texts, b.Text)
			}
		}
		msg.Text = strings.Join(texts, "\n")
		out = append(out, msg)
	}
	return out
}
