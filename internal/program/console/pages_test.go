package console_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// hostile is text that an attacker may write into any field. canary is an element that exists only
// if a page does not escape text.
const (
	canary  = "<canary>"
	hostile = `"'` + canary + `<script>alert(1)</script>&lt;\u202e` + "\u202e" + `</pre></td>{{.}}`
)

// nodes returns all elements of a page.
func nodes(t testing.TB, page string) []*html.Node {
	t.Helper()
	document, err := html.Parse(strings.NewReader(page))
	require.NoError(t, err)
	var list []*html.Node
	for n := range document.Descendants() {
		if n.Type == html.ElementNode {
			list = append(list, n)
		}
	}
	return list
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// wellMade checks the requirements of all pages: no untrusted markup, no inline scripts or
// styles, and accessibility. It returns the links of the page.
func wellMade(t testing.TB, path, page string) (links []string) {
	t.Helper()
	require.True(t, strings.HasPrefix(page, "<!doctype html>"), path)
	ids, labelled, level := map[string]bool{}, map[string]bool{}, 0
	all := nodes(t, page)
	for _, n := range all {
		if n.Data == "label" {
			labelled[attribute(n, "for")] = true
		}
	}
	for _, n := range all {
		require.NotEqual(t, "canary", n.Data, "%s: a stranger's text became an element", path)
		for _, a := range n.Attr {
			require.NotEqual(t, "style", a.Key, "%s: the policy forbids it", path)
			require.False(t, strings.HasPrefix(a.Key, "on"), "%s: %s", path, a.Key)
		}
		if id := attribute(n, "id"); id != "" {
			require.False(t, ids[id], "%s: the id %s occurs twice", path, id)
			ids[id] = true
		}
		switch n.Data {
		case "script":
			require.Nil(t, n.FirstChild, "%s: the policy forbids a script in a page", path)
			require.True(t, strings.HasPrefix(attribute(n, "src"), "/"), path)
		case "input", "select", "textarea":
			if attribute(n, "type") != "hidden" {
				require.True(t, labelled[attribute(n, "id")], "%s: %s has no label", path, attribute(n, "name"))
			}
		case "h1", "h2", "h3":
			now := int(n.Data[1] - '0')
			require.LessOrEqual(t, now, level+1, "%s: headings follow each other", path)
			level = now
		case "a":
			if to := attribute(n, "href"); !strings.HasPrefix(to, "#") {
				links = append(links, to)
			}
		}
	}
	require.Contains(t, ids, "main", path)
	return links
}

// crawl visits and checks every page that is reachable from the first page, and returns the
// visited paths.
func crawl(t testing.TB, b *bundle) (visited []string) {
	t.Helper()
	outside := []string{"/metrics", "/healthz", "/readyz"} // served by the listener, not by the console
	seen := map[string]bool{}
	next := []string{"/"}
	for len(next) > 0 {
		path := next[0]
		if next = next[1:]; seen[path] || slices.Contains(outside, path) {
			continue
		}
		seen[path] = true
		visited = append(visited, path)
		got := b.get(path)
		require.Equal(t, http.StatusOK, got.Code, "%s: %s", path, got.Body)
		if !strings.HasPrefix(got.Header().Get("Content-Type"), "text/html") {
			continue
		}
		here, err := url.Parse(path)
		require.NoError(t, err)
		for _, link := range wellMade(t, path, got.Body.String()) {
			to, err := here.Parse(link)
			require.NoError(t, err, link)
			require.Empty(t, to.Host, "%s leads out of the console", path)
			to.Fragment = ""
			next = append(next, to.String())
		}
	}
	return visited
}

func TestPagesOfAnEmptyDatabaseTeach(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, told := range []string{"Sources that have received nothing yet", "hooklatch send github", "hooklatch send stripe", "https://hooks.example.com/webhooks/stripe"} {
		require.Contains(t, b.page(t, "/"), told)
	}
	require.Contains(t, b.page(t, "/events"), "hooklatch send stripe")
	require.Contains(t, b.page(t, "/effects"), "An event's page says which routes match")
	require.Contains(t, b.page(t, "/events?type=no.such"), "Remove a filter:")
	crawl(t, b)
}

func TestPagesAreWellMade(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.failed(t, "evt_1")
	b.doubted(t, "evt_2")
	b.accept(t, "evt_3", "customer.created", `{"a":[1,2,{"b":null}]}`)
	b.dispatch(t, b.accept(t, "evt_4", "invoice.paid", "no JSON"), ledger.AtLeastOnce)
	visited := crawl(t, b)
	for _, want := range []string{"/events/stripe/evt_1", "/events/stripe/evt_1/raw", "/effects/" + key, "/effects/" + key + "/retry", "/effects/" + key + "/body"} {
		require.Contains(t, visited, want)
	}
}

func TestNothingOfAStrangerIsMarkup(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, id := range []string{
		hostile, "a/b", "..", ".", "-", "a b?c#d%2F", strings.Repeat("x", 255), `C:\x`, "\u202eabc", "line\nbreak", "\x7f", "ünïcödé",
	} {
		e := b.accept(t, id, hostile, `{"`+canary+`":"`+canary+`"}`)
		key := b.dispatch(t, e, ledger.AtLeastOnce)
		b.attempt(t, key, ledger.Settlement{Verdict: ledger.VerdictRefused, ResponseStatus: 400, ResponseExcerpt: hostile, Error: hostile})
		require.NoError(t, b.box.Ledger().Retry(t.Context(), key, ledger.Operator{Who: hostile, Via: "cli", Reason: hostile}))
	}
	visited := crawl(t, b)
	require.Greater(t, len(visited), 12*4)
	for _, path := range []string{
		"/events?" + url.Values{"type": {hostile}, "when": {hostile}, "state": {hostile}, "from": {hostile}}.Encode(),
		"/effects?" + url.Values{"state": {hostile}}.Encode(),
		"/nowhere/" + url.PathEscape(hostile), "/events/stripe/" + url.PathEscape(hostile) + "x",
	} {
		got := b.get(path)
		require.GreaterOrEqual(t, got.Code, 400, path)
		wellMade(t, path, got.Body.String())
	}
	path := "/find?" + url.Values{"q": {hostile + "x"}, "source": {hostile}}.Encode()
	wellMade(t, path, b.page(t, path))
}

// Bytes that the database cannot store match no row, and cause no server error.
func TestWhatCannotBeStoredIsNotThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, path := range []string{
		"/events/stripe/a%00b", "/events/%ff/x", "/effects/hl_%00", "/find?q=%00", "/find?q=a/%00", "/find?q=%ff", "/find?q=x&before=y&in=payloads", "/find?q=" + strings.Repeat("x", 10_000),
		"/events?before=x", "/events?before=99999999999999999999", "/effects?before=1", "/effects?before=.", "/effects/hl_1/explode",
		"/effects?route=%00&destination=" + strings.Repeat("x", 5_000),
	} {
		got := b.get(path)
		require.Contains(t, []int{http.StatusNotFound, http.StatusBadRequest}, got.Code, path)
		wellMade(t, path, got.Body.String())
	}
	for _, path := range []string{"/events?source=%00", "/events?type=%ff", "/effects?route=%00"} {
		require.Equal(t, http.StatusOK, b.get(path).Code, path)
	}
}

func TestUnknownIdsSayWhatRetentionMeans(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, key := range map[string]string{
		"/events/stripe/evt_0": "retention.dedup", "/events/stripe/evt_0/raw": "retention.dedup",
		"/effects/hl_0": "retention.history", "/effects/hl_0/retry": "retention.history", "/effects/hl_0/body": "retention.history",
	} {
		got := b.get(path)
		require.Equal(t, http.StatusNotFound, got.Code, path)
		require.Contains(t, got.Body.String(), key, path)
	}
}

// Only the beginning of a large body is rendered.
func TestALargeBodyIsShownInPart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	body := `{"a":"` + strings.Repeat("<x>", 10<<20/3) + `"}`
	b.accept(t, "evt_large", "large", body)
	page := b.page(t, "/events/stripe/evt_large")
	require.Less(t, len(page), 2<<20)
	require.Contains(t, page, "only the beginning is shown")
	raw := b.get("/events/stripe/evt_large/raw")
	require.Equal(t, body, raw.Body.String())
	require.Equal(t, "application/octet-stream", raw.Header().Get("Content-Type"))
	require.Contains(t, raw.Header().Get("Content-Disposition"), "attachment")
	require.Contains(t, raw.Header().Get("Content-Security-Policy"), "sandbox")
}

// Links work whether a proxy keeps the console's path or strips it.
func TestThePathOfTheConsole(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *console.Options) { o.URL = "https://ops.example.com/hook%20latch/" })
	b.failed(t, "evt_1")
	const base = "/hook%20latch"
	for _, path := range []string{"/", "/events", "/effects", "/events/stripe/evt_1"} {
		for _, at := range []string{path, base + path} {
			for _, link := range wellMade(t, at, b.page(t, at)) {
				if strings.HasPrefix(link, "?") {
					continue
				}
				require.True(t, strings.HasPrefix(link, base+"/"), "%s of %s", link, at)
				if link != base+"/metrics" && !strings.HasSuffix(link, "z") {
					require.Equal(t, http.StatusOK, b.get(link).Code, link)
				}
			}
		}
	}
	require.Equal(t, base+"/events/stripe/evt_1", b.get(base+"/jump?q=evt_1").Header().Get("Location"))
}

// If River UI is configured, an effect links to its job.
func TestEffectsLeadToTheirJobs(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *console.Options) { o.RiverUI = "https://jobs.example.com/ui/" })
	page := b.page(t, "/effects/"+b.failed(t, "evt_1"))
	require.Contains(t, wellMade(t, "/effects", page), "https://jobs.example.com/ui/jobs/1")
	b = setup(t)
	require.NotContains(t, b.page(t, "/effects/"+b.failed(t, "evt_1")), "/jobs/1")
}

// The links in jobs, which River UI shows, lead to console pages that exist.
func TestLinksOfJobsAnswer(t *testing.T) {
	t.Parallel()
	const at = "https://ops.example.com/hooklatch/"
	b := setup(t, func(o *console.Options) { o.URL = at })
	for _, id := range []string{"evt_1", "a/b c?", "ü%2F"} {
		b.accept(t, "waits "+id, "invoice.paid", `{}`)
		b.dispatch(t, b.accept(t, id, "invoice.paid", `{}`), ledger.AtLeastOnce)
	}
	var urls []string
	require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT array_agg(DISTINCT linked.url)
		FROM hooklatch.river_job AS j
		CROSS JOIN LATERAL (VALUES (j.metadata ->> 'event_url'), (j.metadata ->> 'effect_url')) AS linked (url)
		WHERE linked.url IS NOT NULL`).Scan(&urls))
	require.GreaterOrEqual(t, len(urls), 6)
	for _, link := range urls {
		require.True(t, strings.HasPrefix(link, at), link)
		b.page(t, strings.TrimPrefix(link, "https://ops.example.com"))
	}
}

// Pages write each count with its noun through the function counted, which writes "1 event" and not
// "1 events".
func TestACountOfOneIsInTheSingular(t *testing.T) {
	t.Parallel()
	plural := regexp.MustCompile(`\{\{[^}]*\}\} (?:[a-z]+ )?(attempts|bytes|deliveries|duplicates|effects|events|processes|requests|rows|runs|workers)\b`)
	pages, err := filepath.Glob("page/*.html")
	require.NoError(t, err)
	parts, err := filepath.Glob("page/part/*.html")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	require.NotEmpty(t, parts)
	for _, planted := range []string{"{{.ServedBy}} running processes", "up to {{.}} concurrent attempts in each", "{{.Accepted}} events, "} {
		require.True(t, plural.MatchString(planted), planted)
	}
	for _, name := range append(pages, parts...) {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, found := range plural.FindAllString(string(text), -1) {
			require.Equal(t, "{{.Most}} events", found, name) // Most is a limit above one
		}
	}
}
