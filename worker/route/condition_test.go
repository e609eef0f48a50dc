package route

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

func TestCompileCondition(t *testing.T) {
	t.Parallel()
	condition, err := CompileCondition(t.Context(), `event.source == "stripe" && body.amount > 100`)
	require.NoError(t, err)
	event := func(body string) *inbox.Event {
		return &inbox.Event{EventRef: identity.EventRef{Source: "stripe", EventID: "evt_1"}, ContentType: jsonContentType, Body: []byte(body)}
	}
	yes, err := condition.By(event(`{"amount": 101}`))
	require.NoError(t, err)
	require.True(t, yes)
	yes, err = condition.By(event(`{"amount": 100}`))
	require.NoError(t, err)
	require.False(t, yes)
	yes, err = condition.By(event("\ufeff" + `{"amount": 101}`))
	require.NoError(t, err, "a byte order mark is not read")
	require.True(t, yes)
	_, err = condition.By(event(`{}`))
	require.ErrorContains(t, err, "stripe/evt_1")

	_, err = CompileCondition(t.Context(), `event.nothing`)
	require.Error(t, err)
	_, err = CompileCondition(t.Context(), `"text"`)
	require.ErrorContains(t, err, "must be bool")
}
