package mcpserver_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pemmican-dev/pemmican/mcpserver"
)

// BenchmarkContextStatus is a call of context_status about a session of some 200,000 tokens: the sources of this repository,
// read by Claude Code.
func BenchmarkContextStatus(b *testing.B) {
	w := newWorld(b)
	sources, err := filepath.Glob("../*.go")
	if err != nil {
		b.Fatal(err)
	}
	var answers []string
	for size := 0; size < 800_000; {
		for _, path := range sources {
			data := bytes.ToValidUTF8(read(b, path), nil)
			answers = append(answers, string(data[:min(len(data), 6000)]))
			size += len(answers[len(answers)-1])
		}
	}
	w.write(b, ".claude/projects/-x/"+idC+".jsonl", claude(idC, w.work, answers...), 5)
	c := connect(b, w.config(), "test")
	st, _ := call[mcpserver.Status](b, c, "context_status", nil)
	for b.Loop() {
		if r, err := c.CallTool(b.Context(), &mcp.CallToolParams{Name: "context_status"}); err != nil || r.IsError {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(st.Tokens), "tokens")
}
