package main

import (
	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/torture"
)

func newCheck(s streams) *cobra.Command {
	var page string
	cmd := &cobra.Command{
		Use:   "check HISTORY...",
		Short: "Judge the histories of runs again",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			var runs []torture.Published
			var all torture.Result
			for _, path := range args {
				result, about, err := torture.Reread(path)
				if err != nil {
					return err
				}
				if err := torture.Print(s.stdout, result); err != nil {
					return err
				}
				runs = append(runs, torture.Published{Result: result, Run: about})
				all = all.Add(result)
			}
			if len(runs) > 1 {
				if err := torture.PrintTotals(s.stdout, all); err != nil {
					return err
				}
			}
			if len(all.Verdict.Violations) > 0 {
				return errFound
			}
			if page == "" {
				return nil
			}
			return torture.Publish(page, runs)
		},
	}
	cmd.Flags().StringVar(&page, "publish", "", "page to write the totals of these runs to: ../../docs/guarantees.md from the directory of hookstorm")
	return cmd
}
