package estimate

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"go/build"
	"go/scanner"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestAccuracy pins the promise: within 10 % of the vocabulary on each class
// of text. go test -v prints the table.
func TestAccuracy(t *testing.T) {
	exact := oracle(t)
	check := func(class, text string, tolerance float64) {
		t.Helper()
		if len(text) < 1000 {
			t.Errorf("%s: only %d bytes of text", class, len(text))
			return
		}
		want, got := exact(text), Tokens(text)
		off := 100 * float64(got-want) / float64(want)
		t.Logf("%-28s %8d bytes %8d exact %8d estimated %+6.1f %%", class, len(text), want, got, off)
		if off > tolerance || off < -tolerance {
			t.Errorf("%s: %+.1f %% off, want within %.0f %%", class, off, tolerance)
		}
	}

	check("code: Go", goRoot(t, 97, ".go"), 10)
	check("code: Go, without comments", goCode(goRoot(t, 89, ".go")), 10)
	check("code: JavaScript", goRoot(t, 1, ".js"), 10)
	check("code: Python", goRoot(t, 1, ".py"), 10)
	check("code: C", goRoot(t, 1, ".c", ".h"), 10)
	check("prose: Markdown", goRoot(t, 1, ".md"), 10)
	check("prose: comments", goComments(goRoot(t, 83, ".go")), 10)
	check("data: log", logText(1500), 10)
	check("data: JSON", jsonText(t, 700, ""), 10)
	check("data: JSON, indented", jsonText(t, 700, "  "), 10)
	check("CJK: Chinese", testdata(t, "zh.txt"), 10)
	check("CJK: Japanese", testdata(t, "ja.txt"), 10)
	check("CJK: Korean", testdata(t, "ko.txt"), 10)

	// Not promised, but sane.
	random := rand.New(rand.NewPCG(1, 2))
	bytes := make([]byte, 15000)
	for i := range bytes {
		bytes[i] = byte(random.Uint32())
	}
	check("odd: base64", base64.StdEncoding.EncodeToString(bytes), 15)
	check("odd: hex", hex.EncodeToString(bytes), 15)
	check("odd: digits", strings.Repeat("31415926535 ", 500), 15)
	check("odd: URLs", strings.Repeat("https://example.com/docs/v2/index.html?lang=en&page=12#usage\n", 200), 15)
	check("odd: Russian", strings.Repeat("Проверьте, что файл существует и доступен для чтения.\n", 100), 25)
	check("odd: Arabic", strings.Repeat("تأكد من أن الملف موجود ويمكن قراءته.\n", 100), 25)
	check("odd: French", strings.Repeat("Vérifiez que le fichier existe déjà et qu'il peut être relu après l'échec.\n", 100), 25)

	if testing.Short() {
		t.Log("short: the classes of real transcripts are skipped")
		return
	}
	corpus := "../../../shared/corpus"
	if _, err := os.Stat(corpus); err != nil {
		t.Logf("no transcripts in %s: the classes of real transcripts are skipped", corpus)
		return
	}
	formats, _ := os.ReadDir(corpus)
	for _, format := range formats {
		if !format.IsDir() {
			continue
		}
		raw, content := transcripts(t, filepath.Join(corpus, format.Name()))
		check("transcript: "+format.Name(), raw, 12)
		if len(content) > 20000 {
			check("  its text", content, 12)
		}
	}
}

// TestOdd pins inputs at the edges, for which sane means between bounds.
func TestOdd(t *testing.T) {
	for _, test := range []struct {
		name, text string
		low, high  int
	}{
		{"nothing", "", 0, 0},
		{"letter", "x", 1, 1},
		{"space", " ", 1, 1},
		{"half a rune", "\xe4", 1, 1},
		{"the same letter", strings.Repeat("a", 100_000), 8_000, 30_000},
		{"spaces", strings.Repeat(" ", 100_000), 700, 5_000},
		{"newlines", strings.Repeat("\n", 10_000), 50, 2_000},
		{"rule", strings.Repeat("-", 10_000), 50, 1_000},
		{"digits", strings.Repeat("7", 3_000), 1000, 1000},
		{"emoji", strings.Repeat("😀", 100), 100, 200},
		{"emoji with spaces", strings.Repeat("🚀 ", 100), 100, 400},
		{"family", strings.Repeat("👨‍👩‍👧‍👦", 100), 400, 1500},
		{"not UTF-8", strings.Repeat("\xff\xfe", 500), 30, 2_000},
		{"code that breathes", "if err != nil {\n\t\treturn nil, err\n\t}\n", 9, 16},
	} {
		if got := Tokens(test.text); got < test.low || got > test.high {
			t.Errorf("%s: Tokens = %d, want %d to %d", test.name, got, test.low, test.high)
		}
	}
}

func TestBytesIsTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-zA-Z0-9 .,_'\n\t中ひカ한é“😀-]*`)).Draw(t, "text")
		a, b := Tokens(text), Bytes([]byte(text))
		if a != b {
			t.Fatalf("Tokens = %d, Bytes = %d", a, b)
		}
	})
}

// TestSums: a text costs about as much as its parts, and never less than half
// of one of them.
func TestSums(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-zA-Z0-9 .,_'\n\t中ひカ한é“😀-]*`))
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		sum, whole := Tokens(a)+Tokens(b), Tokens(a+b)
		if whole > sum+3 || whole < sum-6 {
			t.Fatalf("Tokens(a)+Tokens(b) = %d, Tokens(a+b) = %d", sum, whole)
		}
	})
}

func TestNoAllocation(t *testing.T) {
	text := strings.Repeat("func main() { println(\"héllo, 世界\") }\n", 100)
	bytes := []byte(text)
	if n := testing.AllocsPerRun(10, func() { Tokens(text); Bytes(bytes) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// TestAutomaton: the table is what [next] says, and has the room it needs.
func TestAutomaton(t *testing.T) {
	if classCount > classStride {
		t.Errorf("%d classes do not fit a row of %d", classCount, classStride)
	}
	states := 0
	for k := range kindCount {
		states += len(costs[k])
		for n, c := range costs[k] {
			if n > 0 && c < costs[k][n-1] {
				t.Errorf("kind %d: a piece of %d costs less than a shorter one", k, n+1)
			}
		}
	}
	if states > stateBound {
		t.Errorf("%d states do not fit a table of %d", states, stateBound)
	}
	if len(costs[kindStart]) != 1 || costs[kindStart][0] != 0 {
		t.Errorf("the start costs %v, want 0", costs[kindStart])
	}
}

func FuzzTokens(f *testing.F) {
	for _, s := range []string{"", "it's", "a  b\r\n\r\n", "HTTPServer42 {\n\n\t\"k\": [1]}", "漢字かなカナ한글", "\xff\xe4\xb8", "👍🏽🇩🇪"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n := Tokens(s)
		if n != Bytes([]byte(s)) {
			t.Fatal("Tokens and Bytes differ")
		}
		if (n == 0) != (s == "") || n > 4*len(s) {
			t.Fatalf("%d tokens for %d bytes", n, len(s))
		}
		if want := interpret(s); n != want {
			t.Fatalf("%q: the table says %d, next says %d", s, n, want)
		}
		rest := s
		pieces(s, func(_ state, piece string) {
			if !strings.HasPrefix(rest, piece) {
				t.Fatalf("piece %q does not continue %q", piece, rest)
			}
			rest = rest[len(piece):]
		})
		if rest != "" {
			t.Fatalf("pieces leave %q", rest)
		}
	})
}

// interpret is Tokens without the table.
func interpret(text string) int {
	if text == "" {
		return 0
	}
	s, total := state{kindStart, 1}, 0.0
	for i := 0; i < len(text); {
		c, size := asciiClass[text[i]], 1
		if c == classMultibyte {
			c, size = multibyteClass(text, i)
		}
		i += size
		to, ended := next(s, c)
		var paid float64
		for _, e := range ended {
			paid += cost(e)
		}
		if most := len(costs[to.kind]); to.length > most {
			if ended == nil {
				paid += slopes[to.kind]
			}
			to.length = most
		}
		total += float64(fixed(paid))
		s = to
	}
	return max(1, int((total+float64(fixed(cost(s)))+costUnit/2)/costUnit))
}

func BenchmarkTokens(b *testing.B) {
	automaton() // build it once, outside of what is measured
	for _, class := range []struct{ name, text string }{
		{"Go", goRoot(b, 97, ".go")},
		{"prose", goRoot(b, 1, ".md")},
		{"JSON", jsonText(b, 1500, "")},
		{"Japanese", strings.Repeat(testdata(b, "ja.txt"), 100)},
	} {
		b.Run(class.name, func(b *testing.B) {
			b.SetBytes(int64(len(class.text)))
			b.ReportAllocs()
			for b.Loop() {
				Tokens(class.text)
			}
		})
	}
	b.Run("short", func(b *testing.B) {
		b.SetBytes(16)
		for b.Loop() {
			Tokens("a short sentence")
		}
	})
}

// goRoot returns every nth file of the Go distribution that has one of the
// suffixes, joined, up to some hundred kilobytes.
func goRoot(t testing.TB, nth int, suffixes ...string) string {
	t.Helper()
	root := build.Default.GOROOT
	var b strings.Builder
	n := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "testdata" || d.Name() == "pkg" || d.Name() == "test") {
			return fs.SkipDir
		}
		for _, suffix := range suffixes {
			if strings.HasSuffix(path, suffix) {
				if n++; n%nth == 0 {
					if text, err := os.ReadFile(path); err == nil && utf8.Valid(text) {
						b.Write(text[:min(len(text), 100_000)])
					}
				}
			}
		}
		if b.Len() > 400_000 {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// goCode returns Go source without its comments, goComments the comments.
func goCode(source string) string     { return goTokens(source, false) }
func goComments(source string) string { return goTokens(source, true) }

func goTokens(source string, comments bool) string {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(source))
	s.Init(file, []byte(source), func(token.Position, string) {}, scanner.ScanComments)
	var b strings.Builder
	end := 0
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return b.String()
		}
		if tok != token.COMMENT {
			continue
		}
		at := file.Offset(pos)
		if comments {
			for line := range strings.Lines(lit) {
				b.WriteString(strings.TrimLeft(strings.TrimSpace(line), "/* "))
				b.WriteByte('\n')
			}
		} else {
			b.WriteString(source[end:at])
		}
		end = at + len(lit)
	}
}

func testdata(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// logText makes n lines as services write them.
func logText(n int) string {
	r := rand.New(rand.NewPCG(3, 4))
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "2026-03-%02dT%02d:%02d:%02d.%03dZ ", 1+i/700, i/60%24, i%60, r.IntN(60), r.IntN(1000))
		switch r.IntN(5) {
		case 0:
			fmt.Fprintf(&b, "INFO  http: request completed method=%s path=/api/v1/%s/%d status=%d duration=%dms\n",
				pick("GET", "POST", "PUT"), pick("users", "orders", "sessions"), r.IntN(99999), 200+r.IntN(4), r.IntN(900))
		case 1:
			fmt.Fprintf(&b, "WARN  [worker-%d] retrying job %08x-%04x-4%03x: connection to 10.0.%d.%d:5432 refused, attempt %d of 5\n",
				r.IntN(16), r.Uint32(), r.IntN(65536), r.IntN(4096), r.IntN(256), r.IntN(256), 1+r.IntN(5))
		case 2:
			fmt.Fprintf(&b, "ERROR failed to open %s: no such file or directory (errno=2)\n\tat %s:%d\n",
				pick("/etc/app/config.yaml", "/var/lib/data/index.db", "./build/output.json"), pick("main.go", "store/open.go"), r.IntN(400))
		case 3:
			fmt.Fprintf(&b, "DEBUG cache %s key=%q size=%d ratio=%.3f\n", pick("hit", "miss"), pick("user:profile", "feature-flags", "i18n/de"), r.IntN(1<<20), r.Float64())
		default:
			fmt.Fprintf(&b, "--- %s: Test%s%s (%.2fs)\n", pick("PASS", "FAIL"), pick("Parse", "Decode", "Compact"), pick("Empty", "Unicode", "Timeout"), r.Float64())
		}
	}
	return b.String()
}

// jsonText makes n records as tools return them.
func jsonText(t testing.TB, n int, indent string) string {
	r := rand.New(rand.NewPCG(5, 6))
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	records := make([]map[string]any, n)
	for i := range records {
		records[i] = map[string]any{
			"id":        fmt.Sprintf("call_%06x%06x", r.IntN(1<<24), r.IntN(1<<24)),
			"type":      pick("tool_result", "tool_use", "message"),
			"timestamp": fmt.Sprintf("2026-02-%02dT%02d:%02d:%02d.%03dZ", 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1000)),
			"usage":     map[string]any{"input_tokens": r.IntN(200000), "output_tokens": r.IntN(4000), "cache_read": nil},
			"is_error":  r.IntN(2) == 0,
			"path":      pick("src/app/main.ts", "internal/server/handler.go", "README.md"),
			"content": pick("The file has been updated successfully.", "def main():\n    print(\"hello\")\n    return 0\n",
				"package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"ok\")\n}\n", "Error: Cannot find module './utils'\nRequire stack:\n- /app/index.js"),
			"tags": []string{pick("alpha", "beta"), pick("fast", "slow", "unknown")},
		}
	}
	text, err := json.MarshalIndent(records, "", indent)
	if indent == "" {
		text, err = json.Marshal(records)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// transcripts returns the start of each file under dir, and the texts in it.
func transcripts(t *testing.T, dir string) (raw, content string) {
	t.Helper()
	var r, c strings.Builder
	var collect func(v any)
	collect = func(v any) {
		switch v := v.(type) {
		case string:
			if len(v) > 20 && len(v) < 4000 && c.Len() < 60_000 {
				c.WriteString(v + "\n")
			}
		case []any:
			for _, e := range v {
				collect(e)
			}
		case map[string]any:
			for _, e := range v {
				collect(e)
			}
		}
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		decoder := json.NewDecoder(strings.NewReader(string(text[:min(len(text), 300_000)])))
		for {
			var v any
			if decoder.Decode(&v) != nil {
				break
			}
			collect(v)
		}
		if r.Len() > 60_000 {
			return fs.SkipAll
		}
		r.WriteString(strings.ToValidUTF8(string(text[:min(len(text), 20_000)]), ""))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r.String(), c.String()
}
