package summary

import (
	"errors"
	"strings"
	"testing"
)

// TestReplies: what stands around a narrative is taken off, whoever wrote it.
func TestReplies(t *testing.T) {
	s := gated(gateSession())
	const refused = "refused: "
	for _, row := range []struct{ text, want string }{
		// Thoughts.
		{"analysisI have to sum up.assistantfinal" + goodSummary, goodSummary},
		{"analysisWhat is it?\nPRT-118.assistantcommentaryNow.assistantfinal\n" + goodSummary, goodSummary},
		{"assistantfinal" + goodSummary, goodSummary},
		{"The word assistantfinal is of harmony, RotateToken is not.", "The word assistantfinal is of harmony, RotateToken is not."},
		{"analysisI have to sum up session_store.go.", refused + string(ReasonReasoning)},
		{"analysisI list it.assistantcommentary to=bash json{}", refused + string(ReasonToolCall)},
		{"◁think▷hm, <think>◁/think▷" + goodSummary, goodSummary},
		{"◁think▷hm, " + goodSummary, refused + string(ReasonReasoning)},
		{"<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>" + goodSummary + "<|END_RESPONSE|>", goodSummary},
		{"<|begin_of_thought|>hm<|end_of_thought|>\n\n<|begin_of_solution|>\n" + goodSummary + "\n<|end_of_solution|>", goodSummary},
		{"<|START_RESPONSE|>" + goodSummary, goodSummary},
		{"<|thinking|>hm<|/thinking|>" + goodSummary, goodSummary},
		{"hm<|end_of_thought|>" + goodSummary, goodSummary},
		{"<reasoning_content>hm</reasoning_content>\n" + goodSummary, goodSummary},
		{"<acmeThinking>hm</acmeThinking>" + goodSummary, goodSummary},
		{"<thought_process>\nhm\n</thought_process>\n" + goodSummary, goodSummary},
		{goodSummary + "\nThe prompt has `<thinking>` <thinking>", goodSummary + "\nThe prompt has `<thinking>` <thinking>"},
		{goodSummary + "\n`<thinking>` <thinking>\nblocks come first.", goodSummary + "\n`<thinking>` <thinking>\nblocks come first."},
		{goodSummary + "\nThe order is\n<thinking>\n<task>\nnow.", goodSummary + "\nThe order is\n<thinking>\n<task>\nnow."},

		// Wrappers.
		{"<final>\n" + goodSummary + "\n</final>", goodSummary},
		{"<answer>" + goodSummary + "</answer>", goodSummary},
		{"Here it is.\n<checkpoint>\n" + goodSummary + "\n</checkpoint>\nDone.", goodSummary},
		{"<final_answer><summary>\n" + goodSummary + "\n</summary></final_answer>", goodSummary},
		{goodSummary + "\n</assistant>", goodSummary},
		{"<answer>" + goodSummary, refused + string(ReasonCutOff)},
		{goodSummary + "\n<answer>\nPRT-118\n</answer>", goodSummary + "\n<answer>\nPRT-118\n</answer>"},
		{goodSummary + "\n<answer>\nPRT-118", goodSummary + "\n<answer>\nPRT-118"},
		{`"PRT-118:\n- RotateToken \u0000was wrong"`, "PRT-118:\n- RotateToken was wrong"},
		{`"PRT-118" is the ticket of "RotateToken"`, `"PRT-118" is the ticket of "RotateToken"`},
		{`{"summary": "PRT-118: \"RotateToken\" was wrong"}`, `PRT-118: "RotateToken" was wrong`},
		{"```json\n{\"final_answer\": \"PRT-118: RotateToken was wrong\"}\n```", "PRT-118: RotateToken was wrong"},
		{`{"summary": "PRT-118", "state": "RotateToken was wrong"}`, `{"summary": "PRT-118", "state": "RotateToken was wrong"}`},
		{`{"summary": "<tool_call>PRT-118"}`, refused + string(ReasonToolCall)},
		{"`PRT-118: RotateToken was wrong`", "PRT-118: RotateToken was wrong"},
		{"`{\"name\": \"read\", \"arguments\": {\"path\": \"session_store.go\"}}`", refused + string(ReasonToolCall)},

		// Fences.
		{"Here is the checkpoint:\n\n```markdown\n" + goodSummary + "\n```", goodSummary},
		{"Here is the checkpoint:\n```\n" + goodSummary + "\n```", goodSummary},
		{"Here:\n````md\n" + goodSummary + "\n```go\nx\n```\n````", "Here:\n" + goodSummary + "\n```go\nx\n```"},
		{"Here is the checkpoint:\n\n```markdown\n" + goodSummary + "\n[User] Go on\n```", refused + string(ReasonChat)},
		{"RotateToken is now:\n```go\nreturn defaultLifetime\n```", "RotateToken is now:\n```go\nreturn defaultLifetime\n```"},
		{"RotateToken is now:\n```\nreturn defaultLifetime\n```", "RotateToken is now:\n```\nreturn defaultLifetime\n```"},
		{"```go\nfunc RotateToken() { session_store.go }\n```", refused + string(ReasonChat)},
		{"```yaml\nticket: PRT-118\ncause: RotateToken\n```", "ticket: PRT-118\ncause: RotateToken"},

		// Ends.
		{goodSummary + "<|im_end|>", goodSummary},
		{goodSummary + "</s>", goodSummary},
		{goodSummary + " <|eot_id|>\n<|end_of_text|>", goodSummary},
		{goodSummary + "\n<end_of_turn>\n", goodSummary},
		{goodSummary + "<｜end▁of▁sentence｜>", goodSummary},
		{goodSummary + "<|return|>", goodSummary},
		{goodSummary + "<|im_end|>\n<think>hm</think>", goodSummary},
		{"<summary>" + goodSummary + "<|endoftext|></summary>", goodSummary},
		{goodSummary + "\n`<|im_end|>`", goodSummary + "\n`<|im_end|>`"},
		{goodSummary + "\n- <s>RotateToken</s>", goodSummary + "\n- <s>RotateToken</s>"},
		{goodSummary + "<|call|>", refused + string(ReasonToolCall)},
		{"<|im_end|>", refused + string(ReasonEmpty)},
	} {
		got, err := accept(ended(row.text), s)
		text := got.Narrative
		if refusal, ok := errors.AsType[*Refusal](err); ok {
			text = refused + string(refusal.Reason)
		}
		if text != row.want {
			t.Errorf("%q gives\n%q, want\n%q (%v)", row.text, text, row.want, err)
		}
	}
}

// TestLargeReplies: texts that could make the work grow by their square are told apart as small ones are.
func TestLargeReplies(t *testing.T) {
	const size = 1 << 19
	repeat := func(unit string) string { return strings.Repeat(unit, size/len(unit)) }
	var ticks strings.Builder
	for n := 1; ticks.Len() < size; n++ {
		ticks.WriteString("a " + strings.Repeat("`", n))
	}
	h := newChecker(gated(gateSession())).habits
	for _, row := range []struct {
		name, text string
		want       Reason // "" for a narrative
	}{
		{"runs of backticks", ticks.String(), ""},
		{"wrappers", repeat("\n<summary>a</summary>"), ReasonCutOff},
		{"wrappers of another name", repeat("\n<answer>a</answer>"), ReasonCutOff},
		{"a few wrappers", strings.Repeat("\n<summary>a</summary>", 30), ""},
		{"thoughts in a list", repeat("a\n<think>\n<b>\n"), ""},
		{"calls that are open", repeat("bash(\n"), ReasonToolCall},
		{"tags that are open", repeat("\n<bash>a"), ""},
		{"objects that are open", repeat("\n{\"a\": {"), ""},
		{"ends", "a." + repeat(" <|im_end|>"), ""},
	} {
		_, refusal := narrativeOf(row.text, false, h)
		switch {
		case refusal == nil && row.want != "", refusal != nil && refusal.Reason != row.want:
			t.Errorf("%s: %v, want %q", row.name, refusal, row.want)
		}
	}
}

// TestCodeSpans: a span ends at the next run of as many backticks, as in Markdown.
func TestCodeSpans(t *testing.T) {
	for text, want := range map[string]string{
		"a `b` c":          "a ### c",
		"`` a`b `` `c":     "######### `c",
		"`a ``b` c``":      "####### c``",
		"```a` b``` `c`":   "########## ###",
		"`a\nb`":           "`a\nb`",
		"no\n~~~\n`a\n~~~": "no\n   \n  \n   ",
	} {
		if got := strings.ReplaceAll(withoutCode(text), string(spanSign), "#"); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestIndentedCode(t *testing.T) {
	for text, want := range map[string]string{
		"a\n\n    b\n\n\tc\nd":     "a\n\n     \n\n  \nd",
		"a\n    b":                 "a\n    b",
		"a\n\n   b":                "a\n\n   b",
		"- a\n\n    b\n    c\n  d": "- a\n\n     \n     \n  d",
	} {
		if got := withoutIndented(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
