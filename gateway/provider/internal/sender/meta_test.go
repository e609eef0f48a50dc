package sender

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

// whatsAppStatuses returns a delivery with n statuses.
func whatsAppStatuses(n int) *provider.Request {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(`{"id":"wamid.%d","status":"read","timestamp":"1767225598","recipient_id":"16505551234",`+
			`"conversation":{"id":"a75d17ad","origin":{"type":"service"}},"pricing":{"billable":true,"category":"service"}}`, i)
	}
	return &provider.Request{Body: []byte(`{"object":"whatsapp_business_account","entry":[{"id":"E1","changes":[{"field":"messages","value":{"statuses":[` +
		strings.Join(items, ",") + `]}}]}]}`)}
}

// TestWhatsAppStatuses finds every status in a delivery of the largest size.
func TestWhatsAppStatuses(t *testing.T) {
	t.Parallel()
	for _, declare := range []func(provider.Options) (*provider.Provider, error){WhatsApp, Meta} {
		p := declared(t, declare, provider.Options{})
		events, err := p.Events(whatsAppStatuses(1000))
		require.NoError(t, err)
		require.Len(t, events, 1000)
		for i, e := range events {
			require.Equal(t, fmt.Sprintf("wamid.%d:read", i), e.ID)
			require.Equal(t, fmt.Sprintf("/entry/0/changes/0/value/statuses/%d", i), e.Item)
			require.True(t, strings.HasPrefix(string(e.Part), fmt.Sprintf(`{"id":"wamid.%d",`, i)))
		}
	}
}

// BenchmarkWhatsAppStatuses reads deliveries with 10 to 10,000 statuses. The time per status must
// not depend on the number of statuses.
func BenchmarkWhatsAppStatuses(b *testing.B) {
	p := declared(b, WhatsApp, provider.Options{})
	for _, n := range []int{10, 100, 1000, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			r := whatsAppStatuses(n)
			for b.Loop() {
				if _, err := p.Events(r); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/status")
		})
	}
}
