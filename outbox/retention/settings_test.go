package retention

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

func TestTheLongestOfSettingsIsInEffect(t *testing.T) {
	t.Parallel()
	one := Settings{Dedup: map[identity.Source]time.Duration{"a": 40 * Day, "b": 10 * Day}, Payloads: 5 * Day, Audit: 500 * Day}.WithDefaults()
	other := Settings{Dedup: map[identity.Source]time.Duration{"a": 30 * Day, "c": 60 * Day}, Payloads: 9 * Day, History: 61 * Day}.WithDefaults()
	require.Equal(t, 70*Day, one.History)
	both := longest(one, other)
	require.Equal(t, map[identity.Source]time.Duration{"a": 40 * Day, "b": 10 * Day, "c": 60 * Day}, both.Dedup)
	require.Equal(t, 9*Day, both.Payloads)
	require.Equal(t, 500*Day, both.Audit)
	require.Equal(t, 90*Day, both.History, "effects outlive every event by the larger margin of both settings")
	require.Equal(t, 90*Day, both.dedupOf("gone"), "a source in no settings keeps the default")
	require.Equal(t, 90*Day, both.outliving([]identity.Source{"a", "c"}).History)
	require.Equal(t, 120*Day, both.outliving([]identity.Source{"gone"}).History)
	require.Equal(t, both, both.stored().settings())
}
