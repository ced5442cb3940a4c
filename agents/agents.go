// Package agents knows the agents whose sessions Pemmican works on: where their session files lie, how a session is
// taken up again, and what the tools of these and other agents do.
package agents

import (
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pemmican-dev/pemmican/format"
)

// Env looks up a variable of the environment; "" is unset. os.Getenv is one.
type Env func(key string) string

// Agent is an agent that keeps its sessions on disk.
type Agent struct {
	// Name is what people type before a colon: "pi", "claude".
	Name string
	// Format is the name of the format of its session files, as in format.Document.
	Format string

	folders func(env Env, home string) []folder
	resume  func(env Env, info format.Info, file string) string
}

// folder is where an agent keeps session files.
type folder struct {
	path string
	// grouped: the files lie one level deeper, in a folder for each working folder.
	grouped bool
	// subagents: beside its file a session may have a folder of its own that holds those of its subagents.
	subagents bool
}

// All returns the agents that are known, by name. The caller may change the slice.
func All() []Agent {
	return []Agent{
		{Name: "claude", Format: "claude-code", folders: claudeFolders, resume: resumeClaude},
		{Name: "pi", Format: "pi", folders: piFolders, resume: resumePi},
	}
}

// Named returns the agent with the given name.
func Named(name string) (Agent, bool) {
	for _, a := range All() {
		if a.Name == name {
			return a, true
		}
	}
	return Agent{}, false
}

// ForFormat returns the agent whose session files have the given format.
func ForFormat(name string) (Agent, bool) {
	for _, a := range All() {
		if a.Format == name {
			return a, true
		}
	}
	return Agent{}, false
}

// Resume returns the command that a person types to take up the session in file again, quoted for a POSIX shell and
// always one line. It is "" where there is none: a subagent's session is taken up by its parent only, and an agent that
// goes by the id finds a file by its name and in its own folders only. A nil env is os.Getenv.
func (a Agent) Resume(env Env, info format.Info, file string) string {
	if a.resume == nil {
		return ""
	}
	if env == nil {
		env = os.Getenv
	}
	command := a.resume(env, info, file)
	if command == "" || info.Dir == "" {
		return command
	}
	return "cd " + QuoteFile(info.Dir) + " && " + command
}

// piFolders: pi keeps sessions under its agent folder, grouped by working folder, or flat in a folder that a variable
// names (pi 1.6, docs/environment-variables.md). Both are looked at, for what was recorded before the variable was
// set. A folder that only pi's settings or its command line name is not known here.
func piFolders(env Env, home string) []folder {
	dir := expandHome(env("PI_CODING_AGENT_DIR"), home)
	if dir == "" && home != "" {
		dir = filepath.Join(home, ".pi", "agent")
	}
	var out []folder
	if dir != "" {
		out = append(out, folder{path: filepath.Join(dir, "sessions"), grouped: true})
	}
	if flat := expandHome(env("PI_CODING_AGENT_SESSION_DIR"), home); flat != "" {
		out = append(out, folder{path: flat})
	}
	return out
}

// resumePi opens the file by its path: pi takes any, but the session's working folder must exist.
func resumePi(_ Env, _ format.Info, file string) string {
	if file == "" {
		return ""
	}
	if abs, err := filepath.Abs(file); err == nil {
		file = abs // the command changes the folder first
	}
	return "pi --session " + QuoteFile(file)
}

// claudeFolders: Claude Code groups sessions by working folder; subagents have files of their own, agent-*.jsonl,
// beside the session or, in newer versions, in its folder.
func claudeFolders(env Env, home string) []folder {
	dir := env("CLAUDE_CONFIG_DIR")
	if dir == "" && home != "" {
		dir = filepath.Join(home, ".claude")
	}
	if dir == "" {
		return nil
	}
	return []folder{{path: filepath.Join(dir, "projects"), grouped: true, subagents: true}}
}

// resumeClaude names the session by its id. Claude Code finds it by the name of its file, below its own folder: a file
// that lies elsewhere, or has another name, is not found, and the id inside would take up another file. Without a file
// the id is all there is.
func resumeClaude(env Env, info format.Info, file string) string {
	id := info.ID
	if file != "" {
		if id = strings.TrimSuffix(filepath.Base(file), sessionExt); !isUUID(id) || owner(env, file) != "claude" {
			return ""
		}
	}
	if id == "" || strings.HasPrefix(id, "-") { // what stands in a file must not become an option
		return ""
	}
	return "claude --resume " + quote(id)
}

const sessionExt = ".jsonl"

func isSubagent(stem string) bool { return strings.HasPrefix(stem, "agent-") }

// isUUID reports whether s has the shape of a UUID.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		default:
			return false
		}
	}
	return true
}

// expandHome replaces a leading "~", as pi does with its variables.
func expandHome(path, home string) string {
	if home == "" {
		return path
	}
	if path == "~" {
		return home
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return path
}

// QuoteFile quotes a path for a POSIX shell, on one line, so that no command takes it for an option.
func QuoteFile(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return quote(path)
}

// quote quotes s for a POSIX shell. Control characters, those that turn the direction of text, and what is not UTF-8
// are written as escapes: the text is shown in a terminal, and a session file must not be able to speak to that.
func quote(s string) string {
	plain, control := s != "", false
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp), r == utf8.RuneError:
			control = true
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("/._-+:@,", r):
		default:
			plain = false
		}
	}
	switch {
	case control:
		var b strings.Builder
		b.WriteString("$'")
		for i := range len(s) {
			switch c := s[i]; {
			case c == '\'' || c == '\\':
				b.WriteByte('\\')
				b.WriteByte(c)
			case c < ' ' || c >= 0x7f:
				b.Write([]byte{'\\', '0' + c>>6, '0' + c>>3&7, '0' + c&7})
			default:
				b.WriteByte(c)
			}
		}
		b.WriteByte('\'')
		return b.String()
	case plain:
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
