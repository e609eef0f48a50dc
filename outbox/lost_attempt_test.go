package outbox

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/schema"
)

// Every statement that looks for lost attempts finds the attempt of a worker that died. The effect
// may be in an order or not, and the clock may have been set back after the attempt began.
func TestLostAttemptsAreFoundByEveryStatement(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(t *testing.T, b *bundle) identity.EffectID{
		"free": func(t *testing.T, b *bundle) identity.EffectID {
			t.Helper()
			return b.dispatched(t, "evt_1", ledger.AtLeastOnce)
		},
		"in an order": func(t *testing.T, b *bundle) identity.EffectID {
			t.Helper()
			return b.line(t, 2, nil)[0]
		},
	} {
		for _, setBack := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", clock set back"}[setBack], func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				id := lose(t, b)
				_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.effects SET next_attempt_at = next_attempt_at + interval '1 hour' WHERE key <> $1`, id.Key)
				require.NoError(t, err)
				reader, err := measure.NewReader(b.pool, schema.Default)
				require.NoError(t, err)
				running := b.granted(t, id, time.Hour)
				waiting, err := reader.Waiting(t.Context())
				require.NoError(t, err)
				require.Empty(t, waiting.Due, "a running attempt is not due")
				answers, err := reader.Answers(t.Context(), "app")
				require.NoError(t, err)
				require.Zero(t, answers.OldestDue, "a running attempt is not due")
				_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.effects SET lease_until = now() - interval '1 second' WHERE key = $1`, running.Key)
				require.NoError(t, err)
				if setBack {
					_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.effects SET last_attempt_at = now() + interval '30 days',
						lease_until = now() + interval '30 days', claimed_at = now() + interval '30 days' WHERE key = $1`, id.Key)
					require.NoError(t, err)
				}
				_, found, err := b.Ledger().OldestDue(t.Context(), "app")
				require.NoError(t, err)
				require.True(t, found, "a probe takes the lost attempt's effect")
				damage, err := b.Repair().Look(t.Context())
				require.NoError(t, err)
				require.EqualValues(t, 1, damage.ExpiredLeases, "repair counts the lost attempt")
				waiting, err = reader.Waiting(t.Context())
				require.NoError(t, err)
				require.Len(t, waiting.Due, 1, "the gauge of due effects includes it")
				if answers, err = reader.Answers(t.Context(), "app"); name == "free" { // effects in orders are not searched
					require.NotZero(t, answers.OldestDue, "the page of the destination shows it")
				}
				require.NoError(t, err)
			})
		}
	}
}
