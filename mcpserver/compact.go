package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pemmican-dev/pemmican/agents"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/internal/cli"
	"github.com/pemmican-dev/pemmican/internal/live"
	"github.com/pemmican-dev/pemmican/session"
)

const compactDescription = `Acts where the session is live. Where it is not, nothing is changed, and the answer is the one command that compacts
the session and resumes it after the agent has ended.`

// compactInput are the arguments of compact_context.
type compactInput struct {
	Instructions string `json:"instructions,omitempty"` // described by internal/texts
	Session      string `json:"session,omitempty"      jsonschema:"a path, a session id, or \"latest\"; without it the session of the working folder"`
}

// Compaction is what compact_context answers where it is not refused.
type Compaction struct {
	Which
	// Launched is true if the session compacts itself now; the outcome arrives in it as a message.
	Launched bool `json:"launched" jsonschema:"true if the session is compacted now; its outcome arrives there as a message"`
	// Command compacts the session and resumes it, once its agent has ended; "" if it was launched, or there is nothing to do.
	Command string `json:"command" jsonschema:"compacts the session and resumes it after its agent has ended; empty if launched, or nothing would be freed"`
	// Would is what the command would do, nil if it was launched.
	Would *Would `json:"would,omitempty" jsonschema:"what that command would do"`
}

// mostInstructions bounds the instructions, in runes.
const mostInstructions = 10_000

// grant is how long a running session may take to grant or refuse a compaction. It does not wait for the compaction.
const grant = 30 * time.Second

func (s *server) compact(ctx context.Context, r *mcp.CallToolRequest, in compactInput) (*mcp.CallToolResult, *Compaction, error) {
	if n := len([]rune(in.Instructions)); n > mostInstructions {
		return nil, nil, fmt.Errorf("the instructions have %s characters; give at most %s", cli.Count(n), cli.Count(mostInstructions))
	}
	t, err := s.find(in.Session, r.ClientInfo())
	if err != nil {
		return nil, nil, fault(err)
	}
	if t.session == nil { // the file may tell that it is one that runs
		done, err := s.turn(ctx)
		if err != nil {
			return nil, nil, err
		}
		err = t.open(ctx, "")
		done()
		if err != nil {
			return nil, nil, fault(err)
		}
	}
	if t.session != nil {
		reply, err := s.launch(ctx, t.session, in.Instructions)
		switch {
		case err == nil && reply.Refused != "":
			return nil, nil, errors.New(reply.Refused)
		case err == nil:
			return text([]string{reply.Text}), &Compaction{Which: t.Which, Launched: true}, nil
		case !errors.Is(err, live.ErrNotLive):
			return nil, nil, fault(err)
		}
		t.lost(err)
	}
	return s.later(ctx, t)
}

// launch asks a running session to compact itself.
func (s *server) launch(ctx context.Context, running *live.Session, instructions string) (live.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, grant)
	defer cancel()
	reply, err := s.send(ctx, running, live.Request{Do: "compact", Instructions: instructions})
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("the session has not answered for %s; it may compact itself all the same, which context_status tells", grant)
	}
	return reply, err
}

// later says that the session is not live, and how it is compacted once its agent has ended.
func (s *server) later(ctx context.Context, t *target) (*mcp.CallToolResult, *Compaction, error) {
	done, err := s.turn(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	if t.doc == nil {
		if err := t.open(ctx, ""); err != nil {
			return nil, nil, fault(err)
		}
	}
	if _, ok := t.doc.(format.Session); !ok {
		return nil, nil, fault(cli.Unusable(t.File, `"pemmican compact FILE" writes a smaller copy`, "it is a request body (%s), and nobody's session", t.Format))
	}
	inspection, err := s.dryRun(ctx, t, s.stand(t, session.Load{}).Window)
	if err != nil {
		return nil, nil, fault(err)
	}
	out := &Compaction{Which: t.Which, Would: would(inspection.Plan)}
	lines := []string{
		t.line() + " is not live: Pemmican does not run beside its agent, which has the conversation in memory and would not see that its file has changed.",
		"Nothing was changed. " + out.Would.line() + ".",
	}
	if out.Would.Freed > 0 {
		out.Command = t.command(out.Would, s.settings())
		lines = append(lines, "After the agent has ended, this command compacts the session"+resumes(t)+":", out.Command)
	}
	return text(lines), out, nil
}

// command compacts a session as the dry run did, and resumes it.
func (t *target) command(w *Would, settings *session.Settings) string {
	command := "pemmican compact " + agents.QuoteFile(t.File) + " --append --target " + strconv.Itoa(w.Target)
	if settings != nil && settings.Preset != "" {
		command += " --preset " + agents.QuoteFile(settings.Preset)
	}
	if settings != nil && settings.KeepRecent > 0 {
		command += " --keep-recent " + strconv.Itoa(settings.KeepRecent)
	}
	if resume := t.in.Resume(t.File); resume != "" {
		command += " && " + resume
	}
	return command
}

// resumes says that the command of t resumes its session too, if it does: that of a subagent is its parent's.
func resumes(t *target) string {
	if t.in.Resume(t.File) == "" {
		return ""
	}
	return " and resumes it"
}
