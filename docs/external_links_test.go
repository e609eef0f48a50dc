package docs_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// externalLinks returns the links of a page that lead to other sites.
func externalLinks(text string) (found []string) {
	for _, link := range pageLink.FindAllStringSubmatch(fencedBlock.ReplaceAllString(text, ""), -1) {
		if url, _, _ := strings.Cut(link[1], "#"); strings.HasPrefix(url, "https://") {
			found = append(found, url)
		}
	}
	return found
}

// gone returns the reason why a link leads nowhere, or "". A site that refuses programs, or is
// temporarily unavailable, does not count.
func gone(client *http.Client, url string) string {
	response, err := client.Get(url)
	if err != nil {
		if strings.Contains(err.Error(), "no such host") {
			return err.Error()
		}
		return ""
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotFound || response.StatusCode == http.StatusGone {
		return response.Status
	}
	return ""
}

// The pages to which our pages link still exist. Other sites change without a commit here, so the
// test runs weekly, and not for every commit.
func TestExternalLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	if os.Getenv("HOOKLATCH_EXTERNAL_LINKS") == "" {
		t.Skip("set HOOKLATCH_EXTERNAL_LINKS to call other sites")
	}
	client := &http.Client{Timeout: 30 * time.Second}
	on := map[string]string{} // page by link
	for page, text := range pages(t) {
		for _, url := range externalLinks(text) {
			on[url] = page
		}
	}
	require.NotEmpty(t, on)
	for _, url := range slices.Sorted(maps.Keys(on)) {
		if why := gone(client, url); why != "" {
			t.Errorf("%s links to %s: %s", on[url], url, why)
		}
	}
}

func TestALinkThatLeadsNowhereIsFound(t *testing.T) {
	t.Parallel()
	status := map[string]int{"/there": 200, "/forbidden": 403, "/away": 503, "/missing": 404, "/gone": 410}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status[r.URL.Path]) }))
	t.Cleanup(site.Close)
	var found []string
	for _, path := range slices.Sorted(maps.Keys(status)) {
		if gone(site.Client(), site.URL+path) != "" {
			found = append(found, path)
		}
	}
	require.Equal(t, []string{"/gone", "/missing"}, found)
	require.Equal(t, []string{"https://a.example/b"}, externalLinks("see [it](https://a.example/b#c), [us](docs/upgrade.md) and\n```\n[x](https://no.example)\n```\n"))
}
