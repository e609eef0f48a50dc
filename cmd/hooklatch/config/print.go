package config

import (
	"bytes"
	"fmt"
	"maps"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// YAML is the configuration as it is in effect: with defaults, and with
// <secret> in place of each secret. Of secrets that came from a file it has
// the name of the file.
func (c *Config) YAML() ([]byte, error) {
	shown := *c
	if c.Database.URLFile != "" {
		shown.Database.URL = secret.Value{}
	}
	if c.Database.DirectURLFile != "" {
		shown.Database.DirectURL = secret.Value{}
	}
	if c.Admin.TokenFile != "" {
		shown.Admin.Token = secret.Value{}
	}
	shown.Sources = maps.Clone(c.Sources)
	for n, s := range shown.Sources {
		if s.SecretsFile != "" {
			s.Secrets = nil
		}
		shown.Sources[n] = s
	}
	shown.Destinations = maps.Clone(c.Destinations)
	for n, dest := range shown.Destinations {
		shown.Destinations[n] = dest.withoutFileSecrets()
	}
	text, err := yaml.MarshalWithOptions(shown, yaml.CustomMarshaler(func(d time.Duration) ([]byte, error) {
		if d < 0 {
			return []byte("off"), nil // only a tolerance can be
		}
		return []byte(FormatDuration(d)), nil
	}))
	if err != nil {
		return nil, fmt.Errorf("print configuration: %w", err)
	}
	return bytes.ReplaceAll(text, []byte("${"), []byte("$${")), nil
}

func (dest Destination) withoutFileSecrets() Destination {
	if dest.HTTP != nil {
		h := *dest.HTTP
		if h.BearerFile != "" {
			h.Bearer = secret.Value{}
		}
		if h.Basic != nil && h.Basic.PasswordFile != "" {
			h.Basic = &Basic{User: h.Basic.User, PasswordFile: h.Basic.PasswordFile}
		}
		if h.Sign != nil && h.Sign.StandardWebhooksFile != "" {
			h.Sign = &Sign{StandardWebhooksFile: h.Sign.StandardWebhooksFile}
		}
		dest.HTTP = &h
	}
	if dest.SMTP != nil && dest.SMTP.PasswordFile != "" {
		m := *dest.SMTP
		m.Password = secret.Value{}
		dest.SMTP = &m
	}
	return dest
}
