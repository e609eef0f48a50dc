package brokertest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

func portText(port int) string { return strconv.Itoa(port) }

// testCertificate returns the TLS configuration of a server at 127.0.0.1, and a pool that contains
// the server's certificate.
func testCertificate(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	server.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	return &tls.Config{Certificates: server.TLS.Certificates, MinVersion: tls.VersionTLS12}, trusted
}

// encrypted tests a broker that expects TLS from the first byte.
func encrypted(t *testing.T, b broker) {
	certificate, trusted := testCertificate(t)
	p := newProxy(t, b.server(), certificate)
	encrypt := func(o *destination.BrokerOptions) { o.Servers, o.TLS, o.RootCAs = []string{p.address}, true, trusted }
	requireVerdict(t, ledger.VerdictDone, with(t, b, encrypt).Send(t.Context(), newEffect()))
	out := with(t, b, encrypt, func(o *destination.BrokerOptions) { o.RootCAs = nil }).Send(t.Context(), newEffect())
	requireVerdict(t, ledger.VerdictNotApplied, out)
	require.ErrorContains(t, out.Err, "TLS handshake with "+p.address)
}

// loopback returns a resolver that queries a real DNS server, which returns 127.0.0.1 for every
// name.
func loopback(t *testing.T) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	t.Cleanup(func() { server.Close(); <-done })
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, client, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil {
				continue
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
				}}
			}
			if answer, err := m.Pack(); err == nil {
				_, _ = server.WriteTo(answer, client)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}
