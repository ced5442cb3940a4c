package live_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/pemmican-dev/pemmican/internal/live"
)

// childFolder makes the test program serve a session in that folder until it is killed.
const childFolder = "PEMMICAN_LIVE_TEST_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		if _, err := live.Serve(dir, live.Session{Agent: "pi", ID: "child", PID: os.Getpid()}, echo); err != nil {
			_, _ = fmt.Fprintln(os.Stdout, err)
			os.Exit(1)
		}
		_, _ = fmt.Fprintln(os.Stdout, "ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func echo(_ context.Context, r live.Request) live.Reply {
	return live.Reply{Text: r.Do + " " + r.Instructions}
}

// folder is a short one: the name of a test can be longer than the path of a socket may be.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "live") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func serve(t *testing.T, dir string, s live.Session, handle func(context.Context, live.Request) live.Reply) func() {
	t.Helper()
	stop, err := live.Serve(dir, s, handle)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return stop
}

func list(t *testing.T, dir string) []live.Session {
	t.Helper()
	sessions, err := live.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	return sessions
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestASessionIsServedListedAskedAndStopped(t *testing.T) {
	dir := filepath.Join(folder(t), "deeper") // made by Serve
	if got := list(t, dir); len(got) != 0 {
		t.Fatalf("of a folder that is not there: %v", got)
	}
	s := live.Session{Agent: "pi", ID: "a", File: "/f/ü [1].jsonl", Dir: "/d", PID: os.Getpid()}
	status := []byte(`{"tokens":1}`)
	stop := serve(t, dir, s, func(_ context.Context, r live.Request) live.Reply {
		return live.Reply{Text: r.Do + ":" + r.Instructions, Status: status, Refused: "no"}
	})
	if diff := cmp.Diff([]live.Session{s}, list(t, dir)); diff != "" {
		t.Fatal(diff)
	}
	reply, err := live.Ask(t.Context(), dir, s, live.Request{Do: "compact", Instructions: "keep <this> 文"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(live.Reply{Text: "compact:keep <this> 文", Status: status, Refused: "no"}, reply); diff != "" {
		t.Fatal(diff)
	}
	stop()
	stop() // twice is fine
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
	if _, err := live.Ask(t.Context(), dir, s, live.Request{Do: "status"}); !errors.Is(err, live.ErrNotLive) {
		t.Errorf("asked after the end: %v", err)
	}
}

func TestNobodyElseMayEnter(t *testing.T) {
	dir := filepath.Join(folder(t), "sockets")
	serve(t, dir, live.Session{ID: "a"}, echo)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v %v", info.Mode(), err)
	}
	for _, name := range names(t, dir) {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
}

func TestOnlyTheOneThatWasMeantIsAsked(t *testing.T) {
	dir := folder(t)
	for _, id := range []string{"a", "b", "c"} {
		serve(t, dir, live.Session{ID: id}, func(context.Context, live.Request) live.Reply { return live.Reply{Text: id} })
	}
	if got := list(t, dir); len(got) != 3 {
		t.Fatalf("%v", got)
	}
	for _, id := range []string{"a", "b", "c"} {
		reply, err := live.Ask(t.Context(), dir, live.Session{ID: id}, live.Request{Do: "status"})
		if err != nil || reply.Text != id {
			t.Errorf("%s: %q %v", id, reply.Text, err)
		}
	}
	if _, err := live.Ask(t.Context(), dir, live.Session{ID: "d"}, live.Request{}); !errors.Is(err, live.ErrNotLive) {
		t.Errorf("%v", err)
	}
}

func TestTheNewestComesFirst(t *testing.T) {
	dir := folder(t)
	now := time.Now()
	for i, id := range []string{"old", "new", "middle"} {
		before := names(t, dir)
		serve(t, dir, live.Session{ID: id}, echo)
		for _, name := range names(t, dir) {
			if strings.HasSuffix(name, ".json") && !slices.Contains(before, name) {
				at := now.AddDate(0, 0, []int{-3, -1, -2}[i])
				if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	var got []string
	for _, s := range list(t, dir) {
		got = append(got, s.ID)
	}
	if diff := cmp.Diff([]string{"new", "middle", "old"}, got); diff != "" {
		t.Error(diff)
	}
}

// CONCUR: a process that was killed leaves its files behind: nobody answers on them, and they go.
func TestAKilledProcessIsPassedOverAndTakenAway(t *testing.T) {
	dir := folder(t)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childFolder+"="+dir)
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdin.Close() }()
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q %v", line, err)
	}
	serve(t, dir, live.Session{ID: "mine"}, echo)
	s := live.Session{Agent: "pi", ID: "child", PID: child.Process.Pid}
	if reply, err := live.Ask(t.Context(), dir, s, live.Request{Do: "status"}); err != nil || reply.Text != "status " {
		t.Fatalf("%+v %v", reply, err)
	}
	if got := list(t, dir); len(got) != 2 {
		t.Fatalf("%v", got)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	if got := names(t, dir); len(got) != 4 {
		t.Fatalf("what a killed process leaves: %v", got)
	}
	if _, err := live.Ask(t.Context(), dir, s, live.Request{Do: "status"}); !errors.Is(err, live.ErrNotLive) {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff([]live.Session{{ID: "mine"}}, list(t, dir)); diff != "" {
		t.Error(diff)
	}
	if got := names(t, dir); len(got) != 2 {
		t.Errorf("still there: %v", got)
	}
}

// A crash between the socket and its registration leaves a socket that no registration names.
func TestHalfARegistrationIsTakenAwayOnceItIsOld(t *testing.T) {
	dir := folder(t)
	half := []string{filepath.Join(dir, "x.sock"), filepath.Join(dir, "x.json.tmp"), filepath.Join(dir, "y.json")}
	for _, path := range half {
		if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	serve(t, dir, live.Session{ID: "a"}, echo)
	if got := list(t, dir); len(got) != 1 {
		t.Fatalf("%v", got)
	}
	if got := names(t, dir); len(got) != 4 { // the first two may be in the making; a registration comes after its socket
		t.Fatalf("%v", got)
	}
	hourAgo := time.Now().Add(-time.Hour)
	for _, path := range half[:2] {
		if err := os.Chtimes(path, hourAgo, hourAgo); err != nil {
			t.Fatal(err)
		}
	}
	if got := list(t, dir); len(got) != 1 {
		t.Fatalf("%v", got)
	}
	if got := names(t, dir); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

func TestManyAskAtOnce(t *testing.T) {
	dir := folder(t)
	s := live.Session{ID: "a"}
	var calls atomic.Int32
	serve(t, dir, s, func(_ context.Context, r live.Request) live.Reply {
		calls.Add(1)
		return live.Reply{Text: r.Instructions}
	})
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			want := fmt.Sprint(i)
			if reply, err := live.Ask(t.Context(), dir, s, live.Request{Do: "compact", Instructions: want}); err != nil || reply.Text != want {
				t.Errorf("%d: %+v %v", i, reply, err)
			}
			if got := list(t, dir); len(got) != 1 {
				t.Errorf("%v", got)
			}
		})
	}
	all.Wait()
	if calls.Load() != 50 {
		t.Errorf("%d calls: a look whether anybody is there is no call", calls.Load())
	}
}

func TestStopWaitsForTheCallsAndEndsTheirContexts(t *testing.T) {
	dir := folder(t)
	s := live.Session{ID: "a"}
	entered := make(chan struct{})
	var ended atomic.Bool
	stop := serve(t, dir, s, func(ctx context.Context, _ live.Request) live.Reply {
		close(entered)
		<-ctx.Done()
		ended.Store(true)
		return live.Reply{Refused: "the session ends"}
	})
	answer := make(chan error, 1)
	go func() {
		reply, err := live.Ask(t.Context(), dir, s, live.Request{Do: "compact"})
		if err == nil && reply.Refused != "the session ends" {
			err = fmt.Errorf("%+v", reply)
		}
		answer <- err
	}()
	<-entered
	stop()
	if !ended.Load() {
		t.Error("stop has not waited")
	}
	if err := <-answer; err != nil {
		t.Error(err)
	}
}

func TestAnAskThatGivesUp(t *testing.T) {
	dir := folder(t)
	s := live.Session{ID: "a"}
	ended := make(chan struct{})
	serve(t, dir, s, func(ctx context.Context, _ live.Request) live.Reply {
		<-ctx.Done() // the one who asks has hung up
		close(ended)
		return live.Reply{}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := live.Ask(ctx, dir, s, live.Request{Do: "compact"})
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, live.ErrNotLive) {
		t.Errorf("%v", err)
	}
	<-ended
}

// What comes over the socket is read with bounds, and never ends the process.
func TestBadRequests(t *testing.T) {
	dir := folder(t)
	serve(t, dir, live.Session{ID: "a"}, echo)
	var socket string
	for _, name := range names(t, dir) {
		if strings.HasSuffix(name, ".sock") {
			socket = filepath.Join(dir, name)
		}
	}
	for name, c := range map[string]struct{ send, want string }{
		"no JSON":        {"GET / HTTP/1.1\r\n", "this is no request"},
		"another shape":  {`{"do":7}`, "this is no request"},
		"an array":       {"[]", "this is no request"},
		"too long":       {`{"do":"` + strings.Repeat("x", 2<<20), "longer than 1048576 bytes"},
		"unknown member": {`{"do":"status","later":{"a":1}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			go func() { _, _ = io.WriteString(conn, c.send) }() // it may be read in part only
			var reply live.Reply
			err = json.NewDecoder(conn).Decode(&reply)
			if err != nil && name != "too long" { // where the end of the connection may overtake the reply
				t.Fatal(err)
			}
			if err == nil && (!strings.Contains(reply.Refused, c.want) || (c.want == "") != (reply.Refused == "")) {
				t.Errorf("%+v", reply)
			}
		})
	}
	if _, err := live.Ask(t.Context(), dir, live.Session{ID: "a"}, live.Request{Do: strings.Repeat("x", 2<<20)}); err == nil {
		t.Error("a request of 2 MB was sent")
	}
	if _, err := live.Ask(t.Context(), dir, live.Session{ID: "a"}, live.Request{Do: "status"}); err != nil {
		t.Errorf("and then: %v", err)
	}
}

func TestAReplyThatCannotBeRead(t *testing.T) {
	dir := folder(t)
	for name, c := range map[string]struct {
		send    string
		notLive bool
		want    string
	}{
		"nothing":  {"", true, "ended before it answered"},
		"half":     {`{"text":"x`, true, "ended before it answered"},
		"no JSON":  {"what?", false, "cannot be read"},
		"too long": {`{"text":"` + strings.Repeat("x", 2<<20) + `"}`, false, "longer than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			socket := filepath.Join(dir, "fake.sock")
			listener, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = listener.Close() }()
			if err := os.WriteFile(filepath.Join(dir, "fake.json"), []byte(`{"id":"fake"}`), 0o600); err != nil {
				t.Fatal(err)
			}
			var server sync.WaitGroup
			defer server.Wait()
			server.Go(func() {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = io.WriteString(conn, c.send)
				_ = conn.Close()
			})
			_, err = live.Ask(t.Context(), dir, live.Session{ID: "fake"}, live.Request{Do: "status"})
			if err == nil || errors.Is(err, live.ErrNotLive) != c.notLive || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestServeSaysWhyItCannot(t *testing.T) {
	dir := folder(t)
	long := filepath.Join(dir, strings.Repeat("x", 100))
	if _, err := live.Serve(long, live.Session{}, echo); err == nil || !strings.Contains(err.Error(), "longer than the 103 bytes") {
		t.Errorf("%v", err)
	}
	if _, err := live.Serve(dir, live.Session{ID: strings.Repeat("x", 1<<17)}, echo); err == nil || !strings.Contains(err.Error(), "cannot be registered") {
		t.Errorf("%v", err)
	}
	if got := names(t, dir); len(got) != 1 { // the long folder
		t.Errorf("left behind: %v", got)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := live.Serve(file, live.Session{}, echo); err == nil {
		t.Error("a file is no folder")
	}
	if _, err := live.List(file); err == nil {
		t.Error("a file is no folder")
	}
}

func TestDir(t *testing.T) {
	runtimeDir := folder(t)
	t.Setenv("XDG_RUNTIME_DIR", runtimeDir)
	want := filepath.Join(runtimeDir, "pemmican")
	for range 2 { // made, and found
		dir, err := live.Dir()
		if err != nil || dir != want {
			t.Fatalf("%q %v", dir, err)
		}
	}
	if info, err := os.Stat(want); err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("%v %v", info.Mode(), err)
	}
	for name, c := range map[string]struct {
		make func() error
		want string
	}{
		"open":        {func() error { return os.Chmod(want, 0o750) }, "others may enter it (its mode is 0750)"},
		"a link":      {func() error { return os.Symlink(runtimeDir, want) }, "it is no folder"},
		"a file":      {func() error { return os.WriteFile(want, nil, 0o600) }, "it is no folder"},
		"not to make": {func() error { return os.Chmod(runtimeDir, 0o500) }, "cannot be made"},
		"somebody's": {func() error {
			if err := os.Mkdir(want, 0o700); err != nil {
				return err
			}
			return os.Chown(want, os.Getuid()+1, -1)
		}, "it belongs to another user"},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "open" {
				_ = os.RemoveAll(want)
			}
			if root := os.Getuid() == 0; root && name == "not to make" || !root && name == "somebody's" {
				t.Skip("another user would have to run this")
			}
			if err := c.make(); err != nil {
				t.Fatal(err)
			}
			if dir, err := live.Dir(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q %v", dir, err)
			}
			_ = os.Chmod(runtimeDir, 0o700)
			_ = os.RemoveAll(want)
			_ = os.Mkdir(want, 0o700)
		})
	}
	for _, unusable := range []string{"", "relative", "/nowhere/at/all"} {
		t.Setenv("XDG_RUNTIME_DIR", unusable)
		dir, err := live.Dir()
		if err != nil || !filepath.IsAbs(dir) || strings.Contains(dir, "nowhere") {
			t.Errorf("XDG_RUNTIME_DIR %q: %q %v", unusable, dir, err)
		}
	}
}

// Try leaves nothing behind, and says what Serve would.
func TestTry(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "live")
	if err := live.Try(dir); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v %v", entries, err)
	}
	long := filepath.Join(dir, strings.Repeat("long", 30))
	if err := live.Try(long); err == nil || !strings.Contains(err.Error(), "longer than the 103 bytes") {
		t.Errorf("%v", err)
	}
}
