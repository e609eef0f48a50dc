package programs

import (
	"fmt"
	"net"
)

// FreeAddresses returns n different addresses of this machine at which nobody
// listens. They come from the system's range for outgoing connections, so one may
// be taken before it is listened at; a process that fails for that says so.
func FreeAddresses(n int) ([]string, error) {
	var listeners []net.Listener
	defer func() {
		for _, listener := range listeners { // all at the end: none is given twice
			listener.Close()
		}
	}()
	addresses := make([]string, 0, n)
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free address: %w", err)
		}
		listeners = append(listeners, listener)
		addresses = append(addresses, listener.Addr().String())
	}
	return addresses, nil
}
