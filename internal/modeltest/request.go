package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Request is one request that the server got.
type Request struct {
	// API is whose request it is, "" for one that no model answers: the list of models, or a path that does not exist.
	API API
	// Path is the path with the query.
	Path string
	// Header as received, the key included.
	Header http.Header
	// Body as received, byte for byte.
	Body []byte
	// Model that the body names.
	Model string
	// Stream is whether a stream was asked for.
	Stream bool
	// MaxTokens is the limit of the output that was asked for, in tokens, 0 for none.
	MaxTokens int
	// Tokens of the input, by the count of Config.
	Tokens int
	// Refused is the text with which the request was refused by itself; "" for one that got a reply of the script.
	Refused string
}

// Message is one message of a conversation. The same conversation has the same messages in all three APIs.
type Message struct {
	// Role is system, user, assistant or tool. A developer's message and top-level system text are system messages.
	Role string
	// Text is the content, its parts joined with a line feed; a part that is no text is its type in brackets. Of a tool
	// message it is the result.
	Text string
	// Reasoning of an assistant message, as far as it can be read.
	Reasoning string
	// Calls of an assistant message, as "id name arguments", the arguments as JSON text.
	Calls []string
	// CallID that a tool message answers. Each result is a message of its own.
	CallID string
}

// String is the message on one line.
func (m Message) String() string {
	var s strings.Builder
	s.WriteString(m.Role)
	if m.CallID != "" {
		s.WriteString(" " + m.CallID)
	}
	if m.Reasoning != "" {
		fmt.Fprintf(&s, " (%q)", m.Reasoning)
	}
	fmt.Fprintf(&s, " %q", m.Text)
	for _, c := range m.Calls {
		s.WriteString(" [" + c + "]")
	}
	return s.String()
}

// Messages are the messages of the request, nil if its body cannot be read.
func (r Request) Messages() []Message {
	for _, d := range []dialect{anthropicAPI{}, chatAPI{}, responsesAPI{}} {
		if d.api() != r.API {
			continue
		}
		if in, err := d.read(r.Body); err == nil {
			return in.messages()
		}
	}
	return nil
}

// dialect is how one API asks and answers.
type dialect interface {
	api() API
	// read reads a body. The error says that its shape is wrong, whatever the rules.
	read(body []byte) (wire, error)
	// around returns a fault of the headers, or of the size.
	around(r Request) *fault
	// overflow is the error for an input that is larger than the window, outputLimit for one that leaves no room.
	overflow(input, window int) Error
	outputLimit(input, output, window int) Error
	// callPrefix is what the ids of calls begin with.
	callPrefix() string

	// plain is the whole answer.
	plain(a *answer) object
	// stream are the events of an answer, and how many of them come before those that end it.
	stream(a *answer) (events []event, content int)
	// envelope is an error in place of an answer, and failure one in the middle of a stream, behind n events.
	envelope(status int, e Error) object
	failure(a *answer, n int) event
}

// wire is a request in one dialect.
type wire interface {
	common() *common
	messages() []Message
	// parts are what the prompt cache compares, in its order.
	parts() []part
	// seal signs reasoning that answers this request.
	seal(reasoning string) string
	// refuse returns the first rule of the API that the request breaks.
	refuse(rules rules) *fault
}

// common is what all requests have.
type common struct {
	model         string
	stream        bool
	maxTokens     int
	includeUsage  bool // of Chat
	includeSealed bool // of Responses: encrypted_content
}

// content is a text, or a list of parts with text.
type content []byte

// UnmarshalJSON keeps the bytes.
func (c *content) UnmarshalJSON(b []byte) error {
	*c = bytes.Clone(b)
	return nil
}

// contentPart is one part, with the members of all APIs that hold text.
type contentPart struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

func (c content) absent() bool { return len(c) == 0 || string(c) == "null" }

// text returns the string, if the content is one.
func (c content) text() (string, bool) {
	var s string
	err := json.Unmarshal(c, &s)
	return s, err == nil && !c.absent()
}

// list returns the parts, if the content is a list.
func (c content) list() ([]json.RawMessage, bool) {
	var l []json.RawMessage
	err := json.Unmarshal(c, &l)
	return l, err == nil && !c.absent()
}

// String is the text, as Message has it.
func (c content) String() string {
	if s, ok := c.text(); ok {
		return s
	}
	list, _ := c.list()
	texts := make([]string, 0, len(list))
	for _, raw := range list {
		texts = append(texts, partText(raw))
	}
	return strings.Join(texts, "\n")
}

// partText is the text of a part, or its type in brackets.
func partText(raw []byte) string {
	var p contentPart
	_ = json.Unmarshal(raw, &p) // what has no such members has no text
	switch {
	case p.Text != "" || strings.HasSuffix(p.Type, "text"):
		return p.Text
	case p.Refusal != "":
		return p.Refusal
	}
	return "[" + p.Type + "]"
}

// compact is JSON without space between its values; what is no JSON is as it is.
func compact(raw []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}
