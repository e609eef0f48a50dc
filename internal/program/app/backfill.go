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

// BackfillOf returns the configured sources that have backfill settings.
func BackfillOf(cfg *config.Config) []backfill.Source {
	var sources []backfill.Source
	for _, name := range slices.Sorted(maps.Keys(cfg.Sources)) {
		s := cfg.Sources[name]
		if s.Backfill == nil {
			continue
		}
		p, err := s.Sender()
		if err != nil {
			continue // the configuration check already reports the error
		}
		sources = append(sources, backfill.Source{
			Name: name, Provider: p, URL: endpointURL(cfg, name), Handlers: s.Handlers, Livemode: s.Livemode, Settings: *s.Backfill,
			Remembered: s.Retention.Dedup,
		})
	}
	return sources
}

// endpointURL returns the URL that the operator gave the provider, or "" if the configuration does
// not contain it.
func endpointURL(cfg *config.Config, source string) string {
	switch own := cfg.Sources[source].PublicURL; {
	case own != "":
		return own
	case cfg.Gateway.PublicURL != "":
		return strings.TrimSuffix(cfg.Gateway.PublicURL, "/") + "/webhooks/" + source
	}
	return ""
}

// MakeBackfill creates a Backfill. The Backfill calls cfg whenever it needs the sources, so it
// follows changes of the configuration.
func MakeBackfill(opts backfill.Options, box *outbox.Outbox, cfg func() *config.Config) (*backfill.Backfill, error) {
	opts.Outbox = box
	opts.Sources = func() []backfill.Source { return BackfillOf(cfg()) }
	made, err := backfill.New(opts)
	if err != nil {
		return nil, fmt.Errorf("backfill: %w", err)
	}
	return made, nil
}

// hurryBackfill makes the passes over provider lists due immediately: webhooks may have been missed
// while no gateway ran.
func (a *App) hurryBackfill(ctx context.Context) {
	var sources []identity.Source
	for _, s := range BackfillOf(a.storing()) {
		sources = append(sources, identity.Source(s.Name))
	}
	if len(sources) == 0 {
		return
	}
	if err := a.outbox.Coverage().Hurry(ctx, sources); err != nil {
		a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "provider lists are read on schedule, not immediately", slog.Any(logkey.Err, err))
	}
}
