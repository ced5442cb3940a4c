package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/cli"
	"github.com/pemmican-dev/pemmican/internal/live"
	"github.com/pemmican-dev/pemmican/llm"
	"github.com/pemmican-dev/pemmican/session"
)

const statusDescription = `Tells how full the context of a session is: tokens, window, percent, the thresholds at which it is compacted and the
agent reminded, how many compactions there were, and what one would free now. Changes nothing.`

// statusInput are the arguments of context_status.
type statusInput struct {
	Session string `json:"session,omitempty" jsonschema:"a path, a session id, or \"latest\"; without it the session of the working folder"`
}

// Status is what context_status answers. What is 0 is unknown or not there.
type Status struct {
	Which
	Enabled    bool    `json:"enabled"    jsonschema:"false if the settings switch compaction off"`
	Model      string  `json:"model"      jsonschema:"the model that answered last"`
	Excluded   bool    `json:"excluded"   jsonschema:"true if the settings leave this model alone"`
	Tokens     int     `json:"tokens"     jsonschema:"what the next request takes"`
	Counted    string  `json:"counted"    jsonschema:"how that was counted"`
	Window     int     `json:"window"     jsonschema:"the context window in tokens"`
	WindowFrom string  `json:"windowFrom" jsonschema:"who says so: settings, agent, served, override, learned, catalogue or assumed"`
	Percent    float64 `json:"percent"    jsonschema:"tokens in percent of the window"`
	Soft       int     `json:"soft"       jsonschema:"where a summary is begun in the background, in tokens"`
	Hard       int     `json:"hard"       jsonschema:"where the session is compacted before the next request, in tokens"`
	Block      int     `json:"block"      jsonschema:"where no request is sent any more, in tokens"`
	Tiers      []int   `json:"tiers"      jsonschema:"where the agent is reminded, in tokens"`
	Fired      []int   `json:"fired"      jsonschema:"the tiers that it was reminded of since the last compaction, from 1"`
	// Compactions is how many there were; where the session is not live, how many summaries stand in its live context.
	Compactions int    `json:"compactions"     jsonschema:"how many there were; of a session that is not live, how many summaries stand in its context"`
	InFlight    bool   `json:"inFlight"        jsonschema:"true if one is being made"`
	Would       *Would `json:"would,omitempty" jsonschema:"what a compaction would do, by a dry run; absent if the session has no file"`
}

// Would is what a compaction would do.
type Would struct {
	Outcome string `json:"outcome" jsonschema:"unchanged, reduced, summarised, fell-back or refused"`
	Reason  string `json:"reason"`
	Before  int    `json:"before"  jsonschema:"tokens as it is"`
	After   int    `json:"after"   jsonschema:"tokens afterwards"`
	Freed   int    `json:"freed"`
	Target  int    `json:"target"  jsonschema:"what it was to come down to, in tokens"`
	Wish    string `json:"wish"    jsonschema:"where the target comes from, empty for the usual one"`
	Floor   int    `json:"floor"   jsonschema:"what no compaction goes below, in tokens"`
}

// patience is how long a running session may take to say how it stands.
const patience = 10 * time.Second

func (s *server) status(ctx context.Context, r *mcp.CallToolRequest, in statusInput) (*mcp.CallToolResult, *Status, error) {
	done, err := s.turn(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	t, err := s.find(in.Session, r.ClientInfo())
	if err != nil {
		return nil, nil, fault(err)
	}
	openErr := t.open(ctx, "")
	if openErr != nil && t.session == nil {
		return nil, nil, fault(openErr)
	}
	st, counted := session.Status{}, ""
	if t.session != nil {
		if st, err = s.ask(ctx, t.session); err != nil {
			t.Notes = append(t.Notes, "the running session does not say how it stands: "+cli.Clean(err.Error()))
			t.lost(err)
		} else {
			counted = "by the running session"
		}
	}
	if counted == "" && openErr != nil {
		return nil, nil, fault(openErr)
	}
	out := &Status{}
	if t.doc != nil {
		if counted == "" {
			st = s.stand(t, session.Load{})
		}
		inspection, err := s.dryRun(ctx, t, st.Window)
		if err != nil {
			return nil, nil, fault(err)
		}
		if counted == "" {
			load := session.Measure(t.doc.Transcript(), inspection.Options.Counter, inspection.Options.Overhead)
			st, counted = s.stand(t, load), inspection.Counter
			if load.Reported > 0 {
				counted = "by the provider, and what came after its last answer: " + counted
			}
		}
		out.Would = would(inspection.Plan)
	} else if t.File != "" {
		t.Notes = append(t.Notes, "what a compaction would do is unknown: "+cli.Message(openErr))
	}
	out.Which, out.Counted = t.Which, counted
	out.take(&st)
	return text(out.lines()), out, nil
}

// ask asks a running session how it stands.
func (s *server) ask(ctx context.Context, running *live.Session) (st session.Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	reply, err := s.send(ctx, running, live.Request{Do: "status"})
	switch {
	case err != nil:
		return st, err
	case reply.Refused != "":
		return st, errors.New(reply.Refused)
	}
	return st, json.Unmarshal(reply.Status, &st)
}

// send sends a request to a running session.
func (s *server) send(ctx context.Context, running *live.Session, r live.Request) (live.Reply, error) {
	dir, err := s.liveDir()
	if err != nil {
		return live.Reply{}, err
	}
	return live.Ask(ctx, dir, *running, r)
}

// lost notes that a session that ran a moment ago does so no more.
func (t *target) lost(err error) {
	if errors.Is(err, live.ErrNotLive) {
		t.session, t.running, t.Live = nil, nil, false
		if t.Chosen != "" {
			t.Chosen = "it ran here until a moment ago"
		}
	}
}

// dryRun finds out where the tokens are and what a compaction would do, for a window of so many tokens.
func (s *server) dryRun(ctx context.Context, t *target, window int) (*cli.Inspection, error) {
	how := cli.Settings{Window: cli.Tokens{N: window}}
	if settings := s.settings(); settings != nil {
		how.Preset = settings.Preset
		how.KeepRecent = cli.Tokens{N: settings.KeepRecent, Given: settings.KeepRecent > 0}
		if settings.Target != "" {
			if err := how.Target.Set(settings.Target); err != nil {
				return nil, cli.Unusable("", "", "the setting target, %q: %s", settings.Target, err)
			}
		}
	}
	return cli.Inspect(ctx, t.in, how)
}

// window is the window of a transcript, in tokens, and who says so: the one that "pemmican inspect" goes by, unless the
// settings have one.
func (s *server) window(t *target) (tokens int, from string) {
	if settings := s.settings(); settings != nil && settings.Window > 0 {
		return settings.Window, "settings"
	}
	catalogue := s.Catalogue
	if catalogue == nil {
		own, _, err := cli.OpenCatalogue()
		if err != nil {
			t.note(cli.Message(err) + "; it is not used until it is mended")
			own = llm.DefaultCatalogue()
		}
		catalogue = own
	}
	return cli.WindowOf(catalogue, t.doc.Transcript().Model)
}

// stand is how a session stands with a load, by its file and the settings.
func (s *server) stand(t *target, load session.Load) session.Status {
	transcript := t.doc.Transcript()
	window, from := s.window(t)
	one := session.New(session.Config{Settings: s.settings(), Model: session.Model{ID: transcript.Model, Window: window}})
	one.On(session.Settled{Load: load})
	st := one.Status()
	st.WindowFrom = from
	st.Fired = nil // only the session itself knows
	st.Compactions = 0
	for i := range transcript.Blocks {
		if transcript.Blocks[i].Kind == pemmican.Summary {
			st.Compactions++
		}
	}
	return st
}

func would(c *cli.Compaction) *Would {
	return &Would{
		Outcome: string(c.Outcome), Reason: short(c.Reason, mostText), Before: c.TokensBefore, After: c.TokensAfter, Freed: c.TokensBefore - c.TokensAfter,
		Target: c.Target, Wish: c.Wish, Floor: c.Floor.Tokens,
	}
}

// take takes in how the session stands.
func (o *Status) take(st *session.Status) {
	o.Enabled, o.Model, o.Excluded = st.Enabled, st.Model, st.Excluded
	o.Tokens, o.Window, o.WindowFrom = st.Tokens, st.Window, st.WindowFrom
	o.Soft, o.Hard, o.Block = st.Soft, st.Hard, st.Block
	o.Tiers, o.Fired = append([]int{}, st.Tiers...), append([]int{}, st.Fired...)
	o.Compactions, o.InFlight = st.Compactions, st.InFlight
	if st.Window > 0 {
		o.Percent = math.Round(float64(st.Tokens)*1000/float64(st.Window)) / 10
	}
}

// lines are the status as a text.
func (o *Status) lines() []string {
	state := "not live"
	if o.Live {
		state = "live"
	}
	out := []string{o.line() + ": " + state}
	load := "tokens unknown"
	if o.Tokens > 0 {
		load = fmt.Sprintf("%s tokens, %.1f %% of a window of %s (%s)", cli.Count(o.Tokens), o.Percent, cli.Count(o.Window), o.WindowFrom)
	}
	out = append(out, load+"; "+cli.Plural(o.Compactions, "compaction")+" before")
	var marks []string
	for _, m := range []struct {
		name string
		at   int
	}{{"soft", o.Soft}, {"hard", o.Hard}, {"block", o.Block}} {
		if m.at > 0 {
			marks = append(marks, m.name+" "+cli.Count(m.at))
		}
	}
	if len(o.Tiers) > 0 {
		tiers := make([]string, len(o.Tiers))
		for i, n := range o.Tiers {
			tiers[i] = cli.Count(n)
		}
		marks = append(marks, "reminders "+strings.Join(tiers, ", "))
	}
	if len(marks) > 0 {
		out = append(out, "thresholds in tokens: "+strings.Join(marks, "; "))
	}
	if w := o.Would; w != nil {
		out = append(out, w.line())
	}
	return append(out, o.Notes...)
}

// line is what a compaction would do, for the text of an answer.
func (w *Would) line() string {
	if w.Freed <= 0 {
		return "A compaction would free nothing: " + w.Reason
	}
	out := fmt.Sprintf("A compaction would free %s of %s tokens", cli.Count(w.Freed), cli.Count(w.Before))
	if w.Wish != "" {
		out += " (the target is " + w.Wish + ")"
	}
	return out + "; none goes below " + cli.Count(w.Floor)
}
