package sidecar

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/pemmican-dev/pemmican/internal/config"
	"github.com/pemmican-dev/pemmican/llm"
	"github.com/pemmican-dev/pemmican/session"
)

// Config says what a sidecar works with.
type Config struct {
	// In and Out are the streams to the extension.
	In  io.Reader
	Out io.Writer
	// Version is Pemmican's, for the details of a compaction.
	Version string
	// Settings returns the loader of the settings that hold for an agent whose own folder is agentDir.
	Settings func(agentDir string) Loader
	// StateDir is where the state of sessions is kept. "" keeps none.
	StateDir string
	// LiveDir is the folder of the live channel. "" is no live channel.
	LiveDir string
	// Catalogue knows windows and prices. Defaults to llm.DefaultCatalogue().
	Catalogue *llm.Catalogue
	// Language is the language of the texts where the settings say auto.
	Language string
	// Warnings are told to the person at hello.
	Warnings []string
	// LogFile is where Log goes, "" for nowhere. People are told of it.
	LogFile string
	// Log gets a line for each event and decision, without a word of the conversation. Defaults to none.
	Log *slog.Logger
}

// Loader loads the settings.
type Loader interface {
	// Load returns the settings that are in force now, and what the person should know about them. It is called before
	// each event, so it should be quick where nothing has changed.
	Load() (session.Settings, []config.Notice)
	// File is where a person can change them, and Origin where one of them comes from, which may be a variable.
	File() string
	Origin(key string) string
}

// server is a sidecar.
type server struct {
	Config
	out  writer
	asks asks
	work sync.WaitGroup // events and hooks that are worked on

	mu      sync.Mutex
	running *running // the session, nil before hello and after end
	badLine sync.Once
}

// Serve answers the events of an extension until its end of the stream, or until ctx is cancelled. The error is one of
// the streams themselves: a line that is no event is passed over, and so is an extension that has gone.
func Serve(ctx context.Context, c Config) error {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Catalogue == nil {
		c.Catalogue = llm.DefaultCatalogue()
	}
	s := &server{Config: c, out: writer{out: c.Out}}
	ctx, cancel := context.WithCancel(ctx)
	defer s.work.Wait()
	defer cancel()
	defer s.end()

	type read struct {
		e   Event
		err error
	}
	lines := make(chan read)
	go func() {
		r := newReader(c.In)
		for {
			e, err := r.next()
			select {
			case lines <- read{e, err}:
			case <-ctx.Done():
				return
			}
			if err != nil && !errors.Is(err, errLine) {
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			s.Log.Info("stopped", "reason", ctx.Err())
			return nil
		case l := <-lines:
			switch {
			case errors.Is(l.err, errLine):
				s.bad(l.err)
			case errors.Is(l.err, io.EOF):
				s.Log.Info("the extension has closed its stream")
				return nil
			case l.err != nil:
				return fmt.Errorf("reading from the extension: %w", l.err)
			default:
				s.take(ctx, l.e)
			}
		}
	}
}

// bad reports a line that is no event: the first one to the person, for it means that the extension is broken.
func (s *server) bad(err error) {
	s.Log.Error("a bad line", "reason", err.Error())
	s.badLine.Do(func() {
		s.write(Line{Notices: []Notice{warning("the extension has sent a line that was passed over: " + err.Error())}})
	})
}

// write sends a line. An extension that has gone is told nothing; the end of its stream follows.
func (s *server) write(l Line) { s.writeIf(l, func() bool { return true }) }

func (s *server) writeIf(l Line, wanted func() bool) {
	if err := s.out.send(l, wanted); err != nil {
		s.Log.Warn("the extension does not listen any more", "reason", err.Error())
	}
}

// take handles an event. What may take long is worked on beside, so that other events go on.
func (s *server) take(ctx context.Context, e Event) {
	r := s.current()
	switch e.Name {
	case "":
		switch {
		case e.Reply != nil:
			if c := s.asks.end(e.Reply.N); c != nil {
				c <- *e.Reply
			}
		case e.Cancel != 0 && r != nil:
			r.cancelEvent(e.Cancel)
		}
		return
	case "hello":
		l := Line{}
		s.guarded(e.Name, func() { l = s.hello(ctx, e) })
		l.ID = e.ID
		s.write(l)
		return
	case "end":
		s.end()
		s.write(Line{ID: e.ID})
		return
	}
	if r == nil {
		l := Line{ID: e.ID}
		if e.Name == "compact" {
			l.HandBack = "the session has not begun"
		}
		s.write(l)
		return
	}
	r.refresh()
	switch e.Name {
	case "compact":
		r.began(e) //nolint:contextcheck // the session has a context of its own, which ends with it
	case "compacted":
		r.answer(e, func() Line { return r.compacted(e) })
	case "compact-failed":
		r.answer(e, func() Line { return r.notCompacted(e) })
	case "tool":
		r.answer(e, func() Line { return r.tool(e) })
	case "settled":
		r.answer(e, func() Line { return r.settled(e) })
	case "model":
		r.answer(e, func() Line { return r.switched(e) })
	case "usage":
		r.answer(e, func() Line { return r.replied(e) })
	case "status":
		r.answer(e, func() Line { return r.status() })
	default:
		r.answer(e, func() Line { return Line{} }) // a newer extension
	}
}

// guarded calls handle, and reports whether it came to its end. A panic is a bug; the process lives on, and with it the
// session.
func (s *server) guarded(event string, handle func()) (ok bool) {
	defer func() {
		if p := recover(); p != nil { // its value may hold a word of the conversation
			s.Log.Error("a panic, which is a bug", "event", event, "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			ok = false
		}
	}()
	handle()
	return true
}

func (s *server) current() *running {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running
}

// replace puts another session in place of the current one, nil for none, which ends.
func (s *server) replace(r *running) {
	s.mu.Lock()
	before := s.running
	s.running = r
	s.mu.Unlock()
	if before != nil {
		before.end()
	}
}

func (s *server) end() { s.replace(nil) }

func warning(text string) Notice { return Notice{Level: "warning", Text: text} }

// noticesOf are notices of a level.
func noticesOf(level string, texts []string) []Notice {
	var out []Notice
	for _, text := range texts {
		out = append(out, Notice{Level: cmp.Or(level, "info"), Text: text})
	}
	return out
}
