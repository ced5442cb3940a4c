package summary

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format/detect"
	"github.com/pemmican-dev/pemmican/internal/formattest"
	"github.com/pemmican-dev/pemmican/llm"
	"github.com/pemmican-dev/pemmican/token"
)

// realText is a text that a model wrote over a real conversation, and what it had read.
type realText struct {
	name, text string
	source     gateSource
}

// realSummaries are the summaries that agents have left in real session files, with the conversation before them, as
// far as the file has it.
func realSummaries(t testing.TB) []realText {
	t.Helper()
	var out []realText
	for _, in := range formattest.Corpus(t, "corpus/pi/*", "corpus/claude-code/*") {
		at, boundary := 0, -1
		for raw := range bytes.Lines(in.Data) {
			begin := at
			at += len(raw)
			var line struct {
				Type, Subtype    string
				Summary          string
				IsCompactSummary bool
				Message          struct{ Content json.RawMessage }
			}
			if json.Unmarshal(raw, &line) != nil {
				continue
			}
			text := ""
			if line.Subtype == "compact_boundary" {
				boundary = begin
				continue
			}
			if boundary >= 0 {
				begin, boundary = boundary, -1 // Nothing is live behind it.
			}
			switch {
			case line.Type == "compaction":
				text = line.Summary
			case line.IsCompactSummary:
				if json.Unmarshal(line.Message.Content, &text) != nil {
					continue
				}
				_, text, _ = strings.Cut(text, "\n") // the runtime's frame
				text, _, _ = strings.Cut(text, "\nPlease continue the conversation from where we left")
			}
			if strings.TrimSpace(text) == "" {
				continue
			}
			doc, err := detect.Decode(in.Data[:begin], "")
			if err != nil {
				continue
			}
			tr := doc.Transcript()
			out = append(out, realText{in.Name, text, wholeRequest(tr, len(tr.Blocks))})
		}
	}
	return out
}

// wholeRequest drops all blocks before end.
func wholeRequest(t *pemmican.Transcript, end int) gateSource {
	r := &pemmican.SummaryRequest{Transcript: t, Counter: token.Estimator{}}
	for i := range t.Blocks[:end] {
		switch b := &t.Blocks[i]; {
		case b.Kind == pemmican.Summary:
			r.Previous = b.Text
		case t.Messages[b.Message].Role != pemmican.System:
			r.Dropped = append(r.Dropped, i)
		}
	}
	return gateSource{Request: r}
}

// TestRealSummaries: what real models have written is accepted, and refused where it stands for another conversation.
// It prints the figures that the bounds were chosen by.
func TestRealSummaries(t *testing.T) {
	all := realSummaries(t)
	var own []realText
	for _, s := range all {
		// Of some the conversation before is not in the file.
		tokens := newChecker(s.source).replaced()
		if has := (token.Estimator{}).Count(&pemmican.Block{Text: s.text}); tokens < 2*has {
			continue
		}
		own = append(own, s)
		got, err := accept(&llm.Reply{Text: s.text, Stop: llm.StopEnd}, s.source)
		total := 0
		for range namesIn(s.text) {
			total++
		}
		t.Logf("%s: %d bytes for %d tokens, %d names, flagged %d %q, cut %d lines, %v", s.name, len(s.text), tokens, total, len(got.Flagged), got.Flagged, got.Cut, err)
		if err != nil || got.Cut*10 > strings.Count(s.text, "\n") {
			t.Errorf("%s: a real summary is refused or cut: %v", s.name, err)
		}
	}
	refused, pairs := 0, 0
	for _, s := range all {
		for _, other := range own {
			if s.name == other.name {
				continue
			}
			pairs++
			got, err := accept(&llm.Reply{Text: s.text, Stop: llm.StopEnd}, other.source)
			if err != nil {
				refused++
			} else {
				t.Logf("%s for %s: flagged %d, cut %d of %d lines", s.name, other.name, len(got.Flagged), got.Cut, strings.Count(s.text, "\n"))
			}
		}
	}
	if len(own) == 0 || refused*10 < pairs*8 {
		t.Errorf("%d summaries have their conversation; only %d of %d are refused for another one", len(own), refused, pairs)
	}
	t.Logf("%d real summaries of %d have their conversation; %d of %d are refused for another one", len(own), len(all), refused, pairs)
}

// TestRealReports: the long texts of assistants tell what happened, as summaries do. They also propose, so some names in
// them are new.
func TestRealReports(t *testing.T) {
	const long = 1200 // bytes
	reasons := map[Reason]int{}
	n, flagged, cut := 0, 0, 0
	for _, in := range formattest.Corpus(t, "corpus/pi/*", "corpus/claude-code/*", "corpus/openai-chat/*", "corpus/anthropic-messages/*") {
		doc, err := detect.Decode(in.Data, "")
		if err != nil {
			continue
		}
		tr := doc.Transcript()
		for i := range tr.Blocks {
			b := &tr.Blocks[i]
			if b.Kind != pemmican.Text || tr.Messages[b.Message].Role != pemmican.Assistant || len(b.Text) < long {
				continue
			}
			head := &pemmican.Transcript{Messages: tr.Messages, Blocks: tr.Blocks[:i], Tools: tr.Tools}
			s := wholeRequest(head, i)
			if newChecker(s).replaced() < 4*len(b.Text) {
				continue
			}
			n++
			got, err := accept(&llm.Reply{Text: b.Text, Stop: llm.StopEnd}, s)
			if refusal, ok := errors.AsType[*Refusal](err); ok {
				reasons[refusal.Reason]++
				t.Logf("%s block %d: %v\n%.300s", in.Name, i, err, b.Text)
				continue
			}
			if len(got.Flagged) > 0 {
				flagged++
			}
			if got.Cut > 0 {
				cut++
				t.Logf("%s block %d: cut %d of %d lines, flagged %q", in.Name, i, got.Cut, strings.Count(b.Text, "\n"), got.Flagged)
			}
		}
	}
	refused := 0
	for _, of := range reasons {
		refused += of
	}
	if n == 0 || refused*20 > n || cut*10 > n {
		t.Errorf("of %d reports %d are refused, %d cut", n, refused, cut)
	}
	t.Logf("%d reports: %d flagged, %d of them cut, refused %v", n, flagged, cut, reasons)
}
