// Agent is a whole agent in one file, agent.go. It reads a log of 200 parts, one call for each, through a model with a
// window of 32,000 tokens, which holds less than 60 of them. A few lines keep it inside the window; -without goes without
// them, and dies.
//
//	go run ./examples/agent
//	go run ./examples/agent -without
//
// A stand-in plays the model, so nothing leaves the machine; -base-url and -model take a real one that speaks OpenAI Chat.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/pemmican-dev/pemmican/internal/modeltest"
	"github.com/pemmican-dev/pemmican/llm"
	"github.com/pemmican-dev/pemmican/session"
)

// window is that of the model, in tokens, and parts how many parts the log has.
const (
	window = 32_000
	parts  = 200
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(out io.Writer, args []string) error {
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	without := flags.Bool("without", false, "go without Pemmican")
	base := flags.String("base-url", "", "a model that speaks OpenAI Chat, instead of the stand-in")
	model := flags.String("model", "stand-in", "its name")
	if err := flags.Parse(args); err != nil {
		return err
	}
	client := &llm.Client{API: llm.Chat, BaseURL: *base, Key: llm.KeyFromEnv(llm.Chat)}
	if *base == "" {
		url, stop, err := standIn()
		if err != nil {
			return err
		}
		defer stop()
		client.BaseURL = url
	}
	s := session.New(session.Config{Model: session.Model{ID: *model, Window: window}})
	if *without {
		s = nil
	}
	answer, calls, err := work(context.Background(), client, *model, s)
	_, _ = fmt.Fprintf(out, "calls of the tool: %d\n", calls)
	if err != nil {
		return fmt.Errorf("the agent died: %w", err)
	}
	if s != nil {
		_, _ = fmt.Fprintf(out, "compactions: %d\n", s.Status().Compactions)
	}
	_, err = fmt.Fprintln(out, answer)
	return err
}

// standIn starts a model that reads the log to its end and then tells what its context still holds of errors and tickets.
// It refuses, as a provider does, a request that is larger than its window.
func standIn() (url string, stop func(), err error) {
	server, err := modeltest.New()
	if err != nil {
		return "", nil, err
	}
	server.Configure(modeltest.Config{Window: window, Models: []string{"stand-in"}})
	var asked atomic.Int64
	server.Script(modeltest.Reply{Repeat: true, Answer: func(r modeltest.Request) modeltest.Reply {
		part := asked.Add(1)
		if part > parts {
			return modeltest.Reply{Text: "Errors and tickets that I know of: " + strings.Join(known(r), ", ") + "."}
		}
		return modeltest.Reply{
			Text:  fmt.Sprintf("Part %d.", part),
			Calls: []modeltest.Call{{Name: "read_log", Args: map[string]any{"part": part}}},
		}
	}})
	return server.BaseURL(modeltest.Chat), server.Close, nil
}

var names = regexp.MustCompile(`\b(?:E|PEM)-[0-9]+\b`)

// known are the names of errors and tickets in a request, each once.
func known(r modeltest.Request) []string {
	found := names.FindAllString(string(r.Body), -1)
	slices.Sort(found)
	return slices.Compact(found)
}
