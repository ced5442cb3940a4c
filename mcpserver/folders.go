package mcpserver

import (
	"bytes"
	"io"
	"os"
	"sync"

	"github.com/pemmican-dev/pemmican/agents"
	"github.com/pemmican-dev/pemmican/format"
	"github.com/pemmican-dev/pemmican/format/detect"
)

// folders knows the working folders of sessions, which stand near the beginning of their files and do not change.
type folders struct {
	mu    sync.Mutex
	known map[string]string // by path
}

// of returns the working folder of a session, "" if its file does not tell.
func (k *folders) of(f agents.SessionFile) string {
	k.mu.Lock()
	dir, ok := k.known[f.Path]
	k.mu.Unlock()
	if ok {
		return dir
	}
	if dir = folderOf(f); dir != "" { // what does not tell may be in the making
		k.mu.Lock()
		defer k.mu.Unlock()
		k.known[f.Path] = dir
	}
	return dir
}

// folderOf reads the beginning of a session file.
func folderOf(f agents.SessionFile) string {
	const beginning = 128 << 10
	agent, ok := agents.Named(f.Agent)
	if !ok {
		return ""
	}
	file, err := os.Open(f.Path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	head := make([]byte, min(f.Size, beginning))
	n, err := io.ReadFull(file, head)
	if err != nil {
		return ""
	}
	if int64(n) < f.Size {
		head = head[:bytes.LastIndexByte(head, '\n')+1]
	}
	doc, err := detect.Decode(head, agent.Format)
	if err != nil {
		return ""
	}
	if s, ok := doc.(format.Session); ok {
		return s.Info().Dir
	}
	return ""
}
