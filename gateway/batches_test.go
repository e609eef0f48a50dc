package gateway_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// batch describes a sender that puts many events into one delivery.
type batch struct {
	provider string
	key      string
	size     int
	empty    string              // a delivery without an event, if the sender has such deliveries
	around   func(string) string // the body around the items, which are joined by commas
	item     func(n int) string  // the n-th event
}

func batches() []batch {
	plain := strings.Repeat("k", 32)
	return []batch{
		{
			"whatsapp", plain, 1000, "",
			func(items string) string {
				return `{"object":"whatsapp_business_account","entry":[{"id":"102290129340398","changes":[{"field":"messages","value":` +
					`{"messaging_product":"whatsapp","metadata":{"display_phone_number":"15550783881","phone_number_id":"106540352242922"},"statuses":[` + items + `]}}]}]}`
			},
			func(n int) string {
				return fmt.Sprintf(`{"id":"wamid.HBgLMTY0NjcwNDM1OTUVAgARGBI1%06d","status":"delivered","timestamp":"1795262400","recipient_id":"16505551234"}`, n)
			},
		},
		{
			"adyen", hex.EncodeToString([]byte(plain)), 6, "",
			func(items string) string { return `{"live":"false","notificationItems":[` + items + `]}` },
			func(n int) string {
				return fmt.Sprintf(`{"NotificationRequestItem":{"additionalData":{},"amount":{"currency":"EUR","value":1130},"eventCode":"AUTHORISATION",`+
					`"eventDate":"2026-11-21T12:00:00+01:00","merchantAccountCode":"TestMerchant","merchantReference":"order-%d","paymentMethod":"visa",`+
					`"pspReference":"79143278004%05d","reason":"","success":"true"}}`, n, n)
			},
		},
		{
			"hubspot", plain, 100, "[]",
			func(items string) string { return `[` + items + `]` },
			func(n int) string {
				return fmt.Sprintf(`{"eventId":%d,"subscriptionId":33,"portalId":62515,"appId":54321,"occurredAt":1795262400000,`+
					`"subscriptionType":"contact.propertyChange","attemptNumber":0,"objectId":%d,"propertyName":"lifecyclestage","propertyValue":"lead","changeSource":"CRM_UI"}`, n, 1000+n)
			},
		},
		{
			"line", plain, 50, `{"destination":"U8e742f61d673b39c7fff3cecb7536ef0","events":[]}`,
			func(items string) string {
				return `{"destination":"U8e742f61d673b39c7fff3cecb7536ef0","events":[` + items + `]}`
			},
			func(n int) string {
				return fmt.Sprintf(`{"type":"message","mode":"active","timestamp":1795262400000,"source":{"type":"user","userId":"U4af4980629"},`+
					`"webhookEventId":"01FZ74A0TDDPYRVKNK77XK%04d","deliveryContext":{"isRedelivery":false},"message":{"id":"%d","type":"text","text":"hello"}}`, n, n)
			},
		},
	}
}

// body returns a body with the events from first up to, but not including, last.
func (b batch) body(first, last int) string {
	var items []string
	for n := first; n < last; n++ {
		items = append(items, b.item(n))
	}
	return b.around(strings.Join(items, ","))
}

// send delivers a body, signed as the provider signs. It returns the response and the exact
// body, because some providers put their signature into it.
func (b batch) send(t *testing.T, s *stored, p *provider.Provider, body string) (answer, []byte) {
	t.Helper()
	signed := &provider.Request{
		Method: http.MethodPost, URL: mustURL("https://hooks.example.com/webhooks/batch"),
		Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body),
	}
	require.NoError(t, p.Sign(signed, secret.New(b.key), testNow))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+signed.URL.RequestURI(), bytes.NewReader(signed.Body))
	require.NoError(t, err)
	r.Header = signed.Header
	return s.do(t, r), signed.Body
}

const (
	allTransactions = `SELECT count(DISTINCT xmin) FROM (
		SELECT xmin::text FROM hooklatch.processed_events
		UNION ALL SELECT xmin::text FROM hooklatch.deliveries
		UNION ALL SELECT xmin::text FROM hooklatch.river_job) AS everything`
	countEvents     = `SELECT count(*) FROM hooklatch.processed_events`
	countDeliveries = `SELECT count(*) FROM hooklatch.deliveries`
	countJobs       = `SELECT count(*) FROM hooklatch.river_job`
)

// A delivery of many events takes one transaction and is stored once. If half of its events
// are duplicates, exactly the other half is accepted.
func TestBatches(t *testing.T) {
	t.Parallel()
	for _, b := range batches() {
		t.Run(b.provider, func(t *testing.T) {
			t.Parallel()
			p, err := catalog.New(b.provider, provider.Options{})
			require.NoError(t, err)
			s := setupStored(t, func(o *gateway.Options) {
				o.PublicURL = mustURL("https://hooks.example.com")
				o.Sources = []gateway.Source{{Name: "batch", Provider: p, Secrets: []gateway.Secret{{Value: secret.New(b.key)}}}}
			})
			accepted := func(body string, events, duplicates int) []byte {
				t.Helper()
				got, sent := b.send(t, s, p, body)
				require.Less(t, got.status, 300, got.body)
				status := "accepted"
				if events == duplicates {
					status = "duplicate"
				}
				require.Equal(t, status, got.header.Get(gateway.StatusHeader))
				require.Len(t, s.logs.lines(t, "duplicate received"), duplicates)
				return sent
			}
			half := b.size / 2

			sent := accepted(b.body(0, b.size), b.size, 0)
			require.Equal(t, 1, s.count(t, allTransactions))
			require.Equal(t, b.size, s.count(t, countEvents))
			require.Equal(t, b.size, s.count(t, countJobs))
			require.Equal(t, b.size, s.count(t, `SELECT count(DISTINCT payload_hash) FROM hooklatch.processed_events`), "each event has its own hash")
			require.Equal(t, b.size, s.count(t, `SELECT count(DISTINCT item) FROM hooklatch.processed_events`), "each event has its own position in the delivery")
			require.Equal(t, 1, s.count(t, countDeliveries))
			var body []byte
			require.NoError(t, s.pool.QueryRow(t.Context(), "SELECT body FROM hooklatch.deliveries").Scan(&body))
			require.Equal(t, sent, body)

			accepted(b.body(half, half+b.size), b.size, b.size-half)
			require.Equal(t, half+b.size, s.count(t, countEvents))
			require.Equal(t, half+b.size, s.count(t, countJobs))
			require.Equal(t, 2, s.count(t, countDeliveries))
			require.Equal(t, 1, s.count(t, `SELECT count(DISTINCT delivery_id) FROM hooklatch.processed_events WHERE event_id = ANY (
				SELECT args->>'event_id' FROM hooklatch.river_job ORDER BY id DESC LIMIT $1)`, half), "the new half came with the second delivery")
			for _, line := range s.logs.lines(t, "duplicate received") {
				require.NotContains(t, line, "reason", "no duplicate differs from the first copy")
			}

			got, _ := b.send(t, s, p, b.body(0, half+b.size))
			require.Equal(t, "duplicate", got.header.Get(gateway.StatusHeader))
			require.Equal(t, half+b.size, s.count(t, countEvents))
			require.Equal(t, half+b.size, s.count(t, countJobs))
			require.Equal(t, 2, s.count(t, countDeliveries), "a delivery of duplicates is not stored")
		})
	}
}

func TestEmptyDeliveriesStoreNothing(t *testing.T) {
	t.Parallel()
	for _, b := range batches() {
		if b.empty == "" {
			continue
		}
		t.Run(b.provider, func(t *testing.T) {
			t.Parallel()
			p, err := catalog.New(b.provider, provider.Options{})
			require.NoError(t, err)
			s := setupStored(t, func(o *gateway.Options) {
				o.PublicURL = mustURL("https://hooks.example.com")
				o.Sources = []gateway.Source{{Name: "batch", Provider: p, Secrets: []gateway.Secret{{Value: secret.New(b.key)}}}}
			})
			got, _ := b.send(t, s, p, b.empty)
			require.Less(t, got.status, 300, got.body)
			require.Equal(t, "empty", got.header.Get(gateway.StatusHeader))
			require.Zero(t, s.count(t, countEvents)+s.count(t, countDeliveries)+s.count(t, countJobs))
			require.Len(t, s.logs.lines(t, "empty delivery"), 1)
		})
	}
}

// If the last of many events is invalid, the gateway refuses the whole delivery and stores
// nothing.
func TestBatchIsAllOrNothing(t *testing.T) {
	t.Parallel()
	s := setupStored(t, func(*gateway.Options) {})
	events := make([]map[string]string, 100)
	for i := range events {
		events[i] = map[string]string{"id": strconv.Itoa(i), "type": "x"}
	}
	events[99]["id"] = strings.Repeat("x", 256)
	body, err := json.Marshal(map[string]any{"events": events})
	require.NoError(t, err)
	require.Equal(t, http.StatusUnprocessableEntity, s.post(t, "orders", string(body)).status)
	require.Zero(t, s.count(t, countEvents)+s.count(t, countDeliveries)+s.count(t, countJobs))
}

// If a JSON object repeats a key, the last value counts everywhere: for the events' ids, and
// for the bytes stored and hashed as each event.
func TestEqualKeysMeanTheSameToAll(t *testing.T) {
	t.Parallel()
	p, err := catalog.New("line", provider.Options{})
	require.NoError(t, err)
	var line batch
	for _, b := range batches() {
		if b.provider == "line" {
			line = b
		}
	}
	s := setupStored(t, func(o *gateway.Options) {
		o.Sources = []gateway.Source{{Name: "batch", Provider: p, Secrets: []gateway.Secret{{Value: secret.New(line.key)}}}}
	})
	const a, b = `{"type":"message","webhookEventId":"A"}`, `{"type":"message","webhookEventId":"B"}`
	got, _ := line.send(t, s, p, `{"destination":"x","events":[`+a+`],"events":[`+b+`]}`)
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.Equal(t, 1, s.count(t, countEvents))
	e, err := s.outbox.Inbox().Event(t.Context(), identity.EventRef{Source: "batch", EventID: "B"})
	require.NoError(t, err)
	require.Equal(t, b, string(e.Payload()))
	var same bool
	require.NoError(t, s.pool.QueryRow(t.Context(), `SELECT payload_hash = sha256(convert_to($1, 'UTF8')) FROM hooklatch.processed_events`, b).Scan(&same))
	require.True(t, same)
}
