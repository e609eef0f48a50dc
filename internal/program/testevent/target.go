package testevent

import (
	"errors"
	"net/url"
	"strings"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/loopback"
)

// Target is the URL of a delivery, and the URL that its sender would call. Behind a proxy, the two
// URLs differ, and some providers sign the URL that they call.
type Target struct {
	Called *url.URL // URL of the request
	Signed *url.URL // URL that a sender would call
}

// BaseURL parses the base URL of a gateway, such as http://127.0.0.1:8080.
func BaseURL(text string) (*url.URL, error) {
	base, err := url.Parse(text)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, errors.New("is not the base URL of a gateway, such as http://127.0.0.1:8080")
	}
	return base, nil
}

// NewTarget returns the target of a source below the base URL of a gateway, or at the gateway's own
// listener if base is nil.
func NewTarget(cfg *config.Config, source string, base *url.URL) (Target, error) {
	path := "/webhooks/" + source
	called := base
	if called == nil {
		called = &url.URL{Scheme: "http", Host: loopback.Reachable(cfg.Gateway.Listen)}
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
	return Target{Called: called, Signed: signed}, err
}

// URL returns the URL of the request, with the query that signing may have added.
func (t Target) URL(signed *url.URL) string {
	u := *t.Called
	u.RawQuery = signed.RawQuery
	return u.String()
}
