package mcpserver

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pemmican-dev/pemmican/agents"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/format/detect"
	"github.com/pemmican-dev/pemmican/internal/cli"
	"github.com/pemmican-dev/pemmican/internal/live"
)

// Which is the transcript that an answer is about.
type Which struct {
	Agent  string   `json:"agent"  jsonschema:"the agent whose session it is, empty if unknown"`
	ID     string   `json:"id"     jsonschema:"the id of the session, empty if unknown"`
	File   string   `json:"file"   jsonschema:"the path of its file, empty if the session has none"`
	Format string   `json:"format" jsonschema:"the format of the file, empty if it was not read"`
	Dir    string   `json:"dir"    jsonschema:"the working folder of the session, empty if unknown"`
	Live   bool     `json:"live"   jsonschema:"true if the session runs and can be reached"`
	Chosen string   `json:"chosen" jsonschema:"why it is this one, empty if the call named it"`
	Notes  []string `json:"notes"  jsonschema:"what could not be done or seen on the way"`
}

// line names the transcript for the text of an answer.
func (w *Which) line() string {
	name := w.File
	if name == "" {
		name = w.Agent + " session " + w.ID
	}
	if w.Chosen != "" {
		name += " (" + w.Chosen + ")"
	}
	return cli.Clean(name)
}

// target is a transcript that a call is about.
type target struct {
	Which
	session *live.Session // nil if it cannot be reached
	running []live.Session
	// files may be it: the first that holds a session is. Where the call named one, that is it, whatever it holds.
	files iter.Seq[agents.SessionFile]
	named bool

	in  *cli.Input // once it was opened
	doc format.Document
}

const (
	// mostFile bounds a transcript in bytes, so that a call for one cannot take all memory from the others.
	mostFile = 256 << 20
	// mostPassedOver is how many files that were passed over are named.
	mostPassedOver = 3
)

// find finds the transcript that ref names: what "pemmican" takes as FILE, or the id of a running session. If it is empty
// the session of the server's folder is meant: the one that runs there or in the nearest folder above, else the one whose
// file was written last. A client that is an agent itself is not given another agent's session.
func (s *server) find(ref string, client *mcp.Implementation) (*target, error) {
	dir, err := s.dir()
	if err != nil {
		return nil, err
	}
	t := &target{Which: Which{Notes: []string{}}}
	if t.running, err = s.running(); err != nil {
		t.Notes = append(t.Notes, "running sessions are not seen: "+cli.Clean(err.Error()))
	}
	if ref != "" {
		return t, t.name(ref, dir)
	}
	agent, known := agentOf(client)
	if !known {
		return nil, cli.Unusable("", nameOne, "the sessions of %s cannot be read, so which one is yours is unknown", agent)
	}
	if near := nearest(t.running, dir, agent); len(near) > 0 {
		t.run(&near[0])
		t.Chosen = "it runs in " + near[0].Dir
		if n := len(near) - 1; n > 0 {
			t.Chosen += " and was started after " + cli.Plural(n, "other") + " that do"
		}
		return t, nil
	}
	files, listErr := agents.List(os.Getenv)
	if listErr != nil {
		t.Notes = append(t.Notes, cli.Clean(listErr.Error()))
	}
	t.Chosen = "written last of the sessions whose folder is " + dir
	t.files = func(yield func(agents.SessionFile) bool) {
		for _, f := range files {
			if f.Subagent || agent != "" && f.Agent != agent || !sameFolder(s.folders.of(f), dir) {
				continue
			}
			if !yield(f) {
				return
			}
		}
	}
	for range t.files {
		return t, nil
	}
	whose := "an agent"
	if agent != "" {
		whose = agent
	}
	return nil, cli.Unusable("", nameOne, "no session of %s runs in %s, and none on disk has this folder", whose, cli.Clean(dir))
}

const nameOne = `name one: a path, an id, "latest" or "pi:latest"`

// running lists the sessions that can be reached, the newest first.
func (s *server) running() ([]live.Session, error) {
	dir, err := s.liveDir()
	if err != nil {
		return nil, err
	}
	return live.List(dir)
}

// name finds what ref names.
func (t *target) name(ref, dir string) error {
	t.named = true
	if ref == "-" {
		return cli.Unusable("", nameOne, "the standard input is no session here")
	}
	for i := range t.running {
		if s := &t.running[i]; s.ID != "" && (ref == s.ID || ref == s.Agent+":"+s.ID) {
			t.run(s)
			return nil
		}
	}
	path := ref
	if below := filepath.Join(dir, ref); !filepath.IsAbs(ref) {
		if _, err := os.Stat(below); err == nil {
			path = below
		}
	}
	files, err := agents.Find(os.Getenv, path)
	if err != nil {
		return cli.Unusable("", "", "%s", strings.Join(strings.Fields(cli.Clean(err.Error())), " "))
	}
	if len(files) > 1 { // it is "latest"
		t.named, t.Chosen = false, "written last"
	}
	t.files = slices.Values(files)
	return nil
}

// run says that the target is a session that runs. Its file is the one to read.
func (t *target) run(s *live.Session) {
	t.session = s
	t.Agent, t.ID, t.File, t.Dir, t.Live = s.Agent, s.ID, s.File, s.Dir, true
	t.files = func(yield func(agents.SessionFile) bool) {
		if s.File != "" {
			yield(agents.SessionFile{Agent: s.Agent, ID: s.ID, Path: s.File})
		}
	}
}

// note adds a note, once.
func (t *target) note(text string) {
	if !slices.Contains(t.Notes, text) {
		t.Notes = append(t.Notes, text)
	}
}

// open reads and decodes the transcript. Name is that of its format, or "" to find it by the content.
func (t *target) open(ctx context.Context, name string) error {
	if name != "" && !slices.Contains(detect.Names(), name) {
		return cli.Unusable("", "give "+cli.FormatNames(), "there is no format %q", name)
	}
	passed := 0
	for f := range t.files {
		in, doc, err := cli.Snapshot(ctx, f, name, mostFile)
		why := ""
		if err != nil {
			why = strings.TrimPrefix(cli.Message(err), cli.Clean(f.Path)+": ")
		} else if _, ok := doc.(format.Session); !ok {
			why = "it is a request body, no session"
		} else if len(doc.Transcript().Messages) == 0 {
			why = "it holds no message"
		}
		if why != "" && ctx.Err() == nil && !t.named && t.session == nil {
			if passed++; passed <= mostPassedOver {
				t.Notes = append(t.Notes, "passed over "+cli.Clean(f.Path)+": "+why)
			}
			continue
		}
		if err != nil {
			return err
		}
		t.opened(f, in, doc)
		return nil
	}
	if t.session != nil {
		return cli.Unusable("", "ask for context_status", "the session %s runs without a file", cli.Clean(t.ID))
	}
	return cli.Unusable("", nameOne, "none of the %s can be read as a session: %s", cli.Plural(passed, "file"), strings.Join(t.Notes, "; "))
}

// opened takes in what the file says.
func (t *target) opened(f agents.SessionFile, in *cli.Input, doc format.Document) {
	t.in, t.doc = in, doc
	t.File, t.Format = f.Path, doc.Format()
	if t.Agent == "" {
		t.Agent, t.ID = f.Agent, f.ID
	}
	if s, ok := doc.(format.Session); ok {
		info := s.Info()
		if t.ID == "" {
			t.ID = info.ID
		}
		if t.Dir == "" {
			t.Dir = info.Dir
		}
		if a, ok := agents.ForFormat(doc.Format()); ok && t.Agent == "" {
			t.Agent = a.Name
		}
	}
	for i := range t.running {
		if s := &t.running[i]; t.session == nil && (s.ID != "" && s.ID == t.ID && s.Agent == t.Agent || s.File != "" && sameFile(s.File, f.Path)) {
			t.session, t.Live = s, true
		}
	}
}

// nearest returns the sessions that run in the folder dir, or else in the nearest one above it. Agent, if not empty, is
// whose.
func nearest(running []live.Session, dir, agent string) []live.Session {
	var out []live.Session
	deepest := -1
	for _, s := range running {
		if agent != "" && s.Agent != agent || s.Dir == "" {
			continue
		}
		rel, err := filepath.Rel(real(s.Dir), real(dir))
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		depth := len(real(s.Dir))
		if depth > deepest {
			deepest, out = depth, nil
		}
		if depth == deepest {
			out = append(out, s)
		}
	}
	return out
}

// others are agents that have sessions which cannot be found yet. What is found in their folder is another agent's.
var others = []string{
	"amp", "cline", "codex", "continue", "copilot", "crush", "cursor", "gemini", "goose", "kilo", "kimi", "opencode", "qwen", "roo", "windsurf", "zed",
}

// agentOf is the agent that a client says it is, "" if it says nothing of the kind: "claude-code" is claude. Known is false
// if it is one of others.
func agentOf(client *mcp.Implementation) (name string, known bool) {
	if client == nil {
		return "", true
	}
	words := strings.FieldsFunc(strings.ToLower(client.Name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, a := range agents.All() {
		if slices.Contains(words, a.Name) {
			return a.Name, true
		}
	}
	for _, name := range others {
		if slices.Contains(words, name) {
			return name, false
		}
	}
	return "", true
}

// real is a folder as it is without links, or as it is written where it is not there.
func real(dir string) string {
	if followed, err := filepath.EvalSymlinks(dir); err == nil {
		return followed
	}
	return filepath.Clean(dir)
}

func sameFolder(a, b string) bool {
	return a != "" && (filepath.Clean(a) == filepath.Clean(b) || real(a) == real(b))
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// fault is what a caller is told of an error: one line that is not too long, whatever it quotes.
func fault(err error) error {
	if msg := cli.Message(err); msg != "" {
		msg = strings.ReplaceAll(msg, "name it with --format", "give format") // there are no flags here
		return errors.New(short(msg, 3*mostText))
	}
	return err
}
