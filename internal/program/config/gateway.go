package config

import (
	"cmp"
	"time"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/internal/option"
)

// Gateway configures the listener that accepts deliveries.
type Gateway struct {
	gateway.Options `yaml:",inline"`

	// Certificate and key, for a gateway that terminates TLS itself. Defaults to plain
	// HTTP, for a proxy that terminates TLS.
	TLS *KeyPair `yaml:"tls,omitempty"`
	// The URL at which senders reach the gateway, without /webhooks. Senders that sign the
	// URL sign this URL; if it is not set, the URL of the request is used.
	PublicURL string `yaml:"public_url,omitempty"`
	// Maximum time that a delivery may wait for its commit before it is answered 503. Keep
	// this time below the senders' time-outs, the shortest of which is 3s. Defaults to 2s.
	AcceptTimeout time.Duration `yaml:"accept_timeout,omitempty"`
	// Maximum time that a stopping gateway may take to finish deliveries in progress. In
	// serve it may take at most 2 seconds longer than worker.soft_stop. Defaults to 10s.
	DrainTimeout time.Duration `yaml:"drain_timeout,omitempty"`
}

func (g Gateway) withDefaults() Gateway {
	g.Options = g.Options.WithDefaults()
	g.AcceptTimeout = cmp.Or(g.AcceptTimeout, 2*time.Second)
	g.DrainTimeout = cmp.Or(g.DrainTimeout, 10*time.Second)
	return g
}

func (g Gateway) validate() error {
	var c option.Check
	c.Within("", g.Options.Validate())
	if g.PublicURL != "" {
		c.URL("public_url", g.PublicURL)
	}
	c.Positive("accept_timeout", g.AcceptTimeout)
	c.Positive("drain_timeout", g.DrainTimeout)
	return c.Err()
}

// KeyPair names the certificate of a listener. Both files are read again when
// they change, and at each reload.
type KeyPair struct {
	// PEM file with the certificate, followed by its intermediate certificates.
	CertFile string `yaml:"cert_file"`
	// PEM file with the private key of the first certificate.
	KeyFile string `yaml:"key_file"`
}
