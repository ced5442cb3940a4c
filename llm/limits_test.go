package llm

import "testing"

// TestLimitsOf has the limit of E03 and IMG-10.
func TestLimitsOf(t *testing.T) {
	for provider, want := range map[string]int{"anthropic": 32_000_000, "Claude": 32_000_000, "openai": 0, "": 0, "my-own": 0} {
		if bytes, images, items := LimitsOf(provider); bytes != want || images != 0 || items != 0 {
			t.Errorf("%q: %d bytes, %d images, %d items", provider, bytes, images, items)
		}
	}
}
