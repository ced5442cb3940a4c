package estimate

// class is what the automaton knows about a character. Characters of one class
// are interchangeable for the estimate.
type class = uint8

const (
	classLower class = iota
	classUpper
	classDigit
	classSpace
	classTab // and the other white space that is not a line break
	classNewline
	classApostrophe
	classRule // punctuation that likes to be repeated: ---- ==== ....
	classPunct

	// Letters beyond ASCII.
	classLatinLower
	classLatinUpper
	classLatinExtended // beyond Latin-1: Czech, Polish, Turkish, Vietnamese, ...
	classCyrillic
	classGreek
	classArabic
	classHebrew
	classIndic
	classThai
	classLetter // of any other script
	classHangul
	classHan
	classHanTraditional // see traditionalHan
	classHiragana
	classKatakana

	// The rest beyond ASCII.
	classHanPunct // CJK and full-width punctuation
	classTypo     // typographic: dashes, curly quotes, the upper half of Latin-1
	classSymbol   // arrows, mathematics, dingbats
	classBox      // box drawing and blocks
	classEmoji
	classJoiner // invisible: joiners, variation selectors
	classRare   // whatever costs about its bytes: private use, rare ideographs
	classInvalid

	classCount
	classMultibyte = classCount // stands in asciiClass for "decode first"
)

// asciiClass has the class of each byte, and classMultibyte for those that
// begin, or would have to belong to, a longer sequence.
var asciiClass = func() (t [256]class) {
	for b := range t {
		switch {
		case b >= 0x80:
			t[b] = classMultibyte
		case 'a' <= b && b <= 'z':
			t[b] = classLower
		case 'A' <= b && b <= 'Z':
			t[b] = classUpper
		case '0' <= b && b <= '9':
			t[b] = classDigit
		case b == ' ':
			t[b] = classSpace
		case b == '\n' || b == '\r':
			t[b] = classNewline
		case '\t' <= b && b <= '\r':
			t[b] = classTab
		case b == '\'':
			t[b] = classApostrophe
		case b == '-' || b == '=' || b == '*' || b == '#' || b == '_' || b == '~' || b == '.' || b == '/':
			t[b] = classRule
		default:
			t[b] = classPunct
		}
	}
	return t
}()

// blockShift makes blocks of 16 characters, the granularity of blockClass.
const blockShift = 4

// blockClass has the class of the characters U+0080 to U+FFFF, by blocks of 16.
// Where a block is mixed it has the class that most of its running text has.
var blockClass = func() (t [0x10000 >> blockShift]class) {
	for _, r := range []struct {
		first, last int
		class       class
	}{
		{0x0080, 0xFFFF, classRare},
		{0x0080, 0x00BF, classTypo},
		{0x00C0, 0x00DF, classLatinUpper},
		{0x00E0, 0x00FF, classLatinLower},
		{0x0100, 0x036F, classLatinExtended},
		{0x0370, 0x03FF, classGreek},
		{0x0400, 0x052F, classCyrillic},
		{0x0530, 0x058F, classLetter},
		{0x0590, 0x05FF, classHebrew},
		{0x0600, 0x08FF, classArabic},
		{0x0900, 0x0DFF, classIndic},
		{0x0E00, 0x0FFF, classThai},
		{0x1000, 0x1DFF, classLetter},
		{0x1E00, 0x1EFF, classLatinExtended},
		{0x1F00, 0x1FFF, classGreek},
		{0x2000, 0x200F, classJoiner},
		{0x2010, 0x205F, classTypo},
		{0x2060, 0x206F, classJoiner},
		{0x2070, 0x20CF, classTypo},
		{0x2100, 0x24FF, classSymbol},
		{0x2500, 0x259F, classBox},
		{0x25A0, 0x2BFF, classSymbol},
		{0x2C00, 0x2E7F, classLetter},
		{0x3000, 0x303F, classHanPunct},
		{0x3040, 0x309F, classHiragana},
		{0x30A0, 0x30FF, classKatakana},
		{0x3100, 0x31FF, classLetter},
		{0x3200, 0x33FF, classSymbol},
		{0x4E00, 0x9FFF, classHan},
		{0xA000, 0xABFF, classLetter},
		{0xAC00, 0xD7AF, classHangul},
		{0xFB50, 0xFDFF, classArabic},
		{0xFE00, 0xFE0F, classJoiner},
		{0xFE10, 0xFE6F, classHanPunct},
		{0xFE70, 0xFEFF, classArabic},
		{0xFF00, 0xFF1F, classHanPunct},
		{0xFF20, 0xFF5F, classLetter},
		{0xFF60, 0xFF9F, classKatakana},
	} {
		for b := r.first >> blockShift; b <= r.last>>blockShift; b++ {
			t[b] = r.class
		}
	}
	return t
}()

// traditionalHan has frequent characters that tell the traditional script from
// the simplified one. Text in it needs a third more tokens.
const traditionalHan = "個們來這時說會對為過還沒開關點問題請檔設執無與資訊庫檢視啟動網頁連線傳輸應該當從後見現經變實際數據單選項確認語" +
	"碼錯誤義處號類別區塊結構參數陣清參讀寫儲載錄項權限絡測試斷級條標記錢幾萬買賣長門間電車東馬鳥魚龍學國發產業務員團體" +
	"機場價達運轉輕較組織給紅綠級細終統絕續維網緒練縮總聽聲聯職聞脫腦臉興舊華藝蘭號蟲術衛裝裡製複親覺觀計訂討訓許註證評" +
	"詞詢試話該詳認誰調談論諸謝識譯議護讓貝負財責貨貼費貿質購贊趕跡踐軟較輯輸辦農遠適遲選遺郵鄉釋鐘鎖鏡鏈鍵錄針鐵銀閉" +
	"閱陽陰階隊隨險隱雙雜雖離難雲靈靜響頁頂順預頻頭顆題額顏願顯風飛飯飲餘驗驅體髮鬥麗麼黃齊齒務動勞勝區協廠壓廳歷層屬歲" +
	"嚴圍園圖圓執報壞塊夢奪媽孫寧寶審專將導師帶幫廣廢彈彙強徑復惡愛態慮憶應懷戰戲戶擇擊據擔擴擬攔攝敗敵斷於暫曉書極構樣" +
	"橋檢歡殘殺氣決況淚淨減測湯準滅滿漢潔潛災爾爭獎獨獲環畢異畫當癥瘋盡監盤眾礎禮禍種稱穩窮窗競筆節範築簡簽籤糧糾紀約純"

const firstHan = 0x4E00 // of the block that is classHan

// traditional has a bit for each character of the block.
var traditional = func() (t [(0xA000 - firstHan) / 64]uint64) {
	for _, r := range traditionalHan {
		t[(r-firstHan)/64] |= 1 << (r % 64)
	}
	return t
}()

// multibyteClass returns the class of the character at text[i], a byte of 0x80
// or more, and its length in bytes. It is laxer than package unicode/utf8 about
// overlong forms and surrogates: for an estimate they are characters too.
func multibyteClass[T string | []byte](text T, i int) (class, int) {
	b0 := text[i]
	left := len(text) - i
	switch {
	case b0 < 0xC2:
	case b0 < 0xE0:
		if left > 1 && text[i+1]&0xC0 == 0x80 {
			r := uint32(b0&0x1F)<<6 | uint32(text[i+1]&0x3F)
			return blockClass[r>>blockShift], 2
		}
	case b0 < 0xF0:
		if left > 2 && text[i+1]&0xC0 == 0x80 && text[i+2]&0xC0 == 0x80 {
			r := uint32(b0&0x0F)<<12 | uint32(text[i+1]&0x3F)<<6 | uint32(text[i+2]&0x3F)
			if c := blockClass[r>>blockShift]; c != classHan {
				return c, 3
			}
			return classHan + class(traditional[(r-firstHan)/64]>>(r%64)&1), 3
		}
	case b0 < 0xF5:
		if left > 3 && text[i+1]&0xC0 == 0x80 && text[i+2]&0xC0 == 0x80 && text[i+3]&0xC0 == 0x80 {
			if b0 == 0xF0 && text[i+1] == 0x9F { // U+1F000 to U+1FFFF
				return classEmoji, 4
			}
			return classRare, 4
		}
	}
	return classInvalid, 1
}
