package sidecar

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/pemmican-dev/pemmican/session"
)

// plainID is an id of a session that can be the name of a file.
var plainID = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$`)

// stateFile is where the state of the session is kept, "" for nowhere.
func (s *server) stateFile(e Event) string {
	if s.StateDir == "" || e.Session.ID == "" {
		return ""
	}
	name := e.Session.ID
	if !plainID.MatchString(name) {
		sum := sha256.Sum256([]byte(name))
		name = hex.EncodeToString(sum[:16])
	}
	return filepath.Join(s.StateDir, name+".json")
}

// loadState reads a state, and returns the bytes as they stand on disk. Of one that is not there, or broken, it returns
// the zero state, and an error for people if it is broken.
func loadState(path string) (state session.State, saved []byte, err error) {
	if path == "" {
		return session.State{}, nil, nil
	}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return session.State{}, nil, nil
	case err == nil:
		err = json.Unmarshal(data, &state)
	}
	if err != nil {
		return session.State{}, nil, fmt.Errorf("%s: what this session had learned cannot be read, and is learned anew: %w", path, withoutContent(err))
	}
	return state, data, nil
}

// saveState writes a state so that there is always a whole one.
func saveState(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".state-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
