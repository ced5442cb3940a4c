package cli

import (
	"io"
	"os"
	"strings"
	"sync"
)

// disk serialises every change on disk with Interrupted, so that an interrupt finds either all of a change or none, and
// remembers what an interrupt has to tell.
var disk struct {
	sync.Mutex
	temporary map[string]bool // files that are not yet what they shall be
	subject   string          // what the program is at, for people
	began     string          // a stream that has got a part of the result, "" if none has
	done      []string        // what has been done, each in a few words
	progress  *Progress
}

// workOn says which file the program is at.
func workOn(name string) {
	disk.Lock()
	defer disk.Unlock()
	disk.subject = Clean(name)
}

// did notes that a result is where it shall be. The caller holds disk.
func did(what string) {
	disk.began = ""
	disk.done = append(disk.done, what)
}

// Interrupted removes what is half written, and keeps the disk as it is from then on, for the program is to end now. It
// returns one line that says what has been done, and the exit status.
func Interrupted() (message string, status int) {
	disk.Lock()
	progress := disk.progress
	disk.Unlock()
	progress.Done()
	disk.Lock() // for good
	for path := range disk.temporary {
		_ = os.Remove(path)
	}
	status = ExitUnusable
	switch {
	case disk.began != "":
		message = "interrupted; " + disk.began + " has got a part of the result only"
	case len(disk.done) > 0:
		message, status = "interrupted, but it was already "+strings.Join(disk.done, " and "), ExitDone
	default:
		message = "interrupted; nothing was written"
	}
	if disk.subject != "" {
		message = disk.subject + ": " + message
	}
	return message, status
}

// Stream is w, which an interrupt knows to have got something as soon as it has.
func Stream(w io.Writer, name string) io.Writer { return stream{w, name} }

type stream struct {
	w    io.Writer
	name string
}

func (s stream) Write(b []byte) (int, error) {
	disk.Lock()
	disk.began = s.name
	disk.Unlock()
	return s.w.Write(b)
}

// send writes all of data to a stream.
func send(w io.Writer, name string, data []byte) error {
	if _, err := Stream(w, name).Write(data); err != nil {
		return err
	}
	disk.Lock()
	defer disk.Unlock()
	did("written to " + name)
	return nil
}
