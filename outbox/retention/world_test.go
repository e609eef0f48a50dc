package retention_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/explained"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/retention"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

const day = retention.Day

// world is an Outbox on a database whose clock the test sets.
type world struct {
	*outbox.Outbox

	pool  *pgxpool.Pool  // the Outbox's pool
	plans *explained.Log // of a watched world, if this build of Postgres can report plans
}

// ownClock replaces now() and clock_timestamp() in all SQL that is parsed later. The new clock
// begins at noon of the same day, so that no midnight passes during a test unless the test jumps over
// it. The migrations use both clocks: on different days, partitions would overlap.
const ownClock = `
	CREATE SCHEMA clock;
	CREATE TABLE clock.skew (ahead interval NOT NULL);
	INSERT INTO clock.skew SELECT date_trunc('day', now(), 'UTC') + interval '12 hours' - now();
	CREATE FUNCTION clock.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT pg_catalog.now() + ahead FROM clock.skew';
	CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT pg_catalog.clock_timestamp() + ahead FROM clock.skew';`

// useClock makes the database's later connections use the clock of ownClock.
const useClock = `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = clock, pg_catalog, public', current_database()); END $$;`

// sameClock makes functions with their own search_path use the clock of ownClock.
const sameClock = `
	DO $$
	DECLARE
		f record;
	BEGIN
		FOR f IN SELECT oid::regprocedure AS name FROM pg_proc
			WHERE pronamespace = 'hooklatch'::regnamespace AND array_to_string(proconfig, ',') LIKE 'search_path=%'
		LOOP
			EXECUTE format('ALTER FUNCTION %s SET search_path = clock, pg_catalog, pg_temp', f.name);
		END LOOP;
	END
	$$;`

func newWorld(t *testing.T) *world {
	t.Helper()
	return openWorld(t, false)
}

// watchedWorld is like newWorld, but also collects plans, which doubles the duration of a test.
func watchedWorld(t *testing.T) *world {
	t.Helper()
	return openWorld(t, true)
}

// migrated is a database with Hooklatch's schema and its own clock. A test begins with a copy,
// because the migrations take a second of CPU. The clock of a copy continues the clock of migrated,
// so it is past noon by the duration of the tests so far.
var migrated = pgtest.Preparation(func(ctx context.Context, url string) error {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return err
	}
	config.ConnConfig.RuntimeParams["search_path"] = "clock, pg_catalog, public"
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, ownClock); err != nil {
		return err
	}
	migrator, err := schema.NewMigrator(pool, schema.Default, nil)
	if err != nil {
		return err
	}
	if _, err := migrator.Up(ctx); err != nil {
		return err
	}
	_, err = pool.Exec(ctx, sameClock)
	return err
})

func openWorld(t *testing.T, watched bool) *world {
	t.Helper()
	made := pgtest.New(t, pgtest.Prepared(&migrated))
	_, err := made.Exec(t.Context(), useClock)
	require.NoError(t, err)
	w := &world{}
	config := made.Config()
	if watched && explained.Available(t.Context(), made) {
		w.plans = explained.Watch(config)
	}
	made.Reset()
	w.pool, err = pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(w.pool.Close)
	w.Outbox, err = outbox.New(outbox.Options{Pool: w.pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		require.NoError(t, w.Stop(ctx))
	})
	return w
}

func (w *world) run(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := w.pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

func (w *world) count(t *testing.T, query string, args ...any) int {
	t.Helper()
	var n int
	require.NoError(t, w.pool.QueryRow(t.Context(), query, args...).Scan(&n), query)
	return n
}

// jump moves the database's clock by d, which may be negative.
func (w *world) jump(t *testing.T, d time.Duration) {
	t.Helper()
	w.run(t, `UPDATE clock.skew SET ahead = ahead + make_interval(secs => $1)`, d.Seconds())
}

// pass advances the database's clock, and creates the partitions of the days ahead.
func (w *world) pass(t *testing.T, d time.Duration) {
	t.Helper()
	w.jump(t, d)
	_, err := w.MakePartitions(t.Context())
	require.NoError(t, err)
}

func (w *world) now(t *testing.T) time.Time {
	t.Helper()
	var now time.Time
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT now()`).Scan(&now))
	return now
}

// keep runs retention once, without a time limit and without an operator's approval.
func (w *world) keep(t *testing.T, s retention.Settings) retention.Report {
	t.Helper()
	report, err := w.Retention().Run(t.Context(), retention.Order{Settings: s})
	require.NoError(t, err)
	return report
}

func bodyOf(id string) []byte { return fmt.Appendf(nil, `{"id":%q}`, id) }

func ref(source, id string) identity.EventRef {
	return identity.EventRef{Source: identity.Source(source), EventID: identity.EventID(id)}
}

// The method accept stores an event of the source for each id.
func (w *world) accept(t *testing.T, source string, ids ...string) {
	t.Helper()
	for _, id := range ids {
		accepted, err := w.Accept(t.Context(), outbox.Delivery{
			Source: identity.Source(source), Provider: "hmac", Headers: map[string][]string{"X-Test": {id}}, ContentType: "application/json",
			Body: bodyOf(id), Events: []outbox.Incoming{{ID: identity.EventID(id), Type: "happened"}},
		})
		require.NoError(t, err)
		require.Equal(t, outbox.Accepted, accepted.Events[0].Status)
	}
}

// dispatch creates one effect for an event. The effect sends the event as received.
func (w *world) dispatch(t *testing.T, source, id string, change ...func(*ledger.NewEffect)) identity.EffectID {
	t.Helper()
	e, err := w.Inbox().Event(t.Context(), ref(source, id))
	require.NoError(t, err)
	effect := ledger.NewEffect{
		EffectID: identity.EffectID{Scope: identity.ScopeOfRoute(e.Source, "all"), Key: identity.Key(id), Generation: e.EffectGeneration},
		Route:    "all", Destination: "app", Queue: "dst_app", Request: ledger.Request{Method: "POST", FromDelivery: true},
	}
	for _, c := range change {
		c(&effect)
	}
	d, err := w.Dispatch(t.Context(), outbox.Dispatch{Event: e, Effects: []ledger.NewEffect{effect}})
	require.NoError(t, err)
	require.True(t, d.Fenced)
	return effect.EffectID
}

// claim starts an attempt and loads its body.
func (w *world) claim(t *testing.T, id identity.EffectID) ledger.Effect {
	t.Helper()
	c, err := w.Ledger().Claim(t.Context(), ledger.Claim{ID: id, ClaimID: uuid.New(), Lease: time.Minute, JobID: 1})
	require.NoError(t, err)
	require.Equal(t, ledger.ClaimGranted, c.Status)
	require.NoError(t, w.Ledger().LoadBody(t.Context(), &c.Effect))
	return c.Effect
}

func (w *world) settle(t *testing.T, s ledger.Settlement) {
	t.Helper()
	_, err := w.Ledger().Settle(t.Context(), s)
	require.NoError(t, err)
}

// done takes an event through its full lifecycle.
func (w *world) done(t *testing.T, source, id string) {
	t.Helper()
	w.accept(t, source, id)
	w.settle(t, ledger.Settlement{Effect: w.claim(t, w.dispatch(t, source, id)), Verdict: ledger.VerdictDone, ResponseStatus: 200})
}

// loaded returns an event with its delivery.
func (w *world) loaded(t *testing.T, source, id string) *inbox.Event {
	t.Helper()
	e, err := w.Inbox().Event(t.Context(), ref(source, id))
	require.NoError(t, err)
	return e
}

var ann = ledger.Operator{Who: "ann", Via: "test", Reason: "because"}
