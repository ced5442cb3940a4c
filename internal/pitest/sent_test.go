package pitest

import (
	"reflect"
	"testing"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/modeltest"
)

func TestSent(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddSystem("You are pi.")
	tr.Add(pemmican.User, pemmican.Block{Kind: pemmican.Summary, Text: "It was long."})
	tr.AddUser("Go on")
	tr.AddAssistant("I look.", pemmican.Call("c1", "read", `{"path":"a"}`), pemmican.Call("c2", "bash", `{}`))
	tr.AddResult("c1", "alpha")
	tr.AddError("c2", "no command")
	want := []modeltest.Message{
		{Role: "user", Text: "The conversation history before this point was compacted into the following summary:\n\n<summary>\nIt was long.\n</summary>"},
		{Role: "user", Text: "Go on"},
		{Role: "assistant", Text: "I look.", Calls: []string{`c1 read {"path":"a"}`, "c2 bash {}"}},
		{Role: "tool", Text: "alpha", CallID: "c1"},
		{Role: "tool", Text: "no command", CallID: "c2"},
	}
	if got := Sent(&tr); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
