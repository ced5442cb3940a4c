package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"github.com/pemmican-dev/pemmican/internal/cli"
	"github.com/pemmican-dev/pemmican/internal/config"
	"github.com/pemmican-dev/pemmican/internal/debuglog"
	"github.com/pemmican-dev/pemmican/internal/live"
	"github.com/pemmican-dev/pemmican/internal/sidecar"
	"github.com/pemmican-dev/pemmican/session"
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
			flags := map[string]string{}
			if debug {
				flags["debug"] = "true"
			}
			settings, _ := config.New(config.Source{Overrides: flags}).Load()
			c := sidecar.Config{
				In: cmd.InOrStdin(), Out: cmd.OutOrStdout(), Version: version(), Language: locale(),
				Settings: func(agentDir string) sidecar.Loader {
					loader := config.New(config.Source{AgentDir: agentDir, Overrides: flags})
					return &agentSettings{Loader: loader, log: settings.Debug, said: settings.Debug}
				},
			}
			if settings.Debug {
				path, closer, err := openLog(&c)
				if err != nil { // nobody's session is lost for a log
					c.Warnings = append(c.Warnings, cli.Message(cli.About(path, err))+"; there is no debug log until this is mended and the agent started anew")
				} else {
					defer func() { _ = closer.Close() }()
				}
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

// openLog opens the debug log. The path is "" where there is no place for it.
func openLog(c *sidecar.Config) (path string, closer io.Closer, err error) {
	if path, err = debuglog.Path(); err != nil {
		return "", nil, fmt.Errorf("there is no place for the debug log: %w", err)
	}
	log, closer, err := debuglog.Open(path)
	if err != nil {
		return path, nil, err
	}
	c.Log, c.LogFile = log, path
	return path, closer, nil
}

// agentSettings are the settings of a session. The debug log alone is opened when the program starts, so that somebody
// switches it while it runs is told of.
type agentSettings struct {
	*config.Loader

	log bool // it was wanted at the start

	mu   sync.Mutex
	said bool // what the settings said of it last
}

// Load loads the settings.
func (a *agentSettings) Load() (session.Settings, []config.Notice) {
	settings, notices := a.Loader.Load()
	a.mu.Lock()
	defer a.mu.Unlock()
	if settings.Debug != a.said {
		a.said = settings.Debug
		if a.said != a.log {
			what := map[bool]string{true: "begins", false: "ends"}[a.said]
			notices = append(notices, config.Notice{Level: "info", Text: "debug: the log " + what + " when the agent is started anew"})
		}
	}
	return settings, notices
}

// locale is the language of the person's environment.
func locale() string {
	return cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_MESSAGES"), os.Getenv("LANG"))
}
