// Package live lets another process of the same person reach a running session: the sidecar of an agent registers its
// session under a socket, and the MCP server finds it there. Nothing of it leaves the machine, and no other user can reach
// it.
//
// A session is two files in the folder [Dir]: NAME.sock, on which its process listens, and NAME.json, which says whose it
// is. A connection carries one request and one reply, each a JSON object.
package live

import (
	"errors"
	"time"
)

// ErrNotLive reports that no running session answers.
var ErrNotLive = errors.New("the session is not live")

// Session is a running session that can be reached.
type Session struct {
	Agent string `json:"agent"` // pi
	ID    string `json:"id"`
	File  string `json:"file"` // its session file, "" if it has none
	Dir   string `json:"dir"`  // the agent's working folder
	PID   int    `json:"pid"`
}

// Request is what is asked of a running session.
type Request struct {
	// Do is status or compact.
	Do           string `json:"do"`
	Instructions string `json:"instructions,omitempty"`
}

// Reply is what a running session answers: Text for the agent, or Refused, the reason why not; Status is JSON of
// session.Status.
type Reply struct {
	Text    string `json:"text,omitempty"`
	Refused string `json:"refused,omitempty"`
	Status  []byte `json:"status,omitempty"`
}

const (
	// mostBytes bounds a request and a reply.
	mostBytes = 1 << 20
	// mostRegistration bounds the file that says whose a socket is.
	mostRegistration = 64 << 10
	// patience is how long a process may take to send its request once it is connected. It is on the same machine.
	patience = 10 * time.Second
)
