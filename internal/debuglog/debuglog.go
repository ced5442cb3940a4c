// Package debuglog is the log file for people who look for a fault: one file, lines of JSON, which several processes may
// write at once. Whoever logs sees to it that no word of a conversation and no key gets into it.
package debuglog

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
)

// maxSize is how large the file gets before it is put aside, in bytes.
const maxSize = 10 << 20

// Path is where the log is, or would be.
func Path() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "pemmican", "debug.log"), nil
}

// Open opens the log at path, which it makes if need be, for nobody but this user. A file that has become too large is
// renamed, with ".1" behind its name, over the one before. Every line tells the process. Close the closer when nothing
// is logged any more.
func Open(path string) (*slog.Logger, io.Closer, error) {
	return open(path, maxSize)
}

func open(path string, most int64) (*slog.Logger, io.Closer, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, nil, err
	}
	f := &file{path: path, most: most}
	if err := f.reopen(); err != nil {
		return nil, nil, err
	}
	log := slog.New(slog.NewJSONHandler(f, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return log.With("pid", os.Getpid()), f, nil
}

// file is the log file. Each write is a whole line, and appends, so those of several processes do not mix.
type file struct {
	path string
	most int64

	mu   sync.Mutex
	f    *os.File
	info fs.FileInfo // of f
}

// Write appends a line.
func (l *file) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return 0, os.ErrClosed
	}
	if err := l.turn(int64(len(line))); err != nil {
		return 0, err
	}
	return l.f.Write(line)
}

// turn begins a new file where there is no room for n bytes, or another process has begun one.
func (l *file) turn(n int64) error {
	now, err := os.Stat(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !os.SameFile(now, l.info): // another process was first
	case now.Size() == 0 || now.Size()+n <= l.most:
		return nil
	default:
		if err := os.Rename(l.path, l.path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	before := l.f
	if err := l.reopen(); err != nil {
		return err
	}
	return before.Close()
}

func (l *file) reopen() error {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.f, l.info = f, info
	return nil
}

// Close closes the log. What is logged afterwards goes nowhere.
func (l *file) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f = nil
	return err
}
