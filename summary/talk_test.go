package summary

import (
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican/format/detect"
	"github.com/pemmican-dev/pemmican/internal/formattest"
)

// TestActs has sentences by what they do.
func TestActs(t *testing.T) {
	for want, list := range map[act][]string{
		agrees: {
			"Sure!", "Got it.", "**Understood.**", "Thanks for the hint about PRT-118!", "Alles klar!", "D'accord.", "De acuerdo.", "Ho capito.", "Tudo bem.", "Понял.", "かしこまりました。", "好的。", "알겠습니다.",
		},
		prefaces: {
			"Here is the summary:", "Sure, here's a short summary of what happened.", "Let me summarize the state of the work.", "I'll summarise:", "Hier ist die Zusammenfassung:",
			"Voici le résumé :", "Aquí está el resumen:", "Ecco il riassunto:", "Aqui está o resumo:", "Вот резюме:", "以下は要約です：", "以下是对话总结：",
		},
		begins: {
			"Let me check the tests first.", "Okay, let’s look.", "Sure I'll start with the tests.", "Now I'll edit a.go.", "I'm going to read it.", "Before I write the summary, I want to see a.go.",
			"Ich schaue mir zuerst a.go an.", "Je vais lire a.go.", "Voy a revisar a.go.", "Procedo con a.go.", "Vou ler a.go.", "Сейчас я посмотрю a.go.", "まずa.goを確認します。", "好的，我先看看 a.go。", "먼저 a.go를 확인하겠습니다.",
		},
		announces: {"Got it, I'll keep it open.", "Next I will edit a.go.", "I'm ready to go on.", "Ich werde a.go ändern.", "我会修改 a.go。"},
		offers: {
			"Would you like me to commit it?", "Let me know if that is enough!", "What's next?", "Continue?", "Shall I go on?", "Soll ich a.go anpassen?", "Voulez-vous que je continue ?", "¿Quieres que siga?",
			"Vuoi che continui?", "Quer que eu continue?", "Хотите, чтобы я продолжил?", "続けますか？", "需要我继续吗？", "계속할까요?",
		},
		comments: {"I've summarized the work on a.go above.", "I have all the context that I need.", "End of summary.", "Ich habe das Gespräch zusammengefasst.", "要約は以上です。", "对话已总结。"},
		fills:    {"Yes, done.", "TODO", "The conversation has been summarized.", "Summary complete."},
		fails:    {"Error: 429 rate limit exceeded for a.go", "HTTP 500: internal error", "API Error: 529 overloaded"},
		declines: {
			"I can't produce this summary.", "I must refuse, since PRT-118 is secret.", "I'd rather not.", "As a large language model, I recall nothing.", "I don't see any conversation.", "There is nothing to summarize.",
			"This request violates our policies.", "Your message was flagged.", "Es tut mir leid, ich kann diese Zusammenfassung nicht schreiben.", "Désolé, je ne peux pas résumer cela.", "Lo siento, no puedo resumir la conversación.",
			"Mi dispiace, non posso riassumere la conversazione.", "Desculpe, não posso resumir a conversa.", "Извините, я не могу обобщить разговор.", "申し訳ありませんが、要約はできません。", "抱歉，我无法总结对话。", "죄송하지만 대화를 요약할 수 없습니다.",
		},
		wavers: {"I cannot complete the request from here.", "Sorry, I can't help with it."},
		cannot: {"I can't access the database."},
		tells: {
			"RotateToken is mended.", "Okay for beginners is the music school.", "Sure, it was a.go.", "I will not touch vendor/.", "I can't find a.go.", "No decision was taken yet.", "It is done.", "Let them decide.",
			"HTTP 500 came from a.go.", "Perfect hashing was added.", "Here is where it fails.", "There is no index on the table.", "Die Sitzung wurde verlängert.", "Adesso il login funziona.", "我先修改了 a.go。", "まずa.goを修正しました。", "ログインに失敗する。",
		},
	} {
		for _, text := range list {
			if got := actOf(text); got != want {
				t.Errorf("%q: got %d, want %d", text, got, want)
			}
		}
	}
}

// chatReplies are replies that name what the conversation names, and tell nothing of it; by kind.
var chatReplies = map[string][]string{
	"agrees and goes on": {
		"Sure! I'll now change internal/auth/session_store.go.", "Okay. Next I will run TestRotateToken, and look at PRT-118.", "Great! Let me go on with session_store.go.", "Got it, I'll keep port 8443 open.",
		"Understood. I have all the context about session_store.go, and will go on from here.", "Verstanden. Soll ich session_store.go jetzt ändern?", "了解。我先看看 session_store.go。", "わかりました。まずsession_store.goを確認します。",
	},
	"acts": {
		"I'm now going to look at session_store.go, and then run the tests.", "Looking at session_store.go now.", "I need to see session_store.go first.", "Je vais d'abord lire session_store.go.", "Voy a leer session_store.go.",
		"```bash\ngo test ./internal/auth/... -run TestRotateToken\n```",
		"RotateToken is wrong in several places. I'll mend session_store.go first. Let me begin with it.",
	},
	"declines": {
		"I must refuse: PRT-118 has credentials.", "I'd rather not produce this, since PRT-118 may be private.", "As a language model, I cannot recall PRT-118.", "I don't see any conversation; only PRT-118 and session_store.go are mentioned.",
		"Lo siento, no puedo resumir PRT-118.", "抱歉，我无法总结 PRT-118。", "申し訳ありませんが、PRT-118の要約はできません。", "Sorry, I can't help with PRT-118.", "[Model summary unavailable (throttled)]\nPRT-118",
	},
	"fails":          {"Error: 429 rate limit exceeded in session_store.go", "HTTP 500: internal error at session_store.go"},
	"of the summary": {"I've summarized the work on session_store.go above. Let me know!", "The conversation has been summarized.", "Summary complete.", "There is nothing to summarize.", "OK", "Yes.", "TODO", "Continue?"},
	"asks": {
		"The edit of session_store.go is in place. What's next?", "RotateToken is mended. Would you like me to commit it? PRT-118 can be closed then.", "What is the value of maxSessions on your machine?",
		"I read session_store.go. Is there anything else that you want to know of RotateToken?",
	},
	"under headings": {"## Goal\nThe user asked for a summary of the conversation.\n\n## Progress\nThe assistant wrote the summary.\n\n## Next Steps\nContinue."},
}

func TestChatReplies(t *testing.T) {
	s := gated(gateSession())
	s.Prompt = gatePrompt
	for kind, list := range chatReplies {
		for _, text := range list {
			if _, err := accept(ended(text), s); err == nil || err.(*Refusal).Reason != ReasonChat {
				t.Errorf("%s: %q: %v", kind, text, err)
			}
		}
	}
}

// TestBare: what is said around a summary is cut off, and nothing of it is.
func TestBare(t *testing.T) {
	s := gated(gateSession())
	s.Prompt = gatePrompt
	for _, row := range []struct{ before, after string }{
		{"Here is the summary:\n\n", ""},
		{"Sure! Here's a summary of the work so far:\n\n---\n\n", "\n\n---\n\nEnd of summary."},
		{"Let me summarize the state of the conversation.\n\n", "\n\nLet me know if you'd like me to go on!"},
		{"Understood.\n\n", "\n\nWould you like me to commit it?"},
		{"I'll read session_store.go again. ", ""},
		{"", "\n\nNow let me tell operations about port 8443."},
		{"", "\n\nDo you also want to hear of cookie_config.yaml, so that your team knows it?"},
		{"Hier ist die Zusammenfassung:\n", "\n\nSoll ich weitermachen?"},
		{"好的，以下是对话总结：\n\n", "\n\n需要我继续吗？"},
		{"", "\n\n## Critical Context"},
		{"", "\n\n## Errors\n\n## Critical Context:\n"},
		{"", "\n\nOpen questions:"},
	} {
		text := row.before + goodSummary + row.after
		got, err := accept(ended(text), s)
		want := goodSummary
		if strings.HasSuffix(row.before, ". ") { // A sentence of a line that goes on is a part of it.
			want = text
		}
		if err != nil || got.Narrative != want {
			t.Errorf("%q … %q: %v\n%s", row.before, row.after, err, got.Narrative)
		}
	}
	const told = "RotateToken in session_store.go stored 86400 where cookie_config.yaml means minutes. The edit of defaultLifetime made TestRotateToken pass."
	for text, want := range map[string]string{
		told + "\n\nLet me know if you want more details.":                                         told,
		told + "\n\nSag Bescheid, wenn du mehr brauchst.":                                          told,
		told + "\n\nFeel free to ask if something is missing.":                                     told,
		"I'll summarize the work: RotateToken in session_store.go is mended.":                      "RotateToken in session_store.go is mended.",
		"First I'll note the goal: PRT-118. RotateToken in session_store.go is mended.":            "",
		"Here is the summary of PRT-118:\n- RotateToken is mended":                                 "",
		"RotateToken is mended. Open:\n- [ ] Should I also tell operations about port 8443?":       "",
		"# Questions\nRotateToken is mended, 8443 open.\n# Open\nWould you like to close PRT-118?": "",
	} {
		if want == "" {
			want = text
		}
		if got, err := accept(ended(text), s); err != nil || got.Narrative != want {
			t.Errorf("%q: %q, %v", text, got.Narrative, err)
		}
	}
}

// remarks could stand behind any work on software, so they tell of none.
var remarks = []string{
	"Everything is done now, the tests pass and the code works as expected.", "All tests pass. The implementation is complete and ready for review.", "No further action is needed at this point.",
	"I've finished the requested functionality, and everything looks correct.", "That should fix the problem. Please run it again and tell me whether the error still occurs.", "Acknowledged. Standing by.",
	"The changes have been applied successfully.", "I see the problem now. The function returns the wrong value when the list is empty.", "The conversation is about software. The user wants help, and the assistant helps.",
	"Sounds like a plan. The next thing on the list would be the documentation.", "Alles erledigt, die Tests laufen durch und der Code funktioniert.", "Todo está listo y las pruebas pasan.",
	"Tout est prêt, les tests passent.", "すべて完了しました。テストも通っています。", "全部完成，测试通过，代码运行正常。", "Готово, все тесты проходят.", "Waiting for the person to reply.",
	"Committed and pushed the changes to the remote branch.", "The file has been updated with the new configuration.", "This is a response with text only and without tool calls, as requested.",
}

// TestRemarksOnRealSessions: what has no name is refused for conversations that have many, though they share words.
func TestRemarksOnRealSessions(t *testing.T) {
	sessions, accepts := 0, 0
	for _, in := range formattest.Corpus(t, "corpus/*/*") {
		doc, err := detect.Decode(in.Data, "")
		if err != nil {
			continue
		}
		tr := doc.Transcript()
		s := wholeRequest(tr, len(tr.Blocks)*8/10)
		s.Prompt = gatePrompt
		if c := newChecker(s); c.replaced() < 1500 || !c.manyNames() {
			continue
		}
		sessions++
		for _, text := range remarks {
			if _, err := accept(ended(text), s); err == nil {
				accepts++
				t.Logf("%s: %q", in.Name, text)
			}
		}
	}
	if sessions == 0 || accepts*50 > sessions*len(remarks) {
		t.Errorf("%d remarks are accepted for %d sessions", accepts, sessions)
	}
	t.Logf("of %d remarks for each of %d sessions %d are accepted", len(remarks), sessions, accepts)
}
