package main

import (
	"github.com/spf13/cobra"

	"github.com/pemmican-dev/pemmican/internal/cli"
)

func textCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "text FILE",
		Short: "Write a transcript as plain text",
		Long:  prose(`Writes the live transcript, what the agent would send now, as plain text, one labelled block after the other.`),
		Example: `pemmican text latest | less
pemmican text session.jsonl | grep -n 'Tool call'`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, doc, err := cli.Open(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr(), args[0], format)
			if err != nil {
				return err
			}
			return cli.About("standard output", cli.WriteText(cli.Stream(cmd.OutOrStdout(), "the standard output"), doc.Transcript()))
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "the format of FILE, if its content does not tell: "+cli.FormatNames())
	return cmd
}
