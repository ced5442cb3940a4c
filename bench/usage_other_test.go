//go:build !unix

package bench_test

import (
	"os"
	"time"
)

var started = time.Now()

// cpuTime is the time since the start: there is no time of CPU to be had here.
func cpuTime() time.Duration { return time.Since(started) }

// peakMemory is unknown here.
func peakMemory(*os.ProcessState) int64 { return 0 }
