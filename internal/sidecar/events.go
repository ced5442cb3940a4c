package sidecar

import (
	"cmp"
	"encoding/json"

	"github.com/pemmican-dev/pemmican/internal/texts"
	"github.com/pemmican-dev/pemmican/llm"
	"github.com/pemmican-dev/pemmican/session"
)

// tool answers a call of the tool: at once, for the agent cannot compact while a call of it runs.
func (r *running) tool(e Event) Line {
	a := r.on(session.ToolAsked{Instructions: e.Instructions, Load: r.noteLoad(e)})
	l := Line{Notices: noticesOf("info", a.Notices)}
	if a.Do != session.Launch {
		l.Refused = cmp.Or(a.Text, a.Reason, "nothing is compacted here")
		return l
	}
	r.mu.Lock()
	r.attempt = &attempt{n: a.Attempt, asked: true, tool: e.ID}
	r.mu.Unlock()
	l.Text, l.Launch = cmp.Or(a.Text, a.Reason), &Launch{Instructions: e.Instructions}
	return l
}

// settled answers that the agent has finished: with a reminder, if one is due.
func (r *running) settled(e Event) Line {
	a := r.on(session.Settled{Load: r.noteLoad(e)})
	l := Line{Notices: noticesOf("info", a.Notices)}
	if a.Text != "" {
		l.Say = &Say{Text: a.Text, Kind: "reminder", Deliver: "followUp", Turn: true}
	}
	return l
}

// switched answers that another model is used from now on.
func (r *running) switched(e Event) Line {
	if e.Model == nil {
		return Line{}
	}
	load := r.noteLoad(e)
	r.mu.Lock()
	r.previous, r.model = r.model, *e.Model
	r.mu.Unlock()
	a := r.on(session.Switched{To: modelOf(*e.Model), Load: load})
	l := Line{Notices: noticesOf("info", a.Notices)}
	if a.Text != "" {
		l.Say = &Say{Text: a.Text, Kind: "switch", Deliver: "nextTurn"}
	}
	return l
}

// replied answers that the agent's model has answered.
func (r *running) replied(e Event) Line {
	used := r.noteLoad(e).Reported
	// The agent's own figure is the only one, so it is as expected: where it is smaller than before, a person has gone
	// back in the conversation.
	a := r.on(session.Replied{Usage: llm.Usage{Reported: used > 0, Input: used}, Expected: used})
	return Line{Notices: noticesOf("info", a.Notices)}
}

// status answers how the session stands, and what it goes by: for programs, and in words for the person.
func (r *running) status() Line {
	r.mu.Lock()
	settings, model := r.settings, r.model
	r.mu.Unlock()
	st := r.session.Status()
	words := texts.Status{
		Enabled: st.Enabled, Excluded: st.Excluded, Model: st.Model, Tokens: st.Tokens, Window: st.Window, Compactions: st.Compactions,
		Writer: settings.CompactModel, SettingsFile: r.loader.File(), Log: r.LogFile,
	}
	if len(st.Tiers) > 0 {
		words.LowestTier = st.Tiers[0]
	}
	if own := r.priceOf(refOf(model), model); own.Input > 0 {
		other := r.priceOf(settings.CompactModel, model)
		advice := session.Advise(own, other)
		words.Own = &advice.Same
		if other.Input > 0 && settings.CompactModel != refOf(model) {
			words.Other = &advice.Cross
		}
	}
	data, err := json.Marshal(struct {
		session.Status
		Settings     session.Settings `json:"settings"`
		SettingsFile string           `json:"settingsFile"`
		Log          string           `json:"log,omitempty"`
	}{st, settings, r.loader.File(), r.LogFile})
	if err != nil {
		panic(err) // numbers and names can always be written
	}
	return Line{Status: data, Notices: noticesOf("info", []string{texts.In(r.language()).Status(words)})}
}
