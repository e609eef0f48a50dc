package console_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/coverage"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// passed stores passes over Stripe's list. The next pass is due in an hour.
func (b *bundle) passed(t testing.TB) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `
		INSERT INTO hooklatch.coverage (source, covered_until, next_at, last_ok_at) VALUES ('stripe', now(), now() + interval '1 hour', now());
		INSERT INTO hooklatch.backfill_runs (source, since, until, mode, requested_by, started_at, ended_at, listed, known, missing, recovered, error)
		SELECT 'stripe', now() - interval '1 hour', now(), 'auto', '', now() - make_interval(mins => n), now(), 100 + n, 100, n, n - 1, '' FROM generate_series(2, 14) AS n
		UNION ALL
		SELECT 'stripe', now() - interval '1 hour', now(), 'ordered', '<b>ann</b>', now(), clock_timestamp(), 7, 7, 0, 0, 'the token is refused <b>'`)
	require.NoError(t, err)
}

func TestASourceShowsItsLastPasses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NotContains(t, b.page(t, "/sources/stripe"), "The last passes")
	b.passed(t)
	var page string
	require.Eventually(t, func() bool {
		page = b.page(t, "/sources/stripe")
		return strings.Contains(page, "Last passes over the provider's list")
	}, 2*time.Minute, 100*time.Millisecond, "the answer is shared for two seconds")
	wellMade(t, "/sources/stripe", page)
	require.Contains(t, page, "&lt;b&gt;ann&lt;/b&gt;</td><td>ordered</td>")
	require.Contains(t, page, "the token is refused &lt;b&gt;")
	require.Contains(t, page, `<td>schedule</td><td>auto</td><td class="number">102</td><td class="number">100</td><td class="number">2</td><td class="number">1</td><td class="number">0</td><td class="said">events are missing</td>`)
	require.Equal(t, 9, strings.Count(page, "<td>schedule</td>"), "the newest ten")
	require.NotContains(t, page, "Account")
	require.NotContains(t, b.page(t, "/sources/github"), "Run now")

	var told struct{ Passes []coverage.Run }
	got := b.get("/api/sources/stripe")
	documented(t, b).holds(t, "GET /api/sources/{name}", got)
	require.NoError(t, json.Unmarshal(got.Body.Bytes(), &told))
	require.Len(t, told.Passes, 10)
	require.Equal(t, "<b>ann</b>", told.Passes[0].RequestedBy)
}

// When an operator requests a pass, the list becomes due immediately, the operator is recorded, and
// a running pass is not disturbed.
func TestAListIsReadByOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.passed(t)
	require.Eventually(t, func() bool { return strings.Contains(b.page(t, "/sources/stripe"), "/sources/stripe/backfill") }, 2*time.Minute, 100*time.Millisecond)
	require.Contains(t, b.page(t, "/sources/stripe/backfill"), "the next one starts right after it")
	begin := func() *coverage.Pass {
		p, err := b.box.Coverage().Begin(t.Context(), coverage.Stream{Source: "stripe"}, false, time.Minute, 0)
		require.NoError(t, err)
		return p
	}
	require.Nil(t, begin(), "the confirmation page changes nothing")
	got := b.post("/sources/stripe/backfill", url.Values{"reason": {"they were away"}})
	require.Equal(t, http.StatusSeeOther, got.Code, got.Body)
	require.Contains(t, b.page(t, got.Header().Get("Location")), "a worker reads the list within a minute")
	atWork := begin()
	require.NotNil(t, atWork, "the list is due")
	require.Equal(t, http.StatusSeeOther, b.post("/sources/stripe/backfill", nil).Code)
	require.Nil(t, begin(), "a pass is running")
	require.NoError(t, b.box.Coverage().End(t.Context(), atWork, coverage.End{Next: time.Hour}))
	require.NotNil(t, begin(), "the list is due right after the pass")

	log, err := b.box.Ledger().OperatorLog(t.Context(), time.Time{}, 0)
	require.NoError(t, err)
	require.Len(t, log, 2)
	require.Equal(t, []any{coverage.ActionRun, "stripe", "due when the current pass has ended"}, []any{log[0].Action, log[0].Target, log[0].Result})
	require.Equal(t, []any{"due now", "they were away", "console", int64(1)}, []any{log[1].Result, log[1].Reason, log[1].Via, log[1].Affected})
	require.Contains(t, b.page(t, "/audit"), `href="/sources/stripe"`)

	for _, path := range []string{"/sources/github/backfill", "/sources/none/backfill", "/sources/stripe/explode"} {
		require.Equal(t, http.StatusNotFound, b.get(path).Code, path)
		require.Equal(t, http.StatusNotFound, b.post(path, nil).Code, path)
	}
	require.Error(t, b.box.Coverage().RunNow(t.Context(), "stripe", ledger.Operator{Via: "console"}), "no operator requested the pass")
}

func TestAViewerDoesNotHaveListsRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.passed(t)
	require.Eventually(t, func() bool { return strings.Contains(b.page(t, "/sources/stripe"), "Run now") }, 2*time.Minute, 100*time.Millisecond)
	as := func(method, path string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, http.NoBody)
		return b.answer(r.WithContext(signin.WithPerson(r.Context(), signin.Person{Name: "vera", Role: signin.Viewer})))
	}
	page := as(http.MethodGet, "/sources/stripe").Body.String()
	require.Contains(t, page, "<button disabled>Run now</button>")
	require.NotContains(t, page, "/sources/stripe/backfill")
	require.Equal(t, http.StatusForbidden, as(http.MethodGet, "/sources/stripe/backfill").Code)
	require.Equal(t, http.StatusForbidden, as(http.MethodPost, "/sources/stripe/backfill").Code)
	due := 0
	require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT count(*) FROM hooklatch.coverage WHERE next_at <= now()`).Scan(&due))
	require.Zero(t, due)
}
