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
	"strings"
	"time"

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

// stateAge is how long the state of a session is kept that nobody goes on with. What it has learned is old by then.
const stateAge = 60 * 24 * time.Hour

// forget takes states away that are older than stateAge, and what a process that was killed has left half written. One that
// cannot be taken away is left for the next time.
func forget(dir string, now time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		old := err == nil && now.Sub(info.ModTime()) > stateAge
		half := err == nil && strings.HasPrefix(e.Name(), halfState) && now.Sub(info.ModTime()) > time.Hour
		if (old && filepath.Ext(e.Name()) == ".json" || half) && info.Mode().IsRegular() {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// halfState begins the name of a state that is being written.
const halfState = ".state-"

// saveState writes a state so that there is always a whole one.
func saveState(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, halfState+"*")
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
