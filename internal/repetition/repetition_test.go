package repetition

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

const unit16 = "abcdefghijklmno."

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i+1)
	}
	return b.String()
}

// TestL9 has the rows of acceptance row L9, and what section 3.5 of the seeds
// says besides.
func TestL9(t *testing.T) {
	none := 0
	for _, test := range []struct {
		name, text string
		repeats    int
	}{
		{"empty", "", none},
		{"16x7", strings.Repeat(unit16, 7), none},
		{"16x8", strings.Repeat(unit16, 8), 8},
		{"16x9", strings.Repeat(unit16, 9), 9},
		{"15x20", strings.Repeat(unit16[1:], 20), none},
		{"one letter x1000", strings.Repeat("a", 1000), none},
		{"8 repeats and a suffix", strings.Repeat(unit16, 8) + " tail", none},
		{"8 repeats and the start of one more", strings.Repeat(unit16, 8) + unit16[:5], 8},
		{"zero-width space between", strings.Repeat(unit16+"\u200b", 8), 8},
		{"zero-width space within", strings.Repeat(unit16+unit16[:4]+"\u200b\ufeffxyz", 4) + strings.Repeat(unit16+"\u2060"+unit16[:4]+"xyz", 4), 8},
		{"numbered list", numbered("%d. Check that the file exists and can be read.\n", 40), none},
		{"counter within", numbered("Retrying the request, attempt %d of many more.\n", 40), none},
		{"oscillating counter", strings.Repeat("I will run the tests again. (1)\nI will run the tests again. (2)\n", 10), 10},
		{"markdown table", "| name | size | note |\n|------|------|------|\n" + numbered("| file%d.go | 12 | small |\n", 40), none},
		{"table of equal cells", "|" + strings.Repeat("------|", 60) + "\n", none},
		{"different line breaks", strings.Repeat("I will run the tests now.\n", 3) + strings.Repeat("I will run the tests now.\r\n\r\n", 3) + strings.Repeat("I will run\tthe tests now. ", 3), 9},
		{"text before", "Let me look at the error first.\n" + strings.Repeat(unit16, 8), 8},
		{"much text before", numbered("line %d\n", 50_000) + strings.Repeat(unit16, 12), 12},
		{"longer than the probe", strings.Repeat(unit16, 1000), 512},
		{"unit of an eighth of the probe", strings.Repeat(numbered("%04d", 256), 9), 8},
		{"unit too long for the probe", strings.Repeat(numbered("%04d", 257), 9), none},
		{"runes, not bytes", strings.Repeat("日本語の文章で十五文字です繰返", 20), none},
		{"sixteen runes", strings.Repeat("日本語の文章で十六文字です。繰返", 8), 8},
		{"not UTF-8", strings.Repeat("\xff\xfe0123456789abcd", 8), 8},
	} {
		t.Run(test.name, func(t *testing.T) {
			hit, found := Detector{}.Detect(test.text)
			if found != (test.repeats > 0) || hit.Repeats != test.repeats {
				t.Errorf("Detect = %+v, %v, want %d repeats", hit, found, test.repeats)
			}
		})
	}
}

func TestHit(t *testing.T) {
	got, _ := Detector{}.Detect("Well.\n" + strings.Repeat("Ich prüfe die\nDatei erneut.\n", 10))
	want := Hit{Period: 28, Repeats: 10, Unit: "Ich prüfe die Datei erneut. "}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("Detect (-want +got):\n%s", d)
	}
}

func TestOptions(t *testing.T) {
	text := strings.Repeat("abcd", 3)
	if hit, ok := (Detector{WindowMinRunes: 4, RepeatThreshold: 3}).Detect(text); !ok || hit.Unit != "abcd" {
		t.Errorf("Detect = %+v, %v, want abcd", hit, ok)
	}
	if hit, ok := (Detector{WindowMinRunes: 4, RepeatThreshold: 3, ProbeRunes: 11}).Detect(text); ok {
		t.Errorf("Detect = %+v, want none in 11 runes", hit)
	}
	if _, ok := (Detector{WindowMinRunes: -1, RepeatThreshold: -1, ProbeRunes: -1}).Detect(strings.Repeat(unit16, 8)); !ok {
		t.Error("negative fields are not the defaults")
	}
}

// FuzzDetect: what is reported is there.
func FuzzDetect(f *testing.F) {
	f.Add("", 0, 0, 0)
	f.Add(strings.Repeat(unit16, 8), 16, 8, 0)
	f.Add(strings.Repeat("ab \u200b\n", 9), 2, 3, 20)
	f.Add(strings.Repeat("\xffé", 9), 1, 2, 5)
	f.Fuzz(func(t *testing.T, text string, window, threshold, probe int) {
		d := Detector{window, threshold, min(probe, 100_000)}
		hit, ok := d.Detect(text)
		if !ok {
			if hit != (Hit{}) {
				t.Fatalf("no hit, but %+v", hit)
			}
			return
		}
		if utf8.RuneCountInString(hit.Unit) != hit.Period || hit.Period < orDefault(window, 16) || hit.Repeats < orDefault(threshold, 8) {
			t.Fatalf("%+v does not fit %+v", hit, d)
		}
		if whole := normal(text); !strings.HasSuffix(whole, strings.Repeat(hit.Unit, hit.Repeats)) {
			t.Fatalf("%q does not end in %d times %q", whole, hit.Repeats, hit.Unit)
		}
	})
}

// FuzzDetectFinds: what is there is reported.
func FuzzDetectFinds(f *testing.F) {
	f.Add("before", unit16, uint8(8))
	f.Add("", "日本語の文章で十六文字です。繰返", uint8(200))
	f.Fuzz(func(t *testing.T, before, unit string, k uint8) {
		unit = strings.Join(strings.Fields(normal(unit)), "_")
		runes := []rune(unit)
		n := len(runes)
		if n < 16 || k < 8 || smallestPeriod(runes) != n {
			t.Skip()
		}
		fit := min(int(k), 8192/n)
		if fit < 8 {
			t.Skip()
		}
		hit, ok := Detector{}.Detect(before + strings.Repeat(unit, int(k)))
		if !ok || hit.Repeats < fit {
			t.Fatalf("%q %d times: got %+v, %v", unit, k, hit, ok)
		}
	})
}

// normal is the text as Detect compares it.
func normal(text string) string {
	r := reversedTail(text, len(text), len(text))
	var b strings.Builder
	for i := len(r) - 1; i >= 0; i-- {
		b.WriteRune(r[i])
	}
	return b.String()
}

// smallestPeriod is the smallest p for which s, repeated for ever, has period p.
func smallestPeriod(s []rune) int {
	for p := 1; p < len(s); p++ {
		if len(s)%p == 0 && string(s[:len(s)-p]) == string(s[p:]) {
			return p
		}
	}
	return len(s)
}

func BenchmarkDetect(b *testing.B) {
	for _, text := range []struct{ name, text string }{
		{"loop", strings.Repeat(unit16, 1000)},
		{"list", numbered("%d. Check that the file exists and can be read.\n", 1000)},
		{"one letter", strings.Repeat("a", 16_000)},
	} {
		b.Run(text.name, func(b *testing.B) {
			b.SetBytes(8192)
			b.ReportAllocs()
			for b.Loop() {
				Detector{}.Detect(text.text)
			}
		})
	}
}
