package claudecode

import (
	"bytes"
	"encoding/base64"
	"image"
	"io"

	// The decoders of the formats that Claude Code attaches, besides WebP.
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
)

// imageSize reads the size in pixels from the head of an image in base64, 0 and 0 if it cannot.
func imageSize(encoded []byte) (width, height int) {
	r := func() io.Reader { return base64.NewDecoder(base64.StdEncoding, bytes.NewReader(encoded)) }
	c, _, err := image.DecodeConfig(r())
	if err == nil {
		return c.Width, c.Height
	}
	var head [30]byte
	if _, err := io.ReadFull(r(), head[:]); err != nil || string(head[:4]) != "RIFF" || string(head[8:12]) != "WEBP" {
		return 0, 0
	}
	// The three kinds of WebP, RFC 9649: lossy, lossless, extended.
	little := func(from, n int) (v int) {
		for i := range n {
			v |= int(head[from+i]) << (8 * i)
		}
		return v
	}
	switch string(head[12:16]) {
	case "VP8 ":
		if little(23, 3) == 0x2a019d {
			return little(26, 2) & 0x3fff, little(28, 2) & 0x3fff
		}
	case "VP8L":
		if bits := little(21, 4); head[20] == 0x2f {
			return bits&0x3fff + 1, bits>>14&0x3fff + 1
		}
	case "VP8X":
		return little(24, 3) + 1, little(27, 3) + 1
	}
	return 0, 0
}
