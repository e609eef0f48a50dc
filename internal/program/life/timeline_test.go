package life_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/life"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// The event failed, was replayed by an operator and has two effects. One effect was parked, and an
// operator retried it.
func TestATimelineIsInOrderAndHasWhatPeopleOrdered(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return time.Date(2026, 11, 21, 8, 0, seconds, 0, time.UTC) }
	l := life.Event{
		Event: &inbox.Event{
			OccurredAt: at(1), ReceivedAt: at(2), Duplicates: 3, DuplicateTimes: []time.Time{at(3), at(9)},
			Outcome: inbox.Dispatched, ProcessedAt: at(6), ErasedAt: at(14), Error: "erased by ann",
		},
		Replays: []inbox.EventReplay{{
			Generation: 2, NewKeys: true, By: "ann", Reason: "the route is right now", At: at(5),
			PreviousOutcome: inbox.Failed, PreviousError: "no such field\n", PreviousAt: at(4),
		}},
		Effects: []life.Effect{
			{
				Effect: ledger.Effect{Destination: "app"},
				Attempts: []ledger.Attempt{
					{Attempt: 1, StartedAt: at(7), FinishedAt: at(8), State: ledger.EffectParked, Applied: "unknown", Error: "HTTP 500", ResponseStatus: 500},
					{Attempt: 2, StartedAt: at(11), FinishedAt: at(12), State: ledger.EffectDone, Applied: "yes", KeyRotation: 1},
				},
				Transitions: []ledger.Transition{
					{To: ledger.EffectPending, At: at(6)},
					{From: ledger.EffectPending, To: ledger.EffectStarted, Attempt: 1, At: at(7)},
					{From: ledger.EffectStarted, To: ledger.EffectParked, Attempt: 1, At: at(8)},
					{From: ledger.EffectParked, To: ledger.EffectPending, Attempt: 1, At: at(10), Reason: "retried by ann: it was not applied"},
					{From: ledger.EffectPending, To: ledger.EffectStarted, Attempt: 2, At: at(11)},
					{From: ledger.EffectStarted, To: ledger.EffectDone, Attempt: 2, At: at(12)},
				},
			},
			{
				Effect:      ledger.Effect{Destination: "crm"},
				Attempts:    []ledger.Attempt{{Attempt: 1, StartedAt: at(3), FinishedAt: at(7), Lost: true, State: ledger.EffectFailed, Applied: "no"}},
				Transitions: []ledger.Transition{{From: ledger.EffectFailed, To: ledger.EffectCancelled, Attempt: 1, At: at(13)}},
			},
		},
	}
	require.Equal(t, []life.Moment{
		{at(1), "occurred, by the provider's clock"},
		{at(2), "received and committed"},
		{at(3), "duplicate 2 of 3"},
		{at(4), `failed: "no such field\n"`},
		{at(5), "replayed by ann, generation 2, with new keys: the route is right now"},
		{at(6), "dispatched"},
		{at(7), "crm: attempt 1, applied: no, then failed"},
		{at(8), "app: attempt 1, answered 500, applied: unknown, then parked, 1s; HTTP 500"},
		{at(9), "duplicate 3 of 3"},
		{at(10), "app: parked -> pending: retried by ann: it was not applied"},
		{at(12), "app: attempt 2, key 2, applied: yes, then done, 1s"},
		{at(13), "crm: failed -> cancelled"},
		{at(14), "erased by ann"},
	}, l.Timeline())
}

// Older versions did not store each duplicate's time. An imported event was received by another
// system.
func TestATimelineSaysNoMoreThanIsKnown(t *testing.T) {
	t.Parallel()
	received, last := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC), time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	imported := life.Event{Event: &inbox.Event{Outcome: inbox.Imported, ReceivedAt: received, Duplicates: 1, LastDuplicateAt: last}}
	require.Equal(t, []life.Moment{
		{received, "received by another system"},
		{last, "last of 1 duplicate"},
	}, imported.Timeline())
}
