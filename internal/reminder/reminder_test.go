package reminder

import (
	"strings"
	"testing"
)

func TestStrip(t *testing.T) {
	const note = "<system-reminder>\nThe list of tasks is empty.\nDo not speak of it.\n</system-reminder>"
	for in, want := range map[string]string{
		"":                                    "",
		"plain <tag> text":                    "plain <tag> text",
		note:                                  "",
		"fix it\n" + note:                     "fix it\n",
		note + "\nfix it":                     "\nfix it",
		"fix it " + note + " now":             "fix it  now",
		"fix it\n<system-reminder>\nThe list": "fix it\n",
		"one\n\ntwo\n</system-reminder>":      "one",
		"what does <system-reminder> do?\nx":  "what does <system-reminder> do?\nx",
		"it ends with </system-reminder> so":  "it ends with </system-reminder> so",
	} {
		if got := Strip(in); got != want {
			t.Errorf("Strip(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzStrip: what is left was there, in its order, and begins no line with a note.
func FuzzStrip(f *testing.F) {
	for _, s := range []string{"", "<system-reminder>", "</system-reminder>", "a\n\n<system-reminder>b</system-reminder>\nc", "<system-reminder><system-reminder>\n</system-reminder></system-reminder>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Strip(s)
		rest := s
		for _, line := range strings.SplitAfter(got, "\n") {
			for _, r := range []byte(line) {
				i := strings.IndexByte(rest, r)
				if i < 0 {
					t.Fatalf("%q of %q", got, s)
				}
				rest = rest[i+1:]
			}
			if strings.HasPrefix(strings.TrimSpace(line), "<"+Tag+">") && !strings.Contains(s, "</"+Tag+">") {
				t.Fatalf("%q of %q", got, s)
			}
		}
	})
}
