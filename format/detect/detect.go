// Package detect finds the format of an input by its content, and decodes it.
package detect

import (
	"fmt"
	"strings"

	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/format/anthropic"
	"github.com/pemmican-dev/pemmican/format/claudecode"
	"github.com/pemmican-dev/pemmican/format/openaichat"
	"github.com/pemmican-dev/pemmican/format/pi"
)

// known are the formats, the ones that are told by the surest marks first.
var known = []struct {
	name   string
	detect func([]byte) bool
	decode func([]byte) (format.Document, error)
}{
	{pi.Name, pi.Detect, func(data []byte) (format.Document, error) { return document(pi.Decode(data)) }},
	{claudecode.Name, claudecode.Detect, func(data []byte) (format.Document, error) { return document(claudecode.Decode(data)) }},
	{anthropic.Name, anthropic.Detect, func(data []byte) (format.Document, error) { return document(anthropic.Decode(data)) }},
	{openaichat.Name, openaichat.Detect, func(data []byte) (format.Document, error) { return document(openaichat.Decode(data)) }},
}

// document keeps a nil pointer of a format from becoming a Document that is not nil.
func document[D format.Document](doc D, err error) (format.Document, error) {
	if err != nil {
		return nil, err
	}
	return doc, nil
}

// Names are the names of the formats that can be read.
func Names() []string {
	names := make([]string, len(known))
	for i := range known {
		names[i] = known[i].name
	}
	return names
}

// Decode reads an input of any known format. Name is the format's name, or "" to find it by the content. The error is
// a *format.Error, or wraps format.ErrUnknownFormat.
func Decode(data []byte, name string) (format.Document, error) {
	for _, k := range known {
		if name == k.name || name == "" && k.detect(data) {
			return k.decode(data)
		}
	}
	if name != "" {
		return nil, &format.Error{Msg: fmt.Sprintf("%q is no format", name), Mend: "use one of " + strings.Join(Names(), ", "), Err: format.ErrUnknownFormat}
	}
	if len(data) == 0 {
		return nil, &format.Error{Msg: "the input is empty", Err: format.ErrUnknownFormat}
	}
	return nil, &format.Error{
		Msg:  "this is no transcript of a known format",
		Mend: "name it with --format if you know better: " + strings.Join(Names(), ", "),
		Err:  format.ErrUnknownFormat,
	}
}
