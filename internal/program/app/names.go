package app

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// lookupPatience is the time that a connection waits for name servers if addresses of its host
	// are known, or if a connection to another host has succeeded. It is shorter than the default
	// of gateway.accept_timeout.
	lookupPatience = time.Second
	// lookupTimeout limits a lookup, so that name servers are asked again.
	lookupTimeout = 30 * time.Second
)

// hostNames looks up the hosts of database URLs. While name servers fail or do not respond, it
// returns the latest addresses, because Postgres may well be available. The address of the latest
// successful connection comes first. A connection to these addresses passes the usual checks: the
// certificate must be that of the host, and the server must not be a former primary.
type hostNames struct {
	lookup pgconn.LookupFunc

	mu    sync.Mutex
	hosts map[string]*hostName
}

// hostName records the addresses of one host name, and its lookup in progress.
type hostName struct {
	found   []string    // the latest addresses from name servers
	proven  string      // the address in found of the latest successful connection, or empty
	current *hostLookup // the lookup in progress, or nil
}

// hostLookup is one lookup, for all connections that need it.
type hostLookup struct {
	ended chan struct{} // closed when addrs and err are set
	late  chan struct{} // closed lookupPatience after the beginning
	addrs []string
	err   error
}

func newHostNames(with pgconn.LookupFunc) *hostNames {
	return &hostNames{lookup: with, hosts: make(map[string]*hostName)}
}

// addresses is used as pgconn.Config.LookupFunc.
func (n *hostNames) addresses(ctx context.Context, name string) ([]string, error) {
	l := n.begin(ctx, name)
	late := l.late
	for {
		select {
		case <-l.ended:
			if known := n.known(name); l.err != nil && known != nil {
				return known, nil
			}
			return l.addrs, l.err
		case <-late:
			if known := n.known(name); known != nil {
				return known, nil
			}
			if n.anyProven() { // the URL may name several hosts, and this one may be a standby
				return nil, &net.DNSError{Err: "name servers do not respond", Name: name, IsTimeout: true}
			}
			late = nil // only the name servers can help
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// known returns the latest addresses from name servers, the proven address first. Another address
// may be that of a standby that has become the primary.
func (n *hostNames) known(name string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := n.hosts[name]
	if h.proven == "" {
		return h.found
	}
	others := slices.DeleteFunc(slices.Clone(h.found), func(address string) bool { return address == h.proven })
	return append([]string{h.proven}, others...)
}

// anyProven reports whether any name has a proven address.
func (n *hostNames) anyProven() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, h := range n.hosts {
		if h.proven != "" {
			return true
		}
	}
	return false
}

// begin returns the lookup of a name that is in progress, or begins one.
func (n *hostNames) begin(ctx context.Context, name string) *hostLookup {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := n.hosts[name]
	if h == nil {
		h = &hostName{}
		n.hosts[name] = h
	}
	if h.current == nil {
		l := &hostLookup{ended: make(chan struct{}), late: make(chan struct{})}
		h.current = l
		go n.run(context.WithoutCancel(ctx), name, h, l)
	}
	return h.current
}

// run carries out a lookup. An address is no longer proven once name servers respond without it: it
// may be the address of a former primary.
func (n *hostNames) run(ctx context.Context, name string, h *hostName, l *hostLookup) {
	late := time.AfterFunc(lookupPatience, func() { close(l.late) })
	defer late.Stop()
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	l.addrs, l.err = n.lookup(ctx, name)
	n.mu.Lock()
	defer n.mu.Unlock()
	h.current = nil
	known, ok := errors.AsType[*net.DNSError](l.err)
	if l.err == nil || ok && known.IsNotFound {
		h.found = l.addrs
		if !slices.Contains(h.found, h.proven) {
			h.proven = ""
		}
	}
	close(l.ended)
}

// remember is used as pgconn.Config.ValidateConnect after all other checks. It records the address
// of a successful connection.
func (n *hostNames) remember(_ context.Context, conn *pgconn.PgConn) error {
	address, _, err := net.SplitHostPort(conn.Conn().RemoteAddr().String())
	if err != nil {
		return nil // a Unix socket
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, h := range n.hosts {
		if slices.Contains(h.found, address) {
			h.proven = address
		}
	}
	return nil
}
