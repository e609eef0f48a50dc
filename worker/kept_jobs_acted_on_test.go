package worker

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// ann is an operator.
var ann = ledger.Operator{Who: "ann", Via: "cli", Reason: "test"}

// carry carries out a bulk run until it has ended.
func (b *bundle) carry(t *testing.T, o runs.Order) runs.Run {
	t.Helper()
	run, err := b.outbox.Runs().Through(t.Context(), o, ann, nil)
	require.NoError(t, err)
	return run
}

// Operator actions leave kept jobs alone: a kept job neither runs again nor blocks the job that an
// action needs. The job of a cancelled or parked effect makes no call.
func TestOperatorActionsLeaveKeptJobsAlone(t *testing.T) {
	t.Parallel()
	const n = 3
	effects := func(action ledger.Action, states ...ledger.EffectState) runs.Order {
		return runs.Order{Action: action, Effects: find.Effects{States: states}, EffectTerms: runs.EffectTerms{InDoubt: true}}
	}
	for name, c := range map[string]struct {
		answers int // status of all first attempts
		act     func(t *testing.T, b *bundle)
		state   ledger.EffectState // final state of all effects
		calls   int32              // final number of calls for each effect
	}{
		"cancel": {answers: http.StatusServiceUnavailable, state: ledger.EffectCancelled, calls: 1, act: func(t *testing.T, b *bundle) {
			for _, e := range b.effects(t) {
				require.NoError(t, b.outbox.Ledger().Cancel(t.Context(), e.IdempotencyKey, ann))
			}
		}},
		"cancel in bulk": {answers: http.StatusServiceUnavailable, state: ledger.EffectCancelled, calls: 1, act: func(t *testing.T, b *bundle) {
			require.EqualValues(t, n, b.carry(t, effects(ledger.ActionCancelEffect, ledger.EffectPending, ledger.EffectInDoubt)).Changed)
		}},
		"park in bulk": {answers: http.StatusServiceUnavailable, state: ledger.EffectParked, calls: 1, act: func(t *testing.T, b *bundle) {
			require.EqualValues(t, n, b.carry(t, effects(ledger.ActionParkEffect, ledger.EffectPending, ledger.EffectInDoubt)).Changed)
		}},
		"retry in bulk": {answers: http.StatusBadRequest, state: ledger.EffectDone, calls: 2, act: func(t *testing.T, b *bundle) {
			require.EqualValues(t, n, b.carry(t, effects(ledger.ActionRetryEffect, ledger.EffectFailed)).Changed)
		}},
		"replay in bulk": {answers: http.StatusOK, state: ledger.EffectDone, calls: 2, act: func(t *testing.T, b *bundle) {
			require.EqualValues(t, n, b.carry(t, runs.Order{Action: ledger.ActionReplayEvent, EventTerms: runs.EventTerms{NewKeys: true}}).Changed)
		}},
	} {
		for _, births := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, without jobs: %t", name, births), func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				var calls atomic.Int32
				b.to(t, func(w http.ResponseWriter, _ *http.Request) {
					if calls.Add(1) <= n {
						w.WriteHeader(c.answers)
					}
				}, func(d *DestinationOptions) { d.Retry.Initial = time.Hour })
				w := b.keeping(t, 24*time.Hour, births)
				b.start(t, w)
				for i := range n {
					b.accept(t, fmt.Sprintf("evt_%d", i), false)
				}
				waitFor(t, b, fmt.Sprintf("SELECT count(*) / %d FROM hooklatch.attempts", n))
				stop(t, w)
				completed := b.count(t, jobsCompleted, "dispatch") + b.count(t, jobsCompleted, "effect")
				require.Positive(t, completed)

				c.act(t, b)
				// The jobs of waiting effects are due now.
				_, err := b.pool.Exec(t.Context(), "UPDATE hooklatch.river_job SET scheduled_at = now() WHERE state IN ('scheduled', 'retryable')")
				require.NoError(t, err)
				w = b.keeping(t, 24*time.Hour, births)
				b.start(t, w)
				waitFor(t, b, "SELECT (count(*) = 0)::int FROM hooklatch.river_job WHERE kind IN ('dispatch', 'effect') AND finalized_at IS NULL")
				waitFor(t, b, "SELECT count(*) / $1 FROM hooklatch.effects WHERE state = $2", n*int(max(1, c.calls-1)), c.state)
				stop(t, w)
				require.Equal(t, n*c.calls, calls.Load())
				require.GreaterOrEqual(t, b.count(t, jobsCompleted, "dispatch")+b.count(t, jobsCompleted, "effect"), completed, "kept jobs stay")
				require.Zero(t, b.count(t, "SELECT count(*) FROM hooklatch.river_job WHERE kind IN ('dispatch', 'effect') AND finalized_at IS NULL"))
			})
		}
	}
}

// An erasure also deletes the event's kept jobs, because they contain the event's id, and their
// errors may quote receivers' responses. The jobs of other events stay.
func TestErasedEventsLeaveNoTraceInKeptJobs(t *testing.T) {
	t.Parallel()
	const canary, other = "jane@example.com", "joe@example.com"
	ref := identity.EventRef{Source: testSource, EventID: canary}
	for name, erase := range map[string]func(t *testing.T, b *bundle){
		"an event": func(t *testing.T, b *bundle) {
			_, err := b.outbox.Erasure().Event(t.Context(), ref, ann, erasure.Order{Cancel: true})
			require.NoError(t, err)
		},
		"in bulk": func(t *testing.T, b *bundle) {
			order := runs.Order{Action: erasure.ActionEraseEvent, Events: find.Events{Content: find.Content{Contains: canary}}}
			order.Cancel = true
			require.EqualValues(t, 1, b.carry(t, order).Changed)
		},
		"redaction": func(t *testing.T, b *bundle) {
			for _, e := range b.effects(t) {
				if !e.State.Finished() {
					require.NoError(t, b.outbox.Ledger().Cancel(t.Context(), e.IdempotencyKey, ann))
				}
			}
			_, err := b.outbox.Erasure().Redact(t.Context(), []erasure.Redaction{{Source: testSource, Pointers: []string{"/id"}}})
			require.NoError(t, err)
		},
	} {
		for _, fate := range []struct {
			name    string
			answers []int // statuses of each event's attempts
		}{
			{"done at once", []int{200}},
			{"done later", []int{503, 200}},
			{"failed", []int{422}},
			{"waits", []int{503, 503, 503, 503, 503, 503, 503, 503, 503, 503}},
		} {
			for _, births := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, without jobs: %t", name, fate.name, births), func(t *testing.T) {
					t.Parallel()
					b := setup(t)
					var calls [2]atomic.Int32
					b.to(t, func(w http.ResponseWriter, r *http.Request) {
						who, at := canary, 0
						if r.Header.Get("X-Who") == other {
							who, at = other, 1
						}
						status := fate.answers[min(int(calls[at].Add(1)), len(fate.answers))-1]
						w.WriteHeader(status)
						_, _ = fmt.Fprintf(w, "no account of %s", who)
					}, func(d *DestinationOptions) {
						if fate.name == "waits" {
							d.Retry.Initial = time.Hour
						}
					})
					w := b.keeping(t, 24*time.Hour, births)
					w.Handle(testSource, "handled", func(context.Context, pgx.Tx, inbox.Event) error { return nil })
					b.start(t, w)
					b.accept(t, canary, false)
					b.accept(t, other, false)
					waitFor(t, b, "SELECT count(*) / 2 FROM hooklatch.effects WHERE state IN ('done', 'failed') OR attempt > 0 AND state = 'in_doubt' AND next_attempt_at > now() + interval '1 minute'")
					stop(t, w)
					require.Positive(t, b.inRiver(t, canary), "before the erasure, the text is found")
					kept := b.inRiver(t, other)
					erase(t, b)
					require.Zero(t, b.inRiver(t, canary))
					if name != "redaction" { // a redaction applies to all events
						require.Equal(t, kept, b.inRiver(t, other))
					}
					w = b.keeping(t, 24*time.Hour, births)
					b.start(t, w) // reconciliation and upkeep must restore nothing
					b.accept(t, "evt_last", false)
					waitFor(t, b, "SELECT count(*) FROM hooklatch.river_job WHERE args ->> 'event_id' = 'evt_last' AND finalized_at IS NOT NULL")
					stop(t, w)
					require.Zero(t, b.inRiver(t, canary))
				})
			}
		}
	}
}

// inRiver returns the number of rows of River's tables that contain a text.
func (b *bundle) inRiver(t *testing.T, text string) (n int) {
	t.Helper()
	rows, err := b.pool.Query(t.Context(), `SELECT oid::regclass::text FROM pg_class
		WHERE relnamespace = 'hooklatch'::regnamespace AND relkind = 'r' AND relname LIKE 'river%'`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Contains(t, tables, "hooklatch.river_job")
	for _, table := range tables {
		n += b.count(t, "SELECT count(*) FROM "+table+" AS r WHERE strpos(r::text, $1) > 0", text)
	}
	return n
}
