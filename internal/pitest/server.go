package pitest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// Call is one tool call of a scripted reply. Pi's own tools are read, bash, edit and write.
type Call struct {
	// ID of the call. Defaults to "call_N", N counting the calls of the server.
	ID string
	// Name of the tool.
	Name string
	// Args is marshalled to the JSON text of the arguments; a string is sent as it stands.
	Args any
}

// Usage is the token count that a reply reports.
type Usage struct{ Prompt, Completion, Cached int }

// Reply is one scripted answer of the model: text, or calls (several calls are parallel ones), or both.
type Reply struct {
	Text  string
	Calls []Call
	// Usage of the reply. Defaults to 100 prompt and 10 completion tokens, or to what CountBytes says.
	Usage Usage
	// Status, when not 0 and not 200, answers with this HTTP status and an OpenAI error whose message is Text.
	Status int
	// Length ends the reply with the finish reason "length".
	Length bool
}

// Server is a scripted OpenAI Chat Completions server. It answers with its replies in order, then with the text "done",
// streaming when the request asks for it, and keeps every request.
type Server struct {
	http *httptest.Server

	mu       sync.Mutex
	script   []Reply
	next     int // reply to give
	calls    int // calls given, for their ids
	perToken int // bytes, 0 for a usage that is always the same
	requests [][]byte
}

// NewServer starts a server on the loopback interface. Close it.
func NewServer(replies ...Reply) *Server {
	s := &Server{script: replies}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// Close stops the server.
func (s *Server) Close() { s.http.Close() }

// URL is the root of the server; the API is at URL()+"/v1".
func (s *Server) URL() string { return s.http.URL }

// Script adds replies after those that are left.
func (s *Server) Script(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, replies...)
}

// CountBytes lets replies without a usage of their own report one prompt token for so many bytes of the request, as a
// real model's usage grows with the conversation.
func (s *Server) CountBytes(perToken int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.perToken = perToken
}

// Requests returns the request bodies so far, oldest first.
func (s *Server) Requests() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([][]byte(nil), s.requests...)
}

// Reset forgets the requests so far and the replies that are left.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.script, s.next = nil, nil, 0
}

// take records a request and gives the reply to it, its calls complete with ids.
func (s *Server) take(body []byte) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, body)
	r := Reply{Text: "done"}
	if s.next < len(s.script) {
		r = s.script[s.next]
		s.next++
	}
	r.Calls = append([]Call(nil), r.Calls...)
	for i := range r.Calls {
		s.calls++
		if r.Calls[i].ID == "" {
			r.Calls[i].ID = fmt.Sprintf("call_%d", s.calls)
		}
	}
	if r.Usage == (Usage{}) {
		r.Usage = Usage{Prompt: 100, Completion: 10}
		if s.perToken > 0 {
			r.Usage.Prompt = len(body) / s.perToken
		}
	}
	return r
}

type object = map[string]any

func (s *Server) serve(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost || !strings.HasSuffix(req.URL.Path, "/chat/completions") {
		http.NotFound(w, req)
		return
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var asked struct {
		Model  string `json:"model"`
		Stream bool   `json:"stream"`
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r := s.take(body)
	if r.Status != 0 && r.Status != http.StatusOK {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(r.Status)
		_ = json.NewEncoder(w).Encode(object{"error": object{"message": r.Text, "type": "invalid_request_error"}})
		return
	}
	if asked.Stream {
		stream(w, asked.Model, r)
		return
	}
	message := object{"role": "assistant", "content": nil}
	if r.Text != "" {
		message["content"] = r.Text
	}
	if calls := toolCalls(r.Calls); calls != nil {
		message["tool_calls"] = calls
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(envelope("chat.completion", asked.Model, r.Usage,
		object{"index": 0, "message": message, "finish_reason": finish(r)}))
}

// stream writes a reply as server-sent events: role, text in two pieces, calls, finish reason, usage.
func stream(w http.ResponseWriter, model string, r Reply) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(delta object, reason any, usage bool) {
		chunk := object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model,
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": reason}}}
		if usage {
			chunk["choices"], chunk["usage"] = []any{}, usageObject(r.Usage)
		}
		b, _ := json.Marshal(chunk)
		_, _ = fmt.Fprintf(w, "data: %s\n\n", b)
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
	send(object{"role": "assistant"}, nil, false)
	if text := []rune(r.Text); len(text) > 0 {
		half := (len(text) + 1) / 2
		for _, part := range [][]rune{text[:half], text[half:]} {
			if len(part) > 0 {
				send(object{"content": string(part)}, nil, false)
			}
		}
	}
	for _, call := range toolCalls(r.Calls) {
		send(object{"tool_calls": []any{call}}, nil, false)
	}
	send(object{}, finish(r), false)
	send(nil, nil, true)
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

func envelope(kind, model string, u Usage, choice object) object {
	return object{"id": "chatcmpl-1", "object": kind, "created": 1, "model": model,
		"choices": []any{choice}, "usage": usageObject(u)}
}

func usageObject(u Usage) object {
	return object{"prompt_tokens": u.Prompt, "completion_tokens": u.Completion,
		"total_tokens": u.Prompt + u.Completion, "prompt_tokens_details": object{"cached_tokens": u.Cached}}
}

func finish(r Reply) string {
	switch {
	case r.Length:
		return "length"
	case len(r.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func toolCalls(calls []Call) []any {
	var out []any
	for i, c := range calls {
		args, ok := c.Args.(string)
		if !ok {
			b, err := json.Marshal(c.Args)
			if err != nil {
				panic(err) // a mistake in the test
			}
			args = string(b)
		}
		out = append(out, object{"index": i, "id": c.ID, "type": "function",
			"function": object{"name": c.Name, "arguments": args}})
	}
	return out
}
