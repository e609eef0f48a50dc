package backfill

import (
	"context"
	"log/slog"
	"time"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// maxHeld limits the stored events that are compared with one slice of a list.
const maxHeld = 1_000

// compares reports whether a pass looks for stored events that the list does not contain. The
// list must contain all events of the source: one account's list of events, not of deliveries.
// A list may show an event late, so only the pass over the complete window compares.
func (p *pass) compares(deep bool) bool {
	return deep && !p.dry() && p.list.State == "" && len(p.source.Settings.Accounts) == 0
}

// compareHeld counts the events of one slice that a webhook delivered and that the list does
// not contain. If there are any, either the token belongs to a different account than the webhook,
// or a third party knows the signing secret. The events stay unchanged, because an operator must
// decide about them.
func (p *pass) compareHeld(ctx context.Context, items []Item, since, until time.Time) error {
	if soon := p.run.Until.Add(-p.source.Settings.Overlap); until.After(soon) {
		until = soon
	}
	if !since.Before(until) {
		return nil
	}
	held, err := p.b.opts.Outbox.Finder().Events(ctx, find.Events{Source: p.sourceID(), Span: find.Span{Since: since, Until: until}}, "", maxHeld)
	if err != nil {
		return err
	}
	listed := map[identity.EventID]bool{}
	for n := range items {
		for _, id := range items[n].ids() {
			listed[id] = true
		}
	}
	for _, e := range held.Rows {
		if e.Origin != identity.Webhook || e.OccurredAt.Before(since) || !e.OccurredAt.Before(until) || listed[e.EventID] || !p.wants(e.Type) {
			continue
		}
		if p.run.Unlisted++; p.run.UnlistedEvent == "" {
			p.run.UnlistedEvent = e.EventID
		}
	}
	return nil
}

// tellUnlisted logs how many events compareHeld counted, and the id of one of them.
func (p *pass) tellUnlisted(ctx context.Context) {
	if p.run.Unlisted > 0 {
		p.b.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "a webhook delivered events that the list of the provider does not contain",
			slog.String(logkey.Source, p.source.Name), slog.Int64(logkey.Run, p.run.ID), slog.Int64(logkey.Count, p.run.Unlisted), slog.String(logkey.EventID, string(p.run.UnlistedEvent)))
	}
}
