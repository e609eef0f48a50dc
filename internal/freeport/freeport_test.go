package freeport_test

import (
	"net"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/freeport"
)

// Find returns no port that the system may use for an outgoing connection before the server starts
// or while it is down.
func TestPortsAreNotThoseOfOutgoingConnections(t *testing.T) {
	t.Parallel()
	ports, err := freeport.Find(200)
	require.NoError(t, err)
	for _, port := range ports {
		require.GreaterOrEqual(t, port, 1024, "an ordinary user may listen on the port")
		require.Less(t, port, 32_768, "Linux takes ports for outgoing connections from 32768 on")
	}
	slices.Sort(ports)
	require.Len(t, slices.Compact(ports), 200)
}

// Find returns a port only once, even if no server listens on it.
func TestAPortIsGivenOutOnce(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux lets a server listen at a port that is reserved")
	}
	given := map[int]bool{}
	for range 10 {
		found, err := freeport.Find(60)
		require.NoError(t, err)
		for _, port := range found {
			require.False(t, given[port], "%d", port)
			given[port] = true
		}
	}
}

// Addresses returns no address on which a process listens.
func TestAddressesAreListenedAt(t *testing.T) {
	t.Parallel()
	addresses, err := freeport.Addresses(20)
	require.NoError(t, err)
	for _, address := range addresses {
		listener, err := net.Listen("tcp", address)
		require.NoError(t, err)
		defer listener.Close()
	}
}
