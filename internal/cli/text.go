package cli

import (
	"bufio"
	"fmt"
	"io"

	"github.com/pemmican-dev/pemmican"
)

// WriteText writes the transcript as plain text, one labelled block after the other, with an empty line between. The text
// of a block is as it is.
func WriteText(w io.Writer, t *pemmican.Transcript) error {
	out := bufio.NewWriterSize(w, 1<<16)
	names := map[string]string{} // id → tool of the newest call
	for i := range t.Blocks {
		b := &t.Blocks[i]
		if i > 0 {
			_, _ = out.WriteString("\n")
		}
		label, text := "", b.Text
		switch b.Kind {
		case pemmican.Text:
			label = author(&t.Messages[b.Message])
		case pemmican.Reasoning:
			label = "[Assistant reasoning]"
			if text == "" {
				text = "(not readable, " + Plural(b.Bytes, "byte") + ")"
			}
		case pemmican.ToolCall:
			names[b.CallID] = b.Tool
			label, text = "[Tool call] "+Clean(b.Tool)+" "+b.Args, ""
		case pemmican.ToolResult:
			label = "[Tool result]"
			name := b.Tool
			if name == "" {
				name = names[b.CallID]
			}
			if name != "" {
				label += " " + Clean(name)
			}
			if b.Error {
				label += " (error)"
			}
		case pemmican.Media:
			label, text = "[Media] "+describe(&b.Media), ""
		case pemmican.Summary:
			label = "[Summary]"
		case pemmican.Opaque:
			label = opaque(b, &t.Messages[b.Message])
		}
		_, _ = out.WriteString(label)
		_, _ = out.WriteString("\n")
		if text != "" {
			_, _ = out.WriteString(text)
			if text[len(text)-1] != '\n' {
				_, _ = out.WriteString("\n")
			}
		}
	}
	return out.Flush()
}

// opaque labels a block that only the provider or the agent itself takes apart. Often it has a text all the same: of a
// command that the person has run in the agent, say.
func opaque(b *pemmican.Block, m *pemmican.Message) string {
	switch {
	case b.Text == "":
		return "[Opaque] " + Plural(b.Bytes, "byte") + " that cannot be shown as text"
	case m.Role == pemmican.User && m.Author == pemmican.ByRuntime:
		return "[User, by the agent's program]"
	}
	return "[Other]"
}

func author(m *pemmican.Message) string {
	switch {
	case m.Author == pemmican.ByRuntime:
		return "[Agent's program]"
	case m.Role == pemmican.System:
		return "[System]"
	case m.Role == pemmican.Assistant:
		return "[Assistant]"
	case m.Role == pemmican.Tool:
		return "[Tool text]"
	}
	return "[User]"
}

func describe(m *pemmican.MediaInfo) string {
	s := Clean(m.Type)
	if s == "" {
		s = "unknown type"
	}
	if m.Width > 0 && m.Height > 0 {
		s += fmt.Sprintf(", %d×%d", m.Width, m.Height)
	}
	if m.Name != "" {
		s += ", " + Clean(m.Name)
	}
	return s
}
