package repetition

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestDetectIsBruteForce: the look at the end of the text rules no loop out.
func TestDetectIsBruteForce(t *testing.T) {
	hits := 0
	check := func(t *rapid.T) {
		d := Detector{
			WindowMinRunes:  rapid.IntRange(1, 5).Draw(t, "window"),
			RepeatThreshold: rapid.IntRange(2, 5).Draw(t, "threshold"),
			ProbeRunes:      rapid.IntRange(1, 90).Draw(t, "probe"),
		}
		unit := rapid.StringOfN(rapid.SampledFrom([]rune("ab \n\u200bé")), 1, 20, -1)
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab ")), 0, 20, -1).Draw(t, "before") +
			strings.Repeat(unit.Draw(t, "unit"), rapid.IntRange(1, 12).Draw(t, "times")) + rapid.SampledFrom([]string{"", "", "a", " b", "c"}).Draw(t, "behind")
		got, _ := d.Detect(text)
		want := brute(d, text)
		if got.Repeats != want.Repeats || got.Period != want.Period {
			t.Fatalf("%q: got %+v, want %+v", text, got, want)
		}
		if want.Repeats > 0 {
			hits++
		}
	}
	for range 10 { // loops are about one in ten
		rapid.Check(t, check)
	}
	if hits < 10 {
		t.Errorf("only %d loops", hits)
	}
}

// brute tries every period on every length of the end of text.
func brute(d Detector, text string) (best Hit) {
	tail := reversedTail(text, d.ProbeRunes, d.ProbeRunes)
	for length := 1; length <= len(tail); length++ {
		for p := 1; p <= length; p++ {
			if string(tail[p:length]) != string(tail[:length-p]) {
				continue
			}
			if repeats := length / p; p >= d.WindowMinRunes && repeats >= d.RepeatThreshold && repeats > best.Repeats {
				best = Hit{Period: p, Repeats: repeats}
			}
			break // only the smallest period counts
		}
	}
	return best
}
