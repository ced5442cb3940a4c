package llm

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	// maxAnswer is how large an answer may be, in bytes.
	maxAnswer = 32 << 20
	// maxEvent is how large one event of a stream may be, in bytes.
	maxEvent = 16 << 20
)

// errTooLarge reports an answer, or an event, over its limit.
var errTooLarge = errors.New("the answer is larger than any that a model gives")

// bounded reads up to left bytes; a byte more is errTooLarge.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLarge
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, errTooLarge
	}
	return n, err
}

// event is one event of a stream.
type event struct {
	name string
	data []byte // valid until the next one is read
}

// events reads a stream by the rules of "Server-sent events" in the HTML standard. A byte order mark must have been
// passed over.
//
// Beyond the rules, a last event without its blank line counts if it is the [DONE] of OpenAI, since with it a provider
// says that nothing follows; and a field named error is the data of an event named so, as older llama.cpp sends it.
type events struct {
	r      *bufio.Reader
	line   []byte
	data   []byte
	skipLF bool // the last line ended in a carriage return, so a line feed belongs to it
}

// done is the data that ends a stream of OpenAI's.
var done = []byte("[DONE]")

// next returns the next event that has data. The error is io.EOF at the end of the stream, or that of the reader.
func (s *events) next() (event, error) {
	ev := event{}
	s.data = s.data[:0]
	for {
		err := s.readLine()
		if len(s.line) == 0 && err == nil { // a blank line ends an event
			if len(s.data) > 0 {
				ev.data = s.data[:len(s.data)-1]
				return ev, nil
			}
			ev.name = ""
			continue
		}
		name, value, _ := bytes.Cut(s.line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			ev.name = string(value)
		case "error":
			ev.name = "error"
			fallthrough
		case "data":
			if len(s.data)+len(value) > maxEvent {
				return event{}, errTooLarge
			}
			s.data = append(append(s.data, value...), '\n')
		}
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) && bytes.Equal(bytes.TrimSpace(s.data), done) {
			return event{name: ev.name, data: done}, nil
		}
		return event{}, err
	}
}

// readLine reads a line that a line feed, a carriage return, or both end. With an error the line is what came before.
func (s *events) readLine() error {
	s.line = s.line[:0]
	for {
		// What has arrived is looked at before more is waited for.
		if _, err := s.r.Peek(1); err != nil {
			return err
		}
		buf, _ := s.r.Peek(s.r.Buffered())
		if s.skipLF {
			s.skipLF = false
			if buf[0] == '\n' {
				_, _ = s.r.Discard(1)
				continue
			}
		}
		i := bytes.IndexAny(buf, "\r\n")
		if i >= 0 {
			s.skipLF = buf[i] == '\r'
			s.line = append(s.line, buf[:i]...)
			_, _ = s.r.Discard(i + 1)
			return nil
		}
		if len(s.line)+len(buf) > maxEvent {
			return errTooLarge
		}
		s.line = append(s.line, buf...)
		_, _ = s.r.Discard(len(buf))
	}
}
