package repetition

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What rules texts out before the detector looks must not rule out what it would find.
func TestMayMissesNone(t *testing.T) {
	texts, hits := 0, 0
	check := func(t *rapid.T) {
		unit := rapid.StringOfN(rapid.SampledFrom([]rune("ab word\n\t.\u200bé世")), 16, 60, -1).Draw(t, "unit")
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab ")), 0, 20, -1).Draw(t, "before") +
			strings.Repeat(unit, rapid.IntRange(7, 30).Draw(t, "times")) + unit[:rapid.IntRange(0, 1).Draw(t, "more")]
		texts++
		if _, ok := (Detector{}).Detect(text); ok {
			hits++
			if !May(text) {
				t.Fatalf("a loop of %q was ruled out", unit)
			}
		}
	}
	for range 5 {
		rapid.Check(t, check)
	}
	if hits < texts/3 {
		t.Errorf("only %d loops in %d texts", hits, texts)
	}
}
