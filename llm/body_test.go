package llm

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestBody(t *testing.T) {
	p := Prompt{Model: "m", System: "Be \"brief\".", User: "a\nb", MaxTokens: 100}
	for api, want := range map[API]string{
		Anthropic: `{"model":"m","max_tokens":100,"system":"Be \"brief\".","messages":[{"role":"user","content":[{"type":"text","text":"a\nb"}]}],"stream":true}`,
		Chat:      `{"model":"m","max_tokens":100,"messages":[{"role":"system","content":"Be \"brief\"."},{"role":"user","content":"a\nb"}],"stream":true,"stream_options":{"include_usage":true}}`,
		Responses: `{"model":"m","instructions":"Be \"brief\".","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a\nb"}]}],"max_output_tokens":100,"store":false,"stream":true}`,
		"smoke":   "",
	} {
		got := api.Body(p)
		if string(got) != want {
			t.Errorf("%s: got %s", api, got)
		}
		if want == "" {
			continue
		}
		if d, ok := Detect(got); !ok || d != api {
			t.Errorf("%s: detected as %q", api, d)
		}
		if n, ok := api.OutputLimit(got); n != 100 || !ok || api.Model(got) != "m" {
			t.Errorf("%s: got the limit %d, %t, and the model %q", api, n, ok, api.Model(got))
		}
		bare := api.Body(Prompt{Model: "m", User: "x", MaxTokens: 1})
		if !json.Valid(bare) || strings.Contains(string(bare), "system") || strings.Contains(string(bare), "instructions") {
			t.Errorf("%s: got %s", api, bare)
		}
	}
}

func TestOutputLimit(t *testing.T) {
	for _, tc := range []struct {
		api        API
		body       string
		has        int // 0 for none
		want, fail string
	}{
		{api: Anthropic, body: `{"max_tokens": 10 ,"model":"m"}`, has: 10, want: `{"max_tokens": 77 ,"model":"m"}`},
		{api: Anthropic, body: `{"model":"m" }`, want: `{"model":"m","max_tokens":77 }`},
		{api: Anthropic, body: `{"thinking":{"type":"enabled","budget_tokens":76},"max_tokens":100}`, has: 100, want: `{"thinking":{"type":"enabled","budget_tokens":76},"max_tokens":77}`},
		{api: Anthropic, body: `{"thinking":{"type":"enabled","budget_tokens":77},"max_tokens":100}`, has: 100, fail: "think for 77 tokens"},
		{api: Chat, body: `{"max_tokens":10}`, has: 10, want: `{"max_tokens":77}`},
		{api: Chat, body: `{"max_completion_tokens":10}`, has: 10, want: `{"max_completion_tokens":77}`},
		{api: Chat, body: `{"max_tokens":10,"max_completion_tokens":20}`, has: 20, want: `{"max_tokens":77,"max_completion_tokens":77}`},
		{api: Chat, body: ` {}`, want: ` {"max_tokens":77}`},
		{api: Chat, body: `{"max_tokens":null}`, want: `{"max_tokens":77}`},
		{api: Chat, body: `{"max_tokens":5,"max_tokens":10}`, has: 10, want: `{"max_tokens":5,"max_tokens":77}`},
		{api: Responses, body: `{"max_output_tokens":10,"max_tokens":5}`, has: 10, want: `{"max_output_tokens":77,"max_tokens":5}`},
		{api: Responses, body: `[]`, fail: "no JSON object"},
		{api: Responses, body: `{"a":1} {}`, fail: "something follows"},
		{api: Responses, body: `{`, fail: "unexpected end"},
	} {
		if n, ok := tc.api.OutputLimit([]byte(tc.body)); n != tc.has || ok != (tc.has > 0) {
			t.Errorf("%s: got the limit %d, %t", tc.body, n, ok)
		}
		got, err := tc.api.WithOutputLimit([]byte(tc.body), 77)
		switch {
		case tc.fail == "" && (err != nil || string(got) != tc.want):
			t.Errorf("%s: got %s, %v", tc.body, got, err)
		case tc.fail != "" && (err == nil || !strings.Contains(err.Error(), tc.fail)):
			t.Errorf("%s: got %s, %v", tc.body, got, err)
		}
	}
	if _, err := Chat.WithOutputLimit([]byte(`{}`), 0); err == nil {
		t.Error("a limit of nothing was taken")
	}
}

func TestModel(t *testing.T) {
	for body, want := range map[string]string{
		`{"model":"a","model":"b"}`: "b", `{}`: "", `x`: "", `{"model":1}`: "",
	} {
		if got := Chat.Model([]byte(body)); got != want {
			t.Errorf("%s: got %q", body, got)
		}
	}
}

func TestRenameAndRemove(t *testing.T) {
	for _, tc := range []struct{ body, renamed, removed string }{
		{`{"a":1,"b":2}`, `{"z":1,"b":2}`, `{"b":2}`},
		{` { "b":2, "a" : {"a":1} } `, ` { "b":2, "z" : {"a":1} } `, ` { "b":2 } `},
		{`{"\u0061":1,"a":2}`, `{"z":1,"z":2}`, `{}`},
		{`{"b":{"a":1}}`, "", ""},
		{`{"a":1,"z":2}`, "", `{"z":2}`},
		{`[]`, "", ""},
	} {
		got, ok := renameMember([]byte(tc.body), "a", "z")
		if string(got) != tc.renamed || ok != (tc.renamed != "") {
			t.Errorf("%s renamed is %s", tc.body, got)
		}
		got, ok = removeMember([]byte(tc.body), "a")
		if string(got) != tc.removed || ok != (tc.removed != "") {
			t.Errorf("%s removed is %s", tc.body, got)
		}
	}
}

func TestDetect(t *testing.T) {
	for body, want := range map[string]API{
		`{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"x"}]}`:                                            Chat,
		`{"model":"m","system":"s","messages":[{"role":"user","content":"x"}]}`:                                              Anthropic,
		`{"anthropic_version":"bedrock-2023-05-31","messages":[]}`:                                                           Anthropic,
		`{"tools":[{"name":"x","input_schema":{}}],"messages":[]}`:                                                           Anthropic,
		`{"tools":[{"type":"function","function":{"name":"x"}}],"messages":[]}`:                                              Chat,
		`{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a"}]}]}`:         Anthropic,
		`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`:                                Anthropic,
		`{"messages":[{"role":"user","content":[{"type":"image_url"}]},{"role":"user","content":[{"type":"tool_result"}]}]}`: Chat,
		`{"messages":[{"role":"assistant","content":null,"tool_calls":[]},{"role":"user","content":[{"type":"thinking"}]}]}`: Chat,
		`{"messages":[{"role":"tool","content":[{"type":"text"}]}]}`:                                                         Chat,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`:                                              Chat,
		`{"model":"m","input":"x"}`:       Responses,
		`{"input":[{"role":"user"}]}`:     Responses,
		`{"input":null}`:                  "",
		`{"model":"m"}`:                   "",
		`{"messages":"x"}`:                "",
		`[{"role":"user","content":"x"}]`: "",
		`{"messages":[]`:                  "",
		``:                                "",
	} {
		if got, ok := Detect([]byte(body)); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %t", body, got, ok)
		}
	}
}

func TestNotRequest(t *testing.T) {
	for _, api := range protocols {
		for _, body := range []string{
			``, `x`, `[]`, `null`, `{"model":"m"`, `{"model":"m"} x`, `{}`, `{"model":""}`, `{"model":"m"}`, `{"model":"m","messages":[]}`,
			`{"model":"m","messages":{}}`, `{"model":"m","input":""}`, `{"model":"m","input":[]}`, `{"messages":[{"role":"user","content":"x"}],"input":"x"}`,
		} {
			if out, err := api.Extend([]byte(body), "x"); !errors.Is(err, ErrNotRequest) || errors.Is(err, ErrForced) {
				t.Errorf("%s: %s: got %s, %v", api, body, out, err)
			}
		}
	}
	if _, err := API("smoke").Extend([]byte(`{"model":"m","messages":[{}]}`), "x"); !errors.Is(err, ErrNotRequest) {
		t.Errorf("got %v", err)
	}
}
