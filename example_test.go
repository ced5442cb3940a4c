package pemmican_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format/openaichat"
)

// A request body is decoded, compacted and written back; what is kept comes out byte for byte.
func Example() {
	body := []byte(`{"model":"m","messages":[
		{"role":"user","content":"Find the bug."},
		{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a.go\"}"}}]},
		{"role":"tool","tool_call_id":"1","content":"` + strings.Repeat("some line of a long file\\n", 500) + `"},
		{"role":"assistant","content":"It is in line 7."},
		{"role":"user","content":"Mend it."}]}`)

	doc, err := openaichat.Decode(body)
	if err != nil {
		log.Fatal(err)
	}
	plan, report, err := pemmican.Compact(context.Background(), doc.Transcript(), pemmican.Options{Target: 1000})
	if err != nil {
		log.Fatal(err)
	}
	out, err := doc.Apply(plan)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Outcome, len(out) < len(body)/2)
	// Output: reduced true
}

// An agent that holds its messages as structs builds the transcript by hand before each request, and reads the plan.
func ExampleCompact() {
	type message struct{ role, text, id string }
	history := []message{
		{"user", "Find the bug.", ""},
		{"call", `{"path":"a.go"}`, "1"},
		{"result", strings.Repeat("some line of a long file\n", 500), "1"},
		{"assistant", "It is in line 7.", ""},
		{"user", "Mend it.", ""},
	}
	var t pemmican.Transcript
	for _, m := range history {
		switch m.role {
		case "user":
			t.AddUser(m.text)
		case "assistant":
			t.AddAssistant(m.text)
		case "call":
			t.AddAssistant("", pemmican.Call(m.id, "read", m.text))
		case "result":
			t.AddResult(m.id, m.text)
		}
	}
	plan, _, err := pemmican.Compact(context.Background(), &t, pemmican.Options{Target: 1000})
	if err != nil {
		log.Fatal(err)
	}
	for i, mark := range plan.Marks { // one mark for each block, and here each message has one block
		fmt.Println(history[i].role, mark.Action)
	}
	// Output:
	// user keep
	// call keep
	// result stub
	// assistant keep
	// user keep
}

// listing is a summariser that lists the tools that were called.
type listing struct{}

func (listing) Summarize(_ context.Context, r pemmican.SummaryRequest) (pemmican.SummaryText, error) {
	var tools []string
	for _, i := range r.Dropped {
		if b := r.Transcript.Blocks[i]; b.Kind == pemmican.ToolCall {
			tools = append(tools, b.Tool)
		}
	}
	return pemmican.SummaryText{Body: "Tools called so far: " + strings.Join(tools, ", "), Kind: "listing"}, nil
}

// A summariser of one's own gets what is dropped, and returns the text that stands for it.
func ExampleSummarizer() {
	var t pemmican.Transcript
	t.AddUser("Look around.")
	for i := range 20 {
		id := fmt.Sprint(i)
		t.AddAssistant("", pemmican.Call(id, "look"+id, "{}"))
		var seen strings.Builder
		for door := range 30 {
			fmt.Fprintf(&seen, "door %d leads to room %d; ", door, door*i)
		}
		t.AddResult(id, seen.String())
	}
	plan, report, err := pemmican.Compact(context.Background(), &t, pemmican.Options{Target: 4000, Summarizer: listing{}})
	if err != nil {
		log.Fatal(err)
	}
	body, _ := pemmican.Unseal(plan.Summary)
	fmt.Println(report.Outcome, body)
	// Output: summarised Tools called so far: look0, look1, look2, look3, look4, look5, look6, look7, look8, look9, look10, look11, look12
}
