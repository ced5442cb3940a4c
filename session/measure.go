package session

import (
	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/token"
)

// Measure is the load of a transcript as the next request would send it: what the provider reported with the newest answer
// that has a usage, and the estimate of what follows it; an estimate of all, with what the request carries beside the
// transcript; and how much of everything there is. A nil counter is a token.Estimator. The size in bytes and the room for
// the answer are the caller's to fill in. Time is linear in t.
func Measure(t *pemmican.Transcript, c pemmican.Counter, overhead pemmican.Overhead) Load {
	if c == nil {
		c = token.Estimator{}
	}
	l := Load{Estimated: overhead.Tokens, Items: len(t.Messages)}
	if t.Tools != "" {
		l.Estimated += c.Count(&pemmican.Block{Text: t.Tools})
	}
	for i := range t.Messages {
		m := &t.Messages[i]
		if m.Role != pemmican.System {
			l.Turns++
		}
		for j := m.First; j < m.End; j++ {
			n := c.Count(&t.Blocks[j])
			l.Estimated += n
			l.Since += n
			if t.Blocks[j].Kind == pemmican.Media {
				l.Images++
			}
		}
		if m.Role == pemmican.Assistant && m.Usage > 0 {
			l.Reported, l.Since = m.Usage, 0
		}
	}
	if l.Reported == 0 {
		l.Since = 0
	}
	for i, partner := range t.Partners() {
		if t.Blocks[i].Kind == pemmican.ToolCall && partner < 0 {
			l.OpenCalls++
		}
	}
	return l
}
