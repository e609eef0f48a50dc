package gateway_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// yes is an Accepter that accepts everything immediately and remembers nothing.
type yes struct{}

func (yes) Accept(_ context.Context, d outbox.Delivery) (outbox.Acceptance, error) {
	a := outbox.Acceptance{DeliveryID: uuid.UUID{1}}
	for _, e := range d.Events {
		a.Events = append(a.Events, outbox.AcceptedEvent{
			EventRef: identity.EventRef{Source: d.Source, EventID: e.ID}, Type: e.Type, Status: outbox.Accepted,
		})
	}
	return a, nil
}

// BenchmarkReceive measures the gateway's own cost of a 2 KiB Stripe delivery. It includes
// metrics and log lines, but neither network nor database.
func BenchmarkReceive(b *testing.B) {
	stripe, err := catalog.New("stripe", provider.Options{})
	require.NoError(b, err)
	key := secret.New(testSecret)
	g, err := gateway.New(gateway.Options{
		Accepter:      yes{},
		Sources:       []gateway.Source{{Name: "stripe", Provider: stripe, Secrets: []gateway.Secret{{Value: key}}}},
		MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())),
		Logger:        slog.New(slog.NewJSONHandler(io.Discard, nil)), //nolint:sloglint // formatting is part of the cost
	})
	require.NoError(b, err)
	body := []byte(`{"id":"evt_1","object":"event","type":"invoice.paid","created":1795000000,"data":{"object":{"pad":"` + strings.Repeat("x", 1900) + `"}}}`)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		signed := &provider.Request{Method: http.MethodPost, URL: mustURL("https://a/webhooks/stripe"), Header: http.Header{}, Body: body}
		require.NoError(b, stripe.Sign(signed, key, time.Now()))
		r := httptest.NewRequest(http.MethodPost, "/webhooks/stripe", bytes.NewReader(body))
		r.Header = signed.Header
		recorder := httptest.NewRecorder()
		b.StartTimer()
		g.Handler().ServeHTTP(recorder, r)
		b.StopTimer()
		require.Equal(b, http.StatusOK, recorder.Code)
		b.StartTimer()
	}
}
