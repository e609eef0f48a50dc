package cli

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/hooklatch/hooklatch/internal/program/admin"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/loopback"
	"github.com/hooklatch/hooklatch/internal/roundtrip"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// maxReadiness is the maximum size of a response from /readyz, in bytes.
const maxReadiness = 64 << 10

// adminListener calls the admin listener of a running process.
type adminListener struct {
	base   *url.URL
	tokens []secret.Value // tokens in the configuration; the process may know none of them
	client *http.Client
}

// adminURL returns the URL at which this machine reaches the configured admin listener.
func adminURL(cfg *config.Config) *url.URL {
	at := &url.URL{Scheme: "http", Host: loopback.Reachable(cfg.Admin.Listen)}
	if cfg.Admin.TLS != nil {
		at.Scheme = "https"
	}
	return at
}

// newListener returns a client of the admin listener at base.
func newListener(base *url.URL, certificates *tls.Config) adminListener {
	return adminListener{base: base, client: &http.Client{
		Transport: roundtrip.Bounded(&http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: certificates}),
	}}
}

// listenerOf returns a client of the configured admin listener on this machine. The listener's
// certificate is not verified, because it names the console's host and not the loopback address.
func listenerOf(cfg *config.Config) adminListener {
	var certificates *tls.Config
	if cfg.Admin.TLS != nil {
		certificates = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // our own listener, on this machine
	}
	l := newListener(adminURL(cfg), certificates)
	if !cfg.Admin.Token.IsZero() {
		l.tokens = append(l.tokens, cfg.Admin.Token)
	}
	for _, one := range cfg.Admin.Tokens {
		l.tokens = append(l.tokens, one.Token)
	}
	return l
}

// ready returns the response of /readyz to a request with the first token, or without a token if
// there is none. A response with an error status is not an error.
func (l adminListener) ready(ctx context.Context) (admin.Readiness, error) {
	if len(l.tokens) == 0 {
		return l.readyAs(ctx, secret.Value{})
	}
	return l.readyAs(ctx, l.tokens[0])
}

// readyAs is like ready with the given token. It sends no token if token is empty.
func (l adminListener) readyAs(ctx context.Context, token secret.Value) (admin.Readiness, error) {
	var got admin.Readiness
	at := l.base.JoinPath("readyz")
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return got, err
	}
	if !token.IsZero() {
		r.Header.Set("Authorization", "Bearer "+token.Reveal())
	}
	response, err := l.client.Do(r)
	if err != nil {
		return got, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxReadiness))
	if err != nil {
		return got, fmt.Errorf("GET %s: %w", at, err)
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return got, fmt.Errorf("GET %s: the response, %s, is not from an admin listener of Hooklatch", at, response.Status)
	}
	return got, nil
}
