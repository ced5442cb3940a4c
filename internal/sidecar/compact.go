package sidecar

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/agents"
	"github.com/pemmican-dev/pemmican/format/pi"
	"github.com/pemmican-dev/pemmican/llm"
	"github.com/pemmican-dev/pemmican/preset"
	"github.com/pemmican-dev/pemmican/session"
	"github.com/pemmican-dev/pemmican/summary"
	"github.com/pemmican-dev/pemmican/token"
)

// compact makes the compaction of an event, with a summary that concentrates on focus.
func (r *running) compact(ctx context.Context, e Event, a session.Answer, focus string) result {
	r.mu.Lock()
	settings, model, previous := r.settings, r.model, r.previous
	r.mu.Unlock()
	doc, err := pi.DecodeForHook(r.sessionFile(e))
	if err != nil {
		return result{handBack: err.Error()}
	}
	t := doc.Transcript()
	if a.Model != "" && a.Model == refOf(previous) {
		model = previous // the conversation fits it, and the one in use has not answered yet
	}
	t.Model = model.ID // whose request the next one would be
	w := r.writerOf(e, settings, model, a.Mechanical, focus)
	plan, report, err := pemmican.Compact(ctx, t, r.options(e, t, settings, model, w))
	if err != nil {
		return result{handBack: err.Error()}
	}
	r.Log.Info("compaction", "outcome", report.Outcome, "before", report.TokensBefore, "after", report.TokensAfter, "mode", w.mode, "model", w.model)
	if plan.Summary == "" {
		return result{handBack: reasonOf(report), final: report.Outcome == pemmican.Unchanged, quotes: w.asker != nil}
	}
	made, err := doc.Compaction(plan)
	if err != nil {
		return result{handBack: err.Error()}
	}
	outcome := session.Outcome{
		Mode: w.mode, Model: w.model, Before: cmp.Or(e.TokensBefore, report.TokensBefore), After: report.TokensAfter, Asked: report.Asked,
	}
	c := &Compaction{Summary: made.Summary, FirstKeptEntryID: made.FirstKeptEntryID, TokensBefore: cmp.Or(e.TokensBefore, made.TokensBefore)}
	if w.asker != nil {
		price, own := r.priceOf(w.model, model), w.asker.usage.Cost.Total
		c.Usage = usageOf(w.asker.usage.priced(price))
		switch asked := report.Asked; {
		case asked == nil:
		case own > 0:
			asked.Dollars = &own
		case asked.Dollars == nil && price != (llm.Price{}):
			dollars := price.Cost(llm.Usage{Input: asked.Input, CacheRead: asked.CacheRead, CacheWrite: asked.CacheWrite, Output: asked.Output})
			asked.Dollars = &dollars
		}
	}
	d := details{
		Engine: pi.Engine, Mode: modes[outcome.Mode], Model: w.model, Version: r.Version, TokensBefore: outcome.Before, TokensAfter: outcome.After,
	}
	if err := json.Unmarshal(made.Files, &d); err != nil {
		return result{handBack: err.Error()}
	}
	if c.Details, err = json.Marshal(d); err != nil {
		return result{handBack: err.Error()}
	}
	return result{compaction: c, outcome: outcome}
}

// reasonOf is why nothing was compacted. That the full transcript goes on is not true here: the agent's own compaction does.
func reasonOf(report *pemmican.Report) string {
	return strings.TrimPrefix(report.Reason, "compaction failed, and the full transcript goes on: ")
}

// options are those of the compaction of an event. Counts are fitted to what the agent has reported.
func (r *running) options(e Event, t *pemmican.Transcript, settings session.Settings, model Model, w summaryWriter) pemmican.Options {
	status := r.session.Status()
	policy, target := policyOf(e, settings, status.Window)
	counter := token.Estimator{Vendor: model.Provider}
	fit := token.Calibrate(t, counter)
	counter.Ratio = fit.Ratio
	if t.HasSystem {
		fit.Overhead = pemmican.Overhead{}
	}
	return pemmican.Options{
		Window: status.Window, Target: target, Overhead: fit.Overhead, Counter: token.NewCache(counter, 0), Summarizer: w.summarizer,
		Policy: &policy, Tools: agents.Tools(), Compactions: status.Compactions, Original: r.hello.Session.File,
	}
}

// sessionFile is the session as a file of pi: what the event tells, a line for each entry. A session that is kept in
// memory only looks the same.
func (r *running) sessionFile(e Event) []byte {
	header := e.Header
	if len(header) == 0 || bytes.Equal(header, []byte("null")) {
		header, _ = json.Marshal(map[string]any{ //nolint:errchkjson // texts and a number can always be written
			"type": "session", "version": 3, "id": r.hello.Session.ID, "cwd": r.hello.Session.Dir,
		})
	}
	size := len(header) + 1
	for _, entry := range e.Entries {
		size += len(entry) + 1
	}
	b := append(make([]byte, 0, size), header...)
	for _, entry := range e.Entries {
		b = append(append(b, '\n'), entry...)
	}
	return append(b, '\n')
}

// policyOf is what is kept, and what the request comes down to in tokens. Unless the settings name a preset, the tail that
// stays is the one that pi's own compaction would keep.
func policyOf(e Event, settings session.Settings, window int) (pemmican.Policy, int) {
	policy := preset.Checkpoint()
	if own, ok := preset.ByName(settings.Preset); ok && settings.Preset != "" {
		policy = own
	}
	policy.OneByOne = false // a summary that fails is handed back
	if n := cmp.Or(settings.KeepRecent, e.KeepRecent); n > 0 {
		policy.TailTokens = n
	}
	policy.MinGain = settings.MinGain
	if policy.BestEffort {
		return policy, 1 // it is made as small as the policy has it
	}
	target := settings.TargetOf(e.TokensBefore, window)
	if e.TokensBefore > 0 {
		target = min(target, e.TokensBefore/2) // the agent has decided that it is time
	}
	return policy, target
}

// summaryWriter is who writes the summary.
type summaryWriter struct {
	summarizer  pemmican.Summarizer
	mode, model string
	asker       *asker // nil if no model is asked
}

// writerOf chooses who writes the summary. Model is the agent's own.
func (r *running) writerOf(e Event, settings session.Settings, model Model, mechanical bool, focus string) summaryWriter {
	own := refOf(model)
	ref := cmp.Or(settings.CompactModel, own)
	if ref == "mechanical" || mechanical {
		return summaryWriter{summarizer: summary.Mechanical{}, mode: "mechanical"}
	}
	w := summaryWriter{model: ref, mode: string(summary.ModeCross), asker: &asker{r: r, event: e.ID, model: ref}}
	provider, _, _ := strings.Cut(ref, "/")
	m := &summary.Model{
		Via: w.asker, Name: ref, Provider: provider, Mode: summary.ModeCross, Catalogue: r.Catalogue, Focus: focus,
		MaxWait: time.Duration(settings.MaxWait), Guard: r.session.Guard(), Content: contentIn(r.hello.Session.Dir), Dir: r.hello.Session.Dir, Log: r.Log,
	}
	if ref == own {
		m.Window = model.ContextWindow
		if own == r.ref() {
			m.Window = r.session.Status().Window // which may have been learned
		}
		if e.Reason != "overflow" { // the agent's own request does not fit, so an excerpt of it has to do
			m.Mode, w.mode = summary.ModeSame, string(summary.ModeSame)
		}
	}
	w.summarizer = m
	return w
}

// maxContent is how large a file may be of which a part is attached again, in bytes.
const maxContent = 1 << 20

// contentIn reads files of a folder for summary.Model.
func contentIn(dir string) func(path string) (string, bool) {
	return func(path string) (string, bool) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxContent {
			return "", false
		}
		data, err := os.ReadFile(path)
		return string(data), err == nil
	}
}

// priceOf is what a model costs, the zero value if unknown: as the agent says of the one that it uses, else as the
// catalogue does.
func (r *running) priceOf(ref string, used Model) llm.Price {
	if p := priceOf(used); p != nil && ref == refOf(used) {
		return *p
	}
	provider, id, _ := strings.Cut(ref, "/")
	m, _ := r.Catalogue.Find(provider, id)
	return m.Price
}
