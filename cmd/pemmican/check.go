package main

import (
	"github.com/spf13/cobra"

	"github.com/pemmican-dev/pemmican/internal/cli"
)

func checkCommand() *cobra.Command {
	var (
		output    = cli.Output{Suffix: ".fixed"}
		format    string
		fix, json bool
	)
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Show what the provider or the agent would refuse",
		Long: prose(`Shows what the provider, or the agent, would refuse in a transcript as it stands. --fix drops or stubs what can
be mended so, and writes the result to a new file beside FILE, with .fixed before its extension.

The exit status is 1 if there are findings; with --fix, if any are left.`),
		Example: `pemmican check latest
pemmican check request.json --fix -o mended.json`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stdout := cmd.Context(), cmd.OutOrStdout()
			if err := output.Conflict(); err != nil {
				return err
			}
			progress := cli.NewProgress(cmd.ErrOrStderr(), -1, "reading")
			defer progress.Done()
			if !fix && (output.Path != "" || output.Append || output.Force) {
				return cli.Unusable("", "give --fix too", "-o, --append and --force say where the mended transcript goes")
			}
			in, doc, err := cli.Open(ctx, cmd.InOrStdin(), cmd.ErrOrStderr(), args[0], format)
			if err != nil {
				return err
			}
			checked := cli.NewCheck(doc)
			if fix {
				if err := output.Settle(in, stdout); err != nil {
					return err
				}
				if err := checked.Fix(ctx, stdout, in, &output); err != nil {
					return err
				}
			}
			progress.Done()
			return checked.Show(stdout, cmd.ErrOrStderr(), in, &output, json)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&fix, "fix", false, "mend what dropping and stubbing mends")
	flags.StringVarP(&output.Path, "output", "o", "", "write to this file; - is the standard output")
	flags.BoolVar(&output.Append, "append", false, "append to the session FILE itself, as its agent would")
	flags.BoolVar(&output.Force, "force", false, "replace the output if it exists; append to a session that changed a moment ago")
	flags.StringVar(&format, "format", "", "the format of FILE, if its content does not tell: "+cli.FormatNames())
	flags.BoolVar(&json, "json", false, "write one JSON object")
	return cmd
}
