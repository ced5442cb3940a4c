package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/agents"
	"github.com/pemmican-dev/pemmican/internal/cli"
	"github.com/pemmican-dev/pemmican/summary"
)

const keepDescription = `Pins a fact that must not get lost: an id, a decision, a number, a path, a rule that the person gave. Every compaction
that Pemmican makes keeps it word for word. What pins it is this very call, which stands in the transcript; nothing is written
anywhere. Pin one fact at a time, in a sentence that is understood by itself. With drop, the fact of that wording is pinned no more.`

// keepInput are the arguments of keep.
type keepInput struct {
	Fact string `json:"fact"           jsonschema:"the fact, in a sentence that is understood by itself; at most 2000 characters"`
	Drop bool   `json:"drop,omitempty" jsonschema:"true if the fact, in the very words in which it was pinned, is to be pinned no more"`
}

// Kept is what keep answers.
type Kept struct {
	Fact   string `json:"fact"`
	Pinned bool   `json:"pinned" jsonschema:"true if the fact is pinned now, false if it is no more"`
	// Warning says why the fact may get lost all the same, "" if it will not.
	Warning string `json:"warning" jsonschema:"why the fact may get lost all the same, empty if nothing speaks for it"`
}

const (
	// mostFact bounds a fact, in runes: all pinned ones stand in every summary.
	mostFact = 2_000
	// mostFacts bounds how many are pinned in one session.
	mostFacts = 100
)

func (s *server) keep(ctx context.Context, r *mcp.CallToolRequest, in keepInput) (*mcp.CallToolResult, *Kept, error) {
	fact := strings.TrimSpace(in.Fact)
	n := utf8.RuneCountInString(fact)
	switch {
	case fact == "":
		return nil, nil, errors.New("the fact is empty; say what is to be kept")
	case n > mostFact:
		return nil, nil, fmt.Errorf("the fact has %s characters; give at most %s, or write it to a file and pin the path", cli.Count(n), cli.Count(mostFact))
	}
	out := &Kept{Fact: fact, Pinned: !in.Drop}
	t, err := s.ofClient(ctx, r.ClientInfo())
	if err != nil {
		return nil, nil, err
	}
	others := map[string]bool{}
	if t != nil && t.doc != nil {
		others = pinned(t.doc.Transcript())
	}
	had := others[fact]
	delete(others, fact)
	if in.Drop {
		line := "Pinned no more."
		switch {
		case t == nil || t.doc == nil:
			line = "Pinned no more, if it was: the session cannot be read here."
		case !had:
			line = "In what was found of the session, no fact is pinned in these very words."
		}
		return text([]string{line}), out, nil
	}
	if len(others) >= mostFacts {
		return nil, nil, fmt.Errorf("%d facts are pinned already, and all of them stand in every summary; take one back first, with drop", mostFacts)
	}
	lines := []string{"Pinned. Compactions that Pemmican makes carry this fact on, word for word."}
	if out.Warning = mayGetLost(t); out.Warning != "" {
		lines = append(lines, out.Warning)
	}
	return text(lines), out, nil
}

// ofClient is the client's own session, read if it can be; nil if none is found. The error is that of ctx.
func (s *server) ofClient(ctx context.Context, client *mcp.Implementation) (*target, error) {
	done, err := s.turn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	t, err := s.find("", client)
	if err != nil {
		return nil, ctx.Err()
	}
	if err := t.open(ctx, ""); err != nil && t.session == nil {
		return nil, ctx.Err()
	}
	return t, ctx.Err()
}

// pinned are the facts that calls of keep have pinned and not taken back, those that a summary carries on among them.
func pinned(t *pemmican.Transcript) map[string]bool {
	tools := agents.Tools()
	out := map[string]bool{}
	for i, partner := range t.Partners() {
		b := &t.Blocks[i]
		if body, ours := pemmican.Unseal(b.Text); b.Kind == pemmican.Summary && ours {
			ledger, _ := summary.ParseLedger(body)
			for _, fact := range ledger.Facts {
				out[fact] = true
			}
		}
		if b.Kind != pemmican.ToolCall || tools[b.Tool].RoleOf(b.Args) != pemmican.KeepTool || partner >= 0 && t.Blocks[partner].Error {
			continue
		}
		var in keepInput
		if json.Unmarshal([]byte(b.Args), &in) != nil {
			continue
		}
		if fact := strings.TrimSpace(in.Fact); in.Drop {
			delete(out, fact)
		} else if fact != "" {
			out[fact] = true
		}
	}
	return out
}

// mayGetLost says why a fact of a session may get lost, "" if it is safe.
func mayGetLost(t *target) string {
	switch {
	case t == nil:
		return "But no session was found here whose compactions Pemmican makes: any other compaction may lose the fact."
	case t.session == nil:
		return "But Pemmican does not run beside this session: a compaction by the agent itself may lose the fact, one by \"pemmican compact\" does not."
	}
	return ""
}
