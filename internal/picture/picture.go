// Package picture reads the sizes of pictures that a transcript holds in base64.
package picture

import (
	"bytes"
	"encoding/base64"
	"image"

	// The formats that providers take.
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"

	_ "golang.org/x/image/webp" // the one that the standard library lacks
)

// headSize is how much of a picture is looked at, in bytes of base64: what a camera writes in front of the size may be
// two segments of 64 KB.
const headSize = 256 << 10

// Size reads the kind of a picture (png, jpeg, gif, webp) and its size in pixels from its head. The picture is the
// content of a JSON string, so a slash may be escaped in it. The results are zero if it cannot be read.
func Size(encoded []byte) (kind string, width, height int) {
	head := encoded[:min(len(encoded), headSize)]
	if bytes.IndexByte(head, '\\') >= 0 {
		head = bytes.ReplaceAll(head, []byte(`\/`), []byte(`/`))
	}
	c, kind, err := image.DecodeConfig(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(head)))
	if err != nil {
		return "", 0, 0
	}
	return kind, c.Width, c.Height
}
