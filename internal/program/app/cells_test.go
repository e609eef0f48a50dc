package app_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/cells"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

const cellSecret = "the-secret-of-cells-0123456789"

// celled returns a configuration file with the source shop in the main cell and the source pay in
// the cell payments. The effects of both sources go to receiver.
func celled(t *testing.T, shopDatabase, payDatabase, receiver string) *file {
	t.Helper()
	f := newFile(t, shopDatabase)
	f.acceptTimeout = "15s" // deliveries to an unavailable database wait this long
	f.write(t, fmt.Sprintf(`
cells: {payments: {url: %q, allow: [fsync_off]}}
sources:
  shop: {provider: token, secrets: [%s], event_id: {pointer: /id}}
  pay: {provider: token, secrets: [%s], event_id: {pointer: /id}, cell: payments}
destinations: {app: {http: {url: %s}, allow_private: [127.0.0.0/8]}}
routes: [{name: all, from: "*", to: app}]
alerts: {to: [{destination: app}]}
`, payDatabase, cellSecret, cellSecret, receiver))
	return f
}

// post delivers an event and returns the response status.
func post(t *testing.T, a *app.App, source, id string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+a.GatewayAddr().String()+"/webhooks/"+source, strings.NewReader(`{"id":"`+id+`"}`))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+cellSecret)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

// whollyReady waits until the process is ready, and each of its cells too.
func whollyReady(t *testing.T, a *app.App) {
	t.Helper()
	require.Eventually(t, func() bool {
		status, body := served(t, a, "/readyz")
		return status == http.StatusOK && !strings.Contains(body, "warnings")
	}, patience, 20*time.Millisecond)
}

// served returns the status and the body of a page of the admin listener.
func served(t *testing.T, a *app.App, path string) (status int, body string) {
	t.Helper()
	got := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, http.NoBody)
	r.RemoteAddr = "127.0.0.1:1"
	a.AdminHandler().ServeHTTP(got, r)
	return got.Code, got.Body.String()
}

// newReceiver returns the URL of a receiver, and a function that returns how often the receiver got
// each body.
func newReceiver(t *testing.T) (url string, received func() map[string]int) {
	t.Helper()
	var mu sync.Mutex
	bodies := map[string]int{}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		bodies[string(body)]++
		mu.Unlock()
	}))
	t.Cleanup(receiver.Close)
	return receiver.URL, func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(bodies)
	}
}

func TestACellThatIsAwayLeavesTheOthersAtWork(t *testing.T) {
	t.Parallel()
	receiver, received := newReceiver(t)
	arrives := func(id string) {
		t.Helper()
		require.Eventually(t, func() bool { return received()[`{"id":"`+id+`"}`] == 1 }, patience, 20*time.Millisecond, id)
	}

	shop, pay := pgtest.New(t), pgtest.New(t, pgtest.Own())
	cfg, err := celled(t, pgtest.URL(t, shop), pgtest.URL(t, pay), receiver).load()
	require.NoError(t, err)
	a, err := app.New(t.Context(), app.Options{Config: cfg, Gateway: true, Worker: true})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = a.Stop(context.Background()) // fails because one of the databases is unavailable
		require.NoError(t, a.StopWorkers(context.Background()))
	})
	require.NoError(t, a.Start(t.Context()))
	whollyReady(t, a)

	require.Equal(t, http.StatusOK, post(t, a, "shop", "s1"))
	require.Equal(t, http.StatusOK, post(t, a, "pay", "p1"))
	arrives("s1")
	arrives("p1")
	var events int
	require.NoError(t, shop.QueryRow(t.Context(), "SELECT count(*) FROM hooklatch.processed_events WHERE source = 'pay'").Scan(&events))
	require.Zero(t, events, "the events of the source are in its cell")
	require.NoError(t, pay.QueryRow(t.Context(), "SELECT count(*) FROM hooklatch.processed_events WHERE source = 'pay'").Scan(&events))
	require.Equal(t, 1, events)

	status, body := served(t, a, "/cells/payments/events")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `href="/cells/payments/events/pay/p1"`)
	_, body = served(t, a, "/events")
	require.NotContains(t, body, "p1")

	_, err = pay.Exec(t.Context(), "UPDATE hooklatch.processed_events SET outcome = 'failed'")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, body = served(t, a, "/")
		return strings.Contains(body, `cell payments: <a href="/cells/payments/events?state=failed&amp;source=pay">`)
	}, patience, 20*time.Millisecond)
	require.Contains(t, body, "hooklatch events replay --cell payments --state failed --source pay")

	findOnce := func(text string) (location, page string) {
		got := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/find?q="+text, http.NoBody)
		r.RemoteAddr = "127.0.0.1:1"
		a.AdminHandler().ServeHTTP(got, r)
		return got.Header().Get("Location"), got.Body.String()
	}
	find := func(text string) (location, page string) {
		require.Eventually(t, func() bool { // a busy machine may delay the other cell
			location, page = findOnce(text)
			return !strings.Contains(page, "did not answer")
		}, patience, 20*time.Millisecond, text)
		return location, page
	}
	location, _ := find("p1")
	require.Equal(t, "/cells/payments/events/pay/p1", location, "the only thing with this id is in another cell")
	location, _ = find("all")
	require.Equal(t, "/routes/all", location, "the route is the same in all cells")
	require.Equal(t, http.StatusOK, post(t, a, "shop", "p1"))
	_, body = find("p1")
	require.Contains(t, body, `href="/events/shop/p1"`)
	require.Contains(t, body, `href="/cells/payments/events/pay/p1"`)
	require.Contains(t, body, "2 things have this id, key or name")
	require.Contains(t, body, `href="/cells/payments/find?q=p1&amp;in=payloads">Search payloads in the cell payments</a>`)
	_, body = find("nothing")
	require.Contains(t, body, `href="/cells/payments/find?q=nothing&amp;in=payloads">Search payloads in the cell payments</a>`)

	beats := 0
	heartbeat := a.WhileAllAnswer(func(context.Context) error { beats++; return nil })
	require.Eventually(t, func() bool { return heartbeat(t.Context()) == nil }, patience, 20*time.Millisecond)
	require.Equal(t, 1, beats)
	pgtest.Kill(pgtest.Server(t, pay))
	require.Equal(t, http.StatusServiceUnavailable, post(t, a, "pay", "p2"))
	require.ErrorContains(t, heartbeat(t.Context()), "cell payments: ")
	require.Equal(t, 1, beats, "the missing heartbeat reports the cell")
	for i := range 5 {
		id := fmt.Sprintf("s2-%d", i)
		require.Equal(t, http.StatusOK, post(t, a, "shop", id))
		arrives(id)
	}
	require.Eventually(t, func() bool {
		status, body = served(t, a, "/readyz")
		return status == http.StatusOK
	}, patience, 20*time.Millisecond)
	require.Contains(t, body, "cell payments: ")
	status, body = served(t, a, "/metrics")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `cell="payments"`)
	fastest := patience
	for range 5 { // a busy machine may delay some of the requests
		began := time.Now()
		_, body = served(t, a, "/")
		require.Contains(t, body, "cell payments: did not answer: ")
		_, body = findOnce("s1")
		require.Contains(t, body, "1 thing has this id, key or name")
		require.Contains(t, body, "The cell payments did not answer: ")
		require.Eventually(t, func() bool { return slices.Equal([]string{"payments"}, a.CellsAway(t.Context(), "main")) }, patience, 20*time.Millisecond)
		require.Empty(t, a.CellsAway(t.Context(), "payments"), "one cell reports it")
		fastest = min(fastest, time.Since(began))
	}
	if os.Getenv("HOOKLATCH_LONG") != "" {
		require.Less(t, fastest, cells.Patience+2*time.Second, "the console answers within its deadline")
	}
	require.Eventually(t, func() bool {
		err := shop.QueryRow(t.Context(), "SELECT count(*) FROM hooklatch.alert_states WHERE name = 'cell_away' AND subject = 'payments'").Scan(&events)
		require.NoError(t, err)
		return events == 1
	}, patience, 100*time.Millisecond)
	require.Eventually(t, func() bool { // the rule HooklatchCellAway relies on the missing metric
		_, body = served(t, a, "/metrics")
		return !regexp.MustCompile(`hooklatch_collected_timestamp_seconds\{.*cell="payments"`).MatchString(body)
	}, patience, 100*time.Millisecond)
	require.Regexp(t, `\nhooklatch_collected_timestamp_seconds [0-9]`, body)
	require.Regexp(t, `\ntarget_info\{cell="payments",.*service_name="hooklatch"`, body)
	require.Regexp(t, `\ntarget_info\{[^c].*service_name="hooklatch"`, body)
}

func TestCellsExportToTheirOwnDirectories(t *testing.T) {
	t.Parallel()
	f := newFile(t, "postgres://postgres@127.0.0.1:1/none")
	f.write(t, `
cells: {payments: {url: "postgres://postgres@127.0.0.1:2/none"}}
retention: {export: {directory: /mnt/export}}
`)
	cfg, err := f.load()
	require.NoError(t, err)
	require.Equal(t, "/mnt/export", app.ExportOf(cfg.InCell("main")).String())
	require.Equal(t, "/mnt/export/cell-payments", app.ExportOf(cfg.InCell("payments")).String())
}

func TestACellIsStartedWhenItIsThere(t *testing.T) {
	t.Parallel()
	shop := pgtest.New(t)
	f := celled(t, pgtest.URL(t, shop), "postgres://postgres@127.0.0.1:1/none", "http://127.0.0.1:1/")
	cfg, err := f.load()
	require.NoError(t, err)
	a, err := app.New(t.Context(), app.Options{Config: cfg, Gateway: true, Worker: true, Load: f.load})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.StopPatiently(context.Background())) })
	require.NoError(t, a.Start(t.Context()))
	<-a.Prepared()
	require.Equal(t, http.StatusOK, post(t, a, "shop", "s1"))
	require.Equal(t, http.StatusServiceUnavailable, post(t, a, "pay", "p1"))
	var body string
	require.Eventually(t, func() bool {
		var status int
		status, body = served(t, a, "/readyz")
		return status == http.StatusOK
	}, patience, 20*time.Millisecond)
	require.Contains(t, body, "cell payments: starting")

	text := func(cell string) string {
		return "cells: {payments: {url: \"postgres://postgres@127.0.0.1:1/none\", allow: [fsync_off]}}\nsources: {shop: {provider: token, secrets: [" + cellSecret +
			"], event_id: {pointer: /id}" + cell + "}}\nallow_empty: true\n"
	}
	f.write(t, text(", cell: payments"))
	require.ErrorContains(t, a.Reload(t.Context()), "sources.shop.cell: the source is in the cell main while the processes run")
	f.write(t, text(""))
	reload(t, a)
	require.Equal(t, http.StatusNotFound, post(t, a, "pay", "p2"), "the source was removed")
	require.Equal(t, http.StatusOK, post(t, a, "shop", "s2"))
}
