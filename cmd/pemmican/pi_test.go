package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pemmican-dev/pemmican/format/openaichat"
	"github.com/pemmican-dev/pemmican/format/pi"
	"github.com/pemmican-dev/pemmican/internal/modeltest"
	"github.com/pemmican-dev/pemmican/internal/pitest"
)

// Real pi works, its session is compacted as a person does it, and pi goes on with what was planned.
func TestRealPi(t *testing.T) {
	for _, version := range []string{pitest.BeforeEdits, pitest.Latest} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newWork(t, version)
			t.Run("look", w.on(look))
			t.Run("compact and go on, twice", w.on(compactTwice))
			t.Run("undo", w.on(undo))
			t.Run("by a model", w.on(byModel))
			if version == pitest.Latest { // the older one knows neither stubs nor anchors
				t.Run("anchored", w.on(anchored))
				t.Run("shortened", w.on(shortened))
			}
		})
	}
}

// look: the program finds the session and nothing wrong with it.
func look(w *work) {
	var listed struct {
		Sessions []struct{ Agent, Path, Folder, State string }
	}
	w.json(&listed, 0, "sessions", "--json")
	if len(listed.Sessions) != 1 {
		w.t.Fatalf("%d sessions, want 1", len(listed.Sessions))
	}
	if s := listed.Sessions[0]; s.Agent != "pi" || s.Path != w.file || s.Folder != w.dir || s.State != "sound" {
		w.t.Errorf("the session is listed as %+v", s)
	}
	if table, _ := w.pemmican(0, "sessions"); !strings.Contains(table, "  pi ") {
		w.t.Errorf("the table of sessions is\n%s", table)
	}
	var inspected struct {
		Tokens int
		By     struct{ File []struct{ Name string } }
		Plan   struct{ Overhead string }
	}
	w.json(&inspected, 0, "inspect", "pi:latest", "--json")
	if inspected.Tokens < 10_000 || inspected.Tokens > 40_000 {
		w.t.Errorf("the session has %d tokens, and was meant to have some 20,000", inspected.Tokens)
	}
	if f := inspected.By.File; len(f) == 0 || f[0].Name != "importer.log" {
		w.t.Errorf("the files are %v, and importer.log is the largest", f)
	}
	// The older one does not record what it sends beside the conversation, but how much that was.
	if got, want := inspected.Plan.Overhead, map[string]string{pitest.BeforeEdits: "estimated", pitest.Latest: "known"}[w.pi.Version]; got != want {
		w.t.Errorf("system text and tools are %s, want %s", got, want)
	}
	if text, _ := w.pemmican(0, "inspect", "pi:latest"); !strings.Contains(text, "importer.log") {
		w.t.Errorf("inspect shows\n%s", text)
	}
	w.sound()

	// An agent folder that only a variable names is found too.
	moved := *w
	moved.home, moved.agentDir = w.t.TempDir(), filepath.Join(w.home, ".pi", "agent")
	moved.json(&listed, 0, "sessions", "--json")
	if len(listed.Sessions) != 1 || listed.Sessions[0].Path != w.file {
		w.t.Errorf("by PI_CODING_AGENT_DIR: %+v", listed.Sessions)
	}
}

// compactTwice: pi goes on from a compacted session, works, and goes on from it compacted again.
func compactTwice(w *work) {
	before := w.read()
	stdout, _ := w.pemmican(1, "compact", "pi:latest", "--append", "--target", "30%", "--json")
	if !strings.Contains(stdout, "30 seconds") || !bytes.Equal(w.read(), before) {
		w.t.Errorf("pi has just written to the file, and still: %s", stdout)
	}

	w.compact("summarised", "--target", "30%")
	messages := w.goOn("Now note the ticket in NOTES.md", []string{"--continue"},
		modeltest.Reply{Calls: []modeltest.Call{read("NOTES.md"), read("importer.log")}},
		modeltest.Reply{Calls: []modeltest.Call{edit("NOTES.md", "# Slow imports", "# Slow imports (PEM-4711)")}},
		modeltest.Reply{Calls: []modeltest.Call{bash("tail -n 40 importer.log"), bash("sh check.sh")}},
		modeltest.Reply{Text: "NOTES.md names PEM-4711 now."},
	)
	w.oneSummary(messages)
	if was, is := size(pitest.Sent(w.decode(before).Transcript())), size(messages); is > was/2 {
		w.t.Errorf("the conversation had %d bytes, and still has %d", was, is)
	}
	w.sound()
	compacted := w.read()
	if _, stderr := w.pemmican(1, "undo", "pi:latest"); !strings.HasSuffix(stderr,
		": there is nothing to undo: the file does not end with what Pemmican appended; nothing was changed\n") || strings.Count(stderr, "\n") != 1 {
		w.t.Errorf("undo behind pi's own lines says %q", stderr)
	}
	if !bytes.Equal(w.read(), compacted) {
		w.t.Error("undo changed a file behind which pi went on")
	}

	// The second time by the command that was printed.
	resume := w.compact("summarised", "--target", "40%")
	shell := exec.CommandContext(w.t.Context(), "sh", "-c", `pi() { pwd; printf '%s\n' "$@"; }; `+resume)
	out, err := shell.Output()
	if want := []string{w.dir, "--session", w.file}; err != nil || strings.TrimSuffix(string(out), "\n") != strings.Join(want, "\n") {
		w.t.Fatalf("%q is %q to a shell, want %q; %v", resume, out, want, err)
	}
	w.oneSummary(w.goOn("What was the ticket?", []string{"--session", w.file}))
	w.sound()
}

// size is the number of bytes in messages.
func size(messages []modeltest.Message) int { return len(fmt.Sprint(messages)) }

// undo: the file is as it was, to the byte, and pi goes on with all of the old conversation.
func undo(w *work) {
	before := w.read()
	var compacted []byte
	for range 2 { // and compacted again it is the same again
		w.compact("summarised", "--target", "30%")
		if compacted != nil && !bytes.Equal(w.read(), compacted) {
			w.t.Error("the same session was compacted in two ways")
		}
		compacted = w.read()
		if _, stderr := w.pemmican(0, "undo", "pi:latest"); !strings.Contains(stderr, "it is as it was before") {
			w.t.Errorf("undo says %q", stderr)
		}
		if !bytes.Equal(w.read(), before) {
			w.t.Fatal("undo did not bring back what was there")
		}
	}
	messages := w.goOn("Go on", []string{"--continue"})
	if n := len(messages); n < 25 {
		w.t.Errorf("pi sent %d messages of the old conversation", n)
	}
	if messages[0].Text != task || strings.Contains(fmt.Sprint(messages), "<summary>") {
		w.t.Errorf("the old conversation begins with %v", messages[0])
	}
}

// byModel: pi goes on from a session that a model has summed up, by each of the protocols; and a bad reply leaves the
// session as it was, or falls back where that was asked for.
func byModel(w *work) {
	const narrative = "## Goal\nRaise the timeout in importer.ini to 30 (PEM-4711); legacy.ini stays as it is.\n\n" +
		"## Progress\nsh check.sh passes. NOTES.md names batch 0004, batch 0013 and 16 more.\n\n## Next Steps\nThe log was being read part by part."
	before := w.read()
	by := func(api modeltest.API) []string {
		return []string{"--target", "30%", "--summarizer", string(api) + "/scripted-model", "--base-url", w.server.BaseURL(api)}
	}
	for _, api := range []modeltest.API{modeltest.Anthropic, modeltest.Responses, modeltest.Chat} {
		w.server.Reset()
		w.server.Script(modeltest.Reply{Text: "Let me check the working tree first.", Calls: []modeltest.Call{bash("git status")}})
		w.rest()
		args := append([]string{"compact", "pi:latest", "--append"}, by(api)...)
		if _, stderr := w.pemmican(1, args...); !strings.Contains(stderr, "the model called a tool instead of writing a summary") || !bytes.Equal(w.read(), before) {
			w.t.Fatalf("a bad reply by %s: %s", api, stderr)
		}
		w.server.Script(modeltest.Reply{Text: narrative})
		w.compact("summarised", by(api)...)
		if n := len(w.server.Requests()); n != 2 {
			w.t.Errorf("%d requests by %s, want 2", n, api)
		}
		if api != modeltest.Chat {
			w.pemmican(0, "undo", "pi:latest")
		}
	}
	messages := w.goOn("Go on", []string{"--continue"}, modeltest.Reply{Calls: []modeltest.Call{bash("tail -n 5 importer.log"), read("NOTES.md")}}, modeltest.Reply{Text: "Done with the log."})
	w.oneSummary(messages)
	text := ""
	for _, m := range messages {
		text += m.Text + "\n"
	}
	for _, want := range []string{"Automatic checkpoint: ", narrative, "<modified-files>\n"} {
		if strings.Count(text, want) != 1 {
			w.t.Errorf("%q is not in what pi sends", want)
		}
	}
	w.sound()
	w.server.Script(modeltest.Reply{Text: "half", Stop: "length"})
	w.compact("fell-back", append(by(modeltest.Chat), "--fallback", "--target", "60%")...)
	w.oneSummary(w.goOn("And now?", []string{"--continue"}))
}

// anchored: older steps stay between what is left out, and results in them are made short in their places.
func anchored(w *work) {
	before := pitest.Sent(w.decode(w.read()).Transcript())
	w.compact("summarised", "--preset", "anchored", "--target", "45%")
	messages := w.goOn("Go on", []string{"--continue"})
	w.oneSummary(messages)

	was := map[string]int{} // places in the old conversation
	for i, m := range before {
		was[key(m)] = i
	}
	last, gaps, stubs := -1, 0, 0
	for _, m := range messages {
		i, ok := was[key(m)]
		if !ok || m.Role == "user" {
			continue
		}
		if i <= last {
			w.t.Errorf("a message has moved: %v", m)
		}
		if last >= 0 && i > last+1 {
			gaps++
		}
		if m.Text != before[i].Text {
			stubs++
		}
		last = i
	}
	if gaps == 0 {
		w.t.Error("nothing was left out between what stayed")
	}
	if stubs == 0 {
		w.t.Error("no result was made short")
	}
	if !strings.Contains(fmt.Sprint(messages), `"newText":"timeout = 30"`) {
		w.t.Error("the edit that was the task is not among the anchors")
	}
}

// shortened: results are made short in their places, and no message goes.
func shortened(w *work) {
	before := pitest.Sent(w.decode(w.read()).Transcript())
	w.compact("reduced", "--preset", "prune", "--target", "45%")
	messages := w.goOn("Go on", []string{"--continue"})
	if len(messages) != len(before)+1 {
		w.t.Fatalf("%d messages became %d", len(before), len(messages)-1)
	}
	short := 0
	for i, was := range before {
		is := messages[i]
		if is.Text != was.Text {
			short++
			is.Text = was.Text
		}
		if diff := cmp.Diff(was, is); diff != "" {
			w.t.Errorf("more than a text has changed\n%s", diff)
		}
	}
	if short == 0 {
		w.t.Error("no result was made short")
	}
}

// key names a message of a conversation, by what it calls or answers where it does.
func key(m modeltest.Message) string {
	switch {
	case m.CallID != "":
		return "result " + m.CallID
	case len(m.Calls) > 0:
		return m.Calls[0]
	}
	return m.Role + " " + m.Text
}

// work is a session of a real pi, with the folder that it works in and a home of its own.
type work struct {
	t               *testing.T
	pi              *pitest.Pi
	server          *modeltest.Server
	home, dir, file string
	program         string // the path of pemmican
	agentDir        string // PI_CODING_AGENT_DIR for it
}

// task is the first thing that the person says.
const task = `Raise the importer's timeout to 30 s and make "sh check.sh" pass — the ticket is PEM-4711.

• never touch legacy.ini
• no <new> dependency`

// newWork lets pi make a session of three turns: files read several times, a command that fails again and again, parallel
// calls, an edit, a new file, long results.
func newWork(t *testing.T, version string) *work {
	t.Helper()
	w := &work{t: t, pi: pitest.Install(t, version), home: filepath.Join(t.TempDir(), "my home")}
	var err error
	if w.program, err = exec.LookPath("pemmican"); err != nil {
		t.Fatal(err)
	}
	if w.dir, err = filepath.EvalSymlinks(t.TempDir()); err != nil { // pi records it so
		t.Fatal(err)
	}
	w.dir = filepath.Join(w.dir, "the importer's")
	if err := os.Mkdir(w.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var log, settings strings.Builder
	for i := range 160 {
		speed := "ok"
		if i%9 == 4 {
			speed = "slow"
		}
		fmt.Fprintf(&log, "2026-03-01T10:%02d:%02d importer[%d]: batch %04d of customer %03d: %d rows in %d ms, %s\n",
			i/60, i%60, 4000+i*7%13, i, i*37%211, i*7919%1000, i*104_729%9000, speed)
	}
	for i := range 60 {
		if i == 31 {
			settings.WriteString("timeout = 5\n")
		}
		fmt.Fprintf(&settings, "# Option %d of the importer, as the manual has it.\noption_%d = %d\n", i, i, i*i)
	}
	for name, text := range map[string]string{
		"importer.log": log.String(),
		"importer.ini": settings.String(),
		"legacy.ini":   "timeout = 5\n",
		"check.sh": `grep -q '^timeout = 30$' importer.ini && echo 'check: ok' && exit
echo "check: importer.ini:63: the timeout must be 30, and there is $(grep ^timeout importer.ini)" >&2
exit 3
`,
	} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.server = modeltest.Start(t)

	turns := []struct {
		prompt  string
		replies []modeltest.Reply
	}{
		{task, []modeltest.Reply{
			{Text: "I look at the settings and the log.", Calls: []modeltest.Call{read("importer.ini"), read("importer.log")}},
			{Calls: []modeltest.Call{bash("sh check.sh")}},
			{Calls: []modeltest.Call{bash("sh check.sh")}},
			{Calls: []modeltest.Call{bash("sh check.sh"), read("importer.ini")}},
			{Text: "It is 5.", Calls: []modeltest.Call{edit("importer.ini", "timeout = 5", "timeout = 30"), read("check.sh")}},
			{Calls: []modeltest.Call{bash("sh check.sh"), bash("grep -c slow importer.log")}},
			{Text: "The timeout is 30 now, and the check passes."},
		}},
		{"Which imports are slow? Write them into NOTES.md.", []modeltest.Reply{
			{Calls: []modeltest.Call{read("importer.log")}},
			{Calls: []modeltest.Call{bash("grep slow importer.log")}},
			{Calls: []modeltest.Call{{Name: "write", Args: map[string]any{"path": "NOTES.md", "content": "# Slow imports\n\nbatch 0004, batch 0013 and 16 more\n"}}}},
			{Calls: []modeltest.Call{read("NOTES.md"), read("importer.ini")}},
			{Text: "NOTES.md names batch 0004, batch 0013 and 16 more."},
		}},
		{"Go through the log part by part, and see that legacy.ini is as it was.", parts()},
	}
	requests := 0
	for i, turn := range turns {
		var args []string
		if i > 0 {
			args = []string{"--continue"}
		}
		w.run(turn.prompt, args, turn.replies...)
		requests += len(turn.replies)
	}
	if n := len(w.server.Requests()); n != requests {
		t.Fatalf("%d requests, want %d", n, requests)
	}
	files := pitest.SessionFiles(w.home)
	if len(files) != 1 {
		t.Fatalf("session files %q", files)
	}
	w.file = files[0]
	return w
}

// parts are many steps with results of middling length, all different, so that shortening them is not enough.
func parts() []modeltest.Reply {
	var out []modeltest.Reply
	for i := 1; i < 160; i += 14 {
		out = append(out, modeltest.Reply{
			Text:  fmt.Sprintf("The lines from %d on.", i),
			Calls: []modeltest.Call{bash(fmt.Sprintf("sed -n %d,%dp importer.log", i, i+13))},
		})
	}
	return append(out,
		modeltest.Reply{Calls: []modeltest.Call{read("legacy.ini"), read("check.sh"), bash("head -n 30 importer.log")}},
		modeltest.Reply{Text: "All batches are there, and the timeout of legacy.ini is 5."})
}

func read(path string) modeltest.Call {
	return modeltest.Call{Name: "read", Args: map[string]any{"path": path}}
}

func bash(command string) modeltest.Call {
	return modeltest.Call{Name: "bash", Args: map[string]any{"command": command}}
}

func edit(path, old, replacement string) modeltest.Call {
	return modeltest.Call{Name: "edit", Args: map[string]any{"path": path, "edits": []any{map[string]any{"oldText": old, "newText": replacement}}}}
}

// on makes a test of a copy of the home, so that each goes on from the same session.
func (w *work) on(test func(*work)) func(*testing.T) {
	return func(t *testing.T) {
		w := *w
		w.t = t
		home := filepath.Join(t.TempDir(), "my home")
		if err := os.CopyFS(home, os.DirFS(w.home)); err != nil {
			t.Fatal(err)
		}
		w.file = filepath.Join(home, strings.TrimPrefix(w.file, w.home))
		w.home = home
		test(&w)
	}
}

// pemmican runs the program with the person's home, and demands its exit status.
func (w *work) pemmican(status int, args ...string) (stdout, stderr string) {
	w.t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(w.t.Context(), w.program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = w.dir, &out, &errs
	cmd.Env = []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "PI_CODING_AGENT_DIR=" + w.agentDir}
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != status {
		w.t.Fatalf("pemmican %q: exit status %d, want %d\n%s%s", args, got, status, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

// json is pemmican for a command that writes one JSON object.
func (w *work) json(v any, status int, args ...string) {
	w.t.Helper()
	stdout, _ := w.pemmican(status, args...)
	if err := json.Unmarshal([]byte(stdout), v); err != nil {
		w.t.Fatalf("pemmican %q: %v\n%s", args, err, stdout)
	}
}

// sound demands that the program finds nothing wrong with the session.
func (w *work) sound() {
	w.t.Helper()
	var checked struct{ Findings []json.RawMessage }
	w.json(&checked, 0, "check", "pi:latest", "--json")
	if len(checked.Findings) > 0 {
		w.t.Errorf("findings %s", checked.Findings)
	}
}

// compact appends a compaction to the session, which pi left alone an hour ago, demands its outcome, and returns the
// command that goes on.
func (w *work) compact(outcome string, args ...string) (resume string) {
	w.t.Helper()
	before := w.read()
	w.rest()
	var report struct {
		Outcome, Output, Resume, Reason string
		Target                          int
		Before                          int `json:"tokens_before"`
		After                           int `json:"tokens_after"`
		Warnings                        []string
	}
	w.json(&report, 0, append([]string{"compact", "pi:latest", "--append", "--json"}, args...)...)
	report.Warnings = slices.DeleteFunc(report.Warnings, func(s string) bool { return strings.HasPrefix(s, "an excerpt of the conversation, ") })
	if report.Outcome != outcome || report.Output != w.file || report.After > report.Target || len(report.Warnings) > 0 {
		w.t.Errorf("the report is %+v", report)
	}
	w.t.Logf("%s from %d to %d tokens", report.Outcome, report.Before, report.After)
	after := w.read()
	if !bytes.HasPrefix(after, before) || len(after) == len(before) {
		w.t.Fatal("the file does not begin with what was there")
	}
	w.sound()
	return report.Resume
}

// rest lets the session look as if pi had left it alone for an hour.
func (w *work) rest() {
	w.t.Helper()
	anHourAgo := time.Now().Add(-time.Hour)
	if err := os.Chtimes(w.file, anHourAgo, anHourAgo); err != nil {
		w.t.Fatal(err)
	}
}

// goOn lets pi go on with the session, and demands that it sends the conversation that the file holds, in a request that
// a provider takes; and that it records its answer behind it. It returns the messages of the request, system text apart.
func (w *work) goOn(prompt string, args []string, replies ...modeltest.Reply) []modeltest.Message {
	w.t.Helper()
	before := w.read()
	planned := w.decode(before).Transcript()
	request := w.run(prompt, args, replies...)

	messages := request.Messages()
	system, messages := messages[0], messages[1:]
	want := append(pitest.Sent(planned), modeltest.Message{Role: "user", Text: prompt})
	if diff := cmp.Diff(want, messages); diff != "" {
		w.t.Errorf("what pi sends (-the file +the request)\n%s", diff)
	}
	if planned.HasSystem && system.Text != planned.Blocks[0].Text {
		w.t.Errorf("pi sends another system text than stands in the file: %q", system.Text)
	}
	body, err := openaichat.Decode(request.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if findings := body.Check(); len(findings) > 0 {
		w.t.Errorf("a provider would refuse the request: %+v", findings)
	}

	after := w.read()
	if !bytes.HasPrefix(after, before) {
		w.t.Fatal("pi changed what was there")
	}
	answer := "done"
	if n := len(replies); n > 0 {
		answer = replies[n-1].Text
	}
	on := pitest.Sent(w.decode(after).Transcript())
	if diff := cmp.Diff(want, on[:min(len(want), len(on))]); diff != "" {
		w.t.Errorf("the file behind pi's answer\n%s", diff)
	}
	if last := on[len(on)-1]; last.Role != "assistant" || last.Text != answer {
		w.t.Errorf("the file ends with %v, want pi's answer %q", last, answer)
	}
	if text, _ := w.pemmican(0, "text", "pi:latest"); !strings.HasSuffix(text, "[Assistant]\n"+answer+"\n") {
		w.t.Errorf("the text ends with %q", text[max(0, len(text)-200):])
	}
	return messages
}

// run runs pi and returns its first request.
func (w *work) run(prompt string, args []string, replies ...modeltest.Reply) modeltest.Request {
	w.t.Helper()
	n := len(w.server.Requests())
	w.server.Script(replies...)
	if out := w.pi.Run(w.t, w.home, w.dir, w.server, prompt, args...); out.ExitCode != 0 {
		w.t.Fatalf("pi ended with %d\n%s", out.ExitCode, out.Stderr)
	}
	requests := w.server.Requests()
	if got := len(requests) - n; got != max(1, len(replies)) {
		w.t.Fatalf("%d requests, want %d", got, max(1, len(replies)))
	}
	return requests[n]
}

// oneSummary demands that the messages hold one summary, and the first task as it was said, once.
func (w *work) oneSummary(messages []modeltest.Message) {
	w.t.Helper()
	summaries, tasks := 0, 0
	for _, m := range messages {
		summaries += strings.Count(m.Text, "<summary>\n")
		tasks += strings.Count(m.Text, task)
	}
	if summaries != 1 || tasks != 1 {
		w.t.Errorf("%d summaries and %d times the task, want one of each, in\n%v", summaries, tasks, messages)
	}
}

func (w *work) read() []byte {
	w.t.Helper()
	b, err := os.ReadFile(w.file)
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

func (w *work) decode(data []byte) *pi.Doc {
	w.t.Helper()
	doc, err := pi.Decode(data)
	if err != nil {
		w.t.Fatal(err)
	}
	return doc
}
