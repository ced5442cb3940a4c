package session

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/texts"
	"github.com/pemmican-dev/pemmican/llm"
	"github.com/pemmican-dev/pemmican/summary"
)

// Config is what a session is made of. Every field is optional.
type Config struct {
	// Settings are in force until SetSettings. Defaults to DefaultSettings().
	Settings *Settings
	// Model is the model at the beginning.
	Model Model
	// State is what an earlier process of the session, or another session, has learned.
	State State
	// Catalogue knows windows and prices, and learns windows. Defaults to llm.DefaultCatalogue().
	Catalogue *llm.Catalogue
	// Language is the language of the texts, "en" or "zh", where the settings say auto. Defaults to "en".
	Language string
	// Subagent turns everything off: a subagent is left to the agent that started it.
	Subagent bool
	// AsksModel is true if whoever carries the attempts out asks a model for summaries, as pi's extension does: then an empty
	// Settings.CompactModel is the session's own model. Fit goes by Summarizer and Summarize.
	AsksModel bool
	// Rest is about what a compaction leaves, in tokens, for the figures of reminders and of whether it pays. Defaults to what
	// Settings.Target says, and to half where there is less than that already.
	Rest int
	// Origin tells where a setting can be changed, by its name in the file: a file or a variable of the environment, for the
	// texts that say so. Defaults to no such place.
	Origin func(key string) string

	// The rest is for Fit only.

	// Counter counts tokens. Defaults to a cached estimate.
	Counter pemmican.Counter
	// Summarizer writes the summary. Defaults to summary.Mechanical, which also takes over where no model is to be asked.
	Summarizer pemmican.Summarizer
	// Summarize chooses the summariser of one attempt, by its Focus and Model, where it is not always the same one.
	// Defaults to Summarizer.
	Summarize func(attempt Answer) pemmican.Summarizer
	// Before is asked before an attempt, where the settings name a hook: it may add to the focus, or veto with a reason.
	// After is told how an attempt has ended: failed is "" if its outcome was taken into use, and else why nothing was changed;
	// of one that was called off or vetoed it is not told. Both have the time that Settings.Hooks gives them: ctx ends then, and
	// one that goes on is left behind, and the compaction goes on without it. Both default to nothing.
	Before func(ctx context.Context, attempt Answer, l Load) (focus, veto string)
	After  func(ctx context.Context, attempt int, o Outcome, failed string)
	// Tools are the roles of the agent's tools. Defaults to agents.Tools().
	Tools pemmican.Tools
	// Notify is told what the person should know. Defaults to nothing.
	Notify func(notice string)
	// Log gets a line for each decision. Defaults to none.
	Log *slog.Logger
}

// Session is one running agent. Make one with New. It is safe for concurrent use.
type Session struct {
	mu     sync.Mutex
	config Config
	guard  summary.Guard
	say    func(language string) speaker // the texts, which tests look behind

	settings Settings
	model    Model
	state    State
	ended    bool

	attempts int      // ordered until now
	flight   *attempt // the one in flight, nil if there is none
	lastEnd  time.Time
	failed   *failure // the newest attempt that brought nothing, nil after a success
	failures int      // in a row
	vetoes   map[string]int

	load      Load           // of the newest event that told one
	sent      Load           // of the newest request that was let go, until it is answered
	requests  int            // how many replies there were
	staleSize int            // what was reported before the newest compaction
	rest      int            // the size of the first request after the newest compaction, 0 until there is one
	before    int            // the size of what the newest compaction was ordered for, 0 if it is not known
	compacted bool           // there was a compaction, and rest bounds the next one
	fresh     bool           // nothing has come since the newest compaction
	passing   bool           // the first answer since then tells which tiers are passed already
	after     string         // the occasion of the newest compaction of ours, until there is an answer
	byModel   bool           // a model wrote the summary of that
	refused   *refused       // what the provider refuses for good, nil for nothing
	overflows int            // overflows that were compacted for, and answers to a part of a request, in a row
	truncated bool           // the newest reply was to a part of its request only
	larger    string         // the model before a switch to a smaller one, which has not answered yet
	served    int            // the window of whatever serves this model
	bytes     map[string]int // the largest bodies that may still fit, by model, where one was too large

	reported  int             // the newest figure that was reported
	suspected map[string]int  // windows that are guessed from answers, by model
	trusted   map[string]bool // the models of which an answer has borne the estimate out

	fit fitting
}

// speaker are the texts of a language.
type speaker interface {
	Reminder(r texts.Reminder) string
	Refusal(r texts.Refusal) string
	Launched(l texts.Launched) string
	Outcome(o texts.Outcome) string
	Failed(reason string) string
	Availability(model string, available bool, settingsFile string) string
	Downshift(model string, tokens, window, before int) string
	Blocked(tokens, line, window int, reason string) string
}

// New returns a session. What an earlier process left in flight is forgotten.
func New(c Config) *Session {
	if c.Settings == nil {
		defaults := DefaultSettings()
		c.Settings = &defaults
	}
	if c.Catalogue == nil {
		c.Catalogue = llm.DefaultCatalogue()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Session{
		config:   c,
		say:      func(language string) speaker { return texts.In(language) },
		settings: c.Settings.Normalise().sane(c.Log),
		model:    c.Model,
		state:    c.State.clone(),
		vetoes:   map[string]int{},
		bytes:    map[string]int{},
	}
	s.state = s.state.bounded(s.settings.ReminderThresholds)
	s.suspected, s.trusted = map[string]int{}, map[string]bool{}
	s.fit.init(&c)
	if len(c.State.Guard) > 0 {
		if err := s.guard.Restore(c.State.Guard); err != nil {
			c.Log.Warn("what an earlier session knew of failed summaries cannot be read and is left out", "error", err)
		}
	}
	if len(c.State.Windows) > 0 {
		if err := c.Catalogue.Relearn(c.State.Windows); err != nil {
			c.Log.Warn("the windows of an earlier session cannot be read and are left out", "error", err)
		}
	}
	return s
}

// On tells the session what happened, and returns what to do about it.
func (s *Session) On(e Event) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.on(e)
}

// on is On for callers that hold s.mu.
func (s *Session) on(e Event) Answer {
	if s.ended || s.config.Subagent {
		return Answer{Do: GoOn}
	}
	s.expire()
	a := s.answer(e)
	s.dropLaunched()
	a.Do = cmp.Or(a.Do, GoOn)
	s.log(e, a)
	return a
}

func (s *Session) answer(e Event) Answer {
	switch e := e.(type) {
	case Request:
		return s.request(e.Load, s.asksModel())
	case fits:
		if s.refuses(e.Load) {
			return Answer{Do: Block, Reason: s.refused.reason} // the person was told when it was refused
		}
		return s.request(e.Load, s.asksModel() && !s.fit.mechanical)
	case Replied:
		return s.replied(e)
	case Failed:
		s.saw(e.Load)
		return s.requestFailed(e)
	case Switched:
		s.saw(e.Load)
		return s.switched(e)
	case Settled:
		s.saw(e.Load)
		return s.settled(e.Load)
	case Resumed:
		s.resumed()
	case ToolAsked:
		s.saw(e.Load)
		return s.toolAsked(e)
	case Asked:
		s.saw(e.Load)
		return s.asked(e)
	case Began:
		s.saw(e.Load)
		return s.began(e)
	case Vetoed:
		return s.vetoed(e)
	case Compacted:
		return s.wasCompacted(e)
	case NotCompacted:
		s.saw(e.Load)
		return s.notCompacted(e)
	case Ended:
		s.land()
		s.ended = true
	}
	return Answer{}
}

func (s *Session) saw(l Load) {
	if l != (Load{}) {
		s.load = l
	}
	if l.Reported > 0 {
		s.reported = l.Reported
	}
}

// resumed forgets what a process that is no more had in flight, and why it was careful.
func (s *Session) resumed() {
	s.land()
	s.failed, s.fit.pending = nil, nil
	s.failures, s.overflows = 0, 0
	s.truncated, s.sent, s.refused = false, Load{}, nil
	clear(s.vetoes)
}

// SetSettings puts other settings in force, from the next event on.
func (s *Session) SetSettings(settings Settings) {
	settings = settings.Normalise().sane(s.config.Log)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !reflect.DeepEqual(settings, s.settings) {
		s.refused = nil
	}
	if !slices.Equal(settings.ReminderThresholds, s.settings.ReminderThresholds) {
		s.state.Fired = nil // they are ordinals of other tiers
	}
	s.settings = settings
	s.dropLaunched()
}

// Guard is the guard of summaries by a model, for every [summary.Model] of this session.
func (s *Session) Guard() *summary.Guard { return &s.guard }

// State is what the session has learned until now.
func (s *Session) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.state.clone()
	out.Windows = s.config.Catalogue.Learned()
	out.Guard = s.guard.State()
	if len(out.Fired) > 0 {
		out.Tiers = slices.Clone(s.settings.ReminderThresholds)
	}
	return out
}

// bounded is what can be of a state that was restored, whose maps it changes: a file may be of another version, or broken.
func (s State) bounded(tiers []Threshold) State {
	s.Compactions = max(s.Compactions, 0)
	if s.Tiers != nil && !slices.Equal(s.Tiers, tiers) {
		s.Fired = nil // they are ordinals of other tiers
	}
	s.Tiers = nil
	s.Fired = slices.DeleteFunc(s.Fired, func(n int) bool { return n < 1 || n > len(tiers) })
	slices.Sort(s.Fired)
	s.Fired = slices.Compact(s.Fired)
	maps.DeleteFunc(s.Ratios, func(_ string, ratio float64) bool { return !(ratio >= ratioLeast && ratio <= ratioMost) })
	for _, windows := range []map[string]int{s.Limits, s.Below} {
		maps.DeleteFunc(windows, func(_ string, tokens int) bool { return tokens < leastWindow })
	}
	return s
}

func (s State) clone() State {
	s.Fired = slices.Clone(s.Fired)
	s.Tiers = slices.Clone(s.Tiers)
	s.Ratios = maps.Clone(s.Ratios)
	s.Limits = maps.Clone(s.Limits)
	s.Below = maps.Clone(s.Below)
	s.Windows = slices.Clone(s.Windows)
	s.Guard = slices.Clone(s.Guard)
	return s
}

// Status is how the session stands, for people and agents that ask.
func (s *Session) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	window, from := s.window()
	return Status{
		Enabled:     s.settings.Enabled && !s.config.Subagent && !s.ended,
		Model:       s.model.name(),
		Excluded:    s.excluded(s.model),
		Tokens:      s.input(s.load),
		Window:      window,
		WindowFrom:  from,
		Soft:        s.settings.Soft.In(window),
		Hard:        s.settings.Hard.In(window),
		Block:       s.settings.Block.In(window),
		Tiers:       s.tiers(window),
		Fired:       slices.Clone(s.state.Fired),
		Compactions: s.state.Compactions,
		InFlight:    s.flight != nil,
	}
}

// origin is where a setting can be changed, "" if nobody knows.
func (s *Session) origin(key string) string {
	if s.config.Origin == nil || key == "" {
		return ""
	}
	return s.config.Origin(key)
}

// active reports whether the session does anything for the current model.
func (s *Session) active() bool { return s.settings.Enabled && !s.excluded(s.model) }

// offered reports whether reminders, the tool, and the takeover of the agent's own compaction are on, which need a model that
// is known by name.
func (s *Session) offered() bool { return s.active() && s.model.name() != "" }

func (s *Session) excluded(m Model) bool { return slices.Contains(s.settings.ExcludedModels, m.name()) }

// name is "provider/id", "" for a model without an id.
func (m Model) name() string {
	switch {
	case m.ID == "":
		return ""
	case m.Provider == "":
		return m.ID
	}
	return m.Provider + "/" + m.ID
}

func (s *Session) texts() speaker {
	language := s.settings.Language
	if language == "" || language == "auto" {
		language = s.config.Language
	}
	return s.say(language)
}

func (s *Session) log(e Event, a Answer) {
	name := eventName(e)
	if a.Do == GoOn && a.Reason == "" && len(a.Notices) == 0 && a.Text == "" {
		s.config.Log.Debug(name, "model", s.model.name(), "tokens", s.input(s.load))
		return
	}
	window, from := s.window()
	s.config.Log.Info(name, "do", a.Do, "attempt", a.Attempt, "occasion", a.Occasion, "reason", a.Reason, "mechanical", a.Mechanical,
		"model", s.model.name(), "tokens", s.input(s.load), "window", window, "windowFrom", from)
}

// State is what a session has learned, as JSON: a caller saves it and gives it to the next one.
type State struct {
	// Compactions is how many there were.
	Compactions int `json:"compactions"`
	// Fired are the tiers, by their ordinals from 1, that were told of since the last compaction, and Tiers all of them. They
	// are forgotten where the settings have others.
	Fired []int       `json:"fired,omitempty"`
	Tiers []Threshold `json:"tiers,omitempty"`
	// Ratios are what one estimated token is in tokens of a model, by "provider/model".
	Ratios map[string]float64 `json:"ratios,omitempty"`
	// Windows are what overflows taught, as llm.Catalogue.Learned writes it.
	Windows []byte `json:"windows,omitempty"`
	// Limits are windows that providers named in an overflow, by "provider/model", and Below what did not fit where they
	// named none; in tokens.
	Limits map[string]int `json:"limits,omitempty"`
	Below  map[string]int `json:"below,omitempty"`
	// Guard is the memory of the guard of summaries by a model: see summary.Guard.
	Guard []byte `json:"guard,omitempty"`
}

// Status is how a session stands.
type Status struct {
	Enabled bool   `json:"enabled"`
	Model   string `json:"model"`
	// Excluded is true if the model is one that is left alone.
	Excluded bool `json:"excluded"`
	// Tokens is the newest load in tokens, 0 if unknown, Window the window, and WindowFrom who says so: settings,
	// override, served, learned, agent, catalogue, assumed, or suspected: it seems that no more was read.
	Tokens     int    `json:"tokens"`
	Window     int    `json:"window"`
	WindowFrom string `json:"windowFrom"`
	// Soft, Hard and Block are the thresholds in tokens of this window, 0 for none, and Tiers those of the reminders.
	Soft  int   `json:"soft"`
	Hard  int   `json:"hard"`
	Block int   `json:"block"`
	Tiers []int `json:"tiers"`
	Fired []int `json:"fired"`
	// Compactions is how many there were, and InFlight whether one is being made.
	Compactions int  `json:"compactions"`
	InFlight    bool `json:"inFlight"`
}
