package cli

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pemmican-dev/pemmican/internal/quantity"
)

func TestTargetOf(t *testing.T) {
	for _, c := range []struct {
		in         string
		live, want int
	}{
		{"50%", 1000, 500}, {"33.3%", 1000, 333}, {"100%", 999, 999}, {"0.1%", 100, 1}, {"80k", 5, 80000}, {"1", 5, 1}, {"14.3%", 1_000_000_000, 143_000_000},
	} {
		var target Target
		if err := target.Set(c.in); err != nil {
			t.Errorf("%q: %v", c.in, err)
			continue
		}
		if got := target.Of(c.live); got != c.want {
			t.Errorf("%q of %d is %d, want %d", c.in, c.live, got, c.want)
		}
		if target.String() == "" {
			t.Errorf("%q has no text", c.in)
		}
	}
	for _, in := range []string{"", "%", "0", "0k", "0%", "0.0%", "100.1%", "200%", "-5%", "5%%", "1k%", "half"} {
		if err := new(Target).Set(in); err == nil {
			t.Errorf("%q should be refused", in)
		}
	}
	if got := new(Target).Of(1000); got != 0 {
		t.Errorf("no target is %d, want 0 for the default", got)
	}
}

// What the help shows of a flag is what the flag takes.
func TestTokensText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, quantity.MostTokens).Draw(t, "n")
		a := Tokens{N: n}
		var b Tokens
		if err := b.Set(a.String()); err != nil || b.N != n || !b.Given {
			t.Fatalf("%d is shown as %q, which is %+v, %v", n, a.String(), b, err)
		}
	})
	if err := new(Tokens).Set("0"); err == nil {
		t.Error("0 should be refused")
	}
	zero := Tokens{Zero: true}
	if err := zero.Set("0"); err != nil || !zero.Given || zero.N != 0 {
		t.Errorf("%+v, %v", zero, err)
	}
}

func TestCountAndPercent(t *testing.T) {
	for n, want := range map[int]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -999: "-999"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
	for _, c := range []struct {
		part, whole int
		want        string
	}{{0, 100, "0 %"}, {1, 1000, "<1 %"}, {5, 1000, "1 %"}, {1, 3, "33 %"}, {2, 3, "67 %"}, {150, 100, "150 %"}, {6523, 100, "6,523 %"}, {1, 0, ""}} {
		if got := Percent(c.part, c.whole); got != c.want {
			t.Errorf("Percent(%d, %d) = %q, want %q", c.part, c.whole, got, c.want)
		}
	}
	if Plural(1, "line") != "1 line" || Plural(0, "line") != "0 lines" || Plural(1200, "line") != "1,200 lines" {
		t.Error("Plural")
	}
}

func TestNumber(t *testing.T) {
	for in, want := range map[string]int{"1": 1, "10": 10, "1_000": 1000, "0": 0, "-1": 0, "1001": 0, "": 0, "ten": 0, "1.5": 0, "99999999999999999999": 0} {
		n := Number{Least: 1, Most: 1000}
		if err := n.Set(in); (err == nil) != (want > 0) || n.N != want {
			t.Errorf("%q is %d, %v", in, n.N, err)
		}
	}
}
