package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/config"
)

// lacks describes the settings that a configuration lacks for the parts of this process, with
// advice. It returns "" if nothing is missing, or if allow_empty is set.
func (a *App) lacks(cfg *config.Config) string {
	var missing []string
	if a.opts.Gateway && len(cfg.Whole().Sources) == 0 {
		missing = append(missing, "the configuration has no sources, so no delivery is accepted")
	}
	if a.opts.Worker && len(cfg.Routes) == 0 && a.opts.Handle == nil {
		missing = append(missing, "the configuration has no routes, so no event is dispatched")
	}
	if len(missing) == 0 || cfg.AllowEmpty {
		return ""
	}
	return strings.Join(missing, "; ") + ": add them, or set allow_empty: true if this is intended"
}

// refuseEmpty refuses a configuration that removes the last source of a gateway, or the last route
// of a worker, unless allow_empty is set. Such a file is most likely incomplete.
func (a *App) refuseEmpty(old, next *config.Config) error {
	if next.AllowEmpty {
		return nil
	}
	var errs []error
	refuse := func(what string, before, after int) {
		if before > 0 && after == 0 {
			errs = append(errs, fmt.Errorf("%s: has no %s, and the configuration in effect has %d; set allow_empty: true if this is intended", next.Path(), what, before))
		}
	}
	if a.gateway != nil {
		refuse("sources", len(old.Sources), len(next.Sources))
	}
	if a.worker != nil {
		refuse("routes", len(old.Routes), len(next.Routes))
	}
	return errors.Join(errs...)
}

// warnOfGone logs the sources, routes and destinations that a reload removed.
func (a *App) warnOfGone(ctx context.Context, old, next *config.Config) {
	routes := func(cfg *config.Config) map[string]bool {
		names := make(map[string]bool, len(cfg.Routes))
		for _, r := range cfg.Routes {
			names[r.Name] = true
		}
		return names
	}
	var attrs []slog.Attr
	for _, attr := range []slog.Attr{
		slog.String(logkey.Source, gone(old.Sources, next.Sources)),
		slog.String(logkey.Route, gone(routes(old), routes(next))),
		slog.String(logkey.Destination, gone(old.Destinations, next.Destinations)),
	} {
		if attr.Value.String() != "" {
			attrs = append(attrs, attr)
		}
	}
	if len(attrs) > 0 {
		a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "the reloaded configuration lacks parts of the previous one", attrs...)
	}
}

// gone returns a sorted list of the names in old that are not in next, separated by commas.
func gone[V any](old, next map[string]V) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if _, kept := next[name]; !kept {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
