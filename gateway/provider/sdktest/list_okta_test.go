package sdktest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/okta/okta-sdk-golang/v5/okta"
	"github.com/stretchr/testify/require"
)

const oktaHook = "who8vt36qfNpCGz9H1e6"

// oktaList describes the System Log.
func oktaList() sdkList {
	return sdkList{provider: "okta", endpoint: oktaHook, event: oktaEvent, serve: serveOkta, read: readOkta}
}

func oktaTypes() []string { return []string{"user.lifecycle.create", "user.session.start"} }

// oktaEvent returns an event of the System Log. An event hook sends the event in an envelope. The
// SDK has no type for the envelope, so the test uses the envelope of our sample.
func oktaEvent(t *testing.T, n int, at time.Time) listEvent {
	t.Helper()
	e := listEvent{id: fmt.Sprintf("f790999f-fe87-467a-9880-%012d", n), kind: oktaTypes()[n%2], occurred: at, at: at}
	item := okta.NewLogEvent()
	item.SetUuid(e.id)
	item.SetPublished(at)
	item.SetEventType(e.kind)
	item.SetVersion("0")
	item.SetSeverity("INFO")
	item.SetOutcome(okta.LogOutcome{Result: new("SUCCESS")})
	item.SetActor(okta.LogActor{Id: new("00uttidj01jqL21aM1d6"), Type: new("User"), AlternateId: new("ada@example.com")})
	var envelope map[string]any
	_, e.webhook = sample(t, "okta")
	require.NoError(t, json.Unmarshal(e.webhook.Body, &envelope))
	envelope["data"] = map[string]any{"events": []*okta.LogEvent{item}}
	var err error
	e.webhook.Body, err = json.Marshal(envelope)
	require.NoError(t, err)
	e.ref, e.item = e.id, item
	return e
}

func serveOkta(a *listAPI, mux *http.ServeMux) {
	mux.HandleFunc("GET /api/v1/eventHooks/{id}", func(w http.ResponseWriter, r *http.Request) {
		hook := okta.NewEventHook(
			*okta.NewEventHookChannel(*okta.NewEventHookChannelConfig(a.endpointURL), "HTTP", "1.0.0"), *okta.NewEventSubscriptions(oktaTypes(), "EVENT_TYPE"), "hooklatch",
		)
		hook.SetId(r.PathValue("id"))
		hook.SetStatus("ACTIVE")
		hook.SetVerificationStatus("VERIFIED")
		answer(w, hook)
	})
	mux.HandleFunc("GET /api/v1/logs", func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		since, _ := time.Parse(time.RFC3339Nano, query.Get("since")) // empty: all events
		items := []*okta.LogEvent{}
		after := query.Get("after")
		page, _ := pageBehind(a.between(since, time.Time{}), after)
		for _, e := range page {
			items = append(items, e.item.(*okta.LogEvent))
			after = e.ref
		}
		// A feed always has a next page.
		w.Header().Add("Link", fmt.Sprintf(`<http://%s%s>; rel="self"`, r.Host, r.URL.RequestURI()))
		w.Header().Add("Link", fmt.Sprintf(`<http://%s/api/v1/logs?after=%s&limit=100&sortOrder=ASCENDING>; rel="next"`, r.Host, after))
		answer(w, items)
	})
}

func readOkta(ctx context.Context, base string, since time.Time) (string, []string, error) {
	// The SDK drops the port of a URL, so the transport connects to the fake for every URL.
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, strings.TrimPrefix(base, "http://"))
	}}
	defer transport.CloseIdleConnections()
	configuration, err := okta.NewConfiguration(
		okta.WithOrgUrl(base), okta.WithToken(listToken), okta.WithTestingDisableHttpsCheck(true), okta.WithCache(false),
		okta.WithHttpClientPtr(&http.Client{Transport: transport}),
	)
	if err != nil {
		return "", nil, err
	}
	configuration.Context = ctx
	client := okta.NewAPIClient(configuration)
	hook, _, err := client.EventHookAPI.GetEventHook(ctx, oktaHook).Execute()
	if err != nil {
		return "", nil, err
	}
	var refs []string
	page, response, err := client.SystemLogAPI.ListLogEvents(ctx).Since(since).Limit(100).SortOrder("ASCENDING").Execute()
	for err == nil && len(page) > 0 {
		for _, e := range page {
			refs = append(refs, e.GetUuid())
		}
		page = nil
		response, err = response.Next(&page)
	}
	if err != nil {
		return "", nil, err
	}
	return hook.Channel.Config.Uri, refs, nil
}
