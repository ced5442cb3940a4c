package pemmican_test

import (
	"testing"

	"github.com/pemmican-dev/pemmican"
)

// TestResultUsage is TOK-08: what was reported for a transcript is not true of what a plan makes of it.
func TestResultUsage(t *testing.T) {
	var tr pemmican.Transcript
	tr.AddUser("Do it.")
	tr.AddAssistant("Well.")
	tr.Messages[1].Usage = 5000
	tr.AddUser("And that.")
	tr.AddAssistant("Done.")
	tr.Messages[3].Usage = 6000
	plan := pemmican.NewPlan(&tr)
	if out := plan.Result(&tr); out.Messages[1].Usage != 5000 || out.Messages[3].Usage != 6000 {
		t.Errorf("a plan that changes nothing: %+v", out.Messages)
	}
	plan.Marks[0].Action = pemmican.Drop
	for _, m := range plan.Result(&tr).Messages {
		if m.Usage != 0 {
			t.Errorf("%+v", m)
		}
	}
	if tr.Messages[3].Usage != 6000 {
		t.Error("the transcript itself was changed")
	}
}
