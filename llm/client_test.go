package llm

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

// good is some reply that ends as it should.
func good(api API) string {
	switch api {
	case Anthropic:
		return named(anthropicBegin, anthropicText, anthropicDelta("Hi"), anthropicReason("end_turn"), anthropicEnd)
	case Chat:
		return sse(chatText("Hi"), chatEnd("stop"), chatUsage, chatDone)
	default:
		return named(responsesBegin, responsesDelta(0, "Hi"), responsesEnd("completed", ""))
	}
}

var protocols = []API{Anthropic, Chat, Responses}

func TestSendAsItIs(t *testing.T) {
	for _, api := range protocols {
		t.Run(string(api), func(t *testing.T) {
			body := append([]byte(" \n"), prompt(api)...)
			var got []byte
			var head http.Header
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				got, _ = io.ReadAll(r.Body)
				head = r.Header
				_, _ = io.WriteString(w, good(api))
			})
			// Neither the protocol is told, nor anything else but where and the key.
			if api == Anthropic {
				body = []byte(`{"model":"m","max_tokens":5, "system":"x","messages":[{"role":"user","content":"\u00e4"}],"stream":true}`)
			}
			c := Client{BaseURL: s.URL, Key: NewKey(secret()), Header: http.Header{"X-Extra": {"1"}, "user-agent": {"mine"}}}
			r, err := c.Send(t.Context(), body, nil)
			if err != nil || r.Text != "Hi" || r.Stop != StopEnd || r.Requests != 1 {
				t.Fatalf("got %+v, %v", r, err)
			}
			if string(got) != string(body) {
				t.Errorf("got the body %s, want %s", got, body)
			}
			want := http.Header{"Authorization": {"Bearer " + secret()}}
			if api == Anthropic {
				want = http.Header{"X-Api-Key": {secret()}, "Anthropic-Version": {"2023-06-01"}, "Authorization": nil}
			}
			want["X-Extra"], want["User-Agent"], want["Content-Type"] = []string{"1"}, []string{"mine"}, []string{"application/json"}
			for name, values := range want {
				if fmt.Sprint(head[name]) != fmt.Sprint(values) {
					t.Errorf("got header %s %v, want %v", name, head[name], values)
				}
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	token := tokenPrefix + "01-" + "0123456789"
	for _, tc := range []struct {
		name   string
		client Client
		header string
		want   string
	}{
		{"no key", Client{API: Chat}, "Authorization", ""},
		{"no key for Anthropic", Client{API: Anthropic}, "X-Api-Key", ""},
		{"token", Client{API: Anthropic, Key: NewKey(token)}, "Authorization", "Bearer " + token},
		{"token only", Client{API: Anthropic, Key: NewKey(token)}, "X-Api-Key", ""},
		{"another version", Client{API: Anthropic, Header: http.Header{"anthropic-version": {"2030-01-01"}}}, "Anthropic-Version", "2030-01-01"},
		{"another way", Client{API: Chat, Key: NewKey(secret()), Header: http.Header{"authorization": {"Basic x"}}}, "Authorization", "Basic x"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got string
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				got = r.Header.Get(tc.header)
				_, _ = io.WriteString(w, good(tc.client.API))
			})
			tc.client.BaseURL = s.URL
			if _, err := tc.client.Send(t.Context(), prompt(tc.client.API), nil); err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestEndpoint(t *testing.T) {
	for _, tc := range []struct {
		base string
		api  API
		want string // the address, or the error
	}{
		{"", Anthropic, "https://api.anthropic.com/v1/messages"},
		{"", Chat, "https://api.openai.com/v1/chat/completions"},
		{" ", Responses, "https://api.openai.com/v1/responses"},
		{"http://h:1", Anthropic, "http://h:1/v1/messages"},
		{"http://h:1/", Anthropic, "http://h:1/v1/messages"},
		{"http://h:1/v1", Anthropic, "http://h:1/v1/messages"},
		{"http://h:1/v1/", Anthropic, "http://h:1/v1/messages"},
		{"http://h:1/proxy/", Anthropic, "http://h:1/proxy/v1/messages"},
		{"http://h:1/v1/messages", Anthropic, "http://h:1/v1/messages"},
		{"https://openrouter.ai/api/v1", Chat, "https://openrouter.ai/api/v1/chat/completions"},
		{"https://openrouter.ai/api/v1//", Responses, "https://openrouter.ai/api/v1/responses"},
		{"http://h/v1/chat/completions", Chat, "http://h/v1/chat/completions"},
		{"http://h/v1?api-version=2#x", Chat, "http://h/v1/chat/completions?api-version=2"},
		{"http://h", "smoke", `the protocol "smoke" is not known`},
		{"http://h", "", "the body is in none of the known protocols"},
		{"localhost:8080/v1", Chat, "must begin with http:// or https://"},
		{"h/v1", Chat, "must begin with http:// or https://"},
		{"file:///etc/passwd", Chat, "must begin with http:// or https://"},
		{"http:///v1", Chat, "has no host"},
		{"http://u:pass@h:port/v1", Chat, "the base URL is no URL"},
	} {
		u, err := endpoint(tc.base, tc.api)
		got := fmt.Sprint(u)
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != tc.want || err != nil && !strings.Contains(got, tc.want) || strings.Contains(got, "pass@") {
			t.Errorf("endpoint(%q, %q) = %q, want %q", tc.base, tc.api, got, tc.want)
		}
	}
}

func TestErrors(t *testing.T) {
	text := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, text, status) }
	}
	for _, tc := range []struct {
		name   string
		path   string // of the base URL
		h      http.HandlerFunc
		kind   Kind
		status int
		want   string
	}{
		{"no key", "/v1", text(401, `{"error":{"message":"no key"}}`), Auth, 401, "no key"},
		{"the key is repeated", "/v1", text(401, `{"error":{"message":"Incorrect key: `+secret()+`"}}`), Auth, 401, "Incorrect key: [key]"},
		{"a page that is not there", "", text(404, "<html>not found</html>"), Invalid, 404, "the base URL may lack /v1"},
		{"a page that is not there, with /v1", "/v1", text(404, "404 page not found"), Invalid, 404, "is the base URL right?"},
		{"a model that is not there", "/v1", text(404, `{"error":{"message":"no such model"}}`), Invalid, 404, "/v1/chat/completions)"},
		{"a page that wants something else", "/v1", text(405, ""), Invalid, 405, "/v1/chat/completions"},
		{"a long text", "/v1", text(400, strings.Repeat("many words ", 10_000)), Invalid, 400, "many words"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serve(t, tc.h)
			u, _ := url.Parse(s.URL)
			u.User = url.UserPassword("somebody", "hunter2")
			c := Client{API: Chat, BaseURL: u.String() + tc.path, Key: NewKey(secret())}
			_, err := c.Send(t.Context(), prompt(Chat), nil)
			var e *Error
			if !errors.As(err, &e) || e.Kind != tc.kind || e.Status != tc.status || e.Requests != 1 || !strings.Contains(e.Error(), tc.want) {
				t.Fatalf("got %+v (%v)", e, err)
			}
			if all := fmt.Sprintf("%+v %v", *e, err); strings.Contains(all, secret()) || strings.Contains(all, "hunter2") || len(e.Message) > 1100 || strings.Contains(e.Message, "\n") {
				t.Errorf("got %s", all)
			}
		})
	}
}

func TestNobodyThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	_ = l.Close()
	c := Client{API: Chat, BaseURL: "http://somebody:hunter2@" + at + "/v1", Retries: -1}
	_, err = c.Send(t.Context(), prompt(Chat), nil)
	if KindOf(err) != Transient || !strings.Contains(err.Error(), "cannot reach http://"+at+"/v1/chat/completions: ") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestCertificate(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	c := Client{API: Chat, BaseURL: s.URL}
	if _, err := c.Send(t.Context(), prompt(Chat), nil); KindOf(err) != Invalid || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v", err)
	}
}

func TestBadKey(t *testing.T) {
	c := Client{API: Chat, Key: NewKey("two\nlines")}
	if _, err := c.Send(t.Context(), prompt(Chat), nil); KindOf(err) != Auth || strings.Contains(err.Error(), "lines") {
		t.Errorf("got %v", err)
	}
}

func TestNotABody(t *testing.T) {
	var c Client
	if _, err := c.Send(t.Context(), []byte("hello"), nil); KindOf(err) != Invalid {
		t.Errorf("got %v", err)
	}
}

func TestRedirects(t *testing.T) {
	var elsewhere atomic.Int32
	other := serve(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	for _, tc := range []struct {
		name   string
		status int
		to     string
		ok     bool
	}{
		{"another host", 307, other.URL, false},
		{"another host with a get", 302, other.URL, false},
		{"the same host", 308, "/there", true},
		{"the same host with a get", 303, "/there", false},
		{"in circles", 307, "/v1/messages", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.URL.Path == "/there" && len(body) > 0 && r.Header.Get("X-Api-Key") == secret() {
					_, _ = io.WriteString(w, good(Anthropic))
					return
				}
				http.Redirect(w, r, tc.to, tc.status)
			})
			c := Client{API: Anthropic, BaseURL: s.URL, Key: NewKey(secret())}
			r, err := c.Send(t.Context(), prompt(Anthropic), nil)
			if tc.ok && (err != nil || r.Text != "Hi") || !tc.ok && (KindOf(err) != Invalid || !strings.Contains(err.Error(), "the server redirects to http://")) {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
	if elsewhere.Load() > 0 {
		t.Error("another host was asked")
	}
}

func TestOwnRedirectPolicy(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
	})
	own := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	c := Client{API: Anthropic, BaseURL: s.URL, HTTP: own}
	if _, err := c.Send(t.Context(), prompt(Anthropic), nil); KindOf(err) != Invalid {
		t.Errorf("got %v", err)
	}
}

// TestEncoding has the headers of an agent that could read more encodings than we can.
func TestEncoding(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept-Encoding"); got != "gzip" {
			t.Errorf("accepts %q", got)
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, good(Chat))
		_ = z.Close()
	})
	c := Client{BaseURL: s.URL, Header: http.Header{"accept-encoding": {"zstd, br"}, "Content-Encoding": {"zstd"}, "Content-Length": {"1"}}}
	if r, err := c.Send(t.Context(), prompt(Chat), nil); err != nil || r.Text != "Hi" {
		t.Errorf("got %+v, %v", r, err)
	}
}

// TestSecrets has a provider that tells all headers that it got, in an error.
func TestSecrets(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, `{"error":{"message":%q,"code":%q}}`, fmt.Sprint(r.Header), r.Header.Get("Authorization"))
	})
	other := "other-" + secret()
	c := Client{
		API: Chat, BaseURL: s.URL + "/v1?key=" + other, Key: NewKey(secret()),
		Header: http.Header{"Api-Key": {other}, "Cookie": {"session=" + other}},
	}
	_, err := c.Send(t.Context(), prompt(Chat), nil)
	if all := fmt.Sprintf("%v %+v", err, err); KindOf(err) != Auth || strings.Contains(all, secret()) || strings.Contains(all, other) {
		t.Errorf("got %s", all)
	}
}

// TestMend has providers that know only one of the names of the limit, or no stream_options.
func TestMend(t *testing.T) {
	const long = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
	for _, tc := range []struct {
		name, body string
		refuse     func(body string) string
		want       string // the body that was taken in the end, "" for none
		requests   int
	}{
		{
			name: "max_tokens", body: `{"model":"m", "max_tokens" : 5,"messages":[]}`,
			refuse: func(b string) string {
				if strings.Contains(b, `"max_tokens"`) {
					return long
				}
				return ""
			},
			want: `{"model":"m", "max_completion_tokens" : 5,"messages":[]}`, requests: 2,
		},
		{
			name: "stream_options", body: `{"model":"m","messages":[],"stream_options":{"include_usage":true} }`,
			refuse: func(b string) string {
				if strings.Contains(b, `"stream_options"`) {
					return "Unrecognized request argument supplied: stream_options"
				}
				return ""
			},
			want: `{"model":"m","messages":[] }`, requests: 2,
		},
		{
			name: "both", body: `{"stream_options":{"include_usage":true},"max_tokens":5,"messages":[]}`,
			refuse: func(b string) string {
				switch {
				case strings.Contains(b, `"max_tokens"`):
					return long
				case strings.Contains(b, `"stream_options"`):
					return "stream_options: extra inputs are not permitted"
				}
				return ""
			},
			want: `{"max_completion_tokens":5,"messages":[]}`, requests: 3,
		},
		{name: "nothing to mend", body: `{"max_completion_tokens":5,"messages":[]}`, refuse: func(string) string { return long }, requests: 1},
		{name: "for ever", body: `{"max_tokens":5,"messages":[]}`, refuse: func(string) string { return long }, requests: 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			last := ""
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if last = string(body); tc.refuse(last) != "" {
					w.WriteHeader(http.StatusBadRequest)
					_, _ = fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error"}}`, tc.refuse(last))
					return
				}
				_, _ = io.WriteString(w, good(Chat))
			})
			c := Client{API: Chat, BaseURL: s.URL, Retries: -1}
			r, err := c.Send(t.Context(), []byte(tc.body), nil)
			switch e, _ := errors.AsType[*Error](err); {
			case tc.want == "" && (e == nil || e.Requests != tc.requests):
				t.Errorf("got %+v, %v", r, err)
			case tc.want != "" && (err != nil || r.Requests != tc.requests || last != tc.want):
				t.Errorf("got %+v, %v, with the body %s", r, err, last)
			}
		})
	}
}

// network is a network in memory, so that a test can have a clock of its own.
type network struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error   { n.once.Do(func() { close(n.done) }); return nil }
func (n *network) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case n.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// drained reads a request before it is handled. Only then does a server see that the client has gone.
func drained(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		h(w, r)
	}
}

// inMemory runs a provider and a client of it in a bubble of synctest. The function stop must be called at the end.
func inMemory(h http.HandlerFunc) (c *Client, stop func()) {
	n := &network{conns: make(chan net.Conn), done: make(chan struct{})}
	s := &http.Server{ReadHeaderTimeout: time.Hour, Handler: drained(h)}
	go func() { _ = s.Serve(n) }()
	tr := &http.Transport{DialContext: n.dial}
	c = &Client{API: Chat, BaseURL: "http://memory/v1", HTTP: &http.Client{Transport: tr}}
	return c, func() {
		tr.CloseIdleConnections()
		_ = s.Close()
	}
}

func TestRetries(t *testing.T) {
	fail := func(status int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"error":{"message":"not now"}}`)
		}
	}
	answer := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
	}
	drop := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, text)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	ok := answer(good(Chat))
	for _, tc := range []struct {
		name     string
		retries  int
		deadline time.Duration
		steps    []http.HandlerFunc
		kind     Kind // of the error, "" for none
		requests int
		min, max time.Duration
	}{
		{name: "at once", steps: []http.HandlerFunc{ok}, requests: 1},
		{name: "throttled", steps: []http.HandlerFunc{fail(429), ok}, requests: 2, min: 500 * time.Millisecond, max: 700 * time.Millisecond},
		{name: "twice", steps: []http.HandlerFunc{fail(503), fail(529), ok}, requests: 3, min: 1500 * time.Millisecond, max: 2 * time.Second},
		{name: "too often", steps: []http.HandlerFunc{fail(503), fail(500), fail(429)}, kind: Throttle, requests: 3, min: 1500 * time.Millisecond, max: 2 * time.Second},
		{name: "more often", retries: 8, steps: []http.HandlerFunc{fail(503), fail(503), fail(503), fail(503), fail(503), fail(503), fail(503), ok}, requests: 8, min: 31500 * time.Millisecond, max: 40 * time.Second},
		{name: "never", retries: -1, steps: []http.HandlerFunc{fail(503)}, kind: Transient, requests: 1},
		{name: "as long as asked for", steps: []http.HandlerFunc{fail(429, "Retry-After", "20"), ok}, requests: 2, min: 20 * time.Second, max: 25 * time.Second},
		{name: "in milliseconds", steps: []http.HandlerFunc{fail(429, "Retry-After", "20", "Retry-After-Ms", "1500"), ok}, requests: 2, min: 1500 * time.Millisecond, max: 2 * time.Second},
		{name: "until a date", steps: []http.HandlerFunc{fail(429, "Retry-After", "Sat, 01 Jan 2000 00:00:30 GMT"), ok}, requests: 2, min: 30 * time.Second, max: 40 * time.Second},
		{name: "asks for too much", steps: []http.HandlerFunc{fail(429, "Retry-After", "3600")}, kind: Throttle, requests: 1},
		{name: "asks for more than there is", deadline: 10 * time.Second, steps: []http.HandlerFunc{fail(429, "Retry-After", "20")}, kind: Throttle, requests: 1},
		{name: "asks for what there is", deadline: 2 * time.Minute, steps: []http.HandlerFunc{fail(429, "Retry-After", "90"), ok}, requests: 2, min: 90 * time.Second, max: 2 * time.Minute},
		{name: "no time to wait", deadline: 300 * time.Millisecond, steps: []http.HandlerFunc{fail(503)}, kind: Transient, requests: 1},
		{name: "what will not get better", steps: []http.HandlerFunc{fail(400)}, kind: Invalid, requests: 1},
		{name: "what will not get better, then", steps: []http.HandlerFunc{fail(503), fail(401)}, kind: Auth, requests: 2, min: 500 * time.Millisecond, max: 700 * time.Millisecond},
		{name: "dropped before anything came", steps: []http.HandlerFunc{drop(""), ok}, requests: 2, min: 500 * time.Millisecond, max: 700 * time.Millisecond},
		{name: "dropped before anything of the reply came", steps: []http.HandlerFunc{drop(sse(chatDelta(`{"role":"assistant","content":""}`))), ok}, requests: 2, min: 500 * time.Millisecond, max: 700 * time.Millisecond},
		{name: "dropped in the middle", steps: []http.HandlerFunc{drop(sse(chatText("Hel")))}, kind: Transient, requests: 1},
		{name: "dropped behind the end", steps: []http.HandlerFunc{drop(sse(chatText("Hi"), chatEnd("stop")))}, requests: 1},
		{name: "an empty answer", steps: []http.HandlerFunc{answer(""), ok}, requests: 2, min: 500 * time.Millisecond, max: 700 * time.Millisecond},
		{name: "overloaded in the stream", steps: []http.HandlerFunc{answer(sse(`{"error":{"type":"overloaded_error","message":"overloaded"}}`)), ok}, requests: 2, min: 500 * time.Millisecond, max: 700 * time.Millisecond},
		{name: "overloaded in the middle of the reply", steps: []http.HandlerFunc{answer(sse(chatText("Hel"), `{"error":{"type":"overloaded_error","message":"overloaded"}}`))}, kind: "any", requests: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				c, stop := inMemory(func(w http.ResponseWriter, r *http.Request) {
					n++
					tc.steps[min(n, len(tc.steps))-1](w, r)
				})
				defer stop()
				c.Retries = tc.retries
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tc.deadline > 0 {
					ctx, cancel = context.WithTimeout(ctx, tc.deadline)
					defer cancel()
				}
				start := time.Now()
				r, err := c.Send(ctx, prompt(Chat), nil)
				took := time.Since(start)
				if took < tc.min || took > tc.max {
					t.Errorf("took %v, want %v to %v", took, tc.min, tc.max)
				}
				if n != tc.requests {
					t.Errorf("got %d requests, want %d", n, tc.requests)
				}
				switch e, _ := errors.AsType[*Error](err); {
				case tc.kind == "" && (err != nil || r.Text != "Hi" || r.Stop != StopEnd || r.Requests != n):
					t.Errorf("got %+v, %v", r, err)
				case tc.kind != "" && (e == nil || tc.kind != "any" && e.Kind != tc.kind || e.Requests != n || errors.Is(err, context.DeadlineExceeded)):
					t.Errorf("got %+v, %v", r, err)
				}
			})
		})
	}
}

// TestDeadline lets the time run out at each place where the client waits.
func TestDeadline(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"before the answer": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"in the answer": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, sse(chatText("Hel")))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
		"in an error": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, stop := inMemory(h)
				defer stop()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err := c.Send(ctx, prompt(Chat), nil)
				e, ok := errors.AsType[*Error](err)
				if !ok || e.Kind != Transient || e.Requests != 1 || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "within the time allowed") {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// TestDeadlineBehindTheEnd has a provider that gives the whole reply, and then does not close the stream.
func TestDeadlineBehindTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := inMemory(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, sse(chatText("Hi"), chatEnd("stop")))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		defer stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if r, err := c.Send(ctx, prompt(Chat), nil); err != nil || r.Text != "Hi" || r.Stop != StopEnd {
			t.Errorf("got %+v, %v", r, err)
		}
	})
}

// TestEndOfStream has providers that do not close the stream behind its end.
func TestEndOfStream(t *testing.T) {
	for _, api := range protocols {
		t.Run(string(api), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, stop := inMemory(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.WriteString(w, good(api))
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
				})
				defer stop()
				c.API = api
				start := time.Now()
				if r, err := c.Send(t.Context(), prompt(api), nil); err != nil || r.Stop != StopEnd || time.Since(start) > 0 {
					t.Errorf("got %+v, %v after %v", r, err, time.Since(start))
				}
			})
		})
	}
}

// TestCancel cancels at each place where the client waits, and looks for goroutines that are left.
func TestCancel(t *testing.T) {
	for _, tc := range []struct {
		name string
		dial func(reached func()) func(ctx context.Context, network, addr string) (net.Conn, error)
		h    func(reached func()) http.HandlerFunc
	}{
		{name: "before the connection", dial: func(reached func()) func(context.Context, string, string) (net.Conn, error) {
			return func(ctx context.Context, _, _ string) (net.Conn, error) {
				reached()
				<-ctx.Done()
				return nil, ctx.Err()
			}
		}},
		{name: "before the answer", h: func(reached func()) http.HandlerFunc {
			return func(_ http.ResponseWriter, r *http.Request) {
				reached()
				<-r.Context().Done()
			}
		}},
		{name: "in the stream", h: func(reached func()) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, sse(chatText("Hel")))
				_ = http.NewResponseController(w).Flush()
				reached()
				<-r.Context().Done()
			}
		}},
		{name: "in a plain answer", h: func(reached func()) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, `{"choices":[`)
				_ = http.NewResponseController(w).Flush()
				reached()
				<-r.Context().Done()
			}
		}},
		{name: "in an error", h: func(reached func()) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusBadRequest)
				_ = http.NewResponseController(w).Flush()
				reached()
				<-r.Context().Done()
			}
		}},
		{name: "before a retry", h: func(reached func()) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "50")
				w.WriteHeader(http.StatusTooManyRequests)
				_ = http.NewResponseController(w).Flush()
				reached()
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			at := make(chan struct{}, 1)
			reached := func() { at <- struct{}{} }
			h := func(http.ResponseWriter, *http.Request) {}
			if tc.h != nil {
				h = tc.h(reached)
			}
			s := httptest.NewServer(drained(h))
			defer s.Close()
			tr := &http.Transport{}
			if tc.dial != nil {
				tr.DialContext = tc.dial(reached)
			}
			defer tr.CloseIdleConnections()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			c := Client{API: Chat, BaseURL: s.URL, HTTP: &http.Client{Transport: tr}}
			go func() {
				_, err := c.Send(ctx, prompt(Chat), nil)
				done <- err
			}()
			<-at
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) || KindOf(err) != "" {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var c Client
	if _, err := c.Send(ctx, prompt(Chat), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestConcurrent(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, sse(chatText(fmt.Sprint(len(body))), chatEnd("stop"), chatDone))
	})
	c := Client{BaseURL: s.URL, Key: NewKey(secret()), Header: http.Header{"X-Extra": {"1"}}}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			body := Chat.Body(Prompt{Model: "m", User: strings.Repeat("x", i), MaxTokens: 1})
			if r, err := c.Send(t.Context(), body, nil); err != nil || r.Text != fmt.Sprint(len(body)) {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
	all.Wait()
}

func TestTooLarge(t *testing.T) {
	chunk := ": " + strings.Repeat("x", 1<<20) + "\n"
	for name, h := range map[string]http.HandlerFunc{
		"answer": func(w http.ResponseWriter, _ *http.Request) {
			for range maxAnswer>>20 + 1 {
				if _, err := io.WriteString(w, chunk); err != nil {
					return
				}
			}
		},
		"event": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "data: {\"choices\":")
			for range maxEvent>>20 + 1 {
				if _, err := io.WriteString(w, strings.Repeat(" ", 1<<20)); err != nil {
					return
				}
			}
		},
		"event of many lines": func(w http.ResponseWriter, _ *http.Request) {
			b := bufio.NewWriterSize(w, 1<<20)
			for range maxEvent>>10 + 1 {
				if _, err := b.WriteString("data: " + strings.Repeat(" ", 1<<10) + "\n"); err != nil {
					return
				}
			}
			_ = b.Flush()
		},
		"plain": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"choices":[`)
			for range maxAnswer>>20 + 1 {
				if _, err := io.WriteString(w, strings.Repeat(" ", 1<<20)); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, h)
			c := Client{API: Chat, BaseURL: s.URL}
			if _, err := c.Send(t.Context(), prompt(Chat), nil); KindOf(err) != Invalid || !strings.Contains(err.Error(), "larger") {
				t.Errorf("got %v", err)
			}
		})
	}
}
