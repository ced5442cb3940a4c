package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/pemmican-dev/pemmican/internal/cli"
)

// commands make the commands, each in the file of its name.
var commands = []func() *cobra.Command{
	agentCommand,
	checkCommand,
	compactCommand,
	configCommand,
	doctorCommand,
	evalCommand,
	inspectCommand,
	manCommand,
	mcpCommand,
	sessionsCommand,
	textCommand,
	undoCommand,
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "pemmican",
		Short: "Keeps LLM agents inside their context window",
		Long: prose(`Pemmican makes the transcript of an LLM agent smaller without reordering it or breaking it.

FILE is a path, - for the standard input, "latest", "pi:latest", "claude:latest", or a session id. It holds a
session of pi or Claude Code, or a request body for Anthropic Messages or OpenAI Chat Completions; which one is
told by its content.

Exit status: 0 done, or nothing to do; 1 refused, or findings; 2 unusable input or arguments, or interrupted before
anything was written.`),
		Example: `# what would a compaction of the session that I used last do?
pemmican compact latest --dry-run

# compact it to half of its window, and go on with it
pemmican compact latest --append`,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noCommand,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return cli.NotEmpty(cmd.Flags())
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return cli.Usage(cmd.CommandPath(), err) })
	for _, c := range commands {
		root.AddCommand(c())
	}
	return root
}

// prose makes one line of each paragraph, which the help then wraps by itself.
func prose(s string) string {
	paragraphs := strings.Split(s, "\n\n")
	for i := range paragraphs {
		paragraphs[i] = strings.ReplaceAll(paragraphs[i], "\n", " ")
	}
	return strings.Join(paragraphs, "\n\n")
}

// noCommand is what the root says to a command that it does not have.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	mend := "\"" + cmd.Name() + " --help\" lists them"
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		mend = "did you mean " + strings.Join(like, " or ") + "?"
	}
	return cli.Unusable("", mend, "there is no command %q", args[0])
}

// oneFile demands one FILE.
func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return cli.Unusable("", "try \""+cmd.CommandPath()+" latest\"",
			"%s takes one FILE (a path, -, latest, pi:latest, claude:latest, or a session id), and got %d", cmd.CommandPath(), len(args))
	}
	return nil
}

// noArguments demands none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return cli.Unusable("", "\""+cmd.CommandPath()+" --help\" says more", "%s takes no arguments, and got %q", cmd.CommandPath(), args[0])
	}
	return nil
}
