package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// explainArguments makes every command say what it takes: cobra counts only. A command with
// commands of its own takes nothing else, unless its usage says so.
func explainArguments(cmd *cobra.Command) {
	if check := cmd.Args; cmd.HasSubCommands() && !strings.Contains(cmd.Use, " ") {
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

// knownCommand refuses what is not one of the commands of cmd.
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

// commandsOf are the names of the commands a user sees.
func commandsOf(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			names = append(names, c.Name())
		}
	}
	return names
}

// needsCommand is what a command without a meaning of its own does.
func needsCommand(cmd *cobra.Command, _ []string) error {
	return misused("name a command: %s", strings.Join(commandsOf(cmd), ", "))
}

// refuseHelpOfNothing lets --help after a command that does not exist be the
// mistake it is. cobra asks for help before it looks at arguments.
func (c *cli) refuseHelpOfNothing(root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd.HasSubCommands() {
			if c.misuse = knownCommand(cmd, cmd.Flags().Args()); c.misuse != nil {
				return
			}
		}
		help(cmd, args)
	})
}
