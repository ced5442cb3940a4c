package summary

import (
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican"
)

// X18: from the second compaction on a summary says that details wear off, the mechanical one too where it has room, and the line
// is none of the ledger's data: it does not pile up.
func TestWear(t *testing.T) {
	for room, there := range map[int]int{2000: 1, 400: 0} {
		tr := &pemmican.Transcript{}
		tr.AddUser("Port the billing service to the new queue.")
		previous := ""
		for g := range 4 {
			tr.AddAssistant("I look at the next file.", pemmican.Call("c", "read", `{"path":"a.go"}`))
			tr.AddResult("c", strings.Repeat("a line of the file\n", 30))
			r := drop(tr, 1, room)
			r.Previous, r.Compactions = previous, g
			previous = summarise(t, Mechanical{}, r)
			if n, want := strings.Count(previous, wearHint), min(g, 1)*there; n != want {
				t.Errorf("in %d tokens, after compaction %d, it stands there %d times, want %d:\n%s", room, g+1, n, want, previous)
			}
			if l, ok := ParseLedger(previous); !ok || strings.Contains(l.Render(), wearHint) {
				t.Errorf("it is data: %v %+v", ok, l)
			}
		}
	}
}
