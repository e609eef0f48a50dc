package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/sweep"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema"
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
			kept := opts.Dir != ""
			if !kept {
				if opts.Dir, err = os.MkdirTemp("", "hookstorm-sweep-*"); err != nil {
					return fmt.Errorf("make a directory: %w", err)
				}
			}
			opts.Out = s.stderr
			report, err := sweepOwnServer(cmd.Context(), opts)
			if err != nil {
				return err
			}
			fmt.Fprint(s.stdout, report.Text())
			if !report.Sound() {
				return errFound
			}
			if kept {
				return nil
			}
			return os.RemoveAll(opts.Dir)
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

// sweepOwnServer makes the sweep on a server that ends with it.
func sweepOwnServer(ctx context.Context, opts sweep.Options) (_ *sweep.Report, err error) {
	server, err := cluster.Start(ctx, cluster.Options{Settings: map[string]string{"max_connections": "400"}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	opts.DatabaseURL = secret.New(server.Primary("postgres"))
	if opts.Pool, err = pgxpool.New(ctx, opts.DatabaseURL.Reveal()); err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	defer opts.Pool.Close()
	migrator, err := schema.NewMigrator(opts.Pool, schema.Default, nil)
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Up(ctx); err != nil {
		return nil, err
	}
	return sweep.Run(ctx, opts)
}
