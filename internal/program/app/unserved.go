package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/fleet"
)

// Unserved describes waiting effects whose destination or route a configuration lacks.
type Unserved struct {
	Destination string // missing destination; empty if only the route is missing
	Route       string // missing route; empty if the destination is missing
	Effects     int64
	Since       time.Time
	Unrendered  int64 // effects that only the missing route could render; they will be parked
}

// String describes the waiting effects, with the missing destination or route.
func (u Unserved) String() string {
	waits := fmt.Sprintf("%d effects have waited", u.Effects)
	if u.Effects == 1 {
		waits = "1 effect has waited"
	}
	waits += " since " + u.Since.UTC().Format(time.RFC3339)
	if u.Destination != "" {
		return fmt.Sprintf("%s for destination %q, which is not in the configuration", waits, u.Destination)
	}
	return fmt.Sprintf("%s, created by route %q, which is not in the configuration; the %d not rendered yet will be parked",
		waits, u.Route, u.Unrendered)
}

// Fix returns advice: to configure the destination or route again, or to retire the destination.
func (u Unserved) Fix() string {
	if u.Destination != "" {
		return "add it again, or run: hooklatch destinations retire " + u.Destination
	}
	return "to have them rendered, add the route again until they are done"
}

// FindUnserved compares the waiting effects with a configuration. A missing route is reported only
// if some of its effects are not rendered yet: rendered effects are sent anyway.
func FindUnserved(cfg *config.Config, waiting []fleet.Waiting) []Unserved {
	routes := map[string]bool{"": true} // effects that the application enqueued have no route
	for _, r := range cfg.Routes {
		routes[r.Name] = true
	}
	alerted := map[string]bool{}
	for _, to := range cfg.Alerts.To {
		alerted[alarmDestination(to.Destination)] = true
	}
	var found []Unserved
	at := map[string]int{} // index in found, by destination
	for _, w := range waiting {
		if _, served := cfg.Destinations[w.Destination]; served || alerted[w.Destination] {
			if !routes[w.Route] && w.Unrendered > 0 {
				found = append(found, Unserved{Route: w.Route, Effects: w.Effects, Since: w.Since, Unrendered: w.Unrendered})
			}
			continue
		}
		i, seen := at[w.Destination]
		if !seen {
			i = len(found)
			at[w.Destination] = i
			found = append(found, Unserved{Destination: w.Destination, Since: w.Since})
		}
		found[i].Effects += w.Effects
		if w.Since.Before(found[i].Since) {
			found[i].Since = w.Since
		}
	}
	return found
}

// warnOfUnserved logs effects that wait for a destination or route that cfg lacks.
func (a *App) warnOfUnserved(ctx context.Context, cfg *config.Config) {
	waiting, err := a.outbox.Fleet().Waiting(ctx)
	if err != nil {
		a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "could not check for effects without a destination", slog.Any(logkey.Err, err))
		return
	}
	for _, u := range FindUnserved(cfg, waiting) {
		name := slog.String(logkey.Destination, u.Destination)
		if u.Destination == "" {
			name = slog.String(logkey.Route, u.Route)
		}
		a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, u.String(), name, slog.Int64(logkey.Count, u.Effects), slog.String(logkey.Reason, u.Fix()))
	}
}
