package summary

import (
	"strings"
)

// failWindow is how many bytes of the beginning and of the end of a result are looked at for signs of a failure.
const failWindow = 4 << 10

// Limits of a quoted error.
const (
	maxErrorLines = 3
	maxErrorRunes = 200
)

// ends yields the lines of the beginning and of the end of a text.
func ends(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		parts := [2]string{text, ""}
		if len(text) > 2*failWindow {
			parts = [2]string{text[:failWindow], text[len(text)-failWindow:]}
		}
		for _, part := range parts {
			for line := range strings.SplitSeq(part, "\n") {
				if !yield(line) {
					return
				}
			}
		}
	}
}

// looksFailed reports whether the output of a command tells of a failure.
func looksFailed(text string) bool {
	for line := range ends(text) {
		if errorRank(line) >= rankSure {
			return true
		}
	}
	return false
}

// Ranks of lines by how much they look like the line that tells an error.
const (
	rankNone = iota
	rankHint // has the word in it
	rankSure // has the shape of one
)

var errorStarts = []string{
	"error:", "error[", "error ", "fail", "--- fail", "panic:", "fatal:", "fatal error", "traceback (most", "npm err!",
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
		strings.Contains(low, "not found") || strings.Contains(low, "could not") || strings.Contains(low, "invalid") {
		return rankHint
	}
	return rankNone
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

// errorText returns the lines of a failed result that tell what went wrong, in their order.
func errorText(text string) string {
	type found struct {
		text string
		rank int
	}
	var best [maxErrorLines]found
	n := 0
	first, last := "", ""
	for line := range ends(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if first == "" {
			first = line
		}
		last = line
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
