package pemmican

// Place is where a summary stands.
type Place uint8

// The places. A format that has only one (Capabilities.SummaryFirst) takes precedence.
const (
	// AfterHead: behind the head, where the first dropped block stood.
	AfterHead Place = iota
	// First: before everything that is kept, system text apart.
	First
	// Last: behind everything that is kept.
	Last
)

// HeadRule is what stays at the beginning of a conversation, system text apart.
type HeadRule uint8

// The rules.
const (
	// HeadTask keeps everything up to the first message of a person, that message included.
	HeadTask HeadRule = iota
	// HeadLeading keeps everything before the first answer of the model.
	HeadLeading
)

// Policy says what a compaction keeps and what goes. Its numbers mean what they say: zero is zero, not a default. Start
// from DefaultPolicy, or from one of package preset, and change what should differ.
type Policy struct {
	// Name names the policy in reports.
	Name string

	// The first stage, reduce, makes older blocks shorter; "older" is what stands before the tail. Each field turns on
	// one step, taken in this order until the target is met.

	// StubMedia replaces older media by a line that names its place.
	StubMedia bool
	// DropReasoning drops the reasoning of older, finished turns.
	DropReasoning bool
	// Superseded are the roles of tools whose older results are replaced by a line where a newer result for the same
	// path and range, or the same arguments, is kept as well. It covers the tail too: the newest copy wins.
	Superseded []ToolRole
	// RepeatedErrors leaves of equal failures of one tool only the last, with its call.
	RepeatedErrors bool
	// Loops cuts text that repeats itself to one round.
	Loops bool
	// ResultBytes is the length in bytes to which older results are cut, in their middle; 0 leaves them.
	ResultBytes int
	// ArgsBytes is the length in bytes to which the texts in older arguments are cut; 0 leaves them.
	ArgsBytes int
	// CutAllResults extends ResultBytes to the tail.
	CutAllResults bool

	// ReduceTo is the percentage of the request down to which this stage alone may do. Under it, so much would be cut
	// out of everything that more survives where a summary stands for the oldest steps.
	ReduceTo int

	// The second stage, cut, finds where the tail begins.

	// TailTokens is how many tokens at the end stay verbatim. It is a wish, which a low target shrinks.
	TailTokens int
	// TailMessages keeps that many messages at the end.
	TailMessages int
	// TailCalls keeps the steps with that many answered calls at the end.
	TailCalls int
	// FillTarget keeps more than the tail, reduced and the newest first, as long as the target has room.
	FillTarget bool

	Head HeadRule
	// KeepMessages keeps every message that belongs to no call.
	KeepMessages bool
	// PersonBytes is the room in bytes for older messages of persons, kept verbatim in their place, the newest first,
	// the first task counted.
	PersonBytes int

	// The third stage, anchor, keeps older units for what they are: newest first, whole, and with their partners.

	// AnchorMessages is how many messages anchors take at most, those included that straddle the tail.
	AnchorMessages int
	// AnchorShare bounds anchors to a percentage of the room that the target leaves; 0 sets no such bound.
	AnchorShare int
	Score       AnchorScore

	// The fourth stage, summarise.

	Place Place
	// SummaryShare is the percentage of the target's room for the summary.
	SummaryShare int
	// SummaryTokens bounds the summary, in tokens; 0 leaves the bound to SummaryShare.
	SummaryTokens int
	// SummaryBytes cuts a longer summary, in bytes; 0 does not.
	SummaryBytes int
	// OneByOne drops the oldest units one by one until the target is met, where there is no summariser, or it failed.
	// Without it everything that is not kept goes at once, and a failed summariser changes nothing.
	OneByOne bool

	// MinGain is the percentage of the live tokens that a compaction must save, else nothing changes.
	MinGain int
	// BestEffort accepts a result above the target.
	BestEffort bool
}

// AnchorScore scores older units. A unit with at least Threshold is worth keeping.
type AnchorScore struct {
	Edit, Plan, Error, Threshold int
}

// DefaultPolicy is Pemmican's own: reduce first, then keep the head, the person's newest message, anchors, and as much
// of the newest steps as the target has room for, and let a summary stand for the rest.
func DefaultPolicy() Policy {
	return Policy{
		Name:           "default",
		StubMedia:      true,
		DropReasoning:  true,
		Superseded:     []ToolRole{ReadTool, SearchTool, ListTool},
		RepeatedErrors: true,
		Loops:          true,
		ResultBytes:    2000,
		ArgsBytes:      1000,
		ReduceTo:       50,
		TailTokens:     20_000,
		FillTarget:     true,
		AnchorMessages: 16,
		AnchorShare:    10,
		Score:          AnchorScore{Edit: 10, Plan: 7, Error: 3, Threshold: 5},
		SummaryShare:   70,
		SummaryTokens:  32_000,
		MinGain:        2,
	}
}
