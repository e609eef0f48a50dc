package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/hooklatch/hooklatch/internal/program/cells"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/internal/program/logqueue"
	"github.com/hooklatch/hooklatch/internal/program/lookup"
	"github.com/hooklatch/hooklatch/internal/program/standby"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// makeConsole creates the console. The console reads with separate connections, so that it cannot
// slow down the acceptance of deliveries.
func (a *App) makeConsole() (*console.Console, error) {
	cfg := a.opts.Config
	name := schema.Name(cfg.Database.Schema)
	refused, err := quarantine.New(quarantine.Options{Pool: a.pools.read, Schema: name, Ledger: a.outbox.Ledger()})
	if err != nil {
		return nil, err
	}
	measured, err := measure.NewReader(a.pools.read, name)
	if err != nil {
		return nil, err
	}
	var reads *signin.Reads
	if cfg.Admin.AuditReads {
		if reads, err = signin.NewReads(a.pools.read, name); err != nil {
			return nil, err
		}
	}
	var follower *standby.Standby
	var shown console.Shown
	if a.pools.standby != nil {
		if follower, err = standby.New(a.pools.read, a.pools.standby, name); err != nil {
			return nil, err
		}
		if shown, err = a.shownFromStandby(name); err != nil {
			return nil, err
		}
	}
	var others func(context.Context) []console.Cell
	var findInCells func(context.Context, lookup.Asked) []console.Cell
	if a.cell == config.MainCell && len(cfg.Cells) > 0 {
		others, findInCells = a.otherCells, a.findInCells
	}
	return console.New(console.Options{
		Cell: a.cell, Cells: others, FindInCells: findInCells,
		Outbox: a.outbox, Standby: follower, Shown: shown,
		Status: console.NewStatus(a.pools.read, doctor.StatusOptions{
			Flags: cells.Flags{Cell: a.cell}, Schema: name, SizeBudget: int64(cfg.Database.SizeBudget), AllowFsyncOff: cfg.Database.AllowsFsyncOff(),
			Sources: func() []string { return a.config.Load().Accepting() },
		}),
		Routes:       (&currentRoutes{config: a.config.Load}).routes,
		Quarantine:   shownQuarantine{Quarantine: refused, app: a},
		Measure:      measured,
		Sources:      func() []console.Source { return consoleSources(a.config.Load()) },
		Destinations: func() []console.Destination { return consoleDestinations(a.config.Load()) },
		TestEvents:   testEvents{app: a},
		Sight:        desk.Sight{Payloads: signin.Role(cfg.Admin.Auth.Payloads), Mask: cfg.Admin.Console.Mask}, Reads: reads,
		Try: func(text string) (console.Trial, error) { return tryRoute(a.config.Load(), text) },
		URL: cfg.Admin.ConsoleURL, RiverUI: cfg.Admin.RiverUI, MaxRun: cfg.Admin.MaxRun, Version: a.opts.Version, Logger: a.adminLogger(),
	})
}

// shownFromStandby returns an Outbox and readers with which the console reads its lists from the
// standby. The returned Outbox never writes: the console writes through the Outbox of the primary.
func (a *App) shownFromStandby(name schema.Name) (shown console.Shown, err error) {
	pool := a.pools.standby
	shown.Outbox, err = outbox.New(outbox.Options{
		Pool: pool, Schema: name, ConsoleURL: a.opts.Config.Admin.ConsoleURL, Export: a.exported(), MeterProvider: noop.NewMeterProvider(),
	})
	if err != nil {
		return shown, err
	}
	refused, err := quarantine.New(quarantine.Options{Pool: pool, Schema: name, Ledger: shown.Outbox.Ledger()})
	if err != nil {
		return shown, err
	}
	shown.Quarantine = shownQuarantine{Quarantine: refused, app: a}
	shown.Measure, err = measure.NewReader(pool, name)
	return shown, err
}

// adminLogger returns a throttled logger for the admin listener, because the listener's clients
// control how often the listener logs.
func (a *App) adminLogger() *slog.Logger {
	return slog.New(logqueue.Throttled(a.opts.Logger.Handler()))
}

// shownQuarantine is the quarantine for the console. It verifies deliveries again with the current
// configuration.
type shownQuarantine struct {
	*quarantine.Quarantine

	app *App
}

// Retry implements console.Quarantine.
func (q shownQuarantine) Retry(ctx context.Context, id uuid.UUID, by ledger.Operator) (quarantine.Retried, error) {
	verify, stop, err := NewVerifier(q.app.config.Load(), q.app.outbox)
	if err != nil {
		return quarantine.Retried{}, err
	}
	came, err := q.Quarantine.Retry(ctx, id, by, verify)
	return came, errors.Join(err, stop(context.WithoutCancel(ctx)))
}

// WouldVerify implements console.Quarantine.
func (q shownQuarantine) WouldVerify(ctx context.Context, d *quarantine.Delivery) (quarantine.Verdict, error) {
	verifier, err := deafGateway(q.app.config.Load(), q.app.outbox)
	if err != nil {
		return quarantine.Verdict{}, err
	}
	err = verifier.WouldAccept(ctx, d)
	verdict, err := verdictOf(outbox.Acceptance{}, err)
	return verdict, errors.Join(err, verifier.Stop(context.WithoutCancel(ctx)))
}

// consoleSources returns the sources of a configuration, with setup instructions for each sender.
func consoleSources(cfg *config.Config) []console.Source {
	var list []console.Source
	for _, name := range slices.Sorted(maps.Keys(cfg.Sources)) {
		s, path := cfg.Sources[name], "/webhooks/"+name
		one := console.Source{Name: name, Provider: s.Provider, URL: cmp.Or(s.PublicURL, path), Search: s.Search}
		secrets, _ := secretsOf(s) // the gateway reports the error
		for _, key := range secrets {
			one.Secrets = append(one.Secrets, key.Value.Mark(name))
		}
		if public, err := url.Parse(cfg.Gateway.PublicURL); err == nil && s.PublicURL == "" && cfg.Gateway.PublicURL != "" {
			one.URL = public.JoinPath(path).String()
		}
		if p, err := s.Sender(); err == nil { // an invalid provider is reported elsewhere
			one.Setup, one.Notes, one.Docs = p.About.Setup, p.About.Notes, p.About.Docs
		}
		list = append(list, one)
	}
	return list
}

// consoleDestinations returns the destinations of a configuration. URLs of http destinations are
// shown without user, query and fragment.
func consoleDestinations(cfg *config.Config) []console.Destination {
	var shown []console.Destination
	for _, name := range slices.Sorted(maps.Keys(cfg.Destinations)) {
		d := cfg.Destinations[name]
		one := console.Destination{Name: name, Kind: "http", Policy: string(d.Policy), Concurrency: d.Concurrency, Rate: d.Rate.String()}
		if d.SMTP != nil {
			one.Kind, one.Target = "email", net.JoinHostPort(d.SMTP.Host, strconv.Itoa(d.SMTP.Port))
		} else if d.SQL != nil {
			one.Kind, one.Target = "sql", strings.Join(slices.Sorted(maps.Keys(d.SQL.Statements)), ", ")
		} else if d.NATS != nil {
			one.Kind, one.Target = destination.KindNATS, strings.Join(d.NATS.Servers, ", ")+" "+d.NATS.Subject
		} else if d.RabbitMQ != nil {
			one.Kind, one.Target = destination.KindRabbitMQ, strings.TrimSpace(strings.Join(d.RabbitMQ.Servers, ", ")+" "+d.RabbitMQ.Exchange)
		} else if u, err := url.Parse(d.HTTP.ShownURL()); err == nil {
			u.User, u.RawQuery, u.Fragment = nil, "", ""
			one.Target = u.String()
		}
		shown = append(shown, one)
	}
	return shown
}

// currentRoutes caches the compiled routes of the current configuration.
type currentRoutes struct {
	config func() *config.Config

	mu   sync.Mutex // guards the fields below
	of   *config.Config
	have console.Routes
}

func (r *currentRoutes) routes() console.Routes {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.config(); now != r.of {
		table, err := Routes(now)
		r.have, r.of = console.Routes{List: ShownRoutes(now), Table: table, Err: err}, now
	}
	return r.have
}
