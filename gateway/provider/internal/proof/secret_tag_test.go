package proof

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// A secret is the same key with and without the prefix that Supabase adds. The error for an
// unusable secret explains what to write.
func TestAStandardSecretMayBeTaggedWithItsVersion(t *testing.T) {
	t.Parallel()
	const text = "whsec_Y2FuYXJ5LXN0YW5kYXJkLXdlYmhvb2tz"
	want, err := StandardSecret().Key(secret.New(text))
	require.NoError(t, err)
	got, err := StandardSecret().Key(secret.New("v1," + text))
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = StandardSecret().Key(secret.New("polar_whs_canary"))
	require.ErrorContains(t, err, "write the secret as {value: ..., encoding: raw}")
	require.NotContains(t, err.Error(), "canary")
	_, err = StandardSecret().Key(secret.New("v1,Y2FuYXJ5"))
	require.Error(t, err)
}
