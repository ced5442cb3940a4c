package pemmican

// Role is the wire role of a message.
type Role uint8

// The roles. System covers "developer" too; Tool is a message of tool results, also where the wire format puts
// those into the user role.
const (
	User Role = iota
	Assistant
	Tool
	System
)

func (r Role) String() string { return [...]string{"user", "assistant", "tool", "system"}[r] }

// Author says who wrote a message, which its role does not: agents put reminders and notifications of their own into
// the user role.
type Author uint8

// The authors. The zero value follows the role: a person for User, the model for Assistant, a tool for Tool.
const (
	ByRole Author = iota
	// ByRuntime marks a nudge: text in the user role that the agent's own program wrote.
	ByRuntime
)

// Kind is what a block holds.
type Kind uint8

// The kinds of block.
const (
	Text Kind = iota
	ToolCall
	ToolResult
	Reasoning
	Media
	// Summary is the text that stands for what an earlier compaction dropped, by whoever made it.
	Summary
	// Opaque is anything that only the provider can read, or that Pemmican does not know: kept exactly or dropped
	// with its owner.
	Opaque
)

func (k Kind) String() string {
	return [...]string{"text", "tool call", "tool result", "reasoning", "media", "summary", "opaque"}[k]
}

// Block is one content part of a message.
type Block struct {
	Kind Kind
	// Message is the index of the message that holds the block. Media inside a tool result are blocks of their own,
	// directly behind their result, with the same CallID.
	Message int
	// Text is what a reader of the block reads: text, reasoning, the text of a result, a summary. Of an opaque block it
	// is what can be read of it, often nothing.
	Text string
	// CallID pairs a call and its result. Ids may repeat in one transcript; a result belongs to the nearest open call
	// before it. An opaque block that has the id of a call belongs to that call's unit.
	CallID string
	// Tool is the name of the tool, on calls, and on results where it is known.
	Tool string
	// Args are a call's arguments as they stand: a JSON object, or what the model wrote instead.
	Args string
	// Error is true for a result that reports a failure.
	Error bool
	// Bound is true for reasoning that carries a signature or encrypted content, which a provider may bind to the
	// exact text before it.
	Bound bool
	// Pinned is true for what a format knows must stay: a queued message, a call that waits for a person's answer.
	Pinned bool
	// Media describes an image or a document.
	Media MediaInfo
	// Bytes is the size of the block in the input where Text does not tell it: of media, of opaque blocks, and of what
	// is encrypted in bound reasoning.
	Bytes int
}

// MediaInfo describes media, as far as the input tells.
type MediaInfo struct {
	// Type is the MIME type, or "".
	Type string
	// Width and Height are pixels, 0 if unknown.
	Width, Height int
	// Name is what a person would call it: a file name, a URL.
	Name string
}

// Message is one message of the transcript. Its blocks are Transcript.Blocks[First:End].
type Message struct {
	Role       Role
	Author     Author
	First, End int
	// Usage is the size of the context in tokens that the provider reported with this assistant message, its output
	// included; 0 if unknown, or if a compaction since then has made it stale.
	Usage int
}

// Person reports whether a person wrote the message.
func (m Message) Person() bool { return m.Role == User && m.Author == ByRole }

// Capabilities are what a format, or a version of it, can express. The zero value can express every plan.
type Capabilities struct {
	// NoStub: no block can be replaced, nor a part of a unit left out; only whole units can be dropped.
	NoStub bool
	// NoAnchor: what is kept behind the summary is one run up to the end.
	NoAnchor bool
	// NoHead: nothing but system text can stand before the summary, nor be kept apart from the tail.
	NoHead bool
	// SummaryFirst: a summary can stand only before everything that is kept, system text apart.
	SummaryFirst bool
	// SummaryNeeded: whatever is changed, a summary goes with it.
	SummaryNeeded bool
	// KeepFrom is the first block that can be kept behind a new summary: what stands before it would bring the earlier
	// summary back. 0 is no such bound.
	KeepFrom int
}

// Transcript is an agent's live conversation in wire order: what its next request would send. A format decodes one;
// an agent that holds structs builds one by Add and its shorthands.
type Transcript struct {
	Messages []Message
	Blocks   []Block
	// Tools are the tool definitions as the input has them, in JSON; "" if it has none.
	Tools string
	// HasSystem is true if the input holds the system text and the tools that the request will carry (a request body),
	// so that nothing is left to estimate.
	HasSystem bool
	// AtRest is true if the next thing to come is a person's message, as in a session file, so that no tool loop runs.
	AtRest bool
	// Model is the model that answered last, "" if unknown.
	Model string
	Can   Capabilities
	// Warnings are the surprises that were met while reading, one line each.
	Warnings []string
}

// Add appends a message with blocks to the transcript and returns its index.
func (t *Transcript) Add(role Role, blocks ...Block) int {
	i := len(t.Messages)
	first := len(t.Blocks)
	for _, b := range blocks {
		b.Message = i
		t.Blocks = append(t.Blocks, b)
	}
	t.Messages = append(t.Messages, Message{Role: role, First: first, End: len(t.Blocks)})
	return i
}

// AddSystem, AddUser, AddAssistant and AddResult append the messages that an agent's loop is made of.

// AddSystem appends a system message.
func (t *Transcript) AddSystem(text string) { t.Add(System, Block{Text: text}) }

// AddUser appends a message that a person wrote.
func (t *Transcript) AddUser(text string) { t.Add(User, Block{Text: text}) }

// AddNudge appends a message that the agent's own program wrote in the user role.
func (t *Transcript) AddNudge(text string) {
	t.Messages[t.Add(User, Block{Text: text})].Author = ByRuntime
}

// AddAssistant appends an answer of the model: text, which may be empty, and tool calls.
func (t *Transcript) AddAssistant(text string, calls ...Block) {
	var blocks []Block
	if text != "" {
		blocks = append(blocks, Block{Text: text})
	}
	t.Add(Assistant, append(blocks, calls...)...)
}

// Call makes a tool call for AddAssistant; args is a JSON object.
func Call(id, tool, args string) Block {
	return Block{Kind: ToolCall, CallID: id, Tool: tool, Args: args}
}

// AddResult appends the result of a call.
func (t *Transcript) AddResult(id, text string) {
	t.Add(Tool, Block{Kind: ToolResult, CallID: id, Text: text})
}

// AddError appends the result of a call that failed.
func (t *Transcript) AddError(id, text string) {
	t.Add(Tool, Block{Kind: ToolResult, CallID: id, Text: text, Error: true})
}

// message returns the message that holds block i.
func (t *Transcript) message(i int) *Message { return &t.Messages[t.Blocks[i].Message] }
