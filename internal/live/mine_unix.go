//go:build unix

package live

import (
	"io/fs"
	"os"
	"syscall"
)

// mine reports whether a file belongs to this user.
func mine(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}
