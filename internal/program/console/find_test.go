package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/program/lookup"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func findPath(text string, more ...string) string {
	q := url.Values{"q": {text}}
	for i := 0; i < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return "/find?" + q.Encode()
}

// A text that names one thing leads to the page of this thing.
func TestFindLeadsToTheOneThing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.failed(t, "evt_1")
	b.refuse(t, "forged")
	run := begun(t, b, 1)[0]
	refused := b.page(t, "/api/quarantine")
	_, refused, _ = strings.Cut(refused, `"id":"`)
	refused, _, _ = strings.Cut(refused, `"`)
	for asked, want := range map[string]string{
		"evt_1": "/events/stripe/evt_1", " stripe/evt_1 ": "/events/stripe/evt_1", key: "/effects/" + key, key + "_1": "/effects/" + key, "github": "/sources/github",
		"app": "/destinations/app", "": "/events", "run " + run: "/runs/" + run, refused: "/quarantine/" + refused, "paid": "/routes/paid",
		"https://ops.example.com/effects/" + key + "?done=retry": "/effects/" + key + "?done=retry",
		"https://ops.example.com/events?state=failed":            "/events?state=failed",
		"http://evil.example//evil.example/events":               "",
	} {
		for _, at := range []string{"/find?", "/jump?"} {
			got := b.get(at + url.Values{"q": {asked}}.Encode())
			require.Equal(t, want, got.Header().Get("Location"), asked)
			if want == "" {
				require.Equal(t, http.StatusOK, got.Code)
			}
		}
	}
}

// A text that names several things leads to a list of these things. The list offers the search in
// payloads.
func TestFindListsSeveralThings(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, "paid", "invoice.paid", `{}`)
	page := b.page(t, findPath("paid"))
	for _, want := range []string{`href="/events/stripe/paid"`, `href="/routes/paid"`, "2 things", "/find?q=paid&amp;in=payloads", "hooklatch find paid"} {
		require.Contains(t, page, want)
	}
	require.NotContains(t, page, "data-more")
	wellMade(t, "/find", page)
	require.Contains(t, b.page(t, findPath("paid", "in", "payloads")), "Payloads are searched for the text")
}

type answered struct {
	Hits     []struct{ By, Of, Name string }
	Searched bool
	Rows     []struct {
		EventID string `json:"event_id"`
	}
	More bool
	Next string
}

var olderLink = regexp.MustCompile(`<a href="([^"]+)" data-more`)

// searched combines the responses of one search's pages.
type searched struct {
	code int
	text string // the bodies of all pages
	last string // the body of the last page
	rows int    // number of rows in the API's responses
}

// searchOn continues a search to its end, and returns the combined responses. The console searches
// for a limited time per page: on a busy machine, it may read only one row or none.
func (b *bundle) searchOn(t *testing.T, role signin.Role, at, text, source string) searched {
	t.Helper()
	var all searched
	for path := at + findPath(text, "source", source); ; {
		got := b.as(role, path)
		all.code, all.last = got.Code, got.Body.String()
		all.text += all.last
		if got.Code != http.StatusOK {
			return all
		}
		if at == "" {
			older := olderLink.FindStringSubmatch(all.last)
			if older == nil {
				return all
			}
			path = "/find" + html.UnescapeString(older[1])
			continue
		}
		var page answered
		require.NoError(t, json.Unmarshal(got.Body.Bytes(), &page))
		require.True(t, page.Searched)
		require.Empty(t, page.Hits)
		all.rows += len(page.Rows)
		if !page.More {
			return all
		}
		path = at + findPath(text, "source", source, "before", page.Next, "in", "payloads")
	}
}

// A text that names nothing is searched for in payloads. The page shows the search's progress,
// continues the search, and links to the list of events with the same condition.
func TestFindSearchesPayloads(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, "evt_1", "invoice.paid", `{"customer":{"email":"jane+100%@example.com"}}`)
	b.accept(t, "evt_2", "invoice.paid", `{"customer":{"email":"joe@example.com"}}`)
	written := b.searchOn(t, signin.Admin, "", "jane+100%@example.com", "")
	wellMade(t, "/find", written.last)
	page := html.UnescapeString(written.text)
	for _, want := range []string{
		`href="/events/stripe/evt_1"`, "End of the list", "/events?contains=jane%2B100%25%40example.com", "hooklatch find 'jane+100%@example.com'",
		"hooklatch events list --contains 'jane+100%@example.com'",
	} {
		require.Contains(t, page, want)
	}
	require.NotContains(t, page, "evt_2")
	for text, want := range map[string]int{"@example.com": 2, "%": 1, "_": 0, "(j|a)+$": 0, "JANE": 0, strings.Repeat("x", 4_000): 0} {
		require.Equal(t, want, b.searchOn(t, signin.Admin, "/api", text, "").rows, text)
	}
	require.Equal(t, http.StatusBadRequest, b.get("/api/find").Code, "the API needs a text")

	var last answered
	for i := range 60 { // more rows than a page has
		b.accept(t, "evt_more_"+string(rune('0'+i/10))+string(rune('0'+i%10)), "invoice.paid", `{"text":"the same"}`)
	}
	require.NoError(t, json.Unmarshal([]byte(b.page(t, "/api"+findPath("the same"))), &last))
	require.LessOrEqual(t, len(last.Rows), 50)
	require.True(t, last.More)
	require.Equal(t, 60, b.searchOn(t, signin.Admin, "/api", "the same", "").rows)
	page = b.page(t, findPath("the same"))
	require.Contains(t, page, "data-more")
	require.Regexp(t, `Searched \d+ rows, back to`, page)
	require.Equal(t, strings.Contains(page, `<td><a class="open`), !strings.Contains(page, "http-equiv"), "only a page without rows continues by itself")
}

// The response of the API is as documented, and names every hit.
func TestFindAnswersPrograms(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := documented(t, b)
	key := b.failed(t, "evt_1")
	for _, path := range []string{findPath("evt_1"), findPath(key), findPath("cus_42"), findPath("nothing of the kind"), findPath("cus_42", "source", "stripe")} {
		got := b.get("/api" + path)
		require.Equal(t, http.StatusOK, got.Code, got.Body)
		d.holds(t, "GET /api/find", got)
	}
	var got answered
	require.NoError(t, json.Unmarshal([]byte(b.page(t, "/api"+findPath("evt_1"))), &got))
	require.Equal(t, []struct{ By, Of, Name string }{{"event id", "events", "stripe/evt_1"}}, got.Hits)
	require.False(t, got.Searched)
	require.Empty(t, got.Rows)
}

// A user who must not see payloads finds things by their names, and cannot search payloads.
func TestFindSearchesOnlyWhatTheUserMaySee(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *console.Options) {
		o.Sight.Payloads, o.Sight.Mask = signin.Operator, map[string][]string{"stripe": {"/data/email"}}
	})
	b.private(t)
	_, err := b.box.Accept(t.Context(), outbox.Delivery{
		Source: "github", Provider: "github", ContentType: "application/json", Body: []byte(`{"email":"ada@example.com"}`), Events: []outbox.Incoming{{ID: identity.EventID("g_1"), Type: "push"}},
	})
	require.NoError(t, err)
	require.Equal(t, "/events/stripe/evt_1", b.as(signin.Viewer, findPath("evt_1")).Header().Get("Location"))
	for _, c := range []struct {
		role   signin.Role
		source string
		code   int
		want   string
	}{
		{signin.Viewer, "", http.StatusForbidden, "Payloads require the role operator."},
		{signin.Viewer, "github", http.StatusForbidden, "Payloads require the role operator."},
		{signin.Operator, "", http.StatusForbidden, "a condition could reveal them"},
		{signin.Operator, "stripe", http.StatusForbidden, "a condition could reveal them"},
		{signin.Operator, "github", http.StatusOK, "g_1"},
		{signin.Admin, "", http.StatusOK, "evt_1"},
	} {
		for _, at := range []string{"", "/api"} {
			got := b.searchOn(t, c.role, at, "ada@example.com", c.source)
			require.Equal(t, c.code, got.code, "%s as %s in %q: %s", at, c.role, c.source, got.text)
			require.Contains(t, got.text, c.want)
			if c.code != http.StatusOK {
				require.NotContains(t, got.text, "stripe/evt_1")
			}
		}
	}
}

// An indexed value of a source leads to its event, if the user may search the source. The operator
// log records the search.
func TestFindUsesIndexedValues(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	reads, err := signin.NewReads(pool, "")
	require.NoError(t, err)
	b := setupOn(t, pool, func(o *console.Options) {
		o.Reads, o.Sight.Mask = reads, map[string][]string{"stripe": {"/data/email"}}
		o.Sources = func() []console.Source {
			return []console.Source{{Name: "github", Search: []string{"/email"}}, {Name: "stripe", Search: []string{"/data/email"}}, {Name: "shop"}}
		}
	})
	searched := func(source, id string) {
		ref := identity.EventRef{Source: identity.Source(source), EventID: identity.EventID(id)}
		_, err := b.box.Accept(t.Context(), outbox.Delivery{
			Source: ref.Source, Provider: "github", ContentType: "application/json", Body: []byte(`{}`), Events: []outbox.Incoming{{ID: ref.EventID, Type: "push"}},
		})
		require.NoError(t, err)
		e, err := b.box.Inbox().Event(t.Context(), ref)
		require.NoError(t, err)
		_, err = b.box.Dispatch(t.Context(), outbox.Dispatch{Event: e, SearchValues: []string{"ada@example.com"}})
		require.NoError(t, err)
	}
	searched("github", "g_1")
	require.Equal(t, "/events/github/g_1", b.as(signin.Operator, findPath("ADA@example.com")).Header().Get("Location"))
	searched("stripe", "evt_1")
	searched("shop", "s_1")
	require.Equal(t, "/events/github/g_1", b.as(signin.Operator, findPath("ada@example.com")).Header().Get("Location"), "the values of stripe are masked")
	page := b.as(signin.Admin, findPath("ada@example.com")).Body.String()
	require.Contains(t, page, `href="/events/github/g_1"`)
	require.Contains(t, page, `href="/events/stripe/evt_1"`)
	require.NotContains(t, page, "s_1", "shop has no search any more")
	var noted int
	require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT count(*) FROM hooklatch.operator_log WHERE target LIKE 'search: %'`).Scan(&noted))
	require.Equal(t, 2, noted, "the log has one row for equal searches of a user within a while")
	require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT count(*) FROM hooklatch.operator_log WHERE target ILIKE '%ada%'`).Scan(&noted))
	require.Zero(t, noted, "the log keeps no text that was searched for")
}

// The page and the API say that another cell may have more hits, or could not search all kinds.
func TestFindSaysThatAnotherCellHasMore(t *testing.T) {
	t.Parallel()
	hits := make([]lookup.Hit, lookup.MaxHits)
	for i := range hits {
		hits[i] = lookup.Hit{By: lookup.ByEventID, Of: desk.Events, Target: desk.Target{Event: identity.EventRef{Source: "pay", EventID: identity.EventID(fmt.Sprint("evt_", i))}}, Name: fmt.Sprint("pay/evt_", i)}
	}
	var payments console.Cell
	b := setup(t, func(o *console.Options) {
		o.FindInCells = func(context.Context, lookup.Asked) []console.Cell {
			return []console.Cell{{Name: "eu", Path: "/cells/eu", Hits: hits[:2]}, payments}
		}
	})
	payments = console.Cell{Name: "payments", Path: "/cells/payments", Hits: hits[1:]}
	require.NotContains(t, b.page(t, findPath("evt_1")), "At most the newest 50")
	payments = console.Cell{Name: "payments", Path: "/cells/payments", Hits: hits, Unread: []lookup.By{lookup.ByRefused}}
	page := b.page(t, findPath("evt_1"))
	require.Contains(t, page, "At most the newest 50 of each kind and cell are shown.")
	require.Contains(t, page, "Cell payments: Not searched, because the database role lacks a privilege: refused delivery.")

	got := b.get("/api" + findPath("evt_1"))
	documented(t, b).holds(t, "GET /api/find", got)
	var came struct {
		Cut   bool
		Cells []struct {
			Cell   string
			Cut    bool
			Unread []string
		}
	}
	require.NoError(t, json.Unmarshal(got.Body.Bytes(), &came))
	require.False(t, came.Cut)
	require.False(t, came.Cells[0].Cut)
	require.True(t, came.Cells[1].Cut)
	require.Equal(t, []string{"refused delivery"}, came.Cells[1].Unread)
}
