package secrets

import (
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestRedactor: a text that comes again has the same result, from the cache or not, for everybody at once.
func TestRedactor(t *testing.T) {
	filler := strings.Repeat("nothing to see here\n", 40)
	texts := []string{"", "DB_PASSWORD=hunter2", filler, filler + "DB_PASSWORD=hunter2", filler + filler, "TOKEN=a1b2c3\n" + filler}
	for _, r := range []*Redactor{{}, {CacheBytes: 1}, {CacheBytes: 1500}} {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 50 {
					for _, text := range texts {
						out, n := r.Redact(text)
						if want, m := Redact(text); out != want || n != m {
							t.Errorf("got %q, %d, want %q, %d", out, n, want, m)
						}
					}
				}
			})
		}
		wg.Wait()
	}
}

// TestCacheIsUsed: a result that is known is not made again, and one that has secrets is kept whole.
func TestCacheIsUsed(t *testing.T) {
	text := strings.Repeat("nothing to see here\n", 40) + "DB_PASSWORD=hunter2\n"
	var r Redactor
	first, _ := r.Redact(text)
	if n := testing.AllocsPerRun(10, func() { r.Redact(text) }); n != 0 {
		t.Errorf("%v allocations for a text that is known", n)
	}
	if again, n := r.Redact(text); again != first || n != 1 {
		t.Errorf("got %q, %d", again, n)
	}
}

// TestCacheIsBounded: however many texts come, the cache keeps to its bound.
func TestCacheIsBounded(t *testing.T) {
	r := Redactor{CacheBytes: 20_000}
	for i := range 400 {
		r.Redact(random(uint64(300+i), 300, lower+" \n") + "\nDB_PASSWORD=hunter2\n")
		size := 0
		for _, generation := range []map[cacheKey]result{r.young, r.old} {
			for _, known := range generation {
				size += known.size()
			}
		}
		if size > r.CacheBytes {
			t.Fatalf("%d bytes after %d texts", size, i+1)
		}
	}
	if len(r.young)+len(r.old) < 20 {
		t.Errorf("only %d results are kept", len(r.young)+len(r.old))
	}
}

// TestRedactParts: SEC-02, a secret across the border of two parts is found, and each has a marker for its piece.
func TestRedactParts(t *testing.T) {
	token := "gh" + "p_" + random(120, 36, alnum)
	key := dashes + "BEGIN PRIVATE KEY" + dashes + "\n" + random(121, 64, alnum) + "\n" + random(122, 64, alnum) + "\n" + dashes + "END PRIVATE KEY" + dashes
	for _, secret := range []string{token, key} {
		for cut := range len(secret) + 1 {
			parts := []string{"it is " + secret[:cut], secret[cut:] + "\nand that was it"}
			var r Redactor
			out, n := r.RedactParts(parts)
			if n != 1 || len(out) != 2 {
				t.Fatalf("cut at %d: %d found, %q", cut, n, out)
			}
			joined := strings.Join(out, "")
			for i := 0; i+8 <= len(secret); i += 8 {
				if strings.Contains(joined, secret[i:i+8]) && !strings.Contains(secret[i:i+8], "-") {
					t.Fatalf("cut at %d: %q is left in %q", cut, secret[i:i+8], out)
				}
			}
			if !strings.HasPrefix(out[0], "it is ") || !strings.HasSuffix(out[1], "\nand that was it") {
				t.Fatalf("cut at %d: %q", cut, out)
			}
		}
	}

	var r Redactor
	for _, c := range []struct{ parts, want []string }{
		{nil, nil},
		{[]string{}, []string{}},
		{[]string{"plain"}, []string{"plain"}},
		{[]string{"plain", "", "text"}, []string{"plain", "", "text"}},
		{[]string{"DB_PASSWORD=hunter2"}, []string{"DB_PASSWORD=[redacted: assigned-secret]"}},
		{[]string{"DB_PASSWORD=", "hunter2"}, []string{"DB_PASSWORD=", "[redacted: assigned-secret]"}},
		{[]string{"DB_PASS", "WORD=hun", "ter2\n"}, []string{"DB_PASS", "WORD=[redacted: assigned-secret]", "[redacted: assigned-secret]\n"}},
		// Alone it is one, and joined it is not.
		{[]string{"x = " + "AK" + "IA" + random(123, 16, capitals), "x"}, []string{"x = [redacted: aws-access-token]", "x"}},
	} {
		if got, _ := r.RedactParts(c.parts); !slices.Equal(got, c.want) {
			t.Errorf("%q has become %q, want %q", c.parts, got, c.want)
		}
	}
}
