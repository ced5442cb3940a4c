package main

import (
	"github.com/spf13/cobra"

	"github.com/pemmican-dev/pemmican/internal/cli"
)

func sessionsCommand() *cobra.Command {
	var (
		window        cli.Tokens
		json, noCache bool
	)
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List the sessions of the agents on this machine",
		Long: prose(`Lists the sessions of pi and Claude Code, the newest first: the agent, when it was used, its load (the live
tokens in percent of the window), its state and its folder. A session is bricked if the provider would refuse it
as it stands.

The exit status is 1 if a folder could not be read, so that sessions may be missing.

What was found is remembered, by path, size and time, in a file in the person's cache folder.`),
		Example: "pemmican sessions",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.ListSessions(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), window.N, !noCache, json)
		},
	}
	flags := cmd.Flags()
	flags.Var(&window, "window", "the context window to measure against (default what is known of each session's model, else 200k)")
	flags.BoolVar(&noCache, "no-cache", false, "look at every session again, and remember nothing")
	flags.BoolVar(&json, "json", false, "write one JSON object")
	return cmd
}
