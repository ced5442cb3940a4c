package mcpserver

import (
	"context"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pemmican-dev/pemmican/internal/cli"
	"github.com/pemmican-dev/pemmican/session"
)

const inspectDescription = `Shows where the tokens of a transcript are: by kind of content, by tool, by file and by turn, and what a compaction
would do. Takes a session, or a file with a request body. Changes nothing.`

// inspectInput are the arguments of inspect_transcript.
type inspectInput struct {
	Path   string `json:"path,omitempty"   jsonschema:"path of a session or request body, session id, or \"latest\"; without it, that of the working folder"`
	Format string `json:"format,omitempty" jsonschema:"its format, if the content does not tell: anthropic, claude-code, openai-chat or pi"`
	Top    int    `json:"top,omitempty"    jsonschema:"how many rows to show of each sort, at most 100; 10 if absent"`
}

// Inspection is what inspect_transcript answers, in tokens.
type Inspection struct {
	Which
	Tokens     int    `json:"tokens"     jsonschema:"what the next request takes"`
	Counter    string `json:"counter"    jsonschema:"who counted"`
	Window     int    `json:"window"`
	WindowFrom string `json:"windowFrom"`
	Kind       Rows   `json:"kind"       jsonschema:"by kind of content, the largest first"`
	Tool       Rows   `json:"tool"       jsonschema:"by tool, the largest first"`
	Files      Rows   `json:"files"      jsonschema:"by file, the largest first"`
	Oldest     Rows   `json:"oldest"     jsonschema:"the oldest turns, in order"`
	Newest     Rows   `json:"newest"     jsonschema:"the newest turns, in order, that are not among the oldest"`
	Would      *Would `json:"would"      jsonschema:"what a compaction would do"`
}

// Rows are the first rows of a list, and what the others come to.
type Rows struct {
	Rows []cli.Weight `json:"rows"`
	// More is how many rows are left out here, and MoreTokens what they take.
	More       int `json:"more"       jsonschema:"how many rows are left out"`
	MoreTokens int `json:"moreTokens" jsonschema:"what those take"`
}

// textWidth is how wide the lines of the text get, in cells.
const textWidth = 80

func (s *server) inspect(ctx context.Context, r *mcp.CallToolRequest, in inspectInput) (*mcp.CallToolResult, *Inspection, error) {
	done, err := s.turn(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	top := 10
	if in.Top != 0 {
		top = in.Top
	}
	if top < 1 || top > mostRows {
		return nil, nil, cli.Unusable("", "give 1 to 100", "top is %d", in.Top)
	}
	t, err := s.find(in.Path, r.ClientInfo())
	if err == nil {
		err = t.open(ctx, in.Format)
	}
	if err != nil {
		return nil, nil, fault(err)
	}
	st := s.stand(t, session.Load{})
	inspection, err := s.dryRun(ctx, t, st.Window)
	if err != nil {
		return nil, nil, fault(err)
	}
	by := &inspection.By
	half := (len(by.Turn) + 1) / 2
	oldest, newest := by.Turn[:half], by.Turn[half:]
	lines := []string{cli.Bare(strings.Join(inspection.Lines(t.in, top, textWidth), "\n"))}
	if t.Chosen != "" {
		lines = slices.Insert(lines, 0, t.line())
	}
	return text(append(lines, t.Notes...)), &Inspection{
		Which: t.Which, Tokens: inspection.Tokens, Counter: inspection.Counter, Window: inspection.Plan.Window, WindowFrom: st.WindowFrom,
		Kind: first(by.Kind, top), Tool: first(by.Tool, top), Files: first(by.File, top),
		Oldest: first(oldest, top), Newest: last(newest, top), Would: would(inspection.Plan),
	}, nil
}

// first are the first rows of a list.
func first(list []cli.Weight, top int) Rows {
	n := min(top, len(list))
	return rows(list[:n], list[n:])
}

// last are the last rows of a list.
func last(list []cli.Weight, top int) Rows {
	n := max(0, len(list)-top)
	return rows(list[n:], list[:n])
}

func rows(shown, left []cli.Weight) Rows {
	out := Rows{Rows: make([]cli.Weight, len(shown)), More: len(left)}
	for i, w := range shown {
		w.Name = short(w.Name, mostText)
		out.Rows[i] = w
	}
	for _, w := range left {
		out.MoreTokens += w.Tokens
	}
	return out
}
