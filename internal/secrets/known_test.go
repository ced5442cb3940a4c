package secrets

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// knownPasswords returns a Known of so many passwords that are made by chance.
func knownPasswords(count int) *Known {
	var b strings.Builder
	for i := range count {
		fmt.Fprintf(&b, "DB_PASSWORD=%s1aB\n", random(uint64(500+i), 8+i%24, alnum))
	}
	var r Redactor
	return r.Secrets(b.String())
}

// TestSecrets: what was found in one text goes from another one, whatever is around it there.
func TestSecrets(t *testing.T) {
	password, token := "Hunt"+"3rTwo9", random(410, 24, alnum)
	lines := []string{random(411, 64, alnum+"+/"), random(412, 64, alnum+"+/"), random(413, 30, alnum)}
	key := dashes + "BEGIN PRIVATE KEY" + dashes + "\n" + strings.Join(lines, "\n") + "\n" + dashes + "END PRIVATE KEY" + dashes
	for _, c := range []struct{ source, text, want string }{
		{"DB_PASSWORD=" + password, "logs in as bob with " + password + ".", "logs in as bob with [redacted: assigned-secret]."},
		{"DB_PASSWORD=" + password, "x" + password + password + "y", "x[redacted: assigned-secret][redacted: assigned-secret]y"},
		{"DB_PASSWORD=" + password, password[:9] + " " + password[1:], password[:9] + " " + password[1:]},
		{"DB_PASSWORD=" + password, strings.ToLower(password), strings.ToLower(password)},
		{"postgres://bob:" + password + "@db/app", "(" + password + ")", "([redacted: url-password])"},
		{"Authorization: Bearer " + token, "`" + token + "`", "`[redacted: auth-header]`"},
		{"the key is gh" + "p_" + random(414, 36, alnum), "gh" + "p_" + random(414, 36, alnum) + "9", "[redacted: github-pat]9"},
		// by its lines
		{key, "it begins with " + lines[0] + " and ends with " + lines[2], "it begins with [redacted: private-key] and ends with [redacted: private-key]"},
		{strings.ReplaceAll(key, "\n", `\n`), lines[1], "[redacted: private-key]"},
		// without its escapes, and with them
		{`{"password":"Hunt\"3rTwo9"}`, `Hunt"3rTwo9`, "[redacted: assigned-secret]"},
		{`{\"password\":\"Hunt\\\"3rTwo9\"}`, `Hunt"3rTwo9 Hunt\"3rTwo9`, "[redacted: assigned-secret] [redacted: assigned-secret]"},
		{`DB_PASSWORD='Hunt"3rTwo9'`, `{"a":"Hunt\"3rTwo9"}`, `{"a":"[redacted: assigned-secret]"}`},
		{"postgres://bob:Hunt%40" + "3rTwo9@db/app", "Hunt@3rTwo9", "[redacted: url-password]"},
		{"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("bob:"+password)), password, "[redacted: auth-header]"},
		{"kind: Secret\ndata:\n  pw: " + base64.StdEncoding.EncodeToString([]byte(password)) + "\n", password, "[redacted: kubernetes-secret]"},
		{`"password": "correct horse battery staple"`, "it is correct horse battery staple, he said", "it is [redacted: assigned-secret], he said"},
		// ordinary words, numbers, and what is short
		{"DB_PASSWORD=postgres", "postgres is up", "postgres is up"},
		{"DB_PASSWORD=Swordfish", "Swordfish", "Swordfish"},
		{"DB_PASSWORD=my-old-password", "my-old-password", "my-old-password"},
		{"DB_PASSWORD=1234567890", "1234567890", "1234567890"},
		{"DB_PASSWORD=src/auth2.ts", "src/auth2.ts", "src/auth2.ts"},
		{"DB_PASSWORD=hunter2", "hunter2", "hunter2"},
		// what overlaps counts once
		{"A_TOKEN=abcd1234\nB_TOKEN=1234efgh\nC_TOKEN=abcd" + "1234efgh56", "abcd1234efgh abcd1234efgh56 abcd1234 ", "[redacted: assigned-secret] [redacted: generic-api-key] [redacted: assigned-secret] "},
		{"nothing", "nothing", "nothing"},
	} {
		var r Redactor
		if got, _ := r.Secrets(c.source).Remove(c.text); got != c.want {
			t.Errorf("%q\nhas left of %q %q,\nwant %q", c.source, c.text, got, c.want)
		}
	}

	for _, k := range []*Known{nil, {}, new(Redactor).Secrets()} {
		if out, n := k.Remove("DB_PASSWORD=" + password); n != 0 || out != "DB_PASSWORD="+password {
			t.Errorf("what knows nothing removes %d: %q", n, out)
		}
	}
}

// TestSecretsAreBounded: a thousand values, and a long one by its beginning.
func TestSecretsAreBounded(t *testing.T) {
	var r Redactor
	texts := make([]string, 0, mostKnown+10)
	for i := range mostKnown + 10 {
		texts = append(texts, fmt.Sprintf("DB_PASSWORD=%04dabcdEFGH", i))
	}
	k := r.Secrets(append(texts, texts...)...)
	for i, want := range []int{1, mostKnown - 1, mostKnown, mostKnown + 9} {
		_, got := k.Remove(strings.TrimPrefix(texts[want], "DB_PASSWORD="))
		if (got == 1) != (i < 2) {
			t.Errorf("the value %d is removed %d times", want, got)
		}
	}

	long := random(420, 3*mostOfKnown, alnum)
	if out, n := r.Secrets("DB_PASSWORD=" + long).Remove(long); n != 1 || len(out) > 2*mostOfKnown+MaxMarker {
		t.Errorf("%d of %d bytes are left", len(out), len(long))
	}
	accents := "x1" + strings.Repeat("é", mostOfKnown)
	for range 2 {
		accents = "y" + accents
		if out, n := r.Secrets("DB_PASSWORD=" + accents).Remove(accents); n != 1 || !utf8.ValidString(out) {
			t.Errorf("%d removed, %q is left", n, out[:40])
		}
	}

	many := make([]string, 200)
	for i := range many {
		many[i] = "DB_PASSWORD=" + random(uint64(430+i), mostOfKnown, alnum)
	}
	k = r.Secrets(many...)
	if size := len(k.states); size > mostKnownBytes+1 {
		t.Errorf("%d states", size)
	}
}

// TestRemoveIsBruteForce: it is what a search for each value by itself finds, and what is left has none.
func TestRemoveIsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfNDistinct(rapid.StringOfN(rapid.SampledFrom([]rune("ab1é")), 2, 9, -1), 1, 12, rapid.ID).Draw(t, "values")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 8))
		var text strings.Builder
		for range 60 {
			text.WriteString([]string{"a", "b", "1", "é", " ", "[redacted: jwt]", values[rng.IntN(len(values))]}[rng.IntN(7)])
		}

		k := &Known{}
		for _, v := range values {
			k.add(knownValue{v, idAssigned})
		}
		k.finish()
		got, n := k.Remove(text.String())

		var spans []span
		for part, rest := 0, text.String(); part < len(rest); {
			stop, next := nextMarker(rest, part)
			for i := part; i < stop; i++ {
				for _, v := range values {
					if strings.HasPrefix(rest[i:stop], v) {
						spans = append(spans, span{i, i + len(v), idAssigned})
					}
				}
			}
			part = max(stop, next)
		}
		spans = join(spans)
		if want := replace(text.String(), spans); got != want || n != len(spans) {
			t.Fatalf("%q in %q: got %q, want %q", values, text.String(), got, want)
		}
		if again, m := k.Remove(got); m != 0 || again != got {
			t.Fatalf("%q has become %q", got, again)
		}
		if !utf8.ValidString(got) {
			t.Fatalf("%q is invalid", got)
		}
	})
}

// TestRemoveClean: a text without any value comes back without an allocation, and a cached one is not searched again.
func TestRemoveClean(t *testing.T) {
	k := knownPasswords(100)
	text := strings.Repeat("nothing to see here\n", 400)
	if n := testing.AllocsPerRun(10, func() { k.Remove(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	var r Redactor
	source := text + "DB_PASSWORD=Hunt" + "3rTwo9\n"
	r.Redact(source)
	if known := r.search(source); len(known.values) != 1 || len(r.young) != 1 {
		t.Errorf("%d values, %d results", len(known.values), len(r.young))
	}
}

// TestSecretsAtOnce: one Redactor and one Known are for everybody.
func TestSecretsAtOnce(t *testing.T) {
	filler := strings.Repeat("nothing to see here\n", 40)
	texts := []string{filler + "DB_PASSWORD=Hunt" + "3rTwo9\n", "TOKEN=a1b2c3d4e5\n" + filler, filler}
	summary := "a1b2c3d4e5 and Hunt" + "3rTwo9"
	var r Redactor
	shared := r.Secrets(texts...)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				mine := slices.Clone(texts)
				slices.Reverse(mine)
				for _, k := range []*Known{shared, r.Secrets(mine...)} {
					if out, n := k.Remove(summary); n != 2 || strings.Contains(out, "1b2c") || strings.Contains(out, "rTwo") {
						t.Errorf("got %q, %d", out, n)
					}
				}
			}
		})
	}
	wg.Wait()
}
