package clitest

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
)

// Accepts checks whether the program accepts a command line, without running it.
func Accepts(args []string) error {
	root := cli.NewRoot(&cli.Process{Name: TestName})
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		return err
	}
	if cmd.HasSubCommands() {
		return fmt.Errorf("%s is not a whole command", cmd.CommandPath())
	}
	return nil
}

// HasCommand reports whether words begin with a command's name, and a subcommand's name if the
// command has any.
func HasCommand(words []string) bool {
	root := cli.NewRoot(&cli.Process{Name: TestName})
	root.InitDefaultCompletionCmd() // Cobra adds the completion command when the program runs
	cmd, rest, err := root.Find(words)
	return err == nil && cmd.HasParent() && (len(rest) == 0 || cmd.Args(cmd, rest) == nil)
}

// ShellWords returns the words of a command line as a shell reads them.
func ShellWords(t *testing.T, line string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\0' `+line).Output()
	require.NoError(t, err, line)
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// AllCommands returns the paths of a command and of all visible commands below it.
func AllCommands(cmd *cobra.Command) []string {
	path := strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), TestName), " ")
	paths := []string{path}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			paths = append(paths, AllCommands(c)...)
		}
	}
	return paths
}
