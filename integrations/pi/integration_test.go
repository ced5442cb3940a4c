package pi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican/internal/modeltest"
	"github.com/pemmican-dev/pemmican/internal/pitest"
)

// The tests of test/*.test.mjs, by node: what the extension takes for granted of pi (P10, X24), the process beside pi, and
// the extension in real pi with a process that does what a test tells it to.
func TestNode(t *testing.T) {
	oldest, newest := pitest.Install(t, pitest.BeforeEdits), pitest.Install(t, pitest.Latest)
	files, err := filepath.Glob("test/*.test.mjs")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), newest.Node(), append([]string{"--test", "--test-reporter=spec", "--test-timeout=120000"}, files...)...)
	cmd.Env = append(os.Environ(),
		"PEMMICAN_PI_PACKAGES="+oldest.Package()+":"+newest.Package(),
		"PATH="+filepath.Dir(newest.Node())+":"+os.Getenv("PATH"),
		"NO_COLOR=1", "NODE_NO_WARNINGS=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "ℹ tests") || strings.HasPrefix(line, "ℹ pass") || strings.Contains(line, "﹣") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

// The package is found by pi in either folder: in its own one, and in the root of the repository, which is what
// "pi install git:…" clones.
func TestInstall(t *testing.T) {
	for _, version := range []string{pitest.BeforeEdits, pitest.Latest} {
		for _, folder := range []string{".", "../.."} {
			t.Run(version+" "+folder, func(t *testing.T) {
				t.Parallel()
				pi, home := pitest.Install(t, version), t.TempDir()
				pi.InstallPackage(t, home, folder)
				pi.Env = []string{"PEMMICAN_BIN=" + filepath.Join(home, "nowhere")}
				r := pi.Start(t, home, t.TempDir(), modeltest.Start(t))
				commands := string(r.Do(map[string]any{"type": "get_commands"}))
				if !strings.Contains(commands, `"name":"pemmican"`) || !strings.Contains(commands, `"name":"skill:pemmican"`) {
					t.Errorf("the commands are %s", commands)
				}
				r.WaitNotice("go install github.com/pemmican-dev/pemmican/cmd/pemmican@latest")
			})
		}
	}
}

// What the extension asks in the mode "same" begins with the agent's own requests, byte for byte, by each of the protocols:
// all of the last request is read from the provider's cache, and only the instruction is new. P8.
func TestSameRequest(t *testing.T) {
	for _, version := range []string{pitest.BeforeEdits, pitest.Latest} {
		for _, api := range []modeltest.API{modeltest.Anthropic, modeltest.Chat, modeltest.Responses} {
			for _, thinking := range []string{"high", "off"} {
				t.Run(version+"/"+string(api)+"/thinking "+thinking, func(t *testing.T) {
					t.Parallel()
					sameRequest(t, version, api, thinking, "{}")
				})
			}
			t.Run(version+"/"+string(api)+"/no images, budgets", func(t *testing.T) {
				t.Parallel()
				sameRequest(t, version, api, "medium", `{"images":{"blockImages":true},"thinkingBudgets":{"medium":3333}}`)
			})
		}
	}
}

// picture is the smallest one.
const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func sameRequest(t *testing.T, version string, api modeltest.API, thinking, settings string) {
	const instruction = "SUM IT UP"
	pi := pitest.Install(t, version)
	pi.API, pi.Reasoning, pi.Images, pi.KeepRecentTokens = api, true, true, 1
	fake, err := filepath.Abs("test/fake-sidecar.mjs")
	if err != nil {
		t.Fatal(err)
	}
	script, err := json.Marshal(map[string]any{
		"hello": map[string]any{"protocol": 1, "tool": map[string]any{
			"name": "compact_context", "label": "Compact", "description": "Compacts.", "snippet": "compacts", "instructions": "focus"}},
		"compact": map[string]any{
			"ask": map[string]any{"n": 1, "model": "scripted/scripted-model", "mode": "same", "instruction": instruction},
			"compaction": map[string]any{"summary": "$reply", "firstKeptEntryId": "$kept", "tokensBefore": 1,
				"details": map[string]any{"engine": "pemmican", "mode": "same"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	pi.Env = []string{"PEMMICAN_BIN=" + fake, "FAKE_SCRIPT=" + string(script)}
	home, dir := t.TempDir(), t.TempDir()
	agent := filepath.Join(home, ".pi", "agent")
	png, err := base64.StdEncoding.DecodeString(picture)
	if err := errors.Join(err, os.MkdirAll(agent, 0o755), os.WriteFile(filepath.Join(agent, "settings.json"), []byte(settings), 0o600),
		os.WriteFile(filepath.Join(dir, "dot.png"), png, 0o600), os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("alpha\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	var where, there string
	if thinking != "off" {
		where, there = "Where is it?", "There."
	}
	server := modeltest.Start(t,
		modeltest.Reply{Reasoning: where, Text: "I look.", Calls: []modeltest.Call{
			{Name: "read", Args: map[string]any{"path": "notes.txt"}}, {Name: "read", Args: map[string]any{"path": "dot.png"}},
			{Name: "bash", Args: map[string]any{"command": "echo é"}}}},
		modeltest.Reply{Reasoning: there, Text: "It says alpha."},
		modeltest.Reply{Text: "You are welcome."},
		modeltest.Reply{Text: "THE SUMMARY"},
		modeltest.Reply{Text: "As I said."},
	)
	server.Configure(modeltest.Config{Newer: true, Cache: true, Window: 100_000})
	pi.InstallPackage(t, home, ".")
	r := pi.Start(t, home, dir, server)
	r.Do(map[string]any{"type": "set_thinking_level", "level": thinking})
	image := map[string]any{"type": "image", "mimeType": "image/png", "data": picture}
	r.Do(map[string]any{"type": "prompt", "message": "What is in notes.txt?", "images": []any{image, image}})
	r.Wait("agent_settled")
	r.Prompt("Thanks")
	r.Do(map[string]any{"type": "compact"})
	r.Prompt("And now?")
	if errs := r.Errors(); len(errs) > 0 {
		t.Errorf("pi reports %q", errs)
	}

	requests := server.Requests()
	if len(requests) != 5 {
		t.Fatalf("%d requests, want 5", len(requests))
	}
	own, asked, after := requests[2], requests[3], requests[4]
	if asked.Refused != "" {
		t.Fatalf("the server refused: %s", asked.Refused)
	}
	ownMessages, askedMessages := own.Messages(), asked.Messages()
	if last := askedMessages[len(askedMessages)-1]; last.String() != `user "`+instruction+`"` {
		t.Errorf("it ends with %v", last)
	}
	if n := len(ownMessages); len(askedMessages) != n+2 {
		t.Errorf("%d messages, want %d, the answer and the instruction", len(askedMessages), n)
	}
	same(t, own.Body, asked.Body)
	if blocked := strings.Contains(settings, "blockImages"); blocked == strings.Contains(string(asked.Body), picture) {
		t.Errorf("images are blocked: %v; asked %.3000s", blocked, asked.Body)
	}
	if !slices.ContainsFunc(after.Messages(), func(m modeltest.Message) bool { return strings.Contains(m.Text, "THE SUMMARY") }) {
		t.Errorf("pi went on with %v", after.Messages())
	}
}

// same compares two requests: whatever is not the conversation is equal, and the earlier conversation is the beginning of
// the later one but for the marks of Anthropic's cache, which move.
func same(t *testing.T, own, asked []byte) {
	t.Helper()
	a, b := members(t, own), members(t, asked)
	for _, name := range slices.Compact(slices.Sorted(func(yield func(string) bool) {
		for _, m := range []map[string]json.RawMessage{a, b} {
			for name := range m {
				if !yield(name) {
					return
				}
			}
		}
	})) {
		if name == "messages" || name == "input" {
			earlier, later := list(t, a[name]), list(t, b[name])
			for i, m := range earlier {
				if i >= len(later) || !bytes.Equal(unmarked(m), unmarked(later[i])) {
					t.Errorf("%s[%d] is\n%s\nand not\n%s", name, i, later[i], m)
				}
			}
			continue
		}
		if !bytes.Equal(a[name], b[name]) {
			t.Errorf("%s is\n%s\nand not\n%s", name, b[name], a[name])
		}
	}
}

func members(t *testing.T, body []byte) (out map[string]json.RawMessage) {
	t.Helper()
	if err := json.Unmarshal(body, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func list(t *testing.T, b []byte) (out []json.RawMessage) {
	t.Helper()
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func unmarked(m []byte) []byte {
	return bytes.ReplaceAll(m, []byte(`,"cache_control":{"type":"ephemeral"}`), nil)
}
