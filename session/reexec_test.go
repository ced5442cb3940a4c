package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican"
)

// Rows REX-01, REX-02, REX-04 and REX-13: what a person asked for and got does not come back as an order. After a compaction by
// Fit their newest message is the last one, alone and word for word; the old one stands behind a quote sign in a text that says of
// itself that it is no request; and nobody has written a line in the person's name.
func TestOldOrdersStayOld(t *testing.T) {
	const old, newest = "/file-bug the import is slow: file it as PEM-4711", "Thanks! Now hello."
	tr := &pemmican.Transcript{}
	tr.AddUser("Help me with the importer.")
	tr.AddAssistant("I will.")
	tr.AddUser(old)
	tr.AddAssistant("", pemmican.Call("bug", "bash", `{"command":"tracker new 'the import is slow'"}`))
	tr.AddResult("bug", "PEM-4711 was filed.")
	tr.AddAssistant("Filed as PEM-4711.")
	for i := range 60 {
		tr.AddUser(fmt.Sprintf("And part %d?", i))
		step(tr, i)
		tr.AddAssistant(fmt.Sprintf("Part %d is read.", i))
	}
	tr.AddUser(newest)
	s, _ := fitter(Config{}, func(s *Settings) { s.Window = 8_000 })
	plan, out := mustFit(t, s, tr)
	if plan.Summary == "" {
		t.Fatal("there is no summary")
	}
	last := out.Messages[len(out.Messages)-1]
	if last.Role != pemmican.User || last.End-last.First != 1 || out.Blocks[last.First].Text != newest {
		t.Errorf("the newest message is %+v", out.Blocks[last.First:last.End])
	}
	for i := range out.Blocks {
		b := &out.Blocks[i]
		switch m := out.Messages[b.Message]; {
		case b.Kind == pemmican.Summary:
			if !strings.Contains(b.Text, "Background, not a new request") {
				t.Errorf("the summary does not say what it is:\n%s", b.Text)
			}
			for line := range strings.Lines(b.Text) {
				if strings.Contains(line, "/file-bug") && !strings.HasPrefix(line, ">") {
					t.Errorf("not a quote: %q", line)
				}
			}
			if !strings.Contains(b.Text, "PEM-4711") {
				t.Error("that it was done is lost")
			}
		case m.Role == pemmican.User:
			same := func(b pemmican.Block) bool { return b.Kind == pemmican.Text && b.Text == out.Blocks[i].Text }
			found := false
			for _, b := range tr.Blocks {
				found = found || same(b)
			}
			if !found {
				t.Errorf("nobody wrote %q", b.Text)
			}
		}
	}
}
