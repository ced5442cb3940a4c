package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pemmican-dev/pemmican/internal/config"
)

// oldestPi is the oldest version of pi that the extension works with.
var oldestPi = [3]int{0, 84, 1}

// packageName is the name of the pi package.
const packageName = "pemmican-pi"

// pi tells of pi, of node, which it runs on, and of the package in it.
func (d *doctor) pi(ctx context.Context) {
	there := d.piItself(ctx)
	if _, set := os.LookupEnv("PI_SUBAGENT_ROOT_SESSION_ID"); set {
		d.found("pi", Note, "unset it in your shell, unless this is a subagent", "PI_SUBAGENT_ROOT_SESSION_ID is set, so the extension does nothing")
	}
	found := false
	for _, dir := range []string{config.PiDir(os.Environ()), ".pi"} {
		if dir == "" {
			continue // there is no home; state tells
		}
		found = d.piSettings(dir) || found
	}
	if !found && there {
		d.found("pi package", Wrong, "\"pi install\" with its folder or its source; README tells which", "it is not among the packages in pi's settings")
	}
}

// piItself reports whether pi is there.
func (d *doctor) piItself(ctx context.Context) bool {
	path, err := exec.LookPath("pi")
	if err != nil {
		d.found("pi", Note, "", "it is not in PATH")
		return false
	}
	if out, err := output(ctx, "node", "--version"); err != nil {
		d.found("node", Note, "", "it cannot be asked: %s", err)
	} else {
		d.found("node", OK, "", "%s", out)
	}
	out, err := output(ctx, path, "--version")
	if errors.Is(err, errSlow) {
		d.found("pi", Note, "see what \"pi --version\" says", "%s has not told its version: %s", path, err)
		return true
	}
	if err != nil {
		d.found("pi", Wrong, "see what \"pi --version\" says", "%s cannot be asked for its version: %s", path, err)
		return true
	}
	switch v, ok := versionIn(out); {
	case !ok:
		d.found("pi", Note, "", "%s tells no version", path)
	case less(v, oldestPi):
		d.found("pi", Wrong, "update it: \"pi update\"", "%s has the version %d.%d.%d; the extension needs %d.%d.%d or newer",
			path, v[0], v[1], v[2], oldestPi[0], oldestPi[1], oldestPi[2])
	default:
		d.found("pi", OK, "", "%d.%d.%d, at %s", v[0], v[1], v[2], path)
	}
	return true
}

// patience is how long a program may take to tell its version.
const patience = 5 * time.Second

// errSlow says that a program took longer.
var errSlow = fmt.Errorf("it took longer than %s", patience)

// output is what a program writes, on one line.
func output(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // these are the programs that the person uses
	cmd.WaitDelay = 100 * time.Millisecond         // for what it has started in its turn
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return "", errSlow
	}
	return strings.Join(strings.Fields(string(out)), " "), err
}

var versionNumber = regexp.MustCompile(`(?:^|[^0-9.])(\d{1,6})\.(\d{1,6})\.(\d{1,6})\b`)

func versionIn(text string) (v [3]int, ok bool) {
	m := versionNumber.FindStringSubmatch(text)
	if m == nil {
		return v, false
	}
	for i := range v {
		v[i], _ = strconv.Atoi(m[i+1])
	}
	return v, true
}

func less(a, b [3]int) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

// piPackage is a package in pi's settings: its source alone, or with what is loaded of it.
type piPackage struct {
	Source     string    `json:"source"`
	Extensions *[]string `json:"extensions"`
}

// UnmarshalJSON takes both forms.
func (p *piPackage) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte{'"'}) {
		return json.Unmarshal(data, &p.Source)
	}
	type plain piPackage
	return json.Unmarshal(data, (*plain)(p))
}

// piSettings looks for the package in the settings of pi in a folder, and reports whether it is there.
func (d *doctor) piSettings(dir string) bool {
	path := filepath.Join(dir, "settings.json")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false
	}
	var settings struct {
		Packages []piPackage `json:"packages"`
	}
	if err == nil {
		err = json.Unmarshal(data, &settings)
	}
	if err != nil {
		d.found("pi package", Wrong, "mend the file", "%s: pi's settings cannot be read: %s", path, cause(err))
		return false
	}
	found := false
	for _, p := range settings.Packages {
		switch {
		case strings.Contains(p.Source, "smart-context"):
			d.found("pi package", Note, "\"pi remove "+p.Source+"\", or keep that one only",
				"%s: %s compacts too, and pi takes the summary of the extension that comes last", path, p.Source)
		case isGone(p.Source, dir):
			if found = found || strings.Contains(p.Source, "pemmican"); strings.Contains(p.Source, "pemmican") {
				d.found("pi package", Wrong, "\"pi remove "+p.Source+"\", and install it from where it is now", "%s: %s: there is no such folder", path, p.Source)
			} else {
				d.found("pi package", Note, "\"pi remove "+p.Source+"\" if it is not needed", "%s: %s: there is no such folder", path, p.Source)
			}
		case !isOurs(p.Source, dir):
		case p.Extensions != nil && len(*p.Extensions) == 0:
			found = true
			d.found("pi package", Wrong, "\"pi config\" switches it on", "%s: %s: its extension is switched off", path, p.Source)
		default:
			found = true
			d.found("pi package", OK, "", "%s: %s", path, p.Source)
		}
	}
	return found
}

// isOurs reports whether the source of a package is that of ours: by its name in a registry, its repository, or what the
// package.json of a folder says. Paths are relative to the folder of the settings.
func isOurs(source, dir string) bool {
	switch kind, rest, _ := strings.Cut(source, ":"); kind {
	case "npm":
		return rest == packageName || strings.HasPrefix(rest, packageName+"@")
	case "git", "https", "http", "ssh":
		return strings.Contains(rest, "/pemmican")
	}
	data, err := os.ReadFile(filepath.Join(folderOf(source, dir), "package.json"))
	var manifest struct {
		Name string `json:"name"`
	}
	return err == nil && json.Unmarshal(data, &manifest) == nil && manifest.Name == packageName
}

// isGone reports whether the source of a package is a folder that is not there.
func isGone(source, dir string) bool {
	if source == "" || strings.Contains(source, ":") && !filepath.IsAbs(source) {
		return false
	}
	_, err := os.Stat(folderOf(source, dir))
	return errors.Is(err, fs.ErrNotExist)
}

// folderOf is the folder that the source of a package names, as seen from that of the settings.
func folderOf(source, dir string) string {
	path := source
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(path, "~/") {
		path = filepath.Join(home, path[2:])
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return path
}
