package pitest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican/internal/modeltest"
)

// One session lives over several commands: a prompt, a switch to another model, a message for the person, an error, and a
// compaction; with an extension and a variable of its own.
func TestRPC(t *testing.T) {
	const extension = `export default function (pi) {
	pi.on("model_select", (event, ctx) => { ctx.ui.notify(process.env.GREETING + " " + event.model.id, "warning"); throw new Error("a fault"); });
}`
	for _, version := range []string{BeforeEdits, Latest} {
		t.Run(version, func(t *testing.T) {
			pi := Install(t, version)
			pi.KeepRecentTokens = 1
			pi.More = []Model{{ID: "another"}, {Provider: "keyless", ID: "model", Keyless: true}}
			pi.Env = []string{"GREETING=hello"}
			home, dir := t.TempDir(), t.TempDir()
			file := filepath.Join(home, "extension.ts")
			if err := os.WriteFile(file, []byte(extension), 0o600); err != nil {
				t.Fatal(err)
			}
			server := modeltest.Start(t, modeltest.Reply{Text: "fine", Repeat: true})
			r := pi.Start(t, home, dir, server, "-e", file)
			r.Prompt("How are you?")
			r.SetModel("scripted", "another")
			if got := r.WaitNotice("hello"); got != "hello another" {
				t.Errorf("the notice is %q", got)
			}
			r.Prompt("And now?")
			if requests := server.Requests(); len(requests) != 2 || requests[1].Model != "another" {
				t.Errorf("%d requests, the newest to %s", len(requests), requests[len(requests)-1].Model)
			}
			if _, err := r.Answer(r.Send(object{"type": "set_model", "provider": "keyless", "modelId": "model"})); err == nil {
				t.Error("a model without a key can be chosen")
			}
			var done struct{ Result struct{ Summary string } }
			r.Do(object{"type": "compact"})
			r.Wait("compaction_end").Into(t, &done)
			if !strings.Contains(done.Result.Summary, "fine") {
				t.Errorf("the summary is %q", done.Result.Summary)
			}
			var messages struct{ Messages []json.RawMessage }
			if err := json.Unmarshal(r.Do(object{"type": "get_messages"}), &messages); err != nil || len(messages.Messages) == 0 {
				t.Errorf("no messages: %v", err)
			}
			if n := r.Notices(); len(n) != 1 || n[0] != "warning: hello another" {
				t.Errorf("notices %q", n)
			}
			if errs := r.Errors(); len(errs) != 1 || !strings.Contains(errs[0], "a fault") {
				t.Errorf("errors %q", errs)
			}
			r.Close()
			if files := SessionFiles(home); len(files) != 1 {
				t.Errorf("session files %q", files)
			}
		})
	}
}
