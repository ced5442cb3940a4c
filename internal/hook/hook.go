// Package hook runs a person's commands around a compaction. A command reads one JSON object, an [Input], from its standard
// input; the one before a compaction may write one back, with two members, each of which may be left out:
//
//	{"focus": "what the summary is to concentrate on", "veto": "why not now"}
//
// Nothing written means go on. So does everything that goes wrong: a hook that is broken, slow or missing is told of, and
// stops no compaction.
package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/pemmican-dev/pemmican/internal/secrets"
	"github.com/pemmican-dev/pemmican/internal/textcut"
)

// The events of which a hook is told.
const (
	Before = "before"
	After  = "after"
)

// Input is what a hook reads.
type Input struct {
	// Event is before or after.
	Event string `json:"event"`
	// Occasion is why: soft, hard, overflow, tool, manual, limit, truncated. Reason says it in a line.
	Occasion string `json:"occasion"`
	Reason   string `json:"reason"`
	// Session is the agent's name of the session, and Model the model in use, "provider/id".
	Session string `json:"session"`
	Model   string `json:"model"`
	// Tokens is the context in use, and Window the model's window; 0 is unknown.
	Tokens int `json:"tokens"`
	Window int `json:"window"`
	// Report is how it ended: after only.
	Report *Report `json:"report,omitempty"`
}

// Report is how a compaction ended.
type Report struct {
	// Compacted is false if nothing was changed; Error says why.
	Compacted bool   `json:"compacted"`
	Error     string `json:"error,omitempty"`
	// Mode is same, cross or mechanical, and Model who wrote the summary, "" for none.
	Mode  string `json:"mode,omitempty"`
	Model string `json:"model,omitempty"`
	// TokensBefore and TokensAfter are tokens of the context; 0 is unknown.
	TokensBefore int `json:"tokensBefore,omitempty"`
	TokensAfter  int `json:"tokensAfter,omitempty"`
	// Cost is in dollars, nil if unknown.
	Cost *float64 `json:"cost,omitempty"`
	// FellBack is the reason why another summary stands there than the one that was wished for.
	FellBack string `json:"fellBack,omitempty"`
}

// Answer is what a hook wants. The zero value is to go on.
type Answer struct {
	// Focus is what the summary is to concentrate on.
	Focus string
	// Veto is why there should be no compaction now; "" is no objection.
	Veto string
}

// Command is a hook.
type Command struct {
	// Args are a program and its arguments. Without any there is no hook.
	Args []string
	// Timeout is how long it may take; then it is stopped, with all that it has started. Defaults to 30 seconds.
	Timeout time.Duration
	// Dir is the folder that it runs in. Defaults to the one of this process.
	Dir string
	// Log gets what it writes to its standard error. Defaults to nothing.
	Log *slog.Logger
}

const (
	defaultTimeout = 30 * time.Second
	// maxOutput bounds what a hook may answer, maxErrors what of its standard error is logged, and maxShown what of either
	// stands in an error; in bytes.
	maxOutput = 64 << 10
	maxErrors = 8 << 10
	maxShown  = 200
	// lag is how long the output of a hook that has ended is waited for: something that it left running may hold it open.
	lag = 500 * time.Millisecond
)

// Run runs a hook and returns what it wants. With an error the answer is empty, which is to go on: the error is one line for
// the person. It is the context's where that has ended. The hook has the environment of this process.
func (c Command) Run(ctx context.Context, in Input) (Answer, error) {
	if len(c.Args) == 0 {
		return Answer{}, nil
	}
	question, err := json.Marshal(in)
	if err != nil {
		return Answer{}, fmt.Errorf("the hook %s is not asked: %w", c.name(in), err)
	}
	timeout := cmp.Or(c.Timeout, defaultTimeout)
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(limited, c.Args[0], c.Args[1:]...) //nolint:gosec // running what the person has written is the purpose
	cmd.Dir = c.Dir
	cmd.Stdin = bytes.NewReader(question)
	answer, said := &bounded{most: maxOutput, full: cancel}, &bounded{most: maxErrors}
	cmd.Stdout, cmd.Stderr = answer, said
	cmd.WaitDelay = lag
	inGroup(cmd)
	err = cmd.Run()
	c.log(in, string(said.kept))
	switch {
	case ctx.Err() != nil:
		return Answer{}, ctx.Err()
	case answer.over:
		return Answer{}, fmt.Errorf("the hook %s wrote more than %d KiB and was stopped; it goes on without it", c.name(in), maxOutput>>10)
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		return Answer{}, fmt.Errorf("the hook %s took longer than %s and was stopped; it goes on without it", c.name(in), timeout)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return Answer{}, fmt.Errorf("the hook %s failed: %s; it goes on without it", c.name(in), failure(err, string(said.kept)))
	}
	a, err := parse(in.Event, answer.kept)
	if err != nil {
		return Answer{}, fmt.Errorf("the hook %s answered what nobody reads: %w; it goes on without it", c.name(in), err)
	}
	return a, nil
}

// name is the hook as the person knows it.
func (c Command) name(in Input) string {
	return in.Event + " (" + shown(strings.Join(c.Args, " ")) + ")"
}

// failure says why a command failed: what the system says, or the last line that it wrote itself.
func failure(err error, said string) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err.Error()
	}
	if program, ok := errors.AsType[*exec.Error](err); ok {
		return program.Err.Error()
	}
	said = strings.TrimSpace(said)
	if last := shown(said[strings.LastIndexByte(said, '\n')+1:]); last != "" {
		return err.Error() + ": " + last
	}
	return err.Error()
}

func (c Command) log(in Input, said string) {
	if c.Log == nil || strings.TrimSpace(said) == "" {
		return
	}
	said, _ = secrets.Redact(said)
	c.Log.Info("hook", "event", in.Event, "stderr", said)
}

// parse reads an answer. A member that nobody reads is an error: its writer believes that it does something.
func parse(event string, data []byte) (a Answer, err error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return Answer{}, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil || members == nil {
		return Answer{}, fmt.Errorf("it is no JSON object: %s", shown(string(data)))
	}
	var names []string
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		to := map[string]*string{"focus": &a.Focus, "veto": &a.Veto}[name]
		switch {
		case to == nil:
			return Answer{}, fmt.Errorf("there is no %q; it may say \"focus\" and \"veto\"", shown(name))
		case event != Before:
			return Answer{}, fmt.Errorf("%q means something before a compaction only", name)
		}
		var text *string
		if err := json.Unmarshal(members[name], &text); err != nil {
			return Answer{}, fmt.Errorf("%q is no text in quotes", name)
		}
		if text != nil {
			*to = strings.TrimSpace(*text)
		}
	}
	return a, nil
}

// shown is a text from outside as an error shows it: on one line, short, without secrets.
func shown(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s[:textcut.Before(s, maxErrors)], ""))
	s, _ = secrets.Redact(strings.Join(strings.Fields(s), " "))
	return textcut.Head(s, maxShown, func(int) string { return "…" })
}

// bounded keeps the first bytes that are written to it. The rest is taken and forgotten, so that nobody waits; full, if it is
// there, is called once there is a rest.
type bounded struct {
	kept []byte // no bytes.Buffer: that reads by itself, past Write
	most int
	full func()
	over bool
}

// Write never fails.
func (b *bounded) Write(p []byte) (int, error) {
	room := b.most - len(b.kept)
	b.kept = append(b.kept, p[:min(len(p), room)]...)
	if len(p) > room && !b.over {
		b.over = true
		if b.full != nil {
			b.full()
		}
	}
	return len(p), nil
}
