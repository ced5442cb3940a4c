package pi

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"io"

	// The decoders of the formats that pi attaches, besides WebP.
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
)

// imageSize reads the size in pixels from the head of an image in base64, 0 and 0 if it cannot.
func imageSize(encoded []byte) (width, height int) {
	var head [30]byte
	if n, _ := io.ReadFull(reader(encoded), head[:]); n == len(head) && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP" {
		return webpSize(head)
	}
	c, _, err := image.DecodeConfig(reader(encoded))
	if err != nil {
		return 0, 0
	}
	return c.Width, c.Height
}

func reader(encoded []byte) io.Reader {
	return base64.NewDecoder(base64.StdEncoding, bytes.NewReader(encoded))
}

// webpSize reads the three kinds of WebP: lossy, lossless, extended (RFC 9649).
func webpSize(head [30]byte) (width, height int) {
	b := head[20:]
	switch string(head[12:16]) {
	case "VP8 ":
		if b[3] != 0x9d || b[4] != 0x01 || b[5] != 0x2a {
			return 0, 0
		}
		return int(binary.LittleEndian.Uint16(b[6:]) & 0x3fff), int(binary.LittleEndian.Uint16(b[8:]) & 0x3fff)
	case "VP8L":
		if b[0] != 0x2f {
			return 0, 0
		}
		bits := binary.LittleEndian.Uint32(b[1:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1
	case "VP8X":
		u24 := func(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
		return u24(b[4:]) + 1, u24(b[7:]) + 1
	}
	return 0, 0
}
