package estimate

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestLanes: a long text, which is taken in lanes, costs what it costs in one run.
func TestLanes(t *testing.T) {
	parts := []string{
		"func main() {\n\treturn nil, err\n}\n", "The quick brown fox. ", "id=42 é ", "  \n\n", "漢字かな ", "it's ", "HTTPServer2go ", "\xff\xe4\xb8",
		strings.Repeat("=", 300), strings.Repeat("x", 40), strings.Repeat(" ", 30), "→ ✓ 👍🏽 ", "a ", "Z ", "ß ", `{"key": "value", "n": 1234567}`,
	}
	lanes := 0
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 30).Draw(t, "parts"), ""), rapid.IntRange(1, 40).Draw(t, "times"))
		if len(text) >= lanesMin && seam(text, len(text)/3) > 0 {
			lanes++
		}
		if got, want := Tokens(text), interpret(text); got != want {
			t.Fatalf("Tokens = %d, next says %d", got, want)
		}
		if got, want := Bytes([]byte(text)), interpret(text); got != want {
			t.Fatalf("Bytes = %d, next says %d", got, want)
		}
	})
	if lanes < 10 {
		t.Errorf("only %d texts were taken in lanes", lanes)
	}
}

// TestSeam: behind a seam the state is that of one space, whatever was before.
func TestSeam(t *testing.T) {
	m := automaton()
	for row := range uint32(stateBound) {
		for _, letter := range []class{classLower, classUpper} {
			behind := m.step[m.step[row*classStride+uint32(letter)]&rowMask+uint32(classSpace)] & rowMask
			// A row that no state has is all zero.
			if used := m.final[row] != 0 || row == 0; used && behind != m.seam {
				t.Errorf("from row %d the row behind a letter of class %d and a space is %d, want %d", row, letter, behind/classStride, m.seam/classStride)
			}
		}
	}
	for _, test := range []struct {
		text string
		want int
	}{{"ab cd", 3}, {"12 34", 0}, {"a", 0}, {"", 0}, {"é f g", 5}, {strings.Repeat("x", seamMax) + "x y", 0}} {
		if got := seam(test.text, 0); got != test.want {
			t.Errorf("seam of %q is %d, want %d", test.text, got, test.want)
		}
	}
}
