package summary

import (
	"context"
	"errors"

	"github.com/pemmican-dev/pemmican/llm"
)

// Asker asks a model on behalf of somebody who holds the key, and in ModeSame the agent's own request too.
type Asker interface {
	// Ask sends the question once and returns the reply. The error is an *llm.Error, wraps ErrUnresolved if nobody could be
	// asked, or context.Canceled if somebody called it off; any other is taken for a failure that may pass.
	Ask(ctx context.Context, q Question) (*llm.Reply, error)
}

// Question is what is asked of a model.
type Question struct {
	// Model is whom, as Model.Name has it, or the agent's own.
	Model string
	Mode  Mode
	// Instruction stands behind the agent's own request (ModeSame).
	Instruction string
	// Prompt is the whole request (ModeCross).
	Prompt llm.Prompt
}

// askVia asks, and makes of the answer what a client's would be.
func askVia(ctx context.Context, via Asker, q Question) (*llm.Reply, error) {
	reply, err := via.Ask(ctx, q)
	switch {
	case err == nil && reply == nil:
		return nil, &llm.Error{Kind: llm.Transient, Message: "there was no reply"}
	case err == nil:
		own := *reply
		own.Requests = max(own.Requests, 1)
		return &own, nil
	case errors.Is(err, ErrUnresolved), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return nil, err
	}
	told, ok := errors.AsType[*llm.Error](err)
	if !ok {
		// Its text may quote what a model or a provider said, which is shown as the text of a failure only.
		return nil, &llm.Error{Kind: llm.Transient, Message: oneLine(clean(err.Error())), Err: err}
	}
	own := *told
	if own.Status > 0 {
		own.Requests = max(own.Requests, 1)
	}
	return nil, &own
}
