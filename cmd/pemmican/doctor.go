package main

import (
	"github.com/spf13/cobra"

	"github.com/pemmican-dev/pemmican/internal/cli"
	"github.com/pemmican-dev/pemmican/internal/doctor"
)

func doctorCommand() *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Examine the installation",
		Long: prose(`Tells where settings, state and log are and whether they can be used, which agents are here, whether the package for pi
is installed and would work, and which sessions run now. What is wrong comes with how it is mended.

It changes no file of yours, and tells of keys whether they are set, never what they are. Whether Pemmican can write to
its own folders is tried with a file that is taken away again. The exit status is 1 if something is wrong.`),
		Example: "pemmican doctor",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings := doctor.Examine(cmd.Context(), version())
			var err error
			if json {
				err = cli.WriteJSON(cmd.OutOrStdout(), map[string]any{"findings": findings})
			} else {
				err = cli.Print(cmd.OutOrStdout(), doctor.Lines(findings)...)
			}
			if err == nil && doctor.AnyWrong(findings) {
				return cli.Failed(cli.ExitRefused)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&json, "json", false, "write one JSON object")
	return cmd
}
