package session

import (
	"cmp"

	"github.com/pemmican-dev/pemmican/internal/texts"
)

// ToolName is the tool by which an agent asks for a compaction.
const ToolName = texts.ToolName

// asked answers a person, or the agent's own program.
func (s *Session) asked(e Asked) Answer {
	switch refusal := s.closed(); {
	case refusal != nil:
		return s.refuse(*refusal, refusal.Why)
	case s.flight != nil && s.flight.waiting:
		s.flight.focus = cmp.Or(e.Instructions, s.flight.focus)
		return s.begin(e.Load)
	case s.flight != nil:
		return Answer{Do: Wait, Attempt: s.flight.n, Reason: "a compaction is being made"}
	case s.fresh:
		return Answer{Do: Refuse, Reason: "the context was compacted just now, and nothing has come since"}
	}
	return s.order(Compact, attempt{
		occasion: occasionManual, focus: e.Instructions, load: e.Load, mechanical: s.noModelNow(), worth: s.worthOf(e.Load, s.asksModel()),
	})
}

// began takes over a compaction of the agent's own program, or leaves it to that.
func (s *Session) began(e Began) Answer {
	switch {
	case !s.offered():
		return Answer{}
	case s.flight != nil && s.flight.waiting:
		s.flight.focus = cmp.Or(s.flight.focus, e.Instructions)
		return s.begin(e.Load)
	case s.flight != nil:
		return Answer{Do: Wait, Attempt: s.flight.n, Reason: "a compaction is being made"}
	case s.asksModel() && s.guard.Open():
		return Answer{Reason: "too many summaries by the model have failed, and it is left alone for a while"}
	}
	occasion := map[string]string{"manual": occasionManual, "overflow": occasionOverflow}[e.Reason]
	return s.order(Compact, attempt{occasion: cmp.Or(occasion, occasionHard), focus: e.Instructions, load: e.Load, worth: s.worthOf(e.Load, s.asksModel())})
}

// toolAsked answers the agent: the first two of the tool's conditions are its own to judge, the third one, that enough is in
// use, is enforced here.
func (s *Session) toolAsked(e ToolAsked) Answer {
	window, _ := s.window()
	used, lowest := s.input(e.Load), s.lowestTier(window)
	switch refusal := s.closed(); {
	case refusal != nil:
		return s.refuse(*refusal, refusal.Why)
	case s.model.name() == "":
		return s.refuse(texts.Refusal{Why: "unknown", Detail: "no model is known"}, "no model is known")
	case used == 0:
		return s.refuse(texts.Refusal{Why: "unknown", Window: window, LowestTier: lowest}, "the use of the context is not known")
	case used < lowest:
		return s.refuse(texts.Refusal{Why: "below", Tokens: used, Window: window, LowestTier: lowest}, "too little of the context is in use")
	case s.flight != nil:
		return s.refuse(texts.Refusal{Why: "busy"}, "a compaction is being made")
	case s.failed != nil && s.failed.final && !s.failed.vetoed && s.size(e.Load) < s.failed.size+growth(window):
		detail := "an attempt has brought nothing, and the context has hardly grown since"
		return s.refuse(texts.Refusal{Why: "failing", Tokens: used, Window: window, LowestTier: lowest, Detail: detail}, detail)
	}
	a := s.order(Launch, attempt{occasion: occasionTool, focus: e.Instructions, load: e.Load, mechanical: s.noModelNow(), worth: s.worthOf(e.Load, s.asksModel())})
	a.Text = s.texts().Launched(s.launched(a))
	return a
}

// closed is why nothing is offered for the current model, nil if it is.
func (s *Session) closed() *texts.Refusal {
	switch {
	case !s.settings.Enabled:
		return &texts.Refusal{Why: "disabled"}
	case s.excluded(s.model):
		return &texts.Refusal{Why: "excluded", Model: s.model.name()}
	}
	return nil
}

func (s *Session) refuse(r texts.Refusal, reason string) Answer {
	r.Tool, r.SettingsFile = ToolName, s.origin(map[string]string{
		"disabled": "enabled", "excluded": "excludedModels", "below": "reminderThresholds",
	}[r.Why])
	return Answer{Do: Refuse, Reason: reason, Text: s.texts().Refusal(r)}
}

// launched tells how the summary will be written, as package summary will decide it.
func (s *Session) launched(a Answer) texts.Launched {
	l := texts.Launched{Mode: "same", Model: s.model.name(), Count: s.state.Compactions + 1}
	switch m := cmp.Or(a.Model, s.settings.CompactModel); {
	case a.Mechanical:
		l.Mode, l.Model = noModel, ""
	case m != "" && m != s.model.name():
		l.Mode, l.Model = "cross", m
	}
	return l
}
