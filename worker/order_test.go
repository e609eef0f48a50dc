package worker

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// incoming is one event in a test.
type incoming struct {
	id, eventType, body string
	occurredAt          time.Time
}

func (b *bundle) take(t *testing.T, in incoming) {
	t.Helper()
	if in.eventType == "" {
		in.eventType = "invoice.paid"
	}
	_, err := b.outbox.Accept(t.Context(), outbox.Delivery{
		Source:      testSource,
		Provider:    "stripe",
		ContentType: "application/json",
		Body:        []byte(in.body),
		Events:      []outbox.Incoming{{ID: identity.EventID(in.id), Type: in.eventType, OccurredAt: in.occurredAt}},
	})
	require.NoError(t, err)
}

// Effects with the same order key reach the receiver in the order in which their events were
// accepted. Effects with other order keys do not wait for them.
func TestOrderEndToEnd(t *testing.T) {
	t.Parallel()
	const keys, perKey = 50, 20
	b := setup(t)
	var (
		mu        sync.Mutex
		next      [keys]int
		flying    = map[int]bool{}
		together  int
		done      = make(chan struct{})
		completed int
	)
	b.to(t, func(_ http.ResponseWriter, r *http.Request) {
		var body struct{ Key, N int }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		mu.Lock()
		if flying[body.Key] {
			t.Errorf("two calls of key %d at once", body.Key)
		}
		flying[body.Key] = true
		together = max(together, len(flying))
		mu.Unlock()
		<-time.After(2 * time.Millisecond) // simulates work
		mu.Lock()
		defer mu.Unlock()
		delete(flying, body.Key)
		if next[body.Key] != body.N {
			t.Errorf("key %d: %d arrived instead of %d", body.Key, body.N, next[body.Key])
		}
		next[body.Key]++
		if completed++; completed == keys*perKey {
			close(done)
		}
	}, func(d *DestinationOptions) { d.Concurrency = 20 })
	b.opts.Routes[0].OrderBy = "body.key"
	b.start(t, b.worker(t))
	start := time.Now()
	var senders sync.WaitGroup
	for key := range keys {
		senders.Go(func() {
			for n := range perKey {
				b.take(t, incoming{id: fmt.Sprintf("evt_%d_%d", key, n), body: fmt.Sprintf(`{"key":%d,"n":%d}`, key, n)})
			}
		})
	}
	senders.Wait()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		mu.Lock()
		defer mu.Unlock()
		t.Fatalf("%d of %d arrived", completed, keys*perKey)
	}
	t.Logf("%d effects in %s, %d keys in flight at once", keys*perKey, time.Since(start).Round(time.Millisecond), together)
	require.Greater(t, together, 1)
}

// An effect is cancelled if a newer effect for the same object was applied.
func TestLatestByEndToEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	called := make(chan string, 10)
	b.to(t, func(_ http.ResponseWriter, r *http.Request) { called <- r.Header.Get("Hooklatch-Event-Id") })
	b.opts.Routes[0].LatestBy = "body.object"
	events := b.start(t, b.worker(t))
	noon := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for _, e := range []incoming{
		{id: "newer", occurredAt: noon.Add(time.Minute), body: `{"object":"sub_1"}`},
		{id: "older", occurredAt: noon, body: `{"object":"sub_1"}`},
		{id: "other", occurredAt: noon, body: `{"object":"sub_2"}`},
		{id: "same_time", occurredAt: noon.Add(time.Minute), body: `{"object":"sub_1"}`},
	} {
		b.take(t, e)
		if e.id == "older" {
			job := next(t, events, riverjob.KindEffect, river.EventKindJobCancelled)
			require.Contains(t, job.Errors[0].Error, "app: cancelled: a newer effect of the same object was applied")
			continue
		}
		next(t, events, riverjob.KindEffect, river.EventKindJobCompleted)
		require.Equal(t, e.id, <-called)
	}
	require.Empty(t, called)
	links, err := b.outbox.Ledger().EffectsOfEvent(t.Context(), identity.EventRef{Source: testSource, EventID: "older"})
	require.NoError(t, err)
	require.Len(t, links, 1)
	require.Equal(t, ledger.EffectCancelled, links[0].State)
	effect, err := b.outbox.Ledger().Effect(t.Context(), links[0].IdempotencyKey)
	require.NoError(t, err)
	newer := identity.EffectID{Scope: identity.ScopeOfRoute(testSource, "everything"), Key: "newer", Generation: 1}
	require.Equal(t, newer.IdempotencyKey(), effect.SupersededBy)
}
