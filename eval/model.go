package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/llm"
	"github.com/pemmican-dev/pemmican/summary"
)

// scripted is a model that is none: it writes what reply makes of the message that it was sent. So the whole way of a
// summary by a model is measured, offline and with the same figures every time.
type scripted struct{ reply func(prompt string) string }

// RoundTrip answers a request of Chat Completions.
func (s scripted) RoundTrip(req *http.Request) (*http.Response, error) {
	data, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	var asked struct {
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(data, &asked); err != nil {
		return nil, err
	}
	type object map[string]any
	body, err := json.Marshal(object{
		"choices": []any{object{
			"message":       object{"role": "assistant", "content": s.reply(asked.Messages[len(asked.Messages)-1].Content)},
			"finish_reason": "stop",
		}},
	})
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Request: req, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)),
	}, nil
}

// modelled is the default engine with a scripted model: its narrative before the ledger, or where it is refused the line
// that says so. What is not of the ledger is not charged, so the budget is raised by its size, and what is compared is
// the ledger with it and without it.
func modelled(reply func(prompt string) string) func(ctx context.Context, t task) (answer, error) {
	return func(ctx context.Context, t task) (answer, error) {
		m := &summary.Model{
			Name:   "scripted",
			Client: &llm.Client{API: llm.Chat, BaseURL: "http://localhost/v1", HTTP: &http.Client{Transport: scripted{reply}}},
		}
		o := engineOptions(pemmican.DefaultPolicy(), t.budget, uncharged{t.counter})
		o.Summarizer = summary.Fallback{First: m, Then: summary.Mechanical{}}
		plan, report, err := pemmican.Compact(ctx, t.history, o)
		switch {
		case err != nil:
			return answer{}, err
		case report.Outcome == pemmican.Refused:
			return answer{context: t.history, refused: true}, nil
		}
		b := &pemmican.Block{Kind: pemmican.Summary, Text: plan.Summary}
		return answer{context: plan.Result(t.history), plan: plan, options: o, extra: t.counter.Count(b) - o.Counter.Count(b)}, nil
	}
}

// uncharged is a counter that does not count what stands in a summary before its ledger.
type uncharged struct{ pemmican.Counter }

func (c uncharged) Count(b *pemmican.Block) int {
	from := strings.Index(b.Text, "Automatic checkpoint: ")
	if from < 0 {
		from = strings.Index(b.Text, "[Model summary unavailable (")
	}
	if from < 0 {
		return c.Counter.Count(b)
	}
	rest := *b
	rest.Text = ""
	if at := ledgerStart.FindStringIndex(b.Text[from:]); at != nil {
		rest.Text = b.Text[from+at[0]:]
	}
	rest.Text = b.Text[:from] + rest.Text
	return c.Counter.Count(&rest)
}

// ledgerStart is the first line of a ledger.
var ledgerStart = regexp.MustCompile(`(?m)^# [0-9]+ earlier messages? of this conversation w(as|ere) dropped to save room$`)

// narrate is a model that sums up well what it reads, as far as a program can: what the person wanted first, and what the
// agent said, the newest last.
func narrate(prompt string) string {
	var person, agent []string
	_, prompt, _ = strings.Cut(prompt, "<conversation>\n")
	prompt, _, _ = strings.Cut(prompt, "\n</conversation>")
	for part := range strings.SplitSeq(prompt, "\n\n[") {
		label, text, ok := strings.Cut(strings.TrimPrefix(part, "["), "]")
		if text = firstWords(text, 60); !ok || text == "" {
			continue
		}
		switch label {
		case "User":
			person = append(person, text)
		case "Assistant":
			agent = append(agent, text)
		}
	}
	var b strings.Builder
	b.WriteString("## Goal\n")
	for i, text := range person {
		if i < 2 || i >= len(person)-2 {
			b.WriteString("- " + text + "\n")
		}
	}
	b.WriteString("\n## Progress\n")
	for _, text := range agent[max(0, len(agent)-8):] {
		b.WriteString("- " + text + "\n")
	}
	return b.String()
}

// firstWords is the beginning of a text on one line.
func firstWords(text string, n int) string {
	words := strings.Fields(text)
	return strings.Join(words[:min(n, len(words))], " ")
}

// chat is a model that answers the conversation instead of summing it up.
func chat(string) string { return "Let me check the working tree first." }
