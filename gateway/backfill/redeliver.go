package backfill

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/coverage"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

const (
	// maxTries limits how often a redelivery is requested before the event is pulled. Without
	// a limit, a delivery that our gateway refuses would be requested forever.
	maxTries = 3
	// arrivesWithin is the time after which a redelivery that did not arrive is requested again. If
	// Settings.Every is shorter, that time applies instead.
	arrivesWithin = time.Minute
	// maxWaiting limits the outstanding redeliveries that one pass checks and requests.
	maxWaiting = 1_000
)

// redeliver requests the redelivery of missing items, unless one is already outstanding. Each
// request is recorded before it is sent: if the process is lost in between, the try is counted and
// the next pass sees it.
func (p *pass) redeliver(ctx context.Context, missing []*Item, move coverage.Move) error {
	var asked []coverage.Redelivery
	for _, i := range missing {
		if id := identity.EventID(i.Events[0].ID); !p.waiting[id] {
			asked = append(asked, coverage.Redelivery{EventID: id, Ref: i.Ref, HappenedAt: i.At})
		}
	}
	return p.ask(ctx, asked, move)
}

// ask requests redeliveries, and then commits move. While no gateway can receive them, or more than
// maxWaiting are outstanding, ask only records that they are needed: it sends no request and counts
// no try.
func (p *pass) ask(ctx context.Context, asked []coverage.Redelivery, move coverage.Move) error {
	tries, err := p.coverage().Ask(ctx, p.row.Stream, asked...)
	if err != nil {
		return err
	}
	for _, r := range asked {
		if !p.gateway || len(p.waiting) > maxWaiting {
			break
		}
		tried, open := tries[r.EventID]
		if !open {
			continue // the redelivery has ended
		}
		p.waiting[r.EventID] = true
		r.Tries = tried + 1
		if _, err := p.coverage().Ask(ctx, p.row.Stream, r); err != nil {
			return err
		}
		_, err := p.call(ctx, http.MethodPost, p.expand(p.list.Redeliver, query{}, r.Ref))
		if refusal, is := errors.AsType[*statusError](err); is && refusal.status != http.StatusUnauthorized && refusal.status != http.StatusForbidden {
			continue // the provider refuses; after the last try, the event is pulled
		}
		if err != nil {
			return err
		}
		p.run.Asked++
	}
	return p.accept(ctx, nil, move)
}

// settleRedeliveries records the requested redeliveries that have arrived. It requests the
// others again when they are due, or pulls their events after maxTries.
func (p *pass) settleRedeliveries(ctx context.Context) error {
	if p.reports() || p.list.Redeliver == "" {
		return nil
	}
	waiting, err := p.coverage().Waiting(ctx, p.row.Stream, maxWaiting)
	if err != nil || len(waiting) == 0 {
		return err
	}
	ids := make([]identity.EventID, len(waiting))
	for n, r := range waiting {
		ids[n] = r.EventID
	}
	known, err := p.b.opts.Outbox.Known(ctx, p.sourceID(), ids)
	if err != nil {
		return err
	}
	var arrived []identity.EventID
	var again []coverage.Redelivery
	for _, r := range waiting {
		p.waiting[r.EventID] = true
		switch {
		case known[r.EventID]:
			arrived = append(arrived, r.EventID)
		case r.Tries >= maxTries && p.row.Now.Sub(r.AskedAt) >= min(arrivesWithin, p.source.Settings.Every):
			if err := p.pullWaiting(ctx, r); err != nil {
				return err
			}
		case r.AskedAt.IsZero() || p.row.Now.Sub(r.AskedAt) >= min(arrivesWithin, p.source.Settings.Every):
			again = append(again, r)
		}
	}
	if len(arrived) > 0 {
		if err := p.coverage().EndRedeliveries(ctx, p.run, arrived, coverage.RedeliveryArrived, &p.run.Recovered); err != nil {
			return err
		}
	}
	return p.ask(ctx, again, p.move)
}

// pullWaiting fetches an event whose redelivery never arrived. If the provider no longer has the
// event, or its content is not usable, pullWaiting records the event as lost.
func (p *pass) pullWaiting(ctx context.Context, r coverage.Redelivery) error {
	i := &Item{Ref: r.Ref, At: r.HappenedAt, Events: []provider.Event{{ID: string(r.EventID)}}}
	err := p.fetch(ctx, i)
	if refusal, is := errors.AsType[*statusError](err); is && (refusal.status == http.StatusNotFound || refusal.status == http.StatusGone) || err == nil && (i.invalid != nil || i.request == nil) {
		return p.coverage().EndRedeliveries(ctx, p.run, []identity.EventID{r.EventID}, coverage.RedeliveryLost, &p.run.Lost)
	}
	if err != nil {
		return err
	}
	return p.accept(ctx, []*Item{i}, p.move)
}
