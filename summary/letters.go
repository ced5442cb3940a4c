package summary

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A model reads a letter by what it looks like. So names that frame something are compared in the letters of ASCII that
// theirs look like.

// lookAhead is how many bytes may stand between the letters of a name.
const lookAhead = 256

// letter is a rune as names are compared: in lower case, in ASCII if it looks like that. It is 0 for one that does not
// count in a name: a blank, a mark, or what nobody sees.
func letter(r rune) rune {
	switch {
	case r == ' ' || r == '_' || r == '-':
		return 0
	case r < utf8.RuneSelf:
		return unicode.ToLower(r)
	case unicode.IsSpace(r) || unseen(r):
		return 0
	case lookalikes[r] != 0:
		return lookalikes[r]
	}
	// Letters of other widths and styles, in circles, and with accents are made of one of ASCII.
	var in, out [4 * utf8.UTFMax]byte
	made := norm.NFKD.Append(out[:0], in[:utf8.EncodeRune(in[:], r)]...)
	r, _ = utf8.DecodeRune(made)
	switch {
	case unicode.IsMark(r) || unicode.IsSpace(r):
		return 0
	case lookalikes[r] != 0:
		return lookalikes[r]
	}
	return unicode.ToLower(unicode.ToUpper(r)) // so that the long s is an s
}

// lookalikes are letters that look like those of ASCII and are not made of them.
var lookalikes = func() map[rune]rune {
	m := map[rune]rune{}
	for ascii, others := range map[rune]string{
		'a': "аАαΑᴀɑ", 'b': "ВΒʙ", 'c': "сСϲᴄ", 'd': "ԁᴅ", 'e': "еЕεΕᴇ", 'f': "ꜰ", 'g': "ɢɡ", 'h': "НΗһʜ",
		'i': "іІιΙɪıӀ", 'j': "јЈᴊ", 'k': "кКκΚᴋ", 'l': "ӏʟ", 'm': "мМΜᴍ", 'n': "Νɴոп", 'o': "оОοΟᴏօ", 'p': "рРρΡᴘ",
		'q': "ԛ", 'r': "гʀ", 's': "ѕЅꜱ", 't': "тТτΤᴛ", 'u': "υᴜսи", 'v': "νѵᴠ", 'w': "ԝωᴡ", 'x': "хХχΧ", 'y': "уУΥʏү", 'z': "Ζᴢ",
	} {
		for _, r := range others {
			m[r] = ascii
		}
	}
	return m
}()

// isOpenBracket reports whether a label could begin with a rune.
func isOpenBracket(r rune) bool {
	return r == '[' || r >= utf8.RuneSelf && strings.ContainsRune("［【〔〖〘〚⟦⁅❲﹝", r)
}

// isShutBracket is isOpenBracket for the end of a label.
func isShutBracket(r rune) bool {
	return r == ']' || r >= utf8.RuneSelf && strings.ContainsRune("］】〕〗〙〛⟧⁆❳﹞", r)
}

// seen is a text without what nobody sees.
func seen(text string) string {
	if !strings.ContainsFunc(text, unseen) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if unseen(r) {
			return -1
		}
		return r
	}, text)
}
