//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package doctor

import "syscall"

// mayWrite reports whether files can be made in a folder.
func mayWrite(dir string) bool {
	const write, search = 2, 1
	return syscall.Access(dir, write|search) == nil
}
