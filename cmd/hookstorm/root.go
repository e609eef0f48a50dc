package main

import "github.com/spf13/cobra"

// newRoot makes the tree of commands.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "hookstorm",
		Short:         "Try to break the promise of Hooklatch, and check that it held",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(newApp())
	return root
}
