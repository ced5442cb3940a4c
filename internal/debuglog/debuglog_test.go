package debuglog

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// lines reads a log, and demands that each of its lines is JSON.
func lines(t *testing.T, path string) (out []map[string]any) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		var m map[string]any
		if err := json.Unmarshal(s.Bytes(), &m); err != nil {
			t.Fatalf("%s: %v in %q", path, err, s.Text())
		}
		out = append(out, m)
	}
	return out
}

func TestAppends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "debug.log")
	for i := range 2 {
		log, c, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		log.Debug("event", "n", i)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		log.Info("late") // goes nowhere
	}
	got := lines(t, path)
	if len(got) != 2 || got[0]["n"] != 0.0 || got[1]["n"] != 1.0 || got[1]["pid"] != float64(os.Getpid()) || got[0]["level"] != "DEBUG" {
		t.Errorf("%v", got)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// Two processes that write at once: no line is torn, and no file gets larger than it may.
func TestTurns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "debug.log")
	const most = 4_000
	var wg sync.WaitGroup
	for p := range 2 {
		log, c, err := open(path, most)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		wg.Go(func() {
			for i := range 200 {
				log.Info("line", "from", fmt.Sprint(p, " ", i))
			}
		})
	}
	wg.Wait()
	for _, p := range []string{path, path + ".1"} {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > most+200 { // both may have seen room for their line
			t.Errorf("%s has %d bytes, of %d at most", p, info.Size(), most)
		}
		if len(lines(t, p)) == 0 && p != path {
			t.Errorf("%s is empty", p)
		}
	}
}

func TestUnusable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(filepath.Join(path, "debug.log")); err == nil {
		t.Error("a log below a file")
	}
	if _, _, err := Open(filepath.Dir(path)); err == nil {
		t.Error("a log that is a folder")
	}
}
