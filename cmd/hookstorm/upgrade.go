package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/upgrade"
)

func newUpgrade(s streams) *cobra.Command {
	var opts upgrade.Options
	var previous string
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Upgrade running processes from an earlier commit under load, go back, and count",
		Long: `Upgrade builds an earlier commit and the current tree. It starts gateways and workers of
the earlier commit, and lets two processes of the current tree migrate the database when
they start. Then it replaces the gateways and workers one by one, and puts the earlier
commit back without a migration. Events are sent all the time. Upgrade counts events and
effects that were lost or doubled, and errors in the logs.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			root, err := repositoryRoot()
			if err != nil {
				return err
			}
			dir, err := os.MkdirTemp("", "hookstorm-binaries-*")
			if err != nil {
				return fmt.Errorf("make a directory for the programs: %w", err)
			}
			defer os.RemoveAll(dir)
			opts.Out = s.stderr
			if opts.Binaries, err = upgrade.Build(cmd.Context(), root, previous, dir); err != nil {
				return err
			}
			report, err := upgrade.Run(cmd.Context(), opts)
			if err != nil {
				return err
			}
			fmt.Fprintf(s.stdout, "%d events while the processes were replaced, %d while they were put back, in %s\n", report.Upgraded, report.Returned, report.Took)
			for _, found := range report.Found {
				fmt.Fprintln(s.stdout, found)
			}
			if len(report.Found) > 0 {
				return errFound
			}
			fmt.Fprintln(s.stdout, "0 lost, 0 doubled, no error in a log")
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&previous, "previous", upgrade.Previous, "`commit` to upgrade from")
	flags.StringVar(&opts.Dir, "dir", "", "directory for configurations and logs (default: a temporary one, removed if nothing is found)")
	flags.IntVar(&opts.Events, "events", upgrade.DefaultEvents, "minimum number of events in each direction")
	flags.Float64Var(&opts.Rate, "rate", upgrade.DefaultRate, "events per second")
	return cmd
}
