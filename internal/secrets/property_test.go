package secrets

import (
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/pemmican-dev/pemmican/internal/secrets/secretstest"
)

// check holds what is true of every text.
func check(t interface{ Fatalf(string, ...any) }, text string) {
	out, n := Redact(text)
	spans := find(text)
	if n != len(spans) {
		t.Fatalf("found %d, want %d", n, len(spans))
	}
	if n == 0 && out != text {
		t.Fatalf("a text without secrets has changed: %q", out)
	}
	if len(out) > len(text)+n*MaxMarker {
		t.Fatalf("%d bytes have become %d, with %d secrets", len(text), len(out), n)
	}
	if utf8.ValidString(text) && !utf8.ValidString(out) {
		t.Fatalf("%q has become invalid: %q", text, out)
	}

	// What is outside of the markers is as it was, and in order.
	at, rest := 0, out
	for _, s := range spans {
		if s.start < at || s.end <= s.start || s.end > len(text) {
			t.Fatalf("spans %v of %q", spans, text)
		}
		before := text[at:s.start] + markerStart + s.id + markerEnd
		if !strings.HasPrefix(rest, before) {
			t.Fatalf("got %q, want it to go on with %q", rest, before)
		}
		rest, at = rest[len(before):], s.end
	}
	if rest != text[at:] {
		t.Fatalf("got %q at the end, want %q", rest, text[at:])
	}

	if again, m := Redact(out); m != 0 || again != out {
		t.Fatalf("%q\nhas become %q,\nand that %q", text, out, again)
	}
}

// sampler makes texts from what the rules look for.
type sampler struct {
	trees []*syntax.Regexp
	words []string
}

var samples = func() (s sampler) {
	for _, r := range known().rules {
		tree, err := syntax.Parse(r.Regex, syntax.Perl)
		if err != nil {
			panic(err)
		}
		s.trees = append(s.trees, tree)
		s.words = append(s.words, r.Anchors...)
		s.words = append(s.words, r.Gate...)
	}
	for w := range finders {
		s.words = append(s.words, w)
	}
	slices.Sort(s.words)
	s.words = slices.Compact(s.words)
	return s
}()

var joints = []string{
	"=", ": ", " := ", "\n", " ", `\n`, `"`, `\"`, `\\"`, "'", "`", "a1", "é", kelvin, longS, "::", "curl ", "-----", "_", "-", ".", "/", "@", "${", "}", "<", ">",
	"x", "[redacted: jwt]", "[redacted: ", "]", "\x80", "hunter2", "8c1fe0a7d2b94e63", "Basic ", "Bearer ", "PRIVATE KEY" + dashes + "\n", dashes + "END PRIVATE KEY" + dashes,
	"MIIE" + random(131, 60, alnum), "data:\n  a: YWJjZGVm\n", "kind: ", "DB_", "export ", ",", ";", "\r\n", "\t", "T0p$ecret!",
	" is ", "**", "|", "| ", "</", "value", "name: ", "key=\"", "&quot;", "&lt;", "&amp;", `\u0022`, `\u003c`, "：", "。", " login ", "machine ", "echo ", " | ", "--", ", ", "- ", "?", "&",
	"c4rrot St1ck", "Hunt3rTwo9", " for bob is ", "=\"Hunt3rTwo9\"", "host:5432:a:b:",
}

// text is a mixture of secrets, parts of secrets, names and what stands between them.
func (s *sampler) text(rng *rand.Rand, parts int) string {
	var b strings.Builder
	for range parts {
		switch rng.IntN(6) {
		case 0, 1:
			b.WriteString(s.words[rng.IntN(len(s.words))])
		case 2, 3:
			b.WriteString(joints[rng.IntN(len(joints))])
		default:
			one := secretstest.Sample(rng, s.trees[rng.IntN(len(s.trees))])
			if rng.IntN(3) == 0 {
				one = one[:rng.IntN(len(one)+1)]
			}
			if rng.IntN(6) == 0 {
				one = strings.ToUpper(one)
			}
			b.WriteString(one)
		}
	}
	return b.String()
}

func TestProperties(t *testing.T) {
	secrets := 0
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for range 20 {
			text := samples.text(rng, rapid.IntRange(1, 12).Draw(t, "parts"))
			check(t, text)
			secrets += len(find(text))
		}
	})
	if secrets < 100 {
		t.Errorf("only %d secrets", secrets)
	}
}

// TestPropertiesOfParts: redacting parts changes nothing but secrets, and leaves none.
func TestPropertiesOfParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		text := samples.text(rng, rapid.IntRange(1, 12).Draw(t, "words"))
		parts := make([]string, 0, 4)
		for range rapid.IntRange(0, 3).Draw(t, "cuts") {
			cut := rng.IntN(len(text) + 1)
			parts, text = append(parts, text[:cut]), text[cut:]
		}
		parts = append(parts, text)

		var r Redactor
		out, n := r.RedactParts(parts)
		if len(out) != len(parts) {
			t.Fatalf("%d parts, want %d", len(out), len(parts))
		}
		if n == 0 && !slices.Equal(out, parts) {
			t.Fatalf("nothing found, and yet %q", out)
		}
		for i, p := range out {
			if _, left := Redact(p); left > 0 && !strings.Contains(strings.Join(parts, ""), markerStart) {
				t.Fatalf("%q: part %d has secrets left: %q", parts, i, p)
			}
		}
	})
}

func FuzzRedact(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		f.Add(samples.text(rng, 6))
	}
	for _, text := range []string{
		"", "[redacted: jwt]", "password=[redacted: jwt]x", `"password": "[redacted: jwt]`, dashes + "BEGIN PRIVATE KEY" + dashes, "://a:b@", "kind: Secret\ndata:\n  a: YWJjZGVm",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { check(t, text) })
}
