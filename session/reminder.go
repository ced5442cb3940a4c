package session

import (
	"slices"

	"github.com/pemmican-dev/pemmican/internal/texts"
)

// settled reminds the agent of the tiers that were newly crossed, all of them in one text, each once until the next
// compaction.
func (s *Session) settled(l Load) Answer {
	window, _ := s.window()
	used := s.input(l)
	if !s.offered() || used == 0 || s.flight != nil {
		return Answer{}
	}
	freed := used - s.leaves(used, window)
	if s.config.Rest == 0 {
		freed = max(freed, used/2) // what the tool asks for at least halves what there is
	}
	if freed*100 < used*s.settings.MinGain {
		return Answer{} // nothing that the agent could do would help; it is told once it would
	}
	var crossed []texts.Tier
	for i, t := range s.settings.ReminderThresholds {
		if t.Reached(used, window) && !slices.Contains(s.state.Fired, i+1) {
			crossed = append(crossed, texts.Tier{Ordinal: i + 1, Tokens: t.In(window)})
		}
	}
	if len(crossed) == 0 {
		return Answer{}
	}
	for _, t := range crossed {
		s.state.Fired = append(s.state.Fired, t.Ordinal)
	}
	slices.Sort(s.state.Fired)
	r := texts.Reminder{
		Tokens: used, Window: window, Tiers: crossed, Tool: ToolName, LowestTier: s.lowestTier(window), Compactions: s.state.Compactions,
	}
	if freed > 0 {
		r.Freed = &freed
	}
	worth := s.worthOf(l, s.asksModel())
	if worth != nil {
		r.Cost = &worth.Costs
	}
	return Answer{Text: s.texts().Reminder(r), Worth: worth}
}

// pass marks the tiers that what a compaction has left still reaches as told of: a reminder would lead to the next compaction,
// and that to the next reminder.
func (s *Session) pass(used int) {
	window, _ := s.window()
	for i, t := range s.settings.ReminderThresholds {
		if t.Reached(used, window) && !slices.Contains(s.state.Fired, i+1) {
			s.state.Fired = append(s.state.Fired, i+1)
		}
	}
	slices.Sort(s.state.Fired)
}

// tiers are the tiers of the reminders in tokens of a window.
func (s *Session) tiers(window int) []int {
	out := make([]int, len(s.settings.ReminderThresholds))
	for i, t := range s.settings.ReminderThresholds {
		out[i] = t.In(window)
	}
	return out
}

func (s *Session) lowestTier(window int) int { return slices.Min(s.tiers(window)) }
