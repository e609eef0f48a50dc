package sdktest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v83"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

const stripeEndpoint = "we_1MPRUwLkdIwHu7ixHr4wXyZ"

// stripeList describes the list of an account's events.
func stripeList() sdkList {
	return sdkList{provider: "stripe", endpoint: stripeEndpoint, event: stripeEvent, serve: serveStripe, read: readStripe}
}

// stripeEvent returns an event whose pending_webhooks differs between the list and the
// webhook.
func stripeEvent(t *testing.T, n int, at time.Time) listEvent {
	t.Helper()
	kind := []stripe.EventType{stripe.EventTypeInvoicePaid, stripe.EventTypeCustomerSubscriptionUpdated}[n%2]
	object, err := json.Marshal(map[string]any{"id": fmt.Sprintf("obj_%d", n), "created": at.AddDate(0, 0, -1).Unix()})
	require.NoError(t, err)
	at = at.Truncate(time.Second)
	sent := stripe.Event{
		ID: fmt.Sprintf("evt_1MqqbKLt4dXK03v5%08d", n), Object: "event", APIVersion: stripe.APIVersion, Created: at.Unix(), Type: kind,
		PendingWebhooks: 1, Request: &stripe.EventRequest{ID: "req_1"}, Data: &stripe.EventData{Raw: object},
	}
	body, err := json.Marshal(sent)
	require.NoError(t, err)
	item := sent
	item.PendingWebhooks = 0
	return listEvent{
		id: sent.ID, kind: string(kind), occurred: at, ref: sent.ID, at: at, item: &item,
		webhook: &provider.Request{Header: http.Header{"Content-Type": {"application/json"}}, Body: body},
	}
}

func serveStripe(a *listAPI, mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/webhook_endpoints/{id}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, &stripe.WebhookEndpoint{
			ID: r.PathValue("id"), Object: "webhook_endpoint", URL: a.endpointURL, Status: "enabled", APIVersion: stripe.APIVersion,
			EnabledEvents: []string{string(stripe.EventTypeInvoicePaid), string(stripe.EventTypeCustomerSubscriptionUpdated)},
		})
	})
	mux.HandleFunc("GET /v1/events", func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		seconds := func(name string) time.Time {
			if n, err := strconv.ParseInt(query.Get(name), 10, 64); err == nil {
				return time.Unix(n, 0)
			}
			return time.Time{}
		}
		list := stripe.EventList{Data: []*stripe.Event{}}
		page, more := pageBehind(newestFirst(a.between(seconds("created[gte]"), seconds("created[lt]"))), query.Get("starting_after"))
		for _, e := range page {
			list.Data = append(list.Data, e.item.(*stripe.Event))
		}
		list.URL, list.HasMore = r.URL.Path, more
		answer(w, list)
	})
}

func readStripe(ctx context.Context, base string, since time.Time) (string, []string, error) {
	client := stripe.NewClient(listToken, stripe.WithBackends(stripe.NewBackendsWithConfig(&stripe.BackendConfig{URL: &base})))
	endpoint, err := client.V1WebhookEndpoints.Retrieve(ctx, stripeEndpoint, nil)
	if err != nil {
		return "", nil, err
	}
	params := &stripe.EventListParams{CreatedRange: &stripe.RangeQueryParams{GreaterThanOrEqual: since.Unix(), LesserThan: time.Now().Unix()}}
	params.Limit = stripe.Int64(100)
	var refs []string
	for e, err := range client.V1Events.List(ctx, params) {
		if err != nil {
			return "", nil, err
		}
		refs = append(refs, e.ID)
	}
	return endpoint.URL, refs, nil
}
