package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pemmican-dev/pemmican/session"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func texts(notices []Notice) string {
	var lines []string
	for _, n := range notices {
		lines = append(lines, n.Text)
	}
	return strings.Join(lines, "\n")
}

func lines(t *testing.T, all ...string) []session.Threshold {
	t.Helper()
	var out []session.Threshold
	for _, s := range all {
		line, err := session.ParseThreshold(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, line)
	}
	return out
}

// four are the four settings that the older extension had.
type four struct {
	Enabled  bool
	Model    string
	Tiers    []session.Threshold
	Excluded []string
}

func fourOf(s session.Settings) four {
	return four{s.Enabled, s.CompactModel, s.ReminderThresholds, s.ExcludedModels}
}

// TestFour is rows X4 to X7: the four settings from the older extension's file, and from ours.
func TestFour(t *testing.T) {
	defaults := four{true, "", session.DefaultSettings().ReminderThresholds, nil}
	for i, tier := range defaults.Tiers {
		if got := tier.In(1_000_000); got != 200_000*(i+1) {
			t.Errorf("X4: tier %d of a window of 1M is %d", i+1, got)
		}
	}
	for _, row := range []struct {
		id, json string
		want     func(*four)
		says     string // of the notice for the older file; "" for none
		ours     string // and for our own; "" for the same
	}{
		{"X4 null", `null`, nil, "no JSON object", ""},
		{"X4 array", `[]`, nil, "no JSON object", ""},
		{"X4 corrupt", `{"enabled": falsy}`, nil, "invalid character", ""},
		{"X4 corrupt, cut off", `{"enabled": false,`, nil, "ends in the middle", ""},
		{"X4 two values", `{"enabled": false} {}`, nil, "behind the end", ""},
		{"X4 empty object", `{}`, nil, "", ""},
		{"X4 disabled", `{"enabled": false}`, func(f *four) { f.Enabled = false }, "", ""},
		{"enabled of another shape", `{"enabled": "no"}`, nil, "enabled: want true or false", ""},
		{"X5 tiers", `{"reminderThresholds": [300000, 100000, -5, "x", 200000, 999000]}`, func(f *four) {
			f.Tiers = lines(t, "100k", "200k", "300k")
		}, `-5 is no threshold`, ""},
		{"X5 empty", `{"reminderThresholds": []}`, nil, "no tier", ""},
		{"X5 none usable", `{"reminderThresholds": [0, -1, null, true, {}]}`, nil, "no tier", ""},
		{"X5 a fraction, an exponent", `{"reminderThresholds": [1e5, 200000.4]}`, func(f *four) { f.Tiers = lines(t, "100k", "200k") }, "", ""},
		{"X5 no list", `{"reminderThresholds": 200000}`, nil, "want a list", ""},
		{"X6 exclusions", `{"excludedModels": ["a/b", "a", "a/b", 42]}`, func(f *four) { f.Excluded = []string{"a/b"} }, `"a" is no "provider/model"`, ""},
		{"X7 another shape", `{"compactModel": {"type": "regex", "pattern": "x"}}`, nil, "the session's own model is followed", ""},
		{"X7 no shape", `{"compactModel": 7}`, nil, "the session's own model is followed", ""},
		{"X7 a reference", `{"compactModel": {"type": "ref", "ref": "zai/glm"}}`, func(f *four) { f.Model = "zai/glm" }, "", ""},
		{"X7 an empty reference", `{"compactModel": {"type": "ref", "ref": ""}}`, nil, "", ""},
		{"unknown members", `{"theme": "dark", "enabled": false}`, func(f *four) { f.Enabled = false }, "", `there is no setting "theme"`},
		{"null members", `{"enabled": null, "excludedModels": null}`, nil, "", ""},
	} {
		want := defaults
		if row.want != nil {
			row.want(&want)
		}
		check := func(t *testing.T, l *Loader, says string) {
			t.Helper()
			got, notices := l.Load()
			if d := cmp.Diff(want, fourOf(got), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if says == "" && len(notices) > 0 || !strings.Contains(texts(notices), says) {
				t.Errorf("says %q, want %q", texts(notices), says)
			}
		}
		t.Run(row.id+", the older file", func(t *testing.T) {
			dir := t.TempDir()
			put(t, filepath.Join(dir, "config", "smart-context-ext-config.json"), row.json)
			check(t, New(Source{AgentDir: dir, Dir: t.TempDir(), Environ: []string{}}), row.says)
		})
		t.Run(row.id+", ours", func(t *testing.T) {
			dir := t.TempDir()
			put(t, filepath.Join(dir, "pemmican.json"), row.json)
			says := row.says
			if row.ours != "" {
				says = row.ours
			}
			check(t, New(Source{Dir: dir, Environ: []string{}}), says)
		})
	}
	t.Run("X4 missing", func(t *testing.T) {
		got, notices := New(Source{AgentDir: t.TempDir(), Dir: t.TempDir(), Environ: []string{}}).Load()
		if d := cmp.Diff(defaults, fourOf(got), cmpopts.EquateEmpty()); d != "" || notices != nil {
			t.Errorf("%v\n%s", notices, d)
		}
	})
	t.Run("a text is no number in the older file, and a threshold in ours", func(t *testing.T) {
		dir := t.TempDir()
		put(t, filepath.Join(dir, legacyFile), `{"reminderThresholds": ["10%", 5000]}`)
		if got, _ := New(Source{AgentDir: dir, Dir: t.TempDir(), Environ: []string{}}).Load(); !slices.Equal(got.ReminderThresholds, lines(t, "5k")) {
			t.Error(got.ReminderThresholds)
		}
		put(t, filepath.Join(dir, "pemmican.json"), `{"reminderThresholds": ["10%", 5000]}`)
		if got, _ := New(Source{Dir: dir, Environ: []string{}}).Load(); !slices.Equal(got.ReminderThresholds, lines(t, "5k", "10%")) {
			t.Error(got.ReminderThresholds)
		}
	})
}

// everything is a file with every key.
const everything = `# all of it
enabled = false
compactModel = "zai/glm"
reminderThresholds = [
  "10%", # the first
  50_000,
]
excludedModels = ["a/b"]
window = "200k"
soft = "60%"
hard = "> 80% min 20k max 400k"
block = "off"
counting = "reported"
minTurns = 3
overflowAttempts = 1
target = "30%"
keepRecent = 20_000
preset = "checkpoint"
thinking = "in-loop"
outputReserve = 8000
minGain = 5
debounce = "1m"
maxWait = "90s"
language = "zh"
debug = true
limits.bytes = 5_000_000

[hooks] # commands
before = ["notes", "--save"]
after = []
timeout = "5s"
`

func TestEveryKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.toml")
	put(t, path, everything)
	l := New(Source{Path: path, Environ: []string{}})
	got, notices := l.Load()
	if notices != nil {
		t.Error(texts(notices))
	}
	tiers := lines(t, "50k", "10%") // of a window of 1M
	want := session.Settings{
		CompactModel: "zai/glm", ReminderThresholds: tiers, ExcludedModels: []string{"a/b"}, Window: 200_000,
		Soft: lines(t, "60%")[0], Hard: lines(t, "> 80% min 20k max 400k")[0], Counting: session.CountReported, MinTurns: 3, OverflowAttempts: 1,
		Target: "30%", KeepRecent: 20_000, Preset: "checkpoint", Thinking: session.ThinkingInLoop, OutputReserve: 8000, Limits: session.Limits{Bytes: 5_000_000}, MinGain: 5,
		Debounce: session.Duration(time.Minute), MaxWait: session.Duration(90 * time.Second),
		Hooks:    session.Hooks{Before: []string{"notes", "--save"}, After: []string{}, Timeout: session.Duration(5 * time.Second)},
		Language: "zh", Debug: true,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	for _, v := range l.Values() {
		if v.From != path && v.Key != "limits.images" && v.Key != "limits.items" {
			t.Errorf("%s is from %s", v.Key, v.From)
		}
	}
	got.ReminderThresholds[0], got.ExcludedModels[0], got.Hooks.Before[0] = session.Threshold{}, "x", "x"
	if again, _ := l.Load(); !cmp.Equal(want, again) {
		t.Error("what was given out can be changed from outside")
	}
}

// TestLayers: defaults < the older file < the file < environment < flags.
func TestLayers(t *testing.T) {
	agent, dir := t.TempDir(), t.TempDir()
	older, file := filepath.Join(agent, legacyFile), filepath.Join(dir, "pemmican.toml")
	put(t, older, `{"enabled": false, "excludedModels": ["old/model"], "compactModel": {"type":"ref","ref":"old/model"}}`)
	put(t, file, "compactModel = 'file/model'\nhard = '60%'\nwindow = 1000\nminGain = 20\n")
	l := New(Source{
		AgentDir: agent, Dir: dir,
		Environ:   []string{"PEMMICAN_HARD=65%", "PEMMICAN_WINDOW=64k", "PEMMICAN_DEBUG=1", "PEMMICAN_HOOKS_BEFORE=notes --save", "PEMMICAN_LIMITS_BYTES=", "HOME=/"},
		Overrides: map[string]string{"window": "32k", "reminderThresholds": "10%, 20% min 5k"},
	})
	s, notices := l.Load()
	if notices != nil {
		t.Error(texts(notices))
	}
	got := map[string]string{}
	for _, v := range l.Values() {
		got[v.Key] = v.Text + " " + v.From
	}
	for key, want := range map[string]string{
		"enabled":            "false " + older,
		"excludedModels":     `["old/model"] ` + older,
		"compactModel":       `"file/model" ` + file,
		"minGain":            "20 " + file,
		"hard":               `"65%" PEMMICAN_HARD`,
		"window":             "32000 flag",
		"debug":              "true PEMMICAN_DEBUG",
		"hooks.before":       `["notes","--save"] PEMMICAN_HOOKS_BEFORE`,
		"hooks.after":        `[] default`,
		"reminderThresholds": `["10%","20% min 5k"] flag`,
		"limits.bytes":       "0 default",
		"language":           `"auto" default`,
	} {
		if got[key] != want {
			t.Errorf("%s is %s, want %s", key, got[key], want)
		}
	}
	if s.Window != 32_000 {
		t.Error(s.Window)
	}
	for key, want := range map[string]string{"enabled": older, "compactModel": file, "hard": "PEMMICAN_HARD", "window": file, "language": file} {
		if got := l.Origin(key); got != want {
			t.Errorf("%s can be changed in %s, want %s", key, got, want)
		}
	}
}

func TestVariables(t *testing.T) {
	for name, want := range map[string]string{
		"enabled": "PEMMICAN_ENABLED", "compactModel": "PEMMICAN_COMPACT_MODEL", "hooks.timeout": "PEMMICAN_HOOKS_TIMEOUT", "minGain": "PEMMICAN_MIN_GAIN",
	} {
		k, ok := keyNamed(name)
		if got := k.variable(); !ok || got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	l := New(Source{
		Dir: t.TempDir(), Environ: []string{
			"PEMMICAN_ENABLED=perhaps", "PEMMICAN_HARD=60%", "PEMMICAN_COUNTING=never", "PEMMICAN_LANGAGE=zh", "PEMMICAN_TEST_RUN=1", "PEMMICAN_MIN_GAIN=-3",
			"PEMMICAN_COMPACTION_MODEL=a/b", "PEMMICAN_BIN=/x", "PEMMICAN_MCP_TOKEN=x", "PEMMICAN_NO_NPM=1", "PEMMICAN_PI_PACKAGES=x", "PEMMICAN_CONFIG=",
			"PEMMICAN_EXCLUDED_MODELS=a/b,c, d/e", "PEMMICAN_HOOKS_AFTER=[\"a b\"", "PEMMICAN_REMINDER_THRESHOLDS=[\"30%\"]",
		},
		Overrides: map[string]string{"hrad": "60%", "soft": "much"},
	})
	s, notices := l.Load()
	for _, want := range []string{
		"PEMMICAN_ENABLED: \"perhaps\": want true or false; it is left out",
		"PEMMICAN_COUNTING: counting: want",
		"PEMMICAN_LANGAGE is no setting, did you mean PEMMICAN_LANGUAGE?",
		"PEMMICAN_COMPACTION_MODEL is no setting, did you mean PEMMICAN_COMPACT_MODEL?",
		"PEMMICAN_MIN_GAIN: \"-3\":",
		"PEMMICAN_EXCLUDED_MODELS: excludedModels: \"c\" is no",
		"PEMMICAN_HOOKS_AFTER: \"[\\\"a b\\\"\": it is no list in JSON",
		"there is no setting \"hrad\", did you mean \"hard\"?",
		"flag soft: ",
	} {
		if !strings.Contains(texts(notices), want) {
			t.Errorf("no %q in\n%s", want, texts(notices))
		}
	}
	if _, again := l.Load(); again != nil {
		t.Errorf("said again: %v", again)
	}
	if len(notices) != 9 || s.Hard != lines(t, "60%")[0] || !slices.Equal(s.ExcludedModels, []string{"a/b", "d/e"}) || !slices.Equal(s.ReminderThresholds, lines(t, "30%")) {
		t.Errorf("%d notices, %+v", len(notices), s)
	}
	unusable := 0
	for _, p := range l.Where() {
		if p.What == whatEnvironment && p.Unusable {
			unusable++
		}
	}
	if unusable != 4 {
		t.Errorf("%d variables are unusable: %v", unusable, l.Where())
	}
}

// TestUnusable: what cannot be used at the start counts as if it were not there, and is said in one line with file, place and
// mend; a key that nobody knows costs nothing else.
// A soft threshold above hard is told of, where somebody has set it.
func TestSoftAboveHard(t *testing.T) {
	for _, row := range []struct {
		text  string
		tells bool
	}{
		{"soft = '95%'\n", true},
		{"soft = '60%'\nhard = '50%'\n", true},
		{"hard = '50%'\n", false},
		{"soft = '60%'\n", false},
		{"soft = 'off'\nhard = '50%'\n", false},
		{"soft = '95%'\nhard = 'off'\n", false},
		{"window = 50000\nsoft = '60k'\n", true},
		{"window = 1000000\nsoft = '400k'\nhard = '60%'\n", false},
	} {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "pemmican.toml"), row.text)
		_, notices := New(Source{Dir: dir, Environ: []string{}}).Load()
		if tells := len(notices) == 1 && notices[0].Level == levelWarning && strings.Contains(notices[0].Text, "lies above hard"); tells != row.tells || len(notices) > 1 {
			t.Errorf("%q: %v", row.text, notices)
		}
	}
}

func TestUnusable(t *testing.T) {
	for _, row := range []struct{ name, file, text, says, hard string }{
		{"syntax", "pemmican.toml", "hard = '60%'\nsoft = \n", "pemmican.toml:2: ", ""},
		{"twice", "pemmican.toml", "hard = '60%'\nhard = '61%'\n", "pemmican.toml:", ""},
		{"a value", "pemmican.toml", "hard = '60%'\n\nmaxWait = 'soon'\n", "pemmican.toml:3: maxWait: duration \"soon\": want", ""},
		{"a kind", "pemmican.toml", "hard = '60%'\nmaxWait = 3\n", "pemmican.toml:2: maxWait: ", ""},
		{"a date", "pemmican.toml", "hard = 2026-01-01\n", "pemmican.toml:1: hard: ", ""},
		{"a list", "pemmican.toml", "hard = ['60%']\n", "pemmican.toml:1: hard: ", ""},
		{"no list", "pemmican.toml", "[hooks]\nbefore = 'notes'\n", "pemmican.toml:2: hooks.before: want a list", ""},
		{"no list of texts", "pemmican.toml", "hooks.before = ['notes', 1]\n", "pemmican.toml:1: hooks.before: want a list", ""},
		{"out of range", "pemmican.toml", "hard = '60%'\nminGain = 99\n", "pemmican.toml:2: minGain: want a percentage", ""},
		{"a number", "pemmican.toml", "window = 'large'\n", "pemmican.toml:1: window: want a number of tokens", ""},
		{"a fraction", "pemmican.toml", "window = 1.5\n", "pemmican.toml:1: window: want a whole number", ""},
		{"JSON syntax", "pemmican.json", "{\n\"hard\": \"60%\",\n\"soft\" 1}", "pemmican.json:3: ", ""},
		{"JSON text", "pemmican.json", `"60%"`, "no JSON object", ""},
		{"unknown", "pemmican.toml", "hard = '60%'\nharrd = 1\n", "pemmican.toml:2: there is no setting \"harrd\", did you mean \"hard\"?", "60%"},
		{"unknown in a table", "pemmican.toml", "hard = '60%'\n[hooks]\ntimeuot = '3s'\n", "pemmican.toml:3: there is no setting \"hooks.timeuot\", did you mean \"hooks.timeout\"?", "60%"},
		{"unknown table", "pemmican.toml", "hard = '60%'\n[colours]\na = 1\n", "pemmican.toml:2: there is no setting \"colours\"", "60%"},
		{"no model", "pemmican.toml", "hard = '60%'\ncompactModel = 'x'\n", "pemmican.toml:2: compactModel: it is neither \"provider/model\" nor", "60%"},
		{"half a model", "pemmican.json", `{"hard": "60%", "compactModel": "/x"}`, "the session's own model is followed", "60%"},
		{"no table", "pemmican.toml", "hard = '60%'\nhooks = 3\n", "\"hooks\" is a table", "60%"},
		{"no setting at all", "pemmican.json", `{"hard": "60%", "zzzzzzzzzz": 1}`, "there is no setting \"zzzzzzzzzz\"", "60%"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, filepath.Join(dir, row.file), row.text)
			l := New(Source{Dir: dir, Environ: []string{}})
			s, notices := l.Load()
			want := session.DefaultSettings()
			if row.hard != "" {
				want.Hard = lines(t, row.hard)[0]
			}
			if d := cmp.Diff(want, s, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if len(notices) != 1 || !strings.Contains(notices[0].Text, row.says) || strings.Contains(notices[0].Text, "\n") {
				t.Errorf("says\n%s\nwant %s", texts(notices), row.says)
			}
			if row.hard == "" && !strings.Contains(texts(notices), "the defaults are used until it is mended") {
				t.Error(texts(notices))
			}
			if _, again := l.Load(); again != nil {
				t.Errorf("it is said again: %v", again)
			}
			if got := l.Where()[slices.IndexFunc(l.Where(), func(p Place) bool { return filepath.Base(p.Path) == row.file })]; got.Unusable != (row.hard == "") {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	inTOML, inJSON := filepath.Join(dir, "pemmican.toml"), filepath.Join(dir, "pemmican.json")
	l := New(Source{Dir: dir, Environ: []string{}})
	if _, notices := l.Load(); notices != nil || l.File() != inTOML {
		t.Errorf("%v, %s", notices, l.File())
	}
	put(t, inJSON, "\ufeff{\"$schema\": \"x\", \"hard\": \"60%\"}")
	if s, notices := l.Load(); notices != nil || s.Hard != lines(t, "60%")[0] || l.File() != inJSON {
		t.Errorf("%v, %v, %s", notices, s.Hard, l.File())
	}
	put(t, inTOML, "hard = '65%'")
	s, notices := l.Load()
	if s.Hard != lines(t, "65%")[0] || l.File() != inTOML || len(notices) != 1 || !strings.Contains(notices[0].Text, inJSON+" is not used") {
		t.Errorf("%v, %v, %s", notices, s.Hard, l.File())
	}
	if got := l.Where(); len(got) != 2 || !strings.HasPrefix(got[0].State, "not used") || got[1].State != stateUsed {
		t.Error(got)
	}

	other := filepath.Join(dir, "other.toml")
	l = New(Source{Dir: dir, Environ: []string{"PEMMICAN_CONFIG=" + other}})
	if s, notices := l.Load(); s.Hard != session.DefaultSettings().Hard || !strings.Contains(texts(notices), "there is no such file") || l.File() != other {
		t.Errorf("%v, %v", notices, s.Hard)
	}
	put(t, other, "hard = '70%'\n")
	if s, notices := l.Load(); s.Hard != lines(t, "70%")[0] || notices != nil {
		t.Errorf("%v, %v", notices, s.Hard)
	}
	l = New(Source{Path: inTOML, Environ: []string{"PEMMICAN_CONFIG=" + other}})
	if s, _ := l.Load(); s.Hard != lines(t, "65%")[0] {
		t.Error("the argument does not go before the variable")
	}

	for name, make := range map[string]func(string) error{
		"a folder": func(p string) error { return os.Mkdir(p, 0o700) },
		"bytes":    func(p string) error { return os.WriteFile(p, []byte("#"+strings.Repeat(" ", maxFile)), 0o600) },
	} {
		path := filepath.Join(t.TempDir(), "pemmican.toml")
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		if s, notices := New(Source{Path: path, Environ: []string{}}).Load(); !cmp.Equal(s, session.DefaultSettings(), cmpopts.EquateEmpty()) || !strings.Contains(texts(notices), name) {
			t.Errorf("%s: %v", name, notices)
		}
	}
}

// TestReload is row X25: what is edited between two events is seen by the second; what cannot be used leaves the settings
// before it, and is said once.
func TestReload(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pemmican.toml")
	hard := func(s session.Settings) string { return s.Hard.String() }
	l := New(Source{Dir: dir, Environ: []string{}})
	start := hard(session.DefaultSettings())
	when := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, step := range []struct {
		do, want, says string
	}{
		{"", start, ""},
		{"hard = '60%'\n", "60%", ""},
		{"hard = '61%'\n", "61%", ""},             // as long as the one before, and with its time
		{"hard = '6", "61%", "pemmican.toml:1: "}, // half-written
		{"hard = '6", "61%", ""},
		{"hard = '62%'\nsoft = '5", "61%", "pemmican.toml:2: "},
		{"", "61%", "somebody were writing it"}, // emptied first
		{"hard = '62%'\nsoft = '50%'\n", "62%", ""},
		{"hard = '63%'\nmaxWait = 'x'\n", "62%", "the settings before it stay in force"},
		{"hard = '63%'\nhadr = 1\n", "63%", "there is no setting \"hadr\""},
		{"hard = '64%'\nhadr = 1\n", "64%", ""}, // known already
		{"-", start, "is gone"},
		{"hard = '6", start, "the defaults are used"},
		{"hard = '60%'\n", "60%", ""},
		{"# nothing\n", start, ""},
	} {
		if step.do == "-" {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		} else if i > 0 {
			put(t, path, step.do)
			if err := os.Chtimes(path, when, when); err != nil {
				t.Fatal(err)
			}
		}
		s, notices := l.Load()
		if hard(s) != step.want || step.says == "" && notices != nil || len(notices) > 1 || !strings.Contains(texts(notices), step.says) {
			t.Errorf("step %d, %q: %s, %q; want %s, %q", i, step.do, hard(s), texts(notices), step.want, step.says)
		}
		if _, notices := l.Load(); notices != nil {
			t.Errorf("step %d: said again: %v", i, notices)
		}
	}
}

// TestTogether loads and edits at one time: what is seen is one of the files that were there, never a mixture.
func TestTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pemmican.toml")
	put(t, path, "minGain = 1\nminTurns = 1\n")
	l := New(Source{Path: path, Environ: []string{}})
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if s, notices := l.Load(); s.MinGain != s.MinTurns || notices != nil {
					t.Errorf("%d, %d, %v", s.MinGain, s.MinTurns, notices)
					return
				}
				l.Values()
				l.Where()
			}
		})
	}
	for i := range 40 {
		temp := fmt.Sprintf("%s.%d", path, i)
		put(t, temp, fmt.Sprintf("minGain = %d\nminTurns = %d\n", i, i))
		if err := os.Rename(temp, path); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	wg.Wait()
	if s, _ := l.Load(); s.MinGain != 39 {
		t.Error(s.MinGain)
	}
}

func BenchmarkLoadUnchanged(b *testing.B) {
	path := filepath.Join(b.TempDir(), "pemmican.toml")
	if err := os.WriteFile(path, []byte(everything), 0o600); err != nil {
		b.Fatal(err)
	}
	l := New(Source{Path: path, Environ: []string{}})
	for b.Loop() {
		l.Load()
	}
}
