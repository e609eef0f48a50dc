package config

import (
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Source is one inbound endpoint.
type Source struct {
	// The kind of sender: stripe, github, ...
	Provider string `yaml:"provider,omitempty"`
	// Secrets that are accepted; several while one is rotated. At least one is
	// needed.
	Secrets []secret.Value `yaml:"secrets,omitempty"`
	// A file that holds the secrets, one in a line, instead of secrets.
	SecretsFile string `yaml:"secrets_file,omitempty"`
	// Largest body of a delivery. Defaults to what the provider is known to
	// send, and at least to gateway.max_body.
	MaxBody Size `yaml:"max_body,omitempty"`
	// Go handlers process the events of this source: its jobs go to a queue
	// that only processes with handlers work. Defaults to false.
	Handlers bool `yaml:"handlers,omitempty"`
	// The complete URL the sender was given, where it is not gateway.public_url
	// with /webhooks/ and the name behind it.
	PublicURL string `yaml:"public_url,omitempty"`

	provider.Options `yaml:",inline"`
}
