package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pemmican-dev/pemmican/session"
)

func TestSet(t *testing.T) {
	for _, row := range []struct{ name, file, before, key, value, after string }{
		{"no file", "pemmican.toml", "", "hard", "80%", "hard = \"80%\"\n"},
		{"no JSON file", "pemmican.json", "", "hard", "80%", "{\n  \"hard\": \"80%\"\n}\n"},
		{
			"in its place", "pemmican.toml", "# mine\nsoft = '50%'\n\nhard  =  '60%' # a comment\ndebug = true\n", "hard", "80% max 400k",
			"# mine\nsoft = '50%'\n\nhard = \"80% max 400k\" # a comment\ndebug = true\n",
		},
		{
			"over several lines", "pemmican.toml", "reminderThresholds = [\n  \"10%\", # a\n  \"20%\",\n] # end\n[hooks]\n", "reminderThresholds", "5%, 300k",
			"reminderThresholds = [\"5%\",\"300k\"] # end\n[hooks]\n",
		},
		{"behind the last", "pemmican.toml", "debug = true # x\n\n# tables\n[hooks]\nbefore = []\n", "enabled", "false", "debug = true # x\nenabled = false\n\n# tables\n[hooks]\nbefore = []\n"},
		{"no line break at the end", "pemmican.toml", "debug = true", "window", "200k", "debug = true\nwindow = 200000\n"},
		{"before the first table", "pemmican.toml", "[hooks]\nbefore = []\n", "excludedModels", "a/b", "excludedModels = [\"a/b\"]\n[hooks]\nbefore = []\n"},
		{"behind the schema", "pemmican.toml", "#:schema x.json\n# mine\n[hooks]\n", "debug", "true", "#:schema x.json\ndebug = true\n# mine\n[hooks]\n"},
		{"behind the schema alone", "pemmican.toml", "#:schema x.json", "debug", "true", "#:schema x.json\ndebug = true\n"},
		{"in its table", "pemmican.toml", "[hooks] # x\n[limits]\nitems = 3\n", "hooks.timeout", "5s", "[hooks] # x\ntimeout = \"5s\"\n[limits]\nitems = 3\n"},
		{"in the last table", "pemmican.toml", "[limits]\nitems = 3\n[hooks]\nbefore = [\"a\"]", "hooks.after", "notes --save", "[limits]\nitems = 3\n[hooks]\nbefore = [\"a\"]\nafter = [\"notes\",\"--save\"]\n"},
		{"dotted", "pemmican.toml", "limits.items = 3\ndebug = false\n", "limits.items", "4", "limits.items = 4\ndebug = false\n"},
		{"a new table", "pemmican.toml", "debug = false\n", "limits.items", "4", "debug = false\n\n[limits]\nitems = 4\n"},
		{"what was unusable", "pemmican.toml", "maxWait = 'soon'\n", "maxWait", "1m", "maxWait = \"1m\"\n"},
		{"quotes", "pemmican.toml", "", "hooks.before", `["a \"b\"", "c\\d", "é\u007f"]`, "[hooks]\nbefore = [\"a \\\"b\\\"\",\"c\\\\d\",\"é\\u007f\"]\n"},
		{"JSON in its place", "pemmican.json", "{\"hard\": \"60%\" , \"soft\":\"50%\"}", "hard", "80%", "{\"hard\": \"80%\" , \"soft\":\"50%\"}"},
		{"JSON behind the last", "pemmican.json", "{\n  \"hard\": \"60%\"\n}\n", "debug", "true", "{\n  \"hard\": \"60%\",\n  \"debug\": true\n}\n"},
		{"JSON, a new table", "pemmican.json", "{\n  \"hard\": \"60%\"\n}\n", "hooks.timeout", "5s", "{\n  \"hard\": \"60%\",\n  \"hooks\": {\"timeout\": \"5s\"}\n}\n"},
		{
			"JSON in its table", "pemmican.json", "{\n  \"hooks\": {\n    \"before\": []\n  }\n}\n", "hooks.timeout", "5s",
			"{\n  \"hooks\": {\n    \"before\": [],\n    \"timeout\": \"5s\"\n  }\n}\n",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sub", row.file)
			if row.before != "" {
				put(t, path, row.before)
			}
			if err := Set(path, row.key, row.value); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != row.after {
				t.Errorf("got\n%s\nwant\n%s", got, row.after)
			}
			l := New(Source{Path: path, Environ: []string{}})
			if _, notices := l.Load(); notices != nil || l.Origin(row.key) != path {
				t.Errorf("%v, from %s", notices, l.Origin(row.key))
			}
			if err := Set(path, row.key, row.value); err != nil {
				t.Fatal(err)
			}
			if again, _ := os.ReadFile(path); string(again) != row.after {
				t.Errorf("set again it is\n%s", again)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".pemmican-*")); left != nil {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestSetRefused: nothing is written that is not a setting, and nothing into a file that would not be usable.
func TestSetRefused(t *testing.T) {
	for _, row := range []struct{ name, before, key, value, says string }{
		{"unknown", "", "hrad", "80%", "there is no setting \"hrad\", did you mean \"hard\"?"},
		{"no threshold", "", "hard", "much", "hard: threshold \"much\""},
		{"no list element", "", "excludedModels", "a/b, c", "\"c\" is no \"provider/model\""},
		{"too many tiers", "", "reminderThresholds", "1k,2k,3k,4k", "4 tiers"},
		{"no boolean", "", "enabled", "perhaps", "want true or false"},
		{"out of range", "", "minGain", "99", "minGain: want a percentage"},
		{"no syntax", "hard = '60%'\nsoft = \n", "hard", "80%", ":2: "},
		{"another value", "hard = '60%'\nmaxWait = 'soon'\n", "hard", "80%", "pemmican.toml:2: maxWait"},
		{"another value behind it", "debug = true\n[hooks]\ntimeout = 'soon'\n", "hard", "80%", "pemmican.toml:3: hooks.timeout"},
		{"no model", "", "compactModel", "x", "compactModel: it is neither"},
		{"an inline table", "hooks = { before = ['a'] }\n", "hooks.timeout", "5s", "change it by hand"},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pemmican.toml")
			if row.before != "" {
				put(t, path, row.before)
			}
			err := Set(path, row.key, row.value)
			if _, ok := errors.AsType[*Error](err); !ok || !strings.Contains(err.Error(), row.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %s", err, row.says)
			}
			if got, _ := os.ReadFile(path); string(got) != row.before {
				t.Errorf("the file is now\n%s", got)
			}
			if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) > 1 || row.before == "" && len(entries) > 0 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}

// TestSetFile: a link stays a link, and permissions stay.
func TestSetFile(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "dotfiles.toml"), filepath.Join(dir, "pemmican.toml")
	put(t, target, "debug = true\n")
	if err := errors.Join(os.Chmod(target, 0o644), os.Symlink(target, link)); err != nil {
		t.Fatal(err)
	}
	if err := Set(link, "debug", "false"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%v, %v", info, err)
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
	if got, _ := os.ReadFile(target); string(got) != "debug = false\n" {
		t.Errorf("%s", got)
	}
	fresh := filepath.Join(dir, "new", "pemmican.toml")
	if err := Set(fresh, "debug", "true"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(fresh); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	gone := filepath.Join(dir, "gone.toml")
	if err := os.Symlink(filepath.Join(dir, "none", "of.toml"), gone); err != nil {
		t.Fatal(err)
	}
	if err := Set(gone, "debug", "true"); err == nil || !strings.Contains(err.Error(), "a link to a file that is not there; make that file") {
		t.Errorf("a link to nothing: %v", err)
	}
	if info, err := os.Lstat(gone); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%v, %v", info, err)
	}
	if err := Set(dir, "debug", "true"); err == nil {
		t.Error("a folder is no settings file")
	}
}

// values has good values for some keys, in words.
var values = map[string][]string{
	"enabled": {"true", "false"}, "hard": {"80%", "> window-16k", "off"}, "window": {"200k", "0"}, "excludedModels": {"a/b", "a/b,c/d", ""},
	"reminderThresholds": {"10%", "5k,20% max 9k"}, "hooks.before": {"notes", `["a b","#","\"'"]`, ""}, "hooks.timeout": {"5s"}, "limits.items": {"3"},
	"limits.bytes": {"5m"}, "language": {"zh"}, "compactModel": {"mechanical", "a/b c\"d"},
}

// TestSetProperty: whatever stood in a file, after Set it says that and the new value, and every other line is as it was.
func TestSetProperty(t *testing.T) {
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range values {
			if !yield(name) {
				return
			}
		}
	})
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		path := filepath.Join(dir, rapid.SampledFrom([]string{"pemmican.toml", "pemmican.json"}).Draw(t, "file"))
		_ = os.Remove(path)
		if !isJSON(path) {
			comment := rapid.SampledFrom([]string{"", "\n", "# a comment = 1\n", "#[hooks]\n"})
			text := comment.Draw(t, "head") + rapid.SampledFrom([]string{"", "debug = true", "soft = '''50%''' # x"}).Draw(t, "line") + "\n" + comment.Draw(t, "between") +
				rapid.SampledFrom([]string{"", "[hooks]\n", "[hooks]\nafter=['x']", "[limits]\nimages = 3\n\n[hooks] # y\n"}).Draw(t, "table") + comment.Draw(t, "foot")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want := map[string]string{}
		for range rapid.IntRange(1, 6).Draw(t, "sets") {
			before, _ := readFile(path)
			name := rapid.SampledFrom(names).Draw(t, "key")
			value := rapid.SampledFrom(values[name]).Draw(t, "value")
			if err := Set(path, name, value); err != nil {
				// "a comment" without a line break before a table is no TOML; nothing else is refused.
				if _, err := entries(path, before); err == nil {
					t.Fatalf("%v in\n%s", err, before)
				}
				return
			}
			k, _ := keyNamed(name)
			v, err := k.read(value)
			if err != nil {
				t.Fatal(err)
			}
			want[name] = encoded(v)
			after, err := readFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all, err := entries(path, after)
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range want {
				if i := slices.IndexFunc(all, func(e entry) bool { return e.name == name }); i < 0 || encoded(all[i].value) != value {
					t.Fatalf("%s is not %s in\n%s", name, value, after)
				}
			}
			for _, comment := range strings.SplitAfter(string(before), "\n") {
				if strings.HasPrefix(comment, "#") && !strings.Contains(string(after), strings.TrimSpace(comment)) {
					t.Fatalf("%q is lost of\n%s\nin\n%s", comment, before, after)
				}
			}
		}
		if _, notices := New(Source{Path: path, Environ: []string{}}).Load(); notices != nil {
			t.Fatal(notices)
		}
	})
}

// FuzzFile: no file upsets the loader, and Set either refuses or makes a file that is usable and says what it said.
func FuzzFile(f *testing.F) {
	for _, s := range []string{
		everything, "", "hard = '60%'", "[[hooks]]\nbefore=1", "\"hard\" = '60%'\n'soft'=1", "hooks . timeout = '3s'", "a.b.c = {d=[{e=1}]}\nhard = \"\"\"60%\"\"\"", "{\"hard\": 1, \"hard\": 2}",
		`{"hooks": {"before": [], "before": ["x"]}, "limits": null}`, "hard = 1979-05-27T07:32:00Z", "window = inf", "\ufeffhard=1", "a = 1\r\nb = 2\r\n", "[hooks]\n[hooks.x]\ny=1",
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, text string, json bool) {
		path := "x.toml"
		if json {
			path = "x.json"
		}
		all, err := entries(path, []byte(text))
		if err == nil {
			next, _, err := lay(session.DefaultSettings(), all)
			if err == nil && next.Valid() != nil {
				t.Fatal(next.Valid())
			}
			legacy, _ := legacyEntries(all)
			_, _, _ = lay(session.DefaultSettings(), legacy)
		}
		for _, name := range []string{"hard", "hooks.timeout"} {
			k, _ := keyNamed(name)
			edited, err := edit(path, []byte(text), k, `"5s"`)
			if name == "hard" {
				edited, err = edit(path, []byte(text), k, `"77%"`)
			}
			if err != nil {
				continue
			}
			after, err := entries(path, edited)
			if err != nil {
				t.Fatalf("%v in %q", err, edited)
			}
			if _, _, err := lay(session.DefaultSettings(), after); err != nil {
				t.Fatalf("%v in %q", err, edited)
			}
		}
	})
}
