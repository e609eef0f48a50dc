// Package egress decides which addresses this program may connect to when the target comes
// from configuration or event data.
package egress

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

// BlockedError is returned when the egress guard refused an address.
type BlockedError struct {
	host string
	why  string
}

// Error implements error.
func (e *BlockedError) Error() string {
	return fmt.Sprintf("egress guard refused %s: %s", e.host, e.why)
}

// Options describe a Guard's target, and the addresses that the Guard may reach besides public
// ones.
type Options struct {
	// Host and Port are taken from the target's configured URL. If they are empty, no address
	// counts as the target's own.
	Host, Port string
	// AllowPrivate lists prefixes of non-global addresses that may be reached.
	AllowPrivate []netip.Prefix
	// Resolver looks up hosts; nil: the system's resolver. The guard checks its results.
	Resolver *net.Resolver
}

// Guard dials for one target, such as a destination. It checks every address after name resolution
// and right before the connection opens. So neither a disguised literal nor a name that resolves
// differently the second time gets past the guard.
//
// An address is reachable if IANA's registries list it as global unicast, or if AllowPrivate
// contains it. It is also reachable if the target's configured URL contains it: the same literal
// address, or a loopback address for `localhost`. The exemption for the configured URL applies only
// to that URL's host and port. A URL computed from event data with another host or port never has
// this exemption. AllowPrivate must list the address of a cloud metadata service individually: a
// network that contains the address is not enough. An IPv6 address that is translated to an IPv4
// address is reachable only if the IPv4 address is reachable too, unless the URL contains the IPv6
// address.
type Guard struct {
	host      string // as configured, canonical
	port      string
	only      string     // the only port that may be dialed; empty: any
	literal   netip.Addr // valid if host is a literal address
	localhost bool
	alone     map[netip.Addr]bool // addresses that AllowPrivate lists individually
	addresses *ssrf.Guardian
	dialer    net.Dialer
}

// New creates a target's guard. It does not connect.
func New(o Options) (*Guard, error) {
	var v4, v6 []netip.Prefix
	alone := map[netip.Addr]bool{}
	for _, p := range o.AllowPrivate {
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
	g := &Guard{
		host:  CanonicalHost(o.Host),
		port:  o.Port,
		alone: alone,
		addresses: ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork(),
			ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...)),
		dialer: net.Dialer{Resolver: o.Resolver},
	}
	g.localhost = isLocalhost(g.host)
	if ip, err := netip.ParseAddr(o.Host); err == nil {
		g.literal = ip.Unmap()
	} else if endsInNumber(g.host) {
		return nil, fmt.Errorf("host %q is not a valid address", o.Host)
	}
	return g, nil
}

// Public creates a guard that reaches only public addresses, on one port.
func Public(port string) *Guard {
	return &Guard{only: port, addresses: ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork())}
}

// DialContext connects to a host and port if the guard allows it. It returns a *BlockedError if the
// guard refuses the port, the host name or all addresses of the host.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if g.only != "" && port != g.only {
		return nil, &BlockedError{host: host, why: "port " + port + " is not " + g.only}
	}
	own := CanonicalHost(host) == g.host && port == g.port
	if err := g.checkName(host, own); err != nil {
		return nil, err
	}
	if CanonicalHost(host) == "localhost" {
		address = net.JoinHostPort("localhost", port) // Some resolvers do not know "localhost.".
	}

	// The dialer may try two addresses simultaneously.
	var mu sync.Mutex
	var blocked error
	allowed := false
	dialer := g.dialer
	dialer.Control = func(_, resolved string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(resolved)
		if err != nil {
			err = &BlockedError{host: host, why: "it did not resolve to an IP address"}
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
	if _, ok := errors.AsType[*BlockedError](err); ok {
		// One of several addresses was refused, and another was unreachable.
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("no allowed address of the host answered")}
	}
	return nil, err
}

// checkName refuses names that must not even be resolved.
func (g *Guard) checkName(host string, own bool) error {
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	if endsInNumber(CanonicalHost(host)) {
		// Some systems' resolvers read 2130706433, 0x7f.1 and 0177.1 as 127.0.0.1.
		return &BlockedError{host: host, why: "it is not a valid address"}
	}
	if !own && isLocalhost(CanonicalHost(host)) {
		v4, v6 := netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()
		if err := g.checkAddr(host, v4, false); err != nil && g.checkAddr(host, v6, false) != nil {
			return err
		}
	}
	return nil
}

// checkAddr refuses an address that is not reachable by the rules in the comment of Guard.
func (g *Guard) checkAddr(host string, ip netip.Addr, own bool) error {
	ip = ip.Unmap()
	if own && (ip == g.literal || g.localhost && ip.IsLoopback()) {
		return nil
	}
	if isMetadataService(ip) && !g.alone[ip.WithZone("")] {
		return g.blocked(host, ip, "is the metadata service of a cloud", " alone")
	}
	if g.addresses.SafeAddr(ip.WithZone("")) != nil {
		return g.blocked(host, ip, "is not a global address", "")
	}
	if v4, is := translated(ip); is {
		return g.checkAddr(host, v4, false)
	}
	return nil
}

func (g *Guard) blocked(host string, ip netip.Addr, what, alone string) error {
	why := ip.String() + " " + what
	if g.only == "" { // a guard from Public has no allow_private
		why += ", and allow_private does not name it" + alone
	}
	return &BlockedError{host: host, why: why}
}

// CanonicalHost returns a host name's canonical spelling: in lower case, without the final
// dot.
func CanonicalHost(host string) string {
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// isLocalhost reports whether a host has one of the names in RFC 6761, section 6.3.
func isLocalhost(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// endsInNumber reports whether a name's last label is a number, decimal or hexadecimal. Such a
// host is an IPv4 address in some notation, or invalid (WHATWG URL standard, "ends in a number
// checker").
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last != "" && strings.Trim(last, "0123456789") == "" {
		return true
	}
	hex, ok := strings.CutPrefix(last, "0x")
	return ok && strings.Trim(hex, "0123456789abcdef") == ""
}
