package summary

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A model that should tell what happened may talk instead: it agrees, says what it does next, offers, declines, or
// speaks of the summary. Who talks opens in few ways, in any language, so that the openings of sentences tell. All
// phrases here are as normal has them; a "…" stands for whatever comes between two parts, or for the rest of a word.

// act is what a sentence does.
type act uint8

const (
	tells     act = iota // of something that happened or is to be done
	agrees               // "Got it."
	prefaces             // "Here is the summary:"
	begins               // to act, now: "Let me check the tests."
	announces            // "Next I will run the tests": a summary may plan so, but does not open with it
	offers               // or asks: "Shall I go on?"
	comments             // on the summary, or the conversation: "I have summarized the work above."
	fills                // "OK.", "All done.": words that tell nothing by themselves
	fails                // as the text of a provider's error does
	declines             // to write a summary
	wavers               // declines something that may be a request, or a part of the work
	cannot               // make something, as a part of the work or as an answer
)

var (
	// agreement are the words that may stand before a sentence, or are one, and thanking what opens one that is no more.
	agreement = set(
		"sure, certainly, of course, okay, ok, got it, understood, alright, all right, great, perfect, excellent, absolutely, noted, no problem",
		"yes, right, thanks, sounds good, on it, will do, hold on, one moment, just a moment, thought, assistant",
		"gerne, klar, verstanden, natürlich, alles klar, in ordnung, gut, perfekt, danke, ja, ich habe verstanden",
		"d accord, bien sûr, compris, entendu, parfait, très bien, merci, oui, j ai compris",
		"claro, entendido, de acuerdo, por supuesto, vale, perfecto, muy bien, gracias, sí",
		"certo, capito, va bene, d accordo, perfetto, certamente, ho capito, grazie, sì",
		"com certeza, perfeito, tudo bem, obrigado, obrigada, sim",
		"хорошо, понял, поняла, понятно, конечно, отлично, ладно, спасибо, да",
		"わかりました, 分かりました, 承知しました, 承知いたしました, 了解しました, 了解です, 了解, かしこまりました, はい, もちろんです, ありがとうございます",
		"好的, 好, 明白, 明白了, 了解了, 收到, 当然, 没问题, 可以, 谢谢",
		"네, 예, 알겠습니다, 물론입니다, 좋습니다, 감사합니다",
	)
	thanking = phrases("thank you, thanks for, danke für, merci pour, merci de, gracias por, grazie per, obrigado por, obrigada por, спасибо за")

	prefacing = phrases(
		"here is … summar, here s … summar, here is … recap, here s … recap, here is … checkpoint, here s … checkpoint, here is … overview",
		"here s … overview, here is … handoff, here s … handoff",
		"here is it, here it is, below is … summar, below is … checkpoint, this is a summary, this is the summary, the following is … summar",
		"the following … summarizes",
		"let me summar…, let me recap…, let me sum up, let me write … summar, let me write … checkpoint, let me give … summar",
		"let me provide … summar, let me start by summar…",
		"i ll summar…, i ll recap…, i ll write … summar, i ll write … checkpoint, i ll give … summar, i ll provide … summar, i will summar…",
		"i will recap…, i will write … summar, i will provide … summar",
		"hier ist … zusammenfass, hier die zusammenfass…, nachfolgend … zusammenfass, ich fasse … zusammen, voici … résumé, je résume…",
		"aquí está … resumen, aquí tienes … resumen, a continuación … resumen",
		"ecco … riassunto, ecco … riepilogo, riassumo…, aqui está … resumo, segue … resumo, вот … резюме, вот … сводка, вот … итог",
		"以下は…要約, 以下が…要約, 以下に…まとめ, 以下是…总结, 以下是…摘要, 以下是…概括, 以下为…总结, 下面是…总结, 这是…总结, 다음은…요약",
	)

	// adverbs may stand before a sentence that says what is done next, in English; ownVerbs stand in it behind I or we.
	adverbs  = set("now, next, first, then, so, also, well, finally, today, currently, alright")
	ownVerbs = phrases(
		"d, would, need to, have to, want to, should, must, am going to, m going to, are going to, re going to, am now going to, m now going to",
		"am about to, m about to, are about to, re about to, are asked to, have been asked to, think i should, think we should, guess i, suppose i",
		"ll now, ll start, ll begin, ll go ahead, ll proceed, ll continue, ll need to, will now, will start, will begin, will go ahead, will proceed",
	)
	ownPlans = phrases("ll, will, shall, am ready, m ready, are ready, re ready")

	beginning = phrases(
		"let me, let s, let us, give me, bear with me, time to, moving on to, proceeding, here s what i, here is what i",
		"before i write … i, before i can … i, before i summar… i, before i give … i, before i start … i, before i continue … i",
		"to summar … i would need, to summar … i need",
		"lass mich, lassen sie mich, ich schaue, ich sehe mir, ich lese, ich prüfe, ich öffne, ich beginne, ich fange, ich mache mich",
		"jetzt … ich, nun … ich, zuerst … ich, zunächst … ich, als erstes … ich",
		"je vais, je commence, laissez moi, laisse moi, permettez moi, d abord je, tout d abord je, maintenant je",
		"voy a, vamos a, déjame, déjeme, permíteme, permítame, primero voy, ahora voy, empezaré, comenzaré",
		"fammi, lasciami, mi lasci, ora vado, prima vado, per prima cosa, procedo, comincio, vado a, sto per, inizio con",
		"vou, deixe me, deixa eu, primeiro vou, agora vou, começarei",
		"сейчас я, я сейчас, давайте, давай, позвольте, сначала я, теперь я, посмотрю, проверю, начну, я посмотрю, я проверю, я начну",
		"まず…ます, まず…ましょう, これから…ます, では…ます, それでは…ます, 今から…ます, 最初に…ます",
		"让我, 我先, 我来, 我现在, 我这就, 首先我, 现在我, 我需要先",
		"먼저…겠습니다, 이제…겠습니다, 우선…겠습니다, 제가…겠습니다, 지금…겠습니다",
	)
	// past are the signs in languages without a word for I will that it is done.
	past = []string{"habe ich", "hatte ich", "wurde", "了", "已", "ました", "했습니다"}
	// looking begins to act if nothing else is said.
	looking = phrases("looking at, checking, reading, opening, running, searching, continuing, starting with")

	announcing = phrases(
		"ich werde, als nächstes werde ich, dann werde ich, ich bin bereit, ensuite je vais, a continuación voy, затем я",
		"次に…ます, 我会, 我将, 我要先, 我去, 接下来我, 下面我",
	)

	offering = phrases(
		"let me know, would you like, do you want, want me to, shall i, should i, how can i, how would you, what would you, what should i",
		"what s next, what next, is there anything, anything else, can you share, could you share, please provide, please share, please confirm",
		"please let me",
		"feel free to, happy to help, i m happy to, i can also, if you d like, if you want me, may i, can i help",
		"soll ich, möchten sie, möchtest du, willst du, wollen sie, lassen sie mich wissen, lass mich wissen, sag bescheid, geben sie bescheid",
		"sagen sie bescheid, kann ich sonst, kann ich ihnen, wie kann ich",
		"voulez vous, souhaitez vous, veux tu, dois je, puis je, n hésitez pas, dites moi, faites moi savoir",
		"quieres que, quiere que, deseas, desea que, te gustaría, le gustaría, avísame, avíseme, hay algo más, puedo ayudar",
		"vuoi che, vuole che, desideri, desidera, fammi sapere, mi faccia sapere, c è altro, posso aiutar, quer que, gostaria que, deseja que",
		"me avise, avise me, posso ajudar, há mais alguma",
		"хотите, хочешь, нужно ли мне, мне продолжить, дайте знать, дай знать, сообщите, чем могу",
		"…ましょうか, …よろしいですか, …いかがですか, …お知らせください, …教えてください, …続けますか",
		"需要我, 要我, 是否需要, 要不要, 请告诉我, 请告知, 请提供, 您希望, 你希望, 还有什么, 我可以继续吗",
		"…할까요, …드릴까요, …원하시, …알려 주세요, …알려주세요",
	)

	commenting = phrases(
		"i ve summar…, i have summar…, i summarized, i summarised, i just summar…, i ve written … summar, i have written … summar",
		"i ve created … summar, i ve provided … summar, i have provided … summar, i ve prepared … summar",
		"i have all the context, i have the context, i have enough context, i ve got the context, end of summary, end of the summary",
		"end of checkpoint, end of the checkpoint, that s the summary, that is the summary, this concludes, nothing to summar…",
		"ich habe … zusammengefasst, das gespräch wurde zusammengefasst, ende der zusammenfassung, j ai résumé, la conversation a été résumée",
		"fin du résumé, he resumido, la conversación ha sido resumida, fin del resumen",
		"ho riassunto, fine del riassunto, resumi a conversa, fim do resumo, я подвел, я подвёл, конец сводки, 以上が…要約, 要約は以上, 会話を要約しました, 要約しました",
		"以上是…总结, 以上是…摘要, 已总结, 对话已总结, 总结完成, 总结完毕, 요약을 완료, 요약이 완료, 대화를 요약했",
	)

	// A sentence that speaks of one of each is on the summary.
	ofWriting = []string{"summar", "checkpoint"}
	writing   = []string{"unable to", "could not", "cannot", "can t", "produc", "write", "wants", "asked", "generat", "request", "i should"}

	// idle are the words of sentences that tell nothing by themselves.
	idle = set(
		"ok, okay, yes, no, not, nope, done, finished, complete, completed, continue, continuing, continued, todo, ready, proceed, end, go, on",
		"next, good, thanks",
		"summary, summaries, summarize, summarise, summarized, summarised, summarizing, checkpoint, conversation, transcript, chat, history, recap",
		"context, above, below, previous, message, messages, task",
		"the, a, an, this, that, of, to, for, in, and, is, was, are, has, have, had, been, be, will, with, now, already, there, nothing, so, far",
		"as, requested, all, i, we, you, your, me, my, shall, should, please, here, anything, else",
		"user, assistant, person, agent, asked, wrote, written, created, provided, generated, prepared, produced, given, empty, available",
		"zusammenfassung, gespräch, unterhaltung, fertig, abgeschlossen, erledigt, zusammengefasst, weiter, die, das, der, ist, wurde, résumé",
		"conversation, terminé, fini, le, la, est, été, resumen, conversación, listo, hecho, el, está, ha, sido, resumo, conversa, concluído, feito",
		"riassunto, fatto, итог, готово, 完成, 完了, 完了しました, 完了です, 继续, 继续吗, 완료",
	)

	// refusing declines whatever it speaks of.
	refusing = phrases(
		"i must refuse, i must decline, i have to refuse, i have to decline, i refuse, i decline, i d rather not, i would rather not, as an ai",
		"as a language model, as a large language model",
		"this request … violat, your request … violat, your request … flagged, your request … blocked, your request … rejected",
		"your message … flagged, your prompt … flagged, this content … violat, this conversation … violat, violates our, model summary unavailable",
		"the user hasn t … conversa, the user has not … conversa, i m … ai assistant, i am … ai assistant",
	)
	// declining opens a sentence that declines if it speaks of the summary, and may do so if it speaks of a request, or of
	// making something: a model may also tell in the first person of what it cannot do in its work.
	declining = phrases(
		"i can t, i cannot, i can not, i won t, i will not, i m unable, i am unable, i m not able, i am not able, i was not able, i was unable",
		"sorry, i m sorry, i am sorry, unfortunately i, i apologize, i apologise, my apologies",
		"es tut mir leid, tut mir leid, leider kann ich, leider konnte ich, entschuldigung, ich kann, ich darf, ich bin nicht in der lage, désolé",
		"désolée, je suis désolé, je suis désolée, malheureusement je, je ne peux, je ne suis pas",
		"lo siento, no puedo, lamento, lamentablemente no puedo, perdón, disculpa, mi dispiace, non posso, non sono in grado, purtroppo non posso",
		"spiacente, desculpe, sinto muito, não posso, infelizmente não posso, não consigo",
		"извините, простите, к сожалению я, я не могу, не могу, мне жаль, 申し訳, すみません, 残念ながら, 恐れ入りますが, 抱歉, 很抱歉, 对不起, 非常抱歉, 我无法, 我不能, 죄송, 유감",
	)
	// lacking does so if it speaks of the summary, or of what is to be summarised.
	lacking = phrases(
		"i don t, i do not, i didn t, i did not, i see no, i have no, i haven t, there is no, there s no, there isn t, there is nothing",
		"there s nothing, there was no, unfortunately there, no conversation",
		"ich sehe kein, es gibt kein, je ne vois, il n y a, no veo, no hay, non vedo, non c è, não vejo, não há, нет разговора, я не вижу, 会話が見, 没有",
		"我没有, 我看不到, 대화가 없",
	)
	ofSummary = []string{
		"summar", "conversa", "zusammenfass", "gespräch", "unterhaltung", "résum", "resumen", "resumir", "resumo", "riassu", "riepilog", "резюм", "сводк",
		"обобщ", "разговор", "диалог", "бесед",
		"要約", "会話", "总结", "摘要", "概括", "对话", "요약", "대화",
	}
	ofOrder   = []string{"comply", "fulfil", "do that", "do this", "お応え"}
	ofRequest = []string{
		"assist", "help with", "request", "checkpoint", "transcript", "helfen", "anfrage", "demande", "aider", "ayudar", "solicitud", "richiesta",
		"aiutar", "solicitação", "pedido", "ajudar",
		"помочь", "запрос", "お手伝い", "帮助", "请求", "도와",
	}
	ofMaking = []string{"produc", "creat", "provid", "writ", "generat", "continu", "respond", "answer", "help", "process", "access"}

	// failing opens the text of an error, before a colon, if that speaks of what fails at a provider; failed does so itself,
	// whatever number stands before.
	failing = phrases("error, http, api error")
	failed  = phrases("rate limit, too many requests, internal server error, service unavailable, request failed, request timed out, connection error")
	atFault = []string{
		"rate limit", "too many requests", "internal error", "internal server error", "service unavailable", "overloaded", "quota", "try again",
		"unauthorized", "api key", "bad gateway",
		"gateway timeout", "timed out", "context length", "billing", "status code", "server error",
	}
)

// set is the words of lists that commas separate.
func set(lists ...string) map[string]bool {
	out := map[string]bool{}
	for _, list := range lists {
		for entry := range strings.SplitSeq(list, ", ") {
			out[entry] = true
		}
	}
	return out
}

// phrase is what a sentence may begin with, and what comes later in it.
type phrase struct {
	first string
	word  bool // a word has to end behind first: scripts without spaces have none
	parts []string
}

// phrases reads lists that commas separate.
func phrases(lists ...string) []phrase {
	var out []phrase
	for _, list := range lists {
		for entry := range strings.SplitSeq(list, ", ") {
			parts := strings.Split(entry, "…")
			last, _ := utf8.DecodeLastRuneInString(parts[0])
			stem := len(parts) > 1 && last != ' '
			for i := range parts {
				parts[i] = strings.TrimSpace(parts[i])
			}
			out = append(out, phrase{parts[0], !stem && last < eastern, parts[1:]})
		}
	}
	return out
}

// opens reports whether a sentence, as normal has it, begins with one of the phrases.
func opens(said string, with []phrase) bool {
	for _, p := range with {
		rest, ok := strings.CutPrefix(said, p.first)
		if !ok || p.word && rest != "" && rest[0] != ' ' {
			continue
		}
		for _, part := range p.parts {
			i := strings.Index(rest, part)
			if ok = i >= 0; !ok {
				break
			}
			rest = rest[i+len(part):]
		}
		if ok {
			return true
		}
	}
	return false
}

// speaks reports whether a sentence, as normal has it, has one of the words.
func speaks(said string, of []string) bool {
	for _, s := range of {
		if strings.Contains(said, s) {
			return true
		}
	}
	return false
}

// actOf tells what a sentence does, whatever agreement stands before.
func actOf(sentence string) act {
	said, agreed := afterAgreement(sentence)
	switch {
	case said == "" && agreed, opens(said, thanking):
		return agrees
	case said == "":
		return tells
	case opens(said, refusing):
		return declines
	case opens(said, lacking) && speaks(said, ofSummary):
		return declines
	case opens(said, declining):
		switch {
		case speaks(said, ofSummary), speaks(said, ofOrder):
			return declines
		case speaks(said, ofRequest):
			return wavers
		case speaks(said, ofMaking):
			return cannot
		}
		return tells
	case opens(said, offering):
		return offers
	case opens(said, prefacing):
		return prefaces
	case opens(said, commenting):
		return comments
	case opens(withoutAdverbs(said), beginning) && !speaks(strings.ReplaceAll(said, "为了", ""), past):
		return begins
	case opens(said, announcing) && !speaks(said, past):
		return announces
	case opens(strings.TrimLeft(said, "0123456789 "), failed):
		return fails
	case opens(said, failing) && speaks(said, atFault) && strings.Contains(sentence[:min(len(sentence), maxAgreement)], ":"):
		return fails
	case onlyIdle(said):
		if asked(sentence) {
			return offers
		}
		return fills
	case speaks(said, ofWriting) && speaks(said, writing):
		return comments
	}
	return ownPlan(said)
}

// ownPlan tells what a sentence does that may say what its author does next.
func ownPlan(said string) act {
	first, rest, _ := strings.Cut(withoutAdverbs(said), " ")
	switch {
	case first != "i" && first != "we", strings.Contains(" "+rest+" ", " not "):
	case opens(rest, ownVerbs), strings.HasPrefix(said, "now ") && opens(rest, ownPlans):
		return begins
	case opens(rest, ownPlans):
		return announces
	}
	return tells
}

func withoutAdverbs(said string) string {
	for {
		first, rest, ok := strings.Cut(said, " ")
		if !ok || !adverbs[first] {
			return said
		}
		said = rest
	}
}

// maxAgreement is how many bytes the words of an agreement take at most.
const maxAgreement = 64

// afterAgreement returns what a sentence says behind the words that agree, as normal has it.
func afterAgreement(sentence string) (said string, agreed bool) {
	for {
		sentence = strings.TrimLeft(sentence, "#*_>[(\"'“„« \t")
		end := strings.IndexFunc(sentence[:min(len(sentence), maxAgreement)], func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) && r != ' ' && r != '\'' && r != '’' && r != utf8.RuneError
		})
		if end < 0 {
			break
		}
		head := normal(sentence[:end])
		if !agreement[head] || sentence[end] == ':' && head != "thought" && head != "assistant" {
			break
		}
		agreed = true
		_, size := utf8.DecodeRuneInString(sentence[end:])
		sentence = sentence[end+size:]
	}
	said = normal(sentence)
	if agreement[said] {
		return "", true
	}
	// "Sure I'll do that"
	first, rest, _ := strings.Cut(said, " ")
	if agreement[first] && (opens(rest, beginning) || opens(rest, prefacing) || ownPlan(rest) != tells) {
		return rest, true
	}
	return said, agreed
}

// onlyIdle reports whether all words of a sentence are idle.
func onlyIdle(said string) bool {
	for word := range strings.SplitSeq(said, " ") {
		if !idle[word] {
			return false
		}
	}
	return true
}

func asked(sentence string) bool {
	sentence = strings.TrimRight(sentence, "*_ \t\n")
	return strings.HasSuffix(sentence, "?") || strings.HasSuffix(sentence, "？")
}

// sentence is text[start:end] of a text.
type sentence struct {
	start, end int
	act        act
}

// sentencesIn yields the sentences of a text without its headings and its code fences. A row of a table is one, and so is
// what stands before a semicolon, or before a colon if it prefaces something.
func sentencesIn(text string) iter.Seq[sentence] {
	return func(yield func(sentence) bool) {
		closed, _ := fences(text)
		for i := 0; i < len(text); {
			if len(closed) > 0 && i >= closed[0].start {
				i = max(i, closed[0].end+1)
				closed = closed[1:]
				continue
			}
			end := lineEnd(text, i)
			line := text[i:end]
			name, _ := titleOf(line)
			at := i + listSign(line)
			for at < end {
				to := at + sentenceEnd(text[at:end])
				if n := strings.IndexAny(text[at:to], ":："); n >= 0 {
					_, size := utf8.DecodeRuneInString(text[at+n:])
					if n += at + size; n < to && actOf(text[at:n]) == prefaces {
						to = n
					}
				}
				s := sentence{at, to, actOf(text[at:to])}
				if s.act == offers && isListed(line) {
					s.act = tells // a question that is open
				}
				if hasContent(text[at:to]) && (name == "" || s.act != tells && !strings.HasPrefix(line, "#")) && !yield(s) {
					return
				}
				at = to
			}
			i = end + 1
		}
	}
}

// listSign is the length of what makes a line an item of a list or a quote.
func listSign(line string) int {
	rest := strings.TrimLeft(line, " \t>")
	if isListed(rest) && rest[0] != '|' {
		rest = rest[strings.IndexByte(rest, ' ')+1:]
	}
	for _, box := range []string{"[ ] ", "[x] ", "[X] "} {
		rest = strings.TrimPrefix(rest, box)
	}
	return len(line) - len(rest)
}

// sentenceEnd is where the first sentence of a line ends.
func sentenceEnd(line string) int {
	for i, r := range line {
		switch r {
		case '.', '!', '?', '…', ';':
			end := i + utf8.RuneLen(r)
			for end < len(line) && strings.IndexByte(".!?\"')*_", line[end]) >= 0 {
				end++
			}
			if end == len(line) || line[end] == ' ' || line[end] == '\t' {
				return end
			}
		case '。', '！', '？', '；':
			return i + utf8.RuneLen(r)
		}
	}
	return len(line)
}
