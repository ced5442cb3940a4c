package config

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/pemmican-dev/pemmican/preset"
	"github.com/pemmican-dev/pemmican/session"
)

// about says what each setting is, for people who see it in an editor or in "pemmican config schema".
var about = map[string]string{
	"enabled": "Turns everything on: the tool, the reminders, compaction.",
	keyCompactModel: "Who writes the summary: \"\" is the usual one (in pi the session's own model, elsewhere none), " +
		"\"mechanical\" is no model, \"provider/model\" is that one.",
	keyReminderThresholds: "The tiers at which the agent is reminded of the tool, three at most; each is reached at it and above.",
	keyExcludedModels:     "Models that are left alone, each exactly \"provider/model\".",
	"window":              "The model's context window in tokens; 0 leaves it to the agent and to what is known of the model.",
	"soft":                "Where a summary by a model begins in the background.",
	"hard":                "Where a compaction is made before the request is sent.",
	"block":               "Where a request is not sent any more, if compacting did not help.",
	"counting": "What the thresholds are compared with: the whole next request (next), what the provider has reported, " +
		"else an estimate (reported), or nothing but that (reported-only).",
	"minTurns":         "How many turns a session has at least before a threshold compacts it.",
	"overflowAttempts": "How many compactions in a row are tried because the provider says that a request is too large, until one is answered.",
	"target": "What a compaction comes down to: tokens (\"60k\"), the window without some (\"window-120k\"), " +
		"or a share of what there is (\"30%\"); \"\" is half of the window. It is raised where it leaves no room beside what has to stay.",
	"keepRecent": "What stays as it is at the end, in tokens; 0 leaves it to the preset.",
	"preset":     "The policy of compaction; \"\" is the default one.",
	"thinking": "What the model demands of reasoning that is bound to the text before it: bound is right for every model and leaves alone what " +
		"stands before a running tool loop with such reasoning; in-loop lets the loop keep it; free leaves it out.",
	"outputReserve": "What a request keeps free for its answer where it does not say so itself, in tokens; never more than a quarter of the window.",
	"limits.bytes":  "The most bytes of a request that the provider takes; 0 is no limit that is known.",
	"limits.images": "The most pictures and documents in a request; 0 is no limit that is known.",
	"limits.items":  "The most messages in a request; 0 is no limit that is known.",
	"minGain":       "What a compaction must free to count, in percent of the tokens that there are.",
	"debounce":      "How long after one attempt the next one waits, below the hard threshold.",
	"maxWait":       "How long a summary by a model is waited for.",
	"hooks.before":  "A command before a compaction, a program and its arguments: it may add a focus, or say no.",
	"hooks.after":   "A command after a compaction.",
	"hooks.timeout": "How long a command may take.",
	"language":      "The language of the texts: the person's own (auto), en, or zh.",
	"debug":         "Writes a log file.",
}

// schemaID is where the schema is published.
const schemaID = "https://github.com/pemmican-dev/pemmican/raw/main/docs/pemmican.schema.json"

// object is a JSON object whose members stand in the order in which they were added.
type object []member

type member struct {
	name  string
	value any
}

// with is an object with one more member.
func (o object) with(name string, value any) object { return append(o, member{name, value}) }

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(encoded(m.name) + ":" + encoded(m.value))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// The forms of values.
var (
	tokensForm    = object{{"type", []string{"integer", "string"}}, {"minimum", 0}, {"pattern", `^[0-9]+(_[0-9]+)*(\.[0-9]+)?[kKmM]?$`}}
	durationForm  = object{{"type", "string"}, {"pattern", `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$|^0$`}}
	thresholdForm = object{{"type", []string{"integer", "string"}}, {"minimum", 1}, {"pattern", thresholdPattern}}
)

const (
	amountPattern    = `(window(-[0-9][0-9_]*(\.[0-9]+)?[kKmM%]?)?|[0-9][0-9_]*(\.[0-9]+)?[kKmM%]?)`
	thresholdPattern = `^\s*(|off|(>\s*)?` + amountPattern + `(\s+(min|max)\s+` + amountPattern + `){0,2})\s*$`
)

// form is what values of a key look like.
func (k key) form() object {
	switch {
	case k.name == "counting":
		return object{{"enum", []any{"", session.CountNext, session.CountReported, session.CountReportedOnly}}}
	case k.name == "thinking":
		return object{{"enum", []any{"", session.ThinkingBound, session.ThinkingInLoop, session.ThinkingFree}}}
	case k.name == "language":
		return object{{"enum", []string{"", "auto", "en", "zh"}}}
	case k.name == "preset":
		return object{{"enum", append([]string{""}, preset.Names()...)}}
	case k.name == keyCompactModel:
		return object{{"type", "string"}, {"pattern", "^(|mechanical|[^/]+/.+)$"}}
	case k.name == keyReminderThresholds:
		return object{{"type", "array"}, {"items", thresholdForm}}
	case k.name == keyExcludedModels:
		return object{{"type", "array"}, {"items", object{{"type", "string"}, {"pattern", "/"}}}}
	case k.typ == reflect.TypeFor[session.Threshold]():
		return thresholdForm
	case k.typ == reflect.TypeFor[session.Duration]():
		return durationForm
	case k.typ.Kind() == reflect.Bool:
		return object{{"type", "boolean"}}
	case k.typ.Kind() == reflect.Int:
		return tokensForm
	case k.typ.Kind() == reflect.Slice:
		return object{{"type", "array"}, {"items", object{{"type", "string"}}}}
	}
	return object{{"type", "string"}}
}

// Schema is the JSON Schema of the settings file.
func Schema() []byte {
	defaults := session.DefaultSettings()
	var root object
	var tables []string
	inTable := map[string]object{}
	for _, k := range keys {
		property := slices.Concat(object{{"description", about[k.name]}}, k.form(), object{{"default", json.RawMessage(k.text(defaults))}})
		table, name, nested := strings.Cut(k.name, ".")
		switch {
		case !nested:
			root = root.with(k.name, property)
			continue
		case inTable[table] == nil:
			tables = append(tables, table)
		}
		inTable[table] = inTable[table].with(name, property)
	}
	for _, name := range tables {
		root = root.with(name, object{{"type", "object"}, {"properties", inTable[name]}, {"additionalProperties", false}})
	}
	root = root.with("$schema", object{{"type", "string"}})
	schema := object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"$id", schemaID},
		{"title", "The settings of Pemmican: pemmican.toml, or pemmican.json"},
		{"type", "object"},
		{"properties", root},
		{"additionalProperties", false},
	}
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(encoded(schema)), "", "  "); err != nil {
		panic("config: " + err.Error()) // what is encoded is JSON
	}
	b.WriteByte('\n')
	return b.Bytes()
}
