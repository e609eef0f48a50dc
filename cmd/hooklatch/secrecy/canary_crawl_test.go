package secrecy

import (
	"encoding/json"
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
)

var (
	links     = regexp.MustCompile(`href="([^"#]+)"`)
	parameter = regexp.MustCompile(`\\\{\w+\\\}`)
)

// crawl fetches, with a token, every page that jobs or the console link to, and the same path below
// /api. It returns the bodies of all responses. A token other than the admin token may get 403.
// With the admin token, crawl must reach every GET path in the API document.
func crawl(t *testing.T, s *clitest.System, token string) (pages []string) {
	t.Helper()
	var next []string
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT array_agg(DISTINCT linked.url)
		FROM hooklatch.river_job AS j
		CROSS JOIN LATERAL (VALUES (j.metadata ->> 'event_url'), (j.metadata ->> 'effect_url')) AS linked (url)
		WHERE linked.url IS NOT NULL`).Scan(&next))
	next = append(next, "/", "/events", "/effects?state=failed", "/find?q=no+such+text")
	seen, answered := map[string]bool{}, map[string]bool{}
	for len(next) > 0 {
		at, err := url.Parse(next[0])
		require.NoError(t, err)
		next = next[1:]
		path := at.RequestURI() // the host is ignored: the test chose the listener's port
		if seen[path] || at.Scheme == "data" {
			continue
		}
		seen[path] = true
		require.Less(t, len(seen), 2_000)
		status, kind, page := s.AskWith(t, token, http.MethodGet, path, "")
		pages = append(pages, page)
		if strings.HasPrefix(path, "/api/") && status >= http.StatusBadRequest {
			require.Equal(t, "application/problem+json", kind, path) // not every page has an API path
			continue
		}
		answered[at.EscapedPath()] = true
		if status == http.StatusForbidden && token != s.Config.Admin.Token.Reveal() {
			continue
		}
		require.Equal(t, http.StatusOK, status, path)
		if strings.HasPrefix(path, "/api/") {
			continue
		}
		next = append(next, "/api"+path)
		if !strings.HasPrefix(kind, "text/html") {
			continue
		}
		clitest.RequireTaken(t, path, page)
		for _, link := range links.FindAllStringSubmatch(page, -1) {
			to, err := at.Parse(html.UnescapeString(link[1]))
			require.NoError(t, err)
			if to.Host == at.Host { // skips links to other sites
				next = append(next, to.String())
			}
		}
	}
	if token != s.Config.Admin.Token.Reveal() {
		return pages // other roles get no links to pages that they may not read
	}
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	_, _, text := s.Ask(t, http.MethodGet, "/api/openapi.json", "")
	require.NoError(t, json.Unmarshal([]byte(text), &document))
	require.NotEmpty(t, document.Paths)
	for path, methods := range document.Paths {
		like := regexp.MustCompile("^" + parameter.ReplaceAllString(regexp.QuoteMeta(path), "[^/]+") + "$")
		if methods["get"] != nil {
			require.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(answered)), like.MatchString), "no page leads to %s: create data that it shows", path)
		}
	}
	t.Logf("%d pages and answers", len(pages))
	return pages
}
