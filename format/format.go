// Package format is what the packages below it share: one for each wire format (a provider's request body) and each
// session format (an agent's file on disk). A format turns bytes into a transcript and applies a plan to the same
// bytes: what the plan keeps comes out byte for byte, whatever it is.
package format

import (
	"errors"
	"fmt"

	"github.com/pemmican-dev/pemmican"
)

// Document is one decoded input. It keeps the bytes that it was decoded from and never changes them.
type Document interface {
	// Format is the name of the format: anthropic, openai-chat, pi, claude-code.
	Format() string
	// Transcript is the live conversation: what the agent would send now. The caller must not change it.
	Transcript() *pemmican.Transcript
	// Apply returns the input with the plan applied: a whole new body, or the session file with lines appended to it.
	// A plan that changes nothing returns the input. The plan must have been made for Transcript().
	Apply(plan *pemmican.Plan) ([]byte, error)
	// Check returns what the provider, or the agent, would refuse in the live conversation as it stands. What an agent
	// mends by itself when it reads its session is no finding.
	Check() []Finding
}

// Session is a Document that its agent keeps on disk and that only grows.
type Session interface {
	Document
	// Undo returns the length in bytes of the file before Pemmican appended to it last. It returns ErrNothingToUndo
	// if the file does not end with what Pemmican appended.
	Undo() (int, error)
	// Info is what the file says about its session.
	Info() Info
}

// Info is what a session file says about its session.
type Info struct {
	ID   string // the agent's name for the session
	Dir  string // the working folder
	Name string // a title, if it has one
}

// Finding is one thing that a provider or an agent would refuse, or that is lost for the agent.
type Finding struct {
	// Rule names the broken rule in a few words of kebab case, the same in all formats.
	Rule string `json:"rule"`
	// Where is the place, for people: "line 12", "messages[3].content[0]".
	Where string `json:"where"`
	// Message is one sentence that says what is wrong.
	Message string `json:"message"`
	// Fixable is true if dropping or stubbing the blocks below mends it.
	Fixable bool `json:"fixable"`
	// Fix are the marks that mend it, by block of the live transcript.
	Fix map[int]pemmican.Mark `json:"-"`
}

// The rules that formats report. A provider refuses what breaks one, or the agent does not survive it; but for
// RuleBadLine and RuleBrokenChain, which tell of a session file that something in it is lost, and goes on without.
const (
	RuleCallWithoutResult = "call-without-result"
	RuleResultWithoutCall = "result-without-call"
	RuleResultNotAdjacent = "result-not-adjacent" // results stand directly behind their call, before anything else
	RuleDuplicateCallID   = "duplicate-call-id"
	RuleDuplicateResult   = "duplicate-result"
	RuleEmptyContent      = "empty-content"
	RuleBadContent        = "bad-content" // content that cannot be read: a picture that is no base64
	RuleBadArguments      = "bad-arguments"
	RuleBadID             = "bad-id"
	RuleWrongRole         = "wrong-role" // a message of no known role, or a block in one whose role may not have it
	RuleFirstRole         = "first-role" // the conversation must start with a user message
	RuleLastRole          = "last-role"
	RuleSystemNotFirst    = "system-not-first"
	RuleSameRole          = "same-role-neighbours"
	RuleThinkingOnly      = "thinking-only"
	RuleThinkingLast      = "thinking-last"     // an answer may not end with thinking
	RuleUnsignedThinking  = "unsigned-thinking" // without the signature that the provider gave it
	RuleTrailingSpace     = "trailing-space"    // at the end of an answer that the model is to go on with
	RuleLoneSurrogate     = "lone-surrogate"
	RuleInvalidUTF8       = "invalid-utf8"
	RuleTooManyMarks      = "too-many-cache-marks" // more than four cache_control
	RuleAgentFails        = "agent-fails"          // the agent ends with an error when it reads the file
	RuleBadLine           = "bad-line"             // a line of a session file that its agent passes over
	RuleBrokenChain       = "broken-chain"         // a parent that is not in the file
)

// Sentinel errors of Decode, Apply and Undo.
var (
	ErrUnknownFormat = errors.New("unknown format")
	ErrNotWritable   = errors.New("this input can be read, but not written back")
	ErrNothingToUndo = errors.New("nothing to undo")
)

// Error is bad input: what is wrong, where, and how to mend it.
type Error struct {
	Line int    // 1-based; 0 if the input has no lines or the line is unknown
	Msg  string // what is wrong
	Mend string // what the person can do
	Err  error  // the sentinel or cause, may be nil
}

func (e *Error) Error() string {
	s := e.Msg
	if e.Line > 0 {
		s = fmt.Sprintf("line %d: %s", e.Line, s)
	}
	if e.Mend != "" {
		s += "; " + e.Mend
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }
