package app

import (
	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/backfill"
	"github.com/hooklatch/hooklatch/internal/agreement"
	"github.com/hooklatch/hooklatch/internal/program/admin"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/retention"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/worker"
)

func (a *App) makeAdmin() error {
	var err error
	if a.signin, err = a.makeSignIn(); err != nil {
		return err
	}
	a.admin, err = admin.New(admin.Options{
		Listen:     a.opts.Config.Admin.Listen,
		ListenHint: a.opts.AdminHint,
		TLS:        a.certificates.config("admin.tls"),
		SignIn:     a.signin,
		Ready:      a.Ready,
		Alive:      a.Alive,
		Warnings:   a.troubles,
		Reloads:    func() admin.Reloads { return *a.reloads.Load() },
		Metrics:    a.telemetry.Metrics,
		Console:    a.consoles(),
		ConsoleURL: a.opts.Config.Admin.ConsoleURL,
		Logger:     a.adminLogger(),
	})
	if err != nil {
		return err
	}
	a.teardown.AddMinor("admin", adminTimeout, a.admin.Stop)
	return nil
}

func (a *App) makeWorker() error {
	cfg := a.opts.Config
	made, err := destinationsOf(cfg, a.telemetry.TracerProvider)
	if err != nil {
		return err
	}
	a.destinations = made
	a.teardown.AddMinor("destinations", adminTimeout, made.close)
	opts := cfg.Worker
	opts.Pool, opts.Schema, opts.Outbox = a.pools.direct, schema.Name(cfg.Database.Schema), a.outbox
	opts.Minutes = a.minutes
	routing := routingOf(cfg)
	opts.Routes, opts.Sources, opts.LeftToHandlers, opts.ConfigHash = routing.Routes, routing.Sources, routing.LeftToHandlers, routing.ConfigHash
	opts.MaxBodies = routing.MaxBodies
	opts.Destinations = made.list
	opts.Logger, opts.TracerProvider, opts.MeterProvider = a.opts.Logger, a.telemetry.TracerProvider, a.telemetry.MeterProvider
	opts.Retention = func() retention.Settings { return RetentionOf(a.config.Load()) }
	opts.Redactions = func() []erasure.Redaction { return redactionsOf(a.config.Load()) }
	opts.Search = func(source string) []string { return a.config.Load().Sources[source].Search }
	opts.PollOnly = !cfg.Database.Listens()
	opts.Synchronous = cfg.HA.Synchronous
	opts.Checks = func() []agreement.Check { return a.config.Load().Checks }
	opts.MaxBody = func(source string) int64 { return a.config.Load().MaxBodyOf(source) }
	if len(cfg.Alerts.To) > 0 || !cfg.Alerts.Heartbeat.IsZero() {
		if opts.Alarm, err = a.makeAlarm(); err != nil {
			return err
		}
	}
	if opts.Backfill, err = MakeBackfill(backfill.Options{Logger: a.opts.Logger, MeterProvider: a.telemetry.MeterProvider}, a.outbox, a.storing); err != nil {
		return err
	}
	again := &verifier{config: a.config.Load, outbox: a.outbox}
	opts.Verify = again.verify
	a.teardown.AddMinor("verifier", adminTimeout, again.stop)
	opts.Accepts = a.opts.Gateway
	a.worker, err = worker.New(opts)
	if err != nil {
		return routeProblems(cfg, err)
	}
	if a.opts.Handle != nil {
		a.opts.Handle(a.worker, a.outbox)
	}
	a.progress.watch("worker", a.worker.LongestRun()+runSlack, a.worker.Progress)
	a.teardown.Add("worker", cfg.Worker.SoftStop+drainSlack, a.worker.Stop)
	return nil
}

func (a *App) makeGateway() error {
	cfg := a.opts.Config
	sources, _, err := a.endpoints(cfg)
	if err != nil {
		return err
	}
	public, err := optionalURL(cfg.Gateway.PublicURL)
	if err != nil {
		return cfg.Problem("gateway.public_url", err.Error())
	}
	opts := cfg.Gateway.Options
	opts.Accepter, opts.Sources, opts.Quarantine = a.gate, sources, a.keeper
	opts.LargeBody = a.opts.LargeBody
	opts.MaxConnections = a.boundConnections(opts.MaxConnections)
	opts.Minutes = a.minutes
	opts.Listener = a.opts.Listener
	opts.TLS, opts.PublicURL = a.certificates.config("gateway.tls"), public
	opts.Logger, opts.TracerProvider, opts.MeterProvider = a.opts.Logger, a.telemetry.TracerProvider, a.telemetry.MeterProvider
	a.gateway, err = gateway.New(opts)
	if err != nil {
		return err
	}
	a.progress.watch("gateway", cfg.Gateway.AcceptTimeout+acceptSlack, a.gateway.Progress)
	a.teardown.Add("gateway", min(cfg.Gateway.DrainTimeout, a.drainTimeout()+drainSlack), a.gateway.Stop)
	return nil
}
