package programs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
)

// The ports that are given out are below those from which systems take one for an
// outgoing connection, or for who listens at any: Linux begins at 32768.
const (
	firstPort = 16_384
	ports     = 16_384
)

// FreeAddresses returns n different addresses of this machine at which nobody
// listens. Who else chooses a port by itself may take one before it is listened at; a
// process that fails for that says so.
func FreeAddresses(n int) ([]string, error) {
	var listeners []net.Listener
	defer func() {
		for _, listener := range listeners { // all at the end: none is given twice
			listener.Close()
		}
	}()
	addresses := make([]string, 0, n)
	for range ports {
		if len(addresses) == n {
			return addresses, nil
		}
		port := firstPort + rand.IntN(ports) //nolint:gosec // no secret
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find a free address: %w", err)
		}
		listeners = append(listeners, listener)
		addresses = append(addresses, listener.Addr().String())
	}
	return nil, errors.New("find a free address: none was found")
}
