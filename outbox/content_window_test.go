package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hooklatch/hooklatch/internal/fault"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// orphans counts the open windows whose opening event is not stored with their content.
const orphans = `
	SELECT count(*) FROM hooklatch.content_guards AS g
	WHERE g.expires_at > now()
		AND NOT EXISTS (
			SELECT FROM hooklatch.processed_events AS p
			WHERE p.source = g.source AND p.event_id = g.event_id AND p.acceptance_id = g.acceptance_id
				AND g.hash = sha256(p.payload_hash || convert_to(p.event_type, 'UTF8')) AND p.outcome <> 'held' AND p.received_at = g.accepted_at
		)`

// expire ends all windows.
func (b *bundle) expire(t testing.TB) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.content_guards SET expires_at = now()`)
	require.NoError(t, err)
}

// together accepts deliveries in one transaction and returns their events.
func (b *bundle) together(deliveries ...Delivery) (events []AcceptedEvent, err error) {
	batch := make([]arrival, len(deliveries))
	for i, d := range deliveries {
		if batch[i], err = b.newArrival(d); err != nil {
			return nil, err
		}
	}
	err = pgx.BeginFunc(context.Background(), b.pool, func(tx pgx.Tx) error {
		acceptances, err := b.acceptBatch(context.Background(), tx, batch)
		for _, a := range acceptances {
			events = append(events, a.Events...)
		}
		return err
	})
	return events, err
}

// statuses accepts deliveries in one transaction and returns the status of each event.
func (b *bundle) statuses(t testing.TB, deliveries ...Delivery) []AcceptStatus {
	t.Helper()
	events, err := b.together(deliveries...)
	require.NoError(t, err)
	statuses := make([]AcceptStatus, len(events))
	for i, e := range events {
		statuses[i] = e.Status
	}
	return statuses
}

// A redelivery whose body changed is a duplicate by its id, and its body is not stored. A new event
// with that body must not count as a duplicate.
func TestDuplicateOpensNoContentWindow(t *testing.T) {
	t.Parallel()
	minute := func(id, body string) Delivery { return content(time.Minute, id, body) }
	for name, deliver := range map[string]func(t *testing.T, b *bundle) AcceptStatus{
		"of an earlier transaction": func(t *testing.T, b *bundle) AcceptStatus {
			b.statuses(t, minute("a", "one"))
			b.statuses(t, minute("a", "two"))
			require.Zero(t, b.number(t, orphans))
			return b.statuses(t, minute("z", "two"))[0]
		},
		"of the same batch": func(t *testing.T, b *bundle) AcceptStatus {
			return b.statuses(t, minute("a", "one"), minute("a", "two"), minute("z", "two"))[2]
		},
		"of the same batch, after it": func(t *testing.T, b *bundle) AcceptStatus {
			b.statuses(t, minute("a", "one"), minute("a", "two"))
			return b.statuses(t, minute("z", "two"))[0]
		},
		"of an earlier transaction, in the batch of the new event": func(t *testing.T, b *bundle) AcceptStatus {
			b.statuses(t, minute("a", "one"))
			return b.statuses(t, minute("a", "two"), minute("z", "two"))[1]
		},
		"whose window has ended": func(t *testing.T, b *bundle) AcceptStatus {
			b.statuses(t, minute("a", "two"))
			b.expire(t)
			b.statuses(t, minute("a", "two"))
			return b.statuses(t, minute("z", "two"))[0]
		},
		"of a source without a window until now": func(t *testing.T, b *bundle) AcceptStatus {
			b.statuses(t, content(0, "a", "one"), minute("a", "two"))
			return b.statuses(t, minute("z", "two"))[0]
		},
		"of a repeat, in the same batch": func(t *testing.T, b *bundle) AcceptStatus {
			b.statuses(t, minute("q", "one"))
			return b.statuses(t, minute("a", "one"), minute("a", "two"), minute("z", "two"))[1]
		},
		"refused, in the same batch": func(t *testing.T, b *bundle) AcceptStatus {
			b.statuses(t, signed("sig", ReplayRefuse, "first"))
			refused := minute("a", "two")
			refused.Source, refused.ReplayGuard = "github", &ReplayGuard{Proof: []byte("sig"), Action: ReplayRefuse}
			genuine := minute("z", "two")
			genuine.Source = "github"
			status := b.statuses(t, refused, genuine)
			b.statuses(t, minute("z", "two")) // the check below uses the default source
			return status[1]
		},
		"of an imported key": func(t *testing.T, b *bundle) AcceptStatus {
			b.statuses(t, content(0, "a", "unknown"))
			_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.processed_events SET payload_hash = ''`)
			require.NoError(t, err)
			b.statuses(t, minute("a", "two"))
			return b.statuses(t, minute("z", "two"))[0]
		},
		"through the group commit": func(t *testing.T, b *bundle) AcceptStatus {
			var last Acceptance
			for _, d := range []Delivery{minute("a", "one"), minute("a", "two"), minute("z", "two")} {
				var err error
				last, err = b.Accept(t.Context(), d)
				require.NoError(t, err)
			}
			return last.Events[0].Status
		},
		"beside a row that was deleted by hand": func(t *testing.T, b *bundle) AcceptStatus {
			b.statuses(t, minute("a", "two"))
			_, err := b.pool.Exec(t.Context(), `DELETE FROM hooklatch.processed_events`)
			require.NoError(t, err)
			return b.statuses(t, minute("z", "two"))[0]
		},
		"of a window that a program before this one opened": func(t *testing.T, b *bundle) AcceptStatus {
			b.statuses(t, minute("a", "one"))
			_, err := b.pool.Exec(t.Context(), `
				INSERT INTO hooklatch.content_guards (source, hash, event_id, acceptance_id, expires_at)
				SELECT 'odd', sha256(sha256('two') || convert_to(event_type, 'UTF8')), 'a', gen_random_uuid(), now() + interval '1 minute'
				FROM hooklatch.processed_events`)
			require.NoError(t, err)
			return b.statuses(t, minute("z", "two"))[0]
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			require.Equal(t, Accepted, deliver(t, b), "the content is stored with no other event")
			require.Zero(t, b.number(t, orphans))
			require.Equal(t, []AcceptStatus{Duplicate}, b.statuses(t, minute("copy", "two")), "the stored event opened a window")
		})
	}
}

// The sender repeats an event within its window. The end of the window does not move.
func TestRepeatDoesNotProlongAContentWindow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.statuses(t, content(time.Minute, "a", "one"))
	opened := func() (until time.Time) {
		require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT expires_at FROM hooklatch.content_guards`).Scan(&until))
		return until
	}
	until := opened()
	for _, id := range []string{"a", "b", "a", "c"} {
		require.Equal(t, []AcceptStatus{Duplicate}, b.statuses(t, content(time.Hour, id, "one")))
		require.Equal(t, until, opened(), id)
	}
	require.Zero(t, b.number(t, orphans))
}

// Two transactions contain the same id with different bodies. The second transaction sees the event
// of the first only after the first has committed.
func TestConcurrentDuplicateOpensNoContentWindow(t *testing.T) {
	t.Parallel()
	for name, accept := range map[string]func(b *bundle, d Delivery) (Acceptance, error){
		"Accept": func(b *bundle, d Delivery) (Acceptance, error) { return b.Accept(context.Background(), d) },
		"AcceptTx": func(b *bundle, d Delivery) (a Acceptance, err error) {
			err = pgx.BeginFunc(context.Background(), b.pool, func(tx pgx.Tx) error {
				a, err = b.AcceptTx(context.Background(), tx, d)
				return err
			})
			return a, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(opts *Options) { opts.AcceptTimeout = 30 * time.Second })
			first := b.begin(t)
			_, err := b.AcceptTx(t.Context(), first, content(time.Minute, "a", "one"))
			require.NoError(t, err)
			result := make(chan Acceptance, 1)
			go func() {
				a, err := accept(b, content(time.Minute, "a", "two"))
				if err != nil {
					t.Errorf("accept: %v", err)
				}
				result <- a
			}()
			require.Eventually(t, func() bool {
				return b.count(t, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`) > 0
			}, 30*time.Second, time.Millisecond)
			require.NoError(t, first.Commit(t.Context()))
			require.Equal(t, 1, (<-result).Duplicates())
			require.Zero(t, b.number(t, orphans))
			require.Equal(t, []AcceptStatus{Accepted}, b.statuses(t, content(time.Minute, "z", "two")))
		})
	}
}

// The COMMIT of a new event, or of a duplicate with another body, has an unknown outcome and is
// retried. No window stays open if its event is not stored.
func TestContentWindowsSurviveALostCommit(t *testing.T) {
	t.Parallel()
	for _, mode := range []fault.Mode{fault.LoseAnswer, fault.LoseRequest} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b, sound, f := onFaultyPool(t, func(opts *Options) { opts.AcceptTimeout = 30 * time.Second })
			counted := 0
			accept := func(id, body string) AcceptedEvent {
				before := f.Count()
				f.Arm(mode, 1)
				a, err := b.Accept(t.Context(), content(time.Minute, id, body))
				require.NoError(t, err)
				require.Equal(t, before+1, f.Count())
				require.Zero(t, sound.number(t, orphans))
				if a.Events[0].Status == Duplicate { // the duplicate is counted in another COMMIT, which must not be broken
					counted++
					require.Eventually(t, func() bool {
						return sound.count(t, `SELECT sum(duplicates) FROM hooklatch.processed_events`) == counted
					}, 2*time.Minute, 10*time.Millisecond)
				}
				return a.Events[0]
			}
			require.Equal(t, Accepted, accept("a", "one").Status)
			require.Equal(t, Duplicate, accept("a", "two").Status)
			copied := accept("b", "one")
			require.Equal(t, Duplicate, copied.Status)
			require.Equal(t, identity.EventID("a"), copied.SameAs)
			require.Equal(t, Accepted, accept("z", "two").Status)
		})
	}
}

// The server rejects the values of some members, so their batches are bisected. No window of a
// rejected event stays open.
func TestContentWindowsOfABisectedBatch(t *testing.T) {
	t.Parallel()
	b := setup(t, func(opts *Options) { opts.Committers = 1; opts.AcceptTimeout = 30 * time.Second })
	_, err := b.pool.Exec(t.Context(), `ALTER TABLE hooklatch.processed_events ADD CONSTRAINT no_bad CHECK (event_id NOT LIKE 'bad%')`)
	require.NoError(t, err)
	b.statuses(t, content(time.Minute, "a", "one"))
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			for _, id := range []string{"a", fmt.Sprint("bad_", i), fmt.Sprint("z_", i)} {
				a, err := b.Accept(context.Background(), content(time.Minute, id, fmt.Sprint("body ", i%4)))
				bad := strings.HasPrefix(id, "bad")
				// A bad event is not stored: its delivery fails, or repeats a stored body.
				if bad && err == nil && a.Duplicates() == 0 || !bad && err != nil {
					t.Errorf("accept %s: %v", id, err)
				}
			}
		})
	}
	all.Wait()
	require.Zero(t, b.number(t, orphans))
	require.Equal(t, 1+4, b.count(t, `SELECT count(*) FROM hooklatch.processed_events`), "each content is stored once")
}

// Two gateways concurrently receive deliveries in which few ids and bodies occur, in many
// combinations. No window stays open if its event is not stored.
func TestContentWindowsThroughTwoGatewaysWithChangedBodies(t *testing.T) {
	t.Parallel()
	one := setup(t, func(opts *Options) { opts.AcceptTimeout = 30 * time.Second })
	two := onPool(t, one.pool, func(opts *Options) { opts.AcceptTimeout = 30 * time.Second })
	var all sync.WaitGroup
	for i := range 400 {
		o := []*Outbox{one.Outbox, two.Outbox}[i%2]
		id, body := fmt.Sprint("id ", i*7%37), fmt.Sprint("body ", i*11%23)
		all.Go(func() {
			err := ErrBusy
			for errors.Is(err, ErrBusy) { // on a slow machine, too many batches wait for the rows of the few contents
				_, err = o.Accept(context.Background(), content(time.Minute, id, body))
			}
			if err != nil {
				t.Errorf("accept: %v", err)
			}
		})
	}
	all.Wait()
	require.Zero(t, one.number(t, orphans))
}

// The test accepts random batches with few ids, bodies, proofs and windows, in sequence and
// concurrently. For every acknowledged event, its id or its content is stored.
func TestAcknowledgedContentIsStored(t *testing.T) {
	t.Parallel()
	b := setup(t, func(opts *Options) { opts.AcceptTimeout = 30 * time.Second })
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		source := identity.Source(fmt.Sprint("odd_", run))
		for range rapid.IntRange(1, 6).Draw(t, "batches") {
			deliveries := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Delivery { return drawDelivery(t, source) }), 1, 5).Draw(t, "deliveries")
			var events []AcceptedEvent
			if rapid.Bool().Draw(t, "one batch") {
				var err error
				events, err = b.together(deliveries...)
				require.NoError(t, err)
			} else {
				for _, a := range b.atOnce(t, deliveries) {
					events = append(events, a.Events...)
				}
			}
			var bodies [][]byte
			for _, d := range deliveries {
				for _, in := range d.Events {
					bodies = append(bodies, in.Part)
				}
			}
			for i, e := range events {
				b.requireStored(t, e, bodies[i])
			}
			require.Zero(t, b.number(t, orphans))
			if rapid.Bool().Draw(t, "windows end") {
				_, err := b.pool.Exec(context.Background(), `UPDATE hooklatch.content_guards SET expires_at = now()`)
				require.NoError(t, err)
			}
		}
	})
}

// drawDelivery returns a delivery of one or two events.
func drawDelivery(t *rapid.T, source identity.Source) Delivery {
	d := delivery(string(source))
	d.ContentWindow = rapid.SampledFrom([]time.Duration{time.Minute, time.Minute, time.Hour, 0}).Draw(t, "window")
	if proof := rapid.SampledFrom([]string{"", "", "", "sig-1", "sig-2"}).Draw(t, "proof"); proof != "" {
		d.ReplayGuard = &ReplayGuard{Proof: []byte(proof), Action: rapid.SampledFrom([]ReplayAction{ReplayFlag, ReplayHold, ReplayRefuse}).Draw(t, "action")}
	}
	for range rapid.IntRange(1, 2).Draw(t, "events") {
		d.Events = append(d.Events, Incoming{
			ID:   identity.EventID(rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "id")),
			Type: "invoice.paid", Part: []byte(rapid.SampledFrom([]string{"one", "two", "three"}).Draw(t, "body")),
		})
	}
	return d
}

// atOnce accepts deliveries concurrently.
func (b *bundle) atOnce(t require.TestingT, deliveries []Delivery) []Acceptance {
	acceptances, errs := make([]Acceptance, len(deliveries)), make([]error, len(deliveries))
	var all sync.WaitGroup
	for i, d := range deliveries {
		all.Go(func() { acceptances[i], errs[i] = b.Accept(context.Background(), d) })
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	return acceptances
}

// requireStored requires the row that an acknowledgement relies on.
func (b *bundle) requireStored(t require.TestingT, e AcceptedEvent, body []byte) {
	const byID = `SELECT count(*) FROM hooklatch.processed_events WHERE source = $1 AND event_id = $2 AND acceptance_id = $3 AND received_at = $4`
	switch {
	case e.Status == Refused:
	case e.SameAs != "":
		const byContent = byID + ` AND payload_hash = sha256($5)`
		require.Equal(t, 1, b.number(t, byContent, e.Source, e.SameAs, e.AcceptanceID, e.FirstReceivedAt, body), "%+v", e)
	default:
		require.Equal(t, 1, b.number(t, byID, e.Source, e.EventID, e.AcceptanceID, e.FirstReceivedAt), "%+v", e)
	}
}

// number returns the single number that a query returns. Unlike count, it can be used in a property
// test.
func (b *bundle) number(t require.TestingT, query string, args ...any) (n int) {
	require.NoError(t, b.pool.QueryRow(context.Background(), query, args...).Scan(&n))
	return n
}

// asking is a transaction that counts the calls to its method Query.
type asking struct {
	pgx.Tx

	asked int
}

func (a *asking) Query(ctx context.Context, text string, args ...any) (pgx.Rows, error) {
	a.asked++
	return a.Tx.Query(ctx, text, args...)
}

// Sources without content windows cost no extra statement.
func TestStatementsOfContentWindows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	asked := func(d Delivery) int {
		a, err := b.newArrival(d)
		require.NoError(t, err)
		var counted asking
		require.NoError(t, pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
			counted.Tx = tx
			_, err := b.acceptBatch(t.Context(), &counted, []arrival{a})
			return err
		}))
		return counted.asked
	}
	require.Equal(t, 1, asked(content(0, "plain", "one")))
	require.Equal(t, 2, asked(content(0, "plain", "one")), "a duplicate is looked up")
	require.Equal(t, 4, asked(content(time.Minute, "a", "two")), "statements for known ids, the new window, open windows and the insert")
	require.Equal(t, 4, asked(content(time.Minute, "b", "two")), "the same statements, with a look-up of its own id instead of the insert")
	require.Equal(t, 1, asked(content(time.Minute, "a", "two")), "a known id needs no window")
}

// Senders that name the type in a header send one body under several types. Each type is an event of
// its own, and only repeats with the same type are duplicates.
func TestContentOfAnotherTypeIsAnotherEvent(t *testing.T) {
	t.Parallel()
	typed := func(id, kind string) Delivery {
		d := content(time.Minute, id, "one")
		d.Events[0].Type = kind
		return d
	}
	for name, together := range map[string]bool{"in one transaction": true, "one after another": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			deliveries := []Delivery{typed("a", "orders/create"), typed("b", "orders/paid"), typed("c", "orders/paid"), typed("d", "orders/create")}
			var got []AcceptedEvent
			if together {
				var err error
				got, err = b.together(deliveries...)
				require.NoError(t, err)
			} else {
				for _, d := range deliveries {
					events, err := b.together(d)
					require.NoError(t, err)
					got = append(got, events...)
				}
			}
			var statuses []string
			for _, e := range got {
				statuses = append(statuses, string(e.Status)+" "+string(e.SameAs))
			}
			require.Equal(t, []string{"accepted ", "accepted ", "duplicate b", "duplicate a"}, statuses)
			require.Zero(t, b.number(t, orphans))
		})
	}
}
