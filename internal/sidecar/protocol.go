// Package sidecar is the process beside an agent: "pemmican agent --stdio". The agent's extension tells it what happens and
// carries out what it answers; every decision is made here. It never sees a key: where a model is to write a summary, it
// asks the extension, which asks through the agent's own model registry.
//
// Both sides write one JSON object a line. The extension sends events with an id, and each gets one answer with the same
// id; answers may come in another order than the events. While an event is worked on, the sidecar may send asks, each of
// which gets one reply with the same number. Unknown members are ignored, so that either side may be newer; an unknown
// event gets an empty answer.
package sidecar

import "encoding/json"

// Protocol is the version that hello and its answer name.
const Protocol = 1

// Event is a line from the extension. Name says which of the other members are there.
type Event struct {
	ID int `json:"id"`
	// Name is hello, compact, compacted, compact-failed, tool, settled, model, usage, status or end. "" is a reply to an ask.
	Name string `json:"event,omitempty"`

	// Protocol, Agent, Version and so on: hello, once, before anything else.
	Protocol int      `json:"protocol,omitempty"`
	Agent    string   `json:"agent,omitempty"`   // pi
	Version  string   `json:"version,omitempty"` // the agent's
	AgentDir string   `json:"agentDir,omitempty"`
	Session  *Session `json:"session,omitempty"`
	Subagent bool     `json:"subagent,omitempty"` // the environment says that this is one
	// Headless says that nobody waits for the run: the agent ends with it, and cannot be interrupted for a compaction.
	Headless bool `json:"headless,omitempty"`
	// Compactions is how many the session has behind it.
	Compactions int `json:"compactions,omitempty"`

	// Model is the one in use.
	Model *Model `json:"model,omitempty"`
	// Usage is the context as the agent knows it. Tokens nil is unknown.
	Usage *Usage `json:"usage,omitempty"`

	// Reason is manual, threshold or overflow (compact, compacted, compact-failed).
	Reason       string `json:"reason,omitempty"`
	Instructions string `json:"instructions,omitempty"` // compact, tool
	// Entries are the session's entries from the root to the leaf, as the agent's session file has them, and Header its
	// first line; KeepRecent and TokensBefore are what the agent itself has prepared (compact).
	Header       json.RawMessage   `json:"header,omitempty"`
	Entries      []json.RawMessage `json:"entries,omitempty"`
	KeepRecent   int               `json:"keepRecent,omitempty"`
	TokensBefore int               `json:"tokensBefore,omitempty"`
	// FromExtension says that the compaction came from an extension, Details are those of its entry (compacted).
	FromExtension bool            `json:"fromExtension,omitempty"`
	Details       json.RawMessage `json:"details,omitempty"`
	TokensAfter   int             `json:"tokensAfter,omitempty"`
	// Error is why it failed, Aborted that somebody cancelled it (compact-failed). Of a compaction by the agent itself, Error
	// is why the sidecar's was not to be had (compacted).
	Error   string `json:"error,omitempty"`
	Aborted bool   `json:"aborted,omitempty"`
	// Asked says that a launch of the sidecar's has led to it: the agent waits for the outcome, whatever became of the
	// sidecar meanwhile (compacted, compact-failed).
	Asked bool `json:"asked,omitempty"`

	// Reply answers the ask of that number.
	Reply *AskReply `json:"reply,omitempty"`
	// Cancel calls the event with this id off.
	Cancel int `json:"cancel,omitempty"`
}

// Session is the agent's session.
type Session struct {
	ID   string `json:"id"`
	File string `json:"file,omitempty"` // "" where nothing is kept on disk
	Dir  string `json:"dir"`            // the working folder
}

// Model is a model as the agent knows it. Prices are in dollars for a million tokens.
type Model struct {
	Provider      string `json:"provider"`
	ID            string `json:"id"`
	ContextWindow int    `json:"contextWindow,omitempty"`
	MaxTokens     int    `json:"maxTokens,omitempty"`
	BaseURL       string `json:"baseUrl,omitempty"`
	Cost          *struct {
		Input      float64 `json:"input"`
		Output     float64 `json:"output"`
		CacheRead  float64 `json:"cacheRead"`
		CacheWrite float64 `json:"cacheWrite"`
	} `json:"cost,omitempty"`
}

// Usage is the context in use.
type Usage struct {
	Tokens *int `json:"tokens"`
	Window int  `json:"contextWindow,omitempty"`
}

// Line is a line to the extension: the answer to the event ID, or an ask, or what is to be done unasked.
type Line struct {
	ID int `json:"id,omitempty"`

	// Protocol and Tool answer hello. No tool is to be registered where Tool is nil.
	Protocol int   `json:"protocol,omitempty"`
	Tool     *Tool `json:"tool,omitempty"`

	// Compaction is the one to use; without it, HandBack says why the agent's own is to go on, or Veto why a hook of the
	// person's wants none now, nor the agent's own (compact).
	Compaction *Compaction `json:"compaction,omitempty"`
	HandBack   string      `json:"handBack,omitempty"`
	Veto       string      `json:"veto,omitempty"`

	// Text is what the tool returns, Refused that it is refused with this text (tool).
	Text    string `json:"text,omitempty"`
	Refused string `json:"refused,omitempty"`
	// Launch asks the extension to start the agent's compaction now, with these instructions (tool, or unasked).
	Launch *Launch `json:"launch,omitempty"`

	// Say is a message for the agent.
	Say *Say `json:"say,omitempty"`
	// Notices are for the person.
	Notices []Notice `json:"notices,omitempty"`
	// Status answers status.
	Status json.RawMessage `json:"status,omitempty"`

	// Ask wants a model to be asked, and CancelAsk calls that ask off.
	Ask       *Ask `json:"ask,omitempty"`
	CancelAsk int  `json:"cancelAsk,omitempty"`
}

// Tool is the tool to register. Its one argument is instructions, an optional string.
type Tool struct {
	Name         string   `json:"name"`
	Label        string   `json:"label"`
	Description  string   `json:"description"`
	Snippet      string   `json:"snippet,omitempty"`
	Guidelines   []string `json:"guidelines,omitempty"`
	Instructions string   `json:"instructions"` // the description of the argument
}

// Compaction is what the agent is to write into its session.
type Compaction struct {
	Summary          string          `json:"summary"`
	FirstKeptEntryID string          `json:"firstKeptEntryId"`
	TokensBefore     int             `json:"tokensBefore"`
	Details          json.RawMessage `json:"details"`
	// Usage is what a model was asked for it, in the agent's own form; nil for nothing.
	Usage json.RawMessage `json:"usage,omitempty"`
}

// Launch is a compaction to start.
type Launch struct {
	Instructions string `json:"instructions,omitempty"`
}

// Say is a message for the agent. Deliver is steer, followUp or nextTurn.
type Say struct {
	Text    string `json:"text"`
	Kind    string `json:"kind"` // reminder, outcome, switch
	Deliver string `json:"deliver"`
	// Turn is true if it is to start a turn where the agent is idle.
	Turn bool `json:"turn,omitempty"`
}

// Notice is a line for the person. Level is info, warning or error.
type Notice struct {
	Level string `json:"level"`
	Text  string `json:"text"`
}

// Ask is a question for a model.
type Ask struct {
	N int `json:"n"`
	// Model is "provider/id".
	Model string `json:"model"`
	// Mode is same: the agent's own next request, with Instruction as one more message of the user; or cross: System and
	// User, and nothing else.
	Mode        string `json:"mode"`
	Instruction string `json:"instruction,omitempty"`
	System      string `json:"system,omitempty"`
	User        string `json:"user,omitempty"`
	// MaxTokens bounds the reply; 0 sets no bound of ours, which same mode needs: any difference costs the cache.
	MaxTokens int `json:"maxTokens,omitempty"`
	// Entries are the ids of the entries of the compact event that the request is rebuilt from: all of them. Compact is
	// the event.
	Compact int `json:"compact"`
}

// AskReply is what the model answered.
type AskReply struct {
	N         int      `json:"n"`
	Text      string   `json:"text"`
	Reasoning string   `json:"reasoning,omitempty"`
	Calls     []string `json:"calls,omitempty"` // names of tools
	// Stop is the agent's word: stop, length, toolUse, error or aborted.
	Stop  string `json:"stop"`
	Error string `json:"error,omitempty"`
	// Unresolved says that the model is not there, or that there is no key for it: nobody was asked.
	Unresolved string    `json:"unresolved,omitempty"`
	Model      string    `json:"model,omitempty"`
	Usage      *AskUsage `json:"usage,omitempty"`
}

// AskUsage is what a model was asked, in tokens, as the agent counts.
type AskUsage struct {
	Input      int `json:"input"` // without what was read from the cache or written to it
	Output     int `json:"output"`
	CacheRead  int `json:"cacheRead"`
	CacheWrite int `json:"cacheWrite"`
	// Cost is what the agent says that it costs; zero is unknown.
	Cost AskCost `json:"cost,omitzero"`
}

// AskCost is a cost in dollars.
type AskCost struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
	Total      float64 `json:"total"`
}
