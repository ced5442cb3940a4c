package bench_test

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/bench"
)

// A test must not depend on how loaded the machine is, so these look at memory, which shows as well as time does when a
// step goes over its input more often than it should.

// allocated runs every step on a session and returns what each allocated: bytes for each byte of the input, and
// allocations for each thousand tokens.
func allocated(t *testing.T, data []byte) (bytes, count map[string]float64) {
	t.Helper()
	_, live := decode(t, data)
	bytes, count = map[string]float64{}, map[string]float64{}
	var before, after runtime.MemStats
	// What is made once, tables and compiled patterns, is made in the first run.
	for range 2 {
		runtime.ReadMemStats(&before)
		report, out := steps(t.Context(), t, data, live, func(step string) {
			runtime.ReadMemStats(&after)
			bytes[step] = float64(after.TotalAlloc-before.TotalAlloc) / float64(len(data))
			count[step] = float64(after.Mallocs-before.Mallocs) / float64(live) * 1000
			runtime.ReadMemStats(&before)
		})
		if report.Outcome != pemmican.Summarised || report.TokensAfter > report.Target {
			t.Fatalf("%s: %s", report.Outcome, report.Reason)
		}
		if len(out) <= len(data) {
			t.Fatalf("%d bytes became %d: nothing was appended", len(data), len(out))
		}
	}
	return bytes, count
}

func TestAllocations(t *testing.T) {
	// Bytes allocated in all, live or not, for each byte of the input, with slack of about a half.
	limits := map[bench.Format]map[string]float64{
		bench.PiV3:       {"decode": 2, "compact": 11, "apply": 5.5},
		bench.PiV1:       {"decode": 2, "compact": 9, "apply": 4},
		bench.ClaudeCode: {"decode": 1.5, "compact": 6, "apply": 2.5},
	}
	for f, limit := range limits {
		t.Run(string(f), func(t *testing.T) {
			bytes, _ := allocated(t, bench.Session(f, 200_000))
			for step, most := range limit {
				if bytes[step] > most {
					t.Errorf("%s allocates %.1f bytes for each byte of the input, which is more than %.1f", step, bytes[step], most)
				}
				t.Logf("%s: %.2f bytes for each byte of the input", step, bytes[step])
			}
		})
	}
}

// Five times the tokens take about five times the memory, whatever is done with them.
func TestAllocationsAreLinear(t *testing.T) {
	const slack = 1.3
	for _, f := range []bench.Format{bench.PiV3, bench.PiV1, bench.ClaudeCode} {
		t.Run(string(f), func(t *testing.T) {
			bytes, count := allocated(t, bench.Session(f, 200_000))
			bytes5, count5 := allocated(t, bench.Session(f, 1_000_000))
			for step := range bytes {
				t.Logf("%s: %.2f and %.2f bytes for each byte, %.1f and %.1f allocations for 1,000 tokens", step, bytes[step], bytes5[step], count[step], count5[step])
				if bytes5[step] > slack*bytes[step] {
					t.Errorf("%s allocates %.2f bytes for each byte at 200,000 tokens and %.2f at 1,000,000", step, bytes[step], bytes5[step])
				}
				// Apply allocates for what it changes, which is another thing than tokens.
				if step != "apply" && count5[step] > slack*count[step] {
					t.Errorf("%s allocates %.1f times for 1,000 tokens at 200,000 and %.1f at 1,000,000", step, count[step], count5[step])
				}
			}
		})
	}
}

// The program's peak is 40 MB and four times the input, also where one line has 50 MB.
func TestPeakMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program and runs it on 50 MB, which is too much for -short")
	}
	ours := program(t)
	for _, in := range []struct {
		name string
		data []byte
	}{
		{"pi-v3-1000k", bench.Session(bench.PiV3, 1_000_000)},
		{"pi-v1-1000k", bench.Session(bench.PiV1, 1_000_000)},
		{"claude-code-1000k", bench.Session(bench.ClaudeCode, 1_000_000)},
		{"pi-v3-long-line", bench.LongLine(bench.PiV3, 50_000_000)},
		{"pi-v1-long-line", bench.LongLine(bench.PiV1, 50_000_000)},
		{"claude-code-long-line", bench.LongLine(bench.ClaudeCode, 25_000_000)}, // it holds the text twice
	} {
		t.Run(in.name, func(t *testing.T) {
			home := t.TempDir()
			u := run(t, home, ours, "compact", write(t, home, in.data), "--target", "100k", "-o", filepath.Join(home, "out.jsonl"))
			if u.Peak == 0 {
				t.Skip("this system does not tell the peak memory of a process")
			}
			limit := 40_000_000 + 4*int64(len(in.data))
			t.Logf("peak %.0f MB for an input of %.1f MB, limit %.0f MB", float64(u.Peak)/1e6, float64(len(in.data))/1e6, float64(limit)/1e6)
			if u.Peak > limit {
				t.Errorf("the peak is %d bytes, more than %d", u.Peak, limit)
			}
		})
	}
}
