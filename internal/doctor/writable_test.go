package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWritable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		path  string
		there bool
		says  string
	}{
		{dir, true, ""},
		{filepath.Join(dir, "a", "b"), false, ""},
		{file, true, "it is no folder"},
		{filepath.Join(file, "a", "b"), false, file + ": it is no folder"},
	} {
		there, err := writable(row.path)
		if row.says == "" && err != nil || row.says != "" && (err == nil || err.Error() != row.says) || there != row.there {
			t.Errorf("%s: %t %v", row.path, there, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}

// A disk without room, and a folder in which the system makes no files, are called by their names.
func TestNoRoom(t *testing.T) {
	if err := write("/sys/kernel"); err == nil || !strings.Contains(err.Error(), "/sys/kernel") {
		t.Skipf("this system has no folder that nobody can write to: %v", err)
	}
	there, err := writable("/sys/kernel")
	if !there || err == nil || strings.Contains(err.Error(), "/") {
		t.Errorf("%t %v", there, err)
	}
}
