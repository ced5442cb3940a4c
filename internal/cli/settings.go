package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/agents"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/format/detect"
	"github.com/pemmican-dev/pemmican/format/openaichat"
	"github.com/pemmican-dev/pemmican/llm"
	"github.com/pemmican-dev/pemmican/preset"
	"github.com/pemmican-dev/pemmican/token"
)

// Settings are what a person says about a compaction. The zero value is the default.
type Settings struct {
	Window     Tokens
	Target     Target
	KeepRecent Tokens
	// Preset is the name of a policy, "" for the default one.
	Preset string
	// Summarizer writes the summary.
	Summarizer Summarizer
	// Pins are texts; what contains one stays as it is.
	Pins []string
	// ToolsFile is the path of a JSON file with the roles of tools that Pemmican does not know.
	ToolsFile string

	keep func(context.Context) error // writes down what was learned of models
}

// assumedWindow is the window of a model that nobody knows, in tokens.
const assumedWindow = 200_000

// WindowOf is the window of a model, in tokens, and who says so: the person (override), a provider's error (learned), or the
// catalogue; else it is assumed.
func WindowOf(c *llm.Catalogue, model string) (tokens int, from string) {
	if n, from := c.Window("", "", model); n > 0 {
		return n, from
	}
	return assumedWindow, "assumed"
}

// CompactedSuffix is what stands before the extension of a file that compact has made.
const CompactedSuffix = ".compacted"

// Options are the options of a compaction of the decoded input, but for Original, which depends on the output. Progress is
// told of a model that writes.
func (s *Settings) Options(in *Input, progress *Progress) (pemmican.Options, error) {
	t := in.doc.Transcript()
	o := pemmican.Options{Window: s.Window.N, Tools: agents.Tools(), Pins: s.Pins}
	if o.Window == 0 {
		c, _, err := OpenCatalogue()
		if err != nil {
			return o, err
		}
		o.Window, _ = WindowOf(c, t.Model)
	}
	policy, ok := preset.ByName(orDefault(s.Preset, "default"))
	if !ok {
		return o, Unusable("", "use one of "+strings.Join(preset.Names(), ", "), "there is no preset %q", s.Preset)
	}
	if s.KeepRecent.Given {
		policy.TailTokens = s.KeepRecent.N // zero is zero
	}
	o.Policy = &policy
	for _, pin := range s.Pins {
		if strings.TrimSpace(pin) == "" {
			return o, Unusable("", "give the words that what you want to keep contains", "--pin has no text")
		}
	}
	if asks, _ := s.Summarizer.asksModel(); asks {
		policy.OneByOne = false // a summary that fails changes nothing, whatever the preset would make of that
	}
	var err error
	if o.Summarizer, s.keep, err = s.Summarizer.open(in, progress); err != nil {
		return o, err
	}
	if s.ToolsFile != "" {
		own, err := readTools(s.ToolsFile)
		if err != nil {
			return o, err
		}
		o.Tools = agents.Extend(o.Tools, own)
	}
	o.Counter, o.Overhead = counter(in.doc, in.text())
	for i := range t.Blocks {
		if t.Blocks[i].Kind == pemmican.Summary {
			o.Compactions++
		}
	}
	if o.Target = s.target(t, o); o.Target == 0 && o.Window < 2 {
		return o, Unusable("", "give --target, or a window of more", "half of a window of %s is no target", Plural(o.Window, "token"))
	}
	return o, nil
}

// Keep writes down, for the next time, what was learned of models since Options.
func (s *Settings) Keep(ctx context.Context) error {
	if s.keep == nil {
		return nil
	}
	return s.keep(ctx)
}

// target is the target in tokens, 0 for the default one. A percentage is of the transcript: what stands beside it in the
// request cannot shrink.
func (s *Settings) target(t *pemmican.Transcript, o pemmican.Options) int {
	if s.Target.Percent == nil {
		return s.Target.Tokens
	}
	beside := o.Overhead.Tokens
	return beside + s.Target.Of(Live(t, o)-beside)
}

// Unmatched are the pins that nothing in t contains, as warnings.
func (s *Settings) Unmatched(t *pemmican.Transcript) []string {
	var out []string
	for _, pin := range s.Pins {
		if !slices.ContainsFunc(t.Blocks, func(b pemmican.Block) bool { return strings.Contains(b.Text, pin) || strings.Contains(b.Args, pin) }) {
			out = append(out, "nothing contains the --pin "+strconv.Quote(pin))
		}
	}
	return out
}

func orDefault(s, value string) string {
	if s == "" {
		return value
	}
	return s
}

// Wish says for people where a target in percent comes from, "" if there is none.
func (s *Settings) Wish(o pemmican.Options) string {
	if s.Target.Percent == nil {
		return ""
	}
	beside := o.Overhead.Tokens
	out := strings.TrimSuffix(s.Target.String(), "%") + " % of the transcript"
	if beside > 0 {
		out += ", " + Count(o.Target-beside) + "; and " + Count(beside) + " tokens of system text and tools beside it"
	}
	return out
}

func readTools(path string) (pemmican.Tools, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, About(path, err)
	}
	var file struct {
		Tools *agents.Settings `json:"tools"`
	}
	const mend = `it must be like {"tools": {"my_read": {"role": "read", "path": ["file"]}}}`
	if at, ends := fault(data); at >= 0 {
		if ends {
			return nil, Unusable(path, mend, "the JSON ends in the middle, at %s", place(data, at-1))
		}
		return nil, Unusable(path, mend, "this is no JSON from %s on", place(data, at))
	}
	if err := json.Unmarshal(data, &file); err != nil {
		if errors.As(err, new(*json.UnmarshalTypeError)) { // its words are about Go; what is inside tools has words of its own
			return nil, Unusable(path, mend, "it is no JSON object")
		}
		return nil, Unusable(path, mend, "%s", err)
	}
	if file.Tools == nil {
		return nil, Unusable(path, mend, "it has no key tools")
	}
	return pemmican.Tools(*file.Tools), nil
}

// counter returns a counter that is fitted to the sizes that the provider has reported, and the overhead that they tell.
// Data is what doc was decoded from.
func counter(doc format.Document, data []byte) (pemmican.Counter, pemmican.Overhead) {
	e := token.Estimator{Vendor: vendor(doc)}
	fit, reported := calibrate(doc, data, e)
	e.Ratio = fit.Ratio
	overhead := fit.Overhead
	switch {
	case doc.Transcript().HasSystem:
		overhead = pemmican.Overhead{}
	case overhead.Tokens > usualOverhead && lostItsPast(reported):
		overhead = pemmican.Overhead{Source: "unknown"}
	}
	return token.NewCache(e, 0), overhead
}

// calibrate fits e to the reported sizes of doc. A compaction makes them stale, so where none is live the session before
// Pemmican's own last lines tells, which had the same system text and tools. It returns the document that did.
func calibrate(doc format.Document, data []byte, e token.Estimator) (token.Calibration, format.Document) {
	for {
		fit := token.Calibrate(doc.Transcript(), e)
		session, ok := doc.(format.Session)
		if !ok || fit.Points > 0 {
			return fit, doc
		}
		n, err := session.Undo()
		if err != nil || n >= len(data) {
			return fit, doc
		}
		data = data[:n]
		before, err := detect.Decode(data, doc.Format())
		if err != nil {
			return fit, doc
		}
		doc = before
	}
}

// liveTokens is Live of a decoded input for somebody who counts once.
func liveTokens(in *Input) int {
	c, overhead := counter(in.doc, in.text())
	return Live(in.doc.Transcript(), pemmican.Options{Counter: c, Overhead: overhead})
}

// usualOverhead is what no agent's system text and tools exceed without tools from elsewhere, in tokens.
const usualOverhead = 32_000

// lostItsPast reports whether lines are missing before the live ones: the sizes that were reported are those of a
// conversation that the agent will not find again.
func lostItsPast(doc format.Document) bool {
	return slices.ContainsFunc(doc.Check(), func(f format.Finding) bool { return f.Rule == format.RuleBrokenChain })
}

// openaiSeries are the models that are named by the letter o and a number.
var openaiSeries = regexp.MustCompile(`^o[1-9]`)

// vendor is whose rule for pictures holds.
func vendor(doc format.Document) string {
	model := doc.Transcript().Model
	if i := strings.LastIndexByte(model, '/'); i >= 0 { // openrouter's vendor/model
		model = model[i+1:]
	}
	switch {
	case strings.HasPrefix(model, "claude"):
		return "anthropic"
	case strings.HasPrefix(model, "gemini"):
		return "google"
	case doc.Format() == openaichat.Name, strings.HasPrefix(model, "gpt"), openaiSeries.MatchString(model):
		return "openai"
	}
	return "anthropic"
}

// Live is what the request takes as it is, in tokens: as pemmican.Report.TokensBefore.
func Live(t *pemmican.Transcript, o pemmican.Options) int {
	n := o.Overhead.Tokens
	if t.Tools != "" {
		n += o.Counter.Count(&pemmican.Block{Text: t.Tools})
	}
	for i := range t.Blocks {
		n += o.Counter.Count(&t.Blocks[i])
	}
	return n
}

// PresetNames lists the presets, for the help.
func PresetNames() string { return list(preset.Names()) }

// FormatNames lists the formats that can be read, for the help.
func FormatNames() string { return list(detect.Names()) }

func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
