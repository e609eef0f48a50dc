package app

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/backfill"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// BackfillOf are the sources whose provider is asked what its webhooks did not bring.
func BackfillOf(cfg *config.Config) []backfill.Source {
	var sources []backfill.Source
	for _, name := range slices.Sorted(maps.Keys(cfg.Sources)) {
		s := cfg.Sources[name]
		if s.Backfill == nil {
			continue
		}
		p, err := s.Sender()
		if err != nil {
			continue // it was checked
		}
		sources = append(sources, backfill.Source{
			Name: name, Provider: p, URL: endpointURL(cfg, name), Handlers: s.Handlers, ContentWindow: s.DedupWindow, Livemode: s.Livemode, Settings: *s.Backfill,
			Remembered: s.Retention.Dedup,
		})
	}
	return sources
}

// endpointURL is what the provider was given, as far as the configuration says it.
func endpointURL(cfg *config.Config, source string) string {
	switch own := cfg.Sources[source].PublicURL; {
	case own != "":
		return own
	case cfg.Gateway.PublicURL != "":
		return strings.TrimSuffix(cfg.Gateway.PublicURL, "/") + "/webhooks/" + source
	}
	return ""
}

// MakeBackfill makes the passes over the lists that a configuration names.
func MakeBackfill(opts backfill.Options, box *outbox.Outbox, cfg func() *config.Config) (*backfill.Backfill, error) {
	opts.Outbox = box
	opts.Sources = func() []backfill.Source { return BackfillOf(cfg()) }
	made, err := backfill.New(opts)
	if err != nil {
		return nil, fmt.Errorf("backfill: %w", err)
	}
	return made, nil
}

// hurryBackfill has the lists read soon: while no gateway was there something may have
// been missed.
func (a *App) hurryBackfill(ctx context.Context) {
	var sources []identity.Source
	for _, s := range BackfillOf(a.config.Load()) {
		sources = append(sources, identity.Source(s.Name))
	}
	if len(sources) == 0 {
		return
	}
	if err := a.outbox.Coverage().Hurry(ctx, sources); err != nil {
		a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "the lists of providers are read at their time, not at once", slog.Any(logkey.Err, err))
	}
}
