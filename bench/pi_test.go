package bench_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/pitest"
	"github.com/pemmican-dev/pemmican/preset"
)

// usage is what a process took.
type usage struct {
	Wall, CPU time.Duration
	Peak      int64 // bytes
}

// runVariable makes this test binary run the command in its arguments and print its usage. The peak that a process
// reports is at least that of the process which started it, so a small one has to stand between.
const runVariable = "PEMMICAN_BENCH_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(runVariable) == "" {
		status := m.Run()
		if built != "" {
			_ = os.RemoveAll(filepath.Dir(built))
		}
		os.Exit(status)
	}
	if err := runArguments(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runArguments() error {
	_ = os.Unsetenv(runVariable)
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stderr = os.Stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return err
	}
	wall := time.Since(start)
	state := cmd.ProcessState
	return json.NewEncoder(os.Stdout).Encode(usage{wall, state.UserTime() + state.SystemTime(), peakMemory(state)})
}

// run runs a program to its end.
func run(tb testing.TB, home, program string, args ...string) usage {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), self, append([]string{program}, args...)...)
	cmd.Dir = home
	cmd.Env = append(piEnvironment(home), runVariable+"=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		tb.Fatalf("%s %q: %v\n%s", program, args, err, stderr.Bytes())
	}
	var u usage
	if err := json.Unmarshal(stdout.Bytes(), &u); err != nil {
		tb.Fatal(err)
	}
	return u
}

func piEnvironment(home string) []string {
	return []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + home, "PI_OFFLINE=1"}
}

var (
	builtOnce sync.Once
	built     string
	errBuilt  error
)

// program builds the program, once, into a folder that lasts as long as the tests.
func program(tb testing.TB) string {
	tb.Helper()
	builtOnce.Do(func() {
		var dir string
		if dir, errBuilt = os.MkdirTemp("", "pemmican-bench-"); errBuilt != nil { //nolint:usetesting // other tests use it too
			return
		}
		built = filepath.Join(dir, "pemmican")
		cmd := exec.Command("go", "build", "-buildvcs=false", "-o", built, "github.com/pemmican-dev/pemmican/cmd/pemmican")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			errBuilt = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if errBuilt != nil {
		tb.Fatal(errBuilt)
	}
	return built
}

// piResult is what bench.mjs prints, times in milliseconds.
type piResult struct {
	Version, Node string
	TokensBefore  int
	Steps         []struct{ Load, Prepare, Serialise, Total, CPU float64 }
}

// runPi measures pi's rounds in one warm process.
func runPi(tb testing.TB, pi *pitest.Pi, home, file string, rounds int) piResult {
	tb.Helper()
	script, err := filepath.Abs(filepath.FromSlash("pi/bench.mjs"))
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), pi.Node(), script, pi.Package(), file, fmt.Sprint(rounds))
	cmd.Env = piEnvironment(home)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("bench.mjs: %v\n%s", err, stderr.Bytes())
	}
	var r piResult
	if err := json.Unmarshal(out, &r); err != nil {
		tb.Fatalf("bench.mjs: %v\n%s", err, out)
	}
	return r
}

// BenchmarkBeforeModel compares what is done before a summary is written: pi loads the file, prepares the compaction and
// serialises the messages for a model; we decode and plan up to the call of the summariser. Both are warm, and the best
// of many rounds counts, in times of CPU. The ratios to pi: "like-pi" by the policy that does what pi does (the newest
// 20,000 tokens stay, a summary stands for the rest); "default" by our own, which first tries to do without a summary;
// "with-summary" by our own with the mechanical summary, where pi still has its model to ask.
func BenchmarkBeforeModel(b *testing.B) {
	pi := pitest.Install(b, pitest.Latest)
	each(b, func(b *testing.B, in input) {
		if in.name == "claude-code-200k" {
			b.Skip("not a session of pi")
		}
		home := b.TempDir()
		file := write(b, home, in.data)
		_, live := decode(b, in.data)
		best := bestOf{}
		for b.Loop() {
			for _, s := range runPi(b, pi, home, file, 30).Steps {
				best.put("pi", time.Duration(s.CPU*float64(time.Millisecond)))
				best.put("pi-wall", time.Duration(s.Total*float64(time.Millisecond)))
			}
			for range 30 {
				watch := newStopwatch()
				plan(b, in.data, live, preset.Checkpoint())
				best.put("like-pi", watch.lap())
				plan(b, in.data, live, pemmican.DefaultPolicy())
				best.put("default", watch.lap())
				whole := time.Duration(0)
				steps(b.Context(), b, in.data, live, func(step string) {
					if d := watch.lap(); step != "apply" {
						whole += d
					}
				})
				best.put("with-summary", whole)
			}
		}
		best.report(b, "pi", "pi-wall", "like-pi", "default", "with-summary")
		for _, ours := range []string{"like-pi", "default", "with-summary"} {
			b.ReportMetric(float64(best[ours])/float64(best["pi"]), ours)
		}
	})
}

// BenchmarkProcess compares whole processes, from start to end: ours compacts the file into a new one; pi's imports the
// package and does one round of what BenchmarkBeforeModel measures.
func BenchmarkProcess(b *testing.B) {
	pi := pitest.Install(b, pitest.Latest)
	ours := program(b)
	script, err := filepath.Abs(filepath.FromSlash("pi/bench.mjs"))
	if err != nil {
		b.Fatal(err)
	}
	each(b, func(b *testing.B, in input) {
		if in.name == "claude-code-200k" {
			b.Skip("not a session of pi")
		}
		home := b.TempDir()
		file := write(b, home, in.data)
		best, peak := bestOf{}, int64(0)
		for b.Loop() {
			u := run(b, home, ours, "compact", file, "--target", "20%", "--force", "-o", filepath.Join(home, "out.jsonl"))
			best.put("ours", u.CPU)
			best.put("ours-wall", u.Wall)
			peak = max(peak, u.Peak)
			u = run(b, home, pi.Node(), script, pi.Package(), file, "1")
			best.put("pi", u.CPU)
			best.put("pi-wall", u.Wall)
			u = run(b, home, pi.Node(), pi.Program(), "--version")
			best.put("pi-version-wall", u.Wall)
		}
		best.report(b, "pi", "pi-wall", "pi-version-wall", "ours", "ours-wall")
		b.ReportMetric(float64(best["ours"])/float64(best["pi"]), "times-pi")
		b.ReportMetric(float64(peak)/1e6, "peak-MB")
	})
}

func write(tb testing.TB, dir string, data []byte) (file string) {
	tb.Helper()
	file = filepath.Join(dir, "session.jsonl")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		tb.Fatal(err)
	}
	return file
}
