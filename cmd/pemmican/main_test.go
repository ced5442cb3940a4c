package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pemmican-dev/pemmican/internal/modeltest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"pemmican": main,
		"holdopen": holdOpen,
	})
}

// TestScripts uses the program as people do. The transcripts of testdata/fixtures.txtar lie in the folder fix.
func TestScripts(t *testing.T) {
	fixtures, err := txtar.ParseFile(filepath.Join("testdata", "fixtures.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	example, err := filepath.Abs(filepath.Join("..", "..", "examples", "session.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, "cache"))
			env.Setenv("EXAMPLE", example)
			program, err := exec.LookPath("pemmican") // testscript has put it into PATH
			if err != nil {
				return err
			}
			env.Setenv("PEMMICAN", program) // for scripts that change PATH
			for _, name := range []string{
				"CLAUDE_CONFIG_DIR", "PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "XDG_CONFIG_HOME",
			} {
				env.Setenv(name, "")
			}
			if err := os.MkdirAll(filepath.Join(env.WorkDir, "home"), 0o700); err != nil {
				return err
			}
			old := time.Now().Add(-time.Hour)
			for _, f := range fixtures.Files {
				path := filepath.Join(env.WorkDir, "fix", f.Name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					return err
				}
				if err := errors.Join(os.WriteFile(path, f.Data, 0o600), os.Chtimes(path, old, old)); err != nil {
					return err
				}
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "namespace": // a file system can be mounted where nobody else sees it
				return exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", t.TempDir()).Run() == nil, nil
			}
			return false, fmt.Errorf("unknown condition %s", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"age":       age,
			"hold":      hold,
			"interrupt": interrupt,
			"json":      checkJSON,
			"keys":      checkKeys,
			"mkfifo":    mkfifo,
			"mode":      mode,
			"model":     model,
			"nothing":   nothing,
			"oneline":   oneLine,
			"prefix":    prefix,
			"requests":  requests,
			"status":    status,
		},
	})
}

func need(ts *testscript.TestScript, neg bool, args []string, n int, usage string) {
	if neg || len(args) < n {
		ts.Fatalf("usage: %s", usage)
	}
}

// status runs a command and demands its exit status.
func status(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "status N command [args…]")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// model starts a scripted model that gives the replies of a file, one JSON object on a line, and puts its address into
// MODEL. The one before is forgotten.
func model(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "model file")
	var replies []modeltest.Reply
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	for {
		var r modeltest.Reply
		err := d.Decode(&r)
		if errors.Is(err, io.EOF) {
			break
		}
		ts.Check(err)
		replies = append(replies, r)
	}
	server, err := modeltest.New(replies...)
	ts.Check(err)
	ts.Defer(server.Close)
	ts.Setenv("MODEL", server.URL())
	models.Store(server.URL(), server)
}

// models are the scripted models by their address.
var models sync.Map

// requests writes what the model was sent into a file: method, key, and body of each request.
func requests(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "requests file")
	server, ok := models.Load(ts.Getenv("MODEL"))
	if !ok {
		ts.Fatalf("there is no model")
	}
	var out bytes.Buffer
	for _, r := range server.(*modeltest.Server).Requests() {
		fmt.Fprintf(&out, "%s key=%s%s\n%s\n", r.Path, r.Header.Get("X-Api-Key"), r.Header.Get("Authorization"), r.Body)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), out.Bytes(), 0o600))
}

// age makes a file old.
func age(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "age DURATION file…")
	d, err := time.ParseDuration(args[0])
	ts.Check(err)
	when := time.Now().Add(-d)
	for _, f := range args[1:] {
		ts.Check(os.Chtimes(ts.MkAbs(f), when, when))
	}
}

// lookup finds a value in a JSON file by keys and indices.
func lookup(ts *testscript.TestScript, file, path string) any {
	var v any
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		ts.Fatalf("%s: %v", file, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		ts.Fatalf("%s: more than one JSON value", file)
	}
	for key := range strings.SplitSeq(path, ".") {
		switch node := v.(type) {
		case map[string]any:
			member, ok := node[key]
			if !ok && key != "" {
				ts.Fatalf("%s: %s: there is no %q", file, path, key)
			}
			if ok {
				v = member
			}
		case []any:
			i, err := strconv.Atoi(key)
			if key == "len" {
				v = json.Number(strconv.Itoa(len(node)))
				continue
			}
			if err != nil || i >= len(node) {
				ts.Fatalf("%s: %s: there is no element %s of %d", file, path, key, len(node))
			}
			v = node[i]
		default:
			ts.Fatalf("%s: %s: %v has no members", file, path, v)
		}
	}
	return v
}

// checkJSON compares a value in a JSON file with a text, or with a number: json stdout tokens_after < 100; json stdout
// stages.len = 3.
func checkJSON(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, false, args, 4, "json file path =|<|>|has value")
	got := lookup(ts, args[0], args[1])
	text := fmt.Sprint(got)
	if got == nil {
		text = "null"
	}
	ok := false
	switch args[2] {
	case "=":
		ok = text == args[3]
	case "has":
		ok = strings.Contains(text, args[3])
	case "<", ">":
		a, err := strconv.ParseFloat(text, 64)
		ts.Check(err)
		b, err := strconv.ParseFloat(args[3], 64)
		ts.Check(err)
		ok = args[2] == "<" && a < b || args[2] == ">" && a > b
	default:
		ts.Fatalf("unknown comparison %s", args[2])
	}
	if ok == neg {
		ts.Fatalf("%s is %s", args[1], text)
	}
}

// checkKeys demands the members of an object in a JSON file, exactly.
func checkKeys(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "keys file path|. key…")
	object, ok := lookup(ts, args[0], strings.Trim(args[1], ".")).(map[string]any)
	if !ok {
		ts.Fatalf("%s is no object", args[1])
	}
	var got []string
	for k := range object {
		got = append(got, k)
	}
	want := slices.Clone(args[2:])
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		ts.Fatalf("the keys are\n%q, want\n%q", got, want)
	}
}

// prefix demands that one file begins with all of another, and is longer.
func prefix(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, false, args, 2, "prefix short long")
	short, long := ts.ReadFile(args[0]), ts.ReadFile(args[1])
	if ok := len(long) > len(short) && strings.HasPrefix(long, short); ok == neg {
		ts.Fatalf("%s (%d bytes), %s (%d bytes)", args[0], len(short), args[1], len(long))
	}
}

// nothing demands that nothing temporary lies in a folder.
func nothing(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "nothing folder")
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".pemmican-") {
			ts.Fatalf("%s was left behind", e.Name())
		}
	}
}

// mode demands the permissions of a file.
func mode(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "mode OCTAL file")
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%o", info.Mode().Perm()); got != args[0] {
		ts.Fatalf("%s has mode %s", args[1], got)
	}
}

// oneLine demands that the last command wrote one line to standard error, of the program.
func oneLine(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 0, "oneline")
	text := ts.ReadFile("stderr")
	if !strings.HasPrefix(text, "pemmican: ") || strings.Count(text, "\n") != 1 {
		ts.Fatalf("not one line of the program's:\n%s", text)
	}
}

func mkfifo(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "mkfifo file")
	ts.Check(ts.Exec("mkfifo", args[0]))
}

// helper starts a program of the scripts in the background and waits for its first line.
func helper(ts *testscript.TestScript, name string, args ...string) *exec.Cmd {
	path, err := exec.LookPath(name)
	ts.Check(err)
	cmd := exec.Command(path, args...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "PATH"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	return cmd
}

// hold keeps a file open in another process until the script ends.
func hold(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "hold file")
	cmd := helper(ts, "holdopen", ts.MkAbs(args[0]))
	stdin, err := cmd.StdinPipe()
	ts.Check(err)
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() { _ = stdin.Close(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "open\n" {
		ts.Fatalf("%q, %v", line, err)
	}
}

// holdOpen is the program that hold runs.
func holdOpen() {
	f, err := os.Open(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = fmt.Fprintln(os.Stdout, "open")
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = f.Close()
}

// interrupt starts the program with an input that never ends, interrupts it, and demands one line and the exit status 2 soon.
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "interrupt INT|TERM pemmican args…")
	sent := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM}[args[0]]
	args = args[1:]
	cmd := helper(ts, args[0], args[1:]...)
	stdin, err := cmd.StdinPipe()
	ts.Check(err)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	ts.Check(cmd.Start())
	// It takes the input: so it is up, and waits for more than a pipe holds.
	_, err = stdin.Write(bytes.Repeat([]byte(" "), 1<<17))
	ts.Check(err)
	begin := time.Now()
	ts.Check(cmd.Process.Signal(sent))
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 {
		ts.Fatalf("%v, want exit status 2; %s", err, stderr.String())
	}
	if d := time.Since(begin); d > 5*time.Second {
		ts.Fatalf("it took %v to end", d)
	}
	if got := stderr.String(); got != "pemmican: standard input: interrupted; nothing was written\n" {
		ts.Fatalf("it said %q", got)
	}
}
