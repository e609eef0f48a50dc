package route

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

func TestCompileCondition(t *testing.T) {
	t.Parallel()
	condition, err := CompileCondition(`event.source == "stripe" && body.amount > 100`)
	require.NoError(t, err)
	event := func(body string) *inbox.Event {
		return &inbox.Event{EventRef: identity.EventRef{Source: "stripe", EventID: "evt_1"}, ContentType: jsonContentType, Body: []byte(body)}
	}
	yes, err := condition(event(`{"amount": 101}`))
	require.NoError(t, err)
	require.True(t, yes)
	yes, err = condition(event(`{"amount": 100}`))
	require.NoError(t, err)
	require.False(t, yes)
	yes, err = condition(event("\ufeff" + `{"amount": 101}`))
	require.NoError(t, err, "a byte order mark is not read")
	require.True(t, yes)
	_, err = condition(event(`{}`))
	require.ErrorContains(t, err, "stripe/evt_1")

	_, err = CompileCondition(`event.nothing`)
	require.Error(t, err)
	_, err = CompileCondition(`"text"`)
	require.ErrorContains(t, err, "must be bool")
}
