package llm

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// allEvents reads a stream, "name|data" for each event.
func allEvents(r io.Reader) ([]string, error) {
	s := &events{r: bufio.NewReader(r)}
	var all []string
	for {
		ev, err := s.next()
		if err != nil {
			return all, err
		}
		all = append(all, ev.name+"|"+string(ev.data))
	}
}

func TestEvents(t *testing.T) {
	for _, tc := range []struct {
		name, stream string
		want         []string
	}{
		{"nothing", "", nil},
		{"one", "data: a\n\n", []string{"|a"}},
		{"no space", "data:a\n\n", []string{"|a"}},
		{"one space of two", "data:  a\n\n", []string{"| a"}},
		{"lines", "data: a\ndata\ndata: b\n\n", []string{"|a\n\nb"}},
		{"a name", "event: x\ndata: a\n\ndata: b\n\n", []string{"x|a", "|b"}},
		{"a name behind", "data: a\nevent: x\n\n", []string{"x|a"}},
		{"a name alone is no event, and is forgotten", "event: x\n\ndata: b\n\n", []string{"|b"}},
		{"comments and other fields", ": hi\n:\nid: 1\nretry: 5\nfoo\ndata: a\n: hi\n\n", []string{"|a"}},
		{"both ends", "data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", []string{"|a\nb", "|c"}},
		{"carriage returns", "data: a\rdata: b\r\rdata: c\r\r", []string{"|a\nb", "|c"}},
		{"all of them", "data: a\r\n\ndata: b\n\r\ndata: c\r\r\n", []string{"|a", "|b", "|c"}},
		{"the last one is open", "data: a\n\ndata: b\n", []string{"|a"}},
		{"the last line is open", "data: a\n\ndata: b", []string{"|a"}},
		{"but it is the end", "data: a\n\ndata: [DONE]", []string{"|a", "|[DONE]"}},
		{"the end, and its line", "data: [DONE] \r\n", []string{"|[DONE]"}},
		{"half of the end", "data: [DON", nil},
		{"an error field", "error: {}\n\n", []string{"error|{}"}},
		{"colons", "data: a: b\n\n", []string{"|a: b"}},
		{"a long one", "data: " + strings.Repeat("x", 200_000) + "\n\n", []string{"|" + strings.Repeat("x", 200_000)}},
		{"zero bytes", "data: a\x00b\n\n", []string{"|a\x00b"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"at once":      strings.NewReader(tc.stream),
				"byte by byte": iotest.OneByteReader(strings.NewReader(tc.stream)),
			} {
				got, err := allEvents(r)
				if diff := cmp.Diff(tc.want, got); diff != "" || !errors.Is(err, io.EOF) {
					t.Errorf("%s: %v (-want +got)\n%s", how, err, diff)
				}
			}
		})
	}
}

// TestEventsDoNotWait has a line that ends in a carriage return, and then nothing for a long time.
func TestEventsDoNotWait(t *testing.T) {
	r, w := io.Pipe()
	defer func() { _ = w.Close() }()
	go func() { _, _ = io.WriteString(w, "data: a\r\r") }()
	s := &events{r: bufio.NewReader(r)}
	if ev, err := s.next(); err != nil || string(ev.data) != "a" {
		t.Errorf("got %q, %v", ev.data, err)
	}
}

func TestEventsBroken(t *testing.T) {
	broken := errors.New("broken")
	got, err := allEvents(io.MultiReader(strings.NewReader("data: a\n\ndata: [DONE]"), iotest.ErrReader(broken)))
	if diff := cmp.Diff([]string{"|a"}, got); diff != "" || !errors.Is(err, broken) {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

// FuzzEvents checks that events do not depend on how a stream arrives, nor on how its lines end.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("event: x\ndata: a\n\n: hi\ndata: b\r\ndata: c\r\r"))
	f.Add([]byte("data: [DONE]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		want, err := allEvents(bytes.NewReader(data))
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		got, _ := allEvents(iotest.HalfReader(bytes.NewReader(data)))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("byte by byte (-want +got)\n%s", diff)
		}
		lines := bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
		got, _ = allEvents(bytes.NewReader(lines))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with line feeds (-want +got)\n%s", diff)
		}
	})
}
