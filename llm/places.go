package llm

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"time"

	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// evidence is what an answer says of its failure, wherever it says it.
type evidence struct {
	texts []errorText
	// codes are all codes, types, statuses and reasons, as foldCode writes them.
	codes []string
	// code is the innermost of them as it was written, and codeDepth how deep it stood.
	code      string
	codeDepth int
	// status is an HTTP status that a member of the error holds, 0 for none: a stream has begun with 200 by then.
	status int
	// sizes are those that stand in members of their own.
	sizes sizes
	// wait is how long to wait, where a member of its own says so.
	wait time.Duration
}

// errorText is one text that may be the provider's message.
type errorText struct {
	raw, folded string
	code        string // the text as foldCode writes it, "" if it is too long to be nothing but a code
	depth       int
}

// Bounds on what is looked at: an error may echo all of the request.
const (
	maxErrorTexts    = 32
	maxErrorElements = 16  // of an array of errors
	maxErrorDepth    = 12  // of objects inside of objects
	maxErrorStrings  = 2   // of JSON inside of strings
	maxErrorKey      = 64  // bytes of a member's name
	maxErrorCode     = 200 // bytes
)

// gather reads the body of an answer, or the payload of an event of a stream.
func gather(body []byte) *evidence {
	e := &evidence{codeDepth: -1}
	e.document(body, 0, 0)
	return e
}

// document reads what may be JSON, a stream of events, HTML or plain text. Strings counts how many strings it lay inside of.
func (e *evidence) document(data []byte, depth, strs int) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || len(e.texts) >= maxErrorTexts {
		return
	}
	switch data[0] {
	case '{', '[', '"':
		if e.whole(data, depth, strs) || e.half(data, depth) {
			return
		}
	case '<':
		if bytes.Contains(data[:min(len(data), maxFolded)], []byte("</")) && e.markup(data, depth) {
			return
		}
	}
	if e.events(data, depth, strs) {
		return
	}
	text := string(data)
	e.add(text, depth)
	if strs < maxErrorStrings {
		e.embedded(text, depth+1, strs+1)
	}
}

// whole reads data that is one JSON value, and reports whether it said anything.
func (e *evidence) whole(data []byte, depth, strs int) bool {
	s, err := jsonspan.Scan(data, 0)
	if err != nil || len(bytes.TrimSpace(data[s.End:])) > 0 {
		return false
	}
	before := e.amount()
	e.value(data, s, depth, strs)
	return e.amount() > before
}

func (e *evidence) amount() int { return len(e.texts) + len(e.codes) }

// value reads a value that stands where an error may stand.
func (e *evidence) value(data []byte, s jsonspan.Span, depth, strs int) {
	if depth > maxErrorDepth {
		return
	}
	switch jsonspan.KindAt(data, s) {
	case jsonspan.KindObject:
		e.object(data, s, depth, strs)
	case jsonspan.KindArray:
		n := 0
		for el := range jsonspan.Elements(data, s) {
			if n++; n > maxErrorElements {
				break
			}
			e.value(data, el, depth+1, strs)
		}
	case jsonspan.KindString:
		text, _ := jsonspan.String(data, s)
		if strs < maxErrorStrings {
			e.document([]byte(text), depth+1, strs+1)
		} else {
			e.add(text, depth)
		}
	}
}

// object reads the members of an error, or of what holds one. Others may echo the request, so they are not looked at.
func (e *evidence) object(data []byte, s jsonspan.Span, depth, strs int) {
	var names [3]string // code, type, status: the earlier, the better
	for k, v := range jsonspan.Members(data, s) {
		if k.End-k.Start > maxErrorKey || data[k.Start+1] == '@' { // the name of a schema
			continue
		}
		key, _ := jsonspan.String(data, k)
		switch folded := foldCode(key); folded {
		case "error", "errors", "message", "msg", "detail", "details", "response", "incompletedetails", "metadata", "raw", "innererror",
			"cause", "body", "baseresp", "fault", "faultstring", "violations", "errormessage", "errormsg", "errordescription",
			"statusmsg", "title":
			e.value(data, v, depth+1, strs)
		case "code", "errorcode", "statuscode":
			e.name(&names[0], data, v)
		case "type", "errortype":
			e.name(&names[1], data, v)
		case "status", "reason", "quotaid":
			e.name(&names[2], data, v)
		case "nprompttokens":
			e.sizes.input = sizeAt(data, v)
		case "nctx":
			e.sizes.limit = sizeAt(data, v)
		case "retrydelay":
			text, _ := jsonspan.String(data, v)
			e.wait = max(e.wait, waitDuration(text))
		case "resetsinseconds":
			e.wait = max(e.wait, waitSeconds(string(v.Of(data))))
		default:
			if strings.HasSuffix(folded, "exception") { // an event of Bedrock
				e.codes = append(e.codes, folded)
				names[1] = key
				e.value(data, v, depth+1, strs)
			}
		}
	}
	for _, name := range names {
		if name != "" && depth > e.codeDepth {
			e.code, e.codeDepth = oneLine(name), depth
			break
		}
	}
}

// name reads a code, and puts it into at if it says anything to people.
func (e *evidence) name(at *string, data []byte, s jsonspan.Span) {
	text, ok := jsonspan.String(data, s)
	if n, isInt := jsonspan.Int(data, s); isInt {
		if 400 <= n && n <= 599 {
			e.status = int(n)
			return
		}
		text, ok = string(s.Of(data)), true
	}
	folded := foldCode(text)
	if !ok || folded == "" || len(text) > maxErrorCode {
		return
	}
	if eventName.MatchString(folded) {
		return
	}
	e.codes = append(e.codes, folded)
	*at = text
}

// eventName matches names of events and of the state of a reply, as foldCode writes them. They say nothing of a failure.
var eventName = regexp.MustCompile(
	`^(?:error|failed|incomplete|completed|inprogress|badrequest|ping|response\w*|message(?:start|delta|stop)?|contentblock\w*)$`)

func sizeAt(data []byte, s jsonspan.Span) int {
	n, _ := jsonspan.Int(data, s)
	if n < 0 || n > maxTokens {
		return 0
	}
	return int(n)
}

// halfMember finds the members of an error in JSON that was cut off.
var halfMember = regexp.MustCompile(`"(message|Message|msg|detail|error|code|type)"\s*:\s*"((?:[^"\\]|\\.)*)`)

// half reads JSON that breaks off, as it does where somebody bounds a body, and reports whether it said anything.
func (e *evidence) half(data []byte, depth int) bool {
	data = data[:min(len(data), maxFolded)]
	before := e.amount()
	for _, m := range halfMember.FindAllSubmatch(data, maxErrorElements) {
		quoted := append(append([]byte{'"'}, m[2]...), '"')
		s, err := jsonspan.Scan(quoted, 0)
		if err != nil {
			continue
		}
		switch string(m[1]) {
		case "code", "type":
			var name string
			if e.name(&name, quoted, s); name != "" && e.code == "" {
				e.code, e.codeDepth = oneLine(name), depth
			}
		default:
			text, _ := jsonspan.String(quoted, s)
			e.add(text, depth)
		}
	}
	return e.amount() > before
}

// events reads a stream of server-sent events, and reports whether it was one.
func (e *evidence) events(data []byte, depth, strs int) bool {
	if !bytes.HasPrefix(data, []byte("data:")) && !bytes.HasPrefix(data, []byte("event:")) && !bytes.HasPrefix(data, []byte(":")) {
		return false
	}
	found := false
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		payload, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
		payload = bytes.TrimSpace(payload)
		if !ok || len(payload) == 0 || string(payload) == "[DONE]" {
			continue
		}
		found = true
		if !bytes.Contains(payload, []byte(`"error"`)) && (bytes.Contains(payload, []byte(`"delta"`)) || bytes.Contains(payload, []byte(`"choices"`))) {
			continue // one of the many pieces of a reply
		}
		if payload[0] != '{' && payload[0] != '[' {
			e.document(payload, depth, strs)
		} else if !e.whole(payload, depth, strs) { // what is no error is a part of the reply
			e.half(payload, depth)
		}
	}
	return found
}

// embedded reads JSON that stands behind other words in a text.
func (e *evidence) embedded(text string, depth, strs int) {
	text = text[:min(len(text), maxEmbedded)]
	for at, try := 0, 0; try < 3; try++ {
		i := strings.IndexByte(text[at:], '{')
		if i < 0 {
			return
		}
		at += i
		data := []byte(text[at:])
		if s, err := jsonspan.Scan(data, 0); err == nil {
			e.value(data, s, depth, strs)
			at += s.End - 1
		}
		at++
	}
}

// maxEmbedded is how much of a text is searched for JSON, in bytes.
const maxEmbedded = 64 << 10

var (
	htmlTitle  = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
	htmlUnseen = regexp.MustCompile(`(?is)<(?:head|script|style)\b.*?</(?:head|script|style)>|<!--.*?-->`)
	htmlTag    = regexp.MustCompile(`<[^>]*>`)
)

// markup reads a page that something between us and the provider has written, and reports whether it said anything.
func (e *evidence) markup(data []byte, depth int) bool {
	data = data[:min(len(data), maxFolded)]
	before := e.amount()
	if m := htmlTitle.FindSubmatch(data); m != nil {
		e.add(html.UnescapeString(string(m[1])), depth)
	}
	data = htmlUnseen.ReplaceAll(data, []byte(" "))
	e.add(html.UnescapeString(string(htmlTag.ReplaceAll(data, []byte(" ")))), depth)
	return e.amount() > before
}

// add keeps a text.
func (e *evidence) add(text string, depth int) {
	text = strings.TrimSpace(text)
	if text == "" || len(e.texts) >= maxErrorTexts {
		return
	}
	text = boundText(text)
	t := errorText{raw: text, folded: foldText(text), depth: depth}
	if len(t.folded) <= maxErrorKey {
		t.code = foldCode(t.folded)
	}
	e.texts = append(e.texts, t)
}
