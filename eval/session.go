package eval

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"sort"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/format/claudecode"
	"github.com/pemmican-dev/pemmican/format/detect"
	"github.com/pemmican-dev/pemmican/format/pi"
)

// Session is one recorded session. Its stretches are what its agent would have sent before each of its compactions, and
// at its end: no stretch has a compaction in its middle.
type Session struct {
	Name   string // the path below the folder that was read
	Format string

	doc       format.Document
	stretches []*pemmican.Transcript
}

// Load reads every session in a folder and the folders below it, in the order of their names. What is no transcript of
// a known format is left out, and told, one line for each file. The error is for a folder that cannot be read.
func Load(dir string) (sessions []Session, skipped []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = root.Close() }()
	files := root.FS()
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasPrefix(path.Ext(name), ".json") {
			return err
		}
		data, err := fs.ReadFile(files, name)
		var s Session
		if err == nil {
			s, err = read(name, data)
		}
		if err == nil {
			sessions = append(sessions, s)
		} else {
			skipped = append(skipped, name+": "+err.Error())
		}
		return nil
	})
	sort.Slice(sessions, func(i, j int) bool { return sessions[i].Name < sessions[j].Name })
	return sessions, skipped, err
}

// read decodes a session, and the file as it was before each of its compactions.
func read(name string, data []byte) (Session, error) {
	doc, err := detect.Decode(data, "")
	if err != nil {
		return Session{}, err
	}
	s := Session{Name: name, Format: doc.Format(), doc: doc}
	for _, end := range compactions(doc.Format(), data) {
		if before, err := detect.Decode(data[:end], doc.Format()); err == nil {
			s.stretches = append(s.stretches, before.Transcript())
		}
	}
	s.stretches = append(s.stretches, doc.Transcript())
	return s, nil
}

// compactions are the offsets of the lines in which a session file records a compaction.
func compactions(name string, data []byte) []int {
	var mark []byte
	switch name {
	case pi.Name:
		mark = []byte(`"type":"compaction"`)
	case claudecode.Name:
		mark = []byte(`"subtype":"compact_boundary"`)
	default:
		return nil
	}
	var out []int
	at := 0
	for line := range bytes.Lines(data) {
		// Only a member of the line's own object counts: a session may quote another one, with escaped quotes.
		if at > 0 && bytes.Contains(line, mark) {
			out = append(out, at)
		}
		at += len(line)
	}
	return out
}

const (
	messagesBefore = 60 // the least history
	messagesAfter  = 20 // the least future
)

// cuts are where a stretch is cut: at most n messages evenly spaced over its second half, with enough before and behind
// them, where no call waits for its result.
func cuts(t *pemmican.Transcript, n int) []int {
	whole := seams(t)
	from := max(messagesBefore, len(t.Messages)/2)
	to := len(t.Messages) - messagesAfter
	var out []int
	for k := range n {
		if to < from {
			break
		}
		at := from
		if n > 1 {
			at += (to - from) * k / (n - 1)
		}
		for at >= from && !whole[at] {
			at--
		}
		if at >= from && (len(out) == 0 || out[len(out)-1] < at) {
			out = append(out, at)
		}
	}
	return out
}
