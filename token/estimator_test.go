package token_test

import (
	"math"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/estimate"
	"github.com/pemmican-dev/pemmican/token"
	"pgregory.net/rapid"
)

func text(s string) *pemmican.Block { return &pemmican.Block{Text: s} }

func image(width, height, bytes int) *pemmican.Block {
	return &pemmican.Block{
		Kind: pemmican.Media, Bytes: bytes,
		Media: pemmican.MediaInfo{Type: "image/png", Width: width, Height: height},
	}
}

func dataURL(bytes int) string { return "data:image/png;base64," + strings.Repeat("iVBORw0K", bytes/8) }

func TestNameAndExact(t *testing.T) {
	var e token.Estimator
	if e.Name() != "estimate:o200k" || e.Exact() {
		t.Errorf("name %q, exact %v", e.Name(), e.Exact())
	}
}

func TestCountByKind(t *testing.T) {
	prose := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 20)
	n := estimate.Tokens(prose)
	args := `{"path":"internal/server/server.go","offset":10}`
	for _, tt := range []struct {
		name  string
		block pemmican.Block
		want  int
	}{
		{"empty text", pemmican.Block{}, 0},
		{"text", pemmican.Block{Text: prose}, n},
		{"summary", pemmican.Block{Kind: pemmican.Summary, Text: prose}, n},
		{"result", pemmican.Block{Kind: pemmican.ToolResult, Text: prose, CallID: "x"}, n},
		{"call", pemmican.Call("x", "read", args), 8 + estimate.Tokens("read") + estimate.Tokens(args)},
		{"call without anything", pemmican.Block{Kind: pemmican.ToolCall}, 8},
		{"reasoning", pemmican.Block{Kind: pemmican.Reasoning, Text: prose}, n},
		{"bound reasoning with text", pemmican.Block{Kind: pemmican.Reasoning, Text: prose, Bound: true}, n},
		// 4,000 bytes of base64 hold 3,000, of which 650 are envelope: 2,350 / 4.
		{"bound reasoning without text", pemmican.Block{Kind: pemmican.Reasoning, Bound: true, Bytes: 4000}, 587},
		{"bound reasoning, short text, long original", pemmican.Block{Kind: pemmican.Reasoning, Bound: true, Text: "Short.", Bytes: 4000}, 587},
		{"bound reasoning of unknown size", pemmican.Block{Kind: pemmican.Reasoning, Bound: true}, 1},
		{"unbound reasoning is not encrypted", pemmican.Block{Kind: pemmican.Reasoning, Bytes: 4000}, 0},
		{"opaque by text", pemmican.Block{Kind: pemmican.Opaque, Text: prose, Bytes: 90_000}, n},
		{"opaque by bytes", pemmican.Block{Kind: pemmican.Opaque, Bytes: 41}, 11},
		{"opaque of nothing", pemmican.Block{Kind: pemmican.Opaque}, 0},
		{"negative size", pemmican.Block{Kind: pemmican.Opaque, Bytes: -7}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := (token.Estimator{}).Count(&tt.block); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestImagesByVendorRule(t *testing.T) {
	for _, tt := range []struct {
		vendor        string
		width, height int
		want          int
	}{
		{"anthropic", 200, 200, 54},
		{"anthropic", 1000, 1000, 1334},
		{"anthropic", 1568, 1568, 1600},
		{"anthropic", 8000, 100, 41}, // scaled to 1,568 × 19.6
		{"anthropic", 0, 0, 1600},
		{"anthropic", 1, 1, 1},
		{"", 1000, 1000, 1334},
		{"some other", 1000, 1000, 1334},
		{"openai", 1024, 1024, 765},  // the vendor's own example
		{"openai", 2048, 4096, 1105}, // the vendor's own example
		{"openai", 100, 100, 255},
		{"openai", 0, 0, 1445},
		{"openai", 1_000_000, 10, 85 + 170*4},
		{"google", 384, 384, 258},
		{"google", 385, 100, 258},
		{"google", 1920, 1080, 1548},
		{"google", 0, 300, 1548},
		{"google", math.MaxInt, math.MaxInt, 16 * 258},
		{"openai", math.MaxInt, math.MaxInt, 765},
		{"anthropic", math.MaxInt, math.MaxInt, 1600},
		{"anthropic", -5, 100, 1600},
	} {
		if got := (token.Estimator{Vendor: tt.vendor}).Count(image(tt.width, tt.height, 1<<20)); got != tt.want {
			t.Errorf("%q %d×%d: got %d, want %d", tt.vendor, tt.width, tt.height, got, tt.want)
		}
	}
}

func TestDocuments(t *testing.T) {
	doc := func(mime, name string, bytes int) *pemmican.Block {
		return &pemmican.Block{Kind: pemmican.Media, Bytes: bytes, Media: pemmican.MediaInfo{Type: mime, Name: name}}
	}
	for _, tt := range []struct {
		name, vendor string
		block        *pemmican.Block
		want         int
	}{
		{"pdf of one page", "anthropic", doc("application/pdf", "", 60_000), 2600},
		{"pdf of three pages", "anthropic", doc("application/pdf", "", 200_000), 3 * 2600},
		{"huge pdf", "anthropic", doc("application/pdf", "", 30<<20), 20 * 2600},
		{"pdf of unknown size", "anthropic", doc("application/pdf", "", 0), 2600},
		{"pdf by name", "google", doc("", "Paper.PDF", 140_000), 2 * 258},
		{"pdf", "openai", doc("application/pdf", "", 1), 1765},
		{"text document", "", doc("text/plain", "a.txt", 8_000), 2_000},
		{"huge document", "", doc("application/zip", "", 90<<20), 50_000},
		{"document of unknown size", "", doc("text/csv", "", 0), 2_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := (token.Estimator{Vendor: tt.vendor}).Count(tt.block); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

// The rows IMG-01, 02, 04, 05 and 14 of the faults: a picture costs what a picture costs, whatever its base64 weighs.

func flat(t *testing.T, b *pemmican.Block) {
	t.Helper()
	for _, vendor := range []string{"", "anthropic", "openai", "google"} {
		if n := (token.Estimator{Vendor: vendor}).Count(b); n < 200 || n > 5000 {
			t.Errorf("vendor %q: %d tokens, want 200 to 5,000", vendor, n)
		}
	}
}

func TestIMG01_BigImageIsFlat(t *testing.T) { flat(t, image(0, 0, 3_300_000)) }

func TestIMG02_ImageAndHi(t *testing.T) {
	var tr pemmican.Transcript
	tr.Add(pemmican.User, pemmican.Block{Text: "hi"}, *image(0, 0, 3_000_000))
	sum := 0
	for i := range tr.Blocks {
		sum += token.Estimator{}.Count(&tr.Blocks[i])
	}
	if sum < 200 || sum > 5000 {
		t.Errorf("%d tokens, want 200 to 5,000", sum)
	}
}

func TestIMG04_DataURLOfTwoMillionCharacters(t *testing.T) {
	flat(t, image(0, 0, 2_007_602))
	flat(t, text(dataURL(2_007_602)))
}

func TestIMG05_SizeOfInlineDataMakesNoDifference(t *testing.T) {
	for _, vendor := range []string{"", "openai", "google"} {
		e := token.Estimator{Vendor: vendor}
		if a, b := e.Count(image(0, 0, 100<<10)), e.Count(image(0, 0, 5<<20)); a != b {
			t.Errorf("vendor %q: %d and %d", vendor, a, b)
		}
		if a, b := e.Count(text(dataURL(100<<10))), e.Count(text(dataURL(5<<20))); a != b {
			t.Errorf("vendor %q, as text: %d and %d", vendor, a, b)
		}
	}
}

func TestIMG14_DataURLInATextPart(t *testing.T) {
	flat(t, text(dataURL(1_000_000)))
	flat(t, text("\n "+dataURL(1_000_000)+"\n"))
	flat(t, &pemmican.Block{Kind: pemmican.ToolResult, Text: "DATA:image/jpeg;charset=x;BASE64," + strings.Repeat("A", 300_000)})

	// What a provider would take for text is text.
	for _, s := range []string{
		"<img src='" + dataURL(40_000) + "'>",
		dataURL(40_000) + " and what does it show?",
		"data:image/svg+xml;utf8," + strings.Repeat("<g/>", 10_000),
		"data: " + strings.Repeat("1,2,3 ", 10_000),
	} {
		if got, want := (token.Estimator{}).Count(text(s)), estimate.Tokens(s); got != want {
			t.Errorf("%.40q…: got %d, want %d", s, got, want)
		}
	}
}

func TestTOK14_HanAndEmoji(t *testing.T) {
	// Common characters, so that not one trick of one of them decides.
	han := strings.Repeat("我们今天在这里讨论如何压缩一个很长的对话而不丢失任何重要的信息", 400)
	runes := len([]rune(han))
	if n := (token.Estimator{}).Count(text(han)); float64(n) < 0.6*float64(runes) {
		t.Errorf("%d Han characters: %d tokens", runes, n)
	}
	same := strings.Repeat("的", 10_000)
	if n := (token.Estimator{}).Count(text(same)); n < 6_000 {
		t.Errorf("10,000 times the same Han character: %d tokens", n)
	}
	emoji := strings.Repeat("😀🚀🔥🎉", 500)
	if n := (token.Estimator{}).Count(text(emoji)); n < 2_000 {
		t.Errorf("2,000 emoji: %d tokens", n)
	}
}

func TestRatio(t *testing.T) {
	prose := strings.Repeat("some words in a row ", 50)
	n := estimate.Tokens(prose)
	for _, tt := range []struct {
		ratio float64
		want  int
	}{
		{0, n},
		{1, n},
		{1.3, int(math.Round(float64(n) * 1.3))},
		{0.5, int(math.Round(float64(n) * 0.5))},
		{-1, n}, {1000, n}, {math.NaN(), n}, {math.Inf(1), n},
	} {
		e := token.Estimator{Ratio: tt.ratio}
		if got := e.Count(text(prose)); got != tt.want {
			t.Errorf("ratio %v: got %d, want %d", tt.ratio, got, tt.want)
		}
		if got := e.Count(image(0, 0, 1)); got != 1600 {
			t.Errorf("ratio %v: a picture counts %d", tt.ratio, got)
		}
		if got := e.Count(text("a")); got < 1 {
			t.Errorf("ratio %v: a letter counts %d", tt.ratio, got)
		}
	}
}

// anyBlock draws a block of any kind, out of a few parts so that equal ones come up.
func anyBlock() *rapid.Generator[pemmican.Block] {
	s := rapid.OneOf(rapid.SampledFrom([]string{"", "a", "read", "text/plain", "image/png", "some longer text"}), rapid.String())
	size := rapid.OneOf(rapid.IntRange(0, 5000), rapid.Int())
	return rapid.Custom(func(t *rapid.T) pemmican.Block {
		return pemmican.Block{
			Kind:  pemmican.Kind(rapid.IntRange(0, int(pemmican.Opaque)).Draw(t, "kind")),
			Text:  s.Draw(t, "text"),
			Tool:  s.Draw(t, "tool"),
			Args:  s.Draw(t, "args"),
			Error: rapid.Bool().Draw(t, "error"),
			Bound: rapid.Bool().Draw(t, "bound"),
			Bytes: size.Draw(t, "bytes"),
			Media: pemmican.MediaInfo{
				Type: s.Draw(t, "type"), Name: s.Draw(t, "name"),
				Width: size.Draw(t, "width"), Height: size.Draw(t, "height"),
			},
		}
	})
}

// Counts are additive: what a block counts depends on nothing but the block, so that the count of a transcript is the
// sum, in whatever order and company.
func TestAdditive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blocks := rapid.SliceOf(anyBlock()).Draw(t, "blocks")
		e := token.Estimator{
			Vendor: rapid.SampledFrom([]string{"", "anthropic", "openai", "google"}).Draw(t, "vendor"),
			Ratio:  rapid.Float64Range(0, 2).Draw(t, "ratio"),
		}
		var tr pemmican.Transcript
		alone := 0
		for _, b := range blocks {
			n := e.Count(&b)
			if n < 0 {
				t.Fatalf("%d tokens", n)
			}
			alone += n
			tr.Add(pemmican.User, b)
		}
		sum := 0
		for i := len(tr.Blocks) - 1; i >= 0; i-- {
			tr.Blocks[i].CallID, tr.Blocks[i].Pinned = "id", true
			sum += e.Count(&tr.Blocks[i])
		}
		if sum != alone {
			t.Fatalf("alone %d, in a transcript %d", alone, sum)
		}
	})
}

func FuzzCount(f *testing.F) {
	f.Add(byte(0), "text", "", "image/png", "anthropic", 10, 20, 30, 1.0)
	f.Add(byte(3), "", "", "", "openai", -1, 0, 1<<40, -2.0)
	f.Add(byte(4), "", "", "application/pdf", "google", 0, 0, math.MinInt, math.Inf(1))
	f.Add(byte(0), dataURL(5000), "", "", "", 0, 0, 0, 0.0)
	cache := token.NewCache(token.Estimator{}, 64)
	f.Fuzz(func(t *testing.T, kind byte, text, args, mime, vendor string, w, h, bytes int, ratio float64) {
		b := pemmican.Block{
			Kind: pemmican.Kind(kind % 7), Text: text, Args: args, Bound: kind > 127, Bytes: bytes,
			Media: pemmican.MediaInfo{Type: mime, Width: w, Height: h},
		}
		e := token.Estimator{Vendor: vendor, Ratio: ratio}
		n := e.Count(&b)
		if n < 0 || n != e.Count(&b) {
			t.Fatalf("%d tokens, then %d", n, e.Count(&b))
		}
		if got, want := cache.Count(&b), (token.Estimator{}).Count(&b); got != want {
			t.Fatalf("cached %d, counted %d", got, want)
		}
	})
}
