package llm_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/pemmican-dev/pemmican/llm"
	"pgregory.net/rapid"
)

// Ids as agents, gateways and providers write them.
func TestFind(t *testing.T) {
	c := llm.DefaultCatalogue()
	for _, test := range []struct {
		provider, model string
		wantProvider    string // "" is not found
		wantID          string
		window          int
	}{
		// The provider's own.
		{"anthropic", "claude-opus-4-5-20251101", "anthropic", "claude-opus-4-5-20251101", 200_000},
		{"openai", "gpt-5.4", "openai", "gpt-5.4", 1_050_000},
		{"openrouter", "anthropic/claude-opus-4.5", "openrouter", "anthropic/claude-opus-4.5", 200_000},
		{"openrouter", "z-ai/glm-5.2:free", "openrouter", "z-ai/glm-5.2:free", 0},
		{"huggingface", "openai/gpt-oss-120b:cerebras", "huggingface", "openai/gpt-oss-120b:cerebras", 0},
		{"copilot", "gpt-5.4", "copilot", "gpt-5.4", 400_000},

		// The vendor's own, if none is named.
		{"", "claude-opus-4-5-20251101", "anthropic", "claude-opus-4-5-20251101", 200_000},
		{"", "claude-sonnet-4-5-20250929", "anthropic", "claude-sonnet-4-5-20250929", 200_000},
		{"", "claude-opus-4-20250514", "anthropic", "claude-opus-4-20250514", 200_000},
		{"", "claude-opus-4-1-20250805", "anthropic", "claude-opus-4-1-20250805", 200_000},
		{"", "claude-haiku-4-5-20251001", "anthropic", "claude-haiku-4-5-20251001", 200_000},
		{"", "claude-opus-5", "anthropic", "claude-opus-5", 1_000_000},
		{"", "gpt-5.6-sol", "openai", "gpt-5.6-sol", 1_050_000},
		{"", "o4-mini", "openai", "o4-mini", 200_000},
		{"", "gemini-2.5-flash", "gemini", "gemini-2.5-flash", 1_048_576},
		{"", "grok-4.5", "xai", "grok-4.5", 500_000},
		{"", "kimi-k2.5", "moonshot", "kimi-k2.5", 262_144},
		{"", "glm-4.6", "zai", "glm-4.6", 204_800},
		{"", "deepseek-v4-flash", "deepseek", "deepseek-v4-flash", 1_000_000},
		{"gw", "claude-sonnet-4-6", "anthropic", "claude-sonnet-4-6", 200_000},

		// Without a date, with one that is not listed, or with -latest.
		{"", "claude-opus-4-5", "anthropic", "claude-opus-4-5-20251101", 200_000},
		{"", "claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5-20250929", 200_000},
		{"", "claude-haiku-4-5", "anthropic", "claude-haiku-4-5-20251001", 200_000},
		{"", "claude-sonnet-4-0", "anthropic", "claude-sonnet-4-20250514", 200_000},
		{"anthropic", "claude-haiku-4-5-latest", "anthropic", "claude-haiku-4-5-20251001", 200_000},
		{"", "gpt-5-2025-08-07", "openai", "gpt-5", 400_000},
		{"", "gpt-4.1-2025-04-14", "openai", "gpt-4.1", 1_047_576},
		{"", "gpt-4.1-mini-2025-04-14", "openai", "gpt-4.1-mini", 1_047_576},
		{"", "gpt-4o-mini-2024-07-18", "openai", "gpt-4o-mini", 128_000},
		{"openrouter", "openai/gpt-4o-2024-08-06", "openrouter", "openai/gpt-4o-2024-08-06", 128_000},

		// Behind vendors and gateways.
		{"", "anthropic/claude-opus-4.5", "anthropic", "claude-opus-4-5-20251101", 200_000},
		{"", "openrouter/anthropic/claude-opus-4.5", "openrouter", "anthropic/claude-opus-4.5", 200_000},
		{"openai", "anthropic/claude-opus-4.5", "anthropic", "claude-opus-4-5-20251101", 200_000},
		{"", "openai/gpt-4o-mini", "openai", "gpt-4o-mini", 128_000},
		{"", "litellm_proxy/minimax-m2.7", "minimax", "MiniMax-M2.7", 0},
		{"litellm", "litellm_proxy/claude-sonnet-4-20250514", "anthropic", "claude-sonnet-4-20250514", 200_000},
		{"", "moonshotai/kimi-k2.5", "moonshot", "kimi-k2.5", 262_144},
		{"", "x-ai/grok-4.5:online", "xai", "grok-4.5", 500_000},
		{"", "models/gemini-2.5-pro", "gemini", "gemini-2.5-pro", 1_048_576},
		{"fireworks", "accounts/fireworks/routers/glm-5p2", "fireworks", "accounts/fireworks/models/glm-5p2", 0},
		{"groq", "openai/gpt-oss-120b", "openai-like", "", 0},

		// Bedrock and Vertex.
		{"amazon-bedrock", "us.anthropic.claude-opus-4-5-20251101-v1:0", "bedrock", "us.anthropic.claude-opus-4-5-20251101-v1:0", 200_000},
		{"bedrock", "anthropic.claude-opus-4-5-20251101-v1:0", "bedrock", "us.anthropic.claude-opus-4-5-20251101-v1:0", 200_000},
		{"", "global.anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic", "claude-sonnet-4-5-20250929", 200_000},
		{"", "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-haiku-4-5-20251001-v1:0", "anthropic", "claude-haiku-4-5-20251001", 200_000},
		{"vertex", "claude-opus-4-5@20251101", "vertexai", "claude-opus-4-5-20251101", 200_000},
		{"", "claude-opus-4-5@default", "anthropic", "claude-opus-4-5-20251101", 200_000},

		// Case and separators.
		{"", "Claude-Opus-4.5", "anthropic", "claude-opus-4-5-20251101", 200_000},
		{"", "GPT_5.4", "openai", "gpt-5.4", 1_050_000},

		// A wish for a larger window.
		{"", "claude-sonnet-4-5[1m]", "anthropic", "claude-sonnet-4-5-20250929", 1_000_000},
		{"", "gpt-5[1m]", "openai", "gpt-5", 400_000},

		// What looks similar and is another model, another size of it, or another way to serve it.
		{"", "", "", "", 0},
		{"anthropic", "", "", "", 0},
		{"", "claude", "", "", 0},
		{"", "claude-opus", "", "", 0},
		{"", "claude-opus-9", "", "", 0},
		{"", "claude-opus-45", "", "", 0},
		{"", "gpt-3.5-turbo-0613", "", "", 0},
		{"", "gpt-5.44", "", "", 0},
		{"", "qwen3:32b", "", "", 0},
		{"", "llama3.1:8b", "", "", 0},
		{"", "QuantTrio/GLM-4.6-AWQ", "", "", 0},
		{"", "openagents/khala", "", "", 0},
		{"", "<synthetic>", "", "", 0},
		{"", "auto", "", "", 0},
		{"openai", "scripted-model", "", "", 0},
		{"", "/", "", "", 0},
		{"", "deepseek.", "", "", 0},
	} {
		got, ok := c.Find(test.provider, test.model)
		if test.wantProvider == "openai-like" { // nobody's own: any provider that has it
			if !ok || !strings.Contains(got.ID, "gpt-oss-120b") || got.Window < 100_000 {
				t.Errorf("%s %s: got %+v", test.provider, test.model, got)
			}
			continue
		}
		if ok != (test.wantProvider != "") || got.Provider != test.wantProvider || got.ID != test.wantID {
			t.Errorf("%s %s: got %s %s, want %s %s", test.provider, test.model, got.Provider, got.ID, test.wantProvider, test.wantID)
		}
		if test.window > 0 && got.Window != test.window || ok && got.Window <= 0 {
			t.Errorf("%s %s: window %d, want %d", test.provider, test.model, got.Window, test.window)
		}
		if !ok && got != (llm.Model{}) {
			t.Errorf("%s %s: not found, and yet %+v", test.provider, test.model, got)
		}
	}
}

// Of providers that disagree and make none of it the smallest window counts.
func TestFindSmallest(t *testing.T) {
	c := llm.DefaultCatalogue()
	got, ok := c.Find("", "gpt-oss-120b")
	if !ok {
		t.Fatal("not found")
	}
	for _, provider := range []string{"aihubmix", "cortecs", "fireworks", "nebius", "openrouter", "vercel"} {
		if m, ok := c.Find(provider, "gpt-oss-120b"); !ok || m.Provider != provider || m.Window < got.Window {
			t.Errorf("%s: %+v, and without a provider %+v", provider, m, got)
		}
	}
}

func TestFindPrice(t *testing.T) {
	c := llm.DefaultCatalogue()
	m, _ := c.Find("anthropic", "claude-opus-4-5")
	if want := (llm.Price{Input: 5, Output: 25, CacheRead: 0.5, CacheWrite: 6.25}); m.Price != want || !m.Reasons || !m.Images || m.MaxOutput != 64_000 || m.Name != "Claude Opus 4.5" {
		t.Errorf("got %+v", m)
	}
	m, _ = c.Find("openai", "gpt-5")
	if want := (llm.Price{Input: 1.25, Output: 10, CacheRead: 0.125}); m.Price != want {
		t.Errorf("got %+v", m)
	}
}

func TestZeroCatalogue(t *testing.T) {
	var c llm.Catalogue
	if m, ok := c.Find("anthropic", "claude-opus-4-5"); ok {
		t.Errorf("found %+v", m)
	}
	c.Learn("http://h", "m", 4096)
	if n, source := c.Window("http://h", "", "m"); n != 4096 || source != "learned" {
		t.Errorf("got %d from %q", n, source)
	}
	if err := c.Override([]byte(`{"models":{"m":{"window":8192}}}`)); err != nil {
		t.Fatal(err)
	}
	if m, ok := c.Find("p", "m"); !ok || m.Window != 8192 || m.ID != "m" || m.Provider != "p" {
		t.Errorf("got %+v, %v", m, ok)
	}
}

func TestCost(t *testing.T) {
	p := llm.Price{Input: 5, Output: 25, CacheRead: 0.5, CacheWrite: 6.25}
	for _, test := range []struct {
		price llm.Price
		usage llm.Usage
		want  float64
	}{
		{p, llm.Usage{}, 0},
		{p, llm.Usage{Input: 1_000_000}, 5},
		{p, llm.Usage{Input: 1_000_000, CacheRead: 1_000_000}, 0.5},
		{p, llm.Usage{Input: 1_000_000, CacheWrite: 1_000_000}, 6.25},
		{p, llm.Usage{Input: 150_003, CacheRead: 100_000, CacheWrite: 50_000, Output: 1000}, 0.000_015 + 0.05 + 0.3125 + 0.025},
		{llm.Price{Input: 2, Output: 8}, llm.Usage{Input: 1_000_000, CacheRead: 400_000, CacheWrite: 100_000, Output: 1_000_000}, 10},
		{p, llm.Usage{Input: 10, CacheRead: 1_000_000}, 0.5},
		{p, llm.Usage{Input: -5, CacheRead: -5, CacheWrite: -5, Output: -5}, 0},
		{llm.Price{}, llm.Usage{Input: 1_000_000, Output: 1_000_000}, 0},
	} {
		if got := test.price.Cost(test.usage); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%+v of %+v: got %v, want %v", test.usage, test.price, got, test.want)
		}
	}
}

func TestOverride(t *testing.T) {
	c := llm.DefaultCatalogue()
	for _, data := range []string{
		`{"models":{
			"my-model":{"window":64000,"price":{"input":1,"output":2,"cache_read":0.1,"cache_write":1.25},"name":"Mine","reasons":true,"images":true},
			"openai/my-model":{"window":32768,"max_output":4096},
			"my-vllm/qwen3-32b":{"window":16384},
			"claude-opus-4-5":{"window":150000},
			"openai/gpt-5":{"price":{"output":11}},
			"gpt-4o-2024-05-13":{"max_output":4096}
		},"other":1}`,
		`{"models":{"MY-MODEL":{"max_output":1000,"images":false}}}`, // what the first has said of other fields stays
	} {
		if err := c.Override([]byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	mine := llm.Price{Input: 1, Output: 2, CacheRead: 0.1, CacheWrite: 1.25}
	for _, test := range []struct {
		provider, model string
		want            llm.Model
	}{
		// Row MSW-10: a model that nobody knows has the window that the settings say.
		{"", "my-model", llm.Model{ID: "my-model", Name: "Mine", Window: 64_000, MaxOutput: 1000, Price: mine, Reasons: true}},
		{"gw", "my-model", llm.Model{Provider: "gw", ID: "my-model", Name: "Mine", Window: 64_000, MaxOutput: 1000, Price: mine, Reasons: true}},
		{"openai", "my-model", llm.Model{Provider: "openai", ID: "my-model", Name: "Mine", Window: 32_768, MaxOutput: 4096, Price: mine, Reasons: true}},
		{"", "openai/my-model", llm.Model{Provider: "openai", ID: "openai/my-model", Name: "Mine", Window: 32_768, MaxOutput: 4096, Price: mine, Reasons: true}},
	} {
		if got, ok := c.Find(test.provider, test.model); !ok || got != test.want {
			t.Errorf("%s %s: got %+v, want %+v", test.provider, test.model, got, test.want)
		}
	}
	for _, test := range []struct {
		provider, model string
		window          int
	}{
		{"anthropic", "claude-opus-4-5-20251101", 150_000},
		{"openrouter", "anthropic/claude-opus-4.5", 150_000},
		{"", "claude-opus-4-5", 150_000},
		{"anthropic", "claude-opus-4-6", 200_000},
		{"my-vllm", "qwen3-32b", 16_384},
		{"groq", "qwen/qwen3-32b", 131_072},
	} {
		if got, _ := c.Find(test.provider, test.model); got.Window != test.window {
			t.Errorf("%s %s: window %d, want %d", test.provider, test.model, got.Window, test.window)
		}
	}
	if got, _ := c.Find("", "gpt-5"); got.Price.Output != 11 || got.Price.Input != 1.25 {
		t.Errorf("at openai, which is the vendor: got %+v", got)
	}
	if got, _ := c.Find("openrouter", "openai/gpt-5"); got.Price.Output != 11 { // the very id
		t.Errorf("the very id: got %+v", got)
	}
	if got, _ := c.Find("azure", "gpt-5"); got.Price.Output != 10 {
		t.Errorf("at another provider: got %+v", got)
	}
	if got, _ := c.Find("openai", "gpt-4o"); got.MaxOutput == 4096 {
		t.Errorf("what is said of a date holds for all: got %+v", got)
	}
	if got, _ := llm.DefaultCatalogue().Find("", "claude-opus-4-5"); got.Window != 200_000 {
		t.Errorf("another catalogue: got %+v", got)
	}
}

func TestOverrideErrors(t *testing.T) {
	c := llm.DefaultCatalogue()
	if err := c.Override([]byte(`{"models":{"m":{"window":1000}}}`)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ data, want string }{
		{``, "this is empty; it must be like"},
		{" \n", "this is empty; it must be like"},
		{`{"models":`, "the JSON ends in the middle, at line 1, byte 10; it must be like"},
		{"{\"models\":\n {,}}", "this is no JSON from line 2, byte 3 on; it must be like"},
		{`{"models":{}} x`, "this is no JSON from line 1, byte 15 on; it must be like"},
		{`[]`, "this is no JSON object; it must be like"},
		{`{"model":{}}`, "it has no member models; it must be like"},
		{`{"models":[]}`, "line 1, byte 11: models is no object; it must be like"},
		{`{"models":{"":{}}}`, `line 1, byte 12: models."" names no model; give its id, or provider/id`},
		{`{"models":{"a":1}}`, `line 1, byte 16: models."a" is no object; it must be like`},
		{"{\"models\":{\"a\":{\n\"windw\":1}}}", `line 2, byte 1: models."a"."windw" is no setting of a model; use name, window, max_output, price, reasons or images`},
		{`{"models":{"a":{"window":"big"}}}`, `line 1, byte 26: models."a".window is no number of tokens; give a whole number from 1 to 1000000000`},
		{`{"models":{"a":{"window":0}}}`, `models."a".window is no number of tokens`},
		{`{"models":{"a":{"window":1.5}}}`, `models."a".window is no number of tokens`},
		{`{"models":{"a":{"max_output":-1}}}`, `models."a".max_output is no number of tokens`},
		{`{"models":{"a":{"name":1}}}`, `models."a".name is no text; write it in quotes`},
		{`{"models":{"a":{"reasons":"yes"}}}`, `models."a".reasons is neither true nor false; write one of them`},
		{`{"models":{"a":{"images":null}}}`, `models."a".images is neither true nor false`},
		{`{"models":{"a":{"price":3}}}`, `models."a".price is no object; it must be like`},
		{`{"models":{"a":{"price":{"in":3}}}}`, `models."a".price."in" is no price; use input, output, cache_read or cache_write`},
		{`{"models":{"a":{"price":{"input":-3}}}}`, `models."a".price.input is no price; give dollars for a million tokens, 0 or more`},
		{`{"models":{"a":{"price":{"input":1e999}}}}`, `models."a".price.input is no price`},
		{`{"models":{"m":{"window":2000},"a":{"window":0}}}`, `models."a".window is no number of tokens`},
	} {
		err := c.Override([]byte(test.data))
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %s", test.data, err, test.want)
		}
	}
	if m, _ := c.Find("", "m"); m.Window != 1000 {
		t.Errorf("an error changed something: %+v", m)
	}
	if m, ok := c.Find("", "a"); ok {
		t.Errorf("an error changed something: %+v", m)
	}
}

// Row MSW-08: a declared window of 1.05 M, and a provider that serves 320 k.
func TestMSW08_LearnedWindow(t *testing.T) {
	c := llm.DefaultCatalogue()
	const endpoint, model = "https://api.example.com/v1", "gpt-5.6-sol"
	if n, source := c.Window(endpoint, "openai", model); n != 1_050_000 || source != "catalogue" {
		t.Fatalf("got %d from %s", n, source)
	}
	e := llm.Classify(400, nil, []byte(`{"error":{"message":"prompt tokens (416135) exceed model maximum (320000) for openai.gpt-5.6-sol"}}`))
	c.Learn("HTTPS://someone:word@API.example.com:443/v1/?key=1#x", model, e.Limit)
	for _, same := range []string{endpoint, endpoint + "/", " https://api.example.com:443/v1?x=y"} {
		if n, source := c.Window(same, "openai", model); n != 320_000 || source != "learned" {
			t.Errorf("%s: got %d from %s", same, n, source)
		}
	}
	for _, other := range []string{"https://api.example.com/v2", "http://api.example.com/v1", "https://api.example.com:8443/v1", "", "no URL"} {
		if n, source := c.Window(other, "openai", model); n != 1_050_000 || source != "catalogue" {
			t.Errorf("%s: got %d from %s", other, n, source)
		}
	}
	for _, window := range []int{0, -1, 255, 2_000_000_000} { // none of these is a window
		c.Learn(endpoint, model, window)
	}
	c.Learn("no URL", model, 4096)
	c.Learn(endpoint, "", 4096)
	if n, _ := c.Window(endpoint, "openai", model); n != 320_000 {
		t.Errorf("got %d", n)
	}
	const want = "{\n  \"windows\": {\n    \"https://api.example.com/v1\": {\n      \"gpt-5.6-sol\": 320000\n    }\n  }\n}\n"
	if got := string(c.Learned()); got != want {
		t.Errorf("got %s", got)
	}
	c.Learn(endpoint, model, 400_000) // the newest counts
	if n, _ := c.Window(endpoint, "openai", model); n != 400_000 {
		t.Errorf("got %d", n)
	}
	if err := c.Override([]byte(`{"models":{"gpt-5.6-sol":{"window":300000}}}`)); err != nil {
		t.Fatal(err)
	}
	if n, source := c.Window(endpoint, "openai", model); n != 300_000 || source != "override" {
		t.Errorf("got %d from %s", n, source)
	}
	if n, source := c.Window(endpoint, "openai", "unknown"); n != 0 || source != "" {
		t.Errorf("got %d from %q", n, source)
	}
	// A user who says something else of a model has said nothing of its window.
	if err := c.Override([]byte(`{"models":{"gpt-5.5":{"max_output":1000}}}`)); err != nil {
		t.Fatal(err)
	}
	if n, source := c.Window(endpoint, "openai", "gpt-5.5"); n != 1_050_000 || source != "catalogue" {
		t.Errorf("got %d from %q", n, source)
	}
}

func TestRelearnErrors(t *testing.T) {
	var c llm.Catalogue
	c.Learn("http://h", "m", 4096)
	before := c.Learned()
	for _, test := range []struct{ data, want string }{
		{``, "this is empty; it must be like"},
		{`{"windows":{`, "the JSON ends in the middle"},
		{`{}`, "it has no member windows"},
		{`{"windows":1}`, "windows is no object"},
		{`{"windows":{"h":{}}}`, `line 1, byte 13: windows."h" is no URL`},
		{`{"windows":{"http://h":[]}}`, `windows."http://h" is no object`},
		{`{"windows":{"http://h":{"m":8192,"n":"x"}}}`, `windows."http://h"."n" is no number of tokens`},
	} {
		if err := c.Relearn([]byte(test.data)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.data, err, test.want)
		}
	}
	if after := c.Learned(); !bytes.Equal(before, after) {
		t.Errorf("an error changed something: %s", after)
	}
	if err := c.Relearn([]byte(`{"windows":{"http://h":{"m":8192,"n":7}}}`)); err != nil {
		t.Fatal(err)
	}
	if got := string(c.Learned()); !strings.Contains(got, "8192") || strings.Contains(got, `"n"`) {
		t.Errorf("got %s", got)
	}
}

// What was learned comes back from what was written, whatever the order in which it was learned.
func TestLearnedRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type lesson struct {
			endpoint, model string
			window          int
		}
		lessons := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) lesson {
			return lesson{
				rapid.SampledFrom([]string{"http://127.0.0.1:8080/v1", "https://api.example.com", "https://EXAMPLE.org/a%20b/"}).Draw(t, "endpoint") + rapid.SampledFrom([]string{"", "/", "?k=v"}).Draw(t, "end"),
				rapid.String().Draw(t, "model"), rapid.IntRange(-10, 2_000_000).Draw(t, "window"),
			}
		}), 0, 20).Draw(t, "lessons")
		var a, b llm.Catalogue
		for _, l := range lessons {
			a.Learn(l.endpoint, l.model, l.window)
		}
		if err := b.Relearn(a.Learned()); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a.Learned(), b.Learned()) {
			t.Fatalf("wrote %s, read %s", a.Learned(), b.Learned())
		}
		for _, l := range lessons {
			x, xs := a.Window(l.endpoint, "", l.model)
			y, ys := b.Window(l.endpoint, "", l.model)
			if x != y || xs != ys {
				t.Fatalf("%+v: %d %s, then %d %s", l, x, xs, y, ys)
			}
		}
	})
}

// Cost grows with every price and with every token, and a cheaper cache never makes it dearer.
func TestCostProperties(t *testing.T) {
	price := rapid.Custom(func(t *rapid.T) llm.Price {
		f := rapid.Float64Range(0, 100)
		in := f.Draw(t, "input")
		return llm.Price{Input: in, Output: f.Draw(t, "output"), CacheRead: in * rapid.Float64Range(0, 1).Draw(t, "read"), CacheWrite: in * rapid.Float64Range(1, 2).Draw(t, "write")}
	})
	rapid.Check(t, func(t *rapid.T) {
		p := price.Draw(t, "price")
		n := rapid.IntRange(0, 1_000_000)
		u := llm.Usage{CacheRead: n.Draw(t, "read"), CacheWrite: n.Draw(t, "write"), Output: n.Draw(t, "output")}
		u.Input = u.CacheRead + u.CacheWrite + n.Draw(t, "input")
		cost := p.Cost(u)
		more := u
		more.Input++
		uncached := u
		uncached.CacheRead = 0
		if cost < 0 || math.IsNaN(cost) || p.Cost(more) < cost || p.Cost(uncached) < cost-1e-9 {
			t.Fatalf("%v, one token more %v, not read from the cache %v", cost, p.Cost(more), p.Cost(uncached))
		}
	})
}

func TestCatalogueConcurrent(t *testing.T) {
	c := llm.DefaultCatalogue()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				model := fmt.Sprintf("m%d", j%3)
				switch (i + j) % 5 {
				case 0:
					c.Find("", "claude-opus-4-5")
				case 1:
					c.Learn("http://h", model, 1000+j)
				case 2:
					if err := c.Override([]byte(`{"models":{"` + model + `":{"window":9000}}}`)); err != nil {
						t.Error(err)
					}
				case 3:
					c.Window("http://h", "openai", model)
				case 4:
					if err := c.Relearn(c.Learned()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if n, source := c.Window("http://h", "", "m1"); n != 9000 || source != "override" {
		t.Errorf("got %d from %s", n, source)
	}
}

// modelMember finds the ids of models in transcripts.
var modelMember = regexp.MustCompile(`"model":\s?"([^"\\]{1,80})"`)

// The models of real transcripts: those of the known vendors are found, as the model that they are.
func TestFindInCorpus(t *testing.T) {
	const root = "../../shared/corpus"
	if _, err := os.Stat(root); err != nil {
		t.Skip("without ../shared/corpus: no ids of real transcripts")
	}
	ids := map[string]bool{}
	for _, folder := range []string{"claude-code", "codex", "pi", "openai-chat", "anthropic-messages", "openhands"} {
		files, err := filepath.Glob(filepath.Join(root, folder, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				continue // a folder
			}
			for _, m := range modelMember.FindAllSubmatch(data, -1) {
				ids[string(m[1])] = true
			}
		}
	}
	current := regexp.MustCompile(`^(?:claude-(?:opus|sonnet|haiku)-[4-9]|gpt-[45]|gemini-2\.5|o4-)`)
	squeeze := strings.NewReplacer("5p2", "52", "-", "", ".", "") // Fireworks writes points as p
	c := llm.DefaultCatalogue()
	known := 0
	for id := range ids {
		m, ok := c.Find("", id)
		if !ok && current.MatchString(id) {
			t.Errorf("%s is not found", id)
		}
		if !ok {
			continue
		}
		known++
		bare := squeeze.Replace(strings.ToLower(filepath.Base(id)))
		found := squeeze.Replace(strings.ToLower(filepath.Base(m.ID)))
		if !strings.HasPrefix(bare, found) && !strings.HasPrefix(found, strings.TrimSuffix(bare, "0")) {
			t.Errorf("%s is taken for %s", id, m.ID)
		}
	}
	if known < 5 {
		t.Errorf("%d of %d ids are known", known, len(ids))
	}
}

func FuzzOverride(f *testing.F) {
	for _, seed := range []string{
		`{"models":{"openai/my-model":{"window":32768,"max_output":4096,"price":{"input":1,"output":2}},"my-model":{"reasons":true}}}`,
		`{"models":{"a":{"name":"x","images":false}},"models":{"b":{}}}`, `{"models":{"":{}}}`, `{"models":{"a[1m]":{"window":1}}}`, "{", "",
	} {
		f.Add(seed, "openai", "my-model")
	}
	f.Fuzz(func(t *testing.T, data, provider, model string) {
		c := llm.DefaultCatalogue()
		before, _ := c.Find(provider, model)
		err := c.Override([]byte(data))
		after, ok := c.Find(provider, model)
		if err != nil && (before != after || strings.ContainsAny(err.Error(), "\n\r")) {
			t.Fatalf("after %v: %+v, before %+v", err, after, before)
		}
		if after.Window < 0 || after.MaxOutput < 0 || after.Price.Input < 0 || !ok && after != (llm.Model{}) {
			t.Fatalf("got %+v", after)
		}
	})
}

func FuzzRelearn(f *testing.F) {
	for _, seed := range []string{`{"windows":{"https://api.example.com/v1":{"m":32768}}}`, `{"windows":{"http://u:p@h?q":{"":1}}}`, `{"windows":{"http://[::1]:80/%zz":{}}}`, "{}", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		var c, again llm.Catalogue
		if err := c.Relearn([]byte(data)); err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Fatalf("error %q", err)
			}
			return
		}
		written := c.Learned()
		if err := again.Relearn(written); err != nil || !bytes.Equal(written, again.Learned()) {
			t.Fatalf("%v: wrote %s, read %s", err, written, again.Learned())
		}
	})
}

func BenchmarkFind(b *testing.B) {
	c := llm.DefaultCatalogue()
	for b.Loop() {
		if _, ok := c.Find("", "openrouter/anthropic/claude-opus-4.5"); !ok {
			b.Fatal("not found")
		}
	}
}

// A price holds at its provider, and a user's word everywhere.
func TestPriceAt(t *testing.T) {
	for endpoint, want := range map[string]string{
		"https://api.openai.com/v1/chat/completions": "openai", "https://api.anthropic.com/v1/messages": "anthropic", "https://openrouter.ai/api/v1": "openrouter",
		"https://api.groq.com/openai/v1": "groq", "https://api.x.ai/v1": "xai", "https://api.deepseek.com": "deepseek", "https://api.mistral.ai/v1": llm.ProviderAt("https://mistral.example/"),
		"http://127.0.0.1:8080/v1": "", "http://localhost:11434/v1": "", "http://openai.local/v1": "", "https://llm.example.com/v1": "", "": "", "://": "",
	} {
		if got := llm.ProviderAt(endpoint); got != want {
			t.Errorf("%s: %q, want %q", endpoint, got, want)
		}
	}
	c := llm.DefaultCatalogue()
	if p, ok := c.Price("https://api.openai.com/v1", "", "gpt-4o"); !ok || p.Input <= 0 {
		t.Errorf("at its vendor: %+v %v", p, ok)
	}
	// At an endpoint that is somebody else's, the provider's name tells.
	if p, ok := c.Price("", "openai", "gpt-4o"); !ok || p.Input <= 0 {
		t.Errorf("%+v, %v", p, ok)
	}
	if p, ok := c.Price("", "", "gpt-4o"); ok {
		t.Errorf("%+v", p)
	}
	if p, ok := c.Price("http://127.0.0.1:8080/v1", "", "gpt-4o"); ok {
		t.Errorf("on a machine of one's own: %+v", p)
	}
	if err := c.Override([]byte(`{"models": {"gpt-4o": {"price": {"input": 7}}}}`)); err != nil {
		t.Fatal(err)
	}
	if p, ok := c.Price("http://127.0.0.1:8080/v1", "", "gpt-4o"); !ok || p.Input != 7 {
		t.Errorf("as the user says: %+v %v", p, ok)
	}
}
