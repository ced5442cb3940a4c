package sidecar

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pemmican-dev/pemmican/llm"
	"github.com/pemmican-dev/pemmican/session"
)

// with starts a sidecar in this process whose settings are the defaults but for a change.
func with(t *testing.T, c Config, model func(Ask) AskReply, change func(*session.Settings)) *extension {
	t.Helper()
	settings := session.DefaultSettings()
	if change != nil {
		change(&settings)
	}
	c.Settings = func(string) Loader { return fixed(settings) }
	x, stop := serve(t, c, model)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// firstKept is the number of the entry from which on a compaction keeps everything.
func firstKept(t *testing.T, l Line) (n int) {
	t.Helper()
	if l.Compaction == nil {
		t.Fatalf("handed back: %s", l.HandBack)
	}
	if _, err := fmt.Sscanf(l.Compaction.FirstKeptEntryID, "%x", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A compact event is worked on by the settings: keepRecent stands over pi's own, preset says what else is kept, and minGain
// what is too little.
func TestSettingsOfACompaction(t *testing.T) {
	for _, c := range []struct {
		name        string
		keepRecent  int // pi's
		change      func(*session.Settings)
		least, most int // entries of 320 that are kept; 0 is handed back
	}{
		{"pi's own", 1_000, nil, 1, 20},
		{"keepRecent", 1_000, func(s *session.Settings) { s.KeepRecent = 10_000 }, 50, 150},
		{"checkpoint by itself", 0, nil, 160, 300},
		{"preset", 0, func(s *session.Settings) { s.Preset = "anchored" }, 1, 20},
		{"a small gain", 16_000, nil, 100, 250},
		{"minGain", 16_000, func(s *session.Settings) { s.MinGain = 90 }, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := with(t, Config{}, good, c.change)
			x.call(hello(t.TempDir()))
			e := compactEvent(40)
			e.KeepRecent = c.keepRecent
			l := x.call(e)
			if c.most == 0 {
				if l.Compaction != nil || l.HandBack == "" {
					t.Errorf("%+v", l)
				}
				return
			}
			if n := len(e.Entries) + 1 - firstKept(t, l); n < c.least || n > c.most {
				t.Errorf("%d entries of %d are kept", n, len(e.Entries))
			}
		})
	}
}

// awaited is what a hook has written into a file.
func awaited(t *testing.T, path string) (in map[string]any) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		data, err := os.ReadFile(path)
		if err == nil {
			if err := json.Unmarshal(data, &in); err != nil {
				t.Fatal(err)
			}
			return in
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func shell(script string) []string { return []string{"sh", "-c", script} }

// The focus of the before-hook reaches the model, alone and behind what the person has said, whoever is asked.
func TestFocusOfTheHook(t *testing.T) {
	for _, compactModel := range []string{"", "openai/gpt-5-mini"} {
		for _, instructions := range []string{"", "the scanner"} {
			x := with(t, Config{}, good, func(s *session.Settings) {
				s.CompactModel, s.Hooks.Before = compactModel, shell(`echo '{"focus":"the bound of the loop"}'`)
			})
			x.call(hello(t.TempDir()))
			e := compactEvent(40)
			e.Instructions = instructions
			if l := x.call(e); l.Compaction == nil {
				t.Fatalf("handed back: %s", l.HandBack)
			}
			ask := x.asks()[0]
			text := ask.Instruction + ask.System + ask.User
			if !strings.Contains(text, "the bound of the loop") || !strings.Contains(text, instructions) {
				t.Errorf("%q, %q: %+v", compactModel, instructions, ask)
			}
		}
	}
}

// The after-hook is told of a failure, too, and why.
func TestAfterHookOfAFailure(t *testing.T) {
	dir := t.TempDir()
	x := with(t, Config{}, good, func(s *session.Settings) { s.Hooks.After = shell("cat > after.new && mv after.new after.json") })
	x.call(hello(dir))
	if l := x.call(compactEvent(40)); l.Compaction == nil {
		t.Fatalf("handed back: %s", l.HandBack)
	}
	x.call(Event{Name: "compact-failed", Error: "the disk is full"})
	in := awaited(t, filepath.Join(dir, "after.json"))
	report, _ := in["report"].(map[string]any)
	if in["event"] != "after" || in["occasion"] != "manual" || report["compacted"] != false || report["error"] != "the disk is full" {
		t.Errorf("%v", in)
	}
}

// X18: the compactions that a session has behind it when it begins count: the next one is its second.
func TestCompactionsOfHello(t *testing.T) {
	for before := range 2 {
		x := with(t, Config{}, good, nil)
		e := hello(t.TempDir())
		e.Compactions = before
		x.call(e)
		x.call(Event{Name: "tool", Usage: usage(300_000)})
		l := x.call(compactEvent(40))
		if l.Compaction == nil {
			t.Fatalf("handed back: %s", l.HandBack)
		}
		done := x.call(Event{Name: "compacted", FromExtension: true, Details: l.Compaction.Details, Usage: &Usage{}})
		if done.Say == nil {
			t.Fatalf("%+v", done)
		}
		for what, text := range map[string]string{"the summary": l.Compaction.Summary, "the outcome": done.Say.Text} {
			if worn := strings.Contains(text, "details wear off"); worn != (before == 1) {
				t.Errorf("%d before: the hint is in %s: %v\n%s", before, what, worn, text)
			}
		}
		if say := x.call(Event{Name: "settled", Usage: usage(400_000)}).Say; say == nil || strings.Contains(say.Text, "details wear off") != (before == 1) {
			t.Errorf("%d before: the reminder %+v", before, say)
		}
	}
}

// MSW-08: a window that an overflow has taught is that of the question, too, though the agent declares a larger one.
func TestLearnedWindow(t *testing.T) {
	const endpoint = "https://api.example/v1"
	sizeOf := func(c *llm.Catalogue) int {
		x := with(t, Config{Catalogue: c}, good, nil)
		e := hello(t.TempDir())
		e.Model.BaseURL = endpoint
		x.call(e)
		full := compactEvent(200)
		full.Model, full.Reason = e.Model, "overflow"
		x.call(full)
		asks := x.asks()
		if len(asks) == 0 {
			t.Fatal("nobody was asked")
		}
		return (len(asks[0].System) + len(asks[0].User)) / 4
	}
	learned := &llm.Catalogue{}
	learned.Learn(endpoint, "glm", 16_000)
	if all, n := sizeOf(&llm.Catalogue{}), sizeOf(learned); n > 16_000 || all <= 16_000 {
		t.Errorf("a question of about %d tokens for a window of 16,000; without it, of %d", n, all)
	}
}

// Prices of zero are what pi says of a model whose price it does not know: then the catalogue's hold.
func TestZeroPrices(t *testing.T) {
	free := json.RawMessage(`{"provider":"openai","id":"gpt-5-mini","contextWindow":400000,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0}}`)
	dear := json.RawMessage(`{"provider":"openai","id":"gpt-5-mini","contextWindow":400000,"cost":{"input":1000,"output":1000,"cacheRead":1000,"cacheWrite":1000}}`)
	costs := map[string]float64{}
	for name, model := range map[string]json.RawMessage{"free": free, "dear": dear} {
		x := with(t, Config{}, good, nil)
		e := hello(t.TempDir())
		e.Model = &Model{}
		if err := json.Unmarshal(model, e.Model); err != nil {
			t.Fatal(err)
		}
		x.call(e)
		if s := x.call(Event{Name: "settled", Usage: usage(300_000)}).Say; s == nil || !strings.Contains(s.Text, "$") {
			t.Errorf("%s: no cost in the reminder: %+v", name, s)
		}
		compact := compactEvent(40)
		compact.Model = e.Model
		l := x.call(compact)
		if l.Compaction == nil {
			t.Fatalf("handed back: %s", l.HandBack)
		}
		var u struct{ Cost struct{ Total float64 } }
		if err := json.Unmarshal(l.Compaction.Usage, &u); err != nil {
			t.Fatal(err)
		}
		costs[name] = u.Cost.Total
	}
	if costs["free"] <= 0 || costs["free"] > 1 || costs["dear"] < 40 {
		t.Errorf("%v", costs)
	}
}

// T10: what was told of the load is forgotten after a compaction that nothing is told of, and where the agent says that it is
// unknown; each by itself.
func TestLoadIsForgotten(t *testing.T) {
	t.Run("compacted", func(t *testing.T) {
		dir := t.TempDir()
		x := with(t, Config{}, good, func(s *session.Settings) { s.Hooks.Before = shell("cat > before.json") })
		x.call(hello(dir))
		x.call(Event{Name: "usage", Usage: usage(300_000)})
		x.call(Event{Name: "compacted"}) // pi's own, and not a word of the load
		e := compactEvent(40)
		e.Usage, e.TokensBefore = nil, 50_000
		if l := x.call(e); l.Compaction == nil {
			t.Fatalf("handed back: %s", l.HandBack)
		}
		if in := awaited(t, filepath.Join(dir, "before.json")); in["tokens"] != 50_000.0 {
			t.Errorf("%v", in)
		}
	})
	t.Run("unknown", func(t *testing.T) {
		x := with(t, Config{}, good, nil)
		x.call(hello(t.TempDir()))
		x.call(Event{Name: "usage", Usage: usage(300_000)})
		x.call(Event{Name: "settled", Usage: &Usage{}})
		if l := x.call(Event{Name: "tool"}); l.Launch != nil || l.Refused == "" {
			t.Errorf("%+v", l)
		}
	})
	t.Run("neither", func(t *testing.T) { // what an event does not mention stays
		x := with(t, Config{}, good, nil)
		x.call(hello(t.TempDir()))
		x.call(Event{Name: "usage", Usage: usage(300_000)})
		if l := x.call(Event{Name: "tool"}); l.Launch == nil {
			t.Errorf("%+v", l)
		}
	})
}
