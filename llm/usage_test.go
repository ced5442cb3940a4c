package llm

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestParseUsage has what vendors and agents report, in the shapes that their references and files show.
func TestParseUsage(t *testing.T) {
	for _, test := range []struct {
		name, data string
		want       Usage // Reported is true where Input is
	}{
		{"TOK-01: Chat, the cache within", `{"usage":{"prompt_tokens":184704,"completion_tokens":12,"total_tokens":184716,"prompt_tokens_details":{"cached_tokens":183936}}}`,
			Usage{Input: 184704, CacheRead: 183936, Output: 12}},
		{"TOK-02: Anthropic, the cache apart", `{"input_tokens":3,"cache_read_input_tokens":100000,"cache_creation_input_tokens":50000,"output_tokens":7}`,
			Usage{Input: 150003, CacheRead: 100000, CacheWrite: 50000, Output: 7}},
		{"Anthropic, the writes by how long they last", `{"usage":{"input_tokens":3,"cache_creation":{"ephemeral_5m_input_tokens":1000,"ephemeral_1h_input_tokens":2000},"output_tokens":7}}`,
			Usage{Input: 3003, CacheWrite: 3000, Output: 7}},
		{"Anthropic, the writes in both ways", `{"input_tokens":3,"cache_creation_input_tokens":3000,"cache_creation":{"ephemeral_5m_input_tokens":1000,"ephemeral_1h_input_tokens":2000},"output_tokens":7}`,
			Usage{Input: 3003, CacheWrite: 3000, Output: 7}},
		{"a byte order mark", "\ufeff" + `{"usage":{"prompt_tokens":7}}`, Usage{Input: 7}},
		{"a line of a stream", `data: {"usage":{"prompt_tokens":7}}`, Usage{Input: 7}},
		{"TOK-04: llama.cpp", `{"timings":{"cache_n":30000,"prompt_n":200,"predicted_n":40}}`, Usage{Input: 30200, CacheRead: 30000, Output: 40}},
		{"TOK-04: llama.cpp, the timings alone", `{"cache_n":30000,"prompt_n":200}`, Usage{Input: 30200, CacheRead: 30000}},
		{"TOK-04: llama.cpp, beside usage", `{"usage":{"prompt_tokens":200,"completion_tokens":40},"timings":{"cache_n":30000,"prompt_n":200}}`,
			Usage{Input: 30200, CacheRead: 30000, Output: 40}},
		{"TOK-05: what was cached counts", `{"usage":{"input_tokens":10,"cache_read_input_tokens":150000,"output_tokens":1}}`,
			Usage{Input: 150010, CacheRead: 150000, Output: 1}},
		{"TOK-19: none", `{"id":"x","choices":[{"message":{"content":"hi"}}]}`, Usage{}},
		{"TOK-19: null", `{"usage":null}`, Usage{}},
		{"TOK-19: all zero", `{"usage":{"prompt_tokens":0,"completion_tokens":0}}`, Usage{}},
		{"TOK-19: output alone", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15}}`, Usage{Output: 15}},
		{"TOK-22: not the sum over a session", `{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":4600000,"total_tokens":4600100},` +
			`"last_token_usage":{"input_tokens":40000,"cached_input_tokens":30000,"output_tokens":100,"reasoning_output_tokens":60,"total_tokens":40100}}}}`,
			Usage{Input: 40000, CacheRead: 30000, Output: 100}},
		{"Anthropic message_start", `{"type":"message_start","message":{"model":"m","usage":{"input_tokens":25,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":1}}}`,
			Usage{Input: 29, CacheRead: 4, Output: 1}},
		{"Anthropic through a proxy that adds it up", `{"input_tokens":100,"cache_read_input_tokens":80,"output_tokens":5,"total_tokens":105}`,
			Usage{Input: 100, CacheRead: 80, Output: 5}},
		{"Anthropic with a total of all", `{"input_tokens":20,"cache_read_input_tokens":80,"output_tokens":5,"total_tokens":105}`,
			Usage{Input: 100, CacheRead: 80, Output: 5}},
		{"Responses", `{"type":"response.completed","response":{"usage":{"input_tokens":300,"input_tokens_details":{"cached_tokens":256},"output_tokens":50,"output_tokens_details":{"reasoning_tokens":20},"total_tokens":350}}}`,
			Usage{Input: 300, CacheRead: 256, Output: 50}},
		{"reasoning beside the output", `{"usage":{"prompt_tokens":32,"completion_tokens":9,"total_tokens":135,"completion_tokens_details":{"reasoning_tokens":94}}}`,
			Usage{Input: 32, Output: 103}},
		{"Gemini", `{"candidates":[],"usageMetadata":{"promptTokenCount":1000,"cachedContentTokenCount":900,"candidatesTokenCount":20,"thoughtsTokenCount":30,"toolUsePromptTokenCount":5,"totalTokenCount":1055}}`,
			Usage{Input: 1005, CacheRead: 900, Output: 50}},
		{"Gemini, a stream as an array", `[{"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":1}},{"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":9}}]`,
			Usage{Input: 10, Output: 9}},
		{"Gemini, as Python writes it", `{"usage_metadata":{"prompt_token_count":7,"candidates_token_count":2}}`, Usage{Input: 7, Output: 2}},
		{"Ollama", `{"model":"m","done":true,"prompt_eval_count":26,"eval_count":290}`, Usage{Input: 26, Output: 290}},
		{"DeepSeek", `{"usage":{"prompt_tokens":1000,"prompt_cache_hit_tokens":896,"prompt_cache_miss_tokens":104,"completion_tokens":3}}`,
			Usage{Input: 1000, CacheRead: 896, Output: 3}},
		{"Mistral", `{"usage":{"prompt_tokens":64,"num_cached_tokens":32,"completion_tokens":6,"total_tokens":70}}`, Usage{Input: 64, CacheRead: 32, Output: 6}},
		{"Moonshot", `{"usage":{"prompt_tokens":64,"cached_tokens":32,"completion_tokens":6}}`, Usage{Input: 64, CacheRead: 32, Output: 6}},
		{"Groq", `{"x_groq":{"usage":{"prompt_tokens":64,"completion_tokens":6}}}`, Usage{Input: 64, Output: 6}},
		{"OpenRouter", `{"usage":{"prompt_tokens":194,"completion_tokens":2,"total_tokens":196,"cost":0.95,"prompt_tokens_details":{"cached_tokens":100,"cache_write_tokens":50}}}`,
			Usage{Input: 194, CacheRead: 100, CacheWrite: 50, Output: 2}},
		{"LiteLLM", `{"usage":{"prompt_tokens":150003,"completion_tokens":7,"total_tokens":150010,"prompt_tokens_details":{"cached_tokens":100000},"cache_creation_input_tokens":50000,"cache_read_input_tokens":100000}}`,
			Usage{Input: 150003, CacheRead: 100000, CacheWrite: 50000, Output: 7}},
		{"LangChain", `{"kwargs":{"usage_metadata":{"input_tokens":350,"output_tokens":240,"total_tokens":590,"input_token_details":{"cache_read":100,"cache_creation":200}}}}`,
			Usage{Input: 350, CacheRead: 100, CacheWrite: 200, Output: 240}},
		{"Bedrock Converse", `{"output":{"message":{}},"usage":{"inputTokens":30,"outputTokens":628,"totalTokens":1758,"cacheReadInputTokens":1000,"cacheWriteInputTokens":100}}`,
			Usage{Input: 1130, CacheRead: 1000, CacheWrite: 100, Output: 628}},
		{"Bedrock ConverseStream", `{"metadata":{"usage":{"inputTokens":30,"outputTokens":6}}}`, Usage{Input: 30, Output: 6}},
		{"Bedrock InvokeModel", `{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":17,"outputTokenCount":5,"cacheReadInputTokenCount":3}}`,
			Usage{Input: 20, CacheRead: 3, Output: 5}},
		{"a kit of JavaScript", `{"usage":{"inputTokens":100,"outputTokens":20,"totalTokens":120,"cachedInputTokens":60}}`, Usage{Input: 100, CacheRead: 60, Output: 20}},
		{"Cohere", `{"message":{"role":"assistant"},"usage":{"billed_units":{"input_tokens":5,"output_tokens":418},"tokens":{"input_tokens":71,"output_tokens":418}}}`,
			Usage{Input: 71, Output: 418}},
		{"Cohere, as it bills", `{"delta":{"usage":{"billed_units":{"input_tokens":5,"output_tokens":418}}}}`, Usage{Input: 5, Output: 418}},
		{"pi", `{"input":100,"output":5,"cacheRead":3,"cacheWrite":2,"totalTokens":110,"cost":{"total":0.1}}`, Usage{Input: 105, CacheRead: 3, CacheWrite: 2, Output: 5}},
		{"pi, a line of its file", `{"type":"message","message":{"role":"assistant","usage":{"input":100,"output":5,"cacheRead":3,"cacheWrite":2}}}`,
			Usage{Input: 105, CacheRead: 3, CacheWrite: 2, Output: 5}},
		{"Kimi", `{"usage":{"inputOther":10,"output":2,"inputCacheRead":90,"inputCacheCreation":5}}`, Usage{Input: 105, CacheRead: 90, CacheWrite: 5, Output: 2}},
		{"opencode", `{"tokens":{"input":10,"output":2,"reasoning":0,"cache":{"read":90,"write":5}}}`, Usage{Input: 105, CacheRead: 90, CacheWrite: 5, Output: 2}},
		{"Gemini's agent", `{"type":"gemini","tokens":{"input":100,"output":5,"cached":60,"thoughts":7,"tool":2,"total":114}}`, Usage{Input: 102, CacheRead: 60, Output: 12}},
		{"a cache larger than the input", `{"usage":{"prompt_tokens":10,"prompt_tokens_details":{"cached_tokens":90}}}`, Usage{Input: 100, CacheRead: 90}},
		{"floats", `{"usage":{"prompt_tokens":12.9,"completion_tokens":1e2}}`, Usage{Input: 12, Output: 100}},
		{"negative", `{"usage":{"prompt_tokens":-1,"completion_tokens":5}}`, Usage{Output: 5}},
		{"TOK-20: huge", `{"usage":{"prompt_tokens":1e300,"completion_tokens":99999999999999999999}}`, Usage{}},
		{"texts", `{"usage":{"prompt_tokens":"12","completion_tokens":[1]}}`, Usage{}},
		{"what the model said is not it", `{"role":"assistant","content":[{"type":"text","text":"{\"usage\":{\"prompt_tokens\":9}}","usage":{"prompt_tokens":9}}]}`, Usage{}},
		{"no object", `"usage"`, Usage{}},
		{"cut off", `{"usage":{"prompt_tokens":12`, Usage{}},
		{"nothing", ``, Usage{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := test.want
			want.Reported = want.Input > 0
			if got, ok := ParseUsage([]byte(test.data)); got != want || ok != want.Reported {
				t.Errorf("got %+v, %v; want %+v", got, ok, want)
			}
		})
	}
}

// TestParseUsageOfReplies: a reply's usage is the same whether the reply is read or its usage looked for.
func TestParseUsageOfReplies(t *testing.T) {
	for api, data := range map[API]string{
		Anthropic: `{"type":"message","model":"m","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"cache_read_input_tokens":10,"output_tokens":2}}`,
		Chat:      `{"model":"m","choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":13,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":10}}}`,
		Responses: `{"model":"m","status":"completed","output":[],"usage":{"input_tokens":13,"output_tokens":2,"input_tokens_details":{"cached_tokens":10}}}`,
	} {
		d := api.decoder()
		if err := read(d, strings.NewReader(data), nil); err != nil {
			t.Fatal(err)
		}
		want := Usage{Reported: true, Input: 13, CacheRead: 10, Output: 2}
		if got, _ := ParseUsage([]byte(data)); got != want || d.reply().Usage != want {
			t.Errorf("%s: got %+v and %+v", api, got, d.reply().Usage)
		}
	}
}

// TestParseUsageOfCorpus: every line of real files of agents can be asked, and those that say usage are understood.
func TestParseUsageOfCorpus(t *testing.T) {
	root := filepath.Join("..", "..", "shared", "corpus")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("no corpus: %v", err)
	}
	for _, dir := range []string{"pi", "claude-code", "codex"} {
		files, err := filepath.Glob(filepath.Join(root, dir, "*.jsonl"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		found := 0
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(data)) {
				if u, ok := ParseUsage([]byte(line)); ok {
					found++
					if u.CacheRead+u.CacheWrite > u.Input {
						t.Errorf("%s: %+v", file, u)
					}
				}
			}
		}
		if found == 0 {
			t.Errorf("%s: no usage in %d files", dir, len(files))
		}
		t.Logf("%s: %d usages in %d files", dir, found, len(files))
	}
}

func FuzzParseUsage(f *testing.F) {
	f.Add([]byte(`{"usage":{"prompt_tokens":184704,"completion_tokens":12,"prompt_tokens_details":{"cached_tokens":183936}}}`))
	f.Add([]byte(`{"input_tokens":3,"cache_read_input_tokens":1e12,"cache_creation_input_tokens":-5,"output_tokens":"7"}`))
	f.Add([]byte(`[{"usageMetadata":{"promptTokenCount":10}},{"tokens":{"input":1,"cached":2}}]`))
	f.Add([]byte(`{"timings":{"cache_n":30000,"prompt_n":200},"usage":{"inputTokens":3}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		u, ok := ParseUsage(data)
		for _, n := range []int{u.Input, u.CacheRead, u.CacheWrite, u.Output} {
			if n < 0 || n > math.MaxInt64/1024 {
				t.Fatalf("%+v", u)
			}
		}
		if ok != (u.Input > 0) || u.Reported != ok || u.CacheRead > u.Input {
			t.Fatalf("%+v, %v", u, ok)
		}
	})
}
