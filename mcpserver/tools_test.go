package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/agents"
	"github.com/pemmican-dev/pemmican/format/pi"
	"github.com/pemmican-dev/pemmican/internal/cli"
	"github.com/pemmican-dev/pemmican/internal/live"
	"github.com/pemmican-dev/pemmican/llm"
	"github.com/pemmican-dev/pemmican/mcpserver"
	"github.com/pemmican-dev/pemmican/session"
	"github.com/pemmican-dev/pemmican/summary"
)

// inspected is what "pemmican inspect" says of a file with a window.
func inspected(t *testing.T, path string, window int) *cli.Inspection {
	t.Helper()
	in, _, err := cli.Snapshot(t.Context(), agents.SessionFile{Path: path}, "", 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	i, err := cli.Inspect(t.Context(), in, cli.Settings{Window: cli.Tokens{N: window}})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// T1: a status by the file has the figures of the program, and the thresholds of the settings.
func TestTheStatusOfASessionThatIsNotLive(t *testing.T) {
	w := newWorld(t)
	path := w.pi(t, idA, w.work, 10)
	settings := session.DefaultSettings()
	settings.Window = 120_000
	config := w.config()
	config.Settings = func() session.Settings { return settings }
	st, text := call[mcpserver.Status](t, connect(t, config, "test"), "context_status", nil)
	plan := inspected(t, path, 120_000).Plan
	want := mcpserver.Would{
		Outcome: "reduced", Reason: plan.Reason, Before: plan.TokensBefore, After: plan.TokensAfter, Freed: plan.TokensBefore - plan.TokensAfter,
		Target: 60_000, Floor: plan.Floor.Tokens,
	}
	if diff := cmp.Diff(want, *st.Would); diff != "" {
		t.Error(diff)
	}
	if st.Live || st.File != path || st.Dir != w.work || st.Agent != "pi" || st.Model != "example-large" || !st.Enabled || st.Compactions != 0 {
		t.Errorf("%+v", st)
	}
	if st.Window != 120_000 || st.WindowFrom != "settings" || st.Tokens < want.Before*9/10 || st.Tokens > want.Before*11/10 {
		t.Errorf("%d of %d (%s)", st.Tokens, st.Window, st.WindowFrom)
	}
	if got := float64(st.Tokens) / 1200; st.Percent < got-0.06 || st.Percent > got+0.06 {
		t.Errorf("%v percent", st.Percent)
	}
	if st.Hard <= st.Soft || st.Block < st.Hard || len(st.Tiers) != 3 {
		t.Errorf("%+v", st)
	}
	for _, want := range []string{cli.Count(st.Tokens), "120,000 (settings)", "would free " + cli.Count(want.Freed), "not live"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if lines := strings.Count(text, "\n"); lines > 6 || len(text) > 1500 {
		t.Errorf("not short:\n%s", text)
	}
}

// The window is what the settings, the user or the catalogue say of the model.
func TestTheWindowOfTheStatus(t *testing.T) {
	w := newWorld(t)
	w.claude(t, idC, w.work, 10)
	config := w.config()
	st, _ := call[mcpserver.Status](t, connect(t, config, "test"), "context_status", nil)
	if known, ok := llm.DefaultCatalogue().Find("", "claude-sonnet-4-5"); !ok || st.WindowFrom != "catalogue" || st.Window != known.Window {
		t.Errorf("%d %s", st.Window, st.WindowFrom)
	}
	config.Catalogue = llm.DefaultCatalogue()
	if err := config.Catalogue.Override([]byte(`{"models": {"anthropic/claude-sonnet-4-5": {"window": 77000}}}`)); err != nil {
		t.Fatal(err)
	}
	st, _ = call[mcpserver.Status](t, connect(t, config, "test"), "context_status", nil)
	if st.Window != 77_000 || st.WindowFrom != "override" {
		t.Errorf("%d %s", st.Window, st.WindowFrom)
	}
	if st.Would == nil || st.Would.Freed != 0 || st.Would.Reason == "" {
		t.Errorf("%+v", st.Would)
	}
}

func TestTheStatusOfALiveSession(t *testing.T) {
	w := newWorld(t)
	path := w.pi(t, idA, w.work, 10)
	said := session.Status{
		Enabled: true, Model: "example/large", Tokens: 215_000, Window: 1_000_000, WindowFrom: "agent", Soft: 1, Hard: 2, Block: 3,
		Tiers: []int{200_000, 400_000}, Fired: []int{1}, Compactions: 4, InFlight: true,
	}
	data, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan string, 1)
	w.serve(t, live.Session{Agent: "pi", ID: idA, File: path, Dir: w.work, PID: 1}, func(_ context.Context, r live.Request) live.Reply {
		asked <- r.Do
		return live.Reply{Status: data}
	})
	st, text := call[mcpserver.Status](t, connect(t, w.config(), "pi"), "context_status", nil)
	if <-asked != "status" {
		t.Error("it was asked for something else")
	}
	if st.Would == nil || st.Would.Freed <= 0 || !strings.Contains(st.Would.Wish, "50 %") { // it is far below half of that window
		t.Errorf("%+v", st.Would)
	}
	st.Would = nil
	want := mcpserver.Status{
		Which:   mcpserver.Which{Agent: "pi", ID: idA, File: path, Format: "pi", Dir: w.work, Live: true, Chosen: st.Chosen, Notes: []string{}},
		Enabled: true, Model: "example/large", Tokens: 215_000, Counted: "by the running session", Window: 1_000_000, WindowFrom: "agent", Percent: 21.5,
		Soft: 1, Hard: 2, Block: 3, Tiers: []int{200_000, 400_000}, Fired: []int{1}, Compactions: 4, InFlight: true,
	}
	if diff := cmp.Diff(want, st); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(text, "215,000 tokens, 21.5 % of a window of 1,000,000 (agent)") {
		t.Error(text)
	}
}

// A running session that says nothing of use is looked at by its file.
func TestALiveSessionThatDoesNotSay(t *testing.T) {
	for name, reply := range map[string]live.Reply{
		"refused": {Refused: "not now"}, "no JSON": {Status: []byte("?")}, "nothing": {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			path := w.pi(t, idA, w.work, 10)
			w.serve(t, live.Session{Agent: "pi", ID: idA, File: path, Dir: w.work}, func(context.Context, live.Request) live.Reply { return reply })
			st, _ := call[mcpserver.Status](t, connect(t, w.config(), "pi"), "context_status", nil)
			if !st.Live || st.Tokens < 50_000 || len(st.Notes) != 1 || !strings.Contains(st.Notes[0], "does not say how it stands") {
				t.Errorf("%+v", st)
			}
			w.serve(t, live.Session{Agent: "pi", ID: "memory", Dir: w.work + "/x"}, func(context.Context, live.Request) live.Reply { return reply })
			if got := refused(t, connect(t, w.config(), "pi"), "context_status", args{"session": "memory"}); !strings.Contains(got, "without a file") {
				t.Error(got)
			}
		})
	}
}

// T22, T23: the tool returns at once what the running session says, be it granted or refused.
func TestALiveSessionIsCompacted(t *testing.T) {
	w := newWorld(t)
	path := w.pi(t, idA, w.work, 10)
	var got live.Request
	reply := live.Reply{Text: "Launched: the second compaction."}
	w.serve(t, live.Session{Agent: "pi", ID: idA, File: path, Dir: w.work}, func(_ context.Context, r live.Request) live.Reply {
		got = r
		return reply
	})
	c := connect(t, w.config(), "pi")
	for _, a := range []args{{"instructions": "the invoices"}, {"instructions": "the invoices", "session": path}, {"instructions": "the invoices", "session": "pi:latest"}} {
		out, text := call[mcpserver.Compaction](t, c, "compact_context", a)
		if !out.Launched || !out.Live || out.Command != "" || text != reply.Text || (got != live.Request{Do: "compact", Instructions: "the invoices"}) {
			t.Errorf("%+v %q %+v", out, text, got)
		}
	}
	reply = live.Reply{Refused: "38K of 200K tokens: below the lowest tier, 40K"}
	if got := refused(t, c, "compact_context", nil); got != reply.Refused {
		t.Error(got)
	}
}

// A session that is not live is left alone; the answer is the command, which does what it says.
func TestASessionThatIsNotLiveIsNotCompacted(t *testing.T) {
	w := newWorld(t)
	path := w.pi(t, idA, w.work+"/it's here", 10)
	config := w.config()
	settings := session.DefaultSettings()
	settings.Window, settings.KeepRecent = 100_000, 5_000
	config.Settings = func() session.Settings { return settings }
	out, text := call[mcpserver.Compaction](t, connect(t, config, "test"), "compact_context", args{"session": path})
	want := "pemmican compact " + path + " --append --target 50000 --keep-recent 5000 && cd '" + w.work + `/it'\''s here' && pi --session ` + path
	if out.Launched || out.Live || out.Command != want {
		t.Errorf("%+v\n%s", out, want)
	}
	if out.Would == nil || out.Would.Freed <= 0 {
		t.Errorf("%+v", out.Would)
	}
	for _, want := range []string{"not live", "Nothing was changed", "After the agent has ended", out.Command} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	// Claude Code resumes by id, a subagent's session not at all.
	long := strings.Repeat("All is well that ends well. ", 2000)
	data := claude(idC, "/f", long, long, long, long, long, "Done.")
	w.write(t, ".claude/projects/-x/agent-12.jsonl", data, 1)
	w.write(t, ".claude/projects/-x/"+idC+".jsonl", data, 1)
	c := connect(t, w.config(), "test")
	out, _ = call[mcpserver.Compaction](t, c, "compact_context", args{"session": idC})
	if !strings.HasSuffix(out.Command, " && cd /f && claude --resume "+idC) {
		t.Error(out.Command)
	}
	out, text = call[mcpserver.Compaction](t, c, "compact_context", args{"session": w.home + "/.claude/projects/-x/agent-12.jsonl"})
	if strings.Contains(out.Command, "&&") || strings.Contains(text, "resumes it") || out.Command == "" {
		t.Errorf("%s\n%s", out.Command, text)
	}
}

func TestNothingToCompact(t *testing.T) {
	w := newWorld(t)
	w.claude(t, idC, w.work, 10)
	body := w.write(t, "request.json", []byte(`{"model":"claude-x","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`), 1)
	c := connect(t, w.config(), "test")
	out, text := call[mcpserver.Compaction](t, c, "compact_context", nil)
	if out.Command != "" || out.Would.Freed != 0 || !strings.Contains(text, "would free nothing") {
		t.Errorf("%+v\n%s", out, text)
	}
	if got := refused(t, c, "compact_context", args{"session": body}); !strings.Contains(got, "request body") {
		t.Error(got)
	}
}

// CONCUR: a session that ends when it is asked is not live any more, and what the file tells is told.
func TestASessionThatEndsMeanwhile(t *testing.T) {
	w := newWorld(t)
	path := w.pi(t, idA, w.work, 10)
	listener, err := net.Listen("unix", filepath.Join(w.live, "x.sock"))
	if err != nil {
		t.Fatal(err)
	}
	var ending sync.WaitGroup
	ending.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close() // as a process that dies does
		}
	})
	defer ending.Wait()
	defer func() { _ = listener.Close() }()
	data, err := json.Marshal(live.Session{Agent: "pi", ID: idA, File: path, Dir: w.work})
	if err == nil {
		err = os.WriteFile(filepath.Join(w.live, "x.json"), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, w.config(), "pi")
	st, _ := call[mcpserver.Status](t, c, "context_status", nil)
	if st.Live || st.Tokens < 50_000 || len(st.Notes) != 1 {
		t.Errorf("%+v", st)
	}
	out, _ := call[mcpserver.Compaction](t, c, "compact_context", nil)
	if out.Live || out.Launched || out.Command == "" {
		t.Errorf("%+v", out)
	}
}

func TestInspectIsBounded(t *testing.T) {
	w := newWorld(t)
	path := w.pi(t, idA, w.work, 10)
	c := connect(t, w.config(), "test")
	want := inspected(t, path, 0)
	for _, top := range []int{0, 1, 3, 100} {
		a := args{"top": top}
		if top == 0 {
			a, top = nil, 10
		}
		out, text := call[mcpserver.Inspection](t, c, "inspect_transcript", a)
		if out.Tokens != want.Tokens || out.Window != 200_000 || want.Plan.Window != 200_000 || out.WindowFrom != "assumed" {
			t.Errorf("%+v", out)
		}
		for name, part := range map[string]struct {
			got  mcpserver.Rows
			all  []cli.Weight
			last bool
		}{
			"kind": {out.Kind, want.By.Kind, false}, "tool": {out.Tool, want.By.Tool, false}, "files": {out.Files, want.By.File, false},
			"oldest": {out.Oldest, want.By.Turn[:4], false}, "newest": {out.Newest, want.By.Turn[4:], true},
		} {
			n := min(top, len(part.all))
			shown, left := part.all[:n], part.all[n:]
			if part.last {
				shown, left = part.all[len(part.all)-n:], part.all[:len(part.all)-n]
			}
			tokens := 0
			for _, w := range left {
				tokens += w.Tokens
			}
			if diff := cmp.Diff(mcpserver.Rows{Rows: shown, More: len(left), MoreTokens: tokens}, part.got); diff != "" {
				t.Errorf("%s, top %d: %s", name, top, diff)
			}
		}
		for _, part := range []string{path, "80,667 tokens, 40 % of a window of 200,000", "By kind", "tool result", "What a compaction"} {
			if !strings.Contains(text, part) {
				t.Errorf("no %q in:\n%s", part, text)
			}
		}
		if len(text) > 16_000 || strings.ContainsAny(text, "{}\x1b") { // lines for people: the JSON is the other part
			t.Errorf("%d bytes:\n%s", len(text), text)
		}
	}
}

// A session that is not live has the window that "pemmican inspect" goes by: the person's own word, else an assumed one.
func TestTheWindowIsThatOfInspect(t *testing.T) {
	w := newWorld(t)
	path := w.pi(t, idA, w.work, 10)
	c := connect(t, w.config(), "test")
	for _, row := range []struct {
		models string // models.json of the person
		window int
		from   string
		notes  int
	}{
		{"", 200_000, "assumed", 0},
		{`{"models": {"example-large": {"window": 77000}}}`, 77_000, "override", 0},
		{`{"models": 5}`, 200_000, "assumed", 1},
	} {
		if row.models != "" {
			w.write(t, ".config/pemmican/models.json", []byte(row.models), 0)
		}
		st, _ := call[mcpserver.Status](t, c, "context_status", nil)
		in, _ := call[mcpserver.Inspection](t, c, "inspect_transcript", nil)
		if st.Window != row.window || st.WindowFrom != row.from || in.Window != row.window || in.WindowFrom != row.from {
			t.Errorf("%q: %d (%s), %d (%s)", row.models, st.Window, st.WindowFrom, in.Window, in.WindowFrom)
		}
		if len(st.Notes) != row.notes || len(in.Notes) != row.notes {
			t.Errorf("%q: %q, %q", row.models, st.Notes, in.Notes)
		}
		if row.notes == 0 {
			if want := inspected(t, path, 0).Plan.Window; want != row.window {
				t.Errorf("%q: pemmican inspect says %d", row.models, want)
			}
		}
	}
}

// An error says nothing twice, and names no flag.
func TestErrorsOfAFormat(t *testing.T) {
	w := newWorld(t)
	w.pi(t, idA, w.work, 10)
	path := w.pi(t, idB, w.work, 20)
	other := w.write(t, "other.txt", []byte("a letter"), 1)
	c := connect(t, w.config(), "test")
	for _, row := range []struct {
		a     args
		says  string
		path  string
		times int
	}{
		{args{"format": "toml"}, `there is no format "toml"; give pi, claude-code, anthropic or openai-chat`, w.home, 0},
		{args{"path": path, "format": "toml"}, `there is no format "toml"`, path, 0},
		{args{"path": other}, "give format if you know better", other, 1},
		{args{"format": "openai-chat"}, "passed over", "_" + idA + ".jsonl", 1},
	} {
		got := refused(t, c, "inspect_transcript", row.a)
		if !strings.Contains(got, row.says) || strings.Count(got, row.path) != row.times || strings.Contains(got, "--format") {
			t.Errorf("%v: %s", row.a, got)
		}
	}
}

// HUGE-10: whatever a transcript holds, an answer about it stays small.
func TestAnswersAboutTheLargestStaySmall(t *testing.T) {
	w := newWorld(t)
	type m = map[string]any
	name := strings.Repeat("very/long/", 300)
	messages := []m{{"role": "user", "content": strings.Repeat("go on ", 1e4)}}
	for i := range 600 {
		messages = append(messages,
			m{"role": "assistant", "content": []m{{"type": "tool_use", "id": fmt.Sprint("c", i), "name": fmt.Sprint("Read", i, "\u202e", name), "input": m{"file_path": fmt.Sprint(name, i)}}}},
			m{"role": "user", "content": []m{{"type": "tool_result", "tool_use_id": fmt.Sprint("x", i), "content": "text"}}},
			m{"role": "user", "content": name})
	}
	data, err := json.Marshal(m{"model": "claude-x", "max_tokens": 9, "messages": messages})
	if err != nil {
		t.Fatal(err)
	}
	path := w.write(t, "request.json", data, 1)
	c := connect(t, w.config(), "test")
	inspection, text := call[mcpserver.Inspection](t, c, "inspect_transcript", args{"path": path, "top": 100})
	if inspection.Format != "anthropic" || inspection.Tool.More < 480 || len(text) > 150_000 {
		t.Errorf("%d bytes, %d more tools", len(text), inspection.Tool.More)
	}
	checked, text := call[mcpserver.Checked](t, c, "check_transcript", args{"path": path})
	if checked.Sound || len(checked.Findings) != 50 || checked.More < 540 || len(text) > 50_000 {
		t.Errorf("%d findings, %d more, %d bytes", len(checked.Findings), checked.More, len(text))
	}
	if checked.Fixable == 0 || checked.Command != "pemmican check "+path+" --fix" {
		t.Errorf("%d %s", checked.Fixable, checked.Command)
	}
	st, text := call[mcpserver.Status](t, c, "context_status", args{"session": path})
	if st.Tokens == 0 || st.Agent != "" || len(text) > 4_000 {
		t.Errorf("%+v", st)
	}
}

func TestCheckOfASoundOne(t *testing.T) {
	w := newWorld(t)
	w.pi(t, idA, w.work, 10)
	checked, _ := call[mcpserver.Checked](t, connect(t, w.config(), "test"), "check_transcript", nil)
	if !checked.Sound || len(checked.Findings) != 0 || checked.More != 0 || checked.Command != "" {
		t.Errorf("%+v", checked)
	}
}

func TestKeep(t *testing.T) {
	w := newWorld(t)
	c := connect(t, w.config(), "pi")
	fact := "The ticket is PEM-4711. 文"
	for _, x := range []struct{ name, want string }{
		{"nobody", "no session was found"}, {"a file", "does not run beside this session"}, {"live", ""},
	} {
		switch x.name {
		case "a file":
			w.pi(t, idA, w.work, 10)
		case "live":
			w.serve(t, live.Session{Agent: "pi", ID: idA, Dir: w.work}, quiet)
		}
		out, text := call[mcpserver.Kept](t, c, "keep", args{"fact": "  " + fact + "\n"})
		if out.Fact != fact || !out.Pinned || !strings.HasPrefix(text, "Pinned.") || !strings.Contains(out.Warning, x.want) || (x.want == "") != (out.Warning == "") {
			t.Errorf("%s: %+v\n%s", x.name, out, text)
		}
	}
	if out, _ := call[mcpserver.Kept](t, c, "keep", args{"fact": strings.Repeat("文", 2000)}); !out.Pinned {
		t.Error("2,000 characters are not too many")
	}
	out, text := call[mcpserver.Kept](t, c, "keep", args{"fact": fact, "drop": true})
	if out.Pinned || out.Fact != fact || !strings.Contains(text, "no more") {
		t.Errorf("%+v %s", out, text)
	}
}

// Which facts are pinned stands in the calls themselves: a hundred are enough, one that is taken back makes room, one whose
// call failed does not count, and pinning the same again is no second fact.
func TestKeepIsBounded(t *testing.T) {
	w := newWorld(t)
	var b bytes.Buffer
	b.Write(example(t, idA, w.work))
	last := ""
	for line := range strings.Lines(b.String()) {
		var entry struct{ ID string }
		if json.Unmarshal([]byte(line), &entry) == nil {
			last = entry.ID
		}
	}
	n := 0
	entry := func(message string) {
		n++
		id := fmt.Sprintf("eeee%04d", n)
		fmt.Fprintf(&b, `{"type":"message","id":%q,"parentId":%q,"timestamp":"2026-03-02T10:00:00.000Z","message":%s}`+"\n", id, last, message)
		last = id
	}
	keep := func(tool, arguments string, failed bool) {
		id := fmt.Sprint("call_", n)
		entry(fmt.Sprintf(`{"role":"assistant","content":[{"type":"toolCall","id":%q,"name":%q,"arguments":%s}],"api":"x","provider":"x","model":"x","stopReason":"toolUse","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2}}`, id, tool, arguments))
		entry(fmt.Sprintf(`{"role":"toolResult","toolCallId":%q,"toolName":%q,"content":[{"type":"text","text":"Pinned."}],"isError":%v}`, id, tool, failed))
	}
	write := func() { w.write(t, ".pi/agent/sessions/--x--/t_"+idA+".jsonl", b.Bytes(), 1) }
	c := connect(t, w.config(), "pi")
	for i := range 99 {
		keep("mcp__pemmican__keep", fmt.Sprintf(`{"fact":"fact %d"}`, i), false)
	}
	keep("mcp__pemmican__keep", `{"fact":"one that failed"}`, true)
	keep("mcp__other__keep", `{"fact":"not ours"}`, false)
	keep("mcp__pemmican__keep", `{"fact":" fact 7 "}`, false)
	write()
	call[mcpserver.Kept](t, c, "keep", args{"fact": "the hundredth"})
	keep("mcp__pemmican__keep", `{"fact":"the hundredth"}`, false)
	write()
	call[mcpserver.Kept](t, c, "keep", args{"fact": "fact 7"})
	if got := refused(t, c, "keep", args{"fact": "the next"}); !strings.Contains(got, "100 facts are pinned already") {
		t.Error(got)
	}
	if _, text := call[mcpserver.Kept](t, c, "keep", args{"fact": "fact 7", "drop": true}); text != "Pinned no more." { // and nothing else
		t.Error(text)
	}
	if _, text := call[mcpserver.Kept](t, c, "keep", args{"fact": "fact 777", "drop": true}); text != "In what was found of the session, no fact is pinned in these very words." {
		t.Error(text)
	}
	// A compaction takes the calls away, and its summary carries the facts on.
	doc, err := pi.DecodeModern(bytes.Clone(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	plan, report, err := pemmican.Compact(t.Context(), doc.Transcript(), pemmican.Options{
		Target: 20_000, KeepRecent: 1000, Summarizer: summary.Mechanical{}, Tools: agents.Tools(),
	})
	if err != nil || report.Outcome != pemmican.Summarised {
		t.Fatalf("%v, %+v", err, report)
	}
	compacted, err := doc.Apply(plan)
	if err != nil {
		t.Fatal(err)
	}
	w.write(t, ".pi/agent/sessions/--x--/t_"+idA+".jsonl", compacted, 1)
	if got := refused(t, c, "keep", args{"fact": "the next"}); !strings.Contains(got, "100 facts are pinned already") {
		t.Error(got)
	}
	keep("pemmican_keep", `{"fact":"fact 7","drop":true}`, false)
	write()
	call[mcpserver.Kept](t, c, "keep", args{"fact": "the next"})
}
