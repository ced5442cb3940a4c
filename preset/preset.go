// Package preset has the policies of four systems that compact transcripts, as plain values. They are what Pemmican's
// own policy is measured against, and a start for people who know one of these systems.
//
// A rule of Pemmican's is stronger than a preset: the first task stays verbatim, units stay whole, a plan that gains
// nothing changes nothing.
package preset

import (
	"sort"

	"github.com/pemmican-dev/pemmican"
)

// Handoff keeps the person's own messages, within 20,000 bytes, and puts one summary behind them.
func Handoff() pemmican.Policy {
	return pemmican.Policy{
		Name:         "handoff",
		PersonBytes:  20_000,
		Place:        pemmican.Last,
		SummaryShare: 80,
		BestEffort:   true,
	}
}

// Anchored keeps six messages at the end and up to eight older ones that edited, planned, or failed in more than one
// way; superseded reads become a line.
func Anchored() pemmican.Policy {
	return pemmican.Policy{
		Name:           "anchored",
		StubMedia:      true,
		Superseded:     []pemmican.ToolRole{pemmican.ReadTool, pemmican.SearchTool, pemmican.ListTool},
		TailMessages:   6,
		AnchorMessages: 8,
		Score:          pemmican.AnchorScore{Edit: 10, Plan: 7, Error: 3, Threshold: 5},
		Place:          pemmican.First,
		SummaryShare:   80,
		SummaryBytes:   4_000,
		BestEffort:     true,
	}
}

// Checkpoint keeps the newest 20,000 tokens and lets a summary in front stand for the rest.
func Checkpoint() pemmican.Policy {
	return pemmican.Policy{
		Name:          "checkpoint",
		TailTokens:    20_000,
		Place:         pemmican.First,
		SummaryShare:  80,
		SummaryTokens: 13_107,
		BestEffort:    true,
	}
}

// Prune cuts every result to 600 bytes, and then lets the oldest steps go but for the last two calls; what belongs to
// no call stays where it is.
func Prune() pemmican.Policy {
	return pemmican.Policy{
		Name:          "prune",
		ResultBytes:   600,
		CutAllResults: true,
		TailCalls:     2,
		Head:          pemmican.HeadLeading,
		KeepMessages:  true,
		SummaryShare:  80,
		SummaryBytes:  4_000,
		OneByOne:      true,
		BestEffort:    true,
	}
}

var byName = map[string]func() pemmican.Policy{
	"anchored":   Anchored,
	"checkpoint": Checkpoint,
	"default":    pemmican.DefaultPolicy,
	"handoff":    Handoff,
	"prune":      Prune,
}

// Names are the names that ByName knows, sorted.
func Names() []string {
	names := make([]string, 0, len(byName))
	for name := range byName {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// ByName returns the policy of that name.
func ByName(name string) (pemmican.Policy, bool) {
	f, ok := byName[name]
	if !ok {
		return pemmican.Policy{}, false
	}
	return f(), true
}
