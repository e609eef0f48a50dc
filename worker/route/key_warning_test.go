package route

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKeyWarnings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		types []string
		key   string
		want  string
	}{
		{[]string{"invoice.paid"}, "body.data.object.id", ""},
		{[]string{"customer.subscription.updated"}, "body.data.object.id", "events of type customer.subscription.updated occur more than once"},
		{[]string{"invoice.paid", "invoice.*"}, "body.data.object.id", "events of type invoice.* occur more than once"},
		{nil, "body.id", "events of all types occur more than once"},
		{[]string{"orderUpdated"}, `"o-" + string(body.id)`, "occur more than once"},
		{[]string{"orderUpdated"}, `body.id + "@" + body.updatedAt`, ""},
		{[]string{"*.updated"}, "event.id", ""},
		{[]string{"*.updated"}, "body.id + string(event.occurred_at)", ""},
		{[]string{"*.updated"}, "event.source + body.created_at", "occur more than once"},
		{[]string{"customer.updated"}, `body["id"] + ":" + string(body.version)`, ""},
		{[]string{"customer.updated"}, `body["object"]["updated_at"]`, ""},
		{[]string{"customer.updated"}, `body["object"]["id"]`, "occur more than once"},
		{[]string{"customer.updated"}, `headers["x-request-id"]`, ""},
		{[]string{"invoice.paid"}, `"always"`, "is the same for all events"},
		{[]string{"customer.updated"}, "", ""},
		{[]string{"customer.updated"}, "body.", ""}, // Check reports the reason
	} {
		warnings := KeyWarnings([]Route{{Name: "r", Types: c.types, Key: c.key}})
		if c.want == "" {
			require.Empty(t, warnings, "%v %s", c.types, c.key)
			continue
		}
		require.Len(t, warnings, 1, "%v %s", c.types, c.key)
		require.Contains(t, warnings[0].String(), c.want)
	}
}
