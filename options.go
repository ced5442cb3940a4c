package pemmican

import "context"

// Counter counts the tokens of one block: its text, or its arguments, or by a vendor's rule what a picture costs. It
// must give the same answer for the same block, and be safe for concurrent use.
type Counter interface {
	Count(b *Block) int
}

// CounterInfo is what a Counter may also tell. One that does not is taken for an estimate.
type CounterInfo interface {
	// Name names the counter in reports.
	Name() string
	// Exact reports whether Count is the provider's own figure.
	Exact() bool
}

// Summarizer writes the text that stands for what a plan drops. An error leaves the transcript as it was; what was asked
// and noted until then may be returned with it. Falling back from one summariser to another is the business of package
// summary.
type Summarizer interface {
	Summarize(ctx context.Context, r SummaryRequest) (SummaryText, error)
}

// SummaryRequest is what a Summarizer gets. It must not change any of it.
type SummaryRequest struct {
	Transcript *Transcript
	// Dropped are the blocks that the summary stands for, in order, without the earlier summary.
	Dropped []int
	// Kept reports of every block whether the agent will still see it.
	Kept []bool
	// Previous is the body of the earlier summary, "" if there is none. It is handed over once, to be merged.
	Previous string
	// Tokens is the room for the summary, as Counter counts.
	Tokens  int
	Counter Counter
	Tools   Tools
	// Compactions is how many compactions the transcript has behind it, this one not counted.
	Compactions int
	// Original is where the agent can read what is dropped, "" if it cannot.
	Original string
	// OverLimits is true if the transcript as it is has more than its provider takes beside tokens (Options.Limits), so
	// that no model can be asked with all of it.
	OverLimits bool
}

// SummaryText is a summary before it is sealed.
type SummaryText struct {
	Body string
	// Kind says where it comes from: "mechanical", a model's name.
	Kind string
	// FellBack is the reason why this is not the summary that was wished for, "" if it is.
	FellBack string
	// Asked is what was asked of a model for it, nil for nothing.
	Asked *Asking
	// Notes are for the report's warnings, one line each.
	Notes []string
}

// ToolRole is what a tool does to the world, as far as a compaction cares.
type ToolRole uint8

// The roles. A tool without a role is never taken for superseded, never for an edit.
const (
	NoRole ToolRole = iota
	ReadTool
	SearchTool
	ListTool
	EditTool
	RunTool
	PlanTool
	// KeepTool pins a fact, its argument "fact", which is to outlive every compaction; with "drop": true it takes one back.
	KeepTool
)

// ToolSpec is what is known of a tool: its role, and which of its arguments is the path, the first that is there.
type ToolSpec struct {
	Role ToolRole
	Path []string
	// Range are the arguments that make two reads of one path two different ones.
	Range []string
	// By is the argument that decides the role of a tool that has several, and Roles are those by its value. Role
	// holds for any other value.
	By    string
	Roles map[string]ToolRole
}

// RoleOf returns the tool's role in a call with these arguments.
func (s ToolSpec) RoleOf(args string) ToolRole {
	if s.By != "" {
		if role, ok := s.Roles[argument(args, s.By)]; ok {
			return role
		}
	}
	return s.Role
}

// PathOf returns the path that a call with these arguments is about, the first path argument that is there; "" if it
// names none.
func (s ToolSpec) PathOf(args string) string {
	for _, name := range s.Path {
		if v := argument(args, name); v != "" {
			return v
		}
	}
	return ""
}

// Tools are the known tools by name.
type Tools map[string]ToolSpec

// Options say what one compaction is for. The zero value is useful: it compacts to half of a window of 200,000 tokens
// by the default policy, with an estimate for a counter and a one-line marker for a summary.
type Options struct {
	// Window is the model's context window in tokens. Defaults to 200,000.
	Window int
	// Target is what the request shall take at most, in tokens, overhead included. Defaults to half of Window.
	Target int
	// Overhead is what the request carries beside the transcript where the transcript does not hold it: system text
	// and tools. Defaults to unknown, counted as nothing.
	Overhead Overhead
	// Counter counts tokens. Defaults to an estimate.
	Counter Counter
	// Summarizer writes the summary. Defaults to a one-line marker.
	Summarizer Summarizer
	// Policy says what is kept and what goes. Defaults to DefaultPolicy().
	Policy *Policy
	// Tools are the roles of the agent's tools. Defaults to none known.
	Tools Tools
	// Pins are texts; a block that contains one stays verbatim.
	Pins []string
	// Keep is asked of every block; a unit with one for which it is true stays verbatim. It may be nil.
	Keep func(b *Block) bool
	// KeepRecent overrides the policy's tail, in tokens, if it is positive.
	KeepRecent int
	// Compactions is how many compactions the transcript has behind it.
	Compactions int
	// Original is where the agent can read what is dropped: the path of its session file, say. Defaults to nowhere.
	Original string
	// Thinking says what the model demands of reasoning that is bound to the text before it.
	Thinking ThinkingRule
	// Limits are what the provider takes beside tokens. A transcript over one is compacted even if it is under Target.
	// Defaults to none.
	Limits Limits
}

// Overhead is the part of a request that the transcript does not hold, in tokens.
type Overhead struct {
	Tokens int
	// Source is known, estimated or unknown; "" is unknown.
	Source string
}

// ThinkingRule is what a model demands of bound reasoning once the past before it has been touched. Older finished
// turns never keep theirs.
type ThinkingRule uint8

// The rules.
const (
	// ThinkingBound: a kept block is bound to everything before it, and a running tool loop needs its own. Neither can
	// be had while a loop runs, so then nothing before the loop's reasoning is touched. The zero value: right for
	// every model.
	ThinkingBound ThinkingRule = iota
	// ThinkingInLoop: a running tool loop keeps its reasoning, whatever was changed before it.
	ThinkingInLoop
	// ThinkingFree: reasoning behind a touched place goes, in a running tool loop too.
	ThinkingFree
)
