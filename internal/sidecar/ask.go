package sidecar

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/pemmican-dev/pemmican/llm"
	"github.com/pemmican-dev/pemmican/summary"
)

// asks are the questions that wait for their replies.
type asks struct {
	mu      sync.Mutex
	n       int
	waiting map[int]chan AskReply
}

func (a *asks) begin() (n int, reply <-chan AskReply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n++
	if a.waiting == nil {
		a.waiting = map[int]chan AskReply{}
	}
	c := make(chan AskReply, 1)
	a.waiting[a.n] = c
	return a.n, c
}

// end gives a question up, or takes its reply. One that nobody waits for is dropped.
func (a *asks) end(n int) chan AskReply {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.waiting[n]
	delete(a.waiting, n)
	return c
}

// asker asks a model through the extension, for one compaction.
type asker struct {
	r     *running
	event int    // the compact event
	model string // "provider/id"

	usage AskUsage // what was asked for until now
}

var _ summary.Asker = (*asker)(nil)

// Ask sends the question and waits for its reply.
func (a *asker) Ask(ctx context.Context, q summary.Question) (*llm.Reply, error) {
	n, replies := a.r.asks.begin()
	defer a.r.asks.end(n)
	ask := &Ask{N: n, Model: a.model, Mode: string(q.Mode), Instruction: q.Instruction, Compact: a.event}
	if q.Mode == summary.ModeCross {
		ask.System, ask.User, ask.MaxTokens = q.Prompt.System, q.Prompt.User, q.Prompt.MaxTokens
	}
	a.r.send(Line{Ask: ask})
	select {
	case reply := <-replies:
		return a.take(ctx, reply)
	case <-ctx.Done():
		a.r.send(Line{CancelAsk: n})
		return nil, ctx.Err()
	}
}

// stops are the agent's words for why a reply ended.
var stops = map[string]llm.Stop{"stop": llm.StopEnd, "length": llm.StopLength, "toolUse": llm.StopCalls}

func (a *asker) take(ctx context.Context, r AskReply) (*llm.Reply, error) {
	out := &llm.Reply{
		Model: r.Model, Text: r.Text, Reasoning: r.Reasoning, Reasoned: r.Reasoning != "",
		Stop: stops[r.Stop], StopReason: r.Stop, Requests: 1,
	}
	for _, name := range r.Calls {
		out.Calls = append(out.Calls, llm.Call{Name: name})
	}
	if u := r.Usage; u != nil {
		a.usage = a.usage.plus(*u)
		out.Usage = llm.Usage{
			Reported: true, Input: u.Input + u.CacheRead + u.CacheWrite,
			CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output,
		}
	}
	switch {
	case r.Unresolved != "":
		return nil, fmt.Errorf("%w: %s: %s", summary.ErrUnresolved, a.model, r.Unresolved)
	case r.Stop == "aborted" && ctx.Err() != nil:
		return nil, ctx.Err()
	case r.Stop == "aborted":
		return nil, context.Canceled // by the person
	case r.Stop == "error" || r.Error != "":
		failure := llm.Classify(0, nil, []byte(cmp.Or(r.Error, "no reason was given")))
		failure.Requests = 1
		failure.Err = errors.New("the agent's own request failed")
		return nil, failure
	}
	return out, nil
}

func (u AskUsage) plus(v AskUsage) AskUsage {
	return AskUsage{
		Input: u.Input + v.Input, Output: u.Output + v.Output, CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite,
		Cost: AskCost{
			Input: u.Cost.Input + v.Cost.Input, Output: u.Cost.Output + v.Cost.Output, CacheRead: u.Cost.CacheRead + v.Cost.CacheRead,
			CacheWrite: u.Cost.CacheWrite + v.Cost.CacheWrite, Total: u.Cost.Total + v.Cost.Total,
		},
	}
}

// priced is the usage with a cost: the agent's own, which knows what was agreed on with the provider, else by the prices.
func (u AskUsage) priced(p llm.Price) AskUsage {
	if u.Cost.Total > 0 {
		return u
	}
	u.Cost = AskCost{
		Input: float64(u.Input) * p.Input / 1e6, Output: float64(u.Output) * p.Output / 1e6,
		CacheRead: float64(u.CacheRead) * p.CacheRead / 1e6, CacheWrite: float64(u.CacheWrite) * p.CacheWrite / 1e6,
	}
	u.Cost.Total = u.Cost.Input + u.Cost.Output + u.Cost.CacheRead + u.Cost.CacheWrite
	return u
}

// usageOf is what was asked, as pi writes it. Its totals want a cost, which is 0 where no price is known.
func usageOf(u AskUsage) json.RawMessage {
	if u == (AskUsage{}) {
		return nil
	}
	data, _ := json.Marshal(struct { //nolint:errchkjson // numbers can always be written
		AskUsage
		TotalTokens int     `json:"totalTokens"`
		Cost        AskCost `json:"cost"` // also where it is 0
	}{u, u.Input + u.Output + u.CacheRead + u.CacheWrite, u.Cost})
	return data
}
