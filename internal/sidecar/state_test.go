package sidecar

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// What nobody goes on with is forgotten, and nothing else in the folder is touched.
func TestForget(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	for name, age := range map[string]time.Duration{
		"old.json": 61 * 24 * time.Hour, "new.json": time.Hour, "old.txt": 61 * 24 * time.Hour, ".state-1": 2 * time.Hour, ".state-2": time.Minute,
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	forget(dir, now)
	forget(filepath.Join(dir, "not there"), now)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{".state-2", "new.json", "old.txt"}; !slices.Equal(left, want) {
		t.Errorf("left are %v, want %v", left, want)
	}
}
