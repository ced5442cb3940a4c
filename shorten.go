package pemmican

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pemmican-dev/pemmican/internal/jsonspan"
	"github.com/pemmican-dev/pemmican/internal/textcut"
)

// omitted is the marker that stands for bytes left out of a text. No tool writes it, so nobody takes it for a value.
func omitted(n int) string { return fmt.Sprintf("\n[… %d bytes left out to save room …]\n", n) }

// cutResult cuts a result in its middle to that many bytes at most, markers included. Lines of the middle that tell of
// an error or an exit code stay, as far as a third of the room holds them.
func cutResult(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const least = 400 // bytes; below that, errors of the middle would leave nothing of head and tail
	if limit < least {
		return textcut.Middle(text, limit, omitted)
	}
	half := limit / 3
	head, tail := textcut.Before(text, half), textcut.After(text, len(text)-half)
	const end = "\n[…]\n"
	kept := telling(text[head:tail], limit-2*half-len(omitted(len(text)))-len(end))
	if kept == "" {
		return textcut.Middle(text, limit, omitted)
	}
	return text[:head] + omitted(tail-head-len(kept)) + kept + end + text[tail:]
}

// telltales stand in lines of a tool's output that tell of a failure or of an exit code.
var telltales = [...]string{
	"rror", "FAIL", "ERROR", "panic:", "xception", "xit code", "xit status", "exited with", "fatal", "Traceback",
}

// telling picks the lines that tell of an error or an exit code, in order, within room bytes.
func telling(text string, room int) string {
	var starts []int
	for _, word := range telltales {
		for at := 0; at < len(text); {
			i := strings.Index(text[at:], word)
			if i < 0 {
				break
			}
			starts = append(starts, strings.LastIndexByte(text[:at+i], '\n')+1)
			end := strings.IndexByte(text[at+i:], '\n')
			if end < 0 {
				break
			}
			at += i + end + 1
		}
	}
	slices.Sort(starts)
	var out strings.Builder
	for _, start := range slices.Compact(starts) {
		line, _, _ := strings.Cut(text[start:], "\n")
		line = strings.TrimSuffix(line, "\r")
		if len(line) > 300 || out.Len()+len(line)+1 > room {
			continue
		}
		if out.Len() > 0 {
			out.WriteByte('\n')
		}
		out.WriteString(line)
	}
	return out.String()
}

// cutArgs cuts the texts in a call's arguments to limit bytes each. It reports false for what is no JSON, which is
// left as it is. Short values, such as paths, stay; keys and everything that is no text do too.
func cutArgs(args string, limit int) (string, bool) {
	data := []byte(args)
	root, err := jsonspan.Scan(data, 0)
	if err != nil || root.Start != 0 || root.End != len(data) {
		return "", false
	}
	var edits []jsonspan.Edit
	var walk func(v jsonspan.Span)
	walk = func(v jsonspan.Span) {
		if v.End-v.Start <= limit {
			return
		}
		switch jsonspan.KindAt(data, v) {
		case jsonspan.KindObject:
			for _, value := range jsonspan.Members(data, v) {
				walk(value)
			}
		case jsonspan.KindArray:
			for e := range jsonspan.Elements(data, v) {
				walk(e)
			}
		case jsonspan.KindString:
			s, _ := jsonspan.String(data, v)
			if short := textcut.Middle(s, limit, omitted); len(short) < len(s) {
				edits = append(edits, jsonspan.Edit{Span: v, New: jsonspan.Quote(nil, short)})
			}
		}
	}
	walk(root)
	if len(edits) == 0 {
		return "", false
	}
	out, err := jsonspan.Splice(data, edits)
	if err != nil {
		return "", false
	}
	return string(out), true
}
