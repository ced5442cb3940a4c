package main

import (
	"github.com/spf13/cobra"

	"github.com/pemmican-dev/pemmican/internal/cli"
)

func inspectCommand() *cobra.Command {
	var (
		settings cli.Settings
		format   string
		top      = cli.Number{N: 10, Least: 1, Most: 1_000_000}
		json     bool
	)
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "Show where the tokens of a transcript are",
		Long: prose(`Shows where the tokens of a transcript are, by kind, tool, file and turn, the largest first, and what a
compaction with the default options would do, or, where that has nothing to do, one to half of the transcript.`),
		Example: `pemmican inspect latest
pemmican inspect session.jsonl --json`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stdout := cmd.Context(), cmd.OutOrStdout()
			progress := cli.NewProgress(cmd.ErrOrStderr(), -1, "reading")
			defer progress.Done()
			in, _, err := cli.Open(ctx, cmd.InOrStdin(), cmd.ErrOrStderr(), args[0], format)
			if err != nil {
				return err
			}
			progress.Step("counting")
			inspection, err := cli.Inspect(ctx, in, settings)
			if err != nil {
				return err
			}
			progress.Done()
			if json {
				err = cli.WriteJSON(stdout, inspection)
			} else {
				err = cli.Print(stdout, inspection.Lines(in, top.N, cli.Width(stdout))...)
			}
			return cli.About("standard output", err)
		},
	}
	flags := cmd.Flags()
	flags.Var(&settings.Window, "window", "the model's context window (default what is known of the session's model, else 200k)")
	flags.StringVar(&format, "format", "", "the format of FILE, if its content does not tell: "+cli.FormatNames())
	flags.Var(&top, "top", "how many rows to show of each")
	flags.BoolVar(&json, "json", false, "write one JSON object, with all rows")
	return cmd
}
