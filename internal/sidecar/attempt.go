package sidecar

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/pemmican-dev/pemmican/format/pi"
	"github.com/pemmican-dev/pemmican/internal/texts"
	"github.com/pemmican-dev/pemmican/session"
)

// attempt is a compaction from when it is granted or begun until the agent says what came of it.
type attempt struct {
	// n is the session's number of it, 0 if the session waits for no outcome of it any more.
	n int
	// event is the compact event that it is made for, 0 before that has come.
	event int
	// asked is true if the agent's tool asked for it, and so waits for the outcome; tool is the event of that call.
	asked bool
	tool  int
	// occasion is why the session has taken it over, "" if it has not.
	occasion string
	// outcome is what the agent was given to write, nil until then.
	outcome *session.Outcome
	// handedBack is why the agent's own compaction went on instead, "" if it did not.
	handedBack string
	// veto is why a hook called it off, "" if none did.
	veto string
}

// result is what became of a compact event: a compaction, or why there is none.
type result struct {
	compaction *Compaction
	outcome    session.Outcome
	handBack   string
	// final is true if another summary would have changed nothing.
	final bool
	// quotes is true if handBack may have words of a model, a provider or a hook, which no log gets.
	quotes bool
	// veto is why a hook said no, "" if it did not.
	veto string
	// calledOff is true if somebody or something else made it needless, which is no failure.
	calledOff bool
}

// cancelled is what becomes of a compact event that somebody called off.
var cancelled = result{handBack: "it was cancelled", calledOff: true}

// ownFault is why an attempt comes to nothing in which Pemmican itself has failed.
const ownFault = "Pemmican has failed, which is a bug of its own; the debug log has more"

// began takes over a compaction that the agent has begun, or leaves it to the agent.
func (r *running) began(e Event) {
	load := r.noteLoad(e)
	at := &attempt{event: e.ID}
	r.mu.Lock()
	before := r.attempt
	busy := before != nil && r.events[before.event] != nil
	if !busy {
		r.attempt = at
	}
	r.mu.Unlock()
	switch {
	case before == nil, busy:
	case before.event == 0: // the tool has launched it
		at.n, at.asked = before.n, before.asked
	default: // an old pi does not tell that somebody cancelled it
		r.failed(before, cancelled)
	}
	var a session.Answer
	out := result{handBack: ownFault}
	r.guarded(e.Name, func() {
		a = r.on(session.Began{Reason: e.Reason, Instructions: e.Instructions, Load: load})
		if a.Do == session.Compact {
			at.n, at.occasion, out = a.Attempt, a.Occasion, result{}
			return
		}
		out = result{handBack: cmp.Or(a.Reason, "Pemmican is off for this model")}
	})
	if out.handBack != "" {
		r.finish(e, at, a, out)
		return
	}
	ctx, cancel := context.WithCancel(r.ctx)
	r.mu.Lock()
	r.events[e.ID] = cancel
	r.mu.Unlock()
	r.work.Go(func() {
		defer cancel()
		out := result{handBack: ownFault}
		r.guarded(e.Name, func() {
			focus, veto := r.before(ctx, e, a)
			if veto != "" {
				out = result{handBack: "a hook said no to it: " + veto, quotes: true, veto: veto}
				return
			}
			out = r.compact(ctx, e, a, focus)
		})
		r.mu.Lock()
		delete(r.events, e.ID)
		if ctx.Err() != nil {
			out = cancelled
		}
		if out.handBack == "" {
			at.outcome = &out.outcome
		}
		r.mu.Unlock()
		r.finish(e, at, a, out)
	})
}

// finish answers a compact event.
func (r *running) finish(e Event, at *attempt, a session.Answer, out result) {
	l := Line{ID: e.ID, Compaction: out.compaction, HandBack: out.handBack, Notices: noticesOf("info", a.Notices)}
	if out.handBack != "" {
		reason := out.handBack
		if out.quotes {
			reason = "see the line before"
		}
		r.Log.Info("handed back", "event", e.ID, "occasion", e.Reason, "reason", reason)
		told := r.failed(at, out)
		// A hook that says no means any compaction. Where the request has failed for its size, nothing but one helps.
		if out.veto != "" && e.Reason != "overflow" {
			r.mu.Lock()
			at.veto = out.handBack
			r.mu.Unlock()
			l.HandBack, l.Veto = "", out.veto
			l.Notices = append(l.Notices, noticesOf("info", told.Notices)...)
		}
	}
	r.send(l)
}

// failed tells the session that nothing comes of an attempt.
func (r *running) failed(at *attempt, out result) session.Answer {
	r.mu.Lock()
	n, load := at.n, r.load
	at.n, at.outcome = 0, nil
	if n != 0 {
		at.handedBack = out.handBack
	}
	r.mu.Unlock()
	switch {
	case n == 0:
		return session.Answer{}
	case out.veto != "":
		return r.on(session.Vetoed{Attempt: n, Reason: out.veto})
	}
	e := session.NotCompacted{Attempt: n, Reason: out.handBack, Final: out.final, Load: load}
	if out.calledOff {
		e.Reason = ""
	}
	return r.on(e)
}

// withdrawn is told that the agent does not want the compaction of an event any more, be it made already.
func (r *running) withdrawn(event int) {
	r.mu.Lock()
	at := r.attempt
	delivered := at != nil && at.event == event && at.outcome != nil
	called := at != nil && at.event == 0 && at.tool == event // the call of the tool has been interrupted, and launches nothing
	if called {
		r.attempt = nil
	}
	r.mu.Unlock()
	if delivered || called {
		r.failed(at, cancelled)
	}
}

// takeAttempt returns the attempt and forgets it.
func (r *running) takeAttempt() *attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.attempt
	r.attempt = nil
	if at == nil {
		at = &attempt{}
	}
	return at
}

// compacted is told that the agent's session has been compacted, by whomever.
func (r *running) compacted(e Event) Line {
	at := r.takeAttempt()
	d := detailsOf(e)
	if e.Asked && !at.asked { // the process that launched it is gone
		at.asked, at.handedBack = true, cmp.Or(at.handedBack, e.Error)
	}
	if d.Engine != pi.Engine || at.outcome == nil { // pi's own, another extension's, or one that an earlier process made
		r.failed(at, result{handBack: "another compaction was taken into use", calledOff: true})
		at.n, at.outcome = 0, &session.Outcome{
			Mode: d.outcomeMode(), Model: d.Model, Before: cmp.Or(d.TokensBefore, e.TokensBefore), After: cmp.Or(d.TokensAfter, e.TokensAfter),
			FellBack: at.handedBack,
		}
	}
	r.mu.Lock()
	r.load = session.Load{} // what was reported before is no longer true
	r.mu.Unlock()
	r.noteLoad(e)
	own := at.n == 0
	a := r.on(session.Compacted{Attempt: at.n, Outcome: *at.outcome})
	r.after(at, *at.outcome, "")
	l := Line{Notices: noticesOf("info", a.Notices)}
	text := a.Text
	if own { // the session has nothing to say of what it did not order
		text = r.outcomeText(*at.outcome)
		if at.handedBack != "" && !at.asked {
			l.Notices = append(l.Notices, warning(text))
		}
	}
	if at.asked {
		l.Say = outcomeSay(text)
	}
	return l
}

// outcomeText is the message about a compaction that the session did not order.
func (r *running) outcomeText(o session.Outcome) string {
	return texts.In(r.language()).Outcome(texts.Outcome{
		Mode: o.Mode, Model: o.Model, Before: o.Before, After: o.After, CacheShare: -1, FellBack: o.FellBack,
		Compactions: r.session.Status().Compactions,
	})
}

// notCompacted is told that the agent's session has not been compacted.
func (r *running) notCompacted(e Event) Line {
	at := r.takeAttempt()
	r.noteLoad(e)
	at.asked = at.asked || e.Asked
	out := result{handBack: cmp.Or(e.Error, at.handedBack, "the agent does not say why")}
	switch {
	case at.veto != "": // which the agent tells of as cancelled
		out = result{handBack: at.veto}
	case e.Aborted:
		out = cancelled
	}
	a := r.failed(at, out)
	r.after(at, session.Outcome{}, out.handBack)
	l := Line{Notices: noticesOf("info", a.Notices)}
	words := texts.In(r.language())
	switch {
	case at.asked && out.calledOff: // by the person, and so the agent waits for them
		l.Say = &Say{Text: words.Failed(out.handBack), Kind: "outcome", Deliver: "nextTurn"}
	case at.asked:
		l.Say = outcomeSay(words.Failed(out.handBack))
	case at.handedBack != "" && !e.Aborted: // the agent tells of its own failure, and this is why it had to try
		l.Notices = append(l.Notices, warning(words.Failed(at.handedBack)))
	}
	return l
}

// outcomeSay is the message about a compaction that the agent's tool asked for. The agent was interrupted for it, so it
// goes on with it.
func outcomeSay(text string) *Say {
	if text == "" {
		return nil
	}
	return &Say{Text: text, Kind: "outcome", Deliver: "steer", Turn: true}
}

// details are those of a compaction of ours, as pi keeps them.
type details struct {
	Engine  string `json:"engine"`
	Mode    string `json:"mode"`
	Model   string `json:"model,omitempty"`
	Version string `json:"version,omitempty"`
	// TokensBefore and TokensAfter are the live context, as estimated.
	TokensBefore  int      `json:"tokensBefore"`
	TokensAfter   int      `json:"tokensAfter"`
	ReadFiles     []string `json:"readFiles"`
	ModifiedFiles []string `json:"modifiedFiles"`
}

// modes are the modes as details name them.
var modes = map[string]string{"same": "same-model", "cross": "cross-model", "mechanical": "mechanical"}

func (d details) outcomeMode() string {
	for mode, name := range modes {
		if name == d.Mode {
			return mode
		}
	}
	return ""
}

// detailsOf are the details of a compaction that came from an extension, the zero value if they are not ours.
func detailsOf(e Event) (d details) {
	if !e.FromExtension || json.Unmarshal(e.Details, &d) != nil {
		return details{}
	}
	return d
}
