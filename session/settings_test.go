package session

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pemmican-dev/pemmican/preset"
)

// TestDefaultSettings: X4, and the shares of smaller windows.
func TestDefaultSettings(t *testing.T) {
	s := DefaultSettings()
	if err := s.Valid(); err != nil {
		t.Fatal(err)
	}
	for window, want := range map[int][]int{
		1_000_000: {200_000, 400_000, 600_000},
		2_000_000: {200_000, 400_000, 600_000},
		200_000:   {40_000, 80_000, 120_000},
		32_000:    {6_400, 12_800, 19_200},
	} {
		got := New(Config{Model: Model{Window: window}}).Status()
		if !slices.Equal(got.Tiers, want) {
			t.Errorf("tiers in %d: %v, want %v", window, got.Tiers, want)
		}
		if !(got.Tiers[2] <= got.Soft && got.Soft < got.Hard && got.Hard < got.Block && got.Block == window) {
			t.Errorf("in %d the lines are out of order: %+v", window, got)
		}
		// What is left beside the context at the hard line is enough for the room of an answer, and an estimate that is off by a tenth.
		if room := min(16_384, window/4); float64(got.Hard-room)*1.1+float64(room) > float64(window) {
			t.Errorf("in %d the hard line leaves no room for an error", window)
		}
	}
	if !s.Enabled || s.CompactModel != "" || s.ExcludedModels != nil {
		t.Errorf("%+v", s)
	}
}

func TestNormalise(t *testing.T) {
	s := Settings{ReminderThresholds: []Threshold{line("300000"), line("100000"), {}, line("200000"), line("999000")}, ExcludedModels: []string{"a/b", "a", "a/b", ""}}
	got := s.Normalise()
	if want := []Threshold{line("100k"), line("200k"), line("300k")}; !slices.Equal(got.ReminderThresholds, want) { // X5
		t.Errorf("tiers: %v", got.ReminderThresholds)
	}
	if !slices.Equal(got.ExcludedModels, []string{"a/b"}) { // X6
		t.Errorf("excluded: %v", got.ExcludedModels)
	}
	if again := got.Normalise(); !slices.Equal(again.ReminderThresholds, got.ReminderThresholds) {
		t.Errorf("not idempotent: %v", again.ReminderThresholds)
	}
	if got := (Settings{}).Normalise().ReminderThresholds; !slices.Equal(got, DefaultSettings().ReminderThresholds) { // X5
		t.Errorf("no tiers: %v", got)
	}
	if s.ReminderThresholds[0] != line("300000") {
		t.Error("the caller's slice was changed")
	}
}

func TestValid(t *testing.T) {
	for name, change := range map[string]func(*Settings){
		"window":                func(s *Settings) { s.Window = -1 },
		"soft":                  func(s *Settings) { s.Soft.At = Amount{Percent: 120} },
		"hard":                  func(s *Settings) { s.Hard.At = Amount{Percent: 20, Tokens: 5} },
		"block":                 func(s *Settings) { s.Block = Threshold{Strict: true} },
		"reminderThresholds[1]": func(s *Settings) { s.ReminderThresholds[1].At = Amount{Free: -2} },
		"counting":              func(s *Settings) { s.Counting = "guess" },
		"minTurns":              func(s *Settings) { s.MinTurns = -1 },
		"overflowAttempts":      func(s *Settings) { s.OverflowAttempts = -1 },
		"target":                func(s *Settings) { s.Target = "half" },
		"keepRecent":            func(s *Settings) { s.KeepRecent = -1 },
		"preset":                func(s *Settings) { s.Preset = "nobody" },
		"outputReserve":         func(s *Settings) { s.OutputReserve = -1 },
		"limits.bytes":          func(s *Settings) { s.Limits.Bytes = -1 },
		"minGain":               func(s *Settings) { s.MinGain = 100 },
		"debounce":              func(s *Settings) { s.Debounce = -1 },
		"maxWait":               func(s *Settings) { s.MaxWait = 0 },
		"hooks.before":          func(s *Settings) { s.Hooks.Before = []string{""} },
		"hooks.after":           func(s *Settings) { s.Hooks.After = []string{"", "x"} },
		"hooks.timeout":         func(s *Settings) { s.Hooks.Timeout = -1 },
		"language":              func(s *Settings) { s.Language = "fr" },
		"compactModel":          func(s *Settings) { s.CompactModel = "gpt" },
	} {
		s := DefaultSettings()
		change(&s)
		if err := s.Valid(); err == nil || !strings.HasPrefix(err.Error(), name+": ") || !strings.Contains(err.Error(), "want") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, m := range []string{"", "mechanical", "a/b", "openrouter/a/b"} {
		s := DefaultSettings()
		s.CompactModel = m
		if err := s.Valid(); err != nil {
			t.Errorf("%q: %v", m, err)
		}
	}
}

// TestSane: figures that make no sense do not make a session that cannot compact, or does nothing else.
func TestSane(t *testing.T) {
	var log bytes.Buffer
	nonsense := Settings{
		Enabled: true, Window: -1, MinTurns: -1, OverflowAttempts: -1, KeepRecent: -1, OutputReserve: -1, Limits: Limits{-1, -1, -1}, MinGain: 91,
		Debounce: -1, MaxWait: 0, Hooks: Hooks{Timeout: -1}, Soft: Threshold{At: Amount{Tokens: -1}}, Hard: line("80%"), Block: Threshold{Max: Amount{Tokens: 1}},
	}
	s := New(Config{Settings: &nonsense, Log: slog.New(slog.NewTextHandler(&log, nil))})
	d := DefaultSettings()
	want := Settings{
		Enabled: true, ReminderThresholds: d.ReminderThresholds, OverflowAttempts: d.OverflowAttempts, OutputReserve: d.OutputReserve, MinGain: d.MinGain,
		Debounce: d.Debounce, MaxWait: d.MaxWait, Hooks: d.Hooks, Soft: d.Soft, Hard: line("80%"), Block: d.Block,
	}
	if !reflect.DeepEqual(s.settings, want) {
		t.Errorf("%+v\nwant %+v", s.settings, want)
	}
	if err := s.settings.Valid(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"window", "minTurns", "overflowAttempts", "keepRecent", "outputReserve", "limits.bytes", "limits.images", "limits.items",
		"minGain", "debounce", "maxWait", "hooks.timeout", "soft", "block"} {
		if strings.Count(log.String(), " setting="+name+" ") != 1 {
			t.Errorf("the log does not tell of %s:\n%s", name, &log)
		}
	}
	s.SetSettings(DefaultSettings())
	if s.SetSettings(nonsense); !reflect.DeepEqual(s.settings, want) {
		t.Errorf("%+v\nwant %+v", s.settings, want)
	}

	still := Settings{Enabled: true, Hard: line("90%"), Block: line("> window")}
	f, notices := fitter(Config{Settings: &still})
	if plan, _ := mustFit(t, f, task(95)); plan.Empty() {
		t.Errorf("nothing is compacted: %v", *notices)
	}
}

func TestTarget(t *testing.T) {
	for _, c := range []struct {
		target        string
		input, window int
		want          int
	}{
		{"", 150_000, 200_000, 100_000},
		{"60k", 150_000, 200_000, 60_000},
		{"30%", 150_000, 200_000, 45_000},
		{"window-32.5%", 150_000, 200_000, 135_000}, // T16
		{"600k", 150_000, 200_000, 200_000},
		{"0.0001%", 1_000, 200_000, 1},
	} {
		if got := (Settings{Target: c.target}).TargetOf(c.input, c.window); got != c.want {
			t.Errorf("%q of %d in %d: %d, want %d", c.target, c.input, c.window, got, c.want)
		}
	}
}

func TestSettingsJSON(t *testing.T) {
	in := DefaultSettings()
	in.Window, in.Target, in.ExcludedModels = 64_000, "30%", []string{"a/b"}
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"debounce":"30s"`, `"hard":"90%"`, `"reminderThresholds":["20% max 200k"`} {
		if !strings.Contains(strings.ReplaceAll(string(data), `\u003e`, ">"), part) {
			t.Errorf("%s is not in %s", part, data)
		}
	}
	var out Settings
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(out)
	if err != nil || string(again) != string(data) {
		t.Errorf("%s\n%s\n%v", data, again, err)
	}
	var d Duration
	if err := d.UnmarshalText([]byte("2m")); err != nil || time.Duration(d) != 2*time.Minute {
		t.Error(d, err)
	}
	if err := d.UnmarshalText([]byte("2")); err == nil || !strings.Contains(err.Error(), "unit") {
		t.Error(err)
	}
}

func TestByPreset(t *testing.T) {
	for _, name := range preset.Names() {
		s, ok := ByPreset(name)
		if !ok {
			t.Fatalf("no settings for the preset %s", name)
		}
		if err := s.Valid(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, ok := ByPreset("nobody"); ok {
		t.Error("a preset that nobody has")
	}
}
