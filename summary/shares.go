package summary

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pemmican-dev/pemmican"
	lang "github.com/pemmican-dev/pemmican/internal/language"
)

// A summary shares something with what it stands for, and a chat reply often does not. This file looks for it: names,
// then what is written as code, then a fair number of words that are none of prose in general.

// shares reports whether a narrative has something that what it stands for has too.
func (c *checker) shares(narrative string) bool {
	return c.sharedNames(narrative, 1) > 0 || c.sharesProper(narrative) || c.sharesCode(narrative) || c.sharesReference(narrative) || c.sharesWords(narrative)
}

// sharedNames counts the different names of a text that what it stands for has too, until there are enough.
func (c *checker) sharedNames(text string, enough int) int {
	seen := map[string]bool{}
	for n := range namesIn(text) {
		if _, dropped := c.source().knows(n); dropped {
			if seen[n.key] = true; len(seen) >= enough {
				break
			}
		}
	}
	return len(seen)
}

// sharesProper reports whether two words that could be names are shared: those with a capital letter inside a sentence;
// or one in capitals.
func (c *checker) sharesProper(narrative string) bool {
	shared := map[string]bool{}
	begins := true // of a sentence
	for i := 0; i < len(narrative); {
		if nameClasses[narrative[i]]&nameWord == 0 {
			begins = begins || strings.IndexByte(".!?:\n", narrative[i]) >= 0
			i++
			continue
		}
		end := i
		upper := 0
		for end < len(narrative) && nameClasses[narrative[end]]&nameWord != 0 {
			if nameClasses[narrative[end]]&nameUpper != 0 {
				upper++
			}
			end++
		}
		word := narrative[i:end]
		if shout := upper == len(word) && len(word) > minName; shout || upper > 0 && !begins && len(word) >= minTerm && !isEveryday(word) {
			if _, dropped := c.source().knows(name{key: word}); dropped {
				if shared[word] = true; shout || len(shared) > 1 {
					return true
				}
			}
		}
		begins = false
		i = end
	}
	return false
}

// minCode is how many bytes a word in code has at least.
const minCode = 4

// sharesCode reports whether a word in a code span or a fence is shared.
func (c *checker) sharesCode(narrative string) bool {
	mask := withoutCode(narrative)
	for i := 0; i < len(narrative); {
		if mask[i] == narrative[i] || nameClasses[narrative[i]]&nameWord == 0 {
			i++
			continue
		}
		end := i
		for end < len(narrative) && nameClasses[narrative[end]]&nameWord != 0 {
			end++
		}
		if end-i >= minCode {
			if _, dropped := c.source().get(foldOf(narrative[i:end])); dropped {
				return true
			}
		}
		i = end
	}
	return false
}

// Bounds of what sharesReference looks for.
const (
	minRepository = 8 // bytes
	maxReferences = 32
)

// sharesReference reports whether owner/repository, or the number of an issue, is shared: they are no words of their own.
func (c *checker) sharesReference(narrative string) bool {
	var wanted []string
	for word := range strings.FieldsSeq(narrative) {
		word = strings.Trim(word, "`*_()[]{}<>.,:;!?\"'")
		if number, ok := strings.CutPrefix(word, "#"); ok && number != "" && strings.Trim(number, "0123456789") == "" {
			wanted = append(wanted, "#"+number, "pull/"+number, "issues/"+number)
		} else if strings.IndexByte(word, '/') > 0 && len(word) >= minRepository {
			wanted = append(wanted, word)
		}
		if len(wanted) >= maxReferences {
			break
		}
	}
	for text := range c.droppedTexts() {
		for _, s := range wanted {
			if i := strings.Index(text, s); i >= 0 && nameClasses[byteAt(text, i+len(s))]&nameWord == 0 {
				return true
			}
		}
	}
	return false
}

// droppedTexts yields all that the summary stands for.
func (c *checker) droppedTexts() func(func(string) bool) {
	return func(yield func(string) bool) {
		for i := range c.request.Transcript.Blocks {
			if b := &c.request.Transcript.Blocks[i]; c.dropped[i] && b.Kind != pemmican.Opaque && (!yield(b.Text) || !yield(b.Args)) {
				return
			}
		}
		yield(c.request.Previous)
	}
}

// Bounds of the words that make a summary.
const (
	minTerm     = 5 // letters of a word
	wordWeight  = 2 // of a word; a pair of letters of a script without spaces counts 1
	enoughTerms = 8
)

// sharesWords reports whether a fair number of words is shared with what the person and the assistant have said, that
// neither the prompt has nor every text.
func (c *checker) sharesWords(narrative string) bool {
	wanted := map[uint64]int{} // weights
	eachTerm(narrative, func(hash uint64, weight int) {
		if !everyday[hash] {
			wanted[hash] = weight
		}
	})
	eachTerm(c.prompt, func(hash uint64, _ int) { delete(wanted, hash) })
	n := 0
	count := func(hash uint64, _ int) {
		if weight, ok := wanted[hash]; ok {
			delete(wanted, hash)
			n += weight
		}
	}
	eachTerm(c.request.Previous, count)
	for i := range c.request.Transcript.Blocks {
		if n >= enoughTerms || len(wanted) == 0 {
			break
		}
		if b := &c.request.Transcript.Blocks[i]; c.dropped[i] && b.Kind == pemmican.Text {
			eachTerm(b.Text, count)
		}
	}
	return n >= enoughTerms
}

// eachTerm calls f for the words of a text that have at least minTerm letters, without case, and for the pairs of letters
// of scripts without spaces, by hash and with their weight.
func eachTerm(text string, f func(hash uint64, weight int)) {
	hash, letters := uint64(hashStart), 0
	var before rune // the letter before, of a script without spaces
	word := func() {
		if letters >= minTerm {
			f(mixed64(hash), wordWeight)
		}
		hash, letters = hashStart, 0
	}
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			i++
			before = 0
			if nameClasses[c]&nameLetter == 0 {
				word()
				continue
			}
			hash = foldByte(hash, c)
			letters++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case !unicode.IsLetter(r) && !unicode.IsMark(r):
			word()
			before = 0
		case r >= eastern:
			word()
			if before != 0 && !(unicode.Is(unicode.Hiragana, before) && unicode.Is(unicode.Hiragana, r)) {
				f(mixed64((hashStart^uint64(before))*hashPrime^uint64(r)<<1), 1)
			}
			before = r
		default:
			before = 0
			hash = (hash ^ uint64(unicode.ToLower(r))) * hashPrime
			letters++
		}
	}
	word()
}

// everyday are the words that texts of any kind have.
var everyday = func() map[uint64]bool {
	out := map[uint64]bool{}
	eachTerm("about above action actually after again already also always another answer anything asked asking because been before begin "+
		"being below between change changed changes check checked clear complete completed conversation continue correct correctly could currently "+
		"detail details different doing done during either enough every everything exactly expected file files final finally finish finished first "+
		"found further given going good great happy have having help helpful here hope including information instead issue issues itself just "+
		"know later least letting like little look looking looks make makes making maybe message might more moment most much necessary need needed "+
		"needs never next nothing okay only other others overall part person place please point possible problem problems process properly provide "+
		"provided quite rather ready really request requested required requirements result results right running same several shall share should since "+
		"small some something sorry start started state step steps still successfully summary sure task tasks tell thank thanks that their them then there "+
		"these they thing things think this those though through today together trying under understand understood unless until update updated using "+
		"wanted wants was well what when where whether which while whole will with within without work worked working works would write written "+
		"wrong your yours users assistant "+
		// So do most conversations about software.
		"application branch build building class code command commit committed compile compiler config configuration create created debug default delete deleted "+
		"dependencies deploy directory documentation edited editing empty error errors failed failing fails failure feature field fixed fixes folder function "+
		"functionality functions implement implementation implemented implementing import input install installed library lines logic merge method missing module "+
		"object output package passed passes passing production project pushed queries query refactor release remote removed report repository response return "+
		"returns review script scripts server software source string suite syntax system table template terminal tested testing tests token tools type types "+
		"update value values variable version warning warnings window "+
		"aber alles andere bereits damit dann danach diese diesem diesen dieser dieses durch einem einen einer eines etwas gerade haben hatte hätte "+
		"immer jetzt keine keinen kann können könnte machen möchte möchten müssen nächste nächsten natürlich nicht nichts noch oder schon sein seine "+
		"sich sollte sollten sondern soweit über unter viele vielen wenn werde werden wieder wird worden wurde wurden zuerst zunächst zusammen "+
		"alors après aussi avant avec autre autres cela cette comme dans depuis encore entre est-ce faire leurs mais même merci notre nous pendant "+
		"peut-être plusieurs pour quand quelque sans serait sont sous toujours toutes votre vous "+
		"ahora antes aquí aunque cada como cuando cual desde después donde entonces entre esta estaba están este estos hacer hasta luego mientras "+
		"mismo mucho nada otro otros para pero porque puede puedo quiero según siempre sobre también tiene tienes todas todos usted "+
		"было быть если есть когда который которые может можно нужно очень после потом сейчас также теперь только чтобы этого этот",
		func(hash uint64, _ int) { out[hash] = true })
	return out
}()

func isEveryday(word string) bool {
	is := false
	eachTerm(word, func(hash uint64, _ int) { is = everyday[hash] })
	return is
}

// enoughForeign is how many letters a narrative in another language has, as lang.OfText counts them.
const enoughForeign = 75

// tabled are the languages that talk is known in.
var tabled = set("English, German, French, Spanish, Italian, Portuguese, Russian, Japanese, Chinese, Korean")

// foreign reports whether a narrative that is no mere remark is surely in another language than the person's: then it
// shares no words, however good it is.
func (c *checker) foreign(narrative string) bool {
	name, letters := lang.OfText(narrative)
	if !tabled[name] || letters < enoughForeign {
		return false
	}
	own := language(*c.request)
	return own != "" && own != name
}

// manyNames reports whether what the narrative stands for has so many names that a summary has one of them.
func (c *checker) manyNames() bool {
	seen := map[string]bool{}
	for text := range c.droppedTexts() {
		for n := range namesIn(text) {
			if n.loose {
				continue
			}
			if seen[n.key] = true; len(seen) >= enoughNames {
				return true
			}
		}
	}
	return false
}
