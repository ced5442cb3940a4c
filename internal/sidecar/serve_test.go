package sidecar

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/pemmican-dev/pemmican/internal/config"
	"github.com/pemmican-dev/pemmican/session"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		_ = os.RemoveAll(programDir)
		os.Exit(status)
	}))
}

// fragile are settings whose loading panics when it is told to.
type fragile struct{ broken atomic.Bool }

func (f *fragile) File() string { return "" }

func (f *fragile) Origin(string) string { return "" }

func (f *fragile) Load() (session.Settings, []config.Notice) {
	if f.broken.Load() {
		panic("a word of the conversation")
	}
	return session.DefaultSettings(), nil
}

// A panic in one event is logged, without its value, and the process lives on.
func TestPanic(t *testing.T) {
	var log bytes.Buffer
	f := &fragile{}
	x, stop := serve(t, Config{
		Settings: func(string) Loader { return f }, Log: slog.New(slog.NewJSONHandler(&log, nil)),
	}, good)
	x.call(hello(t.TempDir()))
	f.broken.Store(true)
	if l := x.call(Event{Name: "settled", Usage: usage(215_000)}); l.Say == nil {
		t.Errorf("%+v", l)
	}
	f.broken.Store(false)
	if l := x.call(compactEvent(40)); l.Compaction == nil {
		t.Errorf("handed back: %s", l.HandBack)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "which is a bug") || strings.Contains(log.String(), "a word of the conversation") {
		t.Errorf("log: %s", log.String())
	}
}

// A panic while a compaction is made hands back to pi's own, and nothing stays in flight.
func TestPanicInCompaction(t *testing.T) {
	x, stop := serve(t, Config{}, nil)
	x.call(hello(t.TempDir()))
	id := x.send(compactEvent(40))
	ask := x.ask()
	x.raw(`{"reply":{"n":1,"stop":"stop","text":"x"}}` + "\n")
	if l := x.answerTo(id, "compact"); ask.N != 1 || l.HandBack == "" {
		t.Errorf("%+v", l)
	}
	s := &server{Config: Config{Log: slog.New(slog.DiscardHandler)}}
	out := result{handBack: ownFault}
	if s.guarded("compact", func() { out = (*running)(nil).compact(t.Context(), Event{}, session.Answer{}, "") }) || out.handBack != ownFault {
		t.Errorf("%+v", out)
	}
	if l := x.call(Event{Name: "tool", Usage: usage(300_000)}); l.Launch == nil {
		t.Errorf("%+v", l)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// brokenPipe is a stream whose reader has gone.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// An extension that does not listen any more is no error: the end of its stream follows.
func TestDeaf(t *testing.T) {
	var in bytes.Buffer
	for _, e := range []Event{hello(t.TempDir()), compactEvent(40), {Name: "settled", Usage: usage(300_000)}} {
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(data, '\n'))
	}
	c := Config{In: &in, Out: brokenPipe{}, Settings: func(string) Loader { return fixed(session.DefaultSettings()) }}
	if err := Serve(t.Context(), c); err != nil {
		t.Error(err)
	}
}

// brokenInput fails in the middle.
type brokenInput struct{}

var errBroken = errors.New("the disk is on fire")

func (brokenInput) Read([]byte) (int, error) { return 0, errBroken }

func TestStreams(t *testing.T) {
	settings := func(string) Loader { return fixed(session.DefaultSettings()) }
	if err := Serve(t.Context(), Config{In: brokenInput{}, Out: io.Discard, Settings: settings}); !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
	in, write := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- Serve(ctx, Config{In: in, Out: io.Discard, Settings: settings}) }()
	cancel()
	if err := <-done; err != nil {
		t.Errorf("%v", err)
	}
	_ = write.Close()
}

// Whatever arrives, each whole line is an event or an error, and the reader comes to the end.
func FuzzReader(f *testing.F) {
	for _, line := range []string{
		"", "\n\n", "{}\n", `{"id":1,"event":"hello","session":{"id":"a"}}` + "\n", `{"entries":[{"a":1},2]}` + "\n{", "[]\n", "\xff\x00\n",
		`{"id":1e9}` + "\n" + `{"usage":{"tokens":null}}` + "\n",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newReader(bytes.NewReader(data))
		lines := 0
		for {
			e, err := r.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil && !errors.Is(err, errLine) {
				t.Fatalf("%v", err)
			}
			if lines++; lines > bytes.Count(data, []byte("\n")) {
				t.Fatalf("more events than lines in %q", data)
			}
			if err == nil {
				if _, err := json.Marshal(e); err != nil {
					t.Fatalf("%v", err)
				}
			}
		}
	})
}
