package secrets

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestAutomatonIsBruteForce: it finds every word at every place, and nothing else.
func TestAutomatonIsBruteForce(t *testing.T) {
	type found struct{ word, end int }
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfNDistinct(rapid.StringOfN(rapid.SampledFrom([]rune("abk_-")), 1, 6, -1), 1, 12, rapid.ID).Draw(t, "words")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 6))
		text := make([]byte, 200)
		for i := range text {
			text[i] = "abkABK_-x\x80"[rng.IntN(10)]
		}

		a := newAutomaton(words)
		var got, want []found
		state := 0
		for i, c := range text {
			state = int(a.next[state<<a.shift|int(a.class[c])])
			if state >= accepts {
				state -= accepts
				for _, w := range a.ends[state] {
					got = append(got, found{int(w), i + 1})
				}
			}
		}
		for end := 1; end <= len(text); end++ {
			for w, word := range words {
				if end >= len(word) && strings.EqualFold(string(text[end-len(word):end]), word) {
					want = append(want, found{w, end})
				}
			}
		}
		order := func(a, b found) int { return (a.end-b.end)*100 + a.word - b.word }
		slices.SortFunc(got, order)
		slices.SortFunc(want, order)
		if !slices.Equal(got, want) {
			t.Fatalf("%q in %q: got %v, want %v", words, text, got, want)
		}
	})
}

// TestAutomatonOfRules: it has room for the words of all rules, and they are within the limits of the search.
func TestAutomatonOfRules(t *testing.T) {
	a := known().automaton
	if states := len(a.ends); states < 1000 || states >= accepts {
		t.Errorf("%d states", states)
	}
	for _, w := range samples.words {
		if w != strings.ToLower(w) || len(w) >= 64 {
			t.Errorf("the word %q", w)
		}
	}
}
