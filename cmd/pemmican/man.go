package main

import (
	"fmt"

	mango "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
	"github.com/spf13/cobra"

	"github.com/pemmican-dev/pemmican/internal/cli"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man",
		Short:  "Write the manual page",
		Hidden: true,
		Args:   noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			page, err := mango.NewManPage(1, cmd.Root())
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), page.Build(roff.NewDocument()))
			return cli.About("standard output", err)
		},
	}
}
