package prooftest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// Server is a local HTTPS server that acts as every host of a sender.
type Server struct {
	*httptest.Server

	Requests atomic.Int64
	respond  atomic.Pointer[http.HandlerFunc]
}

// NewServer starts a server that runs until the test ends.
func NewServer(t *testing.T, respond http.HandlerFunc) *Server {
	t.Helper()
	s := &Server{}
	s.respond.Store(&respond)
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.Requests.Add(1)
		(*s.respond.Load())(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// Transport returns a transport that connects to the server for every requested host.
func (s *Server) Transport() *http.Transport {
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
		},
		TLSClientConfig:   &tls.Config{RootCAs: roots, ServerName: "example.com", MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true,
	}
}

// Answer changes how the server responds from now on.
func (s *Server) Answer(respond http.HandlerFunc) { s.respond.Store(&respond) }

// Says returns a handler that responds with text.
func Says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
}

// Status returns a handler that responds with a status and no body.
func Status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}
