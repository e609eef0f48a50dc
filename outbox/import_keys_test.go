package outbox

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/fault"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// known returns n keys that another system accepted, oldest first: one per minute, the last one 61
// minutes ago.
func known(n int) []inbox.ImportedKey {
	keys := make([]inbox.ImportedKey, n)
	for i := range keys {
		keys[i] = inbox.ImportedKey{
			EventID:    identity.EventID(fmt.Sprintf("old_%d", i)),
			ReceivedAt: time.Now().Add(-time.Hour - time.Duration(n-i)*time.Minute).UTC().Truncate(time.Microsecond),
		}
	}
	return keys
}

// An operator imports the keys of the old system. A redelivery across the migration is a
// duplicate and gets no job.
func TestRedeliveryOfAnImportedKeyIsADuplicate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	keys := known(3)
	done, err := b.ImportKeys(t.Context(), "stripe", keys, ann, nil)
	require.NoError(t, err)
	require.Equal(t, inbox.ImportProgress{Done: 3, New: 3}, done)

	a, err := b.Accept(t.Context(), delivery("stripe", "old_1", "evt_1"))
	require.NoError(t, err)
	require.Equal(t, Duplicate, a.Events[0].Status)
	require.False(t, a.Events[0].BodyDiffers, "the imported event's body is unknown")
	require.True(t, keys[1].ReceivedAt.Equal(a.Events[0].FirstReceivedAt))
	require.Equal(t, Accepted, a.Events[1].Status)
	require.Eventually(t, func() bool {
		again, err := b.Accept(t.Context(), delivery("stripe", "old_1"))
		require.NoError(t, err)
		require.False(t, again.Events[0].BodyDiffers)
		fromMemory, ok := b.cached(t, delivery("stripe", "old_1"))
		require.False(t, fromMemory.BodyDiffers)
		return ok
	}, 2*time.Minute, time.Millisecond)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.river_job`), "only the new event has a job")

	e, err := b.Event(t.Context(), identity.EventRef{Source: "stripe", EventID: "old_1"})
	require.NoError(t, err)
	require.Equal(t, inbox.Imported, e.Outcome)
	require.True(t, keys[1].ReceivedAt.Equal(e.ReceivedAt))
	require.Nil(t, e.Body)
	require.Negative(t, e.AcceptSeq)

	// An imported event cannot be replayed, released or dropped, and upkeep does not change it.
	_, err = b.Replay(t.Context(), e.EventRef, ann, inbox.ReplayOptions{})
	require.ErrorIs(t, err, inbox.ErrNotReplayable)
	require.ErrorContains(t, err, "another system accepted it")
	require.ErrorIs(t, b.Release(t.Context(), e.EventRef, ann), inbox.ErrNotHeld)
	require.ErrorIs(t, b.Drop(t.Context(), e.EventRef, ann), inbox.ErrNotHeld)
	_, err = b.pool.Exec(t.Context(), `DELETE FROM hooklatch.river_job`)
	require.NoError(t, err)
	_, err = b.reconcile(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.river_job`))
}

// An import can be repeated: stored keys stay unchanged.
func TestImportLeavesWhatIsKnownAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.accepted(t, "stripe", "old_1")
	keys := append(known(2500), inbox.ImportedKey{EventID: "old_1", ReceivedAt: time.Now().Add(-24 * time.Hour)})
	var told []inbox.ImportProgress
	done, err := b.ImportKeys(t.Context(), "stripe", keys, ann, func(p inbox.ImportProgress) { told = append(told, p) })
	require.NoError(t, err)
	require.Equal(t, inbox.ImportProgress{Done: 2501, New: 2499}, done)
	require.Len(t, told, 3)
	again, err := b.ImportKeys(t.Context(), "stripe", keys, because("once more"), nil)
	require.NoError(t, err)
	require.Equal(t, inbox.ImportProgress{Done: 2501}, again)
	stands, err := b.Event(t.Context(), first.EventRef)
	require.NoError(t, err)
	require.Equal(t, first, stands)
	_, err = b.ImportKeys(t.Context(), "github", keys[:1], ann, nil)
	require.NoError(t, err)
	require.Equal(t, 2501, b.count(t, `SELECT count(*) FROM hooklatch.processed_events`))

	log := b.actions(t)
	require.Len(t, log, 7)
	require.Equal(t, ledger.ActionImportKeys, log[0].Action)
	require.Equal(t, "github: keys 1 to 1", log[0].Target)
	require.Equal(t, "once more", log[1].Reason)
}

// Lists show imported events after all other events, in the order of their times.
func TestImportedEventsAreBrowsedByTheirTimes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accepted(t, "stripe", "evt_1")
	keys := known(10)
	_, err := b.ImportKeys(t.Context(), "stripe", keys, ann, nil)
	require.NoError(t, err)
	b.accepted(t, "stripe", "evt_2")
	list := func(f find.Events, limit int) []string {
		var found []string
		for at, more := find.Beginning, true; more; {
			page, err := b.Finder().Events(t.Context(), f, at, limit)
			require.NoError(t, err)
			for _, e := range page.Rows {
				found = append(found, string(e.EventID))
			}
			at, more = page.Next, page.More
		}
		return found
	}
	want := []string{"evt_2", "evt_1"}
	for i := range keys {
		want = append(want, string(keys[len(keys)-1-i].EventID))
	}
	require.Equal(t, want, list(find.Events{}, 3))
	require.Equal(t, want[:7], list(find.Events{Span: find.Span{Since: keys[5].ReceivedAt}}, 3))
	require.Equal(t, want[7:], list(find.Events{Span: find.Span{Until: keys[5].ReceivedAt}}, 3))
	require.Equal(t, want[2:], list(find.Events{State: inbox.Imported}, 0))

	var onward []string
	for at, more := find.Beginning, true; more; {
		page, err := b.Finder().EventsOnward(t.Context(), find.Events{}, at, 4)
		require.NoError(t, err)
		for _, e := range page.Rows {
			onward = append(onward, string(e.EventID))
		}
		at, more = page.Next, page.More
	}
	slices.Reverse(onward)
	require.Equal(t, want[2:], onward, "the accepted events are not settled yet")
}

func TestKeysThatNoEventCanHaveAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for text, key := range map[string]inbox.ImportedKey{
		"event id is empty":                      {ReceivedAt: time.Now()},
		"event id contains a NUL":                {EventID: "a\x00b", ReceivedAt: time.Now()},
		`event "a" has no valid time`:            {EventID: "a"},
		"event id is not valid UTF-8":            {EventID: "\xff", ReceivedAt: time.Now()},
		`event "b" has no valid time of receipt`: {EventID: "b", ReceivedAt: time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		_, err := b.ImportKeys(t.Context(), "stripe", []inbox.ImportedKey{{EventID: "good", ReceivedAt: time.Now()}, key}, ann, nil)
		require.ErrorContains(t, err, text)
	}
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
}

// An import is done once and recorded once, even if its COMMIT or the COMMIT response is lost.
func TestImportSurvivesALostCommit(t *testing.T) {
	t.Parallel()
	for _, mode := range []fault.Mode{fault.LoseAnswer, fault.LoseRequest} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b, sound, f := onFaultyPool(t)
			f.Arm(mode, 1)
			done, err := b.ImportKeys(context.WithoutCancel(t.Context()), "stripe", known(5), ann, nil)
			require.NoError(t, err)
			require.Equal(t, 1, f.Count(), "the fault did not happen")
			require.Equal(t, inbox.ImportProgress{Done: 5, New: 5}, done)
			require.Len(t, sound.actions(t), 1)
			require.Equal(t, 5, sound.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
		})
	}
}
