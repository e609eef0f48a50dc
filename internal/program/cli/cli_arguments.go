package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// explainArguments adds the usage to every command's argument errors, which cobra does not do. A
// command with subcommands accepts no other arguments, unless its usage line names some.
func explainArguments(cmd *cobra.Command) {
	if check := cmd.Args; OnlyGroups(cmd) {
		cmd.Args = knownCommand
	} else if check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if _, said := errors.AsType[*usageError](err); err == nil || said {
				return err
			}
			return misused("%s given; usage: %s", counted(len(args), "argument"), cmd.UseLine())
		}
	}
	for _, sub := range cmd.Commands() {
		explainArguments(sub)
	}
}

// OnlyGroups reports whether cmd has subcommands and no other arguments.
func OnlyGroups(cmd *cobra.Command) bool {
	return cmd.HasSubCommands() && !strings.Contains(cmd.Use, " ")
}

// knownCommand rejects an argument that is not a subcommand of cmd.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var guess string
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		guess = fmt.Sprintf("did you mean %q? ", near[0])
	}
	return misused("unknown command %q; %scommands of %s: %s", args[0], guess, cmd.CommandPath(), strings.Join(commandsOf(cmd), ", "))
}

// commandsOf returns the names of cmd's visible subcommands, except help.
func commandsOf(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			names = append(names, c.Name())
		}
	}
	return names
}

// needsCommand is the action of a command that only groups subcommands.
func needsCommand(cmd *cobra.Command, _ []string) error {
	return misused("a command is missing; choose one of %s", strings.Join(commandsOf(cmd), ", "))
}

// refuseHelpOfNothing makes --help after an unknown command an error. By default, Cobra prints the
// help before it checks the arguments.
func (c *cli) refuseHelpOfNothing(root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if OnlyGroups(cmd) {
			if c.misuse = knownCommand(cmd, cmd.Flags().Args()); c.misuse != nil {
				return
			}
		}
		help(cmd, args)
	})
}
