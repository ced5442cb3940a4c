package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pemmican-dev/pemmican/internal/cli"
	"github.com/pemmican-dev/pemmican/internal/config"
	"github.com/pemmican-dev/pemmican/internal/debuglog"
	"github.com/pemmican-dev/pemmican/internal/live"
	"github.com/pemmican-dev/pemmican/internal/sidecar"
)

func agentCommand() *cobra.Command {
	var stdio, debug bool
	cmd := &cobra.Command{
		Use:   "agent --stdio",
		Short: "Stand beside an agent, for the extension in it",
		Long: prose(`Decides for the extension of an agent when its context is compacted and what the agent is told, and makes the
compaction. The extension starts it; it speaks lines of JSON over the standard input and output, and ends with
the standard input.

The settings are those of "pemmican config". What a session has learned is kept in the person's cache folder, in
pemmican/sessions.`),
		Example: "pemmican agent --stdio --debug",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !stdio {
				return cli.Unusable("", "\"pemmican doctor\" tells whether that works here",
					"this command is for the extension of an agent, which starts it with --stdio")
			}
			c := sidecar.Config{
				In: cmd.InOrStdin(), Out: cmd.OutOrStdout(), Version: version(), Language: locale(),
				Settings: func(agentDir string) sidecar.Loader { return config.New(config.Source{AgentDir: agentDir}) },
			}
			if settings, _ := config.New(config.Source{}).Load(); debug || settings.Debug {
				path, err := debuglog.Path()
				if err != nil {
					return cli.Unusable("", "switch it off", "there is no place for the debug log: %s", err)
				}
				log, closer, err := debuglog.Open(path)
				if err != nil {
					return cli.About(path, err)
				}
				defer func() { _ = closer.Close() }()
				c.Log, c.LogFile = log, path
			}
			catalogue, keep, err := cli.OpenCatalogue()
			if err != nil { // what a person says of models stops no session
				c.Warnings = append(c.Warnings, cli.Message(err)+"; it is not used until it is mended")
				catalogue, keep = nil, func(context.Context) error { return nil }
			}
			c.Catalogue = catalogue
			if dir, err := os.UserCacheDir(); err == nil {
				c.StateDir = filepath.Join(dir, "pemmican", "sessions")
			}
			if c.LiveDir, err = live.Dir(); err != nil {
				c.Warnings = append(c.Warnings, "no other process can reach this session: "+err.Error())
			}
			err = sidecar.Serve(cmd.Context(), c)
			return errors.Join(err, keep(cmd.Context()))
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&stdio, "stdio", false, "speak with the extension over the standard input and output")
	flags.BoolVar(&debug, "debug", false, "write a log, as PEMMICAN_DEBUG=1 does; \"pemmican doctor\" tells where")
	return cmd
}

// locale is the language of the person's environment.
func locale() string {
	return cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_MESSAGES"), os.Getenv("LANG"))
}
