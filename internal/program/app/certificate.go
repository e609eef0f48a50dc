package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/config"
)

// certificates contains the certificates of the listeners with TLS, by path in the configuration.
// The set of paths is fixed when a process starts.
type certificates map[string]*certificate

// use sets the key pairs that new connections get.
func (c certificates) use(pairs map[string]KeyPair) {
	for path, one := range c {
		if next, ok := pairs[path]; ok {
			one.pair.Store(&next.Pair)
		}
	}
}

// config returns the TLS settings of a listener, HTTP/1.1 over TLS 1.2 or newer, or nil for plain
// HTTP.
func (c certificates) config(path string) *tls.Config {
	one := c[path]
	if one == nil {
		return nil
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return one.pair.Load(), nil },
	}
}

// scheme returns the scheme of a listener's URL.
func (c certificates) scheme(path string) string {
	if c[path] != nil {
		return "https://"
	}
	return "http://"
}

// loadCertificates reads the certificates that the process starts with.
func (a *App) loadCertificates(ctx context.Context) error {
	pairs, err := KeyPairs(a.opts.Config)
	if err != nil {
		return err
	}
	a.certificates = certificates{}
	for path, pair := range pairs {
		a.certificates[path] = &certificate{}
		if clock.Now().After(pair.Ends()) {
			a.warnOfExpired(ctx, path)
		}
	}
	a.certificates.use(pairs)
	return nil
}

// certificate is a listener's key pair. Each connection gets the pair that is current when the
// connection begins.
type certificate struct {
	pair atomic.Pointer[tls.Certificate]
}

// presents reports whether new connections get the certificate of k.
func (c *certificate) presents(k KeyPair) bool {
	return slices.EqualFunc(c.pair.Load().Certificate, k.Pair.Certificate, slices.Equal)
}

// KeyPair is the certificate that a configuration sets for a listener, with its private key.
type KeyPair struct {
	Path string // path in the configuration, such as gateway.tls
	Pair tls.Certificate
}

// Ends returns the time at which the certificate expires.
func (k KeyPair) Ends() time.Time { return k.Pair.Leaf.NotAfter }

// Begins returns the time at which the certificate becomes valid.
func (k KeyPair) Begins() time.Time { return k.Pair.Leaf.NotBefore }

// KeyPairs reads the certificates of both listeners, by path. Errors: config.Problems.
func KeyPairs(cfg *config.Config) (map[string]KeyPair, error) {
	pairs := map[string]KeyPair{}
	for path, files := range map[string]*config.KeyPair{"gateway.tls": cfg.Gateway.TLS, "admin.tls": cfg.Admin.TLS} {
		if files == nil {
			continue
		}
		pair, err := tls.LoadX509KeyPair(cfg.File(files.CertFile), cfg.File(files.KeyFile))
		if err != nil {
			return nil, cfg.Problem(path, fmt.Sprintf("cannot be used: %s", err))
		}
		pairs[path] = KeyPair{Path: path, Pair: pair}
	}
	return pairs, nil
}

// refuseExpired prevents a reload from replacing a certificate with an expired one, which no client
// accepts. A certificate that expired while it was in use does not prevent other changes.
func (a *App) refuseExpired(ctx context.Context, cfg *config.Config, pairs map[string]KeyPair, now time.Time) error {
	for path, pair := range pairs {
		switch one := a.certificates[path]; {
		case !now.After(pair.Ends()):
		case one != nil && one.presents(pair):
			a.warnOfExpired(ctx, path)
		default:
			return cfg.Problem(path+".cert_file", "expired on "+pair.Ends().UTC().Format(time.DateTime))
		}
	}
	return nil
}

func (a *App) warnOfExpired(ctx context.Context, path string) {
	a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "certificate has expired", slog.String(logkey.Path, path))
}
