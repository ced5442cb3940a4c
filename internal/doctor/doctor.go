// Package doctor examines an installation: what Pemmican finds on this machine, whether it can be used, and how what is
// wrong is mended.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/pemmican-dev/pemmican/agents"
	"github.com/pemmican-dev/pemmican/internal/cli"
	"github.com/pemmican-dev/pemmican/internal/config"
	"github.com/pemmican-dev/pemmican/internal/debuglog"
	"github.com/pemmican-dev/pemmican/internal/live"
	"github.com/pemmican-dev/pemmican/llm"
)

// The states of a finding.
const (
	OK    = "ok"    // as it should be
	Note  = "note"  // worth knowing; nothing is wrong
	Wrong = "wrong" // something does not work
)

// Finding is what was found of one subject.
type Finding struct {
	Subject string `json:"subject"`
	State   string `json:"state"`
	// Text says what was found, on one line; Mend what to do about it, "" for nothing.
	Text string `json:"text"`
	Mend string `json:"mend,omitempty"`
}

// Examine looks at everything. Version is Pemmican's own. It changes no file, but makes one in each of Pemmican's own
// folders, and takes it away, for only that tells whether it can; and it tells of keys by their names only.
func Examine(ctx context.Context, version string) []Finding {
	d := &doctor{}
	d.program(version)
	settings := d.settings()
	d.models()
	d.state()
	d.log(settings)
	d.live()
	d.agents()
	d.pi(ctx)
	d.keys()
	return d.findings
}

type doctor struct{ findings []Finding }

func (d *doctor) found(subject, state, mend, text string, args ...any) {
	d.findings = append(d.findings, Finding{subject, state, fmt.Sprintf(text, args...), mend})
}

// program tells which program this is, and whether the extension of an agent would start it.
func (d *doctor) program(version string) {
	self, err := os.Executable()
	if err != nil {
		self = "a place that the system does not tell"
	}
	d.found("program", OK, "", "pemmican %s, at %s", version, self)
	const install = "put its folder into PATH, or set PEMMICAN_BIN to its path"
	path, where := findProgram()
	switch {
	case path == "" && os.Getenv("PEMMICAN_BIN") != "":
		d.found("program", Wrong, "set PEMMICAN_BIN to the path of the program, or unset it", "there is no program %s", where)
	case path == "":
		state := Wrong
		if _, err := exec.LookPath("pi"); err != nil {
			state = Note // there is no such agent
		}
		d.found("program", state, install, "an agent's extension does not find the program: it is not %s", where)
	case !sameFile(path, self):
		d.found("program", Note, "if that is not what you want, "+install, "an agent's extension starts another one: %s", path)
	}
}

// findProgram finds the program as the extension of an agent does: PEMMICAN_BIN if it is set, else the first in PATH, else
// the one that "go install" makes. Where is where it looked.
func findProgram() (path, where string) {
	const name = "pemmican"
	if bin := os.Getenv("PEMMICAN_BIN"); bin != "" {
		return executable(bin), "at PEMMICAN_BIN, " + bin
	}
	var places []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(dir) {
			places = append(places, dir)
		}
	}
	home, _ := os.UserHomeDir()
	places = append(places, os.Getenv("GOBIN"), filepath.Join(cmp.Or(os.Getenv("GOPATH"), filepath.Join(home, "go")), "bin"))
	for _, dir := range places {
		if dir != "" {
			if path := executable(filepath.Join(dir, name)); path != "" {
				return path, ""
			}
		}
	}
	return "", "in PATH, nor in ~/go/bin"
}

// executable returns a path if there is a program at it, else "".
func executable(path string) string {
	info, err := os.Stat(path) //nolint:gosec // the person's own environment names it
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return ""
	}
	return path
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	two, err := os.Stat(b)
	return err == nil && os.SameFile(one, two)
}

// settings tells of every place where settings may be. It returns whether they turn the log on.
func (d *doctor) settings() (debug bool) {
	loader := config.New(config.Source{AgentDir: config.PiDir(os.Environ())})
	settings, notices := loader.Load()
	for _, p := range loader.Where() {
		if !p.Unusable { // a notice tells of those that are
			d.found("settings", OK, "", "%s: %s: %s", p.What, p.Path, p.State)
		}
	}
	for _, n := range notices {
		state, mend := Note, ""
		if n.Level == "warning" {
			state, mend = Wrong, "\"pemmican config\" shows what is in force"
		}
		d.found("settings", state, mend, "%s", n.Text)
	}
	if file := loader.File(); file != "" {
		dir := filepath.Dir(file)
		if _, err := writable(dir); err != nil {
			d.found("settings", Note, "change them by hand, or name another file by PEMMICAN_CONFIG", "\"pemmican config set\" cannot write to %s: %s", dir, err)
		}
	}
	if !settings.Enabled {
		d.found("settings", Note, "\"pemmican config set enabled true\" turns it on", "Pemmican is switched off")
	}
	return settings.Debug
}

// models tells of what the person says of models.
func (d *doctor) models() {
	dir, err := os.UserConfigDir()
	if err != nil {
		return
	}
	path := filepath.Join(dir, "pemmican", "models.json")
	if _, _, err := cli.OpenCatalogue(); err != nil {
		d.found("models", Wrong, "correct the file, or take it away", "%s", cli.Message(err))
		return
	}
	if _, err := os.Stat(path); err != nil {
		d.found("models", OK, "", "windows and prices of your own: %s: not there", path)
		return
	}
	d.found("models", OK, "", "windows and prices of your own: %s: used", path)
}

// state tells where the state of sessions is kept.
func (d *doctor) state() {
	dir, err := os.UserCacheDir()
	if err != nil {
		d.found("state", Wrong, "set HOME, or XDG_CACHE_HOME to a path from the root", "there is no folder for what sessions learn: %s", err)
		return
	}
	dir = filepath.Join(dir, "pemmican", "sessions")
	const mend = "see to it that it is a folder with room that you may write to, or name another by XDG_CACHE_HOME"
	switch there, err := writable(dir); {
	case err != nil:
		d.found("state", Wrong, mend, "what sessions learn cannot be kept: %s: %s", dir, err)
	case !there:
		d.found("state", OK, "", "what sessions learn: %s: not there yet", dir)
	default:
		files, _ := os.ReadDir(dir)
		d.found("state", OK, "", "what sessions learn: %s: %s", dir, cli.Plural(len(files), "file"))
	}
	above := filepath.Dir(dir)
	if there, err := writable(above); there && err != nil {
		d.found("state", Wrong, mend, "what is learned of models cannot be kept: %s: %s", above, err)
	}
}

// writable finds out whether files can be made in a folder, or, where it is not there, in the nearest one above that is,
// by making one: permission is not all that it takes. There tells whether the folder itself is there.
func writable(dir string) (there bool, err error) {
	at := dir
	info, err := os.Stat(at)
	for (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) && at != filepath.Dir(at) {
		at = filepath.Dir(at)
		info, err = os.Stat(at)
	}
	switch {
	case err == nil && !info.IsDir():
		err = errors.New("it is no folder")
	case err == nil:
		err = write(at)
	}
	if err != nil && at != dir {
		return false, fmt.Errorf("%s: %w", at, cause(err))
	}
	return at == dir, cause(err)
}

// write makes a file in a folder, and takes it away.
func write(dir string) error {
	f, err := os.CreateTemp(dir, ".pemmican-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4096)) // an empty one has room on a full disk
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// cause is an error without the path that is told beside it.
func cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// log tells where the debug log is.
func (d *doctor) log(on bool) {
	path, err := debuglog.Path()
	if err != nil {
		return // state tells why
	}
	size := "not there"
	if info, err := os.Stat(path); err == nil {
		size = cli.Plural(int(info.Size()), "byte")
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		err = f.Close()
	}
	if on && err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.found("log", Wrong, "see to it that you may write to the file, or switch the log off", "the debug log cannot be written: %s: %s", path, cause(err))
		return
	}
	if on {
		d.found("log", OK, "", "the debug log is on: %s: %s", path, size)
		return
	}
	d.found("log", OK, "", "the debug log is off (PEMMICAN_DEBUG=1 turns it on): %s: %s", path, size)
}

// live tells of the sessions that run now, and whether one can be reached.
func (d *doctor) live() {
	if runtimeDir := os.Getenv("XDG_RUNTIME_DIR"); runtimeDir != "" && !filepath.IsAbs(runtimeDir) {
		d.found("live", Note, "give it as a path from the root", "XDG_RUNTIME_DIR is passed over, for it is relative: %s", runtimeDir)
	}
	dir, err := live.Dir()
	if err == nil {
		var sessions []live.Session
		if sessions, err = live.List(dir); err == nil {
			if err := live.Try(dir); err != nil {
				d.found("live", Wrong, "name another folder by XDG_RUNTIME_DIR", "other processes cannot reach a session that runs: %s", err)
			}
			d.found("live", OK, "", "running sessions: %d, in %s", len(sessions), dir)
			for _, s := range sessions {
				d.found("live", OK, "", "%s, session %s, in %s", s.Agent, s.ID, s.Dir)
			}
			return
		}
	}
	d.found("live", Wrong, "", "other processes cannot reach a running session: %s", err)
}

// agents tells which agents have sessions here.
func (d *doctor) agents() {
	files, err := agents.List(os.Getenv)
	if err != nil {
		for line := range strings.Lines(err.Error()) { // one error each
			d.found("agents", Wrong, "", "%s", strings.TrimSpace(line))
		}
	}
	for _, a := range agents.All() {
		n := 0
		for _, f := range files {
			if f.Agent == a.Name {
				n++
			}
		}
		d.found("agents", OK, "", "%s: %s", a.Name, cli.Plural(n, "session"))
	}
}

// keys tells which keys are in the environment. pi has its own.
func (d *doctor) keys() {
	for _, api := range []llm.API{llm.Anthropic, llm.Chat} {
		name := api.KeyVariable()
		state := "not set"
		if os.Getenv(name) != "" {
			state = "set"
		}
		d.found("keys", OK, "", "%s: %s", name, state)
	}
}

// AnyWrong reports whether something does not work.
func AnyWrong(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.State == Wrong })
}

// Lines are the findings for people: a subject and what was found of it, and on a line of its own what to do about it.
func Lines(findings []Finding) []string {
	var out []string
	subject := ""
	for _, f := range findings {
		if f.Subject != subject {
			subject = f.Subject
			out = append(out, cli.Heading(strings.ToUpper(subject[:1])+subject[1:]))
		}
		mark := map[string]string{OK: " ", Note: "*", Wrong: "!"}[f.State]
		out = append(out, "  "+mark+" "+cli.Clean(f.Text))
		if f.Mend != "" {
			out = append(out, "    → "+cli.Clean(f.Mend))
		}
	}
	switch n := len(slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool { return f.State != Wrong })); n {
	case 0:
		return append(out, "", "Nothing is wrong.")
	case 1:
		return append(out, "", "One thing is wrong: it is marked with \"!\".")
	default:
		return append(out, "", fmt.Sprintf("%d things are wrong: they are marked with \"!\".", n))
	}
}
