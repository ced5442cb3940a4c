package pi

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican/session"
)

// The skill names settings that there are, and its head is one that pi takes.
func TestSkill(t *testing.T) {
	b, err := os.ReadFile("skills/pemmican/SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	head := regexp.MustCompile(`^---\nname: pemmican\ndescription: (.+)\n---\n`).FindStringSubmatch(text)
	if head == nil || len(head[1]) > 1024 || strings.Contains(head[1], ": ") {
		t.Errorf("the head is %q", head)
	}
	keys := map[string]bool{}
	settings(reflect.TypeFor[session.Settings](), "", keys)
	_, table, _ := strings.Cut(text, "## The settings")
	table, _, _ = strings.Cut(table, "`pemmican config` lists the others")
	named := 0
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) < 4 {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			named++
			if !keys[m[1]] {
				t.Errorf("there is no setting %s", m[1])
			}
		}
	}
	if named < 10 {
		t.Errorf("only %d settings are named", named)
	}
	for _, m := range regexp.MustCompile(`config set (\S+) `).FindAllStringSubmatch(text, -1) {
		if m[1] != "KEY" && !keys[m[1]] {
			t.Errorf("config set %s: there is no such setting", m[1])
		}
	}
}

// settings are the names of all settings, those in a table with a dot.
func settings(t reflect.Type, prefix string, into map[string]bool) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		into[prefix+name] = true
		if f.Type.Kind() == reflect.Struct {
			settings(f.Type, prefix+name+".", into)
		}
	}
}
