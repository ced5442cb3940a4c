package formattest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format"
)

// TestGolden runs the text archives in testdata, each with its intent as prose on top. An archive has these files:
//
//	input       what is decoded
//	transcript  the messages and blocks that it must have
//	plan        what is applied, if anything: lines of "drop 3 4", "stub 5 TEXT" and "summary GAP TEXT"; "fix" is all
//	            marks of all findings
//	output      what Apply must make, or "error: " and the error
//	findings    what Check must find
//
// In TEXT, \n is a line break; the text of a summary is sealed. A line "differs" says that the output is not what the
// plan's Result says, for the reason that the prose gives. With update, all but input and plan are written anew.
//
// The inputs have every surprise, so those that can be decoded have the properties, too.
func (w *Wire[D]) TestGolden(t *testing.T, update bool) {
	for _, file := range archives(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, in := archive(t, file)
			got := w.golden(t, in)
			if update {
				ar.Files = slices.DeleteFunc(ar.Files, func(f txtar.File) bool { return f.Name != "input" && f.Name != "plan" })
				for _, name := range []string{"transcript", "output", "findings"} {
					if text, ok := got[name]; ok {
						ar.Files = append(ar.Files, txtar.File{Name: name, Data: []byte(text)})
					}
				}
				if err := os.WriteFile(file, txtar.Format(ar), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			for _, name := range []string{"transcript", "output", "findings"} {
				if diff := cmp.Diff(string(in[name]), got[name]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			if doc, err := w.Decode(in["input"]); err == nil {
				t.Run("properties", func(t *testing.T) { w.applies(t, in["input"], doc, nil) })
			}
		})
	}
}

// archives are the names of the text archives in testdata.
func archives(t testing.TB) []string {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives in testdata (%v)", err)
	}
	return files
}

// archive reads a text archive. The last line of its input ends where the file does.
func archive(t testing.TB, name string) (*txtar.Archive, map[string][]byte) {
	ar, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	in := map[string][]byte{}
	for _, f := range ar.Files {
		in[f.Name] = f.Data
	}
	in["input"] = bytes.TrimSuffix(in["input"], []byte("\n"))
	return ar, in
}

func (w *Wire[D]) golden(t *testing.T, in map[string][]byte) map[string]string {
	got := map[string]string{}
	doc, err := w.Decode(in["input"])
	if err != nil {
		got["transcript"] = "error: " + err.Error() + "\n"
		return got
	}
	tr := doc.Transcript()
	got["transcript"] = Dump(tr)
	findings := doc.Check()
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&b, "%s at %s: %s", f.Rule, f.Where, f.Message)
		if f.Fixable {
			b.WriteString("; fix:")
			for _, i := range sortedKeys(f.Fix) {
				fmt.Fprintf(&b, " %s %d", f.Fix[i].Action, i)
				if f.Fix[i].Action == pemmican.Stub {
					fmt.Fprintf(&b, " %q", f.Fix[i].Text)
				}
			}
		}
		b.WriteByte('\n')
	}
	if b.Len() > 0 {
		got["findings"] = b.String()
	}
	if len(in["plan"]) == 0 {
		return got
	}
	plan := pemmican.NewPlan(tr)
	differs := false
	for line := range strings.Lines(string(in["plan"])) {
		verb, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		unescape := func(s string) string { return strings.ReplaceAll(s, `\n`, "\n") }
		number := func(s string) int {
			n, err := strconv.Atoi(s)
			if err != nil || n < 0 || n > len(plan.Marks) {
				t.Fatalf("plan: %q: no block %s", line, s)
			}
			return n
		}
		switch first, text, _ := strings.Cut(rest, " "); verb {
		case "drop":
			for s := range strings.FieldsSeq(rest) {
				plan.Marks[number(s)].Action = pemmican.Drop
			}
		case "stub":
			plan.Marks[number(first)] = pemmican.Mark{Action: pemmican.Stub, Text: unescape(text)}
		case "summary":
			plan.Gap, plan.Summary = number(first), pemmican.Seal(unescape(text))
		case "fix":
			Fix(plan, findings)
		case "differs":
			differs = true
		default:
			t.Fatalf("plan: unknown line %q", line)
		}
	}
	out, err := doc.Apply(plan)
	if err != nil {
		got["output"] = "error: " + err.Error() + "\n"
		return got
	}
	got["output"] = strings.TrimSuffix(string(out), "\n") + "\n"
	again, err := w.Decode(out)
	if err != nil {
		t.Fatalf("the output cannot be decoded: %v\n%s", err, out)
	}
	if diff := SameBlocks(plan.Result(tr), again.Transcript()); (diff != "") != differs {
		t.Errorf("the output is not the plan's result: %q, and differing was told: %t", diff, differs)
	}
	return got
}

// Fix marks a plan with all marks of all findings.
func Fix(plan *pemmican.Plan, findings []format.Finding) {
	for _, f := range findings {
		for i, m := range f.Fix {
			plan.Marks[i] = m
		}
	}
}

func sortedKeys(m map[int]pemmican.Mark) []int {
	keys := make([]int, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Dump writes a transcript as text, a line for each message and block.
func Dump(tr *pemmican.Transcript) string {
	var b strings.Builder
	if tr.Model != "" {
		fmt.Fprintf(&b, "model %s\n", tr.Model)
	}
	for _, w := range tr.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	for _, m := range tr.Messages {
		fmt.Fprint(&b, m.Role)
		if m.Author == pemmican.ByRuntime {
			b.WriteString(" by the runtime")
		}
		b.WriteByte('\n')
		for i := m.First; i < m.End; i++ {
			c := tr.Blocks[i]
			fmt.Fprintf(&b, "  %d %s", i, c.Kind)
			if c.CallID != "" {
				fmt.Fprintf(&b, " %s", c.CallID)
			}
			if c.Tool != "" {
				fmt.Fprintf(&b, " %s", c.Tool)
			}
			for _, flag := range []struct {
				on   bool
				name string
			}{{c.Error, "error"}, {c.Bound, "bound"}, {c.Pinned, "pinned"}} {
				if flag.on {
					fmt.Fprintf(&b, " %s", flag.name)
				}
			}
			if c.Media != (pemmican.MediaInfo{}) {
				fmt.Fprintf(&b, " %s %dx%d %s", c.Media.Type, c.Media.Width, c.Media.Height, c.Media.Name)
			}
			if c.Bytes > 0 {
				fmt.Fprintf(&b, " %d bytes", c.Bytes)
			}
			if c.Kind == pemmican.ToolCall {
				fmt.Fprintf(&b, " %q", c.Args)
			} else {
				fmt.Fprintf(&b, " %q", c.Text)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Input is one input of a property test.
type Input struct {
	Name string
	Data []byte
}

// Corpus returns the files that match patterns in the folder of shared data beside the repository. It skips the test
// where there is none.
func Corpus(t testing.TB, patterns ...string) []Input {
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		if root == filepath.Dir(root) {
			t.Fatal("there is no go.mod above this test")
		}
		root = filepath.Dir(root)
	}
	var inputs []Input
	for _, p := range patterns {
		files, _ := filepath.Glob(filepath.Join(root, "..", "shared", filepath.FromSlash(p)))
		for _, file := range files {
			if info, err := os.Stat(file); err != nil || info.IsDir() {
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			inputs = append(inputs, Input{filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file)), data})
		}
	}
	if len(inputs) == 0 {
		t.Skipf("no files %v in the folder shared beside the repository", patterns)
	}
	return inputs
}

// mutate breaks data in the ways that fuzzing is after: an escape cut in half, bytes that are no UTF-8, values doubled
// and cut out.
func mutate(t *rapid.T, data []byte) []byte {
	out := slices.Clone(data)
	for range rapid.IntRange(0, 4).Draw(t, "mutations") {
		if len(out) < 2 {
			return out
		}
		i := rapid.IntRange(0, len(out)-1).Draw(t, "at")
		n := min(rapid.IntRange(1, 40).Draw(t, "length"), len(out)-i)
		piece := slices.Clone(out[i : i+n])
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			out = slices.Delete(out, i, i+n)
		case 1:
			out = slices.Insert(out, i, piece...)
		case 2:
			out[i] = rapid.Byte().Draw(t, "byte")
		case 3:
			out = slices.Insert(out, i, []byte(rapid.SampledFrom([]string{`\ud83d`, "\xff", `null`, `""`, `[]`, `{}`, `"id":"x",`, `1e999`, ","}).Draw(t, "text"))...)
		case 4:
			j := rapid.IntRange(0, len(out)).Draw(t, "to")
			out = slices.Insert(out, j, piece...)
		}
	}
	return out
}
