package main

import (
	"github.com/spf13/cobra"

	"github.com/pemmican-dev/pemmican/internal/cli"
)

func undoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "undo FILE",
		Short: "Take back what Pemmican appended last",
		Long: prose(`Cuts off what Pemmican appended to a session last, if nothing follows it, so that the file is as it was before.
It cuts nothing else: the lines carry a hash of themselves and of the file before them.`),
		Example: "pemmican undo latest",
		Args:    oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			in, _, err := cli.Open(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr(), args[0], "")
			if err != nil {
				return err
			}
			lines, err := cli.Undo(cmd.Context(), in)
			if err != nil {
				return err
			}
			return cli.Print(cmd.ErrOrStderr(), lines...)
		},
	}
}
