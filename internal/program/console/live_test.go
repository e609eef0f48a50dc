package console_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/export"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// moving is a clock that only the test advances, because much time may pass between two steps on a
// busy machine.
type moving struct {
	begun sync.Once
	start time.Time
	ahead atomic.Int64
}

func (m *moving) now() time.Time {
	m.begun.Do(func() { m.start = time.Now() })
	return m.start.Add(time.Duration(m.ahead.Load()))
}

func (m *moving) move(by time.Duration) { m.ahead.Add(int64(by)) }

const refreshes = `<noscript><meta http-equiv="refresh" content="5"></noscript>`

// The live page shows the newest events of its filter, refreshes itself, and can be paused.
func TestLiveShowsEventsAsTheyArrive(t *testing.T) {
	t.Parallel()
	var clock moving
	b := setup(t, func(o *console.Options) { o.Now = clock.now })
	wellMade(t, "/live", b.page(t, "/live"))
	clock.move(time.Minute)
	for i := range 150 {
		b.accept(t, fmt.Sprintf("evt_%03d", i), "invoice.paid", `{}`)
	}
	page := b.page(t, "/live")
	wellMade(t, "/live", page)
	require.Contains(t, page, `<div id="live" data-live>`)
	require.Contains(t, page, refreshes)
	require.Contains(t, page, `<a href="?pause=1">Pause</a>`)
	require.Contains(t, page, "hooklatch events list --follow")
	require.Equal(t, 100, strings.Count(page, `<a class="open mono"`))
	require.Less(t, strings.Index(page, "evt_149"), strings.Index(page, "evt_050"))
	require.NotContains(t, page, "evt_049")

	// All users who watch the same filter share its rows for two seconds.
	b.accept(t, "evt_next", "invoice.voided", `{}`)
	require.NotContains(t, b.page(t, "/live"), "evt_next")
	require.Contains(t, b.page(t, "/live?type=invoice.v*"), "evt_next", "another filter")
	clock.move(3 * time.Second)
	require.Contains(t, b.page(t, "/live"), "evt_next")

	paused := b.page(t, "/live?type=invoice.paid&pause=1")
	wellMade(t, "/live", paused)
	require.NotContains(t, paused, "data-live")
	require.NotContains(t, paused, refreshes)
	require.Contains(t, paused, `<a href="?type=invoice.paid">Continue</a>`)
	require.NotContains(t, paused, "evt_next")
	require.Contains(t, b.page(t, "/live?type=invoice.paid"), `<a href="?type=invoice.paid&amp;pause=1">Pause</a>`)
	require.Contains(t, b.page(t, "/live?type=none"), "Newest first")

	for query, want := range map[string]string{
		"state=lost": "cannot be read", "when=body.(": "cannot be read", "type=" + strings.Repeat("x", 10<<10): "10240 bytes",
	} {
		got := b.get("/live?" + query)
		require.Equal(t, http.StatusBadRequest, got.Code, query)
		require.Contains(t, got.Body.String(), want)
	}
	require.Equal(t, http.StatusOK, b.get("/live?type=%00%25_&source=%3Cb%3E").Code)
	require.Equal(t, http.StatusNotFound, b.get("/api/live").Code, "programs request /api/events")
}

// The number of filters whose rows are kept is limited.
func TestLiveKeepsFewFilters(t *testing.T) {
	t.Parallel()
	var clock moving
	b := setup(t, func(o *console.Options) { o.Now = clock.now })
	b.accept(t, "evt_1", "invoice.paid", `{}`)
	for i := range 100 {
		require.Equal(t, http.StatusOK, b.get(fmt.Sprintf("/live?type=t%d", i)).Code)
	}
	require.Equal(t, 64, b.console.Watched())
	require.Contains(t, b.page(t, "/live?type=invoice.*"), "evt_1", "the rows are read without being kept")
	clock.move(2 * time.Minute)
	b.page(t, "/live")
	require.Equal(t, 1, b.console.Watched(), "no page watches the other filters any more")
}

// A user who must not see a value cannot find it on the live page. A live search is recorded once
// an hour rather than at every refresh.
func TestLiveSearchesAreMaskedAndRecorded(t *testing.T) {
	t.Parallel()
	var clock moving
	pool := pgtest.New(t)
	reads, err := signin.NewReads(pool, "")
	require.NoError(t, err)
	b := setupOn(t, pool, func(o *console.Options) {
		o.Sight, o.Reads, o.Now = desk.Sight{Mask: map[string][]string{"stripe": {"/customer"}}}, reads, clock.now
	})
	b.accept(t, "evt_1", "invoice.paid", `{"customer":"cus_42"}`)
	const path = `/live?source=stripe&contains=cus_42`
	for range 2 { // in the second round, the viewer's request finds the admin's shared rows
		got := b.sent(signin.Viewer, http.MethodGet, path, nil)
		require.Equal(t, http.StatusForbidden, got.Code)
		require.NotContains(t, got.Body.String(), "evt_1")
		require.Contains(t, b.sent(signin.Admin, http.MethodGet, path, nil).Body.String(), "evt_1")
	}
	recorded := func() (n int) {
		log, err := b.box.Ledger().OperatorLog(t.Context(), time.Time{}, 0)
		require.NoError(t, err)
		for _, a := range log {
			if strings.HasPrefix(a.Target, "search: ") {
				n++
				require.NotContains(t, a.Target, "cus_42")
			}
		}
		return n
	}
	require.Equal(t, 1, recorded())
	for range 10 {
		clock.move(5 * time.Second)
		require.Equal(t, http.StatusOK, b.sent(signin.Admin, http.MethodGet, path, nil).Code)
	}
	require.Equal(t, 1, recorded())
}

// While the database does not respond, the page says so and retries, even without scripts.
func TestLiveSaysThatTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	gone := away(t)
	got := gone.get("/live")
	require.Equal(t, http.StatusServiceUnavailable, got.Code)
	require.Contains(t, got.Body.String(), "The database does not answer")
	require.Contains(t, got.Body.String(), refreshes)
	require.NotContains(t, gone.get("/live?pause=1").Body.String(), refreshes)
}

// If a statement takes too long, the page says that the database is too slow. Only a server that
// sends no response makes the page say that the database does not answer. A hung export has a
// heading of its own.
func TestOurOwnTimeLimitIsNoOutage(t *testing.T) {
	t.Parallel()
	for heading, err := range map[string]error{
		"The database is too slow":     fmt.Errorf("list events: %w", context.DeadlineExceeded),
		"The database does not answer": fmt.Errorf("list events: %w: %w", commit.ErrUnavailable, context.DeadlineExceeded),
		"The export does not answer":   fmt.Errorf("read event: %w: %w", export.ErrNoAnswer, context.DeadlineExceeded),
	} {
		require.Equal(t, heading, console.Heading(err))
	}
	_, err := pgconn.Connect(t.Context(), "postgres://127.0.0.1:1/none")
	require.Equal(t, "The database does not answer", console.Heading(err))
}
