package session

import "testing"

// BenchmarkFitBody is a request of 200,000 tokens that needs nothing, as most do.
func BenchmarkFitBody(b *testing.B) {
	s, _ := fitter(Config{Model: Model{Provider: "p", ID: "m", Window: 1_000_000}})
	s.fit.counter = nil
	s.fit.init(&Config{})
	in := body(200)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if _, err := s.FitBody(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
}
