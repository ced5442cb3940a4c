package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	anthropicAsk = `{"role":"user","content":[{"type":"text","text":"Sum \"up\"."}]}`
	chatAsk      = `{"role":"user","content":"Sum \"up\"."}`
	responsesAsk = `{"type":"message","role":"user","content":[{"type":"input_text","text":"Sum \"up\"."}]}`
	noResultJSON = `"` + noResult + `"`
)

func TestExtend(t *testing.T) {
	for _, tc := range []struct {
		name string
		api  API
		body string
		want string // with ASK where the message stands
	}{
		{"Anthropic", Anthropic, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"x"} ],"stream":true}`, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"x"},ASK ],"stream":true}`},
		{"switch the stream on", Anthropic, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]\n}\n", "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"},ASK],\"stream\":true\n}\n"},
		{"switch it on before", Anthropic, `{"stream": false,"model":"m","messages":[{"role":"user","content":"x"}]}`, `{"stream": true,"model":"m","messages":[{"role":"user","content":"x"},ASK]}`},
		{"behind a prefill", Anthropic, `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"{"}],"stream":true}`, `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"{"},ASK],"stream":true}`},
		{"before system text at the end", Anthropic, `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"system","content":"s"}],"stream":true}`, `{"model":"m","messages":[{"role":"user","content":"x"},ASK,{"role":"system","content":"s"}],"stream":true}`},
		{"only system text", Anthropic, `{"model":"m","messages":[{"role":"system","content":"s"}],"stream":true}`, `{"model":"m","messages":[{"role":"system","content":"s"},ASK],"stream":true}`},
		{
			"open calls (ORPH-20)", Anthropic,
			`{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"text","text":"t"},{"type":"tool_use","id":"a","name":"n","input":{}},{"type":"server_tool_use","id":"s"},{"type":"tool_use","id":"\u0062","name":"n","input":{}}]}],"stream":true}`,
			`{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"text","text":"t"},{"type":"tool_use","id":"a","name":"n","input":{}},{"type":"server_tool_use","id":"s"},{"type":"tool_use","id":"\u0062","name":"n","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":NONE},{"type":"tool_result","tool_use_id":"\u0062","content":NONE},{"type":"text","text":"Sum \"up\"."}]}],"stream":true}`,
		},
		{
			"one of two is open", Anthropic,
			`{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a"},{"type":"tool_use","id":"b"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}],"stream":true}`,
			`{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a"},{"type":"tool_use","id":"b"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":NONE},{"type":"text","text":"Sum \"up\"."}]}],"stream":true}`,
		},
		{
			"it is too late for a result", Anthropic,
			`{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a"}]},{"role":"user","content":"never mind"}],"stream":true}`,
			`{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a"}]},{"role":"user","content":"never mind"},ASK],"stream":true}`,
		},

		{"Chat", Chat, `{"model":"m","messages":[{"role":"user","content":"x"}],"stream":true,"stream_options":{"include_usage":true}}`, `{"model":"m","messages":[{"role":"user","content":"x"},ASK],"stream":true,"stream_options":{"include_usage":true}}`},
		{"no stream", Chat, `{"model":"m","messages":[{"role":"user","content":"x"}]}`, `{"model":"m","messages":[{"role":"user","content":"x"},ASK],"stream":true,"stream_options":{"include_usage":true}}`},
		{"other options", Chat, `{"model":"m","stream_options":{"x":1},"messages":[{"role":"user","content":"x"}],"stream":true}`, `{"model":"m","stream_options":{"include_usage":true,"x":1},"messages":[{"role":"user","content":"x"},ASK],"stream":true}`},
		{"empty options", Chat, `{"model":"m","stream_options":{},"messages":[{"role":"user","content":"x"}],"stream":null}`, `{"model":"m","stream_options":{"include_usage":true},"messages":[{"role":"user","content":"x"},ASK],"stream":true}`},
		{"no usage wanted", Chat, `{"model":"m","stream_options":{"include_usage":false},"messages":[{"role":"user","content":"x"}],"stream":true}`, `{"model":"m","stream_options":{"include_usage":false},"messages":[{"role":"user","content":"x"},ASK],"stream":true}`},
		{
			"open calls", Chat,
			`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"z"}]},{"role":"tool","tool_call_id":"z","content":""},{"role":"assistant","tool_calls":[{"id":"a"},{"id":"b"},{"id":"c"}]},{"role":"tool","tool_call_id":"b","content":"r"}],"stream":true,"stream_options":{"include_usage":true}}`,
			`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"z"}]},{"role":"tool","tool_call_id":"z","content":""},{"role":"assistant","tool_calls":[{"id":"a"},{"id":"b"},{"id":"c"}]},{"role":"tool","tool_call_id":"b","content":"r"},` +
				`{"role":"tool","tool_call_id":"a","content":NONE},{"role":"tool","tool_call_id":"c","content":NONE},ASK],"stream":true,"stream_options":{"include_usage":true}}`,
		},
		{
			"an open call of the older protocol", Chat,
			`{"model":"m","messages":[{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}],"stream":true,"stream_options":{"include_usage":true}}`,
			`{"model":"m","messages":[{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":NONE},ASK],"stream":true,"stream_options":{"include_usage":true}}`,
		},
		{
			"an answered one", Chat,
			`{"model":"m","messages":[{"role":"assistant","function_call":{"name":"f"}},{"role":"function","name":"f","content":""}],"stream":true,"stream_options":{"include_usage":true}}`,
			`{"model":"m","messages":[{"role":"assistant","function_call":{"name":"f"}},{"role":"function","name":"f","content":""},ASK],"stream":true,"stream_options":{"include_usage":true}}`,
		},
		{
			"too late", Chat,
			`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"a"}]},{"role":"user","content":"never mind"}],"stream":true,"stream_options":{"include_usage":true}}`,
			`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"a"}]},{"role":"user","content":"never mind"},ASK],"stream":true,"stream_options":{"include_usage":true}}`,
		},

		{"Responses", Responses, `{"model":"m","input":[{"role":"user","content":"x"}],"stream":true}`, `{"model":"m","input":[{"role":"user","content":"x"},ASK],"stream":true}`},
		{"a string", Responses, `{"input": "x\n","model":"m"}`, `{"input": [{"type":"message","role":"user","content":"x\n"},ASK],"model":"m","stream":true}`},
		{"a string at the end", Responses, `{"model":"m","input":"x"}`, `{"model":"m","input":[{"type":"message","role":"user","content":"x"},ASK],"stream":true}`},
		{
			"open calls", Responses,
			`{"model":"m","stream":true,"input":[{"type":"function_call","call_id":"a"},{"type":"custom_tool_call","call_id":"b"},{"type":"function_call","call_id":"c"},{"type":"function_call_output","call_id":"a","output":""},{"type":"message","role":"user","content":"x"}]}`,
			`{"model":"m","stream":true,"input":[{"type":"function_call","call_id":"a"},{"type":"custom_tool_call","call_id":"b"},{"type":"function_call","call_id":"c"},{"type":"function_call_output","call_id":"a","output":""},{"type":"message","role":"user","content":"x"},` +
				`{"type":"custom_tool_call_output","call_id":"b","output":NONE},{"type":"function_call_output","call_id":"c","output":NONE},ASK]}`,
		},
		{
			"an id that comes again", Responses,
			`{"model":"m","stream":true,"input":[{"type":"function_call","call_id":"a"},{"type":"function_call_output","call_id":"a"},{"type":"function_call","call_id":"a"}]}`,
			`{"model":"m","stream":true,"input":[{"type":"function_call","call_id":"a"},{"type":"function_call_output","call_id":"a"},{"type":"function_call","call_id":"a"},{"type":"function_call_output","call_id":"a","output":NONE},ASK]}`,
		},
	} {
		t.Run(string(tc.api)+" "+tc.name, func(t *testing.T) {
			ask := map[API]string{Anthropic: anthropicAsk, Chat: chatAsk, Responses: responsesAsk}[tc.api]
			want := strings.NewReplacer("ASK", ask, "NONE", noResultJSON).Replace(tc.want)
			body := []byte(tc.body)
			got, err := tc.api.Extend(body, `Sum "up".`)
			if err != nil || string(got) != want || string(body) != tc.body || !json.Valid(got) {
				t.Errorf("got %s, %v\nwant %s", got, err, want)
			}
		})
	}
}

func TestExtendForced(t *testing.T) {
	for _, tc := range []struct {
		api    API
		member string
		forced bool
	}{
		{Anthropic, `"tool_choice":{"type":"auto"}`, false},
		{Anthropic, `"tool_choice":{"type":"none"}`, false},
		{Anthropic, `"tool_choice":{"type":"any"}`, true},
		{Anthropic, `"tool_choice":{"type":"tool","name":"x"}`, true},
		{Anthropic, `"output_config":{"effort":"high"}`, false},
		{Anthropic, `"output_config":{"format":{"type":"json_schema","schema":{}}}`, true},
		{Anthropic, `"output_format":{"type":"json_schema","schema":{}}`, true},
		{Anthropic, `"compaction":{"type":"summarize"}`, true},
		{Anthropic, `"compaction":null`, false},
		{Chat, `"tool_choice":"auto"`, false},
		{Chat, `"tool_choice":"none"`, false},
		{Chat, `"tool_choice":null`, false},
		{Chat, `"tool_choice":"required"`, true},
		{Chat, `"tool_choice":"any"`, true},
		{Chat, `"tool_choice":{"type":"function","function":{"name":"x"}}`, true},
		{Chat, `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[]}}`, false},
		{Chat, `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[]}}`, true},
		{Chat, `"function_call":"auto"`, false},
		{Chat, `"function_call":{"name":"x"}`, true},
		{Chat, `"response_format":{"type":"text"}`, false},
		{Chat, `"response_format":null`, false},
		{Chat, `"response_format":{"type":"json_object"}`, true},
		{Chat, `"response_format":{"type":"json_schema","json_schema":{}}`, true},
		{Chat, `"guided_json":{}`, true},
		{Chat, `"grammar":"root ::= x"`, true},
		{Responses, `"tool_choice":"auto"`, false},
		{Responses, `"tool_choice":"required"`, true},
		{Responses, `"tool_choice":{"type":"web_search"}`, true},
		{Responses, `"tool_choice":{"type":"allowed_tools","mode":"required","tools":[]}`, true},
		{Responses, `"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[]}`, false},
		{Responses, `"text":{"verbosity":"low"}`, false},
		{Responses, `"text":{"format":{"type":"text"}}`, false},
		{Responses, `"text":{"format":{"type":"json_schema","schema":{}}}`, true},
		{Responses, `"input":[{"role":"user","content":"x"},{"type":"compaction_trigger"}]`, true},
	} {
		body := `{"model":"m","messages":[{"role":"user","content":"x"}],"input":"x",` + tc.member + `}`
		out, err := tc.api.Extend([]byte(body), "x")
		if tc.forced && (!errors.Is(err, ErrForced) || out != nil) || !tc.forced && err != nil {
			t.Errorf("%s: %s: got %s, %v", tc.api, tc.member, out, err)
		}
	}
}

// decodeBody returns the messages of a body, and its other members.
func decodeBody(t testing.TB, api API, body []byte) (rest map[string]json.RawMessage, messages []json.RawMessage) {
	t.Helper()
	if err := json.Unmarshal(body, &rest); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	name := "messages"
	if api == Responses {
		name = "input"
	}
	if err := json.Unmarshal(rest[name], &messages); err != nil {
		messages = []json.RawMessage{rest[name]}
	}
	delete(rest, name)
	return rest, messages
}

// checkExtended compares a body with what Extend made of it.
func checkExtended(t testing.TB, api API, body, out []byte, instruction string) {
	t.Helper()
	before, old := decodeBody(t, api, body)
	after, messages := decodeBody(t, api, out)
	delete(before, "stream")
	delete(before, "stream_options")
	if string(after["stream"]) != "true" || api == Chat && !strings.Contains(string(after["stream_options"]), "include_usage") {
		t.Errorf("not streamed: %s", out)
	}
	delete(after, "stream")
	delete(after, "stream_options")
	if !maps.EqualFunc(before, after, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		t.Errorf("(-want +got)\n%s", cmp.Diff(before, after))
	}
	// The messages are those that were there, in their order, and what was added.
	added := len(messages) - len(old)
	if added < 1 {
		t.Fatalf("%d messages, then %d", len(old), len(messages))
	}
	kept, last := 0, json.RawMessage(nil)
	for _, m := range messages {
		if kept < len(old) && bytes.Equal(m, old[kept]) {
			kept++
		} else {
			last = m
		}
	}
	if api == Responses && len(old) == 1 && old[0][0] == '"' {
		kept++
		last = messages[len(messages)-1]
	}
	quoted, _ := json.Marshal(instruction)
	var said, want any
	if kept != len(old) || json.Unmarshal(last, &said) != nil || json.Unmarshal(quoted, &want) != nil || !strings.Contains(fmt.Sprint(said), fmt.Sprint(want)) {
		t.Errorf("kept %d of %d messages, and added %s", kept, len(old), last)
	}
}

// TestExtendRecorded extends every request that real agents were seen to send. They were decoded when they were
// recorded, so they are encoded again.
func TestExtendRecorded(t *testing.T) {
	root := filepath.Join("..", "..", "shared", "clients", "recorded")
	paths, err := filepath.Glob(filepath.Join(root, "*", "*.json"))
	if err != nil || len(paths) == 0 {
		t.Skip("no recorded requests beside the repository (../shared/clients/recorded)")
	}
	const instruction = "Write the summary now. \"Text\" only: <no tools>\n"
	count := map[API]int{}
	refused := 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var rec struct {
			Path string
			Body json.RawMessage
		}
		if err := json.Unmarshal(data, &rec); err != nil {
			t.Fatal(err)
		}
		want := map[string]API{"messages": Anthropic, "completions": Chat, "responses": Responses}[lastOf(rec.Path)]
		if want == "" {
			continue
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, rec.Body); err != nil {
			t.Fatal(err)
		}
		body := compact.Bytes()
		api, ok := Detect(body)
		if !ok || api != want {
			t.Errorf("%s: detected as %q, want %q", path, api, want)
			continue
		}
		out, err := api.Extend(body, instruction)
		if errors.Is(err, ErrForced) && (bytes.Contains(body, []byte("compaction_trigger")) || bytes.Contains(body, []byte("json_schema"))) {
			refused++
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		count[api]++
		// All of these stream already, so nothing before the message may differ.
		_, messages := decodeBody(t, api, body)
		at := bytes.LastIndex(body, messages[len(messages)-1])
		if !bytes.Contains(messages[len(messages)-1], []byte(`"role":"system"`)) {
			at += len(messages[len(messages)-1])
		}
		if !bytes.HasPrefix(out, body[:at]) {
			t.Errorf("%s: differs before byte %d, where the messages end", path, at)
		}
		checkExtended(t, api, body, out, instruction)
		if limit, ok := api.OutputLimit(body); ok {
			if again, _ := api.OutputLimit(out); again != limit {
				t.Errorf("%s: the output limit was %d and is %d", path, limit, again)
			}
		}
		if api.Model(out) == "" {
			t.Errorf("%s: no model", path)
		}
	}
	t.Logf("extended %v, refused %d", count, refused)
	for _, api := range protocols {
		if count[api] == 0 {
			t.Errorf("no request of %s was extended", api)
		}
	}
}

// lastOf returns the last part of a path without its query.
func lastOf(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return path[strings.LastIndexByte(path, '/')+1:]
}

// FuzzExtend extends whatever is a request.
func FuzzExtend(f *testing.F) {
	for _, api := range protocols {
		f.Add(prompt(api), "Sum up.", slices.Index(protocols, api))
	}
	f.Add([]byte(`{"stream":false,"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a"}],"tool_calls":[{"id":"b"}]},{"role":"system"}],"stream_options":{"x":1}}`), "\xff", 0)
	f.Add([]byte(`{"model":"m","input":[{"type":"function_call","call_id":"\ud800"}]}`), "x", 2)
	f.Add([]byte(`{"model":"m","input":"x"}`), "x", 2)
	f.Fuzz(func(t *testing.T, body []byte, instruction string, which int) {
		api := protocols[uint(which)%3]
		was := bytes.Clone(body)
		_, _ = Detect(body)
		out, err := api.Extend(body, instruction)
		if !bytes.Equal(was, body) {
			t.Fatal("the body was changed")
		}
		if err != nil {
			if !errors.Is(err, ErrNotRequest) && !errors.Is(err, ErrForced) {
				t.Errorf("got %v", err)
			}
			return
		}
		if !json.Valid(out) {
			t.Fatalf("%q became %q", body, out)
		}
		// What is removed is a value of stream or stream_options at most: all else of the body is there in its order.
		at := 0
		for _, c := range out {
			if at < len(body) && c == body[at] {
				at++
			}
		}
		if bytes.Contains(body, []byte(`stream":true`)) && api != Chat && at != len(body) {
			t.Errorf("%q became %q, without what is at byte %d", body, out, at)
		}
		if m, err := openBody(out); err != nil || m.get("model").str() != api.Model(body) {
			t.Errorf("%q became %q", body, out)
		}
		if limited, err := api.WithOutputLimit(out, 1<<20); err == nil {
			if n, ok := api.OutputLimit(limited); !ok || n != 1<<20 || !json.Valid(limited) {
				t.Errorf("%q with a limit became %q", out, limited)
			}
		}
	})
}

// BenchmarkExtend shows in B/op that the body is copied once.
func BenchmarkExtend(b *testing.B) {
	result := strings.Repeat("some text of a file\\n\\tthat was read ", 100)
	for _, api := range protocols {
		var body []byte
		switch api {
		case Anthropic:
			body = append(body, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}`...)
			for len(body) < 5<<20 {
				body = fmt.Appendf(body, `,{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"read","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%[1]d","content":"%[2]s"}]}`, len(body), result)
			}
		case Chat:
			body = append(body, `{"model":"m","messages":[{"role":"user","content":"x"}`...)
			for len(body) < 5<<20 {
				body = fmt.Appendf(body, `,{"role":"assistant","tool_calls":[{"id":"t%d","type":"function","function":{"name":"read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"t%[1]d","content":"%[2]s"}`, len(body), result)
			}
		default:
			body = append(body, `{"model":"m","input":[{"role":"user","content":"x"}`...)
			for len(body) < 5<<20 {
				body = fmt.Appendf(body, `,{"type":"function_call","call_id":"t%d","name":"read","arguments":"{}"},{"type":"function_call_output","call_id":"t%[1]d","output":"%[2]s"}`, len(body), result)
			}
		}
		body = append(body, `],"stream":true}`...)
		b.Run(string(api), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := api.Extend(body, "Sum up."); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
