package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/sweep"
)

func newSweep(s streams) *cobra.Command {
	var opts sweep.Options
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Kill, fail and delay real processes at every failpoint, and judge the history",
		Long: `Sweep builds the programs of the tree it stands in with their failpoints, starts them
on a Postgres of its own, and has them killed, failed and delayed at every place there
is, under traffic: at its first, its second and a later passage. Then it heals
everything and holds every operation against the guarantees.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if opts.Root, err = repositoryRoot(); err != nil {
				return err
			}
			opts.Out = s.stderr
			report, err := sweep.Run(cmd.Context(), opts)
			if err != nil {
				return err
			}
			fmt.Fprint(s.stdout, report.Text())
			if !report.Sound() {
				return errFound
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.Int64Var(&opts.Seed, "seed", 1, "decides which passages are drawn")
	flags.BoolVar(&opts.Short, "short", false, "one visit for each place")
	flags.StringSliceVar(&opts.Only, "only", nil, "visits to make, such as settle.begin=kill@2 (default: all)")
	flags.StringVar(&opts.Dir, "dir", "", "directory for history, programs and logs (default: one that is removed when all is well)")
	flags.DurationVar(&opts.Patience, "patience", sweep.DefaultPatience, "longest time for all errors, all delays and all kills")
	return cmd
}
