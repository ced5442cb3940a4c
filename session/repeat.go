package session

import "github.com/pemmican-dev/pemmican"

const (
	// stallPeriods is how many stretches between compactions must be alike before it is told.
	stallPeriods = 3
	// stallShare is how much of the calls of a stretch were also made in the one before, in percent, if the two are alike.
	stallShare = 80
	// stallLeast is how many different calls a stretch has at least that tells something.
	stallLeast = 3
	// mostCalls bounds the memory for calls that were counted.
	mostCalls = 100_000
)

// stretches sees whether an agent does the same again after each compaction: then it has lost what it had done, and would go
// on until somebody stops it.
type stretches struct {
	counted map[string]bool // the calls, by their ids
	last    map[string]bool // what was called in the newest stretch
	alike   int
}

// end closes a stretch: a transcript is compacted. It reports true when the agent has gone in a circle for long enough, once.
func (s *stretches) end(t *pemmican.Transcript) bool {
	if s.counted == nil || len(s.counted) > mostCalls {
		s.counted = map[string]bool{}
	}
	now := map[string]bool{}
	for i := range t.Blocks {
		b := &t.Blocks[i]
		if id := b.CallID + "\x00" + b.Tool + "\x00" + b.Args; b.Kind == pemmican.ToolCall && !s.counted[id] {
			s.counted[id] = true
			now[b.Tool+"\x00"+b.Args] = true
		}
	}
	again := 0
	for call := range now {
		if s.last[call] {
			again++
		}
	}
	if len(now) >= stallLeast && again*100 >= len(now)*stallShare {
		s.alike++
	} else {
		s.alike = 1
	}
	s.last = now
	return s.alike == stallPeriods
}
