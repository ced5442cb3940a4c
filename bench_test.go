package pemmican_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/preset"
)

// longTranscript is a coding session of about that many tokens: reads, edits and runs with their results.
func longTranscript(tokens int) *pemmican.Transcript {
	var tr pemmican.Transcript
	tr.AddSystem("You are a careful programmer.")
	tr.AddUser("Make the shop's checkout handle vouchers.")
	for step, bytes := 0, 0; bytes < tokens*4; step++ {
		id := fmt.Sprintf("call_%d", step)
		path := fmt.Sprintf("src/shop/part%d/file%d.go", step%7, step%40)
		var result strings.Builder
		for line := range 20 + step%60 {
			fmt.Fprintf(&result, "%d\tfunc (s *Shop) Step%dLine%d(ctx context.Context, id string) error { return s.store.Save%d(ctx, id) }\n", line, step, line*step, line)
		}
		switch step % 5 {
		case 0:
			tr.AddAssistant("Now part "+fmt.Sprint(step), pemmican.Call(id, "edit_file", fmt.Sprintf(`{"path":%q,"old":"Step%d","new":"Step%d"}`, path, step, step+1)))
			tr.AddResult(id, "edited "+path)
		case 1:
			tr.AddAssistant("", pemmican.Call(id, "run_shell", `{"command":"go test ./..."}`))
			tr.AddError(id, fmt.Sprintf("--- FAIL: TestStep%d\n%s\nexit status 1", step, result.String()))
		default:
			tr.AddAssistant("", pemmican.Call(id, "read_file", fmt.Sprintf(`{"path":%q}`, path)))
			tr.AddResult(id, result.String())
		}
		bytes += result.Len() + 200
		if step%40 == 39 {
			tr.AddAssistant("That part is done.")
			tr.AddUser(fmt.Sprintf("Good. Go on with part %d, and leave the prices alone.", step))
		}
	}
	return &tr
}

// BenchmarkCompact measures the engine without a summariser, and json.Valid over as many bytes for comparison.
func BenchmarkCompact(b *testing.B) {
	for _, tokens := range []int{50_000, 200_000, 1_000_000} {
		tr := longTranscript(tokens)
		text := 0
		for i := range tr.Blocks {
			text += len(tr.Blocks[i].Text) + len(tr.Blocks[i].Args)
		}
		o := pemmican.Options{Target: tokens / 5, Tools: tools}
		b.Run(fmt.Sprintf("%dk", tokens/1000), func(b *testing.B) {
			b.SetBytes(int64(text))
			b.ReportAllocs()
			for b.Loop() {
				_, report, err := pemmican.Compact(b.Context(), tr, o)
				if err != nil || report.TokensAfter > o.Target {
					b.Fatal(err, report)
				}
			}
		})
	}
}

// BenchmarkManySteps has steps so small that their number is what counts.
func BenchmarkManySteps(b *testing.B) {
	for _, name := range preset.Names() {
		for _, n := range []int{10_000, 40_000} {
			var tr pemmican.Transcript
			tr.AddUser("q")
			for i := range n {
				id := fmt.Sprint(i)
				tr.AddAssistant("", pemmican.Call(id, "bash", `{"n":`+id+`}`))
				tr.AddResult(id, "ok "+id)
			}
			p, _ := preset.ByName(name)
			o := pemmican.Options{Policy: &p, Target: sum(&tr) * 3 / 10, Counter: quarter{}}
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					if _, _, err := pemmican.Compact(b.Context(), &tr, o); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkValid(b *testing.B) {
	data, err := json.Marshal(longTranscript(200_000).Blocks)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		json.Valid(data)
	}
}
