package sidecar

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// Whatever events come in whatever order: each gets one answer, a compact event a compaction or a reason, never more than
// one attempt is in flight, and after the end nothing comes.
func TestAnyEvents(t *testing.T) {
	replies := []AskReply{good(Ask{}), {Text: " ", Stop: "stop"}, {Stop: "error", Error: "503"}, {Unresolved: "gone"}, {Stop: "aborted"}}
	rapid.Check(t, func(rt *rapid.T) {
		script := rapid.SliceOfN(rapid.SampledFrom(replies), 1, 8).Draw(rt, "replies")
		asked := 0
		x, stop := serve(t, Config{StateDir: t.TempDir()}, func(Ask) AskReply {
			asked++
			return script[asked%len(script)]
		})
		x.call(hello(t.TempDir()))
		names := []string{"compact", "compacted", "compact-failed", "tool", "settled", "model", "usage", "status", "hello", "dance"}
		var details json.RawMessage
		waiting := map[int]string{}
		for range rapid.IntRange(1, 25).Draw(rt, "events") {
			e := Event{Name: rapid.SampledFrom(names).Draw(rt, "event"), Usage: &Usage{}}
			if tokens := rapid.SampledFrom([]int{-1, 0, 150_000, 215_000, 500_000, 990_000}).Draw(rt, "tokens"); tokens >= 0 {
				e.Usage = usage(tokens)
			}
			switch e.Name {
			case "compact":
				e.Entries, e.KeepRecent = entries(rapid.IntRange(0, 6).Draw(rt, "turns")), 200
				e.Reason = rapid.SampledFrom([]string{"manual", "threshold", "overflow"}).Draw(rt, "reason")
			case "compacted":
				e.FromExtension, e.Details = rapid.Bool().Draw(rt, "from an extension"), details
			case "compact-failed":
				e.Aborted, e.Error = rapid.Bool().Draw(rt, "aborted"), "no"
			case "model":
				e.Model = &Model{Provider: "zai", ID: rapid.SampledFrom([]string{"glm", "air", ""}).Draw(rt, "model"), ContextWindow: 200_000}
			case "hello":
				e = hello(t.TempDir())
			}
			id := x.send(e)
			if e.Name == "compact" && rapid.Bool().Draw(rt, "do not wait") {
				waiting[id] = e.Name
				if rapid.Bool().Draw(rt, "cancel") {
					x.send(Event{Cancel: id})
				}
				continue
			}
			l := x.answerTo(id, e.Name)
			if e.Name == "compact" && (l.Compaction == nil) == (l.HandBack == "") {
				rt.Fatalf("compact: %+v", l)
			}
			if l.Compaction != nil {
				details = l.Compaction.Details
			}
			if e.Name == "hello" {
				clear(waiting) // what was asked in the session before gets no answer
			}
		}
		for id, name := range waiting {
			if l := x.answerTo(id, name); (l.Compaction == nil) == (l.HandBack == "") {
				rt.Fatalf("compact: %+v", l)
			}
		}
		end := x.send(Event{Name: "end"})
		x.answerTo(end, "end")
		for _, l := range x.rest() {
			if l.Ask == nil && l.CancelAsk == 0 && l.ID > end {
				rt.Fatalf("after the end: %+v", l)
			}
		}
		if err := stop(); err != nil {
			rt.Fatal(err)
		}
	})
}
