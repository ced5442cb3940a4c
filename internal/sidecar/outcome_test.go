package sidecar

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican/internal/live"
)

// A call of the tool that is interrupted before its answer has come launches nothing, and the next one is granted.
func TestToolCancelled(t *testing.T) {
	h := newHome(t, "")
	x := h.start(t, good)
	x.call(hello(h.dir))
	id := x.send(Event{Name: "tool", Usage: usage(300_000)})
	x.answerTo(id, "tool")
	x.send(Event{Cancel: id})
	l := x.call(Event{Name: "tool", Usage: usage(300_000)})
	if l.Launch == nil {
		t.Fatalf("the second call is refused: %s", l.Refused)
	}
	x.send(Event{Cancel: id}) // of the first one, late
	if l := x.call(Event{Name: "tool", Usage: usage(300_000)}); l.Refused == "" {
		t.Errorf("beside the second one: %+v", l)
	}
}

// What the person has called off waits for the person.
func TestAbortedOutcome(t *testing.T) {
	h := newHome(t, "")
	x := h.start(t, good)
	x.call(hello(h.dir))
	x.call(Event{Name: "tool", Usage: usage(300_000)})
	x.call(compactEvent(40))
	l := x.call(Event{Name: "compact-failed", Error: "Compaction cancelled", Aborted: true})
	if l.Say == nil || l.Say.Deliver != "nextTurn" || l.Say.Turn || !strings.Contains(l.Say.Text, "cancelled") {
		t.Errorf("%+v", l.Say)
	}
}

// A process that has taken the place of the one that launched a compaction tells the agent its outcome.
func TestAskedOfAnother(t *testing.T) {
	h := newHome(t, "")
	x := h.start(t, good)
	x.call(hello(h.dir))
	l := x.call(Event{Name: "compacted", Asked: true, Error: "the program has ended", TokensBefore: 300_000, TokensAfter: 12_000})
	if l.Say == nil || !l.Say.Turn || !strings.Contains(l.Say.Text, "not Pemmican's") || !strings.Contains(l.Say.Text, "the program has ended") {
		t.Errorf("%+v", l.Say)
	}
	if len(l.Notices) > 0 {
		t.Errorf("the person is told too: %+v", l.Notices)
	}
	l = x.call(Event{Name: "compact-failed", Asked: true, Error: "429"})
	if l.Say == nil || !l.Say.Turn || !strings.Contains(l.Say.Text, "429") {
		t.Errorf("%+v", l.Say)
	}
}

// Where nobody waits for the run, other processes cannot have it compacted.
func TestLiveHeadless(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "live")
	x, stop := serve(t, Config{LiveDir: dir}, nil)
	e := hello(t.TempDir())
	e.Headless, e.Usage = true, usage(300_000)
	x.call(e)
	list, err := live.List(dir)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	reply, err := live.Ask(context.Background(), dir, list[0], live.Request{Do: "compact"})
	if err != nil || !strings.Contains(reply.Refused, "nobody waits for this run") || reply.Text != "" {
		t.Errorf("%+v, %v", reply, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	for l := range x.lines {
		if l.Launch != nil {
			t.Error("launched")
		}
	}
}

// The agent knows what a reply has cost; the entry and the outcome say so.
func TestCost(t *testing.T) {
	h := newHome(t, `compactModel = "zai/air"`)
	cost := AskCost{Input: 0.25, Output: 0.5, Total: 0.75}
	x := h.start(t, func(Ask) AskReply {
		r := good(Ask{})
		r.Usage.Cost = cost
		return r
	})
	x.call(hello(h.dir))
	x.call(Event{Name: "tool", Usage: usage(300_000)})
	l := x.call(compactEvent(40))
	if l.Compaction == nil {
		t.Fatalf("handed back: %s", l.HandBack)
	}
	var entry struct {
		TotalTokens int
		Cost        AskCost
	}
	if err := json.Unmarshal(l.Compaction.Usage, &entry); err != nil || entry.Cost != cost || entry.TotalTokens != 42_150 {
		t.Errorf("%s, %v", l.Compaction.Usage, err)
	}
	l = x.call(Event{Name: "compacted", FromExtension: true, Details: l.Compaction.Details})
	if l.Say == nil || !strings.Contains(l.Say.Text, "Cost: $0.75.") {
		t.Errorf("%+v", l.Say)
	}
}

// What pi is told of a failed summary has no word of a transcript that goes on: pi compacts it.
func TestHandedBackReason(t *testing.T) {
	h := newHome(t, "")
	x := h.start(t, func(Ask) AskReply { return AskReply{Stop: "error", Error: "503 overloaded"} })
	x.call(hello(h.dir))
	if l := x.call(compactEvent(40)); !strings.Contains(l.HandBack, "503") || strings.Contains(l.HandBack, "goes on") {
		t.Errorf("handed back: %s", l.HandBack)
	}
}
