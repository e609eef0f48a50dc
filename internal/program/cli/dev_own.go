package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// checkOwnArguments finds flags that have no effect with the user's own configuration.
func checkOwnArguments(cmd *cobra.Command) error {
	for _, name := range []string{"forward", "public-url", "receiver-listen", "smtp-listen"} {
		if cmd.Flags().Changed(name) {
			return misused("--%s applies to the configuration that dev writes: omit it with --config", name)
		}
	}
	return nil
}

// runOwn runs the user's own configuration, on the given database or else on the embedded Postgres.
func (d *dev) runOwn(cmd *cobra.Command) (err error) {
	ctx := cmd.Context()
	d.teardown.Logger = d.logger
	defer func() { err = errors.Join(err, d.teardown.Run(context.WithoutCancel(ctx), devStopTimeout)) }()
	// Mistakes in the configuration are reported before any slow step; any database URL is
	// sufficient.
	database := secret.New("postgres://localhost/hooklatch")
	if _, err := d.loadOwn(cmd, database); err != nil {
		return err
	}
	files, err := openDevFiles(d.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	if database, err = d.startDatabase(ctx, files); err != nil {
		return err
	}
	cfg, err := d.loadOwn(cmd, database)
	if err != nil {
		return err
	}
	return d.serve(ctx, app.Options{
		Config: cfg, DatabaseURL: database, GatewayHint: gatewayHint, AdminHint: adminHint,
	}, func(a *app.App) { d.announceOwn(a, cfg, database) })
}

// loadOwn reads the configuration with database as DATABASE_URL, applies the flags to it, and
// checks it.
func (d *dev) loadOwn(cmd *cobra.Command, database secret.Value) (*config.Config, error) {
	process := *d.Process
	process.Env = func(name string) (string, bool) {
		if name == "DATABASE_URL" {
			return database.Reveal(), true
		}
		return d.Env(name)
	}
	cfg, err := (&cli{Process: &process, configPath: d.configPath}).loadConfig()
	if err != nil {
		return nil, err
	}
	// No connection may lead to another database, because dev migrates and processes jobs.
	cfg.Database.URL, cfg.Database.DirectURL, cfg.Database.ReadURL = database, secret.Value{}, secret.Value{}
	secrets, err := givenSecrets(d.given, slices.Sorted(maps.Keys(cfg.Sources)))
	if err != nil {
		return nil, err
	}
	for name, value := range secrets {
		source := cfg.Sources[name]
		source.Secrets = []config.Secret{{Value: value}}
		cfg.Sources[name] = source
	}
	listen := listenFlags{}
	if cmd.Flags().Changed("listen") {
		listen.gateway = d.listen
	}
	if cmd.Flags().Changed("admin-listen") {
		listen.admin = d.admin
	}
	listen.override(cfg)
	cfg.AllowEmpty = true
	return cfg, app.CheckConfig(cfg)
}

// announceOwn prints all addresses, and the DATABASE_URL for other commands.
func (d *dev) announceOwn(a *app.App, cfg *config.Config, database secret.Value) {
	var b strings.Builder
	line := func(name, value string) { fmt.Fprintf(&b, "  %-9s  %s\n", name, value) }
	line("console", fmt.Sprintf("http://%s/", a.AdminAddr()))
	line("webhooks", fmt.Sprintf("http://%s/webhooks/{%s}", a.GatewayAddr(), strings.Join(slices.Sorted(maps.Keys(cfg.Sources)), ",")))
	line("config", cfg.Path())
	// Other commands need the URL. The embedded database is for this machine only, so its password
	// is no secret. The user knows the URL of their own database.
	next := "in another terminal, before other commands:\n  export DATABASE_URL=" + safetext.Shell(database.Reveal())
	if !d.givenDatabase().IsZero() {
		next = "other commands need the same DATABASE_URL"
	}
	fmt.Fprintf(&b, "\nready in %.1fs; %s\n", time.Since(d.started).Seconds(), next)
	fmt.Fprintf(&b, "\nCtrl-C stops everything.\n")
	d.printing.Lock()
	defer d.printing.Unlock()
	fmt.Fprintln(d.Stdout, b.String())
}
