package openaichat

import (
	"flag"
	"testing"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/formattest"
)

var suite = formattest.Wire[*Doc]{
	Corpus:   "openai-chat",
	Recorded: []string{"*openai-completions/*.json", "*openai-compatible/*.json", "continue-openai/*.json"},
	Request:  request,
	Decode:   Decode,
	Detect:   Detect,
	IsRecord: func(d *Doc) bool { return d.in.Log },
	Record:   func(d *Doc) (messages, body []byte) { return d.in.Messages.Of(d.data), d.in.Body.Of(d.data) },
	Bytes: func(d *Doc, block int, plan *pemmican.Plan) []byte {
		switch p := d.places[block]; p.spot {
		case inNothing:
			return nil
		case inResult:
			for k := block + 1; k < len(d.places) && d.places[k].message == p.message; k++ {
				if plan.Marks[k].Action != pemmican.Keep {
					return nil
				}
			}
		}
		return d.places[block].span.Of(d.data)
	},
}

func TestCorpus(t *testing.T) { suite.TestCorpus(t) }

var refusals = []formattest.Refusal{
	{Name: "reasoning", Body: `[{"role":"assistant","reasoning_content":"x"}]`, Mark: pemmican.Mark{Action: pemmican.Stub}, Want: "messages[0]"},
	{Name: "opaque", Body: `[{"role":"assistant","content":[{"type":"later"}]}]`, Mark: pemmican.Mark{Action: pemmican.Stub}, Want: "only be kept or dropped"},
	{Name: "arguments", Body: `[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"a","arguments":"{}"}}]}]`, Mark: pemmican.Mark{Action: pemmican.Stub, Text: "[1]"}, Want: "no JSON object"},
}

func TestApplyRefuses(t *testing.T) { suite.TestApplyRefuses(t, refusals) }

var update = flag.Bool("update", false, "write the golden files anew")

func TestGolden(t *testing.T) { suite.TestGolden(t, *update) }

var broken = []string{
	`{"role":"user","content":"go"}`,
	`{"role":"user","content":""}`,
	`{"role":"user","content":"t","tool_calls":[{"id":"a","function":{"name":"n","arguments":"{}"}}]}`,
	`{"role":"user","tool_calls":[{"id":"a"},7]}`,
	`{"role":"system","content":null,"tool_calls":[{"id":"a"}]}`,
	`{"role":"assistant","content":"so"}`,
	`{"role":"assistant","content":"","reasoning_content":"h"}`,
	`{"role":"assistant","reasoning_content":"h","tool_calls":[]}`,
	`{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"n","arguments":{"x":1}}}]}`,
	`{"role":"assistant","content":"t","reasoning":"h","tool_calls":[{"id":"a","function":{"name":"n","arguments":"{}"}},{"id":"b","function":{"name":"n","arguments":"[]"}}]}`,
	`{"role":"assistant","content":[{"type":"image_url","image_url":{"url":"u"}}],"tool_calls":[{"id":"b","function":{"name":"n"}}]}`,
	`{"role":"assistant","function_call":{"name":"f","arguments":"{}"}}`,
	`{"role":"function","name":"f","content":null}`,
	`{"role":"tool","tool_call_id":"a","content":"r"}`,
	`{"role":"tool","tool_call_id":"a","content":null,"tool_calls":[{"id":"b"}]}`,
	`{"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"\ud83d"},{"type":"image_url","image_url":{"url":"u"}}]}`,
	`{"role":"tool","tool_call_id":"b","content":[],"tool_calls":[{"id":"a"},{"id":"b"}]}`,
	`{"role":"tool","content":[{"type":"image_url"}],"tool_calls":[{"id":"a"}]}`,
	`{"role":"critic","content":"r","tool_call_id":"a"}`,
}

func TestFixes(t *testing.T)   { suite.TestFixes(t, broken) }
func TestMutated(t *testing.T) { suite.TestMutated(t) }
func FuzzDecode(f *testing.F)  { suite.FuzzDecode(f) }

var request = formattest.Request{
	Head: `{"model":"gpt-x","messages":[{"role":"system","content":"You are an agent."},{"role":"user","content":"Fix it."}`,
	Step: `,{"role":"assistant","content":null,"tool_calls":[{"id":"call_%[1]d","type":"function","function":{"name":"read","arguments":"{\"path\":\"a.go\",\"offset\":%[1]d}"}}]},{"role":"tool","tool_call_id":"call_%[1]d","content":%[2]s}`,
}

func BenchmarkValid(b *testing.B)  { suite.BenchmarkValid(b) }
func BenchmarkDetect(b *testing.B) { suite.BenchmarkDetect(b) }
func BenchmarkDecode(b *testing.B) { suite.BenchmarkDecode(b) }
func BenchmarkApply(b *testing.B)  { suite.BenchmarkApply(b) }
func BenchmarkCheck(b *testing.B)  { suite.BenchmarkCheck(b) }
