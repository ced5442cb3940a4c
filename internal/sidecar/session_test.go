package sidecar

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/pemmican-dev/pemmican/internal/live"
	"github.com/pemmican-dev/pemmican/session"
)

// The story of the tool: refused, granted, begun, made, told. T22, X2, X18.
func TestTool(t *testing.T) {
	h := newHome(t, "")
	x := h.start(t, good)
	l := x.call(hello(h.dir))
	if l.Protocol != Protocol || l.Tool == nil || l.Tool.Name != "compact_context" || l.Tool.Description == "" || l.Tool.Instructions == "" {
		t.Fatalf("hello: %+v", l)
	}
	if l := x.call(Event{Name: "tool", Usage: &Usage{}}); l.Refused == "" || l.Launch != nil { // unknown
		t.Errorf("%+v", l)
	}
	if l := x.call(Event{Name: "tool", Usage: usage(38_000)}); !strings.Contains(l.Refused, "38K") || !strings.Contains(l.Refused, "200K") || !strings.Contains(l.Refused, h.settings) {
		t.Errorf("%+v", l)
	}
	for n := 1; n <= 2; n++ {
		// T10: the very figure from before the compaction is no longer true.
		if l := x.call(Event{Name: "tool", Usage: usage(300_000)}); n == 2 && l.Refused == "" {
			t.Errorf("%+v", l)
		} else if n == 1 {
			x.call(Event{Name: "compact-failed", Aborted: true})
		}
		l = x.call(Event{Name: "tool", Usage: usage(300_000 + n), Instructions: "the scanner"})
		if l.Refused != "" || l.Text == "" || l.Launch == nil || l.Launch.Instructions != "the scanner" {
			t.Fatalf("%+v", l)
		}
		if l := x.call(Event{Name: "tool", Usage: usage(300_000)}); l.Refused == "" {
			t.Errorf("a second one beside it: %+v", l)
		}
		e := compactEvent(40 + n)
		e.Instructions = "the scanner"
		l = x.call(e)
		if l.Compaction == nil {
			t.Fatalf("handed back: %s", l.HandBack)
		}
		l = x.call(Event{Name: "compacted", FromExtension: true, Details: l.Compaction.Details, Reason: "manual", Usage: &Usage{}, TokensAfter: 9_000})
		if l.Say == nil || l.Say.Kind != "outcome" || l.Say.Deliver != "steer" || !l.Say.Turn {
			t.Fatalf("%+v", l)
		}
		for _, want := range []string{"300K", "same", "zai/glm", "95%"} {
			if !strings.Contains(l.Say.Text, want) {
				t.Errorf("the outcome lacks %q: %s", want, l.Say.Text)
			}
		}
		if worn := strings.Contains(l.Say.Text, "2 compactions") || strings.Contains(l.Say.Text, "wear"); worn != (n == 2) {
			t.Errorf("X18 after %d: %s", n, l.Say.Text)
		}
	}
	if l := x.call(Event{Name: "tool", Usage: &Usage{}}); l.Refused == "" { // T10: what was known is no longer true
		t.Errorf("%+v", l)
	}
}

// The tool is granted, and then pi's own compaction takes over: the agent is told so.
func TestToolHandedBack(t *testing.T) {
	h := newHome(t, "")
	x := h.start(t, func(Ask) AskReply { return AskReply{Stop: "error", Error: "503 overloaded"} })
	x.call(hello(h.dir))
	x.call(Event{Name: "tool", Usage: usage(300_000)})
	if l := x.call(compactEvent(40)); l.HandBack == "" || l.Say != nil {
		t.Fatalf("%+v", l)
	}
	l := x.call(Event{Name: "compacted", TokensAfter: 12_000, TokensBefore: 300_000})
	if l.Say == nil || !strings.Contains(l.Say.Text, "not Pemmican's") || !strings.Contains(l.Say.Text, "503") {
		t.Errorf("%+v", l.Say)
	}
	// Without the tool, the person is told, and the agent is left in peace.
	x.call(compactEvent(41))
	if l := x.call(Event{Name: "compacted"}); l.Say != nil || len(l.Notices) != 1 || l.Notices[0].Level != "warning" {
		t.Errorf("%+v", l)
	}
}

// The tool is granted, and pi makes no compaction at all.
func TestToolFails(t *testing.T) {
	for name, c := range map[string]struct {
		before func(*extension)
		failed Event
		says   string
	}{
		"before it began": {func(*extension) {}, Event{Error: "Nothing to compact (session too small)"}, "Nothing to compact"},
		"after it was made": {
			func(x *extension) { x.call(compactEvent(40)) }, Event{Error: "Compaction cancelled", Aborted: true}, "cancelled",
		},
		"after it was handed back": {
			func(x *extension) { x.call(Event{Name: "compact", Entries: entries(1), KeepRecent: 20_000}) }, Event{Error: "429 Too Many Requests"}, "429",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, "")
			x := h.start(t, good)
			x.call(hello(h.dir))
			if l := x.call(Event{Name: "tool", Usage: usage(300_000)}); l.Launch == nil {
				t.Fatalf("%+v", l)
			}
			c.before(x)
			e := c.failed
			e.Name = "compact-failed"
			l := x.call(e)
			if l.Say == nil || l.Say.Kind != "outcome" || !strings.Contains(l.Say.Text, c.says) {
				t.Fatalf("%+v", l)
			}
			// Nothing is in flight any more, and nobody waits for a message.
			l = x.call(compactEvent(42))
			if l.Compaction == nil {
				t.Errorf("handed back: %s", l.HandBack)
			} else if l = x.call(Event{Name: "compacted", FromExtension: true, Details: l.Compaction.Details}); l.Say != nil {
				t.Errorf("%+v", l.Say)
			}
		})
	}
}

// T21, X16: the reminder, once for each tier until the next compaction.
func TestReminder(t *testing.T) {
	h := newHome(t, "")
	x := h.start(t, good)
	x.call(hello(h.dir))
	settle := func(tokens int) *Say { t.Helper(); return x.call(Event{Name: "settled", Usage: usage(tokens)}).Say }
	if s := settle(199_999); s != nil {
		t.Errorf("%+v", s)
	}
	s := settle(215_000)
	if s == nil || s.Kind != "reminder" || s.Deliver != "followUp" || !s.Turn || !strings.Contains(s.Text, "215K / 1000K") || !strings.Contains(s.Text, "21.5%") {
		t.Fatalf("%+v", s)
	}
	if s := settle(230_000); s != nil {
		t.Errorf("again: %+v", s)
	}
	if s := x.call(Event{Name: "settled", Usage: &Usage{}}).Say; s != nil {
		t.Errorf("at unknown usage: %+v", s)
	}
	x.call(Event{Name: "compacted", Usage: &Usage{}})
	if s := settle(210_000); s == nil {
		t.Error("none after a compaction")
	}
}

// X19, X20: what is said at a switch of models.
func TestSwitch(t *testing.T) {
	h := newHome(t, `excludedModels = ["zai/air"]`)
	x := h.start(t, good)
	x.call(hello(h.dir))
	to := func(id string, window, tokens int) *Say {
		t.Helper()
		return x.call(Event{Name: "model", Model: &Model{Provider: "zai", ID: id, ContextWindow: window}, Usage: usage(tokens)}).Say
	}
	if s := to("air", 1_000_000, 1_000); s == nil || s.Kind != "switch" || s.Deliver != "nextTurn" || s.Turn || !strings.Contains(s.Text, "zai/air") {
		t.Errorf("into: %+v", s)
	}
	if l := x.call(Event{Name: "tool", Usage: usage(900_000)}); !strings.Contains(l.Refused, "zai/air") {
		t.Errorf("%+v", l)
	}
	if s := to("glm", 1_000_000, 1_000); s == nil || !strings.Contains(s.Text, "zai/glm") {
		t.Errorf("out of: %+v", s)
	}
	if s := to("small", 200_000, 183_615); s != nil {
		t.Errorf("below the line: %+v", s)
	}
	to("glm", 1_000_000, 183_616)
	s := to("small", 200_000, 183_616)
	if s == nil || !strings.Contains(s.Text, "183,616") || !strings.Contains(s.Text, "200K") {
		t.Fatalf("downshift: %+v", s)
	}
	// MSW-05: until the smaller one has answered, the larger one writes the summary.
	e := compactEvent(40)
	e.Model = &Model{Provider: "zai", ID: "small", ContextWindow: 200_000}
	l := x.call(e)
	if asks := x.asks(); l.Compaction == nil || len(asks) != 1 || asks[0].Model != "zai/glm" || asks[0].Mode != "same" {
		t.Errorf("%+v, asked %+v", l, asks)
	}
}

// X25: settings that are changed between two events hold at the second one; half a file changes nothing.
func TestHotReload(t *testing.T) {
	h := newHome(t, "reminderThresholds = [200000]\n")
	x := h.start(t, good)
	x.call(hello(h.dir))
	granted := func() bool {
		t.Helper()
		l := x.call(Event{Name: "tool", Usage: usage(300_000)})
		if l.Launch != nil {
			x.call(Event{Name: "compact-failed", Aborted: true})
		}
		return l.Launch != nil
	}
	if !granted() {
		t.Error("refused at first")
	}
	h.write(t, "reminderThresholds = [400000]\n")
	if granted() {
		t.Error("granted below the new tier")
	}
	h.write(t, "reminderThresholds = [200000\n") // half a line
	if granted() {
		t.Error("half a file has changed something")
	}
	x.until("notice", func(l Line) bool { return len(l.Notices) > 0 && strings.Contains(l.Notices[0].Text, h.settings) })
	h.write(t, "enabled = false\n")
	if granted() {
		t.Error("granted where it is disabled")
	}
	h.write(t, "")
	h.write(t, "reminderThresholds = [200000]\n")
	if !granted() {
		t.Error("refused at last")
	}
}

// A cancel in the middle of an ask calls that off; it is no failure, and other events go on meanwhile. R12, X26.
func TestCancel(t *testing.T) {
	h := newHome(t, "")
	x := h.start(t, nil)
	x.call(hello(h.dir))
	for range 4 { // more often than the guard would let it fail
		id := x.send(compactEvent(40))
		ask := x.ask()
		if l := x.call(Event{Name: "settled", Usage: usage(300_000)}); l.Say != nil {
			t.Errorf("%+v", l)
		}
		if l := x.call(Event{Name: "tool", Usage: usage(300_000)}); l.Refused == "" {
			t.Errorf("%+v", l)
		}
		x.send(Event{Cancel: id})
		x.until("cancelled ask", func(l Line) bool { return l.CancelAsk == ask.N })
		if l := x.answerTo(id, "compact"); l.HandBack != cancelled.handBack {
			t.Errorf("%+v", l)
		}
		late := good(ask)
		late.N = ask.N
		x.send(Event{Reply: &late}) // nobody waits for it any more
	}
	// One that is withdrawn when it was delivered is none either.
	id := x.send(compactEvent(40))
	reply := good(Ask{})
	reply.N = x.ask().N
	x.send(Event{Reply: &reply})
	if l := x.answerTo(id, "compact"); l.Compaction == nil {
		t.Fatalf("handed back: %s", l.HandBack)
	}
	x.send(Event{Cancel: id})
	if l := x.call(Event{Name: "tool", Usage: usage(300_000)}); l.Launch == nil {
		t.Errorf("something is still in flight: %+v", l)
	}
}

// CON-07, CON-10: of two compactions at once one is made, and the other is left to the agent.
func TestSingleFlight(t *testing.T) {
	h := newHome(t, "")
	x := h.start(t, nil)
	x.call(hello(h.dir))
	first := x.send(compactEvent(40))
	n := x.ask().N
	if l := x.call(compactEvent(41)); l.HandBack == "" {
		t.Errorf("%+v", l)
	}
	reply := good(Ask{})
	reply.N = n
	x.send(Event{Reply: &reply})
	l := x.answerTo(first, "compact")
	if l.Compaction == nil {
		t.Fatalf("handed back: %s", l.HandBack)
	}
	var s session.Status
	x.call(Event{Name: "compacted", FromExtension: true, Details: l.Compaction.Details})
	if err := json.Unmarshal(x.call(Event{Name: "status"}).Status, &s); err != nil || s.InFlight || s.Compactions != 1 {
		t.Errorf("%+v %v", s, err)
	}
	if n := len(x.asks()); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// P10: another extension's compaction is taken into use instead of ours.
func TestAnotherExtension(t *testing.T) {
	h := newHome(t, "")
	x := h.start(t, good)
	x.call(hello(h.dir))
	x.call(Event{Name: "tool", Usage: usage(300_000)})
	if l := x.call(compactEvent(40)); l.Compaction == nil {
		t.Fatalf("handed back: %s", l.HandBack)
	}
	l := x.call(Event{Name: "compacted", FromExtension: true, Details: json.RawMessage(`{"engine":"another"}`)})
	if l.Say == nil || !strings.Contains(l.Say.Text, "not Pemmican's") || !strings.Contains(l.Say.Text, "another compaction was taken") {
		t.Errorf("%+v", l.Say)
	}
	if l := x.call(Event{Name: "tool", Usage: usage(310_000)}); l.Launch == nil {
		t.Errorf("%+v", l)
	}
}

// The session ends during a compaction: nothing is delivered any more, and the process ends.
func TestEndDuringCompaction(t *testing.T) {
	for _, how := range []string{"end", "the end of the stream"} {
		t.Run(how, func(t *testing.T) {
			h := newHome(t, "")
			x := h.start(t, nil)
			x.call(hello(h.dir))
			x.call(Event{Name: "tool", Usage: usage(300_000)})
			id := x.send(compactEvent(40))
			ask := x.ask()
			if how == "end" {
				if l := x.call(Event{Name: "end"}); l.Compaction != nil || l.Say != nil {
					t.Errorf("%+v", l)
				}
				late := good(ask)
				late.N = ask.N
				x.send(Event{Reply: &late})
				if l := x.call(compactEvent(40)); l.HandBack == "" {
					t.Errorf("%+v", l)
				}
			}
			for _, l := range x.rest() {
				if l.ID == id || l.Say != nil || l.Compaction != nil {
					t.Errorf("delivered: %+v", l)
				}
			}
			if err := x.wait(); err != nil {
				t.Errorf("%v\n%s", err, x.stderr.String())
			}
		})
	}
}

// Lines that are no events are passed over, and told of once. An unknown event, and members that nobody knows, are those of
// a newer extension.
func TestGarbage(t *testing.T) {
	h := newHome(t, "")
	x := h.start(t, good)
	for _, line := range []string{"\n", "  \r\n", "garbage\n", "[1,2]\n", "{\"id\":\"one\"}\n", "{\"id\":1,\"event\":\n", "\x00\xff\n", `{"event":"hello","session":5}` + "\n"} {
		x.raw(line)
	}
	if l := x.call(hello(h.dir)); l.Tool == nil {
		t.Errorf("%+v", l)
	}
	for _, e := range []Event{{Name: "dance"}, {Name: "model"}, {Name: "usage"}, {Name: "compacted"}, {Name: "compact-failed"}} {
		if l := x.call(e); l.Say != nil || l.HandBack != "" || l.Launch != nil {
			t.Errorf("%s: %+v", e.Name, l)
		}
	}
	x.raw(`{"id":900,"event":"status","new":{"a":[1]}}` + "\n")
	if l := x.answerTo(900, "status"); l.Status == nil {
		t.Errorf("%+v", l)
	}
	x.raw(`{"reply":{"n":77,"text":"to nothing"}}` + "\n" + `{"cancel":4711}` + "\n" + `{"id":901}` + "\n")
	if l := x.call(compactEvent(40)); l.Compaction == nil {
		t.Errorf("handed back: %s", l.HandBack)
	}
	told := 0
	x.raw(`{"id":902,"event":"sta`) // half a line at the end
	for _, l := range x.rest() {
		told += len(l.Notices)
	}
	if told != 1 {
		t.Errorf("%d notices", told)
	}
	if err := x.wait(); err != nil {
		t.Errorf("%v", err)
	}
	if log := h.log(t); strings.Contains(log, "garbage") || strings.Contains(log, "parse1.go") || strings.Contains(log, "Mend the parsers") {
		t.Errorf("the log has words of the conversation:\n%s", log)
	}
}

// Before hello nothing is decided.
func TestBeforeHello(t *testing.T) {
	h := newHome(t, "")
	x := h.start(t, good)
	if l := x.call(compactEvent(40)); l.HandBack == "" {
		t.Errorf("%+v", l)
	}
	if l := x.call(Event{Name: "tool", Usage: usage(300_000)}); l.Launch != nil || l.Text != "" {
		t.Errorf("%+v", l)
	}
	x.call(Event{Name: "end"})
	if l := x.call(hello(h.dir)); l.Tool == nil {
		t.Errorf("%+v", l)
	}
}

// The process is killed in the middle of a compaction; the next one goes on with what was learned, and with nothing in
// flight.
func TestKilled(t *testing.T) {
	h := newHome(t, "")
	x := h.start(t, nil)
	x.call(hello(h.dir))
	if s := x.call(Event{Name: "settled", Usage: usage(215_000)}).Say; s == nil {
		t.Fatal("no reminder")
	}
	x.send(compactEvent(40))
	x.ask()
	if err := x.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	x.rest()

	next := h.start(t, good)
	if l := next.call(hello(h.dir)); len(l.Notices) > 0 {
		t.Errorf("%+v", l.Notices)
	}
	if s := next.call(Event{Name: "settled", Usage: usage(220_000)}).Say; s != nil {
		t.Errorf("reminded again: %+v", s)
	}
	if l := next.call(Event{Name: "tool", Usage: usage(300_000)}); l.Launch == nil {
		t.Errorf("%+v", l)
	}
	next.rest()

	// A broken state is passed over, with a word.
	files, err := filepath.Glob(filepath.Join(h.dir, "cache", "pemmican", "sessions", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	if err := os.WriteFile(files[0], []byte(`{"fired":[1`), 0o600); err != nil {
		t.Fatal(err)
	}
	last := h.start(t, good)
	if l := last.call(hello(h.dir)); len(l.Notices) != 1 || !strings.Contains(l.Notices[0].Text, files[0]) {
		t.Errorf("%+v", l.Notices)
	}
	if s := last.call(Event{Name: "settled", Usage: usage(220_000)}).Say; s == nil {
		t.Error("no reminder")
	}
}

// Two sessions at once, in two processes, share nothing but the settings; their logs do not mix.
func TestTwoSessions(t *testing.T) {
	h := newHome(t, "")
	var wg sync.WaitGroup
	for _, id := range []string{"one", "two/../../escape"} {
		x := h.start(t, good)
		wg.Go(func() {
			e := hello(h.dir)
			e.Session.ID = id
			x.call(e)
			if s := x.call(Event{Name: "settled", Usage: usage(215_000)}).Say; s == nil {
				t.Error("no reminder")
			}
			for n := range 3 {
				l := x.call(compactEvent(30 + n))
				if l.Compaction == nil {
					t.Errorf("handed back: %s", l.HandBack)
					return
				}
				x.call(Event{Name: "compacted", FromExtension: true, Details: l.Compaction.Details})
			}
			var s session.Status
			if err := json.Unmarshal(x.call(Event{Name: "status"}).Status, &s); err != nil || s.Compactions != 3 {
				t.Errorf("%+v %v", s, err)
			}
		})
	}
	wg.Wait()
	for line := range strings.Lines(h.log(t)) {
		if !json.Valid([]byte(line)) {
			t.Errorf("torn: %s", line)
		}
	}
	if files, err := filepath.Glob(filepath.Join(h.dir, "cache", "pemmican", "sessions", "*.json")); err != nil || len(files) != 2 {
		t.Errorf("%v %v", files, err)
	}
}

// Another process reaches the session by the live channel.
func TestLive(t *testing.T) {
	h := newHome(t, "")
	x := h.start(t, good)
	x.call(hello(h.dir))
	dir := filepath.Join(h.dir, "pemmican")
	list, err := live.List(dir)
	if err != nil || len(list) != 1 || list[0].PID != x.cmd.Process.Pid || list[0].Dir != h.dir {
		t.Fatalf("%+v %v", list, err)
	}
	ask := func(r live.Request) live.Reply {
		t.Helper()
		reply, err := live.Ask(context.Background(), dir, list[0], r)
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	if r := ask(live.Request{Do: "compact"}); r.Refused == "" {
		t.Errorf("%+v", r)
	}
	x.call(Event{Name: "usage", Usage: usage(300_000)})
	var s session.Status
	if err := json.Unmarshal(ask(live.Request{Do: "status"}).Status, &s); err != nil || s.Tokens != 300_000 || s.Model != "zai/glm" {
		t.Errorf("%+v %v", s, err)
	}
	if r := ask(live.Request{Do: "dance"}); !strings.Contains(r.Refused, "dance") {
		t.Errorf("%+v", r)
	}
	if r := ask(live.Request{Do: "compact", Instructions: "the scanner"}); r.Text == "" || r.Refused != "" {
		t.Errorf("%+v", r)
	}
	if l := x.until("launch", func(l Line) bool { return l.Launch != nil }); l.ID != 0 || l.Launch.Instructions != "the scanner" {
		t.Errorf("%+v", l)
	}
	x.call(Event{Name: "end"})
	if list, err := live.List(dir); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
}

// The status has what the person wants to know.
func TestStatus(t *testing.T) {
	h := newHome(t, `compactModel = "mechanical"`)
	x := h.start(t, nil)
	x.call(hello(h.dir))
	var got map[string]any
	if err := json.Unmarshal(x.call(Event{Name: "status", Usage: usage(5)}).Status, &got); err != nil {
		t.Fatal(err)
	}
	if got["model"] != "zai/glm" || got["settingsFile"] != h.settings || !strings.HasSuffix(got["log"].(string), "debug.log") ||
		got["settings"].(map[string]any)["compactModel"] != "mechanical" || got["window"] != float64(window) {
		t.Errorf("%v", got)
	}
}

// The person's language is that of the environment, or the one in the settings.
func TestLanguage(t *testing.T) {
	h := newHome(t, `language = "zh"`)
	x := h.start(t, nil)
	han := func(s string) bool {
		return slices.ContainsFunc([]rune(s), func(r rune) bool { return r >= 0x4e00 && r <= 0x9fff })
	}
	if l := x.call(hello(h.dir)); !han(l.Tool.Description) {
		t.Errorf("%+v", l.Tool)
	}
	if s := x.call(Event{Name: "settled", Usage: usage(215_000)}).Say; s == nil || !han(s.Text) {
		t.Errorf("%+v", s)
	}
}
