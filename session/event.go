package session

import (
	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/llm"
)

// Model is the model that a session uses now.
type Model struct {
	// Provider and ID name it; together, with a slash between them, they are what is excluded and logged.
	Provider, ID string
	// Window is its context window in tokens as the agent knows it, 0 if it does not.
	Window int
	// MaxOutput is its output limit in tokens, 0 if unknown.
	MaxOutput int
	// Endpoint is the base URL of its API, "" if unknown.
	Endpoint string
	// Price is what the agent says it costs, nil where the catalogue has to tell.
	Price *llm.Price
}

// Load is the next request by its sizes. Zero is unknown, never nothing.
type Load struct {
	// Reported is what the newest answer said of the context, its output included, in tokens. What was reported before
	// a compaction is no longer true and does not belong here.
	Reported int
	// Since is an estimate of what came after that answer, pending input included, in tokens.
	Since int
	// Estimated is an estimate of the whole request: system text, tools, messages, pending input; in tokens.
	Estimated int
	// Output is what the request keeps free for the answer, in tokens.
	Output int
	// Bytes, Images and Items are the size of the body, the pictures and documents, and the messages in it.
	Bytes, Images, Items int
	// Turns is how many messages the conversation has, and OpenCalls how many calls nobody has answered yet.
	Turns, OpenCalls int
}

// Event is something that happened to a running agent.
type Event interface{ event() }

// The events.
type (
	// Request says that a request is about to go. Whoever was told to Compact tells of it again when the attempt has ended.
	Request struct{ Load Load }
	// Replied says that an answer came.
	Replied struct {
		Usage llm.Usage
		// Model is who answered, "provider/id"; "" is the current one. The answer of another one, which comes after a switch,
		// tells nothing.
		Model string
		// Expected is what the request was taken for, in tokens, 0 to go by the newest Request.
		Expected int
		// Window is the window of the model that served the request, where it tells; 0 otherwise.
		Window int
	}
	// Failed says that a request failed.
	Failed struct {
		Err error
		// Model is who failed, "provider/id"; "" is the current one.
		Model string
		// Load is what did not fit.
		Load Load
	}
	// Switched says that another model is used from now on.
	Switched struct {
		To   Model
		Load Load
	}
	// Settled says that the agent has finished and waits for its person.
	Settled struct{ Load Load }
	// Resumed says that the session goes on in a new process.
	Resumed struct{}
	// ToolAsked says that the agent called compact_context.
	ToolAsked struct {
		Instructions string
		Load         Load
	}
	// Asked says that the person wants a compaction, or the agent's own program does.
	Asked struct {
		Instructions string
		Load         Load
	}
	// Began says that the agent's own program began a compaction that no answer of the session ordered, and asks whether it may
	// take it over.
	Began struct {
		Reason       string // manual, threshold or overflow
		Instructions string
		Load         Load
	}
	// Vetoed says that a hook said no to an attempt.
	Vetoed struct {
		Attempt int
		Reason  string
	}
	// Compacted says that an attempt ended with a transcript that was taken into use.
	Compacted struct {
		// Attempt is the one, 0 for a compaction by somebody else.
		Attempt int
		Outcome Outcome
	}
	// NotCompacted says that an attempt ended without effect.
	NotCompacted struct {
		Attempt int
		// Reason is why, on one line; "" is that somebody called it off, which is no failure and is told to nobody.
		Reason string
		// Final is true if another summary would have changed nothing: there is nothing that could go, or what must stay
		// is too large.
		Final bool
		// Load is what the context is still.
		Load Load
	}
	// Ended says that the session is over; nothing is delivered to it any more.
	Ended struct{}
)

// fits is a Request that Fit tells of.
type fits Request

func (fits) event()         {}
func (Request) event()      {}
func (Replied) event()      {}
func (Failed) event()       {}
func (Switched) event()     {}
func (Settled) event()      {}
func (Resumed) event()      {}
func (ToolAsked) event()    {}
func (Asked) event()        {}
func (Began) event()        {}
func (Vetoed) event()       {}
func (Compacted) event()    {}
func (NotCompacted) event() {}
func (Ended) event()        {}

// Outcome is what a compaction came to, for the message about it.
type Outcome struct {
	// Mode is same, cross or mechanical; "" if it was not ours.
	Mode string
	// Model wrote the summary, "" for none.
	Model string
	// Before and After are tokens of the context; 0 is unknown.
	Before, After int
	// Asked is what was asked of a model, nil for nothing.
	Asked *pemmican.Asking
	// FellBack is the reason why it is not the summary that was wished for, "" if it is.
	FellBack string
}

// Do is what an answer wants done.
type Do string

// What is to be done.
const (
	// GoOn: nothing.
	GoOn Do = "go-on"
	// Start: begin an attempt in the background, and go on.
	Start Do = "start"
	// Compact: make an attempt before anything else.
	Compact Do = "compact"
	// Launch: what the tool asked for is granted. Text is what the tool returns, at once; the attempt begins where the
	// agent can be interrupted, at the latest before the next request.
	Launch Do = "launch"
	// Wait: an attempt is in flight; wait for it, and tell of the request again.
	Wait Do = "wait"
	// Refuse: it is not done; Reason says why.
	Refuse Do = "refuse"
	// Block: the request must not be sent; Reason says why.
	Block Do = "block"
)

// Answer is what to do about an event.
type Answer struct {
	Do Do
	// Attempt numbers the attempt that Start, Compact and Launch order. Whoever makes it tells how it ended: Compacted,
	// NotCompacted or Vetoed. Of Wait it is the one to wait for.
	Attempt int
	// Occasion is why, in a word: soft, hard, overflow, tool, manual, limit, truncated.
	Occasion string
	// Focus is what the summary is to concentrate on, "" for nothing.
	Focus string
	// Model is who is to write the summary where it is not the usual one: the larger model that was used before a switch,
	// say. "" otherwise.
	Model string
	// Hook is true if the before-hook is to be asked first.
	Hook bool
	// Mechanical is true if no model is to be asked.
	Mechanical bool
	// Reason is one line for people: why it is refused, blocked, or done.
	Reason string
	// Text is what the agent is told, "" for nothing.
	Text string
	// Notices are what the person is told, one line each.
	Notices []string
	// Worth is the sum behind the decision, nil where prices or sizes are unknown.
	Worth *Worth
}

// Worth is whether a compaction pays, in dollars.
type Worth struct {
	// Freed is what the compaction would take out of every later request, in tokens, and Rewritten what the provider's
	// cache would have to take in anew.
	Freed, Rewritten int
	// Turns is how many more requests are expected.
	Turns int
	// Saves is what the freed tokens would cost over these turns, Costs what the compaction does: the cache written anew,
	// and the summary.
	Saves, Costs float64
}

// eventName is the event in a word, for logs.
func eventName(e Event) string {
	switch e.(type) {
	case Request, fits:
		return "request"
	case Replied:
		return "replied"
	case Failed:
		return "failed"
	case Switched:
		return "switched"
	case Settled:
		return "settled"
	case Resumed:
		return "resumed"
	case ToolAsked:
		return "tool asked"
	case Asked:
		return "asked"
	case Began:
		return "began"
	case Vetoed:
		return "vetoed"
	case Compacted:
		return "compacted"
	case NotCompacted:
		return "not compacted"
	case Ended:
		return "ended"
	}
	return "unknown"
}
