package sidecar

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hooks are settings with two commands of a shell.
func hooks(before, after string) string {
	command := func(script string) string {
		if script == "" {
			return "[]"
		}
		return fmt.Sprintf("['sh', '-c', '''%s''']", script)
	}
	return "[hooks]\nbefore = " + command(before) + "\nafter = " + command(after) + "\ntimeout = \"20s\"\n"
}

// A hook before adds focus; one after is told how it ended.
func TestHooks(t *testing.T) {
	h := newHome(t, hooks(`cat > before.json; echo "{\"focus\":\"the bound\"}"`, `cat > after.new && mv after.new after.json`))
	x := h.start(t, good)
	x.call(hello(h.dir))
	e := compactEvent(40)
	e.Instructions = "the scanner"
	l := x.call(e)
	if l.Compaction == nil {
		t.Fatalf("handed back: %s", l.HandBack)
	}
	if text := x.asks()[0].Instruction; !strings.Contains(text, "the scanner") || !strings.Contains(text, "the bound") {
		t.Errorf("asked %s", text)
	}
	x.call(Event{Name: "compacted", FromExtension: true, Details: l.Compaction.Details})
	var before, after map[string]any
	for name, to := range map[string]*map[string]any{"before.json": &before, "after.json": &after} {
		if err := json.Unmarshal([]byte(h.left(t, name)), to); err != nil {
			t.Fatal(err)
		}
	}
	if before["event"] != "before" || before["occasion"] != "manual" || before["tokens"] != 300_000.0 || before["model"] != "zai/glm" || before["window"] != float64(window) ||
		before["reason"] != "the person has asked for it" {
		t.Errorf("before: %v", before)
	}
	report, _ := after["report"].(map[string]any)
	if after["event"] != "after" || report["compacted"] != true || report["mode"] != "same" || report["tokensBefore"] != 300_000.0 {
		t.Errorf("after: %v", after)
	}
}

// Where the agent's tool has asked, the agent hears why a hook said no, and so does the hook after.
func TestVetoTold(t *testing.T) {
	h := newHome(t, hooks(`echo "{\"veto\":\"a release is going on\"}"`, `cat > after.new && mv after.new after.json`))
	x := h.start(t, good)
	x.call(hello(h.dir))
	x.call(Event{Name: "tool", Usage: usage(300_000)})
	x.call(compactEvent(40))
	l := x.call(Event{Name: "compact-failed", Error: "Compaction cancelled", Aborted: true})
	if l.Say == nil || !l.Say.Turn || !strings.Contains(l.Say.Text, "a release is going on") {
		t.Errorf("%+v", l.Say)
	}
	if after := h.left(t, "after.json"); !strings.Contains(after, "a release is going on") {
		t.Errorf("after: %s", after)
	}
}

// left waits for a file that a hook leaves.
func (h home) left(t *testing.T, name string) string {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		data, err := os.ReadFile(filepath.Join(h.dir, name))
		if err == nil {
			return string(data)
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// HOOK-01, HOOK-02: a veto wants no compaction at all, twice for one occasion at most; where the request has failed for its
// size it only hands back. A hook that fails stops nothing.
func TestVeto(t *testing.T) {
	h := newHome(t, hooks(`echo "{\"veto\":\"a release is going on\"}"`, ""))
	x := h.start(t, good)
	x.call(hello(h.dir))
	for n := 1; n <= 3; n++ {
		l := x.call(compactEvent(40))
		if vetoed := l.Veto == "a release is going on" && len(l.Notices) == 1 && l.HandBack == ""; vetoed != (n <= 2) {
			t.Errorf("%d: %+v", n, l)
		}
		x.call(Event{Name: "compact-failed", Error: "no"})
	}
	full := compactEvent(41)
	full.Reason = "overflow"
	if l := x.call(full); l.Veto != "" || !strings.Contains(l.HandBack, "a release is going on") {
		t.Errorf("%+v", l)
	}
	if n := len(x.asks()); n != 1 {
		t.Errorf("asked %d times", n)
	}
	h.write(t, hooks(`exit 3`, ""))
	y := h.start(t, good)
	e := hello(h.dir)
	e.Session.ID = "another"
	y.call(e)
	if l := y.call(compactEvent(40)); l.Compaction == nil {
		t.Errorf("handed back: %s", l.HandBack)
	}
	y.until("notice", func(l Line) bool { return len(l.Notices) > 0 && strings.Contains(l.Notices[0].Text, "hook") })
}
