package sidecar

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/pemmican-dev/pemmican/internal/hook"
	"github.com/pemmican-dev/pemmican/session"
)

// before asks the person's hook about a compaction that is about to be made. It returns the focus, the hook's own behind
// what was asked for, and why the hook does not want the compaction, "" if it has no objection.
func (r *running) before(ctx context.Context, e Event, a session.Answer) (focus, veto string) {
	focus = cmp.Or(a.Focus, e.Instructions)
	if !a.Hook {
		return focus, ""
	}
	in := hook.Input{Event: hook.Before, Occasion: a.Occasion, Reason: cmp.Or(a.Reason, reasons[a.Occasion]), Tokens: cmp.Or(r.tokens(), e.TokensBefore)}
	says := r.runHook(ctx, r.hookSettings().Before, in)
	return strings.TrimSpace(focus + "\n" + says.Focus), says.Veto
}

// reasons are the occasions in words.
var reasons = map[string]string{
	"tool":     "the agent has asked for it with its tool",
	"manual":   "the person has asked for it",
	"hard":     "the agent's own program compacts, because its line is reached",
	"overflow": "the last request was too large for the model",
}

// after tells the person's hook how a compaction has ended that the session had taken over. It waits for nothing.
func (r *running) after(at *attempt, o session.Outcome, failed string) {
	command := r.hookSettings().After
	if at.occasion == "" || len(command) == 0 {
		return
	}
	report := &hook.Report{
		Compacted: failed == "", Error: failed, Mode: o.Mode, Model: o.Model, TokensBefore: o.Before, TokensAfter: o.After, FellBack: o.FellBack,
	}
	if o.Asked != nil {
		report.Cost = o.Asked.Dollars
	}
	in := hook.Input{Event: hook.After, Occasion: at.occasion, Tokens: o.After, Report: report}
	r.work.Go(func() {
		r.guarded("after-hook", func() { r.runHook(r.ctx, command, in) })
	})
}

// runHook runs a hook. One that fails is told of, and counts as one that has said nothing.
func (r *running) runHook(ctx context.Context, command []string, in hook.Input) hook.Answer {
	in.Session, in.Model, in.Window = r.hello.Session.ID, r.ref(), r.session.Status().Window
	answer, err := hook.Command{
		Args: command, Timeout: time.Duration(r.hookSettings().Timeout), Dir: r.hello.Session.Dir, Log: r.Log,
	}.Run(ctx, in)
	if err != nil && ctx.Err() == nil {
		r.Log.Warn("a hook failed", "event", in.Event)
		r.send(Line{Notices: []Notice{warning(err.Error())}})
	}
	return answer
}

func (r *running) hookSettings() session.Hooks {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.settings.Hooks
}

func (r *running) tokens() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.load.Reported
}
