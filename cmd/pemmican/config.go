package main

import (
	"encoding/json"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/pemmican-dev/pemmican/internal/cli"
	"github.com/pemmican-dev/pemmican/internal/config"
)

func configCommand() *cobra.Command {
	var (
		file   string
		asJSON bool
	)
	loader := func() *config.Loader { return settingsFrom(file) }
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the settings in force, and change them",
		Long: prose(`Shows every setting of a running session: its value, and where that comes from. Later ones win: defaults, the
settings file of an older extension of pi, the settings file, the environment.

The settings file is pemmican.toml, or pemmican.json, in the folder pemmican of the person's configuration folder; or the
one that PEMMICAN_CONFIG names. A running session reads it again when it has changed.

The exit status is 1 if a file or a variable cannot be used.`),
		Example: `pemmican config
pemmican config set hard "80% max 400k"`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return showConfig(cmd, loader(), asJSON) },
	}
	cmd.PersistentFlags().StringVar(&file, "file", "", "the settings file, instead of the usual one")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	cmd.AddCommand(
		&cobra.Command{
			Use:   "set KEY VALUE",
			Short: "Change a setting in the settings file",
			Long: prose(`Changes one setting in the settings file, which is made if it is not there. The rest of the file stays as it is,
with its comments. Nothing is written that would not be a usable file.

A list is written with commas, a command with blanks, and either as JSON too.`),
			Example: `pemmican config set compactModel zai/glm-4.6
pemmican config set reminderThresholds "100k, 200k, 400k"
pemmican config set hooks.before '["notes", "save this session"]'`,
			Args: twoArguments,
			RunE: func(cmd *cobra.Command, args []string) error {
				path := loader().File()
				if path == "" {
					return cli.Unusable("", "name one with --file", "there is no folder for a settings file")
				}
				err := config.Set(path, args[0], args[1])
				if e, ok := errors.AsType[*config.Error](err); ok {
					return cli.Unusable(e.File, e.Mend, "%s", cli.Clean(e.Msg))
				}
				if err != nil {
					return err
				}
				return showSet(cmd, path, args[0])
			},
		},
		&cobra.Command{
			Use:   "schema",
			Short: "Write the JSON Schema of the settings file",
			Long:  prose(`Writes the JSON Schema of the settings file, by which an editor knows the settings.`),
			Args:  noArguments,
			RunE: func(cmd *cobra.Command, _ []string) error {
				_, err := cli.Stream(cmd.OutOrStdout(), "the standard output").Write(config.Schema())
				return err
			},
		},
	)
	return cmd
}

// settingsFrom loads the settings of sessions from a file, "" for the usual one.
func settingsFrom(file string) *config.Loader {
	environ := os.Environ()
	return config.New(config.Source{Path: file, AgentDir: config.PiDir(environ), Environ: environ})
}

func twoArguments(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return cli.Unusable("", "\"pemmican config\" lists the keys", "%s takes a KEY and a VALUE, and got %d", cmd.CommandPath(), len(args))
	}
	return nil
}

// tell writes notices to the standard error.
func tell(cmd *cobra.Command, notices []config.Notice) error {
	for _, n := range notices {
		if err := cli.Printf(cmd.ErrOrStderr(), "pemmican: %s", cli.Clean(n.Text)); err != nil {
			return err
		}
	}
	return nil
}

// showSet says what is in force after a change: a variable of the environment may stand over the file.
func showSet(cmd *cobra.Command, path, key string) error {
	l := config.New(config.Source{Path: path})
	_, notices := l.Load()
	if err := tell(cmd, notices); err != nil {
		return err
	}
	for _, v := range l.Values() {
		if v.Key != key {
			continue
		}
		if v.From != path {
			return cli.Printf(cmd.OutOrStdout(), "%s has it now, but %s stands over that: %s = %s", cli.Clean(path), cli.Clean(v.From), key, cli.Clean(v.Text))
		}
		return cli.Printf(cmd.OutOrStdout(), "%s: %s = %s", cli.Clean(path), key, cli.Clean(v.Text))
	}
	return nil
}

func showConfig(cmd *cobra.Command, l *config.Loader, asJSON bool) error {
	_, notices := l.Load()
	places := l.Where()
	unusable := false
	for _, p := range places {
		unusable = unusable || p.Unusable
	}
	if err := tell(cmd, notices); err != nil {
		return err
	}
	show := textConfig
	if asJSON {
		show = jsonConfig
	}
	if err := show(cmd, l, places); err != nil {
		return err
	}
	if unusable {
		return cli.Failed(cli.ExitRefused)
	}
	return nil
}

func textConfig(cmd *cobra.Command, l *config.Loader, places []config.Place) error {
	width := cli.Width(cmd.OutOrStdout())
	values := cli.Table{Head: []string{"setting", "value", "from"}, Width: width, Cuts: []cli.Cut{{Column: 2, Least: 12}, {Column: 1, Least: 16, AtEnd: true}}}
	for _, v := range l.Values() {
		values.Row(v.Key, cli.Clean(v.Text), cli.Clean(v.From))
	}
	looked := cli.Table{Head: []string{"looked at", "", ""}, Width: width, Cuts: []cli.Cut{{Column: 1, Least: 12}, {Column: 2, Least: 16, AtEnd: true}}}
	for _, p := range places {
		looked.Row(p.What, cli.Clean(p.Path), cli.Clean(p.State))
	}
	lines := []string{values.String()}
	if len(places) > 0 {
		lines = append(lines, looked.String())
	}
	return cli.Print(cmd.OutOrStdout(), lines...)
}

func jsonConfig(cmd *cobra.Command, l *config.Loader, places []config.Place) error {
	type value struct {
		Value json.RawMessage `json:"value"`
		From  string          `json:"from"`
	}
	type place struct {
		What     string `json:"what"`
		Path     string `json:"path"`
		State    string `json:"state"`
		Unusable bool   `json:"unusable"`
	}
	out := struct {
		File     string           `json:"file"`
		Settings map[string]value `json:"settings"`
		Places   []place          `json:"places"`
	}{l.File(), map[string]value{}, []place{}}
	for _, v := range l.Values() {
		out.Settings[v.Key] = value{json.RawMessage(v.Text), v.From}
	}
	for _, p := range places {
		out.Places = append(out.Places, place{p.What, p.Path, p.State, p.Unusable})
	}
	return cli.WriteJSON(cmd.OutOrStdout(), out)
}
