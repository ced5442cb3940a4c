package bench_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pemmican-dev/pemmican/bench"
)

// BenchmarkSessions measures "pemmican sessions" over 1,000 files: cold, when it has to read them all (they are in the
// memory of the system, having just been written), and warm, when it remembers what it found. One in ten has 200,000
// tokens, three have 50,000, the others 10,000; half are of pi, half of Claude Code.
func BenchmarkSessions(b *testing.B) {
	const files = 1000
	home := b.TempDir()
	size := writeSessions(b, home, files)
	ours := program(b)
	best, peak := bestOf{}, int64(0)
	for b.Loop() {
		if err := os.RemoveAll(filepath.Join(home, ".cache")); err != nil {
			b.Fatal(err)
		}
		u := run(b, home, ours, "sessions")
		best.put("cold", u.CPU)
		best.put("cold-wall", u.Wall)
		peak = max(peak, u.Peak)
		found, err := os.ReadFile(filepath.Join(home, ".cache", "pemmican", "sessions.json"))
		if err != nil {
			b.Fatal(err)
		}
		if n := bytes.Count(found, []byte(`"mtime"`)); n != files {
			b.Fatalf("%d sessions were found", n)
		}
		u = run(b, home, ours, "sessions")
		best.put("warm", u.CPU)
		best.put("warm-wall", u.Wall)
	}
	best.report(b, "cold", "cold-wall", "warm", "warm-wall")
	b.ReportMetric(float64(size)/1e6, "MB")
	b.ReportMetric(float64(peak)/1e6, "peak-MB")
}

// writeSessions writes n sessions to where the agents of a person with this home keep them, and returns their size.
func writeSessions(tb testing.TB, home string, n int) (size int64) {
	tb.Helper()
	var made [10][2][]byte
	for i := range made {
		tokens := [...]int{200_000, 50_000, 50_000, 50_000, 10_000, 10_000, 10_000, 10_000, 10_000, 10_000}[i] + i
		made[i] = [2][]byte{bench.Session(bench.PiV3, tokens), bench.Session(bench.ClaudeCode, tokens)}
	}
	for i := range n {
		id := fmt.Sprintf("00000000-0000-4000-8000-%012x", i)
		folder := filepath.Join(home, ".pi", "agent", "sessions", fmt.Sprintf("--work-%d--", i%20))
		name := fmt.Sprintf("2026-03-01T12-00-%02d-000Z_%s.jsonl", i%60, id)
		if i%2 == 1 {
			folder, name = filepath.Join(home, ".claude", "projects", fmt.Sprintf("-work-%d", i%20)), id+".jsonl"
		}
		data := made[i/2%10][i%2]
		size += int64(len(data))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return size
}
