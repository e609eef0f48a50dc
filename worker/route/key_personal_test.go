package route

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKeysOfAddressesAreFound(t *testing.T) {
	t.Parallel()
	found := PersonalKeys([]Route{
		{Name: "a", Key: "body.customer.email"},
		{Name: "b", Key: `"x" + body["Phone_number"] + body.customerEmail + body.customerEmail`, OrderBy: "body.from.mobile"},
		{Name: "c", Key: "body.email_id", LatestBy: "body.emailHash", OrderBy: "event.id"},
		{Name: "d", Key: "body.mailbox + body.id"},
		{Name: "e", Key: "body."},
	})
	require.Equal(t, []PersonalKey{
		{"a", "key", "email"},
		{"b", "key", "Phone_number"},
		{"b", "key", "customerEmail"},
		{"b", "order_by", "mobile"},
	}, found)
	require.Equal(t, `route "a": key: reads email, which identifies a person`, found[0].String())
}
