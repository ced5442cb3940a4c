package sidecar

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// reader reads the lines of the extension, which may be of any length: a compact event holds a whole session.
type reader struct{ buf *bufio.Reader }

func newReader(in io.Reader) *reader { return &reader{bufio.NewReaderSize(in, 64<<10)} }

// errLine is wrapped by the errors of a line that is no event. The next line may be one.
var errLine = errors.New("the line is no event")

// next returns the next event. Blank lines are passed over. At the end it returns io.EOF, also where the last line is cut
// off: whoever wrote it is gone.
func (r *reader) next() (Event, error) {
	for {
		line, err := r.buf.ReadBytes('\n')
		if err != nil {
			return Event{}, err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return Event{}, fmt.Errorf("%w: %w", errLine, withoutContent(err))
		}
		return e, nil
	}
}

// withoutContent is an error of a decoder without what it quotes of the line, which may be the conversation.
func withoutContent(err error) error {
	if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("the member %s has another type than %s", bad.Field, bad.Type)
	}
	if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("it is no JSON from byte %d on", bad.Offset)
	}
	return errors.New("it cannot be read")
}

// writer writes lines, each of them whole.
type writer struct {
	mu  sync.Mutex
	out io.Writer
}

// send writes a line, if it is still wanted when its turn has come.
func (w *writer) send(l Line, wanted func() bool) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b) // ends with the line feed
	e.SetEscapeHTML(false)
	if err := e.Encode(l); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !wanted() {
		return nil
	}
	_, err := w.out.Write(b.Bytes())
	return err
}
