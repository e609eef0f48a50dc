package console_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
	"github.com/hooklatch/hooklatch/worker/route"
)

func (b *bundle) runs(t testing.TB) *runs.Runs {
	t.Helper()
	return b.box.Runs().With(b.box.Finder().With(route.CompileCondition))
}

// begun starts n runs that no worker carries out, and returns their ids.
func begun(t testing.TB, b *bundle, n int) (ids []string) {
	t.Helper()
	for range n {
		run, err := b.runs(t).Begin(t.Context(), runs.Order{
			Action: ledger.ActionRetryEffect, Effects: find.Effects{States: []ledger.EffectState{ledger.EffectFailed}, Destination: "crm"}, Name: "after the fix",
		}, ledger.Operator{Who: "ada", Via: "cli", Reason: "they move"})
		require.NoError(t, err)
		ids = append(ids, strconv.FormatInt(run.ID, 10))
	}
	return ids
}

// orderOf returns the path for submitting a preview's form.
func orderOf(t testing.TB, page string) string {
	t.Helper()
	found := regexp.MustCompile(`action="(/runs/new[^"]*)"`).FindStringSubmatch(page)
	require.Len(t, found, 2, page)
	return html.UnescapeString(found[1])
}

func (b *bundle) sent(role signin.Role, method, path string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.answer(r.WithContext(signin.WithPerson(r.Context(), signin.Person{Name: "vera", Role: role})))
}

// A filter's matches are counted, and a run over them is started, processed and shown.
func TestWhatAListShowsIsRetried(t *testing.T) {
	t.Parallel()
	b := setup(t)
	keys := []string{b.failed(t, "evt_1"), b.failed(t, "evt_2")}
	doubtful := b.doubted(t, "evt_3")
	list := b.page(t, "/effects?state=attention")
	require.Contains(t, list, "Retry these…")
	require.Contains(t, list, "/runs/new?action=retry&amp;of=effects&amp;state=attention")

	preview := b.page(t, "/runs/new?of=effects&action=retry&state=attention")
	wellMade(t, "/runs/new", preview)
	require.Contains(t, preview, "<strong>2</strong> effects")
	require.Contains(t, preview, "Effects that may have been applied: 1.")
	require.Contains(t, preview, "hooklatch effects retry --state failed,parked")
	later := b.failed(t, "evt_later")

	path := orderOf(t, preview)
	got := b.post(path, url.Values{"name": {"after <the> fix"}, "reason": {"they are back"}, "pace": {"50"}})
	require.Equal(t, http.StatusSeeOther, got.Code, got.Body)
	require.Equal(t, "/runs/1?done=begun", got.Header().Get("Location"))
	page := b.page(t, got.Header().Get("Location"))
	for _, want := range []string{"Run started and recorded", "after &lt;the&gt; fix", "the next free worker continues it", "50 changes per second", "they are back", "data-live"} {
		require.Contains(t, page, want)
	}
	run, err := b.runs(t).Work(t.Context(), 1, time.Now().Add(time.Hour), nil)
	require.NoError(t, err)
	require.Equal(t, runs.Done, run.State)
	page = b.page(t, "/runs/1")
	require.Contains(t, page, "<dd>2 of 2</dd>", "a run that has ended selects no more")
	require.NotContains(t, page, "data-live", "the run does not change any more")
	for _, key := range keys {
		require.Equal(t, ledger.EffectPending, b.effect(t, key).State)
		require.Contains(t, b.page(t, "/effects/"+key), "they are back (run 1)")
	}
	require.Equal(t, ledger.EffectFailed, b.effect(t, later).State, "an effect that failed later is not part of the run")
	require.Equal(t, ledger.EffectParked, b.effect(t, doubtful).State)
	require.Contains(t, b.page(t, "/audit"), `href="/runs/1"`)

	path = orderOf(t, b.page(t, "/runs/new?of=effects&state=parked"))
	got = b.post(path, url.Values{"looked": {"yes"}})
	require.Equal(t, http.StatusUnprocessableEntity, got.Code)
	require.Contains(t, got.Body.String(), "Give a reason for repeating effects")
	require.Equal(t, http.StatusSeeOther, b.post(path, url.Values{"looked": {"yes"}, "reason": {"they have nothing"}}).Code)
	_, err = b.runs(t).Work(t.Context(), 2, time.Now().Add(time.Hour), nil)
	require.NoError(t, err)
	require.Equal(t, ledger.EffectInDoubt, b.effect(t, doubtful).State)
}

// Former run addresses redirect to the current ones, with query and method, for bookmarks, job
// links and API clients.
func TestFormerAddressesOfRunsLead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for from, to := range map[string]string{
		"/replays":                           "/runs",
		"/replays/17":                        "/runs/17",
		"/replays/17/pause":                  "/runs/17/pause",
		"/replays/new?of=effects&state=done": "/runs/new?of=effects&state=done",
		"/api/replays?before=9":              "/api/runs?before=9",
		"/api/replays/17":                    "/api/runs/17",
	} {
		got := b.get(from)
		require.Equal(t, http.StatusPermanentRedirect, got.Code, from)
		require.Equal(t, to, got.Header().Get("Location"), from)
	}
	got := b.post("/replays/new?of=effects", url.Values{"reason": {"they are back"}})
	require.Equal(t, http.StatusPermanentRedirect, got.Code)
	require.NotEqual(t, http.StatusPermanentRedirect, b.get("/replayset").Code)
}

func TestEventsAreReplayedOneByOneAndMany(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.failed(t, "evt_1")
	odd := b.accept(t, "a/b", "customer.created", `{"customer":"cus_42"}`)
	b.dispatch(t, odd, ledger.AtLeastOnce)
	require.Contains(t, b.page(t, "/events/stripe/evt_1"), `href="/events/stripe/evt_1/replay"`)
	require.Contains(t, b.page(t, "/events/stripe/-/replay?id=a%2Fb"), "with the current routes")
	got := b.post("/events/stripe/-/replay?id=a%2Fb", url.Values{"new_keys": {"yes"}})
	require.Equal(t, "/events/stripe/-?id=a%2Fb&done=replay", got.Header().Get("Location"))
	require.Contains(t, b.page(t, got.Header().Get("Location")), "Replay requested and recorded.")
	e, err := b.box.Inbox().Event(t.Context(), odd.EventRef)
	require.NoError(t, err)
	require.Equal(t, 2, e.Generation)
	got = b.post("/events/stripe/-/replay?id=a%2Fb", nil)
	require.Equal(t, http.StatusConflict, got.Code)
	require.Contains(t, got.Body.String(), "It waits for its dispatch.")

	var preview string
	require.Eventually(t, func() bool { // on a busy machine, a preview may not search all rows
		preview = b.page(t, "/runs/new?of=events&when="+url.QueryEscape(`body.customer == "cus_42"`))
		return strings.Contains(preview, "<strong>1</strong> events")
	}, patience, time.Millisecond)
	require.Equal(t, http.StatusSeeOther, b.post(orderOf(t, preview), nil).Code)
	_, err = b.runs(t).Work(t.Context(), 1, time.Now().Add(time.Hour), nil)
	require.NoError(t, err)
	replays, err := b.box.Inbox().EventReplays(t.Context(), identity.EventRef{Source: "stripe", EventID: "evt_1"})
	require.NoError(t, err)
	require.Equal(t, int64(1), replays[0].Run)
	for query, want := range map[string]string{
		"of=events&state=received": "dispatched, skipped, failed", "of=effects&state=done": "failed, parked, cancelled",
		"of=effects&event=stripe/evt_1": "one by one", "of=effects&action=replay": "of=effects with action", "of=events&last=x": "number of the last", "of=effects&as_of=x": "2026-11-21T08",
	} {
		got := b.get("/runs/new?" + query)
		require.Equal(t, http.StatusBadRequest, got.Code, query)
		require.Contains(t, got.Body.String(), want)
	}
	require.NotContains(t, b.page(t, "/events?state=received"), "Replay these")
	require.NotContains(t, b.page(t, "/events"), "Release these", "no event is held")
}

// A value that is too long is refused: without the value, the filter would select everything.
func TestAFilterThatIsTooLongSelectsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.failed(t, "evt_1")
	long := strings.Repeat("x", 5<<10)
	for _, path := range []string{
		"/events?contains=" + long, "/effects?route=" + long, "/audit?who=" + long, "/quarantine?source=" + long,
		"/runs/new?of=events&type=" + long, "/runs/new?of=effects&destination=" + long, "/api/events?type=" + long, "/api/runs/new?of=effects&source=" + long,
	} {
		got := b.get(path)
		require.Equal(t, http.StatusBadRequest, got.Code, path)
		require.Contains(t, got.Body.String(), "5120 bytes", path)
	}
	require.Equal(t, http.StatusBadRequest, b.post("/runs/new?of=effects&action=cancel&destination="+long, nil).Code)
	require.Equal(t, http.StatusBadRequest, b.post("/quarantine/verify?source="+long, nil).Code)
	var ordered int
	require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT count(*) FROM hooklatch.operator_log`).Scan(&ordered))
	require.Zero(t, ordered)
}

// The server limits the size of an operator's run. An admin's run has no limit.
func TestAnOperatorsRunIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *console.Options) { o.MaxRun = 1 })
	b.failed(t, "evt_1")
	b.failed(t, "evt_2")
	const query = "/runs/new?of=effects&state=failed"
	page := b.sent(signin.Operator, http.MethodGet, query, nil)
	require.Equal(t, http.StatusOK, page.Code)
	require.Contains(t, page.Body.String(), "A run over more than 1 requires the role admin")
	got := b.sent(signin.Operator, http.MethodPost, query, nil)
	require.Equal(t, http.StatusForbidden, got.Code)
	require.Contains(t, got.Body.String(), "This run is too large for your role")
	require.Equal(t, http.StatusForbidden, b.sent(signin.Viewer, http.MethodGet, query, nil).Code)
	require.Equal(t, http.StatusForbidden, b.sent(signin.Viewer, http.MethodPost, query, nil).Code)
	require.Equal(t, http.StatusSeeOther, b.sent(signin.Admin, http.MethodPost, query, nil).Code)
	log, err := b.box.Ledger().OperatorLog(t.Context(), time.Time{}, 0)
	require.NoError(t, err)
	require.Len(t, log, 1, "a refused action is not recorded")
	require.Equal(t, "admin", log[0].Role)
}

// To start a run over more than a thousand rows, the user must type the verb.
func TestManyAreTyped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.pool.Exec(t.Context(), `SET session_replication_role = replica;
		INSERT INTO hooklatch.effects (scope, key, idempotency_key, destination, queue, policy, state, attempt, finished_at)
		SELECT 'many', i::text, 'hl_many_' || i, 'app', 'dst_app', 'at_least_once', 'failed', 1, now() FROM generate_series(1, 1001) AS i;
		RESET session_replication_role`)
	require.NoError(t, err)
	preview := b.page(t, "/runs/new?of=effects&state=failed")
	require.Contains(t, preview, "type the word retry")
	path := orderOf(t, preview)
	got := b.post(path, url.Values{"typed": {"park"}, "name": {"slip"}})
	require.Equal(t, http.StatusUnprocessableEntity, got.Code)
	require.Contains(t, got.Body.String(), "Type the word retry to start it")
	require.Contains(t, got.Body.String(), `value="slip"`, "the form keeps what the user typed")
	require.Equal(t, http.StatusSeeOther, b.post(path, url.Values{"typed": {"Retry"}}).Code)
}

// Submitting a form twice starts one run.
func TestARunThatIsOrderedTwiceIsOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.failed(t, "evt_1")
	preview := b.page(t, "/runs/new?of=effects&state=failed")
	once := regexp.MustCompile(`name="once" value="([^"]+)"`).FindStringSubmatch(preview)
	require.Len(t, once, 2)
	path, form := orderOf(t, preview), url.Values{"once": {once[1]}}
	var both sync.WaitGroup
	leads := make([]string, 8)
	for i := range leads {
		both.Go(func() { leads[i] = b.post(path, form).Header().Get("Location") })
	}
	both.Wait()
	for _, to := range leads {
		require.Equal(t, leads[0], to)
		require.NotEmpty(t, to)
	}
	all, err := b.runs(t).List(t.Context(), 0, 0)
	require.NoError(t, err)
	require.Len(t, all, 1)
	log, err := b.box.Ledger().OperatorLog(t.Context(), time.Time{}, 0)
	require.NoError(t, err)
	require.Len(t, log, 1)
	require.Equal(t, http.StatusSeeOther, b.post(orderOf(t, b.page(t, "/runs/new?of=effects&state=failed")), nil).Code, "another form starts another run")
}

func TestARunIsSteeredFromItsPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := begun(t, b, 1)[0]
	path := "/runs/" + id
	require.Contains(t, b.page(t, path+"/pause"), "Pause run 1?")
	require.Equal(t, http.StatusSeeOther, b.post(path+"/pause", nil).Code)
	require.Contains(t, b.page(t, path+"?done=pause"), "Paused and recorded.")
	require.Equal(t, http.StatusConflict, b.post(path+"/pause", nil).Code)
	require.Contains(t, b.page(t, path+"/pace"), `name="pace" value="0"`)
	got := b.post(path+"/pace", url.Values{"pace": {"many"}})
	require.Equal(t, http.StatusBadRequest, got.Code)
	require.Equal(t, http.StatusSeeOther, b.post(path+"/pace", url.Values{"pace": {"0.5"}}).Code)
	require.Contains(t, b.page(t, path), "0.5 changes per second")
	require.Equal(t, http.StatusSeeOther, b.post(path+"/resume", nil).Code)
	require.Equal(t, http.StatusSeeOther, b.post(path+"/stop", url.Values{"reason": {"enough"}}).Code)
	page := b.page(t, path)
	require.Contains(t, page, "stopped")
	require.NotContains(t, page, "/resume")
	require.Equal(t, http.StatusConflict, b.post(path+"/resume", nil).Code)
	require.Equal(t, http.StatusNotFound, b.get("/runs/99").Code)
	require.Equal(t, http.StatusNotFound, b.get("/runs/x").Code)
	require.Contains(t, b.page(t, "/runs"), "after the fix")
	require.Equal(t, http.StatusForbidden, b.sent(signin.Viewer, http.MethodPost, path+"/stop", nil).Code)
	log, err := b.box.Ledger().OperatorLog(t.Context(), time.Time{}, 0)
	require.NoError(t, err)
	require.Equal(t, ledger.Action("run.stop"), log[0].Action)
	require.Equal(t, "enough", log[0].Reason)
	require.Len(t, log, 5)
}

// Verifying refused deliveries again is a bulk run: its size is limited by the caller's role, and a
// form that is submitted twice starts one run.
func TestTheRunOverTheQuarantineIsLimitedAndStartsOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *console.Options) { o.MaxRun = 1 })
	b.refuse(t, "one", "two")
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		got := b.sent(signin.Operator, method, "/quarantine/verify?source=stripe", nil)
		require.Equal(t, http.StatusForbidden, got.Code, got.Body)
		require.Contains(t, got.Body.String(), "requires the role admin")
	}
	form := url.Values{"once": {hidden(t, b.page(t, "/quarantine/verify?source=stripe"), "once")}}
	var leads []string
	for range 2 {
		got := b.post("/quarantine/verify?source=stripe", form)
		require.Equal(t, http.StatusSeeOther, got.Code, got.Body)
		leads = append(leads, got.Header().Get("Location"))
	}
	require.Equal(t, leads[0], leads[1])
	all, err := b.runs(t).List(t.Context(), 0, 0)
	require.NoError(t, err)
	require.Len(t, all, 1)
}
