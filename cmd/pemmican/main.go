// Command pemmican makes the transcripts of LLM agents smaller: it finds the sessions that agents leave on disk, says where
// their tokens are, and compacts them so that the agent goes on with them. "pemmican help" tells how.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"charm.land/fang/v2"
	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/pemmican-dev/pemmican/internal/cli"
)

func main() { os.Exit(run()) }

// run returns the exit status. An interrupt ends the program at once, whatever it is at; what it was about to write is
// removed, and what it is just giving its name or appending is finished. Signals stay caught to the end: none of them
// ends the program in a way of its own.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	_ = stop
	done := make(chan int, 1)
	go func() { done <- execute(ctx) }()
	select {
	case status := <-done:
		return status
	case <-ctx.Done():
	}
	moment := time.Duration(0)
	if serves.Load() {
		moment = 5 * time.Second
	}
	select {
	case status := <-done: // it was just ready, or has ended in order
		return status
	case <-time.After(moment):
	}
	message, status := cli.Interrupted()
	_, _ = fmt.Fprintln(os.Stderr, "pemmican: "+message)
	return status
}

// serves is set by a command that serves others: an interrupt is how it ends, and it ends what it has begun.
var serves atomic.Bool

// execute runs the command that the arguments name, and says in one line what went wrong, more only where sessions are
// listed. An interrupt is told by run.
func execute(ctx context.Context) int {
	root := newRoot()
	root.SetHelpFunc(help(ctx))
	err := root.ExecuteContext(ctx)
	if errors.Is(err, context.Canceled) {
		select {}
	}
	if msg := cli.Message(err); msg != "" {
		_, _ = fmt.Fprintln(os.Stderr, "pemmican: "+msg)
	}
	return cli.Status(err)
}

// help writes the help of a command. Fang makes it beautiful, but asks the terminal for its colours first, which not
// everybody wants, and needs some room; so it is asked for nothing but the help, and not always.
func help(ctx context.Context) func(*cobra.Command, []string) {
	plain := (&cobra.Command{}).HelpFunc()
	return func(cmd *cobra.Command, args []string) {
		const least, most = 40, 100
		width := cli.Width(os.Stdout)
		if term.IsTerminal(int(os.Stdout.Fd())) && (cli.Plain() || width < least) {
			if width > 0 {
				cmd.Long = lipgloss.Wrap(cmd.Long, min(width, most), "")
			}
			plain(cmd, args)
			return
		}
		root := newRoot()
		root.SetArgs(append(strings.Fields(cmd.CommandPath())[1:], "--help"))
		_ = fang.Execute(ctx, root, fang.WithoutManpage(), fang.WithVersion(root.Version))
	}
}

// version is the version that the go command stamped.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && !strings.HasPrefix(info.Main.Version, "(") {
		return info.Main.Version
	}
	return "built from source"
}
