package sidecar

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/pemmican-dev/pemmican/internal/config"
	"github.com/pemmican-dev/pemmican/internal/live"
	"github.com/pemmican-dev/pemmican/internal/texts"
	"github.com/pemmican-dev/pemmican/llm"
	"github.com/pemmican-dev/pemmican/session"
)

// running is the session of the agent, from hello to end.
type running struct {
	*server
	ctx    context.Context //nolint:containedctx // it is the life of the session
	cancel context.CancelFunc

	hello   Event
	loader  Loader
	session *session.Session
	stop    func() // the live channel

	mu       sync.Mutex
	ended    bool
	settings session.Settings
	model    Model
	previous Model        // the one in use before
	load     session.Load // the newest
	saved    []byte       // the state as it stands on disk
	events   map[int]context.CancelFunc
	// attempt is the compaction that is being made, nil if there is none.
	attempt *attempt
}

// hello begins a session, after the one before, and answers with the tool.
func (s *server) hello(ctx context.Context, e Event) Line {
	s.end()
	if e.Session == nil {
		e.Session = &Session{}
	}
	r := &running{server: s, hello: e, events: map[int]context.CancelFunc{}}
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.loader = s.Settings(e.AgentDir)
	settings, told := r.loader.Load()
	notices := append(fromConfig(told), noticesOf("warning", s.Warnings)...)
	r.settings = settings
	state, saved, err := loadState(s.stateFile(e))
	if err != nil {
		s.Log.Warn("the state of the session is passed over", "reason", err.Error())
		notices = append(notices, warning(err.Error()))
	}
	r.saved = saved
	if s.StateDir != "" {
		forget(s.StateDir, time.Now())
	}
	state.Compactions = max(state.Compactions, e.Compactions)
	if e.Model != nil {
		r.model = *e.Model
	}
	r.noteLoad(e)
	r.session = session.New(session.Config{
		Settings: &settings, Model: modelOf(r.model), State: state, Catalogue: s.Catalogue, Language: s.Language, Subagent: e.Subagent,
		Origin: r.loader.Origin, AsksModel: true, Rest: restOf(settings),
	})
	s.Log.Info("session", "agent", e.Agent, "version", e.Version, "protocol", e.Protocol, "session", e.Session.ID, "model", r.ref(),
		"subagent", e.Subagent, "enabled", settings.Enabled)
	s.replace(r)
	l := Line{Protocol: Protocol, Notices: notices}
	if e.Subagent {
		l.Notices = nil
		return l
	}
	l.Tool = r.toolOf()
	if s.LiveDir != "" {
		r.serveLive() //nolint:contextcheck // the channel is closed when the session ends
	}
	return l
}

// What pi keeps by itself, where nobody says otherwise, and what a summary takes, in tokens.
const (
	usualTail    = 20_000
	usualSummary = 4_000
)

// restOf is about what a compaction by pi's policy leaves, in tokens; 0 where the settings' target says it.
func restOf(settings session.Settings) int {
	if settings.Preset != "" && settings.Preset != "checkpoint" {
		return 0
	}
	return cmp.Or(settings.KeepRecent, usualTail) + usualSummary
}

// toolOf describes the tool. It is there even where it will refuse, since it can say then how that is changed; and an
// agent's list of tools should not change under its cache.
func (r *running) toolOf() *Tool {
	status := r.session.Status()
	lowest := 0
	if len(status.Tiers) > 0 {
		lowest = status.Tiers[0]
	}
	t := texts.In(r.language()).Tool(lowest)
	return &Tool{
		Name: t.Name, Label: t.Label, Description: t.Description, Snippet: t.Snippet, Guidelines: t.Guidelines, Instructions: t.Instructions,
	}
}

func (r *running) language() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.settings.Language == "" || r.settings.Language == "auto" {
		return r.Language
	}
	return r.settings.Language
}

// ref is the model in use, "provider/id", "" if there is none.
func (r *running) ref() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return refOf(r.model)
}

func refOf(m Model) string {
	if m.ID == "" {
		return ""
	}
	return m.Provider + "/" + m.ID
}

// modelOf is a model as package session knows it.
func modelOf(m Model) session.Model {
	return session.Model{
		Provider: m.Provider, ID: m.ID, Window: m.ContextWindow, MaxOutput: m.MaxTokens, Endpoint: m.BaseURL, Price: priceOf(m),
	}
}

// priceOf is what the agent says that a model costs, nil where it says nothing. Prices of zero are said of models that
// nobody knows the price of.
func priceOf(m Model) *llm.Price {
	if m.Cost == nil {
		return nil
	}
	p := llm.Price{Input: m.Cost.Input, Output: m.Cost.Output, CacheRead: m.Cost.CacheRead, CacheWrite: m.Cost.CacheWrite}
	if p == (llm.Price{}) {
		return nil
	}
	return &p
}

// noteLoad takes down and returns what an event says of the context. An event that says nothing changes nothing.
func (r *running) noteLoad(e Event) session.Load {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Usage != nil {
		r.load = session.Load{}
		if e.Usage.Tokens != nil {
			r.load.Reported = max(0, *e.Usage.Tokens)
		}
	}
	return r.load
}

// refresh puts settings in force that have changed.
func (r *running) refresh() {
	r.guarded("settings", r.reload)
}

func (r *running) reload() {
	settings, notices := r.loader.Load()
	r.mu.Lock()
	changed := !reflect.DeepEqual(settings, r.settings)
	r.settings = settings
	r.mu.Unlock()
	if changed {
		r.Log.Info("other settings are in force", "enabled", settings.Enabled, "compact_model", settings.CompactModel)
		r.session.SetSettings(settings)
	}
	if len(notices) > 0 && !r.hello.Subagent {
		r.send(Line{Notices: fromConfig(notices)})
	}
}

func fromConfig(told []config.Notice) []Notice {
	var out []Notice
	for _, n := range told {
		out = append(out, Notice{Level: n.Level, Text: n.Text})
	}
	return out
}

// on tells the session what happened, and saves what it has learned from it.
func (r *running) on(e session.Event) session.Answer {
	a := r.session.On(e)
	line := []any{"event", reflect.TypeOf(e).Name(), "do", a.Do, "attempt", a.Attempt, "occasion", a.Occasion}
	switch e.(type) {
	case session.NotCompacted, session.Vetoed: // the reason may be what a model, a provider or a hook said
	default:
		line = append(line, "reason", a.Reason)
	}
	r.Log.Info("decision", line...)
	r.save()
	return a
}

// save writes the state down if it has changed.
func (r *running) save() {
	path := r.stateFile(r.hello)
	if path == "" || r.hello.Subagent {
		return
	}
	data, err := json.Marshal(r.session.State())
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if bytes.Equal(data, r.saved) {
			return
		}
		err = saveState(path, data)
	}
	if err != nil {
		r.Log.Warn("the state of the session is not kept", "reason", err.Error())
		return
	}
	r.saved = data
}

// send sends a line, if the session has not ended: to one that has, nothing is delivered.
func (r *running) send(l Line) {
	r.writeIf(l, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return !r.ended
	})
}

// answer sends what handle answers to an event, or an empty answer where it fails.
func (r *running) answer(e Event, handle func() Line) {
	var l Line
	r.guarded(e.Name, func() { l = handle() })
	l.ID = e.ID
	r.send(l)
}

// cancelEvent calls the work on an event off.
func (r *running) cancelEvent(id int) {
	r.mu.Lock()
	cancel := r.events[id]
	r.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	r.withdrawn(id)
}

// end ends the session: what is worked on is called off, and its answers go nowhere.
func (r *running) end() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.on(session.Ended{})
	r.cancel()
	if r.stop != nil {
		r.stop()
	}
	r.Log.Info("the session has ended", "session", r.hello.Session.ID)
}

// serveLive lets other processes of the person reach the session.
func (r *running) serveLive() {
	h := r.hello
	stop, err := live.Serve(r.LiveDir, live.Session{
		Agent: h.Agent, ID: h.Session.ID, File: h.Session.File, Dir: h.Session.Dir, PID: os.Getpid(),
	}, r.asked)
	if err != nil {
		r.Log.Warn("no other process can reach the session", "reason", err.Error())
		return
	}
	r.stop = stop
}

// asked answers another process.
func (r *running) asked(_ context.Context, q live.Request) live.Reply {
	reply := live.Reply{Refused: ownFault}
	r.guarded("live "+q.Do, func() {
		switch q.Do {
		case "status":
			reply = live.Reply{Status: r.status().Status}
		case "compact":
			r.refresh()
			if r.hello.Headless {
				reply = live.Reply{Refused: texts.In(r.language()).Refusal(texts.Refusal{Why: "headless"})}
				return
			}
			l := r.tool(Event{Instructions: q.Instructions})
			reply = live.Reply{Text: l.Text, Refused: l.Refused}
			if l.Launch != nil {
				r.send(Line{Launch: l.Launch, Notices: l.Notices})
			}
		default:
			reply = live.Reply{Refused: "there is no request " + q.Do + "; this Pemmican knows status and compact"}
		}
	})
	return reply
}
