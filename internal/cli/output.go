package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
)

// Output says where the result of a command goes.
type Output struct {
	// Path is a file, "-" for the standard output, or "" for a file beside the input: its name with Suffix before its
	// extension.
	Path, Suffix string
	// Append appends what is new to the input itself instead.
	Append bool
	// Force replaces a file that exists, and appends to one that has just changed.
	Force bool
	// Note is what Write could not make sure of, for people.
	Note string
}

// Conflict refuses flags that say two places.
func (o *Output) Conflict() error {
	if o.Append && o.Path != "" {
		return Unusable("", "give one of them", "--append and -o name two places for one result")
	}
	return nil
}

// Settle finds out where the result goes, and refuses early what Write would refuse late. Stdout is the standard output.
func (o *Output) Settle(in *Input, stdout io.Writer) error {
	if o.Append {
		_, err := in.Session("--append")
		return err
	}
	o.Path = o.target(in)
	if o.Path == "-" {
		if f, ok := stdout.(*os.File); ok {
			if info, err := f.Stat(); err == nil && in.Is(info) {
				return in.itself("standard output")
			}
		}
		return nil
	}
	info, err := os.Stat(o.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if dir, err := os.Stat(filepath.Dir(o.Path)); err != nil || !dir.IsDir() {
			return Unusable(o.Path, "make it, or name another with -o", "there is no folder %s", Clean(filepath.Dir(o.Path)))
		}
		return nil
	case err != nil:
		return About(o.Path, err)
	case info.IsDir():
		return Unusable(o.Path, "name a file in it", "it is a folder")
	case in.Is(info):
		return in.itself(o.Path)
	case info.Mode().IsRegular() && !o.Force:
		return exists(o.Path)
	}
	return nil
}

// Ready refuses early what Write would refuse late of an input that is appended to: for who is about to spend more on the
// result than time.
func (o *Output) Ready(in *Input) error {
	if !o.Append {
		return nil
	}
	_, err := in.untouched(o.Force)
	return err
}

// itself refuses to write the result over the input.
func (in *Input) itself(path string) error {
	mend := "name another file with -o"
	if _, err := in.Session(""); err == nil {
		mend = "--append adds to it, or -o names another file"
	}
	return Unusable(path, mend, "the output is the input")
}

// target is the path where the result goes that is not appended.
func (o *Output) target(in *Input) string {
	switch {
	case o.Path != "":
		return o.Path
	case in.Stream():
		return "-"
	}
	return beside(in.Path, o.Suffix)
}

// Original is the absolute path of the file where what a compaction drops can be read afterwards, "" if there is none: the
// input, or the output where that holds all of the input's lines.
func (o *Output) Original(in *Input) string {
	if _, ok := in.doc.(format.Session); ok && !o.Append {
		if path := o.target(in); path != "-" {
			if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() {
				return absolute(path)
			}
		}
	}
	if in.Stream() {
		return ""
	}
	return absolute(in.Path)
}

// beside puts suffix before the extension of path.
func beside(path, suffix string) string {
	dir, base := filepath.Split(path)
	ext := filepath.Ext(base)
	if ext == base { // .hidden
		ext = ""
	}
	return dir + strings.TrimSuffix(base, ext) + suffix + ext
}

func exists(path string) error {
	return Unusable(path, "--force replaces it, -o names another", "it exists")
}

// Write writes data, which was made from in, to where Settle said, and returns the path; "-" for the standard output.
// Nothing, or all of it, is there afterwards, but for a stream or a device, which may have got a part.
func (o *Output) Write(ctx context.Context, stdout io.Writer, in *Input, data []byte) (path string, err error) {
	switch {
	case o.Append:
		o.Note, err = in.Append(ctx, data, o.Force)
		return in.Path, err
	case o.Path == "-":
		return "-", unwritten("standard output", send(stdout, "the standard output", data))
	}
	perm := fs.FileMode(0o666)
	if in.Info != nil {
		perm = in.Info.Mode().Perm() // a session that others cannot read stays so
	}
	if target, err := os.Stat(o.Path); err == nil && in.Is(target) { // it may have become so since it was settled
		return "", in.itself(o.Path)
	}
	return o.Path, unwritten(o.Path, create(ctx, o.Path, data, perm, o.Force, func() { did("written to " + Clean(o.Path)) }))
}

// unwritten is About for a file that could not be written.
func unwritten(file string, err error) error {
	if system, ok := errors.AsType[*fs.PathError](err); ok {
		return Unusable(file, "nothing was written; -o names another place", "%s", system.Err)
	}
	return About(file, err)
}

// Deliver applies the plan of a compaction and writes what comes out, or the input as it is to a stream where there is
// nothing to do. It notes in c where that went. Its error may be one of refusal; then nothing was written, and c says so.
func (o *Output) Deliver(ctx context.Context, stdout io.Writer, in *Input, c *Compaction, plan *pemmican.Plan) error {
	data := in.Data
	switch {
	case c.Outcome == pemmican.Refused:
		return Failed(ExitRefused)
	case plan.Empty() && o.Path != "-":
		return nil
	case !plan.Empty():
		var err error
		if data, err = in.apply(plan); err != nil {
			return About(in.Name, err)
		}
	}
	path, err := o.Write(ctx, stdout, in, data)
	if err != nil {
		c.Refuse(err.Error())
		return err
	}
	c.Output, c.Resume = &path, in.Resume(path)
	return nil
}

// Show writes the report of a compaction: for people to stderr, as JSON to stdout, or to stderr where stdout has the
// result.
func (o *Output) Show(stdout, stderr io.Writer, in *Input, c *Compaction, asJSON bool) error {
	if asJSON {
		if o.Path == "-" {
			return o.shown(c.Output, stderr, WriteJSON(stderr, c))
		}
		return o.shown(c.Output, stdout, WriteJSON(stdout, c))
	}
	lines := append([]string{Heading(Clean(in.Name)) + "  " + c.Format, ""}, c.Lines(Width(stderr))...)
	return o.shown(c.Output, stderr, Print(stderr, append(lines, o.fate(c.Output, c.Resume)...)...))
}

// shown is what becomes of an error that kept the report of a result from being written to w: it says where the result is.
// Whoever does not read the standard error is not told there, and what was done is done.
func (o *Output) shown(output *string, w io.Writer, err error) error {
	name, isErr := "standard output", w == io.Writer(os.Stderr)
	if isErr {
		name = "standard error"
	}
	err = About(name, err)
	var e *Error
	switch {
	case output == nil || !errors.As(err, &e):
		return err
	case isErr:
		return nil
	}
	how := "written"
	if o.Append {
		how = "appended"
	}
	return &Error{Status: e.Status, File: e.File, Msg: e.Msg, Mend: "the report is lost, but the result was " + how + " to " + Clean(*output)}
}

// fate says for people what became of the result.
func (o *Output) fate(path *string, resume string) []string {
	if path == nil || *path == "-" {
		return nil
	}
	out := []string{""}
	if o.Append {
		out = append(out, "  appended to "+Clean(*path)+"; \"pemmican undo\" takes it back")
	} else {
		out = append(out, "  written to "+Clean(*path))
	}
	if resume != "" {
		out = append(out, "  go on with: "+Heading(resume))
	}
	if o.Note != "" {
		out = append(out, "  note: "+o.Note)
	}
	return out
}

// create writes a file: under a temporary name in the same folder, to the disk, and then under its own name, which must
// be free unless force is given. Named, if not nil, is called when it has it, while nobody can interrupt. No library that
// does this was found to fit: they replace what is there.
func create(ctx context.Context, path string, data []byte, perm fs.FileMode, force bool, named func()) error {
	if info, err := os.Stat(path); err == nil {
		switch {
		case info.IsDir():
			return Unusable(path, "name a file in it", "it is a folder")
		case !info.Mode().IsRegular():
			return writeDevice(path, data)
		case !force:
			return exists(path)
		}
		perm = info.Mode().Perm()
		if path, err = filepath.EvalSymlinks(path); err != nil { // the file is replaced, not the link to it
			return err
		}
	}
	f, err := createTemp(filepath.Dir(path), perm)
	if err != nil {
		return err
	}
	temp := f.Name()
	defer func() { // removes nothing once the file has its own name
		disk.Lock()
		defer disk.Unlock()
		_ = os.Remove(temp)
		delete(disk.temporary, temp)
	}()
	if err := fill(ctx, f, data); err != nil {
		_ = f.Close()
		return err
	}
	if force {
		// The umask must not take away what the file that is replaced has.
		_ = f.Chmod(perm)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	disk.Lock()
	defer disk.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if force {
		err = os.Rename(temp, path)
	} else {
		err = nameNew(temp, path)
	}
	if err != nil {
		return err
	}
	if named != nil {
		named()
	}
	syncFolder(filepath.Dir(path))
	return nil
}

// chunk is how much is written between two looks at an interrupt.
const chunk = 1 << 20

func fill(ctx context.Context, f *os.File, data []byte) error {
	for len(data) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := f.Write(data[:min(len(data), chunk)])
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

func createTemp(dir string, perm fs.FileMode) (*os.File, error) {
	disk.Lock()
	defer disk.Unlock()
	for n := 0; ; n++ {
		name := filepath.Join(dir, fmt.Sprintf(".pemmican-%d-%d.tmp", os.Getpid(), n))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm|0o200) //nolint:gosec // the person named the folder
		if errors.Is(err, fs.ErrExist) && n < 1000 {
			continue
		}
		if err != nil {
			return nil, err
		}
		if disk.temporary == nil {
			disk.temporary = map[string]bool{}
		}
		disk.temporary[name] = true
		return f, nil
	}
}

// nameNew gives a file a name that must be free. A hard link fails where the name is taken; where the file system has
// none the name is taken first, and then replaced.
func nameNew(temp, path string) error {
	err := os.Link(temp, path)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return exists(path)
	}
	claim, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return exists(path)
	}
	if err != nil {
		return err
	}
	_ = claim.Close()
	if err := os.Rename(temp, path); err != nil {
		_ = os.Remove(path)
		return err
	}
	return nil
}

// syncFolder makes a new name last. Some file systems refuse, and then there is nothing to be done.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

// writeDevice writes to what is no file: a pipe, a terminal.
func writeDevice(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(send(f, Clean(path), data), f.Close())
}

// rest is how long a session file must have been left alone before anything is appended to it.
const rest = 30 * time.Second

// untouched makes sure that nobody else works on the input's file: it is as it was read, no other process has it open,
// and, unless force is given, it was left alone for a while. The note says what could not be told.
func (in *Input) untouched(force bool) (note string, err error) {
	f, err := os.Open(in.Path)
	if err != nil {
		return "", About(in.Name, err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return "", About(in.Name, err)
	}
	if same, err := in.same(f, info); err != nil {
		return "", About(in.Name, err)
	} else if !same {
		return "", in.changed()
	}
	// A time to come is one of a clock that is wrong: nobody knows how old the file is.
	if age := time.Since(info.ModTime()); age < rest && !force {
		return "", Refused(in.Name, "wait, or give --force if its agent has ended",
			"the file changed in the last %d seconds, so its agent may be at work", int(rest.Seconds()))
	}
	name, known := holder(info)
	if name != "" {
		return "", Refused(in.Name, "end it first: it holds the conversation in memory and would not see the change", "%s has the file open", name)
	}
	if !known {
		note = "which programs have the file open cannot be told here: end its agent first"
	}
	return note, nil
}

// same reports whether f, in the state info, holds what was read.
func (in *Input) same(f io.Reader, info fs.FileInfo) (bool, error) {
	if !os.SameFile(info, in.Info) || info.Size() != int64(len(in.Data)) {
		return false, nil
	}
	buf := make([]byte, min(chunk, len(in.Data)+1))
	rest := in.Data
	for {
		n, err := f.Read(buf)
		if n > len(rest) || !bytes.Equal(buf[:n], rest[:n]) {
			return false, nil
		}
		rest = rest[n:]
		if errors.Is(err, io.EOF) {
			return len(rest) == 0, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// Append appends to the input's file what data has more than it, in one write, if nobody else works on it.
func (in *Input) Append(ctx context.Context, data []byte, force bool) (note string, err error) {
	if !bytes.HasPrefix(data, in.Data) {
		return "", Unusable(in.Name, "write a new file with -o, and report this", "the result does not begin with the file, which is a bug")
	}
	if note, err = in.untouched(force); err != nil {
		return "", err
	}
	return note, in.change(ctx, "appended to", os.O_WRONLY|os.O_APPEND, func(f *os.File) error {
		before := int64(len(in.Data))
		more := data[before:]
		n, err := f.Write(more)
		if err == nil && n < len(more) {
			err = io.ErrShortWrite
		}
		if err != nil {
			if info, statErr := f.Stat(); statErr == nil && info.Size() == before+int64(n) {
				_ = f.Truncate(before) // no half line stays
			}
			return err
		}
		if info, err := f.Stat(); err == nil && info.Size() != int64(len(data)) {
			return Unusable(in.Name, "look at it with \"pemmican check\"", "another program wrote to the file in the same moment")
		}
		return f.Sync()
	})
}

// Truncate cuts the input's file to its first n bytes, if nobody else works on it.
func (in *Input) Truncate(ctx context.Context, n int) (note string, err error) {
	// What stands behind n is Pemmican's own, so that nobody else can have been the last to write.
	if note, err = in.untouched(true); err != nil {
		return "", err
	}
	return note, in.change(ctx, "undone in", os.O_WRONLY, func(f *os.File) error {
		return errors.Join(f.Truncate(int64(n)), f.Sync())
	})
}

// change opens the input's file and changes it, in one piece as far as an interrupt is concerned. What says in a few words
// what happens to the file.
func (in *Input) change(ctx context.Context, what string, flag int, write func(*os.File) error) error {
	f, err := os.OpenFile(in.Path, flag, 0)
	if err != nil {
		return unchanged(in.Name, err)
	}
	defer func() { _ = f.Close() }()
	disk.Lock()
	defer disk.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if info, err := f.Stat(); err != nil || !os.SameFile(info, in.Info) || info.Size() != int64(len(in.Data)) {
		return in.changed()
	}
	if err := write(f); err != nil {
		return unchanged(in.Name, err)
	}
	did(what + " " + Clean(in.Name))
	return nil
}

// changed says that the file is no longer what was read.
func (in *Input) changed() error {
	return Unusable(in.Name, "run the command again when its agent rests", "the file has changed since it was read")
}

// unchanged is About for a file that could not be changed.
func unchanged(file string, err error) error {
	if system, ok := errors.AsType[*fs.PathError](err); ok {
		return Unusable(file, "it is as it was; -o writes a new file", "%s", system.Err)
	}
	return About(file, err)
}
