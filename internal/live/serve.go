package live

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Serve registers a session in the folder dir, which is made if it is not there, and answers requests with handle, which
// may be called several times at once. The context of a call ends when the one who asks hangs up. Stop takes the
// registration away, ends the contexts of the calls that run, and waits for them; it may be called more than once.
func Serve(dir string, s Session, handle func(context.Context, Request) Reply) (stop func(), err error) {
	socket, listener, err := listen(dir)
	if err != nil {
		return nil, err
	}
	if err = os.Chmod(socket, 0o600); err == nil {
		err = register(registration(socket), s)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: the session cannot be registered: %w", dir, errors.Join(err, listener.Close()))
	}
	ctx, cancel := context.WithCancel(context.Background())
	server := &server{listener: listener, handle: handle}
	server.calls.Go(func() { server.accept(ctx) })
	return func() {
		_ = os.Remove(registration(socket)) // one that stays is found to be stale
		cancel()
		_ = listener.Close() // takes the socket away too
		server.calls.Wait()
	}, nil
}

// Try finds out whether a session could be reached in the folder dir, which is made if it is not there. It leaves nothing
// else behind, and nobody sees it.
func Try(dir string) error {
	_, listener, err := listen(dir)
	if err != nil {
		return err
	}
	return listener.Close() // takes the socket away too
}

// listen makes a socket in a folder.
func listen(dir string) (socket string, listener *net.UnixListener, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, fmt.Errorf("the folder for running sessions cannot be made: %w", err)
	}
	socket = filepath.Join(dir, rand.Text()[:nameLength]+socketExt) // a name is never used again, so nobody takes away another's
	listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		if len(socket) > mostPath {
			err = fmt.Errorf("its path is longer than the %d bytes of a socket's name; XDG_RUNTIME_DIR can name a shorter folder: %w", mostPath, err)
		}
		return "", nil, fmt.Errorf("%s: nobody can be let in: %w", dir, err)
	}
	return socket, listener, nil
}

// register writes whose a socket is. Whoever lists the sessions sees all of it or nothing.
func register(path string, s Session) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if len(data) > mostRegistration {
		return fmt.Errorf("what it says of itself takes %d bytes, and %d are the most", len(data), mostRegistration)
	}
	temporary := path + temporaryExt
	err = os.WriteFile(temporary, data, 0o600)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		_ = os.Remove(temporary)
	}
	return err
}

type server struct {
	listener net.Listener
	handle   func(context.Context, Request) Reply
	calls    sync.WaitGroup
}

// accept takes connections until the listener is closed.
func (s *server) accept(ctx context.Context) {
	for {
		conn, err := s.listener.Accept()
		switch {
		case err == nil:
			s.calls.Go(func() { s.answer(ctx, conn) })
		case errors.Is(err, net.ErrClosed):
			return
		default: // too many open files, say: it passes
			select {
			case <-ctx.Done():
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
}

// answer reads the request of a connection and writes the reply.
func (s *server) answer(ctx context.Context, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })()
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	if ctx.Err() != nil { // the deadline of AfterFunc may have come first
		return
	}
	var r Request
	err := receive(conn, &r)
	if errors.Is(err, io.EOF) { // somebody only looked whether anybody is there
		return
	}
	reply := Reply{}
	if err != nil {
		reply.Refused = "this is no request: " + err.Error()
	} else {
		_ = conn.SetReadDeadline(time.Time{})
		gone := make(chan struct{})
		go func() { // nothing comes any more, but the end when the other side hangs up
			defer close(gone)
			_, _ = io.Copy(io.Discard, conn)
			cancel()
		}()
		defer func() {
			cancel()
			<-gone
		}()
		reply = s.handle(ctx, r)
	}
	_ = conn.SetWriteDeadline(time.Now().Add(patience))
	data, err := json.Marshal(reply)
	if err == nil {
		_, _ = conn.Write(data) // it fails for who has hung up, and nobody else is there to be told
	}
}

// receive reads one JSON object. The error is io.EOF only where nothing came at all.
func receive(r io.Reader, into any) error {
	limited := &io.LimitedReader{R: r, N: mostBytes}
	err := json.NewDecoder(limited).Decode(into)
	if err != nil && limited.N == 0 {
		return fmt.Errorf("it is longer than %d bytes", mostBytes)
	}
	return err
}
