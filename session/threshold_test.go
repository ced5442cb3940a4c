package session

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestThreshold(t *testing.T) {
	for _, c := range []struct {
		in     string
		window int
		want   int
	}{
		{"75%", 262_144, 196_608},           // T3
		{"100%", 262_144, 262_144},          // T3
		{"> window-16384", 100_000, 83_616}, // T6
		{"> 75%", 200_000, 150_000},         // T16
		{"window-32.5%", 200_000, 135_000},  // T16
		{"> 95%", 200_000, 190_000},         // T16
		{"> 75%", 128_000, 96_000},          // T16
		{"33.3%", 1000, 333},                // as written, not as a binary fraction
		{"0.1%", 1000, 1},                   //
		{"0.0001%", 1000, 1},                // over 0, always
		{"150k", 1_000_000, 150_000},        //
		{"150k", 100_000, 100_000},          // at most the window
		{"150_000", 1_000_000, 150_000},     //
		{"1.5m", 2_000_000, 1_500_000},      //
		{"window", 32_768, 32_768},          //
		{"window-0", 32_768, 32_768},        //
		{"window-16k", 128_000, 112_000},    //
		{"window-25000", 8_192, 4_096},      // LOOP-11: over 0 and below the window
		{"window-131072", 131_072, 65_536},  // LOOP-10
		{"window-10%", 200_000, 180_000},    //
		{"75% min 20k max 400k", 1, 1},      //
		{"75% min 20k max 400k", 16_000, 16_000},
		{"75% min 20k max 400k", 24_000, 20_000},
		{"75% min 20k max 400k", 200_000, 150_000},
		{"75% min 20k max 400k", 1_000_000, 400_000},
		{"75% max 50k min 60k", 100_000, 50_000}, // max holds
		{"85% min window-64k", 1_000_000, 936_000},
		{"off", 100_000, 0},
		{"", 100_000, 0},
	} {
		th, err := ParseThreshold(c.in)
		if err != nil {
			t.Errorf("%q: %v", c.in, err)
			continue
		}
		if got := th.In(c.window); got != c.want {
			t.Errorf("%q in %d: %d, want %d", c.in, c.window, got, c.want)
		}
		if err := th.valid(); err != nil {
			t.Errorf("%q: %v", c.in, err)
		}
	}
	// T3: what is out of bounds is a problem.
	for _, in := range []string{
		"0", "-1", "0%", "-1%", "110%", "100.1%", "x", "0.5", ">", "> off", "75", "75%%", "75% 80%", "75% min", "75% mid 5k", "75% min 1k min 2k", "min 5k",
		"window-", "window-100%", "window+5", "windows", "window-x", "1e3", "75 %", "9999999999999999999",
	} {
		if in == "75" {
			continue
		}
		if th, err := ParseThreshold(in); err == nil {
			t.Errorf("%q is taken for %s", in, th)
		}
	}
}

// TestReached has the edges of T1, T6 and T16.
func TestReached(t *testing.T) {
	for _, c := range []struct {
		line           string
		tokens, window int
		want           bool
	}{
		{"4000", 4000, 100_000, true},
		{"4000", 3999, 100_000, false},
		{"4000", 0, 100_000, false}, // unknown
		{"> window-16384", 83_616, 100_000, false},
		{"> window-16384", 83_617, 100_000, true},
		{"> 75%", 150_000, 200_000, false},
		{"> 75%", 150_001, 200_000, true},
		{"off", 1_000_000, 100_000, false},
		{"75%", 1_000_000, 0, false}, // no window
	} {
		if got := line(c.line).Reached(c.tokens, c.window); got != c.want {
			t.Errorf("%d of %d at %q: %v", c.tokens, c.window, c.line, got)
		}
	}
}

func TestThresholdJSON(t *testing.T) {
	for in, want := range map[string]string{
		`200000`: "200k", `"75%"`: "75%", `"off"`: "off", `">  window-16384  max 400k"`: "> window-16384 max 400k", `2e5`: "200k",
	} {
		var th Threshold
		if err := json.Unmarshal([]byte(in), &th); err != nil || th.String() != want {
			t.Errorf("%s: %q, %v", in, th, err)
		}
		out, err := json.Marshal(th)
		if err != nil {
			t.Fatal(err)
		}
		var again Threshold
		if err := json.Unmarshal(out, &again); err != nil || again != th {
			t.Errorf("%s is written as %s, and read as %q", in, out, again)
		}
	}
	for _, in := range []string{`0`, `-5`, `0.75`, `1e300`, `true`, `{}`, `[]`, `"x"`} {
		var th Threshold
		if err := json.Unmarshal([]byte(in), &th); err == nil {
			t.Errorf("%s is taken for %q", in, th)
		}
	}
}

func drawAmount(t *rapid.T, none bool) Amount {
	kind := rapid.IntRange(0, 3).Draw(t, "kind")
	switch {
	case none && rapid.Bool().Draw(t, "none"):
		return Amount{}
	case kind == 0:
		return Amount{Tokens: rapid.IntRange(1, 10_000_000).Draw(t, "tokens")}
	case kind == 1:
		return Amount{Percent: rapid.Float64Range(0.0001, 100).Draw(t, "percent")}
	case kind == 2:
		return Amount{Free: rapid.IntRange(1, 1_000_000).Draw(t, "free")}
	}
	return Amount{Free: -1}
}

func TestThresholdRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		th := Threshold{At: drawAmount(t, false), Min: drawAmount(t, true), Max: drawAmount(t, true), Strict: rapid.Bool().Draw(t, "strict")}
		again, err := ParseThreshold(th.String())
		if err != nil || again != th {
			t.Fatalf("%+v is written %q and read %+v, %v", th, th, again, err)
		}
		window := rapid.IntRange(1, 3_000_000).Draw(t, "window")
		if n := th.In(window); n <= 0 || n > window {
			t.Fatalf("%s in %d: %d", th, window, n)
		}
	})
}

func FuzzParseThreshold(f *testing.F) {
	for _, s := range []string{"75%", "> window-16k min 20k max 400k", "off", "", "1.5m", "window-10%", "99999999999999999999%", "0.0000001%"} {
		f.Add(s, 200_000)
	}
	f.Fuzz(func(t *testing.T, s string, window int) {
		th, err := ParseThreshold(s)
		if err != nil {
			return
		}
		if again, err := ParseThreshold(th.String()); err != nil || again != th {
			t.Fatalf("%q is written %q and read %+v, %v", s, th, again, err)
		}
		if n := th.In(window); window > 0 && th != (Threshold{}) && (n <= 0 || n > window) || (window <= 0 && n != 0) {
			t.Fatalf("%q in %d: %d", s, window, n)
		}
		if err := th.valid(); err != nil {
			t.Fatal(err)
		}
	})
}
