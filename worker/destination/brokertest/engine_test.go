package brokertest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
	"github.com/hooklatch/hooklatch/worker"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// policies sends one effect per policy through a worker, and loses the acknowledgement of the first
// attempt. With at_least_once, the worker sends the effect again under the same key. With
// at_most_once, it parks the effect.
func policies(t *testing.T, b broker, f facts) {
	for policy, want := range map[ledger.Policy]ledger.EffectState{ledger.AtLeastOnce: ledger.EffectDone, ledger.AtMostOnce: ledger.EffectParked} {
		t.Run(string(policy), func(t *testing.T) {
			p := newProxy(t, b.server())
			s := with(t, b, through(p))
			pool := pgtest.New(t, pgtest.MaxConns(20))
			box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
			require.NoError(t, err)
			w, err := worker.New(worker.Options{
				Pool: pool, Outbox: box, Logger: slog.New(slog.DiscardHandler),
				Destinations: []worker.DestinationOptions{{
					Name: "queue", Sender: s, Policy: policy, Retry: destination.Schedule{Initial: 100 * time.Millisecond},
				}},
			})
			require.NoError(t, err)
			require.NoError(t, w.Start(t.Context()))
			t.Cleanup(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
				defer cancel()
				require.NoError(t, w.Stop(ctx))
			})
			id := identity.EffectID{Scope: identity.ScopeOfEnqueue("queue"), Key: identity.Key(b.server() + string(policy)), Generation: 1}
			p.goDeafAfter(id.IdempotencyKey())
			require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
				_, err := box.EnqueueTx(t.Context(), tx, outbox.Enqueue{
					Key: id.Key, Destination: "queue", Request: ledger.Request{ContentType: "text/plain", Body: []byte("paid")},
				})
				return err
			}))
			effect := func() ledger.Effect {
				e, err := box.Ledger().Effect(t.Context(), id.IdempotencyKey())
				require.NoError(t, err)
				return e
			}
			require.Eventually(t, func() bool { return !effect().MaybeAppliedSince.IsZero() }, 2*time.Minute, 10*time.Millisecond)
			p.hear()
			require.Eventually(t, func() bool { return effect().State == want }, 2*time.Minute, 10*time.Millisecond)

			sent := of(t, b, &ledger.Effect{IdempotencyKey: id.IdempotencyKey()})
			require.NotEmpty(t, sent)
			for _, one := range sent {
				require.Equal(t, "paid", one.body)
			}
			if f.dedups || policy == ledger.AtMostOnce {
				require.Len(t, sent, 1)
			}
		})
	}
}
