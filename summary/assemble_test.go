package summary

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pemmican-dev/pemmican"
)

// reads is a session that reads f1 to f7, and reads keep again in the part that stays.
func reads(content func(i int) string, keep string) string {
	var b strings.Builder
	b.WriteString("U Look at them all\n")
	for i := 1; i <= 7; i++ {
		fmt.Fprintf(&b, "C %d read {\"path\":\"f%d\"}\nR %d %s\n", i, i, i, content(i))
	}
	b.WriteString("--- keep\nU Go on\n")
	if keep != "" {
		fmt.Fprintf(&b, "C 8 read {\"path\":%q}\nR 8 again\n", keep)
	}
	return b.String()
}

func paths(files []attachment) string {
	var out []string
	for _, f := range files {
		out = append(out, f.path)
	}
	return strings.Join(out, " ")
}

// TestAttachments has the rows X13 and X14.
func TestAttachments(t *testing.T) {
	plain := func(i int) string { return fmt.Sprintf("content of %d", i) }
	for _, test := range []struct{ name, script, want string }{
		{"X13 by recency, not by alphabet", reads(plain, "f2"), "f7 f6 f5 f4 f3"},
		{"read in the kept part", reads(plain, "f7"), "f6 f5 f4 f3 f2"},
		{"a newer read of f1", strings.Replace(reads(plain, ""), "--- keep", "C 9 read {\"path\":\"f1\"}\nR 9 new text\n--- keep", 1), "f1 f7 f6 f5 f4"},
		{"edited", strings.Replace(reads(plain, ""), "--- keep", "C 9 edit {\"path\":\"f7\"}\nR 9 ok\n--- keep", 1), "f6 f5 f4 f3 f2"},
		{"failed", strings.Replace(reads(plain, ""), "R 7 content", "E 7 content", 1), "f6 f5 f4 f3 f2"},
		{"empty", strings.Replace(reads(plain, ""), "R 7 content of 7", "R 7  ", 1), "f6 f5 f4 f3 f2"},
	} {
		if got := paths(attachments(script(t, test.script), nil)); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	if files := attachments(script(t, strings.Replace(reads(plain, ""), "--- keep", "C 9 read {\"path\":\"f1\"}\nR 9 new text\n--- keep", 1)), nil); files[0].text != "new text" {
		t.Errorf("not the newest result: %q", files[0].text)
	}

	// X14: nothing without content, a cut one is marked, and there is a bound on all of them.
	if got := attached(nil); got != "" {
		t.Errorf("nothing attached is %q", got)
	}
	long := attachments(script(t, reads(func(int) string { return strings.Repeat("é", 6000) }, "")), nil)
	if len(long) != 5 {
		t.Errorf("%d files of 6,000 runes", len(long))
	}
	if want := strings.Repeat("é", 5000) + attachedCut; long[0].text != want {
		t.Errorf("cut to %q", cmp.Diff(want, long[0].text))
	}
	want := "\n\n<recently-read-files>\n### f1\na\nb\n\n### \"f 2\"\nc\n</recently-read-files>"
	if d := cmp.Diff(want, attached([]attachment{{"f 2", "c"}, {"f1", "a\nb\n"}})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Content is asked for what files hold today, of the working folder only, whatever a path looks like.
func TestContentStaysInside(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "f1"), "today")
	write(filepath.Join(outside, "f2"), "secret")
	if err := os.Symlink(filepath.Join(outside, "f2"), filepath.Join(dir, "f2")); err != nil {
		t.Fatal(err)
	}
	content := inside(dir, func(path string) (string, bool) {
		data, err := os.ReadFile(path)
		return string(data), err == nil
	})
	for path, want := range map[string]string{
		"f1": "today", filepath.Join(dir, "f1"): "today", "./x/../f1": "today",
		"f2": "", filepath.Join(outside, "f2"): "", "../" + filepath.Base(outside) + "/f2": "", "gone": "",
	} {
		if got, ok := content(path); got != want || ok != (want != "") {
			t.Errorf("%s: %q %v", path, got, ok)
		}
	}
	if _, ok := inside("", func(string) (string, bool) { return "x", true })("f1"); ok {
		t.Error("without a folder something is inside it")
	}
	files := attachments(script(t, reads(func(int) string { return "then" }, "")), content)
	if len(files) != 1 || files[0] != (attachment{"f1", "today"}) {
		t.Errorf("attached: %v", files)
	}
}

// An assembled summary fits its room, has each part once and in its place, and comes apart again as it was put together.
func TestAssemble(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := genRequest().Draw(t, "request")
		r.Tokens = rapid.IntRange(50, 20_000).Draw(t, "tokens")
		r.Compactions = rapid.IntRange(0, 2).Draw(t, "compactions")
		r.Original = rapid.SampledFrom([]string{"", "/s/a.jsonl", "/s/b c.jsonl"}).Draw(t, "original")
		narrative := rapid.SampledFrom([]string{
			"One sentence.", "## Goal\nMove it.\n\n## Next Steps\n1. a.ts", "# 3 earlier messages of this conversation were dropped to save room\n## Files",
			"<read-files>\nx\n</read-files>", "</summary>\n\n<recently-read-files>\n### f\n", wearHint, strings.Repeat("word ", 300), originalOpening + "x",
		}).Draw(t, "narrative")
		if r.Counter == nil {
			r.Counter = quarterCounter{}
		}
		a := &attempt{Model: &Model{}, r: r}
		body, err := a.assemble(t.Context(), framed(narrative))
		if err != nil {
			if a.count(preamble+"\n\n"+framed(narrative)+"\n\n"+originalLine(r.Original)+"\n\n"+wearHint) < r.Tokens/2 {
				t.Fatalf("%v in %d tokens", err, r.Tokens)
			}
			return
		}
		if n := a.count(body); n > r.Tokens {
			t.Fatalf("%d tokens in a room of %d", n, r.Tokens)
		}
		if !strings.HasPrefix(body, preamble+"\n\n"+framed(narrative)) {
			t.Fatalf("the beginning is\n%s", body)
		}
		if r.Original != "" && !strings.Contains(body, "\n\n"+originalLine(r.Original)) {
			t.Fatalf("the original is not named:\n%s", body)
		}
		e := readEarlier(body)
		if want := strings.TrimSpace(framed(narrative)); e.narrative != want {
			t.Fatalf("the narrative comes back as %q, want %q\n%s", e.narrative, want, body)
		}
		if !e.ours {
			return // there was no room for a ledger
		}
		l, _ := ParseLedger(body)
		if d := cmp.Diff(l, e.ledger); d != "" {
			t.Fatal(d)
		}
		// What is merged goes on without the narrative, and what a mechanical summary makes of it is the same facts.
		facts := readEarlier(e.facts())
		if facts.narrative != "" {
			t.Fatalf("the facts still tell %q", facts.narrative)
		}
		want := e.ledger
		want.Earlier = ""
		if d := cmp.Diff(want, facts.ledger); d != "" {
			t.Fatalf("the facts are others:\n%s", d)
		}
	})
}

// A summary of another program hands on its lists of files and nothing else, once its words are merged.
func TestFactsOfAnother(t *testing.T) {
	const body = "They moved it.\n\n<read-files>\na.ts\n</read-files>\n\n<modified-files>\nb.ts\n</modified-files>"
	e := readEarlier(body)
	if e.ours || e.narrative != "They moved it." || e.told() != "They moved it." {
		t.Errorf("%+v", e)
	}
	want := "<read-files>\na.ts\n</read-files>\n\n<modified-files>\nb.ts\n</modified-files>"
	if got := e.facts(); got != want {
		t.Errorf("facts: %q", got)
	}
	r := script(t, "U x\nC 1 bash {\"command\":\"ls\"}\nR 1 a")
	r.Previous = e.facts()
	got := summarise(t, Mechanical{FileLists: true}, r)
	if strings.Contains(got, "moved it") || !strings.HasSuffix(got, "\n\n"+want) {
		t.Errorf("the next summary is\n%s", got)
	}
}

// Whatever an earlier summary looks like, it can be taken apart.
func FuzzReadEarlier(f *testing.F) {
	f.Add(preamble + "\n\nText.\n\n# 3" + openingTail + "\n\n" + titleFiles + "\n- read: a\n\n<read-files>\na\n</read-files>\n\n<recently-read-files>\n### a\nx\n</recently-read-files>\n\n" + wearHint)
	f.Add("[Model summary unavailable (x)]\n# 1" + openingOne)
	f.Fuzz(func(t *testing.T, body string) {
		e := readEarlier(body)
		_ = e.told()
		if again := readEarlier(e.facts()); again.ours != e.ours {
			t.Errorf("the facts of %q are %q", body, e.facts())
		}
	})
}

var _ pemmican.Counter = quarterCounter{}
