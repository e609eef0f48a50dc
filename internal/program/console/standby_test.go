package console_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/internal/program/standby"
	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/schema/embedded"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// beside is a console with a streaming standby.
type beside struct {
	*bundle

	reads    *standby.Standby
	standby  *embedded.Server
	follower *pgxpool.Pool // superuser's connections to the standby
}

func withStandby(t *testing.T) *beside {
	t.Helper()
	primary := pgtest.New(t, pgtest.Own())
	b := &beside{}
	var at string
	b.standby, at = pgtest.Standby(t, primary)
	var err error
	b.follower, err = pgxpool.New(t.Context(), at)
	require.NoError(t, err)
	t.Cleanup(b.follower.Close)
	b.reads, err = standby.New(primary, b.follower, "")
	require.NoError(t, err)
	box, err := outbox.New(outbox.Options{Pool: b.follower})
	require.NoError(t, err)
	refused, err := quarantine.New(quarantine.Options{Pool: b.follower, Ledger: box.Ledger()})
	require.NoError(t, err)
	measured, err := measure.NewReader(b.follower, "")
	require.NoError(t, err)
	b.bundle = setupOn(t, primary, func(opts *console.Options) {
		opts.Standby, opts.Shown = b.reads, console.Shown{Outbox: box, Quarantine: &verified{Quarantine: refused}, Measure: measured}
	})
	return b
}

// replay stops or continues the replay of the primary's changes.
func (b *beside) replay(t *testing.T, function string) {
	t.Helper()
	_, err := b.follower.Exec(context.Background(), "SELECT "+function+"()")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		var paused bool
		err := b.follower.QueryRow(context.Background(), "SELECT pg_get_wal_replay_pause_state() = 'paused'").Scan(&paused)
		return err == nil && paused == (function == pauseReplay)
	}, time.Minute, 5*time.Millisecond)
}

const (
	pauseReplay  = "pg_wal_replay_pause"
	resumeReplay = "pg_wal_replay_resume"
)

// caughtUp waits until the standby has replayed everything.
func (b *beside) caughtUp(t *testing.T) {
	t.Helper()
	b.reads.Changed()
	require.Eventually(t, func() bool { return b.reads.Look(context.Background()).Usable() }, time.Minute, 10*time.Millisecond)
}

// asked returns a page, and the server from which it was read.
func (b *beside) asked(t *testing.T, path string) (page, from string) {
	t.Helper()
	got := b.get(path)
	require.Equal(t, http.StatusOK, got.Code, "%s: %s", path, got.Body)
	return got.Body.String(), got.Header().Get("Hooklatch-Read-From")
}

// answered is like asked, but repeats the request until no server is too slow to answer. The page
// may also be a redirect.
func (b *beside) answered(t *testing.T, path string) (page, from string) {
	t.Helper()
	var got *httptest.ResponseRecorder
	require.Eventually(t, func() bool {
		got = b.get(path)
		from = got.Header().Get("Hooklatch-Read-From")
		return got.Code != http.StatusServiceUnavailable && !strings.Contains(from, "answer") && !strings.Contains(from, "does not report its position")
	}, 2*time.Minute, 20*time.Millisecond, path)
	require.Contains(t, []int{http.StatusOK, http.StatusSeeOther}, got.Code, "%s: %s", path, got.Body)
	return got.Body.String(), from
}

const fromStandby = "Read from the standby, 0.0 s behind the primary."

func TestListsAreReadFromTheStandbyAndSayHowOldTheyAre(t *testing.T) {
	t.Parallel()
	b := withStandby(t)
	b.failed(t, "evt_1")
	b.caughtUp(t)
	var page, from string
	require.Eventually(t, func() bool { // the standby may have to replay what the primary writes in the background
		page, from = b.asked(t, "/events")
		return from == fromStandby
	}, time.Minute, 20*time.Millisecond)
	require.Contains(t, page, "evt_1")
	require.Contains(t, page, fromStandby)
	data, from := b.answered(t, "/api/events")
	require.Contains(t, data, "evt_1")
	require.Contains(t, from, "Read from the standby, ")

	b.replay(t, pauseReplay)
	b.failed(t, "evt_2")
	require.Eventually(t, func() bool {
		data, from = b.asked(t, "/api/events")
		return strings.HasPrefix(from, "Read from the standby, ") && from != fromStandby
	}, time.Minute, 50*time.Millisecond, "the lag is shown")
	require.NotContains(t, data, "evt_2", "the page was read from the standby")

	page, from = b.asked(t, "/events/stripe/evt_2")
	require.Contains(t, page, "evt_2", "the primary serves a page that the standby lacks")
	require.Contains(t, from, "Read from the primary")
	require.Contains(t, page, "Read from the primary")

	preview, from := b.asked(t, "/api/runs/new?of=effects&action=retry&state=failed")
	require.Empty(t, from)
	require.Contains(t, preview, "evt_2", "a preview decides what a run does, so it counts the primary's rows")

	b.reads.MaxLag = time.Millisecond
	require.Eventually(t, func() bool {
		data, from = b.asked(t, "/api/events")
		return strings.Contains(from, "behind, and at most")
	}, time.Minute, 50*time.Millisecond)
	require.Contains(t, data, "evt_2", "the primary serves lists while the standby is too far behind")
}

func TestAPageAfterAnActionHasTheAction(t *testing.T) {
	t.Parallel()
	b := withStandby(t)
	b.caughtUp(t)
	_, from := b.answered(t, "/destinations/app")
	require.Contains(t, from, "Read from the standby, ")
	b.replay(t, pauseReplay)
	done := b.post("/destinations/app/pause", url.Values{"reason": {"maintenance"}})
	require.Equal(t, http.StatusSeeOther, done.Code, done.Body)
	page, from := b.answered(t, "/destinations/app")
	require.Equal(t, "Read from the primary: the standby has not replayed the last action yet.", from)
	require.Contains(t, page, "maintenance")

	b.replay(t, resumeReplay)
	require.Eventually(t, func() bool {
		page, from = b.asked(t, "/destinations/app")
		return strings.HasPrefix(from, "Read from the standby")
	}, time.Minute, 20*time.Millisecond)
	require.Contains(t, page, "maintenance")
}

func TestAStandbyThatIsAwayOrFrozenDelaysNoPageForLong(t *testing.T) {
	t.Parallel()
	b := withStandby(t)
	b.accept(t, "evt_1", "invoice.paid", `{}`)
	b.caughtUp(t)
	_, from := b.answered(t, "/api/events")
	require.Contains(t, from, "Read from the standby, ")
	require.NoError(t, pgtest.Pause(b.standby))
	data, from := b.asked(t, "/api/events") // the last check is recent, so the page's own query fails first
	require.Contains(t, data, "evt_1")
	require.Contains(t, from, "Read from the primary")
	tried := func() int64 {
		s := b.follower.Stat()
		return s.AcquireCount() + s.CanceledAcquireCount()
	}
	untried, fastest := 0, time.Minute
	for range 5 { // a busy machine may be slow for so long that the standby is checked again
		before, began := tried(), time.Now()
		data, from = b.asked(t, "/api/events")
		fastest = min(fastest, time.Since(began))
		if tried() == before {
			untried++
		}
		require.Contains(t, data, "evt_1")
		require.Contains(t, from, "Read from the primary")
	}
	require.Positive(t, untried, "the standby is not checked each time")
	if os.Getenv("HOOKLATCH_LONG") != "" { // on a quiet machine
		require.Less(t, fastest, 2*time.Second)
	}
	require.NoError(t, pgtest.Resume(b.standby))
	require.Eventually(t, func() bool { _, from := b.asked(t, "/api/events"); return from == fromStandby }, time.Minute, 100*time.Millisecond)

	pgtest.Kill(b.standby)
	require.Eventually(t, func() bool {
		data, from = b.asked(t, "/api/events")
		return from == "Read from the primary: the standby does not answer."
	}, time.Minute, 100*time.Millisecond)
	require.Contains(t, data, "evt_1")
}

func TestEveryListCanBeReadFromAStandby(t *testing.T) {
	t.Parallel()
	b := withStandby(t)
	key := b.failed(t, "evt_1")
	b.refuse(t, "forged")
	refused, err := b.refused.List(t.Context(), quarantine.Filter{}, 1)
	require.NoError(t, err)
	run := begun(t, b.bundle, 1)[0]
	b.caughtUp(t)
	for _, path := range []string{
		"/events", "/events?state=failed&contains=cus_42", "/events?when=body.customer==%22cus_42%22", "/events/stripe/evt_1", "/live", "/effects", "/effects/" + key,
		"/runs", "/runs/" + run, "/destinations/app", "/routes", "/routes/paid", "/sources/stripe", "/quarantine", "/quarantine/" + refused[0].ID.String(), "/numbers", "/numbers?source=stripe", "/audit", "/find?q=cus_42", "/find?q=" + key,
	} {
		_, from := b.answered(t, path)
		require.Contains(t, from, "Read from the standby, ", path)
	}
	for _, path := range []string{"/", "/runs/new?of=effects&action=retry&state=failed", "/effects/" + key + "/retry", "/quarantine/verify", "/destinations/app/pause"} {
		_, from := b.asked(t, path)
		require.Empty(t, from, path)
	}
	_, err = b.follower.Exec(t.Context(), "SELECT FROM hooklatch.river_leader")
	require.True(t, sqlstate.Is(err, "0A000"), "the overview reads this table: %v", err)
	require.Error(t, b.onFollower(t, key), "an outbox on the standby cannot change anything")
}

// onFollower tries to change an effect through an outbox on the standby, and returns the error.
func (b *beside) onFollower(t *testing.T, key string) error {
	t.Helper()
	box, err := outbox.New(outbox.Options{Pool: b.follower})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	return box.Ledger().Cancel(ctx, key, ledger.Operator{Who: "ann", Reason: "test"})
}
