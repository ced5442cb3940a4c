package llm

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

var (
	// errSilent reports a stream that said nothing but that it is over, as a llama.cpp does whose window is full.
	errSilent = errors.New("the answer ended before it began")
	// errNothing reports an answer in which nothing is said.
	errNothing = errors.New("there is nothing of a reply in the answer")
	// errNotJSON reports an answer that is no protocol's.
	errNotJSON = errors.New("the answer is no JSON")
)

// reported is an error that the provider reports inside of an answer: its JSON, or its text.
type reported []byte

func (r reported) Error() string { return string(r) }

// report returns the error that stands in an answer, without what else there is, which may be text of anybody's.
func report(v node) reported {
	return slices.Concat([]byte(`{"error":`), v.span.Of(v.data), []byte("}"))
}

// decoder takes a protocol's answer, in pieces or whole.
type decoder interface {
	// take takes one event of a stream.
	take(name string, v node) error
	// whole takes a plain answer; false if it is none of the protocol's.
	whole(v node) (bool, error)
	// complete reports whether the provider has said that the reply is.
	complete() bool
	// over reports whether the stream has nothing more to say.
	over() bool
	// reply returns what has been taken.
	reply() *Reply
	// size returns how many runes have arrived, and whether anything has for which the provider wants to be paid.
	size() (runes int, any bool)
}

// decoder returns a new one.
func (a API) decoder() decoder {
	switch a {
	case Anthropic:
		return &anthropicReply{}
	case Responses:
		return &responsesReply{}
	default:
		return &chatReply{}
	}
}

// read reads an answer, streamed or plain. Beside errors of the reader, and of JSON, it returns the ones above.
func read(d decoder, body io.Reader, progress func(Progress)) error {
	r := bufio.NewReaderSize(&bounded{body, maxAnswer}, 32<<10)
	first, err := firstByte(r)
	switch {
	case errors.Is(err, io.EOF):
		return errNothing
	case err != nil:
		return err
	case first == '<':
		return errNotJSON
	case first == '{', first == '[':
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if err := readWhole(d, data); err != nil {
			return err
		}
		if n, _ := d.size(); n > 0 && progress != nil {
			progress(Progress{Runes: n})
		}
		return nil
	}
	return readStream(d, r, progress)
}

// firstByte passes over a byte order mark and whitespace.
func firstByte(r *bufio.Reader) (byte, error) {
	for mark := true; ; mark = false {
		b, err := r.Peek(1)
		if err != nil {
			return 0, err
		}
		switch c := b[0]; {
		case mark && c == 0xEF:
			if b, _ := r.Peek(3); string(b) != "\uFEFF" {
				return c, nil
			}
			_, _ = r.Discard(3)
		case c == ' ', c == '\t', c == '\r', c == '\n':
			_, _ = r.Discard(1)
		default:
			return c, nil
		}
	}
}

func readWhole(d decoder, data []byte) error {
	v, err := parseNode(data)
	switch {
	case errors.Is(err, jsonspan.ErrTruncated):
		return io.ErrUnexpectedEOF
	case err != nil:
		return errNotJSON
	case isError(v):
		return reported(data)
	}
	ok, err := d.whole(v)
	if err == nil && !ok {
		return reported(data)
	}
	return err
}

func readStream(d decoder, r *bufio.Reader, progress func(Progress)) error {
	stream := &events{r: r}
	seen, runes := false, 0
	for {
		ev, err := stream.next()
		switch data := bytes.TrimSpace(ev.data); {
		case errors.Is(err, io.EOF) && seen:
			return nil
		case errors.Is(err, io.EOF):
			return errNothing
		case err != nil:
			return err
		case bytes.Equal(data, done) && seen:
			return nil
		case bytes.Equal(data, done):
			return errSilent
		case !bytes.HasPrefix(data, []byte("{")):
			if ev.name == "error" {
				return reported(bytes.Clone(data))
			}
			// Some proxies send words to keep the connection open.
		default:
			v, err := parseNode(data)
			if err != nil {
				return fmt.Errorf("an event of the answer is damaged: %w", err)
			}
			if ev.name == "error" || isError(v) {
				return reported(bytes.Clone(data))
			}
			seen = true
			if err := d.take(ev.name, v); err != nil {
				return err
			}
			if n, _ := d.size(); n > runes && progress != nil {
				runes = n
				progress(Progress{Runes: n})
			}
			if d.over() {
				return nil
			}
		}
	}
}

// isError reports whether what came in place of a reply, or of a piece of one, is an error.
func isError(v node) bool {
	if v.get("type").is("error") || v.get("object").is("error") {
		return true
	}
	e := v.get("error")
	return e.str() != "" || e.kind() == jsonspan.KindObject && !e.empty()
}

// draft is a reply in the making: what the decoders share.
type draft struct {
	model                    string
	text, reasoning, refusal strings.Builder
	reasoned                 bool
	calls                    []*draftCall
	newest                   map[int]*draftCall // by index
	stop                     Stop
	stopReason               string
	usage                    usage
	finished                 bool // the provider has said that this is all
	runes                    int
}

// draftCall is a call in the making.
type draftCall struct {
	id, name string
	args     strings.Builder
}

// add appends to one of the texts.
func (d *draft) add(b *strings.Builder, s string) {
	b.WriteString(s)
	d.runes += utf8.RuneCountInString(s)
}

// think appends reasoning, which may be none to read.
func (d *draft) think(s string) {
	d.reasoned = true
	d.add(&d.reasoning, s)
}

// call returns a new call.
func (d *draft) call(index int, id, name string) *draftCall {
	c := &draftCall{id: id, name: name}
	d.calls = append(d.calls, c)
	if d.newest == nil {
		d.newest = map[int]*draftCall{}
	}
	d.newest[index] = c
	return c
}

func (d *draft) size() (int, bool) { return d.runes, d.runes > 0 || d.reasoned || len(d.calls) > 0 }

func (d *draft) complete() bool { return d.finished }

func (d *draft) over() bool { return d.finished }

// reply returns the reply. A normal end is one only if the answer was whole, and no refusal.
func (d *draft) reply() *Reply {
	r := &Reply{
		Model: d.model, Text: d.text.String(), Reasoning: d.reasoning.String(), Reasoned: d.reasoned, Refusal: d.refusal.String(),
		StopReason: d.stopReason, Usage: d.usage.report(),
	}
	for _, c := range d.calls {
		r.Calls = append(r.Calls, Call{Name: c.name, Args: c.args.String()})
	}
	if d.finished {
		r.Stop = d.stop
	}
	if r.Stop == StopEnd && r.Refusal != "" {
		r.Stop = StopFiltered
	}
	return r
}
