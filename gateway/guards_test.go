package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// proves is a Verify that accepts everything.
func proves(context.Context, *provider.Request, []secret.Value, time.Time) (provider.Verified, error) {
	return provider.Verified{}, nil
}

// loose returns a sender with a weakness that real senders have: it signs the body, but the
// event's id is in an unsigned header. The sender also reports a request's retry number.
func loose() *provider.Provider {
	p := signer()
	p.UnsignedID = true
	p.ReplayToken = func(r *provider.Request) string { return r.Header.Get("X-Signature") }
	p.Events = func(r *provider.Request) ([]provider.Event, error) {
		return []provider.Event{{ID: r.Header.Get("X-Id"), Type: "x"}}, nil
	}
	p.Retry = func(r *provider.Request) provider.RetryInfo {
		number, _ := strconv.Atoi(r.Header.Get("X-Retry"))
		return provider.RetryInfo{
			Number: number, Reason: r.Header.Get("X-Retry-Reason"), Redelivery: number > 0 || r.Header.Get("X-Again") != "",
		}
	}
	return p
}

func withHeaders(pairs ...string) func(*http.Request) {
	return func(r *http.Request) {
		for i := 0; i < len(pairs); i += 2 {
			r.Header.Set(pairs[i], pairs[i+1])
		}
	}
}

// stored is a gateway with a database.
type stored struct {
	*testBundle

	pool   *pgxpool.Pool
	outbox *outbox.Outbox
}

func setupStored(t *testing.T, change func(*gateway.Options)) *stored {
	t.Helper()
	pool := pgtest.New(t)
	return setupOnPool(t, pool, change)
}

func setupOnPool(t *testing.T, pool *pgxpool.Pool, change func(*gateway.Options)) *stored {
	t.Helper()
	o, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute}) // a busy machine must not cause a 503
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, o.Stop(context.WithoutCancel(t.Context()))) })
	b := setup(t, func(opts *gateway.Options) {
		opts.Accepter = o
		change(opts)
	})
	return &stored{testBundle: b, pool: pool, outbox: o}
}

func (s *stored) count(t *testing.T, query string, args ...any) int {
	t.Helper()
	var n int
	require.NoError(t, s.pool.QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}

func TestReplayGuard(t *testing.T) {
	t.Parallel()
	const body = `{"amount":1}`
	send := func(t *testing.T, b *stored, id string) answer {
		t.Helper()
		return b.post(t, "orders", body, withHeaders("X-Id", id))
	}
	with := func(guard gateway.ReplayGuard, p *provider.Provider) func(*gateway.Options) {
		return func(o *gateway.Options) {
			o.Sources = []gateway.Source{source("orders", p)}
			o.Sources[0].ReplayGuard = guard
		}
	}
	t.Run("off", func(t *testing.T) {
		t.Parallel()
		b := setupStored(t, with(gateway.ReplayOff, loose()))
		require.Equal(t, http.StatusOK, send(t, b, "one").status)
		require.Equal(t, http.StatusOK, send(t, b, "two").status)
		require.Zero(t, b.count(t, "SELECT count(*) FROM hooklatch.replay_guards"))
		require.Zero(t, b.count(t, "SELECT count(*) FROM hooklatch.processed_events WHERE replay_suspect"))
	})
	t.Run("off is the default where the id is signed", func(t *testing.T) {
		t.Parallel()
		p := loose()
		p.UnsignedID = false
		b := setupStored(t, with("", p))
		require.Equal(t, http.StatusOK, send(t, b, "one").status)
		require.Zero(t, b.count(t, "SELECT count(*) FROM hooklatch.replay_guards"))
	})
	t.Run("nothing to remember", func(t *testing.T) {
		t.Parallel()
		p := loose()
		p.ReplayToken = nil
		b := setupStored(t, with(gateway.ReplayRefuse, p))
		require.Equal(t, http.StatusOK, send(t, b, "one").status)
		require.Equal(t, http.StatusOK, send(t, b, "two").status)
	})
	t.Run("flag is the default", func(t *testing.T) {
		t.Parallel()
		b := setupStored(t, with("", loose()))
		require.Equal(t, http.StatusOK, send(t, b, "one").status)
		require.Equal(t, "duplicate", send(t, b, "one").header.Get(gateway.StatusHeader), "a retry keeps its id")
		require.Empty(t, b.logs.lines(t, "accepted, but its proof was used before with another id"))
		require.Equal(t, "accepted", send(t, b, "two").header.Get(gateway.StatusHeader))
		lines := b.logs.lines(t, "accepted, but its proof was used before with another id")
		require.Len(t, lines, 1)
		require.Equal(t, "WARN", lines[0]["level"])
		require.Equal(t, "two", lines[0]["event_id"])
		require.Equal(t, "replayed", lines[0]["reason"])
		require.Equal(t, map[string]int64{"source=orders": 1}, b.counts(t, "hooklatch.replays"))
		e, err := b.outbox.Inbox().Event(t.Context(), identity.EventRef{Source: "orders", EventID: "two"})
		require.NoError(t, err)
		require.True(t, e.ReplaySuspect)
	})
	t.Run("refuse", func(t *testing.T) {
		t.Parallel()
		b := setupStored(t, with(gateway.ReplayRefuse, loose()))
		require.Equal(t, http.StatusOK, send(t, b, "one").status)
		require.Equal(t, http.StatusOK, send(t, b, "one").status, "the sender's own retry")
		got := send(t, b, "two")
		require.Equal(t, http.StatusUnauthorized, got.status)
		require.Equal(t, `{"error":"unauthorized"}`, got.body)
		lines := b.logs.lines(t, "delivery refused")
		require.Len(t, lines, 1)
		require.Equal(t, "replayed", lines[0]["reason"])
		require.Equal(t, map[string]int64{"reason=replayed,source=orders": 1}, b.counts(t, "hooklatch.rejected"))
		require.Equal(t, map[string]int64{"source=orders": 1}, b.counts(t, "hooklatch.replays"))
		require.Equal(t, 1, b.count(t, "SELECT count(*) FROM hooklatch.processed_events"))
		require.Equal(t, 1, b.count(t, "SELECT count(*) FROM hooklatch.river_job"))
	})
}

// Two gateways share one database. Within the window, copies of an event under new ids count
// as one event.
func TestContentWindow(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	change := func(o *gateway.Options) {
		o.Sources = []gateway.Source{source("orders", loose()), source("ids", loose())}
		o.Sources[0].ContentWindow = time.Minute
		for i := range o.Sources {
			o.Sources[i].ReplayGuard = gateway.ReplayOff
		}
	}
	gateways := []*stored{setupOnPool(t, pool, change), setupOnPool(t, pool, change)}
	const body = `{"amount":1}`
	var copies sync.WaitGroup
	for i := range 20 {
		copies.Go(func() {
			got := gateways[i%2].post(t, "orders", body, withHeaders("X-Id", fmt.Sprintf("copy-%d", i)))
			if got.status != http.StatusOK {
				t.Errorf("copy %d: %d %s", i, got.status, got.body)
			}
		})
	}
	copies.Wait()
	b := gateways[0]
	require.Equal(t, 1, b.count(t, "SELECT count(*) FROM hooklatch.processed_events"))
	var stands string
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT event_id FROM hooklatch.processed_events").Scan(&stands))
	repeats := append(gateways[0].logs.lines(t, "duplicate received"), gateways[1].logs.lines(t, "duplicate received")...)
	require.Len(t, repeats, 19)
	for _, line := range repeats {
		require.Equal(t, stands, line["same_as"])
		require.Equal(t, "same_content", line["reason"])
		require.NotEqual(t, stands, line["event_id"])
	}

	_, err := pool.Exec(t.Context(), "UPDATE hooklatch.content_guards SET expires_at = now() - interval '1 second'")
	require.NoError(t, err)
	require.Equal(t, "accepted", b.post(t, "orders", body, withHeaders("X-Id", "later")).header.Get(gateway.StatusHeader), "after the window")
	for i := range 2 {
		got := b.post(t, "ids", body, withHeaders("X-Id", strconv.Itoa(i)))
		require.Equal(t, "accepted", got.header.Get(gateway.StatusHeader), "by default only ids are compared")
	}
}

func TestRetriesAreSeen(t *testing.T) {
	t.Parallel()
	b := setupStored(t, func(o *gateway.Options) {
		o.Sources = []gateway.Source{source("orders", loose())}
		o.Sources[0].ReplayGuard = gateway.ReplayOff
	})
	for i, headers := range [][]string{
		{},
		{"X-Retry", "1", "X-Retry-Reason", "http_timeout"},
		{"X-Retry", "2", "X-Retry-Reason", "HTTP_TIMEOUT"},
		{"X-Retry", "3", "X-Retry-Reason", "the moon is full"},
		{"X-Again", "true"},
	} {
		got := b.post(t, "orders", `{}`, withHeaders(append(headers, "X-Id", strconv.Itoa(i))...))
		require.Equal(t, http.StatusOK, got.status)
		require.Equal(t, "accepted", got.header.Get(gateway.StatusHeader))
	}
	spoiled := append([]string{"X-Signature", "00"}, "X-Retry", "9")
	require.Equal(t, http.StatusUnauthorized, b.post(t, "orders", `{}`, withHeaders(spoiled...)).status)
	require.Equal(t, map[string]int64{
		"provider=signer,reason=http_timeout,source=orders": 2,
		"provider=signer,reason=other,source=orders":        1,
		"provider=signer,reason=unstated,source=orders":     1,
	}, b.counts(t, "hooklatch.provider.retries"), "retries of unverified requests are not counted")
	for id, want := range map[string]int{"0": 0, "1": 1, "2": 2, "3": 3, "4": 1} {
		e, err := b.outbox.Inbox().Event(t.Context(), identity.EventRef{Source: "orders", EventID: identity.EventID(id)})
		require.NoError(t, err)
		require.Equal(t, want, e.RetryNumber, id)
	}
	e, err := b.outbox.Inbox().Event(t.Context(), identity.EventRef{Source: "orders", EventID: "3"})
	require.NoError(t, err)
	require.Equal(t, "the moon is full", e.RetryReason, "the event keeps the sender's words")
}
