package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"
)

// errFound is returned by a command that has already reported its findings.
var errFound = errors.New("a promise was broken")

// streams are the outputs of a command.
type streams struct{ stdout, stderr io.Writer }

// newRoot returns the tree of commands.
func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "hookstorm",
		Short:         "Try to break Hooklatch's promises, and check that they were kept",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(newTorture(s), newSweep(s), newCheck(s), newModel(s), newBench(s), newUpgrade(s), newApp())
	return root
}
