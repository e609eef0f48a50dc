// Package freeport finds unused ports on this machine. Embedded Postgres, the harness and tests of
// whole processes use it for a server that must keep its port while the server is down.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
)

// The ports are below the range from which systems choose ports for outgoing connections and
// for servers that listen on any port. On Linux that range begins at 32768.
const (
	first = 16_384
	ports = 16_384
)

// Find returns n different ports on 127.0.0.1 on which nothing listens. If the system allows it,
// Find does not return any of them again, to any process, until this process exits. A program that
// does not use Find may still take such a port first. Then the server for which the port was found
// fails to start, and reports the port as taken.
func Find(n int) ([]int, error) {
	found := make([]int, 0, n)
	var listeners []net.Listener
	defer func() {
		for _, listener := range listeners { // closed at the end, so that no port is returned twice
			listener.Close()
		}
	}()
	for range ports {
		if len(found) == n {
			return found, nil
		}
		port := first + rand.IntN(ports) //nolint:gosec // no secret
		if !reserve(port) {
			continue
		}
		listener, err := net.Listen("tcp", address(port))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		listeners = append(listeners, listener)
		found = append(found, port)
	}
	return nil, errors.New("find a free port: no port is free")
}

// Addresses returns n different addresses, HOST:PORT, with ports from [Find].
func Addresses(n int) ([]string, error) {
	found, err := Find(n)
	addresses := make([]string, 0, n)
	for _, port := range found {
		addresses = append(addresses, address(port))
	}
	return addresses, err
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
