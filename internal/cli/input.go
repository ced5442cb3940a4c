package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/pemmican-dev/pemmican"
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

	stdin fs.FileInfo // the file that a shell has put in the place of the standard input, nil if it has not
	mark  int         // bytes of the byte order mark that doc does not know of
	doc   format.Document
}

// Stream reports whether the input is no file that could be read again, written to, or have a file beside it: the
// standard input, or a pipe.
func (in *Input) Stream() bool { return in.Info == nil }

// Is reports whether the input is the file whose state is info.
func (in *Input) Is(info fs.FileInfo) bool {
	return in.Info != nil && os.SameFile(in.Info, info) || in.stdin != nil && os.SameFile(in.stdin, info)
}

// Open reads and decodes what ref names: "-" for the standard input, a path, "latest", "pi:latest", "claude:latest", a
// session id. Format is the name of its format, or "" to find it by its content. A file that changes meanwhile is an
// error. "latest" passes over what is no session that can be read, and says so on stderr.
func Open(ctx context.Context, stdin io.Reader, stderr io.Writer, ref, format string) (*Input, format.Document, error) {
	if ref == "-" {
		in, err := readStdin(stdin)
		if err != nil {
			return nil, nil, err
		}
		return in.opened(ctx, format)
	}
	workOn(ref)
	if ref == "" {
		return nil, nil, Unusable("", "give a path, -, latest, pi:latest, claude:latest, or a session id", "the name of the file is empty")
	}
	found, err := agents.Find(os.Getenv, ref)
	if err != nil {
		return nil, nil, notFound(ref, err)
	}
	if isLatest(ref) {
		return openLatest(ctx, stderr, found, format)
	}
	in, err := readFile(found[0])
	if err != nil {
		return nil, nil, err
	}
	return in.opened(ctx, format)
}

// isLatest reports whether ref means the latest session, of all agents or of one.
func isLatest(ref string) bool {
	const latest = "latest"
	name, rest, ok := strings.Cut(ref, ":")
	if !ok {
		return ref == latest
	}
	_, known := agents.Named(name)
	return known && rest == latest
}

// notFound says that nothing has the name ref.
func notFound(ref string, err error) error {
	if system, ok := errors.AsType[*fs.PathError](err); ok && !isLatest(ref) {
		return About(ref, system)
	}
	return &Error{Status: ExitUnusable, Msg: cleanLines(err.Error())}
}

// cleanLines is Clean for an error that lists sessions, one a line.
func cleanLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = Clean(lines[i])
	}
	return strings.Join(lines, "\n")
}

// mostPassedOver is how many files that were passed over are named.
const mostPassedOver = 3

// openLatest opens the first of files that holds a session with anything in it.
func openLatest(ctx context.Context, stderr io.Writer, files []agents.SessionFile, name string) (*Input, format.Document, error) {
	for i, f := range files {
		in, doc, why, err := tryLatest(ctx, f, name)
		if err != nil {
			return nil, nil, err
		}
		if why == "" {
			if i > mostPassedOver {
				err = Printf(stderr, "note: and %s more", Count(i-mostPassedOver))
			}
			return in, doc, err
		}
		if i < mostPassedOver {
			if err := Printf(stderr, "note: %s: passed over: %s", Clean(f.Path), why); err != nil {
				return nil, nil, err
			}
		}
	}
	return nil, nil, Unusable("", "name one by its path to see more", "of %s none can be read as a session", Plural(len(files), "file"))
}

// tryLatest opens one file. Why says for what reason it is no session that anybody means by the latest; an error is
// about one that may be.
func tryLatest(ctx context.Context, f agents.SessionFile, name string) (in *Input, doc format.Document, why string, err error) {
	in, err = readFile(f)
	if err == nil {
		in, doc, err = in.opened(ctx, name)
	}
	var e *Error
	switch {
	case errors.As(err, &e) && !e.busy:
		return nil, nil, e.Msg, nil
	case err != nil:
		return nil, nil, "", err
	}
	if _, ok := doc.(format.Session); !ok {
		return nil, nil, "it is a request body (" + doc.Format() + "), no session", nil
	}
	if len(doc.Transcript().Messages) == 0 {
		return nil, nil, "it holds no message", nil
	}
	return in, doc, "", nil
}

// readStdin reads the standard input to its end.
func readStdin(stdin io.Reader) (*Input, error) {
	in := &Input{Name: "standard input"}
	workOn(in.Name)
	size := int64(0)
	if f, ok := stdin.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			in.stdin, size = info, info.Size()
		}
	}
	var err error
	if in.Data, err = readAll(stdin, size); err != nil {
		return nil, About(in.Name, err)
	}
	return in, nil
}

// readFile reads a file. A file that changes meanwhile is an error.
func readFile(f agents.SessionFile) (*Input, error) {
	in := &Input{Name: f.Path, Path: f.Path, Agent: f.Agent}
	workOn(in.Name)
	if err := in.read(); err != nil {
		return nil, About(in.Name, err)
	}
	return in, nil
}

// Snapshot reads and decodes a file for somebody who is not going to write anything, while its agent may: of what is being
// appended to it, the lines that are whole are taken. Name is that of its format, or "" to find it by its content. What is
// no regular file, or larger than most bytes, is an error. It is safe for concurrent use.
func Snapshot(ctx context.Context, f agents.SessionFile, name string, most int64) (*Input, format.Document, error) {
	in := &Input{Name: f.Path, Path: f.Path, Agent: f.Agent}
	info, err := os.Stat(in.Path)
	switch {
	case err != nil:
		return nil, nil, About(in.Name, err)
	case !info.Mode().IsRegular():
		return nil, nil, Unusable(in.Name, "name a file", "it is no regular file")
	case info.Size() > most:
		return nil, nil, Unusable(in.Name, "\"pemmican inspect\" takes files of any size", "it has %s bytes, and %s are the most here",
			Count(int(info.Size())), Count(int(most)))
	}
	err = in.read()
	if e, ok := errors.AsType[*Error](err); ok && e.busy {
		if end := bytes.LastIndexByte(in.Data, '\n'); end >= 0 {
			in.Data, err = in.Data[:end+1], nil
		}
	}
	if err != nil {
		return nil, nil, About(in.Name, err)
	}
	doc, err := in.Decode(name)
	if err != nil {
		return nil, nil, err
	}
	return in, doc, ctx.Err()
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
	size := int64(0)
	if before.Mode().IsRegular() {
		size = before.Size()
	}
	if in.Data, err = readAll(f, size); err != nil {
		return err
	}
	if !before.Mode().IsRegular() {
		return nil
	}
	in.Info = before
	after, err := os.Stat(in.Path)
	if err != nil {
		return err
	}
	if !os.SameFile(before, after) || before.Size() != after.Size() || !before.ModTime().Equal(after.ModTime()) || int64(len(in.Data)) != after.Size() {
		return &Error{Status: ExitUnusable, File: in.Name, Msg: "the file changed while it was read", Mend: "wait until its agent rests", busy: true}
	}
	return nil
}

// readAll reads r to its end, which is expected after size bytes. What comes without a size is gathered in pieces that are
// joined once: a buffer that grows leaves several times its size behind.
func readAll(r io.Reader, size int64) ([]byte, error) {
	const least, most = 64 << 10, 4 << 20
	var pieces [][]byte
	total := 0
	piece := make([]byte, 0, max(size+1, least)) // the byte more meets the end
	for {
		n, err := r.Read(piece[len(piece):cap(piece)])
		piece = piece[:len(piece)+n]
		total += n
		switch {
		case errors.Is(err, io.EOF):
			if len(pieces) == 0 {
				return piece, nil
			}
			return slices.Concat(append(pieces, piece)...), nil
		case err != nil:
			return nil, err
		}
		if len(piece) == cap(piece) {
			pieces = append(pieces, piece)
			piece = make([]byte, 0, min(max(total/4, least), most))
		}
	}
}

// ownLimit is the memory limit that limitMemory has set.
var ownLimit int64 = math.MaxInt64

// limitMemory keeps the program within a small multiple of an input of n bytes: without a limit the collector lets twice
// what is in use pile up. A limit that the environment sets stays (GOMEMLIMIT).
func limitMemory(n int) {
	if debug.SetMemoryLimit(-1) != ownLimit {
		return
	}
	limit := int64(32<<20) + 13*int64(n)/4
	if ownLimit == math.MaxInt64 || limit > ownLimit {
		ownLimit = limit
		debug.SetMemoryLimit(limit)
	}
}

// opened is what Open returns for an input that has been read.
func (in *Input) opened(ctx context.Context, name string) (*Input, format.Document, error) {
	limitMemory(len(in.Data))
	doc, err := in.Decode(name)
	if err != nil {
		return nil, nil, err
	}
	return in, doc, ctx.Err()
}

// byteOrderMark is what some editors put before a text in UTF-8.
const byteOrderMark = "\uFEFF"

// Decode decodes the input. Format is the name of its format, or "" to find it by its content. A byte order mark before a
// format that has none is passed over, and stays where it is.
func (in *Input) Decode(name string) (format.Document, error) {
	if len(in.Data) == 0 {
		return nil, Unusable(in.Name, "give a session file or a request body", "it is empty")
	}
	doc, err := detect.Decode(in.Data, name)
	if rest, marked := bytes.CutPrefix(in.Data, []byte(byteOrderMark)); err != nil && marked {
		if again, againErr := detect.Decode(rest, name); againErr == nil {
			doc, err, in.mark = again, nil, len(byteOrderMark)
		}
	}
	if err != nil {
		return nil, in.unreadable(name, err)
	}
	in.doc = doc
	return doc, nil
}

// text is what doc was decoded from.
func (in *Input) text() []byte { return in.Data[in.mark:] }

// apply is the input with the plan applied to it.
func (in *Input) apply(plan *pemmican.Plan) ([]byte, error) {
	data, err := in.doc.Apply(plan)
	if err != nil || in.mark == 0 {
		return data, err
	}
	return slices.Concat(in.Data[:in.mark], data), nil
}

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
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	agent, ok := agents.ForFormat(s.Format())
	if !ok {
		return ""
	}
	return agent.Resume(os.Getenv, s.Info(), path)
}

// place is a position in a text, for people. A line is named as in an editor, without commas.
func place(data []byte, offset int) string {
	offset = min(max(offset, 0), len(data))
	line := bytes.Count(data[:offset], []byte("\n"))
	return fmt.Sprintf("line %d, byte %s", line+1, Count(offset-bytes.LastIndexByte(data[:offset], '\n')))
}

// absolute is the path as it is found from anywhere, "" if it cannot be told or not be written down as text.
func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil || path == "" || Clean(abs) != abs {
		return ""
	}
	return abs
}
