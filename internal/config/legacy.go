package config

import (
	"os"
	"path/filepath"
	"strings"
)

// legacyFile is where, below an agent's folder, the settings of the older extension lie.
var legacyFile = filepath.Join("config", "smart-context-ext-config.json")

// legacyEntries makes of what the older extension's file says what it meant there: a value of another shape than its own
// stands for the default, and members that it does not know are nothing. passed has a line for each value that is given up.
func legacyEntries(all []entry) (out []entry, passed []string) {
	for _, e := range all {
		switch e.name {
		case "enabled":
			if _, ok := e.value.(bool); !ok {
				passed = append(passed, "enabled: want true or false; the default is used")
				continue
			}
		case keyCompactModel:
			model, ok := refOf(e.value)
			if !ok {
				passed = append(passed, keyCompactModel+": it is no reference to a model; the session's own model is followed")
			}
			e.value = model
		case keyReminderThresholds, keyExcludedModels:
			list, ok := e.value.([]any)
			if !ok {
				passed = append(passed, e.name+": want a list; the default is used")
				continue
			}
			if e.name == keyReminderThresholds {
				var kept []any
				for _, v := range list {
					if _, ok := number(v); ok {
						kept = append(kept, v)
					} else {
						passed = append(passed, e.name+": "+shown(v)+" is no number, and is left out")
					}
				}
				e.value = kept
			}
		default:
			continue
		}
		out = append(out, e)
	}
	return out, passed
}

// PiDir is pi's folder, the AgentDir of a [Source] for pi: what PI_CODING_AGENT_DIR says, else .pi/agent in the home folder;
// "" if there is none.
func PiDir(environ []string) string {
	home, err := os.UserHomeDir()
	dir := lookup(environ, "PI_CODING_AGENT_DIR")
	switch rest, tilde := strings.CutPrefix(dir, "~"); {
	case dir == "" && err == nil:
		return filepath.Join(home, ".pi", "agent")
	case tilde && err == nil && (rest == "" || rest[0] == '/'):
		return filepath.Join(home, rest)
	}
	return dir
}
