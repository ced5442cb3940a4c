package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/pemmican-dev/pemmican/internal/jsonspan"
	"github.com/pemmican-dev/pemmican/session"
)

// Error is a setting that cannot be changed, or read.
type Error struct {
	File string // "" if it is about none
	Msg  string
	Mend string // what the person can do
}

// Error is one line: the file, what is wrong, and how to mend it.
func (e *Error) Error() string {
	s := e.Msg
	if e.File != "" {
		s = oneLine(e.File) + ": " + s
	}
	if e.Mend != "" {
		s += "; " + e.Mend
	}
	return s
}

// Set gives a key another value in a settings file, which is made if it is not there. The value is in words, as in the
// environment. The rest of the file stays as it is, byte for byte, with its comments. Nothing is written unless the file
// was usable, or becomes so by this. The error is an [*Error].
func Set(path, name, value string) error {
	k, ok := keyNamed(name)
	if !ok {
		return &Error{Msg: noSuchKey(name), Mend: "\"pemmican config\" lists them"}
	}
	v, err := k.read(value)
	if err != nil {
		return &Error{Msg: fmt.Sprintf("%s: %q: %v", name, value, err), Mend: "nothing was changed"}
	}
	// The settings with this one value must make sense by themselves, and whatever is passed over elsewhere is refused here.
	alone := []entry{{name: name, value: v}}
	_, passed, err := lay(session.DefaultSettings(), alone)
	if err == nil && len(passed) > 0 {
		err = errors.New(strings.TrimPrefix(passed[0], ": "))
	}
	if err != nil {
		return &Error{Msg: err.Error(), Mend: "nothing was changed"}
	}
	switch real, err := filepath.EvalSymlinks(path); {
	case err == nil:
		path = real // A link to the file stays one.
	case errors.Is(err, fs.ErrNotExist) && isLink(path):
		return &Error{File: path, Msg: "it is a link to a file that is not there", Mend: "make that file, or take the link away; nothing was changed"}
	}
	old, err := readFile(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return &Error{File: path, Msg: err.Error()}
	}
	edited, err := edit(path, old, k, encoded(v))
	if err != nil {
		return err
	}
	return replace(path, edited, missing, old)
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// edit is a settings file with a value, in JSON, given to a key.
func edit(path string, old []byte, k key, value string) ([]byte, error) {
	var before []entry
	edited := old
	if isJSON(path) && len(bytes.TrimSpace(old)) == 0 {
		edited = []byte("{}\n")
	}
	find, change := treeOfTOML, editTOML
	if isJSON(path) {
		find, change = treeOfJSON, editJSON
	}
	_, places, err := find(edited)
	if err == nil {
		before, err = entries(path, edited)
	}
	if err != nil {
		return nil, &Error{File: placeOf(path, err), Msg: err.Error(), Mend: "mend that first; nothing was changed"}
	}
	edited = change(edited, places, k.name, value)
	// Whatever the way of writing was, the file must say now what it said, and this.
	after, err := entries(path, edited)
	if err != nil || !says(after, before, k.name, value) {
		msg := fmt.Sprintf("the place of %s is written in a way that cannot be changed from here", k.name)
		return nil, &Error{File: path, Msg: msg, Mend: "change it by hand; nothing was changed"}
	}
	for i := range after { // the person sees the lines as they are now
		if at := slices.IndexFunc(before, func(e entry) bool { return e.name == after[i].name }); at >= 0 {
			after[i].line = before[at].line
		}
	}
	if _, _, err := lay(session.DefaultSettings(), after); err != nil {
		return nil, &Error{File: placeOf(path, err), Msg: err.Error(), Mend: "mend that first; nothing was changed"}
	}
	return edited, nil
}

// says reports whether a file says what another one does, and the value of one key.
func says(after, before []entry, name, value string) bool {
	plain := func(all []entry) map[string]string {
		out := map[string]string{}
		for _, e := range all {
			out[e.name] = encoded(e.value)
		}
		return out
	}
	want := plain(before)
	want[name] = value
	return reflect.DeepEqual(plain(after), want)
}

// editTOML puts a value in the place of the one that is there; else behind the last line of its table, which is made at the
// end if need be.
func editTOML(data []byte, places []place, name, value string) []byte {
	table, last := "", name
	if t, l, ok := strings.Cut(name, "."); ok {
		table, last = t+".", l
	}
	line := last + " = " + value + "\n"
	at, header := -1, false
	for _, p := range places {
		switch {
		case p.name == name:
			return splice(data, p.value, " = "+value)
		case p.name == table:
			header = true
			at = lineEnd(data, p.whole.End)
		case strings.HasPrefix(p.name, table) && !strings.HasSuffix(p.name, ".") && (header || table == "" && !strings.Contains(p.name, ".")):
			at = lineEnd(data, p.whole.End)
		}
	}
	switch {
	case at >= 0:
	case table == "":
		at = 0 // In front of the first table, whatever comments there are.
		if bytes.HasPrefix(data, []byte("#:schema")) {
			at = lineEnd(data, 0) // An editor wants it first.
		}
	default:
		at, line = len(data), "["+strings.TrimSuffix(table, ".")+"]\n"+line
		if at > 0 {
			line = "\n" + line
		}
	}
	if at > 0 && data[at-1] != '\n' {
		line = "\n" + line
	}
	return splice(data, jsonspan.Span{Start: at, End: at}, line)
}

// lineEnd is where the line that a position is in ends, behind its line break.
func lineEnd(data []byte, at int) int {
	if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(data)
}

// editJSON puts a value in the place of the one that is there, else behind the last member of its object.
func editJSON(data []byte, places []place, name, value string) []byte {
	table, last, nested := strings.Cut(name, ".")
	if !nested {
		table, last = "", name
	}
	object, err := jsonspan.Scan(data, 0)
	if err != nil {
		return data // it was scanned before
	}
	indent := "  "
	for _, p := range slices.Backward(places) { // of two with one name the last counts
		if p.name == name {
			return splice(data, p.value, value)
		}
	}
	if nested {
		i := slices.IndexFunc(places, func(p place) bool { return p.name == table })
		if i < 0 {
			value, last = "{"+encoded(last)+": "+value+"}", table
		} else {
			object, indent = places[i].value, "    "
		}
	}
	text := "\n" + indent + encoded(last) + ": " + value
	end := object.End - 1
	for end > object.Start+1 && strings.IndexByte(" \t\r\n", data[end-1]) >= 0 {
		end--
	}
	if end > object.Start+1 {
		text = "," + text
	}
	if end == object.End-1 {
		text += "\n" + indent[2:]
	}
	return splice(data, jsonspan.Span{Start: end, End: end}, text)
}

func splice(data []byte, s jsonspan.Span, text string) []byte {
	return slices.Concat(data[:s.Start], []byte(text), data[s.End:])
}

// replace puts a file in the place of another one in one step, unless that has changed meanwhile.
func replace(path string, data []byte, missing bool, old []byte) (err error) {
	fail := func(err error) error {
		return &Error{File: path, Msg: "it cannot be written: " + plainly(err).Error(), Mend: "nothing was changed"}
	}
	mode := fs.FileMode(0o600)
	if missing {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fail(err)
		}
	} else if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".pemmican-*")
	if err != nil {
		return fail(err)
	}
	defer func() {
		if err != nil {
			_ = temp.Close()
			_ = os.Remove(temp.Name())
		}
	}()
	if _, err := temp.Write(data); err != nil {
		return fail(err)
	}
	if err := errors.Join(temp.Chmod(mode), temp.Sync(), temp.Close()); err != nil {
		return fail(err)
	}
	now, err := readFile(path)
	if missing != errors.Is(err, fs.ErrNotExist) || !missing && (err != nil || !bytes.Equal(now, old)) {
		return &Error{File: path, Msg: "somebody else has changed it at this moment", Mend: "try again"}
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return fail(err)
	}
	return nil
}
