package modeltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/pemmican-dev/pemmican/internal/modeltest"
	"github.com/pemmican-dev/pemmican/llm"
)

var update = flag.Bool("update", false, "write the text archives in testdata anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client keeps no connections, which would outlive their test.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

var apis = []modeltest.API{modeltest.Anthropic, modeltest.Chat, modeltest.Responses}

var paths = map[modeltest.API]string{
	modeltest.Anthropic: "/v1/messages",
	modeltest.Chat:      "/v1/chat/completions",
	modeltest.Responses: "/v1/responses",
}

// asks are a small request by each API, with a place for more members.
var asks = map[modeltest.API]string{
	modeltest.Anthropic: `{"model":"m","max_tokens":100,"messages":[{"role":"user","content":"Hello"}]%s}`,
	modeltest.Chat:      `{"model":"m","messages":[{"role":"user","content":"Hello"}]%s}`,
	modeltest.Responses: `{"model":"m","input":"Hello"%s}`,
}

func ask(api modeltest.API, more string) string { return fmt.Sprintf(asks[api], more) }

// streaming asks for a stream with usage.
func streaming(api modeltest.API) string {
	if api == modeltest.Chat {
		return ask(api, `,"stream":true,"stream_options":{"include_usage":true}`)
	}
	return ask(api, `,"stream":true`)
}

func request(ctx context.Context, server *modeltest.Server, path, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL()+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Anthropic-Version", "2023-06-01")
	return client.Do(req)
}

// result is what came of a request. err is of reading the body.
type result struct {
	status int
	header http.Header
	body   string
	err    error
}

func post(t rapid.TB, server *modeltest.Server, path, body string) result {
	t.Helper()
	r, err := request(context.Background(), server, path, body)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	b, err := io.ReadAll(r.Body)
	return result{r.StatusCode, r.Header, string(b), err}
}

// sse is an event as a client sees it.
type sse struct{ name, data string }

// events reads a stream as the standard of server-sent events says.
func events(stream string) []sse {
	var out []sse
	var e sse
	for line := range strings.Lines(stream) {
		field, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case strings.TrimRight(line, "\r\n") == "":
			if e != (sse{}) {
				out = append(out, e)
			}
			e = sse{}
		case field == "event":
			e.name = value
		case field == "data":
			e.data += value
		}
	}
	return out
}

// text is what a stream says, whichever API it is of: text, reasoning and arguments.
func text(t rapid.TB, stream string) (said, thought, args string) {
	t.Helper()
	for _, e := range events(stream) {
		if e.data == "[DONE]" {
			continue
		}
		var v struct {
			Type    string
			Delta   json.RawMessage
			Choices []struct {
				Delta struct {
					Content   string
					Reasoning string                                          `json:"reasoning_content"`
					ToolCalls []struct{ Function struct{ Arguments string } } `json:"tool_calls"`
				}
			}
		}
		if err := json.Unmarshal([]byte(e.data), &v); err != nil {
			t.Fatalf("%q: %v", e.data, err)
		}
		if v.Type != e.name {
			t.Errorf("the event %q is of type %q", e.name, v.Type)
		}
		var block struct {
			Text, Thinking string
			PartialJSON    string `json:"partial_json"`
		}
		var delta string
		_ = json.Unmarshal(v.Delta, &block)
		_ = json.Unmarshal(v.Delta, &delta)
		said, thought, args = said+block.Text, thought+block.Thinking, args+block.PartialJSON
		switch v.Type {
		case "response.output_text.delta":
			said += delta
		case "response.reasoning_summary_text.delta":
			thought += delta
		case "response.function_call_arguments.delta":
			args += delta
		}
		for _, c := range v.Choices {
			said, thought = said+c.Delta.Content, thought+c.Delta.Reasoning
			for _, call := range c.Delta.ToolCalls {
				args += call.Function.Arguments
			}
		}
	}
	return said, thought, args
}

// The words for the APIs are those of package llm.
func TestNames(t *testing.T) {
	for _, pair := range [][2]string{
		{string(modeltest.Anthropic), string(llm.Anthropic)},
		{string(modeltest.Chat), string(llm.Chat)},
		{string(modeltest.Responses), string(llm.Responses)},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%q is %q in package llm", pair[0], pair[1])
		}
	}
}

// TestGolden compares what the server answers, streaming and plain, by each API, with the text archives in testdata.
func TestGolden(t *testing.T) {
	calls := []modeltest.Call{{Name: "read", Args: map[string]any{"path": "a.go"}}, {Name: "bash", Args: `{"command": "ls"}`}}
	for _, test := range []struct {
		name, intent string
		reply        modeltest.Reply
	}{
		{"text", "A text, with a usage that the script gives.",
			modeltest.Reply{Text: "It says <alpha> — ok.", Usage: modeltest.Usage{Input: 120, CacheRead: 80, CacheWrite: 30, Output: 9}}},
		{"calls", "Reasoning, a text and two parallel calls. Their ids are counted.",
			modeltest.Reply{Reasoning: "Which file?", Text: "I look.", Calls: calls}},
		{"hidden", "Reasoning that cannot be read, and nothing else.",
			modeltest.Reply{Reasoning: "Which file?", HiddenReasoning: true}},
		{"refusal", "A refusal, told apart from the text.",
			modeltest.Reply{Text: "Well.", Refusal: "I will not."}},
		{"no-usage", "No usage is reported, and the text comes in one piece.",
			modeltest.Reply{Text: "Hello", NoUsage: true, Pieces: 1}},
		{"error", "An error in place of an answer.",
			modeltest.Reply{Status: 529, Error: modeltest.Error{Message: "Overloaded"}}},
		{"error-inside", "An error behind the first three events.",
			modeltest.Reply{Text: "Hello", ErrorAt: modeltest.Events(3), Error: modeltest.Error{Code: "context_length_exceeded", Message: "Too long."}}},
		{"framing", "Comments first, then lines that end with CRLF, no space behind the colon, and \\u escapes.",
			modeltest.Reply{Text: "é😀", KeepAlives: 1, Framing: modeltest.CRLF | modeltest.Tight | modeltest.Escaped}},
		{"only-done", "A stream without an answer.", modeltest.Reply{OnlyDone: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := &txtar.Archive{Comment: []byte(test.intent + "\n\n")}
			for _, api := range apis {
				// A server of its own for each answer, so that all ids begin with 1.
				include := ""
				if api == modeltest.Responses {
					include = `,"include":["reasoning.encrypted_content"]`
				}
				for _, kind := range []string{"stream", "plain"} {
					body := ask(api, include)
					if kind == "stream" {
						body = strings.TrimSuffix(streaming(api), "}") + include + "}"
					}
					r := post(t, modeltest.Start(t, test.reply), paths[api], body)
					if r.err != nil {
						t.Fatal(r.err)
					}
					data := fmt.Sprintf("%d %s\n\n%s", r.status, r.header.Get("Content-Type"), r.body)
					data = strings.TrimRight(strings.ReplaceAll(data, "\r", "␍"), "\n") + "\n" // what an archive cannot hold
					got.Files = append(got.Files, txtar.File{Name: string(api) + " " + kind, Data: []byte(data)})
				}
			}
			file := filepath.Join("testdata", test.name+".txtar")
			if *update {
				if err := os.WriteFile(file, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(txtar.Format(got))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// The word for the end is the script's, or what the answer holds.
func TestStops(t *testing.T) {
	call := []modeltest.Call{{Name: "x", Args: "{}"}}
	for _, test := range []struct {
		reply                      modeltest.Reply
		anthropic, chat, responses string
	}{
		{modeltest.Reply{Text: "a"}, `"stop_reason":"end_turn"`, `"finish_reason":"stop"`, `"status":"completed","background"`},
		{modeltest.Reply{Calls: call}, `"stop_reason":"tool_use"`, `"finish_reason":"tool_calls"`, `"status":"completed","background"`},
		{modeltest.Reply{Text: "a", Stop: "max_output_tokens"}, `"stop_reason":"max_output_tokens"`, `"finish_reason":"max_output_tokens"`,
			`"status":"incomplete","background":false,"error":null,"incomplete_details":{"reason":"max_output_tokens"}`},
		{modeltest.Reply{Text: "a", Stop: "cancelled"}, `"stop_reason":"cancelled"`, `"finish_reason":"cancelled"`, `"status":"cancelled","background"`},
	} {
		server := modeltest.Start(t)
		for api, want := range map[modeltest.API]string{modeltest.Anthropic: test.anthropic, modeltest.Chat: test.chat, modeltest.Responses: test.responses} {
			for _, body := range []string{ask(api, ""), streaming(api)} {
				server.Script(test.reply)
				r := post(t, server, paths[api], body)
				if !strings.Contains(r.body, want) {
					t.Errorf("%s: no %s in %s", api, want, r.body)
				}
				if list := events(r.body); api == modeltest.Responses && body != ask(api, "") {
					_, status, _ := strings.Cut(strings.Split(want, ",")[0], ":")
					if last := list[len(list)-1].name; last != "response."+strings.Trim(status, `"`) {
						t.Errorf("%s: the last event is %s", want, last)
					}
				}
			}
		}
	}
}

func TestScript(t *testing.T) {
	server := modeltest.Start(t, modeltest.Reply{Text: "first"})
	say := func() string {
		t.Helper()
		said, _, _ := text(t, post(t, server, "/any/prefix/v1/chat/completions", streaming(modeltest.Chat)).body)
		return said
	}
	if got := []string{say(), say()}; !slices.Equal(got, []string{"first", "done"}) {
		t.Errorf("the answers are %q", got)
	}
	server.Script(
		modeltest.Reply{Answer: func(r modeltest.Request) modeltest.Reply {
			return modeltest.Reply{Text: fmt.Sprintf("%d of %d", r.Tokens, len(server.Requests()))}
		}},
		modeltest.Reply{Text: "again", Repeat: true},
		modeltest.Reply{Text: "never"},
	)
	size := len(streaming(modeltest.Chat))
	if got, want := []string{say(), say(), say()}, []string{fmt.Sprintf("%d of 3", size/4), "again", "again"}; !slices.Equal(got, want) {
		t.Errorf("the answers are %q, want %q", got, want)
	}
	server.Reset()
	server.Configure(modeltest.Config{Count: func(r modeltest.Request) int { return 7 * len(r.Messages()) }})
	server.Script(modeltest.Reply{Calls: []modeltest.Call{{Name: "a", Args: "{}"}, {Name: "b", Args: "{}"}}}, modeltest.Reply{Calls: []modeltest.Call{{Name: "c", Args: "{}"}}})
	both := post(t, server, "/v1/chat/completions", ask(modeltest.Chat, "")).body + post(t, server, "/v1/messages", ask(modeltest.Anthropic, "")).body
	for _, part := range []string{`"call_1"`, `"call_2"`, `"toolu_3"`, `"prompt_tokens":7,`, `"input_tokens":7,`} {
		if !strings.Contains(both, part) {
			t.Errorf("no %s in %s", part, both)
		}
	}
	requests := server.Requests()
	if len(requests) != 2 || requests[0].API != modeltest.Chat || requests[1].Path != "/v1/messages" ||
		string(requests[0].Body) != ask(modeltest.Chat, "") || requests[1].MaxTokens != 100 || requests[1].Model != "m" {
		t.Errorf("the requests are %+v", requests)
	}
	// What cannot be marshalled is told where it would stand.
	server.Script(modeltest.Reply{Calls: []modeltest.Call{{Name: "bad", Args: func() {}}}})
	if r := post(t, server, "/v1/chat/completions", ask(modeltest.Chat, "")); !strings.Contains(r.body, "modeltest: the arguments of bad") {
		t.Errorf("the answer is %s", r.body)
	}
}

func TestOtherPaths(t *testing.T) {
	server := modeltest.Start(t)
	key := strings.Join([]string{"sk", "made", "up", "for", "this"}, "-")
	server.Configure(modeltest.Config{Key: key, Window: 5000, Models: []string{"one", "two"}})
	do := func(method, path string, header ...string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL()+path, strings.NewReader(ask(modeltest.Anthropic, "")))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		r, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(b)
	}
	bearer := []string{"Authorization", "Bearer " + key}
	anthropic := []string{"X-Api-Key", key, "Anthropic-Version", "2023-06-01"}
	for _, test := range []struct {
		method, path string
		header       []string
		status       int
		body         string
	}{
		{"GET", "/v1/models", bearer, 200, `{"object":"list","data":[{"id":"one","object":"model","created":1,"owned_by":"scripted","max_model_len":5000},` +
			`{"id":"two","object":"model","created":1,"owned_by":"scripted","max_model_len":5000}]}`},
		{"GET", "/v1/models/two", anthropic, 200, `{"type":"model","id":"two","display_name":"two","created_at":"2025-01-01T00:00:00Z","max_input_tokens":5000}`},
		{"GET", "/v1/models", anthropic, 200, `{"data":[{"type":"model","id":"one","display_name":"one","created_at":"2025-01-01T00:00:00Z","max_input_tokens":5000},` +
			`{"type":"model","id":"two","display_name":"two","created_at":"2025-01-01T00:00:00Z","max_input_tokens":5000}],"has_more":false,"first_id":"one","last_id":"two"}`},
		{"GET", "/v1/models/three", bearer, 404, `{"error":{"message":"The model 'three' does not exist","type":"invalid_request_error","param":null,"code":"model_not_found"}}`},
		{"POST", "/v1/messages/count_tokens?beta=true", anthropic, 200, fmt.Sprintf(`{"input_tokens":%d}`, len(ask(modeltest.Anthropic, ""))/4)},
		{"POST", "/v1/other", bearer, 404, `{"error":{"message":"Invalid URL (POST /v1/other)","type":"invalid_request_error","param":null,"code":null}}`},
		{"GET", "/v1/messages", anthropic, 405, `{"type":"error","error":{"type":"invalid_request_error","message":"Not allowed to GET on /v1/messages."},"request_id":"req_1"}`},
		{"POST", "/v1/messages", nil, 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_1"}`},
		{"GET", "/v1/models", nil, 401, `{"error":{"message":"You didn't provide an API key.","type":"invalid_request_error","param":null,"code":null}}`},
		{"POST", "/v1/responses", []string{"Authorization", "Bearer short"}, 401, `{"error":{"message":"Incorrect API key provided: *****.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`},
		{"POST", "/v1/responses", []string{"Authorization", "Bearer " + strings.Repeat("x", 20)}, 401, `{"error":{"message":"Incorrect API key provided: xxx*************xxxx.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`},
	} {
		status, body := do(test.method, test.path, test.header...)
		if status != test.status || body != test.body {
			t.Errorf("%s %s: %d %s\nwant %d %s", test.method, test.path, status, body, test.status, test.body)
		}
	}
	requests := server.Requests()
	if n := len(requests); n != 11 || requests[0].API != "" || requests[7].Refused != "invalid x-api-key" || requests[4].Path != "/v1/messages/count_tokens?beta=true" {
		t.Errorf("%d requests: %+v", n, requests)
	}
	if got, want := server.BaseURL(modeltest.Anthropic)+" "+server.BaseURL(modeltest.Responses), server.URL()+" "+server.URL()+"/v1"; got != want {
		t.Errorf("the base URLs are %s, want %s", got, want)
	}
}

func TestWindow(t *testing.T) {
	server := modeltest.Start(t, modeltest.Reply{Text: "kept for the one that fits"})
	server.Configure(modeltest.Config{Window: 1000, Count: func(r modeltest.Request) int { return len(r.Messages()[0].Text) }})
	bodies := map[modeltest.API]string{
		modeltest.Anthropic: `{"model":"m","max_tokens":%d,"messages":[{"role":"user","content":"%s"}]}`,
		modeltest.Chat:      `{"model":"m","max_tokens":%d,"messages":[{"role":"user","content":"%s"}]}`,
		modeltest.Responses: `{"model":"m","max_output_tokens":%d,"input":"%s"}`,
	}
	for api, want := range map[modeltest.API][2]string{
		modeltest.Anthropic: {"prompt is too long: 1001 tokens > 1000 maximum",
			"input length and `max_tokens` exceed context limit: 900 + 101 > 1000, decrease input length or `max_tokens` and try again"},
		modeltest.Chat: {"This model's maximum context length is 1000 tokens. However, your messages resulted in 1001 tokens. Please reduce the length of the messages.",
			"This model's maximum context length is 1000 tokens. However, you requested 1001 tokens (900 in the messages, 101 in the completion). Please reduce the length of the messages or completion."},
		modeltest.Responses: {"Input tokens exceed the configured limit of 1000 tokens. Your messages resulted in 1001 tokens. Please reduce the length of the messages.",
			"This model's maximum context length is 1000 tokens. However, you requested 1001 tokens (900 in the messages, 101 in the completion). Please reduce the length of the messages or completion."},
	} {
		for i, size := range []int{1001, 900} {
			r := post(t, server, paths[api], fmt.Sprintf(bodies[api], 101, strings.Repeat("x", size)))
			if message(t, r.body) != want[i] || r.status != 400 {
				t.Errorf("%s: %d %s", api, r.status, r.body)
			}
			if api != modeltest.Anthropic && !strings.Contains(r.body, `"code":"context_length_exceeded"`) {
				t.Errorf("%s: no code in %s", api, r.body)
			}
		}
	}
	r := post(t, server, paths[modeltest.Chat], fmt.Sprintf(bodies[modeltest.Chat], 100, strings.Repeat("x", 900)))
	if r.status != 200 || !strings.Contains(r.body, "kept for the one that fits") {
		t.Errorf("what fits is answered with %d %s", r.status, r.body)
	}
}

// message is the text of an error.
func message(t rapid.TB, body string) string {
	t.Helper()
	var v struct{ Error struct{ Message string } }
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v in %q", err, body)
	}
	return v.Error.Message
}

// However a stream is framed and torn, it says the same.
func TestFraming(t *testing.T) {
	server := modeltest.Start(t)
	rapid.Check(t, func(rt *rapid.T) {
		said := rapid.StringOf(rapid.SampledFrom([]rune("aé字😀\"\\\n\u2028<"))).Draw(rt, "text")
		args := rapid.SampledFrom([]string{`{}`, `{"path":"é\n\"\\\ud83d\ude00"}`}).Draw(rt, "args")
		reply := modeltest.Reply{
			Text:       said,
			Reasoning:  "thought " + said,
			Calls:      []modeltest.Call{{Name: "x", Args: args}},
			Framing:    modeltest.Framing(rapid.IntRange(0, 31).Draw(rt, "framing")),
			Pieces:     rapid.IntRange(0, 5).Draw(rt, "pieces"),
			KeepAlives: rapid.IntRange(0, 2).Draw(rt, "keep-alives"),
		}
		server.Script(reply)
		api := rapid.SampledFrom(apis).Draw(rt, "api")
		r := post(t, server, paths[api], streaming(api))
		gotText, gotThought, gotArgs := text(t, r.body)
		if gotText != said || gotThought != reply.Reasoning || gotArgs != args || r.err != nil {
			rt.Fatalf("%q, %q, %q (%v), want %q and %q\n%s", gotText, gotThought, gotArgs, r.err, said, args, r.body)
		}
	})
}

func TestFaults(t *testing.T) {
	const whole = "one two"
	for _, api := range apis {
		t.Run(string(api), func(t *testing.T) {
			server := modeltest.Start(t)
			get := func(r modeltest.Reply) result {
				t.Helper()
				r.Text = whole
				server.Script(r)
				return post(t, server, paths[api], streaming(api))
			}
			all := get(modeltest.Reply{})
			n := len(events(all.body))
			if all.err != nil || !strings.Contains(all.body[strings.LastIndex(all.body, "data:"):], endMark[api]) {
				t.Fatalf("the whole answer: %v %s", all.err, all.body)
			}

			r := get(modeltest.Reply{EndAt: modeltest.Ending})
			if said, _, _ := text(t, r.body); r.err != nil || said != whole || strings.Contains(r.body, endMark[api]) {
				t.Errorf("no ending: %v %s", r.err, r.body)
			}
			r = get(modeltest.Reply{EndAt: modeltest.Events(-1)})
			if got := len(events(r.body)); r.err != nil || got != n-1 {
				t.Errorf("without the last event: %v, %d events of %d", r.err, got, n)
			}
			r = get(modeltest.Reply{DropAt: modeltest.Events(2)})
			if got := len(events(r.body)); !errors.Is(r.err, io.ErrUnexpectedEOF) || got != 2 {
				t.Errorf("broken behind two events: %v, %d events", r.err, got)
			}
			r = get(modeltest.Reply{DropAt: modeltest.Bytes(33)})
			if !errors.Is(r.err, io.ErrUnexpectedEOF) || len(r.body) != 33 {
				t.Errorf("broken behind 33 bytes: %v, %d bytes", r.err, len(r.body))
			}
			r = get(modeltest.Reply{DropAt: modeltest.Bytes(-1), Plain: true})
			if !errors.Is(r.err, io.ErrUnexpectedEOF) || json.Valid([]byte(r.body)) || !json.Valid([]byte(r.body+"}")) {
				t.Errorf("a plain answer broken before its last byte: %v %s", r.err, r.body)
			}
			server.Script(modeltest.Reply{DropAt: modeltest.Beginning})
			broken, err := request(t.Context(), server, paths[api], streaming(api))
			if !errors.Is(err, io.EOF) {
				t.Errorf("broken before the headers: %v", err)
			}
			if err == nil {
				_ = broken.Body.Close()
			}
			r = get(modeltest.Reply{Plain: true, KeepAlives: 2})
			if !strings.HasPrefix(r.body, "\n\n{") || !json.Valid([]byte(r.body)) || r.header.Get("Content-Type") != "application/json" {
				t.Errorf("plain: %q", r.body)
			}
			r = get(modeltest.Reply{Status: 502, Body: []byte("<html>"), ContentType: "text/html"})
			if r.status != 502 || r.body != "<html>" || r.header.Get("Content-Type") != "text/html" {
				t.Errorf("a body: %+v", r)
			}
			own := []byte("<html>")
			r = get(modeltest.Reply{Body: own[:1], ErrorAt: modeltest.Ending, Error: modeltest.Error{Message: "broke"}})
			if message(t, r.body) != "broke" || string(own) != "<html>" {
				t.Errorf("an error in place of a body: %+v, and the body is %q", r, own)
			}
			r = get(modeltest.Reply{Status: 413, Body: []byte{}})
			if r.status != 413 || r.body != "" {
				t.Errorf("an empty body: %+v", r)
			}
			r = get(modeltest.Reply{Status: 429, Error: modeltest.Error{Message: "slow down"}, Headers: map[string]string{"Retry-After": "2"}})
			if r.status != 429 || message(t, r.body) != "slow down" || r.header.Get("Retry-After") != "2" {
				t.Errorf("an error: %+v", r)
			}
			r = get(modeltest.Reply{Status: 503})
			if r.status != 503 || message(t, r.body) != "Service Unavailable" {
				t.Errorf("a bare status: %+v", r)
			}
			r = get(modeltest.Reply{ErrorAt: modeltest.Ending, Error: modeltest.Error{Message: "broke", Event: "error"}})
			if said, _, _ := text(t, r.body); said != whole && api != modeltest.Chat || r.status != 200 || !strings.Contains(r.body, "broke") || strings.Contains(r.body, endMark[api]) {
				t.Errorf("an error in the stream: %+v", r)
			}
			if list := events(r.body); api != modeltest.Chat && list[len(list)-1].name != "error" {
				t.Errorf("the stream ends with %v", list[len(list)-1])
			}
			r = get(modeltest.Reply{Plain: true, ErrorAt: modeltest.Ending, Error: modeltest.Error{Message: "broke"}})
			if r.status != 200 || message(t, r.body) != "broke" {
				t.Errorf("an error in a plain answer: %+v", r)
			}
		})
	}
}

// endMark stands in what ends a stream, and nowhere else.
var endMark = map[modeltest.API]string{
	modeltest.Anthropic: "message_stop",
	modeltest.Chat:      "[DONE]",
	modeltest.Responses: "response.completed",
}

// A stall lasts until the test ends it; what was sent before has arrived.
func TestStall(t *testing.T) {
	for _, api := range apis {
		t.Run(string(api), func(t *testing.T) {
			on := make(chan struct{})
			server := modeltest.Start(t, modeltest.Reply{
				Text:    "one two",
				StallAt: modeltest.Events(1),
				Stall: func(ctx context.Context) {
					select {
					case <-on:
					case <-ctx.Done():
					}
				},
			})
			r, err := request(t.Context(), server, paths[api], streaming(api))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = r.Body.Close() }()
			first := make([]byte, 10)
			if _, err := io.ReadFull(r.Body, first); err != nil {
				t.Fatal(err)
			}
			close(on)
			rest, err := io.ReadAll(r.Body)
			if said, _, _ := text(t, string(first)+string(rest)); err != nil || said != "one two" {
				t.Errorf("%q %v", said, err)
			}
		})
	}
}

// A client that goes away ends a stall, before the headers and behind them.
func TestStallUntilCancel(t *testing.T) {
	for _, at := range []modeltest.Point{modeltest.Beginning, modeltest.Events(0), modeltest.Bytes(5), modeltest.Ending} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		server := modeltest.Start(t, modeltest.Reply{StallAt: at, Stall: func(ctx context.Context) {
			cancel()
			<-ctx.Done()
			close(ended)
		}})
		r, err := request(ctx, server, "/v1/responses", streaming(modeltest.Responses))
		if err == nil {
			_, err = io.ReadAll(r.Body)
			_ = r.Body.Close()
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v: %v", at, err)
		}
		<-ended
		server.Close()
	}
}

// Close ends everything that goes on, also what nobody reads, and leaves no goroutine.
func TestClose(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	reached := make(chan struct{})
	server, err := modeltest.New(
		modeltest.Reply{StallAt: modeltest.Beginning, Stall: func(ctx context.Context) {
			close(reached)
			<-ctx.Done()
		}},
		modeltest.Reply{StallAt: modeltest.Ending},
		modeltest.Reply{Body: make([]byte, 32<<20)}, // more than buffers hold
	)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	clients.Go(func() {
		if r, err := request(ctx, server, "/v1/chat/completions", streaming(modeltest.Chat)); err == nil {
			t.Error("the stall at the beginning has ended")
			_ = r.Body.Close()
		}
	})
	<-reached
	for range 2 {
		r, err := request(ctx, server, "/v1/chat/completions", streaming(modeltest.Chat))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
	}
	server.Close()
	server.Close()
	if r, err := request(t.Context(), server, "/v1/chat/completions", "{}"); err == nil {
		t.Error("a closed server answers")
		_ = r.Body.Close()
	}
	clients.Wait()
	cancel()
	goleak.VerifyNone(t, leaks)
}
