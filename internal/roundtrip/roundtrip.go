// Package roundtrip bounds the HTTP exchanges of this program with other servers. The
// context of a request does not cover everything that net/http does for it: the body of a
// 101 is the raw connection, and a silent HTTP/2 connection stays in the pool.
package roundtrip

import (
	"context"
	"io"
	"net/http"
	"time"
)

const (
	// pingAfter is how long an HTTP/2 connection may be silent before it is pinged, and
	// pingTimeout how long the answer may take until the connection is closed.
	pingAfter   = 3 * time.Second
	pingTimeout = 4 * time.Second
)

// Transport is a RoundTripper whose responses are bounded by the contexts of their
// requests. All requests of this program go through one: a test in this package checks
// each http.Transport and http.Client in the source.
type Transport struct{ base http.RoundTripper }

// Bounded returns a Transport that sends requests by base. It makes an http.Transport
// ping its HTTP/2 connections, and must be called before its first request.
func Bounded(base http.RoundTripper) *Transport {
	if own, ok := base.(*http.Transport); ok {
		own.HTTP2 = &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout}
	}
	return &Transport{base: base}
}

// RoundTrip implements http.RoundTripper. If a server switches protocols, which no
// request of ours asks for, the response has status 101 and no body, and its connection
// is closed. The body of any other response is closed when the context of the request is
// done, which ends a Read that waits for the server.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	switch {
	case response.StatusCode < http.StatusOK:
		_ = response.Body.Close() // nothing of it is read
		response.Body = http.NoBody
	case response.Body != http.NoBody:
		inner := response.Body
		response.Body = &body{ReadCloser: inner, detach: context.AfterFunc(request.Context(), func() { _ = inner.Close() })}
	}
	return response, nil
}

// CloseIdleConnections closes the connections that wait for a request.
func (t *Transport) CloseIdleConnections() {
	if own, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		own.CloseIdleConnections()
	}
}

// body is closed by its context unless its owner closes it first.
type body struct {
	io.ReadCloser

	detach func() bool
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.detach()
	return b.ReadCloser.Close()
}
