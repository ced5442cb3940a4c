package live

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

const (
	socketExt       = ".sock"
	registrationExt = ".json"
	temporaryExt    = ".tmp"
	// nameLength is short, for the path of a socket has room for 104 bytes on some systems, with the zero at its end.
	nameLength = 12
	mostPath   = 103
)

// registration is the file beside a socket, and socketOf the socket beside such a file.
func registration(socket string) string {
	return strings.TrimSuffix(socket, socketExt) + registrationExt
}
func socketOf(path string) string { return strings.TrimSuffix(path, registrationExt) + socketExt }

// Dir is the folder for the sockets of this user, made with access for nobody else: pemmican in XDG_RUNTIME_DIR, or in
// the folder that the system usually means by it, or else pemmican-UID in the folder for temporary files. The second and
// third are found without the environment, of which agents give their MCP servers only a part. A folder that belongs to
// somebody else, or that others may enter, is an error.
func Dir() (string, error) {
	uid := strconv.Itoa(os.Getuid())
	for _, runtimeDir := range []string{os.Getenv("XDG_RUNTIME_DIR"), "/run/user/" + uid} {
		info, err := os.Stat(runtimeDir) //nolint:gosec // it is the person's own environment that names the folder
		if err == nil && info.IsDir() && filepath.IsAbs(runtimeDir) {
			return private(filepath.Join(runtimeDir, "pemmican"))
		}
	}
	if runtime.GOOS == "windows" { // where the folder for temporary files is the user's own
		return private(filepath.Join(os.TempDir(), "pemmican"))
	}
	return private("/tmp/pemmican-" + uid)
}

// private makes a folder that nobody else can enter, or sees that it is one.
func private(dir string) (string, error) {
	err := os.Mkdir(dir, 0o700) //nolint:gosec // as above
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("the folder for running sessions cannot be made: %w", err)
	}
	info, err := os.Lstat(dir) //nolint:gosec // as above
	if err != nil {
		return "", err
	}
	why := ""
	switch {
	case !info.IsDir():
		why = "it is no folder"
	case !mine(info):
		why = "it belongs to another user"
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		why = fmt.Sprintf("others may enter it (its mode is %04o)", info.Mode().Perm())
	}
	if why != "" {
		return "", fmt.Errorf("%s: running sessions are not looked for here: %s; remove it, or name another folder by XDG_RUNTIME_DIR", dir, why)
	}
	return dir, nil
}
