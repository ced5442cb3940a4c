package session

// downshiftReserve is how much room a switch to a smaller window must leave, in tokens, if nobody is to be warned: what pi
// keeps free.
const downshiftReserve = 16_384

// switched tells the agent where a switch of models turns the session on or off for it, or else where the new window is
// smaller, and what is there nearly fills it.
func (s *Session) switched(e Switched) Answer {
	old := s.model
	oldWindow, oldFrom := s.window()
	s.model = e.To
	defer s.otherWindow(oldWindow)
	if old.name() == e.To.name() {
		return Answer{} // no other model, only known better
	}
	s.served, s.larger, s.truncated, s.overflows = 0, "", false, 0
	s.refused = nil
	if old.name() == "" || e.To.name() == "" || !s.settings.Enabled {
		return Answer{}
	}
	if now := s.excluded(e.To); now != s.excluded(old) {
		reason := e.To.name() + " is not excluded"
		if now {
			reason = e.To.name() + " is excluded by the settings"
		}
		return Answer{Reason: reason, Text: s.texts().Availability(e.To.name(), !now, s.origin("excludedModels"))}
	}
	window, from := s.window()
	used := s.input(e.Load)
	if s.excluded(e.To) || oldFrom == "assumed" || from == "assumed" || window >= oldWindow || used < window-downshiftReserve {
		return Answer{}
	}
	if used == 0 {
		return Answer{}
	}
	// Until the smaller model has answered, the one that the conversation fits can still summarise it.
	s.larger = old.name()
	return Answer{
		Reason: "the smaller window is nearly full, or too small",
		Text:   s.texts().Downshift(e.To.name(), used, window, oldWindow),
	}
}

// otherWindow forgets what held attempts back where the window is another one: it says nothing of this one.
func (s *Session) otherWindow(old int) {
	if window, _ := s.window(); window != old {
		s.failed, s.refused, s.compacted, s.rest, s.before, s.after = nil, nil, false, 0, 0, ""
	}
}
