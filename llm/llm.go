package llm

// API is a provider's wire protocol. Many providers speak one that another has designed.
type API string

// The protocols.
const (
	Anthropic API = "anthropic"        // Anthropic Messages
	Chat      API = "openai"           // OpenAI Chat Completions
	Responses API = "openai-responses" // OpenAI Responses
)

// Prompt is a request of our own: one system text, one message of a user, and no tools.
type Prompt struct {
	Model        string
	System, User string
	// MaxTokens bounds the reply, in tokens, its reasoning included. It must be positive: some providers take an absent
	// one for all that the model has.
	MaxTokens int
}

// Reply is what a model answered, whichever protocol it came by.
type Reply struct {
	// Model is the model that the provider says answered, "" if it does not.
	Model string
	// Text is the text of the answer, all its parts in order.
	Text string
	// Reasoning is what the provider told apart as reasoning, "" for none or where it is encrypted.
	Reasoning string
	// Reasoned is true if there was reasoning, readable or not.
	Reasoned bool
	// Calls are the tool calls that the provider has parsed.
	Calls []Call
	// Refusal is the text of a refusal that the provider told apart.
	Refusal string
	Stop    Stop
	// StopReason is the provider's own word for Stop.
	StopReason string
	Usage      Usage
	// Requests is how many requests it took: one, and those that failed before it.
	Requests int
}

// Call is a tool call in a reply.
type Call struct{ Name, Args string }

// Stop is why a reply ended.
type Stop uint8

// The ends. Only StopEnd is a normal one: whatever is not known is StopUnknown, as is a stream that just ended.
const (
	StopUnknown  Stop = iota
	StopEnd           // the model had said what it had to say
	StopLength        // the output limit cut it off
	StopCalls         // it wants tools to be run
	StopFiltered      // a content filter, or a refusal
	StopPaused        // the provider wants to be asked to go on
	StopOverflow      // the window was full
)

// Usage is what a reply took, in tokens.
type Usage struct {
	// Reported is false if the provider said nothing.
	Reported bool
	// Input is all of the request: what was read from the cache, what was written to it, and the rest.
	Input, CacheRead, CacheWrite int
	// Output is all of the reply, reasoning included.
	Output int
}

// Progress is how far a reply has come while it streams.
type Progress struct {
	// Runes is how much text, reasoning and arguments have arrived.
	Runes int
}
