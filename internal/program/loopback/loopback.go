// Package loopback recognises localhost and loopback addresses, which lead to this machine.
package loopback

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Is reports whether a host, without a port, is localhost or a loopback address.
func Is(host string) bool {
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// Called reports whether a request's Host header is localhost or a loopback address, with or
// without a port. A web site can point its own name at 127.0.0.1 and let a browser read the
// responses (DNS rebinding), but it cannot change the Host header.
func Called(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return Is(host)
}

// From reports whether a program on this machine sent a request itself: Called is true, the address
// of the client is a loopback address, and no proxy has added a header about its own client.
func From(r *http.Request) bool {
	client, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && client.Addr().Unmap().IsLoopback() && Called(r) &&
		r.Header.Get("Forwarded") == "" && r.Header.Get("X-Forwarded-For") == ""
}

// Reachable returns the address at which this machine reaches a listener. For a listener on all
// addresses, Reachable returns a loopback address. An empty port becomes 80, and a text that is not
// host:port stays as it is.
func Reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, cmp.Or(port, "80"))
}
