package gateway_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
)

// A request to a path without a source is logged and counted. If the path begins with a prefix
// that the proxy should have removed, the log line says so.
func TestRequestsToUnknownPathsAreLoggedAndCounted(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *gateway.Options) { o.PublicURL = mustURL("https://hooks.example.com/in") })
	for path, reason := range map[string]string{
		"/in/webhooks/orders": "the proxy in front must remove that prefix", "/orders": "sources are at /webhooks/{source}",
		"//webhooks/orders": "sources are at /webhooks/{source}", "/inside": "sources are at /webhooks/{source}",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+path, http.NoBody)
		require.NoError(t, err)
		require.Equal(t, http.StatusNotFound, b.do(t, r).status, path)
		lines := b.logs.lines(t, "delivery refused")
		last := lines[len(lines)-1]
		require.Equal(t, "unknown_path", last["reason"])
		require.Equal(t, path, last["path"])
		require.Contains(t, last["err"], reason)
	}
	require.Equal(t, map[string]int64{"reason=unknown_path,source=_unknown": 4}, b.counts(t, "hooklatch.rejected"))
}
