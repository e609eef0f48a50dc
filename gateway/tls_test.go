package gateway_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
)

// overTLS starts a gateway with httptest's certificate. The bundle's client, and the returned
// configuration for other clients, trust the certificate and prefer HTTP/2.
func overTLS(t *testing.T) (*testBundle, *tls.Config) {
	t.Helper()
	borrowed := httptest.NewUnstartedServer(nil)
	borrowed.StartTLS()
	t.Cleanup(borrowed.Close)
	b := setup(t, func(o *gateway.Options) {
		o.TLS = &tls.Config{Certificates: borrowed.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}}
	})
	b.url = "https://" + b.gateway.Addr().String()
	roots := x509.NewCertPool()
	roots.AddCert(borrowed.Certificate())
	client := &tls.Config{RootCAs: roots, NextProtos: []string{"h2", "http/1.1"}}
	transport := &http.Transport{TLSClientConfig: client, ForceAttemptHTTP2: true, ExpectContinueTimeout: 2 * time.Minute}
	t.Cleanup(transport.CloseIdleConnections)
	b.client = &http.Client{Transport: transport}
	return b, client
}

func TestDeliveryOverTLS(t *testing.T) {
	t.Parallel()
	b, client := overTLS(t)
	require.Equal(t, http.StatusOK, b.post(t, "orders", `{"id":"a","type":"x"}`).status)
	// The client sends no body before the response: a reset during the body could overtake the
	// response.
	large := b.post(t, "orders", strings.Repeat("x", 2*mib), withHeaders("Expect", "100-continue"))
	require.Equal(t, http.StatusRequestEntityTooLarge, large.status)

	conn, err := tls.Dial("tcp", b.gateway.Addr().String(), client.Clone())
	require.NoError(t, err)
	require.Equal(t, "http/1.1", conn.ConnectionState().NegotiatedProtocol, "HTTP/1.1, whatever the client prefers")
	require.NoError(t, conn.Close())

	old := client.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	_, err = tls.Dial("tcp", b.gateway.Addr().String(), old)
	require.Error(t, err)
}

// The gateway closes a connection on which a client sends plain HTTP instead of a TLS handshake.
// It accepts nothing, and net/http logs no warning.
func TestPlainHTTPOnATLSPort(t *testing.T) {
	t.Parallel()
	b, _ := overTLS(t)
	conn := b.dial(t)
	write(t, conn, "POST /webhooks/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
	answered, err := io.ReadAll(conn)
	if err != nil {
		requireNoTimeout(t, err)
	}
	require.NotContains(t, string(answered), "200")
	require.Empty(t, b.accepter.all())
	require.Empty(t, b.logs.lines(t, "event accepted"))
	require.NotContains(t, b.logs.String(), `"level":"WARN","msg":"http:`)
}
