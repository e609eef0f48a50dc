package backfill

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/coverage"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// handle recovers the missing events among items, in the order in which they happened. The argument
// behind, the pass's position after all items, is committed with the last batch, unless the order
// is partial. If the pass is lost before that commit, the next pass begins at the position that the
// last completed call of handle committed.
func (p *pass) handle(ctx context.Context, items []Item, behind coverage.Move) error {
	items = once(items)
	slices.SortStableFunc(items, func(a, b Item) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(len(a.Ref), len(b.Ref)), cmp.Compare(a.Ref, b.Ref))
	})
	left := len(items)
	for batch := range slices.Chunk(items, batchItems) {
		move := p.move
		if left -= len(batch); left == 0 && !p.order.partial() {
			move = behind
		}
		missing, err := p.sift(ctx, batch)
		if err != nil {
			return err
		}
		p.stored = 0
		if err := p.bring(ctx, missing, move); err != nil {
			return err
		}
		p.rest(ctx, p.stored, (left+batchItems-1)/batchItems)
		if p.order.Limit > 0 && p.run.Missing >= int64(p.order.Limit) {
			return errLimit
		}
		if err := ctx.Err(); err != nil {
			return errBudget
		}
	}
	if len(items) > 0 || p.order.partial() {
		return nil
	}
	return p.accept(ctx, nil, behind)
}

// once keeps one delivery of each event, the first one listed. If the provider reports any of the
// deliveries as delivered, once marks the kept item as delivered. The kept item gets the earliest
// time of the deliveries. once also drops items that appear twice because pages shifted while they
// were read.
func once(items []Item) []Item {
	at := map[string]int{}
	var kept []Item
	for _, i := range items {
		name := i.Ref
		if len(i.Events) == 1 {
			name = i.Events[0].ID
		}
		before, twice := at[name]
		if !twice || name == "" {
			at[name] = len(kept)
			kept = append(kept, i)
			continue
		}
		if i.State == Delivered {
			kept[before].State = Delivered
		}
		if i.At.Before(kept[before].At) {
			kept[before].At = i.At // when the event happened, not when its delivery was last tried
		}
	}
	return kept
}

// sift counts the items of a batch by their fate, and returns the missing ones.
func (p *pass) sift(ctx context.Context, batch []Item) ([]*Item, error) {
	var ids []identity.EventID
	for n := range batch {
		ids = append(ids, batch[n].ids()...)
	}
	known, err := p.b.opts.Outbox.Known(ctx, p.sourceID(), ids)
	if err != nil {
		return nil, err
	}
	var missing []*Item
	for n := range batch {
		i := &batch[n]
		p.run.Listed++
		fate := p.judge(i, known)
		switch fate {
		case FateKnown:
			p.run.Known++
		case FateFiltered:
			p.run.Filtered++
		case FateInvalid:
			p.run.Invalid++
		case FateMissing:
			p.run.Missing++
			if p.run.Oldest.IsZero() || i.At.Before(p.run.Oldest) {
				p.run.Oldest = i.At
			}
			if i.At.After(p.run.Newest) {
				p.run.Newest = i.At
			}
			missing = append(missing, i)
		}
		p.met(i, fate)
	}
	return missing, nil
}

// bring fetches the missing items or requests their redelivery, and then commits move. If nothing
// is missing or the pass only reports, bring only commits move.
func (p *pass) bring(ctx context.Context, missing []*Item, move coverage.Move) error {
	if p.reports() || len(missing) == 0 {
		return p.accept(ctx, nil, move)
	}
	via := cmp.Or(p.order.Via, p.source.Settings.Via)
	if p.list.Redeliver != "" && via != ViaPull {
		return p.redeliver(ctx, missing, move)
	}
	return p.pull(ctx, missing, move)
}

// pull fetches the missing items from the list, stores the usable ones and commits move.
func (p *pass) pull(ctx context.Context, missing []*Item, move coverage.Move) error {
	var whole []*Item
	for _, i := range missing {
		if err := p.fetch(ctx, i); err != nil {
			return err
		}
		switch {
		case i.invalid != nil || i.request == nil:
			p.run.Invalid++
		case p.isTest(i):
			p.run.Filtered++
		default:
			whole = append(whole, i)
		}
	}
	return p.accept(ctx, whole, move)
}

// accept stores items and commits move, in one transaction. In a dry run, it does nothing. If the
// commit fails, accept does not change the pass's position: a position that the pass records later
// must not skip events that are not stored.
func (p *pass) accept(ctx context.Context, items []*Item, move coverage.Move) error {
	if p.dry() {
		return nil
	}
	deliveries := make([]outbox.Delivery, len(items))
	var ids []identity.EventID
	for n, i := range items {
		deliveries[n] = p.delivery(i)
		ids = append(ids, i.ids()...)
	}
	before, began := p.run.Counts, time.Now()
	_, _, err := p.b.opts.Outbox.AcceptTogether(ctx, deliveries, func(ctx context.Context, tx pgx.Tx, came []outbox.Acceptance) error {
		p.run.Counts = before
		for n, a := range came {
			p.run.Recovered += int64(a.New())
			if a.New() > 0 && items[n].Altered != "" {
				p.run.Altered++
			}
			if len(a.Events) == 0 {
				p.run.Invalid++ // the event's id or type cannot be stored
			}
		}
		if err := p.coverage().MoveTx(ctx, tx, p.row, move); err != nil {
			return err
		}
		if len(ids) > 0 {
			if _, err := p.coverage().EndTx(ctx, tx, p.sourceID(), ids, coverage.RedeliveryFetched); err != nil {
				return err
			}
		}
		return p.coverage().NoteRunTx(ctx, tx, p.run, false)
	})
	if err != nil {
		p.run.Counts = before
		return err
	}
	if p.move = move; len(items) > 0 {
		p.stored = time.Since(began)
	}
	if p.count(ctx); p.order.Progress != nil {
		p.order.Progress(*p.run)
	}
	return nil
}
