package app

import (
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// sourcesOf returns the endpoints of the gateway. The Outbox named kept stores senders' keys for
// later processes; it may be nil.
func sourcesOf(cfg *config.Config, kept *outbox.Outbox) ([]gateway.Source, error) {
	sources := make([]gateway.Source, 0, len(cfg.Sources))
	for _, name := range slices.Sorted(maps.Keys(cfg.Sources)) {
		s := cfg.Sources[name]
		opts := s.ProviderOptions()
		if kept != nil {
			opts.Keys = senderKeys{outbox: kept, source: name}
		}
		p, err := catalog.New(s.Provider, opts)
		if err != nil {
			return nil, cfg.Problem("sources."+name, err.Error())
		}
		secrets, err := secretsOf(s)
		if err != nil {
			return nil, cfg.Problem("sources."+name+".secrets", err.Error())
		}
		public, err := optionalURL(s.PublicURL)
		if err != nil {
			return nil, cfg.Problem("sources."+name+".public_url", err.Error())
		}
		sources = append(sources, gateway.Source{
			Name:          name,
			Provider:      p,
			Secrets:       secrets,
			MaxBody:       int64(s.MaxBody),
			Gzip:          gateway.Gzip(s.Gzip),
			Handlers:      s.Handlers,
			PublicURL:     public,
			ReplayGuard:   gateway.ReplayGuard(s.ReplayGuard),
			ContentWindow: s.DedupWindow, // zero unless dedup: content
			Livemode:      s.Livemode,
			QuarantineOff: s.Quarantine == config.QuarantineOff,
		})
	}
	return sources, nil
}

func secretsOf(s config.Source) ([]gateway.Secret, error) {
	secrets := make([]gateway.Secret, len(s.Secrets))
	for i, one := range s.Secrets {
		key, err := s.Key(one)
		if err != nil {
			return nil, fmt.Errorf("secret %d: %w", i+1, err)
		}
		secrets[i] = gateway.Secret{Value: key, NotBefore: one.NotBefore, NotAfter: one.NotAfter}
	}
	return secrets, nil
}

func optionalURL(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parse URL: %w", err)
	}
	return u, nil
}

// redactionsOf returns the redactions that are configured for the sources.
func redactionsOf(cfg *config.Config) []erasure.Redaction {
	var redactions []erasure.Redaction
	for _, name := range slices.Sorted(maps.Keys(cfg.Sources)) {
		if s := cfg.Sources[name]; len(s.Redact) > 0 {
			redactions = append(redactions, erasure.Redaction{Source: identity.Source(name), Pointers: s.Redact, After: s.RedactAfter})
		}
	}
	return redactions
}
