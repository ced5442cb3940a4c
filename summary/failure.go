package summary

import (
	"slices"
	"strings"
)

// failWindow is how many bytes of the beginning and of the end of a result are looked at for signs of a failure.
const failWindow = 4 << 10

// Limits of a quoted error.
const (
	maxErrorLines = 3
	maxErrorRunes = 200
)

// parts are the beginning and the end of a text.
func parts(text string) [2]string {
	if len(text) > 2*failWindow {
		return [2]string{text[:failWindow], text[len(text)-failWindow:]}
	}
	return [2]string{text, ""}
}

// ends yields the lines of the beginning and of the end of a text.
func ends(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, part := range parts(text) {
			for line := range strings.SplitSeq(part, "\n") {
				if !yield(line) {
					return
				}
			}
		}
	}
}

// Where a program that builds or tests says that it failed: in one of so many lines of its output that are not blank.
const (
	firstLines = 3
	lastLines  = 12
)

// looksFailed reports whether a result without the flag of an error tells of one all the same. Only what cannot be
// meant otherwise counts, since an error that never was sends the agent after it: the line of an exit code, or, of a
// command that shows no file, a line as builds and tests write it, both where they stand in an output.
func looksFailed(text, command string) bool {
	head, tail := edgeLines(text)
	for i, line := range head {
		if failed, ok := exitLine(line); ok && (i == 0 || strings.HasPrefix(line, "<")) {
			return failed
		}
	}
	if n := len(tail); n > 0 {
		if failed, ok := exitLine(tail[n-1]); ok {
			return failed
		}
	}
	if len(head) == 1 && len(tail) == 1 && notFound(head[0]) {
		return true
	}
	return builds(command) && (slices.ContainsFunc(head, sureShape) || slices.ContainsFunc(tail, sureShape))
}

// notFound reports whether a line is what a shell says of a command that is not there.
func notFound(line string) bool {
	return len(line) < 200 && (strings.HasSuffix(line, ": command not found") || strings.Contains(line, ": command not found: "))
}

// edgeLines returns the first and the last lines that are not blank, each in order, without the white space around it.
func edgeLines(text string) (head, tail []string) {
	p := parts(text)
	for line := range strings.SplitSeq(p[0], "\n") {
		if len(head) == firstLines {
			break
		}
		if line = strings.TrimSpace(line); line != "" {
			head = append(head, line)
		}
	}
	end := p[1]
	if end == "" {
		end = p[0]
	}
	for end != "" && len(tail) < lastLines {
		i := strings.LastIndexByte(end, '\n')
		if line := strings.TrimSpace(end[i+1:]); line != "" {
			tail = append(tail, line)
		}
		end = end[:max(i, 0)]
	}
	slices.Reverse(tail)
	return head, tail
}

// exitLine reports whether a line does nothing but tell an exit code, and whether that is a failure.
func exitLine(line string) (failed, ok bool) {
	low := strings.ToLower(strings.Trim(line, " ()[]."))
	for _, s := range []string{"command exited with code ", "process exited with code ", "exited with code ", "exit code: ", "exit code ",
		"exit status: ", "exit status ", "<exit_code>"} {
		if code, ok := strings.CutPrefix(low, s); ok {
			code = strings.TrimSuffix(code, "</exit_code>")
			if code != "" && strings.Trim(code, "0123456789") == "" {
				return strings.Trim(code, "0") != "", true
			}
		}
	}
	return false, false
}

// sureStarts begin lines that tools print when they failed, and otherwise hardly ever.
var sureStarts = []string{
	"--- FAIL: ", "FAIL\t", "FAIL ", "FAIL: ", "FAILED ", "FAILED (", "test result: FAILED", "BUILD FAILED", "FAILURE: Build failed",
	"panic: ", "fatal: ", "fatal error: ", "Traceback (most recent call last)", "npm ERR!", "npm error ", "ELIFECYCLE ", "ERR_PNPM_",
	"error: ", "error[E", "make: *** ", "Segmentation fault",
}

// sureShape reports whether a line is one that a failed build or test prints, and no list, quote or code.
func sureShape(line string) bool {
	for _, s := range sureStarts {
		if strings.HasPrefix(line, s) {
			return true
		}
	}
	// "src/a.ts(3,1): error TS2307: ...", "src/a.ts:3:1 - error TS2307: ...", "a.c:3:1: error: ...". What quotes one stands
	// behind a sign.
	if !isAlnum(line[0]) && line[0] != '/' && line[0] != '.' && line[0] != '_' {
		return false
	}
	if i := strings.Index(line, "error TS"); i > 0 && classes[byteAt(line, i+len("error TS"))] == digit {
		name, _, _ := strings.Cut(line[:i], "(")
		return !strings.Contains(strings.TrimSuffix(name, " - "), " ")
	}
	return (strings.Contains(line, ": error: ") || strings.Contains(line, ": fatal error: ")) && placed(line)
}

func byteAt(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return 0
}

// commandOf returns the command among the arguments of a call, "" if it has none: a tool that shows the output of a
// command that runs elsewhere.
func commandOf(texts []argument) string {
	s, key := "", ""
	for _, a := range texts {
		switch a.key {
		case "command", "cmd", "commands", "script", "code":
		default:
			continue
		}
		switch {
		case key == "":
			s, key = a.text, a.key
		case key == a.key && len(s) < maxCommand:
			s += " " + a.text
		}
	}
	return s
}

// maxCommand is how many bytes of a command are read.
const maxCommand = 4 << 10

// shows are programs that print what is in files or elsewhere, so that what their output looks like tells nothing.
var shows = []string{
	"cat", "sed", "head", "tail", "less", "more", "nl", "grep", "egrep", "rg", "ag", "ls", "find", "fd", "tree", "awk", "jq", "wc", "diff",
	"cut", "sort", "xargs", "strings", "xxd", "od", "bat", "curl", "wget", "gh", "glab", "kubectl", "docker", "ssh", "journalctl", "psql",
	"sqlite3", "mysql", "history", "man", "codex", "claude", "gemini", "kimi",
}

// silent are commands that print nothing of their own, or only what they are told to.
var silent = []string{
	"cd", "export", "set", "source", ".", "echo", "printf", "sleep", "pushd", "popd", "mkdir", "touch", "true", "rm", "mv", "cp", "wait",
}

// builds reports whether all that a command may print comes from programs that do more than to show something.
func builds(command string) bool {
	command = command[:min(len(command), maxCommand)]
	if i := strings.Index(command, "<<"); i >= 0 {
		command = command[:i] // What follows is no command.
	}
	found := false
	for command != "" {
		// One pipeline: what its first program prints goes through the others.
		end := endOf(command, "&&", "||", ";", "\n")
		program, args := program(command[:end])
		command = strings.TrimLeft(command[end:], "&|;\n")
		switch {
		case program == "" || slices.Contains(silent, program):
		case slices.Contains(shows, program):
			return false
		case program == "git":
			switch args {
			case "add", "checkout", "switch", "branch", "stash", "fetch":
			case "commit", "push", "pull", "merge", "rebase", "clone", "cherry-pick", "apply", "am":
				found = true
			default:
				return false
			}
		default:
			found = true
		}
	}
	return found
}

// runners are commands that run another.
var runners = []string{"time", "timeout", "env", "sudo", "nohup", "command", "bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh"}

// program returns the program that a simple command runs, without what only runs another, and its first argument.
func program(command string) (name, arg string) {
	for word := range strings.FieldsSeq(command) {
		word = strings.TrimLeft(word, "\"'(")
		switch {
		case word == "":
		case name != "":
			return name, word
		case strings.Contains(word, "=") || word[0] == '-' || classes[word[0]] == digit || slices.Contains(runners, word):
		default:
			name = word[strings.LastIndexByte(word, '/')+1:]
		}
	}
	return name, ""
}

// Ranks of lines by how much they look like the line that tells an error.
const (
	rankNone = iota
	rankHint // has the word in it
	rankSure // has the shape of one
)

var errorStarts = []string{
	"error:", "error[", "error ", "fail\t", "fail ", "fail:", "failed to ", "failed:", "failure", "--- fail", "panic:", "fatal:",
	"fatal error", "traceback (most", "npm err!",
	"assertionerror", "exception in", "uncaught ", "undefined reference", "segmentation fault",
}

var errorParts = []string{
	": error:", ": error ts", ": fatal:", "command not found", "no such file or directory", "permission denied",
	"error: ", "exception: ",
}

// errorRank ranks one line. It knows the shapes of common tools, in no particular language of programs.
func errorRank(line string) int {
	line = strings.TrimSpace(line)
	if line == "" {
		return rankNone
	}
	if len(line) > 400 {
		line = line[:400]
	}
	low := strings.ToLower(line)
	for _, s := range errorStarts {
		if strings.HasPrefix(low, s) {
			return rankSure
		}
	}
	if n, ok := exitCode(low); ok {
		if n {
			return rankSure
		}
		return rankNone
	}
	// A Python exception has its class in front: "ValueError: ...".
	if i := strings.Index(line, "Error: "); i >= 0 && !strings.ContainsAny(line[:i], " \t\"'`(") {
		return rankSure
	}
	for _, s := range errorParts[:4] {
		if strings.Contains(low, s) {
			return rankSure
		}
	}
	for _, s := range errorParts[4:] {
		if strings.Contains(low, s) {
			return rankHint
		}
	}
	if strings.Contains(low, "error") || strings.Contains(low, "fail") || strings.Contains(low, "cannot") ||
		strings.Contains(low, "not found") || strings.Contains(low, "could not") || strings.Contains(low, "invalid") || placed(line) {
		return rankHint
	}
	return rankNone
}

// placed reports whether a line begins, perhaps behind the name of a program, with a place in a file: "main.go:12:".
func placed(line string) bool {
	for range 2 {
		name, rest, ok := strings.Cut(line, ":")
		if !ok || len(name) > 200 {
			return false
		}
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if digits > 0 && digits < len(rest) && rest[digits] == ':' && strings.IndexByte(name, '.') > 0 {
			return true
		}
		line = strings.TrimLeft(rest, " ")
	}
	return false
}

// exitCode reports whether a line, in lower case, tells an exit code, and whether that is a failure.
func exitCode(low string) (failed, ok bool) {
	for _, s := range []string{"exit code", "exited with code", "exit status"} {
		i := strings.Index(low, s)
		if i < 0 || i > 40 {
			continue
		}
		rest := strings.TrimLeft(low[i+len(s):], ": ")
		if rest == "" || rest[0] < '0' || rest[0] > '9' {
			continue
		}
		return rest[0] != '0', true
	}
	return false, false
}

// Runtimes tell the model of a refusal by an order that holds for then only. It is not told on; what the person said is.
var (
	refusals  = []string{"The user doesn't want to proceed with this tool use.", "The user doesn't want to take this action right now."}
	refused   = "the person refused this call"
	refusedAs = "the user said:"
)

// errorText returns the lines of a failed result that tell what went wrong, in their order.
func errorText(text string) string {
	text = unwrapped(text)
	for _, s := range refusals {
		if strings.HasPrefix(text, s) {
			if _, said, ok := strings.Cut(text, refusedAs); ok {
				if said = brief(said, maxErrorRunes); said != "" {
					return refused + ", and said: " + said
				}
			}
			return refused
		}
	}
	type found struct {
		text string
		rank int
	}
	var best [maxErrorLines]found
	n := 0
	first, last, before := "", "", ""
	for line := range ends(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if first == "" {
			first = line
		}
		before, last = last, line
		rank := errorRank(line)
		if rank == rankNone {
			continue
		}
		if n < len(best) {
			best[n] = found{line, rank}
			n++
			continue
		}
		// The weakest goes, the last one of equals.
		weakest := 0
		for i := range best {
			if best[i].rank <= best[weakest].rank {
				weakest = i
			}
		}
		if rank > best[weakest].rank {
			copy(best[weakest:], best[weakest+1:])
			best[n-1] = found{line, rank}
		}
	}
	if n == 0 {
		best[0].text, n = first, 1
		if last != first {
			best[1].text, n = last, 2
		}
	}
	if _, code := exitCode(strings.ToLower(best[0].text)); code && n == 1 && before != "" && best[0].text == last {
		best[0].text, best[1].text, n = before, last, 2 // an exit code alone tells little
	}
	out := make([]string, 0, n)
	for _, f := range best[:n] {
		s := brief(f.text, maxErrorRunes)
		if s != "" && (len(out) == 0 || out[len(out)-1] != s) {
			out = append(out, s)
		}
	}
	return strings.Join(out, "\n")
}

// sameKind is what two calls of one kind have in common: the tool, and the path or the first words of the command. It
// is a part of the description of a call, so that it works on a ledger too.
func sameKind(call string) string {
	const words = 3 // of the command
	i := 0
	for n := 0; i < len(call); n++ {
		start := i
		for start < len(call) && call[start] == ' ' {
			start++
		}
		end := start
		for end < len(call) && call[end] != ' ' {
			end++
		}
		if n > words || n > 1 && start < end && (strings.IndexByte("-|>&;", call[start]) >= 0 || strings.HasPrefix(call[start:], "2>")) {
			break
		}
		i = end
	}
	return call[:i]
}
