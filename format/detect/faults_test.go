package detect_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/format/detect"
	"github.com/pemmican-dev/pemmican/internal/formattest"
)

// Faults that users have reported in public, by their ids, which show in the bytes and not in the plan alone.

func decode(t *testing.T, data []byte) format.Document {
	t.Helper()
	doc, err := detect.Decode(data, "")
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// A lone surrogate in a stored text is reported, mended by a replacement character, and nothing else is touched.
func TestUNI01_LoneSurrogate(t *testing.T) {
	for name, body := range map[string]string{
		"chat":     `{"model":"m","messages":[{"role":"user","content":"half \ud83d of it"},{"role":"assistant","content":"I see 1.0"}]}`,
		"messages": `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"half \ud83d of it"}]}]}`,
	} {
		doc := decode(t, []byte(body))
		findings := doc.Check()
		if len(findings) != 1 || findings[0].Rule != format.RuleLoneSurrogate || !findings[0].Fixable {
			t.Fatalf("%s: %+v", name, findings)
		}
		plan := pemmican.NewPlan(doc.Transcript())
		formattest.Fix(plan, findings)
		out, err := doc.Apply(plan)
		if err != nil || !json.Valid(out) {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		if again := decode(t, out); len(again.Check()) != 0 || !strings.Contains(string(out), "half \uFFFD of it") {
			t.Errorf("%s: %s", name, out)
		}
		if want := strings.Count(body, `"role"`); strings.Count(string(out), `"role"`) != want {
			t.Errorf("%s: more than the text was changed: %s", name, out)
		}
	}
}

// Repair looks only at calls that are in the list that goes out: of a call that a compaction dropped nothing is missing.
func TestORPH07_NothingIsMadeUp(t *testing.T) {
	var messages []string
	messages = append(messages, `{"role":"user","content":"look around"}`)
	for i := range 12 {
		messages = append(messages,
			fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"look","arguments":"{}"}}]}`, i),
			fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":%q}`, i, strings.Repeat(fmt.Sprintf("result %d ", i*i), 200)))
	}
	doc := decode(t, []byte(`{"messages":[`+strings.Join(messages, ",")+`]}`))
	plan, report, err := pemmican.Compact(t.Context(), doc.Transcript(), pemmican.Options{Target: 1500})
	if err != nil || report.Outcome != pemmican.Summarised {
		t.Fatal(err, report)
	}
	out, err := doc.Apply(plan)
	if err != nil {
		t.Fatal(err)
	}
	if again := decode(t, out); len(again.Check()) != 0 || strings.Contains(string(out), `"c3"`) {
		t.Errorf("%+v", again.Check())
	}
}

// Order is the order in the file. Equal times, and times that run backwards, change nothing.
func TestORD05_TimesDoNotOrder(t *testing.T) {
	lines := []string{`{"type":"session","version":3,"id":"0197aaaa-0000-7000-8000-000000000001","timestamp":"2026-01-01T10:00:00.000Z","cwd":"/w"}`}
	parent := "null"
	for i, at := range []string{"10:00:05", "10:00:05", "10:00:05", "10:00:01"} {
		role, content := "user", fmt.Sprintf(`"%c"`, 'a'+i)
		if i%2 == 1 {
			role, content = "assistant", fmt.Sprintf(`[{"type":"text","text":"%c"}],"stopReason":"stop"`, 'a'+i)
		}
		lines = append(lines, fmt.Sprintf(`{"type":"message","id":"0000000%d","parentId":%s,"timestamp":"2026-01-01T%s.000Z","message":{"role":%q,"content":%s}}`, i, parent, at, role, content))
		parent = fmt.Sprintf(`"0000000%d"`, i)
	}
	tr := decode(t, []byte(strings.Join(lines, "\n")+"\n")).Transcript()
	var got []string
	for i := range tr.Blocks {
		got = append(got, tr.Blocks[i].Text)
	}
	if strings.Join(got, "") != "abcd" {
		t.Errorf("got %q", got)
	}
}
