package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker"
	"github.com/hooklatch/hooklatch/worker/route"
)

// announceTimeout limits each announcement of a gateway.
const announceTimeout = 5 * time.Second

// routingOf returns the part of a configuration that determines the effects of events. The worker
// dispatches nothing if there are cells and this one has no sources. The worker also dispatches
// nothing if there are no routes and allow_empty is not set. In that case the routes were probably
// lost, and a dispatch without routes would skip the events. If there are neither sources nor
// routes, the worker dispatches nothing even with allow_empty: all events belong to other programs.
func routingOf(cfg *config.Config) worker.Routing {
	r := worker.Routing{Routes: routesOf(cfg), MaxBodies: cfg.MaxBodies(), ConfigHash: cfg.Hash()}
	switch {
	case len(cfg.Routes) == 0 && (!cfg.AllowEmpty || len(cfg.Sources) == 0), len(cfg.Sources) == 0 && len(cfg.Cells) > 0:
		r.Sources = []string{}
	case len(cfg.Sources) > 0:
		r.Sources = slices.Sorted(maps.Keys(cfg.Sources))
		r.LeftToHandlers = append([]string{}, leftToHandlers(cfg)...) // not nil: the process knows which sources have handlers
	}
	return r
}

// announce announces this process's configuration to the other processes. Afterwards, no process
// with an older configuration dispatches events that this process accepts.
func (a *App) announce(ctx context.Context) error {
	if a.worker != nil {
		return a.worker.Announce(ctx)
	}
	a.reload.Lock()
	defer a.reload.Unlock()
	return a.announceGateway(ctx, a.gatewayOf(a.config.Load()))
}

// gatewayOf returns the announcement of a process without a worker.
func (a *App) gatewayOf(cfg *config.Config) *fleet.Presence {
	digest := route.Digest(routesOf(cfg), policies(cfg), leftToHandlers(cfg), cfg.MaxBodies())
	p := &fleet.Presence{ID: a.process, GatewayOnly: true, ConfigHash: cfg.Hash(), Hash: digest, Routes: digest}
	if len(cfg.Routes) > 0 { // if there are no routes, the workers have a separate configuration file
		p.Sources = slices.Sorted(maps.Keys(cfg.Sources))
	}
	return p
}

// reannounce announces a gateway's next configuration before it takes effect, if its routes or
// sources differ from the announced ones. Before the first announcement, reannounce does nothing:
// the database may be unavailable.
func (a *App) reannounce(ctx context.Context, next *config.Config) error {
	p := a.gatewayOf(next)
	if a.told == nil || p.Hash == a.told.Hash && slices.Equal(p.Sources, a.told.Sources) {
		return nil
	}
	return a.announceGateway(ctx, p)
}

// announceGateway announces a gateway, and stores the announcement in told. It returns an error if
// the process is draining. The caller must hold a.reload.
func (a *App) announceGateway(ctx context.Context, p *fleet.Presence) error {
	if a.draining.Load() {
		return errors.New("shutting down")
	}
	ctx, cancel := context.WithTimeout(ctx, announceTimeout)
	defer cancel()
	if a.told != nil {
		p.Last = a.told.Last
	}
	announced, err := a.outbox.Fleet().Announce(ctx, *p)
	if err != nil {
		return err
	}
	p.Last = announced
	a.told = p
	return nil
}

// policies returns the destinations with the fields that a digest of routes covers.
func policies(cfg *config.Config) []route.Target {
	targets := make([]route.Target, 0, len(cfg.Destinations))
	for name, d := range cfg.Destinations {
		targets = append(targets, route.Target{Name: name, Policy: cmp.Or(d.Policy, ledger.AtLeastOnce)})
	}
	return targets
}

// keepAnnounced renews a gateway's announcement until ctx is done, and then withdraws it. A worker
// renews its own announcement.
func (a *App) keepAnnounced(ctx context.Context) {
	if a.worker != nil {
		return
	}
	ticker := time.NewTicker(fleet.AnnounceEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			a.withdrawGateway(context.WithoutCancel(ctx))
			return
		}
		a.reload.Lock() // a reload may announce another configuration
		err := a.announceGateway(ctx, a.told)
		a.reload.Unlock()
		if err != nil && ctx.Err() == nil && !a.draining.Load() {
			a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "gateway could not announce its configuration", slog.Any(logkey.Err, err))
		}
	}
}

// withdrawGateway withdraws the announcement of a gateway.
func (a *App) withdrawGateway(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	_ = a.outbox.Fleet().Withdraw(ctx, a.process) // if this fails, other processes presume the gateway gone within half a minute
}
