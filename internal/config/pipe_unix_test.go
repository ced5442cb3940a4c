//go:build unix

package config

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPipe: a pipe is not opened, for nobody may ever write to it.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pemmican.toml")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, notices := New(Source{Path: path, Environ: []string{}}).Load(); !strings.Contains(texts(notices), "no regular file") {
		t.Error(notices)
	}
}
