package summary

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// An agent pins a fact by a call of a tool with the role [pemmican.KeepTool], {"fact": "..."}, and takes it back by the
// same with "drop": true. The call itself is all that there is of it, so whoever drops the call carries the fact on.

// maxFact is how long a fact is at most, in runes. The tool takes no longer ones.
const maxFact = 2000

// kept reads the arguments of a call that pins a fact. The fact is "" if they tell none.
func kept(args string) (fact string, drop bool) {
	data := []byte(args)
	object, err := jsonspan.Scan(data, 0)
	if err != nil {
		return "", false
	}
	if v, ok := jsonspan.Get(data, object, "fact"); ok {
		fact, _ = jsonspan.String(data, v)
	}
	if v, ok := jsonspan.Get(data, object, "drop"); ok {
		drop, _ = jsonspan.Bool(data, v)
	}
	return strings.TrimSpace(clean(cutMiddle(strings.TrimSpace(fact), maxFact))), drop
}

// refusedFact reports whether the result of such a call says that it came to nothing. Some formats have no flag for it.
func refusedFact(b *pemmican.Block) bool {
	text := strings.ToLower(strings.TrimSpace(b.Text[:min(len(b.Text), failWindow)]))
	return b.Error || strings.HasPrefix(text, "error") || strings.HasPrefix(text, "mcp error")
}

// keepFact takes what call k pins or takes back. What the agent still sees only counts where it takes something back.
func (c *collector) keepFact(k int) {
	p := &c.calls[k]
	t := c.request.Transcript
	if p.result >= 0 && refusedFact(&t.Blocks[p.result]) {
		return
	}
	fact, drop := kept(t.Blocks[p.block].Args)
	if fact == "" || !drop && !c.dropped[p.block] {
		return
	}
	l := &c.ledger
	l.Facts = slices.DeleteFunc(slices.Clone(l.Facts), func(s string) bool { return s == fact })
	if !drop {
		l.Facts = append(l.Facts, fact)
	}
}

// pinned are the facts that a summary for r has to carry on, the newest last.
func pinned(r pemmican.SummaryRequest) []string {
	c := newCollector(&r)
	if e := readEarlier(r.Previous); e.ours {
		c.ledger.Facts = e.ledger.Facts
	}
	c.pair()
	for k := range c.calls {
		b := &r.Transcript.Blocks[c.calls[k].block]
		if r.Tools[c.calls[k].tool].RoleOf(b.Args) == pemmican.KeepTool {
			c.keepFact(k)
		}
	}
	return c.ledger.Facts
}

// factsTokens is what the pinned facts take in the ledger of a summary for r, its first line included; 0 for none.
func factsTokens(r pemmican.SummaryRequest) int {
	facts := pinned(r)
	if len(facts) == 0 {
		return 0
	}
	f := fitter{collector: &collector{request: &r}}
	return f.sizeOfFacts(facts) + f.count(opening(1_000_000)+"\n")
}

// factHead numbers the facts of one ledger.
func factHead(i int) string { return strconv.Itoa(i + 1) }

func (f *fitter) factsSize() int { return f.sizeOfFacts(f.ledger.Facts) }

func (f *fitter) sizeOfFacts(facts []string) int {
	if len(facts) == 0 {
		return 0
	}
	n := f.title(titleFacts)
	for i, fact := range facts {
		n += f.item(factHead(i), fact)
	}
	return n
}

// takeFacts takes the newest facts that have room.
func (f *fitter) takeFacts(room int, l *Ledger) int {
	facts := f.ledger.Facts
	used := f.title(titleFacts)
	take := make([]bool, len(facts))
	some := false
	for i, fact := range slices.Backward(facts) {
		if n := f.item(factHead(i), fact); used+n <= room {
			take[i], some = true, true
			used += n
		}
	}
	if !some {
		return 0
	}
	for i, fact := range facts {
		if take[i] {
			l.Facts = append(l.Facts, fact)
		}
	}
	return used
}

// factsLost is the note about pinned facts that had no room, "" if all had.
func factsLost(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "a pinned fact had no room in the summary and is left out; give the compaction a larger target"
	}
	return fmt.Sprintf("%d pinned facts had no room in the summary and are left out; give the compaction a larger target", n)
}
