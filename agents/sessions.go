package agents

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Sentinel errors of Find.
var (
	ErrNoSession = errors.New("no such session")
	ErrAmbiguous = errors.New("more than one session")
)

// SessionFile is a session file on disk, as far as its name and its folder tell; it has not been read.
type SessionFile struct {
	// Agent is the name of the agent, "" for a file outside of the folders of the known ones.
	Agent string
	// ID is the session's id, as the file's name has it.
	ID   string
	Path string
	// Size is in bytes.
	Size    int64
	ModTime time.Time
	// Subagent is true for the file of a subagent, which "latest" never means.
	Subagent bool
}

// minPrefix is how much of an id tells a session: less is a typing error rather than a name.
const minPrefix = 6

// List returns the session files of the known agents, the newest first. Only folders are read, no file. A folder that
// cannot be read is reported in the error, which then stands beside the files of the others; one that does not exist
// is not an error. What Pemmican wrote beside a session under a name of its own, *.compacted.jsonl and *.fixed.jsonl, is
// left out: it has the id of that session. A nil env is os.Getenv.
func List(env Env) ([]SessionFile, error) { return list(env, All()) }

// Find returns the session that ref names. On success it is the first of the slice, and the only one except for "latest",
// where the older ones stand behind it: for somebody who finds that the first one is no session that can be read. With
// ErrAmbiguous the slice holds all that ref may mean. A nil env is os.Getenv. ref is one of
//
//   - "latest", the session that was written to last, of any agent; "pi:latest", "claude:latest", of one;
//   - a session id, or six or more characters of its beginning if no other session has them; "pi:ID" looks at the
//     sessions of one agent only;
//   - a path, of whatever file. What is there, has a slash or has an extension is a path and never an id.
//
// A folder that cannot be read makes "latest" fail rather than mean an older session. An error about a path is one of
// package fs, or wraps ErrNoSession.
func Find(env Env, ref string) ([]SessionFile, error) {
	if env == nil {
		env = os.Getenv
	}
	searched, of := All(), false
	if name, rest, ok := strings.Cut(ref, ":"); ok {
		var a Agent
		if a, of = Named(name); of {
			searched, ref = []Agent{a}, rest
		}
	}
	switch {
	case ref == "latest":
		return latest(env, searched)
	case !of && isPath(ref):
		return findPath(env, ref)
	}
	return findID(env, searched, ref)
}

func latest(env Env, searched []Agent) ([]SessionFile, error) {
	files, err := list(env, searched)
	if err != nil {
		return nil, fmt.Errorf("cannot tell which session is the latest: %w; name the session by its id or path", oneLine(err))
	}
	files = slices.DeleteFunc(files, func(f SessionFile) bool { return f.Subagent })
	if len(files) > 0 {
		return files, nil
	}
	return nil, fmt.Errorf("%w: there is none in %s", ErrNoSession, places(env, searched))
}

// oneLine is an error that joins several, on one line.
func oneLine(err error) error {
	return lineError{strings.ReplaceAll(err.Error(), "\n", "; "), err}
}

// lineError says what another error means in other words.
type lineError struct {
	text string
	err  error
}

func (e lineError) Error() string { return e.text }
func (e lineError) Unwrap() error { return e.err }

func isPath(ref string) bool {
	if strings.ContainsRune(ref, '/') || strings.ContainsRune(ref, filepath.Separator) || filepath.Ext(ref) != "" {
		return true
	}
	_, err := os.Lstat(ref) // a link is a path, wherever it leads
	return err == nil
}

func findPath(env Env, path string) ([]SessionFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, missing(path, err)
	}
	if info.IsDir() {
		return nil, lineError{path + " is a folder; name a file in it", ErrNoSession}
	}
	f := SessionFile{Path: path, Size: info.Size(), ModTime: info.ModTime()}
	f.Agent = owner(env, path)
	f.ID, f.Subagent = idOf(f.Agent, filepath.Base(path))
	return []SessionFile{f}, nil
}

// missing says why there is no file at path.
func missing(path string, err error) error {
	link, linkErr := os.Readlink(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && linkErr == nil:
		return lineError{path + " is a link to " + link + ", which is not there", ErrNoSession}
	case errors.Is(err, fs.ErrNotExist):
		return lineError{"there is no file " + path, ErrNoSession}
	case errors.Is(err, syscall.ELOOP):
		return lineError{path + " is a link that leads back to itself", ErrNoSession}
	case errors.Is(err, syscall.ENOTDIR):
		return lineError{"there is no file " + path + ": what stands before its last part is no folder", ErrNoSession}
	}
	return err
}

// owner is the agent in whose folders path lies, as it is written or with every link followed.
func owner(env Env, path string) string {
	paths := spellings(path)
	home := homeOf(env)
	for _, a := range All() {
		for _, f := range a.folders(env, home) {
			for _, root := range spellings(f.path) {
				for _, p := range paths {
					if rel, err := filepath.Rel(root, p); err == nil && filepath.IsLocal(rel) {
						return a.Name
					}
				}
			}
		}
	}
	return ""
}

// spellings are the absolute path, and the one with its links followed where that is another one.
func spellings(path string) []string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	out := []string{abs}
	if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
		out = append(out, real)
	}
	return out
}

func findID(env Env, searched []Agent, id string) ([]SessionFile, error) {
	files, listErr := list(env, searched)
	var exact, begin []SessionFile
	for _, f := range files {
		switch {
		case f.ID == "":
		case f.ID == id:
			exact = append(exact, f)
		case len(id) >= minPrefix && strings.HasPrefix(f.ID, id):
			begin = append(begin, f)
		}
	}
	found := exact
	if len(found) == 0 {
		found = begin
	}
	switch {
	case len(found) == 1:
		return found, nil
	case len(found) > 1:
		return found, ambiguous(id, found)
	}
	why := "no session has this id"
	if len(id) < minPrefix {
		why = fmt.Sprintf("no session has this id, and the beginning of one needs %d characters", minPrefix)
	}
	err := fmt.Errorf("%w: %q: %s in %s; \"latest\", an id or a path names one", ErrNoSession, id, why, places(env, searched))
	if listErr != nil {
		err = fmt.Errorf("%w; besides, %w", err, listErr)
	}
	return nil, err
}

// mostListed is how many sessions an error lists.
const mostListed = 10

func ambiguous(id string, found []SessionFile) error {
	var b strings.Builder
	for i, f := range found {
		if i == mostListed {
			fmt.Fprintf(&b, "\n  and %d more", len(found)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s:%s  %s  %s", f.Agent, f.ID, f.ModTime.UTC().Format(time.DateTime), f.Path)
	}
	return fmt.Errorf("%w: %q may be any of %d; give more of the id, or the path:%s", ErrAmbiguous, id, len(found), &b)
}

// places names the folders that were searched, for an error.
func places(env Env, searched []Agent) string {
	var out []string
	for _, a := range searched {
		for _, f := range a.folders(env, homeOf(env)) {
			out = append(out, f.path)
		}
	}
	if len(out) == 0 {
		return "no folder, for HOME is not set"
	}
	return strings.Join(out, " or ")
}

func homeOf(env Env) string {
	if home := env("HOME"); home != "" {
		return home
	}
	return env("USERPROFILE")
}

func list(env Env, searched []Agent) ([]SessionFile, error) {
	if env == nil {
		env = os.Getenv
	}
	home := homeOf(env)
	l := lister{seen: map[string]bool{}}
	var homeless []string // agents that are to be looked for in no folder at all
	for _, a := range searched {
		folders := a.folders(env, home)
		if len(folders) == 0 {
			homeless = append(homeless, a.Name)
		}
		for _, f := range folders {
			l.folder(a.Name, f)
		}
	}
	if len(homeless) > 0 {
		l.errs = append(l.errs, fmt.Errorf("where %s keeps sessions is unknown: HOME is not set", strings.Join(homeless, " or ")))
	}
	slices.SortFunc(l.files, func(a, b SessionFile) int {
		return cmp.Or(b.ModTime.Compare(a.ModTime), strings.Compare(a.Path, b.Path))
	})
	return l.files, errors.Join(l.errs...)
}

// lister gathers session files, and what went wrong.
type lister struct {
	files []SessionFile
	seen  map[string]bool // paths: two variables may name one folder
	errs  []error
}

func (l *lister) folder(agent string, f folder) {
	if !f.grouped {
		l.sessions(agent, f.path, false)
		return
	}
	for _, e := range l.read(f.path) {
		if dir := filepath.Join(f.path, e.Name()); isDir(e, dir) {
			l.sessions(agent, dir, f.subagents)
		}
	}
}

// sessions takes the session files that lie in dir itself, and, where subagents have folders, those.
func (l *lister) sessions(agent, dir string, subagents bool) {
	for _, e := range l.read(dir) {
		path := filepath.Join(dir, e.Name())
		switch {
		case strings.HasSuffix(e.Name(), sessionExt):
			l.file(agent, path)
		case subagents && e.IsDir():
			deeper := filepath.Join(path, "subagents")
			for _, e := range l.read(deeper) {
				if stem, ok := strings.CutSuffix(e.Name(), sessionExt); ok && isSubagent(stem) {
					l.file(agent, filepath.Join(deeper, e.Name()))
				}
			}
		}
	}
}

// ownName reports whether Pemmican gave the file its name, by putting what it had done before the extension.
func ownName(path string) bool {
	return strings.HasSuffix(path, ".compacted"+sessionExt) || strings.HasSuffix(path, ".fixed"+sessionExt)
}

// file takes one session file. A link counts as what it leads to.
func (l *lister) file(agent, path string) {
	if l.seen[path] || ownName(path) {
		return
	}
	l.seen[path] = true
	info, err := os.Stat(path)
	if err != nil {
		l.failed(err)
		return
	}
	if !info.Mode().IsRegular() {
		return
	}
	f := SessionFile{Agent: agent, Path: path, Size: info.Size(), ModTime: info.ModTime()}
	f.ID, f.Subagent = idOf(agent, filepath.Base(path))
	l.files = append(l.files, f)
}

func (l *lister) read(dir string) []fs.DirEntry {
	entries, err := os.ReadDir(dir)
	if err != nil {
		l.failed(err)
	}
	return entries
}

// failed notes an error, except that something is not there: the agent was never used, or removed it a moment ago. A link
// that leads back to itself leads to nothing either.
func (l *lister) failed(err error) {
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ELOOP) {
		l.errs = append(l.errs, err)
	}
}

// isDir reports whether an entry is a folder, or a link to one.
func isDir(e fs.DirEntry, path string) bool {
	if e.Type()&fs.ModeSymlink != 0 {
		info, err := os.Stat(path)
		return err == nil && info.IsDir()
	}
	return e.IsDir()
}

// idOf takes the session's id out of the name of its file: pi writes <time>_<id>.jsonl, Claude Code <id>.jsonl, and
// agent-<id>.jsonl for a subagent. Of an agent that is not known, "", nothing is said.
func idOf(agent, name string) (id string, subagent bool) {
	stem := strings.TrimSuffix(name, sessionExt)
	switch agent {
	case "pi":
		if _, id, ok := strings.Cut(stem, "_"); ok {
			return id, false
		}
		return stem, false
	case "claude":
		return stem, isSubagent(stem)
	}
	return "", false
}
