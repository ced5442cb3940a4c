package cli

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pemmican-dev/pemmican/agents"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/format/detect"
)

// Input is what a FILE argument named, read.
type Input struct {
	// Name is what messages call it.
	Name string
	// Path is where it lies, "" for the standard input.
	Path string
	// Data is its content, which nobody changes.
	Data []byte
	// Info is the state in which the file was read; nil for what is no regular file.
	Info fs.FileInfo
	// Agent is the name of the agent whose folders hold the file, "" if none does.
	Agent string

	doc format.Document
}

// Stream reports whether the input is no file that could be read again, written to, or have a file beside it: the
// standard input, or a pipe.
func (in *Input) Stream() bool { return in.Info == nil }

// Read reads what ref names: "-" for the standard input, a path, "latest", "pi:latest", "claude:latest", a session id. A
// file that changes meanwhile is an error.
func Read(ctx context.Context, stdin io.Reader, ref string) (*Input, error) {
	if ref == "-" {
		in := &Input{Name: "standard input"}
		var b bytes.Buffer
		if _, err := b.ReadFrom(stdin); err != nil {
			return nil, About(in.Name, err)
		}
		in.Data = b.Bytes()
		return in, ctx.Err()
	}
	if ref == "" {
		return nil, Unusable("", "give a path, -, latest, pi:latest, claude:latest, or a session id", "the name of the file is empty")
	}
	found, err := agents.Find(os.Getenv, ref)
	if err != nil {
		return nil, &Error{Status: ExitUnusable, Msg: cleanLines(err.Error())}
	}
	in := &Input{Name: found[0].Path, Path: found[0].Path, Agent: found[0].Agent}
	if err := in.read(); err != nil {
		return nil, About(in.Name, err)
	}
	return in, ctx.Err()
}

// cleanLines is Clean for an error that lists sessions, one a line.
func cleanLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = Clean(lines[i])
	}
	return strings.Join(lines, "\n")
}

func (in *Input) read() error {
	f, err := os.Open(in.Path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	before, err := f.Stat()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if before.Mode().IsRegular() {
		b.Grow(int(before.Size()) + bytes.MinRead)
	}
	if _, err := b.ReadFrom(f); err != nil {
		return err
	}
	in.Data = b.Bytes()
	if !before.Mode().IsRegular() {
		return nil
	}
	in.Info = before
	after, err := os.Stat(in.Path)
	if err != nil {
		return err
	}
	if !os.SameFile(before, after) || before.Size() != after.Size() || !before.ModTime().Equal(after.ModTime()) || int64(len(in.Data)) != after.Size() {
		return Unusable(in.Name, "wait until its agent rests", "the file changed while it was read")
	}
	return nil
}

// Decode decodes the input. Format is the name of its format, or "" to find it by its content.
func (in *Input) Decode(name string) (format.Document, error) {
	if len(in.Data) == 0 {
		return nil, Unusable(in.Name, "give a session file or a request body", "it is empty")
	}
	doc, err := detect.Decode(in.Data, name)
	if err != nil {
		if binary(in.Data) {
			return nil, Unusable(in.Name, "give a session file or a request body", "it is a binary file, no transcript")
		}
		return nil, About(in.Name, err)
	}
	in.doc = doc
	return doc, nil
}

// binary reports whether data is no text: JSON in UTF-8 never holds a zero byte.
func binary(data []byte) bool { return bytes.IndexByte(data[:min(len(data), 8192)], 0) >= 0 }

// Session returns the decoded input as a session, for which needs there is a reason: a command or a flag.
func (in *Input) Session(needs string) (format.Session, error) {
	s, ok := in.doc.(format.Session)
	switch {
	case !ok:
		return nil, Unusable(in.Name, "write a new file with -o", "%s is for session files, and this is a request body (%s)", needs, in.doc.Format())
	case in.Stream():
		return nil, Unusable(in.Name, "name the session file itself, or write with -o", "%s changes the file, and this is a stream", needs)
	}
	return s, nil
}

// Resume is the command that goes on with the session in the file at path: the input's own, or a copy of it. It is "" where
// there is none.
func (in *Input) Resume(path string) string {
	s, ok := in.doc.(format.Session)
	if !ok || path == "" || path == "-" {
		return ""
	}
	agent, ok := agents.ForFormat(s.Format())
	if !ok {
		return ""
	}
	command := agent.Resume(s.Info(), path)
	if path != in.Path && !strings.Contains(command, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))) {
		return "" // an agent that goes by the id would take up the old session
	}
	return command
}
