package token

import (
	"math"
	"strings"

	"github.com/pemmican-dev/pemmican"
)

// The rules for media, as the vendors have published them (November 2026). They are estimates: models differ.
const (
	// Anthropic: width × height / 750, after scaling the long edge to 1,568 pixels; about 1,600 at most.
	anthropicEdge = 1568
	anthropicArea = 750
	anthropicMost = 1600

	// OpenAI, the tile models: 85, and 170 for each tile of 512 pixels, after fitting the picture into 2,048 pixels
	// and its short edge into 768. The most is eight tiles: 2,048 × 768.
	openaiBase  = 85
	openaiTile  = 170
	openaiEdge  = 2048
	openaiShort = 768
	openaiMost  = openaiBase + 8*openaiTile

	// Google: 258 up to 384 pixels a side, else for each tile of 768 pixels, after fitting into 3,072 pixels. The
	// usual most is what a screenshot of 1,920 × 1,080 takes, six tiles.
	googleTile  = 258
	googleSmall = 384
	googleSide  = 768
	googleEdge  = 3072
	googleMost  = 6 * googleTile
)

// Documents are counted by their bytes, for want of better, and no guess from bytes passes the bound: one big file
// must not make a transcript look full that is not.
const (
	pdfPageBytes    = 75_000 // base64 of one page of a usual PDF
	pdfPages        = 20     // the bound, in pages
	pdfPageText     = 1_000  // tokens: the text of a page, where a vendor sends it beside the page's picture
	documentBound   = 50_000 // tokens: the bound for other documents
	documentUnknown = 2_000  // tokens: a document of which not even the size is known, such as a file id
)

// mediaTokens is what one picture or document costs; bytes is its size in the input.
func mediaTokens(vendor string, m pemmican.MediaInfo, bytes int) int {
	switch mime := strings.ToLower(m.Type); {
	case strings.HasPrefix(mime, "application/pdf"), mime == "" && hasSuffixFold(m.Name, ".pdf"):
		return pdfTokens(vendor, bytes)
	case mime == "", strings.HasPrefix(mime, "image/"):
		// What has no type is a picture: they are nearly all that agents send.
		return imageTokens(vendor, m.Width, m.Height)
	}
	if bytes <= 0 {
		return documentUnknown
	}
	return min(quarter(bytes), documentBound)
}

// imageTokens is what a picture costs; a width or height that is not positive is unknown.
func imageTokens(vendor string, width, height int) int {
	w, h := float64(width), float64(height)
	known := width > 0 && height > 0
	switch vendor {
	case "openai":
		if !known {
			return openaiMost
		}
		w, h = fit(w, h, max(w, h), openaiEdge)
		w, h = fit(w, h, min(w, h), openaiShort)
		return openaiBase + openaiTile*tiles(w, h, 512)
	case "google":
		if !known {
			return googleMost
		}
		if max(w, h) <= googleSmall {
			return googleTile
		}
		w, h = fit(w, h, max(w, h), googleEdge)
		return googleTile * tiles(w, h, googleSide)
	}
	if !known {
		return anthropicMost
	}
	w, h = fit(w, h, max(w, h), anthropicEdge)
	return max(1, min(anthropicMost, int(math.Ceil(w*h/anthropicArea))))
}

// fit scales w and h down so that the given edge is at most limit; it never scales up.
func fit(w, h, edge, limit float64) (float64, float64) {
	if edge <= limit {
		return w, h
	}
	return w * limit / edge, h * limit / edge
}

// tiles is how many squares of the given side cover w × h; fractions of a pixel come from scaling and take no tile.
func tiles(w, h, side float64) int {
	n := func(x float64) int { return max(1, int(math.Ceil(math.Round(x)/side))) }
	return n(w) * n(h)
}

// pdfTokens guesses the pages of a PDF from its bytes. Anthropic and OpenAI send the text of a page and its picture,
// Google counts a page as one tile.
func pdfTokens(vendor string, bytes int) int {
	pages := 1
	if bytes > pdfPageBytes {
		pages = min((bytes-1)/pdfPageBytes+1, pdfPages)
	}
	switch vendor {
	case "openai":
		return pages * (openaiBase + 4*openaiTile + pdfPageText)
	case "google":
		return pages * googleTile
	}
	return pages * (anthropicMost + pdfPageText)
}

func hasSuffixFold(s, suffix string) bool {
	return len(s) >= len(suffix) && strings.EqualFold(s[len(s)-len(suffix):], suffix)
}
