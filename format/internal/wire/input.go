// Package wire is what the wire formats of chat models share: where a request lies in a file and which format it has,
// how a plan is applied to a list of messages with content parts, and the rules on text, ids and pairs that all
// providers have.
package wire

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// Input is where a request lies in a file.
type Input struct {
	// Body is the request body, or the bare array of messages.
	Body jsonspan.Span
	// Messages, System and Tools are values in Body; empty if it has none.
	Messages, System, Tools jsonspan.Span
	Model                   string
	// Log is true if the request lies in a record of what was sent, which cannot be sent again.
	Log bool
	// Line is the line that Body starts in, 1-based.
	Line int
	// Warnings are the surprises that were met while looking for it.
	Warnings []string
}

// Bare reports whether the input is an array of messages and no request body.
func (in *Input) Bare() bool { return in.Body == in.Messages }

// bom may stand before a document, though JSON forbids it.
const bom = "\uFEFF"

// Locate finds the request in a file: a body, a bare array of messages, a recorded exchange, or a log of several, of
// which it takes the last that has messages.
func Locate(data []byte) (Input, error) {
	var in Input
	values, found := 0, false
	for item := range jsonspan.Values(data) {
		if item.Err != nil {
			if values == 0 {
				return in, syntaxError(data, item.Err)
			}
			in.Warnings = append(in.Warnings, fmt.Sprintf("line %d is no JSON and was passed over", item.Line))
			continue
		}
		values++
		r, ok := find(data, item.Span)
		if !ok {
			continue
		}
		found = true
		r.Line, r.Warnings = item.Line, in.Warnings
		in = r
	}
	switch {
	case values == 0:
		return in, &format.Error{Msg: "there is no JSON in this input", Mend: "give a request body, or a list of messages"}
	case !found:
		return in, &format.Error{
			Msg:  "there are no messages in this input",
			Mend: "give a request body with messages, or a list of messages",
			Err:  format.ErrUnknownFormat,
		}
	case values > 1 || len(in.Warnings) > 0:
		in.Log = true
		in.Warnings = append(in.Warnings, fmt.Sprintf("this is a log: the last of its requests with messages, in line %d, was read", in.Line))
	}
	if !in.Bare() {
		for key, val := range jsonspan.Members(data, in.Body) {
			switch {
			case jsonspan.Equal(data, key, "system"):
				in.System = val
			case jsonspan.Equal(data, key, "tools"):
				in.Tools = val
			case jsonspan.Equal(data, key, "model"):
				in.Model, _ = jsonspan.String(data, val)
			}
		}
	}
	return in, nil
}

func syntaxError(data []byte, err error) error {
	e := &format.Error{Msg: "this is no JSON", Err: err}
	if s, ok := errors.AsType[*jsonspan.SyntaxError](err); ok {
		e.Line = 1 + bytes.Count(data[:min(s.Offset, len(data))], []byte("\n"))
		e.Msg = fmt.Sprintf("this is no JSON: %s (byte %d)", s.Msg, s.Offset)
	}
	return e
}

// find finds the request in one value. It reads no more than it needs, and values that Scan has not accepted too.
func find(data []byte, v jsonspan.Span) (Input, bool) {
	switch jsonspan.KindAt(data, v) {
	case jsonspan.KindArray:
		return Input{Body: v, Messages: v}, true
	case jsonspan.KindObject:
	default:
		return Input{}, false
	}
	var messages, request, body jsonspan.Span
	answered := false
	for key, val := range jsonspan.Members(data, v) {
		switch {
		case jsonspan.Equal(data, key, "messages"):
			messages = val
		case jsonspan.Equal(data, key, "request"), jsonspan.Equal(data, key, "request_params"):
			request = val
		case jsonspan.Equal(data, key, "body"):
			body = val
		case jsonspan.Equal(data, key, "response"):
			answered = true
		}
	}
	if jsonspan.KindAt(data, messages) == jsonspan.KindArray {
		return Input{Body: v, Messages: messages, Log: answered}, true
	}
	// {request: {…}}, {request_params: {…}}, {body: {…}}, and {request: {body: {…}}}, as recorders of HTTP write it.
	for _, inner := range []jsonspan.Span{request, body} {
		if jsonspan.KindAt(data, inner) != jsonspan.KindObject {
			continue
		}
		if b, ok := jsonspan.Get(data, inner, "body"); ok {
			inner = b
		}
		if m, ok := jsonspan.Get(data, inner, "messages"); ok && jsonspan.KindAt(data, m) == jsonspan.KindArray {
			return Input{Body: inner, Messages: m, Log: true}, true
		}
	}
	return Input{}, false
}
