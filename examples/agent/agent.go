package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pemmican-dev/pemmican/llm"
	"github.com/pemmican-dev/pemmican/session"
)

const task = `Read the import log part by part, from 1 to 200, and tell me which errors it has, by their codes.
The ticket is PEM-4711; name it in your answer.`

const tools = `[{"type":"function","function":{"name":"read_log","description":"Reads one part of the import log.",
"parameters":{"type":"object","properties":{"part":{"type":"integer"}},"required":["part"]}}}]`

type object = map[string]any

// work runs the agent until the model has an answer. Without a session it is a plain agent; what a session takes is numbered.
func work(ctx context.Context, client *llm.Client, model string, s *session.Session) (answer string, calls int, err error) {
	messages := []any{object{"role": "user", "content": task}}
	for {
		body, err := json.Marshal(object{"model": model, "max_tokens": 1024, "tools": json.RawMessage(tools), "messages": messages})
		if err != nil {
			return "", calls, err
		}
		if s != nil {
			if body, err = s.FitBody(ctx, body); err != nil { // 1: make it fit
				return "", calls, err
			}
			if messages, err = messagesOf(body); err != nil { // 2: go on from what fits
				return "", calls, err
			}
		}
		reply, err := client.Send(ctx, body, nil)
		if err != nil {
			return "", calls, err
		}
		if s != nil {
			s.On(session.Replied{Usage: reply.Usage}) // 3: tell what the provider counted
		}
		if len(reply.Calls) == 0 {
			return reply.Text, calls, nil
		}
		var made, results []any
		for _, c := range reply.Calls {
			calls++
			id := fmt.Sprintf("call_%d", calls)
			made = append(made, object{"id": id, "type": "function", "function": object{"name": c.Name, "arguments": c.Args}})
			results = append(results, object{"role": "tool", "tool_call_id": id, "content": readLog(c.Args)})
		}
		messages = append(messages, object{"role": "assistant", "content": reply.Text, "tool_calls": made})
		messages = append(messages, results...)
	}
}

// messagesOf are the messages of a request, byte for byte.
func messagesOf(body []byte) ([]any, error) {
	var request struct {
		Messages []json.RawMessage `json:"messages"`
	}
	err := json.Unmarshal(body, &request)
	out := make([]any, len(request.Messages))
	for i, m := range request.Messages {
		out[i] = m
	}
	return out, err
}

// readLog is the tool: one part of a log in which two rows are errors.
func readLog(args string) string {
	var a struct {
		Part int `json:"part"`
	}
	if err := json.Unmarshal([]byte(args), &a); err != nil || a.Part < 1 || a.Part > parts {
		return "error: there is no such part; parts are 1 to 200"
	}
	var b strings.Builder
	for row := a.Part * 40; row < a.Part*40+40; row++ {
		if row == 17*40+23 || row == 121*40+9 {
			fmt.Fprintf(&b, "row %05d: ERROR E-%d: the batch was rolled back\n", row, 2200+a.Part)
			continue
		}
		fmt.Fprintf(&b, "row %05d: order %d imported, %d items, %d ms\n", row, row*7919%100_000, row%9+1, row*31%400)
	}
	return b.String()
}
