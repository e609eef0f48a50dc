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

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/config"
)

// Reload reads the configuration again and applies sources, routes, secrets and certificates, all
// or nothing: after an error nothing has changed. It logs the parts of the new configuration that
// need a restart.
func (a *App) Reload(ctx context.Context) error {
	if a.opts.Load == nil {
		return errors.New("reload: no configuration file to read again")
	}
	var old, next *config.Config
	var pairs map[string]KeyPair
	unlock, err := a.lockAfter(func(current *config.Config) (err error) {
		old = current
		if next, err = a.opts.Load(); err == nil {
			next = a.opts.overridden(next)
			pairs, err = KeyPairs(next)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("reload: %w", err)
	}
	defer unlock()
	if err := errors.Join(a.refuseEmpty(old, next), a.refuseMoved(old, next)); err != nil {
		return fmt.Errorf("reload: %w", err)
	}
	if err := a.put(ctx, next, pairs); err != nil {
		return fmt.Errorf("reload: %w", err)
	}
	a.warnOfGone(ctx, old, next)
	a.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "configuration reloaded: sources, routes, secrets and certificates are in effect", slog.String(logkey.Path, next.Path()))
	a.warnOfRestart(ctx, next)
	select {
	case <-a.prepared: // until prepared is closed, startup logs the warning itself
		if a.worker != nil {
			a.warnOfUnserved(ctx, next)
		}
	default:
	}
	return nil
}

// put applies the parts of a configuration that need no restart, all or nothing. The parameter
// pairs contains the certificates of next.
func (a *App) put(ctx context.Context, next *config.Config, pairs map[string]KeyPair) error {
	if err := a.refuseExpired(ctx, next, pairs, clock.Now()); err != nil {
		return err
	}
	defer a.lockCells()()
	old := a.config.Load().Whole()
	kept := inEffect(old, next)
	var renewals []func()
	for _, one := range a.all() {
		if one.destinations == nil {
			continue
		}
		renew, err := one.destinations.renewal(kept, slices.Sorted(maps.Keys(renewed(old, next))))
		if err != nil {
			return err
		}
		renewals = append(renewals, renew)
	}
	if err := a.apply(ctx, old, next); err != nil {
		return err
	}
	for _, renew := range renewals {
		renew()
	}
	a.certificates.use(pairs)
	for _, one := range a.all() {
		one.config.Store(kept.InCell(one.cell))
	}
	a.signin.SetSecrets(peopleOf(kept.Admin))
	return nil
}

// lockCells locks the other cells. A cell that announces itself for the first time during a reload
// must announce the next configuration, so it waits until that is stored.
func (a *App) lockCells() (unlock func()) {
	for _, one := range a.cells {
		one.reload.Lock()
	}
	return func() {
		for _, one := range a.cells {
			one.reload.Unlock()
		}
	}
}

// apply changes the workers first and the gateway's sources last. The gateway must not accept an
// event under the new routes before the process has announced them to the other processes. After an
// error, apply restores the old routing.
func (a *App) apply(ctx context.Context, old, next *config.Config) error {
	sources, leaving, err := a.endpoints(next)
	if err != nil {
		return err
	}
	var changed []*App
	back := func(err error) error {
		for _, one := range changed {
			err = errors.Join(err, applyRouting(ctx, one, old))
		}
		return err
	}
	for _, one := range a.all() {
		if err := applyRouting(ctx, one, next); err != nil {
			return back(a.explainRoutes(old, next, err))
		}
		changed = append(changed, one)
	}
	a.askMoves(ctx, leaving)
	if a.gateway != nil {
		if err := a.gateway.SetSources(sources); err != nil {
			return back(err)
		}
	}
	a.moving.all.Store(&leaving)
	return nil
}

// applyRouting announces a configuration to the other processes of a cell, and passes it to the
// cell's worker. The caller must hold one.reload.
func applyRouting(ctx context.Context, one *App, next *config.Config) error {
	part := *next.InCell(one.cell)
	part.Gateway = one.config.Load().Gateway // only a restart changes the gateway, and so the default of max_body
	next = &part
	if one.worker != nil {
		return one.worker.SetRouting(ctx, routingOf(next))
	}
	return one.reannounce(ctx, next)
}

// explainRoutes replaces the error if a route leads to a new destination, because a new destination
// needs a restart. It adds positions in the file to other errors.
func (a *App) explainRoutes(old, next *config.Config, err error) error {
	for _, r := range next.Routes {
		_, known := old.Destinations[r.To]
		if _, added := next.Destinations[r.To]; added && !known {
			return fmt.Errorf("route %q leads to the new destination %q: restart to use it", r.Name, r.To)
		}
	}
	return routeProblems(next, err)
}

// reloaded returns the certificate files that a listener uses after a reload. A reload may change
// the files, but cannot switch TLS on or off.
func reloaded(old, next *config.KeyPair) *config.KeyPair {
	if old == nil || next == nil {
		return old
	}
	return next
}

// renewed returns the destinations whose secrets change, with the new secrets and all other
// settings as before. Changes of the other settings need a restart.
func renewed(old, next *config.Config) map[string]config.Destination {
	changed := map[string]config.Destination{}
	for name := range next.Destinations {
		former, known := old.Destinations[name]
		if merged, ok := old.WithSecrets(next, name); known && ok && !same(former, merged) {
			changed[name] = merged
		}
	}
	return changed
}

// inEffect returns the configuration with which a process continues after a reload: next, except
// for the parts of old that only a restart can change.
func inEffect(old, next *config.Config) *config.Config {
	kept := *next
	kept.Database, kept.Gateway, kept.Admin, kept.Worker, kept.HA, kept.Alerts = old.Database, old.Gateway, old.Admin, old.Worker, old.HA, old.Alerts
	kept.Database.URL, kept.Database.DirectURL = loginOf(old.Database.URL, next.Database.URL), loginOf(old.Database.DirectURL, next.Database.DirectURL)
	kept.Database.ReadURL = loginOf(old.Database.ReadURL, next.Database.ReadURL)
	kept.Cells = maps.Clone(old.Cells)
	for name, db := range kept.Cells {
		now := next.Cells[name]
		db.URL, db.DirectURL, db.ReadURL = loginOf(db.URL, now.URL), loginOf(db.DirectURL, now.DirectURL), loginOf(db.ReadURL, now.ReadURL)
		kept.Cells[name] = db
	}
	kept.Gateway.TLS, kept.Admin.TLS = reloaded(old.Gateway.TLS, next.Gateway.TLS), reloaded(old.Admin.TLS, next.Admin.TLS)
	if old.Admin.Asks() && next.Admin.Asks() { // only a restart can change whether authentication is required
		kept.Admin.Token, kept.Admin.Tokens = next.Admin.Token, next.Admin.Tokens
	}
	former, changed := old.Admin.Auth.OIDC, next.Admin.Auth.OIDC
	if former != nil && changed != nil && former.Issuer == changed.Issuer && former.ClientID == changed.ClientID { // otherwise, the secret is for another provider
		oidc := *former
		oidc.ClientSecret = changed.ClientSecret
		kept.Admin.Auth.OIDC = &oidc
	}
	kept.Retention.Export = old.Retention.Export
	kept.Destinations = maps.Clone(old.Destinations)
	maps.Copy(kept.Destinations, renewed(old, next))
	return &kept
}

// warnOfRestart logs the sections and destinations of a configuration that are not in effect.
func (a *App) warnOfRestart(ctx context.Context, next *config.Config) {
	sections, destinations := waiting(a.config.Load().Whole(), next)
	if len(destinations) > 0 {
		a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "destinations changed; they take effect after a restart",
			slog.String(logkey.Destination, strings.Join(destinations, ", ")))
	}
	if len(sections) > 0 {
		a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "other sections changed too; they take effect after a restart", slog.String(logkey.Reason, strings.Join(sections, ", ")))
	}
}

// waiting returns the sections and destinations in which kept, the configuration in effect, differs
// from next. Their changes wait for a restart.
func waiting(kept, next *config.Config) (sections, destinations []string) {
	for _, section := range []struct {
		name       string
		kept, next any
	}{
		{"database", kept.Database, next.Database},
		{"cells", kept.Cells, next.Cells},
		{"ha", kept.HA, next.HA},
		{"gateway", kept.Gateway, next.Gateway},
		{"admin", kept.Admin, next.Admin},
		{"worker", kept.Worker, next.Worker},
		{"retention.export", kept.Retention.Export, next.Retention.Export},
		{"alerts", kept.Alerts, next.Alerts},
	} {
		if !reflect.DeepEqual(section.kept, section.next) {
			sections = append(sections, section.name)
		}
	}
	names := maps.Clone(kept.Destinations)
	maps.Copy(names, next.Destinations)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !same(kept.Destinations[name], next.Destinations[name]) {
			destinations = append(destinations, name)
		}
	}
	return sections, destinations
}

func same(a, b config.Destination) bool {
	return reflect.DeepEqual(a, b) //nolint:govet // only a resolver contains errors, and no file sets one
}
