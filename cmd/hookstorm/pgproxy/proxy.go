// Package pgproxy proxies the connections between processes and Postgres. It connects to the
// current primary, reads the statements, and injects faults on request.
package pgproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"
)

// dialTimeout bounds the wait for a connection to the server.
const dialTimeout = 5 * time.Second

// acceptPause is the pause between tries to accept a connection.
const acceptPause = 10 * time.Millisecond

// Options configure a Proxy.
type Options struct {
	// Target is the server's address, host:port. If empty, new connections are reset.
	// SetTarget changes it.
	Target string
}

// Proxy relays connections to a server. The connections are not encrypted, so that the
// proxy can read them.
type Proxy struct {
	ctx     context.Context // context for opening connections to the server; Stop cancels it
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu        sync.Mutex
	stopped   bool
	target    string
	listeners map[string]*Listener
	conns     map[*conn]struct{}
	armed     []*Armed      // in the order of arming
	changed   chan struct{} // closed when armed changes
}

// Listener is an address of the proxy. Separate listeners make processes distinguishable.
type Listener struct {
	name string
	net  net.Listener
}

// Start starts a proxy with one listener.
func Start(opts Options) (*Proxy, error) {
	p := &Proxy{
		target: opts.Target, changed: make(chan struct{}),
		listeners: map[string]*Listener{}, conns: map[*conn]struct{}{},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	if _, err := p.listen(""); err != nil {
		p.cancel()
		return nil, err
	}
	return p, nil
}

// Stop closes all listeners and connections. Further calls do nothing.
func (p *Proxy) Stop() {
	p.mu.Lock()
	p.stopped = true
	p.cancel()
	for _, l := range p.listeners {
		_ = l.net.Close() // the listener is not needed again
	}
	for c := range p.conns {
		c.close()
	}
	p.mu.Unlock()
	p.DisarmAll()
	p.running.Wait()
}

// Listener returns the listener with this name. If necessary, it opens one on a free port.
func (p *Proxy) Listener(name string) (*Listener, error) {
	p.mu.Lock()
	l := p.listeners[name]
	p.mu.Unlock()
	if l != nil {
		return l, nil
	}
	return p.listen(name)
}

func (p *Proxy) listen(name string) (*Listener, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open listener of the proxy: %w", err)
	}
	l := &Listener{name: name, net: listener}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		_ = listener.Close() // the listener was never used
		return nil, errors.New("open listener of the proxy: it was stopped")
	}
	p.listeners[name] = l
	p.running.Go(func() { p.accept(l) })
	return l, nil
}

// Address returns the address for clients, host:port.
func (l *Listener) Address() string { return l.net.Addr().String() }

// URL returns a server's URL with the listener's address instead of the server's, and with
// sslmode=disable.
func (l *Listener) URL(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", errors.New("the URL of the server cannot be read") // the cause quotes the password
	}
	u.Host = l.Address()
	query := u.Query()
	query.Set("sslmode", "disable")
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// SetTarget relays new connections to the server at address, and cuts connections to any other
// server. With an empty address, new connections are reset.
func (p *Proxy) SetTarget(address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = address
	for c := range p.conns {
		if c.target != "" && c.target != address {
			c.close()
		}
	}
}

// Target returns the address of the server.
func (p *Proxy) Target() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.target
}

// Connection is a connection that the server has accepted.
type Connection struct {
	Listener    string
	Application string
	BackendPID  uint32
}

// accepted counts the selected connections that the proxy has connected to a server. The caller
// holds p.mu.
func (p *Proxy) accepted(who Who) int {
	count := 0
	for c := range p.conns {
		if c.target != "" && who.has(c) {
			count++
		}
	}
	return count
}

// Connections returns the selected connections that the server has accepted.
func (p *Proxy) Connections(who Who) []Connection {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []Connection
	for c := range p.conns {
		if pid := c.backend.Load(); pid != 0 && who.has(c) {
			found = append(found, Connection{Listener: c.listener, Application: c.application, BackendPID: pid})
		}
	}
	return found
}

// Cut closes the selected connections at both ends and returns their number.
func (p *Proxy) Cut(who Who) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	count := 0
	for c := range p.conns {
		if who.has(c) {
			c.close()
			count++
		}
	}
	return count
}

func (p *Proxy) accept(l *Listener) {
	for {
		client, err := l.net.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			time.Sleep(acceptPause) // the process has no free file descriptor
			continue
		}
		c := &conn{proxy: p, listener: l.name, client: client, closed: make(chan struct{})}
		p.mu.Lock()
		if p.stopped {
			p.mu.Unlock()
			c.close()
			return
		}
		p.conns[c] = struct{}{}
		p.running.Go(func() {
			c.serve()
			p.mu.Lock()
			delete(p.conns, c)
			for _, armed := range p.armed {
				delete(armed.felt, c)
			}
			p.mu.Unlock()
		})
		p.mu.Unlock()
	}
}

// wake makes the connections that are held back check the faults again. The caller holds p.mu.
func (p *Proxy) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}
