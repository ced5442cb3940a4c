package anthropic

import (
	"flag"
	"testing"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/formattest"
)

var suite = formattest.Wire[*Doc]{
	Corpus:   "anthropic-messages",
	Recorded: []string{"*-anthropic*/*.json"},
	Request:  request,
	Decode:   Decode,
	Detect:   Detect,
	IsRecord: func(d *Doc) bool { return d.in.Log },
	Record:   func(d *Doc) (messages, body []byte) { return d.in.Messages.Of(d.data), d.in.Body.Of(d.data) },
	Beyond: func(d *Doc, plan *pemmican.Plan) bool {
		// The summary goes behind a compaction block that is kept.
		return plan.Summary != "" && d.barrier >= 0 && plan.Kept(d.barrier) && plan.Gap <= d.barrier
	},
	Bytes: func(d *Doc, block int, plan *pemmican.Plan) []byte {
		for k := block + 1; k < len(d.places) && d.places[k].sub >= 0; k++ {
			if plan.Marks[k].Action != pemmican.Keep {
				return nil
			}
		}
		if d.places[block].part < 0 {
			return nil
		}
		return d.places[block].span.Of(d.data)
	},
}

func TestCorpus(t *testing.T) { suite.TestCorpus(t) }

var refusals = []formattest.Refusal{
	{Name: "thinking", Body: `[{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"s"}]}]`, Mark: pemmican.Mark{Action: pemmican.Stub}, Want: "messages[0].content[0]"},
	{Name: "opaque", Body: `[{"role":"assistant","content":[{"type":"later"}]}]`, Mark: pemmican.Mark{Action: pemmican.Stub}, Want: "only be kept or dropped"},
	{Name: "arguments", Body: `[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"a","input":{}}]}]`, Mark: pemmican.Mark{Action: pemmican.Stub, Text: "[1]"}, Want: "no JSON object"},
}

func TestApplyRefuses(t *testing.T) { suite.TestApplyRefuses(t, refusals) }

var update = flag.Bool("update", false, "write the golden files anew")

func TestGolden(t *testing.T) { suite.TestGolden(t, *update) }

var broken = []string{
	`{"role":"user","content":"go"}`,
	`{"role":"user","content":" "}`,
	`{"role":"user","content":[]}`,
	`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"r"}]}`,
	`{"role":"user","content":[{"type":"text","text":""},{"type":"tool_result","tool_use_id":"b","content":[{"type":"tool_use","id":"a","input":{}},{"type":"image","source":{"type":"base64","data":"?"}}]},{"type":"text","text":"t"}]}`,
	`{"role":"user","content":[{"type":"tool_use","id":"a","name":"n","input":{}}]}`,
	`{"role":"user","content":[{"type":"tool_use","id":"a","name":"n","input":{}},{"type":"tool_result","tool_use_id":"a","content":"r"}]}`,
	`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":7},{"type":"image","source":{"type":"base64","data":""}}]}`,
	`{"role":"assistant","content":"so "}`,
	`{"role":"assistant","content":""}`,
	`{"role":"assistant","content":[{"type":"text","text":"x \ud83d "},{"type":"thinking","thinking":"h","signature":"s"}]}`,
	`{"role":"assistant","content":[{"type":"thinking","thinking":"h"},{"type":"text","text":" "}]}`,
	`{"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":"s"}]}`,
	`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}}]}`,
	`{"role":"assistant","content":[{"type":"text","text":"t"},{"type":"thinking","thinking":"h","signature":"s"},{"type":"tool_use","id":"a","name":"n","input":{}},{"type":"tool_use","id":"b","name":"n"}]}`,
	`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}},{"type":"tool_result","tool_use_id":"a","content":"r"}]}`,
	`{"role":"assistant","content":[{"type":"image","source":{"type":"base64","data":""}}]}`,
	`{"role":"critic","content":[{"type":"tool_result","tool_use_id":"a","content":"r"}]}`,
	`{"role":"tool"}`,
	`{"role":"system","content":[{"type":"text","text":"s"},{"type":"tool_use","id":"a"}]}`,
}

func TestFixes(t *testing.T)   { suite.TestFixes(t, broken) }
func TestMutated(t *testing.T) { suite.TestMutated(t) }
func FuzzDecode(f *testing.F)  { suite.FuzzDecode(f) }

var request = formattest.Request{
	Head: `{"model":"claude-x","max_tokens":8192,"system":"You are an agent.","messages":[{"role":"user","content":"Fix it."}`,
	Step: `,{"role":"assistant","content":[{"type":"text","text":"Next."},{"type":"tool_use","id":"toolu_%[1]d","name":"read","input":{"path":"a.go","offset":%[1]d}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%[1]d","content":%[2]s}]}`,
}

func BenchmarkValid(b *testing.B)  { suite.BenchmarkValid(b) }
func BenchmarkDetect(b *testing.B) { suite.BenchmarkDetect(b) }
func BenchmarkDecode(b *testing.B) { suite.BenchmarkDecode(b) }
func BenchmarkApply(b *testing.B)  { suite.BenchmarkApply(b) }
func BenchmarkCheck(b *testing.B)  { suite.BenchmarkCheck(b) }
