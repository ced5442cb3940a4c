package config

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/pemmican-dev/pemmican/session"
)

var update = flag.Bool("update", false, "write docs/pemmican.schema.json, and the defaults in docs/settings.md, anew")

var docs = filepath.Join("..", "..", "docs")

// TestSchemaPublished: what is published is what the program writes.
func TestSchemaPublished(t *testing.T) {
	path := filepath.Join(docs, "pemmican.schema.json")
	if *update {
		if err := os.WriteFile(path, Schema(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	published, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(published), string(Schema())); d != "" {
		t.Errorf("%s differs (-published +now), -update writes it anew:\n%s", path, d)
	}
}

func resolved(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// treeOf is a settings file as a schema sees it.
func treeOf(t *testing.T, path, text string) any {
	t.Helper()
	find := treeOfTOML
	if isJSON(path) {
		find = treeOfJSON
	}
	tree, _, err := find([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSchema(t *testing.T) {
	r := resolved(t)
	for _, k := range keys {
		if about[k.name] == "" {
			t.Errorf("nothing is said of %s", k.name)
		}
	}
	if len(about) != len(keys) {
		t.Errorf("%d keys are described, and there are %d", len(about), len(keys))
	}
	defaults, err := json.Marshal(session.DefaultSettings().Normalise())
	if err != nil {
		t.Fatal(err)
	}
	// Lists that are not there are null in Go's JSON, which no file of a person has.
	for _, text := range []string{strings.ReplaceAll(string(defaults), "null", "[]"), "{}", `{"$schema": "x", "hard": 150000, "window": "1.5m"}`} {
		if err := r.Validate(treeOf(t, "x.json", text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := r.Validate(treeOf(t, "x.toml", everything)); err != nil {
		t.Error(err)
	}
	for _, text := range []string{
		`{"hrad": 1}`, `{"hard": "much"}`, `{"hard": true}`, `{"hard": 0}`, `{"hooks": {"befor": []}}`, `{"hooks": {"before": "notes"}}`, `{"maxWait": 3}`, `{"maxWait": "soon"}`,
		`{"excludedModels": ["a"]}`, `{"counting": "never"}`, `{"thinking": "deep"}`, `{"language": "fr"}`, `{"preset": "none"}`, `{"window": "large"}`, `{"enabled": 1}`, `{"compactModel": "glm"}`,
	} {
		if r.Validate(treeOf(t, "x.json", text)) == nil {
			t.Errorf("%s is valid", text)
		}
	}
}

// TestThresholdPattern: the schema takes every threshold that the program takes, and almost nothing else.
func TestThresholdPattern(t *testing.T) {
	pattern := regexp.MustCompile(thresholdPattern)
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.OneOf(rapid.StringMatching(`(window-)?[0-9]{1,3}(_[0-9]{3})?(\.[0-9])?[kKmM%]?`), rapid.SampledFrom([]string{"window", "off", "x"}))
		s := rapid.SampledFrom([]string{"", ">", "> ", ">>"}).Draw(t, "strict") + amount.Draw(t, "amount")
		for range rapid.IntRange(0, 3).Draw(t, "bounds") {
			s += rapid.SampledFrom([]string{" min ", "  max ", " mid ", " "}).Draw(t, "bound") + amount.Draw(t, "amount")
		}
		_, err := session.ParseThreshold(s)
		if err == nil && !pattern.MatchString(s) {
			t.Fatalf("%q is a threshold, and the schema refuses it", s)
		}
		// What the pattern cannot see is a number: 0, over 100%, the same bound twice.
		if err != nil && pattern.MatchString(s) && !regexp.MustCompile(`\b0|%|min.*min|max.*max|\.[0-9]($|\s)`).MatchString(s) {
			t.Fatalf("%q: %v, and the schema takes it", s, err)
		}
	})
}

// TestDocs: docs/settings.md has every key with its default and its variable, and its examples are usable files.
func TestDocs(t *testing.T) {
	path := filepath.Join(docs, "settings.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defaults := session.DefaultSettings()
	if *update {
		for _, k := range keys {
			row := regexp.MustCompile(fmt.Sprintf("(?m)^\\| `%s` \\| `[^`]*` \\| ", regexp.QuoteMeta(k.name)))
			text = row.ReplaceAllLiteral(text, fmt.Appendf(nil, "| `%s` | `%s` | ", k.name, k.text(defaults)))
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range keys {
		row := fmt.Sprintf("| `%s` | `%s` | ", k.name, k.text(defaults))
		if !strings.Contains(string(text), row) {
			t.Errorf("docs/settings.md has no row %q", row)
		}
	}
	for _, k := range []string{"compactModel", "hooks.timeout"} {
		if named, _ := keyNamed(k); !strings.Contains(string(text), named.variable()) {
			t.Errorf("docs/settings.md does not tell of %s", named.variable())
		}
	}
	examples := 0
	r := resolved(t)
	for _, block := range regexp.MustCompile("(?s)```(toml)\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		examples++
		path := filepath.Join(t.TempDir(), "x."+block[1])
		put(t, path, block[2])
		if _, notices := New(Source{Path: path, Environ: []string{}}).Load(); notices != nil {
			t.Errorf("%v in\n%s", notices, block[2])
		}
		if err := r.Validate(treeOf(t, path, block[2])); err != nil {
			t.Errorf("%v in\n%s", err, block[2])
		}
	}
	if examples < 2 {
		t.Errorf("%d examples", examples)
	}
	_, older, _ := strings.Cut(string(text), "## An older extension's file")
	_, older, _ = strings.Cut(older, "```json\n")
	older, _, _ = strings.Cut(older, "```")
	agent := t.TempDir()
	put(t, filepath.Join(agent, legacyFile), older)
	s, notices := New(Source{AgentDir: agent, Dir: t.TempDir(), Environ: []string{}}).Load()
	if notices != nil || s.CompactModel == "" || len(s.ExcludedModels) != 1 {
		t.Errorf("%v, %+v", notices, s)
	}
}
