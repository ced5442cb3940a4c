package main

import (
	"github.com/spf13/cobra"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/internal/cli"
)

func compactCommand() *cobra.Command {
	var (
		settings     cli.Settings
		output       = cli.Output{Suffix: cli.CompactedSuffix}
		format       string
		dryRun, json bool
	)
	settings.KeepRecent.Zero = true
	cmd := &cobra.Command{
		Use:   "compact FILE",
		Short: "Make a transcript smaller",
		Long: prose(`Makes a transcript smaller: shortens what is old, superseded or repeated, keeps the task, the newest steps and
what matters in between, and lets a summary stand for the rest.

The result goes to a new file beside FILE, with .compacted before its extension. --append instead adds the lines
that the session's own agent writes when it compacts; "pemmican undo" takes them off again.

The report goes to the standard error. --json writes it as one object to the standard output instead, or to the
standard error where -o - takes the standard output.`),
		Example: `pemmican compact latest --append
pemmican compact session.jsonl --target 30% --dry-run
pemmican compact - --window 128k < request.json > smaller.json`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stdout, stderr := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			if err := output.Conflict(); err != nil {
				return err
			}
			progress := cli.NewProgress(stderr, -1, "reading")
			defer progress.Done()
			in, doc, err := cli.Open(ctx, cmd.InOrStdin(), stderr, args[0], format)
			if err != nil {
				return err
			}
			if !dryRun {
				if err := output.Settle(in, stdout); err != nil {
					return err
				}
			}
			progress.Step("compacting")
			settings.Summarizer.Dry = dryRun
			options, err := settings.Options(in, progress)
			if err == nil && settings.Summarizer.Asks() {
				err = output.Ready(in)
			}
			if err != nil {
				return err
			}
			options.Original = output.Original(in)
			plan, report, err := pemmican.Compact(ctx, doc.Transcript(), options)
			if err != nil {
				return cli.About(in.Name, err)
			}
			result := cli.NewCompaction(doc.Format(), report)
			result.Wish = settings.Wish(options)
			result.Warnings = append(result.Warnings, settings.Unmatched(doc.Transcript())...)
			if err := settings.Keep(ctx); err != nil {
				result.Warnings = append(result.Warnings, "what was learned of the model is not kept: "+cli.Message(err))
			}
			if !dryRun {
				progress.Step("writing")
				err = output.Deliver(ctx, stdout, in, result, plan)
			}
			progress.Done()
			// What kept the result from being written is told once: in the report that a program reads, or as the error.
			if cli.Message(err) != "" && (!json || cli.Status(err) != cli.ExitRefused) || ctx.Err() != nil {
				return err
			}
			if err := output.Show(stdout, stderr, in, result, json); err != nil {
				return err
			}
			switch {
			case err != nil:
				return cli.Failed(cli.Status(err))
			case report.Outcome == pemmican.Refused: // a dry run tells it by its status, too
				return cli.Failed(cli.ExitRefused)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&output.Path, "output", "o", "", "write to this file; - is the standard output")
	flags.BoolVar(&output.Append, "append", false, "append to the session FILE itself, as its agent would")
	flags.Var(&settings.Window, "window", "the model's context window (default what is known of the session's model, else 200k)")
	flags.Var(&settings.Target, "target", "what to come down to: tokens of the request, or N% of the transcript as it is (default half of the window)")
	flags.Var(&settings.KeepRecent, "keep-recent", "what to keep as it is at the end, if the target has room for it")
	flags.StringVar(&settings.Preset, "preset", "", "keep what another system would: "+cli.PresetNames())
	flags.StringVar(&format, "format", "", "the format of FILE, if its content does not tell: "+cli.FormatNames())
	flags.StringVar(&settings.Summarizer.Name, "summarizer", "mechanical", "who writes the summary: mechanical, none, or a model as PROVIDER/MODEL; "+
		"PROVIDER is anthropic, openai or openai-responses, and without MODEL it is the agent's own")
	flags.StringVar(&settings.Summarizer.Mode, "mode", "", "what a model gets: same (the agent's own request and an instruction), "+
		"cross (an excerpt without secrets) or auto")
	flags.StringVar(&settings.Summarizer.BaseURL, "base-url", "", "where the provider's API is, as its SDK takes it; for openai with /v1")
	flags.StringVar(&settings.Summarizer.KeyFile, "key-file", "", "the file with the key (default ANTHROPIC_API_KEY or OPENAI_API_KEY of the environment)")
	flags.StringVar(&settings.Summarizer.Focus, "focus", "", "what a model's summary is to concentrate on")
	flags.DurationVar(&settings.Summarizer.MaxWait, "max-wait", cli.DefaultMaxWait, "how long a model may take, retries included")
	flags.BoolVar(&settings.Summarizer.Fallback, "fallback", false, "write the mechanical summary where the model's did not come or was refused")
	flags.StringArrayVar(&settings.Pins, "pin", nil, "keep what contains this text; may be repeated")
	flags.StringVar(&settings.ToolsFile, "tools", "", "the roles of your own tools, from a JSON file")
	flags.BoolVar(&dryRun, "dry-run", false, "only report what would be done")
	flags.BoolVar(&output.Force, "force", false, "replace the output if it exists; append to a session that changed a moment ago")
	flags.BoolVar(&json, "json", false, "report as one JSON object on the standard output")
	return cmd
}
