package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// listed returns the ids of a page's rows, from their links.
func listed(t testing.TB, page string) []string {
	t.Helper()
	var list []string
	for _, n := range nodes(t, page) {
		if n.Data == "a" && strings.HasPrefix(attribute(n, "class"), "open") {
			at := attribute(n, "href")
			list = append(list, at[strings.LastIndexByte(at, '/')+1:])
		}
	}
	return list
}

// older returns the link to the rest of a list, or "".
func older(t testing.TB, page string) string {
	t.Helper()
	for _, n := range nodes(t, page) {
		if n.Data == "a" && slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "data-more" }) {
			return attribute(n, "href")
		}
	}
	return ""
}

// found returns the ids of all rows of a list, from all its pages. A payload search ends a page at
// its time limit, which may be before the first match on a busy machine.
func (b *bundle) found(t testing.TB, list, query string) (names []string) {
	t.Helper()
	for at := "?" + query; at != ""; {
		page := b.page(t, list+at)
		names = append(names, listed(t, page)...)
		at = older(t, page)
	}
	return names
}

func TestEventsAreFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n := range 120 {
		b.accept(t, fmt.Sprintf("evt_%03d", n), []string{"invoice.paid", "customer.created"}[n%2], fmt.Sprintf(`{"customer":"cus_%d"}`, n))
	}
	page := b.page(t, "/events")
	require.Len(t, listed(t, page), 50)
	require.Equal(t, "evt_119", listed(t, page)[0])

	var all []string
	for at := "/events"; at != ""; {
		page = b.page(t, at)
		all = append(all, listed(t, page)...)
		if at = older(t, page); at != "" {
			at = "/events" + at
		}
		if len(all) == 50 {
			b.accept(t, "evt_new", "invoice.paid", `{}`) // changes no page position
		}
	}
	require.Len(t, all, 120)
	require.True(t, slices.IsSortedFunc(all, func(x, y string) int { return strings.Compare(y, x) }))

	for query, want := range map[string][]string{
		"when=" + url.QueryEscape(`body.customer == "cus_42"`): {"evt_042"},
		"id=evt_007":                            {"evt_007"},
		"type=invoice.paid&id=evt_007":          nil,
		"source=github":                         nil,
		"type=customer.*&id=evt_007":            {"evt_007"},
		"type=*.paid&id=evt_007":                nil,
		"has=duplicates":                        nil,
		"has=duplicates,differs":                nil,
		"state=received&from=-1h&id=evt_001":    {"evt_001"},
		"from=2020-01-01&to=2020-01-02":         nil,
		"to=2020-01-01T00%3A00%3A00Z":           nil,
		"source=stripe&state=skipped&type=none": nil,
	} {
		require.Equal(t, want, b.found(t, "/events", query), query)
	}
	require.Contains(t, b.page(t, "/events?from=-36h&when="+url.QueryEscape(`body.customer == "it's"`)),
		"hooklatch events list --since 36h --when &#39;body.customer == &#34;it&#39;\\&#39;&#39;s&#34;&#39;", "the same on the command line")
}

// A filter that cannot be read finds nothing and is no command.
func TestWhatCannotBeReadIsSaid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, want := range map[string]string{
		"/events?from=yesterday": "allowed are a time such as",
		"/events?to=-0h":         "allowed are a time such as",
		"/events?has=nothing":    "allowed are duplicates, differs",
		"/events?state=lost":     "allowed are received, dispatched",
		"/events?when=" + url.QueryEscape("body.customer =="): "cannot be read",
		"/effects?state=lost":  "allowed are pending, started",
		"/effects?event=evt_1": "SOURCE/EVENT_ID",
		"/events?before=hl_1":  "start with the newest",
		"/live?state=lost":     "allowed are received, dispatched",
		"/audit?from=never":    "allowed are a time such as",
	} {
		got := b.get(path)
		require.Equal(t, http.StatusBadRequest, got.Code, path)
		require.Contains(t, got.Body.String(), want, path)
		for _, never := range []string{"Nothing matches", "End of the list", "No event", "No effects", "No operator action", "On the command line"} {
			require.NotContains(t, got.Body.String(), never, path)
		}
		wellMade(t, path, got.Body.String())
	}
}

func TestAnEventSaysWhatItLedToAndWhyNotMore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.failed(t, "evt_1")
	page := b.page(t, "/events/stripe/evt_1")
	for _, want := range []string{key, "failed", "422", "Current routes", "paid", "X-Sent-By", "&lt;i&gt;somebody", "hooklatch events replay stripe evt_1", "attempt 1, answered 422"} {
		require.Contains(t, page, want)
	}
	b.accept(t, "evt_2", "customer.created", `{}`)
	require.Contains(t, b.page(t, "/events/stripe/evt_2"), "its types are invoice.paid, not customer.created")
	require.Contains(t, b.page(t, "/events/stripe/evt_2"), "it is waiting to be dispatched")
}

func TestEffectsAreFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	failed, doubted := b.failed(t, "evt_1"), b.doubted(t, "evt_2")
	pending := b.dispatch(t, b.accept(t, "evt_3", "invoice.paid", `{}`), ledger.AtLeastOnce)
	for query, want := range map[string][]string{
		"": {pending, doubted, failed}, "state=failed": {failed}, "state=parked": {doubted}, "state=attention": {doubted, failed}, "destination=other": nil,
		"route=paid&source=stripe&type=invoice.paid": {pending, doubted, failed}, "event=stripe/evt_2": {doubted},
		"when=" + url.QueryEscape(`body.customer == "cus_42"`): {failed},
	} {
		require.Equal(t, want, b.found(t, "/effects", query), query)
	}
}
