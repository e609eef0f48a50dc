package config

import (
	"cmp"
	"time"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/outbox/seen"
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
	// A Redis server in which several gateways share their memory of duplicates: see
	// docs/receiving.md#share-the-memory-of-duplicates. Defaults to none.
	SeenCache *SeenCache `yaml:"seen_cache,omitempty"`
	// Maximum time that a delivery may wait for its commit before it is answered with 503. Keep
	// this time below the senders' timeouts, the shortest of which is 3s. Defaults to 2s.
	AcceptTimeout time.Duration `yaml:"accept_timeout,omitempty"`
	// Time for which a stopping gateway still accepts deliveries, and closes each connection after
	// its response, while /readyz already fails. Load balancers and Kubernetes need a few seconds
	// to stop sending traffic. Defaults to 0s.
	DrainDelay time.Duration `yaml:"drain_delay,omitempty"`
	// Maximum time that a stopping gateway may take to finish deliveries in progress. In serve the
	// limit is at most 2 seconds longer than worker.soft_stop. Defaults to 10s.
	DrainTimeout time.Duration `yaml:"drain_timeout,omitempty"`
}

func (g Gateway) withDefaults() Gateway {
	g.Options = g.Options.WithDefaults()
	g.AcceptTimeout = cmp.Or(g.AcceptTimeout, 2*time.Second)
	g.DrainTimeout = cmp.Or(g.DrainTimeout, 10*time.Second)
	if g.SeenCache != nil {
		cache := *g.SeenCache
		cache.TTL = cmp.Or(cache.TTL, outbox.DefaultSharedTTL)
		g.SeenCache = &cache
	}
	return g
}

func (g Gateway) validate() error {
	var c option.Check
	c.Within("", g.Options.Validate())
	if g.PublicURL != "" {
		c.URL("public_url", g.PublicURL)
	}
	c.Positive("accept_timeout", g.AcceptTimeout)
	c.NotNegative("drain_delay", g.DrainDelay)
	c.Positive("drain_timeout", g.DrainTimeout)
	return c.Err()
}

// SeenCache configures the Redis server in which several gateways share their memory of duplicates.
type SeenCache struct {
	// URL of the Redis server: redis://USER:PASSWORD@HOST:PORT/DATABASE, rediss:// for TLS, or
	// unix:///PATH. The URL is treated as a secret.
	Redis secret.Value `yaml:"redis,omitempty"`
	// Time for which the Redis server remembers an event after its receipt: at most 24h, and at
	// most half of the shortest retention.dedup. Defaults to 10m.
	TTL time.Duration `yaml:"ttl,omitempty"`
}

// checkSeenCache reports a Redis URL that cannot be used, and a ttl that is not positive or too
// long. Retention must not delete an event while Redis still contains the event.
func (c *Config) checkSeenCache(d *decoder) {
	const at = "gateway.seen_cache"
	cache := c.Gateway.SeenCache
	if cache == nil {
		return
	}
	if cache.Redis.IsZero() {
		d.missingf(at, "redis", "has no redis, the URL of a Redis server; give redis or redis_file")
	} else if err := seen.CheckURL(cache.Redis); err != nil {
		d.reportf(at+".redis", "%s", err)
	}
	var check option.Check
	check.Positive(at+".ttl", cache.TTL)
	d.faults("", check.Err())
	path, shortest := c.shortestDedup()
	switch {
	case cache.TTL > outbox.MaxSharedTTL:
		d.reportf(at+".ttl", "%s is too long; allowed: at most %s", FormatDuration(cache.TTL), FormatDuration(outbox.MaxSharedTTL))
	case shortest > 0 && cache.TTL > shortest/2:
		d.reportf(at+".ttl", "%s is too long for %s, %s; allowed: at most half of it", FormatDuration(cache.TTL), path, FormatDuration(shortest))
	}
}

// KeyPair names the certificate and key files of a listener. The process reads both files again
// when they change, and at each reload.
type KeyPair struct {
	// PEM file with the certificate, followed by its intermediate certificates.
	CertFile string `yaml:"cert_file"`
	// PEM file with the private key of the first certificate.
	KeyFile string `yaml:"key_file"`
}
