package cli

import (
	"log/slog"
	"net"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
)

// serveKind selects the parts that a command runs.
type serveKind struct {
	use, short      string
	gateway, worker bool
}

func (c *cli) newServe(kind serveKind) *cobra.Command {
	var listen listenFlags
	var migrate, await bool
	cmd := &cobra.Command{
		Use:   kind.use,
		Short: kind.short,
		Long: kind.short + `. The process also runs the admin listener.

If the database is unavailable, the process waits and continues when the database is
back. SIGTERM and SIGINT drain the process: it accepts no new work and finishes the work
in flight. After a second signal, the process exits immediately. SIGHUP reloads the
configuration: sources, routes, secrets and certificates take effect. An invalid file
changes nothing.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := listen.check(); err != nil {
				return err
			}
			logger, err := c.logger(slog.LevelInfo)
			if err != nil {
				return err
			}
			load := func() (*config.Config, error) {
				cfg, err := c.loadToRun()
				if err != nil {
					return nil, err
				}
				listen.override(cfg)
				return cfg, nil
			}
			cfg, err := load()
			if err != nil {
				return err
			}
			var inherited net.Listener
			if kind.gateway {
				if inherited, err = inheritedListener(); err != nil {
					return err
				}
			}
			garbage := limitMemory(cfg, c.Env, logger)
			app.LogWarnings(cmd.Context(), logger, app.Warnings(cfg, c.givenDatabase()))
			return app.Run(cmd.Context(), app.Options{
				Config:      cfg,
				DatabaseURL: c.givenDatabase(),
				Gateway:     kind.gateway, Worker: kind.worker, Migrate: migrate, AwaitMigrations: await,
				Load:        load,
				Version:     c.readBuild().Version,
				GatewayHint: gatewayHint, AdminHint: adminHint,
				GlobalTelemetry: true,
				Listener:        inherited,
				Tell:            tellSystemd(logger),
				LargeBody:       garbage.expectMuch,
				Logger:          logger,
				Outputs:         c.outputs,
			}, c.Reloads(cmd.Context()), nil)
		},
	}
	c.database.registerURL(cmd.Flags())
	listen.register(cmd, kind)
	cmd.Flags().BoolVar(&migrate, "migrate", false, "apply pending migrations first")
	cmd.Flags().BoolVar(&await, "await-migrations", false, "wait until another process has applied pending migrations, instead of failing")
	return cmd
}
