package wire

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican/internal/formattest"
)

func TestSniff(t *testing.T) {
	for _, test := range []struct {
		name, in string
		want     Family
	}{
		{"claude by name", `{"model":"claude-x","max_tokens":1,"messages":[{"role":"user","content":"a"}]}`, Anthropic},
		{"claude behind a compatible provider", `{"model":"anthropic/claude-x","messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}]}`, Chat},
		{"system beside the messages", `{"model":"m","system":"s","messages":[{"role":"user","content":"a"}]}`, Anthropic},
		{"system among Anthropic's messages", `{"model":"m","max_tokens":1,"system":"s","messages":[{"role":"user","content":"a"},{"role":"system","content":"b"}]}`, Anthropic},
		{"tools of Anthropic", `{"model":"m","messages":[{"role":"user","content":"a"}],"tools":[{"name":"x","input_schema":{}}]}`, Anthropic},
		{"tools of Anthropic's servers", `{"model":"m","messages":[{"role":"user","content":"a"}],"tools":[{"name":"x","type":"web_search_20250305"}]}`, Anthropic},
		{"tools of Chat", `{"model":"claude-x","max_tokens":1,"messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"x"}}]}`, Chat},
		{"tool calls decide", `{"model":"claude-x","max_tokens":1,"system":"odd","messages":[{"role":"assistant","content":null,"tool_calls":[{}]}]}`, Chat},
		{"tool results decide", `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"x"}]}],"n":1}`, Anthropic},
		{"nothing decides", `{"model":"m","messages":[{"role":"user","content":"a"}]}`, Chat},
		{"byte order mark", "\uFEFF" + ` {"model":"m","messages":[{"role":"user","content":"a"}]}`, Chat},
		{"no model but known parameters", `{"messages":[{"role":"user","content":"a"}],"temperature":1}`, Chat},
		{"no model and unknown members", `{"messages":[{"role":"user","content":"a"}],"info":{}}`, Neither},
		{"bare, with roles of Chat", `[{"role":"system","content":"s"},{"role":"user","content":"a"}]`, Chat},
		{"bare, with lists", `[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"b"}]}]`, Anthropic},
		{"bare, with times", `[{"role":"user","content":"a","ts":1}]`, Anthropic},
		{"bare, with nothing that decides", `[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]`, Chat},
		{"recorded, by its path", `{"path":"/v1/messages?beta=true","body":{"model":"m","messages":[{"role":"user","content":"a"}]}}`, Anthropic},
		{"recorded, by its address", `{"request":{"uri":"https://x/v1/chat/completions","body":{"model":"claude-x","max_tokens":1,"messages":[{"role":"user","content":"a"}]}},"response":{}}`, Chat},
		{"log that starts with something else", `{"request":{"contents":[]},"response":{}}` + "\n" + `{"request":{"model":"m","messages":[{"role":"user","content":"a"}]},"response":{}}`, Chat},
		{"body of the Responses API", `{"model":"m","input":[{"role":"user","content":"a"}],"messages":[]}`, Neither},
		{"items of the Responses API", `[{"role":"user","content":[{"type":"input_text","text":"a"}]}]`, Neither},
		{"typed items", `[{"type":"message","role":"user","content":"a"}]`, Neither},
		{"messages with parts", `{"messages":[{"role":"user","parts":[]}],"model":"m"}`, Neither},
		{"another role", `[{"role":"model","content":"a"}]`, Neither},
		{"session of pi", `{"type":"session","version":3}` + "\n" + `{"type":"message","message":{"role":"user","content":"a"}}`, Neither},
		{"lines of Claude Code", `{"type":"user","message":{"role":"user","content":"a"}}`, Neither},
		{"rollout of Codex", `{"timestamp":"","type":"response_item","payload":{"role":"user"}}`, Neither},
		{"answer of the model", `{"id":"msg","type":"message","role":"assistant","content":[]}`, Neither},
		{"empty list", `[]`, Neither},
		{"empty", ``, Neither},
		{"text", `hello`, Neither},
		{"cut off", `{"model":"m","messages":[{"role":"user"`, Neither},
	} {
		if got := Sniff([]byte(test.in)); got != test.want {
			t.Errorf("%s: Sniff = %d, want %d", test.name, got, test.want)
		}
	}
}

// TestSniffCorpus wants no file of another format taken for a request.
func TestSniffCorpus(t *testing.T) {
	want := map[string]Family{"openai-chat": Chat, "anthropic-messages": Anthropic}
	for _, in := range formattest.Corpus(t, "corpus/*/*", "corpus/*/*/*", "clients/recorded/*/*") {
		folder := filepath.Dir(in.Name)
		w := want[folder]
		switch {
		case strings.Contains(folder, "anthropic"):
			w = Anthropic
		case strings.Contains(folder, "completions"), strings.Contains(folder, "compatible"), folder == "continue-openai":
			w = Chat
		case strings.HasSuffix(in.Name, "api_conversation_history.json"):
			w = Anthropic // messages as Anthropic takes them, with a time
		case in.Name == "mini-swe-agent/github-issue.traj.json":
			w = Chat // nothing but a list of messages
		}
		if got := Sniff(in.Data); got != w {
			t.Errorf("%s: Sniff = %d, want %d", in.Name, got, w)
		}
	}
}
