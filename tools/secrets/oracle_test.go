package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp/syntax"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rs/zerolog"
	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/logging"

	"github.com/pemmican-dev/pemmican/internal/secrets"
	"github.com/pemmican-dev/pemmican/internal/secrets/secretstest"
)

func TestMain(m *testing.M) {
	logging.Logger = zerolog.Nop()
	os.Exit(m.Run())
}

// detector is gitleaks' own, with comments that would switch it off ignored.
func detector(t testing.TB) *detect.Detector {
	t.Helper()
	cfg, err := defaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	d := detect.NewDetector(cfg)
	d.IgnoreGitleaksAllow = true
	return d
}

// TestGenerated: the rules that are committed are those of this version of gitleaks.
func TestGenerated(t *testing.T) {
	dir := t.TempDir()
	if err := generate(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"rules.json", "LICENSE"} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(target, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is not what the generator makes: run `cd tools/secrets && go run .`", name)
		}
	}
}

// TestLeftOut: every rule that is left out exists, and every other one is there.
func TestLeftOut(t *testing.T) {
	cfg, err := defaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	for id := range leftOut {
		if _, ok := cfg.Rules[id]; !ok {
			t.Errorf("there is no rule %s to leave out", id)
		}
	}
	for id := range overrides {
		if _, ok := cfg.Rules[id]; !ok {
			t.Errorf("there is no rule %s to override", id)
		}
	}
	data, err := compactRules()
	if err != nil {
		t.Fatal(err)
	}
	var rules []rule
	if err := json.Unmarshal(data, &rules); err != nil {
		t.Fatal(err)
	}
	if got, want := len(rules)-1, len(cfg.Rules)-len(leftOut); got != want {
		t.Errorf("%d rules, want %d", got, want)
	}
}

// missed returns what the detector finds in text and secrets.Redact leaves there. In real text a secret may also stand
// where nobody can know it for one: then it is left only where what the detector has seen around it is left too.
func missed(d *detect.Detector, text string, isReal bool) (findings int, left []string) {
	found := d.DetectString(text)
	if len(found) == 0 {
		return 0, nil
	}
	out, _ := secrets.Redact(text)
	for _, f := range found {
		switch {
		case f.RuleID == "private-key":
			// gitleaks takes whatever stands before the next end of a key; ours takes lines of base64.
			for line := range strings.FieldsSeq(f.Secret) {
				if len(line) >= 40 && strings.Trim(line, base64) == "" && strings.Contains(out, line) {
					left = append(left, f.RuleID+": "+line)
				}
			}
		case strings.HasSuffix(f.Match, f.Secret) && strings.Contains(f.Line, " h1:"+f.Secret): // go.sum, which gitleaks knows by its path
		case strings.Contains(out, f.Secret) && (!isReal || strings.Contains(out, f.Match)):
			left = append(left, fmt.Sprintf("%s: %q in %q", f.RuleID, f.Secret, f.Match))
		}
	}
	return len(found), left
}

const dashes = "-----" // around the lines of a key

const base64 = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/="

// TestOracleGenerated: what the detector finds in samples of every rule, in several surroundings, is gone.
func TestOracleGenerated(t *testing.T) {
	cfg, err := defaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	d := detector(t)
	for _, id := range cfg.OrderedRules {
		r := cfg.Rules[id]
		if r.Regex == nil || leftOut[id] != "" {
			continue
		}
		t.Run(id, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(len(id))))
			tree, err := syntax.Parse(r.Regex.String(), syntax.Perl)
			if err != nil {
				t.Fatal(err)
			}
			hits := 0
			for range 30 {
				s := secretstest.Sample(rng, tree)
				for _, text := range []string{
					s,
					"see " + r.Keywords[0] + "\n" + s + "\n",
					`{"content":"value: ` + s + ` "}` + r.Keywords[0],
					s + secretstest.Sample(rng, tree) + "\n" + secretstest.Sample(rng, tree),
					"a = 1 // gitleaks:allow\n" + s + " // gitleaks:allow\n",
				} {
					n, left := missed(d, text, false)
					hits += n
					for _, l := range left {
						t.Errorf("left in %q: %s", text, l)
					}
				}
			}
			if hits == 0 && r.Path == nil { // with a path it finds nothing in a text alone
				t.Error("the detector finds nothing in any sample")
			}
		})
	}
}

// TestOracleMixed: the same for samples of many rules side by side, whole and cut, among words that rules look for.
func TestOracleMixed(t *testing.T) {
	cfg, err := defaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	d := detector(t)
	var trees []*syntax.Regexp
	var words []string
	for _, id := range cfg.OrderedRules {
		if r := cfg.Rules[id]; r.Regex != nil && leftOut[id] == "" {
			tree, err := syntax.Parse(r.Regex.String(), syntax.Perl)
			if err != nil {
				t.Fatal(err)
			}
			trees, words = append(trees, tree), append(words, r.Keywords...)
		}
	}
	rng := rand.New(rand.NewPCG(2, 3))
	total := 0
	for range 400 {
		var b strings.Builder
		for range 1 + rng.IntN(12) {
			switch rng.IntN(5) {
			case 0:
				b.WriteString(words[rng.IntN(len(words))])
			case 1:
				b.WriteString([]string{"=", ": ", " := ", "\n", " ", `\n`, `"`, `\"`, "key", "a1", "\u212a", "\u017f", "é", "::", "curl "}[rng.IntN(15)])
			default:
				s := secretstest.Sample(rng, trees[rng.IntN(len(trees))])
				if rng.IntN(4) == 0 {
					s = s[:rng.IntN(len(s)+1)]
				}
				b.WriteString(s)
			}
		}
		n, left := missed(d, b.String(), false)
		total += n
		for _, l := range left {
			t.Errorf("left in %q: %s", b.String(), l)
		}
	}
	if total < 100 {
		t.Errorf("the detector finds only %d secrets", total)
	}
}

// TestOracleReal: the same for real files, of this repository, of Go itself and of real agents' requests.
func TestOracleReal(t *testing.T) {
	d := detector(t)
	goroot := filepath.Join(build.Default.GOROOT, "src")
	for _, root := range []string{"../..", filepath.Join(goroot, "crypto", "tls"), filepath.Join(goroot, "net"), "../../../shared/clients/recorded"} {
		t.Run(filepath.Base(root), func(t *testing.T) {
			const most = 4 << 20 // bytes: the detector takes a second for two million
			files, bytes, total := 0, 0, 0
			err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() || bytes > most {
					return err
				}
				data, err := os.ReadFile(path)
				if err != nil || !utf8.Valid(data) || len(data) > 1<<20 {
					return err
				}
				n, left := missed(d, string(data), true)
				files, bytes, total = files+1, bytes+len(data), total+n
				for _, l := range left {
					t.Errorf("left in %s: %s", path, l)
				}
				return nil
			})
			if errors.Is(err, fs.ErrNotExist) {
				t.Skipf("there is no %s", root)
			}
			if err != nil {
				t.Error(err)
			}
			t.Logf("%d files of %d bytes, in which the detector finds %d secrets", files, bytes, total)
		})
	}
}

// TestOracleKeys: private keys, whole, of every kind.
func TestOracleKeys(t *testing.T) {
	d := detector(t)
	rng := rand.New(rand.NewPCG(4, 5))
	for _, kind := range []string{"", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED "} {
		var body strings.Builder
		for range 20 {
			for range 64 {
				body.WriteByte(base64[rng.IntN(64)])
			}
			body.WriteByte('\n')
		}
		for _, text := range []string{
			dashes + "BEGIN " + kind + "PRIVATE KEY" + dashes + "\n" + body.String() + dashes + "END " + kind + "PRIVATE KEY" + dashes + "\n",
			"x " + dashes + "BEGIN " + kind + "PRIVATE KEY" + dashes + "\r\n" + strings.ReplaceAll(body.String(), "\n", "\r\n") + dashes + "END " + kind + "PRIVATE KEY" + dashes + " y",
		} {
			n, left := missed(d, text, false)
			if n == 0 {
				t.Errorf("the detector finds nothing in %.60q", text)
			}
			for _, l := range left {
				t.Errorf("left: %s", l)
			}
			if out, _ := secrets.Redact(text); strings.Contains(out, "PRIVATE") {
				t.Errorf("%.60q has become %.60q", text, out)
			}
		}
	}
}
