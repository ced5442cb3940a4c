package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// holder names another process that has the file open, "" if none has, as far as this user may see. known is false where
// that cannot be told.
func holder(info fs.FileInfo) (name string, known bool) {
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return "", false
	}
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		if pid == os.Getpid() {
			known = true // and so are the others of this user
			continue
		}
		dir := filepath.Join("/proc", p.Name())
		open, err := os.ReadDir(filepath.Join(dir, "fd"))
		if err != nil {
			continue // it has ended, or is another user's
		}
		for _, fd := range open {
			if target, err := os.Stat(filepath.Join(dir, "fd", fd.Name())); err == nil && os.SameFile(info, target) {
				comm, _ := os.ReadFile(filepath.Join(dir, "comm"))
				return fmt.Sprintf("process %d (%s)", pid, Clean(strings.TrimSpace(string(comm)))), true
			}
		}
	}
	return "", known
}
