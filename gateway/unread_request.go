package gateway

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/hooklatch/hooklatch/internal/strangers"
)

var (
	errHeaderTooLarge = errors.New("the header is larger than max_header")
	errMalformed      = errors.New("the request is malformed, or needs a feature that this server does not support")
	// errUnread is used with TLS, where the status is unknown, because net/http's response is
	// already encrypted.
	errUnread = errors.New("the request is malformed, or its header is larger than max_header")
)

// handler returns the handler for the server that Start runs. It marks requests that reach it,
// to distinguish them from requests that net/http itself refuses.
func (g *Gateway) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		strangers.Handled(r.Context())
		if g.leaving.Load() {
			w.Header().Set("Connection", "close")
		}
		g.echo.ServeHTTP(w, r)
	})
}

// observeUnread logs and counts a request that net/http refused before any handler ran. The
// parameter status is 0 if the status is unknown.
func (g *Gateway) observeUnread(peer net.Addr, status int) {
	r := &refusal{status: cmp.Or(status, http.StatusBadRequest), result: resultUnread, reason: "unread_request", cause: errMalformed}
	switch status {
	case 0:
		r.cause = errUnread
	case http.StatusRequestHeaderFieldsTooLarge:
		r.cause = errHeaderTooLarge
	}
	g.meters.refused(context.Background(), nil, r, 0)
	g.nowhere.refused(r.reason)
	g.log.unread(peer, r)
}
