package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pemmican-dev/pemmican/agents"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/internal/cli"
)

const checkDescription = `Tells what a provider, or the agent on resuming, would refuse in a transcript as it stands: results without calls,
broken arguments, lost lines and more. Takes a session, or a file with a request body. Changes nothing.`

// checkInput are the arguments of check_transcript.
type checkInput struct {
	Path   string `json:"path,omitempty"   jsonschema:"path of a session or request body, session id, or \"latest\"; without it, that of the working folder"`
	Format string `json:"format,omitempty" jsonschema:"its format, if the content does not tell: anthropic, claude-code, openai-chat or pi"`
}

// Checked is what check_transcript answers.
type Checked struct {
	Which
	Sound    bool             `json:"sound"    jsonschema:"true if nothing would be refused"`
	Findings []format.Finding `json:"findings"`
	More     int              `json:"more"     jsonschema:"how many findings are left out"`
	Fixable  int              `json:"fixable"  jsonschema:"how many of all can be mended by dropping or replacing"`
	// Command mends what can be mended in a copy, "" if there is nothing.
	Command string `json:"command" jsonschema:"the command that mends what can be mended, in a copy; empty if nothing can"`
}

// mostFindings is how many findings an answer has.
const mostFindings = 50

func (s *server) check(ctx context.Context, r *mcp.CallToolRequest, in checkInput) (*mcp.CallToolResult, *Checked, error) {
	done, err := s.turn(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	t, err := s.find(in.Path, r.ClientInfo())
	if err == nil {
		err = t.open(ctx, in.Format)
	}
	if err != nil {
		return nil, nil, fault(err)
	}
	all := cli.NewCheck(t.doc).Findings
	out := &Checked{Which: t.Which, Sound: len(all) == 0, Findings: []format.Finding{}, More: max(0, len(all)-mostFindings)}
	for i, f := range all {
		if f.Fixable {
			out.Fixable++
		}
		if i < mostFindings {
			f.Where, f.Message = short(f.Where, mostText), short(f.Message, mostText)
			out.Findings = append(out.Findings, f)
		}
	}
	if out.Fixable > 0 {
		out.Command = "pemmican check " + agents.QuoteFile(t.File) + " --fix"
	}
	return nil, out, nil
}
