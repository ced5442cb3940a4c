// Package mcpserver is an MCP server (Model Context Protocol) with which an agent sees to its own context: how full it is
// and of what, whether a transcript is sound, which facts must not get lost, and, where the agent's session is one that
// Pemmican runs beside, a compaction when the agent wants it.
//
// It finds the agent's session by the working folder, or is given it. Transcripts are named by path and never sent. It
// reads session files and writes none: a file whose agent runs is the agent's alone.
package mcpserver

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pemmican-dev/pemmican/internal/live"
	"github.com/pemmican-dev/pemmican/internal/texts"
	"github.com/pemmican-dev/pemmican/llm"
	"github.com/pemmican-dev/pemmican/session"
)

// Config is what a server is made of. Every field is optional.
type Config struct {
	// Dir is the folder whose session is meant where a call names none, and from which relative paths are seen. Defaults
	// to the working folder.
	Dir string
	// Live is the folder in which running sessions can be reached. Defaults to the one of this user.
	Live string
	// Settings returns the settings in force; it is asked at each call. Defaults to session's own.
	Settings func() session.Settings
	// Catalogue knows the windows of models. Defaults to what "pemmican inspect" goes by, at each call: the one of package
	// llm, with what the person says of models and what was learned of them.
	Catalogue *llm.Catalogue
	// Language of the texts that an agent reads of compact_context, "en" or "zh". Defaults to "en".
	Language string
	// Version is what the server calls its own. Defaults to "unknown".
	Version string
	// Failed, if not nil, is told of a fault in the server itself, which the caller has got as an error.
	Failed func(error)
}

// instructions are what a client may show its model of the server.
const instructions = `Pemmican keeps an agent inside its context window. context_status tells how full the context of a session is and what
a compaction would free; inspect_transcript where its tokens are; check_transcript what a provider would refuse in it.
compact_context compacts a running session that Pemmican runs beside, and otherwise names the command that compacts it after the
agent has ended. keep pins a fact, word for word, for the compactions that Pemmican makes. The session is the one of the working
folder unless a call names another. Session files are read and never written.`

// server is what the tools share.
type server struct {
	Config
	// busy bounds how many transcripts are in memory at once: each takes several times its size.
	busy    chan struct{}
	folders folders
}

// mostAtOnce is how many transcripts are worked on at once.
const mostAtOnce = 2

// New returns a server. It is safe for concurrent use by many clients.
func New(c Config) *mcp.Server {
	if c.Version == "" {
		c.Version = "unknown"
	}
	s := &server{Config: c, busy: make(chan struct{}, mostAtOnce), folders: folders{known: map[string]string{}}}
	m := mcp.NewServer(
		&mcp.Implementation{Name: "pemmican", Title: "Pemmican", Version: c.Version},
		&mcp.ServerOptions{Instructions: prose(instructions), Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}},
	)
	m.AddReceivingMiddleware(s.survive)
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(false)}
	mcp.AddTool(m, &mcp.Tool{Name: "context_status", Title: "Context status", Annotations: reads, Description: prose(statusDescription)}, s.status)
	mcp.AddTool(m, &mcp.Tool{Name: "inspect_transcript", Title: "Inspect a transcript", Annotations: reads, Description: prose(inspectDescription)}, s.inspect)
	mcp.AddTool(m, &mcp.Tool{Name: "check_transcript", Title: "Check a transcript", Annotations: reads, Description: prose(checkDescription)}, s.check)
	mcp.AddTool(m, &mcp.Tool{Name: "keep", Title: "Keep a fact", Annotations: reads, Description: prose(keepDescription)}, s.keep)
	mcp.AddTool(m, s.compactTool(), s.compact)
	return m
}

// compactTool describes compact_context in the words that agents get of it everywhere, and says what is special here.
func (s *server) compactTool() *mcp.Tool {
	tool := texts.In(s.Language).Tool(0) // the tier depends on the session's window, which the call finds out
	input, err := jsonschema.For[compactInput](nil)
	if err != nil {
		panic(err) // the type is wrong
	}
	input.Properties["instructions"].Description = tool.Instructions
	return &mcp.Tool{
		Name: session.ToolName, Title: tool.Label, Description: tool.Description + "\n\n" + prose(compactDescription), InputSchema: input,
		Annotations: &mcp.ToolAnnotations{DestructiveHint: new(false), OpenWorldHint: new(false)},
	}
}

// survive makes an error of a panic: an agent must not lose its tools over one transcript.
func (s *server) survive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (result mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				if s.Failed != nil {
					s.Failed(fmt.Errorf("%s: %v\n%s", method, p, debug.Stack()))
				}
				failed := fmt.Errorf("pemmican failed at this, which is a fault of its own: %v; please report it", p)
				if method == "tools/call" { // an agent sees the errors of its tools, and no others
					call := &mcp.CallToolResult{}
					call.SetError(failed)
					result, err = call, nil
					return
				}
				result, err = nil, failed
			}
		}()
		return next(ctx, method, r)
	}
}

// turn waits until there is room for one more transcript in memory. The caller calls done.
func (s *server) turn(ctx context.Context) (done func(), err error) {
	select {
	case s.busy <- struct{}{}:
		return sync.OnceFunc(func() { <-s.busy }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// dir is the folder that calls are seen from.
func (s *server) dir() (string, error) {
	if s.Dir != "" {
		return s.Dir, nil
	}
	return os.Getwd()
}

// liveDir is the folder in which running sessions can be reached.
func (s *server) liveDir() (string, error) {
	if s.Live != "" {
		return s.Live, nil
	}
	return live.Dir()
}

// settings returns the settings in force, nil for those of package session.
func (s *server) settings() *session.Settings {
	if s.Settings == nil {
		return nil
	}
	settings := s.Settings()
	return &settings
}
