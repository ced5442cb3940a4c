package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pemmican-dev/pemmican/eval"
	"github.com/pemmican-dev/pemmican/internal/cli"
)

func evalCommand() *cobra.Command {
	var (
		o                    eval.Options
		dir, figures, report string
		budgets              []string
		minTokens            = cli.Tokens{N: eval.DefaultMinTokens}
		cuts                 = cli.Number{N: eval.DefaultCuts, Least: 1, Most: 1_000_000}
		force                bool
	)
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Measure what survives a compaction, on recorded sessions",
		Long: "Cuts recorded sessions at several places, makes the history before each cut smaller in several ways, and looks for " +
			"what the agent needed of it afterwards: offline, without a model, with the same figures every time.\n\n" +
			"bag is the share of the needed identifiers that are left anywhere, rel of those that are left beside what belongs to " +
			"them, M3 the F1 of the files with their last operation and outcome, M0 the number of broken rules; ahead is rel less " +
			"that of key lines.\n\n" +
			"--sessions is a folder of sessions in any format that Pemmican reads; without it ../shared/corpus, or else examples.",
		Example: `pemmican eval
pemmican eval --sessions ~/.pi/agent/sessions --arm default,tail --budget 10% --json figures.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			var err error
			if o.Budgets, err = shares(budgets); err != nil {
				return err
			}
			o.MinTokens, o.Cuts = minTokens.N, cuts.N
			if figures != "" && filepath.Clean(figures) == filepath.Clean(report) {
				return cli.Unusable("", "give each a file of its own", "--json and --report name one file for two results")
			}
			outputs := []cli.Output{{Path: figures, Force: force}, {Path: report, Force: force}}
			for i := range outputs {
				if outputs[i].Path == "" {
					continue
				}
				if err := outputs[i].Settle(&cli.Input{}, cmd.OutOrStdout()); err != nil {
					return err
				}
			}
			progress := cli.NewProgress(cmd.ErrOrStderr(), -1, "reading")
			defer progress.Done()
			if dir == "" {
				dir = recorded()
			}
			sessions, skipped, err := eval.Load(dir)
			if err != nil {
				return cli.About(dir, err)
			}
			if len(sessions) == 0 {
				return cli.Unusable(dir, "name a folder of sessions with --sessions", "no session in it can be read")
			}
			progress.Step("measuring")
			result, err := eval.Run(ctx, sessions, o)
			if err != nil {
				return err
			}
			progress.Done()
			if len(result.Sessions) == 0 {
				return cli.Unusable(dir, "name a folder of longer ones with --sessions, or give --min-tokens",
					"no session in it is long enough to be cut: that takes 80 messages and %s tokens", cli.Count(o.MinTokens))
			}
			if len(skipped) > 0 {
				if err := cli.Printf(cmd.ErrOrStderr(), "%s in %s cannot be read as a transcript\n", cli.Plural(len(skipped), "file"), cli.Clean(dir)); err != nil {
					return err
				}
			}
			for i, write := range []func(*bytes.Buffer) error{
				func(b *bytes.Buffer) error { return indented(b, result) },
				func(b *bytes.Buffer) error { return result.WriteMarkdown(b) },
			} {
				if outputs[i].Path == "" {
					continue
				}
				var data bytes.Buffer
				if err := write(&data); err != nil {
					return err
				}
				if _, err := outputs[i].Write(ctx, cmd.OutOrStdout(), &cli.Input{}, data.Bytes()); err != nil {
					return err
				}
			}
			if figures != "-" && report != "-" {
				err = result.WriteTable(cmd.OutOrStdout())
			}
			if err == nil && len(result.Failures) > 0 {
				err = cli.Refused("", "each is a bug", "%s of validity", cli.Plural(len(result.Failures), "failure"))
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&dir, "sessions", "", "measure the sessions in `DIR`")
	flags.StringSliceVar(&o.Arms, "arm", nil, "measure only these: "+strings.Join(eval.Arms(), ", "))
	flags.StringSliceVar(&budgets, "budget", nil, "make histories as small as these shares (default 2%,5%,10%,20%,40%)")
	flags.Uint64Var(&o.Seed, "seed", 0, "draw the random lines and the resamples by `N`")
	flags.Var(&cuts, "cuts", "cut each stretch of a session `N` times at most")
	flags.Var(&minTokens, "min-tokens", "leave out histories that are shorter")
	flags.StringVar(&figures, "json", "", "write all figures to `OUT` as JSON; - is the standard output")
	flags.StringVar(&report, "report", "", "write the tables to `OUT` as Markdown; - is the standard output")
	flags.BoolVar(&force, "force", false, "replace OUT if it exists")
	return cmd
}

// recorded is where recorded sessions are, beside the repository or in it.
func recorded() string {
	const beside = "../shared/corpus"
	if info, err := os.Stat(beside); err == nil && info.IsDir() {
		return beside
	}
	return "examples"
}

// shares reads percentages.
func shares(list []string) ([]float64, error) {
	var out []float64
	for _, s := range list {
		var t cli.Target
		err := t.Set(strings.TrimSpace(s))
		if err == nil && t.Percent == nil {
			err = errors.New("want a percentage such as 10%")
		}
		if err != nil {
			return nil, cli.Unusable("", "", "--budget %s: %s", s, err)
		}
		percent, _ := t.Percent.Float64()
		out = append(out, percent/100)
	}
	return out, nil
}

func indented(b *bytes.Buffer, v any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("the figures: %w", err)
	}
	return nil
}
