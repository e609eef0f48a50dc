// Package roundtrip limits this program's HTTP exchanges with other servers. A request's
// context does not cover everything that net/http does for it: the body of a 101 is the raw
// connection, and a silent HTTP/2 connection stays in the pool.
package roundtrip

import (
	"context"
	"io"
	"net/http"
	"time"
)

const (
	// pingAfter is the silence after which an HTTP/2 connection is pinged. pingTimeout is the
	// time without a response after which the connection is closed.
	pingAfter   = 3 * time.Second
	pingTimeout = 4 * time.Second
)

// Transport is a RoundTripper whose responses are limited by their requests' contexts. All of
// this program's requests go through a Transport: a test in this package checks each
// http.Transport and http.Client in the source.
type Transport struct{ base http.RoundTripper }

// Bounded returns a Transport that sends requests through base. It makes an http.Transport
// ping its HTTP/2 connections, and must be called before base's first request.
func Bounded(base http.RoundTripper) *Transport {
	if own, ok := base.(*http.Transport); ok {
		own.HTTP2 = &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout}
	}
	return &Transport{base: base}
}

// RoundTrip implements http.RoundTripper. If a server switches protocols, which none of our
// requests asks for, the response has status 101 and no body, and its connection is closed.
// Any other response's body is closed when the request's context is done, which ends a Read
// that waits for the server.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	switch {
	case response.StatusCode < http.StatusOK:
		_ = response.Body.Close() // none of it is read
		response.Body = http.NoBody
	case response.Body != http.NoBody:
		inner := response.Body
		response.Body = &body{ReadCloser: inner, detach: context.AfterFunc(request.Context(), func() { _ = inner.Close() })}
	}
	return response, nil
}

// CloseIdleConnections closes the idle connections of the base, for http.Client.
func (t *Transport) CloseIdleConnections() {
	if own, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		own.CloseIdleConnections()
	}
}

// body is a response body that is closed when the request's context is done, or earlier by its
// reader.
type body struct {
	io.ReadCloser

	detach func() bool
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.detach()
	return b.ReadCloser.Close()
}
