package console_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
)

// asking is a request to the API. With a body, it is a POST.
type asking struct{ path, body string }

func (a asking) request(role signin.Role) *http.Request {
	method := http.MethodGet
	if a.body != "" {
		method = http.MethodPost
	}
	r := httptest.NewRequest(method, "/api"+a.path, strings.NewReader(a.body))
	if a.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r.WithContext(signin.WithPerson(r.Context(), signin.Person{Name: "vera", Role: role}))
}

// away returns a console whose database cannot be reached.
func away(t *testing.T) *bundle {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), "postgres://nobody@127.0.0.1:1/none?sslmode=disable&connect_timeout=1")
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return setup(t, func(o *console.Options) {
		box, err := outbox.New(outbox.Options{Pool: pool})
		require.NoError(t, err)
		t.Cleanup(func() { _ = box.Stop(context.Background()) })
		kept, err := quarantine.New(quarantine.Options{Pool: pool, Ledger: box.Ledger()})
		require.NoError(t, err)
		measured, err := measure.NewReader(pool, "")
		require.NoError(t, err)
		o.Outbox, o.Quarantine, o.Status = box, &verified{Quarantine: kept}, console.NewStatus(pool, doctor.StatusOptions{})
		o.Measure = measured
	})
}

// The API returns every problem in the document, and no others.
func TestProblemsOfTheAPIAreAsDescribed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := documented(t, b)
	b.failed(t, "evt_1")
	doubtful := b.doubted(t, "evt_doubt")
	b.accept(t, "evt_gone", "invoice.paid", `{}`)
	late := b.dispatch(t, b.accept(t, "evt_late", "invoice.paid", `{}`), ledger.AtLeastOnce)
	_, err := b.pool.Exec(t.Context(), `DELETE FROM hooklatch.deliveries WHERE delivery_id IN (SELECT delivery_id FROM hooklatch.processed_events WHERE event_id IN ('evt_gone', 'evt_late'))`)
	require.NoError(t, err)
	b.refuse(t, "forged")
	var refused string
	require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT rejection_id FROM hooklatch.rejected_deliveries`).Scan(&refused))
	runs := begun(t, b, 1)
	right := map[string]asking{
		"POST /api/events/{source}/{id}/{action}": {"/events/stripe/evt_1/replay", `{}`}, "GET /api/runs": {path: "/runs"},
		"GET /api/runs/new": {path: "/runs/new?of=events"}, "POST /api/runs/new": {"/runs/new?of=effects", `{}`},
		"GET /api/runs/{id}": {path: "/runs/" + runs[0]}, "POST /api/runs/{id}/{action}": {"/runs/" + runs[0] + "/pause", `{}`},
		"GET /api/": {path: "/"}, "GET /api/openapi.json": {path: "/openapi.json"}, "GET /api/events": {path: "/events"}, "GET /api/effects": {path: "/effects"}, "GET /api/audit": {path: "/audit"}, "GET /api/numbers": {path: "/numbers"},
		"GET /api/find":                 {path: "/find?q=no+such+text"},
		"GET /api/events/{source}/{id}": {path: "/events/stripe/evt_1"}, "GET /api/events/{source}/{id}/raw": {path: "/events/stripe/evt_1/raw"},
		"GET /api/effects/{key}": {path: "/effects/" + late}, "GET /api/effects/{key}/body": {path: "/effects/" + late + "/body"},
		"POST /api/effects/{key}/{action}": {"/effects/" + doubtful + "/retry", `{}`},
		"GET /api/destinations":            {path: "/destinations"}, "GET /api/destinations/{name}": {path: "/destinations/app"},
		"POST /api/destinations/{name}/{action}": {"/destinations/app/pause", `{}`},
		"POST /api/sources/{name}/{action}":      {"/sources/stripe/backfill", `{}`},
		"GET /api/sources":                       {path: "/sources"}, "GET /api/sources/{name}": {path: "/sources/stripe"},
		"POST /api/sources/{name}/send": {"/sources/stripe/send", `{}`},
		"GET /api/quarantine":           {path: "/quarantine"}, "POST /api/quarantine/verify": {"/quarantine/verify", `{}`},
		"GET /api/routes": {path: "/routes"}, "GET /api/routes/{name}": {path: "/routes/paid"}, "POST /api/try": {"/try", `{"route": "true", "source": "stripe"}`},
		"GET /api/quarantine/{id}": {path: "/quarantine/" + refused}, "POST /api/quarantine/{id}/verify": {"/quarantine/" + refused + "/verify", `{}`},
	}
	wrong := map[string][]asking{
		"400": {{path: "/audit?to=soon"}, {path: "/numbers?span=year"}, {path: "/events?state=lost"}, {path: "/events?before=hl_1"}, {path: "/effects?when=body.("}, {path: "/runs?before=x"}, {path: "/runs/new?of=sources"}, {path: "/find"}, {"/runs/new?of=effects&state=done", `{}`}, {"/runs/new?of=effects&destination=", `{}`}, {"/quarantine/verify?source=", `{}`}},
		"404": {
			{path: "/events/stripe/none"}, {path: "/events/stripe/none/raw"}, {path: "/effects/hl_0"}, {path: "/effects/hl_0/body"}, {"/effects/hl_0/retry", `{}`},
			{path: "/destinations/none"}, {path: "/routes/none"}, {"/try", `{"route": "true", "event": "stripe/none"}`}, {"/destinations/app/explode", `{}`}, {path: "/sources/none"}, {"/sources/none/backfill", `{}`}, {"/sources/none/send", `{}`},
			{path: "/runs/99"}, {"/runs/99/stop", `{}`}, {"/runs/" + runs[0] + "/explode", `{}`}, {"/events/stripe/none/replay", `{}`},
			{path: "/quarantine/" + uuid.Nil.String()}, {"/quarantine/none/verify", `{}`},
		},
		"409": {{"/sources/github/send", `{}`}, {"/effects/" + doubtful + "/park", `{}`}, {"/events/stripe/evt_gone/replay", `{}`}, {"/runs/" + runs[0] + "/resume", `{}`}},
		"410": {{path: "/events/stripe/evt_gone/raw"}, {path: "/effects/" + late + "/body"}},
		"422": {{"/effects/" + doubtful + "/retry", `{"looked": false}`}, {"/runs/new?of=effects", `{"looked": true}`}, {"/runs/new?of=effects", `{"pace": -1}`}, {"/try", `{}`}, {"/try", `{"route": "body.(", "source": "stripe"}`}},
	}
	for name := range d.operations {
		one, is := right[name]
		require.True(t, is, "say above how to request %s, and provoke the problems that openapi.yaml has for it", name)
		if one.body != "" {
			for _, body := range []string{`[]`, `{"reasons":"x"}`, `{"reason":1}`, `{`, `{}{}`} {
				wrong["400"] = append(wrong["400"], asking{one.path, body})
			}
			wrong["413"] = append(wrong["413"], asking{one.path, `{"reason":"` + strings.Repeat("x", 64<<10) + `"}`})
		}
	}
	provoked := map[string][]string{}
	came := func(status string, r *http.Request, got *httptest.ResponseRecorder) {
		name := d.operationOf(r.Method, r.URL.EscapedPath())
		require.Equal(t, status, strconv.Itoa(got.Code), "%s: %s", r.URL, got.Body)
		require.Equal(t, "application/problem+json", got.Header().Get("Content-Type"))
		d.holds(t, name, got)
		if !slices.Contains(provoked[name], status) {
			provoked[name] = append(provoked[name], status)
		}
	}
	provoke := func(b *bundle, status string, r *http.Request) { came(status, r, b.answer(r)) }
	for status, all := range wrong {
		for _, one := range all {
			provoke(b, status, one.request(signin.Admin))
		}
	}
	release := b.console.HoldSearches(signin.Person{Name: "vera"})
	for _, one := range []asking{{path: "/events?when=true"}, {path: "/effects?when=true"}, {path: "/find?q=no+such+text"}, {path: "/runs/new?of=events&when=true"}, {"/runs/new?of=effects&when=true", `{}`}, {"/try", `{"route": "true", "source": "stripe"}`}} {
		provoke(b, "429", one.request(signin.Admin))
	}
	release()
	release = b.console.HoldDownloads(signin.Person{Name: "vera"})
	for _, one := range []asking{{path: "/events/stripe/evt_1/raw"}, {path: "/effects/" + late + "/body"}} {
		provoke(b, "429", one.request(signin.Admin))
	}
	release()
	var send *http.Request
	var sent *httptest.ResponseRecorder
	require.Eventually(t, func() bool { // a slow machine may send many at the allowed pace
		send = asking{"/sources/stripe/send", `{}`}.request(signin.Operator)
		sent = b.answer(send)
		return sent.Code == http.StatusTooManyRequests
	}, patience, time.Millisecond)
	came("429", send, sent)
	gone := away(t)
	for name, o := range d.operations {
		r := right[name].request("")
		provoke(b, "403", r)
		if r.Method == http.MethodPost {
			r = right[name].request(signin.Operator)
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			provoke(b, "415", r)
		}
		if _, reads := o.Responses["503"]; reads {
			provoke(gone, "503", right[name].request(signin.Admin))
		}
		for status := range o.Responses {
			require.True(t, status == "200" || slices.Contains(provoked[name], status), "%s of %s is described, and was not provoked", status, name)
		}
	}
	require.Equal(t, ledger.EffectParked, b.effect(t, doubtful).State)
}

// Unknown paths and wrong methods also get problems.
func TestPathsThatTheAPIHasNot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for asked, want := range map[string]int{
		"GET /api/nowhere": http.StatusNotFound, "GET /api/help": http.StatusNotFound, "POST /api/look": http.StatusNotFound, "GET /api/jump?q=evt_1": http.StatusNotFound,
		"POST /api/events": http.StatusMethodNotAllowed, "GET /api/effects/hl_1/retry": http.StatusMethodNotAllowed, "DELETE /api/effects/hl_1": http.StatusMethodNotAllowed,
		"GET /api/events/stripe/a%00b": http.StatusNotFound, "GET /api/effects/hl_%00": http.StatusNotFound,
		"HEAD /api/events": http.StatusOK, "GET /api": http.StatusOK,
	} {
		method, path, _ := strings.Cut(asked, " ")
		got := b.answer(httptest.NewRequest(method, path, http.NoBody))
		require.Equal(t, want, got.Code, asked)
		var told struct{ Title, Detail string }
		if want != http.StatusOK {
			require.Equal(t, "application/problem+json", got.Header().Get("Content-Type"), asked)
			require.NoError(t, json.Unmarshal(got.Body.Bytes(), &told))
			require.NotEmpty(t, told.Title)
			require.NotEmpty(t, told.Detail)
		}
		require.Equal(t, want == http.StatusMethodNotAllowed, got.Header().Get("Allow") != "", asked)
	}
}

// A program's action does the same as a page's action, and is recorded as an action by a program.
func TestAnOrderByTheAPI(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *console.Options) { o.URL = "https://ops.example.com/hooklatch" })
	key, doubtful := b.failed(t, "evt_1"), b.doubted(t, "evt_2")
	got := b.answer(asking{"/effects/" + key + "/retry", `{"reason":"it was\u0000 the wrong URL"}`}.request(signin.Operator))
	require.Equal(t, http.StatusOK, got.Code, got.Body)
	var told struct {
		Done, At string
		ID       string `json:"request_id"`
	}
	require.NoError(t, json.Unmarshal(got.Body.Bytes(), &told))
	require.Equal(t, "Retry requested and recorded.", told.Done)
	require.Equal(t, "/hooklatch/api/effects/"+key, told.At)
	require.Contains(t, b.page(t, told.At), `"state":"pending"`)
	log, err := b.box.Ledger().OperatorLog(t.Context(), time.Time{}, 0)
	require.NoError(t, err)
	require.Len(t, log, 1)
	require.Equal(t, []string{"vera", "operator", "api", told.ID}, []string{log[0].Who, log[0].Role, log[0].Via, log[0].RequestID})
	require.Contains(t, log[0].Reason, "the wrong URL")

	require.Equal(t, http.StatusOK, b.answer(asking{"/effects/" + doubtful + "/retry", `{"looked":true}`}.request(signin.Operator)).Code)
	require.Equal(t, ledger.EffectInDoubt, b.effect(t, doubtful).State)
	require.Equal(t, http.StatusOK, b.answer(asking{"/destinations/app/pause", `{}`}.request(signin.Operator)).Code)
	b.refuse(t, "genuine", "forged")
	b.refused.proven = "genuine"
	got = b.answer(asking{"/quarantine/verify?source=stripe", `{"reason":"the secret was rolled"}`}.request(signin.Operator))
	require.NoError(t, json.Unmarshal(got.Body.Bytes(), &told))
	require.Equal(t, "/hooklatch/api/runs/1", told.At)
	_, err = b.box.Runs().Verifying(b.refused.verify).Work(t.Context(), 1, time.Now().Add(time.Hour), nil)
	require.NoError(t, err)
	page := b.page(t, told.At)
	for _, want := range []string{`"state":"done"`, `"changed":1`, `"refused":{"wrong_signature":1}`, `"reason":"the secret was rolled"`} {
		require.Contains(t, page, want)
	}
	list, err := b.refused.List(t.Context(), quarantine.Filter{}, 1)
	require.NoError(t, err)
	got = b.answer(asking{"/quarantine/" + list[0].ID.String() + "/verify", `{}`}.request(signin.Operator))
	require.JSONEq(t, `{"accepted":0,"duplicates":0,"refused":{"wrong_signature":1}}`, got.Body.String())
}
