package runs

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// batchSize is how many effects share a transaction, at most.
const batchSize = 200

// effects does what is ordered to the effects that the run has not come to yet.
func (s *shift) effects(ctx context.Context) error {
	from, err := ledger.ParsePlace(s.run.place)
	if err != nil {
		return err
	}
	size := batchSize
	if s.run.PerSecond > 0 { // about one batch in a second
		size = int(min(max(s.run.PerSecond, 1), batchSize))
	}
	by := s.run.By
	if by.Reason != "" {
		by.Reason += " "
	}
	by.Reason += fmt.Sprintf("(run %d)", s.ID)
	seen := seenOf(s.run.Counts)
	return s.opts.Ledger.EachBatch(ctx, s.run.Action, s.run.Effects, from, &seen, size, func(batch []ledger.SelectedEffect, at ledger.Place) error {
		if len(batch) == 0 {
			s.run.saw(seen)
			return s.passed(ctx, at.String())
		}
		if err := s.mayNot(seen.Selected); err != nil {
			return err
		}
		if err := s.wait(ctx); err != nil {
			return err
		}
		s.run.saw(seen)
		return s.step(ctx, at.String(), len(batch), func(ctx context.Context, tx pgx.Tx) (int64, int64, error) {
			came, err := s.opts.Ledger.ActOnTx(ctx, tx, s.run.Action, s.run.Effects, by, batch)
			return came.Affected, 0, err
		})
	})
}

// events replays the events that the run has not come to yet, each in a transaction of
// its own: two replays that lock the effects of their events in another order would wait
// for each other.
func (s *shift) events(ctx context.Context, match func(*inbox.Event) (bool, error)) error {
	after, err := eventPlace(s.run.place)
	if err != nil {
		return err
	}
	opts := inbox.ReplayOptions{NewKeys: s.run.Events.NewKeys, Route: s.run.Events.Route, Run: s.ID}
	last := s.run.Events.Last
	return s.opts.Inbox.EachReplayable(ctx, s.run.filter(match), after, last, func(c inbox.Candidate) error {
		if !c.Yes {
			s.run.judged(c)
			return nil
		}
		if err := s.mayNot(s.run.Selected + 1); err != nil {
			return err
		}
		if err := s.wait(ctx); err != nil {
			return err
		}
		s.run.judged(c)
		return s.step(ctx, strconv.FormatInt(c.AcceptSeq, 10), 1, func(ctx context.Context, tx pgx.Tx) (int64, int64, error) {
			replayed, err := s.opts.Inbox.ReplayTx(ctx, tx, c.EventRef, s.run.By, opts)
			if errors.Is(err, inbox.ErrNotReplayable) || errors.Is(err, ledger.ErrNotFound) { // somebody was faster
				return 0, 0, nil
			}
			return 1, int64(replayed.Reopened), err
		})
	}, func(place int64) error { return s.passed(ctx, strconv.FormatInt(place, 10)) })
}
