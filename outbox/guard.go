package outbox

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// guardKey names a row of replay_guards or content_guards.
type guardKey struct {
	source string
	hash   [sha256.Size]byte
}

// guards is what the guards of a batch say, for the few sources that use them.
type guards struct {
	// replayed are the arrivals, by index, whose proof came before.
	replayed map[int]bool
	// repeats are the events, by index of arrival and event, whose content is
	// that of another event.
	repeats map[[2]int]repeated
}

// repeated is the event whose content another one repeats.
type repeated struct {
	id           string
	acceptanceID uuid.UUID
	acceptedAt   time.Time
}

// guard writes the guards of the batch. They come before the events, in every
// transaction, so that two of them cannot deadlock.
//
// A refused arrival opens no content window: what it would stand for is not
// stored.
func (o *Outbox) guard(ctx context.Context, tx pgx.Tx, batch []arrival) (guards, error) {
	var g guards
	var err error
	if g.replayed, err = o.guardReplays(ctx, tx, batch); err != nil {
		return guards{}, err
	}
	if g.repeats, err = o.guardContent(ctx, tx, batch, g.replayed); err != nil {
		return guards{}, err
	}
	return g, nil
}

// refuses tells whether new events of arrival i must not be stored.
func (g guards) refuses(batch []arrival, i int) bool {
	return g.replayed[i] && batch[i].ReplayGuard.Refuse
}

func (o *Outbox) guardReplays(ctx context.Context, tx pgx.Tx, batch []arrival) (map[int]bool, error) {
	var sources []string
	var hashes [][]byte
	var ids []uuid.UUID
	first := make(map[guardKey]int)
	replayed := make(map[int]bool)
	for i, a := range batch {
		if a.ReplayGuard == nil || len(a.ReplayGuard.Proof) == 0 {
			continue
		}
		key := guardKey{source: a.Source, hash: sha256.Sum256(a.ReplayGuard.Proof)}
		if _, twice := first[key]; twice {
			replayed[i] = true
			continue
		}
		first[key] = i
		sources, hashes, ids = append(sources, a.Source), append(hashes, key.hash[:]), append(ids, a.deliveryID)
	}
	if len(sources) == 0 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, o.sql.replayGuard, sources, hashes, ids)
	if err != nil {
		return nil, fmt.Errorf("guard against replays: %w", err)
	}
	isNew, err := collectGuards(rows)
	if err != nil {
		return nil, fmt.Errorf("guard against replays: %w", err)
	}
	for key, i := range first {
		if !isNew[key] {
			replayed[i] = true
		}
	}
	return replayed, nil
}

func (o *Outbox) guardContent(ctx context.Context, tx pgx.Tx, batch []arrival, replayed map[int]bool) (map[[2]int]repeated, error) {
	var sources, eventIDs []string
	var hashes [][]byte
	var ids []uuid.UUID
	var windows []float64
	events := make(map[guardKey][][2]int)
	for i, a := range batch {
		if a.ContentWindow <= 0 || replayed[i] && a.ReplayGuard.Refuse {
			continue
		}
		for j, in := range a.Events {
			key := guardKey{source: a.Source, hash: [sha256.Size]byte(a.hashes[j])}
			events[key] = append(events[key], [2]int{i, j})
			if len(events[key]) > 1 {
				continue
			}
			sources, eventIDs, hashes = append(sources, a.Source), append(eventIDs, in.ID), append(hashes, a.hashes[j])
			ids, windows = append(ids, a.acceptanceIDs[j]), append(windows, a.ContentWindow.Seconds())
		}
	}
	if len(sources) == 0 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, o.sql.contentGuard, sources, hashes, eventIDs, ids, windows)
	if err != nil {
		return nil, fmt.Errorf("guard against repeated content: %w", err)
	}
	opened, err := collectGuards(rows)
	if err != nil {
		return nil, fmt.Errorf("guard against repeated content: %w", err)
	}
	if rows, err = tx.Query(ctx, o.sql.contentGuards, sources, hashes); err != nil {
		return nil, fmt.Errorf("look up repeated content: %w", err)
	}
	repeats := make(map[[2]int]repeated)
	var source string
	var hash []byte
	var r repeated
	if _, err := pgx.ForEachRow(rows, []any{&source, &hash, &r.id, &r.acceptanceID, &r.acceptedAt}, func() error {
		key := guardKey{source: source, hash: [sha256.Size]byte(hash)}
		same := events[key]
		if opened[key] {
			same = same[1:] // the first stands
		}
		for _, at := range same {
			repeats[at] = r
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("look up repeated content: %w", err)
	}
	return repeats, nil
}

func collectGuards(rows pgx.Rows) (map[guardKey]bool, error) {
	found := make(map[guardKey]bool)
	var source string
	var hash []byte
	_, err := pgx.ForEachRow(rows, []any{&source, &hash}, func() error {
		found[guardKey{source: source, hash: [sha256.Size]byte(hash)}] = true
		return nil
	})
	return found, err
}
