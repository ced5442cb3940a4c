package llm

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// ErrNotRequest reports a body that is no request of the protocol: no JSON object, no model, or nothing said yet.
var ErrNotRequest = errors.New("this is no request for a model")

// Body returns a request of our own, streaming and without tools; nil if the protocol is not known.
func (a API) Body(p Prompt) []byte {
	b := make([]byte, 0, len(p.System)+len(p.User)+512)
	b = jsonspan.Quote(append(b, `{"model":`...), p.Model)
	limit := strconv.Itoa(p.MaxTokens)
	switch a {
	case Anthropic:
		b = append(b, `,"max_tokens":`+limit...)
		if p.System != "" {
			b = jsonspan.Quote(append(b, `,"system":`...), p.System)
		}
		b = append(b, `,"messages":[`...)
		b = append(a.appendMessage(b, p.User), `],"stream":true}`...)
	case Chat:
		// Compatible providers know no other name for the limit. The client knows better where that one is refused.
		b = append(b, `,"max_tokens":`+limit+`,"messages":[`...)
		if p.System != "" {
			b = append(jsonspan.Quote(append(b, `{"role":"system","content":`...), p.System), "},"...)
		}
		b = append(a.appendMessage(b, p.User), `],"stream":true,"stream_options":{"include_usage":true}}`...)
	case Responses:
		if p.System != "" {
			b = jsonspan.Quote(append(b, `,"instructions":`...), p.System)
		}
		b = append(b, `,"input":[`...)
		b = append(a.appendMessage(b, p.User), `],"max_output_tokens":`+limit+`,"store":false,"stream":true}`...)
	default:
		return nil
	}
	return b
}

// appendMessage appends a message of a user.
func (a API) appendMessage(b []byte, text string) []byte {
	b = append(b, a.messageStart()...)
	b = jsonspan.Quote(b, text)
	return append(b, a.messageEnd()...)
}

func (a API) messageStart() string {
	switch a {
	case Anthropic:
		return `{"role":"user","content":[{"type":"text","text":`
	case Responses:
		return `{"type":"message","role":"user","content":[{"type":"input_text","text":`
	default:
		return `{"role":"user","content":`
	}
}

func (a API) messageEnd() string {
	if a == Chat {
		return "}"
	}
	return "}]}"
}

// members are those of a request body, by name; of two of the same name the last counts, as for whoever reads the body.
type members struct {
	body   []byte
	span   jsonspan.Span
	values map[string]jsonspan.Span
	end    int // of the last one
}

// openBody finds the members of a body. The error is ErrNotRequest.
func openBody(body []byte) (*members, error) {
	obj, err := jsonspan.Scan(body, 0)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNotRequest, err)
	case jsonspan.KindAt(body, obj) != jsonspan.KindObject:
		return nil, fmt.Errorf("%w: it is no JSON object", ErrNotRequest)
	case len(bytes.TrimSpace(body[obj.End:])) > 0:
		return nil, fmt.Errorf("%w: something follows the JSON object", ErrNotRequest)
	}
	m := &members{body: body, span: obj, values: map[string]jsonspan.Span{}, end: obj.Start + 1}
	for key, val := range jsonspan.Members(body, obj) {
		name, _ := jsonspan.String(body, key)
		m.values[name] = val
		m.end = val.End
	}
	return m, nil
}

// get returns the member that a path leads to.
func (m *members) get(name string, keys ...string) node {
	s, ok := m.values[name]
	if !ok {
		return node{}
	}
	return node{m.body, s}.get(keys...)
}

// add returns the edit that adds a member behind all others.
func (m *members) add(member string) jsonspan.Edit {
	if len(m.values) > 0 {
		member = "," + member
	}
	return insert(m.end, member)
}

func insert(at int, text string) jsonspan.Edit {
	return jsonspan.Edit{Span: jsonspan.Span{Start: at, End: at}, New: []byte(text)}
}

// Model returns the model that a request names, "" if it names none.
func (a API) Model(body []byte) string {
	m, err := openBody(body)
	if err != nil {
		return ""
	}
	return m.get("model").str()
}

// limitNames are the members that bound the output, the one that counts first.
func (a API) limitNames() []string {
	switch a {
	case Responses:
		return []string{"max_output_tokens"}
	case Chat:
		return []string{"max_completion_tokens", "max_tokens"}
	default:
		return []string{"max_tokens"}
	}
}

// OutputLimit returns how many tokens a request lets the model write; false if it sets no limit.
func (a API) OutputLimit(body []byte) (n int, ok bool) {
	m, err := openBody(body)
	if err != nil {
		return 0, false
	}
	for _, name := range a.limitNames() {
		if n := m.get(name).count(); n > 0 {
			return n, true
		}
	}
	return 0, false
}

// WithOutputLimit returns a copy of a request with another output limit, in tokens; all else is byte for byte as it was.
// It is an error if the limit is not positive, or leaves no room beside a thinking budget of Anthropic's, which must be
// below it.
func (a API) WithOutputLimit(body []byte, n int) ([]byte, error) {
	if n <= 0 {
		return nil, fmt.Errorf("an output limit must be positive, not %d", n)
	}
	m, err := openBody(body)
	if err != nil {
		return nil, err
	}
	if a == Anthropic {
		if budget := m.get("thinking", "budget_tokens").count(); budget >= n {
			return nil, fmt.Errorf("the request lets the model think for %d tokens, so its output limit must be above that, not %d", budget, n)
		}
	}
	names := a.limitNames()
	limit := strconv.Itoa(n)
	var edits []jsonspan.Edit
	for _, name := range names {
		if s, ok := m.values[name]; ok {
			edits = append(edits, jsonspan.Edit{Span: s, New: []byte(limit)})
		}
	}
	if len(edits) == 0 {
		edits = append(edits, m.add(`"`+names[len(names)-1]+`":`+limit))
	}
	return splice(body, edits)
}

// renameMember returns a copy of a body with another name for a member; false if it is not there, or the other one is.
func renameMember(body []byte, from, to string) ([]byte, bool) {
	m, err := openBody(body)
	if err != nil {
		return nil, false
	}
	if _, ok := m.values[to]; ok {
		return nil, false
	}
	var edits []jsonspan.Edit
	for key := range jsonspan.Members(body, m.span) {
		if jsonspan.Equal(body, key, from) {
			edits = append(edits, jsonspan.Edit{Span: key, New: []byte(`"` + to + `"`)})
		}
	}
	if len(edits) == 0 {
		return nil, false
	}
	out, err := splice(body, edits)
	return out, err == nil
}

// removeMember returns a copy of a body without a member; false if it is not there.
func removeMember(body []byte, name string) ([]byte, bool) {
	m, err := openBody(body)
	if err != nil {
		return nil, false
	}
	if _, ok := m.values[name]; !ok {
		return nil, false
	}
	var drop []bool
	for key := range jsonspan.Members(body, m.span) {
		drop = append(drop, jsonspan.Equal(body, key, name))
	}
	out, err := splice(body, jsonspan.RemoveElements(body, m.span, func(i int) bool { return drop[i] }))
	return out, err == nil
}
