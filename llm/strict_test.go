package llm_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican/internal/modeltest"
	"github.com/pemmican-dev/pemmican/llm"
)

// Every request that real agents were seen to send, with an instruction behind it, is one that a strict provider takes,
// and it answers to the client. The prompt cache pays for what was there before.
func TestExtendedIsTaken(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "shared", "clients", "recorded", "*", "*.json"))
	if err != nil || len(paths) == 0 {
		t.Skip("no recorded requests beside the repository (../shared/clients/recorded)")
	}
	server := modeltest.Start(t, modeltest.Reply{Text: "What happened.", Repeat: true})
	taken := map[llm.API]int{}
	cached := map[llm.API]int{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var rec struct{ Body json.RawMessage }
		if err := json.Unmarshal(data, &rec); err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		if json.Compact(&body, rec.Body) != nil {
			continue
		}
		api, ok := llm.Detect(body.Bytes())
		if !ok {
			continue
		}
		extended, err := api.Extend(body.Bytes(), "Write it down.")
		if errors.Is(err, llm.ErrForced) {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		client := llm.Client{API: api, BaseURL: server.BaseURL(modeltest.API(api)), Retries: -1}
		server.Configure(modeltest.Config{Cache: true, Newer: api == llm.Anthropic})
		if _, err := client.Send(t.Context(), body.Bytes(), nil); err != nil {
			server.Configure(modeltest.Config{Cache: true}) // an older model's request
			if _, err := client.Send(t.Context(), body.Bytes(), nil); err != nil {
				t.Errorf("%s as it was: %v", path, err)
				continue
			}
		}
		reply, err := client.Send(t.Context(), extended, nil)
		if err != nil || reply.Text != "What happened." || reply.Stop != llm.StopEnd {
			t.Errorf("%s: %v %+v", path, err, reply)
			continue
		}
		taken[api]++
		if reply.Usage.CacheRead*10 > reply.Usage.Input*8 {
			cached[api]++
		}
	}
	t.Logf("taken %v, more than 80 %% from the cache %v", taken, cached)
	for _, api := range []llm.API{llm.Anthropic, llm.Chat, llm.Responses} {
		if taken[api] < 20 {
			t.Errorf("only %d requests of %s", taken[api], api)
		}
		if api != llm.Anthropic && cached[api] < taken[api]*9/10 { // Anthropic's cache needs marks, which not all clients set
			t.Errorf("%s: only %d of %d requests were read from the cache", api, cached[api], taken[api])
		}
	}
}

// A server that puts our key into its reply does not get it any further.
func TestReplyWithoutKey(t *testing.T) {
	const key = "KEY-secret-0123456789"
	for _, api := range []llm.API{llm.Anthropic, llm.Chat, llm.Responses} {
		server := modeltest.Start(t, modeltest.Reply{
			Text: "You came with " + key + ".", Reasoning: "The key is " + key, Calls: []modeltest.Call{{Name: "x", Args: map[string]any{"key": key}}},
		})
		client := llm.Client{API: api, BaseURL: server.BaseURL(modeltest.API(api)), Key: llm.NewKey(key)}
		reply, err := client.Send(t.Context(), api.Body(llm.Prompt{Model: "m", User: "Hello", MaxTokens: 10}), nil)
		if err != nil {
			t.Fatal(err)
		}
		if all, err := json.Marshal(reply); err != nil || bytes.Contains(all, []byte(key)) || !strings.Contains(reply.Text, "[key]") {
			t.Errorf("%s: %s, %v", api, all, err)
		}
	}
}

// A stop sequence of the agent's could cut the summary and nothing would tell, so none is in the extended request.
func TestExtendedHasNoStop(t *testing.T) {
	for api, body := range map[llm.API]string{
		llm.Anthropic: `{"model":"m","max_tokens":9,"stop_sequences":["END"],"messages":[{"role":"user","content":"a"}]}`,
		llm.Chat:      `{"stop":["END","x"],"model":"m","stream":true,"messages":[{"role":"user","content":"a"}]}`,
	} {
		out, err := api.Extend([]byte(body), "Sum up.")
		if err != nil || !json.Valid(out) || bytes.Contains(out, []byte("END")) || !bytes.Contains(out, []byte("Sum up.")) {
			t.Errorf("%s: %s, %v", api, out, err)
		}
	}
}
