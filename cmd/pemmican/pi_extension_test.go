package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican/internal/modeltest"
	"github.com/pemmican-dev/pemmican/internal/pitest"
)

// The extension in real pi, at both ends of the range, with the real program beside it. Each test ends with a session that
// opens again in pi, and in which the program finds nothing wrong.
func TestPiExtension(t *testing.T) {
	for _, version := range []string{pitest.BeforeEdits, pitest.Latest} {
		t.Run(version, func(t *testing.T) {
			for _, test := range []struct {
				name string
				run  func(*extended)
			}{
				{"past a tier, reminded, compacted by the agent, and on", story},
				{"the tool below the lowest tier (T22)", belowTier},
				{"automatic", automatic},
				{"compact by hand, by another model", byOther},
				{"a model that is not there (X3)", unresolved},
				{"a bad reply, then an error, then the breaker (R2, R8, R10, X26)", failing},
				{"our summary fails, and pi's too (R6)", bothFail},
				{"called off (R12)", calledOff},
				{"called off where the agent has asked", askedAndCalledOff},
				{"an overflow (T11)", overflow},
				{"another model: smaller, then excluded (T24, X19, X20)", switches},
				{"excluded and switched off, and on again while it runs (X1, X25)", hotReload},
				{"a subagent (X15)", subagent},
				{"compacted twice (X17, X18)", twice},
				{"without a person", unattended},
			} {
				t.Run(test.name, func(t *testing.T) {
					t.Parallel()
					test.run(newExtended(t, version))
				})
			}
		})
	}
}

// story is what a person with pi does: installs the package, works past a tier; the agent sees the reminder, calls
// compact_context, and goes on. T21, X2, X16, P8.
func story(e *extended) {
	e.pi.InstallPackage(e.t, e.home, extension)
	e.rpc = e.pi.Start(e.t, e.home, e.dir, e.server)
	e.rpc.Prompt(task)
	e.rpc.Wait("compaction_end")
	e.rpc.Wait("agent_settled")

	reminder := e.one("reminder", isReminder)
	for _, want := range []string{"K / 200K tokens (", "%)", "tier 1 (6K)", "compact_context", "\n1. ", "\n2. ", "\n3. ", "ignore"} {
		if !strings.Contains(last(reminder).Text, want) {
			e.t.Errorf("the reminder lacks %q:\n%s", want, last(reminder).Text)
		}
	}
	asked, outcome := e.one("question for a summary", isInstruction), e.one("outcome", isOutcome)
	if own := e.before(asked); !bytes.HasPrefix(messagesOf(e.t, asked.Body), messagesOf(e.t, own.Body)) || !bytes.Equal(member(e.t, own.Body, "tools"), member(e.t, asked.Body, "tools")) {
		e.t.Error("the question does not begin with the agent's own request")
	}
	if text := textOf(outcome); !strings.Contains(text, narrative) {
		e.t.Errorf("pi went on without the summary: %s", tail(text))
	}
	text := last(outcome).Text
	for _, want := range []string{"number 1 of this session", "Mode: same", "scripted/scripted-model", "Before: ", "After: ", "Cost: ", "From the provider's cache: "} {
		if !strings.Contains(text, want) {
			e.t.Errorf("the outcome lacks %q:\n%s", want, text)
		}
	}
	var share int
	if _, after, ok := strings.Cut(text, "cache: "); ok {
		_, _ = fmt.Sscanf(after, "%d%%", &share)
	}
	e.t.Logf("pi %s: %d%% of the question was read from the cache", e.pi.Version, share)
	if share < 80 {
		e.t.Errorf("%d%% of the question was read from the cache:\n%s", share, text)
	}

	made := e.compactions()[0]
	if made.Details.Engine != "pemmican" || made.Details.Mode != "same-model" || !made.FromHook || made.Usage.CacheRead == 0 || made.Usage.Cost.Total == 0 {
		e.t.Errorf("the entry is marked %+v", made)
	}
	for _, want := range []string{"Automatic checkpoint: ", narrative, "<read-files>", "importer.log", e.file()} {
		if !strings.Contains(made.Summary, want) {
			e.t.Errorf("the summary lacks %q:\n%s", want, made.Summary)
		}
	}
	e.rpc.Prompt("And the ticket?")
	if n := len(e.find(isReminder)); n != 1 {
		e.t.Errorf("%d reminders, want 1", n)
	}
	e.end(1)
}

func belowTier(e *extended) {
	e.settings(`reminderThresholds = [150000]`)
	e.start()
	e.agentCompacts = true
	e.rpc.Prompt(task)
	e.rpc.Prompt("compact now")
	refusal := e.result("compact_context")
	if !strings.Contains(refusal, "150K") || !strings.Contains(refusal, "reminderThresholds") {
		e.t.Errorf("the tool says %q", refusal)
	}
	if n := len(e.find(isReminder)) + len(e.find(isInstruction)); n != 0 {
		e.t.Errorf("%d reminders and questions below the lowest tier", n)
	}
	e.end(0)
}

// automatic: pi's own trigger, in the newer one in the middle of a run; and what it makes is ours.
func automatic(e *extended) {
	e.quiet()
	e.pi.ContextWindow, e.pi.ReserveTokens = 25_000, 15_000
	e.start()
	e.rpc.Prompt(task)
	e.rpc.Prompt("Once more: " + task)
	e.rpc.Prompt("Go on")
	if made := e.compactions(); len(made) == 0 || made[0].Details.Engine != "pemmican" || !strings.Contains(made[0].Summary, narrative) {
		e.t.Fatalf("compactions %+v", made)
	}
	e.end(1)
}

func byOther(e *extended) {
	e.quiet(`compactModel = "other/cheap"`)
	e.pi.More = []pitest.Model{{Provider: "other", ID: "cheap"}}
	e.start()
	e.rpc.Prompt(task)
	e.rpc.Do(map[string]any{"type": "compact", "customInstructions": "the ticket PEM-4711"})
	asked := e.one("question for a summary", isExcerpt)
	if asked.Model != "cheap" || asked.MaxTokens == 0 || !strings.Contains(string(asked.Body), "the ticket PEM-4711") || member(e.t, asked.Body, "tools") != nil {
		e.t.Errorf("asked was %s for %d tokens: %.300s", asked.Model, asked.MaxTokens, asked.Body)
	}
	if made := e.compactions()[0]; made.Details.Mode != "cross-model" || made.Details.Model != "other/cheap" {
		e.t.Errorf("the entry is marked %+v", made.Details)
	}
	e.end(1)
}

func unresolved(e *extended) {
	e.quiet(`compactModel = "other/gone"`)
	e.pi.More = []pitest.Model{{Provider: "keyless", ID: "model", Keyless: true}}
	e.start()
	e.rpc.Prompt(task)
	e.rpc.Do(map[string]any{"type": "compact"})
	e.byPi(0, "other/gone")
	e.quiet(`compactModel = "keyless/model"`)
	e.rpc.Prompt("Once more: " + task)
	e.rpc.Do(map[string]any{"type": "compact"})
	e.byPi(1, "keyless/model")
	if asked := append(e.find(isInstruction), e.find(isExcerpt)...); len(asked) != 0 {
		e.t.Errorf("%d questions of ours, want none", len(asked))
	}
	e.end(2)
}

func failing(e *extended) {
	e.quiet()
	e.start()
	replies := []modeltest.Reply{
		{Text: "First I look at the tree.", Calls: []modeltest.Call{bash("git status")}},
		{Error: modeltest.Error{Message: "no such thing today"}, Status: 400},
		{Text: "half a summ", Stop: "length"},
	}
	for i, reply := range replies {
		e.summaryReply = &reply
		e.rpc.Prompt("Again: " + task)
		e.rpc.Do(map[string]any{"type": "compact"})
		e.byPi(i, "")
	}
	asked := len(e.find(isInstruction))
	if asked != len(replies) {
		e.t.Errorf("%d questions, want %d: one for each occasion", asked, len(replies))
	}
	e.rpc.Prompt("Again: " + task)
	e.rpc.Do(map[string]any{"type": "compact"})
	e.byPi(len(replies), "")
	if n := len(e.find(isInstruction)); n != asked {
		e.t.Errorf("the breaker let %d more questions through", n-asked)
	}
	// It is the session's own.
	e.rpc.Do(map[string]any{"type": "new_session"})
	e.summaryReply = nil
	e.rpc.Prompt(task)
	e.rpc.Do(map[string]any{"type": "compact"})
	if made := e.compactions(); made[0].Details.Engine != "pemmican" {
		e.t.Errorf("in a new session the entry is marked %+v", made[0])
	}
	e.end(1)
}

// bothFail: nothing has changed, the next request has all the results, and the next crossing is another occasion.
func bothFail(e *extended) {
	e.quiet()
	e.pi.ContextWindow, e.pi.ReserveTokens = 25_000, 15_000
	e.start()
	e.rpc.Prompt(task)
	failed := modeltest.Reply{Error: modeltest.Error{Message: "no such thing today"}, Status: 400}
	e.summaryReply, e.pisReply = &failed, &failed
	e.rpc.Prompt("Once more: " + task)
	if made := e.compactions(); len(made) > 0 {
		e.t.Fatalf("compactions %+v", made)
	}
	own := e.find(func(r modeltest.Request) bool { return !isInstruction(r) && !isPis(r) })
	if n := strings.Count(textOf(own[len(own)-1]), "\n1499\n1500"); n != 2 {
		e.t.Errorf("%d results are left, want 2", n)
	}
	e.summaryReply, e.pisReply = nil, nil
	e.rpc.Prompt("Go on")
	if made := e.compactions(); len(made) != 1 || made[0].Details.Engine != "pemmican" {
		e.t.Fatalf("compactions %+v", made)
	}
	e.end(1)
}

// calledOff: the person stops a compaction in the middle of the question. Nothing changes, and it is no failure.
func calledOff(e *extended) {
	if e.pi.Version == pitest.BeforeEdits {
		e.t.Skip("this pi cannot be told to stop a compaction from outside of its terminal")
	}
	e.quiet()
	e.start()
	e.rpc.Prompt(task)
	stalled := make(chan struct{})
	e.summaryReply = &modeltest.Reply{Text: "half of it", StallAt: modeltest.Ending, Stall: func(ctx context.Context) {
		close(stalled)
		<-ctx.Done()
	}}
	compacting := e.rpc.Send(map[string]any{"type": "compact"})
	<-stalled
	e.rpc.Do(map[string]any{"type": "abort"})
	if _, err := e.rpc.Answer(compacting); err == nil {
		e.t.Error("the compaction was called off, and pi has made it")
	}
	e.rpc.Prompt("Go on")
	if n := len(e.compactions()) + len(e.find(isPis)); n != 0 {
		e.t.Errorf("%d compactions and questions of pi", n)
	}
	e.summaryReply = nil
	e.rpc.Do(map[string]any{"type": "compact"})
	if notices := strings.Join(e.rpc.Notices(), "\n"); strings.Contains(notices, "warning") {
		e.t.Errorf("notices %s", notices)
	}
	e.end(1)
}

// askedAndCalledOff: the person stops the compaction that the agent has asked for. The agent hears of it, and does nothing
// until the person says something.
func askedAndCalledOff(e *extended) {
	if e.pi.Version == pitest.BeforeEdits {
		e.t.Skip("this pi cannot be told to stop a compaction from outside of its terminal")
	}
	stalled := make(chan struct{})
	e.summaryReply = &modeltest.Reply{Text: "half of it", StallAt: modeltest.Ending, Stall: func(ctx context.Context) {
		close(stalled)
		<-ctx.Done()
	}}
	e.start()
	e.rpc.Do(map[string]any{"type": "prompt", "message": task})
	<-stalled
	before := len(e.server.Requests())
	e.rpc.Do(map[string]any{"type": "abort"})
	e.rpc.Wait("compaction_end")
	e.rpc.Do(map[string]any{"type": "prompt", "message": "/pemmican"})
	e.rpc.WaitNotice("Pemmican is on") // so what went before has been answered too
	if n := len(e.server.Requests()); n != before {
		e.t.Errorf("%d requests after the person has stopped it: %v", n-before, last(e.newest()))
	}
	e.settings(`reminderThresholds = [900000]`)
	e.rpc.Prompt("Go on")
	if text := textOf(e.newest()); !strings.Contains(text, "[Pemmican] The compaction was not made, and nothing was changed: it was cancelled") {
		e.t.Errorf("the agent was told %s", tail(text))
	}
	e.summaryReply = nil
	e.end(0)
}

// overflow: the provider refuses the request, pi compacts and sends it once more. The question for the summary cannot be
// that very request, so it is an excerpt.
func overflow(e *extended) {
	e.quiet()
	e.start()
	e.rpc.Prompt(task)
	e.server.Configure(modeltest.Config{Cache: true, Window: e.newest().Tokens + e.newest().MaxTokens - 100})
	e.rpc.Prompt("Go on")
	if made := e.compactions(); len(made) != 1 || made[0].Details.Engine != "pemmican" {
		e.t.Fatalf("compactions %+v", made)
	}
	if last(e.newest()).Text != "Go on" || e.newest().Refused != "" {
		e.t.Errorf("the newest request is refused with %q, and ends with %v", e.newest().Refused, last(e.newest()))
	}
	e.overflows = 1
	e.end(1)
}

// unattended: a run without a person ends when it is done. It has neither tool nor reminder, for either would cut it off;
// pi's own trigger is taken over.
func unattended(e *extended) {
	e.pi.ContextWindow, e.pi.ReserveTokens = 25_000, 15_000
	for _, prompt := range []string{task, "Once more: " + task} {
		out := e.pi.Run(e.t, e.home, e.dir, e.server, prompt, "--continue", "-e", e.source())
		if out.ExitCode != 0 || len(out.Stderr) > 0 {
			e.t.Errorf("pi ended with %d: %s", out.ExitCode, out.Stderr)
		}
		if strings.Contains(string(member(e.t, e.server.Requests()[0].Body, "tools")), "compact_context") || len(e.find(isReminder)) > 0 {
			e.t.Error("there is a tool or a reminder")
		}
	}
	if made := e.compactions(); len(made) != 1 || made[0].Details.Engine != "pemmican" {
		e.t.Errorf("compactions %+v", made)
	}
	e.end(1)
}

// switches: what the agent is told of a smaller and of an excluded model, and who writes the summary between them.
func switches(e *extended) {
	e.quiet(`reminderThresholds = [500000]`, `excludedModels = ["other/left-alone"]`)
	e.pi.ContextWindow, e.pi.ReserveTokens = 1_000_000, 1_000 // the line of pi itself is not reached
	e.pi.More = []pitest.Model{{ID: "small", ContextWindow: 22_000}, {Provider: "other", ID: "left-alone", ContextWindow: 1_000_000}}
	e.start()
	e.rpc.Prompt(task)
	e.rpc.SetModel("scripted", "small")
	e.rpc.Do(map[string]any{"type": "compact"})
	if made, asked := e.compactions()[0], e.one("question for a summary", isInstruction); made.Details.Model != "scripted/scripted-model" || asked.Model != "scripted-model" {
		e.t.Errorf("before the smaller model has answered, %s was asked for the summary: %+v", asked.Model, made.Details)
	}
	e.rpc.Prompt("Go on")
	text := textOf(e.newest())
	if !strings.Contains(text, "The model is now scripted/small, with a window of 22K tokens (before: 1000K)") {
		e.t.Errorf("the smaller model was told %s", tail(text))
	}
	e.rpc.SetModel("other", "left-alone")
	e.rpc.Prompt("And now?")
	if text := textOf(e.newest()); !strings.Contains(text, "other/left-alone") || !strings.Contains(text, "excludedModels") {
		e.t.Errorf("the excluded model was told %s", tail(text))
	}
	e.rpc.SetModel("scripted", "scripted-model")
	e.rpc.Prompt("And again?")
	if text := textOf(e.newest()); !strings.Contains(text, "It is not excluded") {
		e.t.Errorf("back again it was told %s", tail(text))
	}
	e.end(1)
}

func hotReload(e *extended) {
	e.settings(`excludedModels = ["scripted/scripted-model"]`)
	e.start()
	e.agentCompacts = true
	e.rpc.Prompt(task)
	e.rpc.Do(map[string]any{"type": "compact"})
	e.byPi(0, "")
	e.rpc.Prompt("Once more: " + task)
	e.rpc.Prompt("compact now")
	if refusal := e.result("compact_context"); !strings.Contains(refusal, "excluded") || !strings.Contains(refusal, "pemmican.toml") {
		e.t.Errorf("the tool says %q", refusal)
	}
	if n := len(e.find(isReminder)); n != 0 {
		e.t.Errorf("%d reminders with an excluded model", n)
	}

	e.settings(`enabled = `) // half-written: the last good one stays
	e.rpc.Prompt("compact now")
	if refusal := e.result("compact_context"); !strings.Contains(refusal, "excluded") {
		e.t.Errorf("with a broken file the tool says %q", refusal)
	}
	e.rpc.WaitNotice("pemmican.toml")

	e.quiet()
	e.rpc.Do(map[string]any{"type": "compact"})
	if made := e.compactions()[1]; made.Details.Engine != "pemmican" {
		e.t.Errorf("with mended settings the entry is marked %+v", made)
	}
	e.settings(`enabled = false`)
	e.rpc.Prompt("And once more: " + task)
	e.rpc.Do(map[string]any{"type": "compact"})
	e.byPi(2, "")
	e.end(3)
}

func subagent(e *extended) {
	e.pi.Env = append(e.pi.Env, "PI_SUBAGENT_ROOT_SESSION_ID=")
	e.start()
	e.rpc.Prompt(task)
	if strings.Contains(string(member(e.t, e.newest().Body, "tools")), "compact_context") {
		e.t.Error("a subagent has the tool")
	}
	e.rpc.Do(map[string]any{"type": "compact"})
	e.byPi(0, "")
	if n := len(e.find(isReminder)); n != 0 {
		e.t.Errorf("%d reminders in a subagent", n)
	}
	e.end(1)
}

// twice: the second summary is handed the first one, and says that details wear off.
func twice(e *extended) {
	e.settings(`reminderThresholds = [5000, 6000, 18000]`)
	e.start()
	e.rpc.Prompt(task)
	e.rpc.Wait("compaction_end")
	e.rpc.Wait("agent_settled")
	if reminder := last(e.one("reminder", isReminder)).Text; !strings.Contains(reminder, "tier 1 (5K), tier 2 (6K).") {
		e.t.Errorf("two tiers at once are told of as\n%s", reminder)
	}
	e.rpc.Prompt("Once more: " + task)
	e.rpc.Wait("compaction_end")
	e.rpc.Wait("agent_settled")
	outcomes := e.find(isOutcome)
	if len(outcomes) != 2 {
		e.t.Fatalf("%d outcomes, want 2", len(outcomes))
	}
	const wears = "details wear off"
	if first, second := last(outcomes[0]).Text, last(outcomes[1]).Text; strings.Contains(first, wears) || !strings.Contains(second, wears) {
		e.t.Errorf("the outcomes are\n%s\n%s", first, second)
	}
	made := e.compactions()
	if n := strings.Count(textOf(outcomes[1]), "compacted into the following summary"); n != 1 {
		e.t.Errorf("%d summaries are live, want 1", n)
	}
	if !strings.Contains(made[1].Summary, "importer.log") {
		e.t.Error("the second summary has lost a file of the first one")
	}
	e.end(2)
}

// extension is the folder of the package.
const extension = "../../integrations/pi"

// narrative is what the scripted model writes as a summary.
const narrative = "## Goal\nRaise the timeout in importer.ini to 30 (PEM-4711); legacy.ini stays as it is.\n\n" +
	"## Progress\nimporter.log was read; the slow batches are known.\n\n## Next Steps\nEdit importer.ini, then run sh check.sh."

// extended is a real pi with the extension.
type extended struct {
	t         *testing.T
	pi        *pitest.Pi
	rpc       *pitest.RPC
	server    *modeltest.Server
	home, dir string
	program   string

	// agentCompacts has the agent call the tool when it is told "compact now".
	agentCompacts bool
	// summaryReply is what the model answers when it is asked for a summary of ours, the narrative if nil.
	summaryReply *modeltest.Reply
	// pisReply is what it answers to pi's own question for one.
	pisReply *modeltest.Reply
	// overflows is how many requests the provider is expected to refuse.
	overflows int
}

func newExtended(t *testing.T, version string) *extended {
	t.Helper()
	e := &extended{t: t, pi: pitest.Install(t, version), home: t.TempDir()}
	e.pi.KeepRecentTokens = 600
	var err error
	if e.program, err = exec.LookPath("pemmican"); err != nil {
		t.Fatal(err)
	}
	if e.dir, err = filepath.EvalSymlinks(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	e.pi.Env = []string{"PEMMICAN_BIN=" + e.program}
	var log strings.Builder
	for i := range 160 {
		fmt.Fprintf(&log, "2026-03-01T10:%02d:%02d importer[%d]: batch %04d: %d rows in %d ms\n", i/60, i%60, 4000+i*7%13, i, i*7919%1000, i*104_729%9000)
	}
	if err := os.WriteFile(filepath.Join(e.dir, "importer.log"), []byte(log.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	e.server = modeltest.Start(t, modeltest.Reply{Answer: e.answer, Repeat: true})
	e.server.Configure(modeltest.Config{Cache: true})
	e.settings()
	return e
}

// answer is the model.
func (e *extended) answer(r modeltest.Request) modeltest.Reply {
	message := last(r)
	switch {
	case isInstruction(r), isExcerpt(r):
		if e.summaryReply != nil {
			return *e.summaryReply
		}
		return modeltest.Reply{Text: narrative}
	case isPis(r):
		if e.pisReply != nil {
			return *e.pisReply
		}
		return modeltest.Reply{Text: "## Goal\nPi's own summary."}
	case isReminder(r), e.agentCompacts && message.Role == "user" && message.Text == "compact now":
		return modeltest.Reply{Text: "A stage is done.", Calls: []modeltest.Call{{Name: "compact_context", Args: map[string]any{"instructions": "keep PEM-4711"}}}}
	case message.Role == "user" && strings.Contains(message.Text, task):
		return modeltest.Reply{Text: "I look.", Calls: []modeltest.Call{read("importer.log"), bash("seq 1 1500")}}
	case message.Role == "tool":
		return modeltest.Reply{Text: "I have seen it."}
	}
	return modeltest.Reply{Text: "I go on."}
}

func last(r modeltest.Request) modeltest.Message {
	messages := r.Messages()
	if len(messages) == 0 {
		return modeltest.Message{}
	}
	return messages[len(messages)-1]
}

// textOf are the texts of a request's messages behind the system text.
func textOf(r modeltest.Request) string {
	var b strings.Builder
	for _, m := range r.Messages()[1:] {
		b.WriteString(m.Text + "\n")
	}
	return b.String()
}

func isReminder(r modeltest.Request) bool {
	return strings.Contains(last(r).Text, "Newly reached: ") && last(r).Role == "user"
}

func isOutcome(r modeltest.Request) bool {
	return strings.HasPrefix(last(r).Text, "[Pemmican] The context has been compacted") && last(r).Role == "user"
}

// isInstruction finds the agent's own request with our instruction behind it.
func isInstruction(r modeltest.Request) bool {
	m := last(r)
	return m.Role == "user" && strings.HasPrefix(m.Text, "Answer with text only, and call no tools.") && len(r.Messages()) > 2
}

// isExcerpt finds our request to another model.
func isExcerpt(r modeltest.Request) bool {
	return len(r.Messages()) == 2 && !isPis(r) && !strings.Contains(string(r.Body), `"tools"`)
}

// isPis finds the request of pi's own compaction.
func isPis(r modeltest.Request) bool {
	messages := r.Messages()
	return len(messages) == 2 && strings.Contains(messages[0].Text, "context summarization assistant")
}

// settings writes the settings file of the person: a low tier, unless the lines say another one.
func (e *extended) settings(lines ...string) {
	e.t.Helper()
	text := strings.Join(lines, "\n") + "\n"
	if !strings.Contains(text, "reminderThresholds") {
		text = "reminderThresholds = [6000, 12000, 18000]\n" + text
	}
	path := filepath.Join(e.home, ".config", "pemmican", "pemmican.toml")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		e.t.Fatal(err)
	}
}

// quiet is settings without a tier that is ever reached, unless the lines say one.
func (e *extended) quiet(lines ...string) {
	e.t.Helper()
	if !strings.Contains(strings.Join(lines, "\n"), "reminderThresholds") {
		lines = append([]string{"reminderThresholds = [900000]"}, lines...)
	}
	e.settings(lines...)
}

// start starts pi with the extension.
func (e *extended) start() {
	e.t.Helper()
	e.rpc = e.pi.Start(e.t, e.home, e.dir, e.server, "-e", e.source())
}

// source is the file of the extension.
func (e *extended) source() string {
	e.t.Helper()
	file, err := filepath.Abs(filepath.Join(extension, "extensions", "pemmican.ts"))
	if err != nil {
		e.t.Fatal(err)
	}
	return file
}

// end demands so many compactions, that pi reported no error of the extension, that the program finds nothing wrong with
// the session, and that pi goes on with it.
func (e *extended) end(compactions int) {
	e.t.Helper()
	if got := len(e.compactions()); got != compactions {
		e.t.Errorf("%d compactions, want %d", got, compactions)
	}
	if e.rpc != nil {
		e.rpc.Close()
		if errs := e.rpc.Errors(); len(errs) > 0 {
			e.t.Errorf("pi reports %q", errs)
		}
	}
	if refused := e.find(func(r modeltest.Request) bool { return r.Refused != "" }); len(refused) != e.overflows {
		e.t.Errorf("the provider refused %d requests, want %d", len(refused), e.overflows)
		for _, r := range refused {
			e.t.Logf("%s: %d tokens, %d at most, %v", r.Refused, r.Tokens, r.MaxTokens, last(r))
		}
	}
	cmd := exec.CommandContext(e.t.Context(), e.program, "check", e.file(), "--json")
	cmd.Env = []string{"HOME=" + e.home}
	out, err := cmd.Output()
	var checked struct{ Findings []json.RawMessage }
	if err != nil || json.Unmarshal(out, &checked) != nil || len(checked.Findings) > 0 {
		e.t.Errorf("pemmican check: %v, %s", err, out)
	}
	files, before := len(pitest.SessionFiles(e.home)), len(e.lines())
	if out := e.pi.Run(e.t, e.home, e.dir, e.server, "Good morning", "--continue"); out.ExitCode != 0 {
		e.t.Errorf("pi ended with %d: %s", out.ExitCode, out.Stderr)
	}
	if len(pitest.SessionFiles(e.home)) != files || len(e.lines()) <= before {
		e.t.Error("pi did not go on with the session")
	}
}

func (e *extended) file() string {
	e.t.Helper()
	files := pitest.SessionFiles(e.home)
	if len(files) == 0 {
		e.t.Fatal("there is no session file")
	}
	return files[len(files)-1]
}

func (e *extended) lines() [][]byte {
	e.t.Helper()
	b, err := os.ReadFile(e.file())
	if err != nil {
		e.t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSpace(b), []byte("\n"))
}

type compaction struct {
	Type, Summary string
	FromHook      bool
	Details       struct{ Engine, Mode, Model string }
	Usage         struct {
		CacheRead int
		Cost      struct{ Total float64 }
	}
}

// compactions are those of the session file.
func (e *extended) compactions() []compaction {
	e.t.Helper()
	var out []compaction
	for _, line := range e.lines() {
		var c compaction
		if json.Unmarshal(line, &c) == nil && c.Type == "compaction" {
			out = append(out, c)
		}
	}
	return out
}

// byPi demands that pi's own compaction made the nth entry, and that a notice names the reason, if one is given.
func (e *extended) byPi(n int, reason string) {
	e.t.Helper()
	made := e.compactions()
	if len(made) <= n || made[n].FromHook || made[n].Details.Engine != "" || !strings.Contains(made[n].Summary, "Pi's own summary.") {
		e.t.Fatalf("compaction %d of %+v is not pi's own", n, made)
	}
	if reason != "" {
		e.rpc.WaitNotice(reason)
	}
}

// result is the newest result of a tool.
func (e *extended) result(tool string) string {
	e.t.Helper()
	for _, line := range slices.Backward(e.lines()) {
		var entry struct {
			Message struct {
				Role, ToolName string
				Content        []struct{ Text string }
			}
		}
		if json.Unmarshal(line, &entry) == nil && entry.Message.Role == "toolResult" && entry.Message.ToolName == tool {
			return entry.Message.Content[0].Text
		}
	}
	e.t.Fatalf("%s was not called", tool)
	return ""
}

// find returns the requests of a kind.
func (e *extended) find(is func(modeltest.Request) bool) []modeltest.Request {
	var out []modeltest.Request
	for _, r := range e.server.Requests() {
		if is(r) {
			out = append(out, r)
		}
	}
	return out
}

func (e *extended) one(what string, is func(modeltest.Request) bool) modeltest.Request {
	e.t.Helper()
	found := e.find(is)
	if len(found) != 1 {
		e.t.Fatalf("%d requests with a %s, want 1", len(found), what)
	}
	return found[0]
}

// before is the request before another one.
func (e *extended) before(r modeltest.Request) modeltest.Request {
	all := e.server.Requests()
	i := slices.IndexFunc(all, func(other modeltest.Request) bool { return bytes.Equal(other.Body, r.Body) })
	return all[i-1]
}

func (e *extended) newest() modeltest.Request {
	all := e.server.Requests()
	return all[len(all)-1]
}

func member(t *testing.T, body []byte, name string) json.RawMessage {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatal(err)
	}
	return members[name]
}

// messagesOf are the bytes of a request's messages, without the end of the list.
func messagesOf(t *testing.T, body []byte) []byte {
	t.Helper()
	return bytes.TrimSuffix(member(t, body, "messages"), []byte("]"))
}

func tail(s string) string { return s[max(0, len(s)-800):] }
