package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/worker/route"
)

// announceTimeout bounds the announcement of a new configuration.
const announceTimeout = 5 * time.Second

// Routing is the part of a configuration that may change while a Worker runs.
type Routing struct {
	Routes []route.Route
	// Sources and LeftToHandlers are as in Options.
	Sources, LeftToHandlers []string
	// MaxBodies is as in Options.
	MaxBodies map[string]int64
	// ConfigHash is as in Options.
	ConfigHash string
}

// routing is the configuration that this process uses for decisions, and its announced identity.
type routing struct {
	table     *route.Table
	routes    string              // digest of the routes
	sources   []string            // sources whose events this process dispatches, or EverySource
	routed    []string            // sources that have no handlers, if Options.LeftToHandlers is given
	announced fleet.Configuration // number 0 before the first announcement
}

// has reports whether this process dispatches events of the source.
func (r *routing) has(source string) bool {
	return slices.Contains(r.sources, source) || slices.Contains(r.sources, route.EverySource)
}

// configuration returns the announced configuration for an event whose job is in the queue.
// ForHandlers is true if the queue belongs to handlers.
func (r *routing) configuration(queue string) fleet.Configuration {
	by := r.announced
	by.ForHandlers = riverjob.IsHandlersQueue(queue)
	return by
}

// compile checks and compiles the routes. If no sources are given, compile uses all sources of the
// new routes and of all earlier ones. An event whose source has lost its last route is therefore
// skipped, not left to other processes.
func (w *Worker) compile(r Routing) (*routing, error) {
	options := w.opts.table(r)
	table, err := route.Compile(options)
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	sources := r.Sources
	if sources == nil {
		if former := w.routing.Load(); former != nil {
			sources = former.sources
		}
		for _, one := range r.Routes {
			sources = append(slices.Clone(sources), one.From...)
		}
	}
	sources = slices.Compact(slices.Sorted(slices.Values(sources)))
	next := &routing{table: table, routes: route.Digest(r.Routes, options.Targets, r.LeftToHandlers, r.MaxBodies), sources: sources}
	if r.LeftToHandlers != nil {
		next.routed = slices.DeleteFunc(slices.Clone(sources), func(source string) bool {
			return source == route.EverySource || slices.Contains(r.LeftToHandlers, source)
		})
	}
	return next, nil
}

// SetRoutes replaces all routes: it calls SetRouting with the Sources, LeftToHandlers and MaxBodies
// of the options. Jobs in progress keep their old routes. Destinations stay as given to New.
func (w *Worker) SetRoutes(routes []route.Route, configHash string) error {
	next := w.opts.routing()
	next.Routes, next.ConfigHash = routes, configHash
	return w.SetRouting(context.Background(), next)
}

// SetRouting replaces the Worker's Routing. It changes nothing if a route is wrong, or if a running
// Worker cannot announce the change. The announcement keeps processes with older routes from
// dispatching later events.
func (w *Worker) SetRouting(ctx context.Context, r Routing) error {
	w.announcing.Lock()
	defer w.announcing.Unlock()
	next, err := w.compile(r)
	if err != nil {
		return err
	}
	former := w.routing.Load()
	if next.routes == former.routes && slices.Equal(next.sources, former.sources) {
		next.announced = former.announced // other processes see no difference
		w.routing.Store(next)
		return nil
	}
	if former.announced.Number > 0 {
		ctx, cancel := context.WithTimeout(ctx, w.limits.announce)
		defer cancel()
		return w.announceRouting(ctx, next)
	}
	w.routing.Store(next)
	return nil
}

// announceRouting announces the process with its next routing, and then applies that routing.
func (w *Worker) announceRouting(ctx context.Context, next *routing) error {
	if w.withdrawn {
		return errors.New("worker: it was stopped")
	}
	announced, err := w.fleet.Announce(ctx, w.presenceWith(next))
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	put := *next
	put.announced = announced
	w.routing.Store(&put)
	return nil
}

// presenceWith returns the announcement of this process. A program that has handlers, and started
// without routes, takes only its handlers' events: see riverQueues.
func (w *Worker) presenceWith(r *routing) fleet.Presence {
	p := fleet.Presence{
		ID: w.opts.ID, Running: time.Since(w.made), ConfigHash: r.table.ConfigHash(), Destinations: w.registered(),
		Hash: r.routes, Routes: r.routes, Accepts: w.opts.Accepts, Last: w.routing.Load().announced,
	}
	if len(w.handlers) > 0 {
		sum := sha256.New()
		for _, h := range w.handlers {
			p.HandlerSources = append(p.HandlerSources, h.source)
			_, _ = fmt.Fprintf(sum, "%q %q\n", h.source, h.types) // writing to a hash cannot fail
		}
		p.Hash += "+" + hex.EncodeToString(sum.Sum(nil))[:8]
	}
	if dispatchesAll(w.opts, len(w.handlers)) {
		p.Sources = slices.Concat(r.sources, p.HandlerSources)
	}
	return p
}

// Announce announces this process's configuration to the other processes, and repeats the
// announcement until Stop. Start does the same. A process that accepts events before it starts its
// Worker calls Announce first, so that no process with an older configuration takes these events.
func (w *Worker) Announce(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return errors.New("announce worker: it was stopped")
	}
	return w.announce(ctx)
}

// announce implements Announce. The caller holds mu.
func (w *Worker) announce(ctx context.Context) error {
	w.sealed = true
	w.announcing.Lock()
	defer w.announcing.Unlock()
	if err := w.announceRouting(ctx, w.routing.Load()); err != nil {
		return err
	}
	if w.presence == nil {
		w.presence = w.stayAnnounced()
	}
	return nil
}

// announceAgain renews the announcement.
func (w *Worker) announceAgain(ctx context.Context) {
	w.announcing.Lock()
	defer w.announcing.Unlock()
	if err := w.announceRouting(ctx, w.routing.Load()); err != nil && ctx.Err() == nil {
		// After half a minute of such failures, the other processes assume that this process has
		// stopped.
		w.telemetry.logger.LogAttrs(ctx, slog.LevelWarn, "process could not announce itself", errAttr(err))
	}
}
