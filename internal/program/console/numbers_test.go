package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/measure"
)

// numbers is the JSON of /api/numbers.
type numbers struct {
	Points   []map[string]any
	Timeline []struct {
		What, Name, Who string
		Count           int64
	}
	More bool `json:"more_actions"`
}

func (b *bundle) numbers(t testing.TB, query string) numbers {
	t.Helper()
	var n numbers
	require.NoError(t, json.Unmarshal([]byte(b.page(t, "/api/numbers"+query)), &n))
	return n
}

// sum returns the sum of a value over all points, and the number of points that have the value.
func (n numbers) sum(name string) (sum float64, known int) {
	for _, point := range n.Points {
		if value, is := point[name].(float64); is {
			sum, known = sum+value, known+1
		}
	}
	return sum, known
}

// counted adds counts to the minute half an hour ago, and to the sums from which the console reads.
func counted(t testing.TB, b *bundle) {
	t.Helper()
	tx, err := b.pool.Begin(t.Context()) // all counts are of one minute: now() is the start of the transaction
	require.NoError(t, err)
	for _, row := range []struct {
		kind, name string
		what       measure.What
		n          int
	}{
		{"source", "stripe", measure.Accepted, 40},
		{"source", "github", measure.Accepted, 2},
		{"source", "github", measure.Duplicate, 3},
		{"source", "github", measure.Refused("bad_signature"), 5},
		{"source", "stripe", measure.Attempts, 7},
		{"source", "stripe", measure.Done, 6},
		{"source", "stripe", measure.Awaiting, 4},
		{"destination", "app", measure.Attempts, 9},
		{"destination", "app", measure.Done, 6},
		{"destination", "app", measure.Awaiting, 11},
		{"destination", "app", "first_took:0.1", 99},
		{"destination", "app", "first_took:more", 1},
		{"destination", "mail", "first_took:more", 1},
		{"timeline", "", "sampled", 2},
		{"timeline", "app", measure.BreakerOpened, 1},
		{"timeline", hostile, measure.Started, 2},
	} {
		_, err := tx.Exec(t.Context(), `INSERT INTO hooklatch.minutes VALUES (date_trunc('minute', now()) - interval '30 minutes', $1, $2, $3, $4)`,
			row.kind, strings.ReplaceAll(row.name, "\x00", ""), string(row.what), row.n)
		require.NoError(t, err)
	}
	require.NoError(t, tx.Commit(t.Context()))
	counts, err := measure.NewCounts(measure.CountsOptions{Pool: b.pool})
	require.NoError(t, err)
	require.NoError(t, counts.Tidy(t.Context()))
}

// The page draws the counts, and states them in words and in a table.
func TestNumbersOverTimeAreDrawn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	counted(t, b)
	for _, span := range measure.Spans() {
		if span == measure.Week { // the counts may be in the current hour, which a week does not show
			continue
		}
		n := b.numbers(t, "?span="+string(span))
		for name, want := range map[string]float64{
			"accepted": 42, "duplicates": 3, "refused": 5, "attempts_done": 6, "attempts_failed": 3,
			"effects_waiting": 5.5, "events_waiting": 2, "first_attempts_p50_seconds": 0.1, "first_attempts_p99_seconds": 60,
		} {
			sum, _ := n.sum(name)
			require.InDelta(t, want, sum, 1e-9, "%s of a %s", name, span)
		}
		path := "/numbers?span=" + string(span)
		page := b.page(t, path)
		wellMade(t, path, page)
		for _, said := range []string{"Accepted: 42 in all, at most 42 per", "Failed: 3 in all", "100 ms over the whole period", "more than 30 s", "Breaker of app opened", "2 processes started"} {
			require.Contains(t, page, said, span)
		}
	}
	require.Len(t, b.numbers(t, "").Points, 96)
	require.Len(t, b.numbers(t, "?span=hour").Points, 60)
	require.Len(t, b.numbers(t, "?span=week").Points, 168)
	wellMade(t, "/numbers?span=week", b.page(t, "/numbers?span=week"))
}

// The page of a source or a destination has only the numbers that are counted for it.
func TestNumbersOfOneSubject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	counted(t, b)
	for query, want := range map[string]map[string]float64{
		"?span=hour&source=stripe":   {"accepted": 40, "attempts_done": 6, "attempts_failed": 1, "events_waiting": 2},
		"?span=hour&source=github":   {"accepted": 2, "duplicates": 3, "refused": 5},
		"?span=hour&destination=app": {"attempts_done": 6, "attempts_failed": 3, "effects_waiting": 5.5, "first_attempts_p99_seconds": 0.1},
	} {
		n := b.numbers(t, query)
		for name, value := range want {
			sum, _ := n.sum(name)
			require.InDelta(t, value, sum, 1e-9, "%s%s", name, query)
		}
	}
	_, known := b.numbers(t, "?destination=app").sum("accepted")
	require.Zero(t, known)
	_, known = b.numbers(t, "?source=stripe").sum("effects_waiting")
	require.Zero(t, known)
	require.NotContains(t, b.page(t, "/numbers?destination=app"), "Duplicates")
}

// Numbers of a time that was not counted are unknown, not zero.
func TestUncountedNumbersAreUnknown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, known := b.numbers(t, "").sum("accepted")
	require.Zero(t, known)
	require.Contains(t, b.page(t, "/numbers"), "Accepted: not counted")
	counted(t, b)
	_, known = b.numbers(t, "?span=hour").sum("accepted")
	require.Equal(t, 1, known)
	require.Contains(t, b.page(t, "/numbers?span=hour"), `class="gap"`)
}

func TestNumbersRefuseWhatTheyCannotShow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, query := range []url.Values{
		{"span": {"year"}}, {"span": {hostile}}, {"span": {"%"}}, {"span": {"\x00"}},
		{"source": {"stripe"}, "destination": {"app"}}, {"source": {strings.Repeat("x", 10_000)}},
	} {
		for _, below := range []string{"", "/api"} {
			got := b.get(below + "/numbers?" + query.Encode())
			require.Equal(t, http.StatusBadRequest, got.Code, query)
			if below == "" {
				wellMade(t, "/numbers", got.Body.String())
			}
		}
	}
	for _, name := range []string{"%", "\x00", "nobody", hostile} {
		path := "/numbers?" + url.Values{"source": {name}}.Encode()
		wellMade(t, path, b.page(t, path))
	}
}

// The timeline contains operator actions. Only admins see operators and targets; the audit page is
// for admins too.
func TestOperatorActionsAreOnTheTimeLine(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.failed(t, "evt_1")
	require.NoError(t, b.box.Ledger().Retry(t.Context(), key, ledger.Operator{Who: "ada", Via: "cli", Reason: "it is repaired"}))
	_, err := b.pool.Exec(t.Context(), `INSERT INTO hooklatch.operator_log (who, role, via, action, target, affected, request_id) VALUES ('ada', 'viewer', 'console', 'payload.read', 'x', 0, 'r')`)
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.operator_log SET at = at - interval '30 minutes'`)
	require.NoError(t, err)
	as := func(role signin.Role, path string) string {
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		got := b.answer(r.WithContext(signin.WithPerson(r.Context(), signin.Person{Name: "vera", Role: role})))
		require.Equal(t, http.StatusOK, got.Code)
		return got.Body.String()
	}
	for _, path := range []string{"/numbers", "/api/numbers"} {
		for _, role := range []signin.Role{signin.Viewer, signin.Operator} {
			page := as(role, path)
			require.Contains(t, page, "effect.retry")
			require.NotContains(t, page, "ada")
			require.NotContains(t, page, key)
		}
		page := as(signin.Admin, path)
		require.Contains(t, page, "ada")
		require.Contains(t, page, key[:8])
		require.NotContains(t, page, "payload.read")
	}
	_, err = b.pool.Exec(t.Context(), `INSERT INTO hooklatch.operator_log (who, via, action, target, affected, request_id, at)
		SELECT 'ada', 'cli', 'effect.retry', 'x', 1, n::text, now() - interval '1 hour' + n * interval '1 second' FROM generate_series(1, 500) AS n`)
	require.NoError(t, err)
	n := b.numbers(t, "")
	require.True(t, n.More)
	require.LessOrEqual(t, len(n.Timeline), 200)
	require.Contains(t, b.page(t, "/numbers"), "Operator actions are left out")
}

// The role of a gateway cannot read the operator log, but it can read the counts.
func TestNumbersNeedNoOperatorLog(t *testing.T) {
	t.Parallel()
	b := setupWithout(t, "operator_log")
	counted(t, b)
	require.Contains(t, b.page(t, "/numbers"), "Operator actions are left out")
	require.True(t, b.numbers(t, "").More)
}

// The axes and the table show times in the chosen zone.
func TestTheZoneOfNumbersIsTheChosenOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ticks := map[string]bool{}
	for _, zone := range []string{"UTC", "Asia/Kolkata"} { // 5:30 apart: the labels differ by two periods, even if the chart advances by one between the requests
		r := httptest.NewRequest(http.MethodGet, "/numbers", http.NoBody)
		r.AddCookie(&http.Cookie{Name: "hooklatch_look", Value: url.Values{"zone": {zone}}.Encode()})
		page := b.answer(r).Body.String()
		_, plot, found := strings.Cut(page, `text-anchor="middle">`)
		require.True(t, found)
		label, _, _ := strings.Cut(plot, "<")
		require.Contains(t, []string{"00:00", "06:00", "12:00", "18:00"}, label)
		_, at, _ := strings.Cut(page, label+"</text>")
		x := page[:len(page)-len(at)]
		ticks[x[strings.LastIndex(x, `<text x="`):]] = true
	}
	require.Len(t, ticks, 2, "midnight is at different places")
}

// The page of a week stays small, however much happened in that week.
func TestAPageOfNumbersIsSmall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.pool.Exec(t.Context(), `INSERT INTO hooklatch.hours
		SELECT date_trunc('hour', now()) - h * interval '1 hour', kind, CASE kind WHEN 'timeline' THEN 'version ' || h ELSE kind || n END, what, 123456
		FROM generate_series(1, 200) AS h, generate_series(1, 3) AS n, (VALUES ('source', 'accepted'), ('source', 'waiting'), ('destination', 'attempts'), ('timeline', 'started')) AS k (kind, what)
		ON CONFLICT DO NOTHING`)
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `INSERT INTO hooklatch.operator_log (who, via, action, target, affected, request_id, at)
		SELECT 'ada', 'cli', 'effect.retry', repeat('x', 1000), 1, n::text, now() - n * interval '2 hours' FROM generate_series(1, 500) AS n`)
	require.NoError(t, err)
	counts, err := measure.NewCounts(measure.CountsOptions{Pool: b.pool})
	require.NoError(t, err)
	require.NoError(t, counts.Tidy(t.Context()))
	for _, span := range measure.Spans() {
		page := b.page(t, "/numbers?span="+string(span))
		t.Logf("%s: %d bytes", span, len(page))
		require.Less(t, len(page), 250_000, fmt.Sprint(span))
	}
}
