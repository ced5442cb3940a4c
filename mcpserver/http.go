package mcpserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mostRequest bounds a request in bytes: transcripts are named by path, so there is nothing large to send.
const mostRequest = 1 << 20

// Handler serves a server to clients by streamable HTTP. A page in a browser is kept out, whatever name it was loaded
// under: a request that comes from another origin is refused, and one that reaches a loopback address under a name that is
// not this machine's too. If token is not empty, a request must bear it: "Authorization: Bearer TOKEN".
func Handler(s *mcp.Server, token string) http.Handler {
	h := http.Handler(mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{SessionTimeout: time.Hour, MaxRequestBodyBytes: mostRequest, PropagateRequestCancellation: true},
	))
	if token != "" {
		h = bearing(token, h)
	}
	return http.NewCrossOriginProtection().Handler(h)
}

// bearing lets through what bears the token.
func bearing(token string, h http.Handler) http.Handler {
	want := sha256.Sum256([]byte("Bearer " + token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="pemmican"`)
			http.Error(w, "the request does not bear the token that this server was started with", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}
