// Package modeltest stands in for the providers of models, which tests cannot reach. A [Server] speaks the wire formats
// of OpenAI Chat Completions, OpenAI Responses and Anthropic Messages over real HTTP, streaming or plain as a request
// asks, and answers with a script:
//
//	server := modeltest.Start(t,
//		modeltest.Reply{Text: "I look.", Calls: []modeltest.Call{{Name: "read", Args: map[string]any{"path": "a.go"}}}},
//		modeltest.Reply{Status: 429, Error: modeltest.Error{Message: "slow down"}, Headers: map[string]string{"Retry-After": "2"}},
//		modeltest.Reply{Text: "half of wh", DropAt: modeltest.Ending},
//	)
//	// … point a client at server.BaseURL(modeltest.Chat), and look at server.Requests()
//
// It refuses what a provider refuses, with the provider's own words, unless [Config] says otherwise, so a request that
// passes here is one that can be sent. The rules are written apart from those of the packages below format, so that
// neither vouches for itself. For the same reason the package imports nothing of this module.
//
// Nothing in it sleeps, and nothing depends on the clock: ids are counted, and a stall lasts until somebody ends it.
package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// API is a provider's wire protocol. The words are those of llm.API.
type API string

// The protocols.
const (
	Anthropic API = "anthropic"        // Anthropic Messages: /v1/messages
	Chat      API = "openai"           // OpenAI Chat Completions: /v1/chat/completions
	Responses API = "openai-responses" // OpenAI Responses: /v1/responses
)

// Config is how the server treats all requests. The zero value is strict, has no limits and wants no key.
type Config struct {
	// Lax takes whatever can be read. Otherwise a request that breaks a rule of its API is refused with status 400 and
	// the provider's own text; it does not use up a reply.
	Lax bool
	// Newer is as the newer models of Anthropic are: the conversation must end with the user, and thinking that the
	// server has given must stand behind the very messages that it was given for.
	Newer bool
	// Template is as the strict chat templates behind many servers that are compatible with OpenAI's Chat Completions:
	// system text leads, there is a user, and there are no two answers at the end.
	Template bool
	// Window is the context window in tokens. A larger input is refused with the API's error for that, and so is an
	// input that leaves no room for the output that is asked for. Defaults to no limit.
	Window int
	// Key is the API key that requests must have. Defaults to none, and any is taken.
	Key string
	// Cache switches the prompt cache on: a reply without a usage of its own reports as read from the cache what an
	// earlier request began with too. That is counted in whole parts: tools, system text, then each message. With
	// Anthropic only what stands before a cache_control mark is written and read, and other parameters of thinking or
	// of the choice of tools spoil the messages, as they do there. That providers write no short prompts and forget
	// after some minutes is not imitated.
	Cache bool
	// Count returns the tokens of a request's input. Defaults to a token for every four bytes of its body. It is used
	// for the window, for the usage that replies report, and for /v1/messages/count_tokens.
	Count func(Request) int
	// Models are what /v1/models lists. Defaults to "scripted-model"; requests may name any.
	Models []string
}

// Server is a scripted model. It gives its replies in order, then the text "done", and keeps every request. It is safe
// for concurrent use.
type Server struct {
	http *http.Server
	url  string
	stop context.CancelFunc // ends all stalls
	busy sync.WaitGroup     // handlers, and the one that accepts

	mu       sync.Mutex
	closed   bool
	config   Config
	script   []Reply // those that are left
	answers  int     // given, for their ids
	calls    int     // given, for their ids
	requests []Request
	cached   map[digest]bool   // prefixes of earlier requests
	owners   map[string]string // ids of Responses items, and of the reasoning that each must stand behind
}

// Start starts a server that the end of the test closes.
func Start(t testing.TB, replies ...Reply) *Server {
	t.Helper()
	s, err := New(replies...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// New starts a server on the loopback interface. Close it. The error says that there is no port to listen on.
func New(replies ...Reply) (*Server, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("modeltest: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{
		url:    "http://" + listener.Addr().String(),
		stop:   stop,
		script: slices.Clone(replies),
		cached: map[digest]bool{},
		owners: map[string]string{},
	}
	s.http = &http.Server{
		Handler:     http.HandlerFunc(s.serve),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	s.busy.Go(func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(err) // the listener is ours alone
		}
	})
	return s, nil
}

// Close ends the server, its connections and its stalls, and returns when no handler runs any more.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	_ = s.http.Close() // what a broken listener reports helps nobody
	s.busy.Wait()
}

// URL is the root of the server. The APIs are at URL()+"/v1", and at any other path that ends like theirs.
func (s *Server) URL() string { return s.url }

// BaseURL is what the vendor's SDK takes as its base URL: with /v1 for the two APIs of OpenAI.
func (s *Server) BaseURL(api API) string {
	if api == Anthropic {
		return s.url
	}
	return s.url + "/v1"
}

// Configure replaces the configuration, for the requests that come from now on.
func (s *Server) Configure(c Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config = c
}

// Script adds replies after those that are left.
func (s *Server) Script(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, replies...)
}

// Requests returns all requests so far, also those that were refused and those for another path than a model's, in the
// order in which they came.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Reset forgets the requests so far and the replies that are left. The counts of the ids, the configuration and the
// prompt cache stay.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.script = nil, nil
}

// enter counts a handler, unless the server is closed.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.busy.Add(1)
	}
	return !s.closed
}

// record keeps a request, complete with what became of it.
func (s *Server) record(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
}

func (s *Server) current() Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.busy.Done()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client has gone
	}
	request := Request{Path: r.URL.RequestURI(), Header: r.Header.Clone(), Body: body}
	d, path := route(r)
	config := s.current()
	refuse := func(f *fault) {
		request.Refused = f.Message
		s.record(request)
		writeJSON(w, f.status, d.envelope(f.status, f.Error))
	}
	switch f := unauthorised(d, r.Header, config.Key); {
	case f != nil:
		refuse(f)
	case r.Method == http.MethodGet && (path == pathModels || path == pathModel):
		s.record(request)
		s.models(w, r, d, config)
	case path == "" || path == pathModel:
		refuse(&fault{http.StatusNotFound, Error{Message: fmt.Sprintf("Invalid URL (%s %s)", r.Method, r.URL.Path)}})
	case r.Method != http.MethodPost || path == pathModels:
		refuse(&fault{http.StatusMethodNotAllowed, Error{Message: fmt.Sprintf("Not allowed to %s on %s.", r.Method, r.URL.Path)}})
	default:
		request.API = d.api()
		s.ask(w, r, d, request, path == pathCount, config)
	}
}

// What is asked at a path.
const (
	pathAsk    = "ask"
	pathCount  = "count"
	pathModels = "models"
	pathModel  = "model"
)

// route returns whose request this is, and what it asks, "" if that is not known. At a path that both vendors have, or
// neither, a header tells who is meant.
func route(r *http.Request) (dialect, string) {
	path := r.URL.Path
	var either dialect = chatAPI{}
	if r.Header.Get("Anthropic-Version") != "" {
		either = anthropicAPI{}
	}
	switch {
	case strings.HasSuffix(path, "/v1/chat/completions"):
		return chatAPI{}, pathAsk
	case strings.HasSuffix(path, "/v1/responses"):
		return responsesAPI{}, pathAsk
	case strings.HasSuffix(path, "/v1/messages"):
		return anthropicAPI{}, pathAsk
	case strings.HasSuffix(path, "/v1/messages/count_tokens"):
		return anthropicAPI{}, pathCount
	case strings.HasSuffix(path, "/v1/models"):
		return either, pathModels
	case strings.Contains(path, "/v1/models/"):
		return either, pathModel
	}
	return either, ""
}

// fault is why a request gets no reply.
type fault struct {
	status int
	Error
}

// unauthorised returns the fault of a request that has not the key, nil if it has.
func unauthorised(d dialect, h http.Header, key string) *fault {
	given := strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
	if d.api() == Anthropic && h.Get("X-Api-Key") != "" {
		given = h.Get("X-Api-Key")
	}
	switch {
	case key == "" || given == key:
		return nil
	case d.api() == Anthropic:
		return &fault{http.StatusUnauthorized, Error{Message: "invalid x-api-key"}}
	case given == "":
		return &fault{http.StatusUnauthorized, Error{Message: "You didn't provide an API key."}}
	}
	return &fault{http.StatusUnauthorized, Error{Code: "invalid_api_key", Message: "Incorrect API key provided: " + masked(given) + "."}}
}

// masked is a key as OpenAI repeats it.
func masked(key string) string {
	if len(key) < 12 {
		return strings.Repeat("*", len(key))
	}
	return key[:3] + strings.Repeat("*", len(key)-7) + key[len(key)-4:]
}

// models answers /v1/models and /v1/models/ID, in the shape of the vendor whose header the request has. The window is
// told as Anthropic does, and as vLLM.
func (s *Server) models(w http.ResponseWriter, r *http.Request, d dialect, c Config) {
	names := c.Models
	if len(names) == 0 {
		names = []string{"scripted-model"}
	}
	model := func(name string) object {
		o := object{"id", name, "object", "model", "created", 1, "owned_by", "scripted"}
		window := "max_model_len"
		if d.api() == Anthropic {
			o = object{"type", "model", "id", name, "display_name", name, "created_at", "2025-01-01T00:00:00Z"}
			window = "max_input_tokens"
		}
		if c.Window > 0 {
			o = append(o, window, c.Window)
		}
		return o
	}
	if _, id, one := strings.Cut(r.URL.Path, "/v1/models/"); one {
		if !slices.Contains(names, id) {
			message := fmt.Sprintf("The model '%s' does not exist", id)
			writeJSON(w, http.StatusNotFound, d.envelope(http.StatusNotFound, Error{Code: "model_not_found", Message: message}))
			return
		}
		writeJSON(w, http.StatusOK, model(id))
		return
	}
	var list []any
	for _, name := range names {
		list = append(list, model(name))
	}
	if d.api() == Anthropic {
		writeJSON(w, http.StatusOK, object{"data", list, "has_more", false, "first_id", names[0], "last_id", names[len(names)-1]})
		return
	}
	writeJSON(w, http.StatusOK, object{"object", "list", "data", list})
}

// ask answers a request for a model, or for the count of its tokens.
func (s *Server) ask(w http.ResponseWriter, r *http.Request, d dialect, request Request, count bool, c Config) {
	var in wire
	var f *fault
	if !c.Lax {
		f = d.around(request)
	}
	if f == nil {
		var err error
		if in, err = d.read(request.Body); err != nil {
			f = &fault{http.StatusBadRequest, Error{Message: "The request body could not be read: " + err.Error()}}
		}
	}
	if f == nil {
		common := in.common()
		request.Model, request.Stream, request.MaxTokens = common.model, common.stream, common.maxTokens
		request.Tokens = c.count(request)
		f = s.refuse(d, in, request, count, c)
	}
	if f != nil {
		request.Refused = f.Message
		s.record(request)
		writeJSON(w, f.status, d.envelope(f.status, f.Error))
		return
	}
	if count {
		s.record(request)
		writeJSON(w, http.StatusOK, object{"input_tokens", request.Tokens})
		return
	}
	a := s.take(d, in, request, c)
	send(r.Context(), w, d, a)
}

// rules are what a request is judged by.
type rules struct {
	Config
	// counting is whether only the tokens are asked for.
	counting bool
	// owner returns the id of the reasoning that the item of a reply stood behind, "" for none and for an unknown item.
	owner func(item string) string
}

func (s *Server) rules(c Config, counting bool) rules {
	return rules{c, counting, func(item string) string {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.owners[item]
	}}
}

func (c Config) count(r Request) int {
	if c.Count != nil {
		return c.Count(r)
	}
	return len(r.Body) / 4
}

// refuse returns the fault for which the provider would refuse the request, or nil.
func (s *Server) refuse(d dialect, in wire, r Request, count bool, c Config) *fault {
	if !c.Lax {
		f := badText(r.Body)
		if f == nil {
			f = in.refuse(s.rules(c, count))
		}
		if f != nil {
			return f
		}
	}
	if c.Window == 0 || count {
		return nil
	}
	var e Error
	switch {
	case r.Tokens > c.Window:
		e = d.overflow(r.Tokens, c.Window)
	case r.Tokens+r.MaxTokens > c.Window:
		e = d.outputLimit(r.Tokens, r.MaxTokens, c.Window)
	default:
		return nil
	}
	return &fault{http.StatusBadRequest, e}
}

// take records a request and returns the answer to it: the next of the script, complete with ids and usage.
func (s *Server) take(d dialect, in wire, request Request, c Config) *answer {
	s.mu.Lock()
	s.requests = append(s.requests, request)
	r := Reply{Text: "done"}
	if len(s.script) > 0 {
		r = s.script[0]
		if !r.Repeat {
			s.script = s.script[1:]
		}
	}
	s.mu.Unlock()
	if r.Answer != nil {
		r = r.Answer(request) // without the lock: it may ask the server
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers++
	a := &answer{
		Reply:     r,
		id:        s.answers,
		model:     request.Model,
		streaming: request.Stream && !r.Plain,
		request:   in.common(),
	}
	for _, call := range r.Calls {
		s.calls++
		if call.ID == "" {
			call.ID = fmt.Sprintf("%s%d", d.callPrefix(), s.calls)
		}
		a.calls = append(a.calls, toolCall{call.ID, call.Name, call.args(), s.calls})
	}
	a.seal = in.seal
	if !a.failed() {
		s.count(a, in, request, c)
		if d.api() == Responses && a.reasoned() {
			for _, item := range a.itemIDs() {
				s.owners[item] = a.reasoningID()
			}
		}
	}
	return a
}

// count gives an answer its usage, and the prompt cache what the request holds.
func (s *Server) count(a *answer, in wire, request Request, c Config) {
	a.usage = a.Usage
	counted := a.Usage == (Usage{})
	if counted {
		a.usage = Usage{Input: request.Tokens, Output: a.size()/4 + 1}
	}
	if !c.Cache {
		return
	}
	read, written := s.look(string(request.API)+" "+request.Model, in.parts())
	if !counted || len(request.Body) == 0 {
		return
	}
	a.usage.CacheRead = request.Tokens * read / len(request.Body)
	a.usage.CacheWrite = request.Tokens * written / len(request.Body)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(v))
}

// object is a JSON object whose members stay in the order in which a provider writes them: name, value, name, value.
type object []any

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i := 0; i+1 < len(o); i += 2 {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, encode(o[i])...)
		b = append(b, ':')
		b = append(b, encode(o[i+1])...)
	}
	return append(b, '}'), nil
}

// encode writes a value as a provider does, who does not escape <, > and &.
func encode(v any) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // only what this package makes comes here
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}
