package browsertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// The script filling creates fillRows events. Only the first rareOnes events have a rare customer.
// These events are the oldest. One request does not reach them, because the console searches at
// most 50,000 bodies per request.
const (
	filling  = "../../../../outbox/find/testdata/fill.sql"
	fillRows = 51_000
	rareOnes = 5
)

// rare is the path of a list with a condition that Postgres cannot evaluate.
var rare = "/events?" + url.Values{"when": {`body.customer.endsWith("rare")`}}.Encode()

// manyEvents returns a tab on a system whose matching events are too old to be found by one
// request.
func manyEvents(t *testing.T) *tab {
	t.Helper()
	return openTab(t, withManyEvents(t))
}

// withManyEvents returns the URL of the console that manyEvents opens.
func withManyEvents(t *testing.T) string {
	t.Helper()
	s := startSystem(t)
	text, err := os.ReadFile(filling)
	require.NoError(t, err)
	_, err = s.pool.Exec(t.Context(), strings.ReplaceAll(string(text), ":rows", strconv.Itoa(fillRows)))
	require.NoError(t, err)
	return s.site
}

const (
	found = `document.querySelectorAll("#list tbody tr").length`
	older = `document.querySelector("a[data-more]") !== null`
)

func TestASearchGoesOnByItself(t *testing.T) {
	t.Parallel()
	b := manyEvents(t)
	b.open(t, rare, http.StatusOK)
	b.untilOrStill(t, found+" === "+strconv.Itoa(rareOnes)+" && !("+older+")", `document.querySelector("a[data-more]")?.href ?? ""`)
	b.has(t, "End of the list.")
	require.Equal(t, rare, b.path(t), "the address stays")
	require.False(t, eval[bool](t, b, `document.querySelector("#nothing")?.checkVisibility() ?? false`))
	require.Equal(t, "5 found", eval[string](t, b, `document.querySelector("#spoken").textContent`))
	b.press(t, "j")
	b.focused(t, "evt_5")
}

// A request of a search that continues may get an error response. The user sees the error, and can
// continue the search.
func TestASearchThatFailsKeepsItsLink(t *testing.T) {
	t.Parallel()
	site, err := url.Parse(withManyEvents(t))
	require.NoError(t, err)
	console := httputil.NewSingleHostReverseProxy(site)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("before") == "" {
			console.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><title>Busy</title><h1>Another of your searches is running</h1>")
	}))
	t.Cleanup(proxy.Close)
	b := openTab(t, proxy.URL)
	b.open(t, rare, http.StatusOK)
	b.has(t, "The search stopped: Another of your searches is running.")
	require.True(t, eval[bool](t, b, older))
	require.False(t, eval[bool](t, b, `document.querySelector("#rest").classList.contains("running")`))
}

func TestASearchIsLedOnByALinkWithoutScripts(t *testing.T) {
	t.Parallel()
	b := manyEvents(t)
	b.withoutScripts(t)
	b.open(t, rare, http.StatusOK)
	require.True(t, eval[bool](t, b, older), "the first response says that the search is complete")
	require.Zero(t, eval[int](t, b, found))
	b.has(t, "Nothing matches so far")
	answers := 1
	for eval[bool](t, b, older) {
		before := b.path(t)
		b.tabTo(t, "Search older", "")
		b.press(t, kb.Enter)
		b.until(t, "location.pathname + location.search !== "+strconv.Quote(before))
		answers++
	}
	require.Equal(t, rareOnes, eval[int](t, b, found))
	require.Greater(t, answers, 1)
	b.tabTo(t, "Newest", "")
	b.press(t, kb.Enter)
	b.at(t, rare)
}
