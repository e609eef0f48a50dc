package sdktest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/backfill"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// listWorld has several sources of one provider, all with the same events. Source "hooked"
// gets them by webhook, "listed" from the list, and "redelivered" by redelivery. The SDK reads
// the list of "sdk". The endpoint of "foreign" leads to another gateway.
type listWorld struct {
	list     sdkList
	provider *provider.Provider
	since    time.Time
	events   []listEvent
	pool     *pgxpool.Pool
	sources  map[string]backfill.Source
	requests listRequests
	backfill *backfill.Backfill
}

func newListWorld(t *testing.T, l sdkList) *listWorld {
	t.Helper()
	p, err := catalog.New(l.provider, provider.Options{})
	require.NoError(t, err)
	w := &listWorld{
		list: l, provider: p, pool: pgtest.New(t), sources: map[string]backfill.Source{},
		requests: listRequests{byHooklatch: map[string]map[string]bool{}, bySDK: map[string]map[string]bool{}},
		since:    time.Now().Add(-time.Hour).Truncate(time.Second).UTC(),
	}
	for n := range listEvents {
		w.events = append(w.events, l.event(t, n, w.since.Add(time.Duration(n)*1500*time.Millisecond)))
	}
	names := []string{"hooked", "listed", "redelivered", "sdk", "foreign"}
	var receiving []gateway.Source
	for _, name := range names {
		receiving = append(receiving, gateway.Source{Name: name, Provider: p, Secrets: []gateway.Secret{{Value: secret.New(whsec)}}})
	}
	gatewayURL := startGateway(t, receiving, outbox.Options{Pool: w.pool})
	for _, name := range names {
		a := &listAPI{endpointURL: gatewayURL + "/webhooks/" + name, events: w.events}
		a.deliver = func(ref string) error {
			_, err := w.deliver(t.Context(), name, a.find(ref))
			return err
		}
		if name == "foreign" {
			a.endpointURL = publicBase + "/webhooks/" + name
		}
		w.sources[name] = backfill.Source{Name: name, Provider: p, URL: gatewayURL + "/webhooks/" + name, Settings: backfill.Settings{
			Token: secret.New(listToken), Endpoint: l.endpoint, BaseURL: w.serve(t, name, a) + l.prefix, Rate: 1000,
		}.WithDefaults(p.List)}
		require.NoError(t, w.sources[name].Settings.Validate(0))
	}
	box, err := outbox.New(outbox.Options{Pool: w.pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, box.Stop(context.WithoutCancel(t.Context()))) })
	// A pass requests a redelivery only while a gateway is known to be running.
	_, err = box.Fleet().Announce(t.Context(), fleet.Presence{ID: "gateway", GatewayOnly: true, Accepts: true, Hash: "1", Sources: names})
	require.NoError(t, err)
	w.backfill, err = backfill.New(backfill.Options{
		Outbox: box, Sources: func() []backfill.Source { return slices.Collect(maps.Values(w.sources)) },
		Budget: time.Minute, GatewayGone: time.Hour,
	})
	require.NoError(t, err)
	return w
}

// serve starts a fake of the provider's API for a source, and returns the API's base URL.
func (w *listWorld) serve(t *testing.T, source string, a *listAPI) string {
	t.Helper()
	by := w.requests.byHooklatch
	if source == "sdk" {
		by = w.requests.bySDK
	}
	credential, _, _ := strings.Cut(w.provider.List.Credential, ":")
	mux := http.NewServeMux()
	w.list.serve(a, mux)
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(out, r)
		w.requests.note(by, r, credential)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// base returns the API's URL without the prefix of the API's paths, which SDKs add themselves.
func (w *listWorld) base(source string) string {
	return strings.TrimSuffix(w.sources[source].Settings.BaseURL, w.list.prefix)
}

// pass reads a source's list. It returns how many events were listed, known, recovered and
// invalid.
func (w *listWorld) pass(t *testing.T, source string, via backfill.Via) [4]int64 {
	t.Helper()
	runs, err := w.backfill.Run(t.Context(), source, backfill.Order{By: "the test", Since: w.since, Via: via})
	require.NoError(t, err)
	require.Len(t, runs, 1)
	return [4]int64{runs[0].Listed, runs[0].Known, runs[0].Recovered, runs[0].Invalid}
}

// deliver signs an event's webhook and sends it. It returns the Hooklatch-Status of the gateway's
// response: accepted or duplicate.
func (w *listWorld) deliver(ctx context.Context, source string, e *listEvent) (string, error) {
	signed := &provider.Request{Method: http.MethodPost, Header: e.webhook.Header.Clone(), Body: e.webhook.Body}
	if err := w.provider.Sign(signed, secret.New(whsec), time.Now()); err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.sources[source].URL, bytes.NewReader(signed.Body))
	if err != nil {
		return "", err
	}
	r.Header = signed.Header
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode > 299 {
		return "", fmt.Errorf("the gateway answered %d to %s", response.StatusCode, e.id)
	}
	return response.Header.Get("Hooklatch-Status"), nil
}

func (w *listWorld) deliverAll(t *testing.T, source, want string) {
	t.Helper()
	for _, e := range w.events {
		outcome, err := w.deliver(t.Context(), source, &e)
		require.NoError(t, err)
		require.Equal(t, want, outcome, e.id)
	}
}

// storedEvent is an event in the database.
type storedEvent struct {
	Type        string
	Occurred    time.Time
	Origin      string
	Altered     string
	ContentType string
}

// stored returns a source's events by id.
func (w *listWorld) stored(t *testing.T, source identity.Source) map[string]storedEvent {
	t.Helper()
	rows, err := w.pool.Query(t.Context(), `SELECT event_id, event_type, occurred_at, origin, altered, content_type
		FROM hooklatch.processed_events JOIN hooklatch.deliveries USING (delivery_id) WHERE processed_events.source = $1`, source)
	require.NoError(t, err)
	events := map[string]storedEvent{}
	var id string
	var e storedEvent
	var occurred *time.Time
	_, err = pgx.ForEachRow(rows, []any{&id, &e.Type, &occurred, &e.Origin, &e.Altered, &e.ContentType}, func() error {
		if e.Occurred = (time.Time{}); occurred != nil {
			e.Occurred = occurred.UTC()
		}
		events[id] = e
		return nil
	})
	require.NoError(t, err)
	return events
}

// endpoints returns the state that the passes recorded for each source's endpoint.
func (w *listWorld) endpoints(t *testing.T, sources ...string) map[string]string {
	t.Helper()
	rows, err := w.pool.Query(t.Context(), "SELECT source, endpoint FROM hooklatch.coverage WHERE source = ANY($1)", sources)
	require.NoError(t, err)
	states := map[string]string{}
	var source, state string
	_, err = pgx.ForEachRow(rows, []any{&source, &state}, func() error {
		states[source] = state
		return nil
	})
	require.NoError(t, err)
	return states
}
