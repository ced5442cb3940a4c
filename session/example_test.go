package session_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/llm"
	"github.com/pemmican-dev/pemmican/session"
)

// A Go agent asks Fit before each request, goes on with what the plan makes of its transcript, and tells what came of it.
func ExampleSession_Fit() {
	ctx := context.Background()
	s := session.New(session.Config{Model: session.Model{Provider: "own", ID: "small", Window: 32_000}})
	defer s.Close()

	history := &pemmican.Transcript{}
	history.AddUser("Read all the files.")
	for i := range 200 {
		plan, err := s.Fit(ctx, history)
		if errors.Is(err, session.ErrBlocked) {
			fmt.Println(err)
			return
		}
		history = plan.Result(history)

		// Here the agent would send the history, and run what the model calls.
		s.On(session.Replied{Usage: llm.Usage{Reported: true, Input: 2_000 + session.Measure(history, nil, pemmican.Overhead{}).Estimated}})
		id := fmt.Sprint(i)
		history.AddAssistant("", pemmican.Call(id, "read", fmt.Sprintf(`{"path":"%d.txt"}`, i)))
		history.AddResult(id, strings.Repeat(fmt.Sprintf("line %d of the file\n", i), 200))
	}
	fmt.Println(s.Status().Tokens < 32_000, s.State().Compactions > 0)
	// Output: true true
}

// Whoever runs an agent in another way tells what happens, and carries the answers out.
func ExampleSession_On() {
	s := session.New(session.Config{Model: session.Model{Provider: "p", ID: "m", Window: 200_000}})
	a := s.On(session.Request{Load: session.Load{Reported: 170_000}})
	fmt.Println(a.Do, a.Attempt, a.Reason)

	// Here the compaction is made.
	s.On(session.Compacted{Attempt: a.Attempt, Outcome: session.Outcome{Mode: "mechanical", Before: 170_000, After: 60_000}})
	fmt.Println(s.On(session.Request{Load: session.Load{Estimated: 60_000}}).Do)
	// Output:
	// compact 1 the request takes 186384 tokens of 200000, and the line is 180000
	// go-on
}
