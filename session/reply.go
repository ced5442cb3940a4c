package session

import (
	"errors"
	"fmt"

	"github.com/pemmican-dev/pemmican/llm"
)

const (
	// ratioLeast and ratioMost are what one estimated token can be in tokens of a model: no vocabulary in use is further
	// off. Whatever lies outside has another reason.
	ratioLeast, ratioMost = 0.6, 1.7
	// ratioWeight is how much the newest reply counts for the ratio.
	ratioWeight = 0.3
	// leastCalibrated is the smallest request that tells something of a ratio, in tokens.
	leastCalibrated = 4_000
)

func (s *Session) replied(e Replied) Answer {
	if e.Model != "" && e.Model != s.model.name() {
		return Answer{Reason: e.Model + " has answered, and is not used any more"}
	}
	s.requests++
	s.larger, s.after, s.fresh, s.refused = "", "", false, nil
	request := s.sent
	s.sent = Load{}
	if e.Window > 0 {
		s.served = e.Window
	}
	if !e.Usage.Reported || e.Usage.Input <= 0 {
		s.overflows = 0
		return Answer{}
	}
	s.fitted(e.Usage.Input)
	expected := e.Expected
	if expected == 0 {
		expected = s.input(request)
	}
	if silent := s.cutAway(e.Usage, expected, request.Images > 0); silent != nil {
		return s.wasTruncated(silent, expected)
	}
	s.overflows = 0
	if isNear(e.Usage.Input, expected) {
		s.trusted[s.model.name()] = true
	}
	if !s.repliedFit(e.Usage) {
		s.calibrate(request.Estimated, e.Usage.Input)
	}
	s.saw(Load{Reported: e.Usage.Input + e.Usage.Output})
	if s.passing { // it is the first answer since a compaction, so this is about what that has left
		s.passing = false
		s.pass(s.input(s.load))
	}
	return Answer{}
}

// isNear reports whether what was counted is within 40 % of what was expected, or the other way round.
func isNear(counted, expected int) bool {
	return float64(min(counted, expected)) >= 0.6*float64(max(counted, expected))
}

// cutAway reports that the provider has read less than it was sent, nil if it has read it all. Where what was expected is a
// guess, because there are pictures or documents or since no answer has borne the estimate out yet, a small count alone says
// little: with the former it says nothing, else it has to be one at which servers cut.
func (s *Session) cutAway(u llm.Usage, expected int, media bool) *llm.Error {
	window, _ := s.window()
	if !s.knowsWindow() {
		window = 0 // a provider that takes more than was assumed has cut nothing away
	}
	guess := u.Input < expected && (media || !s.trusted[s.model.name()] && !llm.AtEdge(u.Input, window))
	if guess {
		expected = 0
	}
	return llm.ClassifyReply(&llm.Reply{Usage: u, Stop: llm.StopEnd}, expected, window)
}

// wasTruncated makes the next request a smaller one. The window seems to be below what was sent; if smaller ones did not
// help, that was wrong, and so was the estimate.
func (s *Session) wasTruncated(e *llm.Error, expected int) Answer {
	reason := "the provider has cut the request away without an error: " + e.Message
	answer := Answer{Reason: reason, Notices: []string{reason}}
	switch {
	case !s.active():
	case s.overflows >= s.settings.OverflowAttempts:
		delete(s.suspected, s.model.name())
		delete(s.trusted, s.model.name())
	default:
		if e.Input < expected {
			s.suspect(expected)
		}
		s.truncated = true
		s.overflows++
	}
	return answer
}

// calibrate fits estimates to what the provider counted for a request.
func (s *Session) calibrate(estimated, input int) {
	if estimated < leastCalibrated || s.model.name() == "" {
		return
	}
	ratio := float64(input) / float64(estimated)
	if ratio < ratioLeast || ratio > ratioMost {
		return
	}
	s.learnRatio(ratio)
}

// learnRatio takes a ratio, which is in bounds, into what is known of them.
func (s *Session) learnRatio(ratio float64) {
	if before, ok := s.state.Ratios[s.model.name()]; ok {
		ratio = before + ratioWeight*(ratio-before)
	}
	put(&s.state.Ratios, s.model.name(), ratio)
}

// requestFailed orders a compaction where the request was too large, whatever anybody has counted.
func (s *Session) requestFailed(e Failed) Answer {
	if e.Model != "" && e.Model != s.model.name() {
		return Answer{Reason: e.Model + " has failed, and is not used any more"}
	}
	err, ok := errors.AsType[*llm.Error](e.Err)
	if !ok {
		return Answer{}
	}
	if e.Load == (Load{}) {
		e.Load = s.sent
	}
	switch err.Kind {
	case llm.Overflow:
		s.learn(err.Limit, max(err.Requested, s.demand(e.Load)))
	case llm.OutputLimit:
		if err.Input == 0 {
			return Answer{Reason: "the request asks for more output than the model gives: " + err.Message}
		}
		s.learn(err.Limit, 0)
	case llm.Silent:
		if err.Input < err.Requested {
			s.suspect(err.Requested)
		}
	case llm.TooManyBytes:
		if e.Load.Bytes > 0 {
			s.bytes[s.model.name()] = e.Load.Bytes - 1
		}
	default:
		return Answer{}
	}
	switch {
	case !s.active():
		return Answer{}
	case s.flight != nil && s.flight.waiting:
		return s.begin(e.Load)
	case s.flight != nil:
		return Answer{Do: Wait, Attempt: s.flight.n, Reason: "a compaction is being made"}
	case s.overflows >= s.settings.OverflowAttempts:
		return s.refuseRecovery(e, err)
	}
	s.overflows++
	// The second time nothing is left to chance.
	mechanical := s.overflows > 1 || s.noModelNow()
	a := s.order(Compact, attempt{occasion: occasionOverflow, load: e.Load, mechanical: mechanical})
	a.Reason = err.Error()
	return a
}

func (s *Session) refuseRecovery(e Failed, err *llm.Error) Answer {
	window, _ := s.window()
	reason := fmt.Sprintf("the provider still refuses the request as too large after %d compactions: %s", s.overflows, err.Message)
	if s.overflows == 1 {
		reason = "the provider still refuses the request as too large after a compaction: " + err.Message
	}
	if size := s.size(e.Load); size > 0 {
		s.refused = &refused{e.Load, reason}
	}
	return Answer{Do: Refuse, Reason: reason, Notices: notices(s.texts().Blocked(s.demand(e.Load), window, window, reason))}
}

// refused is a request that the provider refuses as too large, and that no compaction has helped.
type refused struct {
	load   Load
	reason string
}

// refuses reports whether a request is no smaller than one that the provider refuses, so that sending it were in vain. An attempt
// that is in flight may still make it smaller.
func (s *Session) refuses(l Load) bool {
	r := s.refused
	if r == nil || s.flight != nil || !s.active() {
		return false
	}
	return s.size(l) >= s.size(r.load) && (l.Bytes >= r.load.Bytes || l.Bytes == 0)
}
