package mcpserver_test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pemmican-dev/pemmican/mcpserver"
)

// overHTTP serves a world by streamable HTTP.
func overHTTP(t *testing.T, w *world, token string) *httptest.Server {
	t.Helper()
	server := mcpserver.New(w.config())
	h := httptest.NewServer(mcpserver.Handler(server, token))
	t.Cleanup(func() {
		for s := range server.Sessions() {
			_ = s.Close()
		}
		h.Close()
	})
	return h
}

func connectHTTP(t *testing.T, url string) *mcp.ClientSession {
	t.Helper()
	transport := &http.Transport{}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: transport}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		transport.CloseIdleConnections()
	})
	return client
}

func TestStreamableHTTP(t *testing.T) {
	w := newWorld(t)
	path := w.pi(t, idA, w.work, 10)
	before := read(t, path)
	h := overHTTP(t, w, "")
	var all sync.WaitGroup
	for range 5 {
		c := connectHTTP(t, h.URL)
		for range 4 {
			all.Go(func() {
				if st, _ := call[mcpserver.Status](t, c, "context_status", nil); st.ID != idA {
					t.Errorf("%+v", st)
				}
				if out, _ := call[mcpserver.Compaction](t, c, "compact_context", args{"session": path}); out.Command == "" {
					t.Errorf("%+v", out)
				}
				if got := refused(t, c, "check_transcript", args{"path": "nothing"}); !strings.Contains(got, "no session has this id") {
					t.Error(got)
				}
			})
		}
	}
	all.Wait()
	if !bytes.Equal(before, read(t, path)) {
		t.Error("the session file has changed")
	}
}

// Other users of the machine reach its loopback address too; a token keeps them out.
func TestAToken(t *testing.T) {
	h := overHTTP(t, newWorld(t), "sesame")
	for header, want := range map[string]int{
		"": http.StatusUnauthorized, "sesame": http.StatusUnauthorized, "Bearer sesam": http.StatusUnauthorized, "Bearer sesame2": http.StatusUnauthorized,
		"Bearer sesame": http.StatusOK,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL, strings.NewReader(hello))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Authorization", header)
		reply, err := h.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _ = reply.Body.Close(); reply.StatusCode != want {
			t.Errorf("%q: %s", header, reply.Status)
		}
	}
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// A page in a browser cannot speak with the server, by whatever name it was loaded.
func TestBrowsersAreKeptOut(t *testing.T) {
	w := newWorld(t)
	h := overHTTP(t, w, "")
	for name, c := range map[string]struct {
		host   string
		header http.Header
		body   string
		status int
	}{
		"a client":                   {"", nil, hello, http.StatusOK},
		"by another name of its own": {"localhost", nil, hello, http.StatusOK},
		"a name that was rebound":    {"evil.example", nil, hello, http.StatusForbidden},
		"one that looks like ours":   {"localhost.evil.example", nil, hello, http.StatusForbidden},
		"another origin":             {"", http.Header{"Origin": {"https://evil.example"}}, hello, http.StatusForbidden},
		"a file as origin":           {"", http.Header{"Origin": {"null"}}, hello, http.StatusForbidden},
		"another site":               {"", http.Header{"Sec-Fetch-Site": {"cross-site"}}, hello, http.StatusForbidden},
		"a form":                     {"", http.Header{"Content-Type": {"text/plain"}}, hello, http.StatusUnsupportedMediaType},
		"no JSON":                    {"", nil, `{"jsonrpc"`, http.StatusBadRequest},
		"too large":                  {"", nil, `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 2<<20) + `"}`, http.StatusRequestEntityTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			maps.Copy(r.Header, c.header)
			if c.host != "" {
				r.Host = c.host
			}
			reply, err := h.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = reply.Body.Close() }()
			if text, _ := io.ReadAll(reply.Body); reply.StatusCode != c.status {
				t.Errorf("%s: %s", reply.Status, text)
			}
		})
	}
}
