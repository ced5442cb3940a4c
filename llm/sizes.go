package llm

import (
	"regexp"
	"strconv"
	"strings"
)

// sizes are what a text says of sizes, in tokens; 0 is unknown.
type sizes struct {
	// limit is what the model takes: of input and output, or of input, or of output alone if that is what the text is about.
	limit int
	// requested is all that the request needs, input what the input needs of it.
	requested, input int
	// output is what was asked for, which may be 0 although it is told.
	output int
}

// maxTokens is beyond what any window will be; larger numbers are not sizes in tokens.
const maxTokens = 1_000_000_000

// sizePattern finds sizes in a folded text. The names of its groups are l (limit), r (requested), i (input), o (output).
type sizePattern struct {
	gate string // stands in every text that the pattern matches; looking for it is cheap
	re   *regexp.Regexp
}

// sizesTogether find all sizes in one place. The first that matches is all that is read.
var sizesTogether = []sizePattern{
	{" > ", regexp.MustCompile(`(?:prompt|input) is too long: (?P<i>\d+) tokens > (?P<l>\d+)`)},
	{" + ", regexp.MustCompile(`(?:input|prompt|context|messages).*?: (?P<i>\d+) \+ (?P<o>\d+)(?: = (?P<r>\d+))? > (?P<l>\d+)`)},
	{"too large:", regexp.MustCompile(`too large: (?P<o>\d+)\. this model's maximum context length is (?P<l>\d+) tokens and your request has (?P<i>\d+) input`)},
	{" > ", regexp.MustCompile(`max (?:new |output |completion )?tokens.*?(?P<r>\d+)\)? > (?P<l>\d+)`)},
	{"given:", regexp.MustCompile(`must be <= (?P<l>\d+)\. given: (?P<i>\d+) inputs tokens and (?P<o>\d+)`)},
	{"given:", regexp.MustCompile(`must have less than (?P<l>\d+) tokens\. given: (?P<i>\d+)`)},
	{"while limit is", regexp.MustCompile(`current length is (?P<i>\d+) while limit is (?P<l>\d+)`)},
	{"(requested:", regexp.MustCompile(`token limit: (?P<l>\d+) \(requested: (?P<r>\d+)`)},
	{"integer above", regexp.MustCompile(`value <= (?P<l>\d+), but got (?P<r>\d+)`)},
	{"supports at most", regexp.MustCompile(`supports at most (?P<l>\d+) (?:completion|output) tokens(?:.*? provided (?P<r>\d+))?`)},
	{"cannot exceed", regexp.MustCompile(`tokens in the prompt cannot exceed (?P<l>\d+)(?:.{1,3}received (?P<i>\d+))?`)},
	{"the limit of", regexp.MustCompile(`(?P<i>\d+)(?: tokens)? exceeds? the limit of (?P<l>\d+)`)},
}

// sizesApart find one size each. What an earlier one has found a later one does not change.
var sizesApart = []sizePattern{
	// What the model takes.
	{"maximum", regexp.MustCompile(`maximum (?:context|prompt|model) length (?:is |of )?\(?(?P<l>\d+)`)},
	{"configured limit of", regexp.MustCompile(`configured limit of (?P<l>\d+)`)},
	{"tokens allowed", regexp.MustCompile(`tokens allowed \(?(?P<l>\d+)`)},
	{"model maximum", regexp.MustCompile(`model maximum \((?P<l>\d+)`)},
	{"input length", regexp.MustCompile(`(?:allowed|maximum) input length(?: of)? \(?(?P<l>\d+)`)},
	{"input length", regexp.MustCompile(`input length should be \[1, ?(?P<l>\d+)`)},
	{"context", regexp.MustCompile(`context (?:length|size|window)(?: limit)? (?:of |is )?(?:only )?\(?(?P<l>\d+)`)},
	{"maximum context length", regexp.MustCompile(`model with (?P<l>\d+) maximum context length`)},
	{"the limit of", regexp.MustCompile(`token.*? exceeds? the limit of (?P<l>\d+)`)},
	{"max of", regexp.MustCompile(`exceeds the model's max of (?P<l>\d+)`)},
	{"model limit of", regexp.MustCompile(`exceeds the model limit of (?P<l>\d+)`)},
	{"max size:", regexp.MustCompile(`max size: (?P<l>\d+) tokens`)},
	{"less than", regexp.MustCompile(`max (?:new |output |completion )?tokens must be less than (?:or equal to )?(?P<l>\d+)`)},
	{"at most", regexp.MustCompile(`max (?:new |output |completion )?tokens must be at most (?P<l>\d+)`)},
	{"valid range", regexp.MustCompile(`valid range of max (?:output |completion )?tokens is \[\d+, ?(?P<l>\d+)`)},

	// What was asked for.
	{"requested", regexp.MustCompile(`requested (?:about |a total of |at least )?(?P<r>\d+)(?: tokens| \()`)},
	{"output tokens (", regexp.MustCompile(`output tokens \((?P<r>\d+)\)`)},
	{" the ", regexp.MustCompile(`(?P<o>\d+) (?:tokens )?(?:in|for) the (?:completion|output)`)},
	{"output tokens", regexp.MustCompile(`(?P<o>\d+) output tokens`)},

	// What of it is input.
	{"input tokens", regexp.MustCompile(`(?P<i>\d+) input tokens`)},
	{"input messages", regexp.MustCompile(`(?P<i>\d+) tokens from the input messages`)},
	{"resulted in", regexp.MustCompile(`messages resulted in (?P<i>\d+)`)},
	{"token count", regexp.MustCompile(`token count (?:of )?\(?(?P<i>\d+)\)? exceeds`)},
	{"prompt tokens (", regexp.MustCompile(`prompt tokens \((?P<i>\d+)\)`)},
	{"request contains", regexp.MustCompile(`request contains (?P<i>\d+)`)},
	{"input length", regexp.MustCompile(`input length:? \(?(?P<i>\d+)\)? exceeds`)},
	{" tokens)", regexp.MustCompile(`(?:input|request|prompt) \((?P<i>\d+) tokens\)`)},
	{"prompt", regexp.MustCompile(`prompt (?:contains|has) (?:at least )?(?P<i>\d+)`)},
	{"prompt too long:", regexp.MustCompile(`prompt too long: (?P<i>\d+) tokens`)},
	{"(length ", regexp.MustCompile(`prompt \((?:total )?length (?P<i>\d+)\)`)},
}

// sizesIn reads the sizes that a folded text names.
func sizesIn(text string) sizes {
	var s sizes
	for _, p := range sizesTogether {
		if strings.Contains(text, p.gate) && s.read(p.re, text) {
			s.complete()
			return s
		}
	}
	for _, p := range sizesApart {
		if strings.Contains(text, p.gate) {
			s.read(p.re, text)
		}
	}
	s.complete()
	return s
}

// read adds what the pattern finds, and reports whether it matched.
func (s *sizes) read(re *regexp.Regexp, text string) bool {
	m := re.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	for i, name := range re.SubexpNames() {
		var at *int
		switch name {
		case "l":
			at = &s.limit
		case "r":
			at = &s.requested
		case "i":
			at = &s.input
		case "o":
			at = &s.output
		default:
			continue
		}
		if n, err := strconv.Atoi(m[i]); err == nil && n <= maxTokens && *at == 0 {
			*at = n
		}
	}
	return true
}

// complete works out what the others tell.
func (s *sizes) complete() {
	switch {
	case s.requested < s.input: // it is not told, or in another text by other numbers
		s.requested = s.input + s.output
	case s.input == 0 && 0 < s.output && s.output < s.requested:
		s.input = s.requested - s.output
	}
}

// fit says whether the input alone would fit: known is false if the sizes do not tell.
func (s *sizes) fit() (fits, known bool) {
	return s.input < s.limit, s.input > 0 && s.limit > 0
}

// perTime is a budget of tokens for a stretch of time that the request takes up. One that is larger than the whole budget
// will not pass however long one waits.
var perTime = regexp.MustCompile(`limit:? (?P<l>\d+)(?:, used:? \d+)?, requested:? (?P<r>\d+)`)

// add fills in what is not known yet.
func (s *sizes) add(more sizes) {
	for _, p := range [][2]*int{{&s.limit, &more.limit}, {&s.requested, &more.requested}, {&s.input, &more.input}, {&s.output, &more.output}} {
		if *p[0] == 0 {
			*p[0] = *p[1]
		}
	}
}
