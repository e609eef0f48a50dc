package outbox

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/moves"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

const (
	mover   = identity.Source("shop")
	oldCell = "main"
	newCell = "payments"
)

// relocation is a source that moves from one database to another.
type relocation struct {
	old, new *bundle
	acked    sync.Map // event id: true
	sent     atomic.Int64
	waiting  atomic.Int64 // events that are not dispatched
}

// backlog is the number of waiting events above which send pauses. A fence lasts a few seconds, and
// even a slow machine must be able to dispatch all waiting events in that time.
const backlog = 10

func newRelocation(t *testing.T) *relocation {
	t.Helper()
	return &relocation{old: setup(t), new: setup(t)}
}

// stored returns the cell that a process would choose now to store the source's events.
func (r *relocation) stored(t *testing.T) *bundle {
	t.Helper()
	at, err := r.old.Moves().States(t.Context(), []string{string(mover)})
	require.NoError(t, err)
	if at[string(mover)].Left {
		return r.new
	}
	return r.old
}

// send delivers new events, each twice, until ctx is done.
func (r *relocation) send(ctx context.Context, t *testing.T) {
	for ctx.Err() == nil {
		id := fmt.Sprintf("live-%05d", r.sent.Add(1))
		for range 2 {
			for r.waiting.Load() > backlog && ctx.Err() == nil {
				<-time.After(time.Millisecond)
			}
			cell := r.stored(t)
			came, err := cell.Accept(t.Context(), delivery(string(mover), id))
			if moves.Refused(err) {
				<-time.After(5 * time.Millisecond)
				continue
			}
			if err == nil {
				r.acked.Store(id, true)
				r.waiting.Add(int64(came.New()))
			}
		}
	}
}

// dispatch dispatches the events of a cell until ctx is done. Each event gets two effects, of
// different routes, with the key that keyOf returns.
func (r *relocation) dispatch(ctx context.Context, t *testing.T, cell *bundle) {
	for ctx.Err() == nil {
		rows, err := cell.pool.Query(t.Context(), "SELECT event_id FROM hooklatch.processed_events WHERE source = 'shop' AND outcome = 'received' LIMIT 100")
		require.NoError(t, err)
		ids, err := pgx.CollectRows(rows, pgx.RowTo[identity.EventID])
		require.NoError(t, err)
		for _, id := range ids {
			e, err := cell.Event(t.Context(), identity.EventRef{Source: mover, EventID: id})
			require.NoError(t, err)
			_, err = cell.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{planned(e, keyOf(id)), shared(planned(e, keyOf(id)))}})
			require.NoError(t, err)
			r.waiting.Add(-1)
		}
		if len(ids) == 0 {
			<-time.After(2 * time.Millisecond)
		}
	}
}

// keyOf returns the key of an event's effects. Events with even numbers share their key with other
// events, some of which arrive much later. An event with an odd number has its own key.
func keyOf(id identity.EventID) string {
	if id[len(id)-1]%2 == 1 {
		return "own-" + string(id)
	}
	return "order-" + string(id[len(id)-3:])
}

// shared returns a copy of an effect that belongs to another route.
func shared(e ledger.NewEffect) ledger.NewEffect {
	e.Scope, e.Route = identity.ScopeOfRoute(mover, "other"), "other"
	return e
}

// move returns a move of the source from the old cell to the new one.
func (r *relocation) move(tell func(moves.Step)) *moves.Move {
	return &moves.Move{
		Source: mover, From: moves.Side{Cell: oldCell, Moves: r.old.Moves()}, To: moves.Side{Cell: newCell, Moves: r.new.Moves()}, By: ann, Tell: tell,
	}
}

// moved repeats a move until it succeeds. On a busy machine, the old cell may not finish its work
// under one fence.
func (r *relocation) moved(t *testing.T, v *moves.Move) {
	t.Helper()
	require.Eventually(t, func() bool {
		err := v.Run(t.Context())
		if err != nil {
			t.Log(err)
		}
		return err == nil
	}, 2*time.Minute, time.Millisecond)
}

// counts returns how often a query returns each value, in both databases together.
func (r *relocation) counts(t *testing.T, query string) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, cell := range []*bundle{r.old, r.new} {
		rows, err := cell.pool.Query(t.Context(), query)
		require.NoError(t, err)
		var value string
		_, err = pgx.ForEachRow(rows, []any{&value}, func() error { found[value]++; return nil })
		require.NoError(t, err)
	}
	return found
}

// requireDuplicates requires that a cell knows all the events. It sends up to 500 of them in one
// delivery, because one delivery for each event would take longer than the rest of the test.
func requireDuplicates(t *testing.T, cell *bundle, ids map[string]int) {
	t.Helper()
	for some := range slices.Chunk(slices.Sorted(maps.Keys(ids)), 500) {
		came, err := cell.Accept(t.Context(), delivery(string(mover), some...))
		require.NoError(t, err)
		require.Len(t, came.Events, len(some))
		for i, e := range came.Events {
			require.Equal(t, Duplicate, e.Status, some[i])
		}
	}
}

const storedEvents = "SELECT event_id FROM hooklatch.processed_events WHERE source = 'shop' AND outcome <> 'imported'"

// A source moves while its events arrive, each twice. The move is interrupted at random steps and
// continued. Every acknowledged event is stored in one of the two databases once (I1, I2), and no key
// has effects in both (I4).
func TestASourceMovesWhileItsEventsArrive(t *testing.T) {
	t.Parallel()
	before := 3 * 1000
	if os.Getenv(longEnv) != "" {
		before = 200_000
	}
	r := newRelocation(t)
	for from := 0; from < before; from += 500 {
		d := delivery(string(mover))
		for i := range 500 {
			d.Events = append(d.Events, Incoming{ID: identity.EventID(fmt.Sprintf("early-%06d", from+i)), Type: "invoice.paid"})
		}
		_, err := r.old.Accept(t.Context(), d)
		require.NoError(t, err)
		r.waiting.Add(500)
	}
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	for range 3 {
		working.Go(func() { r.send(ctx, t) })
	}
	working.Go(func() { r.dispatch(ctx, t, r.old) })
	working.Go(func() { r.dispatch(ctx, t, r.new) })

	// Under a fence of a few seconds, a slow machine dispatches only some of the early events.
	for interrupted, began := 0, time.Now(); ; interrupted++ {
		moving, interrupt := context.WithCancel(t.Context())
		left := rand.IntN(8)
		err := r.move(func(moves.Step) {
			if left--; left < 0 && interrupted < 5 {
				interrupt()
			}
		}).Run(moving)
		interrupt()
		if err == nil {
			break
		}
		require.True(t, interrupted < 40 || time.Since(began) < 10*time.Minute, "%v", err)
	}
	require.Same(t, r.new, r.stored(t))
	sent := r.sent.Load()
	require.Eventually(t, func() bool { return r.sent.Load() > sent+300 }, 2*time.Minute, time.Millisecond)
	stop()
	working.Wait()

	stored := r.counts(t, storedEvents)
	r.acked.Range(func(id, _ any) bool {
		require.Equal(t, 1, stored[id.(string)], "%s was acknowledged", id)
		return true
	})
	for id, times := range stored {
		require.Equal(t, 1, times, id)
	}
	requireDuplicates(t, r.new, stored)
	for key, times := range r.counts(t, "SELECT scope || ' ' || key FROM hooklatch.effects WHERE erased_at IS NULL") {
		require.Equal(t, 1, times, key)
	}
	require.Positive(t, r.new.count(t, "SELECT count(*) FROM hooklatch.effects WHERE erased_at IS NULL"))
	_, err := r.old.Accept(t.Context(), delivery(string(mover), "late"))
	require.True(t, moves.Refused(err), "%v", err)
	require.Zero(t, r.old.count(t, "SELECT count(*) FROM hooklatch.moving_rows"))
	require.Equal(t, 1, r.old.count(t, "SELECT count(*) FROM pg_trigger WHERE tgname ~ '^(moved|moving)_'"), "only the fence remains")
	_, err = r.old.Accept(t.Context(), delivery("another", "late"))
	require.NoError(t, err)

	t.Run("and comes back", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var working sync.WaitGroup
		working.Go(func() { r.dispatch(ctx, t, r.old) })
		working.Go(func() { r.dispatch(ctx, t, r.new) })
		defer working.Wait()
		defer stop()
		back := r.move(nil)
		back.From, back.To = back.To, back.From
		r.moved(t, back)
		_, err := r.new.Accept(t.Context(), delivery(string(mover), "later"))
		require.True(t, moves.Refused(err), "%v", err)
		requireDuplicates(t, r.old, r.counts(t, storedEvents))
		came, err := r.old.Accept(t.Context(), delivery(string(mover), "later"))
		require.NoError(t, err)
		require.Equal(t, Accepted, came.Events[0].Status)

		r.moved(t, r.move(nil)) // the source moves to the new cell again
		came, err = r.new.Accept(t.Context(), delivery(string(mover), "later"))
		require.NoError(t, err)
		require.Equal(t, Duplicate, came.Events[0].Status)
	})
}

// A fence expires if its move is interrupted.
func TestAnInterruptedMoveLeavesTheSourceOpen(t *testing.T) {
	t.Parallel()
	r := newRelocation(t)
	_, err := r.old.Accept(t.Context(), delivery(string(mover), "held"))
	require.NoError(t, err)
	unready := new(moves.UnreadyError)
	require.ErrorAs(t, r.move(nil).Run(t.Context()), &unready)
	require.Equal(t, int64(1), unready.Undispatched)
	require.ErrorContains(t, unready, "events that are not dispatched: 1")
	_, err = r.old.pool.Exec(t.Context(), "UPDATE hooklatch.processed_events SET outcome = 'held'")
	require.NoError(t, err)
	_, err = r.old.pool.Exec(t.Context(), "UPDATE hooklatch.source_moves SET fenced_until = '2026-01-01'")
	require.NoError(t, err)
	require.ErrorAs(t, r.move(nil).Run(t.Context()), &unready)
	require.ErrorContains(t, unready, "held events: 1")
	require.Equal(t, 1, r.old.count(t, "SELECT count(*) FROM hooklatch.source_moves WHERE fenced_until = '2026-01-01'"), "without a fence")
	_, err = r.old.Accept(t.Context(), delivery(string(mover), "next"))
	require.NoError(t, err)
	_, err = r.old.pool.Exec(t.Context(), "UPDATE hooklatch.source_moves SET fenced_until = now() + interval '1 hour'")
	require.NoError(t, err)
	_, err = r.old.Accept(t.Context(), delivery(string(mover), "fenced"))
	require.True(t, moves.Refused(err), "%v", err)
	_, err = r.old.pool.Exec(t.Context(), "UPDATE hooklatch.source_moves SET fenced_until = now() + interval '1 second'")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := r.old.Accept(t.Context(), delivery(string(mover), "fenced"))
		return err == nil
	}, time.Minute, 50*time.Millisecond)
}

// A move copies the source's guards, object versions, coverage, redeliveries, keys and addresses to
// the new cell.
func TestAMovedSourceBringsItsMemory(t *testing.T) {
	t.Parallel()
	r := newRelocation(t)
	for _, write := range []string{
		"INSERT INTO hooklatch.replay_guards (source, hash, acceptance_id, content) VALUES ('shop', '\\x01ff', gen_random_uuid(), '\\x02'), ('other', '\\x03', gen_random_uuid(), NULL)",
		"INSERT INTO hooklatch.content_guards (source, hash, event_id, acceptance_id, expires_at) VALUES ('shop', '\\x04', 'evt', gen_random_uuid(), now() + interval '1 hour')",
		"INSERT INTO hooklatch.object_versions (scope, latest_key, occurred_at, accept_seq, idempotency_key) VALUES ('route:shop:crm', 'customer 1', now(), 7, 'hl_1'), ('route:shopping:crm', 'customer 1', now(), 7, 'hl_2')",
		"INSERT INTO hooklatch.coverage (source, stream, mark) VALUES ('shop', 'account', 'the mark'), ('other', '', '')",
		"INSERT INTO hooklatch.redeliveries (source, event_id, ref, happened_at) VALUES ('shop', 'evt_lost', '1', now())",
		"INSERT INTO hooklatch.sender_keys (source, key_id, document) VALUES ('shop', 'key', '\\x05')",
		"INSERT INTO hooklatch.known_addresses (source, address) VALUES ('shop', '192.0.2.0/24')",
	} {
		_, err := r.old.pool.Exec(t.Context(), write)
		require.NoError(t, err)
	}
	r.moved(t, r.move(nil))
	for table, row := range map[string]string{
		"replay_guards":   "to_jsonb(x)",
		"content_guards":  "to_jsonb(x)",
		"object_versions": "to_jsonb(x) - 'accept_seq'",
		"coverage":        "to_jsonb(x) - 'next_at'",
		"redeliveries":    "to_jsonb(x)",
		"sender_keys":     "to_jsonb(x)",
		"known_addresses": "to_jsonb(x)",
	} {
		query := "SELECT (" + row + ")::text FROM hooklatch." + table + " AS x WHERE to_jsonb(x) ->> 'source' = 'shop' OR to_jsonb(x) ->> 'scope' = 'route:shop:crm'"
		both := r.counts(t, query)
		require.Len(t, both, 1, table)
		for one, times := range both {
			require.Equal(t, 2, times, one)
		}
		require.Equal(t, 1, r.new.count(t, "SELECT count(*) FROM hooklatch."+table), "only the source's rows of %s", table)
	}
}
