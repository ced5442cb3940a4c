package summary

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A model that goes on with a conversation writes turns where the summary should stand, or behind it: in the labels of
// our excerpt, in the control tokens of its chat template, or in the words that older models begin turns with. Whoever
// reads such a summary takes them for something that was said.

// turnLabels are the labels of the excerpt that no summary has for a title of its own.
var turnLabels = []string{"user", "runtime", "assistant", "assistanttoolcalls", "toolresult", "earliersummary", "counts"}

// turnIn refuses a narrative with a turn of a conversation in it, or with work instead of a record of it. What is quoted
// as code is none.
func turnIn(narrative string) *Refusal {
	narrative = seen(narrative)
	mask := withoutIndented(withoutCode(narrative))
	for t := range tags(mask) {
		switch {
		case spokenOf(mask, t.start):
		case t.name == frameName && !t.token:
			return refuse(ReasonEcho, mask[t.start:t.end])
		case t.token, t.ends() && (t.name != "s" || !strings.Contains(mask, "<s>")), t.name == "startofturn", t.name == "bos",
			strings.HasPrefix(t.name, "unused"):
			return refuse(ReasonChat, mask[t.start:t.end])
		}
	}
	asked := false
	for i := 0; i < len(mask); {
		end := lineEnd(mask, i)
		line := mask[i:end]
		if isWork(mask[i:], line) {
			return refuse(ReasonChat, line)
		}
		if opensTurn(line) {
			if i == 0 {
				return refuse(ReasonEcho, line)
			}
			return refuse(ReasonChat, line)
		}
		who, _, said := strings.Cut(strings.TrimLeft(line, " \t#"), ":")
		switch {
		case !said:
		case strings.EqualFold(who, "human"), strings.EqualFold(who, "user"):
			asked = true
		case asked && strings.EqualFold(who, "assistant"):
			return refuse(ReasonChat, line)
		}
		i = end + 1
	}
	for _, sign := range []string{"[INST]", "[/INST]", "<<SYS>>"} {
		if i := strings.Index(mask, sign); i >= 0 && !spokenOf(mask, i) {
			return refuse(ReasonChat, sign)
		}
	}
	return nil
}

// opensTurn reports whether a line begins with one of the labels, whole and no link, or is the one that stands for turns
// that were left out. Marks of quotes, titles and emphasis may stand before it; an item of a list is one of a summary's.
func opensTurn(line string) bool {
	if line = strings.TrimLeft(line, " \t>#"); !strings.HasPrefix(line, "* ") {
		line = strings.TrimLeft(line, "*_")
	}
	r, size := utf8.DecodeRuneInString(line)
	if !isOpenBracket(r) {
		return false
	}
	name, rest := labelAt(line[size:])
	if name == leftOut {
		return true
	}
	r, size = utf8.DecodeRuneInString(rest)
	link := strings.HasPrefix(rest[size:], "(") || strings.HasPrefix(rest[size:], "[")
	return isShutBracket(r) && !link && slices.Contains(turnLabels, name)
}

// isWork reports whether an edit begins with a line, in the form that agents make edits in: a patch, or a diff.
func isWork(text, line string) bool {
	if strings.HasPrefix(line, "*** Begin Patch") || strings.HasPrefix(line, "<<<<<<< SEARCH") || strings.HasPrefix(line, "diff --git ") {
		return true
	}
	rest, ok := strings.CutPrefix(text[len(line):], "\n+++ ")
	return ok && strings.HasPrefix(line, "--- ") && strings.HasPrefix(rest[lineEnd(rest, 0):], "\n@@")
}
