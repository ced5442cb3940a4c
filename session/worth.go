package session

import (
	"fmt"

	"github.com/pemmican-dev/pemmican/llm"
)

const (
	// summaryTokens is about what a model writes for a summary.
	summaryTokens = 4_000
	// leastTurns and mostTurns bound how many more requests are expected.
	leastTurns, mostTurns = 5, 100
	perMillion            = 1_000_000
)

// Pays reports whether the compaction saves at least what it costs.
func (w *Worth) Pays() bool { return w.Saves >= w.Costs }

// String is the sum in a line.
func (w *Worth) String() string {
	return fmt.Sprintf("%d tokens less over %d more requests save $%.4f, and the compaction costs $%.4f", w.Freed, w.Turns, w.Saves, w.Costs)
}

// worthOf is whether compacting a request pays, nil where prices or sizes are unknown, or nothing costs anything.
//
// Every later request reads what is there from the provider's cache, so a compaction saves the price of reading what it frees,
// once a request; it costs the price of writing the rest to the cache anew instead of reading it, and the summary. How long a
// session still runs nobody knows, and what has lasted for n requests lasts for about n more. Model is true if a model writes
// the summary.
func (s *Session) worthOf(l Load, model bool) *Worth {
	price, ok := s.price(s.model)
	window, _ := s.window()
	input := s.input(l)
	rest := s.leaves(input, window)
	if !ok || input == 0 || rest >= input {
		return nil
	}
	w := &Worth{
		Freed:     input - rest,
		Rewritten: rest,
		Turns:     min(max(s.requests, l.Turns/2, leastTurns), mostTurns),
	}
	read, write := cachePrices(price)
	w.Saves = read * float64(w.Freed) * float64(w.Turns) / perMillion
	w.Costs = (write - read) * float64(w.Rewritten) / perMillion
	switch {
	case !model:
	case s.settings.CompactModel == "" || s.settings.CompactModel == s.model.name():
		w.Costs += (read*float64(input) + price.Output*summaryTokens) / perMillion
	default:
		provider, id := splitModel(s.settings.CompactModel)
		other, ok := s.price(Model{Provider: provider, ID: id})
		if !ok {
			return nil
		}
		w.Costs += (other.Input*float64(w.Freed) + other.Output*summaryTokens) / perMillion
	}
	return w
}

// cachePrices are what reading from the cache and writing to it costs; where the catalogue has no price of its own for
// them, that of other input holds.
func cachePrices(p llm.Price) (read, write float64) {
	read, write = p.CacheRead, p.CacheWrite
	if read == 0 {
		read = p.Input
	}
	if write == 0 {
		write = p.Input
	}
	return read, max(read, write)
}

// price is what a model costs; false if that is unknown, or nothing.
func (s *Session) price(m Model) (llm.Price, bool) {
	if m.Price != nil {
		return *m.Price, m.Price.Input > 0
	}
	p, ok := s.config.Catalogue.Price(m.Endpoint, m.Provider, m.ID)
	return p, ok && p.Input > 0
}

// Advice is how to have summaries written, by the prices of the agent's own model and of another one that is at hand.
type Advice struct {
	// Mode is same, the agent's own model and the whole of its request from the cache; or cross, the other model and an
	// excerpt.
	Mode string
	// Same and Cross are about what a summary of 100,000 tokens costs either way, in dollars.
	Same, Cross float64
	// Reason is one line for people.
	Reason string
}

// Advise compares the two ways to have a summary written. The own model writes the better one, since it has the whole of the
// conversation before it; another one is worth it only where reading the own cache is dear.
func Advise(own, other llm.Price) Advice {
	const context = 100_000
	read, _ := cachePrices(own)
	a := Advice{
		Mode:  "same",
		Same:  (read*context + own.Output*summaryTokens) / perMillion,
		Cross: (other.Input*context + other.Output*summaryTokens) / perMillion,
	}
	switch {
	case own.Input <= 0 || other.Input <= 0:
		a.Reason = "prices are not known: the agent's own model writes the better summary"
	case a.Cross < a.Same/2:
		a.Mode = "cross"
		a.Reason = fmt.Sprintf("the other model writes a summary for $%.3f instead of $%.3f; the agent's own writes the better one", a.Cross, a.Same)
	default:
		a.Reason = fmt.Sprintf("the agent's own model reads its cache for $%.3f, the other one costs $%.3f, and its own summary is the better one", a.Same, a.Cross)
	}
	return a
}
