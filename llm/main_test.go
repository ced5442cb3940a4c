package llm

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a provider for the time of a test.
func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// secret is a key that no scanner takes for a real one.
func secret() string { return "sk-" + "test-" + "0123456789abcdef" }

// prompt is the body of some request.
func prompt(api API) []byte {
	return api.Body(Prompt{Model: "m", System: "Be brief.", User: "Hello", MaxTokens: 100})
}
