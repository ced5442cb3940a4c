package pemmican

import (
	"fmt"
	"sort"
	"strings"

	"github.com/pemmican-dev/pemmican/internal/jsonspan"
	"github.com/pemmican-dev/pemmican/internal/repetition"
	"github.com/pemmican-dev/pemmican/internal/textcut"
)

// reach says how far the reduce stage may go with a unit.
type reach uint8

const (
	untouched reach = iota
	recent          // a part of the tail: only what a newer copy replaces
	standing        // older, and kept for what it is: its media go too
	older           // every step
)

// reducible is the reach of each unit when nothing is dropped: everything before the tail that is not fixed.
func (c *compaction) reducible(tail int) []reach {
	out := make([]reach, len(c.units))
	for u := range c.units {
		unit := &c.units[u]
		switch {
		case unit.system, unit.summary, c.pinned[u]:
		case u == c.newest, unit.last >= tail:
			out[u] = recent
		case c.head[u]:
			out[u] = standing
		default:
			out[u] = older
		}
	}
	return out
}

// reduce makes what is kept shorter, step by step, and within a step the oldest first; if early is true, it stops once
// the target is met.
func (c *compaction) reduce(reaches []reach, early bool) {
	if c.t.Can.NoStub {
		return
	}
	c.early = early
	c.stubExcess(reaches)
	steps := []struct {
		on   bool
		step func([]reach)
	}{
		{c.p.StubMedia, c.stubMedia},
		{c.p.DropReasoning, c.dropReasoning},
		{len(c.p.Superseded) > 0, c.stubSuperseded},
		{c.p.RepeatedErrors, c.dropRepeatedErrors},
		{c.p.Loops, c.cutLoops},
		{c.p.ResultBytes > 0, c.cutResults},
		{c.p.ArgsBytes > 0, c.cutArgs},
	}
	for _, s := range steps {
		if s.on {
			s.step(reaches)
		}
	}
}

// eligible calls f for every block that is kept as it is, in units that may be reached that far, as long as there is
// need.
func (c *compaction) eligible(reaches []reach, least reach, f func(i int, b *Block)) {
	for i := range c.t.Blocks {
		if c.early && c.total() <= c.goal {
			return
		}
		if reaches[c.unitOf[i]] >= least && c.plan.Marks[i].Action == Keep {
			f(i, &c.t.Blocks[i])
		}
	}
}

func (c *compaction) stubMedia(reaches []reach) {
	c.eligible(reaches, standing, func(i int, b *Block) {
		if b.Kind == Media {
			c.mark(i, Stub, mediaStub(b), "media", "an older picture or document")
		}
	})
}

// mediaStub names what stood there and where it came from.
func mediaStub(b *Block) string {
	var s strings.Builder
	s.WriteString("[left out to save room: ")
	what := b.Media.Type
	if what == "" {
		what = "media"
	}
	s.WriteString(what)
	if b.Media.Width > 0 && b.Media.Height > 0 {
		fmt.Fprintf(&s, ", %dx%d pixels", b.Media.Width, b.Media.Height)
	}
	if b.Media.Name != "" {
		fmt.Fprintf(&s, ", %q", b.Media.Name)
	}
	fmt.Fprintf(&s, ", in message %d", b.Message+1)
	if b.CallID != "" {
		fmt.Fprintf(&s, ", from call %s", b.CallID)
	}
	s.WriteString("]")
	return s.String()
}

// dropReasoning drops what the model thought in turns that are over. A unit of nothing else goes as a whole.
func (c *compaction) dropReasoning(reaches []reach) {
	c.eligible(reaches, older, func(i int, b *Block) {
		if b.Kind == Reasoning && i < c.loop {
			c.mark(i, Drop, "", "reasoning", "reasoning of a turn that is over")
		}
	})
}

// stubSuperseded replaces the results of reads, searches and listings that were made again later, if the later one is
// kept. What failed supersedes nothing, and is not superseded.
func (c *compaction) stubSuperseded(reaches []reach) {
	newest := map[string]int{}
	for i := range c.t.Blocks {
		if c.plan.Kept(i) {
			if key := c.identity(i); key != "" {
				newest[key] = i
			}
		}
	}
	c.eligible(reaches, recent, func(i int, b *Block) {
		key := c.identity(i)
		if key == "" || newest[key] == i {
			return
		}
		spec := c.o.Tools[c.call(i).Tool]
		what := c.call(i).Tool
		if path := spec.PathOf(c.call(i).Args); path != "" {
			what += " " + path
		}
		text := fmt.Sprintf("[superseded: %d characters left out; a newer result of %s stands below]", len([]rune(b.Text)), what)
		c.mark(i, Stub, text, "superseded", "a newer result of the same "+what+" is kept")
	})
}

// call is the call that result i answers.
func (c *compaction) call(i int) *Block { return &c.t.Blocks[c.partner[i]] }

// identity is what a successful result is the result of, "" if it can never be superseded.
func (c *compaction) identity(i int) string {
	b := &c.t.Blocks[i]
	if b.Kind != ToolResult || b.Error || c.partner[i] < 0 {
		return ""
	}
	call := c.call(i)
	spec, ok := c.o.Tools[call.Tool]
	if !ok {
		return ""
	}
	is := spec.RoleOf(call.Args)
	for _, role := range c.p.Superseded {
		if role != is {
			continue
		}
		if role != ReadTool {
			args, ok := canonical(call.Args)
			if !ok {
				return ""
			}
			return call.Tool + "\x00" + args
		}
		path := spec.PathOf(call.Args)
		if path == "" {
			return ""
		}
		key := []string{"read", path}
		for _, name := range spec.Range {
			key = append(key, argument(call.Args, name))
		}
		return strings.Join(key, "\x00")
	}
	return ""
}

// argument is an argument of a call as text: a string's value, or the JSON of anything else.
func argument(args, name string) string {
	data := []byte(args)
	object, err := jsonspan.Scan(data, 0)
	if err != nil {
		return ""
	}
	v, ok := jsonspan.Get(data, object, name)
	if !ok {
		return ""
	}
	if s, ok := jsonspan.String(data, v); ok {
		return s
	}
	return string(v.Of(data))
}

// canonical is a call's arguments with their keys in order and without white space. It reports false for what is no
// JSON object.
func canonical(args string) (string, bool) {
	data := []byte(args)
	object, err := jsonspan.Scan(data, 0)
	if err != nil || jsonspan.KindAt(data, object) != jsonspan.KindObject {
		return "", false
	}
	return string(appendCanonical(nil, data, object)), true
}

func appendCanonical(dst, data []byte, v jsonspan.Span) []byte {
	switch jsonspan.KindAt(data, v) {
	case jsonspan.KindObject:
		type member struct {
			key   string
			value jsonspan.Span
		}
		var members []member
		for key, value := range jsonspan.Members(data, v) {
			name, _ := jsonspan.String(data, key)
			members = append(members, member{name, value})
		}
		sort.SliceStable(members, func(i, j int) bool { return members[i].key < members[j].key })
		dst = append(dst, '{')
		for _, m := range members {
			dst = append(jsonspan.Quote(dst, m.key), ':')
			dst = append(appendCanonical(dst, data, m.value), ',')
		}
		return append(dst, '}')
	case jsonspan.KindArray:
		dst = append(dst, '[')
		for e := range jsonspan.Elements(data, v) {
			dst = append(appendCanonical(dst, data, e), ',')
		}
		return append(dst, ']')
	case jsonspan.KindString:
		s, _ := jsonspan.String(data, v)
		return jsonspan.Quote(dst, s)
	}
	return append(dst, v.Of(data)...)
}

// dropRepeatedErrors leaves of equal failures only the last. A step whose calls all failed like that goes; of one that
// did something else too, the result becomes a line.
func (c *compaction) dropRepeatedErrors(reaches []reach) {
	repeated := c.repeatedErrors()
	c.eligible(reaches, older, func(i int, b *Block) {
		if b.Kind != ToolResult || !repeated[i] || !c.plan.Kept(i) {
			return
		}
		u := c.unitOf[i]
		for _, k := range c.units[u].blocks {
			switch b := &c.t.Blocks[k]; {
			case b.Kind == ToolResult && !repeated[k],
				b.Kind == ToolCall && c.partner[k] < 0,
				b.Kind == Media, b.Kind == Opaque:
				c.mark(i, Stub, "[the same error as below]", "errors", "the same error comes again later")
				return
			}
		}
		c.drop(u, "errors", "the same error comes again later")
	})
}

// repeatedErrors are the failed results after which the same tool failed in the same way. They need not be neighbours.
func (c *compaction) repeatedErrors() map[int]bool {
	last := map[string]int{}
	repeated := map[int]bool{}
	for i := range c.t.Blocks {
		if b := &c.t.Blocks[i]; b.Kind == ToolResult && b.Error && c.partner[i] >= 0 {
			key := c.call(i).Tool + "\x00" + errorShape(b.Text)
			if before, ok := last[key]; ok {
				repeated[before] = true
			}
			last[key] = i
		}
	}
	return repeated
}

// errorShape is the first 200 runes of an error with digits, hexadecimal words and paths masked, so that two failures
// of one cause are equal.
func errorShape(text string) string {
	text = text[:textcut.Runes(text, 200)]
	var out strings.Builder
	for word := range strings.FieldsSeq(text) {
		if out.Len() > 0 {
			out.WriteByte(' ')
		}
		switch {
		case strings.ContainsAny(word, `/\`):
			out.WriteByte('/')
		case isHex(word):
			out.WriteByte('#')
		default:
			for _, r := range word {
				if '0' <= r && r <= '9' {
					r = '0'
				}
				out.WriteRune(r)
			}
		}
	}
	return out.String()
}

// isHex reports whether a word looks like an address or a hash.
func isHex(word string) bool {
	word = strings.TrimPrefix(strings.Trim(word, `.,:;()[]"'`), "0x")
	if len(word) < 6 {
		return false
	}
	digits := false
	for _, r := range word {
		switch {
		case '0' <= r && r <= '9':
			digits = true
		case 'a' <= r && r <= 'f', 'A' <= r && r <= 'F':
		default:
			return false
		}
	}
	return digits
}

// cutLoops cuts text that ends in a loop to the loop's first round.
func (c *compaction) cutLoops(reaches []reach) {
	c.eligible(reaches, older, func(i int, b *Block) {
		if b.Kind != Text && b.Kind != ToolResult || c.units[c.unitOf[i]].person || !repetition.May(b.Text) {
			return
		}
		hit, ok := (repetition.Detector{}).Detect(b.Text)
		if !ok {
			return
		}
		// The detector measures normalised text; what is cut is found by the unit's own words.
		first := strings.Index(b.Text, firstWords(hit.Unit))
		if first < 0 {
			return
		}
		end := textcut.Before(b.Text, min(len(b.Text), first+2*len(hit.Unit)))
		text := fmt.Sprintf("%s\n[… the same text %d times more, left out]", b.Text[:end], hit.Repeats-1)
		c.mark(i, Stub, text, "loops", "text that repeats itself")
	})
}

func firstWords(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexByte(s, ' '); i > 0 {
		return s[:i]
	}
	return s
}

func (c *compaction) cutResults(reaches []reach) {
	least := older
	if c.p.CutAllResults {
		least = recent
	}
	c.eligible(reaches, least, func(i int, b *Block) {
		if b.Kind == ToolResult && len(b.Text) > c.p.ResultBytes {
			c.mark(i, Stub, cutResult(b.Text, c.p.ResultBytes), "results", "a long result")
		}
	})
}

func (c *compaction) cutArgs(reaches []reach) {
	c.eligible(reaches, older, func(i int, b *Block) {
		if b.Kind == ToolCall && len(b.Args) > c.p.ArgsBytes && !c.pins(i) {
			if args, ok := cutArgs(b.Args, c.p.ArgsBytes); ok {
				c.mark(i, Stub, args, "arguments", "long arguments")
			}
		}
	})
}
