// Package texts holds every text that an agent or a person reads of a running session, as templates in English and
// Chinese: reminders, the tool and its answers, notices. A text is data, never an order.
//
// The templates are en.tmpl and zh.tmpl. Every value that comes from outside, such as the name of a model or the reason
// of a failure, stands on one line in a text, is bounded, has no secrets and no markup.
package texts

import (
	"embed"
	"reflect"
	"strings"
	"text/template"
)

// ToolName is the name of the tool with which an agent asks for a compaction.
const ToolName = "compact_context"

// Texts are those of one language. They are safe for concurrent use.
type Texts struct{ templates *template.Template }

//go:embed en.tmpl zh.tmpl
var files embed.FS

var english, chinese = load("en.tmpl"), load("zh.tmpl")

func load(file string) *Texts {
	return &Texts{template.Must(template.New(file).Funcs(template.FuncMap{
		"about": about, "dollars": dollars, "exact": exact, "minus": minus, "percent": percent,
	}).ParseFS(files, file))}
}

// In returns the texts of a language: "zh" for Chinese (also "zh-CN", "Chinese", "zh_CN.UTF-8"), English for anything else.
func In(language string) *Texts {
	name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(language)), "-")
	name, _, _ = strings.Cut(name, "_")
	name, _, _ = strings.Cut(name, ".")
	switch name {
	case "zh", "chinese", "中文":
		return chinese
	}
	return english
}

// render executes a template with a copy of data, a struct, in which every string is fit for a line.
func (t *Texts) render(name string, data any) string {
	v := reflect.New(reflect.TypeOf(data)).Elem()
	v.Set(reflect.ValueOf(data))
	for _, f := range v.Fields() {
		if f.Kind() == reflect.String {
			f.SetString(line(f.String()))
		}
	}
	var b strings.Builder
	if err := t.templates.ExecuteTemplate(&b, name, v.Interface()); err != nil {
		panic("texts: " + err.Error()) // A template that does not fit its data is a bug; the tests execute every branch.
	}
	return strings.TrimSpace(b.String())
}

// Tier is a tier of the reminders.
type Tier struct {
	Ordinal int // its place among the configured ones, from 1
	Tokens  int
}

// Reminder is the data of the reminder about tiers that were newly crossed.
type Reminder struct {
	Tokens, Window int    // Window 0 is unknown
	Tiers          []Tier // the new ones
	Tool           string // its name, "" is ToolName
	LowestTier     int
	// Freed is about what a compaction would free in tokens, and Cost what it would cost in dollars; nil is unknown.
	Freed *int
	Cost  *float64
	// Compactions is how many there were.
	Compactions int
}

// Reminder is the text that reminds an agent.
func (t *Texts) Reminder(r Reminder) string {
	if r.Tool == "" {
		r.Tool = ToolName
	}
	return t.render("reminder", r)
}

// Tool is what an agent is told of the tool.
type Tool struct {
	Name, Label, Description, Snippet string
	Guidelines                        []string
	Instructions                      string // the description of its one argument
}

// Tool describes the tool. lowestTier is in tokens, 0 if it is unknown.
func (t *Texts) Tool(lowestTier int) Tool {
	data := struct {
		Tool       string
		LowestTier int
	}{ToolName, lowestTier}
	return Tool{
		Name:         ToolName,
		Label:        t.render("tool.label", data),
		Description:  t.render("tool.description", data),
		Snippet:      t.render("tool.snippet", data),
		Guidelines:   strings.Split(t.render("tool.guidelines", data), "\n"),
		Instructions: t.render("tool.instructions", data),
	}
}

// Refusal is the data of a refused call of the tool.
type Refusal struct {
	// Why is disabled, excluded, headless, unknown, below, busy or failing.
	Why            string
	Tool           string // its name, "" is ToolName
	Model          string // of excluded
	Tokens, Window int    // of below
	LowestTier     int
	SettingsFile   string // where it can be changed, "" if unknown
	Detail         string // the reason of the last failure, or anything else that is known
}

// Refusal is the text of a refused call.
func (t *Texts) Refusal(r Refusal) string {
	if r.Tool == "" {
		r.Tool = ToolName
	}
	return t.render("refusal", r)
}

// Launched is the data of a granted call.
type Launched struct {
	Mode  string // same, cross or mechanical
	Model string
	Count int // which compaction of the session it will be
}

// Launched is what the tool returns when it was granted.
func (t *Texts) Launched(l Launched) string { return t.render("launched", l) }

// Outcome is the data of the message about a compaction that has ended.
type Outcome struct {
	Mode, Model   string
	Before, After int // tokens; 0 is unknown
	// Cost is in dollars, nil if unknown; CacheShare the percentage of the input that came from the provider's cache, -1
	// if unknown.
	Cost       *float64
	CacheShare int
	// Saves is about what so many more requests cost less, in dollars; nil if unknown.
	Saves    *float64
	Requests int
	// FellBack is the reason why another summary stands there than the one that was wished for.
	FellBack    string
	Compactions int // this one included
}

// Outcome is the message about a compaction that was made.
func (t *Texts) Outcome(o Outcome) string { return t.render("outcome", o) }

// Failed is the message about one that was not. The context is as it was.
func (t *Texts) Failed(reason string) string {
	return t.render("failed", struct{ Reason, Tool string }{reason, ToolName})
}

// Availability is the notice when a switch of models crosses the border of the excluded ones.
func (t *Texts) Availability(model string, available bool, settingsFile string) string {
	return t.render("availability", struct {
		Model        string
		Available    bool
		SettingsFile string
		Tool         string
	}{model, available, settingsFile, ToolName})
}

// Downshift is the notice when a switch goes to a window that the load nearly fills or overfills. tokens is the load,
// window the new window, before the window of the model before, 0 if it is unknown.
func (t *Texts) Downshift(model string, tokens, window, before int) string {
	return t.render("downshift", struct {
		Model                  string
		Tokens, Window, Before int
		Tool                   string
	}{model, tokens, window, before, ToolName})
}

// Status is the data of what a person reads of a running session.
type Status struct {
	Enabled  bool
	Excluded bool   // the model is one that is left alone
	Model    string // "" if there is none
	// Tokens is the context in use, 0 if unknown, and Window the model's.
	Tokens, Window int
	LowestTier     int
	Compactions    int
	// Writer is who writes the summaries: a model, "mechanical", or "" for the session's own model.
	Writer string
	// Own and Other are about what a summary of 100,000 tokens costs, in dollars: by the session's own model from its cache,
	// and by Writer from an excerpt; nil is unknown.
	Own, Other   *float64
	SettingsFile string
	Log          string // "" where none is written
}

// Status is how a session stands, for its person.
func (t *Texts) Status(s Status) string {
	return t.render("status", struct {
		Status
		Tool string
	}{s, ToolName})
}

// Blocked is why a request is not sent: it has so many tokens, and line is the threshold for that, in a window of so many.
// reason is why a compaction did not help.
func (t *Texts) Blocked(tokens, line, window int, reason string) string {
	return t.render("blocked", struct {
		Tokens, Line, Window int
		Reason               string
	}{tokens, line, window, reason})
}
