package session

import "slices"

// assumedWindow is the window of a model of which nobody says anything, in tokens: the smallest of those in wide use, so
// that a wrong guess costs an early compaction and no failed request. The first overflow tells better.
const assumedWindow = 128_000

// leastWindow is what no window is taken to be below, in tokens: an overflow of less has another cause.
const leastWindow = 1024

// window is the window of the current model, in tokens, and who says so.
func (s *Session) window() (tokens int, from string) { return s.windowOf(s.model, s.served) }

// windowOf decides between those who tell of a window. What a person has set comes first. Then what is served now, and what
// a provider's own error has told, stand before what the agent declares, which may be a model's window elsewhere; and that
// before the catalogue, which may be older than the agent. Nobody's word stands over an overflow, though: a window is never
// taken for larger than a limit that the provider has named, or than what did not fit.
func (s *Session) windowOf(m Model, served int) (tokens int, from string) {
	known, source := s.config.Catalogue.Window(m.Endpoint, m.Provider, m.ID)
	limit, below := s.state.Limits[m.name()], s.state.Below[m.name()]
	switch {
	case s.settings.Window > 0:
		tokens, from = s.settings.Window, "settings"
	case source == "override":
		tokens, from = known, source
	case served > 0:
		tokens, from = served, "served"
	case limit > 0:
		tokens, from = limit, "learned"
	case source == "learned":
		tokens, from = known, source
	case m.Window > 0:
		tokens, from = m.Window, "agent"
	case source == "catalogue":
		tokens, from = known, source
	default:
		tokens, from = assumedWindow, "assumed"
	}
	for _, most := range []int{limit, below} {
		if most > 0 && most < tokens {
			tokens, from = most, "learned"
		}
	}
	if most := s.suspected[m.name()]; most > 0 && most < tokens && !slices.Contains(firm, from) {
		tokens, from = most, "suspected"
	}
	return tokens, from
}

// firm are those whose word on a window stands over a suspicion: a person, and the server.
var firm = []string{"settings", "override", "served"}

// suspect keeps for this process that so many tokens seem not to have fitted. It is a guess, and ends with the first answer
// to more.
func (s *Session) suspect(tooLarge int) {
	name := s.model.name()
	if before := s.suspected[name]; tooLarge > leastWindow && (before == 0 || tooLarge <= before) {
		s.suspected[name] = tooLarge - 1
	}
}

// fitted forgets what did not fit where more has been read since.
func (s *Session) fitted(input int) {
	name := s.model.name()
	if input > s.suspected[name] {
		delete(s.suspected, name)
	}
	if input > s.state.Below[name] {
		delete(s.state.Below, name)
	}
}

// learn keeps what an error has told of the window: the limit that it names, or else that so many tokens did not fit.
func (s *Session) learn(limit, tooLarge int) {
	name := s.model.name()
	if limit >= leastWindow {
		s.config.Catalogue.Learn(s.model.Endpoint, s.model.ID, limit)
		put(&s.state.Limits, name, limit)
		delete(s.state.Below, name)
		return
	}
	if before := s.state.Below[name]; tooLarge > leastWindow && (before == 0 || tooLarge <= before) {
		put(&s.state.Below, name, tooLarge-1)
	}
}

func put[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = value
}

// input is the context of a request in tokens, by what counts first; 0 if it is not known.
func (s *Session) input(l Load) int {
	reported := l.Reported
	if reported > 0 && reported == s.staleSize {
		reported = 0 // it was told before the newest compaction
	}
	if s.settings.Counting == CountReportedOnly {
		return reported
	}
	if reported > 0 {
		if s.settings.Counting == CountReported {
			return reported
		}
		return reported + s.scale(l.Since)
	}
	return s.scale(l.Estimated)
}

// scale turns estimated tokens into those of the current model.
func (s *Session) scale(estimated int) int {
	if ratio, ok := s.state.Ratios[s.model.name()]; ok && ratio > 0 {
		return int(float64(estimated)*ratio + 0.5)
	}
	return estimated
}

// unscale turns tokens of the current model into estimated ones.
func (s *Session) unscale(tokens int) int {
	if ratio, ok := s.state.Ratios[s.model.name()]; ok && ratio > 0 {
		return int(float64(tokens)/ratio + 0.5)
	}
	return tokens
}

// size is what a threshold is compared with: the context and the room for the answer; 0 if it is not known.
func (s *Session) size(l Load) int {
	n := s.input(l)
	if n == 0 {
		return 0
	}
	return n + s.reserve(l)
}

// reserve is the room for the answer: what the request asks for, or else what the settings say. The presets of the seeds
// compare reports alone.
func (s *Session) reserve(l Load) int {
	if !s.countsNext() {
		return 0
	}
	n := l.Output
	if n == 0 {
		n = s.settings.OutputReserve
		if s.model.MaxOutput > 0 {
			n = min(n, s.model.MaxOutput)
		}
	}
	return s.clampReserve(n)
}

// demand is what the request itself needs: the context, and the room that it asks for.
func (s *Session) demand(l Load) int {
	n := s.input(l)
	if n == 0 || !s.countsNext() {
		return n
	}
	return n + s.clampReserve(l.Output)
}

func (s *Session) countsNext() bool {
	return s.settings.Counting == CountNext || s.settings.Counting == ""
}

// clampReserve bounds the room for an answer to a quarter of the window: some agents ask for all of it, and providers give
// what is left.
func (s *Session) clampReserve(reserve int) int {
	window, _ := s.window()
	return min(reserve, window/4)
}

// growth is how much a context must have grown, in tokens, before what brought nothing is tried again: a twentieth of the
// window, which is a few steps of an agent.
func growth(window int) int { return max(1, window/20) }
