package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/pemmican-dev/pemmican"
)

// Tools returns what is known of the tools of pi, Claude Code, Codex, opencode, Cline, Roo, Continue, Gemini CLI, Qwen
// Code, Kimi, OpenHands and SWE-agent, by their exact names, in one table: where two agents have a tool of one name,
// it does the same in both, and the arguments of both are listed. The caller may change the table.
//
// What is not in it has no role, and so is never taken for superseded nor for an edit. That is on purpose for
//
//   - a name so general that another program's tool of that name does something else: open, create, insert, submit;
//   - what reads from the web or asks a person: the same question has another answer tomorrow.
//
// Searches and lists have no path here: the path is one argument among those that make two of them the same question.
// Nor have reads of several files at once, whose paths are a list.
func Tools() pemmican.Tools {
	t := pemmican.Tools{}
	add := func(role pemmican.ToolRole, path, ranges []string, names ...string) {
		for _, name := range names {
			t[name] = pemmican.ToolSpec{Role: role, Path: slices.Clone(path), Range: slices.Clone(ranges)}
		}
	}

	add(pemmican.ReadTool, []string{"path", "filePath", "file_path"}, []string{"offset", "limit"},
		"read") // pi; opencode
	add(pemmican.ReadTool, []string{"file_path", "filepath", "path"},
		[]string{"offset", "limit", "pages", "line_offset", "n_lines"},
		"Read") // Claude Code; Continue; Kimi Code
	add(pemmican.ReadTool, []string{"notebook_path"}, []string{"cell_id"},
		"NotebookRead") // Claude Code, older
	add(pemmican.ReadTool, []string{"path", "file_path", "absolute_path"},
		[]string{"offset", "limit", "start_line", "end_line", "line_range", "mode", "indentation", "pages"},
		"read_file") // Gemini, Qwen, Codex, Cline and Roo; one of them with "files", a list, instead
	add(pemmican.ReadTool, []string{"path"}, []string{"line_offset", "n_lines"},
		"ReadFile", "ReadMediaFile") // Kimi
	add(pemmican.ReadTool, []string{"path"}, nil,
		"view_image") // Codex
	add(pemmican.ReadTool, nil, nil,
		"read_files",      // Cline
		"read_many_files") // Gemini, Qwen

	add(pemmican.SearchTool, nil, nil,
		"grep", "find", // pi; opencode
		"glob",         // opencode, Gemini, Qwen
		"Grep", "Glob", // Claude Code, Kimi
		"grep_files",                         // Codex
		"grep_search", "search_file_content", // Gemini, Qwen
		"search_files", "codebase_search", // Cline, Roo
		"search_codebase",                        // Cline
		"find_file", "search_dir", "search_file", // SWE-agent
	)
	add(pemmican.ListTool, nil, nil,
		"ls",                                       // pi
		"list",                                     // opencode
		"LS",                                       // Claude Code, older
		"List",                                     // Continue
		"list_dir",                                 // Codex
		"list_directory",                           // Gemini, Qwen
		"list_files", "list_code_definition_names", // Cline, Roo
	)

	add(pemmican.EditTool, []string{"path", "filePath", "file_path"}, nil,
		"edit", "write") // pi; opencode; Qwen; SWE-agent edits the file that it has open
	add(pemmican.EditTool, []string{"file_path", "filepath", "path"}, nil,
		"Edit", "Write", "MultiEdit") // Claude Code; Continue; Kimi Code
	add(pemmican.EditTool, []string{"notebook_path"}, nil,
		"NotebookEdit") // Claude Code
	add(pemmican.EditTool, []string{"filePath"}, nil,
		"multiedit") // opencode, older
	add(pemmican.EditTool, nil, nil,
		"apply_patch", "patch") // Codex; opencode: the paths are in the patch
	add(pemmican.EditTool, []string{"file_path", "path"}, nil,
		"write_file", "replace") // Gemini, Qwen
	add(pemmican.EditTool, []string{"path"}, nil,
		"WriteFile", "StrReplaceFile") // Kimi
	add(pemmican.EditTool, []string{"path", "file_path"}, nil,
		"editor",                           // Cline
		"write_to_file", "replace_in_file", // Cline, Roo
		"apply_diff", "insert_content", // Roo
		"search_and_replace", "search_replace", // Roo
		"edit_file", // Roo, OpenHands
	)

	add(pemmican.RunTool, nil, nil,
		"bash",                                          // pi, opencode, SWE-agent, mini-SWE-agent
		"powershell",                                    // pi
		"Bash", "BashOutput", "TaskOutput", "KillShell", // Claude Code
		"CheckBackgroundJob",                    // Continue
		"Shell",                                 // Kimi
		"shell", "local_shell", "shell_command", // Codex
		"container.exec", "exec_command", "write_stdin", // Codex
		"run_shell_command",               // Gemini, Qwen
		"execute_command", "run_commands", // Cline, Roo
		"execute_bash", "execute_ipython_cell", "terminal", // OpenHands
	)

	add(pemmican.PlanTool, nil, nil,
		"TodoWrite", "ExitPlanMode", "TaskCreate", "TaskUpdate", // Claude Code
		"update_plan",               // Codex
		"todowrite",                 // opencode
		"update_todo_list",          // Roo
		"Checklist",                 // Continue
		"write_todos", "todo_write", // Gemini; Qwen
		"SetTodoList",  // Kimi
		"task_tracker", // OpenHands
	)

	// The tool of Pemmican's own MCP server, as hosts name the tools of a server.
	add(pemmican.KeepTool, nil, nil,
		"mcp__pemmican__keep", "pemmican__keep", "mcp_pemmican_keep", "pemmican_keep", "pemmican-keep", "pemmican.keep", "pemmican/keep")

	// OpenHands, SWE-agent, Anthropic's own: one tool that views, creates and edits.
	for _, name := range []string{"str_replace_editor", "file_editor", "str_replace_based_edit_tool"} {
		t[name] = pemmican.ToolSpec{
			Path: []string{"path"}, Range: []string{"view_range"}, By: "command",
			Roles: map[string]pemmican.ToolRole{
				"view":   pemmican.ReadTool,
				"create": pemmican.EditTool, "insert": pemmican.EditTool, "str_replace": pemmican.EditTool, "undo_edit": pemmican.EditTool,
			},
		}
	}
	return t
}

// Extend returns base with more laid over it: a later entry replaces an earlier one of the same name as a whole. None
// of them is changed.
func Extend(base pemmican.Tools, more ...pemmican.Tools) pemmican.Tools {
	out := make(pemmican.Tools, len(base))
	for _, t := range append([]pemmican.Tools{base}, more...) {
		for name, spec := range t {
			spec.Path, spec.Range, spec.Roles = slices.Clone(spec.Path), slices.Clone(spec.Range), maps.Clone(spec.Roles)
			out[name] = spec
		}
	}
	return out
}

// Settings is the part of a settings file that describes tools:
//
//	{"tools": {"my_read": {"role": "read", "path": ["file"], "range": ["from", "to"]},
//	           "my_fs": {"role": "none", "path": ["file"], "by": "op", "roles": {"view": "read", "put": "edit"}}}}
//
// Use it as the field with the key "tools" of whatever holds the whole file, and Extend to lay it over Tools. Decoding
// is strict: an unknown key, a key that comes twice, an unknown role or a wrong type is an error that names the place.
// The roles are read, search, list, edit, run, plan, keep, and none, which takes the role of a known tool away. null is no
// tools.
type Settings pemmican.Tools

var roleNames = []string{
	pemmican.NoRole:     "none",
	pemmican.ReadTool:   "read",
	pemmican.SearchTool: "search",
	pemmican.ListTool:   "list",
	pemmican.EditTool:   "edit",
	pemmican.RunTool:    "run",
	pemmican.PlanTool:   "plan",
	pemmican.KeepTool:   "keep",
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Settings) UnmarshalJSON(data []byte) error {
	out := Settings{}
	err := eachMember(data, "tools", func(name, at string, value json.RawMessage) error {
		if name == "" {
			return errors.New("tools: a tool needs a name")
		}
		spec, err := decodeSpec(value, at)
		out[name] = spec
		return err
	})
	if err != nil {
		return err
	}
	*s = out
	return nil
}

// MarshalJSON implements json.Marshaler. What it writes, UnmarshalJSON reads.
func (s Settings) MarshalJSON() ([]byte, error) {
	type entry struct {
		Role  string            `json:"role"`
		Path  []string          `json:"path,omitempty"`
		Range []string          `json:"range,omitempty"`
		By    string            `json:"by,omitempty"`
		Roles map[string]string `json:"roles,omitempty"`
	}
	out := make(map[string]entry, len(s))
	for _, name := range slices.Sorted(maps.Keys(s)) {
		spec := s[name]
		if int(spec.Role) >= len(roleNames) {
			return nil, fmt.Errorf("tools.%s.role: no role has the number %d", name, spec.Role)
		}
		var roles map[string]string
		for value, role := range spec.Roles {
			if int(role) >= len(roleNames) {
				return nil, fmt.Errorf("tools.%s.roles.%s: no role has the number %d", name, value, role)
			}
			if roles == nil {
				roles = map[string]string{}
			}
			roles[value] = roleNames[role]
		}
		out[name] = entry{roleNames[spec.Role], spec.Path, spec.Range, spec.By, roles}
	}
	return json.Marshal(out)
}

func decodeSpec(data json.RawMessage, at string) (pemmican.ToolSpec, error) {
	var spec pemmican.ToolSpec
	role := false
	err := eachMember(data, at, func(key, at string, value json.RawMessage) (err error) {
		switch key {
		case "role":
			role = true
			spec.Role, err = decodeRole(value, at)
		case "path":
			spec.Path, err = decodeNames(value, at)
		case "range":
			spec.Range, err = decodeNames(value, at)
		case "by":
			if isNull(value) || json.Unmarshal(value, &spec.By) != nil || spec.By == "" {
				err = fmt.Errorf("%s: want the name of an argument", at)
			}
		case "roles":
			spec.Roles = map[string]pemmican.ToolRole{}
			err = eachMember(value, at, func(name, at string, value json.RawMessage) (err error) {
				spec.Roles[name], err = decodeRole(value, at)
				return err
			})
		default:
			err = fmt.Errorf("%s: unknown key; use role, path, range, by or roles", at)
		}
		return err
	})
	switch {
	case err != nil:
		return spec, err
	case !role:
		return spec, fmt.Errorf("%s: role is missing; use %s", at, roleList())
	case (spec.By == "") != (len(spec.Roles) == 0):
		return spec, fmt.Errorf("%s: by and roles need each other", at)
	case len(spec.Range) > 0 && len(spec.Path) == 0:
		return spec, fmt.Errorf("%s.range: a range needs a path beside it", at)
	}
	return spec, nil
}

func decodeRole(data json.RawMessage, at string) (pemmican.ToolRole, error) {
	var name string
	if isNull(data) || json.Unmarshal(data, &name) != nil {
		return 0, fmt.Errorf("%s: want a string; use %s", at, roleList())
	}
	i := slices.Index(roleNames, name)
	if i < 0 {
		return 0, fmt.Errorf("%s: unknown role %q; use %s", at, name, roleList())
	}
	return pemmican.ToolRole(i), nil
}

func decodeNames(data json.RawMessage, at string) ([]string, error) {
	var names []*string
	if isNull(data) || json.Unmarshal(data, &names) != nil {
		return nil, fmt.Errorf("%s: want a list of argument names, such as [\"file\"]", at)
	}
	out := make([]string, len(names))
	for i, n := range names {
		if n == nil || *n == "" {
			return nil, fmt.Errorf("%s[%d]: want the name of an argument", at, i)
		}
		out[i] = *n
	}
	return out, nil
}

func roleList() string {
	return strings.Join(roleNames[1:], ", ") + " or " + roleNames[0]
}

func isNull(data []byte) bool { return string(bytes.TrimSpace(data)) == "null" }

// eachMember calls f with every member of the JSON object data, whose place in the settings is at. It refuses a key
// that comes twice, which encoding/json would not.
func eachMember(data []byte, at string, f func(key, at string, value json.RawMessage) error) error {
	if isNull(data) && at == "tools" {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("%s: want an object", at)
	}
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		key, ok := token.(string)
		if err != nil || !ok {
			return fmt.Errorf("%s: not valid JSON: %w", at, cutShort(err))
		}
		place := at + "." + key
		if seen[key] {
			return fmt.Errorf("%s: the key comes twice", place)
		}
		seen[key] = true
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return fmt.Errorf("%s: not valid JSON: %w", place, cutShort(err))
		}
		if err := f(key, place, value); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("%s: not valid JSON: %w", at, cutShort(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: something stands behind the object", at)
	}
	return nil
}

// cutShort names an end that came too early; the decoder's own word for it is just EOF.
func cutShort(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
