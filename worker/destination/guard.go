package destination

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"

	"code.dny.dev/ssrf"
)

// blockedError says that the egress guard refused an address.
type blockedError struct {
	host string
	why  string
}

func (e *blockedError) Error() string {
	return fmt.Sprintf("egress guard refused %s: %s", e.host, e.why)
}

// guard dials for one destination, and checks every address after it was
// resolved and right before the connection is made, so that neither a literal
// in disguise nor a name that resolves differently the second time gets past.
//
// An address is reached when it is global unicast by the registries of IANA,
// when allow_private names it, or when the destination's own configured URL
// names it: the same literal address, or a loopback one for `localhost`. That
// last exemption holds for host and port of that URL only; a URL computed
// from event data with another host or port never has it. The metadata services
// of clouds are not reached by a network in allow_private, but by their address
// alone.
type guard struct {
	host      string // as configured, canonical
	port      string
	literal   netip.Addr // valid when host is a literal address
	localhost bool
	alone     map[netip.Addr]bool // addresses that allow_private names one by one
	addresses *ssrf.Guardian
	dialer    net.Dialer
}

func newGuard(host, port string, allow []netip.Prefix, resolver *net.Resolver) (*guard, error) {
	var v4, v6 []netip.Prefix
	alone := map[netip.Addr]bool{}
	for _, p := range allow {
		switch {
		case !p.IsValid() || p.Addr().Is4In6():
			return nil, fmt.Errorf("allow_private %q is not a prefix of IPv4 or IPv6 addresses", p)
		case p.Addr().Is4():
			v4 = append(v4, p)
		default:
			v6 = append(v6, p)
		}
		if p.IsSingleIP() {
			alone[p.Addr()] = true
		}
	}
	g := &guard{
		host:  canonicalHost(host),
		port:  port,
		alone: alone,
		addresses: ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork(),
			ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...)),
		dialer: net.Dialer{Resolver: resolver},
	}
	g.localhost = isLocalhost(g.host)
	if ip, err := netip.ParseAddr(host); err == nil {
		g.literal = ip.Unmap()
	} else if endsInNumber(g.host) {
		return nil, fmt.Errorf("host %q is not a valid address", host)
	}
	return g, nil
}

// DialContext connects to a host and port, if the guard lets it. Its error is
// a *blockedError when no address of the host was allowed.
func (g *guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	own := canonicalHost(host) == g.host && port == g.port
	if err := g.checkName(host, own); err != nil {
		return nil, err
	}
	if canonicalHost(host) == "localhost" {
		address = net.JoinHostPort("localhost", port) // Not every resolver knows "localhost.".
	}

	// The dialer may try two addresses at the same time.
	var mu sync.Mutex
	var blocked error
	allowed := false
	dialer := g.dialer
	dialer.Control = func(_, resolved string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(resolved)
		if err != nil {
			err = &blockedError{host: host, why: "it did not resolve to an IP address"}
		} else {
			err = g.checkAddr(host, ap.Addr(), own)
		}
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			blocked = err
			return err
		}
		allowed = true
		return nil
	}
	conn, err := dialer.DialContext(ctx, network, address)
	if err == nil {
		return conn, nil
	}
	mu.Lock()
	defer mu.Unlock()
	if blocked != nil && !allowed {
		return nil, blocked
	}
	if _, ok := errors.AsType[*blockedError](err); ok {
		// One of several addresses was refused, and another did not answer.
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("no allowed address of the host answered")}
	}
	return nil, err
}

// checkName refuses what must not even be looked up.
func (g *guard) checkName(host string, own bool) error {
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	if endsInNumber(canonicalHost(host)) {
		// Resolvers of some systems read 2130706433, 0x7f.1 and 0177.1 as 127.0.0.1.
		return &blockedError{host: host, why: "it is not a valid address"}
	}
	if !own && isLocalhost(canonicalHost(host)) {
		v4, v6 := netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()
		if err := g.checkAddr(host, v4, false); err != nil && g.checkAddr(host, v6, false) != nil {
			return err
		}
	}
	return nil
}

// checkAddr refuses an address that is neither global, nor allowed, nor the
// destination's own.
func (g *guard) checkAddr(host string, ip netip.Addr, own bool) error {
	ip = ip.Unmap()
	if own && (ip == g.literal || g.localhost && ip.IsLoopback()) {
		return nil
	}
	if isMetadataService(ip) && !g.alone[ip.WithZone("")] {
		return &blockedError{host: host, why: fmt.Sprintf("%s is the metadata service of a cloud, and allow_private does not name it alone", ip)}
	}
	if g.addresses.SafeAddr(ip.WithZone("")) != nil {
		return &blockedError{host: host, why: fmt.Sprintf("%s is not a global address, and allow_private does not name it", ip)}
	}
	return nil
}

func canonicalHost(host string) string {
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// isLocalhost knows the names of RFC 6761, section 6.3.
func isLocalhost(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// endsInNumber tells whether the last label of a name is a number, decimal or
// hexadecimal: such a host is an IPv4 address in some notation, or nothing
// (WHATWG URL standard, "ends in a number checker").
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if isDigits(last) {
		return true
	}
	hex, ok := strings.CutPrefix(last, "0x")
	return ok && strings.Trim(hex, "0123456789abcdef") == ""
}
