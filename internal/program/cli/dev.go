package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/demo"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/embedded"
)

// devStopTimeout is the maximum time for stopping Postgres and the demo listeners together.
const devStopTimeout = 15 * time.Second

// dev is one invocation of the dev command, which runs everything but Postgres in one process.
type dev struct {
	*cli

	started time.Time
	logger  *slog.Logger

	dir                          string // .hooklatch
	listen, admin, receiver, mta string // addresses
	pgPort                       int
	forward, public              string
	given                        []string     // --secret
	sign                         secret.Value // for requests to the receiver

	teardown app.Teardown
	printing sync.Mutex // held while a line is printed
}

func (c *cli) newDev() *cobra.Command {
	d := &dev{cli: c}
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run Postgres, gateway, worker and a demo receiver with one command",
		Long: `Run everything with one command: an embedded Postgres, the gateway with sources for
common providers, the worker, and a demo receiver and mail server.

Data, secrets and the configuration are kept in ./.hooklatch, where the other
commands find the configuration. Ctrl-C stops everything.

A new database starts with four examples, marked by their ids: a processed event
with one duplicate, an event whose effect needs attention, an event that matches no
route, and a refused delivery.

With --config the command runs your own configuration on the embedded Postgres instead,
without the demo receiver and the demo mail server. In that configuration DATABASE_URL
is the URL of the embedded Postgres.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := d.checkArguments(cmd); err != nil {
				return err
			}
			var err error
			if d.logger, err = c.logger(slog.LevelWarn); err != nil {
				return err
			}
			d.started = time.Now()
			if c.configPath != "" {
				return d.runOwn(cmd)
			}
			return d.run(cmd.Context())
		},
	}
	c.database.registerURL(cmd.Flags())
	cmd.Flags().Lookup("database-url").Usage = "connection `URL` of a Postgres to use instead of the embedded one (default $DATABASE_URL)"
	flags := cmd.Flags()
	flags.StringVar(&d.dir, "dir", filepath.Dir(filepath.FromSlash(config.DevPath)), "`directory` of data, secrets and configuration")
	flags.StringVar(&d.listen, "listen", "127.0.0.1:8080", "`address` of the gateway")
	flags.StringVar(&d.admin, "admin-listen", "127.0.0.1:8081", "`address` of the admin listener")
	flags.StringVar(&d.receiver, "receiver-listen", "127.0.0.1:8082", "`address` of the demo receiver")
	flags.StringVar(&d.mta, "smtp-listen", "127.0.0.1:8083", "`address` of the demo mail server")
	flags.IntVar(&d.pgPort, "pg-port", 54329, "`port` of the embedded Postgres; if it is in use, a free port is chosen")
	flags.StringVar(&d.public, "public-url", "", "base `URL` that senders call, such as a tunnel's URL; some senders sign this URL (default the URL of --listen)")
	flags.StringVar(&d.forward, "forward", "", "forward events to this `URL` instead of the demo receiver")
	flags.StringArrayVar(&d.given, "secret", nil, "secret of a source as `NAME=VALUE`, such as stripe=whsec_...; may be repeated")
	return cmd
}

// checkArguments finds wrong arguments before the command touches anything outside the process, so
// that a port in use does not hide them.
func (d *dev) checkArguments(cmd *cobra.Command) error {
	for _, flag := range []string{"listen", "admin-listen", "receiver-listen", "smtp-listen"} {
		address := cmd.Flags().Lookup(flag).Value.String()
		if address == "" {
			return misused("--%s is empty: it must be a host and a port, such as 127.0.0.1:8080", flag)
		}
		if err := checkAddress(flag, address); err != nil {
			return err
		}
	}
	if d.pgPort < 0 || d.pgPort > math.MaxUint16 {
		return misused("--pg-port %d: it must be a port from 0 to %d", d.pgPort, math.MaxUint16)
	}
	for flag, given := range map[string]string{"forward": d.forward, "public-url": d.public} {
		u, err := url.Parse(given)
		if given != "" && (err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil) {
			return misused("--%s %q: it must be an http or https URL without user and password", flag, given)
		}
	}
	if d.database.url != "" && cmd.Flags().Changed("pg-port") {
		return misused("--pg-port is the port of the embedded Postgres, which does not run with --database-url: omit it")
	}
	if d.configPath != "" {
		return checkOwnArguments(cmd)
	}
	_, err := givenSecrets(d.given, DevSourceNames())
	return err
}

func (d *dev) run(ctx context.Context) (err error) {
	d.teardown.Logger = d.logger
	defer func() { err = errors.Join(err, d.teardown.Run(context.WithoutCancel(ctx), devStopTimeout)) }()
	if err := d.checkAddresses(ctx); err != nil {
		return err
	}
	files, err := openDevFiles(d.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	settings, err := ReadDevSettings(d.devConfig(), d.Env)
	if err != nil {
		return err
	}
	if err := settings.override(d.given); err != nil {
		return err
	}
	d.sign = settings.Sign
	if settings.Database, err = d.startDatabase(ctx, files); err != nil {
		return err
	}
	settings.Listen, settings.Admin, settings.forward = d.listen, d.admin, d.forward
	settings.public = d.public
	if err := d.startDemo(ctx, settings); err != nil {
		return err
	}
	cfg, err := settings.Write(d.devConfig(), d.Env)
	if err != nil {
		return err
	}
	cfg.AllowEmpty = true // an empty configuration is enough for looking at deliveries
	return d.serve(ctx, app.Options{
		Config: cfg, GatewayHint: "choose another address with --listen", AdminHint: "choose another address with --admin-listen",
	}, func(a *app.App) {
		d.announce(a)
		d.addExamples(ctx, a.GatewayAddr().String())
	})
}

// serve runs gateway and worker, with the options that dev uses for every configuration.
func (d *dev) serve(ctx context.Context, opts app.Options, announce func(*app.App)) error {
	opts.LargeBody = limitMemory(opts.Config, d.Env, d.logger).expectMuch
	opts.Gateway, opts.Worker, opts.Migrate, opts.GlobalTelemetry = true, true, true, true
	opts.Version, opts.Logger = d.readBuild().Version, d.logger
	opts.Outputs = d.outputs
	opts.Config.Database.Allow = []string{config.AllowFsyncOff} // every database of dev is for development
	opts.Config.Gateway.AcceptTimeout = cmp.Or(d.AcceptTimeout, opts.Config.Gateway.AcceptTimeout)
	return app.Run(ctx, opts, nil, announce)
}

// devConfig returns the path of the configuration that dev writes.
func (d *dev) devConfig() string { return filepath.Join(d.dir, filepath.Base(config.DevPath)) }

// progress prints one step of the start.
func (d *dev) progress(line string) { d.print(d.Stderr, line) }

func (d *dev) print(w io.Writer, line string) {
	d.printing.Lock()
	defer d.printing.Unlock()
	fmt.Fprintln(w, safetext.Shown(line))
}

// checkAddresses finds addresses in use before any slow step.
func (d *dev) checkAddresses(ctx context.Context) error {
	var errs []error
	check := func(addr, what, flag string) {
		listener, err := listen(ctx, addr, what, flag)
		if err != nil {
			errs = append(errs, err)
			return
		}
		_ = listener.Close()
	}
	check(d.listen, "the gateway", "--listen")
	check(d.admin, "the admin listener", "--admin-listen")
	if d.forward == "" {
		check(d.receiver, "the demo receiver", "--receiver-listen")
	}
	check(d.mta, "the demo mail server", "--smtp-listen")
	return errors.Join(errs...)
}

// listen binds an address. Its error names the address's purpose and the flag that changes it.
func listen(ctx context.Context, addr, what, flag string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if taken(err) {
		return nil, fmt.Errorf("address %s of %s is in use by another program: choose another address with %s", addr, what, flag)
	}
	if err != nil {
		return nil, fmt.Errorf("address %s of %s: %w: choose another address with %s", addr, what, err, flag)
	}
	return listener, nil
}

// startDatabase returns the URL of the given database. If no database is given, it starts an
// embedded Postgres and returns the URL of that.
func (d *dev) startDatabase(ctx context.Context, files *devFiles) (secret.Value, error) {
	if given := d.givenDatabase(); !given.IsZero() {
		return given, nil
	}
	d.progress("starting Postgres")
	port := d.pgPort
	if probe, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
		_ = probe.Close()
	} else if taken(err) {
		d.progress(fmt.Sprintf("port %d is in use: choosing a free port for Postgres", port))
		port = 0
	} else {
		return secret.Value{}, fmt.Errorf("port of Postgres: %w: choose another port with --pg-port", err)
	}
	log, err := files.log("postgres.log")
	if err != nil {
		return secret.Value{}, fmt.Errorf("log of Postgres: %w", err)
	}
	d.teardown.Add("log of Postgres", devStopTimeout, func(context.Context) error { return log.Close() })
	server, err := embedded.Start(ctx, embedded.Options{
		DataDir: filepath.Join(d.dir, "pg"), Port: port, Durable: true, Log: log, Progress: d.progress,
	})
	if err != nil {
		return secret.Value{}, err
	}
	d.teardown.Add("Postgres", devStopTimeout, server.Stop)
	return secret.New(server.URL("postgres")), nil
}

// startDemo starts the demo mail server and, without --forward, the demo receiver. It stores their
// addresses in settings.
func (d *dev) startDemo(ctx context.Context, settings *DevSettings) error {
	out := func(line string) { d.print(d.Stdout, line) }
	listener, err := listen(ctx, d.mta, "the demo mail server", "--smtp-listen")
	if err != nil {
		return err
	}
	mail := demo.NewMail(demo.MailOptions{Listener: listener, Print: out, Logger: d.logger})
	mail.Start()
	d.teardown.Add("demo mail server", devStopTimeout, mail.Stop)
	d.mta = listener.Addr().String()
	settings.SMTP = d.mta
	if d.forward != "" {
		return nil
	}
	if listener, err = listen(ctx, d.receiver, "the demo receiver", "--receiver-listen"); err != nil {
		return err
	}
	receiver, err := demo.NewReceiver(demo.ReceiverOptions{
		Listener: listener, Secret: settings.Sign, Mail: mail, Print: out, Logger: d.logger,
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	receiver.Start()
	d.teardown.Add("demo receiver", devStopTimeout, receiver.Stop)
	d.receiver = listener.Addr().String()
	settings.Receiver = d.receiver
	return nil
}

// announce prints all addresses, and commands to try.
func (d *dev) announce(a *app.App) {
	flag := ""
	if _, err := os.Stat(config.DefaultPath); err == nil || d.devConfig() != filepath.FromSlash(config.DevPath) {
		// Without the flag, other commands would use another file.
		flag = " --config " + safetext.Shell(d.devConfig())
	}
	var b strings.Builder
	line := func(name, value string) { fmt.Fprintf(&b, "  %-9s  %s\n", name, value) }
	line("console", fmt.Sprintf("http://%s/", a.AdminAddr()))
	line("webhooks", fmt.Sprintf("http://%s/webhooks/{%s}", a.GatewayAddr(), strings.Join(DevSourceNames(), ",")))
	if d.forward == "" {
		line("receiver", fmt.Sprintf("http://%s/seen", d.receiver))
	} else {
		line("forward", d.forward)
		line("signed", "with "+d.sign.Reveal()+" (docs/receiver.md)") // the user's receiver verifies with this secret
	}
	line("mail", "smtp://"+d.mta)
	line("config", d.devConfig()+" (contains the secrets and the database URL)")
	if d.forward == "" {
		line("examples", "in the console, if the database had no events yet")
	}
	fmt.Fprintf(&b, "\nready in %.1fs; try in another terminal:\n", time.Since(d.started).Seconds())
	for _, try := range []string{"send stripe --type invoice.paid --times 340 --parallel 64", "events list", "effects list"} {
		fmt.Fprintf(&b, "  %s %s%s\n", d.Name, try, flag)
	}
	fmt.Fprintf(&b, "\nCtrl-C stops everything.\n")
	d.printing.Lock()
	defer d.printing.Unlock()
	fmt.Fprintln(d.Stdout, b.String())
}
