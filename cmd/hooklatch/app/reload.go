package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/config"
	"github.com/hooklatch/hooklatch/outbox/clock"
	"github.com/hooklatch/hooklatch/outbox/logkey"
)

// Reload reads the configuration again and puts sources, routes and certificates into effect,
// all or nothing: after an error everything is as it was. It logs what of the
// new configuration needs a restart.
func (a *App) Reload(ctx context.Context) error {
	a.reload.Lock()
	defer a.reload.Unlock()
	if a.opts.Load == nil {
		return errors.New("reload: there is no file to read again")
	}
	next, err := a.opts.Load()
	if err != nil {
		return fmt.Errorf("reload: %w", err)
	}
	pairs, err := KeyPairs(next)
	if err == nil {
		err = refuseExpired(next, pairs, clock.Now())
	}
	if err != nil {
		return fmt.Errorf("reload: %w", err)
	}
	old := a.config.Load()
	if err := a.apply(old, next); err != nil {
		return fmt.Errorf("reload: %w", err)
	}
	a.certificates.use(pairs)
	sections, destinations := needRestart(old, next)
	// Until the restart the process goes on with what it was made of.
	kept := *next
	kept.Database, kept.Gateway, kept.Admin, kept.Worker, kept.Destinations = old.Database, old.Gateway, old.Admin, old.Worker, old.Destinations
	kept.HA = old.HA
	kept.Gateway.TLS, kept.Admin.TLS = reloaded(old.Gateway.TLS, next.Gateway.TLS), reloaded(old.Admin.TLS, next.Admin.TLS)
	a.config.Store(&kept)
	a.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "configuration reloaded: sources, routes and certificates are in effect", slog.String(logkey.Path, next.Path()))
	if len(destinations) > 0 {
		a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "destinations changed: a reload does not put them into effect, a restart does",
			slog.String(logkey.Destination, strings.Join(destinations, ", ")))
	}
	if len(sections) > 0 {
		a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "changed too, in effect after a restart", slog.String(logkey.Reason, strings.Join(sections, ", ")))
	}
	if a.worker != nil {
		a.warnOfUnserved(ctx, next)
	}
	return nil
}

// apply changes the worker first: it alone can still find a fault.
func (a *App) apply(old, next *config.Config) error {
	sources, err := sourcesOf(next, a.outbox)
	if err != nil {
		return err
	}
	if a.worker != nil {
		if err := a.worker.SetRoutes(routesOf(next), next.Hash()); err != nil {
			return a.explainRoutes(old, next, err)
		}
	}
	if a.gateway == nil {
		return nil
	}
	if err := a.gateway.SetSources(sources); err != nil {
		if a.worker != nil {
			err = errors.Join(err, a.worker.SetRoutes(routesOf(old), old.Hash()))
		}
		return err
	}
	return nil
}

// explainRoutes adds to the error of a route to a new destination that
// destinations need a restart.
func (a *App) explainRoutes(old, next *config.Config, err error) error {
	for _, r := range next.Routes {
		_, known := old.Destinations[r.To]
		if _, added := next.Destinations[r.To]; added && !known {
			return fmt.Errorf("route %q leads to the new destination %q: restart to use it", r.Name, r.To)
		}
	}
	return routeProblems(next, err)
}

// reloaded is which files of a listener are in effect after a reload: other
// ones are, but whether it speaks TLS at all is fixed when it starts.
func reloaded(old, next *config.KeyPair) *config.KeyPair {
	if old == nil || next == nil {
		return old
	}
	return next
}

// needRestart names what differs between two configurations and is fixed when a
// process starts: sections, and destinations.
func needRestart(old, next *config.Config) (sections, destinations []string) {
	oldGateway, oldAdmin := old.Gateway, old.Admin
	oldGateway.TLS, oldAdmin.TLS = reloaded(old.Gateway.TLS, next.Gateway.TLS), reloaded(old.Admin.TLS, next.Admin.TLS)
	for _, section := range []struct {
		name      string
		old, next any
	}{
		{"database", old.Database, next.Database},
		{"ha", old.HA, next.HA},
		{"gateway", oldGateway, next.Gateway},
		{"admin", oldAdmin, next.Admin},
		{"worker", old.Worker, next.Worker},
	} {
		if !reflect.DeepEqual(section.old, section.next) {
			sections = append(sections, section.name)
		}
	}
	names := map[string]bool{}
	for name := range old.Destinations {
		names[name] = true
	}
	for name := range next.Destinations {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !reflect.DeepEqual(old.Destinations[name], next.Destinations[name]) { //nolint:govet // resolvers hold errors; a file has none
			destinations = append(destinations, name)
		}
	}
	return sections, destinations
}
