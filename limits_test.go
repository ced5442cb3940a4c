package pemmican_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/format/anthropic"
	"github.com/pemmican-dev/pemmican/format/openaichat"
)

const mega = 1_000_000

// pictures is a conversation about n pictures of so many bytes each, with few tokens.
func pictures(n, bytes int) *pemmican.Transcript {
	var tr pemmican.Transcript
	tr.AddSystem("You look at pictures.")
	tr.AddUser("Compare the pictures that I send you.")
	tr.AddAssistant("Send them.")
	for i := range n {
		tr.Add(pemmican.User,
			pemmican.Block{Text: fmt.Sprintf("Picture %d.", i)},
			pemmican.Block{Kind: pemmican.Media, Bytes: bytes, Media: pemmican.MediaInfo{Type: "image/png", Name: fmt.Sprintf("%d.png", i)}})
		tr.AddAssistant(fmt.Sprintf("I have seen picture %d, which shows the page after step %d.", i, i))
	}
	tr.AddUser("Which one is the odd one out?")
	return &tr
}

// left are the numbers of the pictures that a plan leaves.
func left(tr *pemmican.Transcript, plan *pemmican.Plan) string {
	var names []string
	for i := range tr.Blocks {
		if tr.Blocks[i].Kind == pemmican.Media && plan.Marks[i].Action == pemmican.Keep {
			names = append(names, strings.TrimSuffix(tr.Blocks[i].Media.Name, ".png"))
		}
	}
	return strings.Join(names, " ")
}

// TestIMG10_Limits: what a provider takes beside tokens holds although the tokens are few; the oldest pictures give way,
// and no more of them than must.
func TestIMG10_Limits(t *testing.T) {
	wire := pemmican.Capabilities{}
	oldFile := pemmican.Capabilities{NoStub: true, NoAnchor: true, NoHead: true, SummaryFirst: true, SummaryNeeded: true}
	newFile := pemmican.Capabilities{SummaryFirst: true, SummaryNeeded: true}
	newest := func(n, bytes int) *pemmican.Transcript {
		tr := pictures(0, 0)
		blocks := []pemmican.Block{{Text: "All of them."}}
		for i := range n {
			blocks = append(blocks, pemmican.Block{Kind: pemmican.Media, Bytes: bytes, Media: pemmican.MediaInfo{Name: fmt.Sprintf("%d.png", i)}})
		}
		tr.Add(pemmican.User, blocks...)
		return tr
	}
	screenshots := func() *pemmican.Transcript {
		tr := pictures(0, 0)
		for i := range 12 {
			id := fmt.Sprint(i)
			tr.AddAssistant("", pemmican.Call(id, "screenshot", "{}"))
			tr.Add(pemmican.Tool, pemmican.Block{Kind: pemmican.ToolResult, CallID: id, Text: "taken"},
				pemmican.Block{Kind: pemmican.Media, CallID: id, Bytes: 2_800_000, Media: pemmican.MediaInfo{Name: id + ".png"}})
		}
		return tr
	}
	for _, test := range []struct {
		name    string
		tr      *pemmican.Transcript
		can     pemmican.Capabilities
		limits  pemmican.Limits
		pin     string
		outcome pemmican.Outcome
		left    string
		says    string // in the reason or a warning
	}{
		{"12 pictures of 2.8 MB", pictures(12, 2_800_000), wire, pemmican.Limits{Bytes: 32 * mega}, "", pemmican.Reduced, "1 2 3 4 5 6 7 8 9 10 11", "bytes, and the provider takes 32000000"},
		{"half of that", pictures(12, 2_800_000), wire, pemmican.Limits{Bytes: 16 * mega}, "", pemmican.Reduced, "7 8 9 10 11", ""},
		{"in a session file", pictures(12, 2_800_000), newFile, pemmican.Limits{Bytes: 32 * mega}, "", pemmican.Reduced, "1 2 3 4 5 6 7 8 9 10 11", ""},
		{"where only whole units go", pictures(12, 2_800_000), oldFile, pemmican.Limits{Bytes: 32 * mega}, "", pemmican.Summarised, "1 2 3 4 5 6 7 8 9 10 11", ""},
		{"in results", screenshots(), wire, pemmican.Limits{Bytes: 32 * mega}, "", pemmican.Reduced, "1 2 3 4 5 6 7 8 9 10 11", ""},
		{"a pinned one stays", pictures(12, 2_800_000), wire, pemmican.Limits{Bytes: 32 * mega}, "Picture 0.", pemmican.Reduced, "0 2 3 4 5 6 7 8 9 10 11", ""},
		{"within", pictures(11, 2_800_000), wire, pemmican.Limits{Bytes: 32 * mega, Media: 11, Messages: 100}, "", pemmican.Unchanged, "0 1 2 3 4 5 6 7 8 9 10", "not over the target"},
		{"too many", pictures(12, 1000), wire, pemmican.Limits{Media: 5}, "", pemmican.Reduced, "7 8 9 10 11", "12 pictures or documents, and the provider takes 5"},
		{"too many where only whole units go", pictures(12, 1000), oldFile, pemmican.Limits{Media: 5}, "", pemmican.Summarised, "7 8 9 10 11", ""},
		{"too many in one message", newest(12, 1000), wire, pemmican.Limits{Media: 5}, "", pemmican.Reduced, "7 8 9 10 11", "the person's newest message alone has more pictures"},
		{"too large in one message", newest(12, 2_800_000), wire, pemmican.Limits{Bytes: 32 * mega}, "", pemmican.Reduced, "1 2 3 4 5 6 7 8 9 10 11", "the person's newest message alone has more pictures"},
		{"too large in one pinned message", newest(12, 2_800_000), wire, pemmican.Limits{Bytes: 32 * mega}, "All of them.", pemmican.Refused, "0 1 2 3 4 5 6 7 8 9 10 11", "and the provider takes 32000000"},
		{"messages", pictures(12, 1000), wire, pemmican.Limits{Messages: 12}, "", pemmican.Summarised, "8 9 10 11", "28 messages, and the provider takes 12"},
		{"messages where only whole units go", pictures(12, 1000), oldFile, pemmican.Limits{Messages: 12}, "", pemmican.Summarised, "8 9 10 11", ""},
		{"nothing can be left out", newest(1, 1000), wire, pemmican.Limits{Bytes: 100}, "", pemmican.Refused, "0", "and the provider takes 100"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tr := test.tr
			tr.Can = test.can
			asks := &written{text: "## Progress\nThe older pictures were looked at, one by one, and none was the odd one out."}
			o := pemmican.Options{Counter: quarter{}, Summarizer: asks, Limits: test.limits}
			if test.pin != "" {
				o.Pins = []string{test.pin}
			}
			plan, report, err := pemmican.Compact(t.Context(), tr, o)
			if err != nil {
				t.Fatal(err)
			}
			if report.Outcome != test.outcome {
				t.Fatalf("%s: %s", report.Outcome, report.Reason)
			}
			if got := left(tr, plan); got != test.left {
				t.Errorf("left are %s, want %s", got, test.left)
			}
			if told := report.Reason + "\n" + strings.Join(report.Warnings, "\n"); !strings.Contains(told, test.says) {
				t.Errorf("told is %q", told)
			}
			if test.outcome == pemmican.Refused {
				return
			}
			out := plan.Result(tr)
			if !within(out, test.limits) {
				t.Errorf("it has %+v", loadOf(out))
			}
			if again, second, err := pemmican.Compact(t.Context(), out, o); err != nil || !again.Empty() || second.Outcome != pemmican.Unchanged {
				t.Errorf("again: %v, %+v", err, second)
			}
			if test.outcome == pemmican.Summarised && !asks.last.OverLimits {
				t.Error("the summariser is not told")
			}
		})
	}
}

// TestLimitsBesideTokens: a target and a limit hold together, and the summariser knows whether the limit was met before.
func TestLimitsBesideTokens(t *testing.T) {
	tr := pictures(40, 2_800_000)
	asks := &written{text: "What was seen."}
	o := pemmican.Options{Counter: quarter{}, Summarizer: asks, Target: 900, Limits: pemmican.Limits{Bytes: 32 * mega, Messages: 30}}
	plan, report, err := pemmican.Compact(t.Context(), tr, o)
	if err != nil || report.Outcome != pemmican.Summarised || report.TokensAfter > 900 || !within(plan.Result(tr), o.Limits) {
		t.Fatalf("%v, %+v", err, report)
	}
	if !asks.last.OverLimits {
		t.Error("the summariser is not told")
	}
	o.Limits = pemmican.Limits{Bytes: 320 * mega}
	if _, _, err = pemmican.Compact(t.Context(), tr, o); err != nil || asks.last.OverLimits {
		t.Errorf("%v: the summariser is told of a limit that was met", err)
	}
	o.Limits.Media = -1
	if _, _, err = pemmican.Compact(t.Context(), tr, o); !errors.Is(err, pemmican.ErrOptions) {
		t.Error(err)
	}
}

// TestIMG10_Bytes: it is so in the bytes of a request as well, in either protocol.
func TestIMG10_Bytes(t *testing.T) {
	data := strings.Repeat("iVBORw0KGgoAAAANSUhEUgAA", 2_800_000/24)
	var chat, messages strings.Builder
	chat.WriteString(`{"model":"m","messages":[{"role":"user","content":"Compare the pictures."}`)
	messages.WriteString(`{"model":"m","max_tokens":100,"messages":[{"role":"user","content":"Compare the pictures."}`)
	for i := range 12 {
		fmt.Fprintf(&chat, `,{"role":"assistant","content":"Send picture %d."},{"role":"user","content":[{"type":"text","text":"Picture %d."},`+
			`{"type":"image_url","image_url":{"url":"data:image/png;base64,%s"}}]}`, i, i, data)
		fmt.Fprintf(&messages, `,{"role":"assistant","content":"Send picture %d."},{"role":"user","content":[{"type":"text","text":"Picture %d."},`+
			`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}]}`, i, i, data)
	}
	const end = `,{"role":"assistant","content":"I have them all."},{"role":"user","content":"Which one is the odd one out?"}]}`
	for name, decode := range map[string]func() (format.Document, error){
		"chat":     func() (format.Document, error) { return openaichat.Decode([]byte(chat.String() + end)) },
		"messages": func() (format.Document, error) { return anthropic.Decode([]byte(messages.String() + end)) },
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := decode()
			if err != nil {
				t.Fatal(err)
			}
			plan, report, err := pemmican.Compact(t.Context(), doc.Transcript(), pemmican.Options{Limits: pemmican.Limits{Bytes: 32 * mega}})
			if err != nil || report.Outcome != pemmican.Reduced {
				t.Fatalf("%v, %+v", err, report)
			}
			out, err := doc.Apply(plan)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(out), data); len(out) > 32*mega || n != 11 {
				t.Errorf("%d bytes and %d pictures are left", len(out), n)
			}
		})
	}
}
