package summary

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/llm"
)

// gateSession is a conversation with many names, all of it to be summarised.
func gateSession() *pemmican.Transcript {
	t := &pemmican.Transcript{}
	t.AddUser("The login of the portal fails since release 4.12.0 (ticket PRT-118). Please find out why, and never touch vendor/.")
	t.AddAssistant("I read the session store first.", pemmican.Call("c1", "read", `{"path":"internal/auth/session_store.go"}`))
	t.AddResult("c1", "package auth\n\nconst maxSessions = 4096\n\nfunc (s *SessionStore) RotateToken(ctx context.Context) error {\n\treturn s.redis.SetNX(ctx, tokenKey, 86400)\n}\n"+
		strings.Repeat("// The store keeps one entry for each browser, and drops the oldest one.\n", 12))
	t.AddAssistant("", pemmican.Call("c2", "bash", `{"command":"go test ./internal/auth/... -run TestRotateToken\ngit log --oneline"}`))
	t.AddError("c2", "--- FAIL: TestRotateToken (0.01s)\n    session_store_test.go:88: ErrTokenExpired: want 3600, got 86400\n9f3c2ab41d7e fix cookie domain\nexit status 1")
	t.AddAssistant("The lifetime is wrong: it is counted in seconds here and in minutes in cookie_config.yaml.",
		pemmican.Call("c3", "edit", `{"path":"internal/auth/session_store.go","oldText":"86400","newText":"defaultLifetime"}`))
	t.AddResult("c3", "ok")
	t.AddUser("Good. Also tell operations that port 8443 must stay open, see https://wiki.example.org/ops/firewall.")
	t.AddAssistant("Noted; the edit is in place and the test passes now.")
	return t
}

const goodSummary = `## Goal
Find out why the login of the portal fails since 4.12.0 (PRT-118), without touching vendor/.

## Progress
- Read internal/auth/session_store.go; RotateToken stored 86400 where cookie_config.yaml means minutes.
- TestRotateToken failed with ErrTokenExpired; the edit to defaultLifetime made it pass.

## Next Steps
- Tell operations that port 8443 must stay open.`

// smallSession is one without any names.
func smallSession() *pemmican.Transcript {
	t := &pemmican.Transcript{}
	t.AddUser("What is a good way to learn the piano when one is over fifty and has little time, but a lot of patience and a silent instrument at home?")
	t.AddAssistant("Short daily practice is worth more than long sessions on a weekend. Begin with one hand, and use the headphones.")
	t.AddUser("And how do I find a teacher who takes beginners of my age? I would rather not travel far for it.")
	t.AddAssistant("Ask the music school of your town first; most of them have evening lessons for adults.")
	return t
}

// gated drops all of a transcript.
func gated(t *pemmican.Transcript) gateSource {
	s := gateSource{Request: &pemmican.SummaryRequest{Transcript: t, Tools: testTools}}
	for i := range t.Blocks {
		s.Request.Dropped = append(s.Request.Dropped, i)
	}
	return s
}

func ended(text string) *llm.Reply { return &llm.Reply{Text: text, Stop: llm.StopEnd} }

// sizes is a counter for tests that say what a text takes.
type sizes map[string]int

func (s sizes) Count(b *pemmican.Block) int { return s[b.Text+b.Args] }

func sizedSource(dropped, has int, text string) gateSource {
	t := &pemmican.Transcript{}
	t.AddUser("dropped")
	s := gated(t)
	s.Request.Counter = sizes{"dropped": dropped, text: has}
	return s
}

const gatePrompt = "Write a handoff summary of the conversation above as plain text. Do not call any tool. " +
	"Use these sections: goal, constraints and preferences, progress, key decisions, files and code, errors and fixes, next steps, critical context. " +
	"Name every file, command and value exactly as it stands in the conversation, and write (none) where a section has nothing."

// TestGate has the rows about replies of sections 6 of the seeds and SUMREPLY, BIGGER and appendix C of the faults.
func TestGate(t *testing.T) {
	many, small := gated(gateSession()), gated(smallSession())
	before := gated(gateSession())
	before.Request.Previous = goodSummary
	prompted := gated(gateSession())
	prompted.Prompt = gatePrompt
	short := &pemmican.Transcript{}
	short.AddUser("Hi, rename foo.")
	short.AddAssistant("Which one?")
	short.AddUser("The first.")
	calls := []llm.Call{{Name: "bash", Args: `{"command":"git status"}`}}
	long := goodSummary + "\n\n## Critical Context\n" + strings.Repeat("- The store keeps one entry for each browser, and drops the oldest one, says session_store.go.\n", 3)
	decline := "I can't produce this summary as requested. " + plainProse(2300)
	looped := "The assistant then wrote the same again: " + strings.Repeat("I will run the tests again now. ", 40)

	for _, row := range []struct {
		id     string
		reply  *llm.Reply
		source gateSource
		want   Reason // "" for accepted
		text   string // the narrative of an accepted one, "" for the text as it came
	}{
		{"R1 nothing", ended(""), many, ReasonEmpty, ""},
		{"R1 blank", ended(" \n\t\r\n "), many, ReasonEmpty, ""},
		{"R1 no reply at all", nil, many, ReasonEmpty, ""},
		{"R1 no letters", ended("---\n\n…"), many, ReasonEmpty, ""},
		{"R2", &llm.Reply{Text: "checking first", Calls: calls, Stop: llm.StopCalls}, many, ReasonToolCall, ""},
		{"R2 end that is called normal", &llm.Reply{Text: "checking first", Calls: calls, Stop: llm.StopEnd}, many, ReasonToolCall, ""},
		{"R2 call that was not parsed", &llm.Reply{Text: goodSummary, Stop: llm.StopCalls}, many, ReasonToolCall, ""},
		{"R3", ended(`Summary here<tool_call>{"name":"bash"}</tool_call>`), many, ReasonToolCall, ""},
		{"R4", &llm.Reply{Text: long, Calls: calls, Stop: llm.StopEnd}, many, ReasonToolCall, ""},
		{"R5", ended("</think>TASK STATE: done"), small, "", "TASK STATE: done"},
		{"R5 alone", ended("</think>"), small, ReasonReasoning, ""},
		{"R5 thoughts before", ended("Hm, what was it about?\nAh.\n</think>\n\n" + goodSummary), many, "", goodSummary},
		{"R8", &llm.Reply{Text: "half…", Stop: llm.StopLength}, many, ReasonCutOff, ""},
		{"R9", ended(plainProse(10_000)), sizedSource(100, 2500, plainProse(10_000)), ReasonTooLong, ""},
		{"X11 500 against 400", ended("It is done."), sizedSource(400, 500, "It is done."), ReasonTooLong, ""},
		{"X11 400 against 400", ended("It is done."), sizedSource(400, 400, "It is done."), ReasonTooLong, ""},
		{"X11 300 against 400", ended("It is done."), sizedSource(400, 300, "It is done."), "", ""},
		{"X27", ended("The person wants to learn the piano late in life and now looks for a teacher nearby."), small, "", ""},
		{"X28", ended(goodSummary), prompted, "", ""},

		{"SUM-01 empty", ended(""), many, ReasonEmpty, ""},
		{"SUM-01 the last text", ended("Noted; the edit is in place and the test passes now."), many, ReasonEcho, ""},
		{"SUM-01 in other signs", ended("**noted** - the edit is in place,\nand the test passes NOW!"), many, ReasonEcho, ""},
		{"SUM-01 a part of it", ended("The edit is in place"), many, ReasonEcho, ""},
		{"SUM-01 the person's", ended("Good. Also tell operations that port 8443 must stay open, see https://wiki.example.org/ops/firewall."), many, ReasonEcho, ""},
		{"SUM-02", &llm.Reply{Calls: []llm.Call{{Name: "noop"}}, Stop: llm.StopCalls}, many, ReasonToolCall, ""},
		{"SUM-02 second", ended(""), many, ReasonEmpty, ""},
		{"SUM-04", &llm.Reply{Reasoning: goodSummary, Reasoned: true, Stop: llm.StopLength}, before, ReasonCutOff, ""},
		{"SUM-04 normal end", &llm.Reply{Reasoning: goodSummary, Reasoned: true, Stop: llm.StopEnd}, before, ReasonReasoning, ""},
		{"SUM-05", ended("<think>abc</think>"), many, ReasonReasoning, ""},
		{"SUM-05 blank behind", ended("<think>abc</think>\n\n "), many, ReasonReasoning, ""},
		{"SUM-08", ended("Error: too many requests, status 429, try again later"), many, ReasonChat, ""},
		{"SUM-10", ended(decline), many, ReasonChat, ""},
		{"SUM-10 with names", ended("I cannot create a summary of session_store.go, RotateToken and PRT-118."), many, ReasonChat, ""},
		{"SUM-11", ended("I'm sorry, but I won't write down a conversation that says the same again and again."), small, ReasonChat, ""},
		{"SUM-11 of making", ended("I cannot write that down."), small, ReasonChat, ""},
		{"SUM-14", &llm.Reply{Text: goodSummary + "\n- The store went fro", Stop: llm.StopLength}, many, ReasonCutOff, ""},
		{"SUM-16", &llm.Reply{Text: goodSummary + "\n- and", Stop: llm.StopLength}, before, ReasonCutOff, ""},
		{"SUM-17", &llm.Reply{Text: "<summary>part", Stop: llm.StopLength}, many, ReasonCutOff, ""},
		{"SUM-17 normal end", ended("<summary>\n" + goodSummary), many, ReasonCutOff, ""},
		{"SUM-19", &llm.Reply{Text: goodSummary, Stop: llm.StopPaused, StopReason: "pause_turn"}, many, ReasonUnfinished, ""},
		{"SUM-19 unknown", &llm.Reply{Text: goodSummary, StopReason: "brand_new"}, many, ReasonUnfinished, ""},
		{"SUM-19 window", &llm.Reply{Text: goodSummary, Stop: llm.StopOverflow}, many, ReasonCutOff, ""},
		{"SUM-20", &llm.Reply{Text: "Summary:", Stop: llm.StopFiltered}, many, ReasonFiltered, ""},
		{"SUM-20 told apart", &llm.Reply{Text: goodSummary, Refusal: "I will not do that.", Stop: llm.StopEnd}, many, ReasonFiltered, ""},
		{"SUM-22 protocol", ended(`<tool_call>{"name":"read","arguments":{"path":"a.go"}}`), many, ReasonToolCall, ""},
		{"SUM-22 reasoning", &llm.Reply{Reasoning: "The user wants …", Reasoned: true, Stop: llm.StopEnd}, many, ReasonReasoning, ""},
		{"SUM-23", ended("## Goal\n(none - empty conversation)\n\n## Progress\n- (none)\n\n**Next Steps**: None.\n\n### Files\nN/A"), many, ReasonEmpty, ""},
		{"SUM-23 headings", ended("## Goal\n\n## Progress\n\n## Next Steps"), many, ReasonEmpty, ""},
		{"SUM-25", ended(strings.Repeat("Same line\n", 1511)), many, ReasonLoop, ""},
		{"SUM-25 with a tail", ended("## Goal\nIt fails.\n" + strings.Repeat("Same line\n", 151) + "## Next Steps\nFix session_store.go and the rest of it."), many, ReasonLoop, ""},
		{"SUM-25 short units", ended("The summary is " + strings.Repeat("ha ", 300)), many, ReasonLoop, ""},
		{"SUM-25 digits", ended("It is " + strings.Repeat("0 1 ", 200)), many, ReasonLoop, ""},
		{"SUM-25 many lines", ended(strings.Repeat(numberedLines(300), 4)), many, ReasonLoop, ""},
		{"SUM-26", ended(goodSummary), before, ReasonEcho, ""},
		{"SUM-26 a part of it", ended(goodSummary[:200]), before, ReasonEcho, ""},
		{"SUM-26 with news", ended(goodSummary + "\n- See https://wiki.example.org/ops/firewall for the port; maxSessions is 4096."), before, "", ""},
		{"SUM-28 closed by another", ended("<analysis>x</think><summary>use `<think>` tag</summary>"), small, "", "use `<think>` tag"},
		{"SUM-28 in a fence", ended("<think>hm</think>\n" + goodSummary + "\n```\n<think>kept</think>\n```"), many, "", goodSummary + "\n```\n<think>kept</think>\n```"},
		{"SUM-29", ended("<assessment>…</assessment>" + goodSummary), many, "", goodSummary},
		{"SUM-31", ended(looped), many, ReasonLoop, ""},
		{"BIG-01", ended(plainProse(6000)), gated(short), ReasonTooLong, ""},
		{"BIG-02 the earlier summary is replaced too", ended(goodSummary + "\n- maxSessions is 4096."), before, "", ""},
		{"BIG-07", ended("It is done."), sizedSource(8000, 9000, "It is done."), ReasonTooLong, ""},
		{"C-5", ended("all done"), lastSays("Everything was changed as you wished: all done"), ReasonEcho, ""},
		{"C-5 empty", ended(""), lastSays("all done"), ReasonEmpty, ""},
		{"C-15b", ended("<analysis>x</think><summary>keep the literal <think> tag</summary>"), small, "", "keep the literal <think> tag"},

		{"announcement", ended("Let me check the working tree first."), many, ReasonChat, ""},
		{"announcement, small", ended("Let me check the working tree first."), small, ReasonChat, ""},
		{"announcement with a name", ended("I'll check internal/auth/session_store.go first."), many, ReasonChat, ""},
		{"question", ended("What would you like me to do next?"), small, ReasonChat, ""},
		{"offer, German", ended("Gerne! Ich schaue mir zuerst den Arbeitsbaum an und melde mich dann."), many, ReasonChat, ""},
		{"offer, Japanese", ended("かしこまりました。まず作業ツリーを確認します。"), many, ReasonChat, ""},
		{"echo of the instruction", ended(gatePrompt), prompted, ReasonEcho, ""},
		{"echo of its sections", ended("Goal, constraints and preferences, progress, key decisions, files and code, errors and fixes, next steps, critical context"), prompted, ReasonEcho, ""},
		{"only a thought that is open", ended("<think>Let me see. " + goodSummary), many, ReasonReasoning, ""},
		{"a thought at the end that is open", ended(goodSummary + "\n<thinking>\nWait, is that"), many, ReasonCutOff, ""},
		{"a thought in the middle", ended("## Goal\nFix PRT-118.\n<scratchpad>\nhm\n</scratchpad>\n- RotateToken was wrong."), many, "", "## Goal\nFix PRT-118.\n\n- RotateToken was wrong."},
		{"a thought within the wrapper", ended("<summary>\n<analysis>hm</analysis>\n" + goodSummary + "\n</summary>"), many, "", goodSummary},
		{"prefilled wrapper", ended(goodSummary + "\n</summary>"), many, "", goodSummary},
		{"preamble and afterword", ended("Here is it:\n\n<summary>\n" + goodSummary + "\n</summary>\n\nLet me know."), many, "", goodSummary},
		{"fence", ended("```markdown\n" + goodSummary + "\n```"), many, "", goodSummary},
		{"fence with a fence", ended("```markdown\n" + goodSummary + "\n```go\nconst maxSessions = 4096\n```\n```"), many, "", goodSummary + "\n```go\nconst maxSessions = 4096\n```"},
		{"call behind the wrapper", ended("<summary>" + goodSummary + "</summary><invoke name=\"bash\">"), many, ReasonToolCall, ""},
		{"call in a thought", ended("<think>I could <tool_call>{}</tool_call></think>" + goodSummary), many, "", goodSummary},
		{"harmony", ended("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>" + goodSummary + "<|return|>"), many, "", goodSummary},
		{"harmony without an answer", ended("<|channel|>analysis<|message|>hm, " + goodSummary), many, ReasonReasoning, ""},
		{"brackets of Mistral", ended("[THINK]hm[/THINK]" + goodSummary), many, "", goodSummary},
		{"title of HTML", ended(goodSummary + "\n<details>\n<summary>Title</summary>\nRotateToken\n</details>"), many, "", ""},
		{"control characters", ended("\x1b[1mThe login\x1b[0m fails\x00 since 4.12.0.\r\n"), many, "", "The login fails since 4.12.0."},
		{"not UTF-8", ended("The login fails since 4.12.0 \xff."), many, "", "The login fails since 4.12.0 \uFFFD."},
		{"no transcript", ended("The login fails."), gateSource{}, ReasonTooLong, ""},
		{"for another conversation", ended("- Moved `src/Game.tsx` to PlayerBoard and drawTiles\n- scoreTable.css, resetRound, 7712 and MAX_PLAYERS are open\n- The login of PRT-118 fails"), many, ReasonInvented, ""},
	} {
		t.Run(row.id, func(t *testing.T) {
			got, err := accept(row.reply, row.source)
			if row.want == "" {
				want := row.text
				if want == "" {
					want = row.reply.Text
				}
				if err != nil || got.Narrative != want {
					t.Fatalf("got %q, %v, want %q", got.Narrative, err, want)
				}
				return
			}
			refusal, ok := errors.AsType[*Refusal](err)
			if !ok || refusal.Reason != row.want || !errors.Is(err, ErrRefused) {
				t.Fatalf("got %q, %v, want %s", got.Narrative, err, row.want)
			}
			if msg := err.Error(); strings.ContainsAny(msg, "\n\r") || len(msg) > 600 {
				t.Errorf("message %q", msg)
			}
		})
	}
}

func lastSays(text string) gateSource {
	t := smallSession()
	t.AddUser("Then do it.")
	t.AddAssistant(text)
	return gated(t)
}

// plainProse is a text without names of about n bytes, no two lines of which are the same.
func plainProse(n int) string {
	words := strings.Fields("the person wants a teacher and asks where one finds lessons for grown people in the evening near home without any travel at all")
	rnd := rand.New(rand.NewPCG(3, 4))
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(words[rnd.IntN(len(words))])
		switch i % 11 {
		case 10:
			b.WriteString(".\n")
		default:
			b.WriteByte(' ')
		}
	}
	return strings.TrimSpace(b.String())
}

func numberedLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "- step %d is about %s\n", i, strings.Repeat(string(rune('a'+i%26)), 1+i%5))
	}
	return b.String()
}

func TestRefusal(t *testing.T) {
	err := error(&Refusal{Reason: ReasonToolCall, Detail: "bash"})
	if want := "the model called a tool instead of writing a summary (bash)"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if !errors.Is(err, ErrRefused) || errors.Is(err, ErrEmpty) {
		t.Error("a refusal is ErrRefused and nothing else")
	}
	if got := (&Refusal{Reason: "new"}).Error(); !strings.Contains(got, "new") {
		t.Errorf("got %q", got)
	}
}

// TestSizesCountEverything: arguments and the earlier summary are part of what is replaced, and blocks count once.
func TestSizesCountEverything(t *testing.T) {
	tr := &pemmican.Transcript{}
	tr.AddUser("u")
	tr.AddAssistant("", pemmican.Call("1", "write", `{"path":"long.txt"}`))
	s := gated(tr)
	s.Request.Dropped = append(s.Request.Dropped, 0, 1, -1, 99)
	s.Request.Previous = "p"
	s.Request.Counter = sizes{"u": 1, `{"path":"long.txt"}`: 50, "p": 200, "long.txt was written.": 250}
	if _, err := accept(ended("long.txt was written."), s); err != nil {
		t.Error(err)
	}
	s.Request.Previous = ""
	if _, err := accept(ended("long.txt was written."), s); err == nil {
		t.Error("accepted, but it is larger than what it replaces")
	}
}

// TestDetails: a refusal quotes little, no half of a word, and nothing that is redacted.
func TestDetails(t *testing.T) {
	secret := "tok" + strings.Repeat("9fA", 12)
	s := gated(gateSession())
	s.Redact = func(text string) string { return strings.ReplaceAll(text, secret, "[secret]") }
	long := "I can't go on with the summary of " + strings.Repeat("this ", 30)
	for _, row := range []struct {
		reply *llm.Reply
		want  string
	}{
		{ended("I can't write the summary: the key " + secret + " is in it."), "I can't write the summary: the key [secret] is in it."},
		{ended(long), "I can't go on with the summary of this this this this [...]"},
		{ended("I can't summarize " + strings.Repeat("x", 100)), "I can't summarize [...]"},
		{&llm.Reply{Refusal: strings.Repeat("y", 100), Stop: llm.StopFiltered}, "[...]"},
		{&llm.Reply{Refusal: "no " + secret, Stop: llm.StopFiltered}, "no [secret]"},
		{&llm.Reply{Calls: []llm.Call{{Name: secret}}, Stop: llm.StopCalls}, "[secret]"},
	} {
		_, err := accept(row.reply, s)
		refusal, ok := errors.AsType[*Refusal](err)
		if !ok || refusal.Detail != row.want || !fits(refusal.Detail, maxDetail) {
			t.Errorf("got %q, want %q", err, row.want)
		}
	}
	// What was cut before may end in half of a secret.
	if got := refuse(ReasonToolCall, "bash --key "+secret[:9]+" "+gap).shortened(s.Redact).Detail; got != "bash --key "+gap {
		t.Errorf("got %q", got)
	}
}
