package quantity

import (
	"strconv"
	"testing"
)

func TestTokens(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int
	}{
		{"0", 0}, {"80000", 80000}, {"80_000", 80000}, {"80k", 80000}, {"80K", 80000}, {"1.5m", 1_500_000}, {"1.1m", 1_100_000}, {"0.5k", 500},
		{"200k", 200_000}, {"1_000k", 1_000_000}, {"007", 7}, {"1000000000000", 1_000_000_000_000},
	} {
		if got, err := Tokens(c.in); err != nil || got != c.want {
			t.Errorf("%q: %d, %v; want %d", c.in, got, err, c.want)
		}
	}
	for _, in := range []string{
		"", "k", "-1", "+1", "1.5", "1.0001k", "1e3", "0x10", "80 k", "80kk", "80%", "1_", "_1", "1__0", "1,000", ".5k", "1.k", "NaN", "1000001m", "９",
	} {
		if got, err := Tokens(in); err == nil {
			t.Errorf("%q is %d, and should be refused", in, got)
		}
	}
}

func FuzzTokens(f *testing.F) {
	for _, s := range []string{"80k", "1.5m", "80_000", "", "99999999999999999999999999k", "0.000000000000000000000001m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := Tokens(s)
		if err == nil && (n < 0 || n > MostTokens) {
			t.Fatalf("%q is %d", s, n)
		}
		if again, err := Tokens(strconv.Itoa(n)); err != nil || again != n {
			t.Fatalf("%d is %d, %v", n, again, err)
		}
		if _, err := Percent(s); err == nil && n > 100 {
			t.Fatalf("%s%% is taken", s)
		}
	})
}
