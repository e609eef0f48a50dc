package gateway

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/hooklatch/hooklatch/internal/strangers"
)

// proxies lists the peers whose X-Forwarded-* headers are trusted. The default is none, because any
// client can send these headers.
type proxies []netip.Prefix

// ipExtractor returns the function that finds the sender's address. Echo's default trusts
// X-Forwarded-For from every peer, and Echo's trusted ranges include all private networks. The
// function trusts only the peers in p.
func (p proxies) ipExtractor() echo.IPExtractor {
	if len(p) == 0 {
		return echo.ExtractIPDirect()
	}
	trust := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, prefix := range p {
		trust = append(trust, echo.TrustIPRange(&net.IPNet{
			IP:   prefix.Addr().AsSlice(),
			Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen()),
		}))
	}
	forwarded := echo.ExtractIPFromXFFHeader(trust...)
	return func(r *http.Request) string { return forwarded(withoutPorts(r)) }
}

// withoutPorts returns a request whose X-Forwarded-For has addresses only. Some proxies add ports,
// and Echo ignores a header with ports.
func withoutPorts(r *http.Request) *http.Request {
	var addresses []string
	ports := false
	for _, value := range r.Header[echo.HeaderXForwardedFor] {
		for address := range strings.SplitSeq(value, ",") {
			address = strings.TrimSpace(address)
			if peer, err := netip.ParseAddrPort(address); err == nil {
				address, ports = peer.Addr().String(), true
			}
			addresses = append(addresses, address)
		}
	}
	if !ports {
		return r
	}
	return &http.Request{RemoteAddr: r.RemoteAddr, Header: http.Header{echo.HeaderXForwardedFor: {strings.Join(addresses, ",")}}}
}

// addressOf returns the prefix to which the limits per address apply: an IPv4 address, or the /64
// network of one IPv6 subscriber. The result is not valid if ip is not an address.
func addressOf(ip string) netip.Prefix {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return netip.Prefix{}
	}
	return strangers.Address(addr)
}

func (p proxies) trust(remote string) bool {
	peer, err := netip.ParseAddrPort(remote)
	return err == nil && p.contain(peer.Addr())
}

func (p proxies) contain(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	for _, prefix := range p {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// publicURL returns the URL that the sender called, in the form that senders sign. The source's
// PublicURL replaces scheme, host and path; PublicURL in Options replaces scheme and host and adds
// its path in front. If neither is set, scheme and host come from the request, or from the
// X-Forwarded headers of a trusted proxy. The rest is exactly as it arrived. A forged host only
// makes the signature wrong.
func (g *Gateway) publicURL(src *source, r *http.Request) *url.URL {
	called := &url.URL{RawQuery: r.URL.RawQuery, ForceQuery: r.URL.ForceQuery}
	switch {
	case src.PublicURL != nil:
		called.Scheme, called.Host = src.PublicURL.Scheme, src.PublicURL.Host
		called.Path, called.RawPath = src.PublicURL.Path, src.PublicURL.RawPath
	case g.opts.PublicURL != nil:
		base := g.opts.PublicURL
		called.Scheme, called.Host = base.Scheme, base.Host
		called.Path = strings.TrimRight(base.Path, "/") + r.URL.Path
		called.RawPath = strings.TrimRight(base.EscapedPath(), "/") + r.URL.EscapedPath()
	default:
		called.Scheme, called.Host = g.calledAt(r)
		called.Path, called.RawPath = r.URL.Path, r.URL.RawPath
	}
	return called
}

func (g *Gateway) calledAt(r *http.Request) (scheme, host string) {
	scheme, host = "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	if !g.proxies.trust(r.RemoteAddr) {
		return scheme, host
	}
	// In a chain of proxies the first value is the protocol that the sender used.
	if proto := strings.ToLower(firstForwarded(r.Header, "X-Forwarded-Proto")); proto == "http" || proto == "https" {
		scheme = proto
	}
	if forwarded := firstForwarded(r.Header, "X-Forwarded-Host"); forwarded != "" {
		host = forwarded
	}
	return scheme, host
}

func firstForwarded(header http.Header, name string) string {
	first, _, _ := strings.Cut(header.Get(name), ",")
	return strings.TrimSpace(first)
}

func validatePublicURL(u *url.URL) error {
	switch {
	case u == nil:
		return nil
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("gateway: PublicURL needs the scheme http or https, got %q", u.Scheme)
	case u.Host == "":
		return errors.New("gateway: PublicURL needs a host")
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return errors.New("gateway: PublicURL takes no user, query or fragment")
	}
	return nil
}
