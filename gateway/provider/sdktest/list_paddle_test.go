package sdktest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/PaddleHQ/paddle-go-sdk/v4"
	"github.com/PaddleHQ/paddle-go-sdk/v4/pkg/paddlenotification"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

const paddleSetting = "ntfset_01gkpjp8bkm3tm53kdgkx6sms7"

// paddleAnswer is the envelope of every response. The SDK's own type for the envelope is
// internal, so the fake uses paddleAnswer.
type paddleAnswer struct {
	Data any `json:"data"`
	Meta struct {
		RequestID  string            `json:"request_id"`
		Pagination *paddlePagination `json:"pagination,omitempty"`
	} `json:"meta"`
}

type paddlePagination struct {
	PerPage        int    `json:"per_page"`
	Next           string `json:"next"`
	HasMore        bool   `json:"has_more"`
	EstimatedTotal int    `json:"estimated_total"`
}

// paddleList describes the list of a notification destination's notifications.
func paddleList() sdkList {
	return sdkList{provider: "paddle", endpoint: paddleSetting, event: paddleEvent, serve: servePaddle, read: readPaddle}
}

func paddleEvent(t *testing.T, n int, at time.Time) listEvent {
	t.Helper()
	e := listEvent{id: fmt.Sprintf("evt_01hv8x2akz5nbd5v6q%08d", n), occurred: at, ref: fmt.Sprintf("ntf_01hv8x2akz5nbd5v6q%08d", n), at: at}
	generic := func(kind paddlenotification.EventTypeName) paddlenotification.GenericNotificationEvent {
		e.kind = string(kind)
		return paddlenotification.GenericNotificationEvent{EventID: e.id, EventType: kind, OccurredAt: at.Format(time.RFC3339Nano)}
	}
	var payload paddlenotification.NotificationEvent
	switch n % 2 {
	case 0:
		payload = &paddlenotification.TransactionCompleted{
			GenericNotificationEvent: generic(paddlenotification.EventTypeNameTransactionCompleted),
			Data: paddlenotification.TransactionNotification{
				ID: fmt.Sprintf("txn_%d", n), Status: paddlenotification.TransactionStatusCompleted, Items: []paddlenotification.TransactionItem{},
				Details:  paddlenotification.TransactionDetails{TaxRatesUsed: []paddlenotification.TaxRatesUsed{{TaxRate: "0.2"}}, LineItems: []paddlenotification.TransactionLineItem{{Quantity: 1}}},
				Payments: []paddlenotification.TransactionPaymentAttempt{},
			},
		}
	case 1:
		payload = &paddlenotification.SubscriptionUpdated{
			GenericNotificationEvent: generic(paddlenotification.EventTypeNameSubscriptionUpdated),
			Data: paddlenotification.SubscriptionNotification{
				ID: fmt.Sprintf("sub_%d", n), Status: paddlenotification.SubscriptionStatusActive, Items: []paddlenotification.SubscriptionItem{},
			},
		}
	}
	body, err := json.Marshal(payload)
	require.NoError(t, err)
	e.webhook = &provider.Request{Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
	e.item = &paddle.Notification{
		ID: e.ref, Type: paddle.EventTypeName(e.kind), Status: paddle.NotificationStatusFailed, Payload: payload, OccurredAt: at.Format(time.RFC3339Nano),
		Origin: paddle.NotificationOriginEvent, TimesAttempted: 60, NotificationSettingID: paddleSetting,
	}
	return e
}

func servePaddle(a *listAPI, mux *http.ServeMux) {
	mux.HandleFunc("GET /notification-settings/{id}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, paddleAnswer{Data: &paddle.NotificationSetting{
			ID: r.PathValue("id"), Type: paddle.NotificationSettingTypeURL, Destination: a.endpointURL, Active: true, APIVersion: 1, TrafficSource: paddle.TrafficSourcePlatform,
			SubscribedEvents: []paddle.EventType{{Name: paddle.EventTypeNameTransactionCompleted}, {Name: paddle.EventTypeNameSubscriptionUpdated}},
		}})
	})
	mux.HandleFunc("GET /notifications", func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		from, _ := time.Parse(time.RFC3339Nano, query.Get("from"))
		to, _ := time.Parse(time.RFC3339Nano, query.Get("to"))
		page, more := pageBehind(a.between(from, to), query.Get("after"))
		items := []*paddle.Notification{}
		for _, e := range page {
			items = append(items, e.item.(*paddle.Notification))
			query.Set("after", e.ref)
		}
		next := url.URL{Scheme: "http", Host: r.Host, Path: r.URL.Path, RawQuery: query.Encode()}
		list := paddleAnswer{Data: items}
		list.Meta.Pagination = &paddlePagination{PerPage: listPage, Next: next.String(), HasMore: more, EstimatedTotal: len(a.events)}
		answer(w, list)
	})
}

func readPaddle(ctx context.Context, base string, since time.Time) (string, []string, error) {
	client, err := paddle.New(listToken, paddle.WithBaseURL(base))
	if err != nil {
		return "", nil, err
	}
	setting, err := client.GetNotificationSetting(ctx, &paddle.GetNotificationSettingRequest{NotificationSettingID: paddleSetting})
	if err != nil {
		return "", nil, err
	}
	list, err := client.ListNotifications(ctx, &paddle.ListNotificationsRequest{
		NotificationSettingID: []string{paddleSetting}, OrderBy: new("id[ASC]"), PerPage: new(200),
		From: new(since.Format(time.RFC3339Nano)), To: new(time.Now().UTC().Format(time.RFC3339Nano)),
	})
	if err != nil {
		return "", nil, err
	}
	var refs []string
	err = list.IterErr(ctx, func(n *paddle.Notification) error {
		refs = append(refs, n.ID)
		return nil
	})
	return setting.Destination, refs, err
}

// Paddle's SDK for Node.js reads the endpoint and the list that servePaddle serves.
func TestPaddleListWithNPM(t *testing.T) {
	t.Parallel()
	script := filepath.Join(installNPM(t, sdkPackages, "paddle_list.mjs"), "paddle_list.mjs")
	since := time.Now().Add(-time.Hour).Truncate(time.Second).UTC()
	type line struct {
		Destination, Ref, ID, Type string
		Occurred                   time.Time
	}
	a := &listAPI{endpointURL: publicBase + "/webhooks/paddle"}
	want := []line{{Destination: a.endpointURL}}
	for n := range listEvents {
		e := paddleEvent(t, n, since.Add(time.Duration(n)*time.Second))
		a.events = append(a.events, e)
		want = append(want, line{Ref: e.ref, ID: e.id, Type: e.kind, Occurred: e.occurred})
	}
	mux := http.NewServeMux()
	servePaddle(a, mux)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)

	input, err := json.Marshal(map[string]any{"base": server.URL, "setting": paddleSetting, "from": since, "to": time.Now().UTC()})
	require.NoError(t, err)
	node := exec.CommandContext(t.Context(), "node", script)
	var stderr bytes.Buffer
	node.Stdin, node.Stderr = bytes.NewReader(input), &stderr
	out, err := node.Output()
	require.NoError(t, err, "node: %s", &stderr)
	var got []line
	for text := range bytes.Lines(out) {
		var one line
		require.NoError(t, json.Unmarshal(text, &one), "%s", text)
		got = append(got, one)
	}
	require.Equal(t, want, got)
}
