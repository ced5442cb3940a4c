//go:build unix

package hook

import (
	"os/exec"
	"syscall"
)

// inGroup puts a command into a process group of its own, which is killed as a whole: a script's children go with it.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
