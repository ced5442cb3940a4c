package summary

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/llm"
)

// dialectSession is a conversation about the formats of tool calls.
func dialectSession() *pemmican.Transcript {
	t := &pemmican.Transcript{}
	t.AddUser("Our parser in parser/toolcalls.go misses some calls of open models. Look at <tool_call> and [TOOL_CALLS] first.")
	t.AddAssistant("", pemmican.Call("c1", "read", `{"path":"parser/toolcalls.go"}`))
	t.AddResult("c1", "package parser\n\nvar hermesOpen = \"<tool_call>\"\nvar mistralOpen = \"[TOOL_CALLS]\"\n\nfunc parseHermes(s string) (Call, error) {\n"+
		strings.Repeat("\t// Walks over the text and reads one object after the other, with their arguments.\n", 9)+"}\n")
	t.AddAssistant("parseHermes wants the closing tag, so a reply that was cut off is taken for text. The same holds for <think>, in stripThink.")
	t.AddUser("Then accept open ones, and add DeepSeek's tokens. The test is in parser/toolcalls_test.go, issue #482.")
	t.AddAssistant("", pemmican.Call("c2", "edit", `{"path":"parser/toolcalls.go","oldText":"parseHermes(s)","newText":"parseHermesOpen(s)"}`))
	t.AddResult("c2", "ok")
	t.AddAssistant("parseHermesOpen takes both now; I go on with the tokens.")
	return t
}

// plainSession has names, but few.
func plainSession() *pemmican.Transcript {
	t := &pemmican.Transcript{}
	t.AddUser("Please correct the spelling in README.md, it is embarrassing, and I want it done before the talk that I give on Thursday evening.")
	t.AddAssistant("", pemmican.Call("c1", "edit", `{"path":"README.md","oldText":"tahnks","newText":"thanks"}`))
	t.AddResult("c1", "ok")
	t.AddAssistant("I corrected one word.")
	return t
}

// germanSession is not about code.
func germanSession() *pemmican.Transcript {
	t := &pemmican.Transcript{}
	t.AddUser("Wir planen die Feier zum Jubiläum des Vereins. Es kommen etwa hundert Leute, und das Budget ist knapp. Was brauchen wir alles, und in welcher Reihenfolge gehen wir es an?")
	t.AddAssistant("Zuerst der Saal, denn davon hängt der Termin ab. Danach Essen, Musik und die Einladungen. Für das Essen reicht ein Buffet, das ihr selbst macht.")
	t.AddUser("Der Saal im Gemeindehaus ist frei am zweiten Samstag im Mai. Um die Musik kümmert sich Herr Albrecht, sag ihm aber nichts vom Budget.")
	t.AddAssistant("Gut, dann steht der Termin. Ich schreibe als Nächstes den Entwurf der Einladung.")
	return t
}

// japaneseSession and chineseSession are about the same, with names that a plain summary need not have.
func japaneseSession() *pemmican.Transcript {
	return invoiceSession("請求書を印刷すると余白がずれます。用紙の設定を確認して、直してください。領収書も後で確認したいです。", "用紙の設定が古いままでした。印刷の余白を直しました。")
}

func chineseSession() *pemmican.Transcript {
	return invoiceSession("打印发票的时候边距错位，请检查纸张设置并改好。之后还要核对收据的格式。", "纸张设置用的是旧的，打印的边距已经改好。")
}

func invoiceSession(asked, answered string) *pemmican.Transcript {
	t := &pemmican.Transcript{}
	t.AddUser(asked)
	t.AddAssistant("", pemmican.Call("c1", "read", `{"path":"src/print/invoice_layout.ts"}`))
	t.AddResult("c1", "export const pageMargin_mm = 2540\nexport const paperKind = 'legacyA4'\nexport function renderInvoice(invoiceId: string) {}\nmarginTop_mm, marginLeft_mm, marginRight_mm, "+
		"marginBottom_mm, footerHeight_mm, headerHeight_mm, lineHeight_mm, fontSize_pt, currencySign_utf8, totalRow_id")
	t.AddAssistant(answered)
	return t
}

// goodSummaries are summaries that must pass, by the conversation that they tell of.
var goodSummaries = []struct {
	name    string
	session func() *pemmican.Transcript
	text    string
}{
	{"sections", gateSession, goodSummary},
	{"one sentence", gateSession, "The login failed since 4.12.0 because of a wrong lifetime, which is corrected."},
	{"one sentence without names", plainSession, "The person wanted the spelling corrected before a talk, and one word is."},
	{"one sentence about a talk", smallSession, "Someone past fifty asks how to learn the piano and where to find a teacher."},
	{"two proper names", gateSession, "The failing login was traced to the Redis store: a lifetime counted in the wrong unit made the Session expire. It is fixed."},
	{"no changes", smallSession, "No decision was taken yet."},
	{"one bold line", plainSession, "**Spelling of README.md corrected.**"},
	{
		"bullets", gateSession,
		"* RotateToken used 86400 seconds\n* cookie_config.yaml has minutes\n* TestRotateToken passes\n* vendor/ must not be touched\n* none of it is committed",
	},
	{
		"TODO list", gateSession,
		"# TODO\n- [x] read `session_store.go`\n- [x] fix `RotateToken`\n- [ ] tell operations about port 8443\n- [ ] check `maxSessions` (4096)\n\n## Blockers\n(none)",
	},
	{
		"table", gateSession,
		"| File | What | State |\n|------|------|-------|\n| `internal/auth/session_store.go` | lifetime | edited |\n| `cookie_config.yaml` | minutes | unchanged |\n| `session_store_test.go` | TestRotateToken | passes |\n\nOpen: port 8443.",
	},
	{
		"wide table", gateSession,
		"|" + strings.Repeat(" a long title of this column |", 9) + "\n|" + strings.Repeat("-----------------------------|", 9) + "\n| RotateToken | done |" + strings.Repeat(" |", 7),
	},
	{
		"code block", gateSession,
		"The function is now:\n\n```go\nfunc (s *SessionStore) RotateToken(ctx context.Context) error {\n\treturn s.redis.SetNX(ctx, tokenKey, defaultLifetime)\n}\n```\n\nThe test passes. Port 8443 is still to be told.",
	},
	{
		"rules of dashes", gateSession,
		"GOAL\n" + strings.Repeat("=", 80) + "\nFix PRT-118.\n\n" + strings.Repeat("-", 80) + "\nDONE\n" + strings.Repeat("-", 80) + "\nRotateToken uses defaultLifetime.\n\n***\n\nNEXT: port 8443",
	},
	{
		"first person", gateSession,
		"I was asked to find out why the login fails (PRT-118). I found that RotateToken in session_store.go used seconds, and changed it. I still need to tell operations about port 8443.",
	},
	{"first person, what it cannot do", gateSession, "I can't access the Redis of production, so RotateToken is tested with a fake only. I will not write to vendor/, as the person asked."},
	{"an opening that sounds sorry", gateSession, "Unfortunately the release process made it worse: 86400 came back. PRT-118 is open again."},
	{
		"polite opening", gateSession,
		"Here is the state of PRT-118:\n\nThe login failed since 4.12.0; RotateToken in session_store.go was at fault and is edited.",
	},
	{"names no name", gateSession, "One part of the portal counted in minutes, another in seconds, so that nobody could sign in. That is mended. Operations have to hear of the firewall."},
	{"names no name, Japanese", japaneseSession, "請求書の印刷で余白がずれる問題は、用紙の設定を直して解決した。次は領収書の確認。"},
	{"names no name, Chinese", chineseSession, "发票打印时边距错位，原因是纸张设置不对，已经改好。接下来要核对收据的格式。"},
	{"Japanese for English", gateSession, "ポータルにログインできない不具合は、秒と分を取り違えたことが原因だった。修正は済み、確認も通った。残りは運用への連絡のみ。"},
	{"a repository and a pull request", dialectSession, "Review of #482 in our parser."},
	{"words of code", gateSession, "It is now:\n\n```go\nreturn redis\n```\n\nso that it works."},
	{"what comes next, after what was done", gateSession, "RotateToken in session_store.go is mended. Next I will tell operations about port 8443."},
	{"what will not be done", gateSession, "I will not touch vendor/. RotateToken in session_store.go is mended; port 8443 is to be told."},
	{"what is going on", gateSession, "I will go on with the firewall. So far RotateToken and TestRotateToken are done, and port 8443 is open."},
	{"a request that was not met", gateSession, "I cannot meet the request about operations from here: port 8443 needs the person. RotateToken is mended."},
	{"the person's question at the end", gateSession, "RotateToken is mended. Not answered yet: can you also tell operations that port 8443 must stay open?"},
	{
		"a plan of new files", gateSession,
		"## Done\nRotateToken in session_store.go.\n\n## Next Steps\n1. Write internal/auth/lifetime.go\n2. Write internal/auth/lifetime_test.go with TestLifetimeUnits\n3. Write docs/lifetime.md",
	},
	{"a plan in a sentence", gateSession, "RotateToken is mended. Plan: write internal/auth/lifetime.go, internal/auth/lifetime_test.go, docs/lifetime.md and TestLifetimeUnits."},
	{"sums", gateSession, "PRT-118: 86400 seconds are 1440 minutes, 82800 more than 3600, or 2300% more; of 4096 entries 1365 are 33%, 2731 are left."},
	{
		"quotes the task", gateSession,
		"The person wrote: \"The login of the portal fails since release 4.12.0 (ticket PRT-118). Please find out why, and never touch vendor/.\"\n\nDone: the lifetime in session_store.go. Open: port 8443 for operations.",
	},
	{
		"quotes the last answer", gateSession,
		"Goal: find out why the login fails (PRT-118). RotateToken in internal/auth/session_store.go took seconds for minutes. The assistant said: \"Noted; the edit is in place and the test passes now.\" Next: operations and port 8443.",
	},
	{
		"with a question in it", gateSession,
		"RotateToken is fixed.\n\nOpen questions:\n- Does anything else read cookie_config.yaml?\n- Who tells operations about 8443?",
	},
	{
		"German", gateSession,
		"## Ziel\nHerausfinden, warum der Login des Portals seit 4.12.0 scheitert (PRT-118); vendor/ bleibt unberührt.\n\n## Stand\n- `RotateToken` in `internal/auth/session_store.go` rechnete in Sekunden statt in Minuten; behoben.\n- Der Test TestRotateToken läuft wieder.\n\n## Nächste Schritte\nDen Betrieb wegen Port 8443 unterrichten.",
	},
	{"German, no code", germanSession, "Der Verein feiert sein Jubiläum am zweiten Samstag im Mai im Gemeindehaus, mit rund hundert Leuten und wenig Geld. Herr Albrecht macht die Musik und soll vom Budget nichts hören. Offen: die Einladung."},
	{
		"Japanese", gateSession,
		"## 目的\n4.12.0以降ログインが失敗する原因を調べる(PRT-118)。vendor/には触れない。\n\n## 経過\n`internal/auth/session_store.go`のRotateTokenが分ではなく秒を使っていたため修正した。TestRotateTokenは成功。\n\n## 次の作業\nポート8443を開けたままにするよう運用に伝える。",
	},
	{
		"Chinese", gateSession,
		"目标:查明自4.12.0以来登录失败的原因(PRT-118)。RotateToken把秒当作分钟,已在session_store.go中修正,测试通过。下一步:通知运维保持端口8443开放。",
	},
	{
		"Russian", gateSession,
		"Вход в портал не работал с версии 4.12.0 (PRT-118). Ошибка в RotateToken исправлена в session_store.go, тест проходит. Осталось сообщить о порте 8443.",
	},
	{
		"about dialects", dialectSession,
		"The parser in parser/toolcalls.go missed open calls: parseHermes wanted `</tool_call>`. Now parseHermesOpen takes `<tool_call>` open or closed; `[TOOL_CALLS]` is as before.\n\nNext: DeepSeek's tokens such as `<｜tool▁calls▁begin｜>`, and toolcalls_test.go (#482).",
	},
	{
		"about dialects, with examples", dialectSession,
		"An open call looks like this:\n\n```\n<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"command\"\n```\n\nparseHermesOpen reads it. The JSON `{\"name\": \"x\", \"arguments\": {}}` alone is no call for it. `stripThink` has the same fault with `<think>`.",
	},
	{
		"markup", dialectSession,
		"<h2>State</h2>\n<ul><li>parseHermesOpen is written</li></ul>\n\n<details>\n<summary>Old code</summary>\nparseHermes wanted the closing tag.\n</details>",
	},
	{
		"numbered steps", gateSession,
		"1. Read session_store.go\n2. Ran TestRotateToken, which failed with ErrTokenExpired\n3. Set defaultLifetime\n4. Ran it again\n5. Noted port 8443\n10. Nothing was committed",
	},
	{
		"long", gateSession,
		goodSummary + "\n\n## Key Decisions\n- The lifetime is named defaultLifetime, since 86400 told nobody its unit.\n- vendor/ stays as it is, by the person's own words.\n\n## Errors and Fixes\n- ErrTokenExpired at session_store_test.go:88: want 3600, got 86400. Fixed.",
	},
	{"a brand and a total", gateSession, "Fixed in session_store.go by one edit, which the team sees on GitHub; 82800 less than before. PRT-118 can be closed, TestRotateToken passes, 8443 stays open."},
	{"who wanted what", gateSession, "User: wants the login to work again (PRT-118), and vendor/ left alone.\nDone: RotateToken in session_store.go.\nAction: tell operations about port 8443."},
	{"turns in a list", gateSession, "- [User] asked why the login fails (PRT-118)\n- [Assistant] found RotateToken\n- [User] asked for port 8443"},
	{"titles in brackets", gateSession, "[Goal]\nFix PRT-118.\n\n[Files]\n- session_store.go: edited\n\n[Plan]\n- tell operations about port 8443"},
	{"code at the end", gateSession, "RotateToken in session_store.go takes defaultLifetime now:\n\n```go\nreturn s.redis.SetNX(ctx, tokenKey, defaultLifetime)\n```"},
	{"a command at the end", gateSession, "The lifetime in session_store.go is fixed. To see it again:\n\n```bash\ngo test ./internal/auth/... -run TestRotateToken\n```"},
	{"tools by name", gateSession, "read and bash were used.\nedit(session_store.go) was the only change, of RotateToken; bash: `go test` passed."},
	{"a plan struck out", gateSession, "PRT-118: <s>revert 4.12.0</s>, since RotateToken in session_store.go is fixed. Left: <s>8443</s>"},
	{
		"about dialects, indented", dialectSession,
		"An open call in parser/toolcalls.go looks like this:\n\n    <tool_call>\n    {\"name\": \"read\", \"arguments\": {\n\nparseHermesOpen reads it, and stripThink takes `<think>` and <think> blocks off.",
	},
	{
		"about dialects, an example at the end", dialectSession,
		"parseHermesOpen in parser/toolcalls.go takes this:\n\n```json\n{\"name\": \"search\", \"arguments\": {\"q\": \"DeepSeek\"}}\n```",
	},
}

func TestGoodSummaries(t *testing.T) {
	for _, row := range goodSummaries {
		t.Run(row.name, func(t *testing.T) {
			s := gated(row.session())
			s.Prompt = gatePrompt
			got, err := accept(ended(row.text), s)
			if err != nil {
				t.Fatal(err)
			}
			if got.Narrative != row.text || got.Cut > 0 {
				t.Errorf("changed, cut %d:\n%s", got.Cut, got.Narrative)
			}
		})
	}
}

// gateNames are names of gateSession.
var gateNames = []string{
	"internal/auth/session_store.go", "`RotateToken`", "ErrTokenExpired", "cookie_config.yaml", "86400", "9f3c2ab41d7e", "PRT-118", "port 8443", "session_store_test.go:88",
}

// proses are sentences of many languages around a name, none of them a reply.
var proses = []string{
	"%s was read.", "The error in %s is fixed now", "%s wurde geändert, der Rest blieb.", "On a corrigé %s hier.", "Se arregló %s ayer.", "%sを修正した。", "%s 已经修改。",
	"Исправлено: %s.", "تم إصلاح %s.", "%s를 고쳤다.", "Poprawiono %s.",
}

// TestGoodSummariesPass: whatever is said in whatever language of what the transcript names is accepted as it is.
func TestGoodSummariesPass(t *testing.T) {
	s := gated(gateSession())
	s.Prompt = gatePrompt
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		seen := map[string]bool{}
		for range rapid.IntRange(1, 9).Draw(t, "lines") {
			line := fmt.Sprintf(rapid.SampledFrom(proses).Draw(t, "prose"), rapid.SampledFrom(gateNames).Draw(t, "name"))
			if !seen[line] {
				seen[line] = true
				lines = append(lines, rapid.SampledFrom([]string{"", "- ", "* ", "1. "}).Draw(t, "sign")+line)
			}
		}
		text := rapid.SampledFrom([]string{"", "## Stand\n", "# Goal\n\n"}).Draw(t, "title") + strings.Join(lines, "\n")
		got, err := accept(ended(text), s)
		if err != nil || got.Narrative != text || len(got.Flagged) > 0 {
			t.Fatalf("%v, flagged %q:\n%s", err, got.Flagged, text)
		}
	})
}

// TestAcceptIsStable: the same reply gives the same, and what is accepted is accepted again as it is.
func TestAcceptIsStable(t *testing.T) {
	parts := append([]string{
		"<think>", "</think>", "<analysis>", "</analysis>", "<summary>", "</summary>", "\n", "\n\n", " ", "```", "```markdown", "`", "~~~", "- ", "  ", "## Goal",
		"<details>", "drawTiles", "resetRound", "ghost_one.go", "scoreTable", "RotateToken", "PRT-118", "8443", "The login fails", "(none)", "text", "日本語の文", "\r\n", "\x1b[1m",
		"<|channel|>final<|message|>", "[THINK]", "[/THINK]", "| a | b |", "{",
	}, gateNames...)
	s := gated(gateSession())
	s.Request.Previous = "The oldName was kept."
	good := 0
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 30).Draw(t, "parts"), "")
		if stable(t, text, s) {
			good++
		}
	})
	if good == 0 {
		t.Error("nothing was accepted")
	}
}

type fataler interface {
	Fatalf(format string, args ...any)
}

// stable reports whether a text is accepted.
func stable(t fataler, text string, s gateSource) bool {
	reply := llm.Reply{Text: text, Stop: llm.StopEnd}
	got, err := accept(&reply, s)
	again, err2 := accept(&reply, s)
	if diff := cmp.Diff(got, again); diff != "" || fmt.Sprint(err) != fmt.Sprint(err2) {
		t.Fatalf("%q: twice, and not the same: %s %v, %v", text, diff, err, err2)
	}
	if err != nil {
		if _, ok := err.(*Refusal); !ok {
			t.Fatalf("%q: %T", text, err)
		}
		return false
	}
	twice, err := accept(&llm.Reply{Text: got.Narrative, Stop: llm.StopEnd}, s)
	if err != nil || twice.Narrative != got.Narrative || twice.Cut > 0 {
		t.Fatalf("%q gives\n%q, which gives\n%q, %v", text, got.Narrative, twice.Narrative, err)
	}
	return true
}

func FuzzAccept(f *testing.F) {
	for _, row := range goodSummaries {
		f.Add(row.text, "")
	}
	for _, call := range dialects {
		f.Add(call, goodSummary)
	}
	f.Add("<analysis>x</think><summary>keep the literal <think> tag</summary>", "x")
	f.Add("```markdown\n# a\n```go\nb\n```\n```", "")
	f.Add("- a_b\n  - c_d\n\n| e_f |\n38,000 1,2,3 ~~~", "\\u00")
	s := gateSession()
	f.Fuzz(func(t *testing.T, text, said string) {
		t2 := *s
		t2.AddAssistant(said, pemmican.Call("f", "bash", said))
		src := gated(&t2)
		src.Prompt = gatePrompt
		stable(t, text, src)
	})
}
