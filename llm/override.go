package llm

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// override is what a user says of a model.
type override struct {
	key    string // in lower case
	asked  spelling
	strict bool // the key stands for itself alone: what is before the model is not a provider that is known

	name              *string
	window, maxOutput int // 0 is not said
	price             [4]*float64
	reasons, images   *bool
}

// How well an override fits a model, from the least.
const (
	unfit         = iota
	tolerant      // another spelling of the model, at any provider
	tolerantAt    // another spelling of the model, at this provider
	literal       // the very id
	literalJoined // provider/id
)

// matches tells how well the override fits. Providers are all that the model may be of.
func (o *override) matches(provider, model string, asked spelling, providers []string) int {
	switch {
	case provider != "" && strings.EqualFold(o.key, provider+"/"+model):
		return literalJoined
	case strings.EqualFold(o.key, model):
		return literal
	case o.strict || o.asked.form != asked.form && (o.asked.form != asked.base || o.asked.form != o.asked.base):
		return unfit
	case o.asked.provider == "":
		return tolerant
	}
	// Who it is asked of decides; who else it may be of counts only if nobody is named.
	for _, p := range providers {
		if p != "" {
			if p == o.asked.provider {
				return tolerantAt
			}
			return unfit
		}
	}
	return unfit
}

func (o *override) apply(m *Model) {
	if o.name != nil {
		m.Name = *o.name
	}
	if o.window > 0 {
		m.Window = o.window
	}
	if o.maxOutput > 0 {
		m.MaxOutput = o.maxOutput
	}
	for i, at := range [...]*float64{&m.Price.Input, &m.Price.Output, &m.Price.CacheRead, &m.Price.CacheWrite} {
		if o.price[i] != nil {
			*at = *o.price[i]
		}
	}
	if o.reasons != nil {
		m.Reasons = *o.reasons
	}
	if o.images != nil {
		m.Images = *o.images
	}
}

const overrideMend = `it must be like {"models": {"openai/my-model": {"window": 32768, "max_output": 4096, "price": {"input": 1, "output": 2}}}}`

// Override takes what a user says of models, as JSON:
//
//	{"models": {
//	  "openai/my-model": {"window": 32768, "max_output": 4096, "price": {"input": 1, "output": 2, "cache_read": 0.1, "cache_write": 1.25}},
//	  "my-model": {"name": "Mine", "reasons": true, "images": false}}}
//
// A model stands for itself at any provider, or behind the name of one for that one alone, in which case it wins. Every
// field is optional and stands over what is known; what an earlier Override has said of other fields stays. Other members
// beside models are not looked at. If there is an error, nothing changes: it says where, and what to write instead.
func (c *Catalogue) Override(data []byte) error {
	models, err := readMember(data, "models", overrideMend)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.overrides)
	for k, v := range jsonspan.Members(data, models) {
		name, _ := jsonspan.String(data, k)
		key := strings.ToLower(strings.TrimSpace(name))
		where := "models." + strconv.Quote(name)
		if key == "" {
			return wrong(data, k, where, "names no model", `give its id, or provider/id`)
		}
		i, known := slices.BinarySearchFunc(all, key, func(o override, key string) int { return cmp.Compare(o.key, key) })
		if !known {
			o := override{key: key, asked: spell(key)}
			o.strict = o.asked.form == "" || strings.Contains(key, "/") && o.asked.provider == ""
			all = slices.Insert(all, i, o)
		}
		if err := all[i].read(data, v, where); err != nil {
			return err
		}
	}
	c.overrides = all
	return nil
}

// read takes the fields of one model.
func (o *override) read(data []byte, s jsonspan.Span, where string) error {
	if jsonspan.KindAt(data, s) != jsonspan.KindObject {
		return wrong(data, s, where, "is no object", overrideMend)
	}
	for k, v := range jsonspan.Members(data, s) {
		key, _ := jsonspan.String(data, k)
		at := where + "." + key
		var err error
		switch key {
		case "name":
			if text, ok := jsonspan.String(data, v); ok {
				o.name = &text
			} else {
				err = wrong(data, v, at, "is no text", `write it in quotes`)
			}
		case "window":
			o.window, err = readTokens(data, v, at)
		case "max_output":
			o.maxOutput, err = readTokens(data, v, at)
		case "reasons":
			o.reasons, err = readBool(data, v, at)
		case "images":
			o.images, err = readBool(data, v, at)
		case "price":
			err = o.readPrice(data, v, at)
		default:
			err = wrong(data, k, where+"."+strconv.Quote(key), "is no setting of a model", "use name, window, max_output, price, reasons or images")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *override) readPrice(data []byte, s jsonspan.Span, where string) error {
	if jsonspan.KindAt(data, s) != jsonspan.KindObject {
		return wrong(data, s, where, "is no object", `it must be like {"input": 1, "output": 2}`)
	}
	for k, v := range jsonspan.Members(data, s) {
		key, _ := jsonspan.String(data, k)
		i := slices.Index([]string{"input", "output", "cache_read", "cache_write"}, key)
		if i < 0 {
			return wrong(data, k, where+"."+strconv.Quote(key), "is no price", "use input, output, cache_read or cache_write")
		}
		price, ok := jsonspan.Float(data, v)
		if !ok || price < 0 || math.IsInf(price, 0) {
			return wrong(data, v, where+"."+key, "is no price", "give dollars for a million tokens, 0 or more")
		}
		o.price[i] = &price
	}
	return nil
}

func readTokens(data []byte, s jsonspan.Span, where string) (int, error) {
	n, ok := jsonspan.Int(data, s)
	if !ok || n < 1 || n > maxTokens {
		return 0, wrong(data, s, where, "is no number of tokens", "give a whole number from 1 to "+strconv.Itoa(maxTokens))
	}
	return int(n), nil
}

func readBool(data []byte, s jsonspan.Span, where string) (*bool, error) {
	v, ok := jsonspan.Bool(data, s)
	if !ok {
		return nil, wrong(data, s, where, "is neither true nor false", "write one of them")
	}
	return &v, nil
}

// readMember reads a JSON object, and returns a member of it that is an object too.
func readMember(data []byte, name, mend string) (jsonspan.Span, error) {
	root, err := readJSON(data, mend)
	if err != nil {
		return jsonspan.Span{}, err
	}
	v, ok := jsonspan.Get(data, root, name)
	if !ok {
		return jsonspan.Span{}, errors.New("it has no member " + name + "; " + mend)
	}
	if jsonspan.KindAt(data, v) != jsonspan.KindObject {
		return jsonspan.Span{}, wrong(data, v, name, "is no object", mend)
	}
	return v, nil
}

// readJSON returns where the one object of data is.
func readJSON(data []byte, mend string) (jsonspan.Span, error) {
	root, err := jsonspan.Scan(data, 0)
	switch syntax, ok := errors.AsType[*jsonspan.SyntaxError](err); {
	case ok && errors.Is(err, jsonspan.ErrTruncated):
		return root, fmt.Errorf("the JSON ends in the middle, at %s; %s", placeIn(data, len(data)-1), mend)
	case ok:
		return root, fmt.Errorf("this is no JSON from %s on; %s", placeIn(data, syntax.Offset), mend)
	case err != nil:
		return root, errors.New("this is empty; " + mend)
	}
	if rest := bytes.TrimLeft(data[root.End:], " \t\r\n"); len(rest) > 0 {
		return root, fmt.Errorf("this is no JSON from %s on; %s", placeIn(data, len(data)-len(rest)), mend)
	}
	if jsonspan.KindAt(data, root) != jsonspan.KindObject {
		return root, errors.New("this is no JSON object; " + mend)
	}
	return root, nil
}

// wrong is an error at a value: where it is, what is wrong, and how to mend it.
func wrong(data []byte, s jsonspan.Span, where, what, mend string) error {
	return fmt.Errorf("%s: %s %s; %s", placeIn(data, s.Start), where, what, mend)
}

func placeIn(data []byte, offset int) string {
	before := data[:max(min(offset, len(data)), 0)]
	return fmt.Sprintf("line %d, byte %d", bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n'))
}
