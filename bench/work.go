package bench

import (
	"fmt"
	"strings"
)

// work makes up what an agent does.
type work struct {
	*rng
	files []file
	fails []string // messages of failures, which come again
}

type file struct {
	path        string
	text        string
	lines       []int // the start of each line
	functions   int   // at most
	typographic bool  // a comment has marks beyond ASCII
}

type tool uint8

const (
	toolRead tool = iota
	toolRun
	toolEdit
	toolWrite
	toolSearch
)

// call is a tool call and its result.
type call struct {
	tool      tool
	id        string
	path      string
	command   string
	old, text string // of an edit; text is also what is written
	output    string
	failed    bool
}

// step is an answer of the model.
type step struct {
	thinking, text string
	calls          []call
	last           bool // of its turn
}

var (
	verbs = strings.Fields(`
		load save parse merge apply check render fetch resolve update delete validate encode decode index schedule
		retry cancel refund charge reserve release publish notify archive restore compare rotate`)
	nouns = strings.Fields(`
		order voucher basket invoice customer address payment shipment price discount tax session token cursor batch
		report event ledger stock warehouse refund coupon catalog product variant currency locale receipt carrier
		webhook snapshot migration tenant role policy quota`)
	packages = strings.Fields(`
		checkout billing catalog shipping auth storage reporting search mailer gateway jobs internal/cache
		internal/money cmd/shopd`)
	plain = strings.Fields(`
		the a this that so then because it which when after before with without for from into still only now also
		again first last whole small wrong right slow missing empty stale shared`)
	states = strings.Fields("pending active failed done expired refunded locked queued")
)

// Texts of which files, logs, answers and stacks are made.
const (
	fileBegin = `package %s

import (
	"context"
	"errors"
	"fmt"

	"example.com/shop/%s"
)
`
	codeCall = `	%s, err := %s.%s(ctx, %sID)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %%w", err)
	}
`
	codeLoop = `	for i, %s := range %s.%ss {
		if %s.State == "%s" && i > %d {
			continue
		}
		total += %s.Amount * %d
	}
`
	codeAppend = `	// %s.
	%s.%s = append(%s.%s, %s{ID: %q, Limit: limit, Rate: 0.%d})
`
	codeSwitch = `	switch %s.State {
	case "%s", "%s":
		return nil, errors.New("%s")
	default:
		limit -= %d
	}
`
	stackFrame = `goroutine %d [running]:
example.com/shop/%s.(*%s).%s(0x%s, {0x%s, 0x%x})
	/home/dev/shop/%s:%d +0x%x
`
	logLine = `2026-03-%02dT%02d:%02d:%02d.%03dZ %-5s %s.%s request_id=%s user=%d status=%d duration=%d.%dms msg="%s"
`
	responseItem = `
    {
      "id": "%s",
      "%s": {"name": "%s", "state": "%s"},
      "total": %d.%02d,
      "tags": ["%s", "%s"],
      "paid": %t,
      "note": null,
      "created_at": "2026-02-%02dT%02d:00:00Z"
    }`
)

func (w *work) anyPath() string { return w.files[w.below(len(w.files))].path }

func (w *work) start() {
	for i := range 48 {
		path := fmt.Sprintf("%s/%s_%s.go", packages[i%len(packages)], w.of(nouns), w.of(verbs))
		w.files = append(w.files, file{path: path, functions: 10, typographic: i%8 == 1 || i%8 == 3})
		if i%8 < 2 {
			w.files[i].functions = 40
		}
		w.fill(&w.files[i])
	}
	for range 12 {
		w.fails = append(w.fails, fmt.Sprintf("%s_test.go:%d: %s(%q) = %d, want %d: %s %s is %s", w.of(nouns), w.between(20, 400),
			w.function(), w.hex(8), w.below(500), w.below(500), w.of(nouns), w.of(nouns), w.of(states)))
	}
}

// fill writes the file anew.
func (w *work) fill(f *file) {
	var b strings.Builder
	name := f.path[:strings.LastIndexByte(f.path, '/')]
	fmt.Fprintf(&b, fileBegin, name[strings.LastIndexByte(name, '/')+1:], w.of(packages))
	for range w.between(3, f.functions) {
		w.code(&b)
	}
	if f.typographic {
		fmt.Fprintf(&b, "\n// %s — see “%s” → %s…\n", w.sentence(), w.of(nouns), w.function())
	}
	f.text = b.String()
	f.lines = f.lines[:0]
	for i := range len(f.text) {
		if i == 0 || f.text[i-1] == '\n' {
			f.lines = append(f.lines, i)
		}
	}
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (w *work) function() string {
	name := title(w.of(verbs)) + title(w.of(nouns))
	if w.below(3) == 0 {
		name += title(w.of(nouns))
	}
	return name
}

// code writes a function.
func (w *work) code(b *strings.Builder) {
	receiver, name := w.of(nouns), w.function()
	fmt.Fprintf(b, "\n// %s %s.\nfunc (%s *%s) %s(ctx context.Context, %sID string, limit int) (*%s, error) {\n",
		name, w.sentence(), receiver[:1], title(receiver), name, w.of(nouns), title(w.of(nouns)))
	for range w.between(3, 12) {
		v, n := w.of(nouns), w.of(nouns)
		switch w.below(6) {
		case 0:
			fmt.Fprintf(b, codeCall, v, receiver[:1], w.function(), n, w.of(verbs), v)
		case 1:
			fmt.Fprintf(b, codeLoop, v, receiver[:1], title(n), v, w.of(states), w.below(100), v, w.between(1, 400))
		case 2:
			r := receiver[:1]
			fmt.Fprintf(b, codeAppend, title(w.sentence()), r, title(v), r, title(v), title(n), w.hex(12), w.between(10, 99))
		case 3:
			fmt.Fprintf(b, "\tlog.Printf(\"%s %%s: %%d of %%d\", %sID, len(%s), limit)\n", w.of(verbs), v, n)
		case 4:
			fmt.Fprintf(b, codeSwitch, v, w.of(states), w.of(states), w.sentence(), w.between(1, 50))
		default:
			fmt.Fprintf(b, "\tdefer %s.%s(%s.WithTimeout(ctx, %d*time.Millisecond))\n", v, w.function(), n, 10*w.between(1, 300))
		}
	}
	fmt.Fprintf(b, "\treturn &%s{ID: %sID, Total: total}, nil\n}\n", title(w.of(nouns)), w.of(nouns))
}

func (w *work) sentence() string {
	var b strings.Builder
	for i := range w.between(4, 12) {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch w.below(5) {
		case 0, 1:
			b.WriteString(w.of(plain))
		case 2:
			b.WriteString(w.of(verbs) + "s")
		default:
			b.WriteString(w.of(nouns))
		}
	}
	return b.String()
}

// prose is about that many sentences, which name files, functions and values.
func (w *work) prose(sentences int) string {
	var b strings.Builder
	for range sentences {
		b.WriteString(title(w.sentence()))
		switch w.below(4) {
		case 0:
			fmt.Fprintf(&b, " in `%s`", w.anyPath())
		case 1:
			fmt.Fprintf(&b, ": `%s` returns %d", w.function(), w.below(1000))
		case 2:
			b.WriteString(", doesn't it")
		}
		b.WriteString(". ")
	}
	if w.below(16) == 0 {
		b.WriteString("That was it — nothing else changed. ")
	}
	return strings.TrimSpace(b.String())
}

// prompt is what the person asks. One in eight is in a script with a wide alphabet.
func (w *work) prompt() string {
	s := fmt.Sprintf("Please %s the %s in %s. %s Never touch the %s table, and keep the limit at %d.",
		w.of(verbs), w.of(nouns), w.anyPath(), w.prose(2), w.of(nouns), w.between(10, 999))
	if w.below(8) == 0 {
		s += " 注文の合計が間違っています。割引は税込みの価格から計算してください — danke schön für die schnelle Prüfung 🙂"
	}
	return s
}

func (w *work) step() step {
	var s step
	if w.below(3) == 0 {
		s.thinking = w.prose(w.between(2, 8))
	}
	if w.below(2) == 0 {
		s.text = w.prose(w.between(1, 2))
	}
	calls := 1
	if w.below(5) == 0 {
		calls = w.between(2, 3)
	}
	for range calls {
		s.calls = append(s.calls, w.call())
	}
	return s
}

func (w *work) call() call {
	f := &w.files[w.below(len(w.files))]
	switch w.below(10) {
	case 0, 1, 2:
		return call{tool: toolRead, path: f.path, output: f.text}
	case 3, 4:
		at := w.below(len(f.lines) - 4)
		old := f.text[f.lines[at]:f.lines[at+3]]
		var b strings.Builder
		w.code(&b)
		w.fill(f)
		return call{tool: toolEdit, path: f.path, old: old, text: b.String(), output: "Successfully replaced 1 block in " + f.path + "."}
	case 5:
		return w.test()
	case 6:
		return call{tool: toolRun, command: "tail -n 200 " + w.of(packages) + "/service.log", output: w.log(w.between(1500, 9000))}
	case 7:
		command := fmt.Sprintf("curl -s localhost:8080/api/%ss?limit=%d", w.of(nouns), w.between(5, 50))
		return call{tool: toolRun, command: command, output: w.response(w.between(1500, 8000))}
	case 8:
		return w.search()
	default:
		w.fill(f)
		if w.below(4) == 0 {
			return call{tool: toolWrite, path: f.path, text: f.text, output: fmt.Sprintf("Successfully wrote %d bytes to %s", len(f.text), f.path)}
		}
		output := fmt.Sprintf(" M %s\n M %s\n?? %s.orig\n", f.path, w.anyPath(), f.path)
		return call{tool: toolRun, command: "git status --short", output: output}
	}
}

// test is a run of tests. Half of them fail, with one of a few messages.
func (w *work) test() call {
	c := call{tool: toolRun, command: "go test ./" + w.of(packages) + "/..."}
	var b strings.Builder
	for range w.between(8, 60) {
		name := "Test" + w.function()
		fmt.Fprintf(&b, "=== RUN   %s\n--- PASS: %s (%d.%02ds)\n", name, name, w.below(3), w.below(100))
	}
	if w.below(2) == 0 {
		c.failed = true
		name := "Test" + w.function()
		fmt.Fprintf(&b, "=== RUN   %s\n    %s\n--- FAIL: %s (0.%02ds)\n", name, w.of(w.fails), name, w.below(100))
		for range w.between(0, 12) {
			fmt.Fprintf(&b, stackFrame, w.between(1, 90), w.of(packages), title(w.of(nouns)), w.function(),
				w.hex(10), w.hex(10), w.below(64), w.anyPath(), w.between(10, 500), w.below(4096))
		}
		fmt.Fprintf(&b, "FAIL\texample.com/shop\t%d.%03ds\nFAIL\n\nCommand exited with code 1", w.below(9), w.below(1000))
	} else {
		mark := "ok  "
		if w.below(3) == 0 {
			mark = "✓ ok"
		}
		fmt.Fprintf(&b, "PASS\n%s\texample.com/shop\t%d.%03ds\n", mark, w.below(9), w.below(1000))
	}
	c.output = b.String()
	return c
}

// log is about n bytes of it.
func (w *work) log(n int) string {
	var b strings.Builder
	b.Grow(n + 300)
	for b.Len() < n {
		fmt.Fprintf(&b, logLine,
			w.between(1, 28), w.below(24), w.below(60), w.below(60), w.below(1000), w.of([]string{"INFO", "INFO", "DEBUG", "WARN", "ERROR"}),
			w.of(nouns), w.of(verbs), w.uuid(), w.below(100000), w.of3(200, 404, 500), w.below(900), w.below(10), w.sentence())
	}
	return b.String()
}

func (w *work) of3(a, b, c int) int { return [...]int{a, a, a, b, c}[w.below(5)] }

// response is about n bytes of JSON.
func (w *work) response(n int) string {
	var b strings.Builder
	b.Grow(n + 500)
	b.WriteString("{\n  \"items\": [")
	for i := 0; b.Len() < n; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, responseItem,
			w.uuid(), w.of(nouns), w.sentence(), w.of(states), w.below(5000), w.below(100), w.of(nouns), w.of(nouns), w.below(2) == 0, w.between(1, 28), w.below(24))
	}
	fmt.Fprintf(&b, "\n  ],\n  \"next\": \"/api?cursor=%s\"\n}\n", w.base64(40))
	return b.String()
}

func (w *work) search() call {
	word := w.of(nouns)
	var b strings.Builder
	for range w.between(5, 40) {
		f := &w.files[w.below(len(w.files))]
		at := w.below(len(f.lines) - 1)
		fmt.Fprintf(&b, "%s:%d:%s", f.path, at+1, f.text[f.lines[at]:f.lines[at+1]])
	}
	return call{tool: toolSearch, command: word, output: b.String()}
}
