package app_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/moves"
	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// inCells writes a configuration with the source shop and a cell payments. placed is the part of
// the source's configuration that sets its cell.
func inCells(t *testing.T, f *file, payments, receiver, placed string) {
	t.Helper()
	f.write(t, fmt.Sprintf(`
cells: {payments: {url: %q, allow: [fsync_off]}}
sources:
  shop: {provider: token, secrets: [%s], event_id: {pointer: /id}%s}
destinations: {app: {http: {url: %s}, allow_private: [127.0.0.0/8]}}
routes: [{name: all, from: "*", to: app}]
`, payments, cellSecret, placed, receiver))
}

// side returns one side of a move: a cell and its database.
func side(t *testing.T, cell string, pool *pgxpool.Pool) moves.Side {
	t.Helper()
	box, err := outbox.New(outbox.Options{Pool: pool})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, box.Stop(context.Background())) })
	return moves.Side{Cell: cell, Moves: box.Moves()}
}

// A source moves to another cell while deliveries arrive. Every acknowledged event has one effect,
// its duplicates are recognised in the new cell, and refused deliveries are accepted later. A
// process that starts after the move also finds the source in its new cell.
func TestASourceMovesToAnotherCell(t *testing.T) {
	t.Parallel()
	receiver, received := newReceiver(t)
	first, payments := pgtest.New(t), pgtest.New(t)
	f := newFile(t, pgtest.URL(t, first))
	inCells(t, f, pgtest.URL(t, payments), receiver, "")
	start := func() *app.App {
		a := started(t, f, &syncBuffer{})
		whollyReady(t, a)
		return a
	}
	a := start()
	require.Equal(t, http.StatusOK, post(t, a, "shop", "before"))

	inCells(t, f, pgtest.URL(t, payments), receiver, ", cell: payments")
	require.ErrorContains(t, a.Reload(t.Context()), "sources.shop.cell: the source is in the cell main while the processes run; add moved_from: main")
	inCells(t, f, pgtest.URL(t, payments), receiver, ", cell: payments, moved_from: main")
	reload(t, a)

	ctx, stop := context.WithCancel(t.Context())
	var sending sync.WaitGroup
	var acknowledged []string
	var refusedSince, refusedFor = time.Time{}, time.Duration(0)
	moved := make(chan struct{})
	sending.Go(func() {
		after := 0
		for n := 0; ctx.Err() == nil && after < 100; n++ {
			select {
			case <-moved:
				after++
			default:
			}
			id := fmt.Sprintf("live-%d", n)
			for post(t, a, "shop", id) != http.StatusOK {
				if refusedSince.IsZero() {
					refusedSince = time.Now()
				}
				if refusedFor = time.Since(refusedSince); refusedFor > patience {
					t.Errorf("%s is refused for %s", id, refusedFor)
					return
				}
				<-time.After(10 * time.Millisecond)
			}
			refusedSince = time.Time{}
			acknowledged = append(acknowledged, id)
		}
	})
	defer stop()
	v := moves.Move{Source: "shop", From: side(t, "main", first), To: side(t, "payments", payments), By: ledger.Operator{Who: "ann", Via: "test"}}
	require.Eventually(t, func() bool { // on a busy machine, Run may give up before the old cell is idle
		err := v.Run(t.Context())
		if err != nil {
			t.Log(err)
		}
		return err == nil
	}, patience, 20*time.Millisecond)
	close(moved)
	sending.Wait()
	require.False(t, t.Failed())
	t.Logf("%d events; refused for %s", len(acknowledged), refusedFor)

	events := func(pool *pgxpool.Pool) (n int) {
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM hooklatch.processed_events WHERE outcome <> 'imported'").Scan(&n))
		return n
	}
	require.Equal(t, 1+len(acknowledged), events(first)+events(payments))
	require.GreaterOrEqual(t, events(payments), 50)
	b := start()
	for _, one := range []*app.App{a, b} {
		for _, id := range append([]string{"before"}, acknowledged...) {
			require.Eventually(t, func() bool { // a process refuses deliveries while it does not know that the source has moved
				return post(t, one, "shop", id) == http.StatusOK
			}, patience, 20*time.Millisecond, "a duplicate")
		}
	}
	require.Equal(t, 1+len(acknowledged), events(first)+events(payments))
	require.Eventually(t, func() bool { return len(received()) == 1+len(acknowledged) }, patience, 20*time.Millisecond)
	for body, times := range received() {
		require.Equal(t, 1, times, body)
	}

	// The old cell refuses the source's quarantined deliveries, and no bulk run stops at them.
	cfg, err := f.load()
	require.NoError(t, err)
	box, err := outbox.New(outbox.Options{Pool: first})
	require.NoError(t, err)
	verify, end, err := app.NewVerifier(cfg.InCell("main"), box)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, errors.Join(end(context.Background()), box.Stop(context.Background()))) })
	verdict, err := verify(t.Context(), &quarantine.Delivery{
		Source: "shop", RejectedAt: time.Now(), Method: http.MethodPost, Host: "localhost", Target: "/webhooks/shop",
		Headers: map[string][]string{"Authorization": {"Bearer " + cellSecret}}, Body: []byte(`{"id": "quarantined"}`),
	})
	require.NoError(t, err)
	require.Equal(t, quarantine.Verdict{Refused: "source_moved"}, verdict)

	inCells(t, f, pgtest.URL(t, payments), receiver, "")
	require.ErrorContains(t, a.Reload(t.Context()), "the source is in the cell payments while the processes run")
}

// A gateway uses a configuration from the moment at which it announces the configuration. A cell that
// announces itself during a reload therefore announces the new configuration.
func TestAReloadIsOneStepInEachCell(t *testing.T) {
	t.Parallel()
	first, payments := pgtest.New(t), pgtest.New(t)
	f := newFile(t, pgtest.URL(t, first))
	write := func(source string) {
		inCells(t, f, pgtest.URL(t, payments), "http://127.0.0.1:9", ", cell: payments, moved_from: main}\n  "+source+": {provider: token, secrets: ["+cellSecret+"], event_id: {pointer: /id}, cell: payments")
	}
	write("source")
	a := started(t, f, &syncBuffer{}, func(o *app.Options) { o.Worker = false })
	whollyReady(t, a)
	var watching sync.WaitGroup
	ended := make(chan struct{})
	watching.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
			}
			if !a.AnnouncedIsUsed() {
				t.Error("a cell has announced a configuration and uses another")
				return
			}
		}
	})
	for n := range 10 {
		write(fmt.Sprint("source", n))
		reload(t, a)
	}
	close(ended)
	watching.Wait()
}

// A move that cannot complete is abandoned: the old cell stops recording rows for the move, and
// deletes the recorded rows. A later move copies the rows that the old cell has stored meanwhile.
func TestAMoveIsAbandoned(t *testing.T) {
	t.Parallel()
	first, payments := pgtest.New(t), pgtest.New(t)
	v := moves.Move{Source: "shop", From: side(t, "main", first), To: side(t, "payments", payments), By: ledger.Operator{Who: "ann", Via: "test"}}
	store := func(id, outcome string) {
		_, err := first.Exec(t.Context(), `INSERT INTO hooklatch.processed_events (
				source, event_id, accept_seq, acceptance_id, provider, event_type, received_at, delivery_id, payload_hash, queue, outcome, processed_at)
			VALUES ('shop', $1, nextval('hooklatch.accept_seq'), gen_random_uuid(), 'token', 'paid', now(), gen_random_uuid(), '\x00', 'dispatch', $2,
				CASE WHEN $2 <> 'held' THEN now() END)`, id, outcome)
		require.NoError(t, err)
	}
	count := func(pool *pgxpool.Pool, query string) (n int) {
		require.NoError(t, pool.QueryRow(t.Context(), query).Scan(&n))
		return n
	}
	noted := func() int { return count(first, `SELECT count(*) FROM hooklatch.moving_rows`) }
	id := func() (id string) {
		require.NoError(t, first.QueryRow(t.Context(), `SELECT move_id FROM hooklatch.source_moves`).Scan(&id))
		return id
	}
	require.ErrorContains(t, v.Abandon(t.Context()), "abandon the move of shop to the cell payments: no such move has begun")

	store("held", "held")
	var unready *moves.UnreadyError
	require.ErrorAs(t, v.Run(t.Context()), &unready)
	store("during", "skipped")
	require.Equal(t, 1, noted())
	begun := id()
	for range 2 {
		require.NoError(t, v.Abandon(t.Context()))
	}
	require.NotEqual(t, begun, id(), "a command that carries out the move could complete it without the rows")
	store("after", "skipped")
	require.Zero(t, noted())
	require.Zero(t, count(first, `SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'moving\_%'`))
	require.Equal(t, 1, count(first, `SELECT count(*) FROM hooklatch.operator_log WHERE result = 'move to the cell payments abandoned'`), "the second call")

	_, err := first.Exec(t.Context(), `UPDATE hooklatch.processed_events SET outcome = 'skipped', processed_at = now() WHERE event_id = 'held'`)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return v.Run(t.Context()) == nil }, patience, 20*time.Millisecond)
	require.Equal(t, 3, count(payments, `SELECT count(*) FROM hooklatch.processed_events`))
	require.ErrorIs(t, v.Abandon(t.Context()), moves.ErrMoved)
}
