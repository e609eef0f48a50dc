package main

import (
	"cmp"
	"net"
	"net/url"
	"strings"

	"github.com/hooklatch/hooklatch/internal/program/config"
)

// target is the URL of a delivery, and the URL that its sender would call. Behind a proxy they
// differ, and some providers sign the latter.
type target struct {
	called *url.URL // URL of the request
	signed *url.URL // URL that a sender would call
}

// baseURL parses --url. It returns nil if the flag was not set.
func baseURL(given string) (*url.URL, error) {
	if given == "" {
		return nil, nil
	}
	base, err := url.Parse(given)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, misused("--url %q: it must be the base URL of a gateway, such as http://127.0.0.1:8080", given)
	}
	return base, nil
}

// newTarget returns the target for the user's base URL, or for the gateway's listener if base is
// nil.
func newTarget(cfg *config.Config, source string, base *url.URL) (target, error) {
	path := "/webhooks/" + source
	called := base
	if called == nil {
		called = &url.URL{Scheme: "http", Host: reachable(cfg.Gateway.Listen)}
		if cfg.Gateway.TLS != nil {
			called.Scheme = "https"
		}
	}
	if !strings.HasSuffix(called.Path, path) {
		called = called.JoinPath(path)
	}
	var err error
	signed := called
	switch public := cfg.Gateway.PublicURL; {
	case cfg.Sources[source].PublicURL != "":
		signed, err = url.Parse(cfg.Sources[source].PublicURL)
	case public != "":
		if signed, err = url.Parse(public); err == nil {
			signed = signed.JoinPath(path)
		}
	}
	return target{called: called, signed: signed}, err
}

// reachable returns the address at which this machine reaches a listener. It is a loopback address
// if the listener uses all addresses.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, cmp.Or(port, "80"))
}

// deliver returns the URL of the request, with the query that signing may have added.
func (t target) deliver(signed *url.URL) string {
	u := *t.called
	u.RawQuery = signed.RawQuery
	return u.String()
}
