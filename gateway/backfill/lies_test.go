package backfill

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/sjson"

	"github.com/hooklatch/hooklatch/outbox/coverage"
)

// A list that lies, or a provider that is ill, is a finding in words. Nothing is stored,
// and the watermark stays.
func TestListsThatLieMoveNothing(t *testing.T) {
	t.Parallel()
	say := func(status int, contentType, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(out http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/deliveries") {
				return false
			}
			out.Header().Set("Content-Type", contentType)
			out.WriteHeader(status)
			_, _ = io.WriteString(out, body)
			return true
		}
	}
	now := time.Now().UTC()
	item := func(id string, at time.Time) string {
		return fmt.Sprintf(`{"id":%s,"guid":"g-%s","delivered_at":%q,"event":"push","action":null,"status":"failed"}`, id, id, at.Format(time.RFC3339Nano))
	}
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request) bool
		says   string
	}{
		"HTML":            {say(200, "text/html", "<html>Sign in</html>"), "not JSON (text/html)"},
		"cut JSON":        {say(200, "application/json", "["+item("1", now)+","), "not JSON"},
		"an object":       {say(200, "application/json", `{"message":"moved"}`), "has no list"},
		"ids as floats":   {say(200, "application/json", "["+item("9.007199254740993e15", now)+"]"), "no identifier"},
		"no time":         {say(200, "application/json", `[{"id":1,"guid":"g","event":"push"}]`), "no time at /delivered_at"},
		"wrong order":     {say(200, "application/json", "["+item("1", now.Add(-3*time.Hour))+","+item("2", now)+"]"), "not in its order"},
		"token refused":   {say(401, "application/json", `{}`), "token is refused"},
		"another account": {say(404, "application/json", `{}`), "another account"},
		"an error":        {say(500, "application/json", `{}`), "answered 500"},
		"a redirect": {func(out http.ResponseWriter, r *http.Request) bool {
			http.Redirect(out, r, "http://127.0.0.1:1/", http.StatusFound)
			return true
		}, "answered 302"},
		"a page to nowhere": {func(out http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/deliveries") {
				out.Header().Set("Link", `<https://evil.example/steal>; rel="next"`)
			}
			return say(200, "application/json", "["+item("1", now.Add(time.Hour))+"]")(out, r)
		}, "leads to https://evil.example"},
		"a circle": {func(out http.ResponseWriter, r *http.Request) bool {
			out.Header().Set("Link", `</repos/acme/shop/hooks/1/deliveries?cursor=1>; rel="next"`)
			return say(200, "application/json", "["+item("1", now.Add(time.Hour))+"]")(out, r)
		}, "repeats itself"},
		"an endpoint of others": {func(out http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/deliveries") {
				return false
			}
			_, _ = io.WriteString(out, `{"active":true,"config":{"url":"https://elsewhere.example/webhooks/github?token=hush"}}`)
			return true
		}, "is not ours: it sends to elsewhere.example/webhooks/github and not to"},
		"an endless page": {func(out http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/deliveries") {
				return false
			}
			chunk := strings.Repeat(" ", 1<<20)
			for range maxAnswer>>20 + 2 {
				if _, err := io.WriteString(out, chunk); err != nil {
					break
				}
			}
			return true
		}, "larger than 64 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "github", "repos/acme/shop/hooks/1")
			w.happen(2, "push", func(int) int { return 0 })
			before := w.state()
			w.refuse = c.answer
			run := w.turn()
			require.Contains(t, run.Error, c.says)
			require.NotContains(t, run.Error, "hush")
			after := w.state()
			require.Equal(t, before.CoveredUntil, after.CoveredUntil)
			require.Equal(t, run.Error, after.Error)
			require.Zero(t, w.stored("webhook")+w.stored("backfill"))
			w.refuse = nil
			w.turn()
			w.turn()
			require.Equal(t, 2, w.stored("webhook"), "it goes on once the list is right")
		})
	}
}

func (w *world) state() coverage.State {
	w.t.Helper()
	states, err := w.outbox.Coverage().States(w.t.Context())
	require.NoError(w.t, err)
	require.Len(w.t, states, 1)
	return states[0]
}

// A provider that wants a pause gets it, also from the next process.
func TestAPauseThatTheProviderWantsIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "github", "repos/acme/shop/hooks/1")
	w.refuse = func(out http.ResponseWriter, _ *http.Request) bool {
		out.Header().Set("Retry-After", "3600")
		out.WriteHeader(http.StatusTooManyRequests)
		return true
	}
	run := w.turn()
	require.Contains(t, run.Error, "left alone for 1h0m0s")
	asked := len(w.requests)
	w.refuse = nil
	require.NoError(t, w.outbox.Coverage().Hurry(t.Context(), []identitySource{"github"}))
	again, err := New(w.backfill.opts)
	require.NoError(t, err)
	require.NoError(t, again.Turn(t.Context()))
	require.Len(t, w.requests, asked, "nothing was asked in the pause")
	_, err = again.Run(t.Context(), "github", Order{By: "ann"})
	require.ErrorContains(t, err, "left alone", "who orders a pass is told")
}

// An order about a time whose keys are forgotten would accept events once more.
func TestNothingIsFetchedThatIsForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	w.source.Remembered = 10 * time.Minute
	w.happen(3, "invoice.paid", func(int) int { return 0 })
	_, err := w.backfill.Run(t.Context(), "stripe", Order{By: "ann", Since: time.Now().Add(-time.Hour)})
	require.ErrorContains(t, err, "are remembered for 10m0s")
	require.Zero(t, w.stored("backfill"))
}

// The endpoint that was switched off is what a person must know of.
func TestAnEndpointThatIsOffIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "github", "repos/acme/shop/hooks/1")
	require.Equal(t, coverage.EndpointOn, w.state().Endpoint)
	w.refuse = func(out http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/deliveries") {
			return false
		}
		_, _ = fmt.Fprintf(out, `{"active":false,"config":{"url":%q},"last_response":{"message":"timed out"}}`, w.source.URL)
		return true
	}
	w.turn()
	off := w.state()
	require.Equal(t, coverage.EndpointOff, off.Endpoint)
	require.Equal(t, "active: false (timed out). A person switched the webhook off, in its settings under Active.", off.EndpointWhy)
	w.turn()
	require.Equal(t, off.EndpointAt, w.state().EndpointAt, "since when it is so stays")
}

// A dry run says what is missing and writes nothing.
func TestADryRunWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	w.happen(30, "invoice.paid", mostly)
	before := w.state()
	missing := 0
	runs, err := w.backfill.Run(t.Context(), "stripe", Order{DryRun: true, Since: time.Now().Add(-time.Hour), Met: func(_ Item, fate Fate) {
		if fate == FateMissing {
			missing++
		}
	}})
	require.NoError(t, err)
	require.Len(t, runs, 1)
	require.EqualValues(t, 3, runs[0].Missing)
	require.Equal(t, 3, missing)
	after := w.state()
	before.Now, after.Now = time.Time{}, time.Time{}
	require.Equal(t, before, after)
	require.Zero(t, w.stored("backfill"))
}

// Of 300 events in one second each comes, whichever page and slice it is on.
func TestAllEventsOfOneSecondAreRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	w.happen(300, "invoice.paid", func(int) int { return 0 })
	require.EqualValues(t, 300, w.turn().Recovered)
}

// What the list shows late is met by the overlap of the next pass.
func TestWhatIsListedLateIsMet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	w.happen(10, "invoice.paid", func(int) int { return 0 })
	w.mu.Lock()
	late := w.events[4]
	w.events = append(w.events[:4:4], w.events[5:]...)
	w.mu.Unlock()
	require.EqualValues(t, 9, w.turn().Recovered)
	w.mu.Lock()
	w.events = append(w.events, late)
	w.mu.Unlock()
	require.EqualValues(t, 1, w.turn().Recovered)
}

// A feed shows late what happened long before: its cursor says where it goes on, and no
// time does.
func TestAFeedMayShowOldEventsLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "okta", "who8vt36qfNpCGz9H1e6")
	w.source.Settings.Overlap = time.Millisecond
	w.happen(1, "user.lifecycle.create", func(int) int { return 0 })
	w.happen(2, "user.lifecycle.create", func(int) int { return 0 })
	old := w.events[0]
	w.events = w.events[1:]
	require.EqualValues(t, 2, w.turn().Recovered)
	w.mu.Lock()
	w.events = append(w.events, old)
	w.mu.Unlock()
	require.EqualValues(t, 1, w.turn().Recovered)
}

// A cursor that the provider no longer knows does not stop a feed: it goes on from the
// watermark.
func TestAFeedWhoseCursorHasAgedGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "okta", "who8vt36qfNpCGz9H1e6")
	w.happen(3, "user.lifecycle.create", func(int) int { return 0 })
	require.EqualValues(t, 3, w.turn().Recovered)
	w.happen(150, "user.lifecycle.create", func(int) int { return 0 })
	w.refuse = func(out http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("after") != "3" {
			return false
		}
		out.WriteHeader(http.StatusBadRequest)
		return true
	}
	run := w.turn()
	require.Empty(t, run.Error)
	require.EqualValues(t, 150, run.Recovered)
}

// The watermark is committed with the events before it, or neither is.
func TestTheWatermarkMovesWithTheEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	w.happen(3, "invoice.paid", func(int) int { return 0 })
	_, err := w.pool.Exec(t.Context(), `
		CREATE FUNCTION hooklatch.hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'it may not move'; END $$;
		CREATE TRIGGER hold BEFORE UPDATE ON hooklatch.coverage FOR EACH ROW
			WHEN (NEW.covered_until > now() - interval '30 minutes') EXECUTE FUNCTION hooklatch.hold()`)
	require.NoError(t, err)
	require.NotEmpty(t, w.turn().Error)
	require.Zero(t, w.stored("backfill"))
	_, err = w.pool.Exec(t.Context(), "DROP TRIGGER hold ON hooklatch.coverage")
	require.NoError(t, err)
	require.EqualValues(t, 3, w.turn().Recovered)
}

// What the provider calls delivered may be missing here all the same: after our database
// was restored, or where another server took the delivery.
func TestWhatTheProviderCallsDeliveredIsComparedToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "paddle", "ntfset_01gkpjp8bkm3tm53kdgkx6sms7")
	w.happen(3, "transaction.completed", func(int) int { return 0 })
	w.mu.Lock()
	for _, h := range w.events {
		h.delivered = true
	}
	w.mu.Unlock()
	require.EqualValues(t, 3, w.turn().Recovered)
}

// What was listed later than the overlap is met by the pass over the whole window.
func TestTheDeepPassMeetsWhatWasListedVeryLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	w.source.Settings.Overlap = time.Second
	w.turn()
	w.happen(2, "invoice.paid", func(int) int { return 0 })
	require.Zero(t, w.turn().Recovered)
	w.source.Settings.Deep = time.Nanosecond
	require.EqualValues(t, 2, w.turn().Recovered)
}

// A pass that is lost between two batches has noted nothing beyond the first: the next one
// stores the rest.
func TestAPassThatIsLostBetweenBatchesLosesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ endpoint, eventType string }{
		"stripe": {"we_1", "invoice.paid"},
		"gitlab": {"projects/7/hooks/1", "push"},
		"okta":   {"who8vt36qfNpCGz9H1e6", "user.lifecycle.create"},
		"paddle": {"ntfset_01gkpjp8bkm3tm53kdgkx6sms7", "transaction.completed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, name, c.endpoint)
			w.happen(5*batchItems, c.eventType, func(int) int { return 0 })
			_, err := w.pool.Exec(t.Context(), fmt.Sprintf(`
				CREATE FUNCTION hooklatch.lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
					IF (SELECT count(*) FROM hooklatch.processed_events) > %d THEN RAISE 'lost here'; END IF;
					RETURN NULL;
				END $$;
				CREATE TRIGGER lose AFTER INSERT ON hooklatch.processed_events FOR EACH STATEMENT EXECUTE FUNCTION hooklatch.lose()`, batchItems))
			require.NoError(t, err)
			require.NotEmpty(t, w.turn().Error)
			require.LessOrEqual(t, w.stored("backfill"), batchItems)
			_, err = w.pool.Exec(t.Context(), "DROP TRIGGER lose ON hooklatch.processed_events")
			require.NoError(t, err)
			require.Empty(t, w.turn().Error)
			require.Equal(t, 5*batchItems, w.stored("backfill"))
		})
	}
}

// The times in payloads are not those of the list: GitLab tells of an issue when it was
// last updated.
func TestListsWithoutTimesAreReadByNumber(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "gitlab", "projects/7/hooks/1")
	w.happen(1, "push", func(int) int { return 0 })
	require.EqualValues(t, 1, w.turn().Recovered)
	w.happen(25, "issue.open", func(int) int { return 0 })
	w.mu.Lock()
	for _, h := range w.events[1:] {
		body, err := sjson.SetBytes(h.webhook.Body, "object_attributes.updated_at", "2020-01-01T00:00:00Z")
		require.NoError(t, err)
		h.webhook.Body = body
	}
	w.mu.Unlock()
	require.EqualValues(t, 25, w.turn().Recovered)
}

// What waits for its redelivery holds the watermark back, and never moves it.
func TestWhatWaitsHoldsTheWatermarkBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "github", "repos/acme/shop/hooks/1")
	c, stream := w.outbox.Coverage(), w.source.stream("")
	before := w.state().CoveredUntil
	waits := before.Add(time.Minute)
	_, err := c.Ask(t.Context(), stream, []coverage.Redelivery{{EventID: "e", Ref: "1", HappenedAt: waits}}, true)
	require.NoError(t, err)
	row, err := c.Begin(t.Context(), stream, true, time.Minute, 0)
	require.NoError(t, err)
	move := func(m coverage.Move) {
		require.NoError(t, pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error { return c.MoveTx(t.Context(), tx, row, m) }))
	}
	move(coverage.Move{})
	require.Equal(t, before, w.state().CoveredUntil)
	move(coverage.Move{CoveredUntil: waits.Add(time.Hour)})
	require.Equal(t, waits, w.state().CoveredUntil)

	// An older pass writes nothing more.
	_, err = c.Begin(t.Context(), stream, true, time.Minute, 0)
	require.NoError(t, err)
	err = pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error { return c.MoveTx(t.Context(), tx, row, coverage.Move{}) })
	require.ErrorIs(t, err, coverage.ErrOvertaken)
}
