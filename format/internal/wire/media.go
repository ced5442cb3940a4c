package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	_ "image/gif"  // for image.DecodeConfig, as the next ones
	_ "image/jpeg" // the same
	_ "image/png"  // the same
	"io"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// Base64 describes a picture that a JSON string holds in base64. Only its head is decoded. The type is what the
// request says, and if it says nothing what the bytes say.
func Base64(data []byte, v jsonspan.Span, mime string) pemmican.MediaInfo {
	if jsonspan.KindAt(data, v) != jsonspan.KindString || v.End-v.Start < 2 {
		return pemmican.MediaInfo{Type: mime}
	}
	return describe(data[v.Start+1:v.End-1], mime)
}

// URL describes media by the address in a JSON string, which may be a data URL that holds it.
func URL(data []byte, v jsonspan.Span) pemmican.MediaInfo {
	if jsonspan.KindAt(data, v) != jsonspan.KindString || v.End-v.Start < 2 {
		return pemmican.MediaInfo{}
	}
	raw := data[v.Start+1 : v.End-1]
	if !bytes.HasPrefix(raw, []byte("data:")) {
		return pemmican.MediaInfo{Name: Text(data, v)}
	}
	head, body, _ := bytes.Cut(raw[:min(len(raw), headSize)], []byte{','})
	mime := string(unslash(head[len("data:"):]))
	mime, _, encoded := strings.Cut(mime, ";base64")
	if !encoded {
		return pemmican.MediaInfo{Type: mime}
	}
	return describe(body, mime)
}

// headSize is how much of a picture is looked at for its size, in bytes of base64: what a camera writes in front of it
// may be two segments of 64 KB.
const headSize = 256 << 10

func describe(raw []byte, mime string) pemmican.MediaInfo {
	info := pemmican.MediaInfo{Type: mime}
	if mime != "" && !strings.HasPrefix(mime, "image/") {
		return info
	}
	raw = unslash(raw[:min(len(raw), headSize)])
	r := base64.NewDecoder(base64.StdEncoding, bytes.NewReader(raw))
	// Pictures tell their size in the first bytes, but for JPEG.
	var head [30]byte
	n, _ := io.ReadFull(r, head[:])
	var kind string
	if w, h, ok := webp(head[:n]); ok {
		kind, info.Width, info.Height = "webp", w, h
	} else if c, k, err := image.DecodeConfig(io.MultiReader(bytes.NewReader(head[:n]), r)); err == nil {
		kind, info.Width, info.Height = k, c.Width, c.Height
	}
	if info.Type == "" && kind != "" {
		info.Type = "image/" + kind
	}
	return info
}

// unslash undoes the one escape that base64 in JSON may have.
func unslash(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return bytes.ReplaceAll(raw, []byte(`\/`), []byte(`/`))
}

// webp reads the size from the head of a WebP file, which is in one of three places.
// See https://developers.google.com/speed/webp/docs/riff_container.
func webp(b []byte) (w, h int, ok bool) {
	if len(b) < 30 || string(b[:4]) != "RIFF" || string(b[8:12]) != "WEBP" {
		return 0, 0, false
	}
	le := binary.LittleEndian
	switch string(b[12:16]) {
	case "VP8 ":
		return int(le.Uint16(b[26:]) & 0x3fff), int(le.Uint16(b[28:]) & 0x3fff), true
	case "VP8L":
		bits := le.Uint32(b[21:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1, true
	case "VP8X":
		return int(le.Uint32(b[24:])&0xffffff) + 1, int(le.Uint32(b[26:])>>8) + 1, true
	}
	return 0, 0, false
}
