package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pemmican-dev/pemmican/agents"
	"github.com/pemmican-dev/pemmican/format"
)

// State is how a session is.
type State string

// The states.
const (
	Sound State = "sound"
	// OverWindow: it takes more than its window.
	OverWindow State = "over its window"
	// Bricked: the provider would refuse it.
	Bricked State = "bricked"
	// Unreadable: it cannot be read, or is no session.
	Unreadable State = "unreadable"
)

// Session is a session on disk, looked at.
type Session struct {
	Agent    string    `json:"agent"`
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Path     string    `json:"path"`
	Folder   string    `json:"folder"`
	Modified time.Time `json:"modified"`
	Subagent bool      `json:"subagent"`
	// Tokens is what its next request takes.
	Tokens int `json:"tokens"`
	Window int `json:"window"`
	// Load is Tokens in percent of Window.
	Load  int   `json:"load"`
	State State `json:"state"`
	// Reason says why the state is not sound, "" if it is.
	Reason string `json:"reason"`
}

// look is what looking at a file has found, as it is remembered.
type look struct {
	Size    int64  `json:"size"`
	ModTime int64  `json:"mtime"` // nanoseconds since 1970
	Name    string `json:"name,omitempty"`
	Folder  string `json:"folder,omitempty"`
	Model   string `json:"model,omitempty"`
	Tokens  int    `json:"tokens"`
	// Refused is what the provider would refuse first, Unread why the file could not be read; "" if there is nothing.
	Refused string `json:"refused,omitempty"`
	Unread  string `json:"unread,omitempty"`
}

// Scanner looks at the sessions of the known agents.
type Scanner struct {
	// Window is the window that sessions are measured against, in tokens, 0 for what is known of the model of each.
	Window int
	// Cache is the file that remembers what was found, "" for none. One that cannot be used is passed over.
	Cache string
	// Progress, if not nil, is called with the number of files to look at, and returns what is called after each.
	Progress func(n int) (step func())
}

// CachePath is where a Scanner of this person remembers what it has found, "" if there is no such place.
func CachePath() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "pemmican", "sessions.json")
}

// Scan returns the sessions of the known agents, the newest first. Folders that could not be read are in the warnings.
func (s *Scanner) Scan(ctx context.Context) (sessions []Session, warnings []string, err error) {
	files, listErr := agents.List(os.Getenv)
	if listErr != nil {
		for line := range strings.Lines(listErr.Error()) {
			warnings = append(warnings, strings.TrimSpace(line))
		}
	}
	known := s.load()
	looks := make([]look, len(files))
	var todo []int
	for i, f := range files {
		l, ok := known[f.Path]
		if ok && l.Size == f.Size && l.ModTime == f.ModTime.UnixNano() {
			looks[i] = l
			continue
		}
		todo = append(todo, i)
	}
	if len(todo) > 0 {
		if err := s.lookAt(ctx, files, todo, looks); err != nil {
			return nil, warnings, err
		}
	}
	if len(todo) > 0 || len(known) != len(files) {
		s.save(ctx, files, looks)
	}
	catalogue, _, err := OpenCatalogue()
	if err != nil {
		return nil, warnings, err
	}
	sessions = make([]Session, len(files))
	for i, f := range files {
		window := s.Window
		if window == 0 {
			window, _ = WindowOf(catalogue, looks[i].Model)
		}
		sessions[i] = found(f, &looks[i], window)
	}
	return sessions, warnings, nil
}

// lookAt looks at the files of todo, on all cores, the largest first so that none is left for the end.
func (s *Scanner) lookAt(ctx context.Context, files []agents.SessionFile, todo []int, looks []look) error {
	step := func() {}
	if s.Progress != nil {
		step = s.Progress(len(todo))
	}
	order := slices.Clone(todo)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(files[b].Size, files[a].Size) })
	jobs := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range jobs {
				looks[i] = lookInto(files[i])
				step()
			}
		})
	}
	var err error
	for _, i := range order {
		if err = ctx.Err(); err != nil {
			break
		}
		jobs <- i
	}
	close(jobs)
	workers.Wait()
	return err
}

// lookInto reads one file. One that its agent is writing to is taken as it is, and read again the next time.
func lookInto(f agents.SessionFile) look {
	l := look{Size: f.Size, ModTime: f.ModTime.UnixNano()}
	data, err := os.ReadFile(f.Path)
	if err != nil {
		l.Unread = About("", err).Error()
		return l
	}
	in := Input{Data: data}
	doc, err := in.Decode("")
	if err != nil {
		l.Unread = err.Error()
		return l
	}
	if session, ok := doc.(format.Session); ok {
		info := session.Info()
		l.Name, l.Folder = info.Name, info.Dir
	}
	l.Model = doc.Transcript().Model
	l.Tokens = liveTokens(&in)
	l.Refused = refused(doc.Check())
	return l
}

// refused returns what a provider would refuse in a session, of findings that may also be about lines that never reach
// one, and about calls without a result, for which the agents make one up.
func refused(findings []format.Finding) string {
	for _, f := range findings {
		switch f.Rule {
		case format.RuleBadLine, format.RuleBrokenChain, format.RuleBadID, format.RuleCallWithoutResult:
			continue
		}
		return f.Where + ": " + f.Message
	}
	return ""
}

// found is what was found in a file, against a window in tokens.
func found(f agents.SessionFile, l *look, window int) Session {
	out := Session{
		Agent: f.Agent, ID: f.ID, Name: l.Name, Path: f.Path, Folder: l.Folder, Modified: f.ModTime.UTC(), Subagent: f.Subagent,
		Tokens: l.Tokens, Window: window, Load: (l.Tokens*100 + window/2) / window, State: Sound,
	}
	switch {
	case l.Unread != "":
		out.State, out.Reason = Unreadable, l.Unread
	case l.Refused != "":
		out.State, out.Reason = Bricked, l.Refused
	case l.Tokens > window:
		out.State, out.Reason = OverWindow, "it takes "+Count(l.Tokens)+" tokens of "+Count(window)
	}
	return out
}

// remembered is the content of the cache file.
type remembered struct {
	// Program is the version that wrote it: another one may count and check otherwise.
	Program string          `json:"program"`
	Looks   map[string]look `json:"sessions"`
}

// program names this build. The first part is raised when what a look finds changes.
var program = sync.OnceValue(func() string {
	words := []string{"3"}
	if info, ok := debug.ReadBuildInfo(); ok {
		words = append(words, info.Main.Version)
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
				words = append(words, s.Value)
			}
		}
	}
	return strings.Join(words, " ")
})

func (s *Scanner) load() map[string]look {
	if s.Cache == "" {
		return nil
	}
	data, err := os.ReadFile(s.Cache)
	if err != nil {
		return nil
	}
	var r remembered
	if json.Unmarshal(data, &r) != nil || r.Program != program() {
		return nil
	}
	return r.Looks
}

// save remembers what was found. That it cannot is no fault: the next time takes longer.
func (s *Scanner) save(ctx context.Context, files []agents.SessionFile, looks []look) {
	if s.Cache == "" {
		return
	}
	r := remembered{Program: program(), Looks: make(map[string]look, len(files))}
	for i, f := range files {
		r.Looks[f.Path] = looks[i]
	}
	data, err := json.Marshal(r)
	if err != nil || os.MkdirAll(filepath.Dir(s.Cache), 0o700) != nil {
		return
	}
	_ = create(ctx, s.Cache, data, 0o600, true, nil)
}

// Age is how long ago a time was, roughly, for people.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return Plural(int(d/time.Minute), "minute") + " ago"
	case d < 48*time.Hour:
		return Plural(int(d/time.Hour), "hour") + " ago"
	}
	return Plural(int(d/(24*time.Hour)), "day") + " ago"
}

// SessionLines are the sessions for people, for a terminal that is so wide; 0 is any width.
func SessionLines(sessions []Session, now time.Time, home string, width int) string {
	t := Table{
		Head: []string{"agent", "used", "", "load", "state", "folder", "session"}, Right: []int{3},
		Width: width, Cuts: []Cut{{Column: 5, Least: 16}, {Column: 6, Least: 12, AtEnd: true}, {Column: 2}, {Column: 5, Least: 8}},
	}
	for i := range sessions {
		s := &sessions[i]
		state := string(s.State)
		if s.State == Sound {
			state = good.Render(state)
		} else {
			state = bad.Render(state)
		}
		folder := s.Folder
		if rest, ok := strings.CutPrefix(folder, home); ok && home != "" && (rest == "" || rest[0] == filepath.Separator) {
			folder = "~" + rest
		}
		name := s.ID
		if s.Subagent {
			name += " (subagent)"
		}
		if s.Name != "" {
			name += "  " + s.Name
		}
		load := Percent(s.Tokens, s.Window)
		if s.State == Unreadable {
			load = ""
		}
		t.Row(Clean(s.Agent), Age(now.Sub(s.Modified)), Bar(min(s.Tokens, s.Window), s.Window, 10), load, state, Clean(folder), Clean(name))
	}
	return t.String()
}

// ListSessions writes the list of sessions to stdout, for people or as one JSON object. Where a folder could not be read the
// list may lack some, and the error has the exit status for that.
func ListSessions(ctx context.Context, stdout, stderr io.Writer, window int, cache, asJSON bool) error {
	s := Scanner{Window: window}
	if cache {
		s.Cache = CachePath()
	}
	var progress *Progress
	s.Progress = func(n int) func() {
		progress = NewProgress(stderr, n, "sessions")
		return func() { progress.Add(1) }
	}
	sessions, warnings, err := s.Scan(ctx)
	progress.Done()
	if err != nil {
		return err
	}
	if asJSON {
		err := WriteJSON(stdout, struct {
			Sessions []Session `json:"sessions"`
			Warnings []string  `json:"warnings"`
		}{sessions, append([]string{}, warnings...)})
		if err == nil && len(warnings) > 0 {
			err = Failed(ExitRefused)
		}
		return About("standard output", err)
	}
	for _, w := range warnings {
		if err := Print(stderr, "pemmican: "+Clean(w)); err != nil {
			return err
		}
	}
	home, _ := os.UserHomeDir()
	switch {
	case len(sessions) > 0:
		err = Print(stdout, SessionLines(sessions, time.Now(), home, Width(stdout)))
	case len(warnings) == 0:
		err = Print(stderr, "there are no sessions of pi or Claude Code here")
	}
	if err == nil && len(warnings) > 0 {
		err = Failed(ExitRefused)
	}
	return About("standard output", err)
}
