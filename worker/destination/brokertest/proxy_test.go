package brokertest

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// proxy passes connections on to a broker, and can lose the broker's replies.
type proxy struct {
	address   string
	deafAfter atomic.Pointer[string] // see goDeafAfter
	deaf      atomic.Bool            // if true, replies are discarded
	connected atomic.Int32

	mu   sync.Mutex
	open []net.Conn
}

// newProxy starts a proxy. With a certificate, clients must use TLS.
func newProxy(t *testing.T, broker string, certificate ...*tls.Config) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	for _, c := range certificate {
		listener = tls.NewListener(listener, c)
	}
	p := &proxy{address: listener.Addr().String()}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.connected.Add(1)
			running.Go(func() { p.pass(client, broker) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		p.cut()
		running.Wait()
	})
	return p
}

func (p *proxy) pass(client net.Conn, broker string) {
	defer client.Close()
	server, err := net.Dial("tcp", broker)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	p.open = append(p.open, client, server)
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(io.MultiWriter(detector{p}, server), client)
		server.Close()
	})
	both.Go(func() {
		_, _ = io.Copy(unlessDeaf{client, p}, server)
		client.Close()
	})
	both.Wait()
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.open {
		conn.Close()
	}
	p.open = nil
}

// goDeafAfter discards all replies from the moment when a client sends the text. Until then,
// replies pass, because a client soon closes a connection without replies.
func (p *proxy) goDeafAfter(text string) { p.deafAfter.Store(&text) }

// hear closes all connections, and passes replies on new ones.
func (p *proxy) hear() {
	p.deafAfter.Store(nil)
	p.deaf.Store(false)
	p.cut()
}

type detector struct{ p *proxy }

func (d detector) Write(b []byte) (int, error) {
	if text := d.p.deafAfter.Load(); text != nil && bytes.Contains(b, []byte(*text)) {
		d.p.deaf.Store(true)
	}
	return len(b), nil
}

type unlessDeaf struct {
	client net.Conn
	p      *proxy
}

func (w unlessDeaf) Write(b []byte) (int, error) {
	if w.p.deaf.Load() {
		return len(b), nil
	}
	return w.client.Write(b)
}
