package outbox

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// signed returns a delivery whose proof is remembered.
func signed(proof string, action ReplayAction, ids ...string) Delivery {
	d := delivery("github", ids...)
	d.ReplayGuard = &ReplayGuard{Proof: []byte(proof), Action: action}
	return d
}

// with sets the content that d's replay guard remembers, and returns d.
func with(content string, d Delivery) Delivery {
	d.ReplayGuard.Content = []byte(content)
	return d
}

func TestReplayGuardFlags(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, err := b.Accept(t.Context(), signed("sig-1", ReplayFlag, "a"))
	require.NoError(t, err)
	require.False(t, a.Events[0].ReplaySuspect)

	again, err := b.Accept(t.Context(), signed("sig-1", ReplayFlag, "a"))
	require.NoError(t, err)
	require.Equal(t, Duplicate, again.Events[0].Status, "the provider's own redelivery")
	require.False(t, again.Events[0].ReplaySuspect)

	replay, err := b.Accept(t.Context(), signed("sig-1", ReplayFlag, "fresh"))
	require.NoError(t, err)
	require.Equal(t, Accepted, replay.Events[0].Status)
	require.True(t, replay.Events[0].ReplaySuspect)
	e, err := b.Event(t.Context(), identity.EventRef{Source: "github", EventID: "fresh"})
	require.NoError(t, err)
	require.True(t, e.ReplaySuspect)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE replay_suspect`))
}

func TestReplayGuardRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Accept(t.Context(), signed("sig-1", ReplayRefuse, "a", "b"))
	require.NoError(t, err)
	mixed, err := b.Accept(t.Context(), signed("sig-1", ReplayRefuse, "a", "fresh"))
	require.NoError(t, err)
	require.Equal(t, Duplicate, mixed.Events[0].Status)
	require.Equal(t, Refused, mixed.Events[1].Status)
	require.Equal(t, 1, mixed.Refused())
	require.Equal(t, 2, b.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
	require.Equal(t, 2, b.count(t, `SELECT count(*) FROM hooklatch.river_job`))
}

// Many copies of one captured request arrive under different ids, in one batch and through two
// gateways. Only one copy is stored.
func TestReplayGuardRefusesConcurrently(t *testing.T) {
	t.Parallel()
	one := setup(t)
	two := onPool(t, one.pool)
	var mu sync.Mutex
	statuses := make(map[AcceptStatus]int)
	var all sync.WaitGroup
	for i := range 64 {
		o := []*Outbox{one.Outbox, two.Outbox}[i%2]
		all.Go(func() {
			a, err := o.Accept(context.Background(), signed("sig-1", ReplayRefuse, fmt.Sprintf("id_%d", i)))
			if err != nil {
				t.Errorf("accept: %v", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			statuses[a.Events[0].Status]++
		})
	}
	all.Wait()
	require.Equal(t, map[AcceptStatus]int{Accepted: 1, Refused: 63}, statuses)
}

func TestReplayGuardHolds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, err := b.Accept(t.Context(), signed("sig-1", ReplayHold, "a"))
	require.NoError(t, err)
	require.Equal(t, Accepted, first.Events[0].Status)
	mixed, err := b.Accept(t.Context(), signed("sig-1", ReplayHold, "a", "fresh"))
	require.NoError(t, err)
	require.Equal(t, Duplicate, mixed.Events[0].Status, "the provider's own redelivery")
	require.Equal(t, Held, mixed.Events[1].Status)
	require.Equal(t, 1, mixed.Held())
	again, err := b.Accept(t.Context(), signed("sig-1", ReplayHold, "fresh"))
	require.NoError(t, err)
	require.Equal(t, Duplicate, again.Events[0].Status, "the event is held only once")

	held, err := b.Event(t.Context(), identity.EventRef{Source: "github", EventID: "fresh"})
	require.NoError(t, err)
	require.Equal(t, inbox.Held, held.Outcome)
	require.True(t, held.ReplaySuspect)
	require.NotEmpty(t, held.Body, "a held event is stored")
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.river_job`), "only the first has a job")
}

// Two gateways, and the deliveries of one batch, agree on which copy is the first.
func TestReplayGuardHoldsConcurrently(t *testing.T) {
	t.Parallel()
	one := setup(t)
	two := onPool(t, one.pool)
	var all sync.WaitGroup
	for i := range 64 {
		o := []*Outbox{one.Outbox, two.Outbox}[i%2]
		all.Go(func() {
			if _, err := o.Accept(context.Background(), signed("sig-1", ReplayHold, fmt.Sprintf("id_%d", i))); err != nil {
				t.Errorf("accept: %v", err)
			}
		})
	}
	all.Wait()
	require.Equal(t, 63, one.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'held'`))
	require.Equal(t, 1, one.count(t, `SELECT count(*) FROM hooklatch.river_job`))
}

func TestOtherContentUnderOneProof(t *testing.T) {
	t.Parallel()
	for action, want := range map[ReplayAction]struct{ fresh, known AcceptStatus }{
		ReplayFlag:   {Held, Duplicate},
		ReplayHold:   {Held, Duplicate},
		ReplayRefuse: {Refused, Refused},
	} {
		t.Run(string(action), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			first, err := b.Accept(t.Context(), with("push", signed("sig-1", action, "a")))
			require.NoError(t, err)
			require.Equal(t, Accepted, first.Events[0].Status)
			forged, err := b.Accept(t.Context(), with("release", signed("sig-1", action, "a", "fresh")))
			require.NoError(t, err)
			require.Equal(t, want.known, forged.Events[0].Status)
			require.Equal(t, want.fresh, forged.Events[1].Status)
			require.True(t, forged.Events[1].ContentDiffers)
			redelivered, err := b.Accept(t.Context(), with("push", signed("sig-1", action, "a")))
			require.NoError(t, err)
			require.Equal(t, Duplicate, redelivered.Events[0].Status)
			unremembered, err := b.Accept(t.Context(), signed("sig-1", action, "a"))
			require.NoError(t, err)
			require.Equal(t, Duplicate, unremembered.Events[0].Status, "without remembered content, the content is not compared")
			require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.river_job`))
		})
	}
}

// Within an open window, a copy that the replay guard would hold is a duplicate like any other
// copy. A held copy opens no window itself. Otherwise a genuine event would be lost as the
// duplicate of an event that is never dispatched.
func TestHeldEventsOpenNoContentWindow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	guarded := func(id string) Delivery {
		d := content(time.Minute, id, "same")
		d.ReplayGuard = &ReplayGuard{Proof: []byte("sig-1"), Action: ReplayHold}
		return d
	}
	_, err := b.Accept(t.Context(), guarded("a"))
	require.NoError(t, err)
	copied, err := b.Accept(t.Context(), guarded("b"))
	require.NoError(t, err)
	require.Equal(t, Duplicate, copied.Events[0].Status)
	require.EqualValues(t, "a", copied.Events[0].SameAs)

	_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.content_guards SET expires_at = now()`)
	require.NoError(t, err)
	late, err := b.Accept(t.Context(), guarded("c"))
	require.NoError(t, err)
	require.Equal(t, Held, late.Events[0].Status)
	genuine := guarded("d")
	genuine.ReplayGuard.Proof = []byte("sig-2")
	next, err := b.Accept(t.Context(), genuine)
	require.NoError(t, err)
	require.Equal(t, Accepted, next.Events[0].Status)
}

func content(window time.Duration, id, body string) Delivery {
	d := delivery("odd", id)
	d.Body, d.ContentWindow = []byte(body), window
	return d
}

func TestContentWindow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, err := b.Accept(t.Context(), content(time.Minute, "a", "same"))
	require.NoError(t, err)
	require.Equal(t, 1, first.New())

	copied, err := b.Accept(t.Context(), content(time.Minute, "b", "same"))
	require.NoError(t, err)
	require.Equal(t, Duplicate, copied.Events[0].Status)
	require.EqualValues(t, "a", copied.Events[0].SameAs)
	require.Equal(t, first.Events[0].AcceptanceID, copied.Events[0].AcceptanceID)

	other, err := b.Accept(t.Context(), content(time.Minute, "c", "other"))
	require.NoError(t, err)
	require.Equal(t, 1, other.New())

	sameID, err := b.Accept(t.Context(), content(time.Minute, "a", "changed"))
	require.NoError(t, err)
	require.Equal(t, Duplicate, sameID.Events[0].Status, "an event with a known id is a duplicate whatever its content")

	_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.content_guards SET expires_at = now()`)
	require.NoError(t, err)
	later, err := b.Accept(t.Context(), content(time.Minute, "d", "same"))
	require.NoError(t, err)
	require.Equal(t, 1, later.New(), "after the window, the content is a new event")
	copied, err = b.Accept(t.Context(), content(time.Minute, "e", "same"))
	require.NoError(t, err)
	require.EqualValues(t, "d", copied.Events[0].SameAs, "the new event opens its own window")
}

func TestContentWindowThroughTwoGateways(t *testing.T) {
	t.Parallel()
	one := setup(t)
	two := onPool(t, one.pool)
	var mu sync.Mutex
	isNew := make(map[string]int)
	var all sync.WaitGroup
	for i := range 60 {
		o := []*Outbox{one.Outbox, two.Outbox}[i%2]
		body := fmt.Sprintf("content %d", i%3)
		all.Go(func() {
			a, err := o.Accept(context.Background(), content(time.Minute, fmt.Sprintf("id_%d", i), body))
			if err != nil {
				t.Errorf("accept: %v", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			isNew[body] += a.New()
		})
	}
	all.Wait()
	require.Equal(t, map[string]int{"content 0": 1, "content 1": 1, "content 2": 1}, isNew)
	require.Equal(t, 3, one.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
}

// A refused replay opens no content window: otherwise later copies would be duplicates of an event
// that is not stored.
func TestRefusedReplayOpensNoContentWindow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Accept(t.Context(), signed("sig-1", ReplayRefuse, "a"))
	require.NoError(t, err)
	refused := signed("sig-1", ReplayRefuse, "b")
	refused.Body, refused.ContentWindow = []byte("new content"), time.Minute
	a, err := b.Accept(t.Context(), refused)
	require.NoError(t, err)
	require.Equal(t, 1, a.Refused())
	genuine := signed("sig-2", ReplayRefuse, "c")
	genuine.Body, genuine.ContentWindow = []byte("new content"), time.Minute
	a, err = b.Accept(t.Context(), genuine)
	require.NoError(t, err)
	require.Equal(t, 1, a.New())
}

// A retry after a lost COMMIT response finds its own guard and is not refused.
func TestGuardsSurviveALostCommit(t *testing.T) {
	t.Parallel()
	b, sound, f := onFaultyPool(t)
	f.Arm("lose_answer", 1)
	d := signed("sig-1", ReplayRefuse, "a", "b")
	d.ContentWindow = time.Minute
	d.Events[0].Part, d.Events[1].Part = []byte("1"), []byte("2")
	a, err := b.Accept(t.Context(), d)
	require.NoError(t, err)
	require.Equal(t, 1, f.Count())
	require.Equal(t, 2, a.New())
	require.False(t, a.Events[0].ReplaySuspect)
	require.Equal(t, 2, sound.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE NOT replay_suspect`))
}

func TestRetryOfTheProviderIsStored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := delivery("slack", "Ev1")
	d.RetryNumber, d.RetryReason = 2, "http_timeout\x00"
	_, err := b.Accept(t.Context(), d)
	require.NoError(t, err)
	e, err := b.Event(t.Context(), identity.EventRef{Source: "slack", EventID: "Ev1"})
	require.NoError(t, err)
	require.Equal(t, 2, e.RetryNumber)
	require.Equal(t, "http_timeout\uFFFD", e.RetryReason)
}
