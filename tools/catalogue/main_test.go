package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"charm.land/catwalk/pkg/catwalk"
)

// What is committed is what the generator writes.
func TestUpToDate(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", "..", "llm", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("llm/%s is not what the generator writes: run \"go generate ./llm\" in the root of the repository", name)
		}
	}
	if n := len(files["catalogue.json"]); n > 300_000 {
		t.Errorf("the catalogue has %d bytes", n)
	}
	if !json.Valid(files["catalogue.json"]) {
		t.Error("the catalogue is no JSON")
	}
}

func TestCachePrices(t *testing.T) {
	for _, test := range []struct {
		provider                     catwalk.InferenceProvider
		in, out, inCached, outCached float64
		read, write                  float64
	}{
		{"anthropic", 5, 25, 6.25, 0.5, 0.5, 6.25},
		{"opencode-zen", 5, 25, 0.5, 6.25, 0.5, 6.25},
		{"openai", 2.5, 15, 0.25, 0, 0.25, 0},
		{"openai", 1.25, 10, 0.125, 0.125, 0.125, 0},
		{"xai", 2, 6, 0, 0.3, 0.3, 0},
		{"gemini", 0.75, 3.75, 0.075, 3.75, 0.075, 0},
		{"openrouter", 0.75, 3.75, 0.04167, 0.075, 0.075, 0},
		{"minimax", 0.6, 2.4, 0.06, 0.375, 0.06, 0},
		{"minimax", 0.3, 1.2, 0.06, 0.375, 0.06, 0.375},
		{"qiniucloud", 1, 1.75, 1, 1.75, 0, 0},
		{"copilot", 0, 0, 0, 0, 0, 0},
	} {
		m := catwalk.Model{CostPer1MIn: test.in, CostPer1MOut: test.out, CostPer1MInCached: test.inCached, CostPer1MOutCached: test.outCached}
		if read, write := cachePrices(test.provider, m); read != test.read || write != test.write {
			t.Errorf("%+v: got %v and %v", test, read, write)
		}
	}
}
