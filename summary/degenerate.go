package summary

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/repetition"
)

// nothing are the words for an empty section, as normal has them.
var nothing = map[string]bool{
	"none": true, "none yet": true, "none so far": true, "n a": true, "na": true, "nil": true, "null": true, "empty": true, "nothing": true,
	"nothing yet": true, "nothing so far": true, "nothing to report": true, "not applicable": true, "not available": true, "unknown": true,
	"tbd": true, "no content": true, "no information": true, "no messages": true, "no items": true, "no data": true,
	"keine": true, "keiner": true, "keines": true, "nichts": true, "aucun": true, "aucune": true, "rien": true, "ninguno": true, "ninguna": true,
	"nada": true, "nessuno": true, "nessuna": true, "nenhum": true, "nenhuma": true, "нет": true, "なし": true, "無し": true, "ありません": true, "無": true, "无": true,
	"没有": true, "없음": true,
}

// maxNothing is how many words a line may have that begins with one for nothing, such as "(none - empty conversation)".
const maxNothing = 8

// emptyTemplate reports whether a text consists of titles and of words for nothing.
func emptyTemplate(text string) bool {
	text = strings.ReplaceAll(text, "：", ":")
	single := !strings.Contains(text, "\n")
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if name, _ := titleOf(line); name != "" && (!single || strings.HasPrefix(line, "#")) {
			continue
		}
		// A label may stand before it, as in "**Blockers**: none".
		_, value, labelled := strings.Cut(line, ":")
		if said := normal(line); said != "" && !saysNothing(said) && !(labelled && saysNothing(normal(value))) {
			return false
		}
	}
	return true
}

func saysNothing(said string) bool {
	if said == "" || nothing[said] {
		return true
	}
	first, _, _ := strings.Cut(said, " ")
	return (first == "none" || first == "nothing" || strings.HasPrefix(said, "n a ")) && strings.Count(said, " ") < maxNothing
}

// normal is text in lower case with one blank for everything between its letters and numbers.
func normal(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	gap := false
	for _, r := range text {
		switch {
		case unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
			if gap && b.Len() > 0 {
				b.WriteByte(' ')
			}
			gap = false
			b.WriteRune(unicode.ToLower(r))
		default:
			gap = true
		}
	}
	return b.String()
}

// Bounds of a loop. The detector finds units of ordinary length; shorter ones must take more room, since tables and
// lists have them.
const (
	loopStep      = 128 // runes between two looks, so that what stands behind a loop does not hide it
	shortRepeats  = 16
	shortLoop     = 200 // runes
	loopLines     = 24
	linesPerLine  = 3 // a text is a loop if it has so many times more lines than different ones
	probeOfLooks  = 4096
	maxLoopedText = 1 << 20 // bytes of a text that are looked at
)

// loopIn returns the unit that a part of the text repeats again and again, "" for none: at its end, or with other text
// behind. Rules of dashes and the like are no loops, since their units have no letters or digits.
func loopIn(text string) string {
	text = text[:min(len(text), maxLoopedText)]
	long := repetition.Detector{ProbeRunes: probeOfLooks}
	short := repetition.Detector{WindowMinRunes: 1, RepeatThreshold: shortRepeats, ProbeRunes: 2 * shortLoop}
	for end := len(text); end > 0; end -= runesBack(text[:end], loopStep) {
		if hit, ok := long.Detect(text[:end]); ok && hasContent(hit.Unit) {
			return hit.Unit
		}
		if hit, ok := short.Detect(text[:end]); ok && hit.Period*hit.Repeats >= shortLoop && hasContent(hit.Unit) {
			return hit.Unit
		}
	}
	// A loop over more lines than the detector looks at.
	seen := map[string]int{}
	lines, most := 0, ""
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); hasLetter(line) {
			lines++
			if seen[line]++; seen[line] > seen[most] {
				most = line
			}
		}
	}
	if lines >= loopLines && lines >= linesPerLine*len(seen) {
		return most
	}
	return ""
}

func hasLetter(s string) bool { return strings.ContainsFunc(s, unicode.IsLetter) }

// runesBack is how many bytes the last n runes of s take.
func runesBack(s string, n int) int {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return len(s) - i
}

// Bounds of an echo, in runes as normal has them, and in percent.
const (
	gram          = 24 // a run of so many that two texts share is copied
	promptShare   = 60
	answerShare   = 80
	answerOwn     = 150 // with so much of its own a text is no copy of the last answer
	personShare   = 90
	personOwn     = 30
	previousShare = 97
	previousOwn   = 30
	enoughNews    = 200 // tokens that are dropped and should have added something to the earlier summary
)

// echo returns what a narrative copies, "" for nothing: the prompt, the last texts of the conversation, or the earlier
// summary although there was news.
func (c *checker) echo(narrative string) string {
	said := normal(narrative)
	total := utf8.RuneCountInString(said)
	copies := func(of string, share, own int) bool {
		n := copied(said, normal(of), nil)
		return n*100 >= total*share && total-n < own
	}
	if n := copied(said, normal(c.prompt), nil); n > 0 && n*100 >= total*promptShare {
		// Unless that is what the prompt itself has from the conversation.
		if n = copied(said, normal(c.prompt), c.texts()); n*100 >= total*promptShare {
			return "the instruction"
		}
	}
	for _, last := range c.lastTexts() {
		switch {
		case last.person && copies(last.text, personShare, personOwn):
			return "the person's last text"
		case !last.person && copies(last.text, answerShare, answerOwn):
			return "the assistant's last text"
		}
	}
	if c.request.Previous != "" && copies(c.request.Previous, previousShare, previousOwn) && c.droppedTokens() >= enoughNews {
		return "the earlier summary, with nothing new"
	}
	return ""
}

type lastText struct {
	text   string
	person bool
}

// lastTexts are the last texts of the person and of the assistant, of the transcript and of its dropped part.
func (c *checker) lastTexts() []lastText {
	t := c.request.Transcript
	var out []lastText
	find := func(person, onlyDropped bool) {
		for i := len(t.Blocks) - 1; i >= 0; i-- {
			b := &t.Blocks[i]
			if b.Kind != pemmican.Text || b.Message < 0 || b.Message >= len(t.Messages) || onlyDropped && !c.dropped[i] {
				continue
			}
			m := &t.Messages[b.Message]
			if !hasContent(b.Text) || person != m.Person() || !person && m.Role != pemmican.Assistant {
				continue
			}
			if text := (lastText{b.Text, person}); !slices.Contains(out, text) {
				out = append(out, text)
			}
			return
		}
	}
	for _, person := range []bool{false, true} {
		find(person, false)
		find(person, true)
	}
	return out
}

// texts are all texts that the summary may be made of: the conversation and the earlier summary.
func (c *checker) texts() iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(c.request.Previous) {
			return
		}
		for i := range c.request.Transcript.Blocks {
			if b := &c.request.Transcript.Blocks[i]; !yield(b.Text) || !yield(b.Args) {
				return
			}
		}
	}
}

// copied is how many runes of said stand in runs that from has too, and none of the texts in but. Said and from are
// normal.
func copied(said, from string, but iter.Seq[string]) int {
	total := utf8.RuneCountInString(said)
	if total < gram {
		in := func(s string) bool { return strings.Contains(" "+s+" ", " "+said+" ") }
		if total == 0 || !in(from) {
			return 0
		}
		if but != nil {
			for text := range but {
				if in(normal(text)) {
					return 0
				}
			}
		}
		return total
	}
	grams := map[uint64]bool{}
	eachGram(from, func(_ int, hash uint64) { grams[hash] = true })
	if but != nil {
		own := map[uint64]bool{}
		eachGram(said, func(_ int, hash uint64) { own[hash] = grams[hash] })
		grams = own
		for text := range but {
			eachGram(normal(text), func(_ int, hash uint64) {
				if grams[hash] {
					delete(grams, hash)
				}
			})
		}
	}
	n, until := 0, 0 // what is before until is counted
	eachGram(said, func(at int, hash uint64) {
		if grams[hash] {
			n += at + gram - max(at, until)
			until = at + gram
		}
	})
	return n
}

// eachGram calls f for each run of gram runes, with the rune that it begins at.
func eachGram(s string, f func(at int, hash uint64)) {
	const base = 0x9e3779b97f4a7c15
	var power uint64 = 1
	for range gram {
		power *= base
	}
	var ring [gram]rune
	var hash uint64
	n := 0
	for _, r := range s {
		hash = hash*base + uint64(r) - power*uint64(ring[n%gram])
		ring[n%gram] = r
		if n++; n >= gram {
			f(n-gram, hash)
		}
	}
}

// Signs of a reply to the conversation, as normal has them.
var (
	// declining opens a reply that declines, if its first sentence speaks of the request, or of making something and the
	// reply names nothing: a model may also tell in the first person of what it cannot do in its work.
	declining = []string{
		"i can t", "i cannot", "i can not", "i won t", "i will not", "i m unable", "i am unable", "i m not able", "i am not able", "i must decline",
		"i m sorry", "i am sorry", "sorry", "unfortunately i", "i apologize", "as an ai",
	}
	ofRequest = []string{"summar", "comply", "fulfil", "assist", "help with", "request", "conversation", "do that", "do this"}
	ofMaking  = []string{"produc", "creat", "provid", "writ", "generat", "continu", "respond", "answer", "help", "process", "access"}
	// announcing opens a reply that says what comes next, if it is short or names nothing.
	announcing = []string{
		"let me", "i ll", "i will", "i m going to", "i am going to", "now i ll", "now let me", "next i ll", "first i ll", "first let me",
		"how can i", "what would you", "would you like", "do you want", "please provide", "please share",
	}
	// agreeing opens one if it names nothing.
	agreeing = []string{
		"sure", "certainly", "of course", "okay", "got it", "understood", "alright", "happy to", "i need to", "thank you", "thanks for",
	}
)

// Bounds of a chat reply.
const (
	// enoughNames is how many names the dropped part must have for a summary without any of them to be none.
	enoughNames = 12
	// shortReply is up to how many runes an announcement, or a question, is nothing else.
	shortReply = 300
)

// chat returns the sign that a narrative answers the conversation instead of telling of it, "" for none. Where the
// dropped part has many names a summary has one of them, in any language; elsewhere only openings can tell.
func (c *checker) chat(narrative string) string {
	opening, _, _ := strings.Cut(strings.TrimLeft(narrative, "#*_> \t"), "\n")
	sentence := opening[:endOf(opening, ". ", "! ", "? ")]
	said := normal(sentence)
	opens := func(with []string) bool {
		return slices.ContainsFunc(with, func(s string) bool { return strings.HasPrefix(said+" ", s+" ") })
	}
	speaks := func(of []string) bool {
		return slices.ContainsFunc(of, func(s string) bool { return strings.Contains(said, s) })
	}
	if opens(declining) && (speaks(ofRequest) || speaks(ofMaking) && !c.sharesName(narrative)) {
		return brief(opening, maxDetail)
	}
	short := utf8.RuneCountInString(narrative) <= shortReply
	if short && (opens(announcing) || asks(narrative)) {
		return brief(opening, maxDetail)
	}
	// "Sure, here is the summary:" opens one.
	replies := (opens(announcing) || opens(agreeing)) && !strings.HasSuffix(strings.TrimRight(opening, "* \t"), ":")
	if !replies && !c.manyNames() || c.sharesName(narrative) {
		return ""
	}
	return "it names nothing that the conversation names"
}

// asks reports whether a text is a question to the person.
func asks(text string) bool {
	if !strings.HasSuffix(text, "?") || strings.Contains(text, "\n") {
		return false
	}
	said := " " + normal(text) + " "
	return strings.Contains(said, " you ") || strings.Contains(said, " your ")
}
