package llm

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The embedded catalogue is what the reader expects, and every model is found by what it is called.
func TestCatalogueData(t *testing.T) {
	if !json.Valid(catalogueJSON) {
		t.Fatal("it is no JSON")
	}
	for _, want := range []string{"charm.land/catwalk v", "MIT"} {
		if first, _, _ := strings.Cut(string(catalogueJSON), "\n"); !strings.Contains(first, want) {
			t.Errorf("its first line does not name %s", want)
		}
	}
	x := embeddedModels()
	if len(x.models) < 1000 {
		t.Errorf("%d models", len(x.models))
	}
	c := DefaultCatalogue()
	for _, m := range x.models {
		if m.ID == "" || m.Name == "" || m.Window <= 0 || m.Window > maxTokens || m.MaxOutput < 0 {
			t.Errorf("%+v", m)
		}
		if p := m.Price; p.Input < 0 || p.Output < 0 || p.CacheRead < 0 || p.CacheRead > p.Input || p.CacheWrite != 0 && p.CacheWrite < p.Input {
			t.Errorf("price of %+v", m)
		}
		if canonicalProvider(m.Provider) != m.Provider {
			t.Errorf("the provider %s has no name", m.Provider)
		}
		if got, ok := c.Find(m.Provider, m.ID); !ok || got != m {
			t.Errorf("%s %s: found %+v", m.Provider, m.ID, got)
		}
		if got, ok := c.Find("", m.Provider+"/"+m.ID); !ok || got.Provider != m.Provider || spell(got.ID).base != spell(m.ID).base {
			t.Errorf("%s/%s: found %+v", m.Provider, m.ID, got)
		}
		if _, ok := c.Find("", m.ID); !ok {
			t.Errorf("%s is not found without its provider", m.ID)
		}
	}
	for name, provider := range providerNames {
		if !strings.Contains(string(catalogueJSON), "\n\""+provider+"\":[") {
			t.Errorf("%s stands for %s, which has no models", name, provider)
		}
	}
}

// Whatever is asked for, what is found is the same model by another spelling.
func TestNeverAnotherModel(t *testing.T) {
	x := embeddedModels()
	rapid.Check(t, func(t *rapid.T) {
		id := []byte(rapid.SampledFrom(x.models).Draw(t, "model").ID)
		for range rapid.IntRange(0, 3).Draw(t, "edits") {
			i := rapid.IntRange(0, len(id)-1).Draw(t, "at")
			c := rapid.SampledFrom([]byte("-._/:@0123456789abcdefp")).Draw(t, "byte")
			switch rapid.IntRange(0, 2).Draw(t, "edit") {
			case 0:
				id[i] = c
			case 1:
				id = append(id[:i:i], append([]byte{c}, id[i:]...)...)
			case 2:
				if len(id) > 1 {
					id = append(id[:i:i], id[i+1:]...)
				}
			}
		}
		asked := string(id)
		provider := rapid.SampledFrom([]string{"", "anthropic", "openai", "openrouter", "nobody"}).Draw(t, "provider")
		m, ok := DefaultCatalogue().Find(provider, asked)
		want, got := spell(asked), spell(m.ID)
		if ok && m.ID != asked && got.form != want.form && got.base != want.base {
			t.Fatalf("%s is taken for %s", asked, m.ID)
		}
	})
}

func TestSpell(t *testing.T) {
	for _, test := range []struct {
		id   string
		want spelling
	}{
		{"claude-opus-4-5", spelling{form: "claudeopus4-5", base: "claudeopus4-5"}},
		{"claude-opus-4.5", spelling{form: "claudeopus4-5", base: "claudeopus4-5"}},
		{"claude-opus-45", spelling{form: "claudeopus45", base: "claudeopus45"}},
		{"claude-opus-4-5-20251101", spelling{form: "claudeopus4-5-20251101", base: "claudeopus4-5"}},
		{"gpt-5-2025-08-07", spelling{form: "gpt5-2025-08-07", base: "gpt5"}},
		{"gpt-3.5-turbo-0613", spelling{form: "gpt3-5turbo0613", base: "gpt3-5turbo0613"}},
		{"us.anthropic.claude-opus-4-6-v1", spelling{form: "claudeopus4-6", base: "claudeopus4-6"}},
		{"openai.gpt-oss-120b-1:0", spelling{form: "gptoss120b", base: "gptoss120b"}},
		{"deepseek-v3", spelling{form: "deepseekv3", base: "deepseekv3"}},
		{"x-ai/grok-4.5:free", spelling{provider: "xai", form: "grok4-5", base: "grok4-5", variant: true}},
		{"accounts/fireworks/models/glm-5p2", spelling{provider: "fireworks", form: "glm5-2", base: "glm5-2"}},
		{"phi-5p2", spelling{form: "phi5p2", base: "phi5p2"}},
		{"claude-sonnet-4-5[1m]", spelling{form: "claudesonnet4-5", base: "claudesonnet4-5", million: true}},
		{"openrouter/anthropic/claude-opus-5", spelling{provider: "openrouter", form: "claudeopus5", base: "claudeopus5"}},
		{"", spelling{}},
	} {
		if got := spell(test.id); got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.id, got, test.want)
		}
	}
}

func BenchmarkReadModels(b *testing.B) {
	b.SetBytes(int64(len(catalogueJSON)))
	for b.Loop() {
		readModels(catalogueJSON)
	}
}
