package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/pemmican-dev/pemmican/agents"
)

func TestBeside(t *testing.T) {
	for in, want := range map[string]string{
		"session.jsonl": "session.compacted.jsonl",
		"a.b.json":      "a.b.compacted.json",
		"none":          "none.compacted",
		".hidden":       ".hidden.compacted",
		"d.ir/none":     "d.ir/none.compacted",
		"d/.h.json":     "d/.h.compacted.json",
	} {
		if got := beside(filepath.FromSlash(in), ".compacted"); got != filepath.FromSlash(want) {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// Of many that want one name exactly one gets it, and what is there is whole.
func TestCreateIsExclusive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	var wins, losses int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			data := bytes.Repeat([]byte{byte('a' + i)}, 1<<16)
			err := create(t.Context(), path, data, 0o600, false, nil)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				wins++
			case strings.Contains(err.Error(), "it exists"):
				losses++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if wins != 1 || losses != 7 {
		t.Errorf("%d got the name, %d did not", wins, losses)
	}
	data, err := os.ReadFile(path)
	if err != nil || len(data) != 1<<16 || bytes.Count(data, data[:1]) != len(data) {
		t.Errorf("%v, %d bytes", err, len(data))
	}
	alone(t, path)
}

// alone demands that nothing but the file lies in its folder.
func alone(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(path) {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

func TestCreateCancelled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := create(ctx, path, []byte("x"), 0o600, false, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	alone(t, path)
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is there")
	}
}

// A name is taken first, and then filled, where the file system has no hard links; the result is the same.
func TestNameNewTaken(t *testing.T) {
	dir := t.TempDir()
	temp, path := filepath.Join(dir, "temp"), filepath.Join(dir, "out")
	write(t, temp, "new")
	write(t, path, "old")
	if err := nameNew(temp, path); err == nil || !strings.Contains(err.Error(), "it exists") {
		t.Errorf("got %v", err)
	}
	if data, _ := os.ReadFile(path); string(data) != "old" {
		t.Errorf("it is %q now", data)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// old makes a file an hour old.
func old(t *testing.T, path string) {
	t.Helper()
	when := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
}

func session(t *testing.T, text string) (path string, in *Input) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "session.jsonl")
	write(t, path, text)
	old(t, path)
	in, err := readFile(agents.SessionFile{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return path, in
}

// Whatever happens to a file after it was read, it is seen, and nothing is appended.
func TestAppendToWhatHasChanged(t *testing.T) {
	for name, change := range map[string]func(path string){
		"longer":     func(path string) { write(t, path, "one\ntwo\n") },
		"shorter":    func(path string) { write(t, path, "o") },
		"other text": func(path string) { write(t, path, "ten\n") },
		"another file": func(path string) {
			other := path + ".other"
			write(t, other, "one\n")
			if err := os.Rename(other, path); err != nil {
				t.Fatal(err)
			}
		},
		"gone": func(path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path, in := session(t, "one\n")
			change(path)
			if _, err := os.Stat(path); err == nil {
				old(t, path)
			}
			before, _ := os.ReadFile(path)
			if _, err := in.Append(t.Context(), []byte("one\nmore\n"), true); Status(err) != ExitUnusable {
				t.Errorf("Append: %v", err)
			}
			if _, err := in.Truncate(t.Context(), 1); Status(err) != ExitUnusable {
				t.Errorf("Truncate: %v", err)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Errorf("%q became %q", before, after)
			}
		})
	}
}

func TestAppendAndTruncate(t *testing.T) {
	path, in := session(t, "one\n")
	if _, err := in.Append(t.Context(), []byte("two\n"), true); Status(err) != ExitUnusable {
		t.Errorf("what does not begin with the file: %v", err)
	}
	if _, err := in.Append(t.Context(), []byte("one\ntwo\n"), false); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(path); string(data) != "one\ntwo\n" {
		t.Errorf("it is %q", data)
	}
	again, err := readFile(agents.SessionFile{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Append(t.Context(), []byte("one\ntwo\nthree\n"), false); Status(err) != ExitRefused {
		t.Errorf("a file of this second: %v", err)
	}
	if _, err := again.Truncate(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(path); string(data) != "one\n" {
		t.Errorf("it is %q", data)
	}
	ctx, cancel := context.WithCancel(t.Context())
	old(t, path)
	in, err = readFile(agents.SessionFile{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := in.Append(ctx, []byte("one\ntwo\n"), false); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if data, _ := os.ReadFile(path); string(data) != "one\n" {
		t.Errorf("it is %q", data)
	}
}

// A file that is another one after reading than before is no input. The files of /proc are such: they have no size.
func TestReadWhatChanges(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	_, err := readFile(agents.SessionFile{Path: "/proc/self/status"})
	if Status(err) != ExitUnusable || !strings.Contains(err.Error(), "changed while it was read") {
		t.Errorf("got %v", err)
	}
}

func TestReadFails(t *testing.T) {
	broken := errors.New("the cable is out")
	_, _, err := Open(t.Context(), io.MultiReader(strings.NewReader("{"), failing{broken}), io.Discard, "-", "")
	if Status(err) != ExitUnusable || err.Error() != "standard input: the cable is out" {
		t.Errorf("got %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// What an interrupt finds half written is removed, what is done is told, and nobody writes any more; so it runs in a
// process of its own.
func TestInterrupted(t *testing.T) {
	const variable = "PEMMICAN_TEST_INTERRUPTED"
	if dir := os.Getenv(variable); dir != "" {
		workOn("in\n.jsonl")
		switch filepath.Base(dir) {
		case "half":
			f, err := createTemp(dir, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = f.WriteString("half of")
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
				t.Fatalf("%v, %v", entries, err)
			}
		case "named":
			o := Output{Path: filepath.Join(dir, "out")}
			if _, err := o.Write(t.Context(), io.Discard, &Input{}, []byte("x")); err != nil {
				t.Fatal(err)
			}
		case "stream":
			_, _ = io.WriteString(Stream(io.Discard, "the standard output"), "x")
		case "sent":
			o := Output{Path: "-"}
			if _, err := o.Write(t.Context(), io.Discard, &Input{}, []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		message, status := Interrupted()
		_, _ = io.WriteString(os.Stdout, message)
		os.Exit(status + 10)
	}
	for name, want := range map[string]struct {
		message string
		status  int
		files   int
	}{
		"nothing": {"in .jsonl: interrupted; nothing was written", ExitUnusable, 0},
		"half":    {"in .jsonl: interrupted; nothing was written", ExitUnusable, 0},
		"named":   {"in .jsonl: interrupted, but it was already written to DIR/out", ExitDone, 1},
		"stream":  {"in .jsonl: interrupted; the standard output has got a part of the result only", ExitUnusable, 0},
		"sent":    {"in .jsonl: interrupted, but it was already written to the standard output", ExitDone, 0},
	} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestInterrupted$")
		cmd.Env = append(os.Environ(), variable+"="+dir)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != want.status+10 || string(out) != strings.ReplaceAll(want.message, "DIR", dir) {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != want.files {
			t.Errorf("%s: %v, %v", name, entries, err)
		}
	}
}

// A stream is read whole whatever pieces it comes in, and so is a file that is longer or shorter than it said.
func TestReadAll(t *testing.T) {
	data := make([]byte, 3<<20+17)
	for i := range data {
		data[i] = byte(i * 7 >> 3)
	}
	for _, n := range []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, len(data)} {
		for _, size := range []int64{0, int64(n), int64(n) / 2, 2 * int64(n)} {
			for _, r := range []io.Reader{bytes.NewReader(data[:n]), iotest.HalfReader(bytes.NewReader(data[:n])), iotest.DataErrReader(bytes.NewReader(data[:n]))} {
				if got, err := readAll(r, size); err != nil || !bytes.Equal(got, data[:n]) {
					t.Errorf("%d bytes, said to be %d: %d bytes, %v", n, size, len(got), err)
				}
			}
		}
	}
}
