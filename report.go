package pemmican

// Outcome says what a compaction came to.
type Outcome string

// The outcomes.
const (
	Unchanged  Outcome = "unchanged"  // nothing to do
	Reduced    Outcome = "reduced"    // smaller, without a summary
	Summarised Outcome = "summarised" // a summary stands for what was dropped
	FellBack   Outcome = "fell-back"  // so it does, but not the one that was wished for
	Refused    Outcome = "refused"    // it could not be done; the transcript stays as it was
)

// Report says what a compaction did, in tokens unless said otherwise.
type Report struct {
	Outcome Outcome `json:"outcome"`
	// Reason is one sentence for people.
	Reason       string        `json:"reason"`
	Window       int           `json:"window"`
	Target       int           `json:"target"`
	Floor        Floor         `json:"floor"`
	Overhead     string        `json:"overhead"` // known, estimated or unknown
	TokensBefore int           `json:"tokens_before"`
	TokensAfter  int           `json:"tokens_after"`
	Counter      string        `json:"counter"`
	Exact        bool          `json:"exact"`
	Blocks       BlockCounts   `json:"blocks"`
	Stages       []StageReport `json:"stages"`
	Summary      *SummaryInfo  `json:"summary"`
	Asked        *Asking       `json:"asked"` // whatever came of it
	Warnings     []string      `json:"warnings"`
}

// Floor is what no compaction goes below, by its parts.
type Floor struct {
	Tokens     int `json:"tokens"`
	System     int `json:"system"`
	Tools      int `json:"tools"`
	Head       int `json:"head"`   // the head, and what is pinned
	Newest     int `json:"newest"` // the person's newest message
	OpenCalls  int `json:"open_calls"`
	NewestUnit int `json:"newest_unit"`
}

// BlockCounts counts blocks by what became of them.
type BlockCounts struct {
	Kept    int `json:"kept"`
	Stubbed int `json:"stubbed"`
	Dropped int `json:"dropped"`
}

// StageReport is one stage's work. What it did to each block, and why, is in the plan's marks.
type StageReport struct {
	Name        string `json:"name"`
	Blocks      int    `json:"blocks"`
	TokensSaved int    `json:"tokens_saved"`
}

// SummaryInfo describes the summary of a plan.
type SummaryInfo struct {
	Kind   string `json:"kind"`
	Tokens int    `json:"tokens"`
}

// Asking is what was asked of a model for a summary, in tokens as its provider reported them.
type Asking struct {
	Model string `json:"model"`
	// Mode is same, where the model got the agent's own request with an instruction behind it, or cross, where it got an
	// excerpt.
	Mode string `json:"mode"`
	// Requests is how often it was sent, with those that failed.
	Requests int `json:"requests"`
	// Input is all of the input, CacheRead and CacheWrite included.
	Input      int `json:"input"`
	CacheRead  int `json:"cache_read"`
	CacheWrite int `json:"cache_write"`
	Output     int `json:"output"`
	// Dollars is what that cost, nil where the price or the usage is unknown.
	Dollars *float64 `json:"dollars"`
}
