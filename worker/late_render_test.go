package worker

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/route"
)

// request contains the idempotency key and the body that a receiver got.
type request struct{ key, body string }

func got(t *testing.T, r *http.Request) request {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	return request{key: r.Header.Get("Idempotency-Key"), body: string(body)}
}

// New routes between two attempts change neither body nor key (I7).
func TestNewRoutesChangeNoStartedEffect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	calls := make(chan request, 10)
	var w *Worker
	routes := func(version string) []route.Route {
		return []route.Route{{Name: "everything", From: []string{"*"}, To: "app", Key: "'v" + version + "'",
			HTTP: &route.HTTPRequest{Body: `{"version": ` + version + `}`, Headers: map[string]string{"X-Version": `"` + version + `"`}}}}
	}
	b.to(t, func(rw http.ResponseWriter, r *http.Request) {
		call := got(t, r)
		call.body += r.Header.Get("X-Version")
		calls <- call
		if len(calls) == 1 {
			if err := w.SetRoutes(routes("2"), "two"); err != nil {
				t.Error(err)
			}
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	b.opts.Routes = routes("1")
	w = b.worker(t)
	events := b.start(t, w)
	b.take(t, incoming{id: "evt_1", body: `{}`})
	next(t, events, riverjob.KindEffect, river.EventKindJobFailed)
	next(t, events, riverjob.KindEffect, river.EventKindJobCompleted)
	first, second := <-calls, <-calls
	require.Equal(t, `{"version":1}1`, first.body)
	require.Equal(t, first, second)
}

// The worker reads the current state before it renders the effect. While reading fails, attempts
// count as not applied. Once rendered, the request stays the same (I7).
func TestRefetch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var fetches atomic.Int32
	api := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer t0ken" || r.URL.Path != "/objects/sub_1":
			rw.WriteHeader(http.StatusUnauthorized)
		case fetches.Add(1) == 1:
			rw.WriteHeader(http.StatusServiceUnavailable)
		default:
			io.WriteString(rw, `{"status":"state `+strings.Repeat("I", int(fetches.Load()))+`"}`)
		}
	}))
	t.Cleanup(api.Close)
	calls := make(chan request, 10)
	b.to(t, func(rw http.ResponseWriter, r *http.Request) {
		calls <- got(t, r)
		if len(calls) == 1 {
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	b.opts.Routes = []route.Route{{
		Name: "everything", From: []string{"*"}, To: "app",
		Refetch: &route.Refetch{URL: `"` + api.URL + `/objects/" + body.id`, Bearer: secret.New("t0ken")},
		HTTP:    &route.HTTPRequest{Body: `{"status": current.status}`},
	}}
	events := b.start(t, b.worker(t))
	b.take(t, incoming{id: "evt_1", body: `{"id":"sub_1"}`})

	failed := next(t, events, riverjob.KindEffect, river.EventKindJobFailed)
	require.Equal(t, "no", outputOf(t, failed).Applied)
	require.Contains(t, failed.Errors[0].Error, "app: refetch: 127.0.0.1")
	require.Contains(t, failed.Errors[0].Error, "answered HTTP 503")
	failed = next(t, events, riverjob.KindEffect, river.EventKindJobFailed)
	require.Equal(t, "in_doubt", outputOf(t, failed).Outcome)
	next(t, events, riverjob.KindEffect, river.EventKindJobCompleted)
	first, second := <-calls, <-calls
	require.Equal(t, `{"status":"state II"}`, first.body)
	require.Equal(t, first, second)
	require.Empty(t, calls, "no request was sent while reading failed")
	require.EqualValues(t, 2, fetches.Load(), "the state is read for rendering, not for each attempt")
}

// An effect that cannot be rendered for its event is parked, with the reason. It does not block
// other effects.
func TestUnrenderableEffectIsParked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	calls := make(chan request, 10)
	b.to(t, func(_ http.ResponseWriter, r *http.Request) { calls <- got(t, r) })
	api := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, `{}`) }))
	t.Cleanup(api.Close)
	b.opts.Routes = []route.Route{
		{Name: "key", From: []string{"*"}, To: "app", Key: "body.missing", OrderBy: "body.id"},
		{Name: "when", From: []string{"*"}, To: "app", When: "body.missing > 1"},
		{Name: "body", From: []string{"*"}, To: "app", OrderBy: "body.id", HTTP: &route.HTTPRequest{Body: "body.missing"}},
		{Name: "late", From: []string{"*"}, To: "app", Refetch: &route.Refetch{URL: `"` + api.URL + `/"`}, HTTP: &route.HTTPRequest{Body: "current.missing"}},
		{Name: "good", From: []string{"*"}, To: "app"},
	}
	w := b.worker(t)
	b.start(t, w)
	b.take(t, incoming{id: "evt_1", body: `{"id":"x"}`})
	waitFor(t, b, `SELECT (count(*) = 1)::int FROM hooklatch.effects WHERE route = 'good' AND state = 'done'`)
	waitFor(t, b, `SELECT (count(*) = 4)::int FROM hooklatch.effects WHERE state = 'parked'`)
	require.Equal(t, `{"id":"x"}`, (<-calls).body)
	for route, reason := range map[string]string{
		"key":  `route "key": key: no such key: missing`,
		"when": `route "when": when: no such key: missing`,
		"body": `route "body": http.body: no such key: missing`,
		"late": `route "late": http.body: no such key: missing`,
	} {
		require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects JOIN hooklatch.all_links AS l USING (scope, key, generation)
			WHERE route = $1 AND state = 'parked' AND error = $2 AND l.event_id = 'evt_1'`, route, reason), route)
	}
	require.Equal(t, inbox.Dispatched, b.event(t, "evt_1").Outcome)

	// A later effect of the same order is not blocked.
	require.NoError(t, w.SetRoutes([]route.Route{{Name: "body", From: []string{"*"}, To: "app", OrderBy: "body.id"}}, "repaired"))
	b.take(t, incoming{id: "evt_2", body: `{"id":"x"}`})
	require.Equal(t, `{"id":"x"}`, (<-calls).body)
}

// An effect gets another key after a replayed stored error, if new_key is configured.
func TestNewKeyOnStoredError(t *testing.T) {
	t.Parallel()
	b := setup(t)
	calls := make(chan request, 10)
	failed := map[string]bool{}
	b.to(t, func(rw http.ResponseWriter, r *http.Request) {
		call := got(t, r)
		calls <- call
		switch {
		case len(failed) == 0:
			failed[call.key] = true
			rw.WriteHeader(http.StatusInternalServerError)
		case failed[call.key]:
			rw.Header().Set("Idempotent-Replayed", "true")
			rw.WriteHeader(http.StatusInternalServerError)
		}
	}, func(d *DestinationOptions) { d.OnStoredError = OnStoredErrorNewKey })
	events := b.start(t, b.worker(t))
	b.take(t, incoming{id: "evt_1", body: `{}`})
	next(t, events, riverjob.KindEffect, river.EventKindJobFailed)
	next(t, events, riverjob.KindEffect, river.EventKindJobFailed)
	next(t, events, riverjob.KindEffect, river.EventKindJobCompleted)
	first, second, third := <-calls, <-calls, <-calls
	require.Equal(t, first, second)
	require.NotEqual(t, first.key, third.key)
	require.Equal(t, first.body, third.body)
	effects, err := b.outbox.Finder().Effects(t.Context(), find.Effects{}, find.Beginning, 0)
	require.NoError(t, err)
	require.Equal(t, 1, effects.Rows[0].KeyRotations)
	require.Equal(t, third.key, effects.Rows[0].WireKey)
	require.Equal(t, first.key, effects.Rows[0].IdempotencyKey)
}

// An effect that is in doubt past the lifetime of its key is parked, not tried again.
func TestKeyTTLParks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var calls atomic.Int32
	b.to(t, func(rw http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		rw.WriteHeader(http.StatusGatewayTimeout)
	}, func(d *DestinationOptions) {
		d.KeyTTL = time.Minute
		d.Retry = destination.Schedule{Initial: 20 * time.Minute, Jitter: -1}
	})
	events := b.start(t, b.worker(t))
	b.take(t, incoming{id: "evt_1", body: `{}`})
	next(t, events, riverjob.KindEffect, river.EventKindJobFailed)
	_, err := b.pool.Exec(t.Context(), `ALTER TABLE hooklatch.effects DISABLE TRIGGER USER;
		UPDATE hooklatch.effects SET maybe_applied_since = now() - interval '2 minutes', next_attempt_at = now();
		ALTER TABLE hooklatch.effects ENABLE TRIGGER USER;
		UPDATE hooklatch.river_job SET scheduled_at = now(), state = 'available' WHERE kind = 'effect'`)
	require.NoError(t, err)
	job := next(t, events, riverjob.KindEffect, river.EventKindJobCancelled)
	require.Equal(t, "parked", outputOf(t, job).Outcome)
	require.EqualValues(t, 1, calls.Load())
}
