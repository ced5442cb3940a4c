package wire

import (
	"bytes"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
	"github.com/pemmican-dev/pemmican/internal/picture"
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
	head, body, _ := bytes.Cut(raw, []byte{','})
	mime := string(unslash(head[len("data:"):]))
	mime, _, encoded := strings.Cut(mime, ";base64")
	if !encoded {
		return pemmican.MediaInfo{Type: mime}
	}
	return describe(body, mime)
}

func describe(raw []byte, mime string) pemmican.MediaInfo {
	info := pemmican.MediaInfo{Type: mime}
	if mime != "" && !strings.HasPrefix(mime, "image/") {
		return info
	}
	var kind string
	if kind, info.Width, info.Height = picture.Size(raw); info.Type == "" && kind != "" {
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

// BadBase64 tells what is wrong with the data of a picture, "" if nothing is. Line breaks and both alphabets are taken.
func BadBase64(data []byte, v jsonspan.Span) string {
	if jsonspan.KindAt(data, v) != jsonspan.KindString || v.End-v.Start == 2 {
		return "the picture has no data"
	}
	raw := data[v.Start+1 : v.End-1]
	n, padding := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '\\' && i+1 < len(raw) && strings.IndexByte("nrt", raw[i+1]) >= 0:
			i++
		case c == '\\' && i+1 < len(raw) && raw[i+1] == '/' && !padding:
			i++
			n++
		case c == '=':
			padding = true
		case c == ' ':
		case padding || !digit64[c]:
			return "the data of the picture is no base64"
		default:
			n++
		}
	}
	if n%4 == 1 || n == 0 {
		return "the data of the picture is no base64"
	}
	return ""
}

// digit64 are the digits of both alphabets of base64.
var digit64 = func() (is [256]bool) {
	for c := range is {
		l := c | 0x20
		is[c] = 'a' <= l && l <= 'z' && c < 0x80 || '0' <= c && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_'
	}
	return is
}()
