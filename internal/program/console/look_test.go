package console_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
)

func TestLookIsKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.failed(t, "evt_1")
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.processed_events SET received_at = '2026-07-01 22:30:00Z'`)
	require.NoError(t, err)
	require.Contains(t, b.page(t, "/events"), `title="2026-07-01 22:30:00.000 UTC`)
	got := b.post("/look", url.Values{"zone": {"Europe/Berlin"}, "theme": {"dark"}, "from": {"/events?type=a"}})
	require.Equal(t, http.StatusSeeOther, got.Code)
	require.Equal(t, "/events?type=a", got.Header().Get("Location"))
	cookie := got.Result().Cookies()[0]
	require.True(t, cookie.HttpOnly)
	r := httptest.NewRequest(http.MethodGet, "/events", http.NoBody)
	r.AddCookie(cookie)
	page := b.answer(r).Body.String()
	require.Contains(t, page, `title="2026-07-02 00:30:00.000 CEST`)
	require.Contains(t, page, "2026-07-01 22:30:00.000 UTC", "pointed at")
	require.Contains(t, page, `data-theme="dark"`)

	require.Equal(t, http.StatusBadRequest, b.post("/look", url.Values{"zone": {"../../etc/passwd"}}).Code)
	require.Equal(t, http.StatusBadRequest, b.post("/look", url.Values{"theme": {"pink"}}).Code)
	for _, out := range []string{"https://evil.example/", "//evil.example", `/\evil.example`, "", "javascript:alert(1)", "evil"} {
		require.Equal(t, "/", b.post("/look", url.Values{"from": {out}}).Header().Get("Location"), out)
	}
	for _, bad := range []string{"zone=Mars%2FNorth&theme=x", "%zz", strings.Repeat("z", 5_000)} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.AddCookie(&http.Cookie{Name: "hooklatch_look", Value: bad})
		require.Equal(t, http.StatusOK, b.answer(r).Code, bad)
	}
}

// The first visit and later visits fetch a limited number of bytes, and scripts and styles have a
// limited number of lines.
func TestBudgets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	page := b.page(t, "/")
	first := len(page)
	for _, name := range []string{"console.css", "console.js", "font/inter.woff2", "font/jetbrains-mono.woff2"} {
		at := strings.Index(page, "/static/")
		hash := strings.Split(page[at:], "/")[2]
		got := b.get("/static/" + hash + "/" + name)
		require.Equal(t, http.StatusOK, got.Code, name)
		require.Contains(t, got.Header().Get("Cache-Control"), "immutable", name)
		first += got.Body.Len()
		require.Equal(t, http.StatusNotFound, b.get("/static/000000000000/"+name).Code, "the file belongs to another version")
	}
	t.Logf("%d bytes at the first visit, %d later", first, len(page))
	require.Less(t, first, 200_000)
	require.Less(t, len(page), 40_000)
	for name, most := range map[string]int{"console.css": 1_000, "console.js": 900} {
		text, err := os.ReadFile(filepath.Join("static", name))
		require.NoError(t, err)
		require.Less(t, strings.Count(string(text), "\n"), most, name)
	}
	require.NotContains(t, strings.ReplaceAll(page, "<code>https://", "<code>"), "https://", "nothing comes from another host")
}

func TestADatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	away, err := pgxpool.New(t.Context(), "postgres://nobody@127.0.0.1:1/none?sslmode=disable")
	require.NoError(t, err)
	t.Cleanup(away.Close)
	box, err := outbox.New(outbox.Options{Pool: away})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, box.Stop(context.Background())) })
	kept, err := quarantine.New(quarantine.Options{Pool: away, Ledger: box.Ledger()})
	require.NoError(t, err)
	b := setup(t, func(o *console.Options) {
		o.Outbox, o.Status, o.Quarantine = box, console.NewStatus(away, doctor.StatusOptions{}), &verified{Quarantine: kept}
	})
	for _, path := range []string{"/", "/events", "/effects", "/events/stripe/evt_1", "/effects/hl_1", "/jump?q=evt_1", "/destinations", "/sources", "/quarantine"} {
		got := b.get(path)
		require.Equal(t, http.StatusServiceUnavailable, got.Code, "%s: %s", path, got.Body)
		require.Contains(t, got.Body.String(), "This console has had no response from the database since", path)
		require.Contains(t, got.Body.String(), "nothing is lost", path)
		wellMade(t, path, got.Body.String())
	}
	require.Equal(t, http.StatusOK, b.get("/help").Code)
}

func TestOptions(t *testing.T) {
	t.Parallel()
	_, err := console.New(console.Options{})
	require.ErrorContains(t, err, "are required")
}
