package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
)

// fixtures are the transcripts that the scripts of the program use.
func fixtures(t *testing.T) []txtar.File {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("..", "..", "cmd", "pemmican", "testdata", "fixtures.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	return a.Files
}

// Where the tokens are adds up to what there is, and the program counts as the engine does.
func TestWeightsAddUp(t *testing.T) {
	for _, f := range fixtures(t) {
		in := &Input{Name: f.Name, Data: f.Data}
		doc, err := in.Decode("")
		if err != nil {
			t.Fatal(err)
		}
		o, err := new(Settings).Options(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, report, err := pemmican.Compact(t.Context(), doc.Transcript(), o)
		if err != nil {
			t.Fatal(err)
		}
		if live := Live(doc.Transcript(), o); live != report.TokensBefore || live != liveTokens(in) {
			t.Errorf("%s: %d and %d, but the engine counts %d", f.Name, live, liveTokens(in), report.TokensBefore)
		}
		i, err := Inspect(t.Context(), in, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		kind := sum(i.By.Kind)
		if kind != i.Tokens {
			t.Errorf("%s: by kind %d, but %d in all", f.Name, kind, i.Tokens)
		}
		if turn := sum(i.By.Turn); turn != kind {
			t.Errorf("%s: by turn %d of %d", f.Name, turn, kind)
		}
		if tool, file := sum(i.By.Tool), sum(i.By.File); tool > kind || file > tool || file == 0 {
			t.Errorf("%s: by tool %d, by file %d of %d", f.Name, tool, file, kind)
		}
		for n, w := range i.By.Kind[1:] {
			if w.Tokens > i.By.Kind[n].Tokens {
				t.Errorf("%s: %v stands behind %v", f.Name, w, i.By.Kind[n])
			}
		}
	}
}

func sum(list []Weight) (n int) {
	for _, w := range list {
		n += w.Tokens
	}
	return n
}

func TestWeighByTurnAndFile(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddSystem("rules")
	tr.AddUser("first task")
	tr.AddAssistant("", pemmican.Call("1", "Read", `{"file_path":"/w/a.go"}`))
	tr.AddResult("1", "aaaa")
	tr.AddUser("a steer in the middle")
	tr.AddAssistant("", pemmican.Call("1", "Read", `{"file_path":"b.go"}`)) // the id again
	tr.AddError("1", "bbbb")
	tr.AddResult("x", "nobody asked")
	tr.AddAssistant("done")
	tr.AddNudge("by the program")
	tr.AddUser("second task")
	w := Weigh(&tr, pemmican.Options{
		Counter: ones{}, Overhead: pemmican.Overhead{Tokens: 5, Source: "estimated"},
		Tools: pemmican.Tools{"Read": {Role: pemmican.ReadTool, Path: []string{"file_path"}}},
	}, "/w")
	got, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"kind":[` +
		`{"name":"not in the file (estimated)","tokens":5,"blocks":0},{"name":"user text","tokens":3,"blocks":3},{"name":"tool result","tokens":3,"blocks":3},` +
		`{"name":"tool call","tokens":2,"blocks":2},{"name":"system text","tokens":1,"blocks":1},{"name":"assistant text","tokens":1,"blocks":1},` +
		`{"name":"text by the agent's program","tokens":1,"blocks":1}],` +
		`"tool":[{"name":"Read","tokens":4,"blocks":4},{"name":"unknown tool","tokens":1,"blocks":1}],` +
		`"file":[{"name":"a.go","tokens":2,"blocks":2},{"name":"b.go","tokens":2,"blocks":2}],` +
		`"turn":[{"name":"not in the file (estimated)","tokens":5,"blocks":0},{"name":"0: before the first message","tokens":1,"blocks":1},{"name":"1: first task","tokens":9,"blocks":9},{"name":"2: second task","tokens":1,"blocks":1}]}`
	if string(got) != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

type ones struct{}

func (ones) Count(*pemmican.Block) int { return 1 }

// Of two findings about one block the one that drops it counts, and marks of other transcripts count nothing.
func TestFixPlan(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("a")
	tr.AddAssistant("b")
	drop, stub := pemmican.Mark{Action: pemmican.Drop}, pemmican.Mark{Action: pemmican.Stub, Text: "c"}
	for _, findings := range [][]format.Finding{
		{{Fix: map[int]pemmican.Mark{1: stub}}, {Fix: map[int]pemmican.Mark{1: drop, 7: drop, -1: drop}}},
		{{Fix: map[int]pemmican.Mark{1: drop}}, {Fix: map[int]pemmican.Mark{1: stub}}, {}},
	} {
		plan := FixPlan(&tr, findings)
		if plan.Marks[0].Action != pemmican.Keep || plan.Marks[1].Action != pemmican.Drop || len(plan.Marks) != 2 {
			t.Errorf("%+v", plan.Marks)
		}
	}
}

func TestHowMended(t *testing.T) {
	drop, stub := pemmican.Mark{Action: pemmican.Drop}, pemmican.Mark{Action: pemmican.Stub}
	for want, fix := range map[string]map[int]pemmican.Mark{
		"drops 1 block":              {1: drop},
		"replaces 2 blocks":          {1: stub, 2: stub},
		"drops 2 blocks, replaces 1": {1: stub, 2: drop, 3: drop},
	} {
		if got := howMended(fix); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A report whose result could not be put where it was wanted says so.
func TestRefuse(t *testing.T) {
	path := "out"
	c := NewCompaction("pi", &pemmican.Report{
		Outcome: pemmican.Reduced, TokensBefore: 10, TokensAfter: 5, Blocks: pemmican.BlockCounts{Kept: 1, Stubbed: 2, Dropped: 3},
		Stages: []pemmican.StageReport{{Name: "media"}}, Summary: &pemmican.SummaryInfo{Tokens: 7},
	})
	c.Output, c.Resume = &path, "pi"
	c.Refuse("its agent is at work")
	var b bytes.Buffer
	if err := WriteJSON(&b, c); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"outcome":"refused"`, `"reason":"its agent is at work"`, `"tokens_after":10`, `"output":null`, `"resume":""`, `"stages":[]`, `"summary":null`, `"blocks":{"kept":6,"stubbed":0,"dropped":0}`, `"warnings":[]`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in %s", want, b.String())
		}
	}
}

func TestLinesAreLimited(t *testing.T) {
	r := &pemmican.Report{Outcome: pemmican.Refused, Reason: "because\nof it", TokensBefore: 10, Overhead: "unknown"}
	for range 20 {
		r.Warnings = append(r.Warnings, "odd \x1b[31mline")
	}
	text := strings.Join(NewCompaction("pi", r).Lines(0), "\n")
	if strings.Count(text, "warning:") != mostWarnings+1 || !strings.Contains(text, "and 12 more") {
		t.Errorf("%s", text)
	}
	if strings.Contains(text, "\x1b[31mline") || !strings.Contains(text, "because of it") {
		t.Errorf("%q", text)
	}
}

// The cache saves looking, follows changes, and forgets what is gone.
func TestScannerCache(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"} {
		t.Setenv(name, "")
	}
	dir := filepath.Join(home, ".claude", "projects", "-w")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var data []byte
	for _, f := range fixtures(t) {
		if f.Name == "claude.jsonl" {
			data = f.Data
		}
	}
	one, two := filepath.Join(dir, "one.jsonl"), filepath.Join(dir, "two.jsonl")
	write(t, one, string(data))
	write(t, two, string(data))
	old(t, one)
	old(t, two)

	looked := 0
	s := Scanner{Window: 1000, Cache: filepath.Join(home, "cache", "sessions.json"), Progress: func(n int) func() { looked += n; return func() {} }}
	scan := func(want, wantLooked int) []Session {
		t.Helper()
		looked = 0
		sessions, warnings, err := s.Scan(context.Background())
		if err != nil || len(warnings) > 0 || len(sessions) != want || looked != wantLooked {
			t.Fatalf("%d sessions, %d looked at, %v, %v", len(sessions), looked, warnings, err)
		}
		return sessions
	}
	first := scan(2, 2)
	if first[0].State != OverWindow || first[0].Tokens < 1000 || first[0].Folder == "" {
		t.Errorf("%+v", first[0])
	}
	if again := scan(2, 0); again[0] != first[0] || again[1] != first[1] {
		t.Errorf("%+v, but first %+v", again, first)
	}
	write(t, one, "no session")
	if changed := scan(2, 1); changed[0].State != Unreadable || changed[1].Path != two || changed[1].Tokens != first[1].Tokens {
		t.Errorf("%+v", changed)
	}
	if err := os.Remove(two); err != nil {
		t.Fatal(err)
	}
	scan(1, 0)
	if cached, err := os.ReadFile(s.Cache); err != nil || bytes.Contains(cached, []byte("two.jsonl")) {
		t.Errorf("%v: %s", err, cached)
	}
	s.Cache = filepath.Join(home, "cache", "sessions.json", "below a file")
	scan(1, 1)
	s.Cache = ""
	scan(1, 1)
}

// A percentage is of the transcript: the system text and the tools that stand beside it in the request come on top.
func TestTargetInPercent(t *testing.T) {
	for _, f := range fixtures(t) {
		in := &Input{Data: f.Data}
		doc, err := in.Decode("")
		if err != nil {
			t.Fatal(err)
		}
		var s Settings
		if err := s.Target.Set("40%"); err != nil {
			t.Fatal(err)
		}
		o, err := s.Options(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		beside := o.Overhead.Tokens
		if live := Live(doc.Transcript(), o) - beside; o.Target != beside+live*40/100 {
			t.Errorf("%s: target %d of %d and %d beside it", f.Name, o.Target, live, beside)
		}
		if want := f.Name == "claude.jsonl"; (beside > 0) != want || strings.Contains(s.Wish(o), "beside") != want {
			t.Errorf("%s: %d beside, %q", f.Name, beside, s.Wish(o))
		}
	}
	if got := new(Settings).Wish(pemmican.Options{}); got != "" {
		t.Errorf("no percentage is %q", got)
	}
}

// Where lines are missing before the live ones, what was reported for them says nothing of the system text.
func TestOverheadOfALostPast(t *testing.T) {
	for _, parent := range []string{"null", `"gone"`} {
		data := `{"parentUuid":` + parent + `,"isSidechain":false,"type":"user","message":{"role":"user","content":"go on"},"uuid":"u1","timestamp":"2026-01-01T00:00:01.000Z","sessionId":"s","cwd":"/w","version":"2.1.332"}
{"parentUuid":"u1","isSidechain":false,"type":"assistant","message":{"id":"m","type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"done"}],"usage":{"input_tokens":90000,"output_tokens":10}},"uuid":"a1","timestamp":"2026-01-01T00:00:02.000Z","sessionId":"s","cwd":"/w","version":"2.1.332"}
`
		doc, err := (&Input{Data: []byte(data)}).Decode("")
		if err != nil {
			t.Fatal(err)
		}
		_, overhead := counter(doc, []byte(data))
		if known := overhead.Source == "estimated" && overhead.Tokens > 80_000; known != (parent == "null") {
			t.Errorf("parent %s: %+v", parent, overhead)
		}
	}
}
