package outbox

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// fullDisk makes inserts into a table fail as if the table could not be extended, until the caller
// calls freed.
func (b *bundle) fullDisk(t *testing.T, table string) (freed func()) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `CREATE OR REPLACE FUNCTION public.full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';
		END $$;
		CREATE TRIGGER full_disk BEFORE INSERT ON hooklatch.`+table+` FOR EACH ROW EXECUTE FUNCTION public.full_disk()`)
	require.NoError(t, err)
	return func() {
		_, err := b.pool.Exec(t.Context(), `DROP TRIGGER full_disk ON hooklatch.`+table)
		require.NoError(t, err)
	}
}

// After the database refused a delivery, CanCommit succeeds again once a delivery can be stored. It
// does not wait for a sender's next delivery. Before a refusal, CanCommit stores nothing.
func TestARefusedCommitIsTriedBeforeTheNextOne(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"deliveries", "processed_events", "river_job"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			// Accept tries again until AcceptTimeout. It also returns ErrUnavailable if no time is
			// left for a try.
			b := setup(t, func(opts *Options) { opts.AcceptTimeout = time.Second })
			freed := b.fullDisk(t, table)
			require.NoError(t, b.CanCommit(t.Context()), "nothing was refused")
			_, err := b.Accept(t.Context(), delivery("stripe", "evt_1"))
			require.ErrorIs(t, err, ErrUnavailable)
			for range 2 {
				require.True(t, sqlstate.Is(b.CanCommit(t.Context()), "53100"))
			}
			freed()
			require.NoError(t, b.CanCommit(t.Context()))
			require.Zero(t, b.count(t, `SELECT (SELECT count(*) FROM hooklatch.deliveries) + (SELECT count(*) FROM hooklatch.processed_events)
				+ (SELECT count(*) FROM hooklatch.river_job)`))
			defer b.fullDisk(t, table)()
			require.NoError(t, b.CanCommit(t.Context()), "the earlier refusal no longer counts")
		})
	}
}

// A process that only dispatches also notices refusals.
func TestARefusedDispatchIsARefusal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.accepted(t, "stripe", "evt_1")
	freed := b.fullDisk(t, "effects")
	defer freed()
	effect := planned(e, "1")
	_, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{effect}})
	require.ErrorIs(t, err, commit.ErrUnavailable)
	require.NotEqual(t, b.refusals.Load(), b.forgiven.Load())
}
