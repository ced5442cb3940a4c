//go:build unix

package bench_test

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// cpuTime is the time of CPU that this process has taken.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakMemory is the most memory that a process which has ended had at once, in bytes.
func peakMemory(state *os.ProcessState) int64 {
	peak := int64(state.SysUsage().(*syscall.Rusage).Maxrss) //nolint:unconvert // it has 32 bits on some systems
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return peak // in bytes there, in kilobytes elsewhere
	}
	return peak * 1024
}
