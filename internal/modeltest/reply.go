package modeltest

import (
	"context"
	"encoding/json"
	"fmt"
)

// Reply is one scripted answer of the model, and what goes wrong with it. The zero value is an empty answer.
type Reply struct {
	// Text is the text of the answer.
	Text string
	// Reasoning comes before the text: as reasoning_content in Chat, as thinking with a signature in Anthropic, as an
	// item with a summary in Responses. That item has encrypted_content where the request includes it.
	Reasoning string
	// HiddenReasoning is reasoning that cannot be read: nothing in Chat but its tokens, thinking with a signature and no
	// text in Anthropic, an item without a summary in Responses. Reasoning is not sent then.
	HiddenReasoning bool
	// Calls come after the text; several are parallel ones.
	Calls []Call
	// Refusal is the text that the provider tells apart as a refusal. Anthropic puts it beside the stop reason.
	Refusal string
	// Stop is the provider's own word for why the answer ended: finish_reason, stop_reason, or in Responses the status
	// or, for any other word, the reason of an incomplete answer. Defaults to what the answer holds.
	Stop string
	// Usage that the answer reports. Defaults to what Config counts.
	Usage Usage
	// NoUsage reports none.
	NoUsage bool
	// Pieces is in how many parts each text is streamed. Defaults to 2.
	Pieces int

	// Status of HTTP. Defaults to 200, and for an Error to 400.
	Status int
	// Error is answered in place of a model's answer, in the API's envelope, or in the middle of it at ErrorAt.
	Error Error
	// Body, if not nil, is answered as it is.
	Body []byte
	// ContentType of Body. Defaults to application/json.
	ContentType string
	// Headers are added to the answer: Retry-After and the like.
	Headers map[string]string

	// Plain answers with JSON though a stream was asked for.
	Plain bool
	// OnlyDone is a stream without any answer: in Chat the line [DONE] alone, otherwise nothing.
	OnlyDone bool
	// KeepAlives is how many comments come before anything else, in Anthropic with a ping behind each; in a plain answer
	// they are empty lines.
	KeepAlives int
	// Framing is how the answer is written.
	Framing Framing
	// StallAt is where the answer stops until Stall returns.
	StallAt Point
	// Stall is called where the answer has stopped, with everything before that sent. The context ends with the request
	// and with the server; the answer goes on if it has not. Defaults to waiting for the end of the context.
	Stall func(context.Context)
	// DropAt is where the connection breaks.
	DropAt Point
	// EndAt is where the answer ends in good order, but with no more said.
	EndAt Point
	// ErrorAt is where Error is told in a stream that has begun well. Nothing comes behind it.
	ErrorAt Point

	// Answer makes the reply to a request. All other fields but Repeat are of no account then, nor are these two in what
	// it returns. It must be safe for concurrent use if the client is.
	Answer func(Request) Reply
	// Repeat leaves the reply in its place in the script, so that it answers all requests from there on.
	Repeat bool
}

// Call is a tool call in a reply.
type Call struct {
	// ID of the call. Defaults to "call_N", in Anthropic "toolu_N", N counting the calls of the server.
	ID string
	// Name of the tool.
	Name string
	// Args is marshalled to the JSON text of the arguments; a string is sent as it stands. In a plain answer of Anthropic,
	// where arguments are no text, one that is no JSON is sent as the empty object.
	Args any
}

// args is the text of the arguments. What cannot be marshalled is a mistake in the test, which this text tells.
func (c Call) args() string {
	if s, ok := c.Args.(string); ok {
		return s
	}
	b, err := json.Marshal(c.Args)
	if err != nil {
		return fmt.Sprintf("modeltest: the arguments of %s: %v", c.Name, err)
	}
	return string(b)
}

// Usage is the count of tokens that a reply reports.
type Usage struct {
	// Input is all of the request: what was read from the prompt cache, what was written to it, and the rest.
	Input, CacheRead, CacheWrite int
	// Output is all of the answer, reasoning included.
	Output int
}

// Error is what a provider reports in place of an answer, or in the middle of one.
type Error struct {
	// Message is for people.
	Message string
	// Type defaults to what the API says with the status.
	Type string
	// Code and Param are of OpenAI's APIs; null if "".
	Code, Param string
	// Event is the name of the event in a stream of Responses: "response.failed", the default, or "error".
	Event string
}

// Framing is how an answer is written: any of the values below together. The zero value is as the vendors do it.
type Framing uint8

// The framings. Each is one that the standard of server-sent events and that of JSON allow.
const (
	// CRLF ends lines with a carriage return and a line feed.
	CRLF Framing = 1 << iota
	// Tight leaves out the space behind the colon of a field.
	Tight
	// Escaped writes all text beyond ASCII as \u escapes.
	Escaped
	// Torn ends a write inside each character of several bytes and inside each escape.
	Torn
	// OneByte writes every byte for itself.
	OneByte
)

// Point is a place in an answer. The zero value is no place at all.
type Point struct {
	kind pointKind
	n    int
}

type pointKind uint8

const (
	nowhere pointKind = iota
	beginning
	ending
	bytesIn
	eventsIn
)

// Places without a number.
var (
	// Beginning is before the status line: nothing has been sent.
	Beginning = Point{kind: beginning}
	// Ending is behind all that the answer says, before the events that end it: finish_reason and [DONE] in Chat,
	// message_delta and message_stop in Anthropic, response.completed in Responses. A plain answer is wholly behind it.
	Ending = Point{kind: ending}
)

// Bytes is behind the first n bytes of the body; a negative n counts from its end.
func Bytes(n int) Point { return Point{bytesIn, n} }

// Events is behind the first n events of a stream, keep-alives not counted; a negative n counts from its end. A plain
// answer is one event.
func Events(n int) Point { return Point{eventsIn, n} }

// answer is a reply with all that the server adds to it.
type answer struct {
	Reply
	id        int // counts the answers
	model     string
	streaming bool
	request   *common
	calls     []toolCall
	usage     Usage
	seal      func(reasoning string) string // signs reasoning for this request
}

// toolCall is a call that is complete.
type toolCall struct {
	id, name, args string
	n              int // counts the calls
}

// failed reports whether no model has answered.
func (a *answer) failed() bool {
	return a.Body != nil || a.OnlyDone || a.ErrorAt == (Point{}) && (a.Error != (Error{}) || a.Status >= 400)
}

// reasoned reports whether there is reasoning, readable or not.
func (a *answer) reasoned() bool { return a.Reasoning != "" || a.HiddenReasoning }

// thought is the reasoning as far as it can be read.
func (a *answer) thought() string {
	if a.HiddenReasoning {
		return ""
	}
	return a.Reasoning
}

// size is the length in bytes of what the model has written.
func (a *answer) size() int {
	n := len(a.Text) + len(a.Reasoning) + len(a.Refusal)
	for _, c := range a.calls {
		n += len(c.name) + len(c.args)
	}
	return n
}

// reasoningTokens is how much of the output was reasoning.
func (a *answer) reasoningTokens() int {
	if !a.reasoned() || a.size() == 0 {
		return 0
	}
	return a.usage.Output * len(a.Reasoning) / a.size()
}

// pieces cuts a text into the parts in which it is streamed, none of them empty.
func (a *answer) pieces(text string) []string {
	n := a.Pieces
	if n <= 0 {
		n = 2
	}
	runes := []rune(text)
	size := max(1, (len(runes)+n-1)/n)
	var out []string
	for len(runes) > 0 {
		size = min(size, len(runes))
		out = append(out, string(runes[:size]))
		runes = runes[size:]
	}
	return out
}
