package quarantine

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// An address that the table has lost is no longer known, however long the process runs.
func TestAnAddressIsForgottenWhenItsRowExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, from := newAddresses(), netip.MustParsePrefix("192.0.2.1/32")
		require.True(t, a.note("stripe", from))
		row := map[sender]bool{{"stripe", from}: true}
		for range 3 {
			a.learn(row)
			require.True(t, a.known("stripe", from))
			time.Sleep(noteAgain) //nolint:forbidigo // synctest's clock
		}
		a.learn(nil)
		require.False(t, a.known("stripe", from))
		require.False(t, a.known("", from))
		require.True(t, a.note("stripe", from))
	})
}
