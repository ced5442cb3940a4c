package eval

import (
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/summary"
)

// readArtifacts is what a context says about files: the calls that are left, and the ledger of its summary. Of a file
// that both name, a reader believes what stands last.
func readArtifacts(context *pemmican.Transcript, tools pemmican.Tools) map[string]artifact {
	files := map[string]artifact{}
	from := 0
	for i := range context.Blocks {
		if context.Blocks[i].Kind != pemmican.Summary {
			continue
		}
		body, ours := pemmican.Unseal(context.Blocks[i].Text)
		ledger, ok := summary.ParseLedger(body)
		if !ours || !ok {
			continue
		}
		artifacts(slice(context, from, i), tools, files)
		from = i
		for _, f := range ledger.Files {
			a := artifact{op: "edit", outcome: "ok"}
			switch f.Op {
			case summary.Read:
				a.op = "read"
			case summary.Mentioned:
				continue
			}
			if f.Failed {
				a.outcome = "failed"
			}
			files[f.Path] = a
		}
	}
	artifacts(slice(context, from, len(context.Blocks)), tools, files)
	return files
}

// slice is a range of the blocks of a transcript, for who does not look at its messages.
func slice(t *pemmican.Transcript, from, to int) *pemmican.Transcript {
	return &pemmican.Transcript{Blocks: t.Blocks[from:to]}
}

// forgive removes what an earlier summary in the history already told of files, and no call does: that is no error.
func forgive(history *pemmican.Transcript, want, got map[string]artifact) {
	for path := range got {
		if _, ok := want[path]; ok {
			continue
		}
		for i := range history.Blocks {
			if history.Blocks[i].Kind == pemmican.Summary && strings.Contains(history.Blocks[i].Text, path) {
				delete(got, path)
				break
			}
		}
	}
}
