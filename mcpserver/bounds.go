package mcpserver

import (
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pemmican-dev/pemmican/internal/cli"
	"github.com/pemmican-dev/pemmican/internal/textcut"
)

const (
	// mostText is how long one text of an answer gets, in runes: a name, a message, a reason.
	mostText = 300
	// mostRows is how many rows of one sort an answer has at most, whatever was asked for.
	mostRows = 100
)

// short is a text on one line, cut where it is longer than most runes.
func short(s string, most int) string {
	return textcut.Head(cli.Clean(s), most, func(int) string { return "…" })
}

// text is the result of a call as people read it, beside what programs get.
func text(lines []string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Join(lines, "\n")}}}
}

// prose makes one line of a text that is broken for whoever reads this source.
func prose(s string) string { return strings.Join(strings.Fields(s), " ") }
