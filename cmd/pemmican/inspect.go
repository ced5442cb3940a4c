package main

import (
	"github.com/spf13/cobra"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/cli"
)

func inspectCommand() *cobra.Command {
	var (
		settings cli.Settings
		format   string
		top      int
		json     bool
	)
	settings.Window.N = cli.DefaultWindow
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "Show where the tokens of a transcript are",
		Long: prose(`Shows where the tokens of a transcript are, by kind, tool, file and turn, the largest first, and what a
compaction with the default options would do.`),
		Example: `pemmican inspect latest
pemmican inspect session.jsonl --json`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			progress := cli.NewProgress(cmd.ErrOrStderr(), -1, "reading")
			defer progress.Done()
			in, err := cli.Read(ctx, cmd.InOrStdin(), args[0])
			if err != nil {
				return err
			}
			doc, err := in.Decode(format)
			if err != nil {
				return err
			}
			progress.Step("counting")
			options, err := settings.Options(doc)
			if err != nil {
				return err
			}
			_, report, err := pemmican.Compact(ctx, doc.Transcript(), options)
			if err != nil {
				return cli.About(in.Name, err)
			}
			inspection := cli.Inspect(in, options, report)
			progress.Done()
			if json {
				return cli.WriteJSON(cmd.OutOrStdout(), inspection)
			}
			return cli.Print(cmd.OutOrStdout(), inspection.Lines(in, top)...)
		},
	}
	flags := cmd.Flags()
	flags.Var(&settings.Window, "window", "the model's context window")
	flags.StringVar(&format, "format", "", "the format of FILE, if its content does not tell: "+cli.FormatNames())
	flags.IntVar(&top, "top", 10, "how many rows to show of each")
	flags.BoolVar(&json, "json", false, "write one JSON object, with all rows")
	return cmd
}
