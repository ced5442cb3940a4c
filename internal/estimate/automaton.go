package estimate

import "sync"

// A kind is a kind of piece. A state of the automaton is a kind and how many
// characters the piece has so far, up to the length of the kind's cost table.
type kind int

// Words have a kind for what stands before them and for how they are written.
const (
	beforeNothing kind = iota * letterCases
	beforeCamel        // the end of a word in lower case, as in the B of fooBar
	beforeDigit
	beforeSpace
	beforeMark // one punctuation mark, which belongs to the piece as the space does
	wordKinds
)

const (
	caseLower kind = iota
	caseTitle
	caseUpper
	caseMixed // HTTPServer
	letterCases
)

const (
	kindDigits kind = wordKinds + iota
	kindContraction
	kindApostrophe
	kindRule
	kindRuleAfterSpace
	kindPunct
	kindPunctAfterSpace
	kindPunctNewline
	kindNewline
	kindSpace
	kindTab
	kindMixedSpace
	kindStart
	kindHanPunct
	kindTypo
	kindTypoWord // of a typographic mark and letters: the ’s of it’s, —and
	kindSymbol
	kindBox
	kindEmoji
	kindJoiner
	kindRare
	kindInvalid

	// Words of other scripts: each has a kind, and the one behind it for the
	// same after a space.
	kindLatin
	kindLatinAfterSpace
	kindLatinExtended
	kindLatinExtendedAfterSpace
	kindCyrillic
	kindCyrillicAfterSpace
	kindGreek
	kindGreekAfterSpace
	kindArabic
	kindArabicAfterSpace
	kindHebrew
	kindHebrewAfterSpace
	kindIndic
	kindIndicAfterSpace
	kindThai
	kindThaiAfterSpace
	kindLetter
	kindLetterAfterSpace
	kindHangul
	kindHangulAfterSpace
	kindHan
	kindHanAfterSpace
	kindHanTraditional // a run of Han from its first traditional character on
	kindHanTraditionalAfterSpace
	kindHiragana
	kindHiraganaAfterSpace
	kindKatakana
	kindKatakanaAfterSpace

	kindCount
)

// scriptKind has the kind of a word that begins with a letter of a class.
var scriptKind = map[class]kind{
	classLatinLower:     kindLatin,
	classLatinUpper:     kindLatin,
	classLatinExtended:  kindLatinExtended,
	classCyrillic:       kindCyrillic,
	classGreek:          kindGreek,
	classArabic:         kindArabic,
	classHebrew:         kindHebrew,
	classIndic:          kindIndic,
	classThai:           kindThai,
	classLetter:         kindLetter,
	classHangul:         kindHangul,
	classHan:            kindHan,
	classHanTraditional: kindHanTraditional,
	classHiragana:       kindHiragana,
	classKatakana:       kindKatakana,
}

// runKind has the kind of a run of characters of a class that is never part of
// a word.
var runKind = map[class]kind{
	classHanPunct: kindHanPunct,
	classTypo:     kindTypo,
	classSymbol:   kindSymbol,
	classBox:      kindBox,
	classEmoji:    kindEmoji,
	classJoiner:   kindJoiner,
	classRare:     kindRare,
	classInvalid:  kindInvalid,
}

// A state is a piece of which length characters have been seen.
type state struct {
	kind   kind
	length int
}

// next returns the state after a character of class c, and the pieces that end
// before it, the last of them shortened by the white space that the new piece
// takes. No state of ended means that the character belongs to the same piece.
func next(s state, c class) (to state, ended []state) {
	ended = []state{s}
	if s.kind == kindStart {
		ended = []state{}
	}
	word := s.kind < wordKinds
	// What stands before a word that begins here, and the pieces that are over
	// when it does.
	before, beforeEnded, spaced := beforeNothing, ended, kind(0)
	switch {
	case word:
		before = beforeCamel
	case s.kind == kindDigits:
		before = beforeDigit
	case s.kind == kindSpace:
		before, beforeEnded, spaced = beforeSpace, shorter(s), 1
	case s.kind == kindTab || s.kind == kindMixedSpace:
		before, beforeEnded = beforeMark, shorter(s)
	case s.length == 1 && (s.kind == kindRule || s.kind == kindPunct || s.kind == kindApostrophe):
		before, beforeEnded = beforeMark, nil
	}

	switch c {
	case classLower, classUpper:
		if s.kind == kindApostrophe || s.kind == kindContraction {
			if c == classLower {
				return state{kindContraction, s.length + 1}, nil
			}
		}
		if s == (state{kindTypo, 1}) || s.kind == kindTypoWord && c == classLower {
			return state{kindTypoWord, s.length + 1}, nil
		}
		if c == classLower && kindLatin <= s.kind && s.kind <= kindLatinExtendedAfterSpace {
			return state{s.kind, s.length + 1}, nil
		}
		if word {
			prefix, letters := s.kind/letterCases*letterCases, s.kind%letterCases
			switch {
			case c == classUpper && letters == caseUpper:
				return state{s.kind, s.length + 1}, nil
			case c == classLower && letters == caseUpper && s.length == 1:
				return state{prefix + caseTitle, 2}, nil
			case c == classLower && letters == caseUpper:
				return state{prefix + caseMixed, s.length + 1}, nil
			case c == classLower:
				return state{s.kind, s.length + 1}, nil
			}
		}
		if c == classUpper {
			return state{before + caseUpper, 1}, beforeEnded
		}
		return state{before + caseLower, 1}, beforeEnded

	case classDigit:
		if s.kind == kindDigits && s.length < 3 {
			return state{kindDigits, s.length + 1}, nil
		}
		if s.kind == kindSpace || s.kind == kindTab || s.kind == kindMixedSpace {
			if s.length > 1 { // all but the last, and the last alone
				return state{kindDigits, 1}, append(shorter(s), state{s.kind, 1})
			}
		}
		return state{kindDigits, 1}, ended

	case classSpace, classTab:
		own := kindSpace
		if c == classTab {
			own = kindTab
		}
		switch s.kind {
		case own, kindMixedSpace:
			return state{s.kind, s.length + 1}, nil
		case kindSpace, kindTab:
			return state{kindMixedSpace, s.length + 1}, nil
		}
		return state{own, 1}, ended

	case classNewline:
		switch s.kind {
		case kindNewline, kindPunctNewline:
			return state{s.kind, s.length + 1}, nil
		case kindSpace, kindTab, kindMixedSpace:
			return state{kindNewline, 2}, nil
		case kindRule, kindRuleAfterSpace, kindPunct, kindPunctAfterSpace, kindApostrophe:
			return state{kindPunctNewline, min(s.length+1, 8)}, nil
		}
		return state{kindNewline, 1}, ended

	case classApostrophe, classRule, classPunct:
		switch s.kind {
		case kindRule, kindRuleAfterSpace:
			if c == classRule {
				return state{s.kind, s.length + 1}, nil
			}
			return state{s.kind + kindPunct - kindRule, s.length + 1}, nil
		case kindApostrophe:
			return state{kindPunct, s.length + 1}, nil
		case kindPunct, kindPunctAfterSpace:
			return state{s.kind, s.length + 1}, nil
		}
		if word && c == classApostrophe {
			return state{kindApostrophe, 1}, ended
		}
		own := kindPunct
		if c == classRule {
			own = kindRule
		}
		if spaced == 1 {
			return state{own + 1, 1}, beforeEnded
		}
		return state{own, 1}, ended

	case classLatinLower, classLatinExtended:
		own := scriptKind[c]
		switch {
		case word && s.kind/letterCases*letterCases == beforeSpace:
			return state{own + 1, s.length + 1}, nil
		case word:
			return state{own, s.length + 1}, nil
		case s.kind == kindLatin, s.kind == kindLatinAfterSpace:
			return state{own + s.kind - kindLatin, s.length + 1}, nil
		case s.kind == kindLatinExtended, s.kind == kindLatinExtendedAfterSpace:
			return state{s.kind, s.length + 1}, nil
		}

	case classHan, classHanTraditional:
		switch s.kind {
		case kindHan, kindHanAfterSpace:
			return state{scriptKind[c] + s.kind - kindHan, s.length + 1}, nil
		case kindHanTraditional, kindHanTraditionalAfterSpace:
			return state{s.kind, s.length + 1}, nil
		}
	}

	if own, ok := runKind[c]; ok {
		if s.kind == own {
			return state{own, s.length + 1}, nil
		}
		if spaced == 1 {
			return state{own, 2}, beforeEnded // with the space
		}
		return state{own, 1}, ended
	}
	own := scriptKind[c]
	if s.kind == own || s.kind == own+1 {
		return state{s.kind, s.length + 1}, nil
	}
	return state{own + spaced, 1}, beforeEnded
}

// shorter returns the run of white space s without its last character, which
// the next piece takes.
func shorter(s state) []state {
	if s.length == 1 {
		return []state{}
	}
	return []state{{s.kind, s.length - 1}}
}

const (
	classStride = 32
	stateBound  = 1024 // more than there are states, a power of two
	tableSize   = stateBound * classStride
	rowMask     = tableSize - 1
	costShift   = 16
	costUnit    = 256 // fixed point: what one token costs
)

// A machine is the automaton as a table.
type machine struct {
	step  [tableSize]uint32
	final [stateBound]uint32
	seam  uint32 // the row behind a seam, see runLanes
}

// automaton builds the table from [next] and the costs, once.
var automaton = sync.OnceValue(func() *machine {
	m := new(machine)
	first := firstStates()
	number := func(s state) int { return first[s.kind] + min(s.length, len(costs[s.kind])) - 1 }
	m.seam = uint32(number(state{kindSpace, 1}) * classStride)
	for k := range kindCount {
		for n := 1; n <= len(costs[k]); n++ {
			s := state{k, n}
			row := number(s)
			m.final[row] = fixed(cost(s))
			for c := range classCount {
				to, ended := next(s, c)
				var paid float64
				for _, e := range ended {
					paid += cost(e)
				}
				if ended == nil && to.length > len(costs[to.kind]) {
					paid += slopes[to.kind] // as long as the table knows; every further character costs
				}
				m.step[row*classStride+int(c)] = fixed(paid)<<costShift | uint32(number(to)*classStride)
			}
		}
	}
	return m
})

// firstStates returns the number of the first state of each kind. The start
// state is number 0.
func firstStates() (first [kindCount]int) {
	n := len(costs[kindStart])
	for k := range kindCount {
		if k != kindStart {
			first[k] = n
			n += len(costs[k])
		}
	}
	return first
}

// cost returns the tokens that a finished piece has on average.
func cost(s state) float64 {
	t := costs[s.kind]
	return t[min(s.length, len(t))-1]
}

func fixed(tokens float64) uint32 { return uint32(tokens*costUnit + 0.5) }
