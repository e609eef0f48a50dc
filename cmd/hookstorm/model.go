package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/model"
)

// newModel returns the command that explores the model of the protocol.
func newModel(s streams) *cobra.Command {
	var bug string
	cmd := &cobra.Command{
		Use:   "model",
		Short: "Explore every interleaving of a small world, to find one that breaks a promise",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			result, err := model.Explore(cmd.Context(), model.Options{Bug: bugs.Bug(bug), Done: func(e model.Explored) {
				fmt.Fprintf(s.stdout, "%-32s %9d states, at most %d steps in a row, %s\n",
					e.World.Name, e.States, e.Depth, e.Took.Round(time.Millisecond))
			}})
			if err != nil {
				return err
			}
			fmt.Fprintf(s.stdout, "%d states\n", result.States)
			if result.Violation != nil {
				fmt.Fprint(s.stdout, result.Violation)
				return errFound
			}
			fmt.Fprintln(s.stdout, "0 violations")
			return nil
		},
	}
	cmd.Flags().StringVar(&bug, "bug", "", "add the planted bug of this name to the worlds")
	return cmd
}
