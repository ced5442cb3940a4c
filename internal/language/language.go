// Package language tells in which language a person writes.
package language

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/abadojack/whatlanggo"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/reminder"
)

// What the language of the person is told from.
const (
	languageTexts = 12       // the newest messages of the person
	languageBytes = 2 << 10  // of the prose of each
	languageScan  = 16 << 10 // bytes of the beginning and of the end of each
	// languageDecay is what a message counts next to the one behind it, if that is long enough to count in full: two
	// messages in another language are a switch.
	languageDecay = 0.6
	// enoughLetters is from how many letters on a message counts in full. A letter of a script that writes words with
	// one or two counts as three.
	enoughLetters = 24
	syllable      = 3
	// leastLetters is how many letters of an alphabet it takes to tell its languages apart, and doubtLetters how many of
	// which the language is not clear raise a doubt.
	leastLetters = 16
	doubtLetters = 100
	// sureEnough is the least confidence of the detector, and sureOfLong that for so many letters.
	sureEnough  = 0.9
	sureOfLong  = 0.6
	longLetters = 60
	// tellingLetters is how many letters that only one language has decide against the detector.
	tellingLetters = 2

	leastWeight = 0.3 // of the votes that decide
	leastShare  = 0.6 // of all votes
	// foreignShare is the part of a text that letters of an alphabet have at least in a language that has another script.
	foreignShare = 3
)

// Of returns the English name of the language in which the person of a transcript writes, "" when that is not sure. Tool text
// does not count, nor do code, paths and logs in the person's own messages; the newest messages count most.
func Of(t *pemmican.Transcript) string {
	if t == nil {
		return ""
	}
	votes := map[string]float64{}
	weight := 1.0
	var short strings.Builder // texts that are too short to tell by themselves
	shortWeight, han := 0.0, 0.0
	texts := 0
	for m := len(t.Messages) - 1; m >= 0 && texts < languageTexts; m-- {
		if !t.Messages[m].Person() {
			continue
		}
		var text strings.Builder
		for i := t.Messages[m].First; i < t.Messages[m].End; i++ {
			if b := &t.Blocks[i]; b.Kind == pemmican.Text {
				prose(&text, reminder.Strip(b.Text))
			}
		}
		name, letters := languageOf(text.String())
		if letters == 0 {
			continue
		}
		texts++
		full := min(1, float64(letters)/enoughLetters)
		own := weight * full
		weight *= math.Pow(languageDecay, full)
		switch name {
		case "":
			short.WriteString(text.String())
			shortWeight += own
		case chinese:
			han += own
		default:
			votes[name] += own
		}
	}
	if name, letters := languageOf(short.String()); name != "" || letters >= doubtLetters {
		votes[name] += shortWeight
	}
	// A title or two in Japanese may be written without a syllable of kana.
	if votes[japanese] >= han {
		votes[japanese] += han
	} else {
		votes[chinese] = han
	}
	best, all := "", 0.0
	for name, n := range votes {
		all += n
		if n > votes[best] || n == votes[best] && name < best {
			best = name
		}
	}
	if votes[best] < leastWeight || votes[best] < leastShare*all {
		return ""
	}
	return best
}

// Eastern is the first rune of the scripts of China, Japan and Korea.
const Eastern = 0x3040

const (
	chinese  = "Chinese"
	japanese = "Japanese"
	korean   = "Korean"
)

// OfText returns the language of a text, code and paths in it aside, "" if it is not sure, and the weight of its letters: those
// of a script that writes words with one or two of them count as three.
func OfText(text string) (name string, letters int) {
	var b strings.Builder
	prose(&b, text)
	return languageOf(b.String())
}

// languageOf returns the language of a text that is prose, "" if it is not sure, and the weight of its letters.
func languageOf(text string) (name string, letters int) {
	var kana, han, hangul, alphabet int
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r):
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana++
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.Is(unicode.Hangul, r):
			hangul++
		default:
			alphabet++
		}
	}
	east := syllable * (kana + han + hangul)
	letters = east + alphabet
	switch {
	case east*foreignShare >= alphabet && east > 0:
		switch {
		case hangul > kana+han:
			return korean, letters
		case kana > 0 && kana*8 >= han: // one particle in a heap of Chinese characters may be a name
			return japanese, letters
		case han > 0 && kana == 0:
			return chinese, letters
		}
		return "", letters
	case alphabet < leastLetters || east > 0:
		return "", letters
	}
	info := whatlanggo.DetectWithOptions(text, whatlanggo.Options{Whitelist: languageCodes})
	guess := languageNames[info.Lang]
	if own, n := ownLetters(text); own != "" && (n >= tellingLetters || own == guess) {
		return own, letters
	}
	if info.Confidence < sureEnough && (info.Confidence < sureOfLong || letters < longLetters) {
		return "", letters
	}
	return guess, letters
}

// ownLetters returns the one language of which a text has letters that no other one has, "" for none or for several, and
// how many of them it has.
func ownLetters(text string) (name string, n int) {
	for _, r := range text {
		if r < utf8.RuneSelf {
			continue
		}
		own, ok := letterOf[unicode.ToLower(r)]
		if !ok {
			continue
		}
		if n++; name != "" && own != name {
			return "", n
		}
		name = own
	}
	return name, n
}

// letterOf has the letters and signs that, of the languages below, one only has. Where two share one it is left out; that
// Portuguese shares its one with Vietnamese does not matter, which has plenty of others.
var letterOf = func() map[rune]string {
	out := map[rune]string{}
	for name, letters := range map[string]string{
		"Belarusian": "ў", "Czech": "řěů", "German": "ß", "Hungarian": "őű", "Polish": "łż", "Portuguese": "ã", "Romanian": "țșţ",
		"Russian": "ыэё", "Serbian": "ђћјљњџ", "Spanish": "ñ¿¡", "Turkish": "ğı", "Ukrainian": "іїєґ",
		"Vietnamese": "ơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữự",
	} {
		for _, r := range letters {
			out[r] = name
		}
	}
	return out
}()

// languageNames are the languages that are told apart. Fewer make the detector surer of those that people write to agents.
var languageNames = map[whatlanggo.Lang]string{
	whatlanggo.Arb: "Arabic", whatlanggo.Bel: "Belarusian", whatlanggo.Ben: "Bengali", whatlanggo.Bul: "Bulgarian", whatlanggo.Ces: "Czech",
	whatlanggo.Dan: "Danish", whatlanggo.Deu: "German", whatlanggo.Ell: "Greek", whatlanggo.Eng: "English", whatlanggo.Est: "Estonian",
	whatlanggo.Fin: "Finnish", whatlanggo.Fra: "French", whatlanggo.Heb: "Hebrew", whatlanggo.Hin: "Hindi", whatlanggo.Hrv: "Croatian",
	whatlanggo.Hun: "Hungarian", whatlanggo.Ind: "Indonesian", whatlanggo.Ita: "Italian", whatlanggo.Kat: "Georgian", whatlanggo.Lit: "Lithuanian",
	whatlanggo.Lav: "Latvian", whatlanggo.Nld: "Dutch", whatlanggo.Nob: "Norwegian", whatlanggo.Pes: "Persian", whatlanggo.Pol: "Polish",
	whatlanggo.Por: "Portuguese", whatlanggo.Ron: "Romanian", whatlanggo.Rus: "Russian", whatlanggo.Slv: "Slovenian", whatlanggo.Spa: "Spanish",
	whatlanggo.Srp: "Serbian", whatlanggo.Swe: "Swedish", whatlanggo.Tam: "Tamil", whatlanggo.Tel: "Telugu", whatlanggo.Tha: "Thai",
	whatlanggo.Tur: "Turkish", whatlanggo.Ukr: "Ukrainian", whatlanggo.Vie: "Vietnamese",
}

var languageCodes = func() map[whatlanggo.Lang]bool {
	out := make(map[whatlanggo.Lang]bool, len(languageNames))
	for code := range languageNames {
		out[code] = true
	}
	return out
}()

// prose appends the words of a text that are no code, no path, no address and no log, languageBytes of them at most.
func prose(dst *strings.Builder, text string) {
	if len(text) > 2*languageScan {
		text = strings.ToValidUTF8(text[:languageScan]+"\n"+text[len(text)-languageScan:], "")
	}
	fenced := false
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			fenced = !fenced
			continue
		}
		if fenced || line == "" {
			continue
		}
		if looksLikeCode(line) {
			for word := range strings.FieldsSeq(line) {
				if !strings.ContainsFunc(word, func(r rune) bool { return r < Eastern }) {
					dst.WriteString(word)
					dst.WriteByte(' ')
				}
			}
			continue
		}
		ticked := false
		for word := range strings.FieldsSeq(line) {
			if dst.Len() > languageBytes {
				return
			}
			ticks := strings.Count(word, "`")
			if ticks == 0 && !ticked && !technical(word) {
				dst.WriteString(word)
				dst.WriteByte(' ')
			} else if ticks > 0 {
				// Scripts without spaces have code in the middle of a word.
				for i, part := range strings.Split(word, "`") {
					if ticked == (i%2 == 1) && !technical(part) {
						dst.WriteString(part)
						dst.WriteByte(' ')
					}
				}
			}
			ticked = ticked != (ticks%2 == 1)
		}
		dst.WriteByte('\n')
	}
}

// looksLikeCode reports whether a line is code, or of a log: by its many signs, or by what it begins with.
func looksLikeCode(line string) bool {
	if first, _, ok := strings.Cut(line, ":"); ok && !strings.Contains(first, " ") && first != "" {
		shout := len(first) > 3 && strings.Trim(first, "ABCDEFGHIJKLMNOPQRSTUVWXYZ[]") == ""
		if shout || technical(first) || strings.HasSuffix(first, "rror") {
			return true
		}
	}
	letters, signs := 0, 0
	for word := range strings.FieldsSeq(line) {
		if strings.Contains(word, "://") {
			continue
		}
		for _, r := range word {
			switch {
			case unicode.IsLetter(r):
				letters++
			case r < utf8.RuneSelf && strings.ContainsRune("{}()[]<>=;|\\/_@#$%^&*+~:0123456789", r):
				signs++
			}
		}
	}
	return signs*5 > letters
}

// technical reports whether a word is a path, an address, a name out of a program, or has digits. Of a text without
// spaces a word is a sentence.
func technical(word string) bool {
	inner := strings.Trim(word, ".,:;!?()[]{}\"'*-")
	ascii := true
	for i, r := range inner {
		switch {
		case r >= utf8.RuneSelf:
			ascii = false
		case '0' <= r && r <= '9', strings.ContainsRune("/\\_.@#$=<>{}[]|:~^%+&*", r), i > 0 && 'A' <= r && r <= 'Z':
			if ascii {
				// A sentence in a script without spaces may begin with the name of a file.
				return !strings.ContainsFunc(inner, func(r rune) bool { return r >= Eastern })
			}
		}
	}
	return false
}
