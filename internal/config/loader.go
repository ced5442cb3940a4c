package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/pemmican-dev/pemmican/session"
)

// Source is where settings are looked for. The zero value is the person's own settings, without an older extension's.
type Source struct {
	// Path is the settings file: TOML, or JSON if its name ends in .json. Defaults to what PEMMICAN_CONFIG says, else to
	// pemmican.toml, or else pemmican.json, in Dir.
	Path string
	// Dir is the folder of the settings file. Defaults to pemmican in os.UserConfigDir.
	Dir string
	// AgentDir is an agent's folder, in which the older extension's file may lie; "" looks for none.
	AgentDir string
	// Environ is the environment, as os.Environ has it. Defaults to that.
	Environ []string
	// Overrides are the values of flags, by the keys of settings.
	Overrides map[string]string
}

// Notice is something that a person should know about their settings, in one line.
type Notice struct {
	Level string // info or warning
	Text  string
}

// Place is somewhere a Loader looks, and what it found there.
type Place struct {
	Path string // a file, or the name of a variable
	What string // settings file, settings of an older extension, environment
	// State is used, not there, or why it is not used.
	State string
	// Unusable is true if the place should be used and cannot.
	Unusable bool
}

// Value is a setting in force.
type Value struct {
	Key  string
	Text string // as JSON
	From string // default, a file, the name of a variable, or flag
}

// Loader loads settings, and loads them again when they have changed. It is safe for concurrent use.
type Loader struct {
	files     []file
	variables []variable
	overrides []variable
	notices   []Notice // about the source itself

	mu       sync.Mutex
	loaded   bool
	settings session.Settings
	from     map[string]string
	pending  []Notice
	said     []Notice // by the newest load
}

// file is one that may hold settings.
type file struct {
	path   string
	what   string
	legacy bool
	wanted bool // somebody named it: that it is not there is worth a word

	data  []byte
	err   error
	good  []entry // what it said when it was usable
	state string
	bad   bool
}

// variable is a setting in words.
type variable struct {
	from, name, text string
}

const (
	whatFile        = "settings file"
	whatLegacy      = "settings of an older extension"
	whatEnvironment = "environment"

	stateUsed    = "used"
	stateMissing = "not there"

	fromDefault = "default"
	fromFlag    = "flag"

	// usualWindow is the window for which thresholds are compared where nobody has set one, in tokens.
	usualWindow = 200_000

	levelInfo    = "info"
	levelWarning = "warning"
)

// New returns a loader for a source. It reads nothing yet.
func New(s Source) *Loader {
	l := &Loader{}
	environ := s.Environ
	if environ == nil {
		environ = os.Environ()
	}
	l.environment(environ)
	for _, k := range keys {
		if text, ok := s.Overrides[k.name]; ok {
			l.overrides = append(l.overrides, variable{fromFlag, k.name, text})
		}
	}
	for name := range s.Overrides {
		if _, ok := keyNamed(name); !ok {
			l.warnf("%s", noSuchKey(name))
		}
	}
	if s.AgentDir != "" {
		l.files = append(l.files, file{path: filepath.Join(s.AgentDir, legacyFile), what: whatLegacy, legacy: true})
	}
	path := s.Path
	if path == "" {
		path = lookup(environ, pathVariable)
	}
	if path != "" {
		l.files = append(l.files, file{path: path, what: whatFile, wanted: true})
		return l
	}
	dir := s.Dir
	if dir == "" {
		base, err := os.UserConfigDir()
		if err != nil {
			l.warnf("no settings file is looked for: %v; %s can name one", err, pathVariable)
			return l
		}
		dir = filepath.Join(base, "pemmican")
	}
	// The later one of two is the one that is used.
	for _, name := range []string{"pemmican.json", "pemmican.toml"} {
		l.files = append(l.files, file{path: filepath.Join(dir, name), what: whatFile})
	}
	return l
}

func lookup(environ []string, name string) string {
	for _, pair := range environ {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// environment takes the settings out of the environment. An empty variable is none.
func (l *Loader) environment(environ []string) {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.variable()
		if text := lookup(environ, names[i]); text != "" {
			l.variables = append(l.variables, variable{names[i], k.name, text})
		}
	}
	for _, pair := range environ {
		name, text, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, prefix) || text == "" || name == pathVariable || slices.Contains(names, name) {
			continue
		}
		// Other parts of the program have variables of their own, so only what is nearly a setting is told of.
		if near := nearest(name, names, max(2, (len(name)-len(prefix))/3)); near != "" {
			l.warnf("%s is no setting, did you mean %s?", oneLine(name), near)
		}
	}
}

func (l *Loader) warnf(format string, args ...any) {
	l.notices = append(l.notices, Notice{levelWarning, fmt.Sprintf(format, args...)})
}

// Load returns the settings in force, and what there is to say about them that has not been said yet. It looks at the files
// each time, and is cheap if they are as they were.
func (l *Loader) Load() (session.Settings, []Notice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.load()
	pending := l.pending
	l.pending = nil
	s := l.settings
	s.ReminderThresholds = slices.Clone(s.ReminderThresholds)
	s.ExcludedModels = slices.Clone(s.ExcludedModels)
	s.Hooks.Before, s.Hooks.After = slices.Clone(s.Hooks.Before), slices.Clone(s.Hooks.After)
	return s, pending
}

// load brings the settings up to date. l.mu must be held.
func (l *Loader) load() {
	changed := !l.loaded
	for i := range l.files {
		f := &l.files[i]
		data, err := readFile(f.path)
		// The content is compared, not its time: these files are small, and two edits may have one time.
		if !l.loaded || !bytes.Equal(data, f.data) || (err == nil) != (f.err == nil) || err != nil && err.Error() != f.err.Error() {
			f.data, f.err, changed = data, err, true
		}
	}
	if !changed {
		return
	}
	notices := slices.Clone(l.notices)
	tell := func(level, format string, args ...any) {
		notices = append(notices, Notice{level, oneLine(fmt.Sprintf(format, args...))})
	}
	s := session.DefaultSettings().Normalise()
	l.from = map[string]string{}
	for i := range l.files {
		f := &l.files[i]
		f.state, f.bad = stateUsed, false
		if i+1 < len(l.files) && f.what == l.files[i+1].what && f.err == nil && l.files[i+1].err == nil {
			f.state = "not used: " + l.files[i+1].path + " lies beside it"
			tell(levelWarning, "%s is not used, for %s lies beside it; delete one of them", f.path, l.files[i+1].path)
			continue
		}
		l.layer(f, &s, tell)
	}
	l.words(l.variables, &s, tell)
	l.words(l.overrides, &s, tell)
	// Who has only lowered hard knows what they do: it is the default of soft that stands above it then.
	if window := cmp.Or(s.Window, usualWindow); l.from["soft"] != "" && s.Hard.In(window) > 0 && s.Soft.In(window) > s.Hard.In(window) {
		tell(levelWarning, "soft (%s) lies above hard (%s), so no summary is begun before it is needed", s.Soft, s.Hard)
	}
	l.settings, l.loaded = s, true
	for _, n := range notices {
		if !slices.Contains(l.said, n) {
			l.pending = append(l.pending, n)
		}
	}
	l.said = notices
}

// layer lays what a file says over the settings: what it says now, else what it said when it was usable.
func (l *Loader) layer(f *file, s *session.Settings, tell func(level, format string, args ...any)) {
	if errors.Is(f.err, fs.ErrNotExist) {
		f.state = stateMissing
		switch {
		case f.good != nil:
			tell(levelInfo, "%s is gone; the defaults are used", f.path)
		case f.wanted:
			tell(levelWarning, "%s: there is no such file; the defaults are used until there is one", f.path)
		}
		f.good = nil
		return
	}
	said, next, err := f.read(*s)
	if err == nil {
		f.good = said.entries
		*s = next
		for _, line := range said.passed {
			tell(levelWarning, "%s%s", f.path, line)
		}
	} else {
		f.bad = true
		mend := "the defaults are used until it is mended"
		if f.good != nil {
			mend = "the settings before it stay in force until it is mended"
			next, _, err := lay(*s, f.good)
			if err != nil {
				f.good = nil // It was good with other settings below it, and is not any more.
			} else {
				*s = next
			}
		}
		where := placeOf(f.path, err)
		f.state = oneLine(fmt.Sprintf("cannot be used: %s: %v", where, err))
		tell(levelWarning, "%s: %v; %s", where, err, mend)
	}
	for _, e := range f.good {
		if _, ok := keyNamed(e.name); ok {
			l.from[e.name] = f.path
		}
	}
}

// said is what a usable file says: passed has a line, from its place on, for each thing in it that does not count.
type said struct {
	entries []entry
	passed  []string
}

// read returns what a file says, and the settings with that laid over.
func (f *file) read(s session.Settings) (said, session.Settings, error) {
	if f.err != nil {
		return said{}, s, f.err
	}
	if len(bytes.TrimSpace(f.data)) == 0 && len(f.good) > 0 {
		// A program that writes a file anew empties it first.
		return said{}, s, errors.New("it is empty now, as if somebody were writing it")
	}
	all, err := entries(f.path, f.data)
	if err != nil {
		return said{}, s, err
	}
	out := said{entries: all}
	if f.legacy {
		var passed []string
		out.entries, passed = legacyEntries(all)
		for _, line := range passed {
			out.passed = append(out.passed, ": "+line)
		}
	}
	next, passed, err := lay(s, out.entries)
	out.passed = append(out.passed, passed...)
	if out.entries == nil {
		out.entries = []entry{} // it was there
	}
	return out, next, err
}

// lay lays values over settings. The error tells of one that makes no sense; passed is as in said.
func lay(s session.Settings, values []entry) (next session.Settings, passed []string, err error) {
	for _, e := range values {
		at := ": "
		if e.line > 0 {
			at = fmt.Sprintf(":%d: ", e.line)
		}
		k, ok := keyNamed(e.name)
		if !ok {
			passed = append(passed, at+noSuchKey(e.name))
			continue
		}
		out, err := k.set(&s, e.value)
		if err != nil {
			return s, nil, &syntaxError{e.line, fmt.Sprintf("%s: %v", e.name, err)}
		}
		for _, line := range out {
			passed = append(passed, at+e.name+": "+line)
		}
	}
	s = s.Normalise()
	if err := s.Valid(); err != nil {
		line := 0
		for _, e := range values {
			if strings.HasPrefix(err.Error(), e.name) {
				line = e.line
			}
		}
		return s, nil, &syntaxError{line, err.Error()}
	}
	return s, passed, nil
}

// words lays the values of variables or flags over the settings, one by one: one that makes no sense does not cost the
// others.
func (l *Loader) words(all []variable, s *session.Settings, tell func(level, format string, args ...any)) {
	for _, v := range all {
		next, passed, err := v.lay(*s)
		if err != nil {
			tell(levelWarning, "%s: %v; it is left out", v.where(), err)
			continue
		}
		for _, line := range passed {
			tell(levelWarning, "%s%s", v.where(), line)
		}
		*s = next
		l.from[v.name] = v.from
	}
}

func (v variable) where() string {
	if v.from == fromFlag {
		return "flag " + v.name
	}
	return v.from
}

func (v variable) lay(s session.Settings) (session.Settings, []string, error) {
	k, _ := keyNamed(v.name)
	value, err := k.read(v.text)
	if err != nil {
		return s, nil, fmt.Errorf("%q: %w", v.text, err)
	}
	return lay(s, []entry{{name: v.name, value: value}})
}

// Where returns every place that is looked at, and what was found there the last time.
func (l *Loader) Where() []Place {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.load()
	var out []Place
	for _, f := range l.files {
		out = append(out, Place{f.path, f.what, f.state, f.bad})
	}
	for _, v := range l.variables {
		p := Place{Path: v.from, What: whatEnvironment, State: stateUsed}
		if l.from[v.name] != v.from && l.from[v.name] != fromFlag {
			p.State, p.Unusable = "cannot be used", true
		}
		out = append(out, p)
	}
	return out
}

// File is the settings file that is used, or, where there is none, the one that could be made; "" if there can be none. It is
// what [Set] is to change.
func (l *Loader) File() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.load()
	return l.file()
}

func (l *Loader) file() string {
	path := ""
	for _, f := range l.files {
		if !f.legacy && (path == "" || f.state != stateMissing || !l.used(path)) {
			path = f.path
		}
	}
	return path
}

func (l *Loader) used(path string) bool {
	return slices.ContainsFunc(l.files, func(f file) bool { return f.path == path && f.state != stateMissing })
}

// Origin is where the value of a key can be changed: the file or the variable that it comes from, else File.
func (l *Loader) Origin(key string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.load()
	if from := l.from[key]; from != "" && from != fromFlag {
		return from
	}
	return l.file()
}

// Values returns the settings in force, and where each comes from, in the order of session.Settings.
func (l *Loader) Values() []Value {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.load()
	var out []Value
	for _, k := range keys {
		from := l.from[k.name]
		if from == "" {
			from = fromDefault
		}
		out = append(out, Value{k.name, k.text(l.settings), from})
	}
	return out
}

// text is the value of a key as JSON.
func (k key) text(s session.Settings) string {
	v := k.field(&s)
	if v.Kind() == reflect.Slice && v.IsNil() {
		return "[]"
	}
	return encoded(v.Interface())
}

// oneLine is a text without what would break a line or be unseen in it.
func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)), " ")
}
