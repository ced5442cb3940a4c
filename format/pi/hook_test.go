package pi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pemmican-dev/pemmican"
)

func mustDecodeForHook(t testing.TB, data []byte) *Doc {
	t.Helper()
	d, err := DecodeForHook(data)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Whatever pi wrote a session, the hook can return a summary and a tail, and that is what Apply appends.
func TestCompactionIsWhatApplyAppends(t *testing.T) {
	made := 0
	for _, folder := range []string{"decode", "apply"} {
		for _, a := range archives(t, folder) {
			data := a.file("session.jsonl")
			t.Run(folder+"/"+a.name(), func(t *testing.T) {
				d := mustDecodeForHook(t, data)
				if can := d.Transcript().Can; !can.NoStub || !can.NoAnchor || !can.NoHead || !can.SummaryFirst || !can.SummaryNeeded {
					t.Errorf("can %+v", can)
				}
				rapid.Check(t, func(t *rapid.T) {
					plan := drawPlan(t, d)
					c, err := d.Compaction(plan)
					switch first, _ := d.validate(plan); {
					case d.version == 1, plan.Summary == "", first == len(d.src):
						if err == nil {
							t.Fatalf("%+v", c)
						}
						return
					case err != nil:
						t.Fatal(err)
					}
					made++
					compareWithLine(t, c, string(roundTrip(t, d, plan)[len(data):]))
				})
			})
		}
	}
	if made < 100 {
		t.Errorf("only %d compactions were made", made)
	}
}

// compareWithLine compares a compaction with the line among those that Apply appended.
func compareWithLine(t tester, c Compaction, appended string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(appended), "\n")
	var line struct {
		Type, Summary, FirstKeptEntryID string
		TokensBefore                    int
		Details                         json.RawMessage
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil {
		t.Fatal(err)
	}
	if line.Type != "compaction" || line.Summary != c.Summary || line.FirstKeptEntryID != c.FirstKeptEntryID || line.TokensBefore != c.TokensBefore ||
		string(line.Details) != string(c.Files) || strings.Contains(appended, `"type":"context_edit"`) {
		t.Fatalf("%+v is not %.500s", c, appended)
	}
}

// What the hook cannot express is refused.
func TestCompactionRefused(t *testing.T) {
	// A pi that honours edits wrote this: its results can be edited in the file, but not through the hook.
	data := []byte(`{"type":"session","version":3,"id":"s","timestamp":"x","cwd":"/w"}
{"type":"message","id":"00000001","parentId":null,"message":{"role":"user","content":"one"}}
{"type":"message","id":"00000002","parentId":"00000001","message":{"role":"assistant","content":[{"type":"text","text":"a"}],"stopReason":"stop","durationMs":1}}
{"type":"message","id":"00000003","parentId":"00000002","message":{"role":"user","content":"two"}}
{"type":"message","id":"00000004","parentId":"00000003","message":{"role":"assistant","content":[{"type":"text","text":"b"}],"stopReason":"stop","durationMs":1}}
`)
	drop, stub := pemmican.Mark{Action: pemmican.Drop}, pemmican.Mark{Action: pemmican.Stub, Text: "short"}
	for name, marks := range map[string][]pemmican.Mark{
		"a hole":       {drop, {}, drop, {}},
		"a stub":       {drop, drop, {}, stub},
		"nothing kept": {drop, drop, drop, drop},
		"too few":      {drop},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := mustDecodeForHook(t, data).Compaction(&pemmican.Plan{Marks: marks, Summary: pemmican.Seal("S")}); err == nil {
				t.Error("it was accepted")
			}
		})
	}
	good := &pemmican.Plan{Marks: []pemmican.Mark{drop, drop, {}, {}}, Summary: pemmican.Seal("S")}
	c, err := mustDecodeForHook(t, data).Compaction(good)
	if err != nil || c.FirstKeptEntryID != "00000003" || c.Summary != good.Summary {
		t.Errorf("%+v %v", c, err)
	}
	if _, err := mustDecode(t, data).Compaction(good); err == nil {
		t.Error("a session that was not decoded for the hook was accepted")
	}
}

// A context_edit that stands in the session holds for the hook too: it is what pi sends.
func TestHookReadsEdits(t *testing.T) {
	data := `{"type":"session","version":3,"id":"s","timestamp":"x","cwd":"/w"}
{"type":"message","id":"00000001","parentId":null,"message":{"role":"user","content":"one"}}
{"type":"message","id":"00000002","parentId":"00000001","message":{"role":"assistant","content":[{"type":"text","text":"a"}],"stopReason":"stop","durationMs":1}}
{"type":"context_edit","id":"00000003","parentId":"00000002","targetId":"00000001","replacement":{"content":[{"type":"text","text":"ONE"}]}}
`
	if tr := mustDecodeForHook(t, []byte(data)).Transcript(); tr.Blocks[0].Text != "ONE" || !tr.Can.NoStub {
		t.Errorf("%+v", tr.Blocks[0])
	}
}

// P3 for compactions that came through the hook: the lists of ours go on, those of another extension may mean anything.
func TestP3FilesOfHook(t *testing.T) {
	for details, want := range map[string]string{
		`{"engine":"pemmican","readFiles":["old.ts"],"modifiedFiles":["mod.ts"]}`: `{"readFiles":["old.ts","x.ts"],"modifiedFiles":["mod.ts"]}`,
		`{"engine":"another","readFiles":["old.ts"],"modifiedFiles":["mod.ts"]}`:  `{"readFiles":["x.ts"],"modifiedFiles":[]}`,
		`{"readFiles":["old.ts"],"modifiedFiles":["mod.ts"]}`:                     `{"readFiles":["x.ts"],"modifiedFiles":[]}`,
	} {
		data := fmt.Sprintf(`{"type":"session","version":3,"id":"s","timestamp":"x","cwd":"/w"}
{"type":"message","id":"00000001","parentId":null,"message":{"role":"user","content":"one"}}
{"type":"compaction","id":"00000002","parentId":"00000001","summary":"OLD","firstKeptEntryId":"00000001","tokensBefore":1,"details":%s,"fromHook":true}
{"type":"message","id":"00000003","parentId":"00000002","message":{"role":"assistant","content":[{"type":"toolCall","id":"1","name":"read","arguments":{"path":"x.ts"}}],"stopReason":"toolUse"}}
{"type":"message","id":"00000004","parentId":"00000003","message":{"role":"toolResult","toolCallId":"1","toolName":"read","content":[]}}
{"type":"message","id":"00000005","parentId":"00000004","message":{"role":"user","content":"next"}}
`, details)
		d := mustDecodeForHook(t, []byte(data))
		plan := pemmican.NewPlan(d.Transcript())
		for i := range len(plan.Marks) - 1 {
			plan.Marks[i].Action = pemmican.Drop
		}
		plan.Summary = pemmican.Seal("new")
		c, err := d.Compaction(plan)
		if err != nil || string(c.Files) != want {
			t.Errorf("after %s: %s %v", details, c.Files, err)
		}
	}
}
