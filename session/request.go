package session

import (
	"cmp"
	"fmt"
	"time"

	"github.com/pemmican-dev/pemmican/llm"
)

// The occasions of an attempt.
const (
	occasionSoft      = "soft"
	occasionHard      = "hard"
	occasionOverflow  = "overflow"
	occasionTool      = "tool"
	occasionManual    = "manual"
	occasionLimit     = "limit"
	occasionTruncated = "truncated"
)

// need is what a request that is about to go makes necessary.
type need struct {
	occasion string // "" for nothing
	reason   string
	// must is true if the request cannot be sent as it is.
	must bool
	// size is the request in tokens, line the threshold that it has reached, and window the window.
	size, line, window int
}

func (s *Session) needOf(l Load) need {
	window, _ := s.window()
	set := &s.settings
	n := need{size: s.size(l), window: window}
	enough := l.Turns == 0 || l.Turns >= set.MinTurns
	demand := s.demand(l)
	switch {
	case set.Block.Reached(demand, window):
		n.occasion, n.must, n.size, n.line = occasionHard, true, demand, set.Block.In(window)
	case s.limitOf(l) != "":
		n.occasion, n.must, n.reason = occasionLimit, true, s.limitOf(l)
	case s.truncated:
		n.occasion, n.reason = occasionTruncated, "the provider has read only a part of the last request"
	case enough && set.Hard.Reached(n.size, window):
		n.occasion, n.line = occasionHard, set.Hard.In(window)
	case enough && set.Soft.Reached(n.size, window):
		n.occasion, n.line = occasionSoft, set.Soft.In(window)
	}
	if n.line > 0 {
		n.reason = fmt.Sprintf("the request takes %d tokens of %d, and the line is %d", n.size, window, n.line)
	}
	return n
}

// use is how much of a limit beside tokens a request takes.
type use struct {
	what      string
	has, most int
}

// limits are what the provider takes beside tokens, as the settings say, and as it has shown itself.
// limits are those of the settings, else what is known of the provider, and for bytes what it has refused.
func (s *Session) limits() Limits {
	limits := s.settings.Limits
	bytes, images, items := llm.LimitsOf(cmp.Or(llm.ProviderAt(s.model.Endpoint), s.model.Provider))
	limits = Limits{Bytes: cmp.Or(limits.Bytes, bytes), Images: cmp.Or(limits.Images, images), Items: cmp.Or(limits.Items, items)}
	if most := s.bytes[s.model.name()]; most > 0 && (limits.Bytes == 0 || most < limits.Bytes) {
		limits.Bytes = most
	}
	return limits
}

func (s *Session) uses(l Load) []use {
	limits := s.limits()
	return []use{
		{"bytes", l.Bytes, limits.Bytes},
		{"pictures and documents", l.Images, limits.Images},
		{"messages", l.Items, limits.Items},
	}
}

// limitOf says which limit beside tokens a request is over, "" for none.
func (s *Session) limitOf(l Load) string {
	for _, u := range s.uses(l) {
		if u.most > 0 && u.has > u.most {
			return fmt.Sprintf("the request has %d %s, and %d are allowed", u.has, u.what, u.most)
		}
	}
	return ""
}

// request answers a request that is about to go. Model is true if a model writes the summaries.
func (s *Session) request(l Load, model bool) Answer {
	s.saw(l)
	a := s.decide(l, model)
	if a.Do == "" || a.Do == Start {
		s.sent = l
	}
	return a
}

func (s *Session) decide(l Load, model bool) Answer {
	s.fresh = false
	if !s.active() {
		return Answer{}
	}
	n := s.needOf(l)
	if s.compacted && s.rest == 0 {
		s.rest = s.size(l)
	}
	if a := s.flight; a != nil {
		switch {
		case a.waiting:
			return s.begin(l)
		case a.background && (n.occasion == "" || n.occasion == occasionSoft):
			return Answer{}
		}
		return Answer{Do: Wait, Attempt: a.n, Reason: "a compaction is being made"}
	}
	if n.occasion == "" {
		return Answer{}
	}
	hold, block, mechanical := s.hold(l, n)
	switch {
	case block:
		return s.block(n)
	case hold != "":
		return Answer{Reason: hold}
	case n.occasion == occasionSoft:
		return s.soft(l, n, model)
	case n.occasion == occasionTruncated:
		s.truncated = false
	}
	a := s.order(Compact, attempt{occasion: n.occasion, load: l, mechanical: mechanical || s.noModelNow(), worth: s.worthOf(l, model)})
	a.Reason = n.reason
	return a
}

// hold looks at the attempts before: whether the next one has to wait, and for what; whether the request is blocked; and
// whether a model has had its chance with this very request.
//
// After a failure the request goes as it is, and the next one is a new chance. Where no model was asked, or three attempts
// have failed, the same would come out again: there the context has to grow first. A request that cannot be sent as it is
// gets both kinds of attempt at once, and is blocked after that. So does one that a compaction has left too large; one that fits
// goes, even where it is over a line.
func (s *Session) hold(l Load, n need) (hold string, block, mechanical bool) {
	if f := s.failed; f != nil {
		same := f.load == l && f.requests == s.requests
		grown := n.size >= f.size+growth(n.window)
		switch {
		case same && n.must && f.vetoed:
		case same && n.must && !f.final:
			mechanical = true
		case same && n.must:
			return because("an attempt for this request brought nothing", f.reason), s.mayBlock(n), false
		case same:
			return because("an attempt for this request brought nothing", f.reason), false, false
		case !n.must && f.final && !grown:
			return because("an attempt has brought nothing, and the context has hardly grown since", f.reason), false, false
		}
		return "", false, mechanical
	}
	if !s.compacted {
		return "", false, false
	}
	limit, grown := n.occasion == occasionLimit, s.grown(l, n.window)
	switch {
	case n.must && awaited(s.after) && limit == (s.after == occasionLimit) && (limit || !grown):
		if s.byModel && !limit {
			return "", false, true
		}
		return "the request was compacted, and still does not fit", s.mayBlock(n), false
	case !n.must && n.occasion != occasionTruncated && !grown:
		return "the context has hardly grown since the last compaction", false, false
	}
	return "", false, false
}

// grown reports whether something has come since the newest compaction: the context is larger than it was after it, or than
// what it was ordered for.
func (s *Session) grown(l Load, window int) bool {
	size := s.size(l)
	return size >= s.rest+growth(window) || s.before > 0 && size >= s.before+growth(window)
}

// awaited reports whether a request waits for attempts of this occasion, and is told of again after them as it has become. After
// any other one it may have grown meanwhile.
func awaited(occasion string) bool {
	switch occasion {
	case occasionHard, occasionOverflow, occasionLimit, occasionTruncated:
		return true
	}
	return false
}

// mayBlock reports whether it is certain enough that a request does not fit.
func (s *Session) mayBlock(n need) bool { return n.occasion == occasionLimit || s.knowsWindow() }

// because is what has happened, and why if that is known.
func because(what, reason string) string {
	if reason == "" {
		return what
	}
	return what + ": " + reason
}

// knowsWindow reports whether somebody tells of the window. What is only assumed blocks nothing: the provider knows better.
func (s *Session) knowsWindow() bool {
	_, from := s.window()
	return from != "assumed" && from != "suspected"
}

func (s *Session) block(n need) Answer {
	reason := n.reason + ", and compacting did not help"
	if s.failed != nil {
		reason = because(reason, s.failed.reason)
	}
	return Answer{Do: Block, Reason: reason, Notices: notices(s.texts().Blocked(n.size, n.line, n.window, reason))}
}

// soft starts a summary by a model in the background, unless there is a reason to wait for the hard threshold. Without a
// model a summary takes no time, and nothing is won by an early one.
func (s *Session) soft(l Load, n need, model bool) Answer {
	worth := s.worthOf(l, model)
	switch {
	case !model || s.noModelNow():
		return Answer{}
	case l.OpenCalls > 0:
		return Answer{Reason: "calls are open: it waits for their results"}
	case !s.lastEnd.IsZero() && time.Since(s.lastEnd) < time.Duration(s.settings.Debounce):
		return Answer{Reason: "the last attempt was a moment ago"}
	case worth != nil && !worth.Pays():
		return Answer{Reason: "it would cost more than it saves, and waits for the hard threshold: " + worth.String(), Worth: worth}
	}
	a := s.order(Start, attempt{occasion: occasionSoft, load: l, worth: worth})
	a.Reason = n.reason
	return a
}

// spent answers a request for which Fit has made all its attempts.
func (s *Session) spent(l Load) Answer {
	s.saw(l)
	if n := s.needOf(l); s.active() && !s.ended && n.must && s.mayBlock(n) {
		return s.block(n)
	}
	s.sent = l
	return Answer{Reason: "enough attempts were made for this request"}
}
