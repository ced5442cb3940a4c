package pemmican

import (
	"fmt"
	"strconv"
	"strings"
)

// A format that has no place for a head or for an anchor gets what must stay verbatim quoted at the top of the
// summary. A quote tells its length, so that no text in it can end it, and the next compaction quotes it on.
const (
	quoteOpen  = "Kept word for word:\n<verbatim bytes="
	quoteClose = "</verbatim>\n\n"
)

// appendQuote appends text as a quote.
func appendQuote(dst *strings.Builder, text string) {
	fmt.Fprintf(dst, "%s%d>\n%s\n%s", quoteOpen, len(text), text, quoteClose)
}

// quotable is what of a block can be quoted: its text, or a call with its arguments.
func quotable(b *Block) string {
	switch b.Kind {
	case ToolCall:
		return b.Tool + " " + b.Args
	case Media:
		return mediaStub(b)
	case Reasoning:
		return ""
	}
	return b.Text
}

// cutQuotes splits the body of a sealed summary into its quotes and the rest.
func cutQuotes(body string) (quotes []string, rest string) {
	for {
		head, after, ok := strings.Cut(body, ">\n")
		number, isQuote := strings.CutPrefix(head, quoteOpen)
		n, err := strconv.Atoi(number)
		if !ok || !isQuote || err != nil || n < 0 || n > len(after) || !strings.HasPrefix(after[n:], "\n"+quoteClose) {
			return quotes, body
		}
		quotes = append(quotes, after[:n])
		body = after[n+1+len(quoteClose):]
	}
}

// earlier is the body of the newest summary in t, "" if there is none, and whether it is one of ours.
func earlier(t *Transcript) (body string, ours bool) {
	for i := len(t.Blocks) - 1; i >= 0; i-- {
		if t.Blocks[i].Kind == Summary {
			if body, ok := Unseal(t.Blocks[i].Text); ok {
				return body, true
			}
			return t.Blocks[i].Text, false
		}
	}
	return "", false
}

// earlierQuotes are the quotes of the earlier summary.
func earlierQuotes(t *Transcript) []string {
	if body, ours := earlier(t); ours {
		quotes, _ := cutQuotes(body)
		return quotes
	}
	return nil
}
