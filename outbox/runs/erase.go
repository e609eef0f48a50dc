package runs

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// erase erases an event. With Cancel, its unfinished effects are cancelled first, in separate
// transactions.
func erase(ctx context.Context, s *shift, place string, some []find.Found) error {
	order, asked := erasure.Order{Run: s.run.ID, Cancel: s.run.Cancel}, s.run.Events
	asked.Content, order.Searched = asked.Content.Concealed(s.run.By.RequestID)
	order.Filter, order.Received = asked, some[0].At
	for try := 1; ; try++ {
		err := s.step(ctx, place, 1, func(ctx context.Context, tx pgx.Tx) (Counts, error) {
			s.run.Erased = nil
			came, err := s.opts.Erasure.EventTx(ctx, tx, some[0].Event, s.run.By, order)
			_, unfinished := errors.AsType[*erasure.UnfinishedError](err)
			switch {
			case unfinished && (!order.Cancel || try == erasure.Tries):
				return Counts{Came: Came{Unfinished: 1}}, nil
			case errors.Is(err, ledger.ErrNotFound): // retention deleted it first
				return Counts{}, nil
			case err != nil:
				return Counts{}, err
			}
			s.run.Erased = []Erased{{Event: some[0].Event, Erased: came}}
			return Counts{Changed: 1}, nil
		})
		s.run.Erased = nil
		unfinished, is := errors.AsType[*erasure.UnfinishedError](err)
		if !is {
			return err
		}
		if err := s.opts.Erasure.GiveUp(ctx, unfinished, s.run.By); err != nil {
			return err
		}
	}
}

// eraseRest deletes the River jobs of all events that a run has erased, whichever process erased
// them. It also erases these events in the export.
func eraseRest(ctx context.Context, r *Runs, run Run, still func(context.Context) error) error {
	if err := r.opts.Erasure.JobsOfRun(ctx, run.ID, still); err != nil {
		return err
	}
	return r.opts.Erasure.Exported(ctx, still)
}
