package sidecar

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// A compaction by the session's own model: X2, R8.
func TestCompact(t *testing.T) {
	h := newHome(t, "")
	x := h.start(t, good)
	x.call(hello(h.dir))
	if err := os.WriteFile(filepath.Join(h.dir, "parse1.go"), []byte("func parse1() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := compactEvent(40)
	l := x.call(e)
	if l.Compaction == nil {
		t.Fatalf("handed back: %s\n%s", l.HandBack, h.log(t))
	}
	c := l.Compaction
	for _, want := range []string{"Mend the parsers", "parse1_test.go:12", "scan7.go", filepath.Join(h.dir, "session.jsonl")} {
		if !strings.Contains(c.Summary, want) {
			t.Errorf("the summary lacks %q:\n%s", want, c.Summary)
		}
	}
	asks := x.asks()
	if len(asks) != 1 || asks[0].Mode != "same" || asks[0].Model != "zai/glm" || asks[0].MaxTokens != 0 || asks[0].Instruction == "" || asks[0].System+asks[0].User != "" {
		t.Errorf("asked %+v", asks)
	}
	var d map[string]any
	if err := json.Unmarshal(c.Details, &d); err != nil {
		t.Fatal(err)
	}
	if d["engine"] != "pemmican" || d["mode"] != "same-model" || d["model"] != "zai/glm" || d["version"] == "" || d["tokensBefore"] != 300_000.0 {
		t.Errorf("details %s", c.Details)
	}
	if files := d["modifiedFiles"].([]any); len(files) < 30 || files[0] != "scan1.go" {
		t.Errorf("modified files %v", files)
	}
	if c.TokensBefore != 300_000 {
		t.Errorf("tokens before %d", c.TokensBefore)
	}
	var u map[string]any
	if err := json.Unmarshal(c.Usage, &u); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"input": 2000.0, "output": 150.0, "cacheRead": 40000.0, "cacheWrite": 0.0, "totalTokens": 42150.0,
		"cost": map[string]any{"input": 0.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.0},
	}
	if diff := gocmp.Diff(want, u); diff != "" {
		t.Errorf("usage (-want +got)\n%s", diff)
	}
}

// What the compaction keeps is what pi's own would: the newest turns.
func TestTailIsPis(t *testing.T) {
	h := newHome(t, "")
	x := h.start(t, good)
	x.call(hello(h.dir))
	for _, keep := range []int{500, 3_000} {
		e := compactEvent(40)
		e.KeepRecent = keep
		c := x.call(e).Compaction
		if c == nil {
			t.Fatalf("keep %d: handed back", keep)
		}
		var first int
		if _, err := fmt.Sscanf(c.FirstKeptEntryID, "%x", &first); err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, entry := range e.Entries[first-1:] {
			size += len(entry) / 4
		}
		if size < 100 || size > 3*keep+1_000 { // as with pi, a step that reaches over the line is not kept
			t.Errorf("keep %d: from %s on there are about %d tokens", keep, c.FirstKeptEntryID, size)
		}
		x.call(Event{Name: "compact-failed", Aborted: true})
	}
}

// X9: who writes, and how they are asked.
func TestMode(t *testing.T) {
	for _, c := range []struct{ settings, reason, model, ask, mode string }{
		{``, "threshold", "zai/glm", "same", "same-model"},
		{`compactModel = "zai/glm"`, "manual", "zai/glm", "same", "same-model"},
		{`compactModel = "openai/gpt-5-mini"`, "manual", "openai/gpt-5-mini", "cross", "cross-model"},
		{`compactModel = "mechanical"`, "manual", "", "", "mechanical"},
		{``, "overflow", "zai/glm", "cross", "cross-model"}, // its own request does not fit any more
	} {
		t.Run(cmp.Or(c.settings, "unset")+" "+c.reason, func(t *testing.T) {
			h := newHome(t, c.settings)
			x := h.start(t, func(a Ask) AskReply {
				r := good(a)
				if a.Mode == "cross" {
					r.Usage.CacheRead, r.Usage.Input = 0, 30_000
				}
				return r
			})
			x.call(hello(h.dir))
			e := compactEvent(40)
			e.Reason, e.Instructions = c.reason, "the scanner"
			l := x.call(e)
			if l.Compaction == nil {
				t.Fatalf("handed back: %s", l.HandBack)
			}
			d := detailsOf(Event{FromExtension: true, Details: l.Compaction.Details})
			if d.Mode != c.mode || d.Model != c.model {
				t.Errorf("details %+v", d)
			}
			asks := x.asks()
			if c.ask == "" {
				if len(asks) > 0 || l.Compaction.Usage != nil {
					t.Errorf("asked %+v, usage %s", asks, l.Compaction.Usage)
				}
				return
			}
			if len(asks) != 1 || asks[0].Mode != c.ask || asks[0].Model != c.model {
				t.Fatalf("asked %+v", asks)
			}
			if cross := c.ask == "cross"; cross != (asks[0].System != "" && asks[0].User != "" && asks[0].MaxTokens > 0) || cross == (asks[0].Instruction != "") {
				t.Errorf("asked %+v", asks[0])
			}
			if text := asks[0].Instruction + asks[0].System + asks[0].User; !strings.Contains(text, "the scanner") {
				t.Errorf("the focus is not in the question")
			}
		})
	}
}

// The rows about replies that are no summaries: each is handed back to pi's own compaction after one question, and nothing
// of it gets into the session. R1-R4, R8, SUM-01, SUM-02, SUM-04, SUM-05, SUM-10, SUM-14, SUM-19, SUM-20, SUM-22, SUM-23, SUM-25.
func TestBadReply(t *testing.T) {
	for name, reply := range map[string]AskReply{
		"R1 empty":             {Text: " \n", Stop: "stop"},
		"R2 R4 a call":         {Text: goodReply, Calls: []string{"bash"}, Stop: "toolUse"},
		"R3 an inline call":    {Text: "Summary here <tool_call>{\"name\":\"bash\"}</tool_call>", Stop: "stop"},
		"R8 SUM-14 cut off":    {Text: goodReply[:80], Stop: "length"},
		"SUM-04 only thinking": {Reasoning: goodReply, Stop: "length"},
		"SUM-05 only a tag":    {Text: "<think>" + goodReply + "</think>", Stop: "stop"},
		"SUM-10 a refusal":     {Text: "I'm sorry, but I can't produce this summary as requested. It would not be appropriate for me to do so.", Stop: "stop"},
		"SUM-19 another stop":  {Text: goodReply, Stop: "pause_turn"},
		"SUM-22 thinking":      {Reasoning: goodReply, Stop: "stop"},
		"SUM-23 all empty":     {Text: "## Goal\n(none)\n\n## Files and Code\n(none)\n\n## Next Steps\n(none)", Stop: "stop"},
		"SUM-25 a loop":        {Text: strings.Repeat("The parser loses the last line.\n", 1_500), Stop: "stop"},
		"SUM-07 an error":      {Stop: "error", Error: "429 Too Many Requests"},
		"R12 aborted":          {Stop: "aborted"},
		"nonsense":             {Stop: "stop", Text: strings.Repeat("la ", 200)},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, "")
			x := h.start(t, func(Ask) AskReply { return reply })
			x.call(hello(h.dir))
			l := x.call(compactEvent(40))
			if l.Compaction != nil || l.HandBack == "" {
				t.Errorf("%+v", l)
			}
			if n := len(x.asks()); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

// X3: a model that is not there, or without a key, is not asked; the log names it.
func TestUnresolved(t *testing.T) {
	h := newHome(t, `compactModel = "openai/gone"`)
	x := h.start(t, func(Ask) AskReply { return AskReply{Unresolved: "there is no key for openai"} })
	x.call(hello(h.dir))
	l := x.call(compactEvent(40))
	if l.Compaction != nil || !strings.Contains(l.HandBack, "openai/gone") || !strings.Contains(l.HandBack, "there is no key") {
		t.Errorf("%+v", l)
	}
	if n := len(x.asks()); n != 1 {
		t.Errorf("asked %d times", n)
	}
	if log := h.log(t); !strings.Contains(log, "openai/gone") {
		t.Errorf("the log does not name the model:\n%s", log)
	}
}

// X1, X8, X15: where the gate is closed, pi's own compaction goes on, nobody is asked, the tool refuses, and nobody is
// reminded.
func TestGateClosed(t *testing.T) {
	noModel := func(e *Event) { e.Model = nil }
	for _, c := range []struct {
		name, settings, refused string
		change                  func(*Event)
	}{
		{"X1 disabled", `enabled = false`, "enabled", nil},
		{"X1 excluded", `excludedModels = ["zai/glm"]`, "zai/glm", nil},
		{"X8 no model", ``, "model", noModel},
		{"X15 subagent", ``, "", func(e *Event) { e.Subagent = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHome(t, c.settings)
			x := h.start(t, good)
			e := hello(h.dir)
			if c.change != nil {
				c.change(&e)
			}
			if l := x.call(e); (l.Tool == nil) != e.Subagent {
				t.Errorf("tool %+v", l.Tool)
			}
			if l := x.call(compactEvent(40)); l.Compaction != nil || l.HandBack == "" || len(l.Notices) > 0 {
				t.Errorf("compact: %+v", l)
			}
			l := x.call(Event{Name: "tool", Usage: usage(900_000)})
			if l.Launch != nil || l.Refused == "" || !strings.Contains(l.Refused, c.refused) {
				t.Errorf("tool: %+v", l)
			}
			if l := x.call(Event{Name: "settled", Usage: usage(900_000)}); l.Say != nil {
				t.Errorf("settled: %+v", l.Say)
			}
			if n := len(x.asks()); n > 0 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

// R10, X26, LOOP-14: after three failures no model is asked; a success before resets that, and so does a new session.
func TestBreaker(t *testing.T) {
	h := newHome(t, "")
	bad := true
	var mu sync.Mutex
	x := h.start(t, func(a Ask) AskReply {
		mu.Lock()
		defer mu.Unlock()
		if bad {
			return AskReply{Stop: "error", Error: "400 Bad Request: something is wrong with it"}
		}
		return good(a)
	})
	turns := 30 // other content each time, so that only the breaker can be why nobody is asked
	compact := func(fails bool) (asked int) {
		t.Helper()
		mu.Lock()
		bad = fails
		mu.Unlock()
		before := len(x.asks())
		turns++
		l := x.call(compactEvent(turns))
		if l.Compaction == nil {
			x.call(Event{Name: "compacted", Reason: "threshold"}) // pi's own took over
		} else {
			x.call(Event{Name: "compacted", FromExtension: true, Details: l.Compaction.Details})
		}
		return len(x.asks()) - before
	}
	x.call(hello(h.dir))
	var got []int
	for _, fails := range []bool{true, true, false, true, true, true, true, false} {
		got = append(got, compact(fails))
	}
	if want := []int{1, 1, 1, 1, 1, 1, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("asked %v, want %v", got, want)
	}
	e := hello(h.dir)
	e.Session.ID = "another"
	x.call(e)
	if n := compact(false); n != 1 {
		t.Errorf("a new session asked %d times", n)
	}
}

// R9, X11: a summary that is no smaller than what it stands for is refused, and for the same part nobody is asked again.
func TestInflated(t *testing.T) {
	h := newHome(t, "")
	x := h.start(t, func(Ask) AskReply {
		words := strings.Fields("parser scanner bound loop index file line test case reader writer buffer edge offset counter branch value result error check " +
			"moves reads keeps loses finds calls skips takes gives holds first last next other small large whole empty same old new only then later again behind before")
		random := rand.New(rand.NewPCG(1, 2))
		text := goodReply + "\n\n"
		for n := range 3_000 {
			text += words[random.IntN(len(words))] + " "
			if n%13 == 12 {
				text += "in parse1.go. "
			}
		}
		return AskReply{Text: text, Stop: "stop"}
	})
	x.call(hello(h.dir))
	e := compactEvent(2)
	e.KeepRecent = 100
	for range 2 {
		l := x.call(e)
		if l.Compaction != nil || l.HandBack == "" {
			t.Errorf("%+v", l)
		}
		if !strings.Contains(l.HandBack, "no smaller") && !strings.Contains(l.HandBack, "not smaller") {
			t.Errorf("handed back: %s", l.HandBack)
		}
		x.call(Event{Name: "compacted"})
	}
	if n := len(x.asks()); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// Nothing to compact: nobody is asked. P7.
func TestNothingToDo(t *testing.T) {
	h := newHome(t, "")
	x := h.start(t, good)
	x.call(hello(h.dir))
	for _, e := range []Event{
		{Name: "compact", Reason: "manual"},
		{Name: "compact", Reason: "manual", Entries: entries(1), KeepRecent: 20_000},
		{Name: "compact", Reason: "manual", Entries: []json.RawMessage{json.RawMessage(`5`)}, Header: json.RawMessage(`"no header"`)},
	} {
		if l := x.call(e); l.Compaction != nil || l.HandBack == "" {
			t.Errorf("%+v", l)
		}
	}
	if n := len(x.asks()); n > 0 {
		t.Errorf("asked %d times", n)
	}
}

// SUB-02: a session in memory only has neither a header nor a file, and compacts as any other.
func TestInMemory(t *testing.T) {
	h := newHome(t, "")
	x := h.start(t, good)
	hi := hello(h.dir)
	hi.Session.File = ""
	x.call(hi)
	e := compactEvent(40)
	e.Header = json.RawMessage("null")
	l := x.call(e)
	if l.Compaction == nil {
		t.Fatalf("handed back: %s", l.HandBack)
	}
	if strings.Contains(l.Compaction.Summary, "session.jsonl") { // X22
		t.Error("the summary points to a file")
	}
}

// A split turn: all that goes is the beginning of the one turn that is kept (seeds 4B.8, item 3).
func TestSplitTurn(t *testing.T) {
	h := newHome(t, "")
	x := h.start(t, good)
	x.call(hello(h.dir))
	e := compactEvent(1)
	parent := fmt.Sprintf("%08x", len(e.Entries))
	for n := range 60 { // the one turn goes on and on
		id := fmt.Sprintf("%08x", len(e.Entries)+1)
		message := fmt.Sprintf(`{"role":"assistant","model":"glm","stopReason":"toolUse","content":[{"type":"toolCall","id":"b%d","name":"bash","arguments":{"command":"go test -run TestLast%d"}}]}`, n, n)
		if n%2 == 1 {
			message = fmt.Sprintf(`{"role":"toolResult","toolCallId":"b%d","toolName":"bash","content":[{"type":"text","text":"FAIL: TestLast1 at parse1_test.go:12, %s"}]}`, n-1, strings.Repeat("got 3 lines, want 4; ", 20))
		}
		e.Entries = append(e.Entries, json.RawMessage(fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"timestamp":"2026-05-01T10:00:00.000Z","message":%s}`, id, parent, message)))
		parent = id
	}
	l := x.call(e)
	if l.Compaction == nil {
		t.Fatalf("handed back: %s", l.HandBack)
	}
	if l.Compaction.FirstKeptEntryID <= "00000009" {
		t.Errorf("kept from %s on", l.Compaction.FirstKeptEntryID)
	}
	if !strings.Contains(l.Compaction.Summary, "Please mend the parser in parse1.go") {
		t.Errorf("the task is gone:\n%s", l.Compaction.Summary)
	}
}

// The second compaction takes in the first one, and its lists of files.
func TestAgain(t *testing.T) {
	h := newHome(t, "")
	asked := 0
	x := h.start(t, func(a Ask) AskReply {
		r := good(a)
		if asked++; asked > 1 {
			r.Text = strings.ReplaceAll(r.Text, "TestLast1", "TestLast41") + "\n- scan41.go was edited too, and parse41_test.go:12 still fails."
		}
		return r
	})
	x.call(hello(h.dir))
	e := compactEvent(60)
	all := e.Entries
	e.Entries = all[:8*30]
	first := x.call(e).Compaction
	if first == nil {
		t.Fatal("handed back")
	}
	x.call(Event{Name: "compacted", FromExtension: true, Details: first.Details})
	line, err := json.Marshal(map[string]any{
		"type": "compaction", "id": "c0000001", "parentId": fmt.Sprintf("%08x", 8*30), "timestamp": "2026-05-01T10:00:00.000Z",
		"summary": first.Summary, "firstKeptEntryId": first.FirstKeptEntryID, "tokensBefore": first.TokensBefore, "details": first.Details, "fromHook": true,
	})
	if err != nil {
		t.Fatal(err)
	}
	e.Entries = append(slices.Clone(all[:8*30]), line)
	rest := slices.Clone(all[8*30:])
	rest[0] = json.RawMessage(strings.Replace(string(rest[0]), fmt.Sprintf(`"parentId":"%08x"`, 8*30), `"parentId":"c0000001"`, 1))
	e.Entries = append(e.Entries, rest...)
	l := x.call(e)
	second := l.Compaction
	if second == nil {
		t.Fatalf("handed back: %s", l.HandBack)
	}
	d := detailsOf(Event{FromExtension: true, Details: second.Details})
	for _, n := range []int{1, 29, 50} {
		if !slices.Contains(d.ReadFiles, fmt.Sprintf("parse%d.go", n)) || !slices.Contains(d.ModifiedFiles, fmt.Sprintf("scan%d.go", n)) {
			t.Errorf("the lists lack the files of turn %d", n)
		}
	}
	if n := strings.Count(second.Summary, "pemmican"); n > 5 || strings.Count(second.Summary, "Please mend the parser in parse1.go") == 0 {
		t.Errorf("the second summary:\n%s", second.Summary)
	}
}

// 60 MB of entries.
func TestHuge(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	h := newHome(t, `compactModel = "mechanical"`)
	x := h.start(t, nil)
	x.call(hello(h.dir))
	e := compactEvent(20)
	parent := fmt.Sprintf("%08x", len(e.Entries))
	page := strings.Repeat("A line of a log that nobody wants to read, over and over again, 12:00:01 ok. ", 2_600) // 200 KB
	for n := range 300 {
		id := fmt.Sprintf("%08x", len(e.Entries)+1)
		message := fmt.Sprintf(`{"role":"assistant","model":"glm","stopReason":"toolUse","content":[{"type":"toolCall","id":"b%d","name":"bash","arguments":{"command":"cat log%d"}}]}`, n, n)
		if n%2 == 1 {
			message = fmt.Sprintf(`{"role":"toolResult","toolCallId":"b%d","toolName":"bash","content":[{"type":"text","text":"%d %s %s"}]}`, n-1, n, page, page)
		}
		e.Entries = append(e.Entries, json.RawMessage(fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"timestamp":"2026-05-01T10:00:00.000Z","message":%s}`, id, parent, message)))
		parent = id
	}
	began := time.Now()
	id := x.send(e)
	tool := x.call(Event{Name: "status"}) // goes on meanwhile
	if tool.Status == nil {
		t.Error("no status")
	}
	l := x.answerTo(id, "compact")
	if l.Compaction == nil {
		t.Fatalf("handed back: %s", l.HandBack)
	}
	took := time.Since(began)
	_ = x.in.Close()
	if err := x.wait(); err != nil {
		t.Error(err)
	}
	if u, ok := x.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		t.Logf("%s, %d MB at most", took.Round(time.Millisecond), u.Maxrss>>10)
	}
}
