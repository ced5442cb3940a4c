package eval

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestIdentifiers(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"open ./src/core/agent.ts:12, please", "path src/core/agent.ts"},
		{"/usr/lib/go and ~/notes", "path usr/lib/go"},
		{"see a.go", "path a.go"},
		{"input/output and client/server", ""},
		{"pi-mono/coding-agent", "path pi-mono/coding-agent"},
		{"https://example.com/a/b.html", "path example.com/a/b.html"},
		{"call newExam(tailStart)", "symbol newExam, symbol tailStart"},
		{"MAX_SIZE and _x and a_", "symbol MAX_SIZE"},
		{"session.getMessages()", "symbol session.getMessages"},
		{"e.g. this, i.e. that.Then", ""},
		{"it ends here.And goes on", ""},
		{"well-known, re-run", ""},
		{"claude-opus-4-5", "symbol claude-opus-4-5"},
		{"exit 12 or 404 after 1.26.3", "value 404, value 1.26.3"},
		{"commit 3f2a9c1d, not deadbeefcafe", "value 3f2a9c1d"},
		{"o200k and utf8, x86", "value o200k, value utf8"},
		{"run --max-count=5 -x --", "flag --max-count"},
		{"日本語 の src/あ.go", ""},
		{"", ""},
	} {
		var got []string
		for _, id := range identifiers(tt.line) {
			got = append(got, id.kind+" "+id.text)
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.line, diff)
		}
	}
}

func TestIdentifierParts(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"a/b/c.go", "c.go"},
		{"this.runTask.baseDir", "runTask baseDir"},
		{"my-lib/runTask/x", "runTask"},
		{"runTask", ""},
	} {
		ids := identifiers(tt.line)
		if len(ids) != 1 {
			t.Fatalf("%q has %d identifiers", tt.line, len(ids))
		}
		var got []string
		for _, p := range ids[0].parts {
			got = append(got, p.text)
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.line, diff)
		}
	}
}

// TestFindWhole finds identifiers as wholes only, wherever punctuation stands around them.
func TestFindWhole(t *testing.T) {
	l := newLexer()
	p := newPatterns(l)
	for _, id := range []string{"src/a.go", "a.go", "runTask", "--max-count"} {
		p.add(id)
	}
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"(src/a.go:12)", []string{"src/a.go", "a.go"}},
		{"/x/src/a.go", []string{"src/a.go", "a.go"}},
		{"src/ a.go", []string{"a.go"}},
		{"src/a.gox, xsrc/a .go", nil},
		{"runTasks runTask_ rerunTask RunTask", nil},
		{"this.runTask()", []string{"runTask"}},
		{"git log --max-count=3", []string{"--max-count"}},
		{"max-count", nil},
	} {
		var got []string
		p.find(l.lex(tt.text).atoms, func(n, _, _ int) {
			for text, k := range p.index {
				if k == n {
					got = append(got, text)
				}
			}
		})
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestLexSize(t *testing.T) {
	for _, tt := range []struct {
		text        string
		atoms, size int
	}{
		{"", 0, 0},
		{"a few words", 3, 3},
		{"internationalisation", 1, 4}, // 20 bytes
		{`foo("x");`, 7, 4},            // foo, (", x, ");
		{"漢字です", 4, 4},
		{"\n\n one\ntwo", 2, 2},
	} {
		got := newLexer().lex(tt.text)
		if len(got.atoms) != tt.atoms || int(got.size) != tt.size {
			t.Errorf("%q has %d atoms and %d tokens, want %d and %d", tt.text, len(got.atoms), got.size, tt.atoms, tt.size)
		}
	}
}

func TestFlatten(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{`{"path":"a.go","edits":[{"old":"x\ny","n":1e400}]}`, "a.go\nx\ny\n1e400\n"},
		{`{"a":{"b":"\u00e9"},"a":true}`, "é\ntrue\n"},
		{`not json`, "not json"},
		{`{} {}`, "{} {}"},
		{``, ""},
	} {
		if got := flatten(tt.args); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.args, got, tt.want)
		}
	}
}

// foundInItsLine fails if an identifier, or a part of one, is not found in the line that it was taken from.
func foundInItsLine(t interface{ Fatalf(string, ...any) }, line string) {
	l := newLexer()
	p := newPatterns(l)
	want := map[int]string{}
	for _, id := range identifiers(line) {
		for _, x := range append([]identifier{id}, id.parts...) {
			if x.text == "" || x.kind == "" {
				t.Fatalf("%q: an identifier without text or kind", line)
			}
			want[p.add(x.text)] = x.text
		}
	}
	p.find(l.lex(line).atoms, func(n, _, _ int) { delete(want, n) })
	for _, text := range want {
		t.Fatalf("%q: %q is not found", line, text)
	}
}

func TestIdentifiersAreFound(t *testing.T) {
	word := rapid.StringOfN(rapid.SampledFrom([]rune("abAB019_./-@~ (:é漢")), 0, 40, -1)
	rapid.Check(t, func(t *rapid.T) { foundInItsLine(t, word.Draw(t, "line")) })
}

func FuzzReading(f *testing.F) {
	for _, s := range []string{`{"path":"a/b.go","x":[1,{"y":"z\n\ud800"}]}`, "--flag a.b.cD src/x.go \xff\xfe", "漢字/a.go é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for line := range strings.Lines(flatten(s)) {
			foundInItsLine(t, line)
		}
	})
}
