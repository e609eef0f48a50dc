package outbox

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The statistics outlast every erasure, so they must not contain personal data from a sender.
func TestOnlyWordsAreReasonsOfRetries(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"": "", "http_timeout": "http_timeout", "SSL-Error": "ssl-error", "503": "503",
		"jane@example.com": otherReason, "Jane Doe": otherReason, "caf\u00e9": otherReason, strings.Repeat("x", maxRetryReason+1): otherReason,
	} {
		require.Equal(t, want, reasonWord(said), said)
	}
}
