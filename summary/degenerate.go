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
	"没有": true, "없음": true, "未指定": true, "暂无": true, "未定": true, "特になし": true, "該当なし": true, "해당 없음": true, "nicht angegeben": true, "non spécifié": true,
	"no especificado": true, "da definire": true, "não especificado": true, "не указано": true, "unspecified": true,
}

// negations are the words that a line may begin with that says in its own words that there is nothing.
var negations = set(
	"no, none, nothing, not, nowhere, keine, kein, keiner, keines, nichts, nicht, aucun, aucune, rien, pas, ningún, ninguno, ninguna, sin, nada",
	"nessun, nessuno, nessuna, niente, nenhum, nenhuma, sem, нет, ничего, не",
)

// Bounds of a line that says nothing, in words, such as "(none - empty conversation)", and of one below a title.
const (
	maxNothing  = 8
	maxNegation = 5
)

// emptyTemplate reports whether a text consists of titles and of words for nothing.
func emptyTemplate(text string) bool {
	text = strings.ReplaceAll(text, "：", ":")
	single, titled := !strings.Contains(text, "\n"), false
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if name, _ := titleOf(line); name != "" && (!single || strings.HasPrefix(line, "#")) {
			titled = true
			continue
		}
		if strings.HasPrefix(line, "|") {
			if i+1 < len(lines) && isSeparator(lines[i+1]) {
				titled = true
			} else if !emptyRow(line) {
				return false
			}
			continue
		}
		// A label may stand before it, as in "**Blockers**: none".
		_, value, labelled := strings.Cut(line, ":")
		said := normal(line)
		if !saysNothing(said, titled) && !(labelled && saysNothing(normal(value), true)) {
			return false
		}
	}
	return true
}

// isSeparator reports whether a line is the one below the titles of a table.
func isSeparator(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "|") && strings.Contains(line, "-") && strings.Trim(line, "|-: ") == ""
}

// emptyRow reports whether nothing stands in a row of a table behind what its first cell is a title of.
func emptyRow(line string) bool {
	cells := strings.Split(strings.Trim(line, "|"), "|")
	if len(cells) > 1 {
		cells = cells[1:]
	}
	return !slices.ContainsFunc(cells, func(cell string) bool { return !saysNothing(normal(cell), true) })
}

// saysNothing reports whether a line, as normal has it, is empty or says that there is nothing. Under a title it may do
// so in its own words.
func saysNothing(said string, titled bool) bool {
	if said == "" || nothing[said] {
		return true
	}
	first, _, _ := strings.Cut(said, " ")
	words := strings.Count(said, " ") + 1
	return (first == "none" || first == "nothing" || strings.HasPrefix(said, "n a ")) && words <= maxNothing || titled && negations[first] && words <= maxNegation
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
	counterWords  = 5
	leastDoubled  = 60      // runes
	maxDoubled    = 1 << 18 // bytes
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
	if unit := twice(text); unit != "" {
		return unit
	}
	return loopedLine(text)
}

// loopedLine returns the line or the sentence that most of a long text consists of, though more than the detector looks
// at may stand between two of them, or a number that counts on.
func loopedLine(text string) string {
	if strings.Count(text, "\n")+strings.Count(text, ". ") < loopLines-1 {
		return ""
	}
	seen := map[string]int{}
	lines, most := 0, ""
	for line := range strings.SplitSeq(text, "\n") {
		for part := range strings.SplitSeq(line, ". ") {
			if !hasLetter(part) {
				continue
			}
			lines++
			part = withoutCounter(part)
			if seen[part]++; seen[part] > seen[most] {
				most = part
			}
		}
	}
	if lines >= loopLines && lines >= linesPerLine*len(seen) {
		return most
	}
	return ""
}

// withoutCounter is a line with one number for all that stand in it alone, if it has so many words besides that the
// numbers are not what it is about.
func withoutCounter(line string) string {
	line = strings.TrimSpace(line)
	if !strings.ContainsAny(line, "0123456789") {
		return line
	}
	isNumber := func(word string) bool {
		word = strings.Trim(word, ".,:;!?()[]#*")
		return word != "" && strings.Trim(word, "0123456789") == ""
	}
	words := strings.Fields(line)
	others := 0
	for i, word := range words {
		if isNumber(word) {
			words[i] = "0"
		} else if hasLetter(word) {
			others++
		}
	}
	if others < counterWords {
		return line
	}
	return strings.Join(words, " ")
}

// twice returns the text that all of a text consists of at least two times over, "" for none.
func twice(text string) string {
	all := []rune(normal(text[:min(len(text), maxDoubled)]) + " ")
	if len(all) < 2*leastDoubled {
		return ""
	}
	// The longest beginning of a text that is also its end leaves its shortest period.
	border := make([]int32, len(all))
	for i, n := 1, int32(0); i < len(all); i++ {
		for n > 0 && all[i] != all[n] {
			n = border[n-1]
		}
		if all[i] == all[n] {
			n++
		}
		border[i] = n
	}
	if period := len(all) - int(border[len(all)-1]); period >= leastDoubled && 2*period <= len(all) {
		return string(all[:period])
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

// halfWords are words that no sentence ends with.
var halfWords = set("the, an, and, or, of, because, whose, und, oder, weil, les, des, parce, porque, perché")

// halfOf returns the sign that a narrative ends in its middle though it was said to be whole: in a sentence, in a
// code fence, or in words that were to be bold.
func halfOf(text string) string {
	last := text[strings.LastIndexByte(text, '\n')+1:]
	if strings.Count(last, "**")%2 == 1 {
		last = withoutCode(last)
		if i := strings.LastIndex(last, "**"); i >= 0 && strings.Count(last, "**")%2 == 1 && (i == 0 || last[i-1] == ' ') {
			if r, _ := utf8.DecodeRuneInString(last[i+2:]); unicode.IsLetter(r) {
				return "bold words are not closed"
			}
		}
	}
	if word := last[strings.LastIndexByte(last, ' ')+1:]; halfWords[word] {
		return "it ends in " + word
	}
	if !strings.Contains(text, "```") && !strings.Contains(text, "~~~") {
		return ""
	}
	opened := "" // the sign of the fence that is open
	behind := false
	for line := range strings.SplitSeq(text, "\n") {
		sign, info := fenceSign(line)
		switch {
		case sign == "":
			behind = behind || hasContent(line)
		case opened == "":
			opened, behind = sign, info != ""
		case !hasContent(info) && strings.HasPrefix(sign, opened): // A full stop may stand behind it.
			opened = ""
		}
	}
	if opened != "" && behind {
		return "a code fence is not closed"
	}
	return ""
}

// Bounds of an echo, in runes as normal has them, and in percent.
const (
	gram        = 24 // a run of so many that two texts share is copied
	promptShare = 60
	answerShare = 80
	answerOwn   = 150 // with so much of its own a text is no copy of the last answer
	personShare = 90
	personOwn   = 30
	enoughNews  = 200 // tokens that are dropped and should have added something to the earlier summary
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
	// What is reordered, ticked or taken out is an update.
	if c.request.Previous != "" {
		e := readEarlier(c.request.Previous)
		copied := strings.HasPrefix(normal(e.narrative), said) || strings.HasPrefix(normal(e.told()), said)
		if copied && c.droppedTokens() >= enoughNews {
			return "the earlier summary, with nothing new"
		}
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
