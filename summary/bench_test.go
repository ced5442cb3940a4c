package summary

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/llm"
)

// longTranscript is a coding session of about that many tokens: reads, searches, edits and commands over a vocabulary
// that grows as a program's does.
func longTranscript(tokens int) *pemmican.Transcript {
	rnd := rand.New(rand.NewPCG(1, 2))
	t := &pemmican.Transcript{}
	verbs := []string{"load", "parse", "write", "check", "merge", "open", "close", "render", "count", "split"}
	nouns := []string{"Session", "Config", "Token", "Buffer", "Ledger", "Block", "Index", "Policy", "Stream", "Cache"}
	name := func() string {
		s := verbs[rnd.IntN(len(verbs))] + nouns[rnd.IntN(len(nouns))]
		if rnd.IntN(3) == 0 {
			s += fmt.Sprint(rnd.IntN(400))
		}
		return s
	}
	path := func() string {
		return fmt.Sprintf("internal/%s/file%d.go", strings.ToLower(nouns[rnd.IntN(10)]), rnd.IntN(60))
	}
	code := func(lines int) string {
		var b strings.Builder
		for range lines {
			switch rnd.IntN(4) {
			case 0:
				fmt.Fprintf(&b, "func (s *%s) %s(ctx context.Context, n int) error {\n", nouns[rnd.IntN(10)], name())
			case 1:
				fmt.Fprintf(&b, "\tif err := s.%s(%q, %d); err != nil {\n", name(), path(), rnd.IntN(5000))
			case 2:
				fmt.Fprintf(&b, "\t\treturn fmt.Errorf(\"%s of the whole thing failed: %%w\", err)\n", name())
			case 3:
				b.WriteString("\t}\n")
			}
		}
		return b.String()
	}
	t.AddUser("Make the session reader faster. Never change the public names in internal/session.")
	for i, bytes := 0, 0; bytes < 4*tokens; i++ {
		id := fmt.Sprint("call", i)
		p, text := path(), code(40+rnd.IntN(120))
		switch rnd.IntN(5) {
		case 0, 1:
			t.AddAssistant("Now I read the next file.", pemmican.Call(id, "read", fmt.Sprintf(`{"path":%q}`, p)))
			t.AddResult(id, text)
		case 2:
			t.AddAssistant("", pemmican.Call(id, "bash", fmt.Sprintf(`{"command":"go test ./internal/... -run Test%s"}`, name())))
			t.AddResult(id, text)
		case 3:
			t.AddAssistant("", pemmican.Call(id, "bash", fmt.Sprintf(`{"command":"go vet %s"}`, p)))
			t.AddError(id, p+":12:3: undefined: "+name()+"\nexit status 1")
		case 4:
			args, _ := json.Marshal(map[string]string{"path": p, "oldText": code(10), "newText": text})
			t.AddAssistant("The reason is that "+name()+" holds the lock for too long.", pemmican.Call(id, "edit", string(args)))
			t.AddResult(id, "ok")
		}
		if i%40 == 39 {
			t.AddUser(fmt.Sprintf("Good. Use at most %d ms in %s, and look at %s too.", rnd.IntN(900), name(), path()))
		}
		bytes += len(text) + 60
	}
	return t
}

// drop makes a request for all but the last keep messages.
func drop(t *pemmican.Transcript, keep, tokens int) pemmican.SummaryRequest {
	r := pemmican.SummaryRequest{Transcript: t, Tokens: tokens, Tools: testTools, Kept: make([]bool, len(t.Blocks))}
	first := len(t.Messages) - keep
	for i := range t.Blocks {
		if t.Blocks[i].Message < first {
			r.Dropped = append(r.Dropped, i)
		} else {
			r.Kept[i] = true
		}
	}
	return r
}

var testTools = pemmican.Tools{
	"read":  {Role: pemmican.ReadTool, Path: []string{"path"}, Range: []string{"offset", "limit"}},
	"edit":  {Role: pemmican.EditTool, Path: []string{"path"}},
	"write": {Role: pemmican.EditTool, Path: []string{"path"}},
	"bash":  {Role: pemmican.RunTool},
	"grep":  {Role: pemmican.SearchTool},
	"ls":    {Role: pemmican.ListTool, Path: []string{"path"}},
	"todo":  {Role: pemmican.PlanTool},
	"patch": {Role: pemmican.EditTool},
	"keep":  {Role: pemmican.KeepTool},
}

// BenchmarkMechanical is to be compared with BenchmarkJSONValid, which reads the same bytes once.
func BenchmarkMechanical(b *testing.B) {
	for _, tokens := range []int{200_000, 1_000_000} {
		t := longTranscript(tokens)
		bytes := 0
		for i := range t.Blocks {
			bytes += len(t.Blocks[i].Text) + len(t.Blocks[i].Args)
		}
		b.Run(fmt.Sprint(tokens/1000, "k"), func(b *testing.B) {
			r := drop(t, 10, 8000)
			b.SetBytes(int64(bytes))
			b.ReportAllocs()
			for b.Loop() {
				if out, err := (Mechanical{}).Summarize(b.Context(), r); err != nil || out.Body == "" {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkJSONValid(b *testing.B) {
	t := longTranscript(1_000_000)
	var texts []string
	for i := range t.Blocks {
		texts = append(texts, t.Blocks[i].Text, t.Blocks[i].Args)
	}
	data, err := json.Marshal(texts)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if !json.Valid(data) {
			b.Fatal("invalid")
		}
	}
}

// BenchmarkGateSource builds the set that the names of a summary are looked up in, for a transcript of a million tokens.
func BenchmarkGateSource(b *testing.B) {
	r := drop(longTranscript(1_000_000), 20, 4000)
	size := 0
	for i := range r.Transcript.Blocks {
		size += len(r.Transcript.Blocks[i].Text) + len(r.Transcript.Blocks[i].Args)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		newChecker(gateSource{Request: &r}).source()
	}
}

// BenchmarkAccept reads a good reply to a transcript of a million tokens.
func BenchmarkAccept(b *testing.B) {
	r := drop(longTranscript(1_000_000), 20, 4000)
	text := "## Goal\nMake the session reader faster.\n\n## Files\n- internal/session/file12.go: read\n- internal/token/file3.go: edited\n"
	text += "\n## Next Steps\n- internal/ledger/file7.go holds the lock for too long\n- run the tests of internal/session again, and look at internal/index/file3.go\n"
	reply := &llm.Reply{Text: text, Stop: llm.StopEnd}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := accept(reply, gateSource{Request: &r}); err != nil {
			b.Fatal(err)
		}
	}
}
