package outbox

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// stepsOfALife lists the transactions in the lifecycle of an event with one effect.
var stepsOfALife = []string{"accept", "dispatch", "claim", "settle"}

// writtenByLives returns the average bytes of WAL that each step of a lifecycle writes. Ids are
// random, like the ids of most providers.
func (b *bundle) writtenByLives(t *testing.T, lives int) map[string]int64 {
	t.Helper()
	written := map[string]int64{}
	var at, before int64
	step := func(name string) {
		require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint`).Scan(&at))
		if name != "" {
			written[name] += at - before
		}
		before = at
	}
	for range lives {
		id := uuid.NewString()
		step("")
		e := b.accepted(t, "stripe", id)
		step("accept")
		effect := planned(e, id)
		_, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{effect}})
		require.NoError(t, err)
		step("dispatch")
		granted := b.granted(t, effect.EffectID, time.Minute)
		step("claim")
		b.settle(t, granted, ledger.Settlement{Verdict: ledger.VerdictDone, Duration: time.Millisecond, ResponseStatus: 200, ResponseExcerpt: "ok"})
		step("settle")
	}
	for _, name := range stepsOfALife {
		written[name] /= int64(lives)
		written["life"] += written[name]
	}
	return written
}

// After a checkpoint, each random key in the index of a large table adds a full-page image to the
// WAL. The test limits the bytes of a lifecycle on a small table, where no images occur, and on a
// larger table right after a checkpoint.
//
// HOOKLATCH_LONG=1 fills the tables with 2,000,000 lifecycles instead of 30,000.
func TestWALOfALife(t *testing.T) {
	t.Parallel()
	b := onPool(t, pgtest.New(t, pgtest.Durable(), pgtest.Setting("autovacuum", "off"), pgtest.Setting("max_wal_size", "8GB"), pgtest.Setting("checkpoint_timeout", "1h")))
	lives := 200
	b.writtenByLives(t, lives)
	small := b.writtenByLives(t, lives)
	filled := 30_000
	if os.Getenv("HOOKLATCH_LONG") != "" {
		filled = 2_000_000
	}
	fill, err := os.ReadFile("testdata/lives.sql")
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), fmt.Sprintf(string(fill), filled))
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `CHECKPOINT`)
	require.NoError(t, err)
	large := b.writtenByLives(t, lives)
	for _, name := range append(stepsOfALife, "life") {
		t.Logf("%-8s %6d B, after a checkpoint %6d B", name, small[name], large[name])
	}
	require.Less(t, small["life"], int64(6_400))
	require.Less(t, large["life"], int64(24_000))
}
