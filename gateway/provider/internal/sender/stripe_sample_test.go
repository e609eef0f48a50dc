package sender_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/sender"
)

// A sample's state matches its type.
func TestSamplesOfStripeAgreeWithTheirTypes(t *testing.T) {
	t.Parallel()
	stripe, err := sender.Stripe(provider.Options{})
	require.NoError(t, err)
	for eventType, want := range map[string]map[string]string{
		"invoice.paid":                          {"status": "paid", "amount_paid": "4200", "amount_remaining": "0", "object": "invoice"},
		"invoice.payment_failed":                {"status": "open", "amount_paid": "0", "amount_remaining": "4200"},
		"invoice.voided":                        {"status": "void"},
		"customer.created":                      {"id": "cus_1", "object": "customer", "email": "jenny.rosen@example.com"},
		"customer.subscription.updated":         {"object": "subscription", "customer": "cus_1", "status": "active", "items.data.0.price.unit_amount": "4200"},
		"customer.subscription.deleted":         {"status": "canceled"},
		"charge.succeeded":                      {"status": "succeeded", "paid": "true", "refunded": "false"},
		"charge.refunded":                       {"refunded": "true", "amount_refunded": "4200"},
		"charge.failed":                         {"status": "failed", "paid": "false"},
		"payment_intent.succeeded":              {"status": "succeeded", "amount_received": "4200"},
		"payment_intent.payment_failed":         {"status": "requires_payment_method", "amount_received": "0"},
		"checkout.session.completed":            {"object": "checkout.session", "payment_status": "paid", "status": "complete"},
		"checkout.session.expired":              {"payment_status": "unpaid", "status": "expired"},
		"checkout.session.async_payment_failed": {"payment_status": "unpaid"},
		"price.created":                         {"object": "price", "id": "obj_1"},
	} {
		body := stripe.Sample(eventType, "evt_1", time.Unix(1_795_420_800, 0)).Body
		require.Equal(t, eventType, gjson.GetBytes(body, "type").String())
		for path, value := range want {
			require.Equal(t, value, gjson.GetBytes(body, "data.object."+path).String(), "%s: %s", eventType, path)
		}
	}
}
