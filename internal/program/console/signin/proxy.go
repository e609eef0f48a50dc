package signin

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxy is one in front of the listener that says who asks.
type Proxy struct {
	// Trusted are the addresses it comes from. Headers of others are ignored.
	Trusted []netip.Prefix
	// User and Groups are the headers that it sets and takes away from others. Groups
	// are separated by commas; empty: there are none.
	User, Groups string
}

// said is whom the proxy names. False: it is not the proxy that asks, or it names nobody.
// A header that is there twice has something in it that is not the proxy's.
func (p *Proxy) said(r *http.Request) (claims map[string]any, ok bool) {
	if p == nil || !p.trusts(r.RemoteAddr) {
		return nil, false
	}
	users := r.Header.Values(p.User)
	if len(users) != 1 || nameOf(users[0]) == Nameless {
		return nil, false
	}
	user, groups := nameOf(users[0]), []any{}
	if p.Groups != "" {
		given := r.Header.Values(p.Groups)
		if len(given) > 1 {
			return nil, false
		}
		for group := range strings.SplitSeq(strings.Join(given, ""), ",") {
			if group = strings.TrimSpace(group); group != "" {
				groups = append(groups, group)
			}
		}
	}
	claims = map[string]any{"user": user, "groups": groups}
	if strings.Contains(user, "@") {
		claims["email"] = user
	}
	return claims, true
}

func (p *Proxy) trusts(remote string) bool {
	peer, err := netip.ParseAddrPort(remote)
	return err == nil && p.is(peer.Addr())
}

func (p *Proxy) is(addr netip.Addr) bool {
	return slices.ContainsFunc(p.Trusted, func(trusted netip.Prefix) bool { return trusted.Contains(addr.Unmap()) })
}

// IsProxy reports whether an address belongs to the proxy that authenticates people.
func (g *Guard) IsProxy(addr netip.Addr) bool { return g.opts.Proxy != nil && g.opts.Proxy.is(addr) }
