package summary_test

import (
	"context"
	"fmt"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/modeltest"
	"github.com/pemmican-dev/pemmican/llm"
	"github.com/pemmican-dev/pemmican/preset"
	"github.com/pemmican-dev/pemmican/summary"
)

// A model writes the narrative. While it works, its failures change nothing; once three in a row have failed, the
// mechanical summary takes over until the guard has cooled down.
func ExampleModel() {
	server, err := modeltest.New(modeltest.Reply{Text: "The importer reads orders.csv; row 4711 has no date, which is fixed in parse.go."})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	var t pemmican.Transcript
	t.AddUser("Why does the importer fail?")
	for i := range 20 {
		id := fmt.Sprint(i)
		t.AddAssistant("", pemmican.Call(id, "read_file", fmt.Sprintf(`{"path":"orders.csv","offset":%d}`, 500*i)))
		t.AddResult(id, fmt.Sprintf("row %d: a date is missing, says parse.go; the rows before it are sound, and so are those behind it", 4711+i))
	}
	t.AddAssistant("Row 4711 has no date.")
	t.AddUser("Then mend it.")

	var guard summary.Guard // of this session
	policy := preset.Handoff()
	_, report, err := pemmican.Compact(context.Background(), &t, pemmican.Options{
		Target: 500,
		Policy: &policy,
		Summarizer: summary.Fallback{
			First: &summary.Model{
				Client: &llm.Client{API: llm.Chat, BaseURL: server.BaseURL(modeltest.Chat), Key: llm.KeyFromEnv(llm.Chat)},
				Name:   "small-model",
				Guard:  &guard,
			},
			Then: summary.Mechanical{},
			When: summary.GuardOpen,
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Outcome, report.Summary.Kind, report.Asked.Mode, report.Asked.Requests)
	// Output: summarised small-model cross 1
}
