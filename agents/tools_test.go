package agents_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/agents"
	"pgregory.net/rapid"
)

func TestToolRoles(t *testing.T) {
	tools := agents.Tools()
	for name, want := range map[string]pemmican.ToolSpec{
		"read":         {Role: pemmican.ReadTool, Path: []string{"path", "filePath", "file_path"}, Range: []string{"offset", "limit"}},
		"Read":         {Role: pemmican.ReadTool, Path: []string{"file_path", "filepath", "path"}, Range: []string{"offset", "limit", "pages", "line_offset", "n_lines"}},
		"ReadFile":     {Role: pemmican.ReadTool, Path: []string{"path"}, Range: []string{"line_offset", "n_lines"}},
		"apply_patch":  {Role: pemmican.EditTool},
		"Edit":         {Role: pemmican.EditTool, Path: []string{"file_path", "filepath", "path"}},
		"Grep":         {Role: pemmican.SearchTool},
		"LS":           {Role: pemmican.ListTool},
		"exec_command": {Role: pemmican.RunTool},
		"TodoWrite":    {Role: pemmican.PlanTool},
		"update_plan":  {Role: pemmican.PlanTool},

		"mcp__pemmican__keep": {Role: pemmican.KeepTool},
		"pemmican_keep":       {Role: pemmican.KeepTool},
	} {
		got, ok := tools[name]
		if !ok {
			t.Errorf("%s is not known", name)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, name := range []string{"", "READ", "open", "create", "insert", "submit", "WebFetch", "webfetch", "Task", "ask_question", "keep"} {
		if spec, ok := tools[name]; ok {
			t.Errorf("%q is known, as %+v", name, spec)
		}
	}
}

func TestRoleByArgument(t *testing.T) {
	spec := agents.Tools()["str_replace_editor"]
	for args, want := range map[string]pemmican.ToolRole{
		`{"command":"view","path":"a.go"}`:        pemmican.ReadTool,
		`{"path":"a.go","command":"str_replace"}`: pemmican.EditTool,
		`{"command":"dance","path":"a.go"}`:       pemmican.NoRole,
		`{"path":"a.go"}`:                         pemmican.NoRole,
		`no JSON`:                                 pemmican.NoRole,
	} {
		if got := spec.RoleOf(args); got != want {
			t.Errorf("%s: role %d, want %d", args, got, want)
		}
	}
}

// The rules that keep a compaction from taking two different answers for one.
func TestToolsAreSafe(t *testing.T) {
	for name, spec := range agents.Tools() {
		if len(spec.Range) > 0 && spec.Role != pemmican.ReadTool && spec.By == "" {
			t.Errorf("%s: only reads have a range", name)
		}
		if len(spec.Path) > 0 && (spec.Role == pemmican.SearchTool || spec.Role == pemmican.ListTool || spec.Role == pemmican.RunTool || spec.Role == pemmican.PlanTool) {
			t.Errorf("%s: two calls with one path are not the same call", name)
		}
		for _, arg := range slices.Concat(spec.Path, spec.Range) {
			if arg == "" || slices.Contains(spec.Path, arg) && slices.Contains(spec.Range, arg) {
				t.Errorf("%s: argument %q", name, arg)
			}
		}
	}
	a := agents.Tools()
	a["read"].Path[0] = "changed"
	delete(a, "Read")
	b := agents.Tools()
	if _, ok := b["Read"]; !ok || b["read"].Path[0] == "changed" {
		t.Error("one caller's change reaches another")
	}
}

// Every tool that the recorded clients offer and that takes a path is known, with an argument that it has, or is left
// out on purpose.
func TestToolsKnowTheRecordedClients(t *testing.T) {
	root := filepath.Join("..", "..", "shared", "clients", "recorded")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("the recorded requests are not here: %v", err)
	}
	tools := agents.Tools()
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		type schema struct{ Properties map[string]any }
		var record struct {
			Body struct {
				Tools []struct {
					Name        string
					Parameters  schema
					InputSchema schema `json:"input_schema"`
					Function    struct {
						Name       string
						Parameters schema
					}
				}
			}
		}
		if json.Unmarshal(data, &record) != nil {
			return nil // not a model's request
		}
		for _, tool := range record.Body.Tools {
			name, props := tool.Name, tool.Parameters.Properties
			if name == "" {
				name, props = tool.Function.Name, tool.Function.Parameters.Properties
			}
			if props == nil {
				props = tool.InputSchema.Properties
			}
			for _, arg := range []string{"path", "filePath", "file_path", "filepath"} {
				if _, ok := props[arg]; !ok {
					continue
				}
				seen[name] = true
				spec, ok := tools[name]
				if !ok {
					t.Errorf("%s: %s takes a path in %q and is not known", path, name, arg)
				} else if (spec.Role == pemmican.ReadTool || spec.Role == pemmican.EditTool) && !slices.Contains(spec.Path, arg) {
					t.Errorf("%s: %s takes a path in %q, which is not listed", path, name, arg)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"read", "edit", "write", "Read", "editor"} {
		if !seen[name] {
			t.Errorf("%s was not among what the recorded clients offer: the test reads them wrongly", name)
		}
	}
}

func TestExtend(t *testing.T) {
	base := pemmican.Tools{"a": {Role: pemmican.ReadTool, Path: []string{"p"}}, "b": {Role: pemmican.RunTool}}
	first := pemmican.Tools{"b": {Role: pemmican.EditTool, Path: []string{"q"}}, "c": {}}
	second := pemmican.Tools{"b": {Role: pemmican.ListTool}}
	got := agents.Extend(base, first, second)
	want := pemmican.Tools{"a": {Role: pemmican.ReadTool, Path: []string{"p"}}, "b": {Role: pemmican.ListTool}, "c": {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got["a"].Path[0] = "changed"
	got["d"] = pemmican.ToolSpec{}
	if base["a"].Path[0] != "p" || base["b"].Role != pemmican.RunTool || len(base) != 2 || len(first) != 2 {
		t.Error("a table that was given was changed")
	}
	if got := agents.Extend(nil); got == nil || len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

func decode(data string) (pemmican.Tools, error) {
	var file struct{ Tools agents.Settings }
	err := json.Unmarshal([]byte(data), &file)
	return pemmican.Tools(file.Tools), err
}

func TestSettings(t *testing.T) {
	got, err := decode(`{"tools": {
		"my_read": {"role": "read", "path": ["file"], "range": ["from", "to"]},
		"my.edit": {"path": ["a", "b"], "role": "edit"},
		"Grep": {"role": "none"}, "s": {"role": "search"}, "l": {"role": "list"}, "r": {"role": "run"}, "p": {"role": "plan"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	want := pemmican.Tools{
		"my_read": {Role: pemmican.ReadTool, Path: []string{"file"}, Range: []string{"from", "to"}},
		"my.edit": {Role: pemmican.EditTool, Path: []string{"a", "b"}},
		"Grep":    {}, "s": {Role: pemmican.SearchTool}, "l": {Role: pemmican.ListTool}, "r": {Role: pemmican.RunTool}, "p": {Role: pemmican.PlanTool},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, empty := range []string{`{}`, `{"tools": {}}`, `{"tools": null}`} {
		if got, err := decode(empty); err != nil || len(got) != 0 {
			t.Errorf("%s: got %v, %v", empty, got, err)
		}
	}
}

func TestSettingsErrorsNameTheKey(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"tools": []}`, `tools: want an object`},
		{`{"tools": "x"}`, `tools: want an object`},
		{`{"tools": {"": {"role": "read"}}}`, `tools: a tool needs a name`},
		{`{"tools": {"a": null}}`, `tools.a: want an object`},
		{`{"tools": {"a": "read"}}`, `tools.a: want an object`},
		{`{"tools": {"a": {}}}`, `tools.a: role is missing; use read, search, list, edit, run, plan, keep or none`},
		{`{"tools": {"a": {"role": "reed"}}}`, `tools.a.role: unknown role "reed"; use read, search, list, edit, run, plan, keep or none`},
		{`{"tools": {"a": {"role": "Read"}}}`, `tools.a.role: unknown role "Read"; use read, search, list, edit, run, plan, keep or none`},
		{`{"tools": {"a": {"role": 1}}}`, `tools.a.role: want a string; use read, search, list, edit, run, plan, keep or none`},
		{`{"tools": {"a": {"role": null}}}`, `tools.a.role: want a string; use read, search, list, edit, run, plan, keep or none`},
		{`{"tools": {"a": {"role": "read", "path": "file"}}}`, `tools.a.path: want a list of argument names, such as ["file"]`},
		{`{"tools": {"a": {"role": "read", "path": null}}}`, `tools.a.path: want a list of argument names, such as ["file"]`},
		{`{"tools": {"a": {"role": "read", "path": ["x", ""]}}}`, `tools.a.path[1]: want the name of an argument`},
		{`{"tools": {"a": {"role": "read", "path": [null]}}}`, `tools.a.path[0]: want the name of an argument`},
		{`{"tools": {"a": {"role": "read", "range": ["x"]}}}`, `tools.a.range: a range needs a path beside it`},
		{`{"tools": {"a": {"role": "read", "paths": ["x"]}}}`, `tools.a.paths: unknown key; use role, path, range, by or roles`},
		{`{"tools": {"a": {"role": "none", "by": "op"}}}`, `tools.a: by and roles need each other`},
		{`{"tools": {"a": {"role": "none", "by": 1}}}`, `tools.a.by: want the name of an argument`},
		{`{"tools": {"a": {"role": "none", "by": "op", "roles": {"x": "reed"}}}}`, `tools.a.roles.x: unknown role "reed"; use read, search, list, edit, run, plan, keep or none`},
		{`{"tools": {"a": {"role": "read", "Path": ["x"]}}}`, `tools.a.Path: unknown key; use role, path, range, by or roles`},
		{`{"tools": {"a": {"role": "read", "role": "edit"}}}`, `tools.a.role: the key comes twice`},
		{`{"tools": {"a": {"role": "read"}, "a": {"role": "read"}}}`, `tools.a: the key comes twice`},
	} {
		if _, err := decode(tt.in); err == nil || err.Error() != tt.want {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.in, err, tt.want)
		}
	}
	// Called by hand, it is given what json.Unmarshal would have refused.
	for _, in := range []string{``, `{`, `{"a"`, `{"a":`, `{"a":{"role":"read"}`, `{"a":{"role":"read"}} x`, `{"a":{"role":"read"}}{}`, `{1:2}`} {
		var s agents.Settings
		if err := s.UnmarshalJSON([]byte(in)); err == nil || !strings.HasPrefix(err.Error(), "tools") || strings.HasSuffix(err.Error(), ": EOF") {
			t.Errorf("%s: got %v", in, err)
		}
	}
}

func TestSettingsFailedLeavesThemAlone(t *testing.T) {
	s := agents.Settings{"kept": {Role: pemmican.ReadTool}}
	if err := json.Unmarshal([]byte(`{"a": {"role": "reed"}}`), &s); err == nil {
		t.Fatal("no error")
	}
	if len(s) != 1 || s["kept"].Role != pemmican.ReadTool {
		t.Errorf("got %v", s)
	}
}

func TestSettingsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-zA-Z_.:"é-]{1,8}`)
		in := agents.Settings(rapid.MapOf(name, rapid.Custom(func(t *rapid.T) pemmican.ToolSpec {
			s := pemmican.ToolSpec{Role: pemmican.ToolRole(rapid.IntRange(0, 6).Draw(t, "role"))}
			if p := rapid.SliceOfN(name, 0, 3).Draw(t, "path"); len(p) > 0 {
				s.Path = p
				if r := rapid.SliceOfN(name, 0, 3).Draw(t, "range"); len(r) > 0 {
					s.Range = r
				}
			}
			return s
		})).Draw(t, "settings"))
		data, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var out agents.Settings
		if err := json.Unmarshal(data, &out); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if diff := cmp.Diff(in, out); diff != "" {
			t.Fatal(diff)
		}
	})
	if _, err := json.Marshal(agents.Settings{"a": {Role: 99}}); err == nil {
		t.Error("a role that there is not was written")
	}
}

func FuzzSettings(f *testing.F) {
	f.Add([]byte(`{"my_read": {"role": "read", "path": ["file"], "range": ["from", "to"]}}`))
	f.Add([]byte(`{"a":{"role":"none"}} {`))
	f.Add([]byte(`{"a":{"role":"read","path":["\ud800"]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s agents.Settings
		if s.UnmarshalJSON(data) != nil || bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
			return
		}
		again, err := json.Marshal(s)
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		var out agents.Settings
		if err := json.Unmarshal(again, &out); err != nil {
			t.Fatalf("%q became %q: %v", data, again, err)
		}
		if len(out) != len(s) {
			t.Fatalf("%q became %q", data, again)
		}
	})
}
