package session

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/preset"
)

// Settings are what a person says of a session, in the form of the settings file. Start from [DefaultSettings]: the zero
// value is switched off.
type Settings struct {
	// Enabled turns everything on: the tool, reminders, compaction.
	Enabled bool `json:"enabled"`
	// CompactModel is who writes the summary: "" follows the face (in pi the session's own model, elsewhere no model),
	// "mechanical" is no model, "provider/model" is that one.
	CompactModel string `json:"compactModel"`
	// ReminderThresholds are the tiers of the reminders, ascending, three at most. They are inclusive.
	ReminderThresholds []Threshold `json:"reminderThresholds"`
	// ExcludedModels are models that are left alone, each exactly "provider/model".
	ExcludedModels []string `json:"excludedModels"`

	// Window is the model's context window in tokens; 0 leaves it to the agent, the catalogue, and what an overflow taught.
	Window int `json:"window"`
	// Soft starts a summary by a model in the background. Hard compacts before the request is sent. Block is where a
	// request is not sent any more if compacting did not help.
	Soft  Threshold `json:"soft"`
	Hard  Threshold `json:"hard"`
	Block Threshold `json:"block"`
	// Counting says which figures the thresholds are compared with.
	Counting Counting `json:"counting"`
	// MinTurns is how many turns a session has at least before a threshold compacts it. An overflow does at any time.
	MinTurns int `json:"minTurns"`
	// OverflowAttempts is how many compactions in a row are tried because the provider says that a request is too large,
	// until one is answered.
	OverflowAttempts int `json:"overflowAttempts"`
	// Target is what a compaction comes down to: tokens of the window's use ("60k"), the window without some
	// ("window-120k", "window-60%"), or a share of the live tokens ("30%"); "" is half of the window. It is raised where it is below
	// what has to stay, or leaves no room beside that.
	Target string `json:"target"`
	// KeepRecent is what stays as it is at the end, in tokens; 0 leaves it to the preset.
	KeepRecent int `json:"keepRecent"`
	// Preset names the policy of package preset; "" is the default one.
	Preset string `json:"preset"`
	// Thinking is what the model demands of reasoning that is bound to the text before it; "" means ThinkingBound.
	Thinking Thinking `json:"thinking"`
	// OutputReserve is what a request keeps free for the answer where it does not say so itself, in tokens. It is never
	// taken for more than a quarter of the window.
	OutputReserve int `json:"outputReserve"`
	// Limits are what the provider takes beside tokens; 0 is no limit that is known.
	Limits Limits `json:"limits"`
	// MinGain is the share of the live tokens that a compaction must free, in percent, to count.
	MinGain int `json:"minGain"`
	// Debounce is how long after one attempt the next one waits, below the hard threshold.
	Debounce Duration `json:"debounce"`
	// MaxWait bounds the wait for a summary by a model.
	MaxWait Duration `json:"maxWait"`
	// Hooks are commands around a compaction.
	Hooks Hooks `json:"hooks"`
	// Language of the texts: "auto" is the person's own, "en", or "zh".
	Language string `json:"language"`
	// Debug writes a log file.
	Debug bool `json:"debug"`
}

// Limits are what a request may have beside tokens.
type Limits struct {
	Bytes  int `json:"bytes"`  // of the whole body
	Images int `json:"images"` // pictures and documents
	Items  int `json:"items"`  // messages
}

// Hooks are commands, each a program and its arguments; none if empty. They get JSON on the standard input.
type Hooks struct {
	Before  []string `json:"before"`
	After   []string `json:"after"`
	Timeout Duration `json:"timeout"`
}

// Duration is a time.Duration that is written as "30s".
type Duration time.Duration

// String is the duration as time.ParseDuration reads it.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText returns String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a duration with its unit.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("duration %q: want a number with its unit, such as 30s or 2m", text)
	}
	*d = Duration(v)
	return nil
}

// Counting says which figures a threshold is compared with.
type Counting string

// The ways of counting.
const (
	// CountNext is the whole next request: what was reported, and the estimate of what came after it; an estimate of all
	// where nothing was reported. The zero value means it too.
	CountNext Counting = "next"
	// CountReported is what was reported, and an estimate of all only where nothing was.
	CountReported Counting = "reported"
	// CountReportedOnly is what was reported, and nothing where nothing was.
	CountReportedOnly Counting = "reported-only"
)

// Thinking says what a model demands of bound reasoning, once the past before it was changed: see pemmican.ThinkingRule.
type Thinking string

// The demands.
const (
	// ThinkingBound is right for every model: while a tool loop with such reasoning runs, nothing before it is touched.
	ThinkingBound Thinking = "bound"
	// ThinkingInLoop lets a running tool loop keep its reasoning, whatever was changed before it.
	ThinkingInLoop Thinking = "in-loop"
	// ThinkingFree leaves reasoning behind a changed place out, in a running tool loop too.
	ThinkingFree Thinking = "free"
)

func (t Thinking) rule() pemmican.ThinkingRule {
	switch t {
	case ThinkingInLoop:
		return pemmican.ThinkingInLoop
	case ThinkingFree:
		return pemmican.ThinkingFree
	}
	return pemmican.ThinkingBound
}

const (
	// noModel is the CompactModel that asks no model.
	noModel = "mechanical"
	// MostTiers is how many tiers the reminders have at most.
	MostTiers = 3
	// mostGain is the largest share that a compaction can be asked to free, in percent.
	mostGain = 90
)

// line parses a threshold of ours.
func line(s string) Threshold {
	t, err := ParseThreshold(s)
	if err != nil {
		panic(err)
	}
	return t
}

// defaultTiers are those of the seed, 200K, 400K and 600K, on the window of 1M that they were made for, and the same shares of
// a smaller one.
func defaultTiers() []Threshold {
	return []Threshold{line("20% max 200k"), line("40% max 400k"), line("60% max 600k")}
}

// DefaultSettings are the settings of a person who has said nothing.
//
// The thresholds are compared with the whole next request, the room for its answer included. So at 90 % an estimate may be
// too low by a tenth, and the request still fits; and the request that asks for a summary does as well, whose answer takes
// that room. Without the room that is 82 % of a window of 200k, and two thirds of one of 32k. Soft comes another 15 % earlier:
// a summary takes a minute, in which an agent makes a few steps. Block compares with what the request itself demands, since
// our reserve is a wish and no demand, and a request that just fits must go.
func DefaultSettings() Settings {
	return Settings{
		Enabled:            true,
		ReminderThresholds: defaultTiers(),
		Soft:               line("75%"),
		Hard:               line("90%"),
		Block:              line("> window"),
		Counting:           CountNext,
		OverflowAttempts:   2,
		Thinking:           ThinkingBound,
		OutputReserve:      16_384,
		MinGain:            10,
		Debounce:           Duration(30 * time.Second),
		MaxWait:            Duration(2 * time.Minute),
		Hooks:              Hooks{Timeout: Duration(30 * time.Second)},
		Language:           "auto",
	}
}

// ByPreset returns the settings that trigger as the system does whose policy package preset has under that name; false
// if there is none. These systems count no room for the answer.
func ByPreset(name string) (Settings, bool) {
	s := DefaultSettings()
	switch name {
	case "", "default":
		return s, true
	case "anchored":
		s.Hard, s.Counting, s.MinTurns = line("> 60%"), CountReported, 8
	case "checkpoint":
		s.Hard, s.OverflowAttempts = line("> window-16384"), 1
	case "handoff":
		s.Hard, s.Counting = line("75%"), CountReportedOnly
	case "prune":
		s.Hard, s.Block, s.Counting, s.Target = line("> 75%"), line("> 95%"), CountReported, "window-32.5%"
	default:
		return Settings{}, false
	}
	s.Preset, s.Soft, s.OutputReserve = name, Threshold{}, 0
	return s, true
}

// Normalise puts the lists in order: of the tiers the three lowest, ascending, or the defaults where there are none; of the
// excluded models each once, without what is no "provider/model". Tiers are compared in a window of 1M.
func (s Settings) Normalise() Settings {
	const reference = 1_000_000
	tiers := slices.DeleteFunc(slices.Clone(s.ReminderThresholds), func(t Threshold) bool { return t.In(reference) == 0 })
	slices.SortStableFunc(tiers, func(a, b Threshold) int { return cmp.Compare(a.In(reference), b.In(reference)) })
	tiers = tiers[:min(len(tiers), MostTiers)]
	if len(tiers) == 0 {
		tiers = defaultTiers()
	}
	s.ReminderThresholds = tiers
	var excluded []string
	for _, m := range s.ExcludedModels {
		if strings.Contains(m, "/") && !slices.Contains(excluded, m) {
			excluded = append(excluded, m)
		}
	}
	s.ExcludedModels = excluded
	return s
}

// sane has the defaults in place of figures that Valid refuses, and says so to the log: with them a session could not compact,
// or would without end.
func (s Settings) sane(log *slog.Logger) Settings {
	d := DefaultSettings()
	mend(log, "window", s.Window < 0, &s.Window, d.Window)
	mend(log, "minTurns", s.MinTurns < 0, &s.MinTurns, d.MinTurns)
	mend(log, "overflowAttempts", s.OverflowAttempts < 0, &s.OverflowAttempts, d.OverflowAttempts)
	mend(log, "keepRecent", s.KeepRecent < 0, &s.KeepRecent, d.KeepRecent)
	mend(log, "outputReserve", s.OutputReserve < 0, &s.OutputReserve, d.OutputReserve)
	mend(log, "limits.bytes", s.Limits.Bytes < 0, &s.Limits.Bytes, d.Limits.Bytes)
	mend(log, "limits.images", s.Limits.Images < 0, &s.Limits.Images, d.Limits.Images)
	mend(log, "limits.items", s.Limits.Items < 0, &s.Limits.Items, d.Limits.Items)
	mend(log, "minGain", s.MinGain < 0 || s.MinGain > mostGain, &s.MinGain, d.MinGain)
	mend(log, "debounce", s.Debounce < 0, &s.Debounce, d.Debounce)
	mend(log, "maxWait", s.MaxWait <= 0, &s.MaxWait, d.MaxWait)
	mend(log, "hooks.timeout", s.Hooks.Timeout < 0, &s.Hooks.Timeout, d.Hooks.Timeout)
	mend(log, "soft", s.Soft.valid() != nil, &s.Soft, d.Soft)
	mend(log, "hard", s.Hard.valid() != nil, &s.Hard, d.Hard)
	mend(log, "block", s.Block.valid() != nil, &s.Block, d.Block)
	return s
}

// mend replaces a value that makes no sense.
func mend[V any](log *slog.Logger, name string, wrong bool, value *V, by V) {
	if wrong {
		log.Warn("a setting makes no sense, and its default is in force", "setting", name, "value", *value, "default", by)
		*value = by
	}
}

// Valid reports the first setting that makes no sense, by its name in the file, and what to write instead.
func (s Settings) Valid() error {
	for _, n := range []struct {
		name  string
		value int
	}{
		{"window", s.Window},
		{"minTurns", s.MinTurns},
		{"overflowAttempts", s.OverflowAttempts},
		{"keepRecent", s.KeepRecent},
		{"outputReserve", s.OutputReserve},
		{"limits.bytes", s.Limits.Bytes},
		{"limits.images", s.Limits.Images},
		{"limits.items", s.Limits.Items},
		{"debounce", int(s.Debounce)},
		{"hooks.timeout", int(s.Hooks.Timeout)},
	} {
		if n.value < 0 {
			return fmt.Errorf("%s: want 0 or more", n.name)
		}
	}
	lines := map[string]Threshold{"soft": s.Soft, "hard": s.Hard, "block": s.Block}
	for i, t := range s.ReminderThresholds {
		lines[fmt.Sprintf("reminderThresholds[%d]", i)] = t
	}
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		if err := lines[name].valid(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if _, err := parseTarget(s.Target); err != nil {
		return fmt.Errorf("target: %w", err)
	}
	provider, id, found := strings.Cut(s.CompactModel, "/")
	switch {
	case s.CompactModel != "" && s.CompactModel != noModel && (!found || provider == "" || id == ""):
		return fmt.Errorf(`compactModel: want "provider/model", %q for none, or "" for the usual one`, noModel)
	case !slices.Contains([]Counting{"", CountNext, CountReported, CountReportedOnly}, s.Counting):
		return fmt.Errorf("counting: want %s, %s or %s", CountNext, CountReported, CountReportedOnly)
	case !slices.Contains([]Thinking{"", ThinkingBound, ThinkingInLoop, ThinkingFree}, s.Thinking):
		return fmt.Errorf("thinking: want %s, %s or %s", ThinkingBound, ThinkingInLoop, ThinkingFree)
	case s.Preset != "" && !slices.Contains(preset.Names(), s.Preset):
		return fmt.Errorf("preset: want one of %s", strings.Join(preset.Names(), ", "))
	case s.MinGain < 0 || s.MinGain > mostGain:
		return fmt.Errorf("minGain: want a percentage from 0 to %d", mostGain)
	case s.MaxWait <= 0:
		return errors.New("maxWait: want more than 0, such as 2m")
	case len(s.Hooks.Before) > 0 && s.Hooks.Before[0] == "":
		return errors.New("hooks.before: want a program and its arguments")
	case len(s.Hooks.After) > 0 && s.Hooks.After[0] == "":
		return errors.New("hooks.after: want a program and its arguments")
	case !slices.Contains([]string{"", "auto", "en", "zh"}, s.Language):
		return errors.New("language: want auto, en or zh")
	}
	return nil
}

// target is what a compaction comes down to: an amount, or a share of the live tokens.
type target struct {
	amount Amount
	share  float64 // in percent
}

func parseTarget(s string) (target, error) {
	if s == "" {
		return target{amount: Amount{Percent: 50}}, nil
	}
	a, err := parseAmount(strings.TrimSpace(s))
	switch {
	case err != nil:
		return target{}, errors.New("want a number of tokens, a share of what there is, or the window without some, such as 60k, 30% or window-120k")
	case strings.HasSuffix(s, "%") && !strings.HasPrefix(s, "window"):
		return target{share: a.Percent}, nil
	}
	return target{amount: a}, nil
}

// TargetOf is what a compaction of a request comes down to, in tokens, where the context has input tokens of a window.
func (s Settings) TargetOf(input, window int) int {
	t, err := parseTarget(s.Target)
	if err != nil { // Valid has told it
		t = target{amount: Amount{Percent: 50}}
	}
	if t.share > 0 {
		return max(1, int(t.share*float64(input)/100))
	}
	return min(max(t.amount.in(window), 1), window)
}

// leaves is about what a compaction leaves of input tokens.
func (s *Session) leaves(input, window int) int {
	rest := s.config.Rest
	if rest == 0 {
		rest = s.settings.TargetOf(input, window)
	}
	if rest >= input {
		return input / 2
	}
	return rest
}

// splitModel splits "provider/model" at the first slash.
func splitModel(name string) (provider, id string) {
	provider, id, found := strings.Cut(name, "/")
	if !found {
		return "", name
	}
	return provider, id
}
