package outbox

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// withDefault returns an Outbox on a database whose default of synchronous_commit is value. A table
// records the setting with which each Hooklatch table was written.
func withDefault(t *testing.T, value string) *bundle {
	t.Helper()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `
		DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = `+value+`', current_database()); END $$;
		CREATE TABLE written (statement text, synchronous_commit text);
		CREATE FUNCTION note_setting() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO written VALUES (TG_OP || ' ' || TG_TABLE_NAME, current_setting('synchronous_commit'));
			RETURN NULL;
		END $$;
		DO $$ DECLARE t text; BEGIN
			FOR t IN SELECT relname FROM pg_class WHERE relnamespace = 'hooklatch'::regnamespace AND relkind = 'r' LOOP
				EXECUTE format('CREATE TRIGGER note_setting AFTER INSERT OR UPDATE OR DELETE ON hooklatch.%I EXECUTE FUNCTION note_setting()', t);
			END LOOP;
		END $$`)
	require.NoError(t, err)
	again, err := pgxpool.New(t.Context(), pgtest.URL(t, pool)) // the sessions of a new pool have the default
	require.NoError(t, err)
	t.Cleanup(again.Close)
	return onPool(t, again)
}

// writing runs f and returns the values of synchronous_commit with which f wrote.
func (b *bundle) writing(t *testing.T, f func() error) []string {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `DELETE FROM written`)
	require.NoError(t, err)
	require.NoError(t, f())
	rows, err := b.pool.Query(t.Context(), `SELECT DISTINCT synchronous_commit FROM written`)
	require.NoError(t, err)
	settings, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return settings
}

// The defaults of server, database and role do not matter. Hooklatch acknowledges no data that a
// server crash would lose, and does not weaken a stronger setting.
func TestEveryTransactionOfOursIsDurable(t *testing.T) {
	t.Parallel()
	b := withDefault(t, "off")
	ctx := t.Context()
	ref := identity.EventRef{Source: "stripe", EventID: "evt_1"}
	var e *inbox.Event
	var claimed ledger.Claimed
	var effect identity.EffectID
	claim := func(id identity.EffectID, lease time.Duration) error {
		var err error
		claimed, err = b.Ledger().Claim(ctx, ledger.Claim{ID: id, ClaimID: uuid.New(), Lease: lease, JobID: 1})
		return err
	}
	settle := func(verdict ledger.Verdict) error {
		_, err := b.Ledger().Settle(ctx, ledger.Settlement{Effect: claimed.Effect, Verdict: verdict})
		return err
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"register destinations", func() error {
			return b.fleet.RegisterDestinations(ctx, []fleet.Destination{{Name: "app", Kind: "http", Queue: "dst_app"}})
		}},
		{"accept", func() error { _, err := b.Accept(ctx, delivery("stripe", "evt_1", "evt_2")); return err }},
		{"note a duplicate", func() error {
			if _, err := b.Accept(ctx, delivery("stripe", "evt_1")); err != nil {
				return err
			}
			require.Eventually(t, func() bool {
				return b.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE duplicates = 1`) == 1
			}, 2*time.Minute, time.Millisecond)
			return nil
		}},
		{"dispatch", func() (err error) {
			e, err = b.Event(ctx, ref)
			require.NoError(t, err)
			effect = planned(e, "evt_1").EffectID
			_, err = b.Dispatch(ctx, Dispatch{Event: e, Effects: []ledger.NewEffect{planned(e, "evt_1")}})
			return err
		}},
		{"fail a dispatch", func() error {
			_, err := b.FailDispatch(ctx, &inbox.Event{EventRef: identity.EventRef{Source: "stripe", EventID: "evt_2"}, Generation: 1}, fleet.Configuration{}, "no")
			return err
		}},
		{"claim", func() error { return claim(effect, lease) }},
		{"settle", func() error { return settle(ledger.VerdictRefused) }},
		{"retry", func() error { return b.Ledger().Retry(ctx, effect.IdempotencyKey(), ann) }},
		{"park", func() error { return b.Ledger().Park(ctx, effect.IdempotencyKey(), ann) }},
		{"cancel", func() error { return b.Ledger().Cancel(ctx, effect.IdempotencyKey(), ann) }},
		{"replay", func() error { _, err := b.Replay(ctx, ref, ann, inbox.ReplayOptions{}); return err }},
		{"trip", func() error { return failure(b.fleet.Trip(ctx, "app", "down", 0)) }},
		{"begin a probe", func() error {
			began, err := b.fleet.BeginProbe(ctx, "app", time.Minute)
			require.True(t, began)
			return err
		}},
		{"fail a probe", func() error { return b.fleet.ProbeFailed(ctx, "app", "down", 0) }},
		{"close the breaker", func() error { return failure(b.fleet.CloseBreaker(ctx, "app")) }},
		{"pause", func() error { return b.fleet.SetPaused(ctx, "app", true, ann) }},
		{"resume", func() error { return b.fleet.SetPaused(ctx, "app", false, ann) }},
		{"run an effect in a transaction", func() error {
			_, _, err := b.Ledger().RunTx(ctx, ledger.Claim{ID: effect, ClaimID: uuid.New(), Lease: lease, JobID: 1},
				func(context.Context, pgx.Tx, ledger.Effect) (ledger.Settlement, error) {
					return ledger.Settlement{Verdict: ledger.VerdictDone}, nil
				})
			return err
		}},
		{"reconcile", func() error {
			_, err := b.pool.Exec(ctx, `SET synchronous_commit = on; DELETE FROM hooklatch.river_job; DELETE FROM written; RESET synchronous_commit`)
			require.NoError(t, err)
			done, err := b.reconcile(ctx, 0)
			require.Equal(t, 1, done.Events)
			return err
		}},
		{"claim one that waits for its rendering", func() error { return claim(b.late(t, "late", ledger.AtLeastOnce), lease) }},
		{"fix a request", func() error {
			_, err := b.Ledger().FixRequest(ctx, claimed.Effect, ledger.Request{Method: "POST", Body: []byte(`{}`)})
			return err
		}},
	} {
		require.Equal(t, []string{"on"}, b.writing(t, step.do), step.name)
	}
}

func TestSynchronousCommitIsOnlyRaised(t *testing.T) {
	t.Parallel()
	for is, want := range map[string]string{"off": "on", "local": "on", "remote_write": "on", "on": "on", "remote_apply": "remote_apply"} {
		t.Run(is, func(t *testing.T) {
			t.Parallel()
			b := withDefault(t, is)
			require.Equal(t, []string{want}, b.writing(t, func() error {
				_, err := b.Accept(t.Context(), delivery("stripe", "evt_1"))
				return err
			}))
			tx, err := b.pool.BeginTx(t.Context(), commit.TransactionOptions(time.Minute))
			require.NoError(t, err)
			var got, idle string
			require.NoError(t, tx.QueryRow(t.Context(), `SELECT current_setting('synchronous_commit'), current_setting('idle_in_transaction_session_timeout')`).Scan(&got, &idle))
			require.Equal(t, want, got)
			require.Equal(t, "1min", idle)
			require.NoError(t, tx.Rollback(t.Context()))
		})
	}
}
