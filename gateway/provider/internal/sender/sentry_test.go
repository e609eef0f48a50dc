package sender

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
)

// TestSentryReplayToken checks that the token depends on the body, whatever the unsigned id
// is.
func TestSentryReplayToken(t *testing.T) {
	t.Parallel()
	p := declared(t, Sentry, provider.Options{})
	require.True(t, p.UnsignedID)
	a, b, c := signed(t, p, prooftest.Secret, "", "r1"), signed(t, p, prooftest.Secret, "", "r1"), signed(t, p, prooftest.Secret, "issue.resolved", "r1")
	b.Header.Set("Request-ID", "r2")
	require.NotEmpty(t, p.ReplayToken(a))
	require.Equal(t, p.ReplayToken(a), p.ReplayToken(b))
	require.NotEqual(t, p.ReplayToken(a), p.ReplayToken(c))
}
