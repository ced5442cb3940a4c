// Package cli is what the commands of the program share, and the MCP server with them: reading a FILE argument, writing
// without ever leaving half a file, numbers as people type them, tables, and the search for sessions on disk. What a
// compaction does is not decided here, nor in the commands.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/pemmican-dev/pemmican/format"
)

// The exit statuses of the program.
const (
	ExitDone     = 0 // done, or nothing to do
	ExitRefused  = 1 // refused, or findings; nothing was written
	ExitUnusable = 2 // unusable input or arguments, or an interrupt before anything was written
)

// Error is an error with the exit status that it ends the program with.
type Error struct {
	Status int
	// File is what the error is about, "" if it names that itself.
	File string
	// Msg is what went wrong, Mend what the person can do, "" if there is nothing to say.
	Msg, Mend string

	busy bool // the file is another one than a moment ago
}

// Error is one line: the file, what is wrong, and how to mend it.
func (e *Error) Error() string {
	s := e.Msg
	if e.File != "" {
		s = Clean(e.File) + ": " + s
	}
	if e.Mend != "" {
		s += "; " + e.Mend
	}
	return s
}

// Unusable is the error for input or arguments that nothing can be done with.
func Unusable(file, mend, msg string, args ...any) error {
	return &Error{Status: ExitUnusable, File: file, Msg: fmt.Sprintf(msg, args...), Mend: mend}
}

// Refused is the error for what could be done and will not be.
func Refused(file, mend, msg string, args ...any) error {
	return &Error{Status: ExitRefused, File: file, Msg: fmt.Sprintf(msg, args...), Mend: mend}
}

// Failed is an error that says nothing more: what there is to say stands in a report.
func Failed(status int) error { return &Error{Status: status} }

// Usage is an error in the arguments of a command, in words of our own where a library's name its own insides.
func Usage(command string, err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		why := bad.Unwrap()
		if _, ok := errors.AsType[*strconv.NumError](why); ok {
			why = errors.New("want a number")
			if bad.GetFlag().Value.Type() == "bool" {
				why = errors.New("want true or false")
			}
		}
		text = fmt.Sprintf("--%s %s: %s", bad.GetFlag().Name, Clean(quoted(bad.GetValue())), why)
	}
	return Unusable("", "\""+command+" --help\" says more", "%s", text)
}

// quoted is an argument in quotes where it would else not be seen.
func quoted(s string) string {
	if strings.TrimSpace(s) != s || s == "" {
		return strconv.Quote(s)
	}
	return s
}

// NotEmpty demands that every flag that was given has a value.
func NotEmpty(flags *pflag.FlagSet) error {
	var err error
	flags.Visit(func(f *pflag.Flag) {
		empty := f.Value.String() == ""
		if list, ok := f.Value.(pflag.SliceValue); ok {
			empty = len(list.GetSlice()) == 0 || slices.ContainsFunc(list.GetSlice(), func(s string) bool { return strings.TrimSpace(s) == "" })
		}
		if empty && err == nil {
			err = Unusable("", "give it a value, or leave it out", "--%s is empty", f.Name)
		}
	})
	return err
}

// Message is what is shown of err, "" if there is nothing to say: not to somebody who has stopped reading, nor one who has
// interrupted the program.
func Message(err error) string {
	var e *Error
	switch {
	case err == nil, errors.As(err, &e) && e.Msg == "", errors.Is(err, context.Canceled), errors.Is(err, syscall.EPIPE):
		return ""
	case errors.As(err, &e):
		return e.Error()
	}
	return strings.Join(strings.Fields(err.Error()), " ") // cobra lists suggestions on lines of their own
}

// Status is the exit status that err ends the program with. What is no Error comes from the parsing of arguments, or
// from the system, and counts as unusable.
func Status(err error) int {
	var e *Error
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE):
		return ExitDone
	case errors.As(err, &e):
		return e.Status
	}
	return ExitUnusable
}

// About puts the file's name before an error that is about it.
func About(file string, err error) error {
	var e *Error
	var path *fs.PathError
	var link *os.LinkError
	var bad *format.Error
	switch {
	case err == nil || errors.As(err, &e) || errors.Is(err, context.Canceled) || errors.Is(err, syscall.EPIPE):
		return err
	case errors.As(err, &path):
		return Unusable(file, "", "%s", path.Err)
	case errors.As(err, &link):
		return Unusable(file, "", "%s", link.Err)
	case errors.As(err, &bad):
		msg := bad.Msg
		if bad.Line > 0 {
			msg = "line " + strconv.Itoa(bad.Line) + ": " + msg
		}
		mend := bad.Mend
		if mend == "" && errors.Is(err, format.ErrNotWritable) {
			mend = "--dry-run shows what would be done"
		}
		return Unusable(file, mend, "%s", msg)
	case errors.Is(err, format.ErrNotWritable):
		return Unusable(file, "--dry-run shows what would be done", "%s", err)
	}
	return Unusable(file, "", "%s", err)
}

// Clean makes a text safe to show in a terminal, on one line: what is no graphic character, or turns the direction of the
// text around it, is shown as an escape.
func Clean(s string) string {
	plain := func(r rune) bool {
		return r != utf8.RuneError && !unicode.IsControl(r) && !unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r == '\u200d'
	}
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case plain(r):
			b.WriteString(s[i : i+n])
		case r == '\n', r == '\r', r == '\t':
			b.WriteByte(' ')
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}
