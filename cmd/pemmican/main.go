// Command pemmican makes the transcripts of LLM agents smaller: it finds the sessions that agents leave on disk, says where
// their tokens are, and compacts them so that the agent goes on with them. "pemmican help" tells how.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"charm.land/fang/v2"

	"github.com/pemmican-dev/pemmican/internal/cli"
)

func main() { os.Exit(run()) }

// run returns the exit status. An interrupt ends the program at once, whatever it is at; what it was about to write is
// removed, and what it is just giving its name or appending is finished.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	done := make(chan int, 1)
	go func() { done <- execute(ctx) }()
	select {
	case status := <-done:
		return status
	case <-ctx.Done():
		cli.Abandon()
		return cli.ExitInterrupted
	}
}

func execute(ctx context.Context) int {
	err := fang.Execute(ctx, newRoot(), fang.WithVersion(version()), fang.WithErrorHandler(printError))
	return cli.Status(err)
}

// printError writes one line, but for sessions that an error lists.
func printError(w io.Writer, _ fang.Styles, err error) {
	if msg := cli.Message(err); msg != "" {
		_, _ = fmt.Fprintln(w, "pemmican: "+msg)
	}
}

// version is the version that the go command stamped.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && !strings.HasPrefix(info.Main.Version, "(") {
		return info.Main.Version
	}
	return "built from source"
}
