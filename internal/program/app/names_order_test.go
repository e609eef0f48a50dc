package app

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// namesOf returns names that name servers have looked up once, each with two addresses of which the
// second is proven. Later lookups call the function that the returned pointer points to.
func namesOf(t *testing.T, hosts ...string) (*hostNames, *func(ctx context.Context, name string) ([]string, error)) {
	t.Helper()
	found := func(context.Context, string) ([]string, error) { return []string{"192.0.2.1", "192.0.2.2"}, nil }
	behave := &found
	n := newHostNames(func(ctx context.Context, name string) ([]string, error) { return (*behave)(ctx, name) })
	for _, host := range hosts {
		_, err := n.addresses(t.Context(), host)
		require.NoError(t, err)
		n.hosts[host].proven = "192.0.2.2"
	}
	return n, behave
}

// hung is a lookup to which no name server responds.
func hung(ctx context.Context, _ string) ([]string, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// If name servers fail or do not respond, the proven address comes first and the other addresses
// follow. A failover may have made the server at another address the primary.
func TestTheOtherAddressesOfANameFollowTheProvenOne(t *testing.T) {
	t.Parallel()
	failed := func(context.Context, string) ([]string, error) { return nil, errors.New("server misbehaving") }
	for name, behaves := range map[string]func(context.Context, string) ([]string, error){"slow": hung, "failing": failed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n, behave := namesOf(t, "db.internal")
				*behave = behaves
				for range 2 { // a lookup must not change the order of found
					got, err := n.addresses(t.Context(), "db.internal")
					require.NoError(t, err)
					require.Equal(t, []string{"192.0.2.2", "192.0.2.1"}, got)
				}
				after(lookupTimeout) // lets a lookup in progress end
				require.Equal(t, []string{"192.0.2.1", "192.0.2.2"}, n.hosts["db.internal"].found)
			})
		})
	}
}
