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
		Long: `Sweep builds the programs of the current tree with failpoints and starts them on its
own Postgres. Under traffic, it kills, fails and delays them at every failpoint, at
its first, second and a later passage. Then it heals everything and checks every
operation against the guarantees.`,
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
	flags.Int64Var(&opts.Seed, "seed", 1, "decides the random passages")
	flags.BoolVar(&opts.Short, "short", false, "one visit for each failpoint")
	flags.StringSliceVar(&opts.Only, "only", nil, "visits to make, such as settle.begin=kill@2 (default: all)")
	flags.StringVar(&opts.Dir, "dir", "", "directory for history, programs and logs (default: a temporary one, removed if nothing is found)")
	flags.DurationVar(&opts.Patience, "patience", sweep.DefaultPatience, "time limit for each of errors, delays and kills")
	return cmd
}
