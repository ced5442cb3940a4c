package pitest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pemmican-dev/pemmican/internal/modeltest"
)

// RPC is a pi that runs in its RPC mode: one session that lives until [RPC.Close] or the end of the test.
type RPC struct {
	t      testing.TB
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr lockedBuffer
	ids    int
	next   int // the first event that Wait has not seen

	mu     sync.Mutex
	events []Event
	ended  bool
	news   chan struct{} // closed and replaced with every event
}

// Event is a line that pi wrote: an event, a response, or a request to the person's screen.
type Event struct {
	Type string
	JSON json.RawMessage
}

// Into decodes the event.
func (e Event) Into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(e.JSON, v); err != nil {
		t.Fatal(err)
	}
}

// Start starts pi in its RPC mode, in the folder dir, with home as its HOME and server as its model.
func (p *Pi) Start(t testing.TB, home, dir string, server *modeltest.Server, args ...string) *RPC {
	t.Helper()
	p.configure(t, home, server)
	// Not the test's context: that ends before Close can ask pi to end.
	cmd := p.command(context.Background(), home, dir, append(append([]string{"--mode", "rpc"}, p.model()...), args...)...)
	r := &RPC{t: t, cmd: cmd, news: make(chan struct{})}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.stdin, cmd.Stderr = stdin, &r.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.read(stdout)
	}()
	t.Cleanup(func() {
		r.Close()
		<-done
	})
	r.Do(object{"type": "get_state"}) // pi is up, and so are its extensions
	return r
}

func (r *RPC) read(stdout io.Reader) {
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadBytes('\n')
		var e Event
		if json.Unmarshal(line, &e) == nil {
			e.JSON = bytes.TrimSpace(line)
		}
		r.mu.Lock()
		if e.JSON != nil {
			r.events = append(r.events, e)
		}
		r.ended = err != nil
		close(r.news)
		r.news = make(chan struct{})
		r.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// find returns the first event from a place on that matches, and its place. It waits for it, and fails the test if it does
// not come in time.
func (r *RPC) find(from int, what string, match func(Event) bool) (Event, int) {
	r.t.Helper()
	deadline := time.After(timeout)
	for i := from; ; {
		r.mu.Lock()
		events, ended, news := r.events, r.ended, r.news
		r.mu.Unlock()
		for ; i < len(events); i++ {
			if match(events[i]) {
				return events[i], i
			}
		}
		if ended {
			r.t.Fatalf("pi has ended, and there was no %s\n%s", what, r.dump())
		}
		select {
		case <-news:
		case <-deadline:
			r.t.Fatalf("pi did not say %s within %v\n%s", what, timeout, r.dump())
		}
	}
}

// dump is what pi said, for a failed test.
func (r *RPC) dump() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, e := range r.events[max(0, len(r.events)-40):] {
		if e.Type != "message_update" {
			fmt.Fprintf(&b, "%.300s\n", e.JSON)
		}
	}
	return b.String() + r.stderr.String()
}

// Send sends a command, and returns its id.
func (r *RPC) Send(command map[string]any) string {
	r.t.Helper()
	r.ids++
	id := fmt.Sprintf("c%d", r.ids)
	all := object{"id": id}
	maps.Copy(all, command)
	b, err := json.Marshal(all)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.stdin.Write(append(b, '\n')); err != nil {
		r.t.Fatalf("%v\n%s", err, r.dump())
	}
	return id
}

// Answer waits for the response to a command: its data, or its error.
func (r *RPC) Answer(id string) (json.RawMessage, error) {
	r.t.Helper()
	var response struct {
		ID, Error string
		Success   bool
		Data      json.RawMessage
	}
	r.find(0, "the response to "+id, func(e Event) bool {
		if e.Type != "response" {
			return false
		}
		response.ID = ""
		return json.Unmarshal(e.JSON, &response) == nil && response.ID == id
	})
	if !response.Success {
		return nil, fmt.Errorf("pi says: %s", response.Error)
	}
	return response.Data, nil
}

// Do sends a command that succeeds, and returns the data of the response.
func (r *RPC) Do(command map[string]any) json.RawMessage {
	r.t.Helper()
	data, err := r.Answer(r.Send(command))
	if err != nil {
		r.t.Fatalf("%v: %v\n%s", command["type"], err, r.dump())
	}
	return data
}

// Wait waits for the next event of a type that no earlier Wait has gone past.
func (r *RPC) Wait(kind string) Event {
	r.t.Helper()
	return r.WaitFor(kind, func(e Event) bool { return e.Type == kind })
}

// WaitFor waits for the next event that matches and that no earlier Wait has gone past. what names it.
func (r *RPC) WaitFor(what string, match func(Event) bool) Event {
	r.t.Helper()
	e, i := r.find(r.next, what, match)
	r.next = i + 1
	return e
}

// Prompt sends what a person says, and waits until the agent has settled.
func (r *RPC) Prompt(text string) {
	r.t.Helper()
	r.Do(object{"type": "prompt", "message": text})
	r.Wait("agent_settled")
}

// SetModel switches the model.
func (r *RPC) SetModel(provider, id string) {
	r.t.Helper()
	r.Do(object{"type": "set_model", "provider": provider, "modelId": id})
}

// Notices are what was shown to the person until now, as "level: text".
func (r *RPC) Notices() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, e := range r.events {
		var request struct{ Method, Message, NotifyType string }
		if e.Type == "extension_ui_request" && json.Unmarshal(e.JSON, &request) == nil && request.Method == "notify" {
			if request.NotifyType == "" {
				request.NotifyType = "info"
			}
			out = append(out, request.NotifyType+": "+request.Message)
		}
	}
	return out
}

// WaitNotice waits until a notice has been shown that contains the text.
func (r *RPC) WaitNotice(text string) string {
	r.t.Helper()
	var request struct{ Method, Message string }
	r.find(0, "a notice with "+text, func(e Event) bool {
		return e.Type == "extension_ui_request" && json.Unmarshal(e.JSON, &request) == nil &&
			request.Method == "notify" && strings.Contains(request.Message, text)
	})
	return request.Message
}

// Errors are the errors of extensions that pi reported until now.
func (r *RPC) Errors() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, e := range r.events {
		if e.Type == "extension_error" {
			out = append(out, string(e.JSON))
		}
	}
	return out
}

// Close asks pi to end, and waits for it; after some time it kills it, and fails the test.
func (r *RPC) Close() {
	r.t.Helper()
	if r.cmd.ProcessState != nil {
		return
	}
	_ = r.stdin.Close()
	late := time.AfterFunc(timeout/3, func() {
		r.t.Errorf("pi does not end\n%s", r.dump())
		_ = r.cmd.Process.Kill()
	})
	// The reader has to be through before Wait closes the pipe.
	r.mu.Lock()
	for !r.ended {
		news := r.news
		r.mu.Unlock()
		<-news
		r.mu.Lock()
	}
	r.mu.Unlock()
	_ = r.cmd.Wait() // how it ended is of no account: the session file is what counts
	late.Stop()
}

// Stderr is what pi wrote to its standard error.
func (r *RPC) Stderr() string { return r.stderr.String() }

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
