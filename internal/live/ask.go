package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// List returns the sessions that run now, the one that was registered last first. What a crash has left behind is passed
// over, and taken away. A folder that is not there holds none.
func List(dir string) ([]Session, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	type registered struct {
		session Session
		at      time.Time
	}
	var found []registered
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch filepath.Ext(path) {
		case registrationExt:
			if !answers(socketOf(path)) {
				continue
			}
			if s, at, err := read(path); err == nil {
				found = append(found, registered{s, at})
			}
		case socketExt, temporaryExt:
			discard(e, path)
		}
	}
	slices.SortStableFunc(found, func(a, b registered) int { return cmp.Compare(b.at.UnixNano(), a.at.UnixNano()) })
	sessions := make([]Session, len(found))
	for i := range found {
		sessions[i] = found[i].session
	}
	return sessions, nil
}

// Ask sends a request to a running session. The error wraps ErrNotLive if nothing answers.
func Ask(ctx context.Context, dir string, s Session, r Request) (Reply, error) {
	registrations, err := filepath.Glob(filepath.Join(escaped(dir), "*"+registrationExt))
	if err != nil {
		return Reply{}, err
	}
	err = ErrNotLive
	for _, path := range registrations {
		if found, _, bad := read(path); bad != nil || found != s {
			continue
		}
		var reply Reply
		if reply, err = ask(ctx, socketOf(path), r); !errors.Is(err, ErrNotLive) {
			return reply, err
		}
	}
	return Reply{}, err
}

// ask sends a request to a socket.
func ask(ctx context.Context, socket string, r Request) (Reply, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return Reply{}, err
	}
	if len(data) > mostBytes {
		return Reply{}, fmt.Errorf("the request takes %d bytes, and %d are the most", len(data), mostBytes)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if gone(err) {
		return Reply{}, ErrNotLive
	}
	if err != nil {
		return Reply{}, fmt.Errorf("the running session cannot be reached: %w", err)
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	var reply Reply
	if _, err = conn.Write(data); err == nil {
		err = receive(conn, &reply)
	}
	switch {
	case err == nil:
		return reply, nil
	case ctx.Err() != nil:
		return Reply{}, fmt.Errorf("the running session has not answered: %w", ctx.Err())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNRESET):
		return Reply{}, fmt.Errorf("%w: it ended before it answered", ErrNotLive)
	}
	return Reply{}, fmt.Errorf("the running session answered what cannot be read: %w", err)
}

// answers reports whether anybody listens on a socket. One on which nobody does is taken away, with its registration.
func answers(socket string) bool {
	conn, err := net.Dial("unix", socket) //nolint:noctx // a socket of this machine lets in at once, or not at all
	if err == nil {
		_ = conn.Close()
		return true
	}
	if !gone(err) { // it is busy, say
		return true
	}
	_ = os.Remove(registration(socket))
	_ = os.Remove(socket)
	return false
}

// discard takes away what a crash in the midst of a registration has left: a socket without one, or half of one. It must
// be old, for one that is being made looks the same.
func discard(e fs.DirEntry, path string) {
	const old = time.Minute
	info, err := e.Info()
	if err != nil || time.Since(info.ModTime()) < old {
		return
	}
	if filepath.Ext(path) == temporaryExt {
		_ = os.Remove(path)
		return
	}
	if _, err := os.Lstat(registration(path)); errors.Is(err, fs.ErrNotExist) {
		answers(path)
	}
}

// read reads whose a socket is, and since when.
func read(path string) (s Session, at time.Time, err error) {
	f, err := os.Open(path)
	if err != nil {
		return s, at, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return s, at, err
	}
	return s, info.ModTime(), json.NewDecoder(io.LimitReader(f, mostRegistration)).Decode(&s)
}

// gone reports whether nobody listens any more.
func gone(err error) bool {
	const refusedByWindows = syscall.Errno(10061) // which is not its ECONNREFUSED
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, refusedByWindows)
}

// escaped is a folder as a pattern.
func escaped(dir string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(dir)
}
