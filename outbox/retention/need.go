package retention

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/commit"
)

// needTimeout limits the statement need.sql. The statement reads all effects that wait or may be
// attempted again, and takes a few seconds per million effects. needTimeout also limits the
// thinning of a day.
const needTimeout = 25 * time.Second

// underWay is longer than any dispatch takes. An event's dispatch time is the time at which its
// dispatch began. If a dispatch commits after the needs were read, it therefore began at most
// underWay before the reading.
const underWay = time.Hour

// needs holds the events that effects need, by accept_seq in ascending order.
type needs struct {
	since    time.Time // an event dispatched since this time may have effects missing here
	events   []int64
	payloads []int64 // events whose delivery an effect sends
}

// behind returns at most count needed events: the first ones whose position is above after.
func (n *needs) behind(after int64, count int) []int64 {
	at, _ := slices.BinarySearch(n.events, after+1)
	return n.events[at:min(at+count, len(n.events))]
}

// complete returns the position up to which the result of behind is complete, but at most until.
// Some needed positions belong to no event, so a slice of count events can reach beyond the first
// count needed positions.
func (n *needs) complete(after, until int64, count int) int64 {
	first := n.behind(after, count)
	if len(first) < count {
		return until
	}
	return min(until, first[len(first)-1])
}

// need reads the current needs of effects.
func (r *run) need(ctx context.Context) (*needs, error) {
	var n needs
	err := r.db.Do(ctx, "read_needs", commit.Limits{Statement: needTimeout, Timeout: needTimeout, Recurring: true}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		n = needs{}
		if err := r.sql.Clock.QueryRow(ctx, tx).Scan(&n.since); err != nil {
			return err
		}
		n.since = n.since.Add(-underWay)
		rows, err := r.sql.Need.Query(ctx, tx)
		if err != nil {
			return err
		}
		var seq int64
		var payload bool
		_, err = pgx.ForEachRow(rows, []any{&seq, &payload}, func() error {
			n.events = append(n.events, seq)
			if payload {
				n.payloads = append(n.payloads, seq)
			}
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read what effects need: %w", err)
	}
	return &n, nil
}

// arrived is an event with its arrival time.
type arrived struct {
	acceptSeq  int64
	receivedAt time.Time
}

type arrivals []arrived

// during returns the events that arrived on a day.
func (a arrivals) during(p partition) []int64 {
	var events []int64
	for _, one := range a {
		if !one.receivedAt.Before(p.day) && one.receivedAt.Before(p.end()) {
			events = append(events, one.acceptSeq)
		}
	}
	return events
}

// whenTheyCame reads the arrival times of events.
func (r *run) whenTheyCame(ctx context.Context, events []int64) (arrivals, error) {
	rows, err := r.sql.WhenTheyCame.With(keepEvents{Events: events}).Query(ctx, byIndex(r))
	if err != nil {
		return nil, fmt.Errorf("look up when events arrived: %w", err)
	}
	came, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (arrived, error) {
		var one arrived
		err := row.Scan(&one.acceptSeq, &one.receivedAt)
		return one, err
	})
	if err != nil {
		return nil, fmt.Errorf("look up when events arrived: %w", err)
	}
	return came, nil
}
