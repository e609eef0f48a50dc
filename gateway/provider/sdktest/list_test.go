package sdktest

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/backfill"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
)

const (
	// listEvents is the number of events in each list: more than fit on any list's page.
	listEvents = 25
	// listPage is the number of items that the fakes put on a page. GitLab's fake uses the
	// number in the request.
	listPage = 10
	// listToken is the API credential.
	listToken = "the token of the test"
)

// sdkList is a provider's API that lists its events. Its responses are serialized values of types
// in the provider's own SDK, if the SDK has such types.
type sdkList struct {
	provider string
	endpoint string // value of the setting `endpoint`
	prefix   string // prefix of the API's paths
	// event returns the n-th event: its unsigned webhook, and its item in the list.
	event func(t *testing.T, n int, at time.Time) listEvent
	// serve registers the handlers of a, the fake API, on mux.
	serve func(a *listAPI, mux *http.ServeMux)
	// read lets the SDK read the list since a given time. It returns the URL to which the provider
	// sends webhooks, and the items' refs.
	read func(ctx context.Context, base string, since time.Time) (url string, refs []string, err error)
}

// listEvent is an event that a provider reports twice: by webhook and in its list.
type listEvent struct {
	id, kind string
	occurred time.Time // the expected occurred_at; zero for NULL
	altered  string    // the expected description of how the list differs from the webhook

	ref     string    // the item's id in the list
	at      time.Time // the time by which the list is filtered
	webhook *provider.Request
	item    any // the list's item: a value of the SDK's type, if the SDK has one
}

// listAPI is a fake of a provider's API, with one webhook endpoint.
type listAPI struct {
	endpointURL string
	events      []listEvent // oldest first
	// deliver sends the webhook of the event with the given ref. The fake calls it when a
	// redelivery is requested.
	deliver func(ref string) error
}

// between returns the events in a period, oldest first. If until is zero, the period has no end.
func (a *listAPI) between(since, until time.Time) []listEvent {
	var found []listEvent
	for _, e := range a.events {
		if !e.at.Before(since) && (until.IsZero() || e.at.Before(until)) {
			found = append(found, e)
		}
	}
	return found
}

// find returns the event with the given ref, or nil if none has it.
func (a *listAPI) find(ref string) *listEvent {
	if n := slices.IndexFunc(a.events, func(e listEvent) bool { return e.ref == ref }); n >= 0 {
		return &a.events[n]
	}
	return nil
}

// pageBehind returns the page that begins after the event with the given ref, or the first page if
// no event has it. more reports whether another page follows.
func pageBehind(events []listEvent, ref string) (page []listEvent, more bool) {
	if n := slices.IndexFunc(events, func(e listEvent) bool { return e.ref == ref }); n >= 0 {
		events = events[n+1:]
	}
	return events[:min(listPage, len(events))], len(events) > listPage
}

// newestFirst returns a copy of events in reverse order.
func newestFirst(events []listEvent) []listEvent {
	events = slices.Clone(events)
	slices.Reverse(events)
	return events
}

// answer writes a value as a JSON response.
func answer(w http.ResponseWriter, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

// listRequests records the requests for lists: for each path pattern, the query parameters and
// the credentials that were sent.
type listRequests struct {
	mu          sync.Mutex
	byHooklatch map[string]map[string]bool
	bySDK       map[string]map[string]bool
}

func (l *listRequests) note(by map[string]map[string]bool, r *http.Request, credential string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	what := cmp.Or(r.Pattern, r.Method+" "+r.URL.Path)
	if by[what] == nil {
		by[what] = map[string]bool{}
	}
	by[what][credential+": "+r.Header.Get(credential)] = true
	for name := range r.URL.Query() {
		by[what][name] = true
	}
}

// compare requires that Hooklatch queries the list as the SDK does. It must request the same paths
// with the same credential, and send only query parameters that the SDK sends.
func (l *listRequests) compare(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	require.Greater(t, len(l.byHooklatch), 1, "Hooklatch requests the endpoint and the list")
	for what, ours := range l.byHooklatch {
		require.Contains(t, l.bySDK, what, "the SDK does not request this path")
		require.Subset(t, l.bySDK[what], ours, "the SDK does not send these parameters with %s", what)
	}
}

func sdkLists() []sdkList {
	return []sdkList{githubList(), stripeList(), gitlabList(), oktaList(), paddleList()}
}

// Every provider whose list Hooklatch reads has an entry in sdkLists, which uses the SDK's
// types.
func TestEveryListHasAnSDK(t *testing.T) {
	t.Parallel()
	var read, have []string
	for _, name := range catalog.Names() {
		p, err := catalog.New(name, provider.Options{})
		if err != nil {
			require.Contains(t, []string{"basic", "google-pubsub", "hmac", "jwt", "token"}, name, "these need options and have no list: %v", err)
			continue
		}
		if p.List != nil && p.List.Path != "" {
			read = append(read, name)
		}
	}
	for _, l := range sdkLists() {
		have = append(have, l.provider)
	}
	slices.Sort(have)
	require.Equal(t, read, have)
}

// An event has the same id, type and time whether it comes from its webhook or from the provider's
// list. The test builds the events with the types of the provider's SDK. After the webhooks, a pass
// recovers nothing. After a pass, the webhooks are duplicates.
func TestListsOfTheSDKsHaveTheEventsOfTheWebhooks(t *testing.T) {
	t.Parallel()
	for _, l := range sdkLists() {
		t.Run(l.provider, func(t *testing.T) {
			t.Parallel()
			w := newListWorld(t, l)

			endpointURL, refs, err := l.read(t.Context(), w.base("sdk"), w.since)
			require.NoError(t, err, "the SDK reads the list")
			require.Equal(t, w.sources["sdk"].URL, endpointURL)
			var want []string
			for _, e := range w.events {
				want = append(want, e.ref)
			}
			require.ElementsMatch(t, want, refs)

			require.Equal(t, [4]int64{listEvents, 0, listEvents, 0}, w.pass(t, "listed", backfill.ViaPull), "listed, known, recovered and invalid")
			w.deliverAll(t, "hooked", "accepted")
			require.Equal(t, [4]int64{listEvents, listEvents, 0, 0}, w.pass(t, "hooked", backfill.ViaPull), "listed, known, recovered and invalid")
			w.deliverAll(t, "listed", "duplicate")

			hooked, listed := w.stored(t, "hooked"), w.stored(t, "listed")
			require.Len(t, hooked, listEvents)
			require.Len(t, listed, listEvents)
			for _, e := range w.events {
				want := storedEvent{Type: e.kind, Occurred: e.occurred.UTC(), Origin: "webhook", ContentType: e.webhook.Header.Get("Content-Type")}
				require.Equal(t, want, hooked[e.id], e.id)
				want.Origin, want.Altered, want.ContentType = "backfill", e.altered, "application/json"
				require.Equal(t, want, listed[e.id], e.id)
			}
			if w.provider.List.Redeliver != "" {
				require.Equal(t, [4]int64{listEvents, 0, 0, 0}, w.pass(t, "redelivered", backfill.ViaRedeliver))
				require.Equal(t, hooked, w.stored(t, "redelivered"))
			}
			w.requests.compare(t)

			_, err = w.backfill.Run(t.Context(), "foreign", backfill.Order{By: "the test", Since: w.since})
			require.ErrorContains(t, err, "does not send to this gateway")
			require.Equal(t, map[string]string{"hooked": "on", "listed": "on", "foreign": "foreign"}, w.endpoints(t, "hooked", "listed", "foreign"))
		})
	}
}
