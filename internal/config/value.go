package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/pemmican-dev/pemmican/internal/quantity"
	"github.com/pemmican-dev/pemmican/session"
)

// The keys whose values are made right element by element, as the older extension does with its own: one bad name in a list
// does not cost the others.
const (
	keyCompactModel       = "compactModel"
	keyReminderThresholds = "reminderThresholds"
	keyExcludedModels     = "excludedModels"
)

// set puts a value, as TOML or JSON has it, into the settings. What it says was passed over of it, a line each.
func (k key) set(s *session.Settings, value any) (passed []string, err error) {
	field := k.field(s)
	switch k.name {
	case keyCompactModel:
		model, ok := modelOf(value)
		if ok && (session.Settings{MaxWait: 1, CompactModel: model}).Valid() != nil {
			model, ok = "", false
		}
		if !ok {
			passed = append(passed, "it is neither \"provider/model\" nor \"mechanical\", and the session's own model is followed")
		}
		s.CompactModel = model
		return passed, nil
	case keyReminderThresholds:
		tiers, passed, err := tiersOf(value)
		if err == nil && len(tiers) > 0 {
			s.ReminderThresholds = tiers
		}
		return passed, err
	case keyExcludedModels:
		models, passed, err := modelsOf(value)
		if err == nil {
			s.ExcludedModels = models
		}
		return passed, err
	}
	text, isText := value.(string)
	switch {
	case k.typ == reflect.TypeFor[[]string]():
		list, err := strs(value)
		if err != nil {
			return nil, err
		}
		field.Set(reflect.ValueOf(list))
		return nil, nil
	case k.typ.Kind() == reflect.Int && isText:
		n, err := quantity.Tokens(text)
		if err != nil {
			return nil, err
		}
		field.SetInt(int64(n))
		return nil, nil
	case k.typ.Kind() == reflect.Bool:
		if _, ok := value.(bool); !ok {
			return nil, errors.New("want true or false")
		}
	}
	return nil, decode(value, field.Addr().Interface())
}

// decode puts a value into what p points to, by way of its JSON form, which the types of settings know.
func decode(value, p any) error {
	data, err := json.Marshal(whole(value))
	if err != nil {
		return fmt.Errorf("%v is no value of a setting", value)
	}
	err = json.Unmarshal(data, p)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		want := map[reflect.Kind]string{reflect.Int: "a whole number", reflect.String: "a text in quotes", reflect.Bool: "true or false"}[wrong.Type.Kind()]
		return fmt.Errorf("want %s, not %s", cmp.Or(want, wrong.Type.String()), data)
	}
	return err
}

// number is a value that is a number.
func number(value any) (f float64, ok bool) {
	switch v := value.(type) {
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// whole is a number that is written with a fraction or an exponent, and is a whole one, as such.
func whole(value any) any {
	if f, ok := number(value); ok && f == math.Trunc(f) && math.Abs(f) <= quantity.MostTokens {
		return int64(f)
	}
	return value
}

// modelOf is who writes summaries, "" where that is another shape: a name, or the older extension's reference to one.
func modelOf(value any) (model string, ok bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case map[string]any:
		return refOf(v)
	}
	return "", false
}

// refOf is the model that a reference of the older extension names.
func refOf(value any) (model string, ok bool) {
	object, _ := value.(map[string]any)
	if object["type"] != "ref" {
		return "", false
	}
	model, ok = object["ref"].(string)
	return model, ok
}

// tiersOf are the thresholds of a list that are some. Settings.Normalise puts them in order.
func tiersOf(value any) (tiers []session.Threshold, passed []string, err error) {
	list, ok := value.([]any)
	if !ok {
		return nil, nil, errors.New("want a list such as [\"20%\", \"400k\"]")
	}
	for _, v := range list {
		var t session.Threshold
		if f, ok := number(v); ok {
			v = math.Round(f)
		}
		if err := decode(v, &t); err != nil || t == (session.Threshold{}) {
			passed = append(passed, shown(v)+" is no threshold, and is left out")
			continue
		}
		tiers = append(tiers, t)
	}
	if len(tiers) > session.MostTiers {
		passed = append(passed, fmt.Sprintf("there are %d tiers, and the lowest %d count", len(tiers), session.MostTiers))
	}
	if len(tiers) == 0 {
		passed = append(passed, "it has no tier, and the defaults are used")
	}
	return tiers, passed, nil
}

// modelsOf are the names of a list that are "provider/model".
func modelsOf(value any) (models, passed []string, err error) {
	list, ok := value.([]any)
	if !ok {
		return nil, nil, errors.New("want a list such as [\"provider/model\"]")
	}
	models = []string{}
	for _, v := range list {
		name, _ := v.(string)
		if !strings.Contains(name, "/") {
			passed = append(passed, shown(v)+" is no \"provider/model\", and is left out")
			continue
		}
		models = append(models, name)
	}
	return models, passed, nil
}

func strs(value any) ([]string, error) {
	list, ok := value.([]any)
	out := make([]string, len(list))
	for i, v := range list {
		if out[i], ok = v.(string); !ok {
			break
		}
	}
	if !ok {
		return nil, errors.New("want a list of texts in quotes: the program, and each of its arguments")
	}
	return out, nil
}

// shown is a value as a line shows it.
func shown(v any) string {
	text := encoded(v)
	if len(text) > 60 {
		return fmt.Sprintf("a value of %d bytes", len(text))
	}
	return text
}

// encoded is a value as JSON, which for what settings have is TOML too.
func encoded(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.ReplaceAll(strings.TrimSpace(b.String()), "\x7f", `\u007f`) // which TOML wants escaped
}

// read is the value that a text from the environment, a flag or a command has for this key. A list is JSON, or has commas
// between its elements; a command is JSON, or has blanks between its words.
func (k key) read(text string) (any, error) {
	switch {
	case k.typ.Kind() == reflect.Bool:
		v, err := strconv.ParseBool(text)
		if err != nil {
			return nil, errors.New("want true or false")
		}
		return v, nil
	case k.typ.Kind() == reflect.Slice && strings.HasPrefix(strings.TrimSpace(text), "["):
		v, err := decodeJSON([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("it is no list in JSON: %w", err)
		}
		return v, nil
	case k.typ.Kind() == reflect.Slice:
		parts := strings.Fields(text)
		if k.name == keyReminderThresholds || k.name == keyExcludedModels {
			parts = strings.Split(text, ",")
		}
		list := []any{}
		for _, part := range parts {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
		return list, nil
	case k.typ.Kind() == reflect.Int:
		n, err := quantity.Tokens(text)
		return int64(n), err
	}
	return text, nil
}
