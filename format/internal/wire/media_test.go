package wire

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

func TestBase64(t *testing.T) {
	img := image.NewPaletted(image.Rect(0, 0, 31, 17), color.Palette{color.Black, color.White})
	encode := func(fn func(w *bytes.Buffer) error) string {
		var b bytes.Buffer
		if err := fn(&b); err != nil {
			t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(b.Bytes())
	}
	picture := encode(func(w *bytes.Buffer) error { return png.Encode(w, img) })
	photo := encode(func(w *bytes.Buffer) error { return jpeg.Encode(w, img, nil) })
	// A camera writes large segments in front of the size.
	raw, _ := base64.StdEncoding.DecodeString(photo)
	segment := append([]byte{0xff, 0xe1, 0xff, 0xff}, make([]byte, 0xffff-2)...)
	large := base64.StdEncoding.EncodeToString(bytes.Join([][]byte{raw[:2], segment, segment, raw[2:]}, nil))
	riff := func(chunk string, rest ...byte) string {
		size := byte(len(rest) + len(rest)%2)
		b := append([]byte("RIFF"+string(size+12)+"\x00\x00\x00WEBP"+chunk+string(size)+"\x00\x00\x00"), rest...)
		return base64.StdEncoding.EncodeToString(append(b, make([]byte, int(size)-len(rest))...))
	}
	for _, test := range []struct {
		name, data, mime string
		want             pemmican.MediaInfo
	}{
		{"png", picture, "image/png", pemmican.MediaInfo{Type: "image/png", Width: 31, Height: 17}},
		{"png without a type", picture, "", pemmican.MediaInfo{Type: "image/png", Width: 31, Height: 17}},
		{"png with escaped slashes", strings.ReplaceAll(picture, "/", `\/`), "", pemmican.MediaInfo{Type: "image/png", Width: 31, Height: 17}},
		{"cut png", picture[:20], "image/png", pemmican.MediaInfo{Type: "image/png"}},
		{"gif", encode(func(w *bytes.Buffer) error { return gif.Encode(w, img, nil) }), "", pemmican.MediaInfo{Type: "image/gif", Width: 31, Height: 17}},
		{"jpeg", photo, "image/jpeg", pemmican.MediaInfo{Type: "image/jpeg", Width: 31, Height: 17}},
		{"jpeg of a camera", large, "image/jpeg", pemmican.MediaInfo{Type: "image/jpeg", Width: 31, Height: 17}},
		{"webp", riff("VP8 ", 0, 0, 0, 0x9d, 0x01, 0x2a, 31, 0x40, 17, 0x40), "", pemmican.MediaInfo{Type: "image/webp", Width: 31, Height: 17}},
		{"webp without loss", riff("VP8L", 0x2f, 30, 0, 4, 0), "", pemmican.MediaInfo{Type: "image/webp", Width: 31, Height: 17}},
		{"extended webp", riff("VP8X", 0, 0, 0, 0, 30, 0, 0, 16, 0, 0), "", pemmican.MediaInfo{Type: "image/webp", Width: 31, Height: 17}},
		{"document", "JVBERi0=", "application/pdf", pemmican.MediaInfo{Type: "application/pdf"}},
		{"no base64", "!!!", "image/png", pemmican.MediaInfo{Type: "image/png"}},
		{"nothing", "", "", pemmican.MediaInfo{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := []byte(`"` + test.data + `"`)
			if diff := cmp.Diff(test.want, Base64(data, jsonspan.Span{End: len(data)}, test.mime)); diff != "" {
				t.Error(diff)
			}
			url := []byte(`"data:` + test.mime + `;base64,` + test.data + `"`)
			if diff := cmp.Diff(test.want, URL(url, jsonspan.Span{End: len(url)})); diff != "" {
				t.Errorf("in a data URL: %s", diff)
			}
		})
	}
	for in, want := range map[string]pemmican.MediaInfo{
		`"https://example.com/a.png"`: {Name: "https://example.com/a.png"},
		`"data:text/plain,hello"`:     {Type: "text/plain"},
		`"data:"`:                     {},
		`null`:                        {},
	} {
		if diff := cmp.Diff(want, URL([]byte(in), jsonspan.Span{End: len(in)})); diff != "" {
			t.Errorf("URL(%s): %s", in, diff)
		}
	}
}

func TestBadBase64(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{`"iVBORw0KGgo="`, ""},
		{`"iVBORw0KGgo"`, ""},    // without padding
		{`"iVBO\nRw0\/+_-"`, ""}, // line breaks, an escaped slash, the other alphabet
		{`""`, "the picture has no data"},
		{`null`, "the picture has no data"},
		{``, "the picture has no data"},
		{`"<redacted>"`, "the data of the picture is no base64"},
		{`"data:image/png;base64,AAAA"`, "the data of the picture is no base64"},
		{`"AAAAA"`, "the data of the picture is no base64"}, // one digit is less than a byte
		{`"AA=A"`, "the data of the picture is no base64"},
		{`"="`, "the data of the picture is no base64"},
		{`"AA\u00e9A"`, "the data of the picture is no base64"},
		{"\"AA\xc1A\"", "the data of the picture is no base64"},
	} {
		if got := BadBase64([]byte(test.in), jsonspan.Span{End: len(test.in)}); got != test.want {
			t.Errorf("BadBase64(%s) = %q, want %q", test.in, got, test.want)
		}
	}
}
