package signin

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxy is a proxy in front of the listener that identifies users.
type Proxy struct {
	// Trusted are the proxy's addresses. Headers from other addresses are ignored.
	Trusted []netip.Prefix
	// User and Groups are the names of the headers that the proxy sets, and removes from its
	// clients' requests. The groups in a header are separated by commas. If Groups is empty, users
	// have no groups.
	User, Groups string
}

// said returns the claims about the user whom the proxy identifies. It returns false if the request
// is not from the proxy, has no user, or repeats a header: one of the values is then not from the
// proxy.
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

// IsProxy reports whether an address belongs to the proxy that authenticates users.
func (g *Guard) IsProxy(addr netip.Addr) bool { return g.opts.Proxy != nil && g.opts.Proxy.is(addr) }
